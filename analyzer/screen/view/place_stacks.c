#include "place_stacks.h"

#include <stdlib.h>
#include <string.h>
#include "flame_stack.h"
#include "memtrace/error.h"

/* ---- the cells of the place ---- */

/*
 * Walks over the cells that hold bytes at the cursor. If none does: over all cells of the place, with the most that
 * they have held.
 */
struct walk {
	const struct app *app;
	const uint8_t *mine;
	uint32_t cells, next;
	int is_alive;
};

static int walk_next(struct walk *walk, uint32_t *site, uint64_t *bytes)
{
	const struct liveset *live = &walk->app->live;
	const struct tape_held *held;
	uint32_t cell;

	while (walk->is_alive && walk->next < live->helds) {
		held = &live->held[walk->next++];
		if (!held->bytes || held->cell >= walk->cells || !walk->mine[held->cell])
			continue;
		*site = TAPE_SITE(held->cell);
		*bytes = held->bytes;
		return 1;
	}
	while (!walk->is_alive && walk->next < walk->cells) {
		cell = walk->next++;
		if (!walk->mine[cell])
			continue;
		*site = TAPE_SITE(cell);
		*bytes = walk->app->model->site[*site].most;
		return 1;
	}
	return 0;
}

static struct walk walk_begin(const struct app *app, const uint8_t *mine, uint32_t cells)
{
	struct walk walk = { app, mine, cells, 0, 1 };
	uint64_t bytes;
	uint32_t site;

	walk.is_alive = walk_next(&walk, &site, &bytes);
	walk.next = 0;
	return walk;
}

/* ---- the tree ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3ull;
}

/* A hash of the tree's inputs. A new value means that the tree must be made anew. */
static uint64_t signature(struct walk walk)
{
	uint64_t hash = mix(0xcbf29ce484222325ull, (uint64_t)walk.is_alive), bytes;
	uint32_t site;

	while (walk_next(&walk, &site, &bytes)) {
		hash = mix(mix(hash, site), bytes);
		hash = mix(hash, (uint64_t)(uintptr_t)walk.app->model->site[site].callstack);
	}
	return hash | 1;
}

static void turn_round(const struct callstack_frame **frame, size_t frames)
{
	const struct callstack_frame *one;
	size_t i;

	for (i = 0; i < frames / 2; i++) {
		one = frame[i];
		frame[i] = frame[frames - 1 - i];
		frame[frames - 1 - i] = one;
	}
}

static int fill(struct place_stacks *stacks, struct walk walk)
{
	const struct callstack_frame **frame = calloc(FLAME_STACK_MAX, sizeof(*frame));
	struct flame_stack stack = { .frame = frame, .count = 1 };
	const struct model_site *site;
	int error = frame ? flame_begin(&stacks->tree) : -MT_E_MEMORY;

	stacks->is_named = 1;
	while (!error && walk_next(&walk, &stack.site, &stack.bytes)) {
		site = &walk.app->model->site[stack.site];
		stacks->is_named &= !site->stack || site->callstack != NULL;
		stack.frames = flame_stack(frame, site, 0, 1);
		turn_round(frame, stack.frames);
		error = flame_add(&stacks->tree, &stack);
	}
	if (!error)
		flame_finish(&stacks->tree);
	free(frame);
	return error;
}

/* ---- its rows ---- */

static int make_room(struct place_stacks *stacks, uint32_t rows)
{
	struct place_stacks_row *grown;

	if (rows <= stacks->room)
		return 0;
	grown = realloc(stacks->row, rows * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	stacks->row = grown;
	stacks->room = rows;
	return 0;
}

/* The node of the row after that of `at`; 0: there is none. */
static uint32_t node_after(const struct flame *tree, uint32_t at)
{
	if (tree->node[at].child)
		return tree->node[at].child;
	while (at > FLAME_ROOT && !tree->node[at].next)
		at = tree->node[at].parent;
	return at > FLAME_ROOT ? tree->node[at].next : 0;
}

/* Parents have their rows, and their indents, before their children. */
static void add_row(struct place_stacks *stacks, uint32_t node, uint32_t *indent_of)
{
	const struct flame_node *it = &stacks->tree.node[node], *parent = &stacks->tree.node[it->parent];
	int is_alone = parent->child == node && !it->next;

	indent_of[node] = indent_of[it->parent] + (!is_alone && it->parent != FLAME_ROOT);
	stacks->row[stacks->rows++] = (struct place_stacks_row){
		node, indent_of[node], !is_alone || it->parent == FLAME_ROOT || it->bytes != parent->bytes
	};
	stacks->stacks += it->site != 0;
}

static int lay_out(struct place_stacks *stacks)
{
	uint32_t *indent_of = calloc(stacks->tree.nodes, sizeof(*indent_of)), node;
	int error = indent_of ? make_room(stacks, stacks->tree.nodes) : -MT_E_MEMORY;

	stacks->rows = stacks->stacks = 0;
	for (node = FLAME_ROOT; !error && (node = node_after(&stacks->tree, node));)
		add_row(stacks, node, indent_of);
	free(indent_of);
	return error;
}

int place_stacks_make(struct place_stacks *stacks, const struct app *app, const uint8_t *mine, uint32_t cells)
{
	struct walk walk = walk_begin(app, mine, cells);
	uint64_t made_of = signature(walk);
	int error;

	if (made_of == stacks->made_of)
		return 0;
	stacks->made_of = 0;
	stacks->rows = 0;
	stacks->is_alive = walk.is_alive;
	error = fill(stacks, walk);
	if (!error)
		error = lay_out(stacks);
	if (!error)
		stacks->made_of = made_of;
	return error;
}

void place_stacks_release(struct place_stacks *stacks)
{
	flame_release(&stacks->tree);
	free(stacks->row);
	memset(stacks, 0, sizeof(*stacks));
}
