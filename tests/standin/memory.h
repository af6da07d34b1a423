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

/* Physical memory by handle, for vmm.c and multicast.c. */

struct handle {
	struct handle *next;
	uint64_t size;
	cuda_device device;
	enum mt_space space;               /* IMPORTED: the bytes are another process's; MULTICAST: there are none */
	uint32_t refs, mappings, bindings; /* lives while there is one; bindings: to multicast objects */
	struct cuda_memory_props props;
};

struct handle *handle_of(cuda_handle id);                                          /* NULL: there is no such handle */
struct handle *handle_new(uint64_t size, cuda_device device, enum mt_space space); /* NULL: out of host memory */
void handle_describe(const struct handle *handle, struct effect *effect, int64_t bytes);

/* After a reference, mapping or binding was dropped: ends the handle if that was the last. */
void handle_dropped(struct handle *handle);

/* The mapping at an address: its first address, 0: there is none. */
cuda_address vmm_address_mapped(cuda_address address, struct handle **handle);

/*
 * Questions of memory.c and streams.c to graph.c.
 *
 * Addresses of allocation nodes belong to the graph. Its executable form takes bytes of the device at its first launch
 * or upload, as much as its nodes need at once, out of the device's graph pool, and gives them back to that pool when
 * it is destroyed. The pool keeps them until cuDeviceGraphMemTrim.
 */

struct cuda_graph *graph_new(void); /* NULL: out of host memory */
int graph_valid(const struct cuda_graph *graph);

/* The graph's nodes will be made once more, in the same order: the next ones are those that are there. */
void graph_recapture(struct cuda_graph *graph);

/* A node; *out_node may be NULL. */
cuda_result graph_add_alloc(struct cuda_graph *graph, cuda_device device, uint64_t bytes, cuda_address *out,
			    struct cuda_node **out_node, struct effect *effect);
cuda_result graph_add_free(struct cuda_graph *graph, cuda_address address, struct cuda_node **out_node,
			   struct effect *effect);

/* 1: the address is a graph's, and what its last launch left there is free now. */
int graph_free_outside(cuda_address address, struct effect *effect);

#endif
