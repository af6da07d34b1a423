/*
 * alloc_recorded.h - follows the driver memory of the recorded allocator event by event. Infers the streams and private
 * pools: the recording does not name them.
 *
 * Blocks never move between pools (a stream and a private pool), and all blocks of a segment belong to one pool. A
 * tensor belongs to the pool of its segment. Two segments belong to different pools if a tensor went into the first
 * although the second had a better free block. Expandable segments have a range of addresses for each pool. A pool
 * whose free segments stay when the cache is emptied is in use by a graph.
 *
 * Evidence comes late: the first pass over the events learns the pools, and the second pass uses them.
 *
 * Guesses are wrong where a stream other than the tensor's own kept a block busy after its free: such a block looks
 * free and is passed over. The replay therefore tries both, with one pool for all, and with these.
 */
#ifndef MEMANA_ALLOC_RECORDED_H
#define MEMANA_ALLOC_RECORDED_H

#include "alloc_impl.h"

#define ALLOC_RECORDED_POOLS 64
#define ALLOC_RECORDED_BESIDE UINT32_MAX /* pools that sleep: not part of the model */

struct alloc_recorded {
	struct alloc_tree piece;                /* struct recorded_piece by address */
	uint64_t reserved, beside;              /* bytes of the allocator; bytes of pools that sleep */
	uint32_t pools;                         /* all pool numbers are below */
	uint64_t range_bytes;                   /* bytes of addresses of an expandable segment */
	uint64_t base[ALLOC_RECORDED_POOLS];    /* first address of the range, by pool */
	uint8_t released[ALLOC_RECORDED_POOLS]; /* 1: the pool gave memory back since the last flush */
	uint8_t kept[ALLOC_RECORDED_POOLS];     /* 1: the pool gave no memory back although it could have */
	struct alloc_model *layout;             /* places of the tensors; NULL: segments expand */
	uint8_t *pool_of;                       /* pool of each segment, in the order of their appearance */
	size_t number, room;                    /* segments so far */
	int has_learned;                        /* 1: pool_of is complete */
};

/* A segment, or mapped pages. */
struct alloc_piece {
	uint64_t addr, bytes;
	int is_beside; /* it belongs to a pool that sleeps */
};

/* `config`: of the recording. 0 or -MT_E_MEMORY; release in any case. */
int alloc_recorded_init(struct alloc_recorded *recorded, const struct alloc_config *config);
void alloc_recorded_release(struct alloc_recorded *recorded);

/* Goes back to the beginning, and keeps the learned pools. The same events must follow. Returns 0 or -MT_E_MEMORY. */
int alloc_recorded_again(struct alloc_recorded *recorded, const struct alloc_config *config);

/* A segment or pages appear (piece) or go (piece_gone). Call them in the order of events. Returns 0 or -MT_E_MEMORY. */
int alloc_recorded_piece(struct alloc_recorded *recorded, const struct alloc_piece *piece);
void alloc_recorded_piece_gone(struct alloc_recorded *recorded, uint64_t addr);

/*
 * A tensor appears. *pool: its pool, or ALLOC_RECORDED_BESIDE. `begins`: it existed before the first event. Returns 0
 * or -MT_E_MEMORY.
 */
int alloc_recorded_tensor(struct alloc_recorded *recorded, uint64_t id, uint64_t addr, uint64_t bytes, int begins,
			  uint32_t *pool);
void alloc_recorded_tensor_gone(struct alloc_recorded *recorded, uint64_t id);

/*
 * Call it after calls of alloc_recorded_piece_gone, before an event of another kind. Sets `kept`. Returns 0 or
 * -MT_E_MEMORY.
 */
int alloc_recorded_flush(struct alloc_recorded *recorded);

/* The pool of the memory at an address; 0: no memory there. */
uint32_t alloc_recorded_pool(const struct alloc_recorded *recorded, uint64_t addr);

#endif
