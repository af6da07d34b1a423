/*
 * advise_replay.h - the recorded stream with other sizes: what the peaks would have been.
 *
 * The database has every move of bytes of the run (table timeline), by site. A scenario says for each site how much of its
 * bytes stays; one sweep over the moves sums up many scenarios at once, phase by phase:
 *
 *     moves       +a +b      +c -b        -a -c
 *     phase       forward    backward     optimizer
 *     as it was   a, a+b     a+b+c, a+c   ..         the most of each phase is its peak
 *     scenario    the same with a * keep[a][phase], and so on
 *
 * So a peak that moves to another moment, or to another phase, is found where it is then. Bytes are those in use (in_use of
 * schema.sql): tensors, and memory of the driver that is not cut into tensors; not the allocator's slack.
 */
#ifndef MEMANA_ADVISE_REPLAY_H
#define MEMANA_ADVISE_REPLAY_H

#include <stdint.h>
#include "database/db.h"
#include "memtrace/phase.h"
#include "report/oom/query_oom.h"

#define REPLAY_SCENARIOS_MAX 16u /* in one sweep */

/* What bytes of the device belong to. */
struct replay_site {
	int64_t id, process,
		node; /* ids; node 0: no stack; id 0: the place of the failed request, where it has no site */
	uint8_t phase, category; /* enum mt_phase, enum mt_category; the phase it is born in */
	uint8_t known;           /* 1: the framework, or a rule, says what it is; 0: probably */
	uint8_t engine;          /* 1: the stack goes through an engine's code (advise_run.c) */
	uint8_t own_cache;       /* 1: a cache that the model itself keeps while it generates (advise_run.c) */
	uint8_t draft;           /* 1: of a draft model, in nobody's share of the GPU (advise_whose.c) */
	uint32_t roles; /* bits 1 << enum mt_knob_process of whose model it is; 0: nothing tells (advise_whose.c) */
	uint8_t driver, ignored; /* driver memory; slack, which does not count here */
	char owner[32];
	uint64_t words, element; /* of logits: the vocabulary, bytes of a number; 0: unknown */
	/* of the moves: bytes of one allocation, how many of them */
	uint64_t largest, smallest, births;
	/* at the peak of each phase */
	uint64_t held[MT_PHASE_COUNT];
	uint32_t count[MT_PHASE_COUNT];
	/* at the moment in question: with the request that failed, as if it had been given, or at the device's peak */
	uint64_t then;
	uint32_t then_count;
	uint64_t brought; /* of `then`: states of a model that the phase that failed has brought itself (advise_whose.c) */
};

struct replay_process {
	int64_t id, pid, rank;
	struct replay_span *span; /* by time */
	size_t spans, room;
};

struct replay_peak {
	uint64_t bytes; /* 0: the device did nothing in this phase */
	int64_t time;
	uint64_t change; /* private: which of the changes of the run */
	int64_t process; /* id of who made it the peak; 0: unknown */
};

/* How it is known what a step takes after the request that failed (advise_later.c). X(NAME, word) */
#define REPLAY_LATER_LIST(X)                                                                      \
	X(UNKNOWN, "unknown")     /* no earlier step came past it */                              \
	X(NOTHING, "nothing")     /* earlier steps took nothing more */                           \
	X(STEPS, "earlier-steps") /* as they did */                                               \
	X(ROUND, "earlier-round") /* it is one of a series, which came before for another call */ \
	X(LAYERS, "layers")       /* it is one of a series, of which each layer has its own */    \
	X(SERIES, "series")       /* it is one of a series, and nobody tells how many there will be */

enum replay_later_from {
#define REPLAY_LATER_ENUM(name, word) REPLAY_LATER_##name,
	REPLAY_LATER_LIST(REPLAY_LATER_ENUM)
#undef REPLAY_LATER_ENUM
};

/* What a site has more by then, or less. */
struct replay_later {
	uint32_t site; /* index */
	double bytes;
};

/* A device of the run. */
struct replay {
	struct db *db; /* the caller's */
	int64_t device;
	struct replay_site *site; /* by id, but for the last one, that of the request */
	uint32_t sites, room;
	uint32_t *index; /* private: of the site with an id; UINT32_MAX: of another device */
	uint32_t ids;
	struct replay_process *process;
	size_t processes;
	struct replay_peak peak[MT_PHASE_COUNT]; /* as it was */
	uint64_t highest;                        /* private: the change that has the highest of them */
	/* The request that failed, as if it had been given; bytes 0: there is none. */
	struct {
		uint64_t bytes, changes; /* changes: it came after so many of those at that time */
		int64_t time;
		uint32_t site; /* index */
		uint8_t phase;
		uint64_t alone; /* in use with it, as it was */
		uint64_t all;   /* and with what the step takes after it, if that is more */
	} request;
	/* What the step takes after the request: advise_later.c fills it, where anything tells. */
	struct {
		enum replay_later_from from;
		struct replay_later *change;
		uint32_t changes, changes_room;
		uint8_t phase;  /* enum mt_phase by then */
		uint64_t bytes; /* more than with the request alone */
		uint32_t count,
			of; /* ROUND, LAYERS: so many more like it, of so many; SERIES: of: so many were there */
		int least;  /* 1: at least so many */
	} later;
};

/* What a scenario does to a site. */
struct replay_effect {
	uint64_t cap;               /* of one allocation, bytes; UINT64_MAX: none */
	float keep[MT_PHASE_COUNT]; /* how much of it is there in each phase, 0 .. */
	uint8_t used;               /* 0: nothing happens to it, whatever the rest says */
};

/* Beside the sites: bytes that are there in each phase, below 0: that are not. */
struct replay_extra {
	double bytes[MT_PHASE_COUNT];
};

/* Out: peaks of each scenario. */
struct replay_result {
	uint64_t peak[MT_PHASE_COUNT];
	uint64_t most;  /* of them */
	uint64_t asked; /* in use with the request, where there is one */
	uint8_t phase;  /* of the most */
};

/*
 * Reads sites and spans of `device` (id). `failed`: the request to be given, NULL: none; `category`: what it is (enum mt_category)
 * where its stack has no site. 0 or -MT_E_x. Release in any case.
 */
int replay_init(struct replay *replay, struct db *db, int64_t device, const struct oom_failure *failed,
		uint8_t category);
void replay_release(struct replay *replay);

/* Finds the peaks, and what was there at each. After the request's `later` is filled, if it is. 0 or -MT_E_x. */
int replay_survey(struct replay *replay);

/* Another change of `later`, cut to what a device could have. 0 or -MT_E_MEMORY. */
int replay_add_later(struct replay *replay, uint32_t site, double bytes);

/* One sweep over `count` scenarios, at most REPLAY_SCENARIOS_MAX: effect[scenario][site], extra[scenario]. 0 or -MT_E_x. */
int replay_sweep(const struct replay *replay, const struct replay_effect *const *effect,
		 const struct replay_extra *const *extra, uint32_t count, struct replay_result *result);

/*
 * What a step takes after the request that failed: a value that lets this one pass alone would fail at the next.
 *
 * Three things tell. An earlier step came past the same place, and what it took then is known:
 *
 *     in use      ...........*        here the request of step 4 failed
 *     step 3      ......./~~~*~~~\___   after the same place it rose by so much more, at sizes of its own
 *
 * Or it is one of a series that came before for another call (rounds.h): weights that come back from the host.
 * Or the request is one of a series that has not come to its end: a cache or a weight for each layer, copies of them, an
 * optimizer's states of each weight. As many as there are layers or weights will be asked for; where nobody tells how many that
 * are, it is said to be one of a series.
 *
 * Fills replay->later. `layers`: of the model, 0: nobody says. After replay_init() with a request, and after the sites know whose
 * caches they are (own_cache); before replay_survey().
 * Needs the lives of allocations in the database. 0 or -MT_E_x.
 */
int later_find(struct replay *replay, const struct oom_failure *failed, uint64_t layers);

#endif
