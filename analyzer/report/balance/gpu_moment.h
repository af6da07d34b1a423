/* gpu_moment.h - makes NVML's figures for any moment: the table gpu_total has these figures only for the peaks. */
#ifndef MEMANA_GPU_MOMENT_H
#define MEMANA_GPU_MOMENT_H

#include "database/db.h"

/*
 * Makes temp.gpu_total. It hides the table gpu_total of the database. Its "peak" is the moment. `moments`: SQL with rows (device, time in ns,
 * process), at most one for each device. Reads the table gpu_sample. Returns 0 or -MT_E_x.
 */
int gpu_moment_totals(struct db *db, const char *moments);

#endif
