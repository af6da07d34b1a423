/*
 * phase_known.c - the label of an event depends on its thread, its stack and the tracker's state. Most memory events
 * leave the state as it was. Such a label holds for the next event of the thread with the stack, until an event changes
 * the state.
 *
 * `forward` of a thread changes often. Events inside a forward set it and do not read it; each label notes what it
 * needs and leaves.
 */
#include "phase_impl.h"

#include <string.h>

static const char *rest_of(const struct mt_tracker *tracker)
{
	return (const char *)tracker + STATE_BEGIN;
}

/* Bytes of the role functions in use. */
static size_t trainer_bytes(const struct mt_tracker *tracker)
{
	return tracker->steps.roles.trainers * sizeof(struct trainer);
}

/* Call it when the event's thread is known, before the event changes anything. */
void known_begin(const struct mt_tracker *tracker, uint32_t thread, struct track_state *before)
{
	before->thread = tracker->thread[thread];
	memcpy(before->rest, rest_of(tracker), sizeof(before->rest));
	if (tracker->steps.roles.trainers)
		memcpy(before->trainer, tracker->steps.roles.trainer, trainer_bytes(tracker));
}

/* Bytes between members count, too: where they differ, one label is not kept. */
static int are_same(const void *a, const void *b, size_t size)
{
	return !memcmp(a, b, size);
}

/* 1: nothing but `forward` has changed. The number of trainers is in `rest`. */
static int is_same(struct mt_tracker *tracker, uint32_t thread, struct track_state *before)
{
	before->thread.forward = tracker->thread[thread].forward;
	return are_same(&before->thread, &tracker->thread[thread], sizeof(before->thread)) &&
	       are_same(before->rest, rest_of(tracker), sizeof(before->rest)) &&
	       are_same(before->trainer, tracker->steps.roles.trainer, trainer_bytes(tracker));
}

/* 1: the meaning of thread and stack cannot change by definitions that follow. */
static int is_defined(const struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread)
{
	return tracker->thread[thread].known && thread == event->thread &&
	       (!event->stack || (event->stack < tracker->nodes && tracker->node[event->stack].known));
}

/* Marks and ends of backward passes change threads other than their own, too. */
void known_end(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread, int follow,
	       struct track_state *before, enum forward_use use, const struct mt_label *label)
{
	struct known_label known = { .key = known_key(event), .needs = before->thread.forward, .label = *label };

	if (event->kind >= MT_RANGE_PUSH || !is_same(tracker, thread, before)) {
		tracker->changes++;
		return;
	}
	if (!tracker_is_memory(event->kind) || !is_defined(tracker, event, thread))
		return;
	known.changes = known_changes(tracker, follow);
	known.leaves = use == FORWARD_UNUSED ? ANY_FORWARD : tracker->thread[thread].forward;
	if (use != FORWARD_READ)
		known.needs = ANY_FORWARD;
	*known_slot(tracker, event) = known;
}
