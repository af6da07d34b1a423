/*
 * phase_steps.c - finds the ends of steps, as specified in phase.h.
 *
 * Sources, the most trusted first (enum step_source):
 *
 *     memrec_step                          its call
 *     range named like a step              its end
 *     mark named like a step               its place
 *     role functions of a framework        see phase_roles.c
 *     optimizer                            the first event outside after events inside, or after its step was told
 *     backward window                      its end
 *
 * A new source takes over at its first report, and does not count a step that the earlier source has counted.
 */
#include "phase_impl.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "memtrace/error.h"

/*
 * Closed backward windows before windows count as steps, because no optimizer was seen. Without Python stacks an
 * optimizer is never seen: two windows are enough. With stacks an optimizer is seen, but only after all backward passes
 * of one accumulation.
 */
#define PATIENCE_BLIND 2u
#define PATIENCE_SEEING 1024u

#define STEPS_MAX (UINT32_MAX - 1)

int tracker_step_names(const struct mt_tracker *tracker, const char *name)
{
	return tracker->steps.pattern[0] && !fnmatch(tracker->steps.pattern, name, 0);
}

int mt_tracker_step_mark(struct mt_tracker *tracker, const char *pattern)
{
	size_t size = pattern ? strlen(pattern) : 0;

	if (size >= sizeof(tracker->steps.pattern))
		return -MT_E_ARGUMENT;
	if (!size || !strcmp(pattern, "auto"))
		pattern = "";
	memcpy(tracker->steps.pattern, pattern, strlen(pattern) + 1);
	return 0;
}

const char *mt_tracker_step_why(const struct mt_tracker *tracker)
{
	return tracker->steps.why;
}

static void forget(struct track_steps *steps)
{
	steps->backward = steps->work = steps->inside = steps->in_backward = steps->due = 0;
	roles_forget(&steps->roles);
}

/* A mere reader of a trace believes its STEP events, but keeps track: recording may go on at the trace's end. */
static int end_step(struct track_steps *steps, const char *why, int follow)
{
	forget(steps);
	if (!follow)
		return 0;
	if (steps->ended < STEPS_MAX)
		steps->ended++;
	snprintf(steps->why, sizeof(steps->why), "%s", why);
	return 1;
}

static void end_with_next(struct track_steps *steps, const char *what, const char *name)
{
	steps->due = 1;
	snprintf(steps->due_why, sizeof(steps->due_why), "%s%s%.255s", what, *name ? " " : "", name);
}

int tracker_step_due(struct mt_tracker *tracker, int follow)
{
	return tracker->steps.due && end_step(&tracker->steps, tracker->steps.due_why, follow);
}

/*
 * 1: an end that `source` reports counts. A source that takes over counts only if the running step is more than the
 * rest of a counted step.
 */
static int counts(struct track_steps *steps, enum step_source source)
{
	enum step_source before = steps->source;

	if (source < before)
		return 0;
	steps->source = source;
	if (source == before || !steps->ended)
		return 1;
	if (before > STEP_BY_ROLES)
		return steps->work;
	return steps->backward || steps->inside || roles_pending(&steps->roles);
}

/* The reason if the running step is over, unless more events of the step follow; NULL: it is not over. */
static const char *finished(const struct track_steps *steps)
{
	if (steps->inside)
		return steps->pattern[0] ? "function" : "optimizer";
	return steps->pattern[0] ? NULL : roles_finished(&steps->roles);
}

/* A step range has opened: from now on ranges decide. Work that was finished before is a step of its own. */
static void range_opened(struct track_steps *steps)
{
	if (steps->pattern[0] || steps->source >= STEP_BY_RANGE)
		return;
	if (steps->source <= STEP_BY_ROLES && finished(steps))
		end_with_next(steps, finished(steps), "");
	steps->source = STEP_BY_RANGE;
}

void tracker_step_range(struct mt_tracker *tracker, const struct mark *mark, uint32_t thread, int opened, int outermost)
{
	struct track_steps *steps = &tracker->steps;

	if (!outermost)
		return;
	if (!steps->range_thread)
		steps->range_thread = thread + 1;
	if (steps->range_thread != thread + 1)
		return;
	if (opened)
		range_opened(steps);
	else if (steps->pattern[0] || counts(steps, STEP_BY_RANGE))
		end_with_next(steps, mark->domain == MARK_PHASE ? "phase" : "range",
			      mt_defs_string(tracker->defs, mark->name));
}

/*
 * An instant mark ends a step. A mark may stand at the beginning of each step, so the first mark after nothing but init
 * ends none.
 */
void tracker_step_instant(struct mt_tracker *tracker, uint32_t name, int is_step)
{
	struct track_steps *steps = &tracker->steps;
	int first = !steps->mark_seen;

	if (!is_step)
		return;
	steps->mark_seen = 1;
	if (steps->pattern[0] || (counts(steps, STEP_BY_MARK) && !(first && !tracker->begun)))
		end_with_next(steps, "mark", mt_defs_string(tracker->defs, name));
}

/* 1: the thread is in a framework's role function, whose end decides. */
static int is_in_span(const struct mt_tracker *tracker, uint32_t thread)
{
	return tracker->thread[thread].span.outermost != MT_ROLE_NONE;
}

static void window_closed(struct mt_tracker *tracker, uint32_t thread)
{
	struct track_steps *steps = &tracker->steps;
	uint32_t patience = steps->stacks_seen || steps->optimizer_seen ? PATIENCE_SEEING : PATIENCE_BLIND;

	if (tracker->thread[thread].windows || tracker->thread[thread].is_autograd || is_in_span(tracker, thread))
		return;
	steps->windows += steps->windows < UINT32_MAX;
	if (steps->source <= STEP_BY_OPTIMIZER && steps->windows >= patience)
		end_with_next(steps, "backward window", "");
}

static void note_optimizer(struct track_steps *steps, uint32_t thread)
{
	steps->optimizer_seen = 1;
	if (!steps->backward)
		return; /* a further optimizer of a counted step */
	steps->inside = 1;
	steps->inside_thread = thread;
}

/* Ends a step that the framework reports; the step may have allocated nothing. */
static void optimizer_told(struct mt_tracker *tracker, uint32_t thread)
{
	struct track_steps *steps = &tracker->steps;

	if (steps->source > STEP_BY_OPTIMIZER || is_in_span(tracker, thread))
		return;
	if (tracker->window_thread)
		steps->in_backward = 1;
	else
		note_optimizer(steps, thread);
}

/* An optimizer that steps inside a backward takes one parameter of many: the step is over with the backward. */
static void optimizer_left_backward(struct mt_tracker *tracker, uint32_t thread)
{
	struct track_steps *steps = &tracker->steps;

	if (!steps->in_backward || tracker->window_thread)
		return;
	steps->in_backward = 0;
	note_optimizer(steps, thread);
}

static void told(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread)
{
	struct track_steps *steps = &tracker->steps;

	if (event->kind == MT_BACKWARD_BEGIN || event->kind == MT_BACKWARD_END)
		steps->backward = 1;
	if (steps->pattern[0])
		return;
	if (event->kind == MT_BACKWARD_END) {
		window_closed(tracker, thread);
		optimizer_left_backward(tracker, thread);
	} else if (event->kind == MT_OPTIMIZER_STEP) {
		optimizer_told(tracker, thread);
	} else if (event->kind == MT_STEP_MARK && counts(steps, STEP_BY_API)) {
		end_with_next(steps, "memrec_step", "");
	}
}

/* Ends a step when the thread leaves the function of --step-mark. A stack with left-out frames may still have it. */
static int follow_function(struct track_steps *steps, uint32_t thread, const struct stack_state *stack, int follow)
{
	if (stack->step == RULE_STEP_ENDS) {
		steps->inside = 1;
		steps->inside_thread = thread;
		return 0;
	}
	if (!steps->inside || steps->inside_thread != thread || !stack_is_whole(stack))
		return 0;
	return end_step(steps, "function", follow);
}

/*
 * Ends a step by roles. The begin of a backward counts as an event, because on a GPU its thread allocates nothing
 * meanwhile.
 */
static int follow_roles(struct mt_tracker *tracker, const struct mt_event *event, uint32_t id,
			const struct stack_state *stack, int follow)
{
	struct track_steps *steps = &tracker->steps;
	const struct track_thread *thread = &tracker->thread[id];
	struct stack_state inside;
	const char *why;
	int ended = 0;

	if (thread->is_autograd || steps->source > STEP_BY_ROLES)
		return 0;
	if (event->kind == MT_BACKWARD_BEGIN) {
		inside = *stack;
		inside.span = thread->span;
		stack = &inside;
	} else if (!tracker_is_memory(event->kind)) {
		return 0;
	}
	if (roles_are_idle(&steps->roles, stack))
		return 0;
	why = roles_end(&steps->roles, id, stack);
	if (why) {
		steps->source = STEP_BY_ROLES;
		ended = end_step(steps, why, follow);
	}
	if (!roles_note(&steps->roles, id, stack, thread->windows != 0) || steps->source >= STEP_BY_ROLES)
		return ended;
	if (steps->inside)
		ended |= end_step(steps, "optimizer", follow);
	steps->source = STEP_BY_ROLES;
	return ended;
}

/* Ends a step by the optimizer. One that works in place may not be seen: zero_grad after a backward shows that it ran. */
static int follow_optimizer(struct track_steps *steps, uint32_t thread, int inside, int clears, int follow)
{
	if (inside) {
		note_optimizer(steps, thread);
		return 0;
	}
	if (steps->inside && steps->inside_thread != thread)
		return 0;
	if (!steps->inside && !(clears && steps->backward))
		return 0;
	steps->source = STEP_BY_OPTIMIZER;
	steps->windows = 0;
	return end_step(steps, steps->inside ? "optimizer" : "zero_grad", follow);
}

int tracker_step_event(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread,
		       const struct stack_state *stack, const struct mark_state *marks, const struct mt_label *label,
		       int follow)
{
	struct track_steps *steps = &tracker->steps;
	int is_memory = tracker_is_memory(event->kind), ended, inside, clears;

	told(tracker, event, thread);
	steps->work |= is_memory;
	if (steps->pattern[0])
		return is_memory && follow_function(steps, thread, stack, follow);
	ended = follow_roles(tracker, event, thread, stack, follow);
	steps->backward |= label->part == MT_PART_BACKWARD || label->part == MT_PART_RECOMPUTE;
	if (!is_memory || steps->source > STEP_BY_OPTIMIZER || is_in_span(tracker, thread))
		return ended;
	inside = stack->step == RULE_STEP_ENDS || marks->part == MT_PART_OPTIMIZER;
	clears = stack->step == RULE_STEP_CLEARS;
	if (tracker->window_thread && (inside || clears || steps->in_backward)) {
		steps->in_backward |= inside;
		return ended;
	}
	return follow_optimizer(steps, thread, inside, clears, follow) || ended;
}

/* Ends the step that the next event would have ended. */
int mt_tracker_finish(struct mt_tracker *tracker)
{
	struct track_steps *steps = &tracker->steps;
	const char *why;

	tracker->changes++;
	if (tracker_step_due(tracker, 1))
		return 1;
	why = steps->source <= STEP_BY_ROLES || steps->pattern[0] ? finished(steps) : NULL;
	return why && end_step(steps, why, 1);
}

/* A STEP event of the trace: believed. */
void tracker_step_told(struct mt_tracker *tracker, const struct mt_event *event)
{
	struct track_steps *steps = &tracker->steps;
	uint32_t name = event->name <= UINT32_MAX ? (uint32_t)event->name : 0;

	forget(steps);
	snprintf(steps->why, sizeof(steps->why), "%.255s", mt_defs_string(tracker->defs, name));
	steps->ended = event->value < STEPS_MAX ? (uint32_t)event->value : STEPS_MAX;
}
