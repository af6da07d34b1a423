/*
 * perfetto.h - a run as a trace of Perfetto (ui.perfetto.dev): what the files of this room share.
 *
 *     perfetto_traces.c    the events of traces, or
 *     perfetto_database.c  the rows of a database, as
 *     perfetto_feed.c      moves of bytes and samples
 *     perfetto_counter.c   what is held, as counters: every change, or the least, the most and the last of each short time
 *     perfetto_peak.c      the peaks of devices, as counters
 *     perfetto_heap.c      heap dumps: who held the bytes at the peak of each step
 *     perfetto_stack.c     call stacks
 *     perfetto_slice.c     phases, steps, failed requests
 *     perfetto_packet.c    packets
 *     to_perfetto.c        tracks, and the order of the file
 *
 * The file is a row of packets; field numbers are those of Perfetto's trace_packet.proto. Packets that describe tracks come before
 * those that use the tracks. Names of devices are known at the end alone, so events go to a temporary file first.
 * Memory grows with processes, devices, sites and the dumps that are kept, and not with the events.
 */
#ifndef MEMANA_PERFETTO_H
#define MEMANA_PERFETTO_H

#include <stdint.h>
#include "base/tuple.h"
#include "export/export.h"
#include "export/export_proto.h"
#include "memtrace/phase.h"

/* Counters of a process on a device: all it holds, by phase, and what PyTorch's allocator has reserved and handed out. */
enum {
	PERFETTO_HELD,
	PERFETTO_PHASE,
	PERFETTO_RESERVED = PERFETTO_PHASE + MT_PHASE_COUNT,
	PERFETTO_TENSORS,
	PERFETTO_VALUES_MAX
};

/* Counters of a GPU as NVML sees it, and of the host. */
enum { PERFETTO_GPU_USED, PERFETTO_GPU_OWN, PERFETTO_GPU_VALUES };
enum { PERFETTO_RESIDENT, PERFETTO_PINNED, PERFETTO_CGROUP, PERFETTO_HOST_VALUES };

struct perfetto_point {
	int64_t time; /* ns since the run began */
	uint64_t value[PERFETTO_VALUES_MAX];
};

/* Counters that change together, so that they add up at every point that is written. The first value tells low from high. */
struct perfetto_counters {
	uint64_t track;  /* uuid of the first value's; the others follow */
	uint32_t values; /* at most PERFETTO_VALUES_MAX */
	uint32_t told;   /* bit per value: its track is used */
	int waits;       /* `last` is from before the range */
	int64_t bucket;  /* number of the bucket that `low` to `last` are from; -1: none */
	struct perfetto_point low, high, last;
	struct perfetto_point sent;
};

/* A process on a device. */
struct perfetto_pair {
	uint32_t process, device;
	uint32_t next;   /* next pair of the process, plus 1; 0: none */
	uint32_t number; /* among those of its process */
	uint32_t user;   /* index among the users of the device; UINT32_MAX: not looked up yet */
	uint32_t first_site;
	uint64_t highest; /* bytes of the highest peak so far */
	int dirty;
	struct perfetto_point now;
	struct perfetto_counters held, gpu;
};

struct perfetto_process {
	uint32_t first_pair; /* plus 1; 0: none */
	uint32_t pairs;
	int32_t pid;        /* unique in the file */
	int64_t slice_end;  /* end of the newest phase */
	int64_t slice_skip; /* bucket of the newest phase that was shorter than a bucket */
	int64_t step_end;
	struct perfetto_counters host;
};

/* Bytes of a site: its own, and slack of the allocator in memory that it took. */
struct perfetto_bytes {
	uint64_t plain, slack, count;
};

struct perfetto_site {
	uint32_t pair; /* plus 1; 0: not known yet */
	uint32_t next; /* next site of the pair; 0: none */
	int64_t node;  /* stack: id in the database; 0: none */
	uint8_t phase, driver;
	uint8_t all_slack; /* 1: tensors have been in its memory, so its own bytes are slack, too; known at the end */
	struct perfetto_bytes now;
	struct perfetto_bytes peak; /* when this peak stood: */
	uint64_t peak_seq;
	uint32_t peak_process;
	struct perfetto_bytes dumped;      /* in the newest dump */
	uint32_t plain_stack, slack_stack; /* call stacks, 0: not made yet */
};

struct perfetto_heap;   /* dumps, perfetto_heap.c */
struct perfetto_stacks; /* texts, frames and stacks in the file, perfetto_stack.c */

struct perfetto {
	struct export_run *run;
	struct export_out *out;  /* to the caller's file, or */
	struct export_out *body; /* to the temporary one */
	struct proto proto;
	struct export_range range;
	int64_t origin; /* CLOCK_MONOTONIC at time 0 */
	int64_t width;  /* ns of one bucket of counters; 0: every change is written */
	struct perfetto_process *process;
	uint32_t processes;
	struct tuple_table pids; /* pids that are taken */
	struct perfetto_pair *pair;
	uint32_t pairs, pair_room;
	struct perfetto_site *site; /* by number */
	uint32_t sites;
	uint32_t dirty[64]; /* pairs that the running change touches */
	uint32_t dirties;
	int64_t change_time;
	struct perfetto_heap *heap;
	struct perfetto_stacks *stacks;
	int error; /* the first: -MT_E_x */
};

void perfetto_fail(struct perfetto *perfetto, int error);

/* ---- packets (perfetto_packet.c) ---- */

#define PERFETTO_SEQUENCE 1 /* all packets are of one sequence */
#define PERFETTO_NEEDS 2    /* flag: the packet needs names that came before */

enum { PERFETTO_SLICE_BEGIN = 1, PERFETTO_SLICE_END, PERFETTO_INSTANT, PERFETTO_COUNTER };

/* Uuids of tracks: a process has PROCESS_TRACKS, and each of its devices DEVICE_TRACKS of them. */
#define PERFETTO_PROCESS_TRACKS (1u << 16)
#define PERFETTO_DEVICE_TRACKS 64u
enum { PERFETTO_TRACK_STEPS = 1, PERFETTO_TRACK_PHASES, PERFETTO_TRACK_HOST };
enum { PERFETTO_TRACK_GROUP, PERFETTO_TRACK_GPU, PERFETTO_TRACK_HELD = 8 };

static inline uint64_t perfetto_track(uint32_t process)
{
	return ((uint64_t)process + 1) * PERFETTO_PROCESS_TRACKS;
}

static inline uint64_t perfetto_pair_track(const struct perfetto_pair *pair)
{
	return perfetto_track(pair->process) + ((uint64_t)pair->number + 1) * PERFETTO_DEVICE_TRACKS;
}

/* A time of the run on the file's clock; one outside of the range is moved to its end. */
uint64_t perfetto_time(const struct perfetto *perfetto, int64_t time);

/* Begins a packet: without a time, or at a time of the run. */
void perfetto_begin(struct perfetto *perfetto);
void perfetto_begin_at(struct perfetto *perfetto, int64_t time);
void perfetto_end(struct perfetto *perfetto); /* writes it */

/* The same of a packet with an event of a track, to be ended by proto_end and perfetto_end. */
void perfetto_begin_event(struct perfetto *perfetto, int64_t time, uint32_t type, uint64_t track);

/* 1: a time of the range. */
static inline int perfetto_is_in(const struct perfetto *perfetto, int64_t time)
{
	return time >= perfetto->range.first && time <= perfetto->range.last;
}

/* ---- counters (perfetto_counter.c) ---- */

/* `point` has counters->values values. Time never goes back. */
void perfetto_count(struct perfetto *perfetto, struct perfetto_counters *counters, const struct perfetto_point *point);

/* After the last point. */
void perfetto_count_end(struct perfetto *perfetto, struct perfetto_counters *counters);

/* Writes one value at a time, whatever came before. */
void perfetto_send(struct perfetto *perfetto, struct perfetto_counters *counters, uint32_t value, int64_t time,
		   uint64_t bytes);

/* ---- peaks (perfetto_peak.c) ---- */

/*
 * The peak of each device, exactly: of several processes the buckets have the highest points of each alone. run->db has the peak. 0 or
 * -MT_E_x.
 */
int perfetto_count_peaks(struct perfetto *perfetto);

/* ---- the run ---- */

/* The whole run, from its begin. 0 or -MT_E_x. */
int perfetto_feed_traces(struct perfetto *perfetto);
int perfetto_feed_database(struct perfetto *perfetto, struct db *db);

/* First: the number of processes, 0 or -MT_E_MEMORY; then when the run began and ended, and how many events it has. */
int perfetto_processes(struct perfetto *perfetto, uint32_t processes);
void perfetto_set_width(struct perfetto *perfetto, int64_t first, int64_t last, uint64_t events);
void perfetto_finish(struct perfetto *perfetto); /* last */

/* A site, before its first move. `node`: id in the database. */
struct perfetto_site_key {
	uint32_t process, device;
	int64_t node;
	uint8_t phase, driver;
};

void perfetto_site_is(struct perfetto *perfetto, uint32_t number, const struct perfetto_site_key *key);
struct perfetto_pair *perfetto_pair_of(struct perfetto *perfetto, uint32_t process,
				       uint32_t device); /* NULL: out of memory */

/* Moves of one event are a change, which perfetto_change_end ends. */
void perfetto_moved(struct perfetto *perfetto, uint32_t number, int slack, int64_t bytes, int64_t time);
void perfetto_change_end(struct perfetto *perfetto);

void perfetto_host(struct perfetto *perfetto, uint32_t process, int64_t time, uint64_t resident, uint64_t pinned,
		   uint64_t cgroup);
void perfetto_gpu(struct perfetto *perfetto, uint32_t process, uint32_t device, int64_t time, uint64_t used,
		  uint64_t own);

/* ---- slices (perfetto_slice.c) ---- */

void perfetto_span(struct perfetto *perfetto, uint32_t number, uint8_t phase, int64_t first, int64_t last);
void perfetto_step(struct perfetto *perfetto, uint32_t number, uint32_t step, int64_t first, int64_t last);

/* The failed requests, as instants. 0 or -MT_E_x. */
int perfetto_failures(struct perfetto *perfetto);

/* ---- heap dumps (perfetto_heap.c) ---- */

/* The moment of a dump. */
struct perfetto_moment {
	uint32_t step;
	uint64_t bytes; /* bytes of the device, all processes */
	int64_t time;
	uint32_t process; /* and event: what sites held then is in site->peak if that is of this event; else it is in site->now */
	uint64_t seq; /* 0: site->now */
};

int perfetto_heap_new(struct perfetto *perfetto); /* 0 or -MT_E_MEMORY */
void perfetto_heap_free(struct perfetto *perfetto);

/* Keeps what the pair held at the peak of a step. With many steps only some are kept, and always those with the highest peaks. */
void perfetto_heap_dump(struct perfetto *perfetto, struct perfetto_pair *pair, const struct perfetto_moment *moment);

/* The name of a device. 0 or -MT_E_MEMORY. */
int perfetto_heap_name(struct perfetto *perfetto, uint32_t device, const char *name);
const char *perfetto_heap_device(const struct perfetto *perfetto, uint32_t device); /* the name; "": none */

/* Writes the dumps, with their stacks. 0 or -MT_E_x. */
int perfetto_heap_write(struct perfetto *perfetto);

/* ---- stacks (perfetto_stack.c) ---- */

int perfetto_stacks_open(struct perfetto *perfetto); /* run->db is there. 0 or -MT_E_MEMORY; close in any case */
void perfetto_stacks_close(struct perfetto *perfetto);

/* The number of a call stack in the file, which is written if it is new. Not inside of a packet. 0: an error. */
uint32_t perfetto_stack(struct perfetto *perfetto, int64_t node, int slack);
uint32_t perfetto_site_stack(struct perfetto *perfetto, uint32_t number, int slack);

#endif
