/*
 * bench_tui.c - how long the timeline takes: to show something, to know all, and to draw a frame at every zoom.
 *
 *     bench_tui TRACE...
 *     bench_tui --open TRACE...   the timeline is read and drawn until all of it is there, and no more
 *
 * No terminal: frames end in the cell buffer. Prints, never judges. Times are those of the clock, but for "own": what
 * the processor worked for the frame, without the turns that others had meanwhile. Zoom levels go from the whole run down to the
 * smallest stretch; each is looked at in PLACES places of the run, the same in every run of this program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "screen/view/app.h"

#define PLACES 31
#define TIMES_MAX 4096
#define LEVELS_MAX 40
#define LEVEL_FACTOR 4
#define BUDGET_MS 16.0

static const int widths[] = { 80, 120, 200 }, heights[] = { 24, 40, 60 };

static double clock_ms(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

static void check(const char *what, int error)
{
	if (!error)
		return;
	fprintf(stderr, "bench_tui: %s: %s\n", what, mt_strerror(error));
	exit(4);
}

/* Times of one kind of thing, ms. */
struct times {
	double wall[TIMES_MAX], own[TIMES_MAX];
	size_t count;
	double begin, own_begin; /* begin of the one that runs */
};

static void begin(struct times *times)
{
	times->begin = now_ms();
	times->own_begin = clock_ms(CLOCK_THREAD_CPUTIME_ID);
}

static void end(struct times *times)
{
	if (times->count == TIMES_MAX)
		return;
	times->wall[times->count] = now_ms() - times->begin;
	times->own[times->count++] = clock_ms(CLOCK_THREAD_CPUTIME_ID) - times->own_begin;
}

static void add_times(struct times *sum, const struct times *more)
{
	size_t i;

	for (i = 0; i < more->count && sum->count < TIMES_MAX; i++) {
		sum->wall[sum->count] = more->wall[i];
		sum->own[sum->count++] = more->own[i];
	}
}

static int by_size(const void *a, const void *b)
{
	const double one = *(const double *)a, two = *(const double *)b;

	return one < two ? -1 : one > two;
}

/* The part of them that is below, 0.5: the median; 1: the worst. */
static double below(const double *ms, size_t count, double part)
{
	static double sorted[TIMES_MAX];
	size_t at = (size_t)((double)count * part);

	if (!count)
		return 0;
	memcpy(sorted, ms, count * sizeof(*ms));
	qsort(sorted, count, sizeof(*sorted), by_size);
	return sorted[at < count ? at : count - 1];
}

static double median(const struct times *times)
{
	return below(times->wall, times->count, 0.5);
}

static double worst(const struct times *times)
{
	return below(times->wall, times->count, 1);
}

static double worst_own(const struct times *times)
{
	return below(times->own, times->count, 1);
}

/* The moment of place `i` in the run. */
static int64_t place(const struct model *model, int i)
{
	return model->first_time + (model->last_time - model->first_time) / PLACES * i +
	       (model->last_time - model->first_time) / (2 * PLACES);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Frames of the largest screen while the traces are read, as the program makes them. */
static void bench_reading(struct model *model, struct feed **feed, struct source *source)
{
	static struct times frames;
	struct app app;
	double start = now_ms(), first = 0, percent = 0;
	enum model_state state = MODEL_READING;

	check("reading", feed_new(feed, model, source));
	check("screen", app_init(&app, model, NULL, widths[2], heights[2], 256, 0));
	while (state == MODEL_READING) {
		begin(&frames);
		app_tick(&app, 1 << 20);
		app_draw(&app);
		end(&frames);
		if (!first)
			first = now_ms() - start;
		model_lock(model);
		state = model->state;
		if (!percent && series_events(app.series) && model->bytes_read * 100 >= model->bytes_total)
			percent = now_ms() - start;
		model_unlock(model);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	if (state == MODEL_FAILED) {
		fprintf(stderr, "bench_tui: %s\n", model->trouble);
		exit(4);
	}
	printf("%-44s %9.1f ms\n", "first frame", first);
	printf("%-44s %9.1f ms\n", "the first 1% is on the screen", percent);
	printf("%-44s %9.1f ms  %.1f M events/s of the tape\n", "all is read, summary and verdict included",
	       now_ms() - start, (double)model->events / (now_ms() - start) / 1e3);
	printf("%-44s %9.1f ms  worst %.1f ms, own %.1f ms\n", "a frame meanwhile, median", median(&frames),
	       worst(&frames), worst_own(&frames));
	printf("%-44s %9.1f M, %u sites, %u devices, %u processes\n", "events of the tape", (double)model->events / 1e6,
	       model->sites, model->devices, model->processes);
	app_release(&app);
}

/* ---- series ------------------------------------------------------------------------------------------------------ */

static void make_series(struct series *series, const struct model *model, enum palette_by by, struct palette *palette)
{
	const struct palette_scope scope = { .device = 0 };

	check("palette", palette_make(palette, model, by, &scope));
	check("series",
	      series_begin(series, palette->layer_of, palette->cells, PALETTE_REST, PALETTE_SLACK, palette->layers));
	check("series", series_more(series, model->tape, model->events, UINT64_MAX));
}

static void bench_series(struct series *series, const struct model *model)
{
	struct palette palette = { 0 };
	double start;
	int by;

	for (by = PALETTE_BY_COUNT - 1; by >= 0; by--) {
		start = now_ms();
		make_series(series, model, (enum palette_by)by, &palette);
		printf("series by %-34s %9.1f ms  %u layers\n", palette_by_words[by], now_ms() - start, palette.layers);
	}
	palette_release(&palette);
}

/* ---- zoom levels ------------------------------------------------------------------------------------------------- */

/* The cost of one level at each width. */
struct level {
	int64_t span;
	uint64_t events; /* on the screen, the most of all places */
	struct times parts[MT_ARRAY_SIZE(widths)], frames[MT_ARRAY_SIZE(widths)];
};

/* The columns of the chart and the table at the cursor alone. */
static void bench_parts(struct level *level, const struct series *series, const struct model *model)
{
	static struct series_column column[256];
	struct liveset live = { 0 };
	uint64_t events;
	int64_t from;
	int i, c, width;

	for (width = 0; width < (int)MT_ARRAY_SIZE(widths); width++) {
		for (i = 0; i < PLACES; i++) {
			from = place(model, i) - level->span / 2;
			begin(&level->parts[width]);
			series_columns(series, model->tape, from, from + level->span, column, (uint32_t)widths[width]);
			check("live set", liveset_at(&live, model, model_events_at(model, 0, place(model, i)), NULL, 0,
						     LIVESET_SORT_BYTES));
			end(&level->parts[width]);
			for (c = 0, events = 0; c < widths[width]; c++)
				events += column[c].events;
			if (events > level->events)
				level->events = events;
		}
	}
	liveset_release(&live);
}

static void press(struct app *app, int key)
{
	const struct input input = { .kind = INPUT_KEY, .key = key };

	app_input(app, &input);
}

/* Each frame follows a key: one step of zoom out and, measured, the step in again. */
static void bench_frames(struct level *level, struct app *app, const struct model *model, struct times *frames)
{
	int i;

	for (i = 0; i < PLACES; i++) {
		scale_span(&app->scale, place(model, i) - level->span, place(model, i) + level->span);
		scale_go(&app->scale, place(model, i));
		while (app_tick(app, UINT64_MAX))
			;
		begin(frames);
		press(app, '+');
		while (app_tick(app, UINT64_MAX))
			;
		app_draw(app);
		end(frames);
	}
}

static int make_levels(struct level *level, const struct model *model)
{
	int64_t span = model->last_time - model->first_time + 1;
	int count = 0;

	for (; count < LEVELS_MAX && span >= widths[MT_ARRAY_SIZE(widths) - 1]; span /= LEVEL_FACTOR)
		level[count++].span = span;
	return count;
}

static void print_levels(const struct level *level, int count)
{
	static struct times all;
	int i, width;

	printf("\n%12s %10s", "on screen", "events");
	for (width = 0; width < (int)MT_ARRAY_SIZE(widths); width++)
		printf(" | %3dx%d: parts frame worst   own", widths[width], heights[width]);
	printf("   (ms)\n");
	for (i = 0; i < count; i++) {
		printf("%9.3f ms %10llu", (double)level[i].span / 1e6, (unsigned long long)level[i].events);
		for (width = 0; width < (int)MT_ARRAY_SIZE(widths); width++) {
			printf(" | %*s %5.2f %5.2f %5.2f %5.2f", widths[width] < 100 ? 6 : 7, "",
			       median(&level[i].parts[width]), median(&level[i].frames[width]),
			       worst(&level[i].frames[width]), worst_own(&level[i].frames[width]));
			add_times(&all, &level[i].frames[width]);
		}
		printf("\n");
	}
	printf("\n%zu frames after a zoom step: median %.2f ms, 99%% below %.2f ms, worst %.2f ms; own at most %.2f ms; "
	       "budget %.0f ms\n",
	       all.count, median(&all), below(all.wall, all.count, 0.99), worst(&all), worst_own(&all), BUDGET_MS);
}

static void bench_levels(const struct series *series, struct model *model)
{
	static struct level level[LEVELS_MAX];
	struct app app;
	int i, width, count = make_levels(level, model);

	for (i = 0; i < count; i++)
		bench_parts(&level[i], series, model);
	for (width = 0; width < (int)MT_ARRAY_SIZE(widths); width++) {
		check("screen", app_init(&app, model, NULL, widths[width], heights[width], 256, 0));
		while (app_tick(&app, UINT64_MAX))
			;
		for (i = 0; i < count; i++)
			bench_frames(&level[i], &app, model, &level[i].frames[width]);
		app_release(&app);
	}
	print_levels(level, count);
}

int main(int argc, char **argv)
{
	static struct model model;
	struct series *series = series_new();
	struct feed *feed = NULL;
	struct source source;
	int open_only = argc > 1 && !strcmp(argv[1], "--open");

	argc -= open_only;
	argv += open_only;
	if (argc < 2) {
		fprintf(stderr, "usage: bench_tui [--open] TRACE... (make bench-tui makes one)\n");
		return 2;
	}
	if (source_open_traces(&source, argv + 1, (uint32_t)argc - 1)) {
		fprintf(stderr, "bench_tui: %s\n", source.message);
		return 3;
	}
	check("model", series ? model_init(&model) : -MT_E_MEMORY);
	bench_reading(&model, &feed, &source);
	if (!open_only) {
		bench_series(series, &model);
		bench_levels(series, &model);
	}
	series_free(series);
	feed_free(feed);
	model_release(&model);
	source_release(&source);
	return 0;
}
