/*
 * places.h - the sites at a device's peak as a person sees them: one place per line of the user's own code, and per
 * line of a library inside of it.
 *
 *   gpu_memory.c:58  tensor_new        a wrapper: a helper that everybody allocates with
 *   rl_step.c:95     ffn_forward       the place
 *   rl_step.c:169    forward           ... called from
 *
 * The place of a site is that of its stack (load_place.c), as in all reports. Sites at the same line, in the
 * same phase and of the same category are one place, whichever processes they are of.
 *
 * A site with a module has the module in the place of a library's line: "mytrain.py:8 > layers.2.self_attn". Sites of one line
 * whose modules differ in numbers alone are one place, layers.*.self_attn. A place has its functions (callstack_work): softmax,
 * dropout. Time: of the sites.
 */
#ifndef MEMANA_PLACES_H
#define MEMANA_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "base/symbol.h"
#include "database/db.h"
#include "query/callstack.h"

#define PLACES_SITES_MAX 500 /* the largest lines of query_lines; the rest of the peak is not in the list */

/* The part of a place that one function asked for. */
struct place_function {
	const char *name;
	uint64_t bytes, count;
	uint32_t stacks; /* as in struct place */
};

struct place {
	const char *phase, *category;
	uint64_t bytes, count;
	int64_t pid, rank;                 /* pid and rank of its largest site; rank -1: none */
	uint32_t processes;                /* the number of processes that have the place */
	int64_t ranks[2];                  /* the lowest and the highest of them */
	const char *evidence, *decided_by; /* from its largest site; "": nothing */
	const char *parameter;             /* from its largest site: the framework's names for it; "": none */
	const char *submodule;             /* module of its sites, with * where they differ; "": none */
	uint32_t stacks;                   /* sites: stacks of processes */
	uint64_t rule, probable;           /* as of struct query_site, and query_known of them: */
	const char *known;
	const struct place_site *first;        /* its largest site, */
	const struct callstack *stack;         /* and the stack of that one */
	size_t user;                           /* the frame of the place, CALLSTACK_NO_FRAME: no stack */
	const struct place_function *function; /* largest first; at least one */
	size_t functions;
	const struct place_site *const *site; /* all of its sites, largest first */
	size_t sites;
};

/* A site, or several whose stacks differ in the modules alone. All texts are its own. */
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
	struct place_function *function;  /* those of all places */
	struct stack_tree *tree;          /* has their frames; NULL: the caller's has */
};

/* The table `place` is filled. 0 or -MT_E_x. Release in any case. */
int places_load(struct places *places, struct db *db, int64_t device, struct symbols *symbols);

/* The same with the frames in a tree of the caller's, which lives longer: many devices have the same ones. */
int places_load_frames(struct places *places, struct db *db, int64_t device, struct stack_tree *tree);
void places_release(struct places *places);

/*
 * "mytrain.py:8 > layers.*.self_attn": the place as a person reads it. The module stands behind " in " where the line itself is
 * of the module's own code. Returns `out`.
 */
const char *places_name(char *out, size_t size, const struct place *place);

/* The frame of the place of `node`, whose stack this is; CALLSTACK_NO_FRAME: it is empty. 0 or -MT_E_x. */
int places_user_frame(size_t *user, struct db *db, int64_t node, const struct callstack *stack);

/* A call stack in JSON, the same in every report. */

/* The array `key` of the program's frames, innermost first (callstack_first_frame); "user" is true of the frame `user`. */
void stack_json_frames(struct doc *doc, const char *key, const struct callstack *stack, size_t user);

/*
 * The same as "stack" of the open object; the place names the line of the user's frame. `node` 0: an
 * empty one. `symbols` NULL: native frames have the names that are in the database. 0 or -MT_E_x.
 */
int stack_json(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node);

/* "place", as in memana top (null: none), and "stack" of the open object. As stack_json. */
int stack_json_named(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node);

/* "function", "file", "line", "place" and "stack" of the open object. 0 or -MT_E_x. */
int stack_json_place(struct doc *doc, struct db *db, int64_t node);

#endif
