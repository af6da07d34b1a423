/*
 * running.h - the module that was running when a request failed, and the activations of its sister layers: "layers.17.mlp was running; layers.0 to
 * layers.16 hold 9.4 GiB of activations".
 */
#ifndef MEMANA_RUNNING_H
#define MEMANA_RUNNING_H

#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"

struct running {
	char path[256], type[128];  /* path and class of the module; "": no module ran */
	char first[256], last[256]; /* first and last sister layer with activations, in the order of the model */
	uint64_t sisters, bytes;    /* number of these layers, and bytes of their activations at the moment */
};

/* Loads the module and the layers for failed request `oom` (id). The database must have lives. Returns 0 or -MT_E_x. */
int running_load(struct running *running, struct db *db, int64_t oom);

/* Says the sentence; says nothing if no module ran. */
void running_say(struct sentence *sentence, const struct running *running);

/* Writes "submodule" and "layers" into the open object; writes nothing if no module ran. */
void running_json(struct doc *doc, const struct running *running);

#endif
