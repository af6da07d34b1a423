/*
 * phase_roles.c - finds the ends of steps of RL programs by the roles of frames; phase.h has the picture.
 *
 * A process of an RL framework calls role functions in turn, from the same few threads. No event shows the return of a
 * function. It has returned when its thread allocates or frees outside of it.
 */
#include "phase_impl.h"

#include <stddef.h>

static const char *const next_words[] = {
#define NEXT(name, number, word, flat) [number] = "next " word,
	MT_ROLE_LIST(NEXT)
#undef NEXT
};

/* 1: the stack shows the role, or surely has none. */
static int can_tell(const struct stack_state *stack)
{
	return stack->span.role != MT_ROLE_NONE || stack_is_whole(stack);
}

static struct trainer *find_trainer(struct track_roles *roles, uint64_t function)
{
	uint32_t i;

	for (i = 0; i < roles->trainers; i++)
		if (roles->trainer[i].function == function)
			return &roles->trainer[i];
	return NULL;
}

static int has_trained(const struct track_roles *roles)
{
	uint32_t i;

	for (i = 0; i < roles->trainers; i++)
		if (roles->trainer[i].ran)
			return 1;
	return 0;
}

/* 1: training ran in this step, and all of it has been left. */
static int is_trained(const struct track_roles *roles)
{
	uint32_t i;

	for (i = 0; i < roles->trainers; i++)
		if (roles->trainer[i].ran && !roles->trainer[i].left)
			return 0;
	return has_trained(roles);
}

/*
 * 1: after training, this span begins a new step. A weight update may begin with a rollout, so in a process that
 * updates weights the update counts instead.
 */
static int begins_next(struct track_roles *roles, const struct role_span *span)
{
	const struct trainer *trainer = find_trainer(roles, span->function);

	if (trainer)
		return trainer->ran && trainer->left;
	if (!is_trained(roles))
		return 0;
	return span->loop == MT_ROLE_LOGPROB || span->loop == MT_ROLE_REF || span->loop == MT_ROLE_CRITIC ||
	       (span->loop == MT_ROLE_ROLLOUT && !roles->updates);
}

/* Other threads may roll out while weights are updated, but none works with the weights of the trainer. */
static int is_past_update(const struct track_roles *roles, uint32_t thread, const struct role_span *span)
{
	if (!roles->update_thread || span->loop == MT_ROLE_WEIGHT_UPDATE)
		return 0;
	return roles->update_thread == thread + 1 ||
	       (span->outermost != MT_ROLE_NONE && span->outermost != MT_ROLE_ROLLOUT);
}

static void note_outside(struct track_roles *roles, uint32_t thread, uint64_t function)
{
	struct trainer *trainer;

	for (trainer = roles->trainer; trainer < roles->trainer + roles->trainers; trainer++)
		if (trainer->thread == thread && trainer->function != function)
			trainer->left = 1;
}

const char *roles_end(struct track_roles *roles, uint32_t thread, const struct stack_state *stack)
{
	if (!can_tell(stack))
		return NULL;
	note_outside(roles, thread, stack->span.function);
	if (is_past_update(roles, thread, &stack->span))
		return "weight-update";
	if (roles->sleep_thread == thread + 1 && stack->step != RULE_STEP_CLOSES)
		return "sleep";
	if (roles->renewed && stack->span.loop == MT_ROLE_ROLLOUT)
		return "weight-update";
	return begins_next(roles, &stack->span) ? next_words[stack->span.loop] : NULL;
}

static void note_training(struct track_roles *roles, uint32_t thread, uint64_t function)
{
	struct trainer *trainer = find_trainer(roles, function);

	if (!trainer && roles->trainers < TRAINERS_MAX) {
		trainer = &roles->trainer[roles->trainers++];
		trainer->function = function;
	}
	if (!trainer)
		return;
	trainer->thread = thread;
	trainer->ran = 1;
	trainer->left = 0;
}

static void note_update(struct track_roles *roles, uint32_t thread)
{
	roles->updates = 1;
	if (has_trained(roles))
		roles->update_thread = thread + 1;
}

/* An engine gets its weights in many calls. All have come when the engine generates again. */
static void note_engine(struct track_roles *roles, uint32_t thread, uint8_t step)
{
	roles->sleeps |= step == RULE_STEP_OPENS || step == RULE_STEP_CLOSES;
	if (step == RULE_STEP_OPENS)
		roles->awake = 1;
	else if (step == RULE_STEP_CLOSES && roles->awake)
		roles->sleep_thread = thread + 1;
	else if (step == RULE_STEP_RENEWS && roles->rolled && !roles->sleeps)
		roles->renewed = 1;
}

/* 1: the function trains. A critic's function trains if it runs a backward or an optimizer; else it computes values. */
static int trains(const struct stack_state *stack, int in_backward)
{
	if (stack->span.outermost == MT_ROLE_TRAIN)
		return 1;
	return stack->span.outermost == MT_ROLE_CRITIC &&
	       (in_backward || stack->backward || stack->part == MT_PART_OPTIMIZER);
}

int roles_note(struct track_roles *roles, uint32_t thread, const struct stack_state *stack, int in_backward)
{
	const struct role_span *span = &stack->span;

	if (!can_tell(stack))
		return 0;
	if (trains(stack, in_backward))
		note_training(roles, thread, span->function);
	if (span->loop == MT_ROLE_WEIGHT_UPDATE)
		note_update(roles, thread);
	if (span->loop == MT_ROLE_ROLLOUT)
		roles->rolled = 1;
	note_engine(roles, thread, stack->step);
	return roles->trainers != 0;
}

void roles_forget(struct track_roles *roles)
{
	uint32_t i;

	for (i = 0; i < roles->trainers; i++)
		roles->trainer[i].ran = roles->trainer[i].left = 0;
	roles->update_thread = roles->sleep_thread = 0;
	roles->awake = roles->rolled = roles->renewed = 0;
}

const char *roles_finished(const struct track_roles *roles)
{
	if (roles->update_thread || roles->renewed)
		return "weight-update";
	if (roles->sleep_thread)
		return "sleep";
	return is_trained(roles) ? "train" : NULL;
}

int roles_pending(const struct track_roles *roles)
{
	return roles->update_thread || roles->sleep_thread || roles->renewed || has_trained(roles);
}
