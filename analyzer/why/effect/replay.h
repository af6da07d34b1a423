/*
 * replay.h - the recorded stream with other sizes, and its peaks.
 *
 * The database has every move of bytes of the run (table timeline), by site. A scenario gives the part of each site's bytes that
 * stays. One sweep over the moves sums many scenarios at once, phase by phase:
 *
 *     moves       +a +b      +c -b        -a -c
 *     phase       forward    backward     optimizer
 *     as it was   a, a+b     a+b+c, a+c   ..         the most of each phase is its peak
 *     scenario    the same with a * keep[a][phase], and so on
 *
 * The sweep finds a peak that moves to another moment or phase. Bytes are those in use (in_use of schema.sql): tensors, and driver
 * memory that is not cut into tensors; not the allocator's slack.
 */
#ifndef MEMANA_REPLAY_H
#define MEMANA_REPLAY_H

#include <stdint.h>
#include "why/scene/scene.h"

#define REPLAY_SCENARIOS_MAX 16u /* most scenarios of one sweep */

/* The owner of bytes on the device: a site of the scene, with its bytes over the whole run. */
struct replay_site {
	int64_t id, process; /* ids; id 0: the failed request without a recorded site */
	uint32_t node;       /* index in the scene; SCENE_NONE: no stack */
	uint32_t alike; /* index of the first site whose stack differs in its modules alone: the layers of a model */
	uint8_t phase, category;    /* phase of birth (enum mt_phase), enum mt_category */
	uint8_t known;              /* 1: the framework or a rule gives the category; 0: probable */
	uint8_t engine;             /* 1: an engine's code or library holds it (advise_run.c) */
	uint8_t own_cache;          /* 1: a model's own cache of its generation (advise_run.c) */
	uint8_t driver, ignored;    /* driver memory; bytes that do not count as in use */
	uint32_t roles;             /* bits 1 << enum mt_knob_process of its model; 0: unknown (advise_whose.c) */
	uint64_t tags;              /* tags of its stack (memtrace/why.h) */
	uint64_t words, element;    /* as logits: vocabulary, and bytes of an element; 0: unknown (advise_run.c) */
	uint64_t largest, smallest; /* bytes of an allocation */
	uint64_t births;            /* allocations */
	/* at the peak of each phase */
	uint64_t held[MT_PHASE_COUNT];
	uint32_t count[MT_PHASE_COUNT];
	uint32_t many; /* allocations of all alike sites, at the peak of the phase with most */
	/* at the moment in question: with the failed request, as if it had succeeded, or at the device's peak */
	uint64_t then;
	uint32_t then_count;
};

struct replay_peak {
	uint64_t bytes;  /* 0: the device did nothing in this phase */
	uint64_t change; /* private: number of the change in the run */
};

/* The evidence for the bytes that a step takes after the failed request (later.c). X(NAME, word) */
#define REPLAY_LATER_LIST(X)                                                                   \
	X(UNKNOWN, "unknown")     /* no earlier step reached the place */                      \
	X(NOTHING, "nothing")     /* earlier steps took nothing more */                        \
	X(STEPS, "earlier-steps") /* the same changes as in earlier steps */                   \
	X(LAYERS, "layers")       /* the request is in a series with a piece for each layer */ \
	X(SERIES, "series")       /* the request is in a series of unknown length */

enum replay_later_from {
#define REPLAY_LATER_ENUM(name, word) REPLAY_LATER_##name,
	REPLAY_LATER_LIST(REPLAY_LATER_ENUM)
#undef REPLAY_LATER_ENUM
};

/* A device of the run. */
struct replay {
	const struct scene *scene; /* the caller's */
	int64_t device;
	struct replay_site *site; /* in the order of the scene's; the request's site can be the last one */
	uint32_t sites;
	uint32_t *index; /* private: index of the site with an id; SCENE_NONE: another device's */
	uint32_t ids;
	struct replay_peak peak[MT_PHASE_COUNT]; /* as it was */
	uint8_t highest;                         /* phase of the highest peak */
	/* The failed request, as if it had succeeded; bytes 0: no request failed. */
	struct {
		uint64_t bytes, changes; /* changes: number of changes at this time before the request */
		int64_t time;
		uint32_t site; /* index */
		uint8_t phase;
		uint64_t alone; /* in use with the request */
		uint64_t all;   /* in use with the request and later changes, if these are more */
	} request;
	/* The changes of the step after the request, filled by later.c. */
	struct {
		enum replay_later_from from;
		double *bytes; /* change of each site; NULL: none */
		double sum;    /* bytes beyond the request */
		uint8_t phase; /* enum mt_phase of these changes */
		uint32_t count;
	} later; /* count: LAYERS: pieces to come */
};

/* The effect of a scenario on a site. */
struct replay_effect {
	float keep[MT_PHASE_COUNT]; /* the part that stays in each phase, from 0 */
	uint8_t used;               /* 0: the site is unchanged, and the other members do not count */
};

struct replay_scenario {
	struct replay_effect *effect; /* by site */
	double extra[MT_PHASE_COUNT]; /* bytes in addition to the sites; below 0: fewer bytes */
};

/* The peaks of a scenario. */
struct replay_result {
	uint64_t peak[MT_PHASE_COUNT];
	uint64_t most;  /* largest peak */
	uint64_t asked; /* in use with the request; 0: no request failed */
	uint8_t phase;  /* phase of `most` */
};

/*
 * Takes the sites of `device` (id). `failed`: the failed request; NULL: none. `category`: its enum mt_category, if its stack
 * has no site. 0 or -MT_E_x. Release after an error, too.
 */
int replay_init(struct replay *replay, const struct scene *scene, int64_t device, const struct oom_failure *failed,
		uint8_t category);
void replay_release(struct replay *replay);

/* Finds the peaks, and the sites' bytes at each. Call after `later` is filled. 0 or -MT_E_x. */
int replay_survey(struct replay *replay);

/* Index of the site with this id; SCENE_NONE: another device's. */
uint32_t replay_index(const struct replay *replay, int64_t id);

/* Adds to the later change of a site, clamped to a possible size. 0 or -MT_E_MEMORY. */
int replay_add_later(struct replay *replay, uint32_t site, double bytes);

/* Scales the later changes to the sum `most`, at least 0. Their sum is above `most`. */
void replay_cap_later(struct replay *replay, double most);

/* Bytes that the site gains after the failed request; below 0: loses. */
double replay_later_of(const struct replay *replay, uint32_t site);

/* One sweep over `count` scenarios, at most REPLAY_SCENARIOS_MAX. 0 or -MT_E_x. */
int replay_sweep(const struct replay *replay, const struct replay_scenario *const *scenario, uint32_t count,
		 struct replay_result *result);

/*
 * Finds the bytes that a step takes after the failed request: a value with room for this request alone would fail at the next one.
 *
 * The evidence is one of two kinds. An earlier step reached the same place, and its later changes are known:
 *
 *     in use      ...........*        the request of step 4 failed here
 *     step 3      ......./~~~*~~~\___   step 3 rose further after the same place, at its own sizes
 *
 * Or the request is in an unfinished series: a cache or a weight for each layer, copies of these, an optimizer's states. The number of
 * layers gives the rest. Without this number, and for an optimizer's states, the result is SERIES.
 *
 * Fills replay->later. `layers`: of the model, 0: unknown; `tags`: of the request's stack. Call after replay_init() with a request,
 * and after own_cache of the sites is set; before replay_survey().
 * Needs the lives of allocations in the database. 0 or -MT_E_x.
 */
int later_find(struct replay *replay, const struct oom_failure *failed, uint64_t layers, uint64_t tags);

#endif
