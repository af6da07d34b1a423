/*
 * census.h - the framework's own names for its memory: the census events of a trace (formats/trace/trace-v1.md,
 * "Census").
 *
 * A birth needs a category, and the census comes later. The census is therefore read first, up to the last chunk that
 * has census events. This chunk is early in most traces. A trace without census events is not read:
 *
 *     birth 17   stack A, 4 MiB ────────────┐                      known: 17 is a weight
 *     birth 43   stack B, 4 MiB ─────────┐  │                             43 is a gradient
 *     census     0x7f.. 4 MiB weights    │  ├── alive, at this address
 *                0x7e.. 4 MiB gradients  ├──┘
 *     birth 90   stack B, 4 MiB          like 43: alike (a gradient of a later step)
 *
 * Allocations of one stack in one size are alike when at least half of those alive at the census had that one name. A
 * block may hold many tensors (all weights of a file, a flat buffer). Such a block has the kind of most named bytes, if
 * at least half of its bytes are named.
 *
 * Memory grows with the census's events and the memory that they name. Time grows with the events read, up to a budget
 * for traces with absurdly many.
 */
#ifndef MEMANA_CENSUS_H
#define MEMANA_CENSUS_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/event.h"
#include "memtrace/reader.h"

/* The words of a census event's description, in their order. X(name) */
#define CENSUS_WORD_LIST(X) X(dtype) X(shape) X(local) X(module) X(optimizer) X(state) X(model)

#define CENSUS_WORD_MAX 256u /* bytes with NUL */
#define CENSUS_DIMS_MAX 8u
#define CENSUS_ELEMENTS_MAX (1ull << 48) /* in a tensor, and in a dimension: no GPU has as many bytes */
#define CENSUS_ELEMENT_MAX 16            /* bytes of an element: a complex number of two doubles */

struct census_text {
#define CENSUS_WORD_MEMBER(name) char name[CENSUS_WORD_MAX]; /* "-": nothing */
	CENSUS_WORD_LIST(CENSUS_WORD_MEMBER)
#undef CENSUS_WORD_MEMBER
};

struct census_row {
	uint64_t seq, time;
	uint64_t addr, bytes;
	uint64_t block; /* seq of the birth of the allocation that contains it, 0: none was recorded */
	uint64_t block_bytes;
	uint32_t device, name, text; /* definitions of the process */
	uint32_t flags;              /* flags of the event */
};

/* Number of matrices that have `rows` rows. */
struct census_layer {
	uint64_t rows, count;
};

enum census_certainty {
	CENSUS_SILENT,
	CENSUS_KNOWN, /* the census named this allocation */
	CENSUS_ALIKE, /* the census named other allocations of the same stack and size */
};

/* The facts of one birth, or of a group of births that are alike. */
struct census_block {
	uint64_t key;                    /* seq of the birth, or a hash of stack and size; 0: a free slot */
	uint64_t named[MT_CENSUS_COUNT]; /* bytes */
	uint64_t bytes;
	uint64_t like;    /* births: key of the group (same stack and size) */
	uint32_t site;    /* births: the site; 0: not met yet */
	uint32_t census;  /* births: number of the census that named it */
	uint32_t step;    /* births: steps that had ended at the census */
	uint8_t category; /* 0: unknown */
};

/* The census of one process. Zeroed: empty, and silent. */
struct census {
	struct census_row *row; /* in the order of their seq */
	uint32_t rows, room;
	struct census_block *known, *alike; /* hash tables */
	uint32_t known_slots, known_used, alike_slots, alike_used;
	uint64_t words[2];          /* rows of the whole vocabulary, and of the part on this process; 0: unknown */
	uint64_t width;             /* width of a token's vector */
	struct census_layer *other; /* matrices that come several times: other factors of a token's vector */
	uint32_t others;
};

/*
 * Reads the census of a trace that is at its beginning, and rewinds the trace. Damage ends the census early. Returns 0
 * or -MT_E_MEMORY.
 */
int census_read(struct census *census, struct mt_reader *reader);
void census_release(struct census *census);

/*
 * census_known finds a birth that a census named, by seq. census_alike and census_find_alike find the group of a stack
 * and size, the latter by census_like(). NULL: none.
 */
const struct census_block *census_known(const struct census *census, uint64_t seq);
const struct census_block *census_alike(const struct census *census, uint64_t stack, uint64_t size);
const struct census_block *census_find_alike(const struct census *census, uint64_t like); /* `like` is of census_like */
uint64_t census_like(uint64_t stack, uint64_t size);

/* Returns the enum mt_category of the memory that `event` brings to life. *how says how certain the category is. */
uint8_t census_category(const struct census *census, const struct mt_event *event, enum census_certainty *how);

/*
 * census_found notes the site of a named birth. census_site returns the site, 0: unknown. census_reorder gives sites
 * new numbers: number[old] is the new one.
 */
void census_found(struct census *census, uint64_t seq, uint32_t site);
uint32_t census_site(const struct census *census, uint64_t seq);
void census_reorder(struct census *census, const uint32_t *number);

/* Splits a description into words. Returns 1; or 0 for text that is no description: all words are "-". */
int census_parse(struct census_text *words, const char *text);

/*
 * The dimensions of a shape. Returns their number; 0 for no dimensions, no shape, or more than CENSUS_ELEMENTS_MAX
 * elements. Shapes come from files, traces and databases: they are hostile input.
 */
uint32_t census_dims(uint64_t dims[CENSUS_DIMS_MAX], const char *shape);

/* A number of rows, words or bytes from a database; 0 where the number is impossible. */
static inline uint64_t census_count(int64_t count)
{
	return count > 0 && (uint64_t)count <= CENSUS_ELEMENTS_MAX ? (uint64_t)count : 0;
}

static inline uint64_t census_element(int64_t bytes)
{
	return bytes > 0 && bytes <= CENSUS_ELEMENT_MAX ? (uint64_t)bytes : 0;
}

#endif
