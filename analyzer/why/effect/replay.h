/*
 * replay.h - the recorded stream with other sizes, and its peaks.
 *
 * The database has each move of bytes of the run (table timeline), by site. A scenario gives the part of each site's bytes that stays. One sweep over
 * the moves sums up many scenarios at once, phase by phase:
 *
 *     moves       +a +b      +c -b        -a -c
 *     phase       forward    backward     optimizer
 *     as it was   a, a+b     a+b+c, a+c   ..         the largest sum of a phase is its peak
 *     scenario    the same sums, with a * keep[a][phase], and likewise for b and c
 *
 * The sweep also finds a peak that moves to another moment or phase. All bytes are bytes in use (in_use of schema.sql): tensors, and driver memory
 * that is not cut into tensors. The slack of the allocator is not included.
 */
#ifndef MEMANA_REPLAY_H
#define MEMANA_REPLAY_H

#include <stdint.h>
#include "why/scene/scene.h"

#define REPLAY_SCENARIOS_MAX 16u /* largest number of scenarios in one sweep */

/* An owner of bytes on the device: a site of the scene, with its bytes over the whole run. */
struct replay_site {
	int64_t id, process;     /* ids; id 0: the failed request, whose stack has no site */
	uint32_t node;           /* index in the scene; SCENE_NONE: no stack */
	uint32_t alike;          /* index of the first site with this stack in other modules: the layers of a model */
	uint8_t phase, category; /* phase of birth (enum mt_phase), enum mt_category */
	uint8_t known;           /* 1: the framework or a rule gives the category; 0: probable */
	uint8_t engine;          /* 1: an engine's code or library holds the bytes (advise_whose.c) */
	uint8_t own_cache;       /* 1: cache of a model that generates without an engine (advise_whose.c) */
	uint8_t driver, ignored; /* 1: driver memory; 1: bytes that do not count as in use */
	uint32_t roles;          /* roles of its model, bits 1 << enum mt_knob_process; 0: unknown (advise_whose.c) */
	uint64_t tags;           /* tags of its stack (memtrace/why.h) */
	uint64_t words, element; /* for logits: vocabulary, and bytes of an element; 0: unknown (advise_run.c) */
	uint64_t largest, smallest; /* bytes of the largest and smallest allocation */
	uint64_t births;            /* number of allocations */
	/* at the peak of each phase */
	uint64_t held[MT_PHASE_COUNT];
	uint32_t count[MT_PHASE_COUNT];
	uint32_t many; /* allocations of all alike sites at a peak, in the phase with most of them */
	/* at the moment: when the failed request had succeeded, or at the device's peak */
	uint64_t then;
	uint32_t then_count;
};

struct replay_peak {
	uint64_t bytes;  /* 0: no bytes moved in this phase */
	uint64_t change; /* private: number of the change in the run */
};

/* The evidence for the bytes that a step takes after the failed request (later.c). X(NAME, word) */
#define REPLAY_LATER_LIST(X)                                                                   \
	X(UNKNOWN, "unknown")     /* no earlier step had this call */                          \
	X(NOTHING, "nothing")     /* earlier steps took no more bytes */                       \
	X(STEPS, "earlier-steps") /* the changes that earlier steps made */                    \
	X(LAYERS, "layers")       /* the request is in a series with a piece for each layer */ \
	X(SERIES, "series")       /* the request is in a series of unknown length */

enum replay_later_from {
#define REPLAY_LATER_ENUM(name, word) REPLAY_LATER_##name,
	REPLAY_LATER_LIST(REPLAY_LATER_ENUM)
#undef REPLAY_LATER_ENUM
};

/* The recorded moves of one device. */
struct replay {
	const struct scene *scene; /* not owned */
	int64_t device;
	struct replay_site *site; /* in the order of scene.site; the request's own site is the last one */
	uint32_t sites;
	uint32_t *index; /* private: index of the site by id; SCENE_NONE: on another device */
	uint32_t ids;
	struct replay_peak peak[MT_PHASE_COUNT]; /* recorded peaks */
	uint8_t highest;                         /* phase of the highest peak */
	/* The failed request as if it had succeeded; bytes 0: no request failed. */
	struct {
		uint64_t bytes, changes; /* changes: number of changes at `time` before the request */
		int64_t time;
		uint32_t site; /* index */
		uint8_t phase;
		uint64_t alone; /* bytes in use with the request */
		uint64_t all;   /* the same with the later changes, if these add bytes */
	} request;
	/* The changes of the step after the request, filled by later.c. */
	struct {
		enum replay_later_from from;
		double *bytes; /* change of each site; NULL: no changes */
		double sum;    /* sum of the changes */
		uint8_t phase; /* phase of these changes, an enum mt_phase */
		uint32_t count;
	} later; /* count: number of pieces to come, for LAYERS */
};

/* The effect of a scenario on one site. */
struct replay_effect {
	float keep[MT_PHASE_COUNT]; /* part of the bytes that stays in each phase */
	uint8_t used;               /* 0: the site is unchanged; `keep` is not read */
};

struct replay_scenario {
	struct replay_effect *effect; /* one for each site */
	double extra[MT_PHASE_COUNT]; /* bytes of no site that are added; below 0: removed */
};

/* The peaks of a scenario. */
struct replay_result {
	uint64_t peak[MT_PHASE_COUNT];
	uint64_t most;  /* the largest peak */
	uint64_t asked; /* bytes in use with the failed request; 0: no request failed */
	uint8_t phase;  /* phase of `most` */
};

/*
 * Takes the sites of `device` (id) and the failed request; NULL: no request failed. `category` (enum mt_category) is used if its stack has no site.
 * Returns 0 or -MT_E_x. Release after an error, too.
 */
int replay_init(struct replay *replay, const struct scene *scene, int64_t device, const struct oom_failure *failed,
		uint8_t category);
void replay_release(struct replay *replay);

/* Finds the peaks and the bytes of all sites at each peak. Call after `later` is filled. Returns 0 or -MT_E_x. */
int replay_survey(struct replay *replay);

/* Returns the index of the site with this id; SCENE_NONE: it is on another device. */
uint32_t replay_index(const struct replay *replay, int64_t id);

/* Adds bytes, clamped to a possible size, to the later change of a site. Returns 0 or -MT_E_MEMORY. */
int replay_add_later(struct replay *replay, uint32_t site, double bytes);

/* Scales the later changes so that their sum is `most`, at least 0. The sum must be above `most` before. */
void replay_cap_later(struct replay *replay, double most);

/* Returns the bytes that the site gains after the failed request; below 0: it loses bytes. */
double replay_later_of(const struct replay *replay, uint32_t site);

/* Sweeps `count` scenarios over the moves, at most REPLAY_SCENARIOS_MAX, and fills `result`. Returns 0 or -MT_E_x. */
int replay_sweep(const struct replay *replay, const struct replay_scenario *const *scenario, uint32_t count,
		 struct replay_result *result);

/*
 * Finds the bytes that a step takes after the failed request: a setting with room for this request alone would fail at the next one.
 *
 * There are two kinds of evidence. An earlier step reached the same place, and the changes after it are known:
 *
 *     in use      ...........*        the request of step 4 failed here
 *     step 3      ......./~~~*~~~\___   step 3 rose further after the same place, at its own sizes
 *
 * Or the request is in an unfinished series: caches or weights, copies of these, or an optimizer's states. The number of layers gives the rest of the
 * series. Without this number, and for an optimizer's states, the result is SERIES.
 *
 * Fills replay->later. `layers`: layers of the model, 0: unknown. `tags`: tags of the request's stack. Call after replay_init() with a request and
 * after own_cache of all sites is set, and before replay_survey(). The database must have the lives of allocations. Returns 0 or -MT_E_x.
 */
int later_find(struct replay *replay, const struct oom_failure *failed, uint64_t layers, uint64_t tags);

#endif
