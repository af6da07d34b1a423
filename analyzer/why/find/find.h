/*
 * find.h - the candidates. Each detector reads the scene and makes candidates of bytes that could be a cause. Detectors are independent.
 *
 *     scene ── detector ──▶ candidates ── measure ──▶ bytes that removal frees ── rank ──▶ one order
 *
 * A detector is a function in a file of its own, and a row of DETECTOR_LIST in why/detect/detectors.h. Its id is an enum mt_cause.
 */
#ifndef MEMANA_WHY_FIND_H
#define MEMANA_WHY_FIND_H

#include <stddef.h>
#include <stdint.h>
#include "why/scene/scene.h"

/* References that give a candidate's expected bytes. X(NAME, word) */
#define REFERENCE_LIST(X)   \
	X(NONE, "none")     \
	X(BEFORE, "before") \
	X(PEER, "peer")     \
	X(MODEL, "model")

enum reference {
#define REFERENCE_ENUM(name, word) REFERENCE_##name,
	REFERENCE_LIST(REFERENCE_ENUM)
#undef REFERENCE_ENUM
};

/* Numbers of a candidate that a page can show. X(NAME, word, 1: bytes) */
#define FACT_LIST(X)                   \
	X(PIECES, "pieces", 0)         \
	X(EACH, "each", 1)             \
	X(STEPS, "steps", 0)           \
	X(TOKENS, "tokens", 0)         \
	X(VOCABULARY, "vocabulary", 0) \
	X(ELEMENT, "element", 1)       \
	X(RANKS, "ranks", 0)           \
	X(EARLIER, "earlier", 1)       \
	X(GPU, "gpu", 1)               \
	X(HOLE, "hole", 1)             \
	X(PROCESSES, "processes", 0)   \
	X(LIMIT, "limit", 1)           \
	X(RATE, "rate", 1)             \
	X(REQUESTED, "requested", 1)

enum fact {
#define FACT_ENUM(name, word, is_bytes) FACT_##name,
	FACT_LIST(FACT_ENUM)
#undef FACT_ENUM
		FACTS
};

/* A candidate's bytes at one site. */
struct candidate_part {
	uint32_t site;
	uint64_t bytes;
};

struct candidate {
	enum mt_cause cause;
	uint32_t process, node; /* process that holds the bytes; nearest common node of its sites, SCENE_NONE: none */
	uint32_t stack;         /* node of the part with most bytes */
	enum mt_category category;
	enum mt_phase phase; /* phase that allocated most of the bytes */
	uint64_t bytes, expected;
	enum reference reference;
	enum mt_need need;
	enum scene_known known;
	int mixed;                   /* 1: of several categories; `category` has the most */
	int doubt;                   /* 1: weak evidence */
	uint64_t tags;               /* tags that all parts have in common */
	int64_t fact[FACTS];         /* 0: the page does not show the fact */
	struct candidate_part *part; /* sorted by site */
	size_t parts;
	/* filled in by measure.c */
	uint64_t freed_low, freed_high;
	int fits;
	uint64_t next_peak; /* largest bytes on the device after removal; 0: unknown */
	enum mt_phase next_phase;
	const struct mt_fix *fix;
	/* filled in by rank.c */
	uint64_t key[12];
	uint32_t within; /* index of a better candidate with mostly the same bytes; SCENE_NONE: no such candidate */
};

struct find {
	const struct scene *scene;
	enum mt_cause cause; /* cause of the running detector */
	struct candidate *candidate;
	size_t candidates;
	struct candidate spare;  /* returned by find_add if memory runs out */
	int failed;              /* 0 or -MT_E_MEMORY */
	uint64_t *take, *expect; /* bytes of each site, zeroed by find_groups */
	uint64_t *node_sum;      /* bytes of each node */
	uint64_t *process_sum;   /* bytes of each process */
};

void find_release(struct find *find);

/* ---- for detectors ---- */

/* Adds a candidate without bytes for a process. Never NULL: without memory, sets find->failed and returns &find->spare. */
struct candidate *find_add(struct find *find, uint32_t process);

/* Adds a candidate for the request, with the requested bytes. */
struct candidate *find_add_request(struct find *find);

/* Adds a candidate at a node, for bytes that belong to no site. */
struct candidate *find_add_at(struct find *find, uint32_t process, uint32_t node, uint64_t bytes);

/* How bytes become candidates. */
struct find_how {
	enum reference reference;
	enum mt_need need; /* MT_NEEDS: taken from the categories of the bytes */
	int by_category;   /* 1: one candidate for each category */
	int whole;         /* 1: all bytes of a process are one candidate */
	uint64_t least;    /* least bytes of a candidate; 0: find_least() */
	uint64_t (*expect)(const struct scene *scene, const struct scene_site *site); /* expected bytes; NULL: 0 */
	void (*done)(struct find *find, struct candidate *candidate); /* completes or drops (bytes 0); NULL: no-op */
};

/* How copies and whole parts of a model become candidates: one for each category, and not needed now. */
#define FIND_OF_MODEL .reference = REFERENCE_MODEL, .need = MT_NEEDS, .by_category = 1, .done = find_say_not_now

/*
 * Makes candidates from find->take[site] bytes; find->expect[site] of these are expected. Each process gives candidates for its largest branches,
 * each at the innermost function with most of the branch's bytes. Sets take and expect of all sites to 0.
 */
void find_groups(struct find *find, const struct find_how *how);

/* Whether a detector takes the site's bytes. */
typedef int find_is(const struct scene *scene, const struct scene_site *site);

/* Makes candidates from the bytes on the request's device of the sites that `is` accepts; NULL: all sites. */
void find_sites(struct find *find, const struct find_how *how, find_is *is);

/* Returns the bytes on the request's device of a process's sites that `is` accepts. */
uint64_t find_sum(const struct scene *scene, uint32_t process, find_is *is);

/* Sets node, stack and tags by the sites with most empty segments, and tensors if asked. find->take must be zero before, and is after. */
void find_takers(struct find *find, struct candidate *candidate, int with_tensors);

/* Fills process, node, category, phase, known, tags, need and number of pieces from the candidate's parts. */
void find_describe(struct find *find, struct candidate *candidate);

/* Tags of the frames from `node` out to the nearest telling function. The callers of this function do not count. */
uint64_t find_own_tags(const struct scene *scene, uint32_t node);

/* Whether the framework's allocator failed to get all weights, or twice as many bytes, in one piece. Forwards do not count: sizes vary. */
int find_asks_for_model(const struct scene *scene);

/* Adds `bytes` bytes of a site to the candidate. Sets find->failed if memory runs out. */
void find_part(struct find *find, struct candidate *candidate, uint32_t site, uint64_t bytes);

/* For find_how.done: turns the need "now" into "later" for copies of a model, except for weights on their way to an engine. */
void find_say_not_now(struct find *find, struct candidate *candidate);

/* Returns the least bytes of a candidate: the smaller of a sixteenth of the missing bytes and a hundredth of the device, but at least 1. */
uint64_t find_least(const struct scene *scene);

/* Returns when the process next needs bytes of the site's category. */
enum mt_need find_need(const struct scene *scene, const struct scene_site *site);

/* Whether the site's bytes are on the device of the request. */
static inline int find_is_here(const struct scene *scene, const struct scene_site *site)
{
	return site->device == scene->request.device && site->in_use;
}

/* Whether the requesting process holds the site's bytes. */
static inline int find_is_own(const struct scene *scene, const struct scene_site *site)
{
	return site->process == scene->request.process;
}

#endif
