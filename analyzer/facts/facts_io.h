/*
 * facts_io.h - structs as bytes and back, by one description for both ways.
 *
 * Rows of equal structs go member by member: differences from the row before, as varints. A reader limits every count, most by the
 * bytes that are left: memory stays in proportion to the bytes. The first error stays, and nothing is read or written after it.
 */
#ifndef MEMANA_FACTS_IO_H
#define MEMANA_FACTS_IO_H

#include <stddef.h>
#include <stdint.h>

struct facts_io {
	int writing;
	int error;     /* 0, -MT_E_MEMORY, -MT_E_LIMIT (writing) or -MT_E_CORRUPT */
	uint8_t *data; /* writing: the caller frees */
	size_t size, room;
	const uint8_t *at, *end; /* reading */
};

/* A member of 1, 2, 4 or 8 bytes. */
struct facts_member {
	uint16_t offset, size;
};

#define FACTS_MEMBER(type, member)                                                \
	{                                                                         \
		offsetof(struct type, member), sizeof(((struct type *)0)->member) \
	}

/* One number. */
void facts_number(struct facts_io *io, uint64_t *number);

/* The number of rows that follow, of at least `least` bytes each; most: the largest that makes sense. */
uint32_t facts_count(struct facts_io *io, uint32_t count, uint32_t least, uint32_t most);

/* `count` rows of `size` bytes; those that are read are zeroed but for their members. */
void facts_rows(struct facts_io *io, void *rows, size_t size, size_t count, const struct facts_member *member,
		size_t members);

/*
 * The same, where equal differences in a row are counted: a row may take no byte at all. A column takes one byte for 256 rows at least
 * (FACTS_RUN_MOST). Lowest bits that are 0 in all differences of a column are told once. The caller limits `count`.
 */
#define FACTS_RUN_MOST 255u
void facts_runs(struct facts_io *io, void *rows, size_t size, size_t count, const struct facts_member *member,
		size_t members);

/* Zeroed rows, which the caller frees. NULL: out of memory, or after an error. */
void *facts_new_rows(struct facts_io *io, size_t size, size_t count);

/* facts_rows for an array that is allocated (calloc) when it is read; *rows is NULL before, and the owner's after, errors included. */
void facts_array(struct facts_io *io, void **rows, size_t size, size_t count, const struct facts_member *member,
		 size_t members);

/* facts_runs for an array as of facts_array, with its count, which is at most `most`. *count is 0 after an error. */
void facts_run_array(struct facts_io *io, void **rows, size_t size, uint32_t *count, uint32_t most,
		     const struct facts_member *member, size_t members);

/* A text of less than `most` bytes. Reading: a place in the bytes, which end it with NUL; "" on error. */
const char *facts_text(struct facts_io *io, const char *text, uint32_t most);

/* Writing: bytes as they are. */
void facts_bytes(struct facts_io *io, const uint8_t *bytes, size_t size);

/* `right` 0: the bytes contradict themselves. */
void facts_check(struct facts_io *io, int right);

#endif
