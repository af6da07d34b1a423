/* table.c - an array that grows without moving. */
#include "table.h"
#include <stdlib.h>
#include <string.h>

void mt_table_init(struct mt_table *table, size_t entry_size)
{
	memset(table, 0, sizeof(*table));
	table->entry_size = entry_size;
}

void mt_table_release(struct mt_table *table)
{
	uint32_t i;

	for (i = 0; i < table->pages; i++)
		free(table->page[i]);
	free(table->page);
	memset(table, 0, sizeof(*table));
}

/* The page is not cleared at once: most entries of a small trace's tables stay unused. */
static int add_page(struct mt_table *table)
{
	uint32_t slots = table->page_slots ? 2 * table->page_slots : 16;
	void **page;

	if (table->pages == table->page_slots) {
		page = realloc(table->page, slots * sizeof(*page));
		if (!page)
			return 0;
		table->page = page;
		table->page_slots = slots;
	}
	table->page[table->pages] = malloc(MT_TABLE_PAGE * table->entry_size);
	if (!table->page[table->pages])
		return 0;
	table->pages++;
	return 1;
}

void *mt_table_next(struct mt_table *table)
{
	void *entry;

	if (table->count == table->pages * MT_TABLE_PAGE && !add_page(table))
		return NULL;
	entry = (char *)table->page[table->count / MT_TABLE_PAGE] + table->count % MT_TABLE_PAGE * table->entry_size;
	return memset(entry, 0, table->entry_size);
}
