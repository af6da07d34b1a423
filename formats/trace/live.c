/* live.c - checkpoints: the live set of a ledger as LIVE events. */
#include "live.h"
#include <stdlib.h>
#include "codec.h"
#include "memtrace/error.h"

struct live_list {
	const struct mt_live **live;
	size_t count, memories; /* the first `memories` are not tensors */
};

static int collect(void *context, const struct mt_live *live)
{
	struct live_list *list = context;

	list->live[list->count++] = live;
	if (live->kind != MT_TENSOR_ALLOC)
		list->memories = list->count;
	return 0;
}

static int older(const void *a, const void *b)
{
	const struct mt_live *one = *(const struct mt_live *const *)a, *two = *(const struct mt_live *const *)b;

	return (one->seq > two->seq) - (one->seq < two->seq);
}

static int encode_list(struct mt_encoder *encoder, const struct live_list *list, uint32_t *phases)
{
	struct mt_event event;
	size_t i;
	int error = 0;

	for (i = 0; i < list->count && !error; i++) {
		mt_live_event(list->live[i], &event);
		error = mt_encoder_add(encoder, &event);
		if (event.phase < 32)
			*phases |= 1u << event.phase;
	}
	return error;
}

int mt_live_encode(const struct mt_ledger *ledger, struct mt_chunk_info *info, struct mt_buffer *payload)
{
	struct live_list list = { 0 };
	struct mt_encoder encoder;
	int error;

	if (mt_ledger_count(ledger) > MT_CHUNK_EVENTS_MAX)
		return -MT_E_LIMIT;
	list.live = calloc(mt_ledger_count(ledger) + 1, sizeof(*list.live));
	if (!list.live)
		return -MT_E_MEMORY;
	mt_ledger_each(ledger, collect, &list);
	/* Memory stays in the ledger's order, which is the one to build it from; tensors pack best in that of birth. */
	qsort(list.live + list.memories, list.count - list.memories, sizeof(*list.live), older);
	mt_encoder_init(&encoder);
	info->phases = 0;
	error = encode_list(&encoder, &list, &info->phases);
	info->events = encoder.info.events;
	encoder.info = *info;
	if (!error)
		mt_encoder_payload(&encoder, MT_CHUNK_CHECKPOINT, payload);
	mt_encoder_release(&encoder);
	free(list.live);
	return error ? error : payload->error;
}
