/* hook_graph.c - decodes calls about graphs with memory of their own: nodes, capture, first run. */
#include "contexts.h"
#include "driver_call.h"
#include "graphs.h"
#include "pools.h"

static int is_done(const struct driver_call *call)
{
	return !call->entered && !call->result;
}

/* ---- Nodes ---- */

static void alloc_node(const struct driver_call *call, const struct cuda_graph *graph,
		       const struct cuda_alloc_node *node)
{
	if (is_done(call))
		graphs_alloc(graph, node->address, node->bytes, location_device(&node->pool.location));
}

static void any_node(const struct driver_call *call, const struct cuda_graph *graph,
		     const struct cuda_node_params *params)
{
	if (!is_done(call))
		return;
	switch (params->type) {
	case CUDA_NODE_ALLOC:
		alloc_node(call, graph, &params->node.alloc);
		break;
	case CUDA_NODE_FREE:
		graphs_free(graph, params->node.free.address);
		break;
	case CUDA_NODE_GRAPH: /* a child with memory nodes can only be moved */
		if (params->node.child.ownership == CUDA_CHILD_MOVED)
			graphs_move(graph, params->node.child.graph);
		break;
	}
}

void decode_GRAPH_ALLOC(struct driver_call *call)
{
	const struct args_cuGraphAddMemAllocNode *args = call->data->params;

	alloc_node(call, args->hGraph, args->nodeParams);
}

void decode_GRAPH_FREE(struct driver_call *call)
{
	const struct args_cuGraphAddMemFreeNode *args = call->data->params;

	if (is_done(call))
		graphs_free(args->hGraph, args->dptr);
}

void decode_GRAPH_NODE(struct driver_call *call)
{
	const struct args_cuGraphAddNode *args = call->data->params;

	any_node(call, args->hGraph, args->nodeParams);
}

void decode_GRAPH_NODE2(struct driver_call *call)
{
	const struct args_cuGraphAddNode_v2 *args = call->data->params;

	any_node(call, args->hGraph, args->nodeParams);
}

void decode_GRAPH_DESTROY(struct driver_call *call)
{
	const struct args_cuGraphDestroy *args = call->data->params;

	if (call->entered)
		return;
	if (!call->result)
		graphs_destroy(args->hGraph);
	driver_call_note(call);
}

/* ---- Streams that record ---- */

void decode_CAPTURE(struct driver_call *call)
{
	const struct args_cuStreamBeginCapture *args = call->data->params;

	if (is_done(call))
		graphs_capture_begin(args->hStream, 0);
}

void decode_RECAPTURE(struct driver_call *call)
{
	const struct args_cuStreamBeginRecaptureToGraph *args = call->data->params;

	if (is_done(call))
		graphs_capture_begin(args->hStream, 1);
}

/* A failed capture ends as well, unless the driver refused the end because of the thread. */
void decode_CAPTURE_END(struct driver_call *call)
{
	const struct args_cuStreamEndCapture *args = call->data->params;

	if (!call->entered && call->result != CUDA_CAPTURE_WRONG_THREAD)
		graphs_capture_end(args->hStream, call->result ? NULL : *args->phGraph);
}

/* ---- Executable graphs ---- */

/* The exec takes the bytes of its nodes now, until it is destroyed. */
static void use(struct driver_call *call, const struct cuda_exec *exec)
{
	struct driver_call taken = *call;
	struct graph_memory memory;

	if (!graphs_wants(exec, &memory))
		return;
	if (!taken.result)
		graphs_taken(exec);
	driver_call_device(&taken, memory.device >= 0 ? memory.device : contexts_device(call->data->context));
	driver_call_allocated(&taken, memory.addr, memory.size);
}

void decode_GRAPH_EXEC(struct driver_call *call)
{
	const struct args_cuGraphInstantiateWithParams *args = call->data->params;
	int has_params = call->id == ENTRY_cuGraphInstantiateWithParams ||
			 call->id == ENTRY_cuGraphInstantiateWithParams_ptsz;

	if (call->entered)
		return;
	if (!call->result) {
		graphs_instantiate(*args->phGraphExec, args->hGraph);
		if (has_params && args->instantiateParams->flags & CUDA_INSTANTIATE_UPLOAD)
			use(call, *args->phGraphExec);
	}
	driver_call_note(call);
}

/* Launches are frequent: they cost one load, unless a graph with memory has not run yet. */
void decode_GRAPH_USE(struct driver_call *call)
{
	const struct args_cuGraphLaunch *args = call->data->params;

	if (call->entered)
		return;
	use(call, args->hGraph);
	driver_call_note(call); /* a note for uploads */
}

void decode_GRAPH_EXEC_DESTROY(struct driver_call *call)
{
	const struct args_cuGraphExecDestroy *args = call->data->params;
	struct driver_call freed = *call;
	struct graph_memory memory;

	if (graphs_holds(args->hGraphExec, &memory)) {
		freed.event.addr = memory.addr;
		driver_call_freed(&freed, MT_DRIVER_FREE);
	}
	if (call->entered)
		return;
	if (!call->result)
		graphs_exec_destroy(args->hGraphExec);
	driver_call_note(call);
}
