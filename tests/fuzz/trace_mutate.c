/* trace_mutate.c - mutates the events of a trace; see fuzz.h. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fuzz.h"
#include "memtrace/base.h"
#include "memtrace/phase.h"
#include "memtrace/reader.h"
#include "trace/defs.h"

#define EVENTS_MAX 1024u

struct story {
	struct fuzz_random random;
	struct mt_reader *reader;
	struct mt_event event[2 * EVENTS_MAX];
	size_t count;
};

static void read_events(struct story *story)
{
	const struct mt_event *events;
	size_t count;
	int batch;

	while (!mt_reader_next(story->reader, &events, &count, &batch) && count) {
		if (batch != MT_BATCH_EVENTS)
			continue;
		if (count > EVENTS_MAX - story->count)
			count = EVENTS_MAX - story->count;
		memcpy(story->event + story->count, events, count * sizeof(*events));
		story->count += count;
	}
}

/* ---- mutations ---- */

static uint64_t *field_of(struct mt_event *event, uint32_t number)
{
	switch (number) {
#define FIELD_CASE(name, number_, encoding, meaning) \
	case number_:                                \
		return &event->name;
		MT_FIELD_LIST(FIELD_CASE)
#undef FIELD_CASE
	default:
		return &event->value;
	}
}

/* Ids stay defined ones most of the time: the reader refuses others, and a writer relies on it. */
static uint64_t id_below(struct story *story, enum mt_def kind)
{
	return fuzz_below(&story->random, (uint64_t)mt_defs_count(mt_reader_defs(story->reader), kind) + 1);
}

/* The kind of definition that the field is an id of; 0: it is none. */
static int definition_of(uint32_t number)
{
	switch (number) {
	case MT_FIELD_thread:
		return MT_DEF_THREAD;
	case MT_FIELD_stack:
		return MT_DEF_NODE;
	case MT_FIELD_device:
		return MT_DEF_DEVICE;
	case MT_FIELD_name:
		return MT_DEF_STRING;
	default:
		return 0;
	}
}

static uint64_t other_value(struct story *story, uint32_t number, uint64_t before)
{
	struct mt_event *other = &story->event[fuzz_below(&story->random, story->count)];

	switch (fuzz_below(&story->random, 4)) {
	case 0:
		return *field_of(other, number);
	case 1:
		return fuzz_number(&story->random);
	case 2:
		return before + (1ull << fuzz_below(&story->random, 24));
	default:
		return before - (1ull << fuzz_below(&story->random, 24));
	}
}

static void mutate_field(struct story *story, struct mt_event *event)
{
	uint32_t number = (uint32_t)fuzz_below(&story->random, MT_FIELD_COUNT);
	uint64_t *field = field_of(event, number);
	int kind = definition_of(number);

	if (kind)
		*field = id_below(story, (enum mt_def)kind);
	else if (number != MT_FIELD_seq)
		*field = other_value(story, number, *field);
}

static void mutate_kind(struct story *story, struct mt_event *event)
{
	static const uint8_t kinds[] = {
#define KIND_NUMBER(name, number, fields, meaning) number,
		MT_KIND_LIST(KIND_NUMBER)
#undef KIND_NUMBER
	};

	event->kind = kinds[fuzz_below(&story->random, MT_ARRAY_SIZE(kinds))];
	if (mt_kind_has_second_name(event->kind))
		event->value = id_below(story, MT_DEF_STRING);
}

/* A run of events comes again somewhere else. */
static void repeat_run(struct story *story)
{
	size_t from = fuzz_below(&story->random, story->count), to = fuzz_below(&story->random, story->count + 1);
	size_t size = 1 + fuzz_below(&story->random, story->count - from);
	struct mt_event *run;

	if (story->count + size > MT_ARRAY_SIZE(story->event))
		return;
	run = malloc(size * sizeof(*run));
	FUZZ_CHECK(run != NULL);
	memcpy(run, story->event + from, size * sizeof(*run));
	memmove(story->event + to + size, story->event + to, (story->count - to) * sizeof(*run));
	memcpy(story->event + to, run, size * sizeof(*run));
	story->count += size;
	free(run);
}

static void drop_run(struct story *story)
{
	size_t from = fuzz_below(&story->random, story->count);
	size_t size = 1 + fuzz_below(&story->random, story->count - from);

	memmove(story->event + from, story->event + from + size,
		(story->count - from - size) * sizeof(struct mt_event));
	story->count -= size;
}

static void mutate_one(struct story *story)
{
	struct mt_event *event = &story->event[fuzz_below(&story->random, story->count)];
	struct mt_event *other = &story->event[fuzz_below(&story->random, story->count)], swapped = *event;

	switch (fuzz_below(&story->random, 10)) {
	case 0:
		mutate_kind(story, event);
		break;
	case 1:
		*event = *other;
		*other = swapped;
		break;
	case 2:
		repeat_run(story);
		break;
	case 3:
		drop_run(story);
		break;
	default:
		mutate_field(story, event);
	}
}

/* ---- the trace of it ---- */

/* With the same ids as they had. */
static void copy_definitions(struct mt_defs *to, const struct mt_defs *from)
{
	union mt_definition definition;
	uint32_t id;

	for (id = 1; id <= mt_defs_count(from, MT_DEF_STRING); id++) {
		memset(&definition, 0, sizeof(definition));
		definition.string.text = mt_defs_string(from, id);
		definition.string.size = (uint32_t)mt_defs_string_size(from, id);
		mt_defs_append(to, MT_DEF_STRING, &definition);
	}
#define COPY(name, NAME)                                               \
	for (id = 1; id <= mt_defs_count(from, MT_DEF_##NAME); id++) { \
		memset(&definition, 0, sizeof(definition));            \
		definition.name = *mt_defs_##name(from, id);           \
		mt_defs_append(to, MT_DEF_##NAME, &definition);        \
	}
	COPY(module, MODULE)
	COPY(frame, FRAME)
	COPY(node, NODE)
	COPY(thread, THREAD)
	COPY(device, DEVICE)
#undef COPY
}

/* Events whose numbers do not rise any more get the next one. */
static void write_events(struct story *story, struct mt_writer *writer)
{
	uint64_t seq = 0;
	size_t i;

	for (i = 0; i < story->count; i++) {
		struct mt_event *event = &story->event[i];

		if (event->seq <= seq)
			event->seq = seq + 1;
		if (mt_writer_event(writer, event, (uint32_t)fuzz_below(&story->random, MT_PHASE_COUNT), 1))
			continue;
		seq = event->seq;
		if (!fuzz_below(&story->random, 64))
			mt_writer_flush(writer);
	}
}

static size_t write_story(struct story *story, uint8_t *data, size_t room)
{
	const char *path = fuzz_path("story.zst");
	struct mt_writer_options options = { .level = 1,
					     .chunk_events = 8u << fuzz_below(&story->random, 8),
					     .checkpoint_events = 16u << fuzz_below(&story->random, 8) };
	struct mt_writer *writer;

	unlink(path);
	if (mt_writer_open(&writer, path, mt_reader_process(story->reader), &options))
		return 0;
	copy_definitions(mt_writer_defs(writer), mt_reader_defs(story->reader));
	write_events(story, writer);
	if (mt_writer_close(writer, (int)fuzz_below(&story->random, 8)))
		return 0;
	return fuzz_read(path, data, room);
}

size_t trace_mutate_events(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct story *story = calloc(1, sizeof(*story));
	size_t made = 0, changes;

	FUZZ_CHECK(story != NULL);
	story->random.state = seed;
	if (!mt_reader_open(&story->reader, fuzz_file("mutate.zst", data, size))) {
		read_events(story);
		for (changes = 1 + fuzz_below(&story->random, 4); changes && story->count; changes--)
			mutate_one(story);
		made = write_story(story, data, room);
	}
	mt_reader_free(story->reader);
	free(story);
	return made;
}

size_t trace_mutate(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	size_t made = 0;

	if (seed % 8 > 4)
		made = trace_mutate_chunks(data, size, room, seed);
	else if (seed % 8)
		made = trace_mutate_events(data, size, room, seed);
	return made ? made : LLVMFuzzerMutate(data, size, room);
}
