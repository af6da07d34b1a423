/*
 * analysis.h - one pass over the events of a run. Memory holds the live allocations and the definitions, never the
 * history.
 *
 *   trace of process 1 ── reader ── tracker (phase) ── ledger 1 ──┐
 *   trace of process 2 ── reader ── tracker (phase) ── ledger 2 ──┼── attribution: sites, devices, peaks
 *        merged by time                                           ┘
 *
 * Processes are joined per device: the same GPU (by UUID) and the CPU of the same machine are one device. Times are ns
 * since the run began. Processes of one boot share the monotonic clock; others are joined by the time of day.
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

/*
 * The fill level of a device. Among moments with equal bytes the peak is the first with the most tensor bytes: see
 * stream_peak.c.
 */
struct analysis_level {
	uint64_t bytes, tensors;
};

static inline int analysis_is_higher(struct analysis_level one, struct analysis_level two)
{
	return one.bytes > two.bytes || (one.bytes == two.bytes && one.tensors > two.tensors);
}

/* The highest level of a device at an event of a process in a phase. */
struct analysis_phase_peak {
	int ran;
	struct analysis_level level;
	uint64_t tensors; /* most bytes in tensors in the phase, at any moment */
	int64_t time;
	uint64_t seq; /* number of the event, in its process */
	uint32_t process;
	uint32_t step;
};

/* The highest level of a device during the running step of a process that uses it. */
struct analysis_step_peak {
	struct analysis_level level;
	int64_t time;
	uint64_t seq; /* number of the event, in its process */
	uint32_t process;
	int phase_known; /* 0: the step has done no work yet */
	uint8_t phase;
	uint8_t role; /* role of `process` at the peak */
};

/* A device at the end of a step of a process: the peak of the step, and the bytes of the process at the end. */
struct analysis_step_device {
	struct analysis_step_peak peak;
	uint64_t held, slack, tensors; /* bytes; tensors: all live tensors, resident or not */
};

/* NVML's figures for one process around a peak. A process is sampled when its collector reaches it. */
struct analysis_gpu_total {
	int64_t peak_time; /* time of the process's peak; figures of an earlier peak are replaced */
	int after_known, before_known;
	struct gpu_total_parts after;  /* first settled sample at or after the peak */
	struct gpu_total_parts before; /* last settled sample before `after`; the peak lies between them */
};

/* Peaks of a device: the peak, then those of the phases. */
#define ANALYSIS_PEAKS (1 + MT_PHASE_COUNT)

/* The source of a device's total, in order of trust. */
enum analysis_total {
	ANALYSIS_TOTAL_UNKNOWN,
	ANALYSIS_TOTAL_DEFINED, /* definition of the device; some recorders included the driver's own bytes */
	ANALYSIS_TOTAL_SAMPLE,  /* NVML's sample; NVML of an old driver includes them, too */
	ANALYSIS_TOTAL_DRIVER,  /* cuMemGetInfo: the bytes that a program can have */
};

/* Strings here and below live as long as the readers. */
struct analysis_device {
	uint32_t kind; /* enum mt_device_kind */
	uint32_t index;
	int known; /* 0: placeholder for events without a device */
	const char *name, *uuid, *boot_id;
	uint64_t total; /* bytes that programs can have, by the most trusted source; 0: unknown */
	enum analysis_total total_by;
	uint64_t defined;   /* total of its definition, bytes; 0: unknown */
	int used;           /* 1: an event used the device */
	uint64_t most_used; /* the most bytes that NVML counted, of all programs; 0: no sample */
	int64_t turn;       /* turn in which the device was made known: see merge.h */
	uint32_t *user;     /* the processes that use it */
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
	int watched;                          /* 0: look at the next event in any case */
	struct analysis_level quiet;          /* no peak of a running phase or step grows until the level is higher */
	struct analysis_gpu_total *gpu;       /* ANALYSIS_PEAKS entries for each user */
	struct analysis_step_peak *step_peak; /* the peaks of each user */
	struct analysis_blocks {
		uint64_t bytes; /* bytes of the caching allocator's blocks, where tensors have their requested sizes */
		uint8_t known;  /* 0: tensors have the sizes of their blocks */
		uint8_t least;  /* 1: `bytes` is a lower bound */
	} blocks_now, blocks;   /* now, at the peak */
	uint64_t imported_now;  /* bytes used here that another process counts */
	uint64_t imported;      /* `imported_now` at the peak */
};

/* The source of the figure for free memory. */
enum analysis_free {
	ANALYSIS_FREE_BOUND,  /* bytes that the recorded processes did not hold: an upper bound */
	ANALYSIS_FREE_SAMPLE, /* NVML, soon after the error */
	ANALYSIS_FREE_DRIVER, /* the driver, asked by the program */
};

struct analysis_oom {
	int64_t time;
	uint64_t seq, requested;
	int64_t free; /* bytes, -1: unknown */
	enum analysis_free free_by;
	uint64_t held;     /* bytes of the process on the device */
	uint64_t recorded; /* bytes of all recorded processes on the device */
	int64_t others;    /* bytes of the device outside the process, -1: unknown */
	uint32_t process, device, stack, step;
	uint32_t kind;  /* enum mt_kind: TENSOR_OOM or DRIVER_FAIL */
	uint64_t entry; /* DRIVER_FAIL: entry point of the driver */
	uint8_t phase, role;
	uint8_t category; /* category by rule or phase */
	uint8_t had;      /* 1: the driver refused, and soon gave as many bytes of the device to the same call */
	int64_t turn;     /* turn of the event: see merge.h */
	uint32_t row;     /* after the end: row of the running module in the process's tree; 0: none was running */
};

/* The bytes of a process on the device when a request failed. */
struct analysis_oom_holder {
	uint32_t oom, process;
	uint64_t held, slack; /* bytes; slack: the part in the allocator and in no tensor */
};

struct analysis_loss {
	uint64_t count, records; /* events lost; LOST records that report them */
	int64_t first_time, last_time;
};

struct analysis_source {
	int seen;
	uint32_t state; /* newest enum mt_source_state */
	const char *why;
	int64_t time;
};

/* Host memory of a process and around it, bytes. */
struct analysis_host {
	uint64_t samples;
	int64_t time;       /* time of its newest sample while alive, or of a later one with larger `cgroup` */
	uint64_t available; /* bytes at `time` */
	uint64_t cgroup, cgroup_limit; /* bytes at `time`; limit 0: none; both 0: the cgroup is unknown */
	uint64_t resident, pinned;     /* newest bytes; resident: newest while the process lived */
	uint64_t killed;               /* processes of its cgroup that the kernel killed for lack of memory */
	uint64_t most_resident, most_pinned;
};

struct analysis_process {
	const char *file;
	int running; /* copy of `running` in struct analysis_input */
	const struct mt_process *info;
	const struct mt_defs *defs;
	const struct mt_trace_state *state;
	int64_t origin; /* the run's beginning on this process's monotonic clock */
	int64_t first_time, last_time;
	uint64_t events, kinds[MT_KIND_MAX + 1];
	uint64_t compared, differing; /* events with an allocator total; those with another total than ours */
	uint64_t first_differing;     /* number of the first differing event, from 1; 0: none */
	uint64_t reordered;           /* totals that agreed once an event of another thread had come */
	uint64_t unknown_frees;
	uint32_t steps;
	uint32_t last_step; /* the newest step that ended */
	int phase_known;    /* `phase`, `role` and `step` are known */
	uint8_t phase, role;
	uint32_t step;
	uint32_t next_step; /* step that the next STEP event ends */
	uint64_t phase_first,
		phase_last; /* events of the running stretch of a phase, or of the newest: the first, and the newest that told it */
	uint64_t step_seq, first_seq,
		last_seq; /* seq of the event before the running step; of the first and the last event */
	int64_t step_time;
	uint64_t cut;      /* events dropped on purpose (--keep) */
	uint32_t cuts;     /* number of gaps; memory in the gaps and earlier peaks are in no figure here */
	uint32_t ended;    /* enum mt_end + 1, 0: the trace does not say */
	int over;          /* 1: the process ended, or nothing more is known of it; its memory was removed */
	int64_t over_time; /* time of the removal: 1 ns after the newest sign of life */
	uint64_t over_seq; /* seq of the removal: after all events of the process */
	int balanced;      /* 1: the ledger adds up at the end */
	struct analysis_host host;
	int gpu_full; /* 1: one of its GPUs was almost full at the end */
	struct analysis_loss loss[MT_LOSS_COUNT];
	struct analysis_source source[MT_SOURCE_COUNT];
	struct outlived outlived;      /* by site of the run's attribution */
	struct census census;          /* framework's census of the whole trace */
	uint64_t census_seq;           /* the newest event of a census */
	struct tellings tellings;      /* names of the process's modules */
	struct parameter_lives lives;  /* births and deaths that the census names */
	struct module_tree modules;    /* valid after the end */
	struct parameter_answer named; /* valid after the end: named births, and births like them */
};

/*
 * Callbacks for a caller that wants more than the totals (the loader). Any may be NULL. A result other than 0 ends the
 * pass, and the pass returns it.
 */
struct analysis_sink {
	void *context;
	/* `site` gained `bytes` on its device (lost, if negative), as slack (see attribution.h) or plainly. */
	void (*moved)(void *context, uint32_t site, int slack, int64_t bytes, int64_t time);
	/* `site` gained (+1) or lost (-1) one allocation; called after `moved`. */
	void (*counted)(void *context, uint32_t site, int change, int64_t time);
	/*
	 * The events up to now make the peak of the device, until the next call. `oom`: a request on the device failed.
	 */
	void (*reached)(void *context, uint32_t device, int oom);
	/*
	 * Called when a live pass has read all that the traces have so far. Returns 1 after a while, to look for more;
	 * 0 to look once more and end. NULL: the traces are complete. A live pass tells neither final categories nor
	 * the ends of live memory, steps and phases. Read the traces again for these when they are complete.
	 */
	int (*idle)(void *context);
	/* Called before `idle`: the unfinished stretch of the phase that a process is in. */
	int (*span_now)(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
			const struct mt_event *last);
	/*
  * The pass begins once more, and all calls so far are void: 0 or an error. A sink with this call takes groups of processes that share no device one
  * after the other (merge.h); in a group the events are in order. Sites and devices then have numbers of the pass, and others afterwards
  * (`renumbered`). NULL: the events of all processes come in order.
  */
	int (*anew)(void *context);
	int quiet; /* 1: no progress line, and no thread that reads ahead (handing batches over costs a tenth) */
	/*
	 * Called before a batch of a process's events, with their number and their bytes in the file. Returns 0 or a
	 * negative error.
	 */
	int (*batch)(void *context, uint32_t process, uint64_t events, uint64_t bytes);
	/*
	 * The event gave birth to `live`: memory, a mapping, or a thing of a checkpoint (MT_LIVE). Called after `gone`
	 * for the same event.
	 */
	int (*born)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event);
	/* A mark, or a range that the program opened or closed. */
	int (*named)(void *context, uint32_t process, const struct mt_event *event);
	/* `live` is gone. `event` NULL: alive at the end. `step`: step of the event. */
	int (*gone)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event,
		    uint32_t step);
	/* A mapping of physical memory is gone. `event` NULL: alive at the end. */
	int (*unmapped)(void *context, uint32_t process, const struct mt_live *live, const struct mt_event *event);
	/* Takes back the newest `gone` for this birth: the memory is still alive. */
	int (*back)(void *context, uint32_t process, const struct mt_live *live);
	/* The tensor has `bytes` resident bytes from this event on: pages went or came. */
	int (*resident)(void *context, uint32_t process, const struct mt_live *tensor, uint64_t bytes,
			const struct mt_event *event, uint32_t step);
	/*
	 * Reports may ask for the live set after event `seq` of the process. A stretch of a phase begins, the peak of a
	 * phase stands, or a step ends. Called after the event.
	 */
	void (*instant)(void *context, uint32_t process, uint64_t seq);
	/* A stretch of one phase has ended. */
	int (*span)(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		    const struct mt_event *last);
	/* A sample of a GPU. `parts` is NULL where memory moved during the sample. */
	int (*gpu_sample)(void *context, uint32_t process, uint32_t device, const struct gpu_total_sample *sample,
			  const struct gpu_total_parts *parts);
	/* A sample of the host. `pinned` bytes were page-locked at the time. */
	int (*host_sample)(void *context, uint32_t process, const struct mt_event *event, uint64_t pinned);
	/* A step ended. step_seq and step_time of the process say when the step began. */
	int (*step)(void *context, uint32_t process, const struct mt_event *event);
	/* The step on one device; called after `step`. The step in which the recording ended has such a call, too. */
	int (*step_device)(void *context, uint32_t process, uint32_t device, uint32_t step,
			   const struct analysis_step_device *end);
};

/*
 * The peak by module, after the end: the bytes of each site in each row of the process's module tree. The rows of a
 * site add up to the bytes of the site at the peak of its device.
 */
struct analysis_modules {
	struct parameter_bytes *part; /* by site */
	size_t parts;
	uint32_t *of_site; /* by site: row of its stack; 0: no frame belongs to a module */
	uint32_t *alike;   /* by site: first site with the same line, category, and module path apart from numbers */
};

#define ANALYSIS_SITES_KNOWN 4096u /* a power of two */

/* Cache entry for the site of a birth: see stream_site.c. */
struct analysis_site {
	struct category_sizes *sizes; /* sizes for tensors or driver memory; NULL: empty slot */
	uint64_t size;
	uint32_t stack, label; /* `label`: phase, category, device of the process */
	uint32_t changes;      /* `sizes->changes` at the time */
	uint32_t site;
};

/* Ids of rows for the definitions of processes, see store/store_shared.h. One block with its arrays. */
struct analysis_shared {
	int64_t **node, **frame; /* by process and number */
};

/* Callers may read the fields. */
struct analysis {
	struct analysis_process *process;
	uint32_t processes;
	struct analysis_device *device;
	uint32_t devices;
	struct tuple_table
		known_devices; /* while events are read: the number of a device, by what tells it from others */
	uint32_t nameless;     /* GPUs that came without a UUID; some of them may have one now */
	struct analysis_oom *oom;
	uint32_t ooms;                          /* number that is kept */
	uint64_t oom_count;                     /* number of all errors, kept or not */
	struct analysis_oom_holder *oom_holder; /* in the order of `oom` */
	uint32_t oom_holders;
	char (*owner)[OWNER_NAME_MAX]; /* names; owner[0] is "pytorch" */
	uint32_t owners;
	struct attribution attribution;
	struct analysis_site *site_known; /* cache of ANALYSIS_SITES_KNOWN entries for all processes */
	struct categories categories;
	struct analysis_modules modules;
	const struct mt_rules *rules;
	uint8_t **facts;                /* by process: storage of some strings here; NULL: none */
	struct analysis_shared *shared; /* NULL: processes share no row */
	int followed;                   /* 1: the traces are still being written */
	int sequential;                 /* 1: groups of processes are read one after the other, see merge.h */
	int entangled;                  /* 1: this order was wrong; the analysis is void */
	struct {
		uint32_t *site, *device; /* the number by that of the pass; NULL: all have the same */
		uint32_t sites;
	} renumbered;
	uint32_t *group;          /* while they are: by process, one of its group with a number as small or smaller */
	struct mt_ahead *ahead;   /* while the traces are read */
	struct progress progress; /* while the traces are read */
};

/* One trace of the run. */
struct analysis_input {
	const char *file;
	struct mt_reader *reader; /* at the beginning of the trace */
	int running;              /* 1: the trace is still being written; its process holds memory beyond its end */
};

/*
 * Reads the traces to their ends. `rules` and the readers are needed as long as `analysis`; `sink` may be NULL.
 * 0; -MT_E_MEMORY; what the sink returned; or, where they are followed (idle), an error of mt_reader_more. Damage in a trace is no error: see state.
 */
int analysis_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		 const struct mt_rules *rules, const struct analysis_sink *sink);

void analysis_release(struct analysis *analysis);

/*
 * analysis_run in parts. analysis_begin adds the processes, without their events. analysis_settle sets the categories
 * when all events are known. Both return 0 or -MT_E_MEMORY.
 */
int analysis_begin(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		   const struct mt_rules *rules);
int analysis_settle(struct analysis *analysis);

/*
 * Call it when processes that share no device were read one after the other. Gives sites, devices and so on the numbers
 * of a merge by time. Returns 0 or -MT_E_MEMORY.
 */
int analysis_number(struct analysis *analysis);

/*
 * A pass over one trace that is being written (input->running is 1). It does the work between analysis_begin and
 * analysis_settle. Returns NULL: out of memory. The caller releases `analysis` after the pass. `sink` must outlive the
 * pass.
 */
struct analysis_pass;
struct analysis_pass *analysis_pass_new(struct analysis *analysis, const struct analysis_input *input,
					const struct mt_rules *rules, const struct analysis_sink *sink);
void analysis_pass_free(struct analysis_pass *pass); /* NULL is allowed */

/*
 * Takes at most `most` of the events that are in the file. Returns 1: took some; 0: none there; or an error: the pass
 * is over.
 */
int analysis_pass_take(struct analysis_pass *pass, uint32_t most);

/* Returns 1 if the trace has a census newer than the pass. A new pass is then needed. */
int analysis_pass_is_behind(const struct analysis_pass *pass);

/* Ends the pass: the trace is complete, and all of it was taken. Returns 0 or -MT_E_MEMORY. */
int analysis_pass_end(struct analysis_pass *pass);

/* Time of an event of `process`, in ns since the run began. */
static inline int64_t analysis_time(const struct analysis_process *process, uint64_t event_time)
{
	return (int64_t)(event_time - (uint64_t)process->origin);
}

/* Time of peak 0 .. ANALYSIS_PEAKS - 1 of the device, see struct analysis_gpu_total; INT64_MAX: no such peak. */
static inline int64_t analysis_peak_time(const struct analysis_device *device, uint32_t peak)
{
	if (!peak)
		return device->peak.time;
	return device->phase_peak[peak - 1].ran ? device->phase_peak[peak - 1].time : INT64_MAX;
}

/*
 * Returns the worst damage of the traces: 0 or -MT_E_x. A trace that only ends early (its program was killed) is not
 * damaged.
 */
int analysis_damage(const struct analysis *analysis, const struct analysis_process **where);

/*
 * Fills analysis->modules and the module tree of each process. After the categories are settled; analysis_run does it.
 * 0 or -MT_E_MEMORY.
 */
int analysis_settle_modules(struct analysis *analysis);

/* Sets `*first` as alike_sites does, over all processes. Returns 0 or -MT_E_MEMORY. The caller frees `*first`. */
int analysis_alike(const struct analysis *analysis, uint32_t **first);

/* The moment of the device's peak so far, in the event numbers of the process. */
static inline struct parameter_moment analysis_moment(const struct analysis *analysis, uint32_t process,
						      uint32_t device)
{
	const struct analysis_device *of = &analysis->device[device];

	return (struct parameter_moment){ .epoch = analysis->attribution.device[device].epoch,
					  .seq = of->peak.process == process ? of->peak.seq : 0,
					  .time = of->peak.time };
}

#endif
