/*
 * graph.h - what memory.c and streams.c ask of graph.c.
 *
 * Addresses of allocation nodes belong to the graph. Its executable form takes bytes of the device at its first launch
 * or upload, as much as its nodes need at once, out of the device's graph pool, and gives them back to that pool when
 * it is destroyed. The pool keeps them until cuDeviceGraphMemTrim.
 */
#ifndef STANDIN_GRAPH_H
#define STANDIN_GRAPH_H

#include "driver.h"

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
