/* The upper half of the first screen: the verdict, and the device over time. */
#include <stdlib.h>
#include <string.h>
#include "app.h"
#include "base/text.h"
#include "query/callstack.h"
#include "screen/draw/chart.h"
#include "timeline.h"

/* ---- which processes ---- */

const struct liveset_row *timeline_chosen(const struct timeline *timeline, const struct app *app)
{
	uint32_t chosen = timeline->table.chosen;

	return chosen < app->live.rows ? &app->live.row[chosen] : NULL;
}

int timeline_peak_process(const struct app *app, uint32_t *process)
{
	const struct model *model = app->model;
	const struct model_device *device = app->device < model->devices ? &model->device[app->device] : NULL;
	const struct tape_event *event;
	uint64_t at = device && device->peak_changes && device->peak_time == app->scale.cursor
			      ? model_events_at(model, app->device, device->peak_time)
			      : 0;
	uint32_t run, site;

	event = at ? tape_at(model->tape, at - 1, &run) : NULL;
	site = event ? TAPE_SITE(event->cell) : 0;
	if (!site || site >= model->sites)
		return 0;
	*process = model->site[site].process;
	return 1;
}

uint32_t timeline_process(const struct timeline *timeline, const struct app *app)
{
	const struct liveset_row *row = timeline_chosen(timeline, app);
	uint64_t mine = timeline_processes(app) & ~app->hidden;
	uint32_t process;

	if (row && row->site < app->model->sites)
		return app->model->site[row->site].process;
	for (process = 0; process < app->model->processes; process++)
		if (mine & palette_process_bit(process))
			return process;
	return 0;
}

int timeline_bands(const struct app *app)
{
	uint64_t mine = timeline_processes(app) & ~app->hidden;
	uint32_t process;
	int bands = 0;

	for (process = 0; process < app->model->processes; process++)
		bands += app->model->process[process].spans && (mine & palette_process_bit(process));
	return bands;
}

/* ---- verdict ---- */

/* The bytes of `words` that fit into `columns` columns, up to a blank: all words, or at least one. */
static size_t words_that_fit(const char *words, int columns)
{
	char line[1024];
	size_t end = 0, next = 0;

	for (;;) {
		next += strcspn(words + next, " ");
		mt_copy_text(line, next < sizeof(line) ? next + 1 : sizeof(line), words);
		if (end && columns_of(line) > columns)
			return end;
		end = next;
		if (!words[next])
			return end;
		next++;
	}
}

static int rows_of(const char *words, int columns)
{
	size_t size;
	int rows = 0;

	for (; *words; rows++) {
		size = words_that_fit(words, columns);
		words += size + (words[size] == ' ');
	}
	return rows;
}

/* Shortens text before the last clause, because the reader needs the place in it. */
static void draw_shortened(struct area area, int y, int columns, uint8_t style, const char *words)
{
	const char *tail = strrchr(words, ',');
	char line[1024];
	size_t size;
	int room;

	if (columns_of(words) > columns && tail) {
		room = columns - columns_of(tail + 1) - (int)strlen(" ...");
		size = words_that_fit(words, room);
		snprintf(line, sizeof(line), "%.*s ...%s", (int)size, words, tail + 1);
		if (columns_of(line) <= columns)
			words = line;
	}
	area_fit(area, 0, y, columns, style, words, 0);
}

/* Draws the words over the rows of the area; the last row has `taken` columns less. Returns the number of rows used. */
static int draw_wrapped(struct area area, uint8_t style, const char *words, int taken)
{
	char line[1024];
	size_t size;
	int y;

	for (y = 0; y < area.height - 1 && *words; y++) {
		size = words_that_fit(words, area.width);
		mt_copy_text(line, size < sizeof(line) ? size + 1 : sizeof(line), words);
		area_fit(area, 0, y, area.width, style, line, 0);
		words += size + (words[size] == ' ');
	}
	if (y < area.height && *words)
		draw_shortened(area, y++, area.width - taken, style, words);
	return y;
}

static void draw_reading(struct area area, const struct model *model)
{
	char percent[TEXT_SIZE_MAX], events[TEXT_SIZE_MAX], traces[64];

	if (model->processes == 1)
		mt_copy_text(traces, sizeof(traces), text_base_name(model->process[0].file));
	else if (model->processes)
		text_count(traces, sizeof(traces), model->processes, "trace");
	else
		snprintf(traces, sizeof(traces), "the trace");
	if (model->events >= 1000000)
		snprintf(events, sizeof(events), "%.1f M", (double)model->events / 1e6);
	else
		text_number(events, model->events);
	area_print(area, 0, 0, STYLE_BOLD, "Reading %s  %s  %s events  (q leaves)", traces,
		   text_percent(percent, model->bytes_read, model->bytes_total), events);
}

/* Writes the faults of the traces: all of them for a free row, and a word to follow the verdict. */
static void trouble_words(char *all, size_t size, char *brief, size_t brief_size, const struct model *model)
{
	const char *wrong = *model->trouble ? model->trouble : model->unended;
	char lost[64] = "";

	if (model->lost)
		text_count(lost, sizeof(lost), model->lost, "event");
	snprintf(all, size, "%s%s%s%s", wrong, *wrong && *lost ? "; " : "", lost, *lost ? " lost while recording" : "");
	if (*model->trouble)
		snprintf(brief, brief_size, "damaged");
	else
		snprintf(brief, brief_size, "%s%s", *lost ? lost : *wrong ? "not complete" : "", *lost ? " lost" : "");
}

/* The last error on the device, of which a run dies; else the last of all. NULL: none. */
static const struct model_oom *last_oom(const struct app *app, uint32_t *count)
{
	const struct model *model = app->model;
	const struct model_oom *last = NULL;
	uint32_t i;

	*count = 0;
	for (i = 0; i < model->ooms; i++) {
		if (model->oom[i].device != app->device)
			continue;
		++*count;
		if (!last || model->oom[i].time >= last->time)
			last = &model->oom[i];
	}
	return last || !model->ooms ? last : &model->oom[model->ooms - 1];
}

/* Writes "Out of memory: 30.0 GiB asked for by rank 3 in forward of step 4 at 8.2 s"; "": no error. */
static void oom_words(char *out, size_t size, const struct app *app)
{
	uint32_t count;
	const struct model_oom *oom = last_oom(app, &count);
	struct oom_failure failure;
	struct sentence words = { 0 };
	char note[32] = "";

	*out = '\0';
	if (!oom)
		return;
	app_oom(app, oom, &failure);
	if (count)
		*failure.kind = '\0'; /* the device that is shown */
	if (count > 1)
		snprintf(note, sizeof(note), "(%u times)", count);
	oom_say_failure(&words, failure.had ? "A request was refused" : "Out of memory", &failure,
			count ? note : "(press D)");
	mt_copy_text(out, size, words.text);
}

/* The sentences on top: the present state of a running recording (written into `now`), else the verdict. */
static const char *head_words(struct sentence *now, const struct app *app)
{
	if (app->model->follow == MODEL_WHOLE)
		return app->model->verdict;
	timeline_say_now(now, app);
	return now->text;
}

static int is_being_read(const struct model *model)
{
	return model->state == MODEL_READING && (model->follow == MODEL_WHOLE ? !model->outlined : !model->events);
}

/* "": nothing on the device grows, or it is not known. */
static const char *growth_words(const struct app *app)
{
	const struct model *model = app->model;
	const char *words = app->device < model->devices ? model->device[app->device].growing : NULL;

	return words ? words : "";
}

int timeline_verdict_rows(const struct app *app, int width)
{
	const struct model *model = app->model;
	struct sentence now = { 0 };
	char oom[160];
	int rows;

	oom_words(oom, sizeof(oom), app);
	rows = is_being_read(model) ? 1 : rows_of(head_words(&now, app), width);
	rows += *oom != '\0';
	rows += *growth_words(app) != '\0';
	rows += *model->trouble || *model->unended || model->lost;
	return rows < 2 ? 2 : rows;
}

void timeline_draw_verdict(struct area area, const struct app *app)
{
	const struct model *model = app->model;
	uint8_t style = *model->trouble ? STYLE_BAD : STYLE_WARN;
	const char *growing = growth_words(app);
	char all[384], brief[80], oom[160];
	struct sentence now = { 0 };
	int used = 1, rows, width;

	if (!area.height)
		return;
	oom_words(oom, sizeof(oom), app);
	trouble_words(all, sizeof(all), brief, sizeof(brief), model);
	rows = area.height - (*oom && area.height > 1);
	rows -= *growing && rows > 1;
	width = timeline_verdict_rows(app, area.width) > area.height ? columns_of(brief) : 0;
	if (is_being_read(model))
		draw_reading(area, model);
	else
		used = draw_wrapped(area_part(area, 0, 0, area.width, rows), STYLE_BOLD, head_words(&now, app),
				    width ? width + 2 : 0);
	if (width)
		area_text(area, area.width - width, used - 1, style, brief);
	if (*oom && used < area.height)
		area_fit(area, 0, used++, area.width, STYLE_BAD, oom, 0);
	if (*growing && used < area.height)
		area_fit(area, 0, used++, area.width, STYLE_WARN, growing, 0);
	if (!width && used < area.height)
		area_fit(area, 0, used, area.width, style, all, 0);
}

/* ---- chart ---- */

/* The bytes at the top of the chart: a little above the peak; the capacity, if a third of it or more was used. */
static uint64_t chart_top(uint64_t peak, uint64_t capacity)
{
	if (capacity && peak <= capacity && peak >= capacity / 3)
		return scale_top(capacity);
	return scale_top(peak + peak / 16 + 1);
}

static int column_of(const struct scale *scale, int64_t time)
{
	int column = time == APP_NO_TIME ? -1 : scale_column(scale, time);

	return column < scale->columns ? column : -1;
}

static uint32_t oom_columns(const struct app *app, int *column)
{
	const struct model *model = app->model;
	uint32_t i, count = 0;
	int at;

	for (i = 0; i < model->ooms && count < TIMELINE_OOMS_MAX; i++) {
		at = model->oom[i].device == app->device ? column_of(&app->scale, model->oom[i].time) : -1;
		if (at >= 0 && (!count || column[count - 1] != at))
			column[count++] = at;
	}
	return count;
}

static int make_columns(struct timeline *timeline, const struct app *app)
{
	int columns = app->scale.columns;
	struct series_column *grown;

	if (columns > timeline->columns) {
		grown = realloc(timeline->column, (size_t)columns * sizeof(*grown));
		if (!grown)
			return 0;
		timeline->column = grown;
		timeline->columns = columns;
	}
	series_columns(app->series, app->tape, app->scale.from, app->scale.to, timeline->column, (uint32_t)columns);
	return 1;
}

/* As `drawn` of struct timeline. */
static uint32_t layers_of(const struct series_column *column, int columns)
{
	uint32_t drawn = 0, layer;
	int x;

	for (x = 0; x < columns; x++)
		for (layer = 0; layer < SERIES_LAYERS_MAX; layer++)
			drawn |= (uint32_t)(column[x].layer[layer] != 0) << layer;
	return drawn;
}

static void draw_area(struct timeline *timeline, struct app *app, struct area area, struct area axis)
{
	const struct model *model = app->model;
	int oom[TIMELINE_OOMS_MAX];
	int64_t peak_time, used_time;
	uint64_t peak = app_peak(app, &peak_time), capacity, top;
	struct chart_marks marks = { .oom = oom, .used_peak = -1 };

	capacity = app->device < model->devices ? model->device[app->device].total : 0;
	top = chart_top(peak, capacity);
	marks.cursor = column_of(&app->scale, app->scale.cursor);
	marks.mark_a = column_of(&app->scale, app->mark_a);
	marks.mark_b = column_of(&app->scale, app->mark_b);
	marks.peak = peak ? column_of(&app->scale, peak_time) : -1;
	if (app_used_peak(app, &used_time))
		marks.used_peak = column_of(&app->scale, used_time);
	marks.ooms = oom_columns(app, oom);
	marks.capacity = capacity;
	chart_axis(axis, top, capacity);
	timeline->drawn = 0;
	if (!make_columns(timeline, app))
		return;
	timeline->drawn = layers_of(timeline->column, area.width);
	chart_draw(area, timeline->column, &app->palette, top, &marks);
}

/* ---- the rows under it ---- */

/* Words in the gutter on the left of a row. */
static void draw_gutter(struct area area, const struct layout_part *part, int y, const char *words)
{
	if (part->x > 2)
		area_print_right(area, part->x - 1, part->y + y, STYLE_DIM, "%s", words);
}

/* Draws the bands. The process of the chosen row always has one; the others follow in their order. */
static void draw_bands(struct timeline *timeline, struct app *app, struct area area)
{
	const struct layout_part *part = &timeline->layout.band;
	uint32_t process, chosen = timeline_process(timeline, app);
	uint64_t mine = timeline_processes(app) & ~app->hidden;
	int y = 0, seen = 0, several = timeline_bands(app) > 1;
	int coloured = app->by == PALETTE_BY_PHASE; /* a colour means one thing on a screen */
	uint32_t phases;
	char name[PALETTE_NAME_MAX];

	for (process = 0; process < app->model->processes && y < part->height; process++) {
		if (!app->model->process[process].spans || !(mine & palette_process_bit(process)))
			continue;
		seen |= process == chosen;
		if (y == part->height - 1 && !seen && app->model->process[chosen].spans)
			process = chosen;
		draw_gutter(area, part, y, several ? palette_process_name(name, app->model, process) : "phase");
		phases = chart_band(area_part(area, part->x, part->y + y, part->width, 1), app->model, process,
				    &app->scale, coloured);
		timeline->drawn |= coloured ? phases : 0;
		y++;
	}
}

static void draw_times(struct timeline *timeline, struct app *app, struct area area)
{
	const struct scale *scale = &app->scale;
	char words[128], from[TEXT_SIZE_MAX], to[TEXT_SIZE_MAX], whole[TEXT_SIZE_MAX];
	struct area row = timeline_part(area, &timeline->layout.times);
	int width;

	if (!scale_is_all(scale)) {
		snprintf(words, sizeof(words), "%s to %s of %s", chart_time_text(from, scale->from, scale),
			 chart_time_text(to, scale->to, scale),
			 text_known.times ? text_time(whole, scale->last) : chart_time_text(whole, scale->last, scale));
		width = columns_of(words);
		area_text(row, row.width - width, 0, STYLE_HEAD, words);
		row = area_part(row, 0, 0, row.width - width - 1, row.height);
	}
	chart_times(row, scale);
}

void timeline_draw_chart(struct timeline *timeline, struct app *app, struct area area)
{
	const struct layout *layout = &timeline->layout;

	scale_resize(&app->scale, layout->chart.width);
	draw_area(timeline, app, timeline_part(area, &layout->chart), timeline_part(area, &layout->axis));
	draw_bands(timeline, app, area);
	if (layout->steps.height && app->model->steps) {
		draw_gutter(area, &layout->steps, 0, "step");
		chart_steps(timeline_part(area, &layout->steps), app->model, timeline_process(timeline, app),
			    &app->scale);
	}
	if (layout->times.height) {
		draw_gutter(area, &layout->times, 0, text_known.times ? "time" : "event");
		draw_times(timeline, app, area);
	}
}
