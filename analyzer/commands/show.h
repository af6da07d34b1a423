/* show.h - a run on the screen: what memana tui and memana live share. */
#ifndef MEMANA_SHOW_H
#define MEMANA_SHOW_H

#include <stdint.h>
#include "source/source.h"

/*
 * Shows `source`, which is taken over, until the person leaves. `paths` are opened anew in three cases: a recording
 * that was followed has ended, another file has taken its place, or a folder among them has got more traces. The exit
 * code, after printing what is wrong.
 */
int show_run(const char *command, struct source *source, char *const *paths, uint32_t count);

#endif
