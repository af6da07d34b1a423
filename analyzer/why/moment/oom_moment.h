/* oom_moment.h - the memory at the failed request, as text and as JSON: its stack, the device with its holders, and all failed requests. */
#ifndef MEMANA_OOM_MOMENT_H
#define MEMANA_OOM_MOMENT_H

#include <stdint.h>
#include "base/column.h"
#include "base/json.h"
#include "base/text.h"
#include "why/scene/scene.h"

extern const struct column_table failure_columns; /* rows: struct oom_failure */
extern const struct column_table holder_columns;  /* rows: struct scene_process */

/* Prints the moment of the scene's failed request, and the newest failed requests, at most `limit`. Returns 0 or -MT_E_x. */
int oom_moment_text(const struct text *text, const struct scene *scene, int64_t limit);

/* Writes the object "failure". Returns 0 or -MT_E_x. */
int oom_moment_json(struct doc *doc, const struct scene *scene);

/* Writes the array "failures". */
void oom_failures_json(struct doc *doc, const struct scene *scene);

#endif
