/* oom_page.h - memana oom for programs. */
#ifndef MEMANA_OOM_PAGE_H
#define MEMANA_OOM_PAGE_H

#include "report/answer.h"

/* The member `json` of struct answer. */
int oom_json(struct doc *doc, struct db *db, const struct answer_options *options);

#endif
