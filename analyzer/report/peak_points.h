/*
 * peak_points.h - of a peak at which nothing failed: who had it, and what of it is out of the ordinary.
 */
#ifndef MEMANA_PEAK_POINTS_H
#define MEMANA_PEAK_POINTS_H

#include <stdint.h>
#include "base/text.h"
#include "database/db.h"

/*
 * The remarkable facts at the peak of a device, at most two sentences, each with a space before it: a process that
 * sleeps and keeps something, weights that are there twice, a GPU that has far more than another, memory that NCCL
 * took from the driver itself. 1: there is something, 0: nothing is, or -MT_E_x. The lives of allocations are in the
 * database. *stays: what most of it is that the process keeps (enum mt_category), MT_CATEGORY_COUNT: nobody does;
 * NULL is fine.
 */
int peak_points_say(struct sentence *sentence, struct db *db, int64_t device, uint8_t *stays);

/* "Who had it": by kind, and by process if several are there. Nothing of which nothing is known. 0 or -MT_E_x. */
int peak_table_print(const struct text *text, struct db *db, int64_t device);

#endif
