/*
 * alloc_impl.h - the parts of the model; for analyzer/allocator only.
 *
 *     alloc_model.c    requests and frees: which block, when to split, what goes back
 *     alloc_block.c    blocks of segments: cut, joined, found
 *     alloc_expand.c   segments that expand: pages come and go
 */
#ifndef MEMANA_ALLOC_IMPL_H
#define MEMANA_ALLOC_IMPL_H

#include <stddef.h>
#include "alloc_model.h"
#include "alloc_tree.h"

#define ALLOC_BYTES_MAX (1ull << 50) /* no device has this many bytes: a request for more is out of memory */

#define ALLOC_MIB (1ull << 20)
#define ALLOC_BLOCK_BYTES 512u
#define ALLOC_SMALL_MAX (1 * ALLOC_MIB)     /* requests up to this are small */
#define ALLOC_SMALL_SEGMENT (2 * ALLOC_MIB) /* and come from segments, or pages, of this */
#define ALLOC_LARGE_MIN (10 * ALLOC_MIB)    /* requests from here on are segments of their own */
#define ALLOC_LARGE_ROUND (2 * ALLOC_MIB)   /* larger requests are a multiple of this */

/* Free blocks of one stream and private pool, and the unmapped addresses of expandable segments. */
struct alloc_pool {
	struct alloc_tree free;     /* by bytes and address */
	struct alloc_tree unmapped; /* by address; key 0 */
	struct alloc_tree spare;    /* free blocks that the driver can get back, the oldest first */
	uint64_t spares, born;      /* number of spare blocks; sum of their `born` */
	int is_small, kept;
};

/* One call of cudaMalloc, or the range of addresses of an expandable segment. */
struct alloc_segment {
	struct alloc_node place; /* by address; key 0 */
	uint64_t bytes;
	uint64_t page; /* bytes of a page; 0: not expandable */
	struct alloc_block *first;
	struct alloc_tree blocks; /* all of its blocks, by address; key 0 */
};

struct alloc_block {
	struct alloc_node node;  /* if free: node in a tree of its pool, with the block's address */
	struct alloc_node name;  /* allocated: by the caller's id; addr 0 */
	struct alloc_node place; /* in the tree of its segment */
	struct alloc_node spare; /* in a tree of its pool, by `born` and address */
	uint64_t bytes;
	struct alloc_block *prev, *next; /* neighbours in the segment, by address */
	struct alloc_segment *segment;
	struct alloc_pool *pool;
	uint64_t born; /* if free: `searches` at the time it became free */
	uint8_t allocated, mapped, is_spare;
};

struct alloc_model {
	struct alloc_config config;
	struct alloc_state state;
	struct alloc_pool *pool[2][ALLOC_MODEL_POOLS]; /* by is_small and number; NULL: not used yet */
	uint32_t pools;                                /* all used numbers are below */
	struct alloc_tree segment;                     /* by address */
	struct alloc_tree block;                       /* allocated ones by id */
	uint64_t next_addr;                            /* all segments lie below */
	uint64_t searches;                             /* searches for large blocks: the clock of garbage collection */
	uint64_t beside;
	uint64_t looked; /* blocks tried for memory to give back or to map; tests count this work */
};

static inline struct alloc_block *alloc_block_of(struct alloc_node *node)
{
	return (struct alloc_block *)node; /* its first member */
}

static inline struct alloc_block *alloc_block_of_spare(struct alloc_node *node)
{
	return (struct alloc_block *)((char *)node - offsetof(struct alloc_block, spare));
}

static inline int alloc_block_is_split(const struct alloc_block *block)
{
	return block->prev || block->next;
}

/* NULL: out of memory, or the number is too high. */
struct alloc_pool *alloc_pool_at(struct alloc_model *model, uint32_t number, int is_small);

/* ---- alloc_block.c ---- */

/* Adds the block to its tree, and removes it. */
void alloc_block_insert(struct alloc_model *model, struct alloc_block *block);
void alloc_block_remove(struct alloc_block *block);

/* The bytes of the block in whole pages, from its segment's start, as [from, end). Empty if from >= end. */
void alloc_block_pages(const struct alloc_block *block, uint64_t *from, uint64_t *end);

/* Cuts the block after `bytes`. Returns the rest. The rest is in no tree. NULL: out of memory. */
struct alloc_block *alloc_block_split(struct alloc_block *block, uint64_t bytes);

/* Joins the block with free neighbours of its kind, and returns the result. Both are in no tree. */
struct alloc_block *alloc_block_join(struct alloc_block *block);

/* Takes the best block for a request out of its tree. NULL: none. */
struct alloc_block *alloc_block_best(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes);

/* Makes a segment of one free block that is in no tree. `addr` 0: at any address. NULL: out of memory. */
struct alloc_block *alloc_segment_new(struct alloc_model *model, struct alloc_pool *pool, uint64_t addr, uint64_t bytes,
				      uint64_t page);

/* Drops a segment. `block` is all of the segment, and in no tree. */
void alloc_segment_drop(struct alloc_model *model, struct alloc_block *block);

/* The segment, and the block, that contain an address; NULL: none. */
struct alloc_block *alloc_block_at(const struct alloc_model *model, uint64_t addr);
struct alloc_segment *alloc_segment_at(const struct alloc_model *model, uint64_t addr);

/* ---- alloc_expand.c: 0, ALLOC_MODEL_REFUSED or -MT_E_MEMORY ---- */

/* Gets a block of at least `bytes`, in no tree, by adding pages at the lowest place with room. */
int alloc_expand(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes, struct alloc_block **block);

/* Gives back the pages that lie in free blocks. */
int alloc_expand_release(struct alloc_model *model, struct alloc_pool *pool);

/* Adds pages of the beginning. */
int alloc_expand_begin(struct alloc_model *model, struct alloc_pool *pool, uint64_t addr, uint64_t bytes);

/* Whether the driver has `bytes` more for the process. */
int alloc_model_has_room(const struct alloc_model *model, uint64_t bytes);

#endif
