/* top_parameters.h - what PyTorch said of its parameters, in `memana top`. 0 or -MT_E_x. */
#ifndef MEMANA_TOP_PARAMETERS_H
#define MEMANA_TOP_PARAMETERS_H

#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"

/* `limit`: parameters, -1: all. */
int top_parameters_text(const struct text *text, struct db *db, int64_t limit);
int top_parameters_json(struct doc *doc, struct db *db, int64_t limit);

#endif
