#include "phase_impl.h"

#include <string.h>
#include "memtrace/error.h"

static const char *plain_name(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot ? dot + 1 : function;
}

/* Which way a role counts is in OUTER; `steps` of a --step-mark function replaces what rules say of steps. */
static struct rule_match match_frame(const struct mt_tracker *tracker, const struct mt_frame *frame)
{
	const struct mt_module *module = mt_defs_module(tracker->defs, frame->module);
	const char *function = mt_defs_string(tracker->defs, frame->function);
	struct rule_match match = rules_match_frame(tracker->rules, function, mt_defs_string(tracker->defs, frame->file),
						    module ? mt_defs_string(tracker->defs, module->path) : "");

	if (!tracker->steps.pattern[0])
		return match;
	match.said |= 1u << RULE_SAYS_STEP;
	match.value[RULE_SAYS_STEP] = *function && (tracker_step_names(tracker, function) ||
						    tracker_step_names(tracker, plain_name(function)));
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

static void add_role(struct stack_state *state, const struct rule_match *match, uint32_t frame)
{
	uint8_t role = match->value[RULE_SAYS_ROLE];

	if (role == MT_ROLE_NONE || (state->role != MT_ROLE_NONE && match->value[RULE_SAYS_OUTER]))
		return;
	state->role = role;
	state->role_frame = frame;
}

/* The outermost role stays, unless an inner frame insists; parts and categories are said best by the innermost. */
static struct stack_state add_frame(struct stack_state state, const struct rule_match *match, uint32_t frame)
{
	uint8_t part = match->value[RULE_SAYS_PART], category = match->value[RULE_SAYS_CATEGORY];

	add_role(&state, match, frame);
	if (part != MT_PART_NONE) {
		if (part != state.part)
			state.category = MT_CATEGORY_OTHER;
		state.part = part_inside(state.part, part);
		state.part_frame = frame;
	}
	if (category != MT_CATEGORY_OTHER)
		state.category = category;
	if (match->said & 1u << RULE_SAYS_STEP && match->value[RULE_SAYS_STEP])
		state.steps = 1;
	return state;
}

/* Climbs to the nearest node that is known, then comes down again: each node is computed once. */
const struct stack_state *tracker_stack(struct mt_tracker *tracker, uint64_t node)
{
	static const struct stack_state nothing;
	uint32_t path[MT_STACK_DEPTH_MAX];
	uint32_t depth = 0, at = (uint32_t)node;
	struct stack_state state = nothing;
	const struct mt_node *def;
	struct rule_match match;

	if (node > mt_defs_count(tracker->defs, MT_DEF_NODE) ||
	    tracker_grow(&tracker->node, &tracker->nodes, node, sizeof(*tracker->node)))
		return &nothing;
	/* Parents are older: anything else is damage, and ends the climb like the outermost frame does. */
	while ((def = mt_defs_node(tracker->defs, at)) && !tracker->node[at].known && depth < MT_STACK_DEPTH_MAX) {
		path[depth++] = at;
		at = def->parent < at ? def->parent : 0;
	}
	if (def && tracker->node[at].known)
		state = tracker->node[at];
	while (depth) {
		at = path[--depth];
		def = mt_defs_node(tracker->defs, at);
		match = frame_says(tracker, def->frame);
		state = add_frame(state, &match, def->frame);
		state.known = 1;
		tracker->node[at] = state;
	}
	return &tracker->node[node];
}
