/* to_perfetto.c - writes clocks, names and tracks, and the parts of the file in their order. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "perfetto.h"
#include "query/query.h"
#include "report/answer.h"
#include "source/partial_file.h"

#define CLEARED 1
#define CLOCK_REAL 1
#define CLOCK_MONO 3
#define CLOCK_COARSE 4 /* Perfetto reads heap dumps with this clock */
#define UNIT_BYTES 3
#define ORDER_EXPLICIT 3
#define NAME_MAX_BYTES 300
#define PID_FIRST 10000000 /* first pid for processes whose own pid is in use */

/* ---- the beginning of the file ----------------------------------------------------------------------------------- */

static void put_clock(struct proto *proto, uint64_t clock, uint64_t time)
{
	proto_begin(proto, 1);
	proto_number(proto, 1, clock);
	proto_number(proto, 2, time);
	proto_end(proto);
}

/* Writes the clocks. With the time of day, viewers can join the files of several programs. */
static void put_clocks(struct perfetto *perfetto, uint64_t realtime)
{
	struct proto *proto = &perfetto->proto;

	proto_number(proto, 10, PERFETTO_SEQUENCE);
	proto_number(proto, 13, CLEARED);
	proto_begin(proto, 6);
	put_clock(proto, CLOCK_MONO, (uint64_t)perfetto->origin);
	put_clock(proto, CLOCK_COARSE, (uint64_t)perfetto->origin);
	if (realtime)
		put_clock(proto, CLOCK_REAL, realtime);
	proto_number(proto, 2, CLOCK_MONO);
	proto_end(proto);
	perfetto_end(perfetto);
}

static void put_names(struct perfetto *perfetto)
{
	struct proto *proto = &perfetto->proto;
	uint32_t i;

	proto_number(proto, 10, PERFETTO_SEQUENCE);
	proto_number(proto, 13, CLEARED | PERFETTO_NEEDS);
	proto_begin(proto, 59);
	proto_number(proto, 58, CLOCK_MONO);
	proto_end(proto);
	proto_begin(proto, 12);
	for (i = 0; i < MT_PHASE_COUNT; i++) {
		proto_begin(proto, 2);
		proto_number(proto, 1, i + 1);
		proto_text(proto, 2, mt_phase_name(i));
		proto_end(proto);
	}
	proto_end(proto);
	perfetto_end(perfetto);
}

/* ---- tracks ------------------------------------------------------------------------------------------------------ */

/* Begins a packet with a track; end_track ends the packet. `rank`: position among the tracks of the parent. */
static void begin_track(struct perfetto *perfetto, uint64_t track, uint64_t parent, const char *name, uint32_t rank)
{
	struct proto *proto = &perfetto->proto;

	proto_number(proto, 10, PERFETTO_SEQUENCE);
	proto_begin(proto, 60);
	proto_number(proto, 1, track);
	if (parent)
		proto_number(proto, 5, parent);
	if (name)
		proto_text(proto, 2, name);
	if (rank)
		proto_number(proto, 12, rank);
}

static void end_track(struct perfetto *perfetto)
{
	proto_end(&perfetto->proto);
	perfetto_end(perfetto);
}

static void put_track(struct perfetto *perfetto, uint64_t track, uint64_t parent, const char *name, uint32_t rank)
{
	begin_track(perfetto, track, parent, name, rank);
	proto_number(&perfetto->proto, 11, ORDER_EXPLICIT);
	end_track(perfetto);
}

/* Writes the track of a counter. The counters of a device with equal `scale` share their scale in the viewer. */
static void put_counter(struct perfetto *perfetto, const struct perfetto_counters *counters, uint32_t value,
			uint64_t parent, const char *name, uint64_t scale)
{
	struct proto *proto = &perfetto->proto;
	char key[32];

	if (!(counters->told & 1u << value))
		return;
	begin_track(perfetto, counters->track + value, parent, name, value + 1);
	proto_begin(proto, 8);
	proto_number(proto, 3, UNIT_BYTES);
	if (scale) {
		snprintf(key, sizeof(key), "device-%llu", (unsigned long long)scale);
		proto_text(proto, 7, key);
	}
	proto_end(proto);
	end_track(perfetto);
}

static const char *value_name(uint32_t value)
{
	if (value == PERFETTO_HELD)
		return "held";
	if (value == PERFETTO_RESERVED)
		return "reserved";
	return value == PERFETTO_TENSORS ? "in tensors" : mt_phase_name(value - PERFETTO_PHASE);
}

/* Writes the tracks of a process on a device: a group with all bytes held, and with bytes by phase. */
static void put_pair(struct perfetto *perfetto, const struct perfetto_pair *pair, const char *device)
{
	uint64_t process = perfetto_track(pair->process), group = perfetto_pair_track(pair);
	char name[NAME_MAX_BYTES];
	uint32_t i;

	if (pair->held.told) {
		snprintf(name, sizeof(name), "%s, held by phase", device);
		put_track(perfetto, group + PERFETTO_TRACK_GROUP, process, name,
			  PERFETTO_TRACK_HOST + 1 + pair->number);
	}
	for (i = 0; i < pair->held.values; i++)
		put_counter(perfetto, &pair->held, i, group + PERFETTO_TRACK_GROUP, value_name(i), group);
	snprintf(name, sizeof(name), "%s, in use (nvidia-smi)", device);
	put_counter(perfetto, &pair->gpu, PERFETTO_GPU_USED, process, name, group);
	snprintf(name, sizeof(name), "%s, this process (nvidia-smi)", device);
	put_counter(perfetto, &pair->gpu, PERFETTO_GPU_OWN, process, name, group);
}

static int take_device(void *context, const struct query_device *row)
{
	char name[64];

	snprintf(name, sizeof(name), strcmp(row->kind, "cpu") ? "GPU %lld" : "CPU", (long long)row->number);
	return perfetto_heap_name(context, (uint32_t)(row->id - 1), name);
}

/* The pid in the file: the process's own pid, or a free number if an earlier process has this pid. */
static int32_t pid_of(struct perfetto *perfetto, uint32_t process, int64_t pid)
{
	const struct tuple key = { { (uint64_t)pid } };

	if (pid <= 0 || pid >= PID_FIRST || tuple_find(&perfetto->pids, &key) != TUPLE_NONE)
		return (int32_t)(PID_FIRST + process);
	perfetto_fail(perfetto, tuple_add(&perfetto->pids, &key, process));
	return (int32_t)pid;
}

static int put_process(void *context, const struct query_process *row)
{
	struct perfetto *perfetto = context;
	struct proto *proto = &perfetto->proto;
	uint32_t number = (uint32_t)(row->id - 1);
	struct perfetto_process *process = &perfetto->process[number];
	const char *command = perfetto->run->options->confidential ? "" : row->command;
	char name[NAME_MAX_BYTES];

	if (number >= perfetto->processes)
		return -MT_E_CORRUPT;
	process->pid = pid_of(perfetto, number, row->pid);
	if (row->rank >= 0)
		snprintf(name, sizeof(name), "rank %lld %s", (long long)row->rank, command);
	else
		snprintf(name, sizeof(name), "%s", *command ? command : "process");
	begin_track(perfetto, perfetto_track(number), 0, NULL, 0);
	proto_begin(proto, 3);
	proto_number(proto, 1, (uint64_t)process->pid);
	proto_text(proto, 6, name);
	proto_end(proto);
	proto_number(proto, 11, ORDER_EXPLICIT);
	end_track(perfetto);
	put_track(perfetto, perfetto_track(number) + PERFETTO_TRACK_STEPS, perfetto_track(number), "steps",
		  PERFETTO_TRACK_STEPS);
	put_track(perfetto, perfetto_track(number) + PERFETTO_TRACK_PHASES, perfetto_track(number), "phases",
		  PERFETTO_TRACK_PHASES);
	put_counter(perfetto, &process->host, PERFETTO_RESIDENT, perfetto_track(number), "host memory, resident", 0);
	put_counter(perfetto, &process->host, PERFETTO_PINNED, perfetto_track(number), "host memory, pinned", 0);
	put_counter(perfetto, &process->host, PERFETTO_CGROUP, perfetto_track(number), "host memory of the cgroup", 0);
	return 0;
}

static int put_tracks(struct perfetto *perfetto)
{
	uint32_t i;
	int error = query_processes(perfetto->run->db, put_process, perfetto);

	if (!error)
		error = query_devices(perfetto->run->db, take_device, perfetto);
	for (i = 0; i < perfetto->pairs && !error; i++)
		put_pair(perfetto, &perfetto->pair[i], perfetto_heap_device(perfetto, perfetto->pair[i].device));
	return error;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static int take_clock(void *context, struct db_stmt *row)
{
	struct perfetto *perfetto = context;

	perfetto->origin = db_int(row, 0);
	put_clocks(perfetto, (uint64_t)db_int(row, 1));
	return 0;
}

/* Writes clocks, names and tracks, then the events from the temporary file, then failed requests and heap dumps. */
static int write_file(struct perfetto *perfetto, int file)
{
	int error = db_rows(perfetto->run->db,
			    "SELECT origin, (SELECT ifnull(min(start_realtime), 0) FROM process) FROM process "
			    "WHERE id = 1",
			    NULL, take_clock, perfetto);

	put_names(perfetto);
	if (!error)
		error = put_tracks(perfetto);
	if (!error)
		error = export_copy(perfetto->out, file);
	if (!error)
		error = perfetto_stacks_open(perfetto);
	if (!error)
		error = perfetto_failures(perfetto);
	return error ? error : perfetto_heap_write(perfetto);
}

/* Tells the whole run from its beginning. Afterwards, run->db has the tables of memana top. */
static int run_feed(struct perfetto *perfetto)
{
	struct export_run *run = perfetto->run;

	int error;

	if (run->source.db) {
		run->db = run->source.db;
		error = perfetto_feed_database(perfetto, run->db);
	} else {
		error = perfetto_feed_traces(perfetto);
	}
	return !error && !perfetto->pairs ? -MT_E_MISSING : error;
}

static int write_body(struct perfetto *perfetto, int file)
{
	int error, closed;

	perfetto->body = export_out_new(file);
	error = perfetto->body ? run_feed(perfetto) : -MT_E_MEMORY;
	if (!error)
		error = perfetto_count_peaks(perfetto);
	closed = export_out_close(perfetto->body);
	perfetto->body = NULL;
	return error ? error : closed;
}

int to_perfetto(struct export_run *run, struct export_out *out)
{
	struct perfetto perfetto = { .run = run, .out = out };
	int file = partial_file_nameless(), error = file < 0 ? -MT_E_SYSTEM : export_find_range(run, &perfetto.range);

	run->what = "slice";
	if (!error)
		error = perfetto_heap_new(&perfetto);
	if (!error)
		error = write_body(&perfetto, file);
	if (!error)
		error = write_file(&perfetto, file);
	if (file >= 0)
		close(file);
	perfetto_stacks_close(&perfetto);
	perfetto_heap_free(&perfetto);
	proto_release(&perfetto.proto);
	tuple_release(&perfetto.pids);
	free(perfetto.process);
	free(perfetto.pair);
	free(perfetto.site);
	return error ? error : perfetto.error;
}
