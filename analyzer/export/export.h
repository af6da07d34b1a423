/*
 * export.h - writes a run in the formats of other programs.
 *
 * A format is one file, to_NAME.c, with one function. The function asks the run for the sites at a moment
 * (export_moment.h), or for one pass over all events (export_pass). The command (cmd_export.c) opens the output file
 * and prints all messages.
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

/* The options that a format uses. */
enum export_takes {
	EXPORT_TAKES_AT = 1,    /* --at */
	EXPORT_TAKES_RANGE = 2, /* --since, --until, --steps */
	EXPORT_TAKES_BY = 4,    /* --by */
	EXPORT_TAKES_TABLE = 8, /* --table */
	EXPORT_TAKES_FULL = 16, /* --full */
	EXPORT_TAKES_FLAME = EXPORT_TAKES_AT | EXPORT_TAKES_RANGE | EXPORT_TAKES_BY
};

/* The formats: X(name, suffix of the file, enum export_takes, words for the help). */
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

/* The tables of csv: X(name, meaning of a row). */
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
	int confidential;               /* --confidential: no paths and no names of source files */
	enum export_table table;        /* --table */
	int full;                       /* --full */
	int by_module;                  /* --by module: rows of flame graphs are modules, not frames */
};

/* The input of an export. The command opens and closes it. */
struct export_run {
	const struct export_options *options;
	const char *path;     /* first operand of the command line, for messages */
	const char *name;     /* name of the output without its suffix: "trace" */
	struct source source; /* the traces, or a database */
	struct symbols *symbols;
	struct analysis analysis; /* newest pass over the traces; empty before it, and for a database */
	struct db *db;            /* database of export_moment; NULL before it. For a database: source.db */
	int has_steps, has_lives; /* 1: run->db has the steps; 1: run->db has all allocations */
	const char *what;         /* noun that `written` counts: "stack", "event"; NULL: nothing is counted */
	uint64_t written;         /* number of these in the file */
	const char *hint;         /* line for the reader after the export; NULL: none */
	uint64_t left_out;        /* number of these that the file has no room for */
};

/*
 * A format. Returns 0 or -MT_E_x. -MT_E_ARGUMENT: the moment or the range is not in the run. -MT_E_MISSING: nothing was
 * recorded. export_out_close returns the errors of `out`. A long loop may end early, with 0, after export_out_failed.
 */
typedef int export_function(struct export_run *run, struct export_out *out);

#define EXPORT_FUNCTION(name, suffix, takes, sentence) export_function to_##name;
EXPORT_FORMAT_LIST(EXPORT_FUNCTION)
#undef EXPORT_FUNCTION

/*
 * Reads all events of the traces from the beginning, and tells them to `sink` (analysis.h; NULL: only sums). Fills
 * run->analysis. Returns 0 or -MT_E_x; -MT_E_ARGUMENT: the source is a database.
 */
int export_pass(struct export_run *run, const struct analysis_sink *sink);

/* Frees the results of earlier passes and sets the traces to their beginning. export_pass does this itself. */
void export_rewind(struct export_run *run);

/* Makes room for item number `count` in *array, which has room for *room items. Returns 0 or -MT_E_MEMORY. */
int export_grow(void *array, size_t count, size_t *room, size_t size);

/* A closed interval in ns since the run began; INT64_MIN to INT64_MAX: the whole run. */
struct export_range {
	int64_t first, last;
};

/*
 * Finds the range of --since, --until and --steps. For --steps, this takes a pass over the traces. Returns 0;
 * -MT_E_ARGUMENT: no such step ended; or -MT_E_x.
 */
int export_find_range(struct export_run *run, struct export_range *range);

/* 1: --since, --until or --steps was given. */
int export_has_range(const struct export_run *run);

void export_run_release(struct export_run *run); /* frees the results of the functions above and of export_moment */

#endif
