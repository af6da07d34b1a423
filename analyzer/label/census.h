/*
 * census.h - what the framework said of its memory: the census events of a trace (formats/trace/trace-v1.md, "Census").
 *
 * A category is wanted when something is born, and the census tells of it later. So it is read first, up to the last chunk
 * that has any of it, which is early in most traces; those without are not touched:
 *
 *     birth 17   stack A, 4 MiB ────────────┐                      known: 17 is a weight
 *     birth 43   stack B, 4 MiB ─────────┐  │                             43 is a gradient
 *     census     0x7f.. 4 MiB weights    │  ├── alive, at this address
 *                0x7e.. 4 MiB gradients  ├──┘
 *     birth 90   stack B, 4 MiB          like 43: alike (a gradient of a later step)
 *
 * Allocations of one stack in one size are alike when at least half of those alive at the census had that one name. A
 * block that holds many tensors (all weights of a file, a flat buffer) has the kind of most of its bytes, if the
 * named ones are at least half of it.
 *
 * Memory: the census's events and what they name. Time: of the events read; a trace that says more than it could mean is
 * believed up to a budget.
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
#define CENSUS_ELEMENTS_MAX (1ull << 48) /* one tensor, and each dimension: no GPU has as many bytes */
#define CENSUS_ELEMENT_MAX 16            /* bytes of an element: a complex number of two doubles */

struct census_text {
#define CENSUS_WORD_MEMBER(name) char name[CENSUS_WORD_MAX]; /* "-": nothing */
	CENSUS_WORD_LIST(CENSUS_WORD_MEMBER)
#undef CENSUS_WORD_MEMBER
};

struct census_row {
	uint64_t seq, time;
	uint64_t addr, bytes;
	uint64_t block; /* seq of the birth of the allocation it lies in, 0: none was recorded */
	uint64_t block_bytes;
	uint32_t device, name, text; /* definitions of the process */
	uint32_t flags;              /* as in the event */
};

/* A number of matrices with the same number of rows. */
struct census_layer {
	uint64_t rows, count;
};

enum census_certainty {
	CENSUS_SILENT,
	CENSUS_KNOWN, /* it was named */
	CENSUS_ALIKE, /* the kind of the same stack's allocations in the same size */
};

/* The facts of one birth, or of a group that is alike. */
struct census_block {
	uint64_t key;                    /* seq of the birth, or a hash of stack and size; 0: a free slot */
	uint64_t named[MT_CENSUS_COUNT]; /* bytes */
	uint64_t bytes;
	uint64_t like;    /* a birth: key of those of the same stack and size */
	uint32_t site;    /* a birth: its site, once it was met; 0: it was not */
	uint32_t census;  /* a birth: number of the census that named it */
	uint32_t step;    /* a birth: steps that had ended by then */
	uint8_t category; /* 0: it could not be told */
};

/* The census of one process. Zeroed: empty, and silent. */
struct census {
	struct census_row *row; /* in the order of their seq */
	uint32_t rows, room;
	struct census_block *known, *alike; /* hash tables */
	uint32_t known_slots, known_used, alike_slots, alike_used;
	uint64_t words[2];          /* rows of the vocabulary: all, and the part that is here; 0: not known */
	uint64_t width;             /* width of a token's vector */
	struct census_layer *other; /* matrices of which there are several: other things that a token is multiplied by */
	uint32_t others;
};

/* Reads the census of a trace at its beginning, and goes back there. 0 or -MT_E_MEMORY; damage just ends it. */
int census_read(struct census *census, struct mt_reader *reader);
void census_release(struct census *census);

/* The birth with that seq, which a census named; the group of those with that stack and size. NULL: there is none. */
const struct census_block *census_known(const struct census *census, uint64_t seq);
const struct census_block *census_alike(const struct census *census, uint64_t stack, uint64_t size);
const struct census_block *census_find_alike(const struct census *census, uint64_t like); /* by `like` of a birth, */
uint64_t census_like(uint64_t stack, uint64_t size);                                      /* which is this */

/* An enum mt_category for what `event` brings to life; *how says whether there is one. */
uint8_t census_category(const struct census *census, const struct mt_event *event, enum census_certainty *how);

/*
 * The birth with that seq, which a census names, is of that site; the answer is its site, 0: not known. Sites get new
 * numbers: `number`, by the old ones.
 */
void census_found(struct census *census, uint64_t seq, uint32_t site);
uint32_t census_site(const struct census *census, uint64_t seq);
void census_reorder(struct census *census, const uint32_t *number);

/* Takes a description apart. 1, or 0: it is none, and all words are "-". */
int census_parse(struct census_text *words, const char *text);

/*
 * Sizes of tensors come from files, traces and databases: here is what is believed of them. The dimensions of a shape; how
 * many, 0: of none, no shape, or one of more than CENSUS_ELEMENTS_MAX elements.
 */
uint32_t census_dims(uint64_t dims[CENSUS_DIMS_MAX], const char *shape);

/* A number of rows or words, and the bytes of an element, as a database has them; 0: it cannot be. */
static inline uint64_t census_count(int64_t count)
{
	return count > 0 && (uint64_t)count <= CENSUS_ELEMENTS_MAX ? (uint64_t)count : 0;
}

static inline uint64_t census_element(int64_t bytes)
{
	return bytes > 0 && bytes <= CENSUS_ELEMENT_MAX ? (uint64_t)bytes : 0;
}

#endif
