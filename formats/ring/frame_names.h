/*
 * frame_names.h - names for the native frames of a trace, while the program's files are still there.
 *
 * The analyzer may run elsewhere, or after the next build. It finds lines and inlined functions where the files are;
 * the names of functions are in the trace.
 */
#ifndef FORMATS_FRAME_NAMES_H
#define FORMATS_FRAME_NAMES_H

#include <stdint.h>
#include "memtrace/defs.h"

/*
 * Adds a symbol to `defs` for each native frame that has none and whose module's file, of the same build id, names it.
 * `deadline`: of mt_wait_clock_ns(); what is not named then stays without a name. Returns the number of new symbols.
 */
uint32_t frame_names_add(struct mt_defs *defs, uint64_t deadline);

#endif
