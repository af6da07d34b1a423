/*
 * alloc_recorded.h - what the recorded allocator had at the driver, followed event by event, and what that tells of the
 * streams and private pools which the recording does not name.
 *
 * Blocks never go from one pool (a stream and a private pool) to another, and all blocks of a segment are of one. A
 * tensor is of the pool of its segment. Two segments are of different pools when a tensor went into the one although
 * the allocator would have had to prefer a free block of the other. Expandable segments have a range of addresses for
 * each pool. A pool whose free segments stay when the cache is emptied is in use by a graph.
 *
 * Evidence comes late, so the events are gone through once to learn the pools, and once more with them.
 *
 * Guesses are wrong where a stream other than the tensor's own kept a block busy after its free: such a block looks
 * free and is passed over. The replay therefore tries both, with one pool for all, and with these.
 */
#ifndef MEMANA_ALLOC_RECORDED_H
#define MEMANA_ALLOC_RECORDED_H

#include "alloc_impl.h"

#define ALLOC_RECORDED_POOLS 64
#define ALLOC_RECORDED_BESIDE UINT32_MAX /* not the allocator's that is modelled: a pool that sleeps */

struct alloc_recorded {
	struct alloc_tree piece;                /* struct recorded_piece by address */
	uint64_t reserved, beside;              /* bytes there: of the allocator, of pools that sleep */
	uint32_t pools;                         /* numbers up to here are given */
	uint64_t range_bytes;                   /* bytes of addresses of an expandable segment */
	uint64_t base[ALLOC_RECORDED_POOLS];    /* the first of them, by pool */
	uint8_t released[ALLOC_RECORDED_POOLS]; /* gave something back since the last flush */
	uint8_t kept[ALLOC_RECORDED_POOLS];     /* gave nothing although it could have */
	struct alloc_model *layout;             /* the place of each tensor; NULL: segments expand */
	uint8_t *pool_of;                       /* the pool of each segment in the order in which they came */
	size_t number, room;                    /* segments so far */
	int has_learned;                        /* pool_of is of all that ever come */
};

/* A segment, or mapped pages. */
struct alloc_piece {
	uint64_t addr, bytes;
	int is_beside; /* it belongs to a pool that sleeps */
};

/* `config`: of the recording. 0 or -MT_E_MEMORY; release in any case. */
int alloc_recorded_init(struct alloc_recorded *recorded, const struct alloc_config *config);
void alloc_recorded_release(struct alloc_recorded *recorded);

/* Back to the beginning with the pools that were learned: the same events must come again. 0 or -MT_E_MEMORY. */
int alloc_recorded_again(struct alloc_recorded *recorded, const struct alloc_config *config);

/* The allocations and frees, in the order of events. 0 or -MT_E_MEMORY. */
int alloc_recorded_piece(struct alloc_recorded *recorded, const struct alloc_piece *piece);
void alloc_recorded_piece_gone(struct alloc_recorded *recorded, uint64_t addr);

/* In *pool: which one it came from, or ALLOC_RECORDED_BESIDE. `begins`: it was there before anything happened. */
int alloc_recorded_tensor(struct alloc_recorded *recorded, uint64_t id, uint64_t addr, uint64_t bytes, int begins,
			  uint32_t *pool);
void alloc_recorded_tensor_gone(struct alloc_recorded *recorded, uint64_t id);

/* Memory went back (alloc_recorded_piece_gone), and now something else happens: fills in `kept`. 0 or -MT_E_MEMORY. */
int alloc_recorded_flush(struct alloc_recorded *recorded);

/* The pool of what is at an address; 0 where nothing is. */
uint32_t alloc_recorded_pool(const struct alloc_recorded *recorded, uint64_t addr);

#endif
