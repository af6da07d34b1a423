/* reopen.c - going on with a trace whose writer is gone. */
#include <fcntl.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "reader_impl.h"
#include "writer_impl.h"

/* The live set after everything the reader has. Phases of births are not in events: they come from checkpoints. */
static int replay(struct mt_writer *writer, struct mt_reader *reader)
{
	const struct mt_event *events;
	uint32_t step = 1;
	size_t count, i;
	int checkpoint, born, error;

	while (!(error = mt_reader_next(reader, &events, &count, &checkpoint)) && count) {
		if (checkpoint) {
			mt_ledger_clear(writer->ledger);
			writer->held = 0;
		}
		for (i = 0; i < count && !error; i++) {
			if (events[i].kind == MT_STEP)
				step = (uint32_t)events[i].value + 1;
			error = writer_feed(writer, &events[i], (uint32_t)events[i].phase,
					    checkpoint ? (uint32_t)events[i].step : step, &born);
		}
		if (error)
			return error;
		writer->time = checkpoint ? writer->time : events[count - 1].time;
	}
	return error;
}

/* Takes over what the index will say of the chunks that are there. */
static int take_over_chunks(struct mt_writer *writer, const struct mt_reader *reader)
{
	uint32_t i, count;
	const struct mt_chunk_info *chunks = mt_reader_chunks(reader, &count);
	int error = 0;

	for (i = 0; i < count && !error; i++) {
		error = mt_chunk_list_add(&writer->list, &chunks[i]);
		writer->end = chunks[i].offset + chunks[i].size;
		if (chunks[i].last_seq > writer->seq)
			writer->seq = chunks[i].last_seq;
		if (chunks[i].kind == MT_CHUNK_CHECKPOINT)
			writer->since_checkpoint = 0;
		if (chunks[i].kind != MT_CHUNK_EVENTS)
			continue;
		writer->events += chunks[i].events;
		writer->since_checkpoint += chunks[i].events;
	}
	return error;
}

/* Reads all of the file. Only a torn end is forgiven: after other damage nobody knows what would be cut off. */
static int take_over(struct mt_writer *writer, struct mt_reader *reader)
{
	const struct mt_trace_state *state = mt_reader_state(reader);
	int kind, error = replay(writer, reader);

	if (!error && state->error && state->error != -MT_E_TRUNCATED)
		error = state->error;
	if (!error)
		error = take_over_chunks(writer, reader);
	if (error)
		return error;
	writer->defs = mt_reader_take_defs(reader);
	for (kind = 1; kind < MT_DEF_END; kind++)
		writer->defs_done[kind] = mt_defs_count(writer->defs, (enum mt_def)kind);
	return 0;
}

int mt_writer_reopen(struct mt_writer **out, const char *path, uint64_t *last_seq)
{
	struct mt_writer *writer = writer_new(NULL);
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
		error = writer_system_error();
	if (error) {
		writer_free(writer);
		return error;
	}
	*last_seq = writer->seq;
	*out = writer;
	return 0;
}
