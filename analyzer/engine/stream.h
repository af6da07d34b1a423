/*
 * stream.h - the events of one process, passed through tracker, ledger and attribution. Private to analysis.c and these
 * files:
 *
 *     stream.c              events
 *     stream_change.c       their effects on memory
 *     stream_phase.c        the phase of the process
 *     stream_peak.c         levels of devices
 *     stream_checkpoint.c   missing events (and stream_gap.c)
 *     stream_site.c         sites of the events' bytes
 *     stream_sample.c       bytes that others count (and stream_import.c)
 *     stream_step.c         effects of a step on a device
 *     stream_resident.c     tensors whose pages come and go
 *     stream_over.c         the end of a process (and stream_sums.c)
 */
#ifndef MEMANA_STREAM_H
#define MEMANA_STREAM_H

#include "analysis.h"

#define STREAM_NO_DEVICE UINT32_MAX
#define STREAM_GAP_MAX 2048u /* events before a checkpoint that are kept until the checkpoint is read */
#define STREAM_WAITING_MAX 16u

/* The stretch of the running phase. */
struct stream_span {
	int open;
	uint8_t phase;
	uint32_t step;
	struct mt_event first, last;
};

/* A caller of the driver with a stack. */
struct stream_owner {
	uint32_t number; /* index in analysis->owner, plus 1; 0: not known yet */
	int purpose;     /* owner_purpose() */
};

struct stream {
	struct analysis *analysis;
	const struct analysis_sink *sink; /* never NULL */
	uint32_t process;                 /* index into analysis->process */
	struct analysis_process *own;     /* the entry of `process`; the array stays in its place */
	const struct mt_rules *rules;
	struct mt_tracker *tracker;
	struct mt_ledger *ledger;

	const struct mt_event *event; /* the batch being read */
	const struct mt_label *label; /* one label for each event; mt_ahead feeds the tracker */
	size_t count, next;
	uint64_t offset;      /* bytes of the file, read so far */
	int started;          /* events have been read */
	int carrying;         /* 1: the events stand for events before a cut */
	struct mt_event late; /* copy of the newest event, if its time had to be changed */
	struct mt_event gap;  /* event that says that events are missing; kind 0: none */
	struct {
		struct mt_event *event; /* copies of the events between the gap and its checkpoint, and their labels */
		struct mt_label *label;
		struct mt_ahead_batch next; /* the batch after these events */
		int known, error;           /* `next` was read, with this result */
		enum stream_gap_stage {
			STREAM_NO_GAP,
			STREAM_GAP_BEGINS, /* `next` is the checkpoint after a gap; other memory goes first */
			STREAM_GAP_ENDS,   /* the checkpoint comes next, at `time`; events before it have no time */
		} stage;
		int64_t time; /* ns of the run: the newest birth in the checkpoint */
	} ahead;              /* see stream_gap.c */
	int worked;           /* 1: the program did something; all events before were the recorder's own */
	int unwinds;          /* 1: a request failed, and nothing was allocated since: an exception frees */
	int64_t time;         /* time of the run; never goes back, although events of two threads may */
	int64_t turn;         /* greatest time among the events of this process up to now: orders them in the run */

	uint32_t device_of[MT_LEDGER_DEVICES]; /* the process's device id to the run's, or STREAM_NO_DEVICE */
	uint32_t touched[MT_LEDGER_DEVICES];   /* the run's devices that this process has used */
	uint32_t touched_count;
	struct stream_owner *owner_of; /* by stack node */
	uint32_t owner_room;

	struct {
		uint64_t count, first; /* events in a row with a total other than ours; number of the first */
		uint64_t thread;       /* thread of the newest CPU tensor */
		int several;           /* 1: several threads have CPU tensors */
	} unsettled;

	uint64_t total[MT_LEDGER_DEVICES]; /* by the process's device id: bytes; 0: unknown */
	enum analysis_total total_by[MT_LEDGER_DEVICES];
	struct gpu_total *gpu[MT_LEDGER_DEVICES]; /* by the process's device id; NULL: unused, or not a GPU */
	uint8_t no_gpu[MT_LEDGER_DEVICES];        /* by the process's device id: 1: known to be no GPU */
	struct stream_import *import;             /* handles to memory of other processes */
	uint32_t imports;
	int resumed; /* 1: the trace begins with live memory, and some of it is older than the recording */
	uint32_t moved[MT_LEDGER_DEVICES]; /* device ids with bytes that this event moved */
	uint32_t moved_count;
	uint32_t waiting[STREAM_WAITING_MAX]; /* out-of-memory errors whose free bytes are not known yet */
	uint32_t waiting_count;
	struct {
		uint32_t device; /* device of the process, 0: the program has not asked */
		uint64_t free,
			recorded; /* free bytes that the driver reported, and bytes of all recorded processes then */
		int64_t time;
	} told;

	struct {
		const struct mt_event *event; /* the event that is booked */
		uint32_t step;                /* step of the event */
		int was_asleep;               /* LIVE: the tensor was known, and a part of it was not resident */
		int error;
	} resident; /* see stream_resident.c */
	struct stream_span span;
	uint32_t spans; /* stretches that have ended */
	int64_t alive;  /* time of the newest sample that found the process alive; INT64_MIN: none */
	enum stream_end {
		STREAM_GOES_ON,
		STREAM_ENDS, /* the trace is read; the process ends when the others have reached this time */
		STREAM_OVER, /* the process has ended */
	} end;
	struct stream_sum *sum; /* at the end: losses of the process's sites */
	size_t sums, sum_room;
};

static inline struct analysis_process *stream_process(const struct stream *stream)
{
	return stream->own;
}

/* 0 or -MT_E_MEMORY. Only analysis, process and sink of `stream` are set. Release it in any case. */
int stream_init(struct stream *stream, const struct mt_rules *rules);
void stream_release(struct stream *stream);

/* Makes the next event available. Returns 1; 0: the end of the trace; or an error. */
int stream_ready(struct stream *stream);

/*
 * Takes events up to the time `until`, at most `most`, and stops when the analysis is entangled. stream_ready must have
 * returned 1. Returns 1: more events; 0: the end; or an error.
 */
int stream_take(struct stream *stream, int64_t until, uint32_t most);

/* Whether a sample is of a process that has ended. The collector took it at an unknown time after the end. */
static inline int stream_is_late_look(const struct mt_event *event)
{
	return event->kind == MT_HOST_SAMPLE && !event->size;
}

/*
 * The time at which the next event counts; the time of a process never goes back. Memory goes 1 ns after the newest
 * event before the end of the process, or before a gap.
 */
static inline int64_t stream_next_time(const struct stream *stream)
{
	const struct mt_event *event = &stream->event[stream->next];
	int64_t time;

	if (stream->end == STREAM_ENDS || stream->ahead.stage == STREAM_GAP_BEGINS)
		return stream->time + 1;
	if (stream->ahead.stage == STREAM_GAP_ENDS)
		return stream->ahead.time;
	time = analysis_time(stream_process(stream), event->time);
	return stream->started && (time < stream->time || stream_is_late_look(event)) ? stream->time : time;
}

/* After the end. 0 or an error. */
int stream_finish(struct stream *stream);

/* ---- stream_over.c: the end of a process ---- */

/*
 * Call it when the trace is read. Unless the process is known to go on, `end` becomes STREAM_ENDS: call stream_over
 * when the other processes have reached the time.
 */
void stream_ends(struct stream *stream);

/*
 * Removes all memory of the process. Before, the sink gets the end of its phase and step, its samples, and the memory
 * that was never freed. Returns 0 or an error.
 */
int stream_over(struct stream *stream);

/* The first part of stream_over, for a process that goes on: makes the sink's calls and removes nothing. Returns 0 or an error. */
int stream_over_tell(struct stream *stream);

/* ---- stream_sums.c: the losses of sites at the end of a process ---- */

/* Adds a change of a site's bytes and count of allocations. On -MT_E_MEMORY the attribution has failed. */
void stream_sums_add(struct stream *stream, uint32_t site, int slack, int64_t bytes, int count);

/* Tells the sink the sums, and forgets the sums. */
void stream_sums_tell(struct stream *stream);

/* ---- stream_change.c ---- */

/* Whether `live` is counted itself. A mapping is not: its physical memory is counted. */
static inline int stream_holds_bytes(const struct mt_live *live)
{
	return live->kind != MT_VMM_MAP;
}

/* Books an event in the ledger. `site`: site of the birth, 0: find it. Returns 0 or an error. */
int stream_book(struct stream *stream, const struct mt_event *event, const struct mt_label *label, uint32_t site);

/* Adds one allocation (+1) to the site of `live`, or removes one (-1). */
void stream_count(struct stream *stream, const struct mt_live *live, int change);

/* Tells the sink that `live` is gone. `event` NULL: alive at the end. Returns 0 or the sink's result. */
int stream_gone(struct stream *stream, const struct mt_live *live, const struct mt_event *event, uint32_t step);

/* `live` died at event `seq`, `time` ns into the run: the census may name the module that held it. */
void stream_named_died(struct stream *stream, const struct mt_live *live, uint64_t seq, int64_t time);

/* Notes that `live` died in step `until`, if this is later than its own step. Returns 0 or -MT_E_MEMORY. */
int stream_outlived(struct stream *stream, const struct mt_live *live, uint32_t until);

/* Settles totals that differed. `explained`: only the order of events differed; otherwise the totals are wrong. */
void stream_settle_totals(struct stream *stream, int explained);

/* ---- stream_phase.c ---- */

/* After an event: updates the phase of the process. Returns 0 or an error of the sink. */
int stream_phase(struct stream *stream, const struct mt_event *event, const struct mt_label *label);

/* Ends the stretch of the running phase, if there is one. Returns 0 or the sink's result. */
int stream_phase_end(struct stream *stream);

/* ---- stream_peak.c ---- */

/* After an event: takes new peaks of the devices that the event changed. */
void stream_settle(struct stream *stream, const struct mt_event *event, const struct mt_label *label);

/* Takes the peaks of the device for the running phases of its users. */
void stream_phase_peaks(struct stream *stream, uint32_t device);

/* Tells the sink that reports may ask for the live set now, for all processes that share a device with this one. */
static inline void stream_instant(const struct stream *stream)
{
	const struct analysis *analysis = stream->analysis;
	const struct analysis_device *device;
	uint32_t i, user;

	if (!stream->sink->instant)
		return;
	stream->sink->instant(stream->sink->context, stream->process, stream_process(stream)->last_seq);
	for (i = 0; i < stream->touched_count; i++) {
		device = &analysis->device[stream->touched[i]];
		for (user = 0; user < device->users; user++)
			if (device->user[user] != stream->process)
				stream->sink->instant(stream->sink->context, device->user[user],
						      analysis->process[device->user[user]].last_seq);
	}
}

/* ---- stream_resident.c ---- */

/* Watches tensors whose pages come and go, if the sink wants it. Call it once, when the ledger exists. */
void stream_resident_watch(struct stream *stream);

/* ---- stream_checkpoint.c: checkpoints that stand for missing events ---- */

/* Takes the checkpoint that was read. Memory that the checkpoint does not have is gone. Returns 0 or an error. */
int stream_checkpoint(struct stream *stream);

/* Removes the memory that the checkpoint does not have, without new births. Returns 0 or an error. */
int stream_checkpoint_known(struct stream *stream);

/* ---- stream_gap.c: the moment when a gap begins ---- */

/*
 * Reads the next batch of events. Returns 0 or an error. While `ahead.stage` is set, call stream_gap before taking
 * events of the batch.
 */
int stream_gap_batch(struct stream *stream, struct mt_ahead_batch *batch);

/*
 * Begins or ends a gap. At the beginning, memory that the checkpoint does not have goes, 1 ns after the newest event
 * before the gap. The trace does not say when in the gap the memory went; the beginning is the earliest possible
 * moment. At the end of the gap, the time moves on to the checkpoint. Returns 0 or an error.
 */
int stream_gap(struct stream *stream);

/* ---- stream_sample.c: samples of NVML and of the host ---- */

/* GPU_SAMPLE, HOST_SAMPLE, DRIVER_NOTE and CONTEXT_GONE. 0 or an error. */
int stream_sample(struct stream *stream, const struct mt_event *event);

/* Notes that bytes of the process's device `id` moved. */
static inline void stream_moved(struct stream *stream, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < stream->moved_count; i++)
		if (stream->moved[i] == id)
			return;
	stream->moved[stream->moved_count++] = id;
}

/* After an event that may have moved bytes. 0 or an error. */
int stream_sample_held(struct stream *stream, const struct mt_event *event);

/* Memory of a pool or a graph was taken from, or given back to, a device. */
void stream_sample_pool(struct stream *stream, const struct mt_live *live, const struct mt_event *event);

/* The newest out-of-memory error of the analysis belongs to this process and its device `id`. */
void stream_sample_oom(struct stream *stream, uint32_t id);

/* Events are missing. No call explains memory that grew in the gap. */
void stream_sample_checkpoint(struct stream *stream);

/* Call it before the memory of the process is removed. Returns 0 or an error. */
int stream_sample_over(struct stream *stream);

/* Call it after all processes have ended. */
void stream_sample_finish(struct stream *stream);

/* ---- stream_step.c ---- */

/* The fill level of a device of the run. */
static inline struct analysis_level stream_level(const struct stream *stream, uint32_t number)
{
	return (struct analysis_level){ .bytes = stream->analysis->attribution.device[number].held,
					.tensors = stream->analysis->device[number].tensors_now };
}

/*
 * Call it when the device of the run, or the phase of a user, may have changed. Sets `watched` and `quiet` of the
 * device for steps.
 */
void stream_step_held(struct stream *stream, uint32_t number);

/* Takes a STEP event. `counts` 0: it ends no recorded step. The next step begins. Returns 0 or an error. */
int stream_step_end(struct stream *stream, const struct mt_event *event, int counts);

/* After the end. 0 or an error. */
int stream_step_finish(struct stream *stream);

/* Notes the holders of the device at the newest out-of-memory error of the analysis. Returns 0 or -MT_E_MEMORY. */
int stream_step_oom(struct stream *stream);

/* ---- stream_import.c ---- */

/* Notes a birth (1) or a death (-1), mappings included. Returns 0 or -MT_E_MEMORY. */
int stream_import(struct stream *stream, const struct mt_live *live, int change);

/* ---- stream_site.c ---- */

/* Makes the process's device known to the run. Returns its number in the run. STREAM_NO_DEVICE: out of memory. */
uint32_t stream_meet_device(struct stream *stream, uint32_t id);

/* Reports the total of a device of the run, in bytes, 0: unknown. The most trusted source counts. */
void stream_total_tell(struct analysis *analysis, uint32_t number, uint64_t total, enum analysis_total by);

/* Bounds the free bytes by the device's total, where no source tells them. */
void stream_bound_free(struct analysis *analysis, struct analysis_oom *oom);

/* Returns the run's number of the process's device, and makes a new device known. STREAM_NO_DEVICE: out of memory. */
static inline uint32_t stream_device(struct stream *stream, uint64_t device)
{
	uint32_t id = device < MT_LEDGER_DEVICES ? (uint32_t)device : 0;

	return stream->device_of[id] != STREAM_NO_DEVICE ? stream->device_of[id] : stream_meet_device(stream, id);
}

/* Returns the site of the memory that `event` brings to life: driver memory or a tensor. 0: out of memory. */
uint32_t stream_site(struct stream *stream, const struct mt_event *event, const struct mt_label *label, int driver);

/* mt_ledger_move of this stream. A failure sets attribution.failed. */
void stream_move(void *context, uint32_t device, uint64_t tag, int slack, int64_t bytes);

#endif
