/*
 * source.h - what the user named on the command line: traces of one run (also PyTorch's snapshots, and folders with some
 * of both), or one database made from them.
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
	SOURCE_WHOLE,     /* they are read as if they were whole */
	SOURCE_AS_SEEN,   /* followed, where somebody is seen to write them */
	SOURCE_PATIENTLY, /* the same, and where a file of unknown origin has changed lately (live_is_written) */
};

struct source {
	struct db *db;                /* a database was named; else NULL */
	struct analysis_input *input; /* the traces, in the order given */
	uint32_t inputs;
	struct tuple_table process; /* by what tells processes apart: the number of an input, while traces are opened */
	struct mt_rules *rules;
	struct folder *folder; /* those that were named: the files of their inputs are theirs */
	uint32_t folders;
	char message[512];         /* after an error: "FILE: why", or what is wrong with the rules */
	char skipped[512];         /* "FOLDER: NAME, NAME and 3 more are no traces: left out"; "": nothing was */
	char damaged[512];         /* "FILE: why": a snapshot that was read up to there only; "": none */
	int damage;                /* the error of that */
	char others[512];          /* "NAME, NAME and 3 more are of 2 other runs: left out (..)"; "": none is */
	const char **left_out;     /* their files, */
	uint32_t left_outs;        /* and their number */
	enum source_follow follow; /* traces that are still being written are opened as they are; */
	uint32_t written;          /* number of those that were written */
};

#define SOURCE_RULES_MAX 16u

/* From now on traces are opened with this rules file, too (--rules). Keeps `path`. 0; -MT_E_LIMIT: there are enough. */
int source_rules(const char *path);

/* From now on all traces are taken for one run (--all): else those of another run than the newest are left out. */
void source_take_all(void);

/*
 * Opens `paths`: one database, or traces. A trace with events left in a ring on this machine is completed in a
 * temporary file, so nothing is missing. A PyTorch snapshot is imported into one. The originals stay as they are. All
 * traces of a folder are opened, by name; one without any is -MT_E_ARGUMENT. /dev/stdin is read to its end first (spool.h). 0, or an error with `message`. Release
 * in any case.
 */
int source_open(struct source *source, char *const *paths, uint32_t count);

/* Like source_open, but a database is -MT_E_MAGIC. */
int source_open_traces(struct source *source, char *const *paths, uint32_t count);

/*
 * Like source_open, for who follows recordings: a trace that is still being written (live.h) is opened as it is, its ring
 * not touched, and counted in `written`.
 */
int source_open_live(struct source *source, char *const *paths, uint32_t count, enum source_follow follow);

/* 1: one of its traces is being written now. */
int source_is_written(const struct source *source);

/* Sets text_known to what all of it says. */
void source_know(const struct source *source);

void source_release(struct source *source);

#endif
