/*
 * graphs.h - computes the bytes that CUDA graphs with allocation nodes will take, from the calls that build them.
 *
 *     nodes added, or recorded ──> graph ──instantiate──> exec ──first launch, upload──> bytes taken
 *                                                           └──destroy──> bytes given back
 *
 * The bytes are the most that is alive at once when the allocation and free nodes run in the order they were added.
 * Tables are fixed. If a node has no room, its graph reports no bytes (graphs_are_incomplete). Any thread; a short spin
 * lock guards the tables, and no foreign function is called under it. A process without such graphs pays one load.
 */
#ifndef RECORDER_GRAPHS_H
#define RECORDER_GRAPHS_H

#include <stdint.h>

struct cuda_exec;
struct cuda_graph;
struct cuda_stream;

#define GRAPHS_MAX 256u        /* graphs with allocation nodes, and execs of them */
#define GRAPHS_NODES_MAX 4096u /* addresses of allocation nodes */
#define GRAPHS_STREAMS_MAX 64u /* streams that capture at the same time */

/* The bytes that an exec takes while it lives. */
struct graph_memory {
	uint64_t addr; /* address of its first allocation node; 0: takes nothing */
	uint64_t size; /* bytes */
	int device;    /* ordinal, -1: not known */
};

/* Nodes of a graph. */
void graphs_alloc(const struct cuda_graph *graph, uint64_t addr, uint64_t size, int device);
void graphs_free(const struct cuda_graph *graph, uint64_t addr);

/* `child` became a node of `parent`, which now has its allocations. */
void graphs_move(const struct cuda_graph *parent, const struct cuda_graph *child);
void graphs_destroy(const struct cuda_graph *graph);

/* 1: `addr` belongs to a graph, which keeps the bytes after a free outside. */
int graphs_own(uint64_t addr);

/*
 * A stream begins to capture a graph. is_again 1: the graph has the same allocation nodes already. Allocations of the
 * capturing thread on other streams count as captured as well: a stream joins by waiting for an event, and these calls
 * are not watched. The end names the graph, which may have had nodes before; NULL: the capture failed.
 */
void graphs_capture_begin(const struct cuda_stream *stream, int is_again);
void graphs_capture_end(const struct cuda_stream *stream, const struct cuda_graph *graph);

/* 1: the stream records, and the call made a node. `size` 0: a free. */
int graphs_capture(const struct cuda_stream *stream, uint64_t addr, uint64_t size, int device);

/* 1: the stream records. */
int graphs_is_capturing(const struct cuda_stream *stream);

void graphs_instantiate(const struct cuda_exec *exec, const struct cuda_graph *graph);

/* 1: `exec` takes `*memory`, and has not taken it yet. */
int graphs_wants(const struct cuda_exec *exec, struct graph_memory *memory);
void graphs_taken(const struct cuda_exec *exec);

/* 1: `exec` holds `*memory`. */
int graphs_holds(const struct cuda_exec *exec, struct graph_memory *memory);
void graphs_exec_destroy(const struct cuda_exec *exec);

/* 1, once: some graph had no room in the tables. */
int graphs_are_incomplete(void);

#endif
