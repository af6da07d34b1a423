/*
 * phase_loss.c - labels work on a model's output before its backward as forward: log-probs, ratios, penalties, the
 * loss.
 *
 *     def losses(out): ...        <- 2
 *     def train_step(batch):
 *         out = model(batch)      the function that calls a forward: until a backward or an optimizer runs on the thread,
 *         loss = losses(out)      what it allocates elsewhere, or has allocated (2), is forward, too
 *         loss.backward()         the function that calls a forward and then its backward: the same, wherever in it the
 *                                 forward was called from (known from the first backward on)
 *
 * No frame says this, and no event shows the return of a function, so the function must be on the stack.
 */
#include "phase_impl.h"

/* The function of a node's Python frame; 0: none. Without the line, which moves while the function runs. */
static uint64_t function_at(const struct mt_tracker *tracker, const struct mt_node *node)
{
	const struct mt_frame *frame = mt_defs_frame(tracker->defs, node->frame);

	return frame && frame->kind == MT_FRAME_PYTHON ? (uint64_t)frame->function << 32 | frame->file : 0;
}

/* The node around `node`; NULL: none. A parent is always older, so another order is damage. */
static const struct mt_node *around(const struct mt_tracker *tracker, uint32_t *node)
{
	const struct mt_node *def = mt_defs_node(tracker->defs, *node);

	if (!def || def->parent >= *node)
		return NULL;
	*node = def->parent;
	return mt_defs_node(tracker->defs, *node);
}

/* 1: `function` runs at `node` or around it. */
static int runs(const struct mt_tracker *tracker, uint32_t node, uint64_t function)
{
	const struct mt_node *def = mt_defs_node(tracker->defs, node);
	uint32_t depth;

	for (depth = 0; def && depth < MT_STACK_DEPTH_MAX; depth++) {
		if (function_at(tracker, def) == function)
			return 1;
		def = around(tracker, &node);
	}
	return 0;
}

/* The innermost function that runs at both nodes; 0: none. */
static uint64_t common_function(const struct mt_tracker *tracker, uint32_t a, uint32_t b)
{
	const struct mt_node *def = mt_defs_node(tracker->defs, a);
	uint32_t depth;

	for (depth = 0; def && depth < MT_STACK_DEPTH_MAX; depth++) {
		uint64_t function = function_at(tracker, def);

		if (function && runs(tracker, b, function))
			return function;
		def = around(tracker, &a);
	}
	return 0;
}

void tracker_loss_note(struct mt_tracker *tracker, struct track_thread *thread, const struct stack_state *stack,
		       const struct mt_label *label)
{
	switch (label->part) {
	case MT_PART_FORWARD:
		if (tracker_sets_forward(stack, label))
			thread->forward = stack->caller;
		break;
	case MT_PART_BACKWARD:
		if (thread->forward && stack->part == MT_PART_BACKWARD && stack->caller)
			thread->loop = common_function(tracker, thread->forward, stack->caller);
		thread->forward = 0;
		break;
	case MT_PART_OPTIMIZER:
		thread->forward = 0;
		break;
	}
}

int tracker_is_loss(const struct mt_tracker *tracker, const struct track_thread *thread, uint64_t node,
		    const struct stack_state *stack, const struct mt_label *label)
{
	uint32_t at = thread->forward, depth;
	uint64_t function = 0;
	const struct mt_node *def;

	if (!at || !tracker_may_be_loss(stack, label))
		return 0;
	if (thread->loop && runs(tracker, (uint32_t)node, thread->loop))
		return 1;
	def = mt_defs_node(tracker->defs, at);
	for (depth = 0; def && !function && depth < MT_STACK_DEPTH_MAX; depth++) {
		function = function_at(tracker, def);
		def = around(tracker, &at);
	}
	return function && runs(tracker, (uint32_t)node, function);
}
