/*
 * stream_over.c - the end of a process: its memory is removed.
 *
 *     process 1   alloc 34 GiB ──────────── killed
 *     process 2                                      alloc 34 GiB ─────
 *     device                34 GiB            0             34 GiB
 *
 * A dead process frees nothing by itself. Without this file its bytes would stay in every sum of the device. The sink
 * gets no death event for memory that the process never freed: the sink reports what outlives a step or a phase.
 */
#include "stream.h"

#include <stdlib.h>
#include "memtrace/error.h"

/* Whether the process goes on, or its trace is incomplete. */
static int goes_on(const struct stream *stream)
{
	const struct analysis_process *process = stream_process(stream);

	return stream->sink->idle ? stream->analysis->followed && !process->ended : process->running;
}

void stream_ends(struct stream *stream)
{
	struct analysis_process *process = stream_process(stream);

	if (process->info->snapshot || goes_on(stream))
		return;
	stream->end = STREAM_ENDS;
	if (stream->alive > stream->time)
		stream->time = stream->alive;
}

/* ---- memory that was never freed ---- */

struct survivor {
	uint64_t seq;               /* its birth */
	const struct mt_live *live; /* the ledger's */
};

struct survivors {
	struct survivor *one;
	size_t count, room;
};

static int collect_survivor(void *context, const struct mt_live *live)
{
	struct survivors *survivors = context;

	if (survivors->count < survivors->room)
		survivors->one[survivors->count++] = (struct survivor){ live->seq, live };
	return 0;
}

static int by_birth(const void *a, const void *b)
{
	const struct survivor *one = a, *two = b;

	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

/* Memory alive at the end counts as alive up to the newest step. */
static int note_survivor(void *context, const struct mt_live *live)
{
	struct stream *stream = context;

	if (stream_holds_bytes(live) && live->tag && live->tag < stream->analysis->categories.room)
		category_kept(&stream->analysis->categories.site[live->tag], live, stream_process(stream)->steps + 1);
	return stream_outlived(stream, live, OUTLIVED_STAYS);
}

/* Tells the survivors in order of birth: the same trace always gives the same database. */
static int report_survivors(struct stream *stream)
{
	struct survivors survivors = { .room = mt_ledger_count(stream->ledger) };
	size_t i;
	int error = 0;

	if (!survivors.room)
		return 0;
	survivors.one = malloc(survivors.room * sizeof(*survivors.one));
	if (!survivors.one)
		return -MT_E_MEMORY;
	mt_ledger_each(stream->ledger, collect_survivor, &survivors);
	qsort(survivors.one, survivors.count, sizeof(*survivors.one), by_birth);
	for (i = 0; i < survivors.count && !error; i++)
		error = stream_gone(stream, survivors.one[i].live, NULL, 0);
	free(survivors.one);
	return error;
}

int stream_over_tell(struct stream *stream)
{
	int error = stream_phase_end(stream);

	if (!error)
		error = stream_sample_over(stream);
	if (!error)
		error = stream_step_finish(stream);
	if (!error)
		error = mt_ledger_each(stream->ledger, note_survivor, stream);
	if (!error)
		error = outlived_settle(&stream_process(stream)->outlived, stream_process(stream)->last_step);
	stream_settle_totals(stream, 0);
	stream_process(stream)->balanced = mt_ledger_check(stream->ledger);
	if (!error && stream->sink->gone)
		error = report_survivors(stream);
	return error;
}

/* ---- removing the memory ---- */

static int take_out(void *context, const struct mt_live *live)
{
	struct stream *stream = context;

	if (stream_holds_bytes(live))
		stream_count(stream, live, -1);
	return live->kind == MT_VMM_MAP ? 0 : stream_import(stream, live, -1);
}

/* Mappings go before their physical memory: see stream_import. */
static int take_out_mapping(void *context, const struct mt_live *live)
{
	return live->kind == MT_VMM_MAP ? stream_import(context, live, -1) : 0;
}

int stream_over(struct stream *stream)
{
	struct analysis_process *process = stream_process(stream);
	struct mt_event end = { .seq = process->last_seq, .thread = 0 };
	struct mt_label label = { .phase = process->phase, .role = process->role, .step = process->step };
	int error = stream_over_tell(stream);

	process->over = 1;
	process->over_time = ++stream->time;
	process->over_seq = process->last_seq + 1;
	if (!error)
		error = mt_ledger_each(stream->ledger, take_out_mapping, stream);
	if (!error)
		error = mt_ledger_each(stream->ledger, take_out, stream);
	mt_ledger_clear(stream->ledger);
	stream->moved_count = 0; /* no sample is compared with the removal */
	if (!error && stream->analysis->attribution.failed)
		error = -MT_E_MEMORY;
	if (!error)
		stream_sums_tell(stream);
	stream_settle(stream, &end, &label);
	stream->end = STREAM_OVER;
	return error;
}
