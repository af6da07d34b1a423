/* keep.c - the data that a flight recorder keeps about its chunks; see keep.h. */
#include "keep.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2u
#define WINDOW_STEPS 2u /* whole steps of a window before the step with the error */

enum keep_rank { RANK_NONE, RANK_DRIVER, RANK_TENSOR };

struct keep *keep_new(uint64_t bytes)
{
	struct keep *keep = calloc(1, sizeof(*keep));

	if (!keep)
		return NULL;
	keep->bytes = bytes;
	keep->now.step = 1;
	return keep;
}

void keep_free(struct keep *keep)
{
	uint32_t i;

	if (!keep)
		return;
	for (i = 0; i < keep->chunks.count; i++)
		free(keep->chunks.item[i].state);
	for (i = 0; i < KEEP_WINDOWS; i++)
		free(keep->window[i].named);
	free(keep->checkpoint);
	free(keep->chunks.item);
	free(keep->used);
	free(keep);
}

/* ---- open ranges and phases -------------------------------------------------------------------------------------- */

static void open_one(struct keep_state *state, const struct mt_event *event)
{
	if (state->opens < KEEP_OPEN_MAX)
		state->open[state->opens++] = *event;
}

/* Removes the newest open event of `kind` that this event closes: same thread and domain, or same handle. */
static void close_one(struct keep_state *state, const struct mt_event *end, uint32_t kind)
{
	uint32_t i = state->opens;

	while (i--) {
		const struct mt_event *open = &state->open[i];

		if (open->kind != kind || (kind == MT_RANGE_PUSH && open->value != end->value))
			continue;
		if (kind == MT_RANGE_START ? open->handle != end->handle : open->thread != end->thread)
			continue;
		memmove(&state->open[i], &state->open[i + 1], (--state->opens - i) * sizeof(*open));
		return;
	}
}

static void note_state(struct keep_state *state, const struct mt_event *event)
{
	switch (event->kind) {
	case MT_RANGE_PUSH:
	case MT_RANGE_START:
	case MT_PHASE_PUSH:
	case MT_BACKWARD_BEGIN:
		open_one(state, event);
		break;
	case MT_RANGE_POP:
		close_one(state, event, MT_RANGE_PUSH);
		break;
	case MT_RANGE_END:
		close_one(state, event, MT_RANGE_START);
		break;
	case MT_PHASE_POP:
		close_one(state, event, MT_PHASE_PUSH);
		break;
	case MT_BACKWARD_END:
		close_one(state, event, MT_BACKWARD_BEGIN);
		break;
	case MT_STEP:
		state->step = *event;
		break;
	case MT_SOURCE:
		if (event->flags < MT_SOURCE_COUNT)
			state->source[event->flags] = *event;
		break;
	case MT_CUT: /* events behind the CUT open all open ranges once more */
		state->opens = 0;
		break;
	}
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/* Gets the strings that an event names, at most two. */
static uint32_t names_of(const struct mt_event *event, uint64_t names[2])
{
	uint32_t count = 0;

	if (mt_kind_fields(event->kind) & MT_F(name))
		names[count++] = event->name;
	if (mt_kind_has_second_name(event->kind))
		names[count++] = event->value;
	return count;
}

int keep_reserve(struct keep *keep, const struct mt_event *event)
{
	uint32_t count, room = keep->used_room ? keep->used_room : 1024;
	uint64_t names[2], *grown;

	for (count = names_of(event, names); count--;)
		while (room <= names[count] && room <= MT_DEFS_MAX)
			room *= 2;
	if (room == keep->used_room)
		return 0;
	grown = realloc(keep->used, room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + keep->used_room, 0, (room - keep->used_room) * sizeof(*grown));
	keep->used = grown;
	keep->used_room = room;
	return 0;
}

static void use_names(struct keep *keep, const struct mt_event *event)
{
	uint64_t names[2];
	uint32_t count;

	for (count = names_of(event, names); count--;)
		if (names[count] < keep->used_room)
			keep->used[names[count]] = keep->number + 1;
}

static void mark(uint8_t *wanted, uint32_t count, uint64_t id)
{
	if (id < count)
		wanted[id] = 1;
}

static void mark_state(const struct keep_state *state, uint8_t *wanted, uint32_t count)
{
	uint32_t i;

	mark(wanted, count, state->step.name);
	for (i = 0; i < MT_SOURCE_COUNT; i++)
		mark(wanted, count, state->source[i].name);
	for (i = 0; i < state->opens; i++) {
		mark(wanted, count, state->open[i].name);
		if (state->open[i].kind == MT_RANGE_PUSH)
			mark(wanted, count, state->open[i].value);
	}
}

static void mark_used_since(const struct keep *keep, uint64_t number, uint8_t *wanted, uint32_t count)
{
	uint32_t id, end = count < keep->used_room ? count : keep->used_room;

	for (id = 0; id < end; id++)
		wanted[id] |= keep->used[id] > number;
}

static void mark_window(const struct keep_window *window, uint8_t *wanted, uint32_t count)
{
	uint32_t id;

	for (id = 0; window->named && id < window->strings && id < count; id++)
		wanted[id] |= window->named[id];
}

void keep_mark_strings(const struct keep *keep, const struct keep_range *ranges, uint32_t count_ranges, uint8_t *wanted,
		       uint32_t count)
{
	const struct keep_range *newest = &ranges[count_ranges - 1];
	uint32_t i;

	mark_state(&keep->state, wanted, count);
	if (keep->checkpoint)
		mark_state(keep->checkpoint, wanted, count);
	for (i = 0; i < keep->chunks.count; i++)
		if (keep->chunks.item[i].state)
			mark_state(keep->chunks.item[i].state, wanted, count);
	mark_used_since(keep, keep->chunks.item[newest->first].number, wanted, count);
	for (i = 0; i < KEEP_WINDOWS; i++)
		mark_window(&keep->window[i], wanted, count);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static uint8_t oom_rank(const struct mt_event *event)
{
	if (event->kind == MT_TENSOR_OOM)
		return RANK_TENSOR;
	return event->kind == MT_DRIVER_FAIL && event->result == CUDA_ERROR_OUT_OF_MEMORY ? RANK_DRIVER : RANK_NONE;
}

void keep_event(struct keep *keep, const struct mt_event *event)
{
	struct keep_chunk *now = &keep->now;
	uint8_t rank = oom_rank(event);

	note_state(&keep->state, event);
	now->events++;
	if (rank && rank >= now->oom) {
		now->oom = rank;
		now->oom_step = now->step;
	}
	switch (event->kind) {
	case MT_STEP:
		now->step = (uint32_t)event->value + 1;
		break;
	case MT_LOST:
		if (event->flags < MT_LOSS_COUNT)
			now->lost[event->flags] += event->value;
		break;
	case MT_CUT:
		now->carry = 1;
		now->cut += event->value;
		break;
	}
	use_names(keep, event);
}

void keep_skip(struct keep *keep, const struct mt_event *event)
{
	note_state(&keep->state, event);
}

uint64_t keep_cut(const struct keep *keep)
{
	uint64_t cut = 0;
	uint32_t i;

	for (i = 0; i < keep->chunks.count; i++)
		cut += keep->chunks.item[i].cut;
	return cut;
}

void keep_checkpoint(struct keep *keep)
{
	free(keep->checkpoint);
	keep->checkpoint = malloc(sizeof(*keep->checkpoint));
	if (keep->checkpoint)
		*keep->checkpoint = keep->state;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static uint64_t bytes_between(const struct mt_chunk_info *list, uint32_t first, uint32_t last)
{
	return list[last].offset + list[last].size - list[first].offset;
}

/* 1: a stretch may begin at this chunk: a checkpoint, or the beginning of the file. */
static int may_begin(const struct keep *keep, const struct mt_chunk_info *list, uint32_t i)
{
	return (list[i].kind == MT_CHUNK_CHECKPOINT && keep->chunks.item[i].state) || i == 1;
}

/*
 * Finds the begin of the window of an error in chunk `last`: the latest begin with all wanted steps, or later if these
 * are too large. The window begins at the last checkpoint before the error or earlier, and never before a cut.
 */
static uint32_t window_begin(const struct keep *keep, const struct mt_chunk_info *list, uint32_t last)
{
	uint32_t step = keep->chunks.item[last].oom_step, from = step > WINDOW_STEPS ? step - WINDOW_STEPS : 1;
	uint32_t i = last, begin = last;

	while (i-- > 1) {
		if (begin != last && bytes_between(list, i, last) > keep->bytes / 4)
			break;
		if (may_begin(keep, list, i))
			begin = i;
		/* The step that runs at a chunk's end began before the next chunk. */
		if (keep->chunks.item[i].carry || (begin == i && i > 1 && keep->chunks.item[i - 1].step < from))
			break;
	}
	return begin;
}

static void window_close(struct keep *keep, struct keep_window *window)
{
	window->open = 0;
	window->last = keep->number;
	window->strings = keep->used_room;
	window->named = calloc(window->strings ? window->strings : 1, 1);
	if (window->named)
		mark_used_since(keep, window->first, window->named, window->strings);
}

static void window_start(struct keep *keep, const struct mt_chunk_info *list, struct keep_window *window, uint32_t at)
{
	free(window->named);
	*window = (struct keep_window){ .rank = keep->chunks.item[at].oom,
					.open = 1,
					.step = keep->chunks.item[at].oom_step };
	window->first = keep->chunks.item[window_begin(keep, list, at)].number;
	window->last = keep->number;
}

static uint32_t index_of(const struct keep *keep, uint64_t number)
{
	uint32_t i = keep->chunks.count;

	while (i-- > 1)
		if (keep->chunks.item[i].number <= number)
			break;
	while (i > 1 && keep->chunks.item[i - 1].number == keep->chunks.item[i].number) /* checkpoint and events */
		i--;
	return i;
}

/* Updates the windows after chunk `last`, the newest with events: begins, extends or ends them. */
static void follow_windows(struct keep *keep, const struct mt_chunk_info *list, uint32_t last)
{
	uint32_t i;
	struct keep_window *window = keep->window;
	uint8_t rank = keep->chunks.item[last].oom;

	if (rank && rank > window[0].rank) {
		window_start(keep, list, &window[0], last);
		free(window[1].named);
		window[1] = (struct keep_window){ 0 };
	} else if (rank && rank == window[0].rank) {
		window_start(keep, list, &window[1], last);
	}
	for (i = 0; i < KEEP_WINDOWS; i++) {
		if (!window[i].open)
			continue;
		window[i].last = keep->number;
		if (keep->chunks.item[last].step > window[i].step ||
		    bytes_between(list, index_of(keep, window[i].first), last) >= keep->bytes / 4)
			window_close(keep, &window[i]);
	}
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

int keep_chunks_add(struct keep_chunks *chunks, const struct keep_chunk *chunk)
{
	if (MT_ARRAY_ROOM(chunks->item, chunks->count, chunks->room))
		return -MT_E_MEMORY;
	chunks->item[chunks->count++] = *chunk;
	return 0;
}

/* The summary of the next chunk of the list. */
static struct keep_chunk next_chunk(const struct keep *keep, const struct mt_chunk_info *info)
{
	struct keep_chunk chunk = { .step = keep->chunks.count ? keep->chunks.item[keep->chunks.count - 1].step : 1 };

	if (info->kind == MT_CHUNK_EVENTS && !info->error)
		chunk = keep->now;
	if (info->kind == MT_CHUNK_CHECKPOINT)
		chunk.state = keep->checkpoint;
	chunk.number = keep->number;
	return chunk;
}

void keep_written(struct keep *keep, const struct mt_chunk_info *list, uint32_t count)
{
	uint32_t events = 0;

	while (keep->chunks.count < count) {
		const struct mt_chunk_info *info = &list[keep->chunks.count];
		struct keep_chunk chunk = next_chunk(keep, info);

		if (keep_chunks_add(&keep->chunks, &chunk)) {
			keep->error = -MT_E_MEMORY;
			return;
		}
		if (chunk.state)
			keep->checkpoint = NULL;
		if (info->kind == MT_CHUNK_EVENTS && !info->error) {
			keep->now = (struct keep_chunk){ .step = keep->now.step };
			events = keep->chunks.count - 1;
		}
	}
	if (!events)
		return;
	follow_windows(keep, list, events);
	keep->number++;
}
