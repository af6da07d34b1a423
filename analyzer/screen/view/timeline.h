/*
 * timeline.h - the parts of the first screen; private to view_timeline.c and timeline_*.c.
 *
 * They are drawn under the model's lock, after app_tick.
 */
#ifndef MEMANA_TUI_TIMELINE_H
#define MEMANA_TUI_TIMELINE_H

#include <stdint.h>
#include "app.h"
#include "screen/draw/layout.h"
#include "screen/input/list.h"

#define TIMELINE_OOMS_MAX 64u /* columns with errors that are drawn */
#define LEGEND_MAX (SERIES_LAYERS_MAX + 64u)

/* A layer that is drawn or holds bytes at the cursor, or a hidden process. */
struct legend_entry {
	char name[PALETTE_NAME_MAX];
	char letter;
	uint8_t layer;
	uint64_t bytes;
	int process;     /* hidden process; -1: a layer */
	int x, y, width; /* its place in the legend's area; width 0: it was not drawn */
};

struct timeline {
	struct view view;
	struct layout layout; /* layout of the last drawing */
	struct series_column *column;
	int columns;    /* room */
	uint32_t drawn; /* bit n: layer n is in the chart, or in a band of its colour */
	struct list table, legend;
	struct legend_entry entry[LEGEND_MAX];
	int legend_has_focus;
	int legend_follows; /* layer, plus 1, to choose wherever it is now; 0: none */
	int dragging;       /* the mouse was pressed in the chart at `pressed` */
	int64_t pressed;
};

static inline struct area timeline_part(struct area area, const struct layout_part *part)
{
	return area_part(area, part->x, part->y, part->width, part->height);
}

/* The processes that hold or held memory on the app's device, as in palette_scope. */
uint64_t timeline_processes(const struct app *app);

/* The chosen row of the table; NULL: there is none. */
const struct liveset_row *timeline_chosen(const struct timeline *timeline, const struct app *app);

/* The process whose phase and step are named: that of the chosen row. */
uint32_t timeline_process(const struct timeline *timeline, const struct app *app);

/* At the peak of the device: the process that made the peak, as in memana top. Returns 1; 0: not at the peak. */
int timeline_peak_process(const struct app *app, uint32_t *process);

/* Number of shown processes with phases: rows that the bands can use. */
int timeline_bands(const struct app *app);

/* ---- timeline_chart.c ---- */

/* Rows for the verdict, an out-of-memory error and the traces' faults at a width; at least 2. */
int timeline_verdict_rows(const struct app *app, int width);
void timeline_draw_verdict(struct area area, const struct app *app);

/* Chart, axis, band, steps and times. */
void timeline_draw_chart(struct timeline *timeline, struct app *app, struct area area);

/* ---- timeline_legend.c ---- */

/* Rows for all layers, as if each held bytes. */
int timeline_legend_rows(const struct app *app, int width);

/* Computes the entries, and draws them. */
void timeline_draw_legend(struct timeline *timeline, struct app *app, struct area area);

/* The entry drawn at a cell of the legend's area, -1: none. */
int timeline_legend_at(const struct timeline *timeline, int x, int y);

/* Shows only this layer; or everything, if it is the only one. Brings a hidden process back. */
void timeline_legend_enter(struct timeline *timeline, struct app *app, uint32_t entry);

/* ---- timeline_table.c ---- */

void timeline_draw_table(struct timeline *timeline, struct app *app, struct area area);

/* Rows above the list in an area of `height` rows: title and heads of columns. */
int timeline_table_heads(int height);

/* The newest facts of a recording that runs. Under the model's lock. */
void timeline_say_now(struct sentence *sentence, const struct app *app);

#endif
