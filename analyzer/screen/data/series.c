#include "series.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define LEVELS 25    /* levels of nodes over the leaves of a full tape */
#define UNKNOWN 254u /* the layer of a cell without a name yet */
#define NO_EVENT UINT64_MAX

/* The largest sum. Among equal sums the one with the largest `tie` counts, then the first. */
struct top {
	uint64_t sum, tie;
	uint64_t event; /* event after which the sum was reached; NO_EVENT: before all events */
};

/* The sums after some events. Without a moment: no event, 0, and UINT64_MAX as the least. */
struct node {
	struct top held; /* tie: what was in use */
	struct top used; /* tie: 0 */
	uint64_t least_held, least_used;
};

/* The bytes of the layers before an event. */
struct moment {
	uint64_t event;
	uint64_t sum, layer[SERIES_LAYERS_MAX]; /* sum of the bytes held */
};

struct level {
	struct node *node;
	uint64_t count, room;
};

struct series {
	uint8_t *layer_of; /* by cell */
	uint32_t cells, cell_room;
	uint32_t layers;
	uint8_t rest, slack;
	struct level level[LEVELS];
	uint64_t *begin; /* sums of the layers at the beginning of each leaf */
	uint64_t begin_room;
	struct moment now; /* state after all events so far */
	struct node leaf;  /* the leaf that is being filled */
	struct top peak, used_peak;
	int64_t peak_time, used_peak_time;
};

static const struct top no_top = { .event = NO_EVENT };
static const struct node empty_node = {
	.held = { .event = NO_EVENT }, .used = { .event = NO_EVENT }, .least_held = UINT64_MAX, .least_used = UINT64_MAX
};

struct series *series_new(void)
{
	return calloc(1, sizeof(struct series));
}

void series_free(struct series *series)
{
	int i;

	if (!series)
		return;
	for (i = 0; i < LEVELS; i++)
		free(series->level[i].node);
	free(series->begin);
	free(series->layer_of);
	free(series);
}

/* ---- cells ---- */

/* Room for `cells` cells; the new ones are unknown. */
static int grow_cells(struct series *series, uint32_t cells)
{
	size_t room = (size_t)cells + cells / 2 + 64;
	uint8_t *grown;

	if (cells > series->cell_room) {
		grown = realloc(series->layer_of, room);
		if (!grown)
			return -MT_E_MEMORY;
		series->layer_of = grown;
		series->cell_room = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
	}
	if (cells > series->cells) {
		memset(series->layer_of + series->cells, UNKNOWN, cells - series->cells);
		series->cells = cells;
	}
	return 0;
}

int series_begin(struct series *series, const uint8_t *layer_of, uint32_t cells, uint8_t rest, uint8_t slack,
		 uint32_t layers)
{
	int i;

	for (i = 0; i < LEVELS; i++)
		series->level[i].count = 0;
	memset(&series->now, 0, sizeof(series->now));
	series->leaf = empty_node;
	series->peak = series->used_peak = no_top;
	series->peak_time = series->used_peak_time = 0;
	series->cells = 0;
	series->rest = rest;
	series->slack = slack < layers ? slack : SERIES_HIDDEN;
	series->layers = layers;
	return series_extend(series, layer_of, cells);
}

int series_extend(struct series *series, const uint8_t *layer_of, uint32_t cells)
{
	uint32_t i;

	if (grow_cells(series, cells))
		return -MT_E_MEMORY;
	for (i = 0; i < cells; i++)
		if (series->layer_of[i] == UNKNOWN)
			series->layer_of[i] = layer_of[i];
	return 0;
}

/*
 * Gives a cell its layer. A cell that moved before it had a name stays in `rest`: its bytes must leave where they came.
 */
static int name_cell(struct series *series, uint32_t cell)
{
	if (grow_cells(series, cell + 1))
		return -MT_E_MEMORY;
	if (series->layer_of[cell] == UNKNOWN)
		series->layer_of[cell] = series->rest;
	return 0;
}

/* ---- the pyramid ---- */

static inline int is_higher(const struct top *one, const struct top *two)
{
	if (one->sum != two->sum)
		return one->sum > two->sum;
	return one->tie != two->tie ? one->tie > two->tie : one->event < two->event;
}

static inline void add_node(struct node *sum, const struct node *more)
{
	if (is_higher(&more->held, &sum->held))
		sum->held = more->held;
	if (is_higher(&more->used, &sum->used))
		sum->used = more->used;
	if (more->least_held < sum->least_held)
		sum->least_held = more->least_held;
	if (more->least_used < sum->least_used)
		sum->least_used = more->least_used;
}

/* The bytes after `event`. */
static struct node node_of(const struct series *series, const struct moment *now, uint64_t event)
{
	uint64_t used = now->sum - (series->slack != SERIES_HIDDEN ? now->layer[series->slack] : 0);

	return (struct node){ { now->sum, used, event }, { used, 0, event }, now->sum, used };
}

static inline void add_moment(const struct series *series, struct node *sum, const struct moment *now)
{
	struct node node = node_of(series, now, now->event - 1);

	add_node(sum, &node);
}

/* Room for one node more. */
static int make_room(struct level *level)
{
	uint64_t room = level->room ? level->room * 2 : 1024;
	struct node *grown;

	if (level->count < level->room)
		return 0;
	grown = realloc(level->node, room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	level->node = grown;
	level->room = room;
	return 0;
}

static void push_node(struct level *level, const struct node *node)
{
	level->node[level->count++] = *node;
}

/* Ends the running leaf, and the nodes above that are complete with it. begin_leaf made room for them. */
static void end_leaf(struct series *series)
{
	struct level *level = series->level;
	struct node node = series->leaf;

	push_node(level, &node);
	for (; level + 1 < series->level + LEVELS && level->count % 2 == 0; level++) {
		node = level->node[level->count - 2];
		add_node(&node, &level->node[level->count - 1]);
		push_node(level + 1, &node);
	}
	series->leaf = empty_node;
}

/* Begins a leaf, and reserves all memory for it. If memory is out, nothing changes. */
static int begin_leaf(struct series *series)
{
	uint64_t leaf = series->now.event / SERIES_LEAF, room = series->begin_room ? series->begin_room * 2 : 16384;
	struct level *level = series->level;
	uint64_t *grown;
	int error = make_room(level);

	for (; !error && level + 1 < series->level + LEVELS && level->count % 2; level++)
		error = make_room(level + 1);
	if (error)
		return error;
	if ((leaf + 1) * series->layers > series->begin_room) {
		grown = realloc(series->begin, room * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		series->begin = grown;
		series->begin_room = room;
	}
	memcpy(&series->begin[leaf * series->layers], series->now.layer, series->layers * sizeof(*series->begin));
	return 0;
}

/* ---- moments ---- */

static inline void apply(const struct series *series, struct moment *moment, const struct tape_event *event)
{
	uint8_t layer = series->layer_of[event->cell];

	moment->event++;
	if (layer == SERIES_HIDDEN)
		return;
	moment->layer[layer] += (uint64_t)event->bytes;
	moment->sum += (uint64_t)event->bytes;
}

/* The bytes before the leaf that `event` is in. */
static void load_leaf(const struct series *series, struct moment *moment, uint64_t event)
{
	const uint64_t *begin = &series->begin[event / SERIES_LEAF * series->layers];
	uint32_t i;

	memset(moment, 0, sizeof(*moment));
	moment->event = event - event % SERIES_LEAF;
	for (i = 0; i < series->layers; i++)
		moment->sum += moment->layer[i] = begin[i];
}

/* Goes to the moment before `event`, at most the one after the last. */
static void seek(const struct series *series, const struct tape *tape, struct moment *moment, uint64_t event)
{
	uint32_t run;

	if (event == series->now.event) {
		*moment = series->now;
		return;
	}
	if (moment->event > event || moment->event / SERIES_LEAF != event / SERIES_LEAF)
		load_leaf(series, moment, event);
	while (moment->event < event)
		apply(series, moment, tape_at(tape, moment->event, &run));
}

/* ---- taking events in ---- */

/*
 * Raises the peak to that of a leaf. `event` is the first new event, with this number; events before it are known
 * already.
 */
static void follow_peak(struct top *peak, int64_t *time, const struct top *leaf, const struct tape_event *event,
			uint64_t number)
{
	if (!leaf->sum || leaf->event < number || !is_higher(leaf, peak))
		return;
	*peak = *leaf;
	*time = event[leaf->event - number].time;
}

/* Takes events of one leaf. Returns 0, or -MT_E_MEMORY: an event and all later ones are not taken. */
static int take(struct series *series, const struct tape_event *event, uint32_t count)
{
	struct moment now = series->now;
	struct node leaf = series->leaf;
	uint32_t i;
	int error = 0;

	for (i = 0; i < count; i++) {
		if (event[i].cell >= series->cells || series->layer_of[event[i].cell] == UNKNOWN)
			error = name_cell(series, event[i].cell);
		if (error)
			break;
		apply(series, &now, &event[i]);
		if (!event[i].more)
			add_moment(series, &leaf, &now);
	}
	follow_peak(&series->peak, &series->peak_time, &leaf.held, event, series->now.event);
	follow_peak(&series->used_peak, &series->used_peak_time, &leaf.used, event, series->now.event);
	series->now = now;
	series->leaf = leaf;
	return error;
}

int series_more(struct series *series, const struct tape *tape, uint64_t events, uint64_t budget)
{
	uint64_t last = budget < events - series->now.event ? series->now.event + budget : events;
	const struct tape_event *event;
	uint32_t run;
	int error = 0;

	while (!error && series->now.event < last) {
		event = tape_at(tape, series->now.event, &run);
		if (run > SERIES_LEAF - series->now.event % SERIES_LEAF)
			run = SERIES_LEAF - (uint32_t)(series->now.event % SERIES_LEAF);
		if (run > last - series->now.event)
			run = (uint32_t)(last - series->now.event);
		if (series->now.event % SERIES_LEAF == 0)
			error = begin_leaf(series);
		if (!error)
			error = take(series, event, run);
		if (!error && series->now.event % SERIES_LEAF == 0)
			end_leaf(series);
	}
	return error ? error : series->now.event < events;
}

uint64_t series_events(const struct series *series)
{
	return series->now.event;
}

uint64_t series_peak(const struct series *series, int64_t *time)
{
	*time = series->peak_time;
	return series->peak.sum;
}

uint64_t series_used_peak(const struct series *series, int64_t *time)
{
	*time = series->used_peak_time;
	return series->used_peak.sum;
}

int series_peaks_differ(const struct series *series)
{
	return series->used_peak.sum > series->peak.tie;
}

/* ---- columns ---- */

/* The nodes of the leaves [first, last). */
static void add_leaves(const struct series *series, struct node *sum, uint64_t first, uint64_t last)
{
	const struct level *level;

	for (level = series->level; first < last; level++, first /= 2, last /= 2) {
		if (first % 2)
			add_node(sum, &level->node[first++]);
		if (last % 2)
			add_node(sum, &level->node[--last]);
	}
}

/* Goes on to the moment before event `last`, and adds the sums after each event to `sum`. */
static void walk(const struct series *series, const struct tape *tape, struct moment *moment, uint64_t last,
		 struct node *sum)
{
	const struct tape_event *event;
	uint64_t leaf, leaves = last / SERIES_LEAF;
	uint32_t run;

	while (moment->event < last) {
		leaf = moment->event / SERIES_LEAF;
		if (moment->event % SERIES_LEAF == 0 && leaf < leaves) {
			add_leaves(series, sum, leaf, leaves);
			seek(series, tape, moment, leaves * SERIES_LEAF);
			continue;
		}
		event = tape_at(tape, moment->event, &run);
		apply(series, moment, event);
		if (!event->more)
			add_moment(series, sum, moment);
	}
}

/* Makes a column of the events from `moment` to `last`; the column begins at `time`. */
static void make_column(const struct series *series, const struct tape *tape, struct moment *moment, uint64_t last,
			int64_t time, struct series_column *column)
{
	struct moment fullest = *moment;
	struct node sum = empty_node, before;
	uint64_t first = moment->event;
	uint32_t run;

	column->events = last - first;
	walk(series, tape, moment, last, &sum);
	if (first == last || sum.held.event == NO_EVENT || tape_at(tape, first, &run)->time > time) {
		before = node_of(series, &fullest, 0); /* the first of equal ones */
		add_node(&sum, &before);
		sum.held.event = is_higher(&sum.held, &before.held) ? sum.held.event : NO_EVENT;
		sum.used.event = is_higher(&sum.used, &before.used) ? sum.used.event : NO_EVENT;
	}
	column->time = sum.held.event == NO_EVENT ? time : tape_at(tape, sum.held.event, &run)->time;
	column->upto = sum.held.event == NO_EVENT ? first : sum.held.event + 1;
	column->used_time = sum.used.event == NO_EVENT ? time : tape_at(tape, sum.used.event, &run)->time;
	if (sum.used.event != NO_EVENT)
		seek(series, tape, &fullest, sum.used.event + 1);
	column->max = sum.held.sum;
	column->min = sum.least_held;
	column->used_max = sum.used.sum;
	column->used_min = sum.least_used;
	memcpy(column->layer, fullest.layer, sizeof(column->layer));
	if (series->slack != SERIES_HIDDEN)
		column->layer[series->slack] = column->max - column->used_max;
}

void series_columns(const struct series *series, const struct tape *tape, int64_t from, int64_t to,
		    struct series_column *column, uint32_t columns)
{
	uint64_t events = series->now.event;
	struct moment moment = { .event = UINT64_MAX };
	int64_t time = from, next;
	uint32_t i;

	seek(series, tape, &moment, tape_find(tape, events, from - 1));
	for (i = 0; i < columns; i++, time = next) {
		next = from + (int64_t)((__int128)(to - from) * (i + 1) / columns);
		make_column(series, tape, &moment, tape_find(tape, events, next - 1), time, &column[i]);
	}
}
