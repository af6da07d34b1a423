/*
 * memrec.h - tell memrec what your program is doing. All four calls are optional and cheap (tens of nanoseconds), and
 * do nothing when the program does not run under memrec. There is nothing to link (but -ldl where glibc is older than
 * 2.34).
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

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The agent's entry points, which it exports where memrec has loaded it; each is looked up once. Use the functions
 * below.
 */
enum memrec_entry { MEMREC_PHASE_PUSH, MEMREC_PHASE_POP, MEMREC_STEP, MEMREC_MARK, MEMREC_ENTRIES };
typedef void memrec_named_call(const char *name);
typedef void memrec_plain_call(void);

/* NULL: the agent is not loaded. */
static inline void *memrec_find(enum memrec_entry entry)
{
	static const char *const names[MEMREC_ENTRIES] = { "memrec_agent_phase_push", "memrec_agent_phase_pop",
							   "memrec_agent_step", "memrec_agent_mark" };
	static void *found[MEMREC_ENTRIES];
	static char looked[MEMREC_ENTRIES];
	void *everywhere = 0; /* RTLD_DEFAULT, which C programs see only with _GNU_SOURCE */

	if (!__atomic_load_n(&looked[entry], __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&found[entry], dlsym(everywhere, names[entry]), __ATOMIC_RELAXED);
		__atomic_store_n(&looked[entry], 1, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&found[entry], __ATOMIC_RELAXED);
}

/* Everything allocated until the matching pop belongs to phase `name` (copied, at most 255 bytes). */
static inline void memrec_phase_push(const char *name)
{
	memrec_named_call *call = __extension__(memrec_named_call *) memrec_find(MEMREC_PHASE_PUSH);

	if (call)
		call(name);
}

static inline void memrec_phase_pop(void)
{
	memrec_plain_call *call = __extension__(memrec_plain_call *) memrec_find(MEMREC_PHASE_POP);

	if (call)
		call();
}

/* One training step ends here. */
static inline void memrec_step(void)
{
	memrec_plain_call *call = __extension__(memrec_plain_call *) memrec_find(MEMREC_STEP);

	if (call)
		call();
}

/* An instant worth seeing on the timeline. */
static inline void memrec_mark(const char *name)
{
	memrec_named_call *call = __extension__(memrec_named_call *) memrec_find(MEMREC_MARK);

	if (call)
		call(name);
}

#ifdef __cplusplus
}
#endif
#endif
