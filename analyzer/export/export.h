/*
 * export.h - a run in the formats of other programs.
 *
 * A format is one file, to_NAME.c, with one function. It asks the run for what it needs: the sites at a moment
 * (export_moment.h), or one pass over all events (export_pass). The command (cmd_export.c) has the output file and all words.
 */
#ifndef MEMANA_EXPORT_H
#define MEMANA_EXPORT_H

#include <stdint.h>
#include "base/symbol.h"
#include "database/db.h"
#include "engine/analysis.h"
#include "engine/moment.h"
#include "export_out.h"
#include "source/source.h"

/* The options that a format makes something of. */
enum export_takes {
	EXPORT_TAKES_AT = 1,    /* --at */
	EXPORT_TAKES_RANGE = 2, /* --since, --until, --steps */
	EXPORT_TAKES_BY = 4,    /* --by */
	EXPORT_TAKES_TABLE = 8, /* --table */
	EXPORT_TAKES_FULL = 16, /* --full */
	EXPORT_TAKES_FLAME = EXPORT_TAKES_AT | EXPORT_TAKES_RANGE | EXPORT_TAKES_BY
};

/* The formats, once. X(name, suffix of the file, enum export_takes, who reads it). */
#define EXPORT_FORMAT_LIST(X)                                                                                          \
	X(perfetto, "perfetto-trace", EXPORT_TAKES_RANGE, "the timeline, with heap dumps, for ui.perfetto.dev")        \
	X(torch, "pickle", EXPORT_TAKES_RANGE | EXPORT_TAKES_FULL, "a memory snapshot for pytorch.org/memory_viz")     \
	X(speedscope, "speedscope.json", EXPORT_TAKES_FLAME, "a flame graph for speedscope.app")                       \
	X(folded, "folded", EXPORT_TAKES_FLAME, "stacks as lines for flamegraph.pl, inferno, speedscope, Perfetto")    \
	X(pprof, "pb.gz", EXPORT_TAKES_FLAME, "a profile for go tool pprof, Pyroscope, Parca, Perfetto")               \
	X(csv, "csv", EXPORT_TAKES_FLAME | EXPORT_TAKES_TABLE, "one table for spreadsheets, pandas, DuckDB (--table)") \
	X(openmetrics, "prom", EXPORT_TAKES_AT, "peak, its parts and growth for Prometheus and logs")                  \
	X(html, "html", EXPORT_TAKES_AT | EXPORT_TAKES_RANGE | EXPORT_TAKES_FULL,                                      \
	  "one page for any browser, without a network")

/* The tables of csv. X(name, what a row is) */
#define EXPORT_TABLE_LIST(X)                                \
	X(sites, "a stack at a moment, with its bytes")     \
	X(allocations, "an allocation from birth to death") \
	X(steps, "a step of a process on a device")

enum export_table {
#define EXPORT_TABLE(name, sentence) EXPORT_##name,
	EXPORT_TABLE_LIST(EXPORT_TABLE)
#undef EXPORT_TABLE
};

#define EXPORT_NO_TIME INT64_MIN

struct export_options {
	struct moment moment;           /* --at */
	int64_t since, until;           /* ns since the run began; EXPORT_NO_TIME: not given */
	uint32_t first_step, last_step; /* --steps; 0: not given */
	int confidential;               /* no paths and no names of source files */
	enum export_table table;        /* --table */
	int full;                       /* --full */
	int by_module;                  /* --by module: rows of flame graphs are modules, not frames */
};

/* The input of an export. The command opens and closes it. */
struct export_run {
	const struct export_options *options;
	const char *path;     /* the first operand, for messages */
	const char *name;     /* the output without its suffix: "trace" */
	struct source source; /* the traces, or a database */
	struct symbols *symbols;
	struct analysis analysis; /* from the newest pass over traces; empty before, and for a database */
	struct db *db;            /* made by export_moment; NULL before. source.db, where a database was named */
	int has_steps, has_lives; /* run->db has the steps, and all allocations */
	const char *what;         /* the noun of what the format counts: "stack", "event"; NULL: it counts nothing */
	uint64_t written;         /* how many of these are in the file, */
	const char *hint;         /* a line for the reader; NULL: none */
	uint64_t left_out;        /* and how many are not, for want of room in the format */
};

/*
 * 0 or -MT_E_x. -MT_E_ARGUMENT: the moment or the range is not in the run. -MT_E_MISSING: nothing was recorded. Errors of `out` are
 * told by export_out_close alone; who writes much looks at export_out_failed now and then, and may return 0.
 */
typedef int export_function(struct export_run *run, struct export_out *out);

#define EXPORT_FUNCTION(name, suffix, takes, sentence) export_function to_##name;
EXPORT_FORMAT_LIST(EXPORT_FUNCTION)
#undef EXPORT_FUNCTION

/*
 * Reads all events, from their beginning, into `sink` (analysis.h; NULL: sums alone). run->analysis is that of this pass. Not for a
 * database (-MT_E_ARGUMENT). 0 or -MT_E_x.
 */
int export_pass(struct export_run *run, const struct analysis_sink *sink);

/* Forgets what was read: the traces are at their begin. For who reads them by other means than export_pass. */
void export_rewind(struct export_run *run);

/* Room for one more item in *array, which has *room of them. 0 or -MT_E_MEMORY. */
int export_grow(void *array, size_t count, size_t *room, size_t size);

/* A closed interval in ns since the run began; INT64_MIN, INT64_MAX: all of it. */
struct export_range {
	int64_t first, last;
};

/*
 * The range of --since, --until and --steps. The times of --steps cost a pass over the traces. 0; -MT_E_ARGUMENT: no such step
 * ended; or -MT_E_x.
 */
int export_find_range(struct export_run *run, struct export_range *range);

/* 1: --since, --until or --steps was given. */
int export_has_range(const struct export_run *run);

void export_run_release(struct export_run *run); /* frees the results of the functions above and of export_moment */

#endif
