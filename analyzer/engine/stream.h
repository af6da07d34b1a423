/*
 * stream.h - one process's events on their way through tracker, ledger and attribution. Private to analysis.c,
 * stream.c (events), stream_change.c (what they do to memory), stream_phase.c (what the process is doing), stream_peak.c
 * (how full devices get), stream_checkpoint.c (where events are missing), stream_site.c (whose bytes they are about),
 * stream_sample.c and stream_import.c (what others count), stream_step.c (what a step did to a device),
 * stream_resident.c (tensors whose pages come and go), stream_over.c and stream_sums.c (the end of a process).
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
	const struct mt_rules *rules;
	struct mt_tracker *tracker;
	struct mt_ledger *ledger;

	const struct mt_event *event; /* the batch being read */
	const struct mt_label *label; /* one for each: mt_ahead feeds the tracker */
	size_t count, next;
	uint64_t offset;      /* bytes of the file, read so far */
	int started;          /* events have been read */
	int carrying;         /* those after a cut that stand for the ones before it */
	struct mt_event late; /* the newest one, where its time had to be set */
	struct mt_event gap;  /* says that events are missing here; kind 0: none are */
	struct {
		struct mt_event *event; /* copies of the events between the gap and its checkpoint, and their labels */
		struct mt_label *label;
		struct mt_ahead_batch next; /* the batch after these events */
		int known, error;           /* `next` was read, with this result */
		enum stream_gap_stage {
			STREAM_NO_GAP,
			STREAM_GAP_BEGINS, /* `next` is the checkpoint after a gap; what that does not have goes first */
			STREAM_GAP_ENDS, /* the checkpoint comes next, at `time`; no event before the checkpoint tells a time */
		} stage;
		int64_t time; /* ns of the run: the newest birth in the checkpoint */
	} ahead;              /* see stream_gap.c */
	int worked;           /* one of them was more than the recorder's own word */
	int64_t time;         /* time of the run; never goes back, unlike the events of two threads */
	int64_t turn; /* turn of the newest event among those of all processes: its time, or a later one of an event before it */

	uint32_t device_of[MT_LEDGER_DEVICES]; /* the process's device id to the run's, or STREAM_NO_DEVICE */
	uint32_t touched[MT_LEDGER_DEVICES];   /* the run's devices that this process has used */
	uint32_t touched_count;
	struct stream_owner *owner_of; /* by stack node */
	uint32_t owner_room;

	struct {
		uint64_t count, first; /* events in a row whose total is not ours; the first is the how-manieth */
		uint64_t thread;       /* thread of the newest CPU tensor */
		int several;           /* threads have CPU tensors */
	} unsettled;

	uint64_t total[MT_LEDGER_DEVICES]; /* by the process's device id: bytes, by sample or driver; 0: not told */
	enum analysis_total total_by[MT_LEDGER_DEVICES];
	struct gpu_total *gpu[MT_LEDGER_DEVICES]; /* by the process's device id; NULL: nothing on it yet, or no GPU */
	uint8_t no_gpu[MT_LEDGER_DEVICES];        /* the same: it is known, and none */
	struct stream_import *import;             /* handles to memory of other processes */
	uint32_t imports;
	int resumed; /* the trace begins with what was alive: some of it is older than the recording */
	uint32_t moved[MT_LEDGER_DEVICES]; /* device ids of which bytes changed hands in this event */
	uint32_t moved_count;
	uint32_t waiting[STREAM_WAITING_MAX]; /* out-of-memory errors whose free bytes are not known yet */
	uint32_t waiting_count;
	struct {
		uint32_t device;     /* device of the process, 0: the program has not asked */
		uint64_t free, held; /* free bytes by the driver's word, and the process's bytes then */
		int64_t time;
	} told;

	struct {
		const struct mt_event *event; /* the event that is booked, */
		uint32_t step;                /* in this step */
		int was_asleep;               /* LIVE: the tensor was known, and not all of it was there */
		int error;
	} resident; /* see stream_resident.c */
	struct stream_span span;
	uint32_t spans; /* stretches that are over */
	int64_t alive;  /* the newest sample that found the process there, of the run; INT64_MIN: none has */
	enum stream_end {
		STREAM_GOES_ON,
		STREAM_ENDS, /* the trace is read: the process goes when the others have come so far, */
		STREAM_OVER, /* as it has by now */
	} end;
	struct stream_sum *sum; /* while it goes: what its sites lose */
	size_t sums, sum_room;
};

static inline struct analysis_process *stream_process(const struct stream *stream)
{
	return &stream->analysis->process[stream->process];
}

/* 0 or -MT_E_MEMORY. `stream` is zeroed; release it in any case. */
int stream_init(struct stream *stream, const struct mt_rules *rules);
void stream_release(struct stream *stream);

/* Makes sure that there is a next event: 1; the end: 0; or an error. */
int stream_ready(struct stream *stream);

/*
 * Takes events, of which stream_ready has promised the first, while they are not later than `until`, at most `most`, and
 * none once the analysis is entangled. 1: there are more; 0: the end; or an error.
 */
int stream_take(struct stream *stream, int64_t until, uint32_t most);

/* A sample of a process that is gone: the collector looked once more, who knows how much later. */
static inline int stream_is_late_look(const struct mt_event *event)
{
	return event->kind == MT_HOST_SAMPLE && !event->size;
}

/*
 * When the next event counts; the time of a process never goes back. Memory goes 1 ns after the newest event before the end of the
 * process, or before a gap.
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
 * The trace is read. The process goes with it, unless it is known to go on. Then `end` is STREAM_ENDS, and stream_over is to
 * be called when the other processes have come so far.
 */
void stream_ends(struct stream *stream);

/*
 * All that the process held goes. The sink is told before of its phase, step and samples, and what it never freed; so is
 * whoever counts. 0 or an error.
 */
int stream_over(struct stream *stream);

/* The first part of that alone, of a process that goes on. 0 or an error. */
int stream_over_tell(struct stream *stream);

/* ---- stream_sums.c: the losses of sites at the end of a process ---- */

/* Adds a change of a site's bytes and count of allocations. On -MT_E_MEMORY the attribution has failed. */
void stream_sums_add(struct stream *stream, uint32_t site, int slack, int64_t bytes, int count);

/* Tells the sink the sums, and forgets the sums. */
void stream_sums_tell(struct stream *stream);

/* ---- stream_change.c ---- */

/* Mappings are of memory that something else is counted for. */
static inline int stream_holds_bytes(const struct mt_live *live)
{
	return live->kind != MT_VMM_MAP;
}

/* Brings an event to the ledger; `site`: of what is born, 0: to be found. 0 or an error. */
int stream_book(struct stream *stream, const struct mt_event *event, const struct mt_label *label, uint32_t site);

/* One more (+1) or fewer (-1) at the site of `live`. */
void stream_count(struct stream *stream, const struct mt_live *live, int change);

/* Tells the sink that `live` is gone; `event` NULL: it was there at the end. 0 or the sink's result. */
int stream_gone(struct stream *stream, const struct mt_live *live, const struct mt_event *event, uint32_t step);

/* `live` died at event `seq`, `time` ns into the run: the census may name the module that held it. */
void stream_named_died(struct stream *stream, const struct mt_live *live, uint64_t seq, int64_t time);

/* `live` is gone in step `until`: noted where that is a later one than its own. 0 or -MT_E_MEMORY. */
int stream_outlived(struct stream *stream, const struct mt_live *live, uint32_t until);

/* The totals that differed: they were only in another order than the events (`explained`), or they are wrong. */
void stream_settle_totals(struct stream *stream, int explained);

/* ---- stream_phase.c ---- */

/* After an event: what the process is doing by it. 0 or an error of the sink. */
int stream_phase(struct stream *stream, const struct mt_event *event, const struct mt_label *label);

/* The stretch of the running phase is over, if there is one. 0 or the sink's result. */
int stream_phase_end(struct stream *stream);

/* ---- stream_peak.c ---- */

/* After an event: new peaks of the devices that it changed. */
void stream_settle(struct stream *stream, const struct mt_event *event, const struct mt_label *label);

/* Whether what the device holds now is more than its peak. */
int stream_is_higher(const struct stream *stream, uint32_t device);

/* The device's bytes now are its peak. */
void stream_take_peak(struct stream *stream, uint32_t device, const struct mt_event *event,
		      const struct mt_label *label);

/* For the phases of all processes that use the device: each of them runs while it is as big as now. */
void stream_phase_peaks(struct stream *stream, uint32_t device);

/* Reports may ask for the live set of now: the sink is told, for all processes that share a device with this one. */
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

/* Tells the sink of tensors whose pages come and go, if it wants to know. Once, when the ledger is there. */
void stream_resident_watch(struct stream *stream);

/* Before the ledger has `event`, in `step`: what it tells is of then. */
void stream_resident_at(struct stream *stream, const struct mt_event *event, uint32_t step);

/* ---- stream_checkpoint.c: checkpoints that stand for missing events ---- */

/* Takes the checkpoint that was read; what it does not have any more is gone. 0 or an error. */
int stream_checkpoint(struct stream *stream);

/* Memory that the checkpoint does not have goes; nothing is born yet. 0 or an error. */
int stream_checkpoint_known(struct stream *stream);

/* ---- stream_gap.c: the moment when a gap begins ---- */

/*
 * The next batch of events. 0 or an error. While `ahead.stage` is set, stream_gap is to be called before the events of the batch
 * are taken.
 */
int stream_gap_batch(struct stream *stream, struct mt_ahead_batch *batch);

/*
 * The gap begins: what the checkpoint after the gap does not have goes now, 1 ns after the newest event before the gap. The trace
 * does not say when in the gap it went; the begin is the earliest moment that agrees with the trace. Or the gap ends: time goes on
 * to the checkpoint. 0 or an error.
 */
int stream_gap(struct stream *stream);

/* ---- stream_sample.c: what NVML and the host say ---- */

/* GPU_SAMPLE, HOST_SAMPLE, DRIVER_NOTE and CONTEXT_GONE. 0 or an error. */
int stream_sample(struct stream *stream, const struct mt_event *event);

/* Bytes of the process's device `id` changed hands. */
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

/* Memory of a pool or a graph was handed out or taken back. */
void stream_sample_pool(struct stream *stream, const struct mt_live *live, const struct mt_event *event);

/* The newest out-of-memory error of the analysis is this process's, of its device `id`. */
void stream_sample_oom(struct stream *stream, uint32_t id);

/* Events are missing here: what grew meanwhile has no call that explains it. */
void stream_sample_checkpoint(struct stream *stream);

/* Before what the process held goes. 0 or an error. */
int stream_sample_over(struct stream *stream);

/* After the ends of all. */
void stream_sample_finish(struct stream *stream);

/* ---- stream_step.c ---- */

/* How full the device (of the run) is. */
static inline struct analysis_level stream_level(const struct stream *stream, uint32_t number)
{
	return (struct analysis_level){ .bytes = stream->analysis->attribution.device[number].held,
					.tensors = stream->analysis->device[number].tensors_now };
}

/*
 * The device (of the run) may have changed, or the phase of a process that uses it. Sets `watched` and `quiet` of the
 * device as far as steps go.
 */
void stream_step_held(struct stream *stream, uint32_t number);

/* A STEP event; `counts` 0: it ends nothing that was recorded. After it the next step begins. 0 or an error. */
int stream_step_end(struct stream *stream, const struct mt_event *event, int counts);

/* After the end. 0 or an error. */
int stream_step_finish(struct stream *stream);

/* The holders of the device at the newest out-of-memory error of the analysis. 0 or -MT_E_MEMORY. */
int stream_step_oom(struct stream *stream);

/* ---- stream_import.c ---- */

/* Something was born (change 1) or died (-1), mappings included. 0 or -MT_E_MEMORY. */
int stream_import(struct stream *stream, const struct mt_live *live, int change);

/* ---- stream_site.c ---- */

/* Makes the process's device known to the run. Its number there, STREAM_NO_DEVICE: out of memory. */
uint32_t stream_meet_device(struct stream *stream, uint32_t id);

/* A word for the total of a device of the run; bytes, 0: none. A more trusted word than the ones before counts. */
void stream_total_tell(struct analysis *analysis, uint32_t number, uint64_t total, enum analysis_total by);

/* Bounds the free bytes by the device's total, where no source tells them. */
void stream_bound_free(struct analysis *analysis, struct analysis_oom *oom);

/* The run's number of the process's device, made known when it is new. STREAM_NO_DEVICE: out of memory. */
static inline uint32_t stream_device(struct stream *stream, uint64_t device)
{
	uint32_t id = device < MT_LEDGER_DEVICES ? (uint32_t)device : 0;

	return stream->device_of[id] != STREAM_NO_DEVICE ? stream->device_of[id] : stream_meet_device(stream, id);
}

/* The site of what `event` brings to life: driver memory or a tensor. 0: out of memory. */
uint32_t stream_site(struct stream *stream, const struct mt_event *event, const struct mt_label *label, int driver);

/* mt_ledger_move of this stream; failure is noted in the attribution. */
void stream_move(void *context, uint32_t device, uint64_t tag, int slack, int64_t bytes);

#endif
