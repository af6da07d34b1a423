/*
 * module_lines.h - the peak of a device by module, as lines of a tree, for text and JSON.
 *
 *     line                 rows of submodule
 *     Net#1                Net#1
 *       embed              embed
 *       layers.*           layers.0, layers.1, layers.2        repeated: sisters of one class, with a number as word
 *         layers.*.fc1     layers.0.fc1, layers.1.fc1, ..
 *     backward             made in backward, outside of a module's call, and no gradient of a parameter
 *     allocator slack
 *     outside any module   all other bytes
 *
 * Each line has its own bytes, and the sum with all lines below it. The sums of all lines without a parent add up to the peak. Rows of several
 * processes with one path are one line. Time: n log n of the rows.
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
	uint64_t bytes, count; /* `count`: allocations of this line alone */
	uint64_t column[MODULE_COLUMNS];
};

/* A row of submodule, or all rows with one path. A line refers to its rows by numbers in `modules->row`. */
struct module_member {
	uint32_t parent;                /* row; 0: no parent; row[0] is not used */
	const char *word, *path, *type; /* "": unknown */
	int named;
	int is_compiled; /* 1: a compiled function allocated in its call, at the peak or not; includes inner modules */
	struct module_sum own, all; /* all: own and the lines below */
};

struct module_line {
	uint32_t parent;       /* line; 0: no parent; line[0] is not used */
	uint32_t depth;        /* number of lines above it, without those with `passes` */
	uint32_t first, count; /* rows of the line: modules->of_line[first .. first + count) */
	uint32_t lines;        /* number of lines directly below it */
	int is_compiled;       /* 1: one of its rows is compiled */
	int repeats;           /* 1: the line has several sisters as rows */
	int passes;            /* 1: its only line below has all its bytes, as with a ModuleList */
	enum module_outside outside;
	char *path; /* "layers.*.fc1" */
	struct module_sum own, all;
	uint32_t least, middle, most; /* if it repeats: rows with the fewest, the median and the most bytes */
};

/* The lines in the order of the page: each below its parent, largest first. Owns all texts. */
struct module_lines {
	struct module_line *line;
	uint32_t lines;
	struct module_member *row;
	uint32_t rows;
	uint32_t *of_line;
};

/*
 * Loads the peak of device `device` (id). `name`: only the module with this path ("layers.3", "layers.*"), with its direct children unfolded; NULL:
 * all modules. `folds` 0: sisters are not folded. Returns 0, -MT_E_x, or -MT_E_ARGUMENT: no module has the name. The caller releases `modules`, also
 * after an error.
 */
int module_lines_load(struct module_lines *modules, struct db *db, int64_t device, const char *name, int folds);
/* Loads the bytes in use on the device at a time of the run, with all lines. The database must have lives. Returns 0 or -MT_E_x. */
int module_lines_load_at(struct module_lines *modules, struct db *db, int64_t device, int64_t time);
void module_lines_release(struct module_lines *modules);

/* Whether a module holds bytes; and whether the run has any module. */
int module_lines_has_modules(const struct module_lines *modules);
int module_lines_saw_modules(const struct module_lines *modules);

/* Whether a line above it repeats: its own rows then belong to several sisters. */
int module_lines_is_folded(const struct module_lines *modules, uint32_t line);

/* Returns the row of the line that follows `row` in the order of numbers; for 0, the first one. Returns 0 at the end. */
uint32_t module_lines_next(const struct module_lines *modules, const struct module_line *line, uint32_t row);

#endif
