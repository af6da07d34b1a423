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

/* Free blocks of one stream and private pool, and the addresses of expandable segments that have no page. */
struct alloc_pool {
	struct alloc_tree free;     /* by bytes and address */
	struct alloc_tree unmapped; /* by address; key 0 */
	struct alloc_tree spare;    /* free blocks that can go back, the oldest first */
	uint64_t spares, born;      /* number of spare blocks; sum of their `born` */
	int is_small, kept;
};

/* One call of cudaMalloc, or the range of addresses of an expandable segment. */
struct alloc_segment {
	struct alloc_node place; /* by address; key 0 */
	uint64_t bytes;
	uint64_t page; /* bytes; 0: it does not expand */
	struct alloc_block *first;
	struct alloc_tree blocks; /* all of its blocks, by address; key 0 */
};

struct alloc_block {
	struct alloc_node node;  /* free: in a tree of its pool. Its address is that of the block */
	struct alloc_node name;  /* allocated: by the caller's id; addr 0 */
	struct alloc_node place; /* in the tree of its segment */
	struct alloc_node spare; /* in a tree of its pool, by `born` and address */
	uint64_t bytes;
	struct alloc_block *prev, *next; /* neighbours in the segment, by address */
	struct alloc_segment *segment;
	struct alloc_pool *pool;
	uint64_t born; /* free: count of searches when it became so */
	uint8_t allocated, mapped, is_spare;
};

struct alloc_model {
	struct alloc_config config;
	struct alloc_state state;
	struct alloc_pool *pool[2][ALLOC_MODEL_POOLS]; /* by whether it is small, and number; NULL: not used yet */
	uint32_t pools;                                /* numbers up to here are used */
	struct alloc_tree segment;                     /* by address */
	struct alloc_tree block;                       /* allocated ones by id */
	uint64_t next_addr;                            /* no segment lies here or above */
	uint64_t searches;                             /* for large blocks: the clock of garbage collection */
	uint64_t beside;
	uint64_t looked; /* blocks looked at for memory to give back or to map: tests count this work */
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

/* Into the tree that it belongs in, and out of it. */
void alloc_block_insert(struct alloc_model *model, struct alloc_block *block);
void alloc_block_remove(struct alloc_block *block);

/* The bytes of the block, from its segment's start, that are whole pages: as [from, end), empty if from >= end. */
void alloc_block_pages(const struct alloc_block *block, uint64_t *from, uint64_t *end);

/* Cuts off what is behind `bytes`; it is in no tree. NULL: out of memory. */
struct alloc_block *alloc_block_split(struct alloc_block *block, uint64_t bytes);

/* The block, joined with neighbours of its kind. It is in no tree before and after. */
struct alloc_block *alloc_block_join(struct alloc_block *block);

/* The best for a request, taken out of the tree; NULL: none. */
struct alloc_block *alloc_block_best(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes);

/* A segment of one unallocated block that is in no tree. `addr` 0: anywhere. NULL: out of memory. */
struct alloc_block *alloc_segment_new(struct alloc_model *model, struct alloc_pool *pool, uint64_t addr, uint64_t bytes,
				      uint64_t page);

/* `block` is all of it and in no tree. */
void alloc_segment_drop(struct alloc_model *model, struct alloc_block *block);

/* The segment, and the block, at an address; NULL: nothing. */
struct alloc_block *alloc_block_at(const struct alloc_model *model, uint64_t addr);
struct alloc_segment *alloc_segment_at(const struct alloc_model *model, uint64_t addr);

/* ---- alloc_expand.c: 0, ALLOC_MODEL_REFUSED or -MT_E_MEMORY ---- */

/* A block of at least `bytes`, in no tree; pages are added at the lowest place with room. */
int alloc_expand(struct alloc_model *model, struct alloc_pool *pool, uint64_t bytes, struct alloc_block **block);

/* Pages that lie in free blocks go back. */
int alloc_expand_release(struct alloc_model *model, struct alloc_pool *pool);

/* Pages that are there at the beginning. */
int alloc_expand_begin(struct alloc_model *model, struct alloc_pool *pool, uint64_t addr, uint64_t bytes);

/* Whether the driver gives `bytes` more. */
int alloc_model_has_room(const struct alloc_model *model, uint64_t bytes);

#endif
