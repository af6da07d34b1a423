/* The legend: bytes of each layer at the cursor, and hidden processes. */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/phase.h"
#include "timeline.h"

uint64_t timeline_processes(const struct app *app)
{
	const struct model *model = app->model;
	uint64_t processes = 0;
	uint32_t site;

	for (site = 1; site < model->sites; site++)
		if (model->site[site].device == app->device)
			processes |= palette_process_bit(model->site[site].process);
	return processes;
}

/* ---- entries ---- */

static uint8_t layer_of_row(const struct app *app, const struct liveset_row *row)
{
	uint32_t cell = TAPE_CELL(row->site, row->category == MT_CATEGORY_SLACK);

	return cell < app->palette.cells ? app->palette.layer_of[cell] : PALETTE_REST;
}

/* Orders layers with bytes first, the largest first; then layers that are only drawn. Equal ones keep their order. */
static int compare_entries(const void *left, const void *right)
{
	const struct legend_entry *a = left, *b = right;

	return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : a->layer - b->layer;
}

static uint32_t add_layers(struct timeline *timeline, const struct app *app)
{
	const struct palette *palette = &app->palette;
	uint64_t bytes[SERIES_LAYERS_MAX] = { 0 };
	struct legend_entry *entry;
	uint32_t i, count = 0;
	uint8_t layer;

	for (i = 0; i < app->live.rows; i++) {
		layer = layer_of_row(app, &app->live.row[i]);
		if (layer < SERIES_LAYERS_MAX)
			bytes[layer] += app->live.row[i].bytes;
	}
	for (i = 0; i < palette->layers; i++) {
		if (!bytes[i] && !(timeline->drawn & 1u << i))
			continue;
		entry = &timeline->entry[count++];
		*entry = (struct legend_entry){
			.letter = palette->letter[i], .layer = (uint8_t)i, .bytes = bytes[i], .process = -1
		};
		mt_copy_text(entry->name, sizeof(entry->name), palette->name[i]);
	}
	qsort(timeline->entry, count, sizeof(timeline->entry[0]), compare_entries);
	return count;
}

static uint32_t add_hidden(struct timeline *timeline, const struct app *app, uint32_t count)
{
	uint64_t mine = timeline_processes(app) & app->hidden;
	struct legend_entry *entry;
	uint32_t process;

	for (process = 0; process < app->model->processes && process < 64 && count < LEGEND_MAX; process++) {
		if (!(mine & palette_process_bit(process)))
			continue;
		entry = &timeline->entry[count++];
		*entry = (struct legend_entry){ .letter = '-', .process = (int)process };
		palette_process_name(entry->name, app->model, process);
	}
	return count;
}

/* ---- drawing ---- */

static int entry_words(char *out, size_t size, const struct legend_entry *entry)
{
	char bytes[TEXT_SIZE_MAX];

	if (entry->process >= 0)
		snprintf(out, size, "%s is hidden", entry->name);
	else
		snprintf(out, size, "%s%s%s", entry->name, entry->bytes ? " " : "",
			 entry->bytes ? text_bytes(bytes, entry->bytes) : "");
	return columns_of(out);
}

/* Writes the words for the entries outside [first, end): "+3 more 1.2 GiB". */
static int rest_words(char *out, size_t size, const struct timeline *timeline, uint32_t first, uint32_t end)
{
	const struct legend_entry *entry = timeline->entry;
	uint64_t bytes = 0;
	uint32_t i, left = 0;
	char text[TEXT_SIZE_MAX];

	for (i = 0; i < timeline->legend.rows; i++) {
		if (i >= first && i < end)
			continue;
		bytes += entry[i].bytes;
		left++;
	}
	snprintf(out, size, left ? "+%u more%s%s" : "", left, bytes ? " " : "", bytes ? text_bytes(text, bytes) : "");
	return columns_of(out);
}

#define CHIP 1 /* "b" */
#define GAP 2
#define BYTES 10 /* " 100.0 GiB" */

int timeline_legend_rows(const struct app *app, int width)
{
	int columns = 0;
	uint32_t i;

	for (i = 0; i < app->palette.layers; i++)
		if (app->palette.name[i][0])
			columns += CHIP + 1 + columns_of(app->palette.name[i]) + BYTES + (i ? GAP : 0);
	return columns > width ? 2 : 1;
}

/*
 * Places the entries from `first` on, and the words for the rest, at column *rest. Returns the number of entries that
 * fit.
 */
static uint32_t place_entries(struct timeline *timeline, struct area area, uint32_t first, uint32_t count, int *rest)
{
	struct legend_entry *entry;
	char words[128];
	int x = 0, y = 0, width, reserve;
	uint32_t i;

	for (i = 0; i < count; i++)
		timeline->entry[i].width = 0;
	for (i = first; i < count; i++) {
		entry = &timeline->entry[i];
		width = CHIP + 1 + entry_words(words, sizeof(words), entry);
		if (x && x + width > area.width && y + 1 < area.height) {
			x = 0;
			y++;
		}
		reserve = y + 1 < area.height ? 0 : rest_words(words, sizeof(words), timeline, first, i + 1);
		if (x && x + width + (reserve ? GAP + reserve : 0) > area.width)
			break;
		entry->x = x;
		entry->y = y;
		entry->width = width < area.width ? width : area.width;
		x += width + GAP;
	}
	*rest = x;
	return i - first;
}

static void draw_entry(struct area area, const struct legend_entry *entry, int chosen)
{
	int has_colour = entry->process < 0 && area.canvas->colours >= 8;
	uint8_t behind = has_colour ? STYLE_LAYER(entry->layer) : STYLE_NO_BACKGROUND;
	char words[128], letter[2] = { entry->letter, '\0' };

	if (!entry->width)
		return;
	entry_words(words, sizeof(words), entry);
	area_put(area, entry->x, entry->y, letter, behind ? STYLE_PLAIN : STYLE_BOLD, behind);
	area_fit(area, entry->x + CHIP + 1, entry->y, entry->width - CHIP - 1,
		 chosen                ? STYLE_CHOSEN
		 : entry->process >= 0 ? STYLE_WARN
				       : STYLE_PLAIN,
		 words, 0);
}

void timeline_draw_legend(struct timeline *timeline, struct app *app, struct area area)
{
	struct list *list = &timeline->legend;
	uint32_t layers = add_layers(timeline, app), count = add_hidden(timeline, app, layers), fit, i;
	char words[128];
	int rest;

	if (!area.height || !area.width)
		return;
	list_fit(list, count, list->height);
	for (i = 0; i < layers && timeline->legend_follows; i++)
		if (timeline->entry[i].layer + 1 == timeline->legend_follows)
			list_choose(list, i);
	timeline->legend_follows = 0;
	fit = place_entries(timeline, area, list->first, count, &rest);
	while (list->first < list->chosen && list->chosen >= list->first + fit)
		fit = place_entries(timeline, area, ++list->first, count, &rest);
	list->height = fit ? (int)fit : 1;
	for (i = 0; i < count; i++)
		draw_entry(area, &timeline->entry[i], timeline->legend_has_focus && i == list->chosen);
	if (rest_words(words, sizeof(words), timeline, list->first, list->first + fit) > area.width - rest)
		snprintf(words, sizeof(words), "+%u", count - fit);
	area_fit(area, rest, area.height - 1, area.width - rest, STYLE_DIM,
		 app->live.bytes ? words : "nothing is alive here", 0);
}

/* ---- requests ---- */

int timeline_legend_at(const struct timeline *timeline, int x, int y)
{
	const struct legend_entry *entry;
	uint32_t i;

	for (i = 0; i < timeline->legend.rows && i < LEGEND_MAX; i++) {
		entry = &timeline->entry[i];
		if (y == entry->y && x >= entry->x && x < entry->x + entry->width)
			return (int)i;
	}
	return -1;
}

/* Writes the filter that shows one layer. Slack in the layer's segments is not part of it. */
static void filter_of_entry(char *out, size_t size, const struct legend_entry *entry, enum palette_by by)
{
	int is_slack = entry->layer == PALETTE_SLACK;
	char name[PALETTE_NAME_MAX], *at;

	mt_copy_text(name, sizeof(name), is_slack ? mt_category_name(MT_CATEGORY_SLACK) : entry->name);
	for (at = name; *at; at++)
		if (*at == ' ')
			*at = '-';
	snprintf(out, size, "%s=%s%s", palette_by_words[is_slack ? PALETTE_BY_CATEGORY : by], name,
		 is_slack || by == PALETTE_BY_CATEGORY ? "" : " !allocator-slack");
}

void timeline_legend_enter(struct timeline *timeline, struct app *app, uint32_t index)
{
	const struct legend_entry *entry = &timeline->entry[index];
	char words[FILTER_TEXT_MAX];

	if (index >= timeline->legend.rows || index >= LEGEND_MAX)
		return;
	if (entry->process >= 0) {
		app->hidden &= ~palette_process_bit((uint32_t)entry->process);
		app_say(app, "%s is shown again", entry->name);
		app_stale(app);
		return;
	}
	filter_of_entry(words, sizeof(words), entry, app->by);
	timeline->legend_follows = entry->layer + 1; /* another list is shown */
	if (!strcmp(app->filter.text, words)) {
		filter_set(&app->filter, "");
		app_say(app, "everything is shown again");
	} else if ((entry->layer == PALETTE_REST && app->by > PALETTE_BY_CATEGORY) || filter_set(&app->filter, words)) {
		app_say(app, "%s cannot be shown alone", entry->name);
	} else {
		app_say(app, "only %s is shown: the same again shows everything", entry->name);
	}
	app_stale(app);
}
