/*
 * why.h - rules about causes of memory use and their fixes: formats/why/tags.yaml, needs.yaml and fixes.yaml, read and checked.
 *
 * formats/why/README.md describes the rows. struct mt_why owns all texts, and never changes.
 */
#ifndef MEMTRACE_WHY_H
#define MEMTRACE_WHY_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/phase.h"

/* The causes, one for each detector. X(NAME, word, what the bytes of the cause are) */
#define MT_CAUSE_LIST(X)                                                                                   \
	X(TOO_LARGE, "too_large", "one request that is larger than the GPU")                               \
	X(ALLOCATOR_IDLE, "allocator_idle", "reserved by a caching allocator, and in no tensor")           \
	X(OUTSIDE, "outside", "contexts, libraries and processes that were not recorded")                  \
	X(WRONG_DEVICE, "wrong_device", "of a process or a replica that belongs on another GPU")           \
	X(MORE_THAN_BEFORE, "more_than_before", "was not there when the same place last got its memory")   \
	X(GROWS, "grows", "more with every step, micro-batch, request or minute")                          \
	X(UNEVEN, "uneven", "more than on the other ranks")                                                \
	X(PEER_AWAKE, "peer_awake", "of another process, which needs the bytes in its own phase only")     \
	X(UNNEEDED, "unneeded", "of the process itself, and needed no more, or not now")                   \
	X(TWICE, "twice", "the same a second time")                                                        \
	X(UNSHARDED, "unsharded", "whole on each GPU, where ranks could hold parts")                       \
	X(LOGITS, "logits", "tokens x vocabulary")                                                         \
	X(OUTLIER, "outlier", "much larger than the same place had before")                                \
	X(NO_BACKWARD, "no_backward", "kept by forwards for a backward that does not come")                \
	X(AT_ONCE, "at_once", "many alike at the same time")                                               \
	X(ENGINE_SHARE, "engine_share", "of an engine's pool, whose size is a setting")                    \
	X(SETTING_IGNORED, "setting_ignored", "what a setting should have prevented, which has no effect") \
	X(HOST, "host", "host memory")                                                                     \
	X(CRASHED, "crashed", "a process is gone, and memory had room")                                    \
	X(LARGEST, "largest", "most of what is there")                                                     \
	X(NO_EVIDENCE, "no_evidence", "nothing was recorded that tells")

enum mt_cause {
#define MT_CAUSE_ENUM(name, word, means) MT_CAUSE_##name,
	MT_CAUSE_LIST(MT_CAUSE_ENUM)
#undef MT_CAUSE_ENUM
		MT_CAUSES
};

/* Kinds of work that a function or file on a stack shows. X(NAME, word) */
#define MT_TAG_LIST(X)                                                                                        \
	X(ENGINE, "engine")                   /* code of an inference engine */                               \
	X(ENGINE_START, "engine-start")       /* an engine makes its pools or finds their size */             \
	X(DRAFT, "draft")                     /* a draft model: no share of the GPU includes it */            \
	X(WAKE, "wake")                       /* an engine's pool wakes up */                                 \
	X(GENERATE, "generate")               /* a model that generates without an engine */                  \
	X(PROFILE_RUN, "profile-run")         /* an engine's trial forward */                                 \
	X(GRAPH_CAPTURE, "graph-capture")     /* CUDA graphs are captured */                                  \
	X(COMPILE, "compile")                 /* torch.compile and autotuning */                              \
	X(CHECKPOINT_LOAD, "checkpoint-load") /* a file is read */                                            \
	X(STATE_DICT, "state-dict")           /* a state dict is made or gathered */                          \
	X(SAVE, "save")                       /* a checkpoint is written */                                   \
	X(WEIGHT_SYNC, "weight-sync")         /* weights go from trainer to engine */                         \
	X(GATHER, "gather")                   /* shards become whole tensors */                               \
	X(COLLECTIVE, "collective")           /* a communicator, or one of its calls */                       \
	X(OFFLOAD, "offload")                 /* a move to the host, or back */                               \
	X(OPTIMIZER, "optimizer")             /* a step of an optimizer, or its states */                     \
	X(ADAM, "adam")                       /* an optimizer with two states for each number */              \
	X(CLIP, "clip")                       /* norms of gradients */                                        \
	X(BACKWARD, "backward")               /* a call of backward */                                        \
	X(AUTOGRAD, "autograd")               /* a node of autograd: "MulBackward0" */                        \
	X(RECOMPUTE, "recompute")             /* activation checkpointing */                                  \
	X(LOSS, "loss")                       /* the loss: softmax, cross entropy, entropy, log-probs */      \
	X(HEAD, "head")                       /* the head: from hidden states to words */                     \
	X(WORDS, "words")                     /* a function named after log-probs: it may also run a model */ \
	X(SCORES, "scores")                   /* weights of attention, for each pair of tokens */             \
	X(INTEGERS, "integers")               /* integer tensors are made */                                  \
	X(ATTENTION, "attention")                                                                             \
	X(MOE, "moe")                                                                                         \
	X(EVALUATION, "evaluation")                                                                           \
	X(METRICS, "metrics")       /* statistics that the program keeps */                                   \
	X(COPY, "copy")             /* a copy: clone, deepcopy, upcast */                                     \
	X(MODEL_COPY, "model-copy") /* deepcopy of a whole model */                                           \
	X(EMA, "ema")               /* a moving average of weights */                                         \
	X(REFERENCE, "reference")   /* a reference or teacher model */                                        \
	X(CRITIC, "critic")         /* a critic or reward model */                                            \
	X(MODEL_INIT, "model-init") /* a model is made */                                                     \
	X(MOVE, "move")             /* a move to a device: to(device), cuda() */                              \
	X(DATA, "data")             /* data loaders, batches, queues */                                       \
	X(PREFETCH, "prefetch")                                                                               \
	X(BUFFER, "buffer")     /* a bucket or workspace of fixed size */                                     \
	X(IMAGES, "images")     /* images: vision towers, decoders, patches */                                \
	X(TRAINING, "training") /* a step or a loop of a training */                                          \
	X(LOOP, "loop")         /* a train loop or main: it names no work */

enum mt_tag {
#define MT_TAG_ENUM(name, word) MT_TAG_##name,
	MT_TAG_LIST(MT_TAG_ENUM)
#undef MT_TAG_ENUM
		MT_TAGS /* at most 64: a bit for each */
};

#define MT_TAG_BIT(name) ((uint64_t)1 << MT_TAG_##name)

/* When bytes are needed next, seen from a moment. X(NAME, word) */
#define MT_NEED_LIST(X)   \
	X(NEVER, "never") \
	X(LATER, "later") \
	X(NOW, "now")

enum mt_need {
#define MT_NEED_ENUM(name, word) MT_NEED_##name,
	MT_NEED_LIST(MT_NEED_ENUM)
#undef MT_NEED_ENUM
		MT_NEEDS
};

/* Actions that a person can take. X(NAME, word) */
#define MT_ACTION_LIST(X)                             \
	X(FEWER_TOKENS, "fewer-tokens")               \
	X(CHUNK_LOGITS, "chunk-logits")               \
	X(CHECKPOINT, "checkpoint")                   \
	X(OFFLOAD, "offload")                         \
	X(RELEASE_PEER, "release-peer")               \
	X(RELEASE_OWN, "release-own")                 \
	X(DROP_REFERENCE, "drop-reference")           \
	X(NO_GRAD, "no-grad")                         \
	X(EMPTY_CACHE, "empty-cache")                 \
	X(EXPANDABLE_SEGMENTS, "expandable-segments") \
	X(SHARD, "shard")                             \
	X(PIN_DEVICE, "pin-device")                   \
	X(LOAD_ON_CPU, "load-on-cpu")                 \
	X(DROP_COPY, "drop-copy")                     \
	X(SMALLER_BUFFER, "smaller-buffer")           \
	X(FEWER_AT_ONCE, "fewer-at-once")             \
	X(STOP_OTHER, "stop-other")                   \
	X(SMALLER_SHARE, "smaller-share")             \
	X(LARGER_SHARE, "larger-share")               \
	X(SMALLER_KV, "smaller-kv")                   \
	X(LOWER_PRECISION, "lower-precision")         \
	X(FEWER_PARAMETERS, "fewer-parameters")       \
	X(FIX_SIZE, "fix-size")                       \
	X(FIX_BUG, "fix-bug")                         \
	X(HOST_LESS, "host-less")                     \
	X(NOT_MEMORY, "not-memory")                   \
	X(LESS_CONTEXT, "less-context")               \
	X(EAGER, "eager")                             \
	X(STREAMING_SYNC, "streaming-sync")           \
	X(RECORD, "record")

enum mt_action {
#define MT_ACTION_ENUM(name, word) MT_ACTION_##name,
	MT_ACTION_LIST(MT_ACTION_ENUM)
#undef MT_ACTION_ENUM
		MT_ACTIONS
};

/* The users of bytes. X(NAME, word) */
#define MT_WHO_LIST(X)                                                                                     \
	X(ANY, "any")                                                                                      \
	X(TRAINER, "trainer") /* a process that has run a backward or an optimizer */                      \
	X(ENGINE, "engine")   /* a process with an inference engine, or an engine's memory in a trainer */ \
	X(MODEL, "model")     /* a process that computes and does not train */

enum mt_who {
#define MT_WHO_ENUM(name, word) MT_WHO_##name,
	MT_WHO_LIST(MT_WHO_ENUM)
#undef MT_WHO_ENUM
		MT_WHOS
};

/* Facts that a text can have in braces; the page fills them in. X(NAME, word) */
#define MT_FACT_LIST(X)             \
	X(BYTES, "bytes")           \
	X(PIECES, "pieces")         \
	X(EACH, "each")             \
	X(PLACE, "place")           \
	X(PROCESS, "process")       \
	X(TOKENS, "tokens")         \
	X(VOCABULARY, "vocabulary") \
	X(STEPS, "steps")           \
	X(RANKS, "ranks")           \
	X(SHARE, "share")           \
	X(PHASE, "phase")           \
	X(CATEGORY, "category")

enum mt_fact {
#define MT_FACT_ENUM(name, word) MT_FACT_##name,
	MT_FACT_LIST(MT_FACT_ENUM)
#undef MT_FACT_ENUM
		MT_FACTS
};

/* The caller of the driver in the failed request. X(NAME, word) */
#define MT_ASKER_LIST(X)                                                                                        \
	X(ALLOCATOR, "allocator") /* the framework's caching allocator: it first gave back its idle segments */ \
	X(LIBRARY, "library")     /* a library, or a pool that sleeps: the allocator keeps its idle memory */

enum mt_asker {
#define MT_ASKER_ENUM(name, word) MT_ASKER_##name,
	MT_ASKER_LIST(MT_ASKER_ENUM)
#undef MT_ASKER_ENUM
		MT_ASKERS
};

struct mt_why;

/* Reads the built-in files. Returns 0, -MT_E_RULES or -MT_E_MEMORY; for -MT_E_RULES, `message` has file, line and reason. The caller frees *why. */
int mt_why_new(struct mt_why **why, char *message, size_t message_size);
void mt_why_free(struct mt_why *why); /* NULL is allowed */

/* Returns the tags of a frame, a bit for each enum mt_tag. "": unknown. A pattern can match the plain or the qualified name of a function. */
uint64_t mt_why_tags(const struct mt_why *why, const char *function, const char *file, const char *module);

/*
 * Returns when `who` next needs its bytes of the category, while `phase` runs on the GPU. `phase` is the phase at the moment, not the one of the
 * bytes' birth. A trainer that generates with its own model counts as MT_WHO_MODEL during the rollout (tag `generate` on the stack).
 */
enum mt_need mt_why_need(const struct mt_why *why, enum mt_category category, enum mt_who who, enum mt_phase phase);

struct mt_fix_question {
	enum mt_cause cause;
	enum mt_category category;
	enum mt_phase phase;  /* phase that made the bytes */
	enum mt_phase asking; /* phase of the request */
	enum mt_who who;
	uint64_t tags; /* tags that all stacks of the bytes have */
	enum mt_need need;
	enum mt_asker asker;
	int alone; /* 1: the process has no other ranks to shard with */
};

struct mt_fix {
	enum mt_action action;
	const char *text; /* one imperative sentence with {facts}; a part in [brackets] needs its fact */
};

/* Returns the most specific row that fits. Never NULL: each cause has a row without conditions. */
const struct mt_fix *mt_why_fix(const struct mt_why *why, const struct mt_fix_question *question);

/* Fills `fix` with the next best rows, at most `room`, each with another action. Returns their number. */
size_t mt_why_fixes(const struct mt_why *why, const struct mt_fix_question *question, const struct mt_fix **fix,
		    size_t room);

const char *mt_cause_word(enum mt_cause cause);
const char *mt_action_word(enum mt_action action);
const char *mt_need_word(enum mt_need need);

#endif
