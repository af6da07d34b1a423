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

#define MODULE_DEPTH_MAX 255u /* rows above one another; the parts of a longer name are one */
#define MODULE_PATH_MAX 1024u /* bytes of a path with NUL; longer ones are cut */
#define MODULE_WORD_MAX 256u  /* bytes of one word with NUL */

enum module_kind {
	MODULE_MODEL, /* the outermost module of a model: "Sequential#1" */
	MODULE_PART,  /* a part of a name: "layers", "0" */
	MODULE_TYPE,  /* a class: "Linear" */
};

struct module_row {
	uint32_t parent;     /* 0: none */
	uint32_t type;       /* string: class of the module; 0: not seen to run */
	uint32_t instance;   /* TYPE: the module; else 0 */
	uint32_t number;     /* TYPE: among its sisters, from 1 */
	uint32_t eldest;     /* TYPE: the first of its sisters */
	uint32_t sisters;    /* TYPE, of the eldest: how many there are, with it */
	const char *word;    /* not ended by NUL; lies in the definitions of the process */
	uint32_t size;       /* bytes of the word */
	uint8_t kind, depth; /* depth: from 1 */
};

/* A hash table of rows. */
struct module_index {
	uint32_t *slot; /* 0: free */
	uint32_t slots, used;
};

/* Read freely. */
struct module_tree {
	const struct mt_defs *defs;
	const struct tellings *tellings;
	struct module_row *row; /* row[0] is not used: no module */
	uint32_t rows, room;
	struct module_index by_word; /* parent and word, or instance */
	struct module_index by_type; /* eldest sisters: parent and class */
	uint32_t *stack;             /* by stack node: its innermost nest */
	uint32_t stacks;
	uint32_t *steady; /* by nest: its row, where its names never change, UINT32_MAX: they do; 0: not known yet */
	uint32_t nests;
	int is_module_told; /* a name that was told has a part "module": it is no wrapper's */
};

/*
 * Call it when `defs` and `tellings` are complete. Both must outlive the tree. Returns 0 or -MT_E_MEMORY; the caller
 * releases the tree in any case.
 */
int module_tree_init(struct module_tree *tree, const struct mt_defs *defs, const struct tellings *tellings);
void module_tree_release(struct module_tree *tree);

/* The nest of a stack: that of its innermost node that has one. 0: none. */
uint32_t module_tree_nest(const struct module_tree *tree, uint32_t stack);

/* The row of the nest's innermost module, from event `first` to event `last`. 0: `nest` is 0, or out of memory. */
uint32_t module_tree_of_nest(struct module_tree *tree, uint32_t nest, uint64_t first, uint64_t last);

/*
 * Once, after the nests that matter were looked at: finds the rows of the nests around them, where names never change. 0 or
 * -MT_E_MEMORY.
 */
int module_tree_outwards(struct module_tree *tree);

/* The row of the nest's innermost module at all times. 0: its name changes, or no bytes of the nest had to be assigned. */
uint32_t module_tree_steady(const struct module_tree *tree, uint32_t nest);

/*
 * The row of the module that has a parameter: `name` is the parameter's ("layers.0.fc1.weight"), `model` the word of its
 * model. Names of wrappers in between are left out. 0: out of memory.
 */
uint32_t module_tree_of_parameter(struct module_tree *tree, const char *model, const char *name);

/* The innermost row that both lie in; 0: none. */
uint32_t module_tree_common(const struct module_tree *tree, uint32_t one, uint32_t two);

/* "0", "Softmax 2", "Sequential#1": one row. Returns `out`. */
char *module_tree_word(char *out, size_t size, const struct module_tree *tree, uint32_t row);

/*
 * The whole path: "layers.0.fc1", "layers.1 > Softmax 2", "Transformer > EncoderLayer 3". The model stands in it where no part
 * of a name follows: "Sequential#1", "Sequential#1 > Softmax". Returns `out`.
 */
char *module_tree_path(char *out, size_t size, const struct module_tree *tree, uint32_t row);

/* The path with * for every number: "layers.*.fc1", "Net > Layer *". Returns `out`. */
char *module_path_pattern(char out[MODULE_PATH_MAX], const char *path);

#endif
