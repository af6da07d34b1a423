/*
 * frame_names.h - names the native frames of a trace while the program's files still exist.
 *
 * The analyzer may run on another machine or after the next build. It finds lines and inlined functions only with the
 * files, so the trace holds the names of functions.
 */
#ifndef FORMATS_FRAME_NAMES_H
#define FORMATS_FRAME_NAMES_H

#include <stdint.h>
#include "memtrace/defs.h"

/*
 * Adds a symbol to `defs` for each native frame without one, from the module's file if the build id is the same. At
 * `deadline`, a time of mt_wait_clock_ns(), the rest stays without names. Returns the number of new symbols.
 */
uint32_t frame_names_add(struct mt_defs *defs, uint64_t deadline);

#endif
