/* top_gpu_total.h - the part of `memana top` that goes beyond the recorded calls: what nvidia-smi shows, and why. */
#ifndef MEMANA_TOP_GPU_TOTAL_H
#define MEMANA_TOP_GPU_TOTAL_H

#include "base/text.h"
#include "database/db.h"
#include "query/query.h"

/* The block for the peak of a device; nothing where nobody looked. 0 or -MT_E_x. */
int top_gpu_total(const struct text *text, struct db *db, const struct query_device *device);

#endif
