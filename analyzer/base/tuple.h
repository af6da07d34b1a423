/* tuple.h - a hash table from keys of four numbers to numbers. All zero: an empty table. */
#ifndef MEMANA_TUPLE_H
#define MEMANA_TUPLE_H

#include <stddef.h>
#include <stdint.h>

struct tuple {
	uint64_t at[4];
};

struct tuple_slot {
	struct tuple key;
	uint32_t value; /* value + 1; 0: the slot is free */
};

struct tuple_table {
	struct tuple_slot *slot;
	size_t slots, used;
};

#define TUPLE_NONE UINT32_MAX

/* Returns the value of the key; TUPLE_NONE: the table does not have the key. */
uint32_t tuple_find(const struct tuple_table *table, const struct tuple *key);

/* Adds a new key; `value` is below TUPLE_NONE. Returns 0 or -MT_E_MEMORY. */
int tuple_add(struct tuple_table *table, const struct tuple *key, uint32_t value);

/* Returns a hash of a text. Two texts can have one hash, rarely: compare the texts, too. */
uint64_t tuple_text(const char *text);

void tuple_release(struct tuple_table *table);

#endif
