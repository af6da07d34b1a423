/* defaults.h - what the agent does when nobody has told it: one variable alone brought it in. */
#ifndef RECORDER_DEFAULTS_H
#define RECORDER_DEFAULTS_H

#include "shared/options.h"

/*
 * Fills in the texts that are empty and must not be: the output (trace.zst in the working folder, with the pid in its
 * name when nobody is there to see that it is one alone) and the collector (memrec beside libmemrec.so, or in ../../bin
 * of it; left empty when it is not there). Once, at the start.
 */
void memrec_defaults(struct memrec_options *options);

/* 1: environment variable `variable` is the path of the file that we were loaded from, by whatever name. */
int defaults_name_us(const char *variable);

#endif
