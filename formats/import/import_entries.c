/* import_entries.c - the history of a snapshot: device_traces and external_annotations, in the order of time. */
#include <stdlib.h>
#include <string.h>
#include "import_impl.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

static int add(struct import_entries *entries, const struct import_entry *entry)
{
	size_t room = entries->room ? entries->room * 2 : 1024;
	struct import_entry *larger;

	if (entries->count == UINT32_MAX)
		return -MT_E_LIMIT;
	if (entries->count == entries->room) {
		larger = realloc(entries->entry, room * sizeof(*larger));
		if (!larger)
			return -MT_E_MEMORY;
		entries->entry = larger;
		entries->room = room;
	}
	entries->entry[entries->count] = *entry;
	entries->entry[entries->count].order = (uint32_t)entries->count;
	entries->count++;
	return 0;
}

/* IMPORT_ACTIONS: none of them. */
static enum import_action action_of(const struct pickle *pickle, pickle_id word)
{
	static const char *const words[] = {
#define ACTION_WORD(name, word) word,
		IMPORT_ACTION_LIST(ACTION_WORD)
#undef ACTION_WORD
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(words); i++)
		if (pickle_is(pickle, word, words[i]))
			break;
	return (enum import_action)i;
}

/* Microseconds to ns, never back: the clock is read outside the allocator's lock. */
static uint64_t time_of(const struct pickle *pickle, pickle_id from, uint64_t latest)
{
	int64_t us = pickle_int(pickle, pickle_get(pickle, from, "time_us"), 0);
	uint64_t time = us > 0 && us < INT64_MAX / 1000 ? (uint64_t)us * 1000 : 0;

	return time > latest ? time : latest;
}

static int read_entry(struct import_entries *entries, const struct pickle *pickle, pickle_id from, uint32_t device,
		      uint64_t *latest)
{
	enum import_action action = action_of(pickle, pickle_get(pickle, from, "action"));
	struct import_entry entry = { .action = (uint8_t)action, .device = (uint8_t)device };

	if (action >= IMPORT_RANGE_START) {
		entries->unknown++;
		return 0;
	}
	entry.addr = (uint64_t)pickle_int(pickle, pickle_get(pickle, from, action == IMPORT_OOM ? "device_free" : "addr"), 0);
	entry.size = (uint64_t)pickle_int(pickle, pickle_get(pickle, from, "size"), 0);
	entry.frames = pickle_get(pickle, from, "frames");
	entry.time = *latest = time_of(pickle, from, *latest);
	return add(entries, &entry);
}

static int read_traces(struct import_entries *entries, const struct pickle *pickle, pickle_id traces)
{
	uint32_t device, devices = pickle_count(pickle, traces), i;
	int error = 0;

	for (device = 0; device < devices && device < IMPORT_DEVICES; device++) {
		pickle_id trace = pickle_item(pickle, traces, device);
		uint64_t latest = 0;

		for (i = 0; i < pickle_count(pickle, trace) && !error; i++)
			error = read_entry(entries, pickle, pickle_item(pickle, trace, i), device, &latest);
		entries->has_times |= latest != 0;
	}
	return error;
}

/* Ranges that programs opened with record_function. */
static int read_ranges(struct import_entries *entries, const struct pickle *pickle, pickle_id ranges)
{
	uint32_t i;
	int error = 0;

	for (i = 0; i < pickle_count(pickle, ranges) && !error; i++) {
		pickle_id from = pickle_item(pickle, ranges, i);
		enum import_action action = action_of(pickle, pickle_get(pickle, from, "stage"));
		struct import_entry entry = { .action = (uint8_t)action, .name = pickle_get(pickle, from, "name") };

		entry.time = time_of(pickle, from, 0);
		if (action == IMPORT_RANGE_START || action == IMPORT_RANGE_END)
			error = add(entries, &entry);
		else
			entries->unknown++;
	}
	return error;
}

static int by_time(const void *a, const void *b)
{
	const struct import_entry *one = a, *two = b;

	if (one->time != two->time)
		return one->time < two->time ? -1 : 1;
	return one->order < two->order ? -1 : one->order > two->order;
}

int import_entries_read(struct import_entries *entries, const struct pickle *pickle)
{
	pickle_id root = pickle_root(pickle), traces = pickle_get(pickle, root, "device_traces");
	int error;

	memset(entries, 0, sizeof(*entries));
	if (pickle_type(pickle, root) == PICKLE_LIST) /* torch.cuda.memory_snapshot(): segments alone */
		return 0;
	if (!traces && !pickle_get(pickle, root, "segments"))
		return -MT_E_CORRUPT;
	error = read_traces(entries, pickle, traces);
	if (!error && entries->has_times)
		error = read_ranges(entries, pickle, pickle_get(pickle, root, "external_annotations"));
	if (!error && entries->count)
		qsort(entries->entry, entries->count, sizeof(*entries->entry), by_time);
	return error;
}

void import_entries_release(struct import_entries *entries)
{
	free(entries->entry);
	memset(entries, 0, sizeof(*entries));
}
