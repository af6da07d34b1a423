/*
 * stream_checkpoint.c - a checkpoint that stands for events the trace does not have: the recording began late, events
 * were let go (--keep), or are damaged. Memory that was alive before is in the checkpoint, or went in the gap.
 */
#include "stream.h"

#include <stdlib.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

/* The category of bytes of which only the phase is known. */
static enum mt_category category_of(const struct mt_rules *rules, uint8_t phase)
{
#define FLAT(name, number, word, flat) MT_PHASE_##flat,
	static const uint8_t of_role[] = { MT_ROLE_LIST(FLAT) };
	static const uint8_t of_part[] = { MT_PART_LIST(FLAT) };
#undef FLAT
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(of_part); i++)
		if (of_part[i] == phase)
			return mt_rules_category(rules, MT_ROLE_NONE, (enum mt_part)i);
	for (i = 0; i < MT_ARRAY_SIZE(of_role); i++)
		if (of_role[i] == phase)
			return mt_rules_category(rules, (enum mt_role)i, MT_PART_NONE);
	return MT_CATEGORY_OTHER;
}

/*
 * The label at birth of the next event. The phase at birth is known. Rules of the stack count only where they agree
 * with the phase.
 */
static struct mt_label label_at_birth(struct stream *stream, const struct mt_event *event)
{
	struct mt_label label = stream->label[stream->next];
	uint8_t phase = event->phase < MT_PHASE_COUNT ? (uint8_t)event->phase : MT_PHASE_OTHER;

	if (label.phase != phase && !(phase == MT_PHASE_BEFORE && label.phase == MT_PHASE_INIT))
		label.category = (uint8_t)category_of(stream->rules, phase);
	label.phase = phase;
	label.step = event->step <= UINT32_MAX ? (uint32_t)event->step : 0;
	return label;
}

/* ---- memory that was alive before -------------------------------------------------------------------------------- */

struct before {
	struct mt_live *live;
	uint8_t *stays;
	size_t count, room;
	int known;  /* the event looked up last belongs to memory that was alive before */
	int asleep; /* this memory is a tensor that was not fully resident */
};

static int collect(void *context, const struct mt_live *live)
{
	struct before *before = context;

	if (before->count < before->room)
		before->live[before->count++] = *live;
	return 0;
}

static int by_birth(const void *a, const void *b)
{
	const struct mt_live *one = a, *two = b;

	return one->seq != two->seq ? (one->seq > two->seq) - (one->seq < two->seq)
				    : (one->kind > two->kind) - (one->kind < two->kind);
}

/*
 * Takes all memory out of the books. The memory of the checkpoint comes in again afterwards. Mappings go first: see
 * stream_import.
 */
static int take_out(struct stream *stream, const struct before *before)
{
	int error = 0;
	size_t i;

	for (i = 0; i < before->count && !error; i++)
		if (before->live[i].kind == MT_VMM_MAP)
			error = stream_import(stream, &before->live[i], -1);
	for (i = 0; i < before->count && !error; i++) {
		if (before->live[i].kind == MT_VMM_MAP)
			continue;
		stream_count(stream, &before->live[i], -1);
		error = stream_import(stream, &before->live[i], -1);
	}
	mt_ledger_clear(stream->ledger);
	return error;
}

static int begin(struct stream *stream, struct before *before)
{
	before->room = mt_ledger_count(stream->ledger);
	before->live = calloc(before->room + 1, sizeof(*before->live));
	before->stays = calloc(before->room + 1, 1);
	if (!before->live || !before->stays)
		return -MT_E_MEMORY;
	mt_ledger_each(stream->ledger, collect, before);
	qsort(before->live, before->count, sizeof(*before->live), by_birth);
	return take_out(stream, before);
}

/* Returns the site of memory that was alive before, and marks it as staying. 0: not alive before. */
static uint32_t known_site(struct before *before, const struct mt_event *event)
{
	struct mt_live key = { .seq = event->seq, .kind = (uint32_t)event->value }, *found;

	before->known = before->asleep = 0;
	found = bsearch(&key, before->live, before->count, sizeof(key), by_birth);
	if (!found || found->addr != (found->kind == MT_VMM_CREATE ? event->handle : event->addr))
		return 0;
	before->known = before->stays[found - before->live] = 1;
	before->asleep = found->kind == MT_TENSOR_ALLOC && !found->resident;
	return found->tag <= UINT32_MAX ? (uint32_t)found->tag : 0;
}

/*
 * Tells the sink of memory that went unseen. It went where the gap begins (stream_gap); or at the gap's event, if the
 * checkpoint was read too late.
 */
static int tell_gone(struct stream *stream, const struct before *before, uint32_t step)
{
	const struct mt_event *gap = stream->gap.kind ? &stream->gap : NULL;
	uint64_t seq = gap ? gap->seq : stream_process(stream)->last_seq;
	int64_t time = gap ? analysis_time(stream_process(stream), gap->time) : stream->time;
	int error = 0;
	size_t i;

	for (i = 0; i < before->count && !error; i++) {
		if (before->stays[i])
			continue;
		stream_named_died(stream, &before->live[i], seq, time);
		error = stream_outlived(stream, &before->live[i], step);
		if (!error)
			error = stream_gone(stream, &before->live[i], gap, step);
	}
	return error;
}

/* ---- the checkpoint ---------------------------------------------------------------------------------------------- */

/* Memory of a checkpoint was born before the events that follow. A checkpoint has no order. */
static void note_birth(struct stream *stream, const struct mt_event *event, int64_t *newest)
{
	struct analysis_process *process = stream_process(stream);
	int64_t time = analysis_time(process, event->time);

	if (event->seq > process->last_seq)
		process->last_seq = event->seq;
	if (time > *newest)
		*newest = time;
}

/* `known`: leave out memory that was born in the gap. */
static int take_live(struct stream *stream, struct before *before, int known)
{
	int64_t newest = stream->started ? stream->time : INT64_MIN;
	const struct mt_event *event = NULL;
	struct mt_label label = { 0 };
	struct mt_event last;
	uint32_t site;
	int error = 0;

	for (; stream->next < stream->count && !error; stream->next++) {
		event = &stream->event[stream->next];
		label = label_at_birth(stream, event);
		site = known_site(before, event);
		if (known && !before->known)
			continue;
		stream->resident.was_asleep = before->asleep;
		error = stream_book(stream, event, &label, site);
		note_birth(stream, event, &newest);
	}
	if (error || !event)
		return error;
	stream->time = newest;
	last = *event;
	last.seq = stream_process(stream)->last_seq;
	stream_settle(stream, &last, &label);
	return 0;
}

static int take_checkpoint(struct stream *stream, int known)
{
	struct before before = { 0 };
	uint32_t step = stream_process(stream)->step;
	int error = begin(stream, &before);

	stream_sample_checkpoint(stream);
	stream->unsettled.count = 0; /* the books are empty now */
	if (!error)
		error = take_live(stream, &before, known);
	if (!error)
		error = tell_gone(stream, &before, step);
	free(before.live);
	free(before.stays);
	return error;
}

int stream_checkpoint(struct stream *stream)
{
	int error = take_checkpoint(stream, 0);

	stream->carrying = 0;
	stream->gap.kind = 0;
	return error;
}

int stream_checkpoint_known(struct stream *stream)
{
	return take_checkpoint(stream, 1);
}
