/* graph.c - graphs with their allocation and free nodes; other nodes do nothing. See memory.h. */
#include <stdlib.h>
#include "memory.h"

struct cuda_node {
	struct cuda_node *next; /* next in the graph, in the order they were added */
	int type;               /* CUDA_NODE_ALLOC, CUDA_NODE_FREE */
	cuda_device device;
	cuda_address address;
	uint64_t bytes;
	int is_left; /* 1: the newest launch has allocated it, and it was not freed since */
};

struct cuda_graph {
	struct cuda_graph *next; /* next graph that is alive or belongs to an exec */
	struct cuda_node *nodes;
	struct cuda_node *again; /* next node to repeat in a recapture */
	int execs;               /* number of execs of this graph; with memory, at most one */
	int is_alive;
};

struct cuda_exec {
	struct cuda_exec *next; /* next live exec */
	struct cuda_graph *graph;
	int auto_free, is_launched;
};

static struct cuda_graph *graphs;
static struct cuda_exec *execs;

static struct {
	uint64_t reserved, reserved_high, used, used_high;
} pool[STANDIN_GPUS_MAX];

/* ---- Graphs ---- */

struct cuda_graph *graph_new(void)
{
	struct cuda_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->is_alive = 1;
	graph->next = graphs;
	return graphs = graph;
}

int graph_valid(const struct cuda_graph *graph)
{
	const struct cuda_graph *known = graphs;

	while (known && known != graph)
		known = known->next;
	return known && known->is_alive;
}

void graph_recapture(struct cuda_graph *graph)
{
	if (graph_valid(graph))
		graph->again = graph->nodes;
}

/* Frees a graph when it and its execs are gone. */
static void graph_drop(struct cuda_graph *graph)
{
	struct cuda_graph **link = &graphs;
	struct cuda_node *node;

	if (graph->is_alive || graph->execs)
		return;
	while (*link != graph)
		link = &(*link)->next;
	*link = graph->next;
	while ((node = graph->nodes)) {
		graph->nodes = node->next;
		if (node->type == CUDA_NODE_ALLOC)
			addresses_give(node->address, node->bytes);
		free(node);
	}
	free(graph);
}

static struct cuda_node *find_alloc(const struct cuda_graph *graph, cuda_address address)
{
	struct cuda_node *node = graph->nodes;

	while (node && (node->type != CUDA_NODE_ALLOC || node->address != address))
		node = node->next;
	return node;
}

static struct cuda_node *add(struct cuda_graph *graph, const struct cuda_node *wish)
{
	struct cuda_node **link = &graph->nodes, *node = malloc(sizeof(*node));

	if (!node)
		return NULL;
	*node = *wish;
	while (*link)
		link = &(*link)->next;
	return *link = node;
}

/* Takes the next node of a recapture, which must repeat the existing nodes. NULL: it differs. */
static struct cuda_node *repeat(struct cuda_graph *graph, int type)
{
	struct cuda_node *node = graph->again;

	graph->again = node->next;
	return node->type == type ? node : NULL;
}

cuda_result graph_add_alloc(struct cuda_graph *graph, cuda_device device, uint64_t bytes, cuda_address *out,
			    struct cuda_node **out_node, struct effect *effect)
{
	struct cuda_node *node, wish = { .type = CUDA_NODE_ALLOC, .device = device, .bytes = bytes };

	effect->device = device;
	effect->space = MT_SPACE_GRAPH;
	effect->size = bytes;
	if (!graph_valid(graph) || !out || !bytes)
		return CUDA_INVALID_VALUE;
	if (graph->again) {
		node = repeat(graph, CUDA_NODE_ALLOC);
		if (!node || node->bytes != bytes)
			return CUDA_INVALID_VALUE;
	} else {
		wish.address = addresses_take(bytes);
		node = wish.address ? add(graph, &wish) : NULL;
	}
	if (!node)
		return CUDA_OUT_OF_MEMORY;
	effect->address = *out = node->address;
	if (out_node)
		*out_node = node;
	return CUDA_OK;
}

cuda_result graph_add_free(struct cuda_graph *graph, cuda_address address, struct cuda_node **out_node,
			   struct effect *effect)
{
	struct cuda_node *node, wish = { .type = CUDA_NODE_FREE, .address = address };

	effect->address = address;
	effect->space = MT_SPACE_GRAPH;
	if (!graph_valid(graph) || !find_alloc(graph, address))
		return CUDA_INVALID_VALUE;
	node = graph->again ? repeat(graph, CUDA_NODE_FREE) : add(graph, &wish);
	if (!node)
		return CUDA_OUT_OF_MEMORY;
	if (out_node)
		*out_node = node;
	return CUDA_OK;
}

int graph_free_outside(cuda_address address, struct effect *effect)
{
	struct cuda_graph *graph;
	struct cuda_node *node;

	for (graph = graphs; graph; graph = graph->next) {
		node = find_alloc(graph, address);
		if (!node)
			continue;
		node->is_left = 0;
		effect->address = address;
		effect->space = MT_SPACE_GRAPH;
		return 1;
	}
	return 0;
}

/* ---- Recorded calls: nodes ---- */

static cuda_result add_alloc(struct cuda_node **out, struct cuda_graph *graph, struct cuda_alloc_node *params,
			     struct effect *effect)
{
	cuda_device device;

	if (!out || !params || params->pool.type != CUDA_MEMORY_PINNED)
		return CUDA_INVALID_VALUE;
	effect->size = params->bytes;
	if (!driver_place(&params->pool.location, &device) || device == HOST)
		return CUDA_INVALID_DEVICE;
	return graph_add_alloc(graph, device, params->bytes, &params->address, out, effect);
}

cuda_result do_cuGraphAddMemAllocNode(const struct args_cuGraphAddMemAllocNode *args, struct effect *effect)
{
	return add_alloc(args->phGraphNode, args->hGraph, args->nodeParams, effect);
}

cuda_result do_cuGraphAddMemFreeNode(const struct args_cuGraphAddMemFreeNode *args, struct effect *effect)
{
	if (!args->phGraphNode)
		return CUDA_INVALID_VALUE;
	return graph_add_free(args->hGraph, args->dptr, args->phGraphNode, effect);
}

/* The child's nodes are the parent's from now on. */
static cuda_result add_child(struct cuda_graph *graph, struct cuda_graph *child, int ownership)
{
	struct cuda_node **link = &graph->nodes;

	if (!graph_valid(graph) || !graph_valid(child) || child->execs ||
	    (child->nodes && ownership != CUDA_CHILD_MOVED))
		return CUDA_INVALID_VALUE;
	while (*link)
		link = &(*link)->next;
	*link = child->nodes;
	if (ownership == CUDA_CHILD_MOVED) {
		child->nodes = NULL;
		child->is_alive = 0;
		graph_drop(child);
	}
	return CUDA_OK;
}

static cuda_result add_any(struct cuda_node **out, struct cuda_graph *graph, struct cuda_node_params *params,
			   struct effect *effect)
{
	if (!out || !params)
		return CUDA_INVALID_VALUE;
	switch (params->type) {
	case CUDA_NODE_ALLOC:
		return add_alloc(out, graph, &params->node.alloc, effect);
	case CUDA_NODE_FREE:
		return graph_add_free(graph, params->node.free.address, out, effect);
	case CUDA_NODE_GRAPH:
		return add_child(graph, params->node.child.graph, params->node.child.ownership);
	default:
		return graph_valid(graph) ? CUDA_OK : CUDA_INVALID_VALUE; /* such work does nothing */
	}
}

cuda_result do_cuGraphAddNode(const struct args_cuGraphAddNode *args, struct effect *effect)
{
	return add_any(args->phGraphNode, args->hGraph, args->nodeParams, effect);
}

cuda_result do_cuGraphAddNode_v2(const struct args_cuGraphAddNode_v2 *args, struct effect *effect)
{
	return add_any(args->phGraphNode, args->hGraph, args->nodeParams, effect);
}

DRIVER_SAME(cuGraphAddNode_v3, cuGraphAddNode_v2)

DRIVER_CALL(cuGraphCreate(struct cuda_graph **out, unsigned int flags))
{
	if (!driver_ready())
		return CUDA_NOT_INITIALIZED;
	if (!out || flags)
		return CUDA_INVALID_VALUE;
	driver_lock();
	*out = graph_new();
	driver_unlock();
	return *out ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

cuda_result do_cuGraphDestroy(const struct args_cuGraphDestroy *args, struct effect *effect)
{
	effect->address = (uint64_t)(uintptr_t)args->hGraph;
	if (!graph_valid(args->hGraph))
		return CUDA_INVALID_VALUE;
	args->hGraph->is_alive = 0;
	graph_drop(args->hGraph);
	return CUDA_OK;
}

/* ---- Bytes of an executable graph ---- */

/* The most bytes that its nodes need at once, on the device of the first node; *first: address of that node. */
static uint64_t need(const struct cuda_graph *graph, cuda_device *device, cuda_address *first)
{
	const struct cuda_node *node, *freed;
	uint64_t now = 0, peak = 0;

	*first = 0;
	for (node = graph->nodes; node; node = node->next) {
		freed = node->type == CUDA_NODE_FREE ? find_alloc(graph, node->address) : NULL;
		now += freed ? -freed->bytes : node->bytes;
		if (now > peak)
			peak = now;
		if (*first || freed)
			continue;
		*first = node->address;
		*device = node->device;
	}
	return peak;
}

static int pool_take_bytes(cuda_device device, uint64_t bytes)
{
	uint64_t idle = pool[device].reserved - pool[device].used, more = bytes > idle ? bytes - idle : 0;

	if (!driver_take(device, more))
		return 0;
	pool[device].reserved += more;
	pool[device].used += bytes;
	if (pool[device].reserved_high < pool[device].reserved)
		pool[device].reserved_high = pool[device].reserved;
	if (pool[device].used_high < pool[device].used)
		pool[device].used_high = pool[device].used;
	return 1;
}

static int has_left(const struct cuda_graph *graph)
{
	const struct cuda_node *node = graph->nodes;

	while (node && !node->is_left)
		node = node->next;
	return node != NULL;
}

/* Takes the bytes at the first use. */
static cuda_result load(struct cuda_exec *exec, struct effect *effect)
{
	cuda_device device = 0;
	cuda_address first;
	uint64_t bytes = need(exec->graph, &device, &first);

	if (exec->is_launched || !bytes)
		return CUDA_OK;
	effect->device = device;
	effect->space = MT_SPACE_GRAPH;
	effect->address = first;
	effect->size = bytes;
	if (!pool_take_bytes(device, bytes))
		return CUDA_OUT_OF_MEMORY;
	effect->bytes = (int64_t)bytes;
	exec->is_launched = 1;
	return CUDA_OK;
}

static int exec_valid(const struct cuda_exec *exec)
{
	const struct cuda_exec *known = execs;

	while (known && known != exec)
		known = known->next;
	return known != NULL;
}

/* ---- Recorded calls: executable graphs ---- */

static cuda_result instantiate(struct cuda_exec **out, struct cuda_graph *graph, uint64_t flags, struct effect *effect)
{
	struct cuda_exec *exec;

	if (!out || !graph_valid(graph))
		return CUDA_INVALID_VALUE;
	if (graph->nodes && graph->execs)
		return CUDA_NOT_SUPPORTED;
	exec = malloc(sizeof(*exec));
	if (!exec)
		return CUDA_OUT_OF_MEMORY;
	*exec = (struct cuda_exec){ execs, graph, (flags & CUDA_INSTANTIATE_AUTO_FREE) != 0, 0 };
	execs = exec;
	graph->execs++;
	effect->address = (uint64_t)(uintptr_t)exec;
	*out = exec;
	return CUDA_OK;
}

cuda_result do_cuGraphInstantiate(const struct args_cuGraphInstantiate *args, struct effect *effect)
{
	return instantiate(args->phGraphExec, args->hGraph, 0, effect);
}

DRIVER_SAME(cuGraphInstantiate_v2, cuGraphInstantiate)

cuda_result do_cuGraphInstantiateWithFlags(const struct args_cuGraphInstantiateWithFlags *args, struct effect *effect)
{
	return instantiate(args->phGraphExec, args->hGraph, args->flags, effect);
}

cuda_result do_cuGraphInstantiateWithParams(const struct args_cuGraphInstantiateWithParams *args, struct effect *effect)
{
	cuda_result result;

	if (!args->instantiateParams)
		return CUDA_INVALID_VALUE;
	result = instantiate(args->phGraphExec, args->hGraph, args->instantiateParams->flags, effect);
	if (!result && args->instantiateParams->flags & CUDA_INSTANTIATE_UPLOAD)
		result = load(*args->phGraphExec, effect);
	return result;
}

DRIVER_SAME(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams)

cuda_result do_cuGraphUpload(const struct args_cuGraphUpload *args, struct effect *effect)
{
	return exec_valid(args->hGraph) ? load(args->hGraph, effect) : CUDA_INVALID_VALUE;
}

DRIVER_SAME(cuGraphUpload_ptsz, cuGraphUpload)

/* Launches. Allocations of the previous launch must have been freed before. */
cuda_result do_cuGraphLaunch(const struct args_cuGraphLaunch *args, struct effect *effect)
{
	struct cuda_exec *exec = args->hGraph;
	struct cuda_node *node, *freed;
	cuda_result result;

	if (!exec_valid(exec) || (has_left(exec->graph) && !exec->auto_free))
		return CUDA_INVALID_VALUE;
	result = load(exec, effect);
	for (node = exec->graph->nodes; !result && node; node = node->next) {
		freed = node->type == CUDA_NODE_FREE ? find_alloc(exec->graph, node->address) : node;
		freed->is_left = freed == node;
	}
	return result;
}

DRIVER_SAME(cuGraphLaunch_ptsz, cuGraphLaunch)

cuda_result do_cuGraphExecDestroy(const struct args_cuGraphExecDestroy *args, struct effect *effect)
{
	struct cuda_exec *exec = args->hGraphExec, **link = &execs;
	cuda_address first;
	cuda_device device;
	uint64_t bytes;

	if (!exec_valid(exec))
		return CUDA_INVALID_VALUE;
	bytes = need(exec->graph, &device, &first);
	if (exec->is_launched && bytes) {
		pool[device].used -= bytes;
		*effect = (struct effect){ device, MT_SPACE_GRAPH, first, bytes, -(int64_t)bytes };
	}
	while (*link != exec)
		link = &(*link)->next;
	*link = exec->next;
	exec->graph->execs--;
	graph_drop(exec->graph);
	free(exec);
	return CUDA_OK;
}

/* ---- Recorded calls: the graph pool of a device ---- */

cuda_result do_cuDeviceGraphMemTrim(const struct args_cuDeviceGraphMemTrim *args, struct effect *effect)
{
	if (!driver_device_valid(args->device))
		return CUDA_INVALID_DEVICE;
	effect->device = args->device;
	driver_give(args->device, pool[args->device].reserved - pool[args->device].used);
	pool[args->device].reserved = pool[args->device].used;
	return CUDA_OK;
}

static uint64_t *attribute_of(cuda_device device, int attribute)
{
	switch (attribute) {
	case CUDA_GRAPH_USED_NOW:
		return &pool[device].used;
	case CUDA_GRAPH_USED_HIGH:
		return &pool[device].used_high;
	case CUDA_GRAPH_RESERVED_NOW:
		return &pool[device].reserved;
	case CUDA_GRAPH_RESERVED_HIGH:
		return &pool[device].reserved_high;
	default:
		return NULL;
	}
}

cuda_result do_cuDeviceGetGraphMemAttribute(const struct args_cuDeviceGetGraphMemAttribute *args, struct effect *effect)
{
	const uint64_t *member;

	if (!driver_device_valid(args->device))
		return CUDA_INVALID_DEVICE;
	member = attribute_of(args->device, args->attr);
	if (!member || !args->value)
		return CUDA_INVALID_VALUE;
	effect->device = args->device;
	effect->size = *(uint64_t *)args->value = *member;
	return CUDA_OK;
}

/* High marks may only be set to 0, which restarts them. */
cuda_result do_cuDeviceSetGraphMemAttribute(const struct args_cuDeviceSetGraphMemAttribute *args, struct effect *effect)
{
	if (!driver_device_valid(args->device))
		return CUDA_INVALID_DEVICE;
	effect->device = args->device;
	if (!args->value || *(const uint64_t *)args->value)
		return CUDA_INVALID_VALUE;
	if (args->attr == CUDA_GRAPH_USED_HIGH)
		pool[args->device].used_high = pool[args->device].used;
	else if (args->attr == CUDA_GRAPH_RESERVED_HIGH)
		pool[args->device].reserved_high = pool[args->device].reserved;
	else
		return CUDA_INVALID_VALUE;
	return CUDA_OK;
}
