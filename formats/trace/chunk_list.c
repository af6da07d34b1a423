/* chunk_list.c - where the chunks of a file are. */
#include <stdlib.h>
#include <string.h>
#include "chunk_list.h"
#include "index.h"
#include "memtrace/error.h"

void mt_chunk_list_release(struct mt_chunk_list *list)
{
	free(list->info);
	memset(list, 0, sizeof(*list));
}

int mt_chunk_list_add(struct mt_chunk_list *list, const struct mt_chunk_info *info)
{
	uint32_t capacity = list->capacity ? 2 * list->capacity : 64;
	struct mt_chunk_info *grown;

	if (list->count >= MT_CHUNKS_MAX)
		return -MT_E_LIMIT;
	if (list->count >= list->capacity) {
		grown = realloc(list->info, capacity * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		list->info = grown;
		list->capacity = capacity;
	}
	list->info[list->count++] = *info;
	return 0;
}

void mt_chunk_list_damage(struct mt_chunk_list *list, int error, uint64_t offset)
{
	if (list->error && list->error_offset <= offset)
		return;
	list->error = error;
	list->error_offset = offset;
}

int mt_chunk_list_find(struct mt_chunk_list *list, const struct mt_chunk_source *source, uint64_t first)
{
	uint64_t offset;
	int error = mt_index_read(source->fd, source->file_bytes, first, &list->info, &list->count, &offset);

	list->capacity = list->count = list->info ? list->count : 0;
	list->indexed = !error;
	if (!error || error == -MT_E_MEMORY || error == -MT_E_SYSTEM)
		return error;
	return mt_chunk_list_scan(list, source, first);
}
