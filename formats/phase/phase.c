#include "phase_impl.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

struct mt_tracker *mt_tracker_new(const struct mt_rules *rules, const struct mt_defs *defs)
{
	struct mt_tracker *tracker = malloc(sizeof(*tracker));
	int role, part;

	if (!tracker)
		return NULL;
	memset(tracker, 0, offsetof(struct mt_tracker, range));
	tracker->rules = rules;
	tracker->defs = defs;
	tracker->changes = 1;
	for (role = 0; role < ROLES; role++)
		for (part = 0; part < PARTS; part++)
			tracker->category[role][part] = (uint8_t)mt_rules_category(rules, (enum mt_role)role,
										   (enum mt_part)part);
	/* Thread 0 stands for all undefined threads. */
	if (tracker_grow(&tracker->thread, &tracker->threads, 0, sizeof(*tracker->thread))) {
		free(tracker);
		return NULL;
	}
	return tracker;
}

void mt_tracker_free(struct mt_tracker *tracker)
{
	size_t i;

	if (!tracker)
		return;
	for (i = 0; i < tracker->threads; i++)
		free(tracker->thread[i].mark);
	free(tracker->thread);
	free(tracker->node);
	free(tracker->frame);
	free(tracker->name);
	free(tracker);
}

static uint32_t thread_of(struct mt_tracker *tracker, const struct mt_event *event)
{
	const struct mt_thread *def;
	struct track_thread *thread;

	if (event->thread < tracker->threads && tracker->thread[event->thread].known)
		return (uint32_t)event->thread;
	if (event->thread > mt_defs_count(tracker->defs, MT_DEF_THREAD) ||
	    tracker_grow(&tracker->thread, &tracker->threads, event->thread, sizeof(*tracker->thread)))
		return 0;
	thread = &tracker->thread[event->thread];
	def = mt_defs_thread(tracker->defs, (uint32_t)event->thread);
	if (thread->known || !def)
		return (uint32_t)event->thread;
	thread->known = 1;
	tracker->changes++;
	thread->is_main = (def->flags & MT_THREAD_MAIN) != 0;
	thread->is_autograd = (def->flags & MT_THREAD_AUTOGRAD) || !strncmp(mt_defs_string(tracker->defs, def->name),
									    "pt_autograd_", strlen("pt_autograd_"));
	if (thread->is_main && !tracker->main_thread)
		tracker->main_thread = (uint32_t)event->thread;
	return (uint32_t)event->thread;
}

static uint8_t flat_phase(uint8_t role, uint8_t part)
{
#define FLAT(name, number, word, flat) [number] = MT_PHASE_##flat,
	static const uint8_t of_role[] = { MT_ROLE_LIST(FLAT) };
	static const uint8_t of_part[] = { MT_PART_LIST(FLAT) };

	if (part != MT_PART_NONE && (role == MT_ROLE_NONE || role == MT_ROLE_TRAIN))
		return of_part[part];
	return of_role[role];
}

/* The role of the running backward: autograd threads work for the thread that waits in Engine::execute. */
static uint8_t window_role(const struct mt_tracker *tracker)
{
	uint8_t role = tracker->window_thread ? tracker->thread[tracker->window_thread - 1].window_role : MT_ROLE_NONE;

	return role == MT_ROLE_INIT ? MT_ROLE_NONE : role;
}

/* 1: the running backward is captured as a graph. */
static int window_captures(const struct mt_tracker *tracker)
{
	return tracker->window_thread && tracker->thread[tracker->window_thread - 1].window_captures;
}

/* The newest open role function: of the thread itself, else of the process. */
static uint8_t open_role(const struct mt_tracker *tracker, const struct track_thread *own)
{
	if (own->span.outermost == MT_ROLE_NONE && tracker->span_thread)
		own = &tracker->thread[tracker->span_thread - 1];
	return own->span.outermost == MT_ROLE_NONE ? MT_ROLE_NONE : own->span.role;
}

/* Labels by the open marks; the stack fills in the rest. */
static void label_own(struct mt_label *label, const struct mark_state *marks, const struct stack_state *stack)
{
	int backward = marks->part == MT_PART_BACKWARD &&
		       (stack->part == MT_PART_FORWARD || stack->part == MT_PART_RECOMPUTE);

	label->role = marks->role;
	/* A module that is built inside a forward does not make it an init. */
	if (!marks->role && !(marks->part && stack->span.role == MT_ROLE_INIT))
		label->role = stack->span.role;
	label->part = backward ? MT_PART_RECOMPUTE : marks->part ? marks->part : stack->part;
	label->category = marks->category ? marks->category : stack->category;
}

/* Inside a backward, an allocation without a part belongs to the backward. */
static void label_backward(struct mt_label *label, const struct mark_state *marks)
{
	if (label->part == MT_PART_NONE)
		label->part = MT_PART_BACKWARD;
	else if (label->part == MT_PART_FORWARD && marks->part == MT_PART_NONE)
		label->part = MT_PART_RECOMPUTE;
}

/* Labels an allocation whose thread says nothing by the process. `bare`: the stack has no Python frame. */
static void label_inherited(struct mt_label *label, const struct mt_tracker *tracker, const struct track_thread *thread,
			    int bare, int alone)
{
	struct mark_state process = { 0 };

	if (tracker->ranges || (tracker->main_thread && tracker->thread[tracker->main_thread].marks))
		process = tracker_process_marks(tracker);
	if (thread->is_autograd)
		label->role = window_role(tracker);
	if (!label->role)
		label->role = process.role;
	if (!label->role && (bare || thread->is_autograd))
		label->role = open_role(tracker, thread);
	if (!alone)
		return;
	label->part = process.part;
	label->category = process.category;
}

/* 1: the thread was started to work for others. Stacks without their outermost frames do not show this. */
static int is_helper(struct track_thread *thread, const struct stack_state *stack)
{
	if (stack->begun && !stack->cut)
		thread->helper = stack->helper;
	return thread->helper && !stack->python && !thread->is_autograd && !thread->windows;
}

/*
 * Labels a helper by the thread that woke it. No event names this thread, so take the thread of the newest backward,
 * else the newest thread with such work, which waits meanwhile. 1: found one.
 */
static int label_helper(struct mt_label *label, const struct mt_tracker *tracker)
{
	uint32_t id = tracker->window_thread ? tracker->window_thread : tracker->work_thread;
	struct track_work work = id ? tracker->thread[id - 1].work : (struct track_work){ 0 };

	/* The newest work of this thread may be from before its backward. */
	if (tracker->window_thread && work.part != MT_PART_BACKWARD && work.part != MT_PART_RECOMPUTE)
		work = (struct track_work){ .role = window_role(tracker), .part = MT_PART_BACKWARD };
	label->role = work.role;
	label->part = work.part;
	if (!label->category)
		label->category = work.category;
	return id != 0;
}

/* Sets the work of this thread's helpers. A thread that now does something else has no helpers with old work. */
static void note_work(struct mt_tracker *tracker, uint32_t id, const struct mt_label *label)
{
	int works = label->part || (label->role && label->role != MT_ROLE_OTHER);

	tracker->thread[id].work = (struct track_work){ label->role, label->part, label->category };
	if (works)
		tracker->work_thread = id + 1;
	else if (tracker->work_thread == id + 1)
		tracker->work_thread = 0;
}

/* 1: the thread's own events say what it does: no helper, and no thread that takes all from the process. */
static int tells_work(const struct track_thread *thread, const struct stack_state *stack,
		      const struct mark_state *marks)
{
	return !thread->is_autograd && (stack->python || thread->windows || marks->serial);
}

/* The deciding frame: the frame of the role if the role gives the phase's name, else the frame of the part. */
static uint32_t deciding_frame(const struct mt_label *label, const struct stack_state *stack)
{
	if (label->role != MT_ROLE_NONE && label->role != MT_ROLE_TRAIN)
		return label->role == stack->span.role ? stack->span.frame : 0;
	return label->part == stack->part ? stack->part_frame : 0;
}

static enum forward_use label_event(struct mt_tracker *tracker, uint32_t id, uint64_t node,
				    const struct stack_state *stack, const struct mark_state *marks,
				    struct mt_label *label)
{
	struct track_thread *thread = &tracker->thread[id];
	int autograd = thread->is_autograd || thread->windows;
	int alone, guessed, helped, reads_forward;

	label_own(label, marks, stack);
	if (autograd)
		label_backward(label, marks);
	/* Byte by byte, as they were written: a load of all three at once would wait for the stores. */
	alone = !(label->role | label->part | label->category);
	helped = is_helper(thread, stack) && !(label->role | label->part) && label_helper(label, tracker);
	if (!label->role && !helped)
		label_inherited(label, tracker, thread, !stack->python, alone);
	if (thread->is_autograd && !label->category && window_captures(tracker))
		label->category = MT_CATEGORY_GRAPHS;
	reads_forward = !autograd && tracker_may_be_loss(stack, label);
	if (reads_forward && tracker_is_loss(tracker, thread, node, stack, label))
		label->part = MT_PART_FORWARD;
	guessed = !(label->role | label->part) && !tracker->begun;
	if (guessed)
		label->role = MT_ROLE_INIT;
	label->phase = flat_phase(label->role, label->part);
	label->rule_frame = deciding_frame(label, stack);
	if (!label->category && !guessed) /* an early allocation is not yet weights */
		label->category = tracker->category[label->role][label->part];
	if (label->part || (label->role && label->role != MT_ROLE_INIT))
		tracker->begun = 1;
	if (label->part)
		tracker_loss_note(tracker, thread, stack, label);
	if (reads_forward || label->part == MT_PART_BACKWARD || label->part == MT_PART_OPTIMIZER)
		return FORWARD_READ;
	return tracker_sets_forward(stack, label) ? FORWARD_SET : FORWARD_UNUSED;
}

/* 1: the stack's role is that of an inner frame and gives way to the thread's role, whose frame may be missing. */
static int gives_way(const struct stack_state *state, const struct role_span *span)
{
	return state->inner && role_is_of_the_loop(span->role) && span->role != state->over;
}

/* 1: the stack's role is that of a frame outside the missing ones, and the thread's role took over from it lately. */
static int is_taken_over(const struct stack_state *state, const struct role_span *span)
{
	return state->outer && role_is_of_the_loop(span->role) && span->around == state->span.role &&
	       span->role != state->span.role;
}

/* The stack with the roles of the thread's newest whole stack. */
static const struct stack_state *mend(struct stack_state *mended, const struct stack_state *state,
				      const struct role_span *span)
{
	*mended = *state;
	mended->span = *span;
	if (state->claim && state->claim_over == span->role)
		mended->span.role = state->claim;
	return mended;
}

/*
 * The meaning of an event's stack. A deep stack lacks frames in its middle, so its role function is that of the
 * thread's newest stack that could tell; `mended` is room for the result. Events of a checkpoint are old and say
 * nothing about now.
 */
static const struct stack_state *stack_of(struct mt_tracker *tracker, const struct mt_event *event, uint32_t id,
					  struct stack_state *mended)
{
	struct track_thread *thread = &tracker->thread[id];
	const struct stack_state *state = tracker_stack(tracker, event->stack);

	if (event->kind == MT_LIVE || !state->python)
		return state;
	if (state->cut && is_taken_over(state, &thread->span))
		return mend(mended, state, &thread->span);
	if (state->cut && (!role_is_of_the_loop(state->span.role) || gives_way(state, &thread->span)))
		return role_is_of_the_loop(thread->span.role) ? mend(mended, state, &thread->span) : state;
	thread->span = state->span;
	if (state->span.outermost != MT_ROLE_NONE && !thread->is_autograd)
		tracker->span_thread = id + 1;
	return state;
}

/*
 * 1: a forward or an optimizer of a thread inside a backward, called by no backward. The trace lacks the backward's
 * end.
 */
static int is_past_backward(const struct track_thread *thread, const struct stack_state *stack)
{
	return thread->windows && !thread->is_autograd && stack_is_whole(stack) && !stack->backward &&
	       (stack->part == MT_PART_FORWARD || stack->part == MT_PART_OPTIMIZER);
}

static enum forward_use follow_event(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread,
				     int follow_steps, struct mt_label *label)
{
	struct stack_state mended;
	const struct stack_state *stack = stack_of(tracker, event, thread, &mended);
	struct mark_state marks = { 0 };
	enum forward_use use;

	*label = (struct mt_label){ 0 };
	if (tracker->steps.due)
		label->step_closed = (uint32_t)tracker_step_due(tracker, follow_steps);
	if (event->kind >= MT_RANGE_PUSH)
		tracker_mark_event(tracker, event, thread);
	if (is_past_backward(&tracker->thread[thread], stack))
		tracker_window_lost(tracker, thread);
	if (tracker->ranges || tracker->thread[thread].marks)
		marks = tracker_marks(tracker, thread);
	use = label_event(tracker, thread, event->stack, stack, &marks, label);
	if (tracker_is_memory(event->kind))
		tracker->thread[thread].last_role = label->role;
	if (tracker_is_memory(event->kind) && tells_work(&tracker->thread[thread], stack, &marks))
		note_work(tracker, thread, label);
	if (tracker_is_memory(event->kind) && stack->python)
		tracker->thread[thread].last_captures = stack->category == MT_CATEGORY_GRAPHS;
	tracker->steps.stacks_seen |= stack->part != MT_PART_NONE;
	if (tracker_step_event(tracker, event, thread, stack, &marks, label, follow_steps))
		label->step_closed = 1;
	if (event->kind == MT_STEP) {
		tracker_step_told(tracker, event);
		label->step_closed = 1;
	}
	label->step = tracker->steps.ended + 1;
	return use;
}

void mt_tracker_event(struct mt_tracker *tracker, const struct mt_event *event, int follow_steps,
		      struct mt_label *label)
{
	struct track_state before;
	enum forward_use use;
	uint32_t thread;

	if (known_take(tracker, event, follow_steps, label))
		return;
	thread = thread_of(tracker, event);
	known_begin(tracker, thread, &before);
	use = follow_event(tracker, event, thread, follow_steps, label);
	known_end(tracker, event, thread, follow_steps, &before, use, label);
}
