/* keep_plan.c - chooses the chunks of a flight recorder that stay, and makes the carries for the others; see keep.h. */
#include <stdlib.h>
#include "keep.h"

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static uint64_t bytes_of(const struct mt_chunk_info *list, const struct keep_range *range)
{
	return list[range->last].offset + list[range->last].size - list[range->first].offset;
}

/* The first chunk with at least this number: of a checkpoint and its events, the checkpoint. */
static uint32_t find_number(const struct keep *keep, uint64_t number)
{
	uint32_t i = 1;

	while (i + 1 < keep->chunks.count && keep->chunks.item[i].number < number)
		i++;
	return i;
}

/* The last chunk with this number. */
static uint32_t find_end(const struct keep *keep, uint64_t number)
{
	uint32_t i = keep->chunks.count - 1;

	while (i > 1 && keep->chunks.item[i].number > number)
		i--;
	return i;
}

static int begins_stretch(const struct keep *keep, const struct mt_chunk_info *list, uint32_t i)
{
	return list[i].kind == MT_CHUNK_CHECKPOINT && keep->chunks.item[i].state;
}

/* The first checkpoint from `i` on that a stretch can begin with; the number of chunks: none. */
static uint32_t next_stretch(const struct keep *keep, const struct mt_chunk_info *list, uint32_t i)
{
	while (i < keep->chunks.count && !begins_stretch(keep, list, i))
		i++;
	return i;
}

static uint32_t add_windows(const struct keep *keep, const struct mt_chunk_info *list, struct keep_range *ranges)
{
	uint32_t i, count = 0;

	for (i = 0; i < KEEP_WINDOWS; i++) {
		struct keep_range *range = &ranges[count];

		if (!keep->window[i].rank)
			continue;
		range->first = find_number(keep, keep->window[i].first);
		range->last = keep->window[i].open ? keep->chunks.count - 1 : find_end(keep, keep->window[i].last);
		if (range->first > 1) /* DEFS may stand before the checkpoint */
			range->first = next_stretch(keep, list, range->first);
		count += range->first <= range->last;
	}
	return count;
}

/* Adds the earliest checkpoint with at most `most` bytes from it to the end, or else the newest checkpoint. */
static int add_newest(const struct keep *keep, const struct mt_chunk_info *list, uint64_t most,
		      struct keep_range *range)
{
	uint32_t i = next_stretch(keep, list, 1), next;

	if (i >= keep->chunks.count)
		return 0;
	*range = (struct keep_range){ .first = i, .last = keep->chunks.count - 1 };
	while (bytes_of(list, range) > most && (next = next_stretch(keep, list, range->first + 1)) < keep->chunks.count)
		range->first = next;
	return 1;
}

static int by_place(const void *a, const void *b)
{
	const struct keep_range *one = a, *two = b;

	return (one->first > two->first) - (one->first < two->first);
}

/* Joins ranges that touch. */
static uint32_t join(struct keep_range *ranges, uint32_t count)
{
	uint32_t i, kept = 0;

	qsort(ranges, count, sizeof(*ranges), by_place);
	for (i = 1; i < count; i++) {
		if (ranges[i].first > ranges[kept].last + 1)
			ranges[++kept] = ranges[i];
		else if (ranges[i].last > ranges[kept].last)
			ranges[kept].last = ranges[i].last;
	}
	return count ? kept + 1 : 0;
}

uint32_t keep_plan(const struct keep *keep, const struct mt_chunk_info *list, uint64_t defs,
		   struct keep_range ranges[KEEP_RANGES])
{
	uint32_t i, count = add_windows(keep, list, ranges);
	uint64_t newest = keep->bytes / 2, taken = defs;

	count = join(ranges, count);
	for (i = 0; i < count; i++)
		taken += bytes_of(list, &ranges[i]);
	newest = newest > taken && newest - taken > keep->bytes / 8 ? newest - taken : keep->bytes / 8;
	if (!add_newest(keep, list, newest, &ranges[count]))
		return 0;
	return join(ranges, count + 1);
}

/* ---- carries ----------------------------------------------------------------------------------------------------- */

static void add(struct mt_event *events, uint32_t *count, uint32_t room, const struct mt_event *event)
{
	if (*count < room && event->kind)
		events[(*count)++] = *event;
}

/* Sums up the chunks between `previous` and `index`, which go. */
static struct keep_chunk sum_up(const struct keep *keep, uint32_t previous, uint32_t index)
{
	struct keep_chunk sum = { 0 };
	uint32_t i, reason;

	for (i = previous + 1; i < index; i++) {
		sum.cut += keep->chunks.item[i].carry ? keep->chunks.item[i].cut : keep->chunks.item[i].events;
		for (reason = 0; reason < MT_LOSS_COUNT; reason++)
			sum.lost[reason] += keep->chunks.item[i].lost[reason];
	}
	return sum;
}

uint64_t keep_gone(const struct keep *keep, uint32_t previous, uint32_t index)
{
	return sum_up(keep, previous, index).cut;
}

uint32_t keep_carry(const struct keep *keep, const struct mt_chunk_info *list, uint32_t index, uint32_t previous,
		    uint64_t after, struct mt_event *events)
{
	const struct mt_chunk_info *checkpoint = &list[index];
	const struct keep_state *state = keep->chunks.item[index].state;
	struct keep_chunk sum = sum_up(keep, previous, index);
	uint64_t numbers = checkpoint->first_seq - after;
	uint32_t room = numbers < KEEP_CARRY_MAX ? (uint32_t)numbers : KEEP_CARRY_MAX, count = 0, i;
	struct mt_event cut = { .kind = MT_CUT, .value = sum.cut };

	if (checkpoint->first_seq <= after || numbers < 2)
		return 0;
	add(events, &count, room, &cut);
	add(events, &count, room, &state->step);
	for (i = 0; i < MT_LOSS_COUNT; i++)
		if (sum.lost[i])
			add(events, &count, room,
			    &(struct mt_event){ .kind = MT_LOST, .value = sum.lost[i], .flags = i });
	for (i = 0; i < MT_SOURCE_COUNT; i++)
		add(events, &count, room, &state->source[i]);
	for (i = 0; i < state->opens; i++)
		add(events, &count, room, &state->open[i]);
	for (i = 0; i < count; i++) {
		events[i].seq = checkpoint->first_seq - count + 1 + i;
		events[i].time = checkpoint->first_time;
	}
	return count;
}
