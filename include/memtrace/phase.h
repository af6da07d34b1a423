/*
 * phase.h - which phase of the training was running: rules (data) and the tracker that applies them to events.
 *
 * The collector (to count steps) and the analyzer (to label bytes) use the same code and the same rules.
 * A phase has a role (what the process was doing for the RL loop) and a part (what inside). People see one flat name.
 *
 * Order of trust: explicit marks (memrec_phase_push, NVTX) > rules on the stack > autograd thread > the newest open
 * role of the process. Unmatched work is init before any other work has run, and other after it. It is never guessed.
 *
 * Backward. On the CPU a backward runs on the thread that called it. On a GPU it runs on autograd's own threads, which
 * have no Python caller. These threads take the role of the thread that waits in Engine::execute (between
 * BACKWARD_BEGIN and BACKWARD_END), else the newest role function that is open in the process. On the waiting thread,
 * all work between its two events is backward. The events nest, because a checkpoint runs a backward inside the
 * backward. If the end is missing, the next forward or optimizer that no backward called ends the backward. A forward
 * inside a backward runs a second time: its part is recompute. A backward is part of CUDA graphs if the waiting thread
 * captures graphs.
 *
 * Loss. Work on a model's output, before a backward or an optimizer follows on that thread, is forward. This holds in
 * the function that called the model, in functions that it calls, and in all of a known function that calls forward and
 * backward (formats/phase/phase_loss.c). Frames and marks with a meaning of their own come first.
 *
 * Deep stacks lack frames in their middle. If a role function may be among the missing frames, the role is that of the
 * thread's newest stack that could tell. This role goes before the role of a frame further inside, as it would in the
 * whole stack.
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
	X(BEFORE, 10, "before", 'p') /* alive when the recording began: the phase is unknown */

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

/* Categories of bytes. X(NAME, number, word) */
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

/* 1: bytes born in this phase may be weights: nothing had run yet, or the phase is unknown. */
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
 * Rules: YAML, described in formats/rules/README.md. mt_rules_new takes the built-in files; mt_rules_load adds a file
 * whose rules go before all earlier ones. On -MT_E_RULES `message` has file, line and reason. The caller frees *rules.
 */
struct mt_rules;

int mt_rules_new(struct mt_rules **rules, char *message, size_t message_size);
int mt_rules_load(struct mt_rules *rules, const char *path, char *message, size_t message_size);
void mt_rules_free(struct mt_rules *rules);

/* 1: the rules are the built-in files alone. */
int mt_rules_are_built_in(const struct mt_rules *rules);

/* The category of bytes if only role and part are known. */
enum mt_category mt_rules_category(const struct mt_rules *rules, enum mt_role role, enum mt_part part);

/*
 * Writes the origin of a frame's rule to `text`, such as "verl.yaml:12": the first rule with a role or part, else with
 * a category; "" without one. Returns `text`.
 */
char *mt_rules_origin(const struct mt_rules *rules, const struct mt_defs *defs, uint32_t frame, char *text,
		      size_t size);

/* The tracker's word on one event. */
struct mt_label {
	uint8_t phase;        /* enum mt_phase */
	uint8_t role;         /* enum mt_role */
	uint8_t part;         /* enum mt_part */
	uint8_t category;     /* enum mt_category: first opinion from rule or phase, without lifetime */
	uint32_t rule_frame;  /* frame whose rule decided; 0: none */
	uint32_t step;        /* steps ended before this event, plus 1 */
	uint32_t step_closed; /* 1: this event is the first of a new step; the step before it ended (see step_why) */
};

/* One tracker per process. `defs` and `rules` must outlive it. NULL: out of memory. */
struct mt_tracker;

struct mt_tracker *mt_tracker_new(const struct mt_rules *rules, const struct mt_defs *defs);
void mt_tracker_free(struct mt_tracker *tracker);

/*
 * Sets the meaning of one step. NULL or "auto", else a shell pattern for the name of an NVTX range, a mark or a Python
 * function. A range ends its step when it is closed, a mark at its place, a function when its thread allocates or frees
 * outside of the function. Call before the first event. 0, or -MT_E_ARGUMENT: 256 bytes or longer.
 *
 * auto takes the first of these sources that the process has. x is the first event of the next step:
 *
 * 1. memrec_step() calls, else NVTX ranges named like a step, else marks named like a step.
 *
 * 2. Role functions of a framework (rules with a role, on the stack; not those with `span: false`):
 *
 *     rollout  logprob  ref  critic  train════════  weight-update  x     trainer, colocated or sending its weights
 *     logprob  ref  critic  train════════  x logprob  ref  critic  ..    trainer whose weights go by another process
 *     train════════  .  x train════════  .  x train                      trainer that does nothing else
 *     wake-up  weight-update  rollout  sleep  x wake-up                  engine that sleeps while others train
 *     rollout════  weight-update  x rollout  weight-update  x rollout    engine that does not
 *
 *    - A function with role train has trained. A function with role critic has trained if a backward or an optimizer
 *      ran in it. Optimizers and backward passes inside role functions end no step.
 *    - A weight update after training ends the step when it is left, by its thread or by work with the new weights.
 *    - Without a weight update, the step ends when all training was left and logprob, ref or critic values begin again
 *      (or a rollout, if this process never updates weights), or when a function that has trained is entered again.
 *    - An engine's step ends when sleep is left after a wake-up, unless a framework's function in the same process
 *      called it. If the engine never sleeps, its step ends when the rollout goes on after new weights.
 *    A process that only computes log-probs has no steps.
 *
 * 3. The optimizer, outside of role functions, once per backward: the step ends with the thread's first event outside
 *    the optimizer after events inside, or after OPTIMIZER_STEP. Without OPTIMIZER_STEP (PyTorch before 2.0, no census) an
 *    optimizer that works in place is not seen: then the step ends when gradients are thrown away (zero_grad) after a
 *    backward. An optimizer that runs inside a backward ends the step with the backward. Gradients may be accumulated over
 *    any number of passes. Each of several optimizers makes a step if it has its own backward, so a pair of them looks
 *    like two steps of one.
 *
 * 4. The end of each backward window from the second on. With stacks, which show optimizers, from the 1024th on.
 */
int mt_tracker_step_mark(struct mt_tracker *tracker, const char *pattern);

/*
 * Labels the next event in file order. `follow_steps` 1 (recording): the tracker finds the ends of steps and reports
 * each in step_closed, at the latest at the first event of the next step. 0 (analysis): the STEP events of the trace
 * count, which the same code has made.
 */
void mt_tracker_event(struct mt_tracker *tracker, const struct mt_event *event, int follow_steps,
		      struct mt_label *label);

/*
 * Ends the recording. 1: the running step ends with the program: its backward has run, its optimizer was seen, and only
 * frees have followed. 0: the step is unfinished.
 */
int mt_tracker_finish(struct mt_tracker *tracker);

/*
 * The reason for the end of the newest step: "optimizer", "zero_grad", "weight-update", "sleep", "next logprob",
 * "train" (at the end of the program), "range train_step", "mark ...", "phase ...", "function" (named by --step-mark),
 * "backward window", "memrec_step". Static or owned by the tracker.
 */
const char *mt_tracker_step_why(const struct mt_tracker *tracker);

#endif
