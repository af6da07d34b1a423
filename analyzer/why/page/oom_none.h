/* oom_none.h - the answer for a run without a failed request: the nearest miss. */
#ifndef MEMANA_OOM_NONE_H
#define MEMANA_OOM_NONE_H

#include <stdint.h>
#include "base/text.h"
#include "database/db.h"

/* The device that came nearest to its limit. */
struct oom_none {
	int64_t device, number, step, steps; /* device 0: no device was recorded; steps: of the run */
	char kind[8], phase[24];
	uint64_t peak, total; /* peak: held by recorded processes; total 0: unknown */
	int damaged;          /* 1: a part of a trace cannot be read */
	uint64_t used;        /* largest count of nvidia-smi, for all processes; 0: no sample */
};

/* 0 or -MT_E_x. */
int oom_none_load(struct oom_none *none, struct db *db);

/* 1: the device is a GPU, and peak_points.h can list its peak. */
int oom_none_has_peak(const struct oom_none *none);

/* "No request for GPU memory failed in this recording: GPU 0 had ...", or the end by host memory. 0 or -MT_E_x. */
int oom_none_say(struct sentence *sentence, const struct oom_none *none, struct db *db);

#endif
