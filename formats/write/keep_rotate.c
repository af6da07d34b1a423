/*
 * keep_rotate.c - drops old chunks of a flight recorder. The chunks that stay are copied into a new file beside the old
 * one, and the new file then takes the old name. So at each moment the name leads to a whole trace.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/copy.h"
#include "memtrace/error.h"
#include "trace/chunk_list.h"
#include "writer_impl.h"

struct rotation {
	struct mt_writer *writer;
	char path[4096]; /* path of the new file until it is renamed */
	int fd;
	uint64_t end;
	struct mt_chunk_list list;
	struct keep_chunks chunks;
	uint32_t defs_done[MT_DEF_END];
	uint8_t *wanted; /* strings by id */
	uint32_t strings;
	struct mt_encoder encoder;
	struct mt_event carry[KEEP_CARRY_MAX];
};

/* Size of the file if it is closed now. */
static uint64_t file_bytes(const struct mt_writer *writer)
{
	return writer->end + mt_index_size(writer->list.count);
}

/* ---- the new file ------------------------------------------------------------------------------------------------ */

/*
 * Creates the new file and locks it, so that no other process takes it meanwhile. A lock of the caller is on the old
 * file only.
 */
static int open_beside(struct rotation *rotation)
{
	struct mt_writer *writer = rotation->writer;
	struct stat st;
	int n = snprintf(rotation->path, sizeof(rotation->path), "%s" MT_KEEP_SUFFIX, writer->path);

	if (n < 0 || (size_t)n >= sizeof(rotation->path) || fstat(writer->fd, &st) || !S_ISREG(st.st_mode))
		return -MT_E_ARGUMENT;
	unlink(rotation->path); /* a writer that died has left it */
	rotation->fd = open(rotation->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, st.st_mode & 0777);
	if (rotation->fd < 0)
		return mt_write_error();
	(void)!flock(rotation->fd, LOCK_EX | LOCK_NB); /* some file systems have no locks */
	return 0;
}

static int add_entry(struct rotation *rotation, const struct mt_chunk_info *from, const struct keep_chunk *chunk)
{
	struct mt_chunk_info info = *from;
	int error;

	info.offset = rotation->end;
	rotation->end += info.size;
	error = mt_chunk_list_add(&rotation->list, &info);
	return error ? error : keep_chunks_add(&rotation->chunks, chunk);
}

static int write_packed(struct rotation *rotation, struct mt_chunk_info *info, const struct keep_chunk *chunk)
{
	struct mt_writer *writer = rotation->writer;
	int error;

	mt_buffer_clear(&writer->out);
	error = mt_packer_pack(writer->packer, &writer->payload, info->events, &writer->out);
	info->size = writer->out.size;
	if (!error)
		error = mt_write_all(rotation->fd, writer->out.data, writer->out.size);
	return error ? error : add_entry(rotation, info, chunk);
}

/* Copies the recognition frame and the PROCESS chunk, which is the first of the list. */
static int copy_head(struct rotation *rotation)
{
	const struct mt_chunk_info *process = &rotation->writer->list.info[0];
	int error = mt_copy_bytes(rotation->writer->fd, 0, rotation->fd, process->offset + process->size);

	rotation->end = process->offset;
	return error ? error : add_entry(rotation, process, &rotation->writer->keep->chunks.item[0]);
}

static int write_defs(struct rotation *rotation)
{
	struct mt_writer *writer = rotation->writer;
	struct mt_chunk_info info = { .kind = MT_CHUNK_DEFS };
	struct keep_chunk chunk = { .step = 1 };
	int error = 0;

	while (!error &&
	       mt_defs_encode(writer->defs, rotation->defs_done, rotation->wanted, rotation->strings, &writer->payload))
		error = write_packed(rotation, &info, &chunk);
	return error;
}

/* Writes the records of all steps, also of steps without events. */
static int write_history(struct rotation *rotation)
{
	struct mt_chunk_info info = { .kind = MT_CHUNK_SUMMARIES };
	struct keep_chunk chunk = { .step = 1 };
	int some = writer_history_payload(rotation->writer);

	return some <= 0 ? some : write_packed(rotation, &info, &chunk);
}

/* ---- what stays -------------------------------------------------------------------------------------------------- */

static uint64_t last_seq(const struct mt_chunk_list *list)
{
	return list->count ? list->info[list->count - 1].last_seq : 0;
}

/* Writes the carry for the chunks between `previous` and `first`, which are left out. */
static int write_carry(struct rotation *rotation, uint32_t first, uint32_t previous)
{
	struct mt_writer *writer = rotation->writer;
	const struct mt_chunk_info *checkpoint = &writer->list.info[first];
	struct keep_chunk chunk = { .number = writer->keep->chunks.item[first].number, .carry = 1 };
	struct mt_chunk_info info;
	uint32_t i, count = keep_carry(writer->keep, writer->list.info, first, previous, last_seq(&rotation->list),
				       rotation->carry);
	int error = count ? 0 : -MT_E_LIMIT;

	mt_encoder_clear(&rotation->encoder);
	for (i = 0; i < count && !error; i++) {
		error = mt_encoder_add(&rotation->encoder, &rotation->carry[i]);
		if (rotation->carry[i].kind == MT_LOST)
			chunk.lost[rotation->carry[i].flags] = rotation->carry[i].value;
	}
	if (error)
		return error;
	rotation->encoder.info.live_start = rotation->encoder.info.live_max = checkpoint->live_start;
	info = rotation->encoder.info;
	info.kind = MT_CHUNK_EVENTS;
	chunk.cut = rotation->carry[0].value;
	chunk.events = count;
	chunk.step = rotation->carry[1].kind == MT_STEP ? (uint32_t)rotation->carry[1].value + 1 : 1;
	mt_encoder_payload(&rotation->encoder, MT_CHUNK_EVENTS, &writer->payload);
	return write_packed(rotation, &info, &chunk);
}

/* Copies a range without its definitions and records, which are at the front. */
static int copy_range(struct rotation *rotation, const struct keep_range *range)
{
	const struct mt_writer *writer = rotation->writer;
	uint32_t i;
	int error = 0;

	for (i = range->first; i <= range->last && !error; i++) {
		const struct mt_chunk_info *info = &writer->list.info[i];

		if (info->kind == MT_CHUNK_DEFS || info->kind == MT_CHUNK_SUMMARIES)
			continue;
		error = mt_copy_bytes(writer->fd, info->offset, rotation->fd, info->size);
		if (!error)
			error = add_entry(rotation, info, &writer->keep->chunks.item[i]);
	}
	return error;
}

static int write_ranges(struct rotation *rotation, const struct keep_range *ranges, uint32_t count)
{
	uint32_t i, previous = 0;
	int error = 0;

	for (i = 0; i < count && !error; i++) {
		if (keep_gone(rotation->writer->keep, previous, ranges[i].first))
			error = write_carry(rotation, ranges[i].first, previous);
		if (!error)
			error = copy_range(rotation, &ranges[i]);
		previous = ranges[i].last;
	}
	return error;
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

static int find_wanted(struct rotation *rotation, const struct keep_range *ranges, uint32_t count)
{
	rotation->strings = mt_defs_count(rotation->writer->defs, MT_DEF_STRING) + 1;
	rotation->wanted = calloc(rotation->strings, 1);
	if (!rotation->wanted)
		return -MT_E_MEMORY;
	keep_mark_strings(rotation->writer->keep, ranges, count, rotation->wanted, rotation->strings);
	return 0;
}

/* Frees the states of checkpoints that the new file lacks. */
static void free_states(struct keep_chunks *chunks, const struct keep_range *ranges, uint32_t count)
{
	uint32_t i, range;
	int stays;

	for (i = 0; i < chunks->count; i++) {
		for (stays = 0, range = 0; range < count; range++)
			stays |= i >= ranges[range].first && i <= ranges[range].last;
		if (!stays)
			free(chunks->item[i].state);
	}
}

/* The new file is the trace now. */
static void take_over(struct rotation *rotation, const struct keep_range *ranges, uint32_t count)
{
	struct mt_writer *writer = rotation->writer;
	struct keep *keep = writer->keep;

	close(writer->fd);
	writer->fd = rotation->fd;
	writer->end = rotation->end;
	rotation->fd = -1;
	mt_chunk_list_release(&writer->list);
	writer->list = rotation->list;
	rotation->list = (struct mt_chunk_list){ 0 };
	writer_needs_all(writer);
	free_states(&keep->chunks, ranges, count);
	free(keep->chunks.item);
	keep->chunks = rotation->chunks;
	rotation->chunks = (struct keep_chunks){ 0 };
	memcpy(writer->defs_done, rotation->defs_done, sizeof(writer->defs_done));
	mt_defs_forget_names(writer->defs, rotation->wanted, rotation->strings);
}

static int rotate(struct rotation *rotation, const struct keep_range *ranges, uint32_t count)
{
	int error = find_wanted(rotation, ranges, count);

	if (!error)
		error = open_beside(rotation);
	if (!error)
		error = copy_head(rotation);
	if (!error)
		error = write_defs(rotation);
	if (!error)
		error = write_history(rotation);
	if (!error)
		error = write_ranges(rotation, ranges, count);
	if (!error && rename(rotation->path, rotation->writer->path))
		error = -MT_E_SYSTEM;
	if (!error)
		take_over(rotation, ranges, count);
	if (rotation->fd >= 0) {
		close(rotation->fd);
		unlink(rotation->path);
	}
	return error;
}

static void release(struct rotation *rotation)
{
	mt_encoder_release(&rotation->encoder);
	mt_chunk_list_release(&rotation->list);
	free(rotation->chunks.item);
	free(rotation->wanted);
	free(rotation);
}

/* 1: some chunks would go. */
static int lets_go(const struct mt_writer *writer, const struct keep_range *ranges, uint32_t count)
{
	uint64_t stays = 0, all = writer->end;
	uint32_t i;

	for (i = 0; i < count; i++)
		stays += writer->list.info[ranges[i].last].offset + writer->list.info[ranges[i].last].size -
			 writer->list.info[ranges[i].first].offset;
	return count && stays + writer->keep->bytes / 16 < all;
}

static uint64_t bytes_of_defs(const struct mt_writer *writer)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < writer->list.count; i++)
		if (writer->list.info[i].kind == MT_CHUNK_DEFS)
			bytes += writer->list.info[i].size;
	return bytes;
}

void writer_rotate(struct mt_writer *writer)
{
	struct keep *keep = writer->keep;
	struct keep_range ranges[KEEP_RANGES];
	uint32_t count = keep_plan(keep, writer->list.info, bytes_of_defs(writer), ranges);
	struct rotation *rotation = NULL;
	uint64_t grown;

	if (keep->chunks.count == writer->list.count && lets_go(writer, ranges, count)) {
		rotation = calloc(1, sizeof(*rotation));
		keep->error = rotation ? 0 : -MT_E_MEMORY;
	}
	if (rotation) {
		rotation->writer = writer;
		rotation->fd = -1;
		mt_encoder_init(&rotation->encoder);
		rotation->encoder.defs = writer->defs;
		keep->error = rotate(rotation, ranges, count);
		release(rotation);
	}
	grown = file_bytes(writer) + keep->bytes / 16;
	keep->next_try = grown > keep->bytes / 8 * 7 ? grown : keep->bytes / 8 * 7;
}

int writer_is_large(const struct mt_writer *writer)
{
	return file_bytes(writer) >= writer->keep->next_try;
}
