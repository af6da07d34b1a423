/* The live set at the cursor as an icicle of call stacks, from the outermost frame down to the line that allocated. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "flame_stack.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "screen/draw/flame.h"

#define ZOOMS_MAX 64u

struct view_flame {
	struct view view;
	struct flame flame;
	struct flame_layout layout;
	uint64_t made_of;                  /* signature of the shown tree; 0: none yet */
	uint64_t without;                  /* allocations without bytes: the list counts them */
	struct flame_part zoom[ZOOMS_MAX]; /* zoom[0] is everything */
	unsigned zooms;
	struct flame_part chosen;
	int first;      /* first row in sight, below the fixed row of the zoom */
	struct area at; /* area of the boxes, drawn last */
	int failed;
	int all; /* plumbing has rows of its own */
};

/* ---- the tree ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3ull;
}

/* Whether a cell of the live set is shown. The tree goes by cells: a row of the table may have several stacks. */
static int is_shown(const struct app *app, const struct tape_held *held)
{
	return held->bytes && held->cell < app->palette.cells && app->palette.layer_of[held->cell] != SERIES_HIDDEN;
}

/* A hash of the tree's inputs. A new value means that the flame must be made anew. */
static uint64_t signature(const struct app *app, int all)
{
	uint64_t hash = mix(0xcbf29ce484222325ull, (uint64_t)all);
	const struct tape_held *held;
	uint32_t i;

	for (i = 0; i < app->live.helds; i++) {
		held = &app->live.held[i];
		if (!is_shown(app, held))
			continue;
		hash = mix(mix(mix(hash, held->cell), held->bytes), held->count);
		hash = mix(hash, app->palette.layer_of[held->cell]);
		hash = mix(hash, (uint64_t)(uintptr_t)app->model->site[TAPE_SITE(held->cell)].callstack);
	}
	return hash | 1;
}

/* The count of a segment that is all slack: the bytes belong to one cell of its site, the count to the other. */
static uint64_t count_beside(const struct app *app, uint32_t cell)
{
	const struct tape_held *beside = liveset_cell(&app->live, cell ^ 1);

	return beside && !beside->bytes && model_category(app->model, cell) == model_category(app->model, cell ^ 1)
		       ? beside->count
		       : 0;
}

static int fill(struct flame *flame, const struct app *app, int all)
{
	const struct callstack_frame **frame = calloc(FLAME_STACK_MAX, sizeof(*frame));
	struct flame_stack stack = { .frame = frame };
	const struct tape_held *held;
	int is_slack, error = frame ? flame_begin(flame) : -MT_E_MEMORY;
	uint32_t i;

	for (i = 0; i < app->live.helds && !error; i++) {
		held = &app->live.held[i];
		if (!is_shown(app, held))
			continue;
		stack.site = TAPE_SITE(held->cell);
		is_slack = model_category(app->model, held->cell) == MT_CATEGORY_SLACK;
		stack.frames = flame_stack(frame, &app->model->site[stack.site], is_slack, all);
		stack.bytes = held->bytes;
		stack.count = held->count + count_beside(app, held->cell);
		stack.layer = app->palette.layer_of[held->cell];
		error = flame_add(flame, &stack);
	}
	if (!error)
		flame_finish(flame);
	free(frame);
	return error;
}

static int depth_of(const struct flame *flame, uint32_t node)
{
	int depth = 0;

	for (; node != FLAME_ROOT; node = flame->node[node].parent)
		depth++;
	return depth;
}

/* The node at a depth on the way to the ends of a site's stacks; 0: none. */
static uint32_t node_of_site(const struct flame *flame, uint32_t site, int depth)
{
	uint32_t node;

	for (node = FLAME_ROOT; node < flame->nodes && flame->node[node].site != site; node++)
		;
	if (node >= flame->nodes)
		return 0;
	while (depth_of(flame, node) > depth)
		node = flame->node[node].parent;
	return node;
}

/* The new part for an old one. A row without names takes the names of its largest stack. */
static struct flame_part part_in(const struct flame *flame, const struct flame *old, struct flame_part part)
{
	const struct flame_node *node = &old->node[part.node];
	uint32_t named = 0;

	if (node->frame == &flame_no_names && !part.rest)
		named = node_of_site(flame, node->site, depth_of(old, part.node));
	return named ? (struct flame_part){ named, 0 } : flame_same_part(flame, old, part);
}

/* Makes the flame of the live set. Zoom and choice stay, if their parts still exist. */
static int make(struct view_flame *self, const struct app *app)
{
	uint64_t made_of = signature(app, self->all);
	struct flame flame = { 0 };
	unsigned i;
	int error;

	if (made_of == self->made_of)
		return 0;
	error = fill(&flame, app, self->all);
	if (error) {
		flame_release(&flame);
		return error;
	}
	if (self->made_of) {
		self->chosen = part_in(&flame, &self->flame, self->chosen);
		for (i = 0; i <= self->zooms; i++)
			self->zoom[i] = part_in(&flame, &self->flame, self->zoom[i]);
	} else {
		self->zoom[0] = self->chosen = (struct flame_part){ FLAME_ROOT, 0 };
	}
	flame_release(&self->flame);
	self->flame = flame;
	self->made_of = made_of;
	self->without = app->live.count > flame.node[FLAME_ROOT].count ? app->live.count - flame.node[FLAME_ROOT].count
								       : 0;
	return 0;
}

/* ---- words ---- */

static const char *function_of(char *out, size_t size, const struct callstack_frame *frame)
{
	if (!frame)
		snprintf(out, size, "all");
	else if (frame->elided)
		snprintf(out, size, "... (deeper than recorded)");
	else if (callstack_submodule(frame))
		snprintf(out, size, "%s", callstack_submodule(frame));
	else if (*frame->function)
		callstack_function(out, size, frame);
	else
		callstack_place(out, size, frame);
	return out;
}

/* Explains a difference to the list's count: allocations without bytes have no width. */
static void say_without(char *out, size_t size, uint64_t without)
{
	size_t used = strlen(out);
	char number[TEXT_SIZE_MAX];

	snprintf(out + used, size - used, " (%s more in the list: segments that tensors fill)",
		 text_number(number, without));
}

/* The line below: which frame it is, and how much. */
static void draw_words(const struct view_flame *self, struct area area, int y, struct flame_part part)
{
	const struct flame_node *node = &self->flame.node[part.node];
	char function[512], place[512], size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], of[TEXT_SIZE_MAX], count[160];
	uint32_t children, ignored;
	uint64_t bytes = flame_bytes(&self->flame, part, &children);
	uint64_t zoomed = flame_bytes(&self->flame, self->zoom[self->zooms], &ignored);
	int x;

	function_of(function, sizeof(function), node->frame);
	text_percent(share, bytes, self->flame.node[FLAME_ROOT].bytes);
	x = area_print(area, 0, y, STYLE_BOLD, "%s  %s", text_bytes(size, bytes), share);
	if (self->zooms && zoomed != self->flame.node[FLAME_ROOT].bytes)
		x = area_print(area, x, y, STYLE_DIM, " (%s of what is shown)", text_percent(of, bytes, zoomed));
	x += 2;
	if (part.rest) {
		text_number(count, children);
		area_print(area, x, y, STYLE_PLAIN, "%s smaller in %s (Enter shows them)", count, function);
		return;
	}
	*place = '\0';
	if (node->frame && (*node->frame->file || *node->frame->module) && *node->frame->function &&
	    !node->frame->elided)
		callstack_place(place, sizeof(place), node->frame);
	text_count(count, sizeof(count), node->count, "allocation");
	if (self->without && part.node == FLAME_ROOT)
		say_without(count, sizeof(count), self->without);
	if (y + 1 < area.height) { /* there are two rows */
		area_fit(area, x, y, area.width - x, STYLE_PLAIN, function, 0);
		x = area_text(area, 0, y + 1, STYLE_DIM, *place ? place : "") + (*place ? 2 : 0);
		if (node->own && node->child)
			snprintf(count + strlen(count), sizeof(count) - strlen(count), ", %s of it by itself",
				 text_bytes(size, node->own));
		area_fit(area, x, y + 1, area.width - x, STYLE_DIM, count, 0);
	} else if (*place) {
		char both[1100];

		snprintf(both, sizeof(both), "%s (%s)", function, place);
		area_fit(area, x, y, area.width - x, STYLE_PLAIN, both, 0);
	} else {
		area_fit(area, x, y, area.width - x, STYLE_PLAIN, function, 0);
	}
}

/* ---- the list ---- */

#define LIST_LEAST 3 /* rows: a title and two more */

/* "  10.1 GiB   15%  ffn_forward (rl_step.c:95)", the share of everything. */
static void draw_list_row(const struct view_flame *self, struct area area, int y, struct flame_part part)
{
	const struct flame_node *node = &self->flame.node[part.node];
	char size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], function[512], place[512], words[1100];
	uint32_t children;
	uint64_t bytes = flame_bytes(&self->flame, part, &children);

	area_print_right(area, 11, y, STYLE_PLAIN, "%s", text_bytes(size, bytes));
	area_print_right(area, 17, y, STYLE_PLAIN, "%s",
			 text_percent(share, bytes, self->flame.node[FLAME_ROOT].bytes));
	function_of(function, sizeof(function), node->frame);
	*place = '\0';
	if (node->frame && *node->frame->function && (*node->frame->file || *node->frame->module) &&
	    !node->frame->elided)
		callstack_place(place, sizeof(place), node->frame);
	if (part.rest)
		snprintf(words, sizeof(words), "%u smaller", children);
	else if (*place)
		snprintf(words, sizeof(words), "%s (%s)", function, place);
	else
		snprintf(words, sizeof(words), "%s", function);
	area_fit(area, 19, y, area.width - 19, part.rest ? STYLE_DIM : STYLE_PLAIN, words, 0);
}

/*
 * Lists the functions that the chosen frame called, the largest first; without any, its callers. Boxes are often too
 * narrow for names.
 */
static void draw_list(const struct view_flame *self, struct area area, struct flame_part part)
{
	const struct flame_node *node = self->flame.node;
	uint32_t at, beside = 0, before = part.rest ? part.rest - 1 : 0, below = 0;
	char function[512], title[600];
	int y = 1;

	if (area.height < LIST_LEAST)
		return;
	function_of(function, sizeof(function), node[part.node].frame);
	at = node[part.node].child;
	for (; at && below < before; at = node[at].next)
		below++;
	if (!at) {
		snprintf(title, sizeof(title), "%s was called from", function);
		for (at = node[part.node].parent; at > FLAME_ROOT && node[at].frame != &flame_slack && y < area.height;
		     at = node[at].parent)
			draw_list_row(self, area, y++, (struct flame_part){ at, 0 });
	} else {
		snprintf(title, sizeof(title), "Below %s", function);
		for (; at && y < area.height; at = beside, below++) {
			beside = node[at].next;
			if (y == area.height - 1 && beside) { /* the last row has all others */
				draw_list_row(self, area, y++, (struct flame_part){ part.node, below + 1 });
				break;
			}
			draw_list_row(self, area, y++, (struct flame_part){ at, 0 });
		}
	}
	if (y > 1)
		area_fit(area, 0, 0, area.width, STYLE_HEAD, title, 0);
}

static void draw_title(const struct app *app, struct area area)
{
	char size[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], places[64], title[200], aside[FILTER_TEXT_MAX + 16];
	int room;

	if (*app->filter.text)
		snprintf(aside, sizeof(aside), "filter: %s", app->filter.text);
	else
		snprintf(aside, sizeof(aside), "by %s", palette_by_words[app->by]);
	snprintf(title, sizeof(title), "Alive%s: %s in %s", text_at(time, app->scale.cursor),
		 text_bytes(size, app->live.bytes), text_count(places, sizeof(places), app->live.rows, "place"));
	area_fit(area, 0, 0, area.width, STYLE_HEAD, title, 0);
	room = area.width - columns_of(title) - 2;
	if (columns_of(aside) <= room)
		area_print_right(area, area.width, 0, *app->filter.text ? STYLE_WARN : STYLE_DIM, "%s", aside);
	else if (room > 8)
		area_fit(area, area.width - room, 0, room, *app->filter.text ? STYLE_WARN : STYLE_DIM, aside, 0);
}

/* ---- words that are looked for ---- */

static int is_hit(const struct app *app, const struct flame_node *node)
{
	return app->search[0] && node->frame && filter_frame_has(node->frame, app->search);
}

/* Whether the node is of what is zoomed into. */
static int is_below(const struct flame *flame, uint32_t node, uint32_t top)
{
	while (node != top && node > FLAME_ROOT)
		node = flame->node[node].parent;
	return node == top;
}

/* Whether a frame comes after another in a search: by depth, then by size. The order is the same in both directions. */
static int comes_after(const struct flame *flame, uint32_t one, uint32_t two)
{
	int a = depth_of(flame, one), b = depth_of(flame, two);

	if (a != b)
		return a > b;
	if (flame->node[one].bytes != flame->node[two].bytes)
		return flame->node[one].bytes < flame->node[two].bytes;
	return one > two;
}

/* A search's result: number of hits below the zoom, hits before the next one, and the next one (0: none). */
struct hits {
	uint32_t count, before, next;
};

/* The hit after `chosen` or before it, round and round. */
static struct hits find_hits(const struct view_flame *self, const struct app *app, int on)
{
	const struct flame *flame = &self->flame;
	uint32_t node, edge = 0, next = 0, now = self->chosen.node;
	struct hits hits = { 0 };

	for (node = FLAME_ROOT + 1; node < flame->nodes; node++) {
		if (!is_hit(app, &flame->node[node]) || !is_below(flame, node, self->zoom[self->zooms].node))
			continue;
		hits.count++;
		if (!edge || comes_after(flame, edge, node) == on)
			edge = node;
		if (node != now && comes_after(flame, node, now) == on &&
		    (!next || comes_after(flame, next, node) == on))
			next = node;
	}
	hits.next = next ? next : edge;
	for (node = FLAME_ROOT + 1; node < flame->nodes && hits.next; node++)
		hits.before += is_hit(app, &flame->node[node]) && is_below(flame, node, self->zoom[self->zooms].node) &&
			       comes_after(flame, hits.next, node);
	return hits;
}

/* The number of hits with all plumbing shown. */
static uint32_t count_unfolded(const struct app *app)
{
	struct flame flame = { 0 };
	uint32_t node, count = 0;

	if (!fill(&flame, app, 1))
		for (node = FLAME_ROOT + 1; node < flame.nodes; node++)
			count += (uint32_t)is_hit(app, &flame.node[node]);
	flame_release(&flame);
	return count;
}

/* Finds hits. Unfolds plumbing if only folded plumbing has the words. *more: folded hits. */
static struct hits find_anywhere(struct view_flame *self, struct app *app, int on, uint32_t *more)
{
	struct hits hits = find_hits(self, app, on);
	uint32_t all = self->all || self->zooms ? hits.count : count_unfolded(app);

	*more = all > hits.count ? all - hits.count : 0;
	if (hits.count || !*more)
		return hits;
	self->all = 1;
	*more = 0;
	return make(self, app) ? hits : find_hits(self, app, on);
}

/* Chooses the next hit. If the hit is too small for a box, zooms into the frame above it. */
static void search(struct view_flame *self, struct app *app, int on)
{
	int folded = !self->all;
	uint32_t more;
	struct hits hits;

	model_lock(app->model);
	hits = find_anywhere(self, app, on, &more);
	if (folded && self->all && self->flame.node[FLAME_ROOT].bytes &&
	    flame_lay_out(&self->layout, &self->flame, self->zoom[self->zooms], app->canvas.width))
		hits.next = 0;
	model_unlock(app->model);
	if (!hits.next) {
		app_say(app,
			self->zooms ? "no frame below the zoom has \"%s\" in it (q zooms out)"
				    : "no frame has \"%s\" in it",
			app->search);
		return;
	}
	self->chosen = (struct flame_part){ hits.next, 0 };
	if (self->layout.box[flame_box_of(&self->layout, &self->flame, self->chosen)].part.node != hits.next &&
	    self->zooms + 1 < ZOOMS_MAX)
		self->zoom[++self->zooms] = (struct flame_part){ self->flame.node[hits.next].parent, 0 };
	if (folded && self->all)
		app_say(app, "\"%s\": %u of %u, in the plumbing (q folds it again)", app->search, hits.before + 1,
			hits.count);
	else if (more)
		app_say(app, "\"%s\": %u of %u; %u more in the plumbing", app->search, hits.before + 1, hits.count,
			more);
	else
		app_say(app, "\"%s\": %u of %u", app->search, hits.before + 1, hits.count);
}

/* ---- boxes ---- */

/* Character by character, because a box has a background. */
static int draw_label(struct area row, int x, int end, uint8_t style, uint8_t behind, const char *label)
{
	char fitted[1024], one[8];
	uint32_t code;
	size_t size;

	text_fit(fitted, sizeof(fitted), label, end > x ? (size_t)(end - x) : 0, 0);
	for (label = fitted; *label; label += size) {
		size = mt_utf8(label, strlen(label), &code);
		size = size ? size : 1;
		mt_copy_text(one, size + 1, label);
		if (x + columns_of(one) > end)
			break;
		area_put(row, x, 0, one, style, behind);
		x += columns_of(one);
	}
	return x;
}

static void draw_box(const struct view_flame *self, const struct app *app, struct area row, const struct flame_box *box,
		     int is_chosen)
{
	const struct canvas *canvas = row.canvas;
	const struct flame_node *node = &self->flame.node[box->part.node];
	uint32_t layer = flame_layer(node), children;
	uint8_t style = is_chosen ? STYLE_CHOSEN : STYLE_PLAIN, behind = STYLE_NO_BACKGROUND;
	char label[512], fill_with[2] = " ";
	int end = box->x + box->width, x = box->x;

	if (box->part.rest) {
		flame_bytes(&self->flame, box->part, &children);
		snprintf(label, sizeof(label), "%u smaller", children);
		fill_with[0] = '~';
		style = is_chosen ? STYLE_CHOSEN : STYLE_DIM;
	} else {
		function_of(label, sizeof(label), node->frame);
		if (!canvas->colours && node->frame != &flame_plumbing && layer < app->palette.layers)
			fill_with[0] = app->palette.letter[layer];
		if (node->frame == &flame_plumbing)
			style = is_chosen ? STYLE_CHOSEN : STYLE_DIM;
		else if (canvas->colours && !is_chosen)
			behind = STYLE_LAYER(layer);
		if (is_hit(app, node))
			style = is_chosen ? STYLE_CHOSEN : STYLE_WARN, behind = STYLE_NO_BACKGROUND;
	}
	area_put(row, x++, 0, canvas->ascii || !canvas->colours ? "|" : "▏", style, behind);
	if (box->width >= 4)
		x = draw_label(row, x, end, style, behind, label);
	if (x < end && x > box->x + 1 && fill_with[0] != ' ')
		area_put(row, x++, 0, " ", style, behind);
	for (; x < end; x++)
		area_put(row, x, 0, fill_with, box->part.rest || is_chosen ? style : STYLE_PLAIN, behind);
}

/* Scrolls the rows until the chosen box is in sight. The row of the zoom stays fixed. */
static void scroll(struct view_flame *self, int height)
{
	int depth = self->layout.box[flame_box_of(&self->layout, &self->flame, self->chosen)].depth, room = height - 1;

	if (depth && depth - 1 < self->first)
		self->first = depth - 1;
	if (depth && room > 0 && depth - 1 >= self->first + room)
		self->first = depth - room;
	if (self->first > self->layout.depth - 1 - room)
		self->first = self->layout.depth - 1 - room;
	if (self->first < 0)
		self->first = 0;
}

/* The line of the boxes' area that shows a depth; -1: none does. */
static int line_of(const struct view_flame *self, int depth)
{
	int y = depth ? depth - self->first : 0;

	return (depth && y < 1) || y >= self->at.height ? -1 : y;
}

static void draw_boxes(struct view_flame *self, const struct app *app)
{
	uint32_t i, chosen = flame_box_of(&self->layout, &self->flame, self->chosen);
	int below;

	for (i = 0; i < self->layout.boxes; i++) {
		int y = line_of(self, self->layout.box[i].depth);

		if (y >= 0)
			draw_box(self, app, area_part(self->at, 0, y, self->at.width, 1), &self->layout.box[i],
				 i == chosen);
	}
	below = self->layout.depth - 1 - self->first - (self->at.height - 1);
	if (below > 0)
		area_print_right(self->at, self->at.width, self->at.height - 1, STYLE_KEY, " %d more below ", below);
}

static void draw_flame(struct view *view, struct app *app, struct area area)
{
	struct view_flame *self = (struct view_flame *)view;
	int words = area.height >= 12 ? 2 : 1, error, list;
	struct flame_part part;

	self->at = area_part(area, 0, 1, area.width, area.height - 1 - words);
	error = make(self, app);
	draw_title(app, area);
	if (!error && self->flame.node[FLAME_ROOT].bytes)
		error = flame_lay_out(&self->layout, &self->flame, self->zoom[self->zooms], area.width);
	else
		self->layout.boxes = 0;
	if (error) {
		area_text(area, 0, 2, STYLE_BAD, mt_strerror(error));
		return;
	}
	if (!self->layout.boxes) {
		area_text(area, 0, 2, STYLE_DIM,
			  *app->filter.text ? "Nothing that the filter lets through is alive here."
					    : "Nothing is alive at the cursor.");
		return;
	}
	scroll(self, self->at.height);
	draw_boxes(self, app);
	part = self->layout.box[flame_box_of(&self->layout, &self->flame, self->chosen)].part;
	list = self->layout.depth + 1; /* a row is left blank */
	draw_list(self, area_part(self->at, 0, list, self->at.width, self->at.height - list), part);
	draw_words(self, area, area.height - words, part);
}

/* ---- requests ---- */

static void choose(struct view_flame *self, uint32_t box)
{
	self->chosen = self->layout.box[box].part;
}

/* The neighbour in the same row: boxes lie from left to right. */
static void move_beside(struct view_flame *self, uint32_t at, int on)
{
	uint32_t to = on ? at + 1 : at - 1;

	if ((on || at) && to < self->layout.boxes && self->layout.box[to].depth == self->layout.box[at].depth)
		choose(self, to);
}

static void move_down(struct view_flame *self, uint32_t at)
{
	uint32_t i;

	for (i = at + 1; i < self->layout.boxes; i++) {
		if (self->layout.box[i].above == at) {
			choose(self, i);
			return;
		}
	}
}

static void zoom_in(struct view_flame *self, struct app *app)
{
	const struct flame_part *now = &self->zoom[self->zooms];

	if (self->flame.node[self->chosen.node].frame == &flame_plumbing) {
		self->all = 1;
		app_say(app, "every frame is shown (q folds the plumbing again)");
		return;
	}
	if (self->chosen.node == now->node && self->chosen.rest == now->rest)
		app_say(app, "this fills the screen already (q zooms out)");
	else if (self->zooms + 1 == ZOOMS_MAX)
		app_say(app, "%u times is as deep as it goes (q zooms out)", ZOOMS_MAX - 1);
	else
		self->zoom[++self->zooms] = self->chosen;
	self->first = 0;
}

static int zoom_out(struct view_flame *self)
{
	if (!self->zooms && self->all) {
		self->all = 0;
		return 1;
	}
	if (!self->zooms)
		return 0;
	self->chosen = self->zoom[self->zooms--];
	self->first = 0;
	return 1;
}

static int point(struct view_flame *self, struct app *app, const struct input *input)
{
	int x = input->x - self->at.x, y = input->y - self->at.y;
	uint32_t i;

	if (input->button == MOUSE_WHEEL_DOWN || input->button == MOUSE_WHEEL_UP) {
		i = flame_box_of(&self->layout, &self->flame, self->chosen);
		if (input->button == MOUSE_WHEEL_UP)
			choose(self, self->layout.box[i].above);
		else
			move_down(self, i);
		return 1;
	}
	for (i = 0; i < self->layout.boxes; i++) {
		const struct flame_box *box = &self->layout.box[i];

		if (line_of(self, box->depth) != y || x < box->x || x >= box->x + box->width)
			continue;
		choose(self, i);
		if (input->button == MOUSE_DOUBLE)
			zoom_in(self, app);
		break;
	}
	return 1;
}

/* Lays the boxes out before the first drawing: a key may come before it. */
static void lay_out_early(struct view_flame *self, const struct app *app)
{
	model_lock(app->model);
	if (!make(self, app) && self->flame.node[FLAME_ROOT].bytes &&
	    flame_lay_out(&self->layout, &self->flame, self->zoom[self->zooms], app->canvas.width))
		self->layout.boxes = 0; /* the drawing shows the error */
	model_unlock(app->model);
}

static int request_flame(struct view *view, struct app *app, enum request request, const struct input *input)
{
	struct view_flame *self = (struct view_flame *)view;
	uint32_t at;

	if (request == REQUEST_BACK)
		return zoom_out(self);
	if (!self->layout.boxes)
		lay_out_early(self, app);
	if (!self->layout.boxes)
		return request == REQUEST_MOUSE || request == REQUEST_ENTER;
	at = flame_box_of(&self->layout, &self->flame, self->chosen);
	switch (request) {
	case REQUEST_MOUSE:
		return point(self, app, input);
	case REQUEST_ENTER:
		zoom_in(self, app);
		return 1;
	case REQUEST_SEARCH_ON:
	case REQUEST_SEARCH_BACK:
		search(self, app, request == REQUEST_SEARCH_ON);
		return 1;
	case REQUEST_UP:
		choose(self, self->layout.box[at].above);
		return 1;
	case REQUEST_DOWN:
		move_down(self, at);
		return 1;
	case REQUEST_LEFT:
	case REQUEST_RIGHT:
		move_beside(self, at, request == REQUEST_RIGHT);
		return 1;
	case REQUEST_FIRST:
		choose(self, 0);
		return 1;
	case REQUEST_LAST:
		choose(self, self->layout.boxes - 1);
		return 1;
	default:
		return 0;
	}
}

static void release_flame(struct view *view)
{
	struct view_flame *self = (struct view_flame *)view;

	flame_release(&self->flame);
	flame_layout_release(&self->layout);
}

const struct view_ops view_flame_ops = {
	.name = "flame",
	.size = sizeof(struct view_flame),
	.draw = draw_flame,
	.request = request_flame,
	.hint = "Enter zoom in  / search  arrows move  c colour  q back",
	.searches = 1,
	.release = release_flame,
};
