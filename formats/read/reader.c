/* reader.c - reads a trace of any origin: chunk by chunk, everything checked. */
#include <stdlib.h>
#include "memtrace/error.h"
#include "reader_impl.h"
#include "reader_struct.h"
#include "trace/defs.h"

/* Events handed out at a time: few enough to stay in a core's cache between decoding and use. */
#define BATCH MT_READER_BATCH

static int is_fatal(int error)
{
	return error == -MT_E_MEMORY || error == -MT_E_SYSTEM;
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

/* The live set is unknown from here on: only a checkpoint helps. The things in a checkpoint are no events. */
static void open_gap(struct mt_reader *reader, const struct mt_chunk_info *chunk, uint32_t done)
{
	reader->gap.open = reader->gap.untold = 1;
	if (chunk->kind != MT_CHUNK_CHECKPOINT)
		reader->gap.missed += chunk->events - done;
	reader->gap.uncounted |= !chunk->events;
	if (chunk->last_seq > reader->gap.seq)
		reader->gap.seq = chunk->last_seq;
}

/* 1: a checkpoint with these figures replaces events that the file lacks or that could not be read. */
static int begins_anew(const struct mt_reader *reader, const struct mt_chunk_info *figures)
{
	return !reader->begun || reader->cut || figures->last_seq > reader->seq;
}

/*
 * Counts a damaged chunk, whose events are readable only up to `good`. A lost DEFS chunk opens no gap: its damage shows
 * where an event names a missing definition. Nor does a checkpoint that only repeats known events.
 */
static void pass_damaged(struct mt_reader *reader, const struct mt_chunk_info *chunk)
{
	reader->state.damaged++;
	if (chunk->kind == MT_CHUNK_DEFS || chunk->kind == MT_CHUNK_PROCESS || chunk->kind == MT_CHUNK_SUMMARIES ||
	    chunk->kind == MT_CHUNK_FACTS || (chunk->kind == MT_CHUNK_CHECKPOINT && !begins_anew(reader, chunk)))
		return;
	open_gap(reader, chunk, chunk->good);
}

/* The chunk at `at` is damaged, now and after every mt_reader_rewind. */
static int note_damage(struct mt_reader *reader, uint32_t at, int error, uint32_t good)
{
	struct mt_chunk_info *chunk = &reader->list.info[at];

	chunk->error = error;
	chunk->good = good;
	mt_chunk_list_damage(&reader->list, error, chunk->offset);
	reader_take_over(reader);
	reader->decoding = 0;
	pass_damaged(reader, chunk);
	return is_fatal(error) ? error : 0;
}

/* After a scan: the index describes each unreadable stretch that it knows. */
static int name_damaged(struct mt_chunk_list *found, const struct mt_chunk_list *index)
{
	uint64_t end = 0;
	uint32_t i, j = 0;
	int error = 0;

	for (i = 0; i < found->count; i++) {
		end = found->info[i].offset + found->info[i].size;
		while (j < index->count && index->info[j].offset < found->info[i].offset)
			j++;
		if (!found->info[i].error || j == index->count || index->info[j].size != found->info[i].size ||
		    index->info[j].offset != found->info[i].offset)
			continue;
		index->info[j].error = found->info[i].error;
		found->info[i] = index->info[j];
	}
	for (j = 0; found->end_error && j < index->count && !error; j++) { /* chunks behind the last readable one */
		if (index->info[j].offset < end)
			continue;
		index->info[j].error = found->end_error;
		error = mt_chunk_list_add(found, &index->info[j]);
	}
	return error;
}

/* The index is wrong about the chunk at `at`: this chunk and those behind it are found by a scan of the file. */
static int disprove_index(struct mt_reader *reader)
{
	struct mt_chunk_list found = { 0 };
	uint64_t offset = reader->list.info[reader->at].offset;
	uint32_t i;
	int error = 0;

	for (i = 0; i < reader->at && !error; i++)
		error = mt_chunk_list_add(&found, &reader->list.info[i]);
	if (!error)
		error = mt_chunk_list_scan(&found, &reader->file.source, offset);
	if (!error)
		error = name_damaged(&found, &reader->list);
	if (error) {
		mt_chunk_list_release(&found);
		return error;
	}
	for (i = 0; i < reader->at; i++) /* the scan counted damage anew: add the damage before it */
		if (found.info[i].error)
			mt_chunk_list_damage(&found, found.info[i].error, found.info[i].offset);
	reader->disproved = reader->list.info;
	reader->vouched = reader->at;
	reader->list = found;
	reader_take_over(reader);
	return 0;
}

/* ---- large chunks ------------------------------------------------------------------------------------------------ */

void mt_reader_share(struct mt_reader *reader, _Atomic uint64_t *budget)
{
	reader->budget = budget;
	reader->large = 0;
}

/* Takes the bytes of a large chunk from the shared budget, before the chunk is unpacked. */
static int count_large(struct mt_reader *reader)
{
	size_t size = mt_unpacker_size(reader->file.source.unpacker);

	if (!reader->budget || size <= MT_READER_LARGE_BYTES)
		return 0;
	if (size > *reader->budget)
		return -MT_E_LIMIT;
	*reader->budget -= size;
	reader->large = size;
	return 0;
}

/* No chunk is being read. */
static void let_go(struct mt_reader *reader)
{
	if (reader->large)
		*reader->budget += reader->large;
	reader->large = 0;
	mt_unpacker_drop(reader->file.source.unpacker, MT_READER_LARGE_BYTES);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static int same_figures(const struct mt_chunk_info *a, const struct mt_chunk_info *b)
{
	return a->events == b->events && a->first_seq == b->first_seq && a->last_seq == b->last_seq &&
	       a->first_time == b->first_time && a->last_time == b->last_time && a->live_start == b->live_start &&
	       a->live_max == b->live_max && a->phases == b->phases;
}

/* Begins the payload of a known kind. *figures: its SUMMARY; all 0 without one. */
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
		return error ? error : mt_unpacker_afford(reader->file.source.unpacker, figures->events);
	}
}

/* Finds the chunk at `at`. *lies 1: the index contradicts the file. */
static int find_chunk(struct mt_reader *reader, int *lies)
{
	const struct mt_chunk_info *info = &reader->list.info[reader->at];
	struct mt_zframe frame;
	int error = mt_unpacker_find(reader->file.source.unpacker, info->offset, info->size, &frame);

	*lies = error || frame.skippable || frame.size != info->size;
	return error;
}

/* Unpacks the chunk that was found and begins its payload. *lies as above. */
static int open_chunk(struct mt_reader *reader, int *lies)
{
	const struct mt_chunk_info *info = &reader->list.info[reader->at];
	struct mt_chunk_info figures = { 0 };
	struct mt_cursor payload;
	uint32_t kind;
	int error = mt_unpacker_unpack(reader->file.source.unpacker, &payload);

	*lies = 1;
	if (error)
		return error;
	kind = mt_payload_kind(&payload);
	if (payload.error || kind != info->kind)
		return payload.error;
	*lies = 0;
	if (kind < MT_CHUNK_PROCESS || kind > MT_CHUNK_CHECKPOINT)
		return 0;
	error = begin_payload(reader, kind, &payload, &figures);
	*lies = !error && !same_figures(info, &figures);
	return error;
}

/*
 * 1: missing chunks show in the numbers, because no index knows the chunk, and events of a ring have consecutive
 * numbers (trace-v1.md, "Numbers").
 */
static int numbers_tell(const struct mt_reader *reader)
{
	return *reader->process.ring_path && !reader->list.indexed && reader->at > reader->vouched && reader->begun;
}

/* 1: numbers before this chunk are missing. Only a CUT, which begins its chunk, leaves out numbers on purpose. */
static int skips_numbers(const struct mt_reader *reader)
{
	const struct mt_decoder *decoder = &reader->decoder;

	return numbers_tell(reader) && !reader->gap.open && decoder->info.events && decoder->kinds[0] != MT_CUT &&
	       decoder->info.first_seq >> 6 > (reader->seq >> 6) + 1;
}

/* 1: numbers before this checkpoint are missing; the checkpoint replaces their events. */
static int stands_for_numbers(const struct mt_reader *reader, const struct mt_chunk_info *figures)
{
	return numbers_tell(reader) && !reader->gap.open && !reader->cut && figures->last_seq >> 6 > reader->seq >> 6;
}

/* Opens a gap for events that are missing before the chunk at `at` - 1, without any other sign of damage. */
static void find_gap(struct mt_reader *reader)
{
	mt_chunk_list_damage(&reader->list, -MT_E_CORRUPT, reader->list.info[reader->at - 1].offset);
	reader_take_over(reader);
	reader->gap.open = reader->gap.untold = reader->gap.uncounted = 1;
}

static int begin_open_chunk(struct mt_reader *reader, int *wait)
{
	const struct mt_chunk_info *info = &reader->list.info[reader->at];
	int lies = 0, error = 0;

	let_go(reader);
	if (info->error && !info->good) {
		reader->at++;
		pass_damaged(reader, info);
		return 0;
	}
	error = find_chunk(reader, &lies);
	if (!lies && wait && (*wait = mt_unpacker_size(reader->file.source.unpacker) > MT_READER_LARGE_BYTES))
		return 0;
	if (!lies)
		error = count_large(reader);
	if (!lies && !error)
		error = open_chunk(reader, &lies);
	if (is_fatal(error))
		return error;
	if (lies && !reader->disproved)
		return disprove_index(reader);
	if (lies && !error)
		error = -MT_E_CORRUPT;
	reader->at++;
	if (reader->defs_done < reader->at)
		reader->defs_done = reader->at;
	if (error)
		return note_damage(reader, reader->at - 1, error, 0);
	if (info->kind == MT_CHUNK_EVENTS && skips_numbers(reader))
		find_gap(reader);
	if (info->kind == MT_CHUNK_EVENTS && reader->gap.open)
		open_gap(reader, info, 0);
	else
		reader->decoding = info->kind == MT_CHUNK_EVENTS || info->kind == MT_CHUNK_CHECKPOINT;
	return 0;
}

/* Begins the next chunk, or sets *wait. 0: go on with mt_reader_next's loop. */
static int begin_chunk(struct mt_reader *reader, int *wait)
{
	int error = reader_file_wake(&reader->file);

	if (!error)
		error = begin_open_chunk(reader, wait);
	reader_file_sleep(&reader->file);
	return error;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Makes room for `count` events in the batch. The large array of a checkpoint is not kept for batches of events. */
static int make_room(struct mt_reader *reader, size_t count)
{
	size_t room = count > BATCH ? count : BATCH;
	struct mt_event *events;

	if (room == reader->events_room || (room < reader->events_room && room > BATCH))
		return 0;
	events = realloc(reader->events, room * sizeof(*events));
	if (!events)
		return -MT_E_MEMORY;
	reader->events = events;
	reader->events_room = room;
	return 0;
}

static void note_events(struct mt_reader *reader, const struct mt_event *events, size_t count)
{
	size_t i;

	reader->begun = 1;
	if (count)
		reader->time = events[count - 1].time;
	for (i = 0; i < count; i++) {
		reader->cut |= events[i].kind == MT_CUT;
		if (events[i].kind == MT_LOST)
			reader->state.lost += events[i].value;
	}
}

/* Decodes on in an EVENTS chunk. *count may stay 0. */
static int decode_events(struct mt_reader *reader, size_t *count)
{
	struct mt_decoder *decoder = &reader->decoder;
	const struct mt_chunk_info *info = &reader->list.info[reader->at - 1];
	uint32_t good = decoder->done;
	int error;

	if (info->error && good >= info->good) { /* as the first time */
		reader->decoding = 0;
		pass_damaged(reader, info);
		return 0;
	}
	error = make_room(reader, BATCH);
	if (error)
		return error;
	error = mt_decoder_next(decoder, reader->events, BATCH, count);
	if (error)
		return note_damage(reader, reader->at - 1, error, good);
	note_events(reader, reader->events, *count);
	reader->seq = decoder->seq;
	if (decoder->done < decoder->info.events)
		return 0;
	reader->decoding = 0;
	reader->state.events += decoder->info.events;
	return 0;
}

/*
 * The number of events that a gap has swallowed. Without figures the numbers show it, because those of a ring are 64
 * apart (trace-v1.md, "Numbers").
 */
static uint64_t gap_size(const struct mt_reader *reader, uint64_t seq)
{
	uint64_t numbers = seq > reader->seq ? (seq >> 6) - (reader->seq >> 6) : 0;

	if (!reader->gap.uncounted)
		return reader->gap.missed;
	return numbers > reader->gap.missed ? numbers : reader->gap.missed + 1;
}

/* Makes the LOST event of a gap. Only this function counts the events that damage has taken. */
static void tell_gap(struct mt_reader *reader, uint64_t seq, uint64_t time)
{
	reader->lost = (struct mt_event){
		.kind = MT_LOST, .seq = seq, .time = time, .value = gap_size(reader, seq), .flags = MT_LOSS_DAMAGED
	};
	reader->state.lost += reader->lost.value;
	reader->state.missed += reader->lost.value;
	reader->told = 1;
}

/* Ends an open gap at a checkpoint. 1: the LOST event of the gap comes first. */
static int close_gap(struct mt_reader *reader, const struct mt_chunk_info *figures)
{
	int tell = reader->gap.open && reader->gap.untold && figures->last_seq > reader->seq;

	if (tell)
		tell_gap(reader, figures->last_seq, figures->last_time);
	reader->gap = (struct gap){ 0 };
	return tell;
}

/* The file ends inside a gap, which stays open. 1: its LOST event comes first. */
static int end_in_gap(struct mt_reader *reader)
{
	uint64_t seq = reader->gap.seq > reader->seq ? reader->gap.seq : reader->seq + (reader->seq < UINT64_MAX);

	if (!reader->gap.untold || !(reader->gap.missed || reader->gap.uncounted))
		return 0;
	tell_gap(reader, seq, reader->time);
	reader->seq = seq;
	reader->gap = (struct gap){ .open = 1 };
	return 1;
}

/* Decodes a checkpoint: its live set comes in one batch of at least one event. The LOST event of a gap comes first. */
static int decode_checkpoint(struct mt_reader *reader, size_t *count, int *checkpoint, const struct mt_event **events)
{
	struct mt_decoder *decoder = &reader->decoder;
	int error = make_room(reader, decoder->info.events + 1);

	if (error)
		return error;
	error = mt_decoder_next(decoder, reader->events, decoder->info.events, count);
	if (error)
		return note_damage(reader, reader->at - 1, error, 0);
	reader->decoding = 0;
	if (stands_for_numbers(reader, &decoder->info))
		find_gap(reader);
	*checkpoint = begins_anew(reader, &decoder->info) ? MT_BATCH_ANEW : MT_BATCH_REPEAT;
	if (!*count && *checkpoint == MT_BATCH_ANEW)
		reader->events[(*count)++] = (struct mt_event){ .kind = MT_LIVE };
	if (close_gap(reader, &decoder->info)) {
		reader->held = *count;
		*count = 1;
		*checkpoint = MT_BATCH_EVENTS;
		*events = &reader->lost;
	}
	reader->time = decoder->info.last_time;
	if (decoder->info.last_seq > reader->seq)
		reader->seq = decoder->info.last_seq;
	reader->cut = 0;
	return 0;
}

static int decode(struct mt_reader *reader, size_t *count, int *checkpoint, const struct mt_event **events)
{
	if (reader->decoder.chunk == MT_CHUNK_CHECKPOINT)
		return decode_checkpoint(reader, count, checkpoint, events);
	*checkpoint = MT_BATCH_EVENTS;
	return decode_events(reader, count);
}

/* 1: the next call should not read ahead, as far as this is known before the chunk is read. */
static int must_wait(const struct mt_reader *reader)
{
	const struct mt_chunk_info *next = &reader->list.info[reader->at];

	if (reader->decoding)
		return reader->large != 0;
	if (next->kind == MT_CHUNK_DEFS)
		return reader->at >= reader->defs_done;
	return next->size > MT_READER_LARGE_BYTES ||
	       (next->kind == MT_CHUNK_CHECKPOINT && next->events > MT_READER_LARGE_LIVE);
}

int mt_reader_next(struct mt_reader *reader, const struct mt_event **events, size_t *count, int *checkpoint)
{
	return mt_reader_next_until(reader, events, count, checkpoint, NULL);
}

int mt_reader_next_until(struct mt_reader *reader, const struct mt_event **events, size_t *count, int *checkpoint,
			 int *wait)
{
	int error = 0;

	*count = reader->held;
	*checkpoint = reader->held ? MT_BATCH_ANEW : MT_BATCH_EVENTS;
	*events = reader->events;
	reader->held = 0;
	reader->told = 0;
	while (!error && !*count && (reader->decoding || reader->at < reader->list.count)) {
		if (wait && (*wait = must_wait(reader)))
			break;
		error = reader->decoding ? decode(reader, count, checkpoint, events) : begin_chunk(reader, wait);
		if (wait && *wait)
			break;
		if (!reader->told)
			*events = reader->events;
	}
	if (!error && !*count && !(wait && *wait) && end_in_gap(reader)) {
		*events = &reader->lost;
		*count = 1;
	}
	if (!reader->decoding)
		let_go(reader);
	return error;
}

int mt_reader_trade(struct mt_reader *reader, struct mt_event **events, size_t *room)
{
	struct mt_event *array = reader->events;
	size_t size = reader->events_room;

	if (reader->told)
		return 0;
	reader->events = *events;
	reader->events_room = *room;
	*events = array;
	*room = size;
	return 1;
}
