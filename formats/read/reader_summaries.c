/* reader_summaries.c - the records of memtrace/summary.h, without a look at the events. */
#include "memtrace/error.h"
#include "memtrace/summary.h"
#include "reader_file.h"
#include "reader_impl.h"
#include "summary/history.h"
#include "trace/chunk.h"

/* The state of handing out records. After damage, a record's changes refer to a lost record. */
struct handing {
	int (*take)(void *context, const struct mt_summary *summary);
	void *context;
	struct history_reading reading;
	int broken; /* 1: damage; records are skipped until one with `anew` */
};

static int begin_chunk(struct mt_unpacker *unpacker, const struct mt_chunk_info *info, const struct mt_defs *defs,
		       struct history_reading *reading)
{
	struct mt_zframe frame;
	struct mt_cursor payload;
	int error = mt_unpacker_find(unpacker, info->offset, info->size, &frame);

	if (!error && (frame.skippable || frame.size != info->size))
		error = -MT_E_CORRUPT;
	if (!error)
		error = mt_unpacker_unpack(unpacker, &payload);
	if (!error && mt_payload_kind(&payload) != MT_CHUNK_SUMMARIES)
		error = -MT_E_CORRUPT;
	return error ? error : history_reading_begin(reading, defs, &payload);
}

/* Hands out the records of the current chunk, up to damage. *result: the result of `take`. 0 or -MT_E_x. */
static int hand_out(struct handing *handing, int *result)
{
	int more = 0;

	while (!*result && (more = history_reading_next(&handing->reading)) > 0) {
		handing->broken &= !handing->reading.record.anew;
		if (!handing->broken)
			*result = handing->take(handing->context, &handing->reading.record);
	}
	return more < 0 ? more : 0;
}

int mt_reader_summaries(struct mt_reader *reader, int (*take)(void *context, const struct mt_summary *summary),
			void *context)
{
	struct handing handing = { .take = take, .context = context };
	const struct mt_chunk_info *list;
	struct mt_unpacker *unpacker = NULL;
	uint32_t count, i;
	int error = mt_reader_wake(reader, &unpacker), damage;

	list = mt_reader_chunks(reader, &count);
	for (i = 0; i < count && !error; i++) {
		if (list[i].error && !list[i].kind)
			handing.broken = 1; /* an unreadable chunk may have held records */
		if (list[i].kind != MT_CHUNK_SUMMARIES)
			continue;
		damage = list[i].error ? list[i].error
				       : begin_chunk(unpacker, &list[i], mt_reader_defs(reader), &handing.reading);
		if (!damage)
			damage = hand_out(&handing, &error);
		if (damage == -MT_E_MEMORY || damage == -MT_E_SYSTEM)
			error = damage;
		handing.broken |= damage != 0;
	}
	mt_reader_sleep(reader);
	history_reading_release(&handing.reading);
	return error;
}
