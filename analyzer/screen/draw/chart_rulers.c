/* The rulers around the chart: the axes, the band of phases, the row of steps; and the small strip. */
#include <string.h>
#include "chart.h"

/* ---- bytes ---- */

/* The most equal parts of `top`, of at least two rows each, that are multiples of `unit`. 0: less than 3 parts. */
static unsigned round_parts(uint64_t top, uint64_t unit, int rows)
{
	static const unsigned parts[] = { 16, 12, 10, 8, 6, 5, 4, 3 };
	int steps = rows - 1;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(parts); i++)
		if (steps % (int)parts[i] == 0 && steps / (int)parts[i] >= 2 && top % parts[i] == 0 &&
		    top / parts[i] % unit == 0)
			return parts[i];
	return 0;
}

/* The distance of labels. */
static uint64_t bytes_tick(uint64_t top, int rows)
{
	uint64_t unit = 1;
	unsigned parts;

	while (top / unit > 1024)
		unit *= 1024;
	parts = round_parts(top, unit, rows);
	if (!parts && unit > 1)
		parts = round_parts(top, unit / 2, rows);
	return parts ? top / parts : rows >= 5 && rows % 2 && top % 2 == 0 ? top / 2 : top;
}

/* "80 GiB", "12.5 GiB" */
static const char *round_bytes(char out[TEXT_SIZE_MAX], uint64_t bytes)
{
	char *point;

	text_bytes(out, bytes);
	point = strstr(out, ".0 ");
	if (point)
		memmove(point, point + 2, strlen(point + 2) + 1);
	return out;
}

void chart_axis(struct area area, uint64_t top, uint64_t capacity)
{
	int ascii = area.canvas->ascii, y, last = area.height - 1, capacity_y = -1;
	uint64_t tick, bytes;
	char label[TEXT_SIZE_MAX];

	if (!area.height || !area.width || !top)
		return;
	for (y = 0; y < area.height; y++)
		area_put(area, area.width - 1, y, ascii ? "|" : "│", STYLE_LINE, STYLE_NO_BACKGROUND);
	if (capacity && capacity < top)
		capacity_y = area.height - 1 - (scale_height(capacity, top, area.height, 8) - 1) / 8;
	tick = bytes_tick(top, area.height);
	for (bytes = 0;; bytes += tick) {
		y = last - (int)(((unsigned __int128)bytes * (unsigned)last + top / 2) / top);
		area_print_right(area, area.width - 1, y, y == capacity_y ? STYLE_DIM : STYLE_PLAIN, "%s",
				 bytes ? round_bytes(label, bytes) : "0");
		area_put(area, area.width - 1, y, ascii ? "+" : "┤", STYLE_LINE, STYLE_NO_BACKGROUND);
		if (bytes > top - tick)
			break;
	}
}

/* ---- times ---- */

#define EVENT_NS 1000 /* between two events of a snapshot that has no times (memtrace/import.h) */

/*
 * Writes a time with enough digits for marks `tick` ns apart, in a unit that suits the longest time: "20 us", "113.2
 * ms", "12.5 s", "3:20", "1:03:20". If times are unknown, events are counted: "#3,712".
 */
static const char *tick_text(char out[TEXT_SIZE_MAX], int64_t time, int64_t tick, int64_t longest)
{
	const char *word = longest < 1000000 ? "us" : longest < (int64_t)MT_NSEC_PER_SEC ? "ms" : "s";
	int64_t whole = longest < 1000000                    ? 1000
			: longest < (int64_t)MT_NSEC_PER_SEC ? 1000000
							     : (int64_t)MT_NSEC_PER_SEC;
	int64_t unit = whole, seconds = time / (int64_t)MT_NSEC_PER_SEC;
	char number[TEXT_SIZE_MAX];
	int digits = 0;

	if (!text_known.times) {
		snprintf(out, TEXT_SIZE_MAX, "#%.*s", TEXT_SIZE_MAX - 2,
			 text_number(number, (uint64_t)(time > 0 ? time : 0) / EVENT_NS));
		return out;
	}

	while (unit >= 10 && tick % unit) {
		unit /= 10;
		digits++;
	}
	if (digits || longest < 600 * (int64_t)MT_NSEC_PER_SEC)
		snprintf(out, TEXT_SIZE_MAX, "%.*f %s", digits, (double)time / (double)whole, word);
	else if (longest < 3600 * (int64_t)MT_NSEC_PER_SEC)
		snprintf(out, TEXT_SIZE_MAX, "%lld:%02lld", (long long)seconds / 60, (long long)seconds % 60);
	else
		snprintf(out, TEXT_SIZE_MAX, "%lld:%02lld:%02lld", (long long)seconds / 3600,
			 (long long)seconds / 60 % 60, (long long)seconds % 60);
	return out;
}

const char *chart_time_text(char out[TEXT_SIZE_MAX], int64_t time, const struct scale *scale)
{
	int64_t tick = scale_tick(scale, 2);

	return tick_text(out, time, tick >= 10 ? tick / 10 : tick, scale->to);
}

void chart_times(struct area area, const struct scale *scale)
{
	char label[TEXT_SIZE_MAX];
	int room = 8, width, x;
	int64_t tick, time;

	if (!area.height || !area.width)
		return;
	for (;;) {
		tick = scale_tick(scale, room);
		width = columns_of(tick_text(label, scale->to, tick, scale->to)) + 2;
		if (width <= room || room >= area.width)
			break;
		room = width;
	}
	for (time = scale->from / tick * tick; time < scale->to; time = scale_later(time, tick)) {
		if (time < scale->from)
			continue;
		x = scale_column(scale, time);
		area_put(area, x, 0, area.canvas->ascii ? "|" : "╵", STYLE_LINE, STYLE_NO_BACKGROUND);
		tick_text(label, time, tick, scale->to);
		if (x + 1 + columns_of(label) <= area.width)
			area_text(area, x + 1, 0, STYLE_PLAIN, label);
	}
}

/* ---- phases ---- */

#define SPANS_MAX 4096 /* spans looked at for one column; a few thousand show the main phase */

/* Walks through the spans of a process from column to column. */
struct band {
	const struct model *model;
	const struct model_process *process;
	uint32_t next; /* next of the process's spans */
};

static const struct model_span *band_span(const struct band *band, uint32_t index)
{
	return index < band->process->spans ? &band->model->span[band->process->span[index]] : NULL;
}

/* Moves on to the first span that ends after `time`. */
static void band_go(struct band *band, int64_t time)
{
	uint32_t high = band->process->spans, middle;

	while (band->next < high) {
		middle = band->next + (high - band->next) / 2;
		if (band_span(band, middle)->last > time)
			high = middle;
		else
			band->next = middle + 1;
	}
}

/* The phase that takes most of [from, to); -1: none. */
static int band_phase(struct band *band, int64_t from, int64_t to)
{
	__int128 taken[MT_PHASE_COUNT] = { 0 }, most = 0; /* spans of a damaged trace may overlap */
	int64_t first, last;
	const struct model_span *span;
	uint32_t i;
	int phase, best = -1;

	band_go(band, from);
	for (i = band->next; i < band->next + SPANS_MAX; i++) {
		span = band_span(band, i);
		if (!span || span->first >= to)
			break;
		first = span->first > from ? span->first : from;
		last = span->last < to ? span->last : to;
		if (span->phase < MT_PHASE_COUNT && last > first)
			taken[span->phase] += last - first;
	}
	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (taken[phase] > most && phase != MT_PHASE_OTHER) {
			most = taken[phase];
			best = phase;
		}
	return best < 0 && taken[MT_PHASE_OTHER] ? MT_PHASE_OTHER : best;
}

/* The phase of a moment; -1: none. */
static int phase_at(const struct model *model, uint32_t process, int64_t time)
{
	uint32_t span = model_span_at(model, process, time);

	return span < model->spans && model->span[span].first <= time && model->span[span].phase < MT_PHASE_COUNT
		       ? model->span[span].phase
		       : -1;
}

/* A cell with the text of a phase. `faint`: the text is for readers of the screen as text, and invisible in colour. */
static void put_phase(struct area area, int x, uint8_t phase, const char *text, int faint, int coloured)
{
	if (coloured)
		area_put(area, x, 0, text, faint ? STYLE_LAYER(phase) : STYLE_PLAIN, STYLE_LAYER(phase));
	else
		area_put(area, x, 0, text, faint ? STYLE_LINE : STYLE_PLAIN, STYLE_NO_BACKGROUND);
}

/* Draws columns [x, end) of one phase: its name, or its letter if the name has no room. */
static void put_run(struct area area, int x, int end, uint8_t phase, int coloured)
{
	char letter[2] = { palette_phase_letter(phase), '\0' };
	const char *name = mt_phase_name(phase), *on = coloured ? letter : area.canvas->ascii ? "-" : "─";
	int begin = x, named = phase != MT_PHASE_OTHER && end - x > columns_of(name);

	if (phase == MT_PHASE_OTHER)
		on = letter;
	else if (named && coloured)
		on = " ";
	for (; x < end; x++) {
		if (named && *name)
			letter[0] = *name++;
		else if (x > begin || phase == MT_PHASE_OTHER) {
			put_phase(area, x, phase, on, 1, coloured);
			continue;
		}
		put_phase(area, x, phase, letter, 0, coloured);
	}
}

uint32_t chart_band(struct area area, const struct model *model, uint32_t process, const struct scale *scale,
		    int coloured)
{
	struct band band = { model, process < model->processes ? &model->process[process] : NULL, 0 };
	int x, phase, before = -1, from = 0, cursor = scale_column(scale, scale->cursor);
	uint32_t seen = 0;

	if (!area.height || !band.process)
		return 0;
	for (x = 0; x <= area.width; x++) {
		if (x == area.width)
			phase = -1;
		else if (x == cursor)
			phase = phase_at(model, process, scale->cursor);
		else
			phase = band_phase(&band, scale_time(scale, x), scale_time(scale, x + 1));
		if (phase == before)
			continue;
		if (before >= 0)
			put_run(area, from, x, (uint8_t)before, coloured && area.canvas->colours >= 8);
		seen |= phase >= 0 ? 1u << phase : 0;
		before = phase;
		from = x;
	}
	return seen;
}

/* ---- steps ---- */

/* The distance between steps with a number: 1, 2, 5, 10 .. such that each number has room. */
static uint32_t step_stride(uint32_t steps, uint32_t highest, int columns)
{
	static const uint32_t factor[] = { 2, 5, 10 };
	uint32_t stride = 1, base = 1, i = 0;
	char label[16];
	int room = snprintf(label, sizeof(label), "%u", highest) + 2;

	while ((uint64_t)steps * (unsigned)room > (uint64_t)(unsigned)columns * stride && base < 100000000) {
		stride = base * factor[i];
		if (++i == MT_ARRAY_SIZE(factor)) {
			base *= 10;
			i = 0;
		}
	}
	return stride;
}

/* Columns before `taken` have numbers, of which none is cut: it would look like another. Returns the new `taken`. */
static int put_step(struct area area, int x, uint32_t number, int taken)
{
	char label[16];
	int width = snprintf(label, sizeof(label), "%u", number);

	if (x < taken)
		return taken;
	area_put(area, x, 0, area.canvas->ascii ? "|" : "▏", STYLE_LINE, STYLE_NO_BACKGROUND);
	if (x + 1 + width <= area.width)
		area_text(area, x + 1, 0, STYLE_PLAIN, label);
	return x + 1 + width;
}

/* The steps of a process in the shown part: the one that runs at the left edge, and the number that begin later. */
struct steps {
	uint32_t first, begin;
	int64_t first_time; /* when it began */
	int any;
};

static struct steps steps_of(const struct model *model, uint32_t process, const struct scale *scale)
{
	struct steps steps = { .first_time = model->first_time };
	const struct model_step *step;
	uint32_t i;

	for (i = 0; i < model->steps; i++) {
		step = &model->step[i];
		if (step->process != process)
			continue;
		if (!steps.any)
			steps.first = step->number;
		steps.any = 1;
		if (step->time > scale->from) {
			steps.begin += step->time < scale->to;
			continue;
		}
		steps.first = step->number + 1;
		steps.first_time = step->time;
	}
	return steps;
}

void chart_steps(struct area area, const struct model *model, uint32_t process, const struct scale *scale)
{
	struct steps steps = steps_of(model, process, scale);
	const struct model_step *step;
	uint32_t i, stride;
	int x, taken;

	if (!area.height || !area.width || !steps.any)
		return;
	stride = step_stride(steps.begin + 1, steps.first + steps.begin, area.width);
	x = scale_column(scale, steps.first_time);
	taken = put_step(area, x > 0 ? x : 0, steps.first, 0);
	for (i = 0; i < model->steps; i++) {
		step = &model->step[i];
		if (step->process == process && step->time > scale->from && step->time < scale->to &&
		    (step->number + 1) % stride == 0)
			taken = put_step(area, scale_column(scale, step->time), step->number + 1, taken);
	}
}

/* ---- the strip ---- */

#define BRAILLE_DOTS 4

/* The dots of a cell, from below, for `left` and `right` dots in its columns. */
static void put_braille(struct area area, int x, int y, int left, int right, uint8_t style)
{
	static const unsigned char dots[2][BRAILLE_DOTS] = { { 0x40, 0x04, 0x02, 0x01 }, { 0x80, 0x20, 0x10, 0x08 } };
	unsigned bits = 0;
	char text[4];
	int i;

	for (i = 0; i < BRAILLE_DOTS; i++) {
		if (i < left)
			bits |= dots[0][i];
		if (i < right)
			bits |= dots[1][i];
	}
	if (!bits)
		return;
	/* U+2800 and the dots as bits. */
	text[0] = '\xe2';
	text[1] = (char)(0xa0 | bits >> 6);
	text[2] = (char)(0x80 | (bits & 0x3f));
	text[3] = '\0';
	area_put(area, x, y, text, style, STYLE_NO_BACKGROUND);
}

static void put_strip_cell(struct area area, int x, int y, int most, int least, uint8_t style)
{
	if (most <= 0)
		return;
	if (area.canvas->ascii)
		area_put(area, x, y,
			 least >= BRAILLE_DOTS / 2 ? "#"
			 : most > BRAILLE_DOTS / 2 ? ":"
						   : ".",
			 style, STYLE_NO_BACKGROUND);
	else
		put_braille(area, x, y, most, least, style);
}

void chart_strip(struct area area, const struct series_column *column, uint8_t style)
{
	uint64_t top = 1;
	int x, row, most, least;

	for (x = 0; x < area.width; x++)
		if (column[x].max > top)
			top = column[x].max;
	for (x = 0; x < area.width; x++) {
		most = scale_height(column[x].max, top, area.height, BRAILLE_DOTS);
		least = scale_height(column[x].min, top, area.height, BRAILLE_DOTS);
		for (row = 0; row < area.height; row++)
			put_strip_cell(area, x, area.height - 1 - row, most - row * BRAILLE_DOTS,
				       least - row * BRAILLE_DOTS, style);
	}
}
