#include "phase_impl.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

/* Matches an explicit phase by its exact word in the lists of phase.h. */
static int match_word(const char *name, struct rule_match *match)
{
#define ROLE(name_, number, word, flat)                                       \
	if (number && !strcmp(name, word)) {                                  \
		*match = (struct rule_match){ .said = 1u << RULE_SAYS_ROLE }; \
		match->value[RULE_SAYS_ROLE] = number;                        \
		return 1;                                                     \
	}
#define PART(name_, number, word, flat)                                       \
	if (number && !strcmp(name, word)) {                                  \
		*match = (struct rule_match){ .said = 1u << RULE_SAYS_PART }; \
		match->value[RULE_SAYS_PART] = number;                        \
		return 1;                                                     \
	}
	MT_ROLE_LIST(ROLE)
	MT_PART_LIST(PART)
	return 0;
}

static struct rule_match match_name(struct mt_tracker *tracker, uint64_t id)
{
	const char *name = mt_defs_string(tracker->defs, (uint32_t)id);
	struct rule_match match = { 0 };

	if (!id || id > mt_defs_count(tracker->defs, MT_DEF_STRING) ||
	    tracker_grow(&tracker->name, &tracker->names, id, sizeof(*tracker->name)))
		return match;
	if (!(tracker->name[id].said & MATCH_KNOWN)) {
		if (!match_word(name, &match))
			match = rules_match_mark(tracker->rules, name);
		match.said |= MATCH_KNOWN;
		tracker->name[id] = match;
	}
	match = tracker->name[id];
	match.said &= ~MATCH_KNOWN;
	return match;
}

/*
 * Adds a mark to those around it. The innermost mark with a meaning wins. A forward inside a backward is a
 * recomputation.
 */
static struct mark_state add_mark(struct mark_state sum, const struct mark *mark)
{
	const uint8_t *value = mark->match.value;

	if (value[RULE_SAYS_ROLE] != MT_ROLE_NONE)
		sum.role = value[RULE_SAYS_ROLE];
	if (value[RULE_SAYS_PART] != MT_PART_NONE)
		sum.part = part_inside(sum.part, value[RULE_SAYS_PART]);
	if (value[RULE_SAYS_CATEGORY] != MT_CATEGORY_OTHER)
		sum.category = value[RULE_SAYS_CATEGORY];
	if (value[RULE_SAYS_ROLE] || value[RULE_SAYS_PART] || value[RULE_SAYS_CATEGORY])
		sum.serial = mark->serial;
	return sum;
}

static struct mark make_mark(struct mt_tracker *tracker, const struct mt_event *event, uint32_t domain, uint32_t thread)
{
	struct mark mark = { .domain = domain, .name = (uint32_t)event->name, .thread = thread };

	mark.match = match_name(tracker, event->name);
	mark.serial = ++tracker->serial;
	mark.handle = event->handle;
	if (tracker->steps.pattern[0])
		mark.is_step = tracker_step_names(tracker, mt_defs_string(tracker->defs, mark.name));
	else
		mark.is_step = mark.match.value[RULE_SAYS_STEP];
	return mark;
}

/* 1: the thread has no other open step mark. */
static int is_outermost(const struct track_thread *thread)
{
	uint32_t i, steps = 0;

	for (i = 0; i < thread->marks; i++)
		steps += thread->mark[i].is_step;
	return steps <= 1;
}

static void push(struct mt_tracker *tracker, const struct mt_event *event, uint32_t domain, uint32_t id)
{
	struct track_thread *thread = &tracker->thread[id];
	struct mark mark = make_mark(tracker, event, domain, id);
	uint32_t max = thread->marks_max ? thread->marks_max * 2 : 8;
	struct mark_state around = { 0 };
	struct mark *larger;

	if (thread->marks == thread->marks_max && thread->marks < MARKS_MAX) {
		larger = realloc(thread->mark, max * sizeof(*larger));
		if (larger) {
			thread->mark = larger;
			thread->marks_max = max;
		}
	}
	if (thread->marks == thread->marks_max) {
		thread->marks_over++;
		return;
	}
	if (thread->marks)
		around = thread->mark[thread->marks - 1].sum;
	mark.sum = add_mark(around, &mark);
	thread->mark[thread->marks++] = mark;
	if (mark.is_step)
		tracker_step_range(tracker, &mark, id, 1, is_outermost(thread));
}

/* Computes the sums from position `i` on again, after a removal there. */
static void sum_again(struct track_thread *thread, uint32_t i)
{
	struct mark_state sum = { 0 };

	if (i)
		sum = thread->mark[i - 1].sum;
	for (; i < thread->marks; i++)
		sum = thread->mark[i].sum = add_mark(sum, &thread->mark[i]);
}

/* Removes the newest mark of the domain, at any depth. A pop without a push is ignored. */
static void pop(struct mt_tracker *tracker, uint32_t domain, uint32_t id)
{
	struct track_thread *thread = &tracker->thread[id];
	uint32_t i = thread->marks;
	int outermost;
	struct mark mark;

	if (thread->marks_over) {
		thread->marks_over--;
		return;
	}
	while (i && thread->mark[i - 1].domain != domain)
		i--;
	if (!i--)
		return;
	mark = thread->mark[i];
	outermost = is_outermost(thread);
	thread->marks--;
	memmove(&thread->mark[i], &thread->mark[i + 1], (thread->marks - i) * sizeof(mark));
	sum_again(thread, i);
	if (mark.is_step)
		tracker_step_range(tracker, &mark, id, 0, outermost);
}

static void range_start(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread)
{
	struct mark mark = make_mark(tracker, event, 0, thread);
	struct mark_state nothing = { 0 };

	if (tracker->ranges == MARKS_MAX)
		return;
	mark.sum = add_mark(nothing, &mark);
	tracker->range[tracker->ranges++] = mark;
	if (mark.is_step)
		tracker_step_range(tracker, &mark, thread, 1, 1);
}

static void range_end(struct mt_tracker *tracker, uint64_t handle)
{
	uint32_t i = tracker->ranges;
	struct mark mark;

	while (i && tracker->range[i - 1].handle != handle)
		i--;
	if (!i--)
		return;
	mark = tracker->range[i];
	tracker->ranges--;
	memmove(&tracker->range[i], &tracker->range[i + 1], (tracker->ranges - i) * sizeof(mark));
	if (mark.is_step)
		tracker_step_range(tracker, &mark, mark.thread, 0, 1);
}

static uint32_t newest_window(const struct mt_tracker *tracker)
{
	uint32_t newest = 0;
	size_t i;

	for (i = 0; i < tracker->threads; i++) {
		const struct track_thread *thread = &tracker->thread[i];

		if (!thread->windows || thread->is_autograd)
			continue;
		if (!newest || thread->window_serial > tracker->thread[newest - 1].window_serial)
			newest = (uint32_t)i + 1;
	}
	return newest;
}

/* Windows nest: a checkpoint starts a backward inside the backward. */
static void window(struct mt_tracker *tracker, uint32_t id, int begins)
{
	struct track_thread *thread = &tracker->thread[id];
	struct mark_state marks;

	if (!begins) {
		thread->windows -= thread->windows > 0;
		thread->forward = 0;
		if (!thread->windows && tracker->window_thread == id + 1)
			tracker->window_thread = newest_window(tracker);
		return;
	}
	if (thread->windows++)
		return;
	marks = tracker_marks(tracker, id);
	thread->window_role = marks.role ? marks.role : thread->last_role;
	thread->window_captures = thread->last_captures;
	thread->window_serial = ++tracker->serial;
	if (!thread->is_autograd)
		tracker->window_thread = id + 1;
}

void tracker_window_lost(struct mt_tracker *tracker, uint32_t id)
{
	tracker->thread[id].windows = 1;
	window(tracker, id, 0);
}

/* After a CUT the ends of old ranges are unknown. The events behind the CUT open the ranges that are still open. */
static void forget_open(struct mt_tracker *tracker)
{
	size_t i;

	for (i = 0; i < tracker->threads; i++)
		tracker->thread[i].marks = tracker->thread[i].marks_over = tracker->thread[i].windows = 0;
	tracker->ranges = 0;
	tracker->window_thread = 0;
}

void tracker_mark_event(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread)
{
	struct mark mark;

	switch (event->kind) {
	case MT_RANGE_PUSH:
		push(tracker, event, (uint32_t)event->value, thread);
		break;
	case MT_RANGE_POP:
		pop(tracker, (uint32_t)event->value, thread);
		break;
	case MT_PHASE_PUSH:
		push(tracker, event, MARK_PHASE, thread);
		break;
	case MT_PHASE_POP:
		pop(tracker, MARK_PHASE, thread);
		break;
	case MT_RANGE_START:
		range_start(tracker, event, thread);
		break;
	case MT_RANGE_END:
		range_end(tracker, event->handle);
		break;
	case MT_MARK:
		mark = make_mark(tracker, event, 0, thread);
		tracker_step_instant(tracker, mark.name, mark.is_step);
		break;
	case MT_BACKWARD_BEGIN:
	case MT_BACKWARD_END:
		window(tracker, thread, event->kind == MT_BACKWARD_BEGIN);
		break;
	case MT_CUT:
		forget_open(tracker);
		break;
	}
}

/* Process-wide ranges that the thread opened, and inside of them its own. */
struct mark_state tracker_ranges_and_marks(const struct mt_tracker *tracker, uint32_t thread)
{
	const struct track_thread *own = &tracker->thread[thread];
	struct mark_state sum = { 0 }, inner = { 0 };
	uint32_t i;

	for (i = 0; i < tracker->ranges; i++)
		if (tracker->range[i].thread == thread)
			sum = add_mark(sum, &tracker->range[i]);
	if (own->marks)
		inner = own->mark[own->marks - 1].sum;
	if (!inner.serial)
		return sum;
	sum.role = inner.role ? inner.role : sum.role;
	sum.part = inner.part ? part_inside(sum.part, inner.part) : sum.part;
	sum.category = inner.category ? inner.category : sum.category;
	sum.serial = inner.serial > sum.serial ? inner.serial : sum.serial;
	return sum;
}

/* The newest mark with a meaning: of the main thread, or a process-wide range. */
struct mark_state tracker_process_marks(const struct mt_tracker *tracker)
{
	struct mark_state newest = { 0 };
	uint32_t i;

	if (tracker->main_thread)
		newest = tracker_marks(tracker, tracker->main_thread);
	for (i = 0; i < tracker->ranges; i++)
		if (tracker->range[i].sum.serial > newest.serial)
			newest = tracker->range[i].sum;
	return newest;
}
