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
#include "base/progress.h"
#include "base/tuple.h"
#include "device/gpu_total.h"
#include "label/attribution.h"
#include "label/category.h"
#include "label/census.h"
#include "label/module_tree.h"
#include "label/owner.h"
#include "label/parameter_lives.h"
#include "label/telling.h"
#include "memtrace/ahead.h"
#include "memtrace/event.h"
#include "memtrace/ledger.h"
#include "memtrace/phase.h"
#include "memtrace/reader.h"
#include "moment.h"
#include "outlived.h"

#define ANALYSIS_OOMS_MAX 4096u /* out-of-memory errors kept; more are only counted */

/* How full a device is. Among moments with as many bytes the first with the most tensors is the peak: see
 * stream_is_higher. */
struct analysis_level {
	uint64_t bytes, tensors;
};

static inline int analysis_is_higher(struct analysis_level one, struct analysis_level two)
{
	return one.bytes > two.bytes || (one.bytes == two.bytes && one.tensors > two.tensors);
}

/* The biggest the device was when a process that uses it did something in a phase. */
struct analysis_phase_peak {
	int ran;
	struct analysis_level level;
	uint64_t tensors; /* the most bytes in tensors meanwhile, at whatever moment */
	int64_t time;
	uint64_t seq; /* number of the event, in its process */
	uint32_t process;
	uint32_t step;
};

/* The biggest the device was while the running step of a process that uses it ran. */
struct analysis_step_peak {
	struct analysis_level level;
	int64_t time;
	uint64_t seq; /* number of the event, in its process */
	uint32_t process;
	int phase_known; /* 0: no work was done in the step yet */
	uint8_t phase;
	uint8_t role; /* role of `process` then */
};

/* A device when a step of a process ended: its peak since the step began, and what the process itself held then. */
struct analysis_step_device {
	struct analysis_step_peak peak;
	uint64_t held, slack, tensors; /* bytes; tensors: alive, resident or not */
};

/* NVML's figures for one process around a peak. Each process is looked at when its collector comes to it. */
struct analysis_gpu_total {
	int64_t peak_time; /* time of its peak; a peak of another time has replaced that */
	int after_known, before_known;
	struct gpu_total_parts after;  /* the first settled sample at or after it */
	struct gpu_total_parts before; /* the last one before that; the peak is between them */
};

/* Peaks of a device: the peak, then those of the phases. */
#define ANALYSIS_PEAKS (1 + MT_PHASE_COUNT)

/* The source of a device's total, in order of trust. */
enum analysis_total {
	ANALYSIS_TOTAL_UNKNOWN,
	ANALYSIS_TOTAL_DEFINED, /* definition of the device: some recorders counted what the driver keeps for itself */
	ANALYSIS_TOTAL_SAMPLE,  /* NVML's sample: NVML of an old driver counts the same */
	ANALYSIS_TOTAL_DRIVER,  /* cuMemGetInfo: the bytes that a program can have */
};

/* Strings here and below live as long as the readers. */
struct analysis_device {
	uint32_t kind; /* enum mt_device_kind */
	uint32_t index;
	int known; /* 0: collects what has no device */
	const char *name, *uuid, *boot_id;
	uint64_t total; /* bytes that programs can have, by the most trusted source; 0: unknown */
	enum analysis_total total_by;
	uint64_t defined; /* total of its definition, bytes; 0: unknown */
	int used;         /* something happened on it */
	int64_t turn;     /* when it was made known: see merge.h */
	uint32_t *user;   /* the processes that use it */
	uint32_t users;
	uint64_t tensors_now; /* bytes that tensors fill */
	struct {
		uint64_t bytes, tensors;
		uint64_t seq;
		int64_t time;
		uint32_t step, process, thread;
		uint8_t phase, role;
	} peak;
	struct analysis_phase_peak phase_peak[MT_PHASE_COUNT];
	int watched;                    /* 0: the next event is looked at in any case; */
	struct analysis_level quiet;    /* until it is higher than that, no peak of a running phase or step grows */
	struct analysis_gpu_total *gpu; /* ANALYSIS_PEAKS of them for each user */
	struct analysis_step_peak *step_peak; /* the peaks of each user */
	struct analysis_blocks {
		uint64_t bytes; /* bytes of the caching allocator's blocks, if sizes of tensors are those asked for */
		uint8_t known;  /* 0: sizes are those of blocks */
		uint8_t least;  /* they are at least that large */
	} blocks_now, blocks;   /* now, at the peak */
	uint64_t imported_now;  /* bytes that are used here and counted by another process */
	uint64_t imported;      /* the imported part, at the peak */
};

/* The source of the figure for free memory. */
enum analysis_free {
	ANALYSIS_FREE_BOUND,  /* bytes that the recorded processes did not hold: an upper bound */
	ANALYSIS_FREE_SAMPLE, /* NVML, soon after */
	ANALYSIS_FREE_DRIVER, /* the driver, whom the program asked */
};

struct analysis_oom {
	int64_t time;
	uint64_t seq, requested;
	int64_t free; /* bytes, -1: unknown */
	enum analysis_free free_by;
	uint64_t held;     /* by the process, of the device */
	uint64_t recorded; /* by all recorded processes, of the device */
	int64_t others;    /* bytes of the device that were not the process's, -1: unknown */
	uint32_t process, device, stack, step;
	uint32_t kind;  /* enum mt_kind: TENSOR_OOM or DRIVER_FAIL */
	uint64_t entry; /* DRIVER_FAIL: of the driver */
	uint8_t phase, role;
	uint8_t category; /* kind by rule or phase */
	uint8_t had; /* 1: a refusal of the driver's, and soon after the same call gave the process as many bytes of that device */
	int64_t turn; /* turn of the event: see merge.h */
	uint32_t row; /* after the end: of the module that was running, in the process's tree; 0: none was */
};

/* The bytes of a process on the device when a request failed. */
struct analysis_oom_holder {
	uint32_t oom, process;
	uint64_t held, slack; /* bytes; slack: of them, in the allocator and in no tensor */
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

/* Host memory of a process and around it, bytes. */
struct analysis_host {
	uint64_t samples;
	int64_t time;       /* time of the newest while the process lived, or of a later one with more of `cgroup` */
	uint64_t available; /* then */
	uint64_t cgroup, cgroup_limit; /* then; limit 0: none; both 0: no cgroup is known that holds the process */
	uint64_t resident, pinned;     /* the newest; resident: while it lived */
	uint64_t killed;               /* processes of its cgroup killed by the kernel for want of memory */
	uint64_t most_resident, most_pinned;
};

struct analysis_process {
	const char *file;
	int running; /* as in struct analysis_input */
	const struct mt_process *info;
	const struct mt_defs *defs;
	const struct mt_trace_state *state;
	int64_t origin; /* the run's beginning on this process's monotonic clock */
	int64_t first_time, last_time;
	uint64_t events, kinds[MT_KIND_MAX + 1];
	uint64_t compared, differing; /* events with an allocator total, and those where it is not ours */
	uint64_t first_differing;     /* the how-manieth event, 0: none */
	uint64_t reordered;           /* totals that were not ours until the other thread's event had come, too */
	uint64_t unknown_frees;
	uint32_t steps;
	uint32_t last_step; /* the newest step that ended */
	int phase_known;    /* `phase` of `step` is what it is doing */
	uint8_t phase, role;
	uint32_t step;
	uint32_t next_step; /* the one that the next STEP event ends */
	uint64_t step_seq, first_seq,
		last_seq; /* numbers of the event before that step; of the first and the last event */
	int64_t step_time;
	uint64_t cut;      /* events that were let go on purpose (--keep), */
	uint32_t cuts;     /* number of gaps; those and peaks before them are not in any figure here */
	uint32_t ended;    /* enum mt_end + 1, 0: the trace does not say */
	int over;          /* the process is gone, or nothing is known of it any more: what it held went */
	int64_t over_time; /* when: 1 ns after the newest sign of life, */
	uint64_t over_seq; /* and after all of its events */
	int balanced;      /* the ledger adds up at the end */
	struct analysis_host host;
	int gpu_full; /* at the end one of its GPUs had next to nothing free */
	struct analysis_loss loss[MT_LOSS_COUNT];
	struct analysis_source source[MT_SOURCE_COUNT];
	struct census census;          /* the framework's word on the whole trace */
	uint64_t census_seq;           /* the newest event of a census */
	struct tellings tellings;      /* names of its modules */
	struct parameter_lives lives;  /* births and deaths that the census names */
	struct module_tree modules;    /* after the end, */
	struct parameter_answer named; /* and this: of named births, and of those like them */
};

/* The sink of a caller that wants more than the totals (the loader). All may be NULL. A result other than 0 ends the
 * pass with it. */
struct analysis_sink {
	void *context;
	/* `site` holds so much more or less of its device, as slack (see attribution.h) or plainly. */
	void (*moved)(void *context, uint32_t site, int slack, int64_t bytes, int64_t time);
	/* One allocation more (+1) or fewer (-1) at `site`; after the bytes that this moved. */
	void (*counted)(void *context, uint32_t site, int change, int64_t time);
	/* The events told so far make the peak of the device, until another one is told; `oom`: a request on it has
	 * failed. */
	void (*reached)(void *context, uint32_t device, int oom);
	/*
	 * The traces are still being written, and all there is of them has been taken in (analysis_run does not end with
	 * their ends then): 1 after a while, to look for more; 0: that is over, to look once more and end. NULL: the
	 * traces are whole. The ends of what is alive, of steps and phases are not told, nor what bytes were: read the
	 * traces again when they are whole.
	 */
	int (*idle)(void *context);
	/* Before `idle`: the stretch of one phase that a process is in, so far. */
	int (*span_now)(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
			const struct mt_event *last);
	int quiet; /* 1: no progress line, and no thread that reads ahead: handing batches over costs a tenth */
	/* Before a batch of a process's events: their number, and the bytes of its file they took. Its result is 0 or
	 * below. */
	int (*batch)(void *context, uint32_t process, uint64_t events, uint64_t bytes);
	/* Something new is alive by this event, also a mapping, or one out of a checkpoint (MT_LIVE). After what went by it. */
	int (*born)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event);
	/* A mark, or a range that the program opened or closed. */
	int (*named)(void *context, uint32_t process, const struct mt_event *event);
	/* Something alive is gone; `event` NULL: it was alive at the end. `step`: that of the event. */
	int (*gone)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		    uint32_t step);
	/* A mapping of physical memory is gone; `event` NULL: it was there at the end. */
	int (*unmapped)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event);
	/* The newest thing gone at this birth is still there: forget that it went. */
	int (*back)(void *context, uint32_t process, const struct mt_live *live);
	/* From this event on a live tensor has `bytes` bytes: not all, or all of them, because its pages went or
	 * came. */
	int (*resident)(void *context, uint32_t process, const struct mt_live *tensor, uint64_t bytes,
			const struct mt_event *event, uint32_t step);
	/*
	 * Reports may ask for the live set after event `seq` of the process: a stretch of a phase begins on one of its devices, or the
	 * peak of a phase or a step's end stands. After the event.
	 */
	void (*instant)(void *context, uint32_t process, uint64_t seq);
	/* A stretch of one phase. */
	int (*span)(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		    const struct mt_event *last);
	/* A sample of a GPU; `parts` NULL: memory moved while it was made. */
	int (*gpu_sample)(void *context, uint32_t process, uint32_t device, const struct gpu_total_sample *sample,
			  const struct gpu_total_parts *parts);
	/* A sample of the host; `pinned` bytes were page-locked by then. */
	int (*host_sample)(void *context, uint32_t process, const struct mt_event *event, uint64_t pinned);
	/* A step ended. It began with step_seq and step_time of the process. */
	int (*step)(void *context, uint32_t process, const struct mt_event *event);
	/* The effect on a device; after `step`. The step in which the recording ended has one, too. */
	int (*step_device)(void *context, uint32_t process, uint32_t device, uint32_t step,
			   const struct analysis_step_device *end);
};

/*
 * The peak by module, after the end: how much of a site belongs to which row of its process's module tree. The rows of a site
 * add up to what it held at the peak of its device.
 */
struct analysis_modules {
	struct parameter_bytes *part; /* by site */
	size_t parts;
	uint32_t *of_site; /* by site: the row of its stack; 0: none of its frames is a module's */
	uint32_t *alike; /* by site: the first of one line, one category, and modules whose paths differ in numbers alone */
};

#define ANALYSIS_SITES_KNOWN 1024u /* a power of two */

/* The site of a birth, by what is known of it at once: see stream_site.c. */
struct analysis_site {
	const struct category_sizes *sizes; /* those of tensors or of driver memory in the process; NULL: an empty slot */
	uint64_t size;
	uint32_t stack, label; /* `label`: phase, category, device of the process */
	uint32_t changes;      /* `sizes->changes` then */
	uint32_t site;
};

/* Read freely. */
struct analysis {
	struct analysis_process *process;
	uint32_t processes;
	struct analysis_device *device;
	uint32_t devices;
	struct tuple_table
		known_devices; /* while events are read: the number of a device, by what tells it from others */
	uint32_t nameless;     /* GPUs that came without a UUID; some may have one by now */
	struct analysis_oom *oom;
	uint32_t ooms;                          /* kept */
	uint64_t oom_count;                     /* sum over all */
	struct analysis_oom_holder *oom_holder; /* in the order of `oom` */
	uint32_t oom_holders;
	char (*owner)[OWNER_NAME_MAX]; /* names; owner[0] is "pytorch" */
	uint32_t owners;
	struct attribution attribution;
	struct analysis_site *site_known; /* while events are read: ANALYSIS_SITES_KNOWN of all processes */
	struct categories categories;
	struct outlived outlived; /* by site of the attribution */
	struct analysis_modules modules;
	const struct mt_rules *rules;
	uint8_t **facts;          /* by process: the bytes that some strings here lie in; NULL: none do */
	int followed;             /* more may come of the traces: they are still being written */
	int sequential;           /* processes are read one after the other, see merge.h, */
	int entangled;            /* which came out to be wrong: all of this is void */
	struct mt_ahead *ahead;   /* while the traces are read */
	struct progress progress; /* the same */
};

/* One trace of the run. */
struct analysis_input {
	const char *file;
	struct mt_reader *reader; /* at its beginning */
	int running;              /* the trace is still being written: its process holds memory beyond the end of it */
};

/*
 * Reads the traces to their ends. `rules` and the readers are needed as long as `analysis`; `sink` may be NULL.
 * 0; -MT_E_MEMORY; what the sink returned; or, where they are followed (idle), an error of mt_reader_more. Damage in a trace is no error: see state.
 */
int analysis_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		 const struct mt_rules *rules, const struct analysis_sink *sink);

void analysis_release(struct analysis *analysis);

/*
 * The same in parts. analysis_begin: the processes, and nothing of their events. analysis_settle: what bytes were, when all events
 * are known. 0 or -MT_E_MEMORY.
 */
int analysis_begin(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		   const struct mt_rules *rules);
int analysis_settle(struct analysis *analysis);

/*
 * Processes that share no device were taken one after the other: everything gets the number that it has when their events are merged by
 * time. 0 or -MT_E_MEMORY.
 */
int analysis_number(struct analysis *analysis);

/*
 * A pass over one trace while it is being written (input->running is 1): from analysis_begin to what analysis_settle needs. NULL: out
 * of memory. `analysis` is the caller's to release after the pass, and `sink` outlives the pass.
 */
struct analysis_pass;
struct analysis_pass *analysis_pass_new(struct analysis *analysis, const struct analysis_input *input,
					const struct mt_rules *rules, const struct analysis_sink *sink);
void analysis_pass_free(struct analysis_pass *pass); /* NULL is fine */

/* Takes at most `most` of the events that are in the file. 1: there were some; 0: none; or an error: it is over. */
int analysis_pass_take(struct analysis_pass *pass, uint32_t most);

/* 1: the trace has a census that the pass should have known from the beginning: only a new pass is right. */
int analysis_pass_is_behind(const struct analysis_pass *pass);

/* The trace has its end, and all of it was taken. 0 or -MT_E_MEMORY. */
int analysis_pass_end(struct analysis_pass *pass);

/* ns since the beginning of the run, of an event of `process`. */
static inline int64_t analysis_time(const struct analysis_process *process, uint64_t event_time)
{
	return (int64_t)(event_time - (uint64_t)process->origin);
}

/* When the device had peak 0 .. ANALYSIS_PEAKS - 1 of struct analysis_gpu_total; INT64_MAX: it had none. */
static inline int64_t analysis_peak_time(const struct analysis_device *device, uint32_t peak)
{
	if (!peak)
		return device->peak.time;
	return device->phase_peak[peak - 1].ran ? device->phase_peak[peak - 1].time : INT64_MAX;
}

/* The newest event of all processes, ns since the run began; 0: there is none. */
int64_t analysis_last_time(const struct analysis *analysis);

/* Worst damage of the traces: 0 or -MT_E_x; a trace that only ends early (its program was killed) is not damaged. */
int analysis_damage(const struct analysis *analysis, const struct analysis_process **where);

/*
 * Fills analysis->modules and the module tree of each process. After the categories are settled; analysis_run does it.
 * 0 or -MT_E_MEMORY.
 */
int analysis_settle_modules(struct analysis *analysis);

/* Sets `*first`, of alike_sites, over all processes. The caller frees it. 0 or -MT_E_MEMORY. */
int analysis_alike(const struct analysis *analysis, uint32_t **first);

/* When the device had its peak so far, as the process counts. */
static inline struct parameter_moment analysis_moment(const struct analysis *analysis, uint32_t process,
						      uint32_t device)
{
	const struct analysis_device *of = &analysis->device[device];

	return (struct parameter_moment){ .epoch = analysis->attribution.device[device].epoch,
					  .seq = of->peak.process == process ? of->peak.seq : 0,
					  .time = of->peak.time };
}

#endif
