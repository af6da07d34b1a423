/*
 * analysis.h - one pass over the events of a run. Memory: what is alive plus the definitions, never the history.
 *
 *   trace of process 1 ── reader ── tracker (phase) ── ledger 1 ──┐
 *   trace of process 2 ── reader ── tracker (phase) ── ledger 2 ──┼── attribution: sites, devices, peaks
 *        merged by time                                           ┘
 *
 * Processes are joined per device: the same GPU (by UUID) and the CPU of the same machine are one device. Times are
 * ns since the run began; processes of one boot share the monotonic clock, others are joined by the time of day.
 */
#ifndef MEMANA_ANALYSIS_H
#define MEMANA_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>
#include "attribution.h"
#include "owner.h"
#include "memtrace/event.h"
#include "memtrace/ledger.h"
#include "memtrace/phase.h"
#include "memtrace/reader.h"

#define ANALYSIS_OOMS_MAX 4096u /* out-of-memory errors kept; more are only counted */

/* The biggest the device was while a phase ran in a process that uses it. */
struct analysis_phase_peak {
	int ran;
	uint64_t bytes;
	int64_t time;
	uint32_t step;
};

/* Strings here and below live as long as the readers. */
struct analysis_device {
	uint32_t kind; /* enum mt_device_kind */
	uint32_t index;
	int known; /* 0: collects what has no device */
	const char *name, *uuid, *boot_id;
	uint64_t total; /* bytes, 0: unknown */
	int used;	/* something happened on it */
	uint32_t *user; /* the processes that use it */
	uint32_t users;
	struct {
		uint64_t bytes;
		uint64_t seq;
		int64_t time;
		uint32_t step, process, thread;
		uint8_t phase, role;
	} peak;
	struct analysis_phase_peak phase_peak[MT_PHASE_COUNT];
};

struct analysis_oom {
	int64_t time;
	uint64_t seq, requested;
	int64_t free; /* bytes of the device that the recorded processes did not hold, -1: unknown */
	uint32_t process, device, stack, step;
	uint32_t kind; /* enum mt_kind: TENSOR_OOM or DRIVER_FAIL */
	uint8_t phase;
};

struct analysis_loss {
	uint64_t count, records; /* events lost; LOST records that say so */
	int64_t first_time, last_time;
};

struct analysis_source {
	int seen;
	uint32_t state; /* enum mt_source_state, the newest */
	const char *why;
	int64_t time;
};

struct analysis_process {
	const char *file;
	const struct mt_process *info;
	const struct mt_defs *defs;
	const struct mt_trace_state *state;
	int64_t origin; /* the run's beginning on this process's monotonic clock */
	int64_t first_time, last_time;
	uint64_t events, kinds[MT_KIND_MAX + 1];
	uint64_t compared, differing; /* events with an allocator total, and those where it is not ours */
	uint64_t first_differing;     /* the how-manieth event, 0: none */
	uint64_t reordered;	      /* totals that were not ours until the other thread's event had come, too */
	uint64_t unknown_frees;
	uint32_t steps;
	int phase_known; /* `phase` of `step` is what it is doing */
	uint8_t phase;
	uint32_t step;
	uint32_t ended; /* enum mt_end + 1, 0: the trace does not say */
	int balanced;	/* the ledger adds up at the end */
	struct analysis_loss loss[MT_LOSS_COUNT];
	struct analysis_source source[MT_SOURCE_COUNT];
};

/* Who wants more than the totals (the loader). All may be NULL. A result other than 0 ends the pass with it. */
struct analysis_sink {
	void *context;
	/* Something alive is gone; `event` NULL: it was alive at the end. `step`: that of the event. */
	int (*gone)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		    uint32_t step);
	/* The newest thing gone at this birth is still there: forget that it went. */
	int (*back)(void *context, uint32_t process, const struct mt_live *live);
	/* A stretch of one phase. */
	int (*span)(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		    const struct mt_event *last);
	/* A step ended. */
	int (*step)(void *context, uint32_t process, const struct mt_event *event);
};

/* Read freely. */
struct analysis {
	struct analysis_process *process;
	uint32_t processes;
	struct analysis_device *device;
	uint32_t devices;
	struct analysis_oom *oom;
	uint32_t ooms;	   /* kept */
	uint64_t oom_count; /* of all */
	char (*owner)[OWNER_NAME_MAX]; /* names; owner[0] is "pytorch" */
	uint32_t owners;
	struct attribution attribution;
};

/* One trace of the run. */
struct analysis_input {
	const char *file;
	struct mt_reader *reader; /* at its beginning */
};

/*
 * Reads the traces to their ends. `rules` are needed only here, the readers as long as `analysis`; `sink` may be NULL.
 * 0; -MT_E_MEMORY; or what the sink returned. Damage in a trace is no error: see state.
 */
int analysis_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		 const struct mt_rules *rules, const struct analysis_sink *sink);
void analysis_release(struct analysis *analysis);

/* ns since the beginning of the run, of an event of `process`. */
int64_t analysis_time(const struct analysis_process *process, uint64_t event_time);

/* Worst damage of the traces: 0 or -MT_E_x; a trace that only ends early (its program was killed) is not damaged. */
int analysis_damage(const struct analysis *analysis, const struct analysis_process **where);

#endif
