/* reopen.c - continues a trace whose writer has ended. */
#include <fcntl.h>
#include <unistd.h>
#include "base/copy.h"
#include "memtrace/error.h"
#include "read/reader_impl.h"
#include "writer_impl.h"

/* Replays one batch. *step: the running step, from 1. */
static int replay_batch(struct mt_writer *writer, const struct mt_event *events, size_t count, int batch,
			uint32_t *step)
{
	const struct mt_writer_watch *watch = writer->options.watch;
	int born, error = 0;
	size_t i;

	if (batch != MT_BATCH_EVENTS) {
		mt_ledger_clear(writer->ledger);
		writer_recount(writer);
		if (writer->keep)
			keep_checkpoint(writer->keep);
	}
	for (i = 0; i < count && !error; i++) {
		if (events[i].kind == MT_STEP)
			writer->step = (uint32_t)events[i].value, *step = writer->step + 1;
		error = writer_feed(writer, &events[i], (uint32_t)events[i].phase,
				    batch == MT_BATCH_EVENTS ? *step : (uint32_t)events[i].step, &born);
		if (!error && batch == MT_BATCH_EVENTS && writer->keep)
			error = keep_reserve(writer->keep, &events[i]);
		if (!error && batch == MT_BATCH_EVENTS && writer->keep)
			keep_event(writer->keep, &events[i]);
		if (!error && batch == MT_BATCH_EVENTS)
			writer_replayed(writer, &events[i]);
		if (!error && batch == MT_BATCH_EVENTS && watch)
			watch->event(watch->context, &events[i]);
	}
	if (!error && batch == MT_BATCH_ANEW && watch)
		watch->anew(watch->context, events, count);
	if (batch == MT_BATCH_EVENTS)
		writer->time = events[count - 1].time;
	return error;
}

/* The live set after everything the reader has. Phases of births are not in events: they come from checkpoints. */
static int replay(struct mt_writer *writer, struct mt_reader *reader)
{
	const struct mt_event *events;
	const struct mt_chunk_info *list;
	uint32_t step = 1, chunks;
	size_t count;
	int batch, error;

	while (!(error = mt_reader_next(reader, &events, &count, &batch)) && count) {
		list = mt_reader_chunks(reader, &chunks);
		if (writer->keep)
			keep_written(writer->keep, list, mt_reader_chunk(reader));
		error = replay_batch(writer, events, count, batch, &step);
		if (error)
			return error;
	}
	list = mt_reader_chunks(reader, &chunks);
	if (writer->keep)
		keep_written(writer->keep, list, chunks);
	return error;
}

static int take_record(void *context, const struct mt_summary *record)
{
	return writer_remember(context, record);
}

/* Copies the list of the file's chunks, for its index. */
static int take_over_chunks(struct mt_writer *writer, const struct mt_reader *reader)
{
	uint32_t i, count;
	const struct mt_chunk_info *chunks = mt_reader_chunks(reader, &count);
	int error = 0;

	for (i = 0; i < count && !error; i++) {
		/* The index of a continued file could not show that a chunk is missing. */
		error = chunks[i].size ? mt_chunk_list_add(&writer->list, &chunks[i]) : -MT_E_CORRUPT;
		writer->end = chunks[i].offset + chunks[i].size;
		if (chunks[i].last_seq > writer->seq)
			writer->seq = chunks[i].last_seq;
		if (chunks[i].kind == MT_CHUNK_CHECKPOINT)
			writer->since_checkpoint = 0;
		if (chunks[i].kind != MT_CHUNK_EVENTS || chunks[i].error)
			continue;
		writer->events += chunks[i].events;
		writer->since_checkpoint += chunks[i].events;
	}
	return error;
}

/* Reads the whole file. A torn end is no error, nor is damage before a checkpoint. */
static int take_over(struct mt_writer *writer, struct mt_reader *reader)
{
	const struct mt_writer_watch *watch = writer->options.watch;
	int kind, error = 0;

	if (watch)
		error = watch->begin(watch->context, writer, mt_reader_process(reader), mt_reader_defs(reader));
	if (!error)
		error = replay(writer, reader);
	if (!error && writer->keep)
		error = mt_reader_summaries(reader, take_record, writer);
	if (!error)
		error = mt_reader_ends_well(reader);
	if (!error)
		error = take_over_chunks(writer, reader);
	if (error)
		return error;
	writer->encoder.defs = writer->defs = mt_reader_take_defs(reader);
	if (writer->keep)
		mt_defs_guess_names(writer->defs);
	for (kind = 1; kind < MT_DEF_END; kind++)
		writer->defs_done[kind] = mt_defs_told(writer->defs, (enum mt_def)kind);
	return 0;
}

int mt_writer_reopen(struct mt_writer **out, const char *path, const struct mt_writer_options *options,
		     uint64_t *last_seq)
{
	struct mt_writer *writer = writer_new(path, options);
	struct mt_reader *reader = NULL;
	int error;

	*out = NULL;
	if (!writer)
		return -MT_E_MEMORY;
	writer->fd = open(path, O_RDWR | O_CLOEXEC);
	error = writer->fd < 0 ? -MT_E_SYSTEM : mt_reader_open(&reader, path);
	if (!error)
		error = take_over(writer, reader);
	mt_reader_free(reader);
	if (!error && ftruncate(writer->fd, (off_t)writer->end))
		error = mt_write_error();
	if (error) {
		writer_free(writer);
		return error;
	}
	writer_needs_all(writer);
	writer->options.watch = NULL;
	*last_seq = writer->seq;
	*out = writer;
	return 0;
}
