/*
 * memory.h - what memory.c asks of pool.c. A pool holds "reserved" bytes of its device, of which "used" are handed
 * out. It grows when an allocation needs more and shrinks, down to its threshold, when somebody synchronizes.
 */
#ifndef STANDIN_MEMORY_H
#define STANDIN_MEMORY_H

#include "driver.h"

int pool_valid(const struct cuda_pool *pool);
cuda_device pool_device(const struct cuda_pool *pool);	/* of a valid pool */
struct cuda_pool *pool_current(cuda_device device);	/* NULL: out of host memory */
int pool_take(struct cuda_pool *pool, uint64_t bytes); /* 1: done, 0: device or pool is full */
void pool_give(struct cuda_pool *pool, uint64_t bytes);

#endif
