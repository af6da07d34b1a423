#include "graphs.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include "agent/life/agent.h"
#include "agent/ring/guest_map.h"
#include "memtrace/base.h"

/* Sums of a graph's nodes, in the order they were added. */
struct figures {
	uint64_t first;     /* address of the first allocation node */
	uint64_t now, peak; /* bytes */
	int device;
	int is_unknown; /* a node had no room */
};

/* A graph, an exec, or a stream that records. */
struct row {
	uintptr_t key;    /* 0: free */
	uintptr_t graph;  /* exec: its source graph; 0: destroyed */
	uintptr_t thread; /* stream: the thread that began the capture */
	int is_taken;     /* exec: 1: its bytes are taken */
	int is_again;     /* stream: the nodes are in the graph already */
	struct figures figures;
};

/* An allocation node, looked up by its address. */
struct node {
	uint64_t addr, size; /* addr 0: never used, the search ends */
	uintptr_t owner;     /* key of its graph or stream, or of an exec whose graph is destroyed; 0: free */
};

static struct {
	atomic_flag busy;
	uint64_t held;                                       /* signals that the thread with the lock held before */
	_Atomic uint32_t node_count, capture_count, waiting; /* waiting: execs whose bytes are not taken yet */
	_Atomic int incomplete;                              /* 1: to be reported, 2: reported */
	struct row graph[GRAPHS_MAX], exec[GRAPHS_MAX], capture[GRAPHS_STREAMS_MAX];
	struct node node[GRAPHS_NODES_MAX];
} graphs = { .busy = ATOMIC_FLAG_INIT };

/* A handler that left by siglongjmp would keep the lock for ever: signals are held as long as the lock is. */
static void lock(void)
{
	uint64_t held = 0;

	if (!agent_is_sealed())
		guest_hold_signals(&held);
	while (atomic_flag_test_and_set_explicit(&graphs.busy, memory_order_acquire))
		sched_yield();
	graphs.held = held;
}

static void unlock(void)
{
	uint64_t held = graphs.held;

	atomic_flag_clear_explicit(&graphs.busy, memory_order_release);
	if (!agent_is_sealed())
		guest_release_signals(&held);
}

static void note_incomplete(void)
{
	int not_yet = 0;

	atomic_compare_exchange_strong(&graphs.incomplete, &not_yet, 1);
}

int graphs_are_incomplete(void)
{
	int to_tell = 1;

	return atomic_load_explicit(&graphs.incomplete, memory_order_relaxed) == 1 &&
	       atomic_compare_exchange_strong(&graphs.incomplete, &to_tell, 2);
}

/* ---- Rows ---- */

static struct row *row_find(struct row *rows, uint32_t count, uintptr_t key)
{
	uint32_t i;

	for (i = 0; key && i < count; i++)
		if (rows[i].key == key)
			return &rows[i];
	return NULL;
}

/* Returns the row of `key`, a new one if needed. NULL: no room. */
static struct row *row_get(struct row *rows, uint32_t count, uintptr_t key)
{
	struct row *row = row_find(rows, count, key);
	uint32_t i;

	if (row)
		return row;
	for (i = 0; key && i < count; i++) {
		if (rows[i].key)
			continue;
		rows[i] = (struct row){ .key = key };
		rows[i].figures.device = -1;
		return &rows[i];
	}
	note_incomplete();
	return NULL;
}

static struct row *graph_find(const struct cuda_graph *graph)
{
	return row_find(graphs.graph, GRAPHS_MAX, (uintptr_t)graph);
}

static struct row *exec_find(const struct cuda_exec *exec)
{
	return row_find(graphs.exec, GRAPHS_MAX, (uintptr_t)exec);
}

/* ---- Nodes ---- */

static uint32_t node_slot(uint64_t addr, uint32_t i)
{
	return (uint32_t)(((addr * 0x9e3779b97f4a7c15ull >> 32) + i) % GRAPHS_NODES_MAX);
}

/* Returns the node; with `room`, the first free place for it. NULL: none. */
static struct node *node_find(uint64_t addr, int room)
{
	struct node *node;
	uint32_t i;

	for (i = 0; i < GRAPHS_NODES_MAX; i++) {
		node = &graphs.node[node_slot(addr, i)];
		if (room ? !node->owner : node->owner && node->addr == addr)
			return node;
		if (!node->addr)
			return NULL;
	}
	return NULL;
}

static void nodes_give(uintptr_t from, uintptr_t to)
{
	uint32_t i;

	if (!from || !atomic_load(&graphs.node_count))
		return;
	for (i = 0; i < GRAPHS_NODES_MAX; i++) {
		if (graphs.node[i].owner != from)
			continue;
		graphs.node[i].owner = to;
		if (!to)
			atomic_fetch_sub(&graphs.node_count, 1);
	}
	if (!atomic_load(&graphs.node_count))
		memset(graphs.node, 0, sizeof(graphs.node));
}

static void add_alloc(struct row *row, uint64_t addr, uint64_t size, int device)
{
	struct figures *figures = &row->figures;
	struct node *node = node_find(addr, 0), *room = node ? node : node_find(addr, 1);

	if (!room) {
		figures->is_unknown = 1;
		note_incomplete();
		return;
	}
	if (!node)
		atomic_fetch_add(&graphs.node_count, 1);
	*room = (struct node){ addr, size, row->key };
	if (!figures->first)
		figures->first = addr;
	if (figures->device < 0)
		figures->device = device;
	figures->now += size;
	if (figures->peak < figures->now)
		figures->peak = figures->now;
}

/* Adds a free node. The graph keeps the address, because its next run allocates there again. */
static void add_free(struct row *row, uint64_t addr)
{
	const struct node *node = node_find(addr, 0);

	if (node && node->owner == row->key && row->figures.now >= node->size)
		row->figures.now -= node->size;
}

/* Adds the nodes of `child` behind the row's nodes. */
static void append(struct row *row, const struct row *child)
{
	struct figures *figures = &row->figures;

	if (!figures->first)
		figures->first = child->figures.first;
	if (figures->device < 0)
		figures->device = child->figures.device;
	if (figures->peak < figures->now + child->figures.peak)
		figures->peak = figures->now + child->figures.peak;
	figures->now += child->figures.now;
	figures->is_unknown |= child->figures.is_unknown;
	nodes_give(child->key, row->key);
}

void graphs_alloc(const struct cuda_graph *graph, uint64_t addr, uint64_t size, int device)
{
	struct row *row;

	if (!addr)
		return;
	lock();
	row = row_get(graphs.graph, GRAPHS_MAX, (uintptr_t)graph);
	if (row)
		add_alloc(row, addr, size, device);
	unlock();
}

void graphs_free(const struct cuda_graph *graph, uint64_t addr)
{
	struct row *row;

	if (!atomic_load_explicit(&graphs.node_count, memory_order_relaxed))
		return;
	lock();
	row = graph_find(graph);
	if (row)
		add_free(row, addr);
	unlock();
}

int graphs_own(uint64_t addr)
{
	int is_own;

	if (!addr || !atomic_load_explicit(&graphs.node_count, memory_order_relaxed))
		return 0;
	lock();
	is_own = node_find(addr, 0) != NULL;
	unlock();
	return is_own;
}

void graphs_move(const struct cuda_graph *parent, const struct cuda_graph *child)
{
	struct row *from, *to;

	if (!atomic_load_explicit(&graphs.node_count, memory_order_relaxed))
		return;
	lock();
	from = graph_find(child);
	to = from ? row_get(graphs.graph, GRAPHS_MAX, (uintptr_t)parent) : NULL;
	if (to)
		append(to, from);
	if (to)
		from->key = 0;
	unlock();
}

/* Destroys a graph. Its addresses stay in use while an exec lives. */
void graphs_destroy(const struct cuda_graph *graph)
{
	struct row *row, *exec = NULL;
	uint32_t i;

	if (!atomic_load_explicit(&graphs.node_count, memory_order_relaxed))
		return;
	lock();
	row = graph_find(graph);
	for (i = 0; row && i < GRAPHS_MAX; i++)
		if (graphs.exec[i].key && graphs.exec[i].graph == row->key)
			exec = &graphs.exec[i];
	if (row) {
		nodes_give(row->key, exec ? exec->key : 0);
		row->key = 0;
	}
	if (exec)
		exec->graph = 0;
	unlock();
}

/* ---- Streams that record ---- */

/* A number that differs between threads. */
static uintptr_t this_thread(void)
{
	static _Thread_local char mark;

	return (uintptr_t)&mark;
}

/* The default stream of the thread has two names; the default stream of all threads cannot record. */
static uintptr_t stream_key(const struct cuda_stream *stream)
{
	return (uintptr_t)stream == 0 || (uintptr_t)stream == 2 ? this_thread() : (uintptr_t)stream;
}

static struct row *capture_of(const struct cuda_stream *stream)
{
	struct row *row = row_find(graphs.capture, GRAPHS_STREAMS_MAX, stream_key(stream));
	uint32_t i;

	for (i = 0; !row && i < GRAPHS_STREAMS_MAX; i++)
		if (graphs.capture[i].key && graphs.capture[i].thread == this_thread())
			row = &graphs.capture[i];
	return row;
}

static void capture_drop(struct row *row)
{
	nodes_give(row->key, 0);
	row->key = 0;
	atomic_fetch_sub(&graphs.capture_count, 1);
}

void graphs_capture_begin(const struct cuda_stream *stream, int is_again)
{
	struct row *row;

	lock();
	row = row_find(graphs.capture, GRAPHS_STREAMS_MAX, stream_key(stream));
	if (row)
		capture_drop(row); /* an older capture under this key */
	row = row_get(graphs.capture, GRAPHS_STREAMS_MAX, stream_key(stream));
	if (row) {
		row->is_again = is_again;
		row->thread = this_thread();
		atomic_fetch_add(&graphs.capture_count, 1);
	}
	unlock();
}

void graphs_capture_end(const struct cuda_stream *stream, const struct cuda_graph *graph)
{
	struct row *row, *to = NULL;

	if (!atomic_load_explicit(&graphs.capture_count, memory_order_relaxed))
		return;
	lock();
	row = row_find(graphs.capture, GRAPHS_STREAMS_MAX, stream_key(stream));
	if (row && graph && row->figures.first)
		to = row_get(graphs.graph, GRAPHS_MAX, (uintptr_t)graph);
	if (to)
		append(to, row);
	if (row)
		capture_drop(row);
	unlock();
}

int graphs_capture(const struct cuda_stream *stream, uint64_t addr, uint64_t size, int device)
{
	struct row *row;

	if (!atomic_load_explicit(&graphs.capture_count, memory_order_relaxed))
		return 0;
	lock();
	row = capture_of(stream);
	if (row && !row->is_again && size)
		add_alloc(row, addr, size, device);
	else if (row && !row->is_again)
		add_free(row, addr);
	unlock();
	return row != NULL;
}

int graphs_is_capturing(const struct cuda_stream *stream)
{
	int is_capturing;

	if (!atomic_load_explicit(&graphs.capture_count, memory_order_relaxed))
		return 0;
	lock();
	is_capturing = capture_of(stream) != NULL;
	unlock();
	return is_capturing;
}

/* ---- Executable graphs ---- */

void graphs_instantiate(const struct cuda_exec *exec, const struct cuda_graph *graph)
{
	const struct row *from;
	struct row *row;

	if (!atomic_load_explicit(&graphs.node_count, memory_order_relaxed))
		return;
	lock();
	from = graph_find(graph);
	row = from && !from->figures.is_unknown ? row_get(graphs.exec, GRAPHS_MAX, (uintptr_t)exec) : NULL;
	if (row) {
		row->graph = from->key;
		row->figures = from->figures;
		row->is_taken = 0;
		atomic_fetch_add(&graphs.waiting, 1);
	}
	unlock();
}

static int tell(const struct row *row, int is_taken, struct graph_memory *memory)
{
	if (!row || row->is_taken != is_taken)
		return 0;
	memory->addr = row->figures.first;
	memory->size = row->figures.peak;
	memory->device = row->figures.device;
	return 1;
}

int graphs_wants(const struct cuda_exec *exec, struct graph_memory *memory)
{
	int wants;

	if (!atomic_load_explicit(&graphs.waiting, memory_order_relaxed))
		return 0;
	lock();
	wants = tell(exec_find(exec), 0, memory);
	unlock();
	return wants;
}

void graphs_taken(const struct cuda_exec *exec)
{
	struct row *row;

	lock();
	row = exec_find(exec);
	if (row && !row->is_taken) {
		row->is_taken = 1;
		atomic_fetch_sub(&graphs.waiting, 1);
	}
	unlock();
}

int graphs_holds(const struct cuda_exec *exec, struct graph_memory *memory)
{
	int holds;

	if (!atomic_load_explicit(&graphs.node_count, memory_order_relaxed))
		return 0;
	lock();
	holds = tell(exec_find(exec), 1, memory);
	unlock();
	return holds;
}

void graphs_exec_destroy(const struct cuda_exec *exec)
{
	struct row *row;

	if (!atomic_load_explicit(&graphs.node_count, memory_order_relaxed))
		return;
	lock();
	row = exec_find(exec);
	if (row) {
		if (!row->is_taken)
			atomic_fetch_sub(&graphs.waiting, 1);
		nodes_give(row->key, 0); /* give back the nodes of a destroyed graph */
		row->key = 0;
	}
	unlock();
}
