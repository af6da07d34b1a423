/* reader.c - reads a trace of any origin: chunk by chunk, everything checked. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "chunk.h"
#include "chunk_list.h"
#include "codec.h"
#include "defs.h"
#include "memtrace/error.h"
#include "payload.h"
#include "process.h"
#include "reader_impl.h"

/* Events handed out at a time: few enough to stay in a core's cache between decoding and use. */
#define BATCH 512u

struct mt_reader {
	struct mt_chunk_source source;
	struct mt_process process;
	struct mt_defs *defs;
	struct mt_chunk_list list;
	struct mt_chunk_info *disproved; /* of an index: callers may still look at it */

	uint32_t at;	    /* chunk to begin next */
	uint32_t defs_done; /* chunks whose definitions are in `defs` */
	uint64_t seq;	    /* of the newest event */
	int decoding;	    /* decoder is inside chunk at - 1 */
	struct mt_decoder decoder;
	struct mt_event *events;
	size_t events_room;
	struct mt_trace_state state;
};

static int open_source(struct mt_chunk_source *source, const char *path)
{
	struct stat st;

	source->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (source->fd < 0 || fstat(source->fd, &st))
		return -MT_E_SYSTEM;
	source->file_bytes = (uint64_t)st.st_size;
	source->unpacker = mt_unpacker_new(source->fd, source->file_bytes);
	return source->unpacker ? 0 : -MT_E_MEMORY;
}

/* The chunk behind the recognition frame. */
static int read_process(struct mt_reader *reader, uint64_t offset)
{
	struct mt_zframe frame;
	struct mt_cursor payload;
	int error = mt_unpacker_find(reader->source.unpacker, offset, 0, &frame);

	if (!error)
		error = mt_unpacker_unpack(reader->source.unpacker, &payload);
	if (error)
		return error;
	if (mt_payload_kind(&payload) != MT_CHUNK_PROCESS)
		return -MT_E_CORRUPT;
	return mt_process_decode(&reader->process, &payload);
}

static int open_reader(struct mt_reader *reader, const char *path)
{
	uint64_t first;
	int error = open_source(&reader->source, path);

	if (!error)
		error = mt_recognition_read(reader->source.fd, &first);
	if (!error)
		error = read_process(reader, first);
	if (!error)
		error = mt_chunk_list_find(&reader->list, &reader->source, first);
	if (error)
		return error;
	reader->defs = mt_defs_new();
	if (!reader->defs)
		return -MT_E_MEMORY;
	mt_reader_rewind(reader);
	return 0;
}

int mt_reader_open(struct mt_reader **out, const char *path)
{
	struct mt_reader *reader = calloc(1, sizeof(*reader));
	int error;

	*out = NULL;
	if (!reader)
		return -MT_E_MEMORY;
	reader->source.fd = -1;
	error = open_reader(reader, path);
	if (error)
		mt_reader_free(reader);
	else
		*out = reader;
	return error;
}

void mt_reader_free(struct mt_reader *reader)
{
	if (!reader)
		return;
	mt_unpacker_free(reader->source.unpacker);
	if (reader->source.fd >= 0)
		close(reader->source.fd);
	mt_process_release(&reader->process);
	mt_defs_free(reader->defs);
	mt_chunk_list_release(&reader->list);
	free(reader->disproved);
	free(reader->events);
	free(reader);
}

const struct mt_process *mt_reader_process(const struct mt_reader *reader)
{
	return &reader->process;
}

const struct mt_defs *mt_reader_defs(const struct mt_reader *reader)
{
	return reader->defs;
}

struct mt_defs *mt_reader_take_defs(struct mt_reader *reader)
{
	struct mt_defs *defs = reader->defs;

	reader->defs = NULL;
	return defs;
}

const struct mt_trace_state *mt_reader_state(const struct mt_reader *reader)
{
	return &reader->state;
}

const struct mt_chunk_info *mt_reader_chunks(const struct mt_reader *reader, uint32_t *count)
{
	*count = reader->list.count;
	return reader->list.info;
}

/* What the chunk list says of the file. */
static void take_over_state(struct mt_reader *reader)
{
	reader->state.complete = reader->list.indexed;
	reader->state.error = reader->list.error;
	reader->state.error_offset = reader->list.error_offset;
	reader->state.chunks = reader->list.count;
}

void mt_reader_rewind(struct mt_reader *reader)
{
	reader->at = 0;
	reader->seq = 0;
	reader->decoding = 0;
	reader->state = (struct mt_trace_state){ .file_bytes = reader->source.file_bytes };
	take_over_state(reader);
}

/*
 * Reading ends in chunk `at`, now and after every mt_reader_rewind. What the environment did is the caller's business,
 * too.
 */
static int stop(struct mt_reader *reader, uint32_t at, int error)
{
	reader->list.indexed = 0;
	reader->list.error = error;
	reader->list.error_offset = reader->list.info[at].offset;
	reader->decoding = 0;
	reader->at = UINT32_MAX;
	take_over_state(reader);
	return error == -MT_E_MEMORY || error == -MT_E_SYSTEM ? error : 0;
}

/* The same for a chunk that cannot even be begun: it is none. */
static int stop_before(struct mt_reader *reader, int error)
{
	reader->list.count = reader->at;
	return stop(reader, reader->at, error);
}

/* The index is not true of the chunk at `at`: what comes from there on is looked for in the file itself. */
static int disprove_index(struct mt_reader *reader)
{
	struct mt_chunk_list found = { 0 };
	uint64_t offset = reader->list.info[reader->at].offset;
	uint32_t i;
	int error = 0;

	for (i = 0; i < reader->at && !error; i++)
		error = mt_chunk_list_add(&found, &reader->list.info[i]);
	if (!error)
		error = mt_chunk_list_scan(&found, &reader->source, offset);
	if (error) {
		mt_chunk_list_release(&found);
		return error;
	}
	reader->disproved = reader->list.info;
	reader->list = found;
	take_over_state(reader);
	return 0;
}

static int same_figures(const struct mt_chunk_info *a, const struct mt_chunk_info *b)
{
	return a->events == b->events && a->first_seq == b->first_seq && a->last_seq == b->last_seq &&
	       a->first_time == b->first_time && a->last_time == b->last_time && a->live_start == b->live_start &&
	       a->live_max == b->live_max && a->phases == b->phases;
}

/* Reads the payload of a known kind. *figures: its SUMMARY, all 0 when it has none. */
static int begin_payload(struct mt_reader *reader, uint32_t kind, struct mt_cursor *payload,
			 struct mt_chunk_info *figures)
{
	int error;

	switch (kind) {
	case MT_CHUNK_PROCESS:
		return reader->at ? -MT_E_CORRUPT : 0;
	case MT_CHUNK_DEFS:
		return reader->at < reader->defs_done ? 0 : mt_defs_decode(reader->defs, payload);
	default:
		error = mt_decoder_init(&reader->decoder, (enum mt_chunk_kind)kind, payload, reader->defs, reader->seq);
		*figures = reader->decoder.info;
		return error;
	}
}

/* Begins the next chunk. 0: go on with mt_reader_next's loop. */
static int begin_chunk(struct mt_reader *reader)
{
	const struct mt_chunk_info *info = &reader->list.info[reader->at];
	struct mt_chunk_info figures = { 0 };
	struct mt_zframe frame;
	struct mt_cursor payload;
	uint32_t kind;
	int error = mt_unpacker_find(reader->source.unpacker, info->offset, info->size, &frame);

	if (!error && (frame.skippable || frame.size != info->size))
		return disprove_index(reader);
	if (!error)
		error = mt_unpacker_unpack(reader->source.unpacker, &payload);
	if (error)
		return stop_before(reader, error);
	kind = mt_payload_kind(&payload);
	if (!payload.error && kind != info->kind)
		return disprove_index(reader);
	error = payload.error;
	if (!error && kind >= MT_CHUNK_PROCESS && kind <= MT_CHUNK_CHECKPOINT) {
		error = begin_payload(reader, kind, &payload, &figures);
		if (!error && !same_figures(info, &figures))
			return disprove_index(reader);
	}
	if (error)
		return stop_before(reader, error);
	reader->at++;
	if (reader->defs_done < reader->at)
		reader->defs_done = reader->at;
	reader->decoding = kind == MT_CHUNK_EVENTS || kind == MT_CHUNK_CHECKPOINT;
	return 0;
}

/* Has room for `count` events in the batch. */
static int make_room(struct mt_reader *reader, size_t count)
{
	struct mt_event *events;

	if (count <= reader->events_room)
		return 0;
	events = realloc(reader->events, count * sizeof(*events));
	if (!events)
		return -MT_E_MEMORY;
	reader->events = events;
	reader->events_room = count;
	return 0;
}

static uint64_t lost_in(const struct mt_event *events, size_t count)
{
	uint64_t lost = 0;
	size_t i;

	for (i = 0; i < count; i++)
		if (events[i].kind == MT_LOST)
			lost += events[i].value;
	return lost;
}

/* Decodes on in the chunk begun. *count may stay 0. */
static int decode(struct mt_reader *reader, size_t *count, int *checkpoint)
{
	struct mt_decoder *decoder = &reader->decoder;
	size_t most;
	int error;

	*checkpoint = decoder->chunk == MT_CHUNK_CHECKPOINT;
	most = *checkpoint ? decoder->info.events : BATCH; /* a live set comes in one piece */
	error = make_room(reader, most);
	if (!error)
		error = mt_decoder_next(decoder, reader->events, most, count);
	if (error)
		return stop(reader, reader->at - 1, error);
	if (!*checkpoint)
		reader->state.lost += lost_in(reader->events, *count);
	if (decoder->done < decoder->info.events)
		return 0;
	reader->decoding = 0;
	if (!*checkpoint) {
		reader->seq = decoder->seq;
		reader->state.events += decoder->info.events;
	}
	return 0;
}

int mt_reader_next(struct mt_reader *reader, const struct mt_event **events, size_t *count, int *checkpoint)
{
	int error = 0;

	*count = 0;
	*checkpoint = 0;
	while (!error && !*count && (reader->decoding || reader->at < reader->list.count))
		error = reader->decoding ? decode(reader, count, checkpoint) : begin_chunk(reader);
	*events = reader->events;
	return error;
}
