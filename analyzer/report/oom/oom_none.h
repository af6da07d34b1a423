/* oom_none.h - what can be said where no request for memory failed: how near it came to that. */
#ifndef MEMANA_OOM_NONE_H
#define MEMANA_OOM_NONE_H

#include <stdint.h>
#include "base/text.h"
#include "database/db.h"

/* The device that came nearest to its limit. */
struct oom_none {
	int64_t device, number, step, steps; /* device 0: nothing was recorded of any; steps: of the run */
	char kind[8], phase[24];
	uint64_t peak, total; /* held by the recorded processes; total 0: not known */
	uint64_t used;        /* the most that nvidia-smi's count was, of everybody; 0: nobody looked */
};

/* 0 or -MT_E_x. */
int oom_none_load(struct oom_none *none, struct db *db);

/* 1: it is a GPU's peak, of which the lives tell more (peak_points.h). */
int oom_none_has_peak(const struct oom_none *none);

/* "No request for GPU memory failed in this recording: GPU 0 was fullest, ..." */
void oom_none_say(struct sentence *sentence, const struct oom_none *none);

#endif
