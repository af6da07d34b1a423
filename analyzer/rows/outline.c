#include "outline.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

/* The bytes and allocations of a cell: a site, and whether the bytes are slack. */
struct held {
	uint32_t cell;
	uint64_t bytes, count;
};

/* The moment of a slice at which the device held most. */
struct slice {
	uint64_t number; /* time in units of slices */
	int64_t time;
	uint64_t total;
	struct held *held; /* by cell */
	uint32_t helds;
};

struct cell {
	uint64_t bytes, count;
	uint64_t most_bytes,
		most_count; /* at the highest moment of the running slice, if `epoch` is that of the moment */
	uint64_t epoch;
};

struct of_device {
	struct slice slice[OUTLINE_SLICES];
	uint32_t slices;
	struct cell *cell;
	uint32_t cells;
	uint64_t total, most; /* bytes now; highest bytes of the running slice */
	uint64_t epoch;       /* number of the highest moment */
	int64_t most_time;
	uint64_t number; /* number of the running slice */
	int running;
	uint64_t event; /* outline.event at the newest move; 0: no move */
	int64_t time;   /* time of the newest move */
};

struct outline {
	const struct analysis *analysis;
	struct of_device **device;
	uint32_t devices;
	unsigned shift; /* a slice is 2^shift ns long */
	uint64_t room;  /* number of cells in all slices */
	uint64_t event; /* number of events with moves, so far */
	int64_t newest; /* time */
	int none;
};

static void give_up(struct outline *outline)
{
	struct of_device *of;
	uint32_t i, k;

	for (i = 0; i < outline->devices; i++) {
		of = outline->device[i];
		for (k = 0; of && k < of->slices; k++)
			free(of->slice[k].held);
		if (of)
			free(of->cell);
		free(of);
	}
	free(outline->device);
	*outline = (struct outline){ .analysis = outline->analysis, .none = 1 };
}

struct outline *outline_new(const struct analysis *analysis)
{
	struct outline *outline = calloc(1, sizeof(*outline));

	if (outline)
		*outline = (struct outline){ .analysis = analysis, .shift = 20 };
	return outline;
}

void outline_free(struct outline *outline)
{
	if (outline)
		give_up(outline);
	free(outline);
}

static struct of_device *device_at(struct outline *outline, uint32_t device)
{
	struct of_device **grown = outline->device;

	if (device >= outline->devices) {
		grown = realloc(grown, ((size_t)device + 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + outline->devices, 0, (device + 1 - outline->devices) * sizeof(*grown));
		outline->device = grown;
		outline->devices = device + 1;
	}
	if (!grown[device])
		grown[device] = calloc(1, sizeof(**grown));
	return grown[device];
}

static struct cell *cell_at(struct of_device *of, uint32_t cell)
{
	uint32_t cells = cell + 1 + cell / 2;
	struct cell *grown;

	if (cell < of->cells)
		return &of->cell[cell];
	grown = realloc(of->cell, cells * sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + of->cells, 0, (cells - of->cells) * sizeof(*grown));
	of->cell = grown;
	of->cells = cells;
	return &grown[cell];
}

/* ---- slices ---- */

/* Doubles the length of slices: of each two the one with more bytes is kept, of equal ones the first. */
static void merge(struct outline *outline, struct of_device *of)
{
	struct slice *slice = of->slice, *last;
	uint32_t i, kept = 0;

	for (i = 0; i < of->slices; i++) {
		slice[i].number >>= 1;
		last = kept ? &slice[kept - 1] : NULL;
		if (!last || last->number != slice[i].number) {
			slice[kept++] = slice[i];
			continue;
		}
		outline->room -= slice[i].total > last->total ? last->helds : slice[i].helds;
		free(slice[i].total > last->total ? last->held : slice[i].held);
		if (slice[i].total > last->total)
			*last = slice[i];
	}
	of->slices = kept;
	of->number >>= 1;
}

static void merge_all(struct outline *outline)
{
	uint32_t i;

	outline->shift++;
	for (i = 0; i < outline->devices; i++)
		if (outline->device[i])
			merge(outline, outline->device[i]);
}

static int is_held(const struct of_device *of, const struct cell *cell)
{
	return cell->epoch == of->epoch ? cell->most_bytes || cell->most_count : cell->bytes || cell->count;
}

/* Stores the cells of the running slice's highest moment. 0 or -MT_E_MEMORY. */
static int take_held(const struct of_device *of, struct slice *slice)
{
	const struct cell *cell;
	struct held *fitted;
	uint32_t i;

	slice->held = malloc((of->cells + (size_t)1) * sizeof(*slice->held));
	if (!slice->held)
		return -MT_E_MEMORY;
	for (i = 0; i < of->cells; i++) {
		cell = &of->cell[i];
		if (is_held(of, cell))
			slice->held[slice->helds++] = cell->epoch == of->epoch
							      ? (struct held){ i, cell->most_bytes, cell->most_count }
							      : (struct held){ i, cell->bytes, cell->count };
	}
	fitted = realloc(slice->held, (slice->helds + (size_t)1) * sizeof(*slice->held));
	slice->held = fitted ? fitted : slice->held;
	return 0;
}

/* Stores the running slice. */
static int close_slice(struct outline *outline, struct of_device *of)
{
	struct slice slice = { .number = of->number, .time = of->most_time, .total = of->most };

	if (take_held(of, &slice))
		return -MT_E_MEMORY;
	of->slice[of->slices++] = slice;
	of->running = 0;
	of->most = 0;
	outline->room += slice.helds;
	while (outline->shift < 62 &&
	       (of->slices == OUTLINE_SLICES || (outline->room > OUTLINE_ROOM && of->slices > 1)))
		merge_all(outline);
	return of->slices == OUTLINE_SLICES ? -MT_E_MEMORY : 0;
}

/* The newest change is complete. 0 or -MT_E_MEMORY. */
static int settle(struct outline *outline, struct of_device *of)
{
	uint64_t number = (uint64_t)of->time >> outline->shift;
	int error = of->running && number != of->number ? close_slice(outline, of) : 0;

	if (of->running && of->total <= of->most)
		return error;
	of->most = of->total;
	of->most_time = of->time;
	of->epoch++;
	of->number = (uint64_t)of->time >> outline->shift;
	of->running = 1;
	return error;
}

/* Adds a move. All moves of one event form one change. 0 or -MT_E_MEMORY. */
static int add(struct outline *outline, struct of_device *of, const struct course_move *move)
{
	struct cell *cell;

	if (of->event != outline->event && of->event && settle(outline, of))
		return -MT_E_MEMORY;
	cell = cell_at(of, move->site << 1 | move->slack);
	if (!cell)
		return -MT_E_MEMORY;
	outline->newest = move->time > outline->newest ? move->time : outline->newest;
	of->event = outline->event;
	of->time = outline->newest;
	if (cell->epoch != of->epoch) {
		cell->most_bytes = cell->bytes;
		cell->most_count = cell->count;
		cell->epoch = of->epoch;
	}
	cell->bytes += (uint64_t)move->bytes;
	cell->count += (uint64_t)(int64_t)move->count;
	of->total += (uint64_t)move->bytes;
	return 0;
}

void outline_changed(struct outline *outline, int goes_on, const struct course_move *move, uint32_t moves)
{
	const struct course_move *end = move + moves;
	struct of_device *of = NULL;
	uint32_t number, newest = 0;

	for (; move < end && !outline->none; goes_on = (move++)->more) {
		number = outline->analysis->attribution.site[move->site].key.device;
		if (!of || number != newest)
			of = device_at(outline, number);
		newest = number;
		outline->event += !goes_on;
		if (!of || add(outline, of, move))
			give_up(outline);
	}
}

/* ---- at the end ---- */

static void change_cell(struct course_moves *moves, int64_t time, uint32_t cell, uint64_t bytes, uint64_t count)
{
	if (bytes || count)
		moves->move[moves->moves++] = (struct course_move){ .time = time,
								    .bytes = (int64_t)bytes,
								    .site = cell >> 1,
								    .slack = cell & 1,
								    .count = (int32_t)count,
								    .more = 1 };
}

/* Adds the change from the bytes of a slice to the bytes of the next one. Both are sorted by cell. */
static void go_on(struct course_moves *moves, const struct slice *from, const struct slice *to)
{
	const struct held *one = from->held, *one_end = one + from->helds, *two = to->held, *two_end = two + to->helds;
	uint32_t first = moves->moves;

	while (one < one_end || two < two_end) {
		if (two == two_end || (one < one_end && one->cell < two->cell)) {
			change_cell(moves, to->time, one->cell, 0 - one->bytes, 0 - one->count);
			one++;
		} else if (one == one_end || two->cell < one->cell) {
			change_cell(moves, to->time, two->cell, two->bytes, two->count);
			two++;
		} else {
			change_cell(moves, to->time, two->cell, two->bytes - one->bytes, two->count - one->count);
			one++;
			two++;
		}
	}
	if (moves->moves > first)
		moves->move[moves->moves - 1].more = 0;
}

/* Returns the device with the earliest unread slice. `next`: by device, its first unread slice. outline->devices: no slice remains. */
static uint32_t first_of(const struct outline *outline, const uint32_t *next)
{
	const struct of_device *of, *best = NULL;
	uint32_t i, found = outline->devices;

	for (i = 0; i < outline->devices; i++) {
		of = outline->device[i];
		if (!of || next[i] == of->slices || (best && best->slice[next[found]].time <= of->slice[next[i]].time))
			continue;
		best = of;
		found = i;
	}
	return found;
}

static void take_moves(const struct outline *outline, uint32_t *next, struct course_moves *moves)
{
	static const struct slice none;
	const struct slice *slice;
	uint32_t i;

	while ((i = first_of(outline, next)) < outline->devices) {
		slice = &outline->device[i]->slice[next[i]++];
		go_on(moves, next[i] > 1 ? slice - 1 : &none, slice);
	}
}

int outline_find(struct outline *outline, struct course_moves *moves)
{
	struct of_device *of;
	uint32_t *next, i;

	*moves = (struct course_moves){ 0 };
	for (i = 0; i < outline->devices && !outline->none; i++) {
		of = outline->device[i];
		if (of && of->event && (settle(outline, of) || close_slice(outline, of)))
			give_up(outline);
	}
	if (outline->none)
		return 0;
	next = calloc((size_t)outline->devices + 1, sizeof(*next));
	moves->move = malloc((2 * outline->room + 1) * sizeof(*moves->move));
	if (next && moves->move)
		take_moves(outline, next, moves);
	free(next);
	return next && moves->move ? 0 : -MT_E_MEMORY;
}
