/*
 * summary.h - what memrec says of a recording when it is over.
 */
#ifndef MEMREC_SUMMARY_H
#define MEMREC_SUMMARY_H

#include "run/rundir.h"

/* `path` as a person in the working folder would write it. Points into `path`. */
const char *summary_path(const char *path);

/* One line of figures for a trace; more only where something is missing from it, or it is gone. */
void summary_print(const struct run_result *result);

/* Says of sources that failed without a trace why they did. */
void summary_print_failures(const struct run_result *result);

/* The command to try next; `program` is how memrec was called (argv[0]). Nothing when there is no trace. */
void summary_print_next(const char *program, const struct run_result *results, size_t count);

#endif
