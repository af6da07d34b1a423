/* tuple.h - a hash table: by four numbers of any meaning, a number. Zeroed it is empty. */
#ifndef MEMANA_TUPLE_H
#define MEMANA_TUPLE_H

#include <stddef.h>
#include <stdint.h>

struct tuple {
	uint64_t at[4];
};

struct tuple_slot {
	struct tuple key;
	uint32_t value; /* plus 1; 0: free */
};

struct tuple_table {
	struct tuple_slot *slot;
	size_t slots, used;
};

#define TUPLE_NONE UINT32_MAX

/* The value; TUPLE_NONE: there is none. */
uint32_t tuple_find(const struct tuple_table *table, const struct tuple *key);

/* For a key that is not there yet; `value` is below TUPLE_NONE. 0 or -MT_E_MEMORY. */
int tuple_add(struct tuple_table *table, const struct tuple *key, uint32_t value);

/* A number for a text. Two texts have the same one by chance alone, and rarely: compare them. */
uint64_t tuple_text(const char *text);

void tuple_release(struct tuple_table *table);

#endif
