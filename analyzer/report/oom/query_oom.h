/*
 * query_oom.h - one failed request for memory: who asked, what was there, who had the rest, and what follows from it.
 *
 * A caching allocator asks the driver, is refused, gives back what it keeps, asks again and then gives up: the driver's
 * refusals up to a second before it are part of that failure. A refusal without such an end was survived.
 */
#ifndef MEMANA_QUERY_OOM_H
#define MEMANA_QUERY_OOM_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"
#include "memtrace/phase.h"
#include "query/package.h"
#include "report/balance/balance.h"
#include "report/past/slept.h"

struct oom_failure {
	int64_t id, process, device;   /* ids */
	int64_t pid, rank, number;     /* rank -1: none; number of the device */
	char kind[8], name[128];       /* of the device */
	uint64_t total;                /* of the device, 0: unknown */
	char source[8], phase[24];     /* source: tensor, driver */
	int64_t time, seq, step, node; /* node 0: no stack */
	int64_t processes, steps;      /* of the run: recorded; the most that ended in one of them */
	uint64_t requested;
	int64_t free;      /* -1: unknown */
	char free_by[8];   /* driver, nvml, bound */
	int64_t others;    /* in use by others than the process, -1: unknown */
	uint64_t refusals; /* of the driver before it */
	int is_part;       /* 1: it is such a refusal itself, or `had` in a run in which something failed */
	int had;           /* 1: refused by the driver, and had soon after: the allocator let go of what it kept */
	char category[32]; /* of the request, by rule or phase */
	char function[256], place[256]; /* "": unknown */
};

struct oom_failures {
	struct oom_failure *failure; /* in the order of `oom`: of time */
	size_t count, room;
};

/*
 * All failed requests of the run, of every process and device, for lists of them. Those with is_part are no failures of
 * their own: they are counted in `refusals` of the one they led to, which knows what the driver said to them (free,
 * free_by, others), or none at all, as the program had its memory then. Needs the tables oom, process, device and
 * place alone. 0 or -MT_E_x. Release in any case.
 */
int oom_failures_load(struct oom_failures *all, struct db *db);
void oom_failures_release(struct oom_failures *all);

/* A process on the device at that moment. */
struct oom_holder {
	int64_t process, pid, rank;
	uint64_t held, slack; /* by recorded calls; slack: of them, reserved and in no tensor */
	uint64_t idle; /* of the slack: segments, and mappings of segments, that nothing is in: it can give them back */
	uint64_t asleep;  /* allocated beside it, but its pages are not there */
	uint64_t staying; /* in use, and in no pool that sleeps: its sleep does not free it */
	uint64_t grown,
		each; /* of what stays: more than at the first of the steps that ended; with every step; 0: no growth */
};

/* Memory in use at that moment, of one process from one place. */
struct oom_part {
	int64_t process, pid, rank;
	char category[32], phase[24], owner[64], function[256], place[256];
	uint64_t bytes, count;
	uint64_t probable;           /* of the bytes: what they are is a guess */
	int alike;                   /* 1: all allocations have the same size */
	char by[256], by_place[256]; /* who had it made (callers.h); "": the place says it all */
	uint64_t whole, whole_count; /* of all parts of that place and process, whatever they are */
	int64_t node;                /* a stack of that place, 0: none */
};

/*
 * What follows, X(NAME, word): the first that holds. But growth goes before a reason that has fewer bytes than it. What
 * somebody could give back counts where it would have been enough.
 */
#define OOM_RULE_LIST(X)                                                                              \
	X(TOO_LARGE, "too-large")         /* more than the device has at all */                       \
	X(IDLE_CACHE, "idle-cache")       /* a library asked, and PyTorch's cache beside it has it */ \
	X(NEIGHBOUR, "neighbour")         /* another process keeps as much in reserve */              \
	X(UNRECORDED, "unrecorded")       /* contexts, or processes that were not recorded, do */     \
	X(FRAGMENTATION, "fragmentation") /* the allocator has as much, but not in one piece */       \
	X(RETAINED, "retained")           /* a process grew, by steps, micro-batches or minutes */    \
	X(SLEEPER, "sleeper")             /* a process that sleeps has kept as much */                \
	X(RANKS, "ranks")                 /* other ranks are on this device, too, with as much */     \
	X(LARGEST, "largest")             /* there is just too much of something */                   \
	X(UNKNOWN, "unknown")             /* nothing in use was recorded */

enum oom_rule {
#define OOM_RULE_ENUM(name, word) OOM_##name,
	OOM_RULE_LIST(OOM_RULE_ENUM)
#undef OOM_RULE_ENUM
};

/* Places that keep more and more (retained.h), where they hold a large part of it; or what stays of another process. */
struct oom_growth {
	int64_t pid, rank;      /* whose */
	int other, sleeps;      /* 1: not of the process that asked; it slept */
	uint64_t bytes, in_use; /* held by them, of what the process has in use; 0: no such places */
	uint64_t there;         /* by the place that holds most, of a process that did not ask */
	uint64_t each; /* more with every step, micro-batch or minute, of all these places; of others, 0: no steps ended */
	uint64_t places;
	int graphs;                          /* most of the bytes are CUDA graphs: `node` is a stack of them */
	int64_t node;                        /* of the place that holds most */
	int by_step;                         /* 0: by micro-batch */
	int by_batch;                        /* by forward of a process that has no backward */
	int by_time, all_there;              /* by minute, where no step ends; 1: nothing of that place has gone */
	char function[256], place[256];      /* that holds most */
	char caller[256], caller_place[256]; /* who called that, where the place tells nothing by itself; "": it does */
	char next[256], next_place[256];     /* that holds most after it; "": it is the only one */
};

/* FRAGMENTATION: what pins segments (frag_pins), of the place that pins most. */
struct oom_pins {
	uint64_t segments, idle, bytes;                                 /* 0: nothing pins much of what is idle */
	char function[256], place[256], caller[256], caller_place[256]; /* "": unknown */
	char phase[24];
	int64_t first_step, last_step; /* in which its tensors came */
};

/* What came before and is there still, though nobody needs it now, or not twice. */
struct oom_again {
	enum oom_again_kind {
		OOM_AGAIN_NONE,
		OOM_AGAIN_EARLIER, /* outputs of forwards before, no backward's */
		OOM_AGAIN_GRAPHS,  /* all that forwards before keep for a backward, and none has come */
		OOM_AGAIN_NARROW,  /* of half the size of weights, where nothing is trained */
		OOM_AGAIN_MODELS,  /* weights that are there already, made anew in the middle of a run */
		OOM_AGAIN_TRAINED  /* models that were trained before the newest was made, by the same calls */
	} kind;
	uint64_t bytes, count;               /* count: pieces; TRAINED: models, without the newest */
	uint64_t weights, gradients, states; /* TRAINED: what bytes are */
	uint64_t forwards;                   /* GRAPHS: so many, each complete */
	int evaluates; /* GRAPHS: a function on their stacks is called so, and no training is below it */
	char function[256], place[256], caller[256], caller_place[256]; /* caller: "" where the place says it all */
};

/* Weights that were gathered for a forward, which is over for long, and not sharded again. */
struct oom_unsharded {
	uint64_t bytes; /* 0: there are none */
	int by_step;    /* 1: the optimizer has run since; 0: two forwards, of a process that trains nothing */
	char function[256], place[256]; /* who called the forward; "": unknown */
};

/* A library that takes memory from the driver itself, in the process that asked. */
struct oom_library {
	char owner[64]; /* "": none has much of it */
	uint64_t bytes, count;
};

/* Recorded processes that have allocated nothing on the device: a context each. */
struct oom_idlers {
	uint64_t count, bytes; /* bytes: by nvidia-smi's count, 0: it does not tell */
	int64_t pid;           /* of one of them */
};

/* Weights that were made by several, and the one that is not the first: 0 bytes: there is no such. */
struct oom_copy {
	uint64_t bytes, all;
	int alike;                      /* 1: as much in as many pieces as the first: a copy */
	char function[256], place[256]; /* who made it */
	char first[256]; /* and the first; "": what is trained, by its gradients or the optimizer's state */
	char keeper[256],
		keeper_place[256]; /* who works with a moving average of these sizes; "": nobody is known to */
};

/* What another process has more than when the one that asked woke up the last time. */
struct oom_before {
	uint64_t bytes;                   /* 0: it has not, or nobody woke up */
	int64_t process, pid, rank, time; /* whose; the time of that */
	char category[32];                /* most of what came since then and is there */
	uint64_t category_bytes;
	char function[256], place[256]; /* what has run in between, and not before; "": nothing that is known for it */
	int trained; /* 1: it had trained before that, so what it has more now is what it let go of then */
	int is_why;  /* 1: LARGEST: oom->place is its, it had let go of that before, and `function` is known */
	int brought; /* is_why: 1: `function` made oom->place, 0: it only keeps it */
};

/* A process beside one that trains, which has weights, as much as is missing, and does not compute. */
struct oom_beside {
	int64_t process; /* id */
	int64_t pid, rank;
	uint64_t bytes; /* of weights; 0: there is none */
};

/* Recorded processes at work on the device, a CUDA context each, which together are more than most would guess. */
struct oom_crowd {
	uint64_t count, bytes; /* bytes: of contexts and code, by nvidia-smi's count; 0: few, or it does not tell */
};

/* Of the process that asked, what NVML counts and no recorded call tells of. */
struct oom_unseen {
	uint64_t bytes, first; /* first: when it was looked at first; bytes 0: less than is missing, or little */
};

/* What a load has made of what it is about to make once more. */
struct oom_reload {
	uint64_t bytes;                 /* 0: nothing */
	char function[256], place[256]; /* who made it there */
};

/* Weights of a model that computed before the training began, and nothing since: 0 bytes: there is none. */
struct oom_idle {
	uint64_t bytes;
	char function[256], place[256]; /* who had most of it made */
	char package[PACKAGE_MAX];      /* whose code it is: "transformers" */
};

/* What has read, or brought together, what a place keeps: each takes the device from somewhere else. */
enum oom_loader {
	OOM_LOADER_NONE,
	OOM_LOADER_TORCH,       /* torch.load */
	OOM_LOADER_SAFETENSORS, /* load_file, load_model, safe_open */
	OOM_LOADER_GATHERED     /* a collective of torch.distributed */
};

/* Tensors of the process that asked, as large as the request or half or a quarter of it, where that is logits or larger than all. */
struct oom_same {
	uint64_t count, bytes;           /* 0: less than two, or so many that each layer has one */
	uint64_t wider;                  /* the request has as many bytes as so many of the smallest of them: 1, 2, 4 */
	char function[256], place[256];  /* who made the largest */
	char next[256], next_place[256]; /* and another, by a place of its own; "": nobody did */
};

/*
 * The request as a copy of what goes right after it: as large as what the same call has just made, as pairs of these two places were
 * before, of which the first went when the second was there.
 */
struct oom_clone {
	uint64_t bytes, pairs;          /* of what is there; pairs before; 0: it is no such copy */
	char function[256], place[256]; /* who made that */
	char caller[256],
		caller_place[256]; /* the call that has both made, and its line for the first; "": the place says it */
};

/* The request as tokens x words of the vocabulary x bytes of an element. */
struct oom_logits {
	uint64_t tokens, words, element; /* 0: it is something else */
	uint64_t earlier; /* most tokens of such a tensor in steps before, or of its place before; 0: there was none */
	int same_step;    /* it was of no step before */
};

struct oom {
	struct oom_failures all;
	const struct oom_failure *it; /* the one that the rest is about; NULL: none failed */
	struct oom_holder *holder;    /* most first */
	size_t holders, holder_room;
	struct oom_part *part; /* most first */
	size_t parts, part_room;
	uint64_t in_use;        /* sum of the parts */
	uint64_t slack;         /* sum over the holders */
	uint64_t asleep;        /* allocated beside it, but its pages were not there: nobody held them */
	uint64_t unrecorded;    /* at least so much is held by contexts, or by processes that were not recorded */
	uint64_t own_slack;     /* of the process that asked */
	uint64_t hole;          /* its largest */
	uint64_t idle_segments; /* as in its holder */
	int survived;           /* by a refusal of the driver: the process got as much on the device later */
	enum oom_rule rule;
	int64_t rule_pid, rule_rank; /* NEIGHBOUR, SLEEPER, RETAINED: who */
	uint64_t rule_bytes;         /* that the rule is about */
	int pinned;                  /* NEIGHBOUR: 1: not in empty segments, tensors are in them */
	char rule_category[32];      /* LARGEST, SLEEPER: most of it */
	int asked_for;               /* LARGEST: not of what there is most, but what the request was for */
	int left_over;               /* LARGEST: not of what there is most, but what no step needs; or not now */
	int alone;                   /* LARGEST: the request is larger than all that is in use of any kind */
	/* LARGEST, and RETAINED of graphs: what helps, by who made it or asked; NULL: nobody knows. Static storage */
	const char *by_frame;
	char captures[256], captures_place[256]; /* RETAINED of graphs: who captures them; "": unknown */
	int unneeded;                            /* LARGEST: no backward ran on what was there of it before */
	const struct oom_failure
		*attempt;             /* LARGEST, left_over: what is left is of this one's attempt; NULL: it is not */
	const struct oom_part *twice; /* LARGEST, left_over: `place` has the same as this in wider elements; NULL: no */
	struct oom_again again;       /* LARGEST, left_over */
	struct oom_unsharded unsharded; /* LARGEST, left_over */
	struct oom_library library;     /* LARGEST: most of what has no known purpose */
	struct oom_idlers idlers;       /* UNRECORDED */
	struct oom_crowd crowd;         /* UNRECORDED */
	struct oom_unseen unseen;       /* UNRECORDED: rule_bytes are these, not `unrecorded` */
	uint64_t stale;                 /* LARGEST: logits from before a backward that is over */
	int waits;        /* LARGEST: not of what there is most, but what another process keeps for its next training */
	int own_engine;   /* LARGEST: an engine of the process that asked is awake while that trains */
	int place_trains; /* LARGEST: whose `place` it is trains, and has no engine */
	int by_asker; /* LARGEST: by_frame is of who asked, for something of no category, and not about what there is most of */
	int starved; /* LARGEST: a library asked the driver for a little of its own, and PyTorch has nothing idle for it */
	int nobody_trains; /* whoever has memory on the device is an engine, and nothing was trained in the run */
	int evaluates;     /* the process that asked has run no backward: what it does again and again are batches */
	int engine_asks;   /* who asked is below an engine's functions */
	int serves;  /* the process that asked is an engine that computes for requests, beside a cache of its own */
	int crowded; /* LARGEST: the cache of an engine, which has no room left for what it computes */
	int infers;  /* LARGEST: nothing is trained in the process that asked, though it has computed before */
	int frozen;  /* LARGEST, left_over: gradients as large as the weights, though adapters are on the stack */
	int buckets; /* LARGEST, left_over: `place` are DistributedDataParallel's buckets, which have the gradients again */
	int outlier; /* LARGEST: the request is far larger than all that its place had before, and that is why */
	int uneven;  /* LARGEST: experts have far more than before, and the rest of the model has not */
	uint64_t asked_before; /* most that the place of the request had in one piece before: in earlier steps, or samples; 0: none */
	int whole; /* LARGEST: nothing was computed yet, and hardly anything but weights that are being loaded is there */
	int moved; /* whole: these came from the host, by Module.to() or its like, while an engine is awake on the device */
	int loading; /* LARGEST: what a checkpoint is read into, in init, and who asks wants more of that, or takes it over */
	int by_dict; /* loaded_early: the optimizer made it of a state dict, wherever that was read to */
	int inputs;  /* LARGEST: many pieces of no known purpose that were there before the forward */
	int pile; /* LARGEST: of no known purpose, many pieces as large as the request, by the place that asks for one more */
	int loaded_early; /* LARGEST: it was loaded, and its optimizer has not run yet */
	char apart[256],
		apart_place[256]; /* LARGEST: activations of `place` are of a call of this, and who asks is not below it; "": else */
	enum oom_loader loader;   /* RANKS, and LARGEST of state dicts: who made `place` */
	uint64_t ranks_there;     /* RANKS: held by all others */
	uint64_t strangers;       /* RANKS: how many of them belong elsewhere, with rule_bytes */
	int at_home;              /* RANKS: 1: the rank that asked is the one that belongs there */
	char theirs[PACKAGE_MAX]; /* LARGEST: whose line it is that by_frame or what is left is about; "": the user's */
	uint64_t wider, wider_bytes; /* LARGEST: so many weights of so many bytes are half the request; 0 */
	char wider_function[256], wider_place[256]; /* who made them */
	char asked_by[64];                          /* the library that asked the driver; "": PyTorch, or unknown */
	const struct oom_part
		*place; /* LARGEST, SLEEPER, RANKS: the place that keeps most of that; NULL: none has much of it */
	uint64_t piece, piece_before; /* largest allocation of that place in this step, and in all before; 0: unknown */
	uint32_t rising; /* so many steps in a row before this one each had a larger one than the step before */
	int by_samples;  /* these are of what is there now, and of what has gone: no step has ended */
	struct oom_growth growth; /* RETAINED */
	char waking[32]; /* what the process that asked has asleep, at least as much as it asked for; "": nothing */
	uint64_t waking_bytes;    /* of it; whole requests: it is what was asked for, see oom_wakes() */
	struct oom_pins pins;     /* FRAGMENTATION */
	struct oom_before before; /* of whatever rule */
	struct slept slept;       /* of whatever rule */
	int should_sleep;         /* LARGEST: that pool is why: `place` is its, unless nobody knows where it was made */
	struct oom_reload reload; /* LARGEST, left_over */
	struct oom_beside beside;
	int logits_gradient;    /* LARGEST: a backward asked for as much as one piece of the logits that are there */
	struct oom_copy copy;   /* of the process whose `place` it is, or that asked */
	struct oom_same same;   /* LARGEST */
	struct oom_clone clone; /* LARGEST */
	struct oom_idle idle_model; /* LARGEST: as much as is missing */
	int spare; /* LARGEST: somebody else than who asked had `place` made, in init as this is, and it would have been enough */
	int expandable, sleeps; /* see frag_modes() */
	char caller[256],
		caller_place[256]; /* who called the place that asked, where that tells nothing by itself; "" */
	int64_t pool_beside;       /* process id of another one that has a pool which can sleep, 0: none has */
	struct oom_logits logits;  /* LARGEST, TOO_LARGE */
};

/* All bytes of the device at the failure, which there is. 0 or -MT_E_x. */
int oom_balance(struct balance *balance, const struct oom *oom, struct db *db);

const char *oom_rule_word(enum oom_rule rule);

/* The category of what slept and was asked for, for certain: it is so many requests. "": none is. */
static inline const char *oom_wakes(const struct oom *oom)
{
	return *oom->waking && oom->it->requested && oom->waking_bytes % oom->it->requested == 0 ? oom->waking : "";
}

/* What is missing for the request. */
static inline uint64_t oom_missing(const struct oom_failure *it)
{
	return it->free > 0 && (uint64_t)it->free < it->requested ? it->requested - (uint64_t)it->free : it->requested;
}

/* The place that keeps most is another process's than the one that asked. */
static inline int oom_is_others(const struct oom *oom)
{
	return oom->place && oom->place->process != oom->it->process;
}

/* `id`: of the failure (as in oom.failure), 0: the newest. 0, -MT_E_ARGUMENT: no such failure, or -MT_E_x. Release in
 * any case. */
int oom_load(struct oom *oom, struct db *db, int64_t id);
void oom_release(struct oom *oom);

/* What the parts are by one of their words. */
struct oom_sum {
	const char *word;
	uint64_t bytes, count;
};

enum oom_by { OOM_BY_CATEGORY, OOM_BY_PHASE, OOM_BY_OWNER };

/* In use by the process, of a category; `but`: an enum mt_phase in which it was not allocated, -1: whichever. */
uint64_t oom_bytes_of(const struct oom *oom, int64_t process, const char *category, int but);

/* Of the process, allocated, but its pages are not there. */
uint64_t oom_asleep(const struct oom *oom, int64_t process);

#define OOM_SUMS_MAX 64

/* Largest first, at most OOM_SUMS_MAX; words live as long as `oom`. How many. */
size_t oom_sums(const struct oom *oom, enum oom_by by, struct oom_sum sum[OOM_SUMS_MAX]);

/*
 * What other reports know about a failed request: places that grow (retained.h), how the allocators take
 * memory (frag.h), and sizes that are those of logits (category_sizes.h). Part of query_oom.h.
 */

/*
 * Places of the process that grow, where they hold a large part of what it has in use: fills oom->growth. 1: they do, 0, or
 * -MT_E_x. Makes the temporary tables of retained_load(): once for a database.
 */
int oom_find_growth(struct oom *oom, struct db *db);

/* Fills oom->hole, idle_segments, expandable and sleeps, and what is idle of every holder. 0 or -MT_E_x. */
int oom_find_holes(struct oom *oom, struct db *db);

/* Fills oom->pins. After oom_find_growth(), whose tables it needs. 0 or -MT_E_x. */
int oom_find_pins(struct oom *oom, struct db *db);

/* Fills by and whole of the parts, copy and spare. 0 or -MT_E_x. */
int oom_find_callers(struct oom *oom, struct db *db);

/* Fills oom->logits, when the request is tokens x vocabulary x bytes of an element. 0 or -MT_E_x. */
int oom_find_logits(struct oom *oom, struct db *db);

/* Fills oom->logits_gradient. 0 or -MT_E_x. */
int oom_find_logits_gradient(struct oom *oom, struct db *db);

#endif
