/* import_entries.c - reads the history of a snapshot, device_traces and external_annotations, in the order of time. */
#include <stdlib.h>
#include <string.h>
#include "import_impl.h"
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

static int add(struct import_entries *entries, const struct import_entry *entry)
{
	if (entries->count == UINT32_MAX)
		return -MT_E_LIMIT;
	if (MT_ARRAY_ROOM(entries->entry, entries->count, entries->room))
		return -MT_E_MEMORY;
	entries->entry[entries->count] = *entry;
	entries->entry[entries->count].order = (uint32_t)entries->count;
	entries->count++;
	return 0;
}

/* ---- words ---- */

/* The keys of an entry. X(NAME, key in the snapshot) */
#define KEY_LIST(X)                   \
	X(ACTION, "action")           \
	X(ADDR, "addr")               \
	X(DEVICE_FREE, "device_free") \
	X(SIZE, "size")               \
	X(FRAMES, "frames")           \
	X(TIME, "time_us")            \
	X(STAGE, "stage")             \
	X(NAME, "name")

enum key {
#define KEY_ENUM(name, word) KEY_##name,
	KEY_LIST(KEY_ENUM)
#undef KEY_ENUM
		KEYS
};

#define WORDS_KNOWN 64u
#define PAIRS_KNOWN 16u

/* Finds a text in a list of words. A pickle has each text once, and refers to it by number: a cache by number avoids most comparisons of texts. */
struct words {
	const struct pickle *pickle;
	const char *const *word;
	uint32_t count;
	struct {
		pickle_id text; /* 0: the entry is empty */
		uint32_t number;
	} known[WORDS_KNOWN];
};

/* Returns the index of the word; words->count: the list does not have it. */
static uint32_t look_up(struct words *words, pickle_id text)
{
	uint32_t i = 0;

	while (i < words->count && !pickle_is(words->pickle, text, words->word[i]))
		i++;
	words->known[text % WORDS_KNOWN].text = text;
	words->known[text % WORDS_KNOWN].number = i;
	return i;
}

static inline uint32_t number_of(struct words *words, pickle_id text)
{
	if (text && words->known[text % WORDS_KNOWN].text == text)
		return words->known[text % WORDS_KNOWN].number;
	return look_up(words, text);
}

#define VISITS 2u         /* an entry of host_traces is visited twice */
#define VISITS_FREE 1024u /* for the smallest files */

int import_visit(const struct pickle *pickle, pickle_id value, uint64_t *steps)
{
	*steps += 1 + (uint64_t)pickle_count(pickle, value);
	return *steps > VISITS * pickle_bytes(pickle) + VISITS_FREE ? -MT_E_LIMIT : 0;
}

/* The state while a container is read: a cache of its words. */
struct entry_reader {
	struct import_entries *entries;
	const struct pickle *pickle;
	struct words keys, actions;
	uint64_t steps; /* see import_visit */
	struct {
		pickle_id text;
		uint32_t key;
	} pair[PAIRS_KNOWN]; /* keys of the previous dict: most dicts have the same keys in the same order */
};

static void reader_init(struct entry_reader *reader, struct import_entries *entries, const struct pickle *pickle)
{
	static const char *const keys[] = {
#define KEY_WORD(name, word) word,
		KEY_LIST(KEY_WORD)
#undef KEY_WORD
	};
	static const char *const actions[] = {
#define ACTION_WORD(name, word) word,
		IMPORT_ACTION_LIST(ACTION_WORD)
#undef ACTION_WORD
	};

	memset(reader, 0, sizeof(*reader));
	reader->entries = entries;
	reader->pickle = pickle;
	reader->keys = (struct words){ .pickle = pickle, .word = keys, .count = MT_ARRAY_SIZE(keys) };
	reader->actions = (struct words){ .pickle = pickle, .word = actions, .count = MT_ARRAY_SIZE(actions) };
}

/* Returns the key of pair `i`; KEYS: the key is not used here. */
static uint32_t key_of(struct entry_reader *reader, uint32_t i, pickle_id text)
{
	uint32_t key = number_of(&reader->keys, text);

	if (i < PAIRS_KNOWN) {
		reader->pair[i].text = text;
		reader->pair[i].key = key;
	}
	return key;
}

/* Reads the values of a dict by enum key; 0: the dict does not have the key. The last one of repeated keys counts. */
static void read_fields(struct entry_reader *reader, pickle_id from, pickle_id field[KEYS + 1])
{
	uint32_t pairs, i, key;
	const pickle_id *pair = pickle_pairs(reader->pickle, from, &pairs);

	memset(field, 0, (KEYS + 1) * sizeof(*field));
	for (i = 0; i < pairs; i++, pair += 2) {
		key = i < PAIRS_KNOWN && reader->pair[i].text == pair[0] ? reader->pair[i].key
									 : key_of(reader, i, pair[0]);
		field[key] = pair[1];
	}
}

/* ---- entries ---- */

/* Converts microseconds to ns, not below `latest`: the clock is read outside of the allocator's lock. */
static uint64_t time_of(const struct pickle *pickle, pickle_id from, uint64_t latest)
{
	int64_t us = pickle_int(pickle, from, 0);
	uint64_t time = us > 0 && us < INT64_MAX / 1000 ? (uint64_t)us * 1000 : 0;

	return time > latest ? time : latest;
}

/*
 * Returns the action of an entry of the allocator of pinned memory; IMPORT_ACTIONS: the entry moves no memory. If the allocator reports segments and
 * the blocks in them, the segments count. If it reports only blocks, the blocks count.
 */
static uint32_t host_action(uint32_t action, int has_segments)
{
	if (action == (has_segments ? IMPORT_SEGMENT_ALLOC : IMPORT_ALLOC))
		return IMPORT_HOST_ALLOC;
	return action == (has_segments ? IMPORT_SEGMENT_FREE : IMPORT_FREE_COMPLETED) ? IMPORT_HOST_FREE
										      : IMPORT_ACTIONS;
}

static int read_entry(struct entry_reader *reader, pickle_id from, uint32_t device, uint64_t *latest)
{
	const struct pickle *pickle = reader->pickle;
	struct import_entry entry = { .device = (uint8_t)device };
	pickle_id field[KEYS + 1];
	uint32_t action;

	if (import_visit(pickle, from, &reader->steps))
		return -MT_E_LIMIT;
	read_fields(reader, from, field);
	action = number_of(&reader->actions, field[KEY_ACTION]);
	if (action >= IMPORT_RANGE_START) {
		reader->entries->unknown++;
		return 0;
	}
	entry.action = (uint8_t)action;
	entry.addr = (uint64_t)pickle_int(pickle, field[action == IMPORT_OOM ? KEY_DEVICE_FREE : KEY_ADDR], 0);
	entry.size = (uint64_t)pickle_int(pickle, field[KEY_SIZE], 0);
	entry.frames = field[KEY_FRAMES];
	entry.time = *latest = time_of(pickle, field[KEY_TIME], *latest);
	return add(reader->entries, &entry);
}

static int read_traces(struct entry_reader *reader, pickle_id traces)
{
	const struct pickle *pickle = reader->pickle;
	uint32_t device, devices = pickle_count(pickle, traces), count, i;
	int error = 0;

	for (device = 0; device < devices && device < IMPORT_DEVICES; device++) {
		pickle_id trace = pickle_item(pickle, traces, device);
		uint64_t latest = 0;

		count = pickle_count(pickle, trace);
		for (i = 0; i < count && !error; i++)
			error = read_entry(reader, pickle_item(pickle, trace, i), device, &latest);
		reader->entries->has_times |= latest != 0;
	}
	return error;
}

/* Calls `each` for each entry of a list of entries, or of a list of such lists. */
static int each_host(struct entry_reader *reader, pickle_id traces, int depth,
		     int (*each)(struct entry_reader *reader, pickle_id entry, void *context), void *context)
{
	uint32_t count = pickle_count(reader->pickle, traces), i;
	pickle_id item;
	int error = 0;

	for (i = 0; i < count && !error; i++) {
		item = pickle_item(reader->pickle, traces, i);
		error = import_visit(reader->pickle, item, &reader->steps);
		if (error)
			break;
		if (pickle_type(reader->pickle, item) == PICKLE_DICT)
			error = each(reader, item, context);
		else if (depth)
			error = each_host(reader, item, depth - 1, each, context);
	}
	return error;
}

struct host_state {
	int has_segments;
	uint64_t latest;
};

static int look_for_segments(struct entry_reader *reader, pickle_id entry, void *context)
{
	struct host_state *state = context;
	uint32_t action = number_of(&reader->actions, pickle_get(reader->pickle, entry, "action"));

	state->has_segments |= action == IMPORT_SEGMENT_ALLOC || action == IMPORT_SEGMENT_FREE;
	return 0;
}

static int read_host_entry(struct entry_reader *reader, pickle_id from, void *context)
{
	struct host_state *state = context;
	struct import_entries *entries = reader->entries;
	size_t before = entries->count;
	int error = read_entry(reader, from, 0, &state->latest);
	uint32_t action;

	if (error || entries->count == before)
		return error;
	action = host_action(entries->entry[before].action, state->has_segments);
	entries->entry[before].action = (uint8_t)action;
	if (action == IMPORT_ACTIONS)
		entries->count = before;
	return 0;
}

static int read_host(struct entry_reader *reader, pickle_id traces)
{
	struct host_state state = { 0 };
	int error = each_host(reader, traces, 1, look_for_segments, &state);

	if (!error)
		error = each_host(reader, traces, 1, read_host_entry, &state);
	reader->entries->has_times |= state.latest != 0;
	return error;
}

/* Reads the ranges that programs have opened with record_function. */
static int read_ranges(struct entry_reader *reader, pickle_id ranges)
{
	const struct pickle *pickle = reader->pickle;
	uint32_t count = pickle_count(pickle, ranges), i;
	pickle_id field[KEYS + 1];
	int error = 0;

	for (i = 0; i < count && !error; i++) {
		struct import_entry entry = { 0 };
		uint32_t action;

		error = import_visit(pickle, pickle_item(pickle, ranges, i), &reader->steps);
		if (error)
			break;
		read_fields(reader, pickle_item(pickle, ranges, i), field);
		action = number_of(&reader->actions, field[KEY_STAGE]);
		entry.action = (uint8_t)action;
		entry.name = field[KEY_NAME];
		entry.time = time_of(pickle, field[KEY_TIME], 0);
		if (action == IMPORT_RANGE_START || action == IMPORT_RANGE_END)
			error = add(reader->entries, &entry);
		else
			reader->entries->unknown++;
	}
	return error;
}

/* ---- order ---- */

static int by_time(const void *a, const void *b)
{
	const struct import_entry *one = a, *two = b;

	if (one->time != two->time)
		return one->time < two->time ? -1 : 1;
	return one->order < two->order ? -1 : one->order > two->order;
}

/* Merges two sorted parts. The parts meet at `middle`. Entries of equal time keep the order of the file. */
static int merge(struct import_entries *entries, size_t middle)
{
	struct import_entry *entry = entries->entry, *later;
	size_t count = entries->count - middle, at = entries->count;

	if (!middle || !count || by_time(&entry[middle - 1], &entry[middle]) < 0)
		return 0;
	later = malloc(count * sizeof(*later));
	if (!later)
		return -MT_E_MEMORY;
	memcpy(later, entry + middle, count * sizeof(*later));
	while (count)
		if (middle && by_time(&entry[middle - 1], &later[count - 1]) > 0)
			entry[--at] = entry[--middle];
		else
			entry[--at] = later[--count];
	free(later);
	return 0;
}

/* Sorts the entries by time. The history of one device is sorted, and few snapshots have several devices. The ranges are sorted alone, and merged. */
static int put_in_order(struct import_entries *entries, size_t histories)
{
	struct import_entry *entry = entries->entry;
	size_t ordered = 1;

	while (ordered < histories && by_time(&entry[ordered - 1], &entry[ordered]) < 0)
		ordered++;
	if (ordered < histories)
		qsort(entry, histories, sizeof(*entry), by_time);
	if (entries->count > histories)
		qsort(entry + histories, entries->count - histories, sizeof(*entry), by_time);
	return merge(entries, histories);
}

int import_entries_read(struct import_entries *entries, const struct pickle *pickle)
{
	pickle_id root = pickle_root(pickle), traces = pickle_get(pickle, root, "device_traces");
	struct entry_reader reader;
	size_t histories;
	int error;

	memset(entries, 0, sizeof(*entries));
	if (pickle_type(pickle, root) == PICKLE_LIST) /* torch.cuda.memory_snapshot(): only segments */
		return 0;
	if (!traces && !pickle_get(pickle, root, "segments"))
		return -MT_E_CORRUPT;
	reader_init(&reader, entries, pickle);
	error = read_traces(&reader, traces);
	if (!error)
		error = read_host(&reader, pickle_get(pickle, root, "host_traces"));
	histories = entries->count;
	if (!error && entries->has_times)
		error = read_ranges(&reader, pickle_get(pickle, root, "external_annotations"));
	return error ? error : put_in_order(entries, histories);
}

void import_entries_release(struct import_entries *entries)
{
	free(entries->entry);
	memset(entries, 0, sizeof(*entries));
}
