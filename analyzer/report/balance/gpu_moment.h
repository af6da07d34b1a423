/*
 * gpu_moment.h - NVML's count at any moment, as the table gpu_total has it at the peaks.
 */
#ifndef MEMANA_GPU_MOMENT_H
#define MEMANA_GPU_MOMENT_H

#include "database/db.h"

/*
 * Makes temp.gpu_total, which stands before the table gpu_total of the database: in it "peak" is the moment. `moments`: SQL
 * of rows (device, time in ns, process), at most one for each device. Needs the table gpu_sample. 0 or -MT_E_x.
 */
int gpu_moment_totals(struct db *db, const char *moments);

#endif
