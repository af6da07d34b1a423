/*
 * peak_points.h - who had the peak of a device.
 */
#ifndef MEMANA_PEAK_POINTS_H
#define MEMANA_PEAK_POINTS_H

#include <stdint.h>
#include "base/text.h"
#include "database/db.h"

/* "Who had it": by kind, and by process if several are there. Nothing of which nothing is known. 0 or -MT_E_x. */
int peak_table_print(const struct text *text, struct db *db, int64_t device);

#endif
