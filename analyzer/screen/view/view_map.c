/*
 * The segments of the device at the cursor: their contents, their holes, and the tensors that pin them, as in memana
 * frag.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "grid.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "screen/draw/memory_bar.h"

#define TALL_MOST 16 /* rows of characters that a segment takes */

struct view_map {
	struct view view;
	struct worker *worker;
	uint32_t number; /* number of the question */
	int64_t time;    /* time of the question */
	uint32_t device;
	struct worker_answer *answer; /* newest answer, perhaps for an earlier time; NULL: none */
	int is_old;                   /* 1: `answer` belongs to an earlier question */
	struct list list;             /* list of segments, and of the memory beside them */
	int64_t process;              /* process of the chosen segment */
	uint64_t address;
	int tall, tall_chosen; /* rows of each; by the person, 0: as many as fit */
	struct memory_bar_cell *cell;
	int cells_room;
	struct area at; /* area of the list, drawn last */
};

/* The begins of the columns of the list; width 0: not there. */
struct map_columns {
	int idle, size, tensors, bar, holder; /* widths */
};

#define COLUMN 10

static struct map_columns columns_for(int width)
{
	struct map_columns columns = { .idle = COLUMN };

	if (width >= 59)
		columns.size = COLUMN;
	if (width >= 79)
		columns.tensors = COLUMN - 2;
	if (width >= 109)
		columns.holder = width / 4;
	columns.bar = width - columns.idle - columns.size - columns.tensors - columns.holder - 2 -
		      (columns.holder != 0);
	return columns;
}

/* ---- the answer ---- */

static void ask(struct view_map *self, const struct app *app)
{
	const struct worker_question question = { .kind = WORKER_MAP, .device = app->device, .to = app->scale.cursor };

	self->time = question.to;
	self->device = question.device;
	self->is_old = 1;
	if (self->worker)
		self->number = worker_ask(self->worker, &question);
}

static int open_map(struct view *view, struct app *app, const void *argument)
{
	struct view_map *self = (struct view_map *)view;

	(void)argument;
	self->worker = app->worker;
	ask(self, app);
	return 0;
}

static void release_map(struct view *view)
{
	struct view_map *self = (struct view_map *)view;

	worker_answer_free(self->answer);
	free(self->cell);
}

static int map_waits(struct view *view)
{
	const struct view_map *self = (struct view_map *)view;

	return self->worker && self->is_old;
}

/* The newest map; NULL: no answer yet, or an answer that says why there is no map. */
static const struct worker_map *map_of(const struct view_map *self)
{
	return self->answer ? self->answer->map : NULL;
}

/* The view has a map. */
static const struct segment_map *segments_of(const struct view_map *self)
{
	return &self->answer->map->state.map.map;
}

/* The segment of a row; NULL: the row is the memory beside the segments. */
static const struct segment *segment_at(const struct view_map *self, uint32_t row)
{
	return row < segments_of(self)->count ? self->answer->map->sorted[row] : NULL;
}

static uint32_t rows_of(const struct view_map *self)
{
	const struct worker_map *map = map_of(self);

	return map ? (uint32_t)segments_of(self)->count + (map->besides != 0) : 0;
}

/* Keeps the same segment chosen, if it still exists. */
static void choose_again(struct view_map *self)
{
	const struct segment *segment;
	uint32_t row;

	for (row = 0; row < rows_of(self); row++) {
		segment = segment_at(self, row);
		if (segment && segment->process == self->process && segment->address == self->address) {
			list_fit(&self->list, rows_of(self), self->list.height);
			list_choose(&self->list, row);
		}
	}
}

/* Follows the cursor. Asks again if another view has asked another question. */
static void fetch(struct view_map *self, const struct app *app)
{
	struct worker_answer *answer;

	if (!self->worker)
		return;
	if (self->time != app->scale.cursor || self->device != app->device)
		ask(self, app);
	if (!self->is_old)
		return;
	answer = worker_answer(self->worker, self->number);
	if (answer) {
		worker_answer_free(self->answer);
		self->answer = answer;
		self->is_old = 0;
		choose_again(self);
	} else if (!worker_pending(self->worker, self->number)) {
		ask(self, app);
	}
}

/* ---- words ---- */

static void draw_title(const struct view_map *self, const struct app *app, struct area area)
{
	const struct frag_instant *instant = map_of(self) ? &map_of(self)->state.instant : NULL;
	struct sentence words = { 0 };
	char device[32], time[TEXT_SIZE_MAX], count[64];
	int room = area.width;

	sentence_say(&words, "Segments of %s%s", app_device_name(app, self->device, device), text_at(time, self->time));
	if (instant && !self->is_old && *instant->phase && text_known.history)
		sentence_say(&words, ", %s of step %lld", answer_phase(instant->phase), (long long)instant->step);
	if (self->answer && self->is_old)
		snprintf(count, sizeof(count), "asking ...");
	else if (instant)
		text_count(count, sizeof(count), segments_of(self)->count, "segment");
	else
		count[0] = '\0';
	room -= (int)strlen(count) + 2;
	area_print_right(area, area.width, 0, STYLE_DIM, "%s", count);
	area_fit(area, 0, 0, room, STYLE_HEAD, words.text, 0);
}

/* "keep_for_metrics (metrics.py:17)" */
static const char *place_of(char *out, size_t size, const struct app *app, int64_t number)
{
	const struct model_site *site = number > 0 && number < app->model->sites ? &app->model->site[number] : NULL;
	const char *function = site ? site->function : "", *place = site ? site->place : "";

	if (*function && *place)
		snprintf(out, size, "%s (%s)", function, place);
	else
		snprintf(out, size, "%s", *function ? function : *place ? place : "a place without a stack");
	return out;
}

static void draw_holder(const struct view_map *self, const struct app *app, struct area area, int y,
			const struct segment *segment)
{
	const struct frag_tensor *tensor = frag_holder(&self->answer->map->state.map, segment);
	struct sentence words = { 0 };
	char place[512];

	if (!tensor) {
		sentence_say(&words, "Empty: torch.cuda.empty_cache() gives it back.");
	} else {
		place_of(place, sizeof(place), app, tensor->site);
		sentence_say(&words, "%s %s", frag_is_pinned(segment) ? "Pinned by" : "Most of it is by", place);
		if (text_known.history)
			sentence_say(&words, ", from %s of step %lld", answer_phase(tensor->phase),
				     (long long)tensor->step);
	}
	area_fit(area, 0, y, area.width, frag_is_pinned(segment) ? STYLE_WARN : STYLE_PLAIN, words.text, 0);
}

static void draw_scale(const struct view_map *self, struct area area, int y, const struct segment *segment)
{
	int cells = self->tall * columns_for(area.width - 1).bar;
	static const char keys[] = "; + and -: more, fewer rows";
	char bytes[TEXT_SIZE_MAX], words[128];
	int used = snprintf(words, sizeof(words), "A character is %s, as high as tensors fill it",
			    text_bytes(bytes, segment->bytes / (uint64_t)(cells > 0 ? cells : 1)));

	if (columns_of(words) + columns_of(keys) <= area.width)
		snprintf(words + used, sizeof(words) - (size_t)used, "%s", keys);
	area_fit(area, 0, y, area.width, STYLE_DIM, words, 0);
}

/* The rows below the list, about the chosen segment. */
static void draw_chosen(const struct view_map *self, const struct app *app, struct area area)
{
	const struct segment *segment = segment_at(self, self->list.chosen);
	const struct worker_map *map = self->answer->map;
	char one[TEXT_SIZE_MAX], two[TEXT_SIZE_MAX], three[TEXT_SIZE_MAX], four[TEXT_SIZE_MAX], count[64];
	struct sentence words = { 0 };

	if (!segment) {
		sentence_say(&words, "%s in %s of the driver, in none of the segments", text_bytes(one, map->beside),
			     text_count(count, sizeof(count), map->besides, "allocation"));
		area_fit(area, 0, 0, area.width, STYLE_PLAIN, words.text, 0);
		return;
	}
	sentence_say(&words, "%s idle of %s, %s in %s, the largest hole %s; at 0x%llx",
		     text_bytes(one, segment->bytes - segment->used), text_bytes(two, segment->bytes),
		     text_bytes(three, segment->used), text_count(count, sizeof(count), segment->blocks, "tensor"),
		     text_bytes(four, segment->largest_hole), (unsigned long long)segment->address);
	if (segment->mapped)
		sentence_say(&words, ", expandable (%s)", text_count(count, sizeof(count), segment->pieces, "mapping"));
	if (area.height > 1)
		area_fit(area, 0, area.height - (area.height > 2) - 1, area.width, STYLE_PLAIN, words.text, 0);
	draw_holder(self, app, area, 0, segment);
	if (area.height > 2)
		draw_scale(self, area, 2, segment);
}

/* ---- colours ---- */

struct layers {
	const struct frag_map *map;
	const struct palette *palette;
};

static uint8_t layer_of(const void *context, const struct segment_block *block)
{
	const struct layers *layers = context;
	int64_t site = layers->map->tensor[block->id].site;
	uint64_t cell = TAPE_CELL((uint32_t)site, 0);

	return site > 0 && cell < layers->palette->cells ? layers->palette->layer_of[cell] : PALETTE_REST;
}

/* Draws the layers in the segments and their bytes, in their order, then the holes; as many as there is room for. */
static void draw_legend(const struct view_map *self, const struct app *app, struct area area)
{
	const struct layers layers = { &self->answer->map->state.map, &app->palette };
	uint64_t bytes[SERIES_LAYERS_MAX] = { 0 };
	char words[PALETTE_NAME_MAX + TEXT_SIZE_MAX + 2], size[TEXT_SIZE_MAX], letter[2] = "";
	uint32_t layer;
	size_t i;
	int x = 0, colours = area.canvas->colours >= 8;

	for (i = 0; i < layers.map->blocks; i++) {
		layer = layer_of(&layers, &layers.map->block[i]);
		if (layer < SERIES_LAYERS_MAX)
			bytes[layer] += layers.map->block[i].bytes;
	}
	snprintf(words, sizeof(words), "hole %s", text_bytes(size, frag_idle(layers.map)));
	area_put(area, x, 0, memory_bar_hole(area.canvas), STYLE_LINE, STYLE_NO_BACKGROUND);
	x = area_text(area, x + 2, 0, STYLE_PLAIN, words) + 2;
	for (layer = 0; layer < SERIES_LAYERS_MAX; layer++) {
		if (!bytes[layer])
			continue;
		snprintf(words, sizeof(words), "%s %s",
			 app->palette.name[layer][0] ? app->palette.name[layer] : "other",
			 text_bytes(size, bytes[layer]));
		if (x + 2 + columns_of(words) > area.width)
			break;
		letter[0] = app->palette.letter[layer] ? app->palette.letter[layer] : ' ';
		area_put(area, x, 0, letter, colours ? STYLE_PLAIN : STYLE_BOLD,
			 colours ? STYLE_LAYER(layer) : STYLE_NO_BACKGROUND);
		x = area_text(area, x + 2, 0, STYLE_PLAIN, words) + 2;
	}
}

/* ---- the list ---- */

static int make_cells(struct view_map *self, int cells)
{
	struct memory_bar_cell *cell;

	if (cells <= self->cells_room)
		return 0;
	cell = realloc(self->cell, (size_t)cells * sizeof(*cell));
	if (!cell)
		return -MT_E_MEMORY;
	self->cell = cell;
	self->cells_room = cells;
	return 0;
}

static void draw_heads(const struct map_columns *columns, struct area area)
{
	int x = columns->idle;

	area_print_right(area, x, 0, STYLE_HEAD, "idle");
	if (columns->size)
		area_print_right(area, x += columns->size, 0, STYLE_HEAD, "size");
	if (columns->tensors)
		area_print_right(area, x += columns->tensors, 0, STYLE_HEAD, "tensors");
	area_text(area, x + 1, 0, STYLE_HEAD, "by address");
	if (columns->holder)
		area_text(area, x + columns->bar + 2, 0, STYLE_HEAD, "what pins it, or has most of it");
}

static void draw_numbers(const struct map_columns *columns, struct area row, const struct segment *segment)
{
	char idle[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX], number[TEXT_SIZE_MAX];
	int x = columns->idle;

	area_print_right(row, x, 0, STYLE_PLAIN, "%s", text_bytes(idle, segment->bytes - segment->used));
	if (columns->size)
		area_print_right(row, x += columns->size, 0, STYLE_PLAIN, "%s", text_bytes(size, segment->bytes));
	if (columns->tensors)
		area_print_right(row, x + columns->tensors, 0, STYLE_PLAIN, "%s", text_number(number, segment->blocks));
}

static void draw_segment(struct view_map *self, const struct app *app, const struct map_columns *columns,
			 struct area row, const struct segment *segment)
{
	const struct frag_map *map = &self->answer->map->state.map;
	const struct layers layers = { map, &app->palette };
	int x = columns->idle + columns->size + columns->tensors + 1, cells = columns->bar * row.height;
	const struct frag_tensor *tensor = columns->holder ? frag_holder(map, segment) : NULL;
	char place[512];

	draw_numbers(columns, row, segment);
	if (cells > 0 && !make_cells(self, cells)) {
		memory_bar_fill(self->cell, cells, segment, map->block, layer_of, &layers);
		memory_bar_draw(area_part(row, x, 0, columns->bar, row.height), self->cell, cells, app->palette.letter);
	}
	if (tensor)
		area_fit(row, x + columns->bar + 1, 0, columns->holder,
			 frag_is_pinned(segment) ? STYLE_WARN : STYLE_PLAIN,
			 place_of(place, sizeof(place), app, tensor->site), 0);
}

static void draw_beside(const struct view_map *self, const struct map_columns *columns, struct area row)
{
	const struct worker_map *map = self->answer->map;
	char bytes[TEXT_SIZE_MAX], words[160], count[64];
	int x = columns->idle + columns->size;

	area_print_right(row, columns->size ? x : columns->idle, 0, STYLE_PLAIN, "%s", text_bytes(bytes, map->beside));
	snprintf(words, sizeof(words), "no segment: %s of the driver",
		 text_count(count, sizeof(count), map->besides, "allocation"));
	x += columns->tensors + 1;
	area_fit(row, x, 0, row.width - x, STYLE_DIM, words, 0);
}

static int tall_for(const struct view_map *self, int height)
{
	int rows = (int)rows_of(self), tall = self->tall_chosen ? self->tall_chosen : rows ? height / rows : 1;

	tall = tall > TALL_MOST ? TALL_MOST : tall;
	tall = tall > height ? height : tall;
	return tall < 1 ? 1 : tall;
}

static void draw_list(struct view_map *self, const struct app *app, struct area area, int has_heads)
{
	const struct map_columns columns = columns_for(area.width - 1);
	const struct segment *segment;
	struct area row;
	int64_t number;
	int y;

	if (has_heads)
		draw_heads(&columns, area);
	area = area_part(area, 0, has_heads, area.width, area.height - has_heads);
	self->at = area;
	self->tall = tall_for(self, area.height);
	list_fit(&self->list, rows_of(self), area.height / self->tall);
	for (y = 0; y < self->list.height && (number = list_row_at(&self->list, y)) >= 0; y++) {
		row = area_part(area, 0, y * self->tall, area.width - 1, self->tall);
		segment = segment_at(self, (uint32_t)number);
		if (segment)
			draw_segment(self, app, &columns, row, segment);
		else
			draw_beside(self, &columns, row);
		if ((uint32_t)number == self->list.chosen)
			area_style_row(area_part(row, 0, 0, columns.idle + columns.size + columns.tensors, 1), 0,
				       STYLE_CHOSEN);
	}
	list_bar(&self->list, area_part(area, 0, 0, area.width, self->list.height * self->tall));
}

/* ---- the screen ---- */

static void draw_answer(struct view_map *self, const struct app *app, struct area area)
{
	int height = area.height, chosen = height > 16 ? 3 : height > 12 ? 2 : 1, y;

	y = grid_words(area, 1,
		       height > 30   ? 5
		       : height > 18 ? 4
		       : height > 12 ? 3
				     : 2,
		       STYLE_BOLD, self->answer->verdict);
	if (!rows_of(self))
		return;
	y += height > 18;
	draw_legend(self, app, area_part(area, 0, y++, area.width, 1));
	y += height > 30;
	draw_list(self, app, area_part(area, 0, y, area.width, height - y - chosen - (height > 18)), height > 12);
	draw_chosen(self, app, area_part(area, 0, height - chosen, area.width, chosen));
}

static void draw_map(struct view *view, struct app *app, struct area area)
{
	struct view_map *self = (struct view_map *)view;
	char words[128];

	fetch(self, app);
	draw_title(self, app, area);
	self->at = area_part(area, 0, area.height, 0, 0);
	if (!self->worker)
		area_text(area, 0, 2, STYLE_WARN, "there is no database to ask");
	else if (!self->answer)
		grid_words(area, 2, 2, STYLE_DIM, grid_waiting(words, sizeof(words), self->worker));
	else if (!map_of(self))
		grid_words(area, 2, area.height - 2, STYLE_BAD, self->answer->trouble);
	else
		draw_answer(self, app, area);
}

/* ---- requests ---- */

static void note_chosen(struct view_map *self)
{
	const struct segment *segment = segment_at(self, self->list.chosen);

	self->process = segment ? segment->process : 0;
	self->address = segment ? segment->address : 0;
}

/* Opens the contents of the segment. */
static void enter(const struct view_map *self, struct app *app)
{
	const struct segment *segment = segment_at(self, self->list.chosen);
	struct worker_question question = { .kind = WORKER_BESIDE, .device = self->device, .to = self->time };
	char title[128] = "Driver memory outside of segments", size[TEXT_SIZE_MAX];
	struct view_answer_argument argument = { title, &question };

	if (segment) {
		question.kind = WORKER_SEGMENT;
		question.process = segment->process;
		question.address = segment->address;
		snprintf(title, sizeof(title), "What lives in the segment of %s at 0x%llx",
			 text_bytes(size, segment->bytes), (unsigned long long)segment->address);
	}
	app_open(app, &view_answer_ops, &argument);
}

/* Whether a tensor of the segment has the words in its stack. */
static int has_words(const struct view_map *self, const struct app *app, const struct segment *segment)
{
	const struct frag_map *map = &self->answer->map->state.map;
	size_t n;
	int64_t site;

	for (n = 0; n < segment->blocks; n++) {
		site = map->tensor[map->block[segment->first_block + n].id].site;
		if (site > 0 && site < app->model->sites && filter_site_has(app->model, (uint32_t)site, app->search))
			return 1;
	}
	return 0;
}

/* Chooses the next segment with the words, round and round. */
static void search(struct view_map *self, struct app *app, int on)
{
	struct list_hits hits = { .from = self->list.chosen, .on = on };
	const struct segment *segment;
	uint32_t rows = rows_of(self), row;

	model_lock(app->model);
	for (row = 0; row < rows; row++) {
		segment = segment_at(self, row);
		if (segment && has_words(self, app, segment))
			list_hit(&hits, row);
	}
	model_unlock(app->model);
	if (hits.count)
		list_choose(&self->list, hits.row);
	app_say_hits(app, &hits, "stack of a tensor in these segments");
}

static int point(struct view_map *self, struct app *app, const struct input *input)
{
	int64_t row = -1;

	if (input->button == MOUSE_WHEEL_UP || input->button == MOUSE_WHEEL_DOWN)
		return list_request(&self->list, input->button == MOUSE_WHEEL_UP ? REQUEST_UP : REQUEST_DOWN);
	if (input->y >= self->at.y && input->y < self->at.y + self->at.height && self->tall)
		row = list_row_at(&self->list, (input->y - self->at.y) / self->tall);
	if (row < 0)
		return 1;
	list_choose(&self->list, (uint32_t)row);
	if (input->button == MOUSE_DOUBLE)
		enter(self, app);
	return 1;
}

static int answer_request(struct view_map *self, struct app *app, enum request request, const struct input *input)
{
	switch (request) {
	case REQUEST_MOUSE:
		return point(self, app, input);
	case REQUEST_ENTER:
		enter(self, app);
		return 1;
	case REQUEST_SEARCH_ON:
	case REQUEST_SEARCH_BACK:
		search(self, app, request == REQUEST_SEARCH_ON);
		return 1;
	default:
		return list_request(&self->list, request);
	}
}

static int request_map(struct view *view, struct app *app, enum request request, const struct input *input)
{
	struct view_map *self = (struct view_map *)view;
	int done = 1;

	if (request == REQUEST_ZOOM_IN)
		self->tall_chosen = self->tall < TALL_MOST ? self->tall * 2 : TALL_MOST;
	else if (request == REQUEST_ZOOM_OUT)
		self->tall_chosen = self->tall > 1 ? self->tall / 2 : 1;
	else if (request == REQUEST_ALL)
		self->tall_chosen = 0;
	else if (rows_of(self))
		done = answer_request(self, app, request, input);
	else
		done = request == REQUEST_ENTER || request == REQUEST_MOUSE;
	if (map_of(self))
		note_chosen(self);
	return done;
}

static int map_is_idle(const struct view *view, const char *piece)
{
	const struct view_map *self = (const struct view_map *)view;

	return !strncmp(piece, "Enter", 5) && !rows_of(self);
}

const struct view_ops view_map_ops = {
	.name = "map",
	.size = sizeof(struct view_map),
	.open = open_map,
	.draw = draw_map,
	.request = request_map,
	.hint = "? help  Enter what lives in it  [ ] phase  { } step  p peak  q back",
	.searches = 1,
	.is_idle = map_is_idle,
	.release = release_map,
	.waits = map_waits,
};
