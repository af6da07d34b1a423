/*
 * module_lines.h - the peak of a device by module, as lines of a tree: what a person reads and what is in JSON.
 *
 *     line                 rows of submodule
 *     Net#1                Net#1
 *       embed              embed
 *       layers.*           layers.0, layers.1, layers.2        repeated: sisters of one class, whose words are numbers
 *         layers.*.fc1     layers.0.fc1, layers.1.fc1, ..
 *     backward             made in backward, by no module's call, and not a parameter's gradient
 *     allocator slack
 *     outside any module   all else
 *
 * Each line has its own bytes and all below it: lines without a parent add up to the peak. Rows of several processes with one
 * path are one line. Time: n log n of the rows.
 */
#ifndef MEMANA_MODULE_LINES_H
#define MEMANA_MODULE_LINES_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"

/* Columns of the answer. X(NAME, field of JSON, heading of the text) */
#define MODULE_COLUMN_LIST(X)                       \
	X(WEIGHTS, "weights", "weights")            \
	X(GRADIENTS, "gradients", "gradients")      \
	X(STATE, "optimizer_state", "optimizer")    \
	X(ACTIVATIONS, "activations", "activation") \
	X(OTHER, "other", "other")

enum module_column {
#define MODULE_COLUMN_ENUM(name, field, heading) MODULE_COLUMN_##name,
	MODULE_COLUMN_LIST(MODULE_COLUMN_ENUM)
#undef MODULE_COLUMN_ENUM
		MODULE_COLUMNS
};

enum module_outside { MODULE_INSIDE, MODULE_IN_BACKWARD, MODULE_SLACK, MODULE_OUTSIDE };

struct module_sum {
	uint64_t bytes, count; /* `count`: allocations of the line itself */
	uint64_t column[MODULE_COLUMNS];
};

/* A row of submodule, or several rows with one path. A line refers to its rows in `modules->row`. */
struct module_member {
	uint32_t parent;                /* 0: none; row[0] is not used */
	const char *word, *path, *type; /* "": unknown */
	int named;
	int is_compiled; /* a compiled function allocated in its call, at the peak or not; also covers inner modules */
	struct module_sum own, all; /* all: with the lines below */
};

struct module_line {
	uint32_t parent;       /* line; 0: none; line[0] is not used */
	uint32_t depth;        /* number of lines above it that do not pass on */
	uint32_t first, count; /* its rows: modules->of_line[first .. first + count) */
	uint32_t lines;        /* lines directly below it */
	int is_compiled;       /* one of its rows is compiled */
	int repeats;           /* 1: the line stands for sisters */
	int passes;            /* 1: only one line is below it and has all its bytes (a ModuleList) */
	enum module_outside outside;
	char *path; /* "layers.*.fc1" */
	struct module_sum own, all;
	uint32_t least, middle, most; /* if it repeats: rows with the least, the median and the most bytes */
};

/* Lines in the order of print: each below its parent, the largest first. Owns all texts. */
struct module_lines {
	struct module_line *line;
	uint32_t lines;
	struct module_member *row;
	uint32_t rows;
	uint32_t *of_line;
};

/*
 * Loads the peak of device `device` (id). `name` not NULL: only the module with this path ("layers.3", "layers.*"); its
 * direct children are not folded. `folds` 0: folds no lines. Returns 0, -MT_E_x, or -MT_E_ARGUMENT: no module has the
 * name. The caller releases `modules` in any case.
 */
int module_lines_load(struct module_lines *modules, struct db *db, int64_t device, const char *name, int folds);
/* Loads the memory in use on the device at a time of the run, with all lines. The database must have lives. */
int module_lines_load_at(struct module_lines *modules, struct db *db, int64_t device, int64_t time);
void module_lines_release(struct module_lines *modules);

/* Whether any module holds bytes; whether any module was seen in the run. */
int module_lines_has_modules(const struct module_lines *modules);
int module_lines_saw_modules(const struct module_lines *modules);

/* Whether a line above it stands for sisters. Its own rows then belong to several sisters. */
int module_lines_is_folded(const struct module_lines *modules, uint32_t line);

/* The rows of a line in the order of their numbers: the row after `row`; `row` 0: the first. Returns 0 at the end. */
uint32_t module_lines_next(const struct module_lines *modules, const struct module_line *line, uint32_t row);

#endif
