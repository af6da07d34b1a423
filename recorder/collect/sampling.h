/*
 * sampling.h - when the collector looks at the GPUs and at the host, and what of it goes into the trace.
 *
 * It looks about every 100 ms while events come, at once when they pause (a figure is worth most while nothing moves),
 * and soon after an out-of-memory error or a call that takes bytes outside the ledger; once a second else; and never so
 * often that looking takes more than a hundredth of the time. Written is what has changed by a noticeable amount, what
 * was looked at for a reason, and once a second while events come.
 */
#ifndef MEMREC_SAMPLING_H
#define MEMREC_SAMPLING_H

#include <stdint.h>
#include <sys/types.h>
#include "gpu_sample.h"
#include "host_sample.h"
#include "memtrace/fold.h"

struct sampling {
	struct mt_fold *fold;
	struct ring_header *header; /* of the fold */
	pid_t pid;
	int started;             /* there is a thread for NVML, or there can be none */
	struct gpu_sampler *gpu; /* NULL: no thread */
	int live;                /* the target was alive at the beginning */
	int gpus;                /* that NVML knows of those the process sees */
	int reported;            /* enum mt_source_state + 1 of the GPU's source, 0: not yet */
	char why[256];           /* no GPUs: the reason */
	struct host_sampler host;

	uint64_t events;                /* folded */
	uint64_t asked;                 /* ms; when the newest reading was asked for */
	uint64_t asked_events, notable; /* `events` and mt_fold_notable as of then */
	uint64_t swept;                 /* ms; when all GPUs were asked for */
	int waiting;                    /* for the newest reading */
	uint64_t micros;                /* it took */
	int urgent;                     /* what is being read is to be written */
	int have_reading;               /* read, but events from before it may still be in the ring */
	struct gpu_reading reading;

	/* As last written. */
	struct {
		uint64_t used, own, at, events; /* at: ms, 0: never */
		int known;
	} gpu_written[GPU_NAMES_MAX];
	struct host_figures host_written;
	uint64_t host_at; /* ms */
};

/* When the trace is there. `alive` 0: the target is gone, there is nothing to look at but the names of its devices. */
void sampling_begin(struct sampling *sampling, struct mt_fold *fold, pid_t pid, int alive);

/*
 * Before each mt_fold_run: starts NVML once the target has started CUDA. The fold asks for the names of the devices when
 * it needs them, and waits for NVML then, 2 s at most. `sampling` must stay where it is.
 */
void sampling_prepare(struct sampling *sampling);

/* After each mt_fold_run, which took `folded` events. `alive`: the target is, so its bytes are counted. */
void sampling_tick(struct sampling *sampling, uint64_t folded, int alive);

/* After the last one. 1: NVML hangs, and the process has to be left by _exit. */
int sampling_end(struct sampling *sampling, int alive);

/* The pure part: whether it is time for a look, `now` in ms; `folded` events are the newest of `events`. */
int sampling_is_due(const struct sampling *sampling, uint64_t now, uint64_t folded, uint64_t notable);

#endif
