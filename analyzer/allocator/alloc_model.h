/*
 * alloc_model.h - a model of PyTorch's caching allocator on one device of one process: computes the bytes that a series
 * of requests would reserve. The model allocates nothing on a device. It numbers addresses itself, except those of a
 * beginning.
 *
 *     request ──round──> best free block of the pool ──none──> new segment, or pages ──refused──> give back, once more
 *                             │ split                                                                  │ out of memory
 *
 * Rules, from c10/cuda/CUDACachingAllocator.cpp. A block is a multiple of 512 bytes. Up to 1 MiB it is small, from
 * segments of 2 MiB. Below 10 MiB it comes from segments of 20 MiB; else it has a segment of its own, a multiple of 2
 * MiB. The smallest block that fits is taken, the lowest of several. A rest is split off: always if the pool is small
 * or segments expand, else if it is more than 1 MiB. Free neighbours in a segment join. Segments that expand are ranges
 * of addresses that get pages of 2 or 20 MiB at the lowest place with room. Memory goes back to the driver in three
 * cases: alloc_model_empty_cache, garbage collection, and a refusal of the driver.
 *
 * Not modelled: blocks that another stream still uses after their free (give them when the stream is done), frees
 * delayed while a graph is captured, peers, IPC.
 */
#ifndef MEMANA_ALLOC_MODEL_H
#define MEMANA_ALLOC_MODEL_H

#include <stdint.h>
#include "alloc_config.h"

#define ALLOC_MODEL_POOLS 4096 /* pool numbers are below */

struct alloc_model;

struct alloc_state {
	uint64_t allocated, reserved; /* bytes, as torch.cuda.memory_allocated and _reserved */
	uint64_t requests;            /* number so far, failed ones included */
	uint64_t retries;             /* requests that first gave the whole cache back */
	uint64_t failed;              /* requests that failed */
};

/* `config` is copied. NULL: out of memory. */
struct alloc_model *alloc_model_new(const struct alloc_config *config);
void alloc_model_free(struct alloc_model *model); /* NULL is allowed */

/*
 * `pool` is a pair of a stream and a private pool, numbered from 0. Blocks never move between pools. `kept`: a graph
 * uses the private pool, and its cache stays. At first no pool is kept.
 */
void alloc_model_keep(struct alloc_model *model, uint32_t pool, int kept);

/*
 * Adds memory of a beginning, by ascending address: segments, then the blocks in them. With expandable segments, a
 * segment is a run of pages of a range that begins with its first page. A block that overlaps another, or lies in no
 * segment, is left out. Returns 0 or -MT_E_MEMORY; alloc_model_begin_block: 1 if the block was left out.
 */
int alloc_model_begin_segment(struct alloc_model *model, uint64_t addr, uint64_t bytes, uint32_t pool, int is_small);
int alloc_model_begin_block(struct alloc_model *model, uint64_t id, uint64_t addr, uint64_t bytes);

#define ALLOC_MODEL_REFUSED 1 /* the program would get an out-of-memory error */

/*
 * Requests a block. `id` is the caller's, not 0, for alloc_model_give. Returns 0, ALLOC_MODEL_REFUSED, -MT_E_MEMORY, or
 * -MT_E_ARGUMENT (too many pools).
 */
int alloc_model_take(struct alloc_model *model, uint64_t id, uint64_t bytes, uint32_t pool);

/* Frees the block with this id, if there is one. */
void alloc_model_give(struct alloc_model *model, uint64_t id);

/* torch.cuda.empty_cache(). 0 or -MT_E_MEMORY. */
int alloc_model_empty_cache(struct alloc_model *model);

/* Sets the bytes that the process has from the driver outside the allocator. They count towards `limit`. */
void alloc_model_beside(struct alloc_model *model, uint64_t bytes);

/* Replaces the limit of the config from now on. 0: the driver never refuses. */
void alloc_model_limit(struct alloc_model *model, uint64_t bytes);

const struct alloc_state *alloc_model_state(const struct alloc_model *model);

#endif
