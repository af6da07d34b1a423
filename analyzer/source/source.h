/*
 * source.h - opens the files that the user named: traces of one run (also PyTorch's snapshots, and folders with some of
 * both), or one database of them.
 */
#ifndef MEMANA_SOURCE_H
#define MEMANA_SOURCE_H

#include <stdint.h>
#include "base/tuple.h"
#include "database/db.h"
#include "engine/analysis.h"
#include "folder.h"
#include "memtrace/phase.h"

/* The treatment of traces that are still being written. */
enum source_follow {
	SOURCE_WHOLE,     /* they are read as if they were complete */
	SOURCE_AS_SEEN,   /* followed, if a program or collector is seen to write them */
	SOURCE_PATIENTLY, /* as above, and if a file of unknown origin has changed lately (live_is_written) */
};

struct source {
	struct db *db;                /* the database, if one was named; else NULL */
	struct analysis_input *input; /* the traces, in the order given */
	uint32_t inputs;
	struct tuple_table process; /* while traces are opened: number of the input, by the identity of its process */
	struct mt_rules *rules;
	struct folder *folder; /* folders that were named; they own the names of their inputs' files */
	uint32_t folders;
	char message[512];         /* after an error: "FILE: why", or what is wrong with the rules */
	char skipped[512];         /* "FOLDER: NAME, NAME and 3 more are no traces: left out"; "": none */
	char damaged[512];         /* "FILE: why": a snapshot that was read up to there only; "": none */
	int damage;                /* error of `damaged` */
	char others[512];          /* "NAME, NAME and 3 more are of 2 other runs: left out (..)"; "": none is */
	const char **left_out;     /* files of other runs */
	uint32_t left_outs;        /* number of these files */
	enum source_follow follow; /* treatment of traces that are still being written */
	uint32_t written;          /* number of traces that were being written */
};

#define SOURCE_RULES_MAX 16u

/*
 * Adds a rules file for all later traces (--rules). Keeps the pointer `path`. Returns 0, or -MT_E_LIMIT: too many
 * files.
 */
int source_rules(const char *path);

/* Takes all later traces for one run (--all). Otherwise only traces of the newest run are kept. */
void source_take_all(void);

/*
 * Opens `paths`: one database, or traces. If a ring on this machine has further events of a trace, both are joined in a
 * temporary file. A PyTorch snapshot is imported into a temporary file. The named files do not change. Opens all traces
 * of a folder, by name; a folder without traces is -MT_E_MAGIC. /dev/stdin is read to its end first (spool.h).
 * Returns 0, or an error with `message`. The caller releases `source` in any case.
 */
int source_open(struct source *source, char *const *paths, uint32_t count);

/* Like source_open, but a database is -MT_E_MAGIC. */
int source_open_traces(struct source *source, char *const *paths, uint32_t count);

/*
 * Like source_open, for commands that follow recordings. A trace that is being written (live.h) is opened as it is, and
 * counted in `written`; its ring is not touched.
 */
int source_open_live(struct source *source, char *const *paths, uint32_t count, enum source_follow follow);

/* 1: one of its traces is being written now. */
int source_is_written(const struct source *source);

/* Sets text_known to the facts that the source has. */
void source_know(const struct source *source);

void source_release(struct source *source);

#endif
