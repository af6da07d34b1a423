/* oom_json.h - the report of `memana oom` for programs. */
#ifndef MEMANA_OOM_JSON_H
#define MEMANA_OOM_JSON_H

#include "report/answer.h"

/* As struct answer's json. */
int oom_json(struct doc *doc, struct db *db, const struct answer_options *options);

#endif
