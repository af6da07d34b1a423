#include "flame_stack.h"

const struct callstack_frame flame_no_stack = { .function = "no stack was recorded", .file = "", .module = "" };
const struct callstack_frame flame_no_names = { .function = "not named yet", .file = "", .module = "" };
const struct callstack_frame flame_slack = { .function = "allocator slack", .file = "", .module = "" };
const struct callstack_frame flame_plumbing = { .function = "plumbing", .file = "", .module = "" };

/* All frames, outermost first. */
static size_t all_frames(const struct callstack_frame **frame, const struct callstack *stack)
{
	size_t frames = 0, i;

	for (i = stack->count; i-- > 0 && frames < FLAME_FRAMES_MAX;)
		frame[frames++] = stack->frame[i];
	return frames;
}

/* The frames without plumbing. The frame that names the place always stays: some stacks have no other. */
static size_t folded_frames(const struct callstack_frame **frame, const struct callstack *stack)
{
	size_t user = callstack_user_frame(stack), frames = 0, i;
	int folded = 0;

	for (i = stack->count; i-- > 0 && frames < FLAME_FRAMES_MAX;) {
		folded = i != user && callstack_is_plumbing(stack->frame[i]);
		if (!folded)
			frame[frames++] = stack->frame[i];
	}
	if (folded)
		frame[frames++] = &flame_plumbing;
	return frames;
}

size_t flame_stack(const struct callstack_frame **frame, const struct model_site *site, int slack, int all)
{
	size_t frames = 0;

	if (slack)
		frame[frames++] = &flame_slack;
	if (!site->stack || (site->callstack && !site->callstack->count))
		frame[frames++] = &flame_no_stack;
	else if (!site->callstack)
		frame[frames++] = &flame_no_names;
	else
		frames += all ? all_frames(frame + frames, site->callstack)
			      : folded_frames(frame + frames, site->callstack);
	return frames;
}
