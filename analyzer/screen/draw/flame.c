#include "flame.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"

/* ---- the tree ---- */

static const char *module_of(const struct callstack_frame *frame)
{
	return frame->submodule ? frame->submodule : "";
}

static int same_frame(const struct callstack_frame *one, const struct callstack_frame *two)
{
	if (one == two)
		return 1;
	if (one->line != two->line || one->elided != two->elided || strcmp(one->function, two->function) ||
	    strcmp(one->file, two->file) || strcmp(module_of(one), module_of(two)))
		return 0;
	/* native code without a name differs by address */
	return *one->function || *one->file || (one->offset == two->offset && !strcmp(one->module, two->module));
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 16777619u;
	return hash;
}

static uint32_t hash_of(uint32_t parent, const struct callstack_frame *frame)
{
	uint32_t hash = hash_text(hash_text(2166136261u ^ parent * 2654435761u, frame->function), frame->file) ^
			frame->line;

	return hash ^ hash >> 15;
}

/* The slot of the child, or the free slot where the child belongs. */
static uint32_t slot_of(const struct flame *flame, uint32_t parent, const struct callstack_frame *frame)
{
	uint32_t at = hash_of(parent, frame) & (flame->slots - 1);

	while (flame->slot[at] && (flame->node[flame->slot[at]].parent != parent ||
				   !same_frame(flame->node[flame->slot[at]].frame, frame)))
		at = (at + 1) & (flame->slots - 1);
	return at;
}

static int grow(struct flame *flame)
{
	uint32_t room = flame->room ? 2 * flame->room : 256, slots = 2 * room, i;
	struct flame_node *node = realloc(flame->node, room * sizeof(*node));
	uint32_t *slot;

	if (!node)
		return -MT_E_MEMORY;
	flame->node = node;
	slot = calloc(slots, sizeof(*slot));
	if (!slot)
		return -MT_E_MEMORY;
	free(flame->slot);
	flame->slot = slot;
	flame->slots = slots;
	flame->room = room;
	for (i = FLAME_ROOT + 1; i < flame->nodes; i++)
		slot[slot_of(flame, node[i].parent, node[i].frame)] = i;
	return 0;
}

int flame_begin(struct flame *flame)
{
	flame->nodes = 0;
	if (!flame->room && grow(flame))
		return -MT_E_MEMORY;
	memset(flame->slot, 0, flame->slots * sizeof(*flame->slot));
	memset(flame->node, 0, (FLAME_ROOT + 1) * sizeof(*flame->node));
	flame->nodes = FLAME_ROOT + 1;
	return 0;
}

/* Returns the child of `parent`, and makes it if it is new. 0: out of memory. */
static uint32_t child_of(struct flame *flame, uint32_t parent, const struct callstack_frame *frame)
{
	uint32_t slot, node;

	if (flame->nodes == flame->room && grow(flame))
		return 0;
	slot = slot_of(flame, parent, frame);
	if (flame->slot[slot])
		return flame->slot[slot];
	node = flame->nodes++;
	flame->node[node] = (struct flame_node){ .parent = parent, .next = flame->node[parent].child, .frame = frame };
	flame->node[parent].child = node;
	return flame->slot[slot] = node;
}

int flame_add(struct flame *flame, const struct flame_stack *stack)
{
	struct flame_node *node;
	uint32_t at = FLAME_ROOT;
	size_t i;

	for (i = 0; i < stack->frames; i++) {
		at = child_of(flame, at, stack->frame[i]);
		if (!at)
			return -MT_E_MEMORY;
	}
	node = &flame->node[at];
	node->own += stack->bytes;
	if (!node->site || stack->bytes > node->site_bytes) {
		node->site = stack->site;
		node->site_bytes = stack->bytes;
	}
	for (; at; at = flame->node[at].parent) {
		node = &flame->node[at];
		node->bytes += stack->bytes;
		node->count += stack->count;
		node->layer[stack->layer < SERIES_LAYERS_MAX ? stack->layer : SERIES_LAYERS_MAX - 1] += stack->bytes;
	}
	return 0;
}

static int goes_before(const struct flame *flame, uint32_t one, uint32_t two)
{
	const struct flame_node *a = &flame->node[one], *b = &flame->node[two];

	return a->bytes != b->bytes ? a->bytes > b->bytes : one < two; /* the same order each time */
}

/* Merges two sorted lists. */
static uint32_t merge(struct flame *flame, uint32_t one, uint32_t two)
{
	uint32_t first = 0, *end = &first;

	while (one && two) {
		if (goes_before(flame, one, two)) {
			*end = one;
			one = flame->node[one].next;
		} else {
			*end = two;
			two = flame->node[two].next;
		}
		end = &flame->node[*end].next;
	}
	*end = one ? one : two;
	return first;
}

/* Merges runs of 1, 2, 4, 8 ... as they fill. There is no recursion, for any shape of the stacks. */
static uint32_t sort(struct flame *flame, uint32_t list)
{
	uint32_t run[32] = { 0 }, one, i;

	while (list) {
		one = list;
		list = flame->node[list].next;
		flame->node[one].next = 0;
		for (i = 0; i < 31 && run[i]; i++) {
			one = merge(flame, run[i], one);
			run[i] = 0;
		}
		run[i] = merge(flame, run[i], one);
	}
	for (one = 0, i = 0; i < 32; i++)
		one = merge(flame, run[i], one);
	return one;
}

void flame_finish(struct flame *flame)
{
	uint32_t i;

	for (i = FLAME_ROOT; i < flame->nodes; i++)
		flame->node[i].child = sort(flame, flame->node[i].child);
}

void flame_release(struct flame *flame)
{
	free(flame->node);
	free(flame->slot);
	memset(flame, 0, sizeof(*flame));
}

uint32_t flame_layer(const struct flame_node *node)
{
	uint32_t i, most = 0;

	for (i = 1; i < SERIES_LAYERS_MAX; i++)
		if (node->layer[i] > node->layer[most])
			most = i;
	return most;
}

/* ---- parts ---- */

/* Stacks have at most MT_STACK_DEPTH_MAX frames, and inlined ones: the walk up is short, the one down as well. */
struct flame_part flame_same_part(const struct flame *flame, const struct flame *old, struct flame_part part)
{
	struct flame_part found = { FLAME_ROOT, 0 };
	uint32_t slot;

	if (part.node <= FLAME_ROOT || part.node >= old->nodes)
		return (struct flame_part){ FLAME_ROOT, part.node == FLAME_ROOT ? part.rest : 0 };
	found = flame_same_part(flame, old, (struct flame_part){ old->node[part.node].parent, 0 });
	slot = slot_of(flame, found.node, old->node[part.node].frame);
	if (!flame->slot[slot])
		return found;
	return (struct flame_part){ flame->slot[slot], part.rest };
}

uint64_t flame_bytes(const struct flame *flame, struct flame_part part, uint32_t *children)
{
	uint64_t bytes = 0;
	uint32_t child, number = 0;

	*children = 0;
	if (!part.rest)
		return flame->node[part.node].bytes;
	for (child = flame->node[part.node].child; child; child = flame->node[child].next) {
		if (++number < part.rest)
			continue;
		bytes += flame->node[child].bytes;
		++*children;
	}
	return bytes;
}

/* ---- boxes ---- */

static struct flame_box *add_box(struct flame_layout *layout, struct flame_part part, uint32_t above, int depth)
{
	struct flame_box *box;

	if (MT_ARRAY_ROOM(layout->box, layout->boxes, layout->room))
		return NULL;
	box = &layout->box[layout->boxes++];
	*box = (struct flame_box){ .part = part, .above = above, .depth = depth };
	if (depth >= layout->depth)
		layout->depth = depth + 1;
	return box;
}

/* Columns of `width` that `bytes` of `all` are worth, rounded down. */
static int columns_of(uint64_t bytes, uint64_t all, int width)
{
	return (int)((unsigned __int128)bytes * (unsigned)width / all);
}

/* Gives one spare column to each box from `first` on, and places the boxes. */
static void place(struct flame_layout *layout, uint32_t first, int x, int spare)
{
	uint32_t i;

	for (i = first; i < layout->boxes; i++) {
		if (spare > 0 && !layout->box[i].part.rest) {
			layout->box[i].width++;
			spare--;
		}
		layout->box[i].x = x;
		x += layout->box[i].width;
	}
}

/*
 * Makes boxes of the first `wide` children of the box, from `child` on. Returns the columns that are left, or
 * -MT_E_MEMORY.
 */
static int lay_wide(struct flame_layout *layout, const struct flame *flame, uint32_t above, uint32_t child,
		    uint32_t wide, uint64_t all)
{
	const struct flame_box parent = layout->box[above];
	struct flame_box *box;
	int spare = parent.width;

	for (; wide; wide--, child = flame->node[child].next) {
		box = add_box(layout, (struct flame_part){ child, 0 }, above, parent.depth + 1);
		if (!box)
			return -MT_E_MEMORY;
		box->width = columns_of(flame->node[child].bytes, all, parent.width);
		box->width += !box->width;
		spare -= box->width;
	}
	return spare;
}

/*
 * The number of children, from `child` on, that get their own box: those at least a column wide. If none is, and the
 * person has zoomed in here, as many as there are columns; their widths are not in proportion then.
 */
static uint32_t count_wide(const struct flame *flame, uint32_t child, uint64_t all, int width, int is_top)
{
	uint32_t wide = 0, some = 0;

	for (; child; child = flame->node[child].next) {
		wide += columns_of(flame->node[child].bytes, all, width) > 0;
		some++;
	}
	if (wide || !is_top)
		return wide;
	return some < (uint32_t)width ? some : (uint32_t)width - 1;
}

/* Makes the boxes below a box: its children, and one box for all smaller children. */
static int lay_children(struct flame_layout *layout, const struct flame *flame, uint32_t above)
{
	const struct flame_box parent = layout->box[above];
	const struct flame_node *node = &flame->node[parent.part.node];
	uint32_t child = node->child, first = layout->boxes, number, wide, i;
	uint64_t all = flame_bytes(flame, parent.part, &i), own = parent.part.rest ? 0 : node->own, left = all - own;
	struct flame_box *box;
	int spare;

	for (number = 1; number < parent.part.rest && child; number++)
		child = flame->node[child].next;
	if (!left)
		return 0;
	wide = count_wide(flame, child, all, parent.width, above == 0);
	spare = lay_wide(layout, flame, above, child, wide, all);
	if (spare < 0)
		return spare;
	for (i = first; i < layout->boxes; i++)
		left -= flame->node[layout->box[i].part.node].bytes;
	if (left) { /* there is a column for them: all others were rounded down */
		box = add_box(layout, (struct flame_part){ parent.part.node, number + wide }, above, parent.depth + 1);
		if (!box)
			return -MT_E_MEMORY;
		box->width = columns_of(left, all, parent.width);
		box->width += !box->width;
		if (box->width > spare) /* only where they are not in proportion */
			box->width = spare;
		spare -= box->width;
	}
	place(layout, first, parent.x, spare - columns_of(own, all, parent.width));
	return 0;
}

int flame_lay_out(struct flame_layout *layout, const struct flame *flame, struct flame_part top, int width)
{
	struct flame_box *box;
	uint32_t i;
	int error = 0;

	layout->boxes = 0;
	layout->depth = 0;
	box = add_box(layout, top, 0, 0);
	if (!box)
		return -MT_E_MEMORY;
	box->width = width;
	/* A box of smaller children shows its contents only when it is the top. */
	for (i = 0; i < layout->boxes && !error; i++)
		if (!i || !layout->box[i].part.rest)
			error = lay_children(layout, flame, i);
	return error;
}

void flame_layout_release(struct flame_layout *layout)
{
	free(layout->box);
	memset(layout, 0, sizeof(*layout));
}

uint32_t flame_box_of(const struct flame_layout *layout, const struct flame *flame, struct flame_part part)
{
	uint32_t i;

	for (;;) {
		for (i = 0; i < layout->boxes; i++)
			if (layout->box[i].part.node == part.node && layout->box[i].part.rest == part.rest)
				return i;
		if (part.rest)
			part.rest = 0;
		else if (part.node > FLAME_ROOT && part.node < flame->nodes)
			part.node = flame->node[part.node].parent;
		else
			return 0;
	}
}
