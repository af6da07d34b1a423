/* stack_json.h - a call stack in JSON, the same in every report. */
#ifndef MEMANA_STACK_JSON_H
#define MEMANA_STACK_JSON_H

#include <stdint.h>
#include "base/json.h"
#include "base/symbol.h"
#include "database/db.h"

/*
 * "stack" of the open object: frames, innermost first; "user" is true of the one in whose line the callsite is. `node` 0: an
 * empty one. `symbols` NULL: native frames have the names that are in the database. 0 or -MT_E_x.
 */
int stack_json(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node);

/* "function", "file", "line" and "stack" of the open object. 0 or -MT_E_x. */
int stack_json_place(struct doc *doc, struct db *db, int64_t node);

#endif
