/* show.h - a run on the screen, for memana tui and memana live. */
#ifndef MEMANA_SHOW_H
#define MEMANA_SHOW_H

#include <stdint.h>
#include "source/source.h"

/*
 * Shows `source`, and owns it, until the person leaves. Opens `paths` again in three cases: a followed recording has
 * ended, another file has replaced it, or a named folder has more traces. Returns the exit code, after messages about
 * faults.
 */
int show_run(const char *command, struct source *source, char *const *paths, uint32_t count);

#endif
