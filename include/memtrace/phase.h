/*
 * phase.h - which phase of the training was running: rules (data) and the tracker that applies them to events.
 *
 * The collector (to count steps) and the analyzer (to label bytes) use the same code and the same rules.
 * A phase has a role (what the process was doing for the RL loop) and a part (what inside). People see one flat name.
 *
 * Order of trust: explicit marks (memrec_phase_push, NVTX) > rules on the stack > autograd thread > the newest open
 * role of the process. Before anything else ran, unmatched work is init; later it is other, never a guess.
 *
 * Backward. On the CPU it runs on the thread that called it. On a GPU it runs on autograd's own threads, which have
 * no Python caller. They take the role of the thread that waits in Engine::execute (between BACKWARD_BEGIN and
 * BACKWARD_END). Without such a thread they take the newest role function that is open in the process. Everything
 * between the two events of a thread is backward there; they nest (a checkpoint runs a backward inside the backward).
 * When the end is missing, the next forward or optimizer that no backward called ends it. A forward that runs inside
 * a backward is done again: its part is recompute. A backward is part of CUDA graphs if the thread that waits
 * captures graphs.
 *
 * Loss. Work on a model's output, before a backward or an optimizer follows on that thread, is forward. This holds in
 * the function that called the model, in those it calls, and in all of a known function that calls forward and
 * backward (formats/phase/phase_loss.c). The word of frames or marks goes before.
 *
 * Stacks that are too deep lack frames in their middle. If a role function may be among those, the role is that of
 * the thread's newest stack that could tell. It goes before the role of a frame further inside, as it would if it
 * were there.
 */
#ifndef MEMTRACE_PHASE_H
#define MEMTRACE_PHASE_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/defs.h"
#include "memtrace/event.h"

/* Flat names, in the order people read them. X(NAME, number, word, letter) - numbers are part of the file format. */
#define MT_PHASE_LIST(X)                          \
	X(OTHER, 0, "other", '.')                 \
	X(INIT, 1, "init", 'i')                   \
	X(ROLLOUT, 2, "rollout", 'r')             \
	X(LOGPROB, 3, "logprob", 'l')             \
	X(REF, 4, "ref", 'e')                     \
	X(CRITIC, 5, "critic", 'c')               \
	X(FORWARD, 6, "forward", 'f')             \
	X(BACKWARD, 7, "backward", 'b')           \
	X(OPTIMIZER, 8, "optimizer", 'o')         \
	X(WEIGHT_UPDATE, 9, "weight-update", 'w') \
	X(BEFORE, 10, "before", 'p') /* it was there when the recording began: the phase is unknown */

enum mt_phase {
#define MT_PHASE_ENUM(name, number, word, letter) MT_PHASE_##name = (number),
	MT_PHASE_LIST(MT_PHASE_ENUM)
#undef MT_PHASE_ENUM
		MT_PHASE_COUNT = 11,
};

/* Roles. X(NAME, number, word, flat phase when no part is known) */
#define MT_ROLE_LIST(X)                                     \
	X(NONE, 0, "none", OTHER)                           \
	X(INIT, 1, "init", INIT)                            \
	X(ROLLOUT, 2, "rollout", ROLLOUT)                   \
	X(LOGPROB, 3, "logprob", LOGPROB)                   \
	X(REF, 4, "ref", REF)                               \
	X(CRITIC, 5, "critic", CRITIC)                      \
	X(TRAIN, 6, "train", OTHER)                         \
	X(WEIGHT_UPDATE, 7, "weight-update", WEIGHT_UPDATE) \
	X(OTHER, 8, "other", OTHER)

enum mt_role {
#define MT_ROLE_ENUM(name, number, word, flat) MT_ROLE_##name = (number),
	MT_ROLE_LIST(MT_ROLE_ENUM)
#undef MT_ROLE_ENUM
};

/* Parts. X(NAME, number, word, flat phase inside role none and train) */
#define MT_PART_LIST(X)                        \
	X(NONE, 0, "none", OTHER)              \
	X(FORWARD, 1, "forward", FORWARD)      \
	X(BACKWARD, 2, "backward", BACKWARD)   \
	X(RECOMPUTE, 3, "recompute", BACKWARD) \
	X(OPTIMIZER, 4, "optimizer", OPTIMIZER)

enum mt_part {
#define MT_PART_ENUM(name, number, word, flat) MT_PART_##name = (number),
	MT_PART_LIST(MT_PART_ENUM)
#undef MT_PART_ENUM
};

/* Categories: what the bytes are. X(NAME, number, word) */
#define MT_CATEGORY_LIST(X)                            \
	X(OTHER, 0, "other")                           \
	X(WEIGHTS, 1, "weights")                       \
	X(GRADIENTS, 2, "gradients")                   \
	X(OPTIMIZER_STATE, 3, "optimizer state")       \
	X(ACTIVATIONS, 4, "activations")               \
	X(RECOMPUTED, 5, "recomputed activations")     \
	X(LOGITS, 6, "logits and log-probs")           \
	X(KV_CACHE, 7, "kv cache")                     \
	X(GRAPHS, 8, "cuda graphs")                    \
	X(NCCL, 9, "nccl")                             \
	X(WEIGHT_BUFFERS, 10, "weight-update buffers") \
	X(GATHER_BUFFERS, 11, "fsdp gather buffers")   \
	X(SLACK, 12, "allocator slack")                \
	X(WORKSPACE, 13, "workspace")                  \
	X(EVALUATION, 14, "evaluation outputs")        \
	X(STATE_DICT, 15, "state dicts")

enum mt_category {
#define MT_CATEGORY_ENUM(name, number, word) MT_CATEGORY_##name = (number),
	MT_CATEGORY_LIST(MT_CATEGORY_ENUM)
#undef MT_CATEGORY_ENUM
		MT_CATEGORY_COUNT = 16,
};

/* Nothing had run yet, or nobody knows what had: where weights come from. */
static inline int mt_phase_is_early(uint32_t phase)
{
	return phase == MT_PHASE_INIT || phase == MT_PHASE_BEFORE;
}

const char *mt_phase_name(uint32_t phase); /* "other" for unknown numbers */
const char *mt_role_name(uint32_t role);
const char *mt_category_name(uint32_t category);
enum mt_category mt_category_parse(const char *word); /* MT_CATEGORY_OTHER for unknown words */
int mt_phase_parse(const char *word, size_t size);    /* enum mt_phase, or -1; exact words of MT_PHASE_LIST */

/*
 * Rules: YAML, described in formats/rules/README.md. mt_rules_new takes the built-in files; mt_rules_load adds a
 * file whose rules go before all earlier ones. On -MT_E_RULES `message` says file, line and what is wrong.
 */
struct mt_rules;

int mt_rules_new(struct mt_rules **rules, char *message, size_t message_size);
int mt_rules_load(struct mt_rules *rules, const char *path, char *message, size_t message_size);
void mt_rules_free(struct mt_rules *rules);

/* 1: the rules are the built-in files alone. */
int mt_rules_are_built_in(const struct mt_rules *rules);

/* The category of bytes of which only role and part are known. */
enum mt_category mt_rules_category(const struct mt_rules *rules, enum mt_role role, enum mt_part part);

/*
 * Which rule says something of this frame: "verl.yaml:12", the first that says a role or part, else a category; ""
 * without one. Returns `text`.
 */
char *mt_rules_origin(const struct mt_rules *rules, const struct mt_defs *defs, uint32_t frame, char *text,
		      size_t size);

/* The tracker's word on one event. */
struct mt_label {
	uint8_t phase;        /* enum mt_phase */
	uint8_t role;         /* enum mt_role */
	uint8_t part;         /* enum mt_part */
	uint8_t category;     /* enum mt_category: first opinion from rule or phase, without lifetime */
	uint32_t rule_frame;  /* the frame whose rule decided, 0: none */
	uint32_t step;        /* steps ended before this event, plus 1 */
	uint32_t step_closed; /* 1: this event is the first of a new step; the step before it ended (see step_why) */
};

/* One tracker per process. Keeps pointers to `defs` and `rules`; both must outlive it. NULL: out of memory. */
struct mt_tracker;

struct mt_tracker *mt_tracker_new(const struct mt_rules *rules, const struct mt_defs *defs);
void mt_tracker_free(struct mt_tracker *tracker);

/*
 * The meaning of one step: NULL or "auto"; else an NVTX range or mark name or a Python function (shell pattern). A
 * range ends its step when it is closed, a mark where it stands, a function when its thread allocates or frees
 * outside of it. Before the first event. -MT_E_ARGUMENT: 256 bytes or longer.
 *
 * auto is one of these, the first that the process has; x is the event that is the first of the next step:
 *
 * 1. memrec_step() calls, else NVTX ranges that are named like a step, else marks that are.
 *
 * 2. Role functions of a framework (rules with a role, on the stack; not those with `span: false`):
 *
 *     rollout  logprob  ref  critic  train════════  weight-update  x     trainer, colocated or sending its weights
 *     logprob  ref  critic  train════════  x logprob  ref  critic  ..    trainer whose weights go by another process
 *     train════════  .  x train════════  .  x train                      trainer that does nothing else
 *     wake-up  weight-update  rollout  sleep  x wake-up                  engine that sleeps while others train
 *     rollout════  weight-update  x rollout  weight-update  x rollout    engine that does not
 *
 *    - A function with role train has trained; one with role critic has when a backward or an optimizer ran in it.
 *      Whatever optimizers and backward passes run inside role functions, they end no step.
 *    - A weight update after training ends the step where it is left, by its thread or by work with the new weights.
 *    - Without one, the step ends where logprob, ref or critic values begin again, or rollout does if this process
 *      never updates weights, once all training was left; or where a function that has trained is entered again.
 *    - An engine's step ends where sleep is left after a wake-up, unless a framework's function in the same process
 *      called it; if it never sleeps, where rollout goes on after it got new weights.
 *    A process that only computes log-probs has no steps.
 *
 * 3. The optimizer, outside of role functions: where the first event follows on its thread that is not inside the
 *    optimizer after events that were, once per backward; or, where it works in place and is not seen, where gradients
 *    are thrown away (zero_grad) after a backward. Gradients may be accumulated over any number of passes. Each of
 *    several optimizers makes a step if it has its own backward: a pair of them looks like two steps of one.
 *
 * 4. Each backward window from the second on; with stacks, in which an optimizer would show up, from the 1024th on.
 */
int mt_tracker_step_mark(struct mt_tracker *tracker, const char *pattern);

/*
 * Feeds the next event in file order and labels it. `follow_steps` 1 (recording): the tracker finds step ends itself
 * and reports them in step_closed, never later than at the event that begins the next step; 0 (analysis): it believes
 * the STEP events of the trace, which were made by this same code.
 */
void mt_tracker_event(struct mt_tracker *tracker, const struct mt_event *event, int follow_steps,
		      struct mt_label *label);

/*
 * No more events will come (recording). 1: with that the running step ends, too. Its backward has run, its optimizer
 * was seen, and nothing has followed but the end of the program (frees). 0: it is unfinished.
 */
int mt_tracker_finish(struct mt_tracker *tracker);

/*
 * Words for what closed the newest step: "optimizer", "zero_grad", "weight-update", "sleep", "next logprob", "train"
 * (at the end of the program), "range train_step", "mark ...", "phase ...", "function" (that --step-mark names),
 * "backward window", "memrec_step". Static or owned by tracker.
 */
const char *mt_tracker_step_why(const struct mt_tracker *tracker);

#endif
