/*
 * allocator.h - a double of PyTorch's caching allocator for CUDA devices: the same calls to libc10 and to the driver in
 * the same order, and an account of its own. Exported functions are for ctypes (caching_allocator.py).
 *
 *     caching.c   alloc, free, streams, empty the cache, out of memory          exported functions
 *     block.c     blocks: lists by best fit, splitting, merging
 *     segment.c   where blocks come from: cuMemAlloc, an expandable range, a pool that can sleep
 *     device.c    contexts and locks of the devices
 *     report.c    what libc10 is told                       account.c   what the double says of itself, on paper
 *
 * Everything below runs under the lock of its device unless it says otherwise.
 */
#ifndef TESTS_ALLOCATOR_H
#define TESTS_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>
#include "../../samples/cuda_driver.h"
#include "memtrace/base.h"

#define MIB (1ull << 20)
#define BLOCK_BYTES 512u    /* every size is a multiple */
#define SMALL_MAX (1 * MIB) /* requests up to this come from segments of SMALL_SEGMENT */
#define SMALL_SEGMENT (2 * MIB)
#define LARGE_MIN (10 * MIB) /* requests below this, and not small, come from segments of LARGE_SEGMENT */
#define LARGE_SEGMENT (20 * MIB)
#define LARGE_ROUND (2 * MIB) /* the others are segments of their own, a multiple of this */
#define DEVICES_MAX 8
#define POOLS_MAX 16
#define STREAMS_MAX 8

/* How a pool gets memory. EXPANDABLE holds for pools without an allocator of their own. */
enum source {
	SOURCE_MALLOC = 0, /* cudaMalloc */
	SOURCE_CUMEM = 1,  /* a pluggable allocator that can sleep: addresses reserved first */
	SOURCE_SAVER = 2,  /* likewise, physical memory first */
};

enum mode {
	MODE_EXPANDABLE = 1, /* expandable_segments:True */
	MODE_ASYNC = 2,      /* backend:cudaMallocAsync */
	MODE_SAVER = 4,      /* cudaMalloc itself is replaced: the default pool is SOURCE_SAVER */
};

struct range;
struct segment;
struct pool;

struct block {
	struct pool *pool;
	struct range *range; /* range of an expandable segment; NULL: the block is part of a segment of its own */
	uint64_t addr, size;
	uint64_t requested;
	int stream;
	int mapped, allocated;
	uint32_t uses;             /* bit per other stream that is not done with it */
	struct block *prev, *next; /* neighbours in the segment, by address */
	struct block *list_next;   /* next in the pool's free or unmapped list */
	struct block *
		chain; /* next in the device's table of allocated blocks, or in the list of those that wait for streams */
};

/* Free blocks by stream, size and address; unmapped ones by stream and address. */
struct pool {
	struct device *device;
	int id; /* 0: the default pools */
	int is_small;
	enum source source;
	int is_used; /* private: somebody still allocates from it, so its cache stays */
	struct block *free, *unmapped;
	struct segment *segments; /* those that can sleep */
};

struct device {
	int index;
	uint64_t allocated, reserved; /* bytes, what PyTorch calls so */
	struct pool pool[POOLS_MAX][2];
	struct block *used[4096]; /* by address */
	struct block *waiting;    /* freed, but another stream is not done with them */
	int capturing;            /* streams that are being captured into graphs */
};

/* device.c. device_enter locks it and makes its context current on the thread. */
struct device *device_enter(int index);
void device_leave(struct device *device);
uint64_t device_total(void);
int device_modes(void); /* enum mode bits */

/* block.c */
struct block *block_new(struct pool *pool, int stream, uint64_t addr, uint64_t size);
void block_insert(struct block *block);                                 /* into the free or unmapped list of its pool */
void block_remove(struct block *block);                                 /* out of it */
struct block *block_best(struct pool *pool, int stream, uint64_t size); /* and out of the list; NULL: none */
struct block *block_split(struct block *block,
			  uint64_t size); /* cuts off what is behind `size`: neighbours; in no list */
void block_merge(struct block *block);    /* with free neighbours of the same kind */
int block_is_split(const struct block *block);

/* segment.c */
struct block *segment_alloc(struct pool *pool, int stream, uint64_t size); /* NULL: the device is full */
void segment_release_cached(struct pool *pool);                            /* gives back what is wholly free */
void segment_sleep(struct pool *pool); /* physical memory of the pool's segments goes; addresses stay */
int segment_wake(struct pool *pool);   /* 0: the device is full */

/* account.c: one line per action, in the order of the calls. "alloc", "segment_map" and so on as PyTorch's history. */
void account_open(const char *path);
void account_write(const char *action, const struct device *device, uint64_t addr, uint64_t size, uint64_t real,
		   int stream);

/* report.c: to libc10. `bytes` negative: a free. */
void report_memory(const struct device *device, uint64_t addr, int64_t bytes);
void report_oom(const struct device *device, uint64_t bytes);

#endif
