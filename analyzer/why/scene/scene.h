/*
 * scene.h - the evidence for the choice of causes: resident bytes at the moment of the request, and at reference moments.
 *
 *     request    the request that failed and its missing bytes; the peak if no request failed
 *     process    each process, its bytes on the device and its phase
 *     site       bytes of one stack in one phase and category, at the moment and at its references
 *     block      each allocation that was resident
 *     node       the call stacks as a tree, with the tags of formats/why
 *
 * References, each with the bytes of every site:
 *     before     the matching call of the same place in an earlier span of the phase; else the peak of the step before
 *     peer       the peak of the same step on another rank's GPU, or the end of that rank's recording
 *
 * The scene is read once and never changes. Detectors (find.h) read only the scene.
 */
#ifndef MEMANA_WHY_SCENE_H
#define MEMANA_WHY_SCENE_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"
#include "memtrace/phase.h"
#include "memtrace/why.h"
#include "query/alive.h"
#include "query/callstack.h"
#include "report/failed/failures.h"

#define SCENE_NONE UINT32_MAX /* no such index */
#define SCENE_PEERS 8         /* most other ranks to compare with */

/* The moments at which each site's bytes are summed. */
enum scene_at { SCENE_NOW, SCENE_BEFORE, SCENE_PEER, SCENE_ATS };

/* The reference that SCENE_BEFORE stands for. */
enum scene_before_what { SCENE_NO_BEFORE, SCENE_SAME_PLACE, SCENE_STEP_BEFORE };

/* The source of a site's category. */
enum scene_known { SCENE_CENSUS, SCENE_RULE, SCENE_PROBABLE };

struct scene_process {
	int64_t id, pid, rank; /* rank -1: none */
	uint64_t held, slack;  /* on the device at the moment, by recorded calls; slack: reserved bytes in no tensor */
	uint64_t idle;         /* part of the slack: empty segments that the allocator can give back */
	uint64_t in_use, asleep; /* bytes of its sites at the moment; asleep: allocated without resident pages */
	uint64_t weights;        /* part of `in_use`: weights outside of an engine */
	uint64_t context;        /* NVML's bytes beyond recorded calls; 0: unknown */
	uint64_t unexplained;    /* part of `context` that no context, code, graph or pool explains: another API's */
	int has_context;         /* 1: an NVML sample gave `context` */
	uint64_t pinned;         /* free bytes beside tensors in their segments */
	uint32_t pin;            /* the site whose tensors keep at least half of `pinned`; SCENE_NONE: none */
	int64_t steps;           /* steps that ended */
	int64_t backward_end, optimizer_end; /* seq of the newest event of these phases before the moment; 0: none */
	int64_t over_time, over_seq;         /* end of the process; over_time -1: no end in the trace */
	enum mt_phase phase;                 /* at the moment */
	int64_t step;
	enum mt_who who;
	uint64_t engine; /* bytes of an inference engine, resident or asleep */
	int sleeps;      /* 1: some of its memory is or was asleep */
	int ended;       /* 1: before the moment */
	int killed;      /* 1: the process ended without an orderly exit */
	int on_device;   /* 1: it holds bytes on the device */
	int is_peer;     /* 1: `peer` is the moment for SCENE_PEER of its sites */
	struct alive_moment peer;
	uint32_t first_span, spans; /* scene.span */
};

struct scene_span {
	enum mt_phase phase;
	uint32_t round; /* its number. A trainer begins a round with each step and after each backward, others with each span */
	int64_t step, first_seq, last_seq, first_time;
};

struct scene_frame {
	int64_t id;
	struct callstack_frame frame;
	uint64_t tags;
};

struct scene_node {
	int64_t id;
	uint32_t parent, frame;      /* indices; parent SCENE_NONE: outermost */
	uint32_t depth, child, next; /* child: its newest child; next: the older sibling; SCENE_NONE: none */
	uint64_t tags;               /* tags of the frame and of its callers */
};

struct scene_site {
	int64_t id, device;
	uint32_t process, node; /* indices; node SCENE_NONE: no stack */
	enum mt_category category;
	enum mt_phase phase;
	enum scene_known known;
	uint8_t in_use; /* 0: host memory, imported memory, or segments that the allocator cuts into tensors */
	uint8_t driver; /* 1: a library allocated it from the driver */
	uint8_t engine; /* 1: the stack is an inference engine's, in any process */
	uint64_t tags;  /* tags of its stack */
	const char *owner;
	uint64_t at[SCENE_ATS], count_at[SCENE_ATS]; /* resident bytes, allocations */
	uint64_t asleep;                             /* at the moment */
	uint64_t idle, pinned; /* empty segments that it took from the driver; free bytes beside its tensors */
	uint64_t least, most;  /* smallest and largest block at the moment */
	uint64_t made, freed,
		freed_home;            /* allocations before the moment; freed_home: freed in the step of their birth */
	uint64_t most_before;          /* largest block before early_time; largest freed block if freed_is_early */
	uint64_t words, element;       /* for logits: vocabulary, and bytes of an element; else 0 */
	int64_t first_step, last_step; /* births of resident blocks */
};

struct scene_block {
	uint32_t site;
	int64_t seq, time, step;
	uint64_t bytes, asleep;
	uint32_t count; /* allocations */
};

/* Host memory of a process at its newest sample, and before. */
struct scene_host {
	uint32_t process, machine; /* machine: a number, equal for processes of one host */
	uint32_t node;             /* stack of its newest allocation or release; SCENE_NONE: unknown */
	const char *function;      /* the telling function of `node`; "": none */
	enum mt_phase phase;       /* at this event */
	uint64_t resident, first;  /* newest sample; first sample */
	uint64_t rise; /* since before the newest phase, or since the first sample if the phase added little */
	int rose;      /* 1: the rise is no noise */
	uint64_t rate; /* growth of each step; 0: no growth in some step */
	int64_t steps; /* number of steps behind `rate` */
	uint64_t used, used_first, room; /* bytes used in its cgroup or machine, and their limit */
	int64_t time;
	int is_full; /* 1: the analyzer found that full host memory ended the process */
};

struct scene_request {
	const struct oom_failure *failure; /* NULL: no request failed, and the moment is the peak */
	int64_t device, number;            /* number: the one that people read */
	char kind[8];
	uint64_t total, requested, missing;
	int64_t free; /* -1: unknown */
	struct alive_moment when;
	uint32_t process, node; /* indices */
	enum mt_phase phase;
	enum mt_category category;
	int64_t step;
	uint64_t earlier_most;   /* largest earlier allocation of its place */
	uint64_t outside;        /* bytes on the device beyond recorded calls; 0: unknown */
	uint64_t hole;           /* largest hole of the requesting process */
	int expandable, sleeps;  /* allocator modes, from frag_modes */
	int from_driver;         /* 1: a library or a pool asked the driver, not the framework's allocator */
	int has_before;          /* 0, SCENE_SAME_PLACE, SCENE_STEP_BEFORE */
	uint64_t outside_before; /* `outside` at the reference; 0: unknown */
	uint64_t outside_first;  /* `outside` at the first of outside_steps steps */
	int64_t outside_steps;   /* number of steps, each with a rise of `outside`; 0: some step had none */
};

/* The peak of the device that came nearest to its limit. */
struct scene_peak {
	uint64_t bytes, used; /* bytes: of recorded processes; used: NVML's largest count of all; 0: no sample */
	enum mt_phase phase;
	int64_t steps; /* the run's */
};

struct scene {
	struct db *db;
	const struct mt_why *why;
	struct oom_failures failures;
	struct scene_request request;
	struct scene_peak peak; /* zeros after a failed request */
	struct scene_process *process;
	size_t processes;
	struct scene_span *span;
	size_t spans;
	struct scene_site *site;
	size_t sites;
	struct scene_block *block; /* on the device of the request, by site, then birth */
	size_t blocks;
	struct scene_node *node; /* by id: a parent before its children */
	size_t nodes;
	uint32_t outermost; /* the newest node without a parent; `next` leads to the older ones */
	struct scene_frame *frame;
	size_t frames;
	struct scene_host *host; /* by machine, function and rise, largest rise first */
	size_t hosts;
	size_t peers;             /* number of processes that are peers */
	struct scene_text *texts; /* owners, functions and files */
	uint64_t in_use, slack, held;
	uint64_t phase_peak[MT_PHASE_COUNT]; /* largest bytes on the device in each phase; 0: unknown */
};

/* `oom`: number of the failed request; 0: the newest one, or the peak if none failed. 0 or -MT_E_x. Release after an error, too. */
int scene_load(struct scene *scene, struct db *db, const struct mt_why *why, int64_t oom);
void scene_release(struct scene *scene);

/* Index of the item with this id, among items in the order of their ids, each an int64_t at its begin. SCENE_NONE: none. */
uint32_t scene_find(const void *array, size_t count, size_t size, int64_t id);

/* Index of the node, site or process with this id; SCENE_NONE: none. */
static inline uint32_t scene_node_of(const struct scene *scene, int64_t id)
{
	return scene_find(scene->node, scene->nodes, sizeof(*scene->node), id);
}

static inline uint32_t scene_site_of(const struct scene *scene, int64_t id)
{
	return scene_find(scene->site, scene->sites, sizeof(*scene->site), id);
}

static inline uint32_t scene_process_of(const struct scene *scene, int64_t id)
{
	return scene_find(scene->process, scene->processes, sizeof(*scene->process), id);
}

/* The nearest common caller of two nodes; SCENE_NONE: none. */
uint32_t scene_common(const struct scene *scene, uint32_t one, uint32_t two);

/* Whether `outer` is `node` or one of its callers. */
int scene_is_in(const struct scene *scene, uint32_t node, uint32_t outer);

/* The nearest node, from `node` outwards, in the user's or a framework's function; else in a library's. SCENE_NONE: none. */
uint32_t scene_telling(const struct scene *scene, uint32_t node);

/* Whether the category is in a set: scene_is_of(site->category, SCENE_SET(WEIGHTS) | SCENE_SET(OTHER)). */
#define SCENE_SET(name) (1u << MT_CATEGORY_##name)
static inline int scene_is_of(enum mt_category category, unsigned set)
{
	return (int)(set >> category & 1);
}

/* A forward makes these categories; its backward or its reader frees them. */
#define SCENE_OF_FORWARD (SCENE_SET(ACTIVATIONS) | SCENE_SET(RECOMPUTED) | SCENE_SET(LOGITS) | SCENE_SET(EVALUATION))

/* Tags of the node's frames; 0: no node. */
static inline uint64_t scene_tags(const struct scene *scene, uint32_t node)
{
	return node == SCENE_NONE ? 0 : scene->node[node].tags;
}

/* Whether full host memory ended a process. */
int scene_host_is_full(const struct scene *scene);

/* Weights that a model computes with, outside of an engine. */
static inline int scene_is_weights(const struct scene_site *site)
{
	return site->category == MT_CATEGORY_WEIGHTS && !site->engine && !site->driver;
}

/* The newest span of the process that began before `time`; NULL: none did. */
const struct scene_span *scene_span_at(const struct scene *scene, uint32_t process, int64_t time);

/* `array` with one more zeroed item of `size` bytes; the array may move. NULL: out of memory, and the array is unchanged. */
void *scene_room(void *array, size_t count, size_t size);

/* Adds a zeroed item of `size` bytes to the array that `array` points to. NULL: out of memory, and nothing has changed. */
void *scene_add(void *array, size_t *count, size_t size);

/* Whether an event is at or before `when`, in the order of all events. */
int scene_before(int64_t time, int64_t process, int64_t seq, const struct alive_moment *when);

#endif
