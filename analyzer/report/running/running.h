/*
 * running.h - the module that was running when a request failed, and the activations of its sister layers:
 * "layers.17.mlp was running; layers.0 to layers.16 hold 9.4 GiB of activations".
 */
#ifndef MEMANA_RUNNING_H
#define MEMANA_RUNNING_H

#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"

struct running {
	char path[256], type[128]; /* path and class of the module; "": no module was running */
	char first[256],
		last[256]; /* sisters of the outermost layer around it that hold activations, in the order of the model */
	uint64_t sisters, bytes; /* number of these sisters, and their activations at the moment */
};

/* Loads the answer for out-of-memory error `oom` (id). The database must have lives. Returns 0 or -MT_E_x. */
int running_load(struct running *running, struct db *db, int64_t oom);

/* The sentence; nothing where no module was running. */
void running_say(struct sentence *sentence, const struct running *running);

/* Adds "submodule" and the waiting "layers" to the open object; nothing if no module was running. */
void running_json(struct doc *doc, const struct running *running);

#endif
