/*
 * stream.h - one process's events on their way through tracker, ledger and attribution. Private to analysis.c,
 * stream.c (events) and stream_site.c (whose bytes they are about).
 */
#ifndef MEMANA_STREAM_H
#define MEMANA_STREAM_H

#include "analysis.h"

#define STREAM_NO_DEVICE UINT32_MAX

/* The stretch of the running phase. */
struct stream_span {
	int open;
	uint8_t phase;
	uint32_t step;
	struct mt_event first, last;
};

struct stream {
	struct analysis *analysis;
	const struct analysis_sink *sink; /* never NULL */
	uint32_t process;		  /* index into analysis->process */
	struct mt_reader *reader;
	const struct mt_rules *rules;
	struct mt_tracker *tracker;
	struct mt_ledger *ledger;

	const struct mt_event *event; /* of the chunk being read */
	size_t count, next;
	int started;  /* events have been read: later checkpoints say nothing new */
	int worked;   /* one of them was more than the recorder's own word */
	int64_t time; /* of the run; never goes back, unlike the events of two threads */

	uint32_t device_of[MT_LEDGER_DEVICES]; /* the process's device id to the run's, or STREAM_NO_DEVICE */
	uint32_t touched[MT_LEDGER_DEVICES];   /* the run's devices that this process has used */
	uint32_t touched_count;
	uint32_t *owner_of; /* stack node to owner + 1, 0: not known yet */
	uint32_t owner_room;

	struct {
		uint64_t count, first; /* events in a row whose total is not ours; the first is the how-manieth */
		uint64_t thread;       /* of the newest CPU tensor */
		int several;	       /* threads have CPU tensors */
	} unsettled;

	struct stream_span span;
	uint32_t filling;	 /* a driver call of this thread made the newest peak */
	uint32_t filling_device; /* on this device, or STREAM_NO_DEVICE */
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

/* Takes the next event, which stream_ready has promised. 0 or an error. */
int stream_take(struct stream *stream);

/* After the end: what is still alive goes to the sink. 0 or an error. */
int stream_finish(struct stream *stream);

/* ---- stream_site.c ---- */

/* The run's number of the process's device, made known when it is new. STREAM_NO_DEVICE: out of memory. */
uint32_t stream_device(struct stream *stream, uint64_t device);

/* The site of what `event` brings to life: driver memory or a tensor. 0: out of memory. */
uint32_t stream_site(struct stream *stream, const struct mt_event *event, const struct mt_label *label, int driver);

/* mt_ledger_move of this stream; failure is noted in the attribution. */
void stream_move(void *context, uint32_t device, uint64_t tag, int slack, int64_t bytes);

#endif
