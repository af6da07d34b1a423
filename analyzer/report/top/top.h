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
}; /* otherwise an enum query_by: this table alone */

struct top_options {
	int by;             /* enum top_by, or enum query_by */
	int64_t device;     /* number of the device; -1: all */
	int device_cpu;     /* 1: --device cpu */
	int64_t limit;      /* largest number of sites or parameters; -1: all */
	int64_t depth;      /* levels of the tree of modules; -1: not given */
	const char *module; /* --module: this module alone; NULL: all */
	const char *name;   /* named_words of the traces, for commands that the report proposes */
	int is_database;    /* 1: the input is a database */
	int why;            /* 1: with the evidence */
	int brief; /* 1: only the first sentences, about the device with the highest peak; a GPU if one was used */
	struct moment moment; /* the moment that the report calls "peak" */
};

/* Print the report. Return 0 or -MT_E_x; -MT_E_ARGUMENT: the device that was asked for does not exist. */
int top_text(const struct text *text, struct db *db, struct symbols *symbols, const struct top_options *options);
int top_json(FILE *file, struct db *db, struct symbols *symbols, const struct top_options *options);

struct query_device;

/* Returns the word for the moment that the report calls "peak": "peak", "oom", "step" or "time". */
const char *top_moment_word(const struct top_options *options);

/* Whether the report includes the device. */
int top_wants(const struct top_options *options, const struct query_device *device);

/* The part of `memana top` about bytes beyond recorded calls: nvidia-smi's number, explained. */

/* Prints the explanation for the peak of a device; prints nothing without a sample. Returns 0 or -MT_E_x. */
int top_gpu_total(const struct text *text, struct db *db, const struct query_device *device);

/* The part of `memana top` about PyTorch's names for parameters. Functions return 0 or -MT_E_x. */

/* `limit`: number of parameters, -1: all. */
int top_parameters_text(const struct text *text, struct db *db, int64_t limit);
int top_parameters_json(struct doc *doc, struct db *db, int64_t limit);

/* Prints the peak of a device by module (top_modules.c). Returns 0 or -MT_E_x; -MT_E_ARGUMENT: options->module does not exist. */
int top_modules_text(const struct text *text, struct db *db, const struct query_device *device,
		     const struct top_options *options);
int top_modules_json(struct doc *doc, struct db *db, int64_t device, const struct top_options *options);

/* Says "ranks 0 to 7", "6 ranks" or "8 processes". `first` and `last`: lowest and highest rank, -1: none. */
void top_say_processes(struct sentence *sentence, uint32_t processes, int64_t first, int64_t last);

/* The part of `memana top` that compares GPUs. It prints nothing for a single GPU. */

/* from this number of GPUs on, only the one with the highest peak has details */
#define TOP_RANKS_MANY 3u

void top_ranks_text(const struct text *text, const struct ranks *ranks, const char *name);
void top_ranks_json(struct doc *doc, const struct ranks *ranks);

extern const struct column_table ranks_columns, ranks_phase_columns;

#endif
