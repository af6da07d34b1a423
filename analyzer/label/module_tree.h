/*
 * module_tree.h - the modules of a process as a tree of rows, by their names where they have one:
 *
 *     Sequential#1                           a model
 *     ├─ layers
 *     │  ├─ 0                                layers.0
 *     │  └─ 1
 *     │     ├─ fc1                           layers.1.fc1
 *     │     └─ Softmax 2                     layers.1 > Softmax 2: it has no name, and it is the second there
 *     Transformer                            no name at all
 *     └─ EncoderLayer 3                      Transformer > EncoderLayer 3
 *
 * A module without a name stands, by its class, below the module that called it. Its number is that of its first
 * appearance among its sisters of that class. The bytes of a stack belong to the module of its innermost nest.
 *
 * Memory grows with the rows asked for, time with the names. A nest whose names never change is looked at once.
 */
#ifndef MEMANA_MODULE_TREE_H
#define MEMANA_MODULE_TREE_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/defs.h"
#include "telling.h"

#define MODULE_DEPTH_MAX 255u /* rows above one another: further parts of a longer name are one part */
#define MODULE_PATH_MAX 1024u /* bytes of a path with NUL: longer paths are cut */
#define MODULE_WORD_MAX 256u  /* bytes of one word with NUL */

enum module_kind {
	MODULE_MODEL, /* the outermost module of a model: "Sequential#1" */
	MODULE_PART,  /* a part of a name: "layers", "0" */
	MODULE_TYPE,  /* a class: "Linear" */
};

struct module_row {
	uint32_t parent;     /* row; 0: no parent */
	uint32_t type;       /* string id of the module's class; 0: the module was not seen to run */
	uint32_t instance;   /* for a TYPE: id of the module; else 0 */
	uint32_t number;     /* for a TYPE: number among the same class below the parent, from 1 */
	uint32_t eldest;     /* for a TYPE: row with number 1 of these */
	uint32_t sisters;    /* for a TYPE with number 1: how many of these exist */
	const char *word;    /* not ended by NUL; part of the process's definitions */
	uint32_t size;       /* bytes of the word */
	uint8_t kind, depth; /* depth: from 1 */
};

/* A hash table of rows. */
struct module_index {
	uint32_t *slot; /* 0: free */
	uint32_t slots, used;
};

/* The rows of a process. Callers may read all members. */
struct module_tree {
	const struct mt_defs *defs;
	const struct tellings *tellings;
	struct module_row *row; /* row[0] is not used: no module */
	uint32_t rows, room;
	struct module_index by_word; /* key: parent and word, or parent and instance */
	struct module_index by_type; /* key of rows with number 1: parent and class */
	uint32_t *stack;             /* by stack node: the innermost nest */
	uint32_t stacks;
	uint32_t *steady; /* by nest: the row, if its names never change; UINT32_MAX: they change; 0: not known yet */
	uint32_t nests;
	int is_module_told; /* 1: some name has a part "module": this part is no wrapper's */
};

/*
 * Makes the tree. `defs` and `tellings` must be complete, and must outlive the tree. Returns 0 or -MT_E_MEMORY. The caller releases the tree, also
 * after an error.
 */
int module_tree_init(struct module_tree *tree, const struct mt_defs *defs, const struct tellings *tellings);
void module_tree_release(struct module_tree *tree);

/* Returns the nest of a stack: of its innermost node with a nest; 0: no node has one. */
uint32_t module_tree_nest(const struct module_tree *tree, uint32_t stack);

/* Returns the row of the nest's innermost module between the events `first` and `last`; 0: `nest` is 0, or memory ran out. */
uint32_t module_tree_of_nest(struct module_tree *tree, uint32_t nest, uint64_t first, uint64_t last);

/*
 * Finds the rows of the nests around those that were looked at, if names never change. Call this once, after the last look. Returns 0 or
 * -MT_E_MEMORY.
 */
int module_tree_outwards(struct module_tree *tree);

/* Returns the row that the nest's innermost module has in the whole run; 0: its name changes, or no bytes of the nest were assigned. */
uint32_t module_tree_steady(const struct module_tree *tree, uint32_t nest);

/*
 * Returns the row of the module with the parameter `name` ("layers.0.fc1.weight") in the model with the word `model`, without the names of wrappers;
 * 0: out of memory.
 */
uint32_t module_tree_of_parameter(struct module_tree *tree, const char *model, const char *name);

/* Returns the innermost row that contains both rows; 0: no row does. */
uint32_t module_tree_common(const struct module_tree *tree, uint32_t one, uint32_t two);

/* Writes the word of one row: "0", "Softmax 2", "Sequential#1". Returns `out`. */
char *module_tree_word(char *out, size_t size, const struct module_tree *tree, uint32_t row);

/*
 * Writes the whole path: "layers.0.fc1", "layers.1 > Softmax 2", "Transformer > EncoderLayer 3". The path begins with the model only if no part of a
 * name follows: "Sequential#1", "Sequential#1 > Softmax". Returns `out`.
 */
char *module_tree_path(char *out, size_t size, const struct module_tree *tree, uint32_t row);

/* Writes the path with a star for each number: "layers.*.fc1", "Net > Layer *". Returns `out`. */
char *module_path_pattern(char out[MODULE_PATH_MAX], const char *path);

#endif
