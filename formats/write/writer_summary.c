/*
 * writer_summary.c - makes the records of memtrace/summary.h, and thins them out when a flight recorder drops events.
 */
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "trace/chunk.h"
#include "writer_impl.h"

#define EVENTS_MAX (1u << 20) /* events between two records while no step has ended; as between checkpoints */
#define SECONDS_MAX 10u       /* s between two records while no step has ended, so `memana live` shows no older state */
#define DUE_EVENTS 65536u     /* events between two chunks of records; as in an EVENTS chunk */
#define RECORDS_MAX 1024u     /* a flight recorder has no more: a screen has as many dots */
#define WAITING_MAX 16384u    /* most waiting records, such as with a full disk; more are thinned out */
#define HISTORY_PART 8u       /* an eighth of a flight recorder's bytes, before they are packed: some 4 % of the file */

/* Without memory there are no summaries from here on: readers read the events. */
static void give_up(struct mt_writer *writer)
{
	tally_free(writer->tally);
	writer->tally = NULL;
}

static void add_record(struct mt_writer *writer, const struct mt_event *event, enum mt_summary_why why)
{
	struct mt_summary record = { .seq = event->seq, .time = event->time, .why = why, .step = writer->step + 1 };
	int error;

	if (why == MT_SUMMARY_STEP) {
		record.steps = 1;
		record.step = writer->step;
	}
	error = tally_record(writer->tally, writer->ledger, &record);
	if (!error)
		error = history_add(&writer->records, &record);
	if (error)
		give_up(writer);
	if (writer->records.records > WAITING_MAX)
		history_thin(&writer->records);
	writer->since_record = 0;
	writer->record_time = event->time;
}

void writer_summarise(struct mt_writer *writer, const struct mt_event *event)
{
	if (event->kind == MT_STEP)
		writer->step = event->value < UINT32_MAX ? (uint32_t)event->value : UINT32_MAX - 1;
	if (!writer->tally || writer->unsound)
		return;
	if (!writer->record_time)
		writer->record_time = event->time;
	writer->since_record++;
	writer->since_records++;
	if (event->kind == MT_STEP)
		add_record(writer, event, MT_SUMMARY_STEP);
	else if (event->kind == MT_TENSOR_OOM)
		add_record(writer, event, MT_SUMMARY_OOM);
	else if (!writer->step && (writer->since_record >= EVENTS_MAX ||
				   (event->time > writer->record_time &&
				    event->time - writer->record_time >= SECONDS_MAX * MT_NSEC_PER_SEC)))
		add_record(writer, event, MT_SUMMARY_EVENTS);
}

void writer_replayed(struct mt_writer *writer, const struct mt_event *event)
{
	if (writer->tally && (event->kind == MT_STEP || event->kind == MT_TENSOR_OOM))
		tally_begin(writer->tally, writer->ledger, event);
}

void mt_writer_begin_peaks(struct mt_writer *writer)
{
	struct mt_event event = { .seq = writer->seq, .time = writer->time };

	if (writer->tally)
		tally_begin(writer->tally, writer->ledger, &event);
}

void writer_recount(struct mt_writer *writer)
{
	if (!writer->tally)
		return;
	tally_free(writer->tally);
	writer->tally = tally_new();
}

int writer_records_due(const struct mt_writer *writer)
{
	return writer->records.records && (writer->closing || writer->since_records >= DUE_EVENTS);
}

int writer_pack_records(struct mt_writer *writer, struct mt_chunk_info *info)
{
	size_t before = writer->out.size;
	int error;

	*info = (struct mt_chunk_info){ .kind = MT_CHUNK_SUMMARIES, .offset = writer->end + before };
	history_encode(&writer->records, writer->defs, &writer->payload);
	error = writer->payload.error ? writer->payload.error
				      : mt_packer_pack(writer->packer, &writer->payload, 0, &writer->out);
	info->size = writer->out.size - before;
	return error;
}

int writer_remember(struct mt_writer *writer, const struct mt_summary *record)
{
	int error = history_add(&writer->told, record);

	while (!error && writer->told.records > RECORDS_MAX && history_thin(&writer->told) > 0)
		;
	return error;
}

void writer_records_written(struct mt_writer *writer)
{
	size_t i;

	for (i = 0; writer->keep && i < writer->records.records; i++)
		if (writer_remember(writer, &writer->records.record[i]))
			give_up(writer);
	history_clear(&writer->records);
	writer->since_records = 0;
}

int writer_history_payload(struct mt_writer *writer)
{
	if (!writer->told.records)
		return 0;
	do
		history_encode(&writer->told, writer->defs, &writer->payload);
	while (!writer->payload.error && writer->payload.size > writer->options.keep / HISTORY_PART &&
	       history_thin(&writer->told) > 0);
	return writer->payload.error ? writer->payload.error : 1;
}
