/*
 * memory.h - what memory.c, pool.c and share.c want of each other. A pool holds "reserved" bytes of its place, of which
 * "used" are handed out. It grows when an allocation needs more and shrinks, down to its threshold, when somebody
 * synchronizes.
 */
#ifndef STANDIN_MEMORY_H
#define STANDIN_MEMORY_H

#include "driver.h"

/* pool.c; of a valid pool, but for the first. */
int pool_valid(const struct cuda_pool *pool);
int pool_imported(const struct cuda_pool *pool); /* another process's: nothing can be allocated from it */
cuda_device pool_device(const struct cuda_pool *pool);
enum mt_space pool_space(const struct cuda_pool *pool);
struct cuda_pool *pool_current(cuda_device device);    /* NULL: out of host memory */
int pool_take(struct cuda_pool *pool, uint64_t bytes); /* 1: done, 0: device or pool is full */
void pool_give(struct cuda_pool *pool, uint64_t bytes);

/* memory.c: memory of another process or API appears, and goes when it was opened by IPC. It counts there, not here. */
cuda_result memory_import(uint64_t bytes, cuda_device device, int is_ipc, cuda_address *out, struct effect *effect);
cuda_result memory_close(cuda_address address, struct effect *effect);

/* An allocation that begins at the address; *pool NULL: of none. 0: there is none. */
int memory_find(cuda_address address, uint64_t *bytes, cuda_device *device, struct cuda_pool **pool);

#endif
