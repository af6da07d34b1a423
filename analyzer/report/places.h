/*
 * places.h - groups the sites at a device's peak into places: one for each line of the user's own code and, inside of
 * it, each line of a library.
 *
 *   gpu_memory.c:58  tensor_new        a wrapper: a helper that all parts of the program use
 *   rl_step.c:95     ffn_forward       the place
 *   rl_step.c:169    forward           ... called from
 *
 * The place of a site is that of its stack (load_place.c), as in all reports. Sites with the same line, phase and
 * category are one place, for all processes.
 *
 * A site with a module has the module in the place of a library's line: "mytrain.py:8 > layers.2.self_attn". Sites of
 * one line whose modules differ in numbers alone are one place, layers.*.self_attn. A place has its functions
 * (callstack_work): softmax, dropout. Time: of the sites.
 */
#ifndef MEMANA_PLACES_H
#define MEMANA_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "base/symbol.h"
#include "database/db.h"
#include "query/callstack.h"

#define PLACES_SITES_MAX 500 /* lines of query_lines that are loaded; the rest of the peak is left out */

/* The part of a place that one function allocated. */
struct place_function {
	const char *name;
	uint64_t bytes, count;
	uint32_t stacks; /* as in struct place */
};

struct place {
	const char *phase, *category;
	uint64_t bytes, count;
	int64_t pid, rank;                 /* pid and rank of its largest site; rank -1: none */
	uint32_t processes;                /* number of processes that have the place */
	int64_t ranks[2];                  /* lowest and highest rank among them */
	const char *evidence, *decided_by; /* from its largest site; "": nothing */
	const char *parameter;             /* from its largest site: the framework's names for it; "": none */
	const char *submodule;             /* module of its sites, with * for differing numbers; "": none */
	uint32_t stacks;                   /* number of sites: stacks of processes */
	uint64_t rule, probable;           /* as in struct query_site; `known` is of query_known */
	const char *known;
	const struct place_site *first;        /* its largest site */
	const struct callstack *stack;         /* stack of its largest site */
	size_t user;                           /* frame of the place; CALLSTACK_NO_FRAME: no stack */
	const struct place_function *function; /* largest first; at least one */
	size_t functions;
	const struct place_site *const *site; /* all of its sites, largest first */
	size_t sites;
};

/* A site, or several sites whose stacks differ only in their modules. The struct owns all texts. */
struct place_site {
	char *phase, *category, *evidence, *decided_by, *parameter, *submodule;
	char *pattern;  /* the module's path with stars: layers.*.fc1 */
	char *function; /* callstack_work */
	uint64_t bytes, count, sites;
	uint64_t rule, probable; /* as of struct query_site */
	int64_t pid, rank;
	size_t place; /* index */
	struct callstack stack;
	size_t user;
};

struct stack_tree;

struct places {
	struct place *place; /* largest first */
	size_t count;
	struct place_site *site; /* owns the stacks and words */
	size_t sites;
	const struct place_site **sorted; /* sites by place */
	struct place_function *function;  /* functions of all places */
	struct stack_tree *tree;          /* owns the frames; NULL: the caller's tree does */
};

/*
 * Loads the places of a device. The table `place` must be filled. Returns 0 or -MT_E_x. The caller releases `places` in
 * any case.
 */
int places_load(struct places *places, struct db *db, int64_t device, struct symbols *symbols);

/* The same, with the frames in a tree of the caller. The tree must live longer. Many devices share frames. */
int places_load_frames(struct places *places, struct db *db, int64_t device, struct stack_tree *tree);
void places_release(struct places *places);

/*
 * Writes the place for a person: "mytrain.py:8 > layers.*.self_attn". If the line is the module's own code, the module
 * follows " in ". Returns `out`.
 */
const char *places_name(char *out, size_t size, const struct place *place);

/*
 * Sets the frame of the place of `node`. `stack` is the stack of `node`. CALLSTACK_NO_FRAME: an empty stack. Returns 0
 * or -MT_E_x.
 */
int places_user_frame(size_t *user, struct db *db, int64_t node, const struct callstack *stack);

/* A call stack in JSON, in one form for all reports. */

/*
 * The array `key` of the program's frames, innermost first (callstack_first_frame); "user" is true of the frame `user`.
 */
void stack_json_frames(struct doc *doc, const char *key, const struct callstack *stack, size_t user);

/*
 * The same as member "stack" of the open object. The place names the line of the user's frame. `node` 0: an empty
 * stack. `symbols` NULL: native frames have the names of the database. Returns 0 or -MT_E_x.
 */
int stack_json(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node);

/* "place", as in memana top (null: none), and "stack" of the open object. As stack_json. */
int stack_json_named(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node);

/* "function", "file", "line", "place" and "stack" of the open object. 0 or -MT_E_x. */
int stack_json_place(struct doc *doc, struct db *db, int64_t node);

#endif
