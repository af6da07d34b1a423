/*
 * facts_io.h - writes and reads structs as bytes, by one description for both ways.
 *
 * Rows of structs are stored member by member, as varints of the difference from the row before. A reader limits every count, most by the number of
 * remaining bytes: memory stays in proportion to the bytes. The first error stays in `error`; after an error nothing is read or written.
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

/* Writes or reads one number. */
void facts_number(struct facts_io *io, uint64_t *number);

/* Writes or reads the number of following rows, of at least `least` bytes each. A number above `most` is an error. */
uint32_t facts_count(struct facts_io *io, uint32_t count, uint32_t least, uint32_t most);

/* Writes or reads `count` rows of `size` bytes. Reading sets the listed members only; the rows must be zeroed. */
void facts_rows(struct facts_io *io, void *rows, size_t size, size_t count, const struct facts_member *member,
		size_t members);

/*
 * Like facts_rows, with runs of equal differences as a count, so a row may take no byte. A column takes at least one byte for 256 rows
 * (FACTS_RUN_MOST). Low bits that are 0 in all differences of a column are not stored. The caller must limit `count`.
 */
#define FACTS_RUN_MOST 255u
void facts_runs(struct facts_io *io, void *rows, size_t size, size_t count, const struct facts_member *member,
		size_t members);

/* Returns zeroed rows; the caller frees. NULL: out of memory, or an earlier error. */
void *facts_new_rows(struct facts_io *io, size_t size, size_t count);

/* facts_rows for an array. Reading allocates it (calloc): *rows must be NULL before, and the caller frees it, also after an error. */
void facts_array(struct facts_io *io, void **rows, size_t size, size_t count, const struct facts_member *member,
		 size_t members);

/* facts_runs for an array like that of facts_array, including its count of at most `most`. *count is 0 after an error. */
void facts_run_array(struct facts_io *io, void **rows, size_t size, uint32_t *count, uint32_t most,
		     const struct facts_member *member, size_t members);

/* Writes or reads a text of less than `most` bytes. Reading returns a pointer into the bytes, which contain the NUL; "" on error. */
const char *facts_text(struct facts_io *io, const char *text, uint32_t most);

/* Writes bytes unchanged. */
void facts_bytes(struct facts_io *io, const uint8_t *bytes, size_t size);

/* Sets -MT_E_CORRUPT if `right` is 0. */
void facts_check(struct facts_io *io, int right);

#endif
