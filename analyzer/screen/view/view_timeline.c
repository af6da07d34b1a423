/* The first screen: its requests. Its drawing is in timeline_*.c. */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "timeline.h"

static struct timeline *timeline_of(struct view *view)
{
	return (struct timeline *)view;
}

/* ---- drawing ---- */

static void timeline_draw(struct view *view, struct app *app, struct area area)
{
	struct timeline *timeline = timeline_of(view);
	struct layout_wants wants = {
		.bands = timeline_bands(app),
		.verdict = timeline_verdict_rows(app, area.width),
		.legend = timeline_legend_rows(app, area.width),
	};

	timeline->layout = layout_make(area.width, area.height + 1, wants);
	timeline_draw_verdict(timeline_part(area, &timeline->layout.verdict), app);
	timeline_draw_chart(timeline, app, area);
	timeline_draw_legend(timeline, app, timeline_part(area, &timeline->layout.legend));
	timeline_draw_table(timeline, app, timeline_part(area, &timeline->layout.table));
}

/* ---- rows ---- */

static int enter_row(struct timeline *timeline, struct app *app)
{
	const struct liveset_row *row = timeline_chosen(timeline, app);
	struct view_place_argument argument = { 0 };

	if (!row) {
		app_say(app, "nothing is alive here");
		return 1;
	}
	argument.site = row->site;
	argument.slack = row->category == MT_CATEGORY_SLACK;
	app_open(app, &view_place_ops, &argument);
	return 1;
}

/* The next row, round and round, with the words in one of its stacks. */
static void search(struct timeline *timeline, struct app *app, int on)
{
	struct list_hits hits = { .from = timeline->table.chosen, .on = on };
	uint32_t i;

	model_lock(app->model);
	app_find(app);
	model_unlock(app->model);
	for (i = 0; i < app->live.rows; i++)
		if (app->live.row[i].is_found)
			list_hit(&hits, i);
	if (hits.count)
		list_choose(&timeline->table, hits.row);
	app_say_hits(app, &hits, "stack of what is alive here");
}

/* Hides the process of the chosen row. Hiding the last visible one shows all others again. */
static int toggle_process(struct timeline *timeline, struct app *app)
{
	uint64_t mine, bit;
	char name[PALETTE_NAME_MAX];

	model_lock(app->model);
	mine = timeline_processes(app);
	bit = palette_process_bit(timeline_process(timeline, app));
	palette_process_name(name, app->model, timeline_process(timeline, app));
	model_unlock(app->model);
	if (!(mine & ~app->hidden & ~bit)) {
		if (app->hidden & mine)
			app_say(app, "all processes are shown again");
		else
			app_say(app, "%s is the only process here", name);
		app->hidden &= ~mine;
	} else {
		app->hidden |= bit;
		app_say(app, "%s is hidden: Tab to the legend and Enter brings it back", name);
	}
	app_stale(app);
	return 1;
}

/* ---- the mouse ---- */

static int is_in(const struct layout_part *part, int x, int y)
{
	return x >= part->x && x < part->x + part->width && y >= part->y && y < part->y + part->height;
}

static int column_at(const struct timeline *timeline, const struct app *app, int x)
{
	int column = x - timeline->layout.chart.x;

	return column < 0 ? 0 : column >= app->scale.columns ? app->scale.columns - 1 : column;
}

static int drag_chart(struct timeline *timeline, struct app *app, const struct input *input)
{
	int column = column_at(timeline, app, input->x);
	int64_t time = scale_time(&app->scale, column);

	if (input->button == MOUSE_DRAG || (input->button == MOUSE_RELEASE && time != timeline->pressed)) {
		app->mark_a = timeline->pressed;
		app->mark_b = time;
		app_go_column(app, column);
		app_say(app, "marks A and B are set: z shows just that, d what is new in it");
	}
	timeline->dragging = input->button == MOUSE_DRAG;
	return 1;
}

static int touch_chart(struct timeline *timeline, struct app *app, const struct input *input)
{
	int column = column_at(timeline, app, input->x);
	int64_t time = scale_time(&app->scale, column);

	switch (input->button) {
	case MOUSE_WHEEL_UP:
		scale_zoom(&app->scale, time, 1, 2);
		break;
	case MOUSE_WHEEL_DOWN:
		scale_zoom(&app->scale, time, 2, 1);
		break;
	case MOUSE_PRESS:
		timeline->dragging = 1;
		timeline->pressed = time;
		app_go_column(app, column);
		break;
	default:
		break;
	}
	return 1;
}

static int touch_table(struct timeline *timeline, struct app *app, const struct input *input)
{
	const struct layout_part *part = &timeline->layout.table;
	int64_t row = list_row_at(&timeline->table, input->y - part->y - timeline_table_heads(part->height));

	timeline->legend_has_focus = 0;
	if (input->button == MOUSE_WHEEL_UP || input->button == MOUSE_WHEEL_DOWN)
		return list_request(&timeline->table, input->button == MOUSE_WHEEL_UP ? REQUEST_UP : REQUEST_DOWN);
	if (row < 0 || (input->button != MOUSE_PRESS && input->button != MOUSE_DOUBLE))
		return 1;
	list_choose(&timeline->table, (uint32_t)row);
	return input->button == MOUSE_DOUBLE ? enter_row(timeline, app) : 1;
}

static int touch_legend(struct timeline *timeline, struct app *app, const struct input *input)
{
	const struct layout_part *part = &timeline->layout.legend;
	int entry = timeline_legend_at(timeline, input->x - part->x, input->y - part->y);

	if (entry >= 0 && input->button == MOUSE_PRESS)
		timeline_legend_enter(timeline, app, (uint32_t)entry);
	return 1;
}

static int touch(struct timeline *timeline, struct app *app, const struct input *input)
{
	const struct layout *layout = &timeline->layout;
	int x = input->x, y = input->y;

	if (timeline->dragging && (input->button == MOUSE_DRAG || input->button == MOUSE_RELEASE))
		return drag_chart(timeline, app, input);
	if (is_in(&layout->chart, x, y) || is_in(&layout->band, x, y) || is_in(&layout->steps, x, y) ||
	    is_in(&layout->times, x, y))
		return touch_chart(timeline, app, input);
	if (is_in(&layout->legend, x, y))
		return touch_legend(timeline, app, input);
	return is_in(&layout->table, x, y) ? touch_table(timeline, app, input) : 0;
}

/* ---- requests ---- */

static int timeline_request(struct view *view, struct app *app, enum request request, const struct input *input)
{
	struct timeline *timeline = timeline_of(view);

	if (list_request(timeline->legend_has_focus ? &timeline->legend : &timeline->table, request))
		return 1;
	switch (request) {
	case REQUEST_PANE:
		timeline->legend_has_focus = !timeline->legend_has_focus;
		if (timeline->legend_has_focus)
			app_say(app, "legend: Up and Down choose, Enter shows only that");
		return 1;
	case REQUEST_ENTER:
		if (!timeline->legend_has_focus)
			return enter_row(timeline, app);
		timeline_legend_enter(timeline, app, timeline->legend.chosen);
		return 1;
	case REQUEST_LAYER:
		return toggle_process(timeline, app);
	case REQUEST_SEARCH_ON:
	case REQUEST_SEARCH_BACK:
		search(timeline, app, request == REQUEST_SEARCH_ON);
		return 1;
	case REQUEST_MOUSE:
		return touch(timeline, app, input);
	default:
		return 0;
	}
}

static void timeline_release(struct view *view)
{
	free(timeline_of(view)->column);
}

const struct view_ops view_timeline_ops = {
	.name = "timeline",
	.size = sizeof(struct timeline),
	.draw = timeline_draw,
	.request = timeline_request,
	.hint = "? help  Enter stack  o OOM  t flame  r retained  c colour  q quit",
	.searches = 1,
	.release = timeline_release,
};
