/* trace_check.h - reads a trace as every command does, and checks what must hold of whatever it says. */
#ifndef FUZZ_TRACE_CHECK_H
#define FUZZ_TRACE_CHECK_H

#include "memtrace/phase.h"

/* The built-in rules, made once. */
const struct mt_rules *fuzz_rules(void);

/* Reads the trace twice, event by event. The error it was refused with, or that it tells of; 0: it is sound. */
int trace_read(const char *path);

/* Runs the whole analysis over it, with a listener to everything. */
void trace_analyse(const char *path);

#endif
