/*
 * alloc_model.h - a model of PyTorch's caching allocator on one device of one process: what its requests would have
 * reserved. It holds no memory but its own; addresses are its own numbers, except where it was told of a beginning.
 *
 *     request ──round──> best free block of the pool ──none──> new segment, or pages ──refused──> give back, once more
 *                             │ split                                                                  │ out of memory
 *
 * Rules, from c10/cuda/CUDACachingAllocator.cpp. A block is a multiple of 512 bytes. Up to 1 MiB it is small, from
 * segments of 2 MiB. Below 10 MiB it comes from segments of 20 MiB; else it has a segment of its own, a multiple of 2
 * MiB. The smallest block that fits is taken, the lowest of several. A rest is split off: always if the pool is small
 * or segments expand, else if it is more than 1 MiB. Free neighbours in a segment join. Segments that expand are
 * ranges of addresses that get pages of 2 or 20 MiB at the lowest place with room. Nothing goes back to the driver
 * but by alloc_model_empty_cache, garbage collection, and when the driver refuses.
 *
 * Not modelled: blocks that another stream still uses after their free (give them when that is over), what is put off
 * while a graph is captured, peers, IPC.
 */
#ifndef MEMANA_ALLOC_MODEL_H
#define MEMANA_ALLOC_MODEL_H

#include <stdint.h>
#include "alloc_config.h"

#define ALLOC_MODEL_POOLS 4096 /* numbers of pools are below */

struct alloc_model;

struct alloc_state {
	uint64_t allocated, reserved; /* bytes, as torch.cuda.memory_allocated and _reserved */
	uint64_t requests;            /* so far, with those that failed */
	uint64_t retries;             /* requests that gave everything cached back first */
	uint64_t failed;              /* requests that got nothing */
};

/* `config` is copied. NULL: out of memory. */
struct alloc_model *alloc_model_new(const struct alloc_config *config);
void alloc_model_free(struct alloc_model *model); /* NULL is fine */

/*
 * A pool for each pair of a stream and a private pool: blocks never go from one to another. `kept`: while somebody uses
 * a private pool its cache stays; at first nobody does. Numbers are 0 and up.
 */
void alloc_model_keep(struct alloc_model *model, uint32_t pool, int kept);

/*
 * A beginning: memory that is there, and what lies in it, by rising address. With expandable segments a segment is a
 * run of pages of a range, which begins with its first page. A block that overlaps, or lies nowhere, is left out. 0
 * or -MT_E_MEMORY; alloc_model_begin_block: 1 if it was left out.
 */
int alloc_model_begin_segment(struct alloc_model *model, uint64_t addr, uint64_t bytes, uint32_t pool, int is_small);
int alloc_model_begin_block(struct alloc_model *model, uint64_t id, uint64_t addr, uint64_t bytes);

#define ALLOC_MODEL_REFUSED 1 /* the program would have seen an out-of-memory error */

/* `id` is the caller's, not 0, for alloc_model_give. 0, ALLOC_MODEL_REFUSED, -MT_E_MEMORY, -MT_E_ARGUMENT (a pool too many). */
int alloc_model_take(struct alloc_model *model, uint64_t id, uint64_t bytes, uint32_t pool);

/* The block with this id, if any has it. */
void alloc_model_give(struct alloc_model *model, uint64_t id);

/* torch.cuda.empty_cache(). 0 or -MT_E_MEMORY. */
int alloc_model_empty_cache(struct alloc_model *model);

/* Bytes that the process has from the driver beside the allocator: with them `limit` is reached earlier. */
void alloc_model_beside(struct alloc_model *model, uint64_t bytes);

/* From now on, instead of what its config says. 0: the driver never refuses. */
void alloc_model_limit(struct alloc_model *model, uint64_t bytes);

const struct alloc_state *alloc_model_state(const struct alloc_model *model);

#endif
