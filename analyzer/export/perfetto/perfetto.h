/*
 * perfetto.h - writes a run as a trace of Perfetto (ui.perfetto.dev). Private to this folder.
 *
 *     perfetto_traces.c    reads the events of traces, or
 *     perfetto_database.c  reads the rows of a database, and tells
 *     perfetto_feed.c      moves of bytes and samples
 *     perfetto_counter.c   bytes held, as counters: every change, or the least, the most and the last of a short time
 *     perfetto_peak.c      the peaks of devices, as counters
 *     perfetto_heap.c      heap dumps: the bytes of each stack at the peak of each step
 *     perfetto_stack.c     call stacks
 *     perfetto_slice.c     phases, steps, failed requests
 *     perfetto_packet.c    packets
 *     to_perfetto.c        tracks, and the order of the file
 *
 * The file is a sequence of packets; field numbers are in Perfetto's trace_packet.proto. Packets that describe tracks
 * come before packets that use them. Names of devices are known only at the end, so events go to a temporary file
 * first. Memory grows with processes, devices, sites and kept dumps, and not with the events.
 */
#ifndef MEMANA_PERFETTO_H
#define MEMANA_PERFETTO_H

#include <stdint.h>
#include "base/tuple.h"
#include "export/export.h"
#include "export/export_proto.h"
#include "memtrace/phase.h"

/*
 * Counters of a process on a device: bytes held, bytes by phase, and bytes that PyTorch's allocator reserved and gave
 * out.
 */
enum {
	PERFETTO_HELD,
	PERFETTO_PHASE,
	PERFETTO_RESERVED = PERFETTO_PHASE + MT_PHASE_COUNT,
	PERFETTO_TENSORS,
	PERFETTO_VALUES_MAX
};

/* Counters of a GPU by NVML, and of the host. */
enum { PERFETTO_GPU_USED, PERFETTO_GPU_OWN, PERFETTO_GPU_VALUES };
enum { PERFETTO_RESIDENT, PERFETTO_PINNED, PERFETTO_CGROUP, PERFETTO_HOST_VALUES };

struct perfetto_point {
	int64_t time; /* ns since the run began */
	uint64_t value[PERFETTO_VALUES_MAX];
};

/*
 * Counters that change together, so their values add up at every written point. The first value decides low and high.
 */
struct perfetto_counters {
	uint64_t track;  /* uuid of the first value's track; the tracks of the other values follow */
	uint32_t values; /* at most PERFETTO_VALUES_MAX */
	uint32_t told;   /* one bit for each value: its track is used */
	int waits;       /* 1: `last` is from before the range */
	int64_t bucket;  /* number of the bucket of `low`, `high` and `last`; -1: none */
	struct perfetto_point low, high, last;
	struct perfetto_point sent;
};

/* A process on a device. */
struct perfetto_pair {
	uint32_t process, device;
	uint32_t next;   /* next pair of the process, plus 1; 0: none */
	uint32_t number; /* number among the pairs of the process */
	uint32_t user;   /* index among the users of the device; UINT32_MAX: not looked up yet */
	uint32_t first_site;
	uint64_t highest; /* bytes of the highest peak so far */
	int dirty;
	struct perfetto_point now;
	struct perfetto_counters held, gpu;
};

struct perfetto_process {
	uint32_t first_pair; /* first pair of the process, plus 1; 0: none */
	uint32_t pairs;
	int32_t pid;        /* pid in the file, unique there */
	int64_t slice_end;  /* end of the newest phase */
	int64_t slice_skip; /* bucket of the newest phase that was shorter than a bucket */
	int64_t step_end;
	struct perfetto_counters host;
};

/* Bytes of a site: its own bytes, and the allocator's slack in its memory. */
struct perfetto_bytes {
	uint64_t plain, slack, count;
};

struct perfetto_site {
	uint32_t pair; /* pair of the site, plus 1; 0: not known yet */
	uint32_t next; /* next site of the pair; 0: none */
	int64_t node;  /* id of the stack in the database; 0: none */
	uint8_t phase, driver;
	uint8_t all_slack; /* 1: tensors were in its memory, so its own bytes are slack, too; known at the end */
	struct perfetto_bytes now;
	struct perfetto_bytes peak; /* bytes at the peak of event `peak_seq` of process `peak_process` */
	uint64_t peak_seq;
	uint32_t peak_process;
	struct perfetto_bytes dumped;      /* bytes in the newest dump */
	uint32_t plain_stack, slack_stack; /* numbers of call stacks in the file, 0: not written yet */
};

struct perfetto_heap;   /* the dumps (perfetto_heap.c) */
struct perfetto_stacks; /* texts, frames and stacks of the file (perfetto_stack.c) */

struct perfetto {
	struct export_run *run;
	struct export_out *out;  /* writes to the file of the caller */
	struct export_out *body; /* writes to the temporary file; NULL: packets go to `out` */
	struct proto proto;
	struct export_range range;
	int64_t origin; /* CLOCK_MONOTONIC at time 0 */
	int64_t width;  /* ns of one bucket of counters; 0: every change is written */
	struct perfetto_process *process;
	uint32_t processes;
	struct tuple_table pids; /* pids in use in the file */
	struct perfetto_pair *pair;
	uint32_t pairs, pair_room;
	struct perfetto_site *site; /* by number */
	uint32_t sites;
	uint32_t dirty[64]; /* pairs of the running change */
	uint32_t dirties;
	int64_t change_time;
	struct perfetto_heap *heap;
	struct perfetto_stacks *stacks;
	int error; /* first error, -MT_E_x */
};

void perfetto_fail(struct perfetto *perfetto, int error);

/* ---- packets (perfetto_packet.c) ---- */

#define PERFETTO_SEQUENCE 1 /* sequence number of all packets */
#define PERFETTO_NEEDS 2    /* flag: the packet uses names of earlier packets */

enum { PERFETTO_SLICE_BEGIN = 1, PERFETTO_SLICE_END, PERFETTO_INSTANT, PERFETTO_COUNTER };

/* Uuids of tracks: a process has PERFETTO_PROCESS_TRACKS of them, and each of its devices PERFETTO_DEVICE_TRACKS. */
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

/* Converts a time of the run to the clock of the file. A time outside of the range becomes its beginning or end. */
uint64_t perfetto_time(const struct perfetto *perfetto, int64_t time);

/* Begins a packet without a time, or at a time of the run. perfetto_end ends and writes the packet. */
void perfetto_begin(struct perfetto *perfetto);
void perfetto_begin_at(struct perfetto *perfetto, int64_t time);
void perfetto_end(struct perfetto *perfetto);

/* Begins a packet with an event of a track. proto_end and perfetto_end end it. */
void perfetto_begin_event(struct perfetto *perfetto, int64_t time, uint32_t type, uint64_t track);

/* 1: the time is in the range. */
static inline int perfetto_is_in(const struct perfetto *perfetto, int64_t time)
{
	return time >= perfetto->range.first && time <= perfetto->range.last;
}

/* ---- counters (perfetto_counter.c) ---- */

/* Adds a point with counters->values values. Its time must not be before the time of the last point. */
void perfetto_count(struct perfetto *perfetto, struct perfetto_counters *counters, const struct perfetto_point *point);

/* Writes the points that wait. Call it after the last point. */
void perfetto_count_end(struct perfetto *perfetto, struct perfetto_counters *counters);

/* Writes the value of one counter at a time at once, also if the value has not changed. */
void perfetto_send(struct perfetto *perfetto, struct perfetto_counters *counters, uint32_t value, int64_t time,
		   uint64_t bytes);

/* ---- peaks (perfetto_peak.c) ---- */

/*
 * Writes the exact values at the peak of each device, from run->db. The buckets have only the highest point of each
 * process, and the processes reach theirs at different times. Returns 0 or -MT_E_x.
 */
int perfetto_count_peaks(struct perfetto *perfetto);

/* ---- the run ---- */

/* Tells the whole run from its beginning. Returns 0 or -MT_E_x. */
int perfetto_feed_traces(struct perfetto *perfetto);
int perfetto_feed_database(struct perfetto *perfetto, struct db *db);

/* Call it first: sets the number of processes. Returns 0 or -MT_E_MEMORY. */
int perfetto_processes(struct perfetto *perfetto, uint32_t processes);

/* Call it second: sets the width of a bucket from the first and last time of the run (ns) and its number of events. */
void perfetto_set_width(struct perfetto *perfetto, int64_t first, int64_t last, uint64_t events);
void perfetto_finish(struct perfetto *perfetto); /* call it last */

/* The key of a site, told before its first move. `node`: id of the stack in the database. */
struct perfetto_site_key {
	uint32_t process, device;
	int64_t node;
	uint8_t phase, driver;
};

void perfetto_site_is(struct perfetto *perfetto, uint32_t number, const struct perfetto_site_key *key);
struct perfetto_pair *perfetto_pair_of(struct perfetto *perfetto, uint32_t process,
				       uint32_t device); /* NULL: out of memory */

/* Adds a move of bytes. The moves of one event are a change; perfetto_change_end ends the change. */
void perfetto_moved(struct perfetto *perfetto, uint32_t number, int slack, int64_t bytes, int64_t time);
void perfetto_change_end(struct perfetto *perfetto);

void perfetto_host(struct perfetto *perfetto, uint32_t process, int64_t time, uint64_t resident, uint64_t pinned,
		   uint64_t cgroup);
void perfetto_gpu(struct perfetto *perfetto, uint32_t process, uint32_t device, int64_t time, uint64_t used,
		  uint64_t own);

/* ---- slices (perfetto_slice.c) ---- */

void perfetto_span(struct perfetto *perfetto, uint32_t number, uint8_t phase, int64_t first, int64_t last);
void perfetto_step(struct perfetto *perfetto, uint32_t number, uint32_t step, int64_t first, int64_t last);

/* Writes the failed requests as instants. Returns 0 or -MT_E_x. */
int perfetto_failures(struct perfetto *perfetto);

/* ---- heap dumps (perfetto_heap.c) ---- */

/* The moment of a dump. */
struct perfetto_moment {
	uint32_t step;
	uint64_t bytes; /* bytes of the device, all processes */
	int64_t time;
	uint32_t process; /* process of event `seq`: site->peak has the bytes of this moment if it is of this event */
	uint64_t seq;     /* event of the peak; 0, or another event in site->peak: site->now has the bytes */
};

int perfetto_heap_new(struct perfetto *perfetto); /* 0 or -MT_E_MEMORY */
void perfetto_heap_free(struct perfetto *perfetto);

/*
 * Keeps the bytes of the pair at the peak of a step. If a run has many steps, only some are kept, and always the
 * highest peaks.
 */
void perfetto_heap_dump(struct perfetto *perfetto, struct perfetto_pair *pair, const struct perfetto_moment *moment);

/* Sets the name of a device: 0 or -MT_E_MEMORY. Gets it; "": no name. */
int perfetto_heap_name(struct perfetto *perfetto, uint32_t device, const char *name);
const char *perfetto_heap_device(const struct perfetto *perfetto, uint32_t device);

/* Writes the dumps with their stacks. Returns 0 or -MT_E_x. */
int perfetto_heap_write(struct perfetto *perfetto);

/* ---- stacks (perfetto_stack.c) ---- */

/* Needs run->db. Returns 0 or -MT_E_MEMORY; call perfetto_stacks_close in any case. */
int perfetto_stacks_open(struct perfetto *perfetto);
void perfetto_stacks_close(struct perfetto *perfetto);

/* Returns the number of a call stack in the file, and writes a new one. No packet may be open. 0: an error. */
uint32_t perfetto_stack(struct perfetto *perfetto, int64_t node, int slack);
uint32_t perfetto_site_stack(struct perfetto *perfetto, uint32_t number, int slack);

#endif
