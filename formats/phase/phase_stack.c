#include "phase_impl.h"

#include <string.h>
#include "memtrace/error.h"

static const char *plain_name(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot ? dot + 1 : function;
}

/* A --step-mark function replaces the rules about steps. */
static struct rule_match match_frame(const struct mt_tracker *tracker, const struct mt_frame *frame)
{
	const struct mt_module *module = mt_defs_module(tracker->defs, frame->module);
	const char *function = mt_defs_string(tracker->defs, frame->function);
	struct rule_match match = rules_match_frame(tracker->rules, function,
						    mt_defs_string(tracker->defs, frame->file),
						    module ? mt_defs_string(tracker->defs, module->path) : "");

	if (!tracker->steps.pattern[0])
		return match;
	match.said |= 1u << RULE_SAYS_STEP;
	match.value[RULE_SAYS_STEP] = *function && (tracker_step_names(tracker, function) ||
						    tracker_step_names(tracker, plain_name(function)))
					      ? RULE_STEP_ENDS
					      : RULE_STEP_NOTHING;
	return match;
}

static struct rule_match frame_says(struct mt_tracker *tracker, uint32_t id)
{
	const struct mt_frame *frame = mt_defs_frame(tracker->defs, id);
	struct rule_match none = { 0 };

	if (!frame || tracker_grow(&tracker->frame, &tracker->frames, id, sizeof(*tracker->frame)))
		return none;
	if (!(tracker->frame[id].said & MATCH_KNOWN)) {
		tracker->frame[id] = match_frame(tracker, frame);
		tracker->frame[id].said |= MATCH_KNOWN;
	}
	return tracker->frame[id];
}

/* Adds a frame's role. The outermost role stays, unless an inner frame insists: always, or over just this role. */
static void add_role(struct role_span *span, const struct rule_match *match, const struct mt_frame *frame, uint32_t id)
{
	uint8_t role = match->value[RULE_SAYS_ROLE];

	if (role == MT_ROLE_NONE)
		return;
	if (span->role != MT_ROLE_NONE && span->role != match->value[RULE_SAYS_OVER] && match->value[RULE_SAYS_OUTER])
		return;
	if (span->around == MT_ROLE_NONE)
		span->around = role;
	span->role = role;
	span->frame = id;
	if (!match->value[RULE_SAYS_SPAN])
		return;
	span->loop = role;
	if (span->outermost == MT_ROLE_NONE && role_is_of_the_loop(role)) {
		span->outermost = role;
		span->function = (uint64_t)frame->function << 32 | frame->file;
	}
}

/* A category's forward and backward both belong to it if graphs of both are warmed up and captured. */
static int is_done_for(uint8_t category, uint8_t part)
{
	return part == MT_PART_FORWARD || (category == MT_CATEGORY_GRAPHS && part != MT_PART_OPTIMIZER);
}

/*
 * Adds a frame's part and category. The innermost frame wins. The category of a forward does not apply to the backward
 * inside it.
 */
static void add_part(struct stack_state *state, const struct rule_match *match, uint32_t id)
{
	uint8_t part = match->value[RULE_SAYS_PART], category = match->value[RULE_SAYS_CATEGORY];

	if (part != MT_PART_NONE) {
		if (part != state->part && !is_done_for(state->category, part))
			state->category = MT_CATEGORY_OTHER;
		state->part = part_inside(state->part, part);
		state->part_frame = id;
		state->backward |= part == MT_PART_BACKWARD || part == MT_PART_RECOMPUTE;
	}
	if (category != MT_CATEGORY_OTHER)
		state->category = category;
}

/*
 * Adds a frame's rule about steps. An engine that a framework's function puts to sleep belongs to this function, so
 * only the engine's own frames count.
 */
static void add_step(struct stack_state *state, const struct rule_match *match, uint32_t id)
{
	uint8_t step = match->value[RULE_SAYS_STEP];

	if ((step == RULE_STEP_OPENS || step == RULE_STEP_CLOSES) && state->span.frame != id)
		return;
	if (state->step == RULE_STEP_NOTHING)
		state->step = step;
}

/* Notes a role that gives way to a role further outside: frames outside are missing, and one may have such a role. */
static void add_inner(struct stack_state *state, const struct rule_match *match)
{
	if (match->value[RULE_SAYS_ROLE] == MT_ROLE_NONE || state->span.role != MT_ROLE_NONE || !state->cut)
		return;
	state->inner = match->value[RULE_SAYS_OUTER] != 0;
	state->over = match->value[RULE_SAYS_OVER];
}

/* Notes a role outside of missing frames: a missing frame may have another role. */
static void add_outer(struct stack_state *state, const struct rule_match *match, uint8_t before)
{
	if (state->span.role != before)
		state->outer = 0;
	else if (state->outer && !state->claim && match->value[RULE_SAYS_ROLE] != MT_ROLE_NONE) {
		state->claim = match->value[RULE_SAYS_ROLE];
		state->claim_over = match->value[RULE_SAYS_OVER];
	}
}

/*
 * Notes why the thread was started, by its outermost frames. Frames of the C library leave the answer to the next
 * frame.
 */
static void add_start(struct stack_state *state, const struct rule_match *match, const struct mt_frame *frame)
{
	uint8_t says = frame->kind == MT_FRAME_NATIVE ? match->value[RULE_SAYS_HELPER] : RULE_HELPER_NONE;

	if (state->begun || says == RULE_HELPER_START)
		return;
	state->begun = 1;
	state->helper = says == RULE_HELPER_TRUE;
}

static void add_frame(struct mt_tracker *tracker, struct stack_state *state, uint32_t id)
{
	const struct mt_frame *frame = mt_defs_frame(tracker->defs, id);
	struct rule_match match = frame_says(tracker, id);
	uint8_t before = state->span.role;

	if (!frame)
		return;
	state->python |= frame->kind == MT_FRAME_PYTHON;
	add_start(state, &match, frame);
	state->cut |= frame->kind == MT_FRAME_ELIDED;
	if (frame->kind == MT_FRAME_ELIDED)
		state->outer = before != MT_ROLE_NONE;
	add_inner(state, &match);
	add_role(&state->span, &match, frame, id);
	add_outer(state, &match, before);
	add_part(state, &match, id);
	add_step(state, &match, id);
}

/* Climbs to the nearest node that is known, then comes down again: each node is computed once. */
const struct stack_state *tracker_climb(struct mt_tracker *tracker, uint64_t node)
{
	static const struct stack_state nothing;
	uint32_t path[MT_STACK_DEPTH_MAX];
	uint32_t depth = 0, at = (uint32_t)node;
	struct stack_state state = nothing;
	const struct mt_node *def;

	if (!node || node > mt_defs_count(tracker->defs, MT_DEF_NODE) ||
	    tracker_grow(&tracker->node, &tracker->nodes, node, sizeof(*tracker->node)))
		return &nothing;
	/* A parent is older than its node. Another order is damage and ends the climb like the outermost frame. */
	while ((def = mt_defs_node(tracker->defs, at)) && !tracker->node[at].known && depth < MT_STACK_DEPTH_MAX) {
		path[depth++] = at;
		at = def->parent < at ? def->parent : 0;
	}
	if (def && tracker->node[at].known)
		state = tracker->node[at];
	while (depth) {
		at = path[--depth];
		def = mt_defs_node(tracker->defs, at);
		add_frame(tracker, &state, def->frame);
		if (state.part != MT_PART_NONE && !state.caller)
			state.caller = def->parent < at ? def->parent : 0;
		state.known = 1;
		tracker->node[at] = state;
	}
	return &tracker->node[node];
}
