/*
 * census.h - the framework's own names for its memory: the census events of a trace (formats/trace/trace-v1.md, "Census").
 *
 * A birth needs a category, and the census comes later. The census is therefore read first, up to the last chunk with census events. This chunk is
 * early in most traces. A trace without census events is not read:
 *
 *     birth 17   stack A, 4 MiB ────────────┐                      known: 17 is a weight
 *     birth 43   stack B, 4 MiB ─────────┐  │                             43 is a gradient
 *     census     0x7f.. 4 MiB weights    │  ├── alive, at this address
 *                0x7e.. 4 MiB gradients  ├──┘
 *     birth 90   stack B, 4 MiB          like 43: alike (a gradient of a later step)
 *
 * Allocations of one stack and size are alike if at least half of those alive at the census had one and the same name. A block may hold many tensors
 * (all weights of a file, a flat buffer). Such a block has the category of most of its named bytes, if at least half of its bytes are named.
 *
 * Memory grows with the census's events and with the memory that they name. Time grows with the events read, up to a budget for hostile traces.
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
#define CENSUS_ELEMENTS_MAX (1ull << 48) /* elements in a tensor, or in a dimension: no GPU has as many bytes */
#define CENSUS_ELEMENT_MAX 16            /* bytes of an element: a complex number of two doubles */

struct census_text {
#define CENSUS_WORD_MEMBER(name) char name[CENSUS_WORD_MAX]; /* "-": no word */
	CENSUS_WORD_LIST(CENSUS_WORD_MEMBER)
#undef CENSUS_WORD_MEMBER
};

struct census_row {
	uint64_t seq, time;
	uint64_t addr, bytes;
	uint64_t block; /* seq of the birth of the allocation that contains the tensor; 0: not recorded */
	uint64_t block_bytes;
	uint32_t device, name, text; /* ids of definitions of the process */
	uint32_t flags;              /* flags of the event */
};

/* The number of matrices with `rows` rows. */
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
	uint64_t key;                    /* seq of the birth, or a hash of stack and size; 0: the slot is free */
	uint64_t named[MT_CENSUS_COUNT]; /* bytes by their name */
	uint64_t bytes;
	uint64_t like;    /* births: key of the group (same stack and size) */
	uint32_t site;    /* site of the birth; 0: not met yet */
	uint32_t census;  /* number of the census that named the birth */
	uint32_t step;    /* number of steps that had ended before this census */
	uint8_t category; /* 0: unknown */
};

/* The census of one process. All zero: no census. */
struct census {
	struct census_row *row; /* sorted by seq */
	uint32_t rows, room;
	struct census_block *known, *alike; /* hash tables */
	uint32_t known_slots, known_used, alike_slots, alike_used;
	uint64_t words[2];          /* rows of the whole vocabulary; rows on this process; 0: unknown */
	uint64_t width;             /* width of a token's vector */
	struct census_layer *other; /* other matrices that exist several times: they multiply a token's vector */
	uint32_t others;
};

/*
 * Reads the census of a trace that is at its beginning, and rewinds the trace. Damage ends the census early, without an error. Returns 0 or
 * -MT_E_MEMORY.
 */
int census_read(struct census *census, struct mt_reader *reader);
void census_release(struct census *census);

/*
 * census_known finds a named birth by its seq. census_alike and census_find_alike find the group of a stack and size; census_find_alike takes the
 * result of census_like(). NULL: no such birth or group.
 */
const struct census_block *census_known(const struct census *census, uint64_t seq);
const struct census_block *census_alike(const struct census *census, uint64_t stack, uint64_t size);
const struct census_block *census_find_alike(const struct census *census, uint64_t like); /* from census_like */
uint64_t census_like(uint64_t stack, uint64_t size);

/* Returns the enum mt_category of the memory that `event` creates. *how: how certain this is. */
uint8_t census_category(const struct census *census, const struct mt_event *event, enum census_certainty *how);

/*
 * census_found stores the site of a named birth. census_site returns it; 0: unknown. census_reorder gives sites new numbers: number[old] is the new
 * one.
 */
void census_found(struct census *census, uint64_t seq, uint32_t site);
uint32_t census_site(const struct census *census, uint64_t seq);
void census_reorder(struct census *census, const uint32_t *number);

/* Splits a description into words. Returns 1; 0: the text is no description, and all words are "-". */
int census_parse(struct census_text *words, const char *text);

/*
 * Returns the number of dimensions of a shape and fills them in; 0: no shape, no dimensions, or more than CENSUS_ELEMENTS_MAX elements. Shapes are
 * hostile input: they come from files, traces and databases.
 */
uint32_t census_dims(uint64_t dims[CENSUS_DIMS_MAX], const char *shape);

/* Returns a number of rows, words or bytes from a database; 0 if the number is impossible. */
static inline uint64_t census_count(int64_t count)
{
	return count > 0 && (uint64_t)count <= CENSUS_ELEMENTS_MAX ? (uint64_t)count : 0;
}

static inline uint64_t census_element(int64_t bytes)
{
	return bytes > 0 && bytes <= CENSUS_ELEMENT_MAX ? (uint64_t)bytes : 0;
}

#endif
