/*
 * memrec.h - tell memrec what your program is doing. All four calls are optional, cheap (tens of nanoseconds) and do
 * nothing when the program does not run under memrec: there is nothing to link.
 *
 *     memrec_phase_push("rollout");
 *     generate();
 *     memrec_phase_pop();
 *     memrec_step();
 *
 * Phases that memana knows: init, rollout, logprob, ref, critic, forward, backward, optimizer, weight-update.
 * Phases nest and belong to the calling thread.
 */
#ifndef MEMREC_H
#define MEMREC_H

#ifdef __cplusplus
extern "C" {
#endif

#define MEMREC_WEAK __attribute__((weak))

/* The agent's entry points: NULL when it is not loaded. Use the functions below. */
MEMREC_WEAK void memrec_agent_phase_push(const char *name);
MEMREC_WEAK void memrec_agent_phase_pop(void);
MEMREC_WEAK void memrec_agent_step(void);
MEMREC_WEAK void memrec_agent_mark(const char *name);

/* Everything allocated until the matching pop belongs to phase `name` (copied, at most 255 bytes). */
static inline void memrec_phase_push(const char *name)
{
	if (memrec_agent_phase_push)
		memrec_agent_phase_push(name);
}

static inline void memrec_phase_pop(void)
{
	if (memrec_agent_phase_pop)
		memrec_agent_phase_pop();
}

/* One training step ends here. */
static inline void memrec_step(void)
{
	if (memrec_agent_step)
		memrec_agent_step();
}

/* An instant worth seeing on the timeline. */
static inline void memrec_mark(const char *name)
{
	if (memrec_agent_mark)
		memrec_agent_mark(name);
}

#ifdef __cplusplus
}
#endif
#endif
