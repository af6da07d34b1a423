/* show.h - shows a run on the screen, for memana tui and memana live. */
#ifndef MEMANA_SHOW_H
#define MEMANA_SHOW_H

#include <stdint.h>
#include "source/source.h"

/*
 * Shows `source`, and owns it, until the user leaves. Opens `paths` again if a followed recording has ended, if another file has replaced one, or if
 * a named folder has more traces. Returns the exit status, after messages about faults.
 */
int show_run(const char *command, struct source *source, char *const *paths, uint32_t count);

#endif
