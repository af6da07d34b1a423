#include "phase_impl.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

struct mt_tracker *mt_tracker_new(const struct mt_rules *rules, const struct mt_defs *defs)
{
	struct mt_tracker *tracker = calloc(1, sizeof(*tracker));

	if (!tracker)
		return NULL;
	tracker->rules = rules;
	tracker->defs = defs;
	/* Thread 0 stands for all that are not defined. */
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

int tracker_grow(void *array, size_t *count, uint64_t index, size_t item)
{
	size_t larger = *count ? *count : 64;
	char *grown;

	if (index < *count)
		return 0;
	if (index > 2 * (uint64_t)MT_DEFS_MAX)
		return -MT_E_LIMIT;
	while (larger <= index)
		larger *= 2;
	grown = realloc(*(void **)array, larger * item);
	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + *count * item, 0, (larger - *count) * item);
	*(void **)array = grown;
	*count = larger;
	return 0;
}

/* What `inner` is when it happens inside `outer`: a forward inside a backward is done again. */
uint8_t part_inside(uint8_t outer, uint8_t inner)
{
	if (inner == MT_PART_FORWARD && (outer == MT_PART_BACKWARD || outer == MT_PART_RECOMPUTE))
		return MT_PART_RECOMPUTE;
	return inner == MT_PART_NONE ? outer : inner;
}

static uint32_t thread_of(struct mt_tracker *tracker, const struct mt_event *event)
{
	const struct mt_thread *def;
	struct track_thread *thread;

	if (event->thread > mt_defs_count(tracker->defs, MT_DEF_THREAD) ||
	    tracker_grow(&tracker->thread, &tracker->threads, event->thread, sizeof(*tracker->thread)))
		return 0;
	thread = &tracker->thread[event->thread];
	def = mt_defs_thread(tracker->defs, (uint32_t)event->thread);
	if (thread->known || !def)
		return (uint32_t)event->thread;
	thread->known = 1;
	thread->is_main = (def->flags & MT_THREAD_MAIN) != 0;
	thread->is_autograd = (def->flags & MT_THREAD_AUTOGRAD) ||
			      !strncmp(mt_defs_string(tracker->defs, def->name), "pt_autograd_", strlen("pt_autograd_"));
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

/* The role of the backward that runs: autograd threads work for whoever waits in Engine::execute. */
static uint8_t window_role(const struct mt_tracker *tracker)
{
	uint8_t role = tracker->window_thread ? tracker->thread[tracker->window_thread - 1].window_role : MT_ROLE_NONE;

	return role == MT_ROLE_INIT ? MT_ROLE_NONE : role;
}

/* An open mark is believed; where it leaves something open, the stack has the word. */
static void label_own(struct mt_label *label, const struct mark_state *marks, const struct stack_state *stack)
{
	int backward = marks->part == MT_PART_BACKWARD &&
		       (stack->part == MT_PART_FORWARD || stack->part == MT_PART_RECOMPUTE);

	label->role = marks->role;
	/* A module that is built on the way does not make a forward an init. */
	if (!marks->role && !(marks->part && stack->role == MT_ROLE_INIT))
		label->role = stack->role;
	label->part = backward ? MT_PART_RECOMPUTE : marks->part ? marks->part : stack->part;
	label->category = marks->category ? marks->category : stack->category;
}

/* A backward runs on this thread: what nobody named is part of it. */
static void label_backward(struct mt_label *label, const struct mark_state *marks)
{
	if (label->part == MT_PART_NONE)
		label->part = MT_PART_BACKWARD;
	else if (label->part == MT_PART_FORWARD && marks->part == MT_PART_NONE)
		label->part = MT_PART_RECOMPUTE;
}

/* What the thread itself does not tell it has from the process. */
static void label_inherited(struct mt_label *label, const struct mt_tracker *tracker, int autograd, int alone)
{
	struct mark_state process = tracker_process_marks(tracker);

	if (autograd)
		label->role = window_role(tracker);
	if (!label->role)
		label->role = process.role;
	if (!alone)
		return;
	label->part = process.part;
	label->category = process.category;
}

/* Who decided: the frame of the role where that gives the name, else the frame of the part. */
static uint32_t deciding_frame(const struct mt_label *label, const struct stack_state *stack)
{
	if (label->role != MT_ROLE_NONE && label->role != MT_ROLE_TRAIN)
		return label->role == stack->role ? stack->role_frame : 0;
	return label->part == stack->part ? stack->part_frame : 0;
}

static void label_event(struct mt_tracker *tracker, uint32_t id, const struct stack_state *stack,
			const struct mark_state *marks, struct mt_label *label)
{
	struct track_thread *thread = &tracker->thread[id];
	int autograd = thread->is_autograd || thread->windows;
	int alone, guessed;

	label_own(label, marks, stack);
	if (autograd)
		label_backward(label, marks);
	alone = !label->role && !label->part && !label->category;
	if (!label->role)
		label_inherited(label, tracker, thread->is_autograd, alone);
	guessed = !label->role && !label->part && !tracker->begun;
	if (guessed)
		label->role = MT_ROLE_INIT;
	label->phase = flat_phase(label->role, label->part);
	label->rule_frame = deciding_frame(label, stack);
	if (!label->category && !guessed) /* that it came early does not make it weights */
		label->category = (uint8_t)mt_rules_category(tracker->rules, label->role, label->part);
	if (label->part || (label->role && label->role != MT_ROLE_INIT))
		tracker->begun = 1;
}

void mt_tracker_event(struct mt_tracker *tracker, const struct mt_event *event, int follow_steps,
		      struct mt_label *label)
{
	uint32_t thread = thread_of(tracker, event);
	const struct stack_state *stack = tracker_stack(tracker, event->stack);
	struct mark_state marks;
	int inside;

	*label = (struct mt_label){ 0 };
	label->step_closed = (uint32_t)tracker_step_due(tracker, follow_steps);
	tracker_mark_event(tracker, event, thread);
	marks = tracker_marks(tracker, thread);
	label_event(tracker, thread, stack, &marks, label);
	if (tracker_is_memory(event->kind))
		tracker->thread[thread].last_role = label->role;
	tracker->steps.stacks_seen |= stack->part != MT_PART_NONE;
	inside = stack->steps || (!tracker->steps.pattern[0] && marks.part == MT_PART_OPTIMIZER);
	if (tracker_step_event(tracker, event, thread, label, inside, follow_steps))
		label->step_closed = 1;
	if (event->kind == MT_STEP) {
		tracker_step_told(tracker, event);
		label->step_closed = 1;
	}
	label->step = tracker->steps.ended + 1;
}
