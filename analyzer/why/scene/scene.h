/*
 * scene.h - the evidence for the choice of causes: resident bytes at the moment of the request, and at reference moments.
 *
 *     request    the failed request and its missing bytes; the peak if no request failed
 *     process    each process, its bytes on the device and its phase
 *     site       bytes of one stack in one phase and category, at the moment and at its references
 *     block      each resident allocation
 *     node       the call stacks as a tree, with the tags of formats/why
 *
 * References, each with the bytes of every site:
 *     before     the matching call of the same place in an earlier span of the phase; else the peak of the step before
 *     peer       the peak of the same step on another rank's GPU; else the end of that rank's recording
 *
 * The scene is read once and never changes. Detectors (find.h) read only the scene.
 */
#ifndef MEMANA_WHY_SCENE_H
#define MEMANA_WHY_SCENE_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"
#include "memtrace/phase.h"
#include "memtrace/texts.h"
#include "memtrace/why.h"
#include "query/alive.h"
#include "query/callstack.h"
#include "query/packed.h"
#include "report/failed/failures.h"

#define SCENE_NONE UINT32_MAX /* no such index */

/* The moments at which each site's bytes are summed. */
enum scene_at { SCENE_NOW, SCENE_BEFORE, SCENE_PEER, SCENE_ATS };

/* The source of the reference SCENE_BEFORE. */
enum scene_before_what { SCENE_NO_BEFORE, SCENE_SAME_PLACE, SCENE_STEP_BEFORE };

/* The source of a site's category. */
enum scene_known { SCENE_CENSUS, SCENE_RULE, SCENE_PROBABLE };

struct scene_process {
	int64_t id, pid, rank; /* rank -1: the process has no rank */
	uint64_t held, slack;  /* bytes on the device by recorded calls; the part that is reserved outside of tensors */
	uint64_t idle;         /* part of the slack: empty segments that the allocator can give back */
	uint64_t in_use, asleep; /* bytes of its sites at the moment; allocated bytes without resident pages */
	uint64_t weights;        /* part of `in_use`: weights outside of an engine */
	uint64_t gradients;      /* part of `in_use`: gradients that a backward made */
	uint64_t context;        /* bytes beyond recorded calls by NVML; 0: unknown */
	uint64_t unexplained; /* part of `context` that another API took: no context, code, graph or pool explains it */
	int has_context;      /* 1: an NVML sample gave `context` */
	int expandable,
		has_pool; /* modes of the allocator, from frag_modes: expandable segments, a pool that can sleep */
	uint64_t pinned;  /* free bytes of segments that have tensors */
	uint32_t pin;     /* the site whose tensors hold at least half of `pinned`; SCENE_NONE: no such site */
	int64_t steps;    /* number of steps that ended */
	int64_t backward_end, optimizer_end; /* newest event of the phase before the moment; 0: none */
	int64_t over_time, over_seq;         /* end of the process; time -1: not in the trace */
	enum mt_phase phase;                 /* phase at the moment */
	int64_t step;
	enum mt_who who;
	uint64_t engine; /* bytes of an inference engine, resident or asleep */
	int sleeps;      /* 1: bytes of the process are or were asleep */
	int ended;       /* 1: the process ended before the moment */
	int killed;      /* 1: the process ended without an orderly exit */
	int on_device;   /* 1: the process holds bytes on the device */
	int is_peer;     /* 1: `peer` is the SCENE_PEER moment of its sites */
	struct alive_moment peer;
	uint32_t first_span, spans; /* range in scene.span */
};

struct scene_span {
	enum mt_phase phase;
	uint32_t round; /* number. A trainer begins a round with a step and after a backward; other processes, with a span */
	int64_t step, first_seq, last_seq, first_time;
};

struct scene_frame {
	int64_t id;
	struct callstack_frame frame;
	uint64_t tags;
};

struct scene_node {
	int64_t id;
	uint32_t parent, frame;      /* indices; parent SCENE_NONE: the node is outermost */
	uint32_t depth, child, next; /* child: newest child; next: older sibling; SCENE_NONE: none */
	uint64_t tags;               /* tags of the frame and of all its callers */
};

struct scene_site {
	int64_t id, device;
	uint32_t process, node; /* indices; node SCENE_NONE: the site has no stack */
	enum mt_category category;
	enum mt_phase phase;
	enum scene_known known;
	uint8_t in_use;          /* 0: not counted: host memory, imported memory, and segments with tensors inside */
	uint8_t driver, caching; /* 1: allocated from the driver: by a library, and by the framework's allocator */
	uint8_t engine;          /* 1: the stack is in an inference engine, in any kind of process */
	uint64_t tags;           /* tags of all frames of the stack */
	const char *owner;
	uint64_t at[SCENE_ATS], count_at[SCENE_ATS]; /* resident bytes and allocations at each moment */
	uint64_t asleep;                             /* bytes without resident pages at the moment */
	uint64_t idle, pinned; /* empty segments from the driver; free bytes in segments with its tensors */
	uint64_t least, most;  /* smallest and largest piece at the moment */
	uint64_t made, freed,
		freed_home;            /* allocations before the moment: all, freed, freed in the step of their birth */
	uint64_t most_before;          /* largest piece of earlier steps; if freed_is_early, largest freed piece */
	uint64_t words, element;       /* for logits: vocabulary, and bytes of an element; else 0 */
	int64_t first_step, last_step; /* steps of the oldest and newest resident block */
};

/* A run has millions: they are packed. */
struct scene_block {
	uint32_t site, step;
	int64_t seq, time;
	uint64_t bytes;
};

/* Host memory of a process, at its newest sample and earlier. */
struct scene_host {
	uint32_t process, machine; /* machine: number of the host; processes of one host share it */
	uint32_t node;             /* stack of the newest allocation or release; SCENE_NONE: unknown */
	const char *function;      /* telling function of `node`; "": no such function */
	enum mt_phase phase;       /* phase of this allocation or release */
	uint64_t resident, first;  /* bytes at the newest and at the first sample */
	uint64_t rise;             /* rise since the newest phase began; since the first sample if that rise is noise */
	int rose;                  /* 1: the rise is more than noise */
	uint64_t rate;             /* bytes that a step adds; 0: some step added nothing */
	int64_t steps;             /* number of steps that `rate` covers */
	uint64_t used, used_first, room; /* bytes used in the cgroup or machine: newest, first, limit */
	int64_t time;
	int is_full; /* 1: the analyzer found that full host memory ended the process */
};

struct scene_request {
	const struct oom_failure *failure; /* NULL: no request failed; the moment is the peak */
	int64_t device, number;            /* number: the device as people number it */
	char kind[8];
	uint64_t total, requested, missing;
	int64_t free; /* free bytes; -1: unknown */
	struct alive_moment when;
	uint32_t process, node; /* indices */
	enum mt_phase phase;
	enum mt_category category;
	int64_t step;
	uint64_t earlier_most;   /* largest earlier allocation at the request's place */
	uint64_t outside;        /* bytes on the device beyond recorded calls; 0: unknown */
	uint64_t hole;           /* largest free piece in a segment of the requesting process */
	int from_driver;         /* 1: a library or a pool called the driver; 0: the framework's allocator did */
	int has_before;          /* enum scene_before_what */
	uint64_t outside_before; /* `outside` at the reference; 0: unknown */
	uint64_t outside_first;  /* `outside` at the first sample of these steps */
	int64_t outside_steps;   /* number of steps if `outside` rose in each one; else 0 */
};

/* The peak of the device that came nearest to its limit. */
struct scene_peak {
	uint64_t bytes, used; /* bytes of recorded processes; largest use of the device by NVML, 0: no sample */
	enum mt_phase phase;
	int64_t steps; /* the run's */
	int is_usual;  /* 1: a step, a quarter of the run later or more, reached 95 % of the peak: no growth */
};

struct scene {
	struct db *db;
	const struct mt_why *why;
	struct oom_failures failures;
	struct scene_request request;
	struct scene_peak peak; /* zero after a failed request */
	int kept;               /* 1: of lives that are over the database has sums alone (rows/kept.h) */
	struct scene_process *process;
	size_t processes;
	struct scene_span *span;
	size_t spans;
	struct scene_site *site;
	size_t sites;
	struct packed blocks;    /* those on the device of the request, in order of birth within a process */
	struct scene_node *node; /* sorted by id: a parent comes before its children */
	size_t nodes;
	uint32_t outermost; /* the newest node without a parent; its `next` is the next older one */
	struct scene_frame *frame;
	size_t frames;
	struct scene_host *host; /* sorted by machine, function and rise, largest rise first */
	size_t hosts;
	size_t peers;          /* number of processes with is_peer */
	struct mt_text *texts; /* memory of owners, functions and files */
	uint64_t in_use, slack, held;
	uint64_t phase_peak[MT_PHASE_COUNT]; /* largest bytes on the device in each phase; 0: unknown */
};

/* Reads the scene of failed request `oom`; 0: of the newest one, else of the peak. Returns 0 or -MT_E_x. scene_release() also after an error. */
int scene_load(struct scene *scene, struct db *db, const struct mt_why *why, int64_t oom);
void scene_release(struct scene *scene);

/*
 * Loads slack, and the tensors that pin it. scene_load has done so where slack can be a cause: after a failed request, or of several processes.
 * `for_advice`: does it elsewhere. Returns 0 or -MT_E_x.
 */
int scene_load_slack(struct scene *scene, int for_advice);

/* Returns the index of the item with this id, else SCENE_NONE. Items are sorted by id, and each begins with its id, an int64_t. */
uint32_t scene_find(const void *array, size_t count, size_t size, int64_t id);

/* Return the index of the node, site or process with this id, else SCENE_NONE. */
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

/* Returns the nearest common caller of two nodes, else SCENE_NONE. */
uint32_t scene_common(const struct scene *scene, uint32_t one, uint32_t two);

/* Whether `outer` is `node` or one of its callers. */
int scene_is_in(const struct scene *scene, uint32_t node, uint32_t outer);

/* Returns the telling node: the nearest one outwards with a user's or a framework's function; else with a library's; else SCENE_NONE. */
uint32_t scene_telling(const struct scene *scene, uint32_t node);

/* Whether a set has the category: scene_is_of(site->category, SCENE_SET(WEIGHTS) | SCENE_SET(OTHER)). */
#define SCENE_SET(name) (1u << MT_CATEGORY_##name)
static inline int scene_is_of(enum mt_category category, unsigned set)
{
	return (int)(set >> category & 1);
}

/* Categories that a forward makes, and that its backward or its reader frees. */
#define SCENE_OF_FORWARD (SCENE_SET(ACTIVATIONS) | SCENE_SET(RECOMPUTED) | SCENE_SET(LOGITS) | SCENE_SET(EVALUATION))

/* Returns the tags of all frames of the node's stack; for SCENE_NONE, 0. */
static inline uint64_t scene_tags(const struct scene *scene, uint32_t node)
{
	return node == SCENE_NONE ? 0 : scene->node[node].tags;
}

/* Whether full host memory ended a process of the run. */
int scene_host_is_full(const struct scene *scene);

/* Whether the site has weights that a model outside of an engine computes with. */
static inline int scene_is_weights(const struct scene_site *site)
{
	return site->category == MT_CATEGORY_WEIGHTS && !site->engine && !site->driver;
}

/* Returns the newest span of the process that began at or before `time`; else NULL. */
const struct scene_span *scene_span_at(const struct scene *scene, uint32_t process, int64_t time);

/* Adds an item of `size` zero bytes to the array at *array and returns the item. NULL: out of memory, and nothing has changed. */
void *scene_add(void *array, size_t *count, size_t size);

/* Whether an event is at or before `when`, in the order of all events. */
int scene_before(int64_t time, int64_t process, int64_t seq, const struct alive_moment *when);

#endif
