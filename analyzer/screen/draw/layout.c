#include "layout.h"

#define AXIS_WIDTH 9 /* "100.0 GiB" */
#define CHART_LEAST 3
#define BANDS_MOST 8

static void place(struct layout_part *part, int x, int *y, int width, int height)
{
	part->x = x;
	part->y = *y;
	part->width = width;
	part->height = height;
	*y += height;
}

/* Divides the rows: first the rows that every view needs, then chart and table by turns, then comfort. */
struct rows {
	int verdict, chart, band, steps, times, legend, table, status;
};

/* Labels of the axis are evenly spaced if the chart has 4n + 1 rows. Returns the rows beyond that. */
static int spare_rows(int chart)
{
	return chart > 8 ? (chart - 1) % 4 : !(chart % 2);
}

static struct rows share_rows(int height, struct layout_wants wants)
{
	struct rows rows = { .verdict = 1, .chart = CHART_LEAST, .band = wants.bands > 0, .table = 2, .status = 1 };
	int left = height - rows.verdict - rows.chart - rows.band - rows.table - rows.status, spare;

	/* Each further row goes to the next use, while rows are left. */
	left -= rows.legend = left > 0;
	left -= rows.times = left > 0;
	left -= rows.steps = left > 3 && wants.bands;
	for (; left > 6 && rows.verdict < wants.verdict && rows.verdict < LAYOUT_VERDICT_MOST; left--)
		rows.verdict++;
	for (; left > 14 && rows.legend < wants.legend && rows.legend < LAYOUT_LEGEND_MOST; left--)
		rows.legend++;
	for (; left > 12 && rows.band < wants.bands && rows.band < BANDS_MOST; left--)
		rows.band++;
	rows.table += left * 2 / 5;
	rows.chart += left - left * 2 / 5;
	spare = spare_rows(rows.chart);
	rows.chart -= spare;
	rows.table += spare;
	return rows;
}

struct layout layout_make(int width, int height, struct layout_wants wants)
{
	struct layout layout = { .too_small = width < LAYOUT_MIN_WIDTH || height < LAYOUT_MIN_HEIGHT };
	struct rows rows;
	int y = 0, axis = width >= 60 ? AXIS_WIDTH : 0, chart = width - axis;

	if (layout.too_small)
		return layout;
	rows = share_rows(height, wants);
	place(&layout.verdict, 0, &y, width, rows.verdict);
	layout.axis = (struct layout_part){ 0, y, axis, axis ? rows.chart : 0 };
	place(&layout.chart, axis, &y, chart, rows.chart);
	place(&layout.band, axis, &y, chart, rows.band);
	place(&layout.steps, axis, &y, chart, rows.steps);
	place(&layout.times, axis, &y, chart, rows.times);
	place(&layout.legend, 0, &y, width, rows.legend);
	place(&layout.table, 0, &y, width, rows.table);
	place(&layout.status, 0, &y, width, rows.status);
	return layout;
}
