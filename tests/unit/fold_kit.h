/* fold_kit.h - for tests of the fold: a ring, a trace folded from it, and the trace's events in memory. */
#ifndef FOLD_KIT_H
#define FOLD_KIT_H

#include "memtrace/error.h"
#include "memtrace/fold.h"
#include "memtrace/reader.h"
#include "ring_builder.h"
#include "test.h"

#define KIT_LOG_BYTES (1u << 20)
#define KIT_SHIFT 6 /* seq of ring event n is n << KIT_SHIFT */

struct kit {
	struct ring_builder builder;
	char ring[512], trace[512], recovered[512];
	struct mt_rules *rules;
	struct mt_fold *fold;
	struct mt_fold_summary summary;
	/* The trace, once it was read. */
	struct mt_reader *reader;
	struct mt_event *events;
	size_t count;
};

static inline void kit_init(struct kit *kit, uint32_t slots, uint32_t slot_bytes)
{
	const char *dir = test_dir();
	char message[512];

	memset(kit, 0, sizeof(*kit));
	snprintf(kit->ring, sizeof(kit->ring), "%s/ring", dir);
	snprintf(kit->trace, sizeof(kit->trace), "%s/trace.zst", dir);
	snprintf(kit->recovered, sizeof(kit->recovered), "%s/recovered.zst", dir);
	CHECK(!ring_builder_open(&kit->builder, kit->ring, slots, slot_bytes, KIT_LOG_BYTES));
	CHECK_EQ(mt_rules_new(&kit->rules, message, sizeof(message)), 0);
}

static inline void kit_release(struct kit *kit)
{
	mt_reader_free(kit->reader);
	free(kit->events);
	mt_rules_free(kit->rules);
	ring_builder_close(&kit->builder);
}

static inline void kit_open(struct kit *kit, const struct mt_fold_options *options)
{
	CHECK_EQ(mt_fold_open(&kit->fold, kit->ring, kit->rules, options), 0);
	CHECK_EQ(mt_fold_create(kit->fold, kit->trace), 0);
}

/* Folds until nothing is left, as after the target's death. Returns the last status. */
static inline int kit_run_final(struct kit *kit)
{
	uint64_t folded;
	int status;

	do
		status = mt_fold_run(kit->fold, 1, &folded);
	while (!status && folded);
	return status;
}

static inline void kit_close(struct kit *kit, enum mt_end why)
{
	CHECK_EQ(mt_fold_close(kit->fold, why, &kit->summary), 0);
	kit->fold = NULL;
}

static inline void kit_read(struct kit *kit, const char *path)
{
	const struct mt_event *events;
	size_t count;
	int checkpoint;

	mt_reader_free(kit->reader);
	kit->count = 0;
	CHECK_EQ(mt_reader_open(&kit->reader, path), 0);
	for (;;) {
		CHECK_EQ(mt_reader_next(kit->reader, &events, &count, &checkpoint), 0);
		if (!count)
			break;
		if (checkpoint)
			continue;
		kit->events = realloc(kit->events, (kit->count + count) * sizeof(*events));
		CHECK(kit->events);
		memcpy(kit->events + kit->count, events, count * sizeof(*events));
		kit->count += count;
	}
	CHECK_EQ(mt_reader_state(kit->reader)->error, 0);
	CHECK_EQ(mt_reader_state(kit->reader)->complete, 1);
}

/* The whole way with options or NULL, and the trace read. */
static inline void kit_fold(struct kit *kit, const struct mt_fold_options *options)
{
	kit_open(kit, options);
	CHECK(kit_run_final(kit) >= 0);
	kit_close(kit, MT_END_EXIT);
	kit_read(kit, kit->trace);
}

/* The index-th event of a kind, NULL: there are fewer. */
static inline const struct mt_event *kit_find(const struct kit *kit, uint32_t kind, size_t index)
{
	size_t i;

	for (i = 0; i < kit->count; i++)
		if (kit->events[i].kind == kind && !index--)
			return &kit->events[i];
	return NULL;
}

static inline const char *kit_string(const struct kit *kit, uint64_t id)
{
	return mt_defs_string(mt_reader_defs(kit->reader), (uint32_t)id);
}

/* Sum of what LOST events tell for one reason. */
static inline uint64_t kit_lost(const struct kit *kit, enum mt_loss reason)
{
	const struct mt_event *event;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; (event = kit_find(kit, MT_LOST, i)); i++)
		if (event->flags == (uint64_t)reason)
			sum += event->value;
	return sum;
}

static inline struct ring_event kit_event(uint32_t kind)
{
	return (struct ring_event){ .kind = (uint8_t)kind, .device_type = -1, .device_index = -1 };
}

#endif
