/*
 * memory.h - declarations shared by memory.c, pool.c, share.c, graph.c and others. A pool has "reserved" bytes of its
 * place, and "used" bytes of them are handed out. It grows when an allocation needs more. At a synchronization it
 * shrinks down to its threshold.
 */
#ifndef STANDIN_MEMORY_H
#define STANDIN_MEMORY_H

#include "driver.h"

/* pool.c. All functions but pool_valid need a valid pool. */
int pool_valid(const struct cuda_pool *pool);
int pool_imported(const struct cuda_pool *pool); /* 1: the pool of another process, which allocates nothing here */
cuda_device pool_device(const struct cuda_pool *pool);
enum mt_space pool_space(const struct cuda_pool *pool);
struct cuda_pool *pool_current(cuda_device device);    /* NULL: out of host memory */
int pool_take(struct cuda_pool *pool, uint64_t bytes); /* 1: done, 0: device or pool is full */
void pool_give(struct cuda_pool *pool, uint64_t bytes);

/*
 * memory.c: memory of another process or API appears; memory_close ends one that IPC opened. Its bytes count in the
 * other process.
 */
cuda_result memory_import(uint64_t bytes, cuda_device device, int is_ipc, cuda_address *out, struct effect *effect);
cuda_result memory_close(cuda_address address, struct effect *effect);

/* Finds the allocation that begins at the address; *pool NULL: of no pool. 0: none. */
int memory_find(cuda_address address, uint64_t *bytes, cuda_device *device, struct cuda_pool **pool);

/* Physical memory by handle, for vmm.c and multicast.c. */

struct handle {
	struct handle *next;
	uint64_t size;
	cuda_device device;
	enum mt_space space;               /* IMPORTED: the bytes are another process's; MULTICAST: no bytes */
	uint32_t refs, mappings, bindings; /* the handle lives while one is not 0; bindings: to multicast objects */
	struct cuda_memory_props props;
};

struct handle *handle_of(cuda_handle id);                                          /* NULL: there is no such handle */
struct handle *handle_new(uint64_t size, cuda_device device, enum mt_space space); /* NULL: out of host memory */
void handle_describe(const struct handle *handle, struct effect *effect, int64_t bytes);

/* Call after dropping a reference, mapping or binding: ends the handle with its last one. */
void handle_dropped(struct handle *handle);

/* The first address of the mapping at an address; 0: none. */
cuda_address vmm_address_mapped(cuda_address address, struct handle **handle);

/*
 * Functions of graph.c for memory.c and streams.c.
 *
 * Addresses of allocation nodes belong to the graph. At its first launch or upload the executable form takes bytes of
 * the device from the device's graph pool, as many as its nodes need at once. When it is destroyed, the bytes go back
 * to the pool, which keeps them until cuDeviceGraphMemTrim.
 */

struct cuda_graph *graph_new(void); /* NULL: out of host memory */
int graph_valid(const struct cuda_graph *graph);

/* Starts a recapture: the graph's nodes come again in the same order. */
void graph_recapture(struct cuda_graph *graph);

/* A node; *out_node may be NULL. */
cuda_result graph_add_alloc(struct cuda_graph *graph, cuda_device device, uint64_t bytes, cuda_address *out,
			    struct cuda_node **out_node, struct effect *effect);
cuda_result graph_add_free(struct cuda_graph *graph, cuda_address address, struct cuda_node **out_node,
			   struct effect *effect);

/* 1: the address belongs to a graph; the memory that its last launch left there is freed. */
int graph_free_outside(cuda_address address, struct effect *effect);

#endif
