/*
 * places.h - groups the sites at a device's peak into places: one for each line of the user's own code, and for each line of a library inside of it.
 *
 *     gpu_memory.c:58   tensor_new         a helper that all parts of the program use
 *     rl_step.c:95      ffn_forward        the place
 *     rl_step.c:169     forward            a caller
 *
 * The place of a site is that of its stack (load_place.c), in all reports. Sites with the same line, phase and category are one place, over all
 * processes. A site with a module has the module instead of a library's line: "mytrain.py:8 > layers.2.self_attn". Sites of one line whose modules
 * differ only in numbers are one place: layers.*.self_attn. A place has its functions (callstack_work): softmax, dropout. Time grows with the sites.
 */
#ifndef MEMANA_PLACES_H
#define MEMANA_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "base/symbol.h"
#include "database/db.h"
#include "query/callstack.h"

#define PLACES_SITES_MAX 500 /* lines of query_lines that are loaded, at most; all others are left out */

/* The bytes of a place that one function allocated. */
struct place_function {
	const char *name;
	uint64_t bytes, count;
	uint32_t stacks; /* as in struct place */
};

struct place {
	const char *phase, *category;
	uint64_t bytes, count;
	int64_t pid, rank;                 /* its largest site; rank -1: none */
	uint32_t processes;                /* number of processes that have the place */
	int64_t ranks[2];                  /* lowest and highest rank of these processes */
	const char *evidence, *decided_by; /* from its largest site; "": unknown */
	const char *parameter;             /* the framework's names for its largest site; "": none */
	const char *submodule;             /* module of its sites, with a star for numbers that differ; "": none */
	uint32_t stacks;                   /* number of sites: stacks of processes */
	uint64_t rule, probable;           /* as in struct query_site; `known`: from query_known */
	const char *known;
	const struct place_site *first;        /* its largest site */
	const struct callstack *stack;         /* stack of its largest site */
	size_t user;                           /* user's frame in this stack; CALLSTACK_NO_FRAME: none */
	const struct place_function *function; /* largest first; at least one */
	size_t functions;
	const struct place_site *const *site; /* all its sites, largest first */
	size_t sites;
};

/* A site, or several whose stacks differ only in their modules. Owns all texts. */
struct place_site {
	char *phase, *category, *evidence, *decided_by, *parameter, *submodule;
	char *pattern;  /* path of the module with stars: layers.*.fc1 */
	char *function; /* from callstack_work */
	uint64_t bytes, count, sites;
	uint64_t rule, probable; /* as in struct query_site */
	int64_t pid, rank;
	size_t place; /* index of the place */
	struct callstack stack;
	size_t user;
};

struct stack_tree;

struct places {
	struct place *place; /* largest first */
	size_t count;
	struct place_site *site; /* owns the stacks and words */
	size_t sites;
	const struct place_site **sorted; /* the sites, sorted by place */
	struct place_function *function;  /* functions of all places */
	struct stack_tree *tree;          /* owns the frames; NULL: the caller has the tree */
};

/* Loads the places of a device. The table `place` must be filled. Returns 0 or -MT_E_x. The caller releases `places`, also after an error. */
int places_load(struct places *places, struct db *db, int64_t device, struct symbols *symbols);

/* As places_load, with the frames in a tree of the caller. The tree must live longer. Many devices share frames. */
int places_load_frames(struct places *places, struct db *db, int64_t device, struct stack_tree *tree);
void places_release(struct places *places);

/*
 * Writes the name of a place: "mytrain.py:8 > layers.*.self_attn". If the line is the module's own code, " in " and the module follow. Returns `out`.
 */
const char *places_name(char *out, size_t size, const struct place *place);

/* Finds the user's frame that names the place of `node`, whose stack is `stack`; CALLSTACK_NO_FRAME: the stack is empty. Returns 0 or -MT_E_x. */
int places_user_frame(size_t *user, struct db *db, int64_t node, const struct callstack *stack);

/* A call stack in JSON, the same in all reports. */

/* Writes the array `key` of the program's frames, innermost first (callstack_first_frame). "user" is true for the frame `user`. */
void stack_json_frames(struct doc *doc, const char *key, const struct callstack *stack, size_t user);

/*
 * Writes the stack of `node` as member "stack" of the open object; the place names the user's frame. `node` 0: an empty stack. `symbols` NULL: native
 * frames have the names of the database. Returns 0 or -MT_E_x.
 */
int stack_json(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node);

/* Writes "place", as in memana top (null: unknown), and "stack" into the open object. See stack_json. */
int stack_json_named(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node);

/* Writes "function", "file", "line", "place" and "stack" into the open object. Returns 0 or -MT_E_x. */
int stack_json_place(struct doc *doc, struct db *db, int64_t node);

#endif
