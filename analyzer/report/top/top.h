/* top.h - the report of `memana top`, as text and as JSON, from a database. */
#ifndef MEMANA_TOP_H
#define MEMANA_TOP_H

#include <stdint.h>
#include "base/column.h"
#include "base/json.h"
#include "base/symbol.h"
#include "base/text.h"
#include "database/db.h"
#include "engine/moment.h"
#include "query/query.h"
#include "report/ranks.h"

enum top_by {
	TOP_BY_ALL = -1,
	TOP_BY_PLACE = 100,
	TOP_BY_PARAMETER,
	TOP_BY_MODULE
}; /* else an enum query_by: only that table */

struct top_options {
	int by;               /* enum top_by or enum query_by */
	int64_t device;       /* number, -1: all */
	int device_cpu;       /* --device cpu */
	int64_t limit;        /* sites, parameters, -1: all */
	int64_t depth;        /* levels of the tree of modules, -1: not said */
	const char *module;   /* --module: this one alone; NULL: all */
	const char *name;     /* named_words: the traces, for the next command to try */
	int is_database;      /* it is one */
	int why;              /* show the evidence */
	int brief;            /* only the first sentences, on the device with the highest peak: a GPU, if used */
	struct moment moment; /* moment of the figures named "peak" */
};

/* Returns 0 or -MT_E_x; -MT_E_ARGUMENT: the requested device does not exist. */
int top_text(const struct text *text, struct db *db, struct symbols *symbols, const struct top_options *options);
int top_json(FILE *file, struct db *db, struct symbols *symbols, const struct top_options *options);

struct query_device;

/* The moment of the figures named "peak": "peak", "oom", "step", "time". */
const char *top_moment_word(const struct top_options *options);

/* Whether the report is about this device. */
int top_wants(const struct top_options *options, const struct query_device *device);

/* The part of `memana top` beyond the recorded calls: nvidia-smi's figure, explained. */

/* Prints the block for the peak of a device; nothing without a sample. Returns 0 or -MT_E_x. */
int top_gpu_total(const struct text *text, struct db *db, const struct query_device *device);

/* PyTorch's names for its parameters, in `memana top`. Functions return 0 or -MT_E_x. */

/* `limit`: parameters, -1: all. */
int top_parameters_text(const struct text *text, struct db *db, int64_t limit);
int top_parameters_json(struct doc *doc, struct db *db, int64_t limit);

/*
 * Prints the peak of a device by module (top_modules.c). Returns 0 or -MT_E_x; -MT_E_ARGUMENT: options->module does not
 * exist.
 */
int top_modules_text(const struct text *text, struct db *db, const struct query_device *device,
		     const struct top_options *options);
int top_modules_json(struct doc *doc, struct db *db, int64_t device, const struct top_options *options);

/* "ranks 0 to 7", "6 ranks", "8 processes": `first` and `last` are the lowest and the highest rank, -1: none. */
void top_say_processes(struct sentence *sentence, uint32_t processes, int64_t first, int64_t last);

/* The part of `memana top` that compares GPUs; nothing for a single GPU. */

/* with this many GPUs or more, only the highest one has details */
#define TOP_RANKS_MANY 3u

void top_ranks_text(const struct text *text, const struct ranks *ranks, const char *name);
void top_ranks_json(struct doc *doc, const struct ranks *ranks);

extern const struct column_table ranks_columns, ranks_phase_columns;

#endif
