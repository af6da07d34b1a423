/* torch_log.c - keeps the events of a device in a temporary file until the end of the pass. */
#include <stdlib.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "source/partial_file.h"
#include "torch.h"

#define BLOCK_SIZE (TORCH_LOG_BLOCK * sizeof(struct torch_record))

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static int64_t place_of(const struct torch_log *log, uint64_t block)
{
	return (int64_t)((log->room ? block % log->room : block) * BLOCK_SIZE);
}

static int write_block(struct torch_log *log, uint64_t number)
{
	const char *bytes = (const char *)log->block;
	size_t done = 0;
	ssize_t size;

	if (!log->file)
		log->file = partial_file_nameless();
	if (log->file < 0)
		return -MT_E_SYSTEM;
	while (done < BLOCK_SIZE) {
		size = pwrite(log->file, bytes + done, BLOCK_SIZE - done, place_of(log, number) + (int64_t)done);
		if (size <= 0)
			return -MT_E_SYSTEM;
		done += (size_t)size;
	}
	return 0;
}

static int read_block(const struct torch_log *log, uint64_t number, struct torch_record *block)
{
	size_t done = 0;
	ssize_t size;

	while (done < BLOCK_SIZE) {
		size = pread(log->file, (char *)block + done, BLOCK_SIZE - done, place_of(log, number) + (int64_t)done);
		if (size <= 0)
			return -MT_E_SYSTEM;
		done += (size_t)size;
	}
	return 0;
}

void torch_log_release(struct torch_log *log)
{
	if (log->file > 0)
		close(log->file);
	free(log->block);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void torch_log_add(struct torch *torch, struct torch_log *log, const struct torch_record *record)
{
	size_t at = log->records % TORCH_LOG_BLOCK;

	if (!log->block) {
		log->block = malloc(BLOCK_SIZE);
		log->room = torch->run->options->full ? 0 : TORCH_SHOWN / TORCH_LOG_BLOCK + 1;
	}
	if (!log->block)
		torch_fail(torch, -MT_E_MEMORY);
	else if (!at && log->records)
		torch_fail(torch, write_block(log, log->records / TORCH_LOG_BLOCK - 1));
	if (torch->error)
		return;
	log->block[at] = *record;
	log->records++;
}

/* The newest record is always in memory. */
void torch_log_join(struct torch *torch, struct torch_log *log, const struct torch_record *record)
{
	struct torch_record *newest = log->records ? &log->block[(log->records - 1) % TORCH_LOG_BLOCK] : NULL;

	if (newest && newest->is_mapped && newest->event == record->event && newest->process == record->process &&
	    newest->thread == record->thread && newest->stack == record->stack && newest->site == record->site &&
	    newest->addr + newest->size == record->addr)
		newest->size += record->size;
	else
		torch_log_add(torch, log, record);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

uint64_t torch_log_each(struct torch *torch, struct torch_log *log,
			void (*each)(struct torch *torch, const struct torch_record *record, void *context),
			void *context)
{
	uint64_t blocks = (log->records + TORCH_LOG_BLOCK - 1) / TORCH_LOG_BLOCK, number = 0, i, first;
	struct torch_record *older = blocks > 1 ? malloc(BLOCK_SIZE) : NULL, *block;

	if (blocks > 1 && !older)
		torch_fail(torch, -MT_E_MEMORY);
	if (log->room && blocks > log->room + 1)
		number = blocks - log->room - 1;
	first = number * TORCH_LOG_BLOCK;
	for (; number < blocks && !torch->error; number++) {
		block = number + 1 < blocks ? older : log->block;
		if (block == older)
			torch_fail(torch, read_block(log, number, block));
		for (i = number * TORCH_LOG_BLOCK; i < log->records && i < (number + 1) * TORCH_LOG_BLOCK; i++)
			if (!torch->error)
				each(torch, &block[i % TORCH_LOG_BLOCK], context);
	}
	free(older);
	return first;
}
