#include "scale.h"

/* a * b / c, clamped to the range of int64_t. */
static int64_t share(int64_t a, int64_t b, int64_t c)
{
	__int128 value = (__int128)a * b / c;

	return value > INT64_MAX ? INT64_MAX : value < -INT64_MAX ? -INT64_MAX : (int64_t)value;
}

int64_t scale_later(int64_t time, int64_t ns)
{
	int64_t sum;

	if (__builtin_add_overflow(time, ns, &sum))
		return ns > 0 ? INT64_MAX : 0;
	return sum > 0 ? sum : 0;
}

/* The nearest moment of the run. */
static int64_t inside(const struct scale *scale, int64_t time)
{
	return time < scale->first ? scale->first : time > scale->last ? scale->last : time;
}

/* Moves the cursor into the shown part; the last column ends before `to`. */
static void clamp_cursor(struct scale *scale)
{
	if (scale->cursor < scale->from)
		scale->cursor = scale->from;
	if (scale->cursor >= scale->to)
		scale->cursor = scale->to - 1;
}

/* Shows `span` ns from `from` on, moved into the run; shows all of a run that is not longer. */
static void show(struct scale *scale, int64_t from, int64_t span)
{
	if (span >= scale->last - scale->first) {
		scale->from = scale->first;
		scale->to = scale->last;
	} else {
		from = from < scale->first ? scale->first : from;
		scale->from = from > scale->last - span ? scale->last - span : from;
		scale->to = scale->from + span;
	}
}

#define LEAST 1000 /* ns: shown length of a run without length */

static void set_run(struct scale *scale, int64_t first, int64_t last)
{
	scale->first = first < 0 ? 0 : first > INT64_MAX - LEAST ? INT64_MAX - LEAST : first;
	scale->last = last < scale->first + LEAST ? scale->first + LEAST : last;
}

void scale_init(struct scale *scale, int64_t first, int64_t last, int columns)
{
	*scale = (struct scale){ .columns = columns > 0 ? columns : 1 };
	set_run(scale, first, last);
	scale->from = scale->first;
	scale->to = scale->last;
	scale->cursor = scale->first;
}

int scale_is_all(const struct scale *scale)
{
	return scale->from == scale->first && scale->to == scale->last;
}

void scale_extend(struct scale *scale, int64_t first, int64_t last)
{
	int all = scale_is_all(scale);

	set_run(scale, first < scale->first ? first : scale->first, last > scale->last ? last : scale->last);
	if (all)
		scale_all(scale);
}

void scale_resize(struct scale *scale, int columns)
{
	scale->columns = columns > 0 ? columns : 1;
}

int64_t scale_time(const struct scale *scale, int column)
{
	return scale->from + share(scale->to - scale->from, column, scale->columns);
}

int scale_column(const struct scale *scale, int64_t time)
{
	int column;

	if (time < scale->from)
		return -1;
	if (time >= scale->to)
		return scale->columns;
	column = (int)share(time - scale->from, scale->columns, scale->to - scale->from);
	/* Both divisions round down: the column may begin later than the first guess. */
	if (column + 1 < scale->columns && scale_time(scale, column + 1) <= time)
		column++;
	return column;
}

void scale_go(struct scale *scale, int64_t time)
{
	int64_t span = scale->to - scale->from;

	time = inside(scale, time);
	if (time < scale->from || time >= scale->to)
		show(scale, scale_later(time, -(span / 2)), span);
	scale->cursor = time;
	clamp_cursor(scale);
}

/* If the cursor leaves the shown part, the part moves by as many columns. */
void scale_move(struct scale *scale, int columns)
{
	int64_t span = scale->to - scale->from, width = span / scale->columns ? span / scale->columns : 1;
	int column = scale_column(scale, scale->cursor) + columns;
	int over = column < 0 ? column : column >= scale->columns ? column + 1 - scale->columns : 0;

	if (over) {
		show(scale, scale_later(scale->from, share(over, width, 1)), span);
		column = over < 0 ? 0 : scale->columns - 1;
	}
	scale->cursor = scale_time(scale, column);
	clamp_cursor(scale);
}

void scale_zoom(struct scale *scale, int64_t around, int numerator, int denominator)
{
	int64_t span = scale->to - scale->from, whole = scale->last - scale->first, least = scale->columns;
	int64_t wanted = share(span, numerator, denominator), before;

	if (wanted < least)
		wanted = least;
	if (wanted > whole - whole / scale->columns) /* give back the part that halving rounded off */
		wanted = whole;
	if (around < scale->from)
		around = scale->from;
	if (around > scale->to)
		around = scale->to;
	before = share(around - scale->from, wanted, span);
	before += (__int128)before * span < (__int128)(around - scale->from) * wanted; /* up: it stays in its column */
	show(scale, around - before, wanted);
	clamp_cursor(scale);
}

void scale_all(struct scale *scale)
{
	scale->from = scale->first;
	scale->to = scale->last;
	clamp_cursor(scale);
}

void scale_span(struct scale *scale, int64_t from, int64_t to)
{
	int64_t span;

	from = inside(scale, from);
	span = inside(scale, to) - from;
	show(scale, from, span < scale->columns ? scale->columns : span);
	clamp_cursor(scale);
}

int64_t scale_tick(const struct scale *scale, int room)
{
	int64_t least = share(scale->to - scale->from, room > 0 ? room : 1, scale->columns), tick = 1;

	while (tick < least) {
		if (tick * 2 >= least)
			return tick * 2;
		if (tick * 5 >= least)
			return tick * 5;
		if (tick > INT64_MAX / 100)
			break;
		tick *= 10;
	}
	return tick;
}

/*
 * Rounds to 1, 2, 4, 8, 10, 16, 20, 32, 40, 64, 80, 100, 128 ... parts of a unit: such numbers are easy to read off an
 * axis.
 */
uint64_t scale_top(uint64_t most)
{
	static const unsigned round[] = { 1,  2,  3,  4,   5,   6,   8,   10,  12,  16,  20,  24,  32,  40,
					  48, 64, 80, 100, 128, 160, 200, 256, 320, 400, 512, 640, 800, 1024 };
	uint64_t unit = 1;
	unsigned i;

	while (unit < (1ull << 60) && most > unit * 1024)
		unit *= 1024;
	for (i = 0; i < sizeof(round) / sizeof(round[0]); i++)
		if (most <= (unsigned __int128)unit * round[i] && (unsigned __int128)unit * round[i] <= UINT64_MAX)
			return unit * round[i];
	return UINT64_MAX;
}

int scale_height(uint64_t bytes, uint64_t top, int rows, int parts)
{
	unsigned __int128 full = (unsigned __int128)rows * (unsigned)parts;
	int height;

	if (!bytes || !top || rows <= 0 || parts <= 0)
		return 0;
	if (bytes >= top)
		return (int)full;
	height = (int)((bytes * full + top / 2) / top);
	return height ? height : 1;
}
