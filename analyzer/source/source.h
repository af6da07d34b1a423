/*
 * source.h - what the user named on the command line: traces of one run, or one database made from them.
 */
#ifndef MEMANA_SOURCE_H
#define MEMANA_SOURCE_H

#include <stdint.h>
#include "database/db.h"
#include "engine/analysis.h"
#include "memtrace/phase.h"

struct source {
	struct db *db;                /* a database was named; else NULL */
	struct analysis_input *input; /* the traces, in the order given */
	uint32_t inputs;
	struct mt_rules *rules;
	char message[512]; /* after an error: "FILE: why", or what is wrong with the rules */
};

#define SOURCE_RULES_MAX 16u

/* From now on traces are opened with this rules file, too (--rules). Keeps `path`. 0; -MT_E_LIMIT: there are enough. */
int source_rules(const char *path);

/*
 * Opens `paths`: one database, or traces. A trace whose recorder left events in a ring on this machine is completed
 * in a temporary file, so nothing is missing; the originals stay as they are. 0, or an error with `message`.
 * Release in any case.
 */
int source_open(struct source *source, char *const *paths, uint32_t count);

/* Like source_open, but a database is -MT_E_MAGIC. */
int source_open_traces(struct source *source, char *const *paths, uint32_t count);

void source_release(struct source *source);

#endif
