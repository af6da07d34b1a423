/* reader_summaries.c - the records of memtrace/summary.h, without a look at the events. */
#include "memtrace/error.h"
#include "memtrace/summary.h"
#include "reader_file.h"
#include "reader_impl.h"
#include "summary/history.h"
#include "trace/chunk.h"

/* Records after damage say what changed since records that are gone. */
struct handing {
	int (*take)(void *context, const struct mt_summary *summary);
	void *context;
	struct history history; /* the records of one chunk */
	int broken;             /* the next one that begins anew ends it */
};

static int hand_out(struct handing *handing)
{
	size_t i;
	int result = 0;

	for (i = 0; i < handing->history.records && !result; i++) {
		handing->broken &= !handing->history.record[i].anew;
		if (!handing->broken)
			result = handing->take(handing->context, &handing->history.record[i]);
	}
	history_clear(&handing->history);
	return result;
}

static int read_chunk(struct mt_unpacker *unpacker, const struct mt_chunk_info *info, const struct mt_defs *defs,
		      struct history *history)
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
	return error ? error : history_decode(history, defs, &payload);
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
			handing.broken = 1; /* it may have been one */
		if (list[i].kind != MT_CHUNK_SUMMARIES)
			continue;
		damage = list[i].error ? list[i].error
				       : read_chunk(unpacker, &list[i], mt_reader_defs(reader), &handing.history);
		if (damage == -MT_E_MEMORY || damage == -MT_E_SYSTEM)
			error = damage;
		if (!error)
			error = hand_out(&handing);
		handing.broken |= damage != 0;
	}
	mt_reader_sleep(reader);
	history_release(&handing.history);
	return error;
}
