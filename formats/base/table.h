/*
 * table.h - an array that grows without moving. Entries lie in pages, so pointers to them stay valid. Definitions use
 * such arrays; their ids count from 1.
 */
#ifndef FORMATS_TABLE_H
#define FORMATS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define MT_TABLE_PAGE 1024u /* entries */

struct mt_table {
	size_t entry_size;
	uint32_t count;
	uint32_t pages, page_slots;
	void **page;
};

void mt_table_init(struct mt_table *table, size_t entry_size);
void mt_table_release(struct mt_table *table);

/* Returns room for one more entry, zeroed. `count++` adds the entry. NULL: out of memory. */
void *mt_table_next(struct mt_table *table);

/* Returns entry `id`, or NULL. */
static inline void *mt_table_at(const struct mt_table *table, uint32_t id)
{
	uint32_t index = id - 1;

	if (index >= table->count)
		return NULL;
	return (char *)table->page[index / MT_TABLE_PAGE] + index % MT_TABLE_PAGE * table->entry_size;
}

#endif
