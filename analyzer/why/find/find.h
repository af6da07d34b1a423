/*
 * find.h - the detectors: each detector reads the scene and makes candidates of bytes that could be a cause. Detectors are independent.
 *
 *     scene ── detector ──▶ candidates ── measure ──▶ bytes that removal frees ── rank ──▶ one order
 *
 * A detector is a function in its own file, and a row of DETECTOR_LIST in why/detect/detectors.h. Its id is an enum mt_cause.
 */
#ifndef MEMANA_WHY_FIND_H
#define MEMANA_WHY_FIND_H

#include <stddef.h>
#include <stdint.h>
#include "why/scene/scene.h"

/* Sources of the expected bytes. X(NAME, word) */
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

/* Numbers of a candidate for the page. X(NAME, word, 1: bytes) */
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

/* A candidate's bytes of one site. */
struct candidate_part {
	uint32_t site;
	uint64_t bytes;
};

struct candidate {
	enum mt_cause cause;
	uint32_t process, node; /* holder of the bytes; node: nearest common node of its sites, SCENE_NONE: none */
	uint32_t stack;         /* node of the largest part */
	enum mt_category category;
	enum mt_phase phase; /* phase that allocated most of the bytes */
	uint64_t bytes, expected;
	enum reference reference;
	enum mt_need need;
	enum scene_known known;
	int doubt;                   /* 1: weak evidence */
	uint64_t tags;               /* tags that all parts have */
	int64_t fact[FACTS];         /* 0: not on the page */
	struct candidate_part *part; /* by site */
	size_t parts;
	/* filled in by measure.c */
	uint64_t freed_low, freed_high;
	int fits;
	uint64_t next_peak; /* largest bytes on the device after removal; 0: unknown */
	enum mt_phase next_phase;
	const struct mt_fix *fix;
	/* filled in by rank.c */
	uint64_t key[12];
	uint32_t within; /* index of a better candidate with mostly the same bytes; SCENE_NONE: none */
};

struct find {
	const struct scene *scene;
	enum mt_cause cause; /* the running detector's */
	struct candidate *candidate;
	size_t candidates;
	struct candidate spare;  /* for a candidate without memory */
	int failed;              /* 0 or -MT_E_MEMORY */
	uint64_t *take, *expect; /* a number for each site, zeroed by find_groups */
	uint64_t *node_sum;      /* a number for each node */
	uint64_t *process_sum;   /* a number for each process */
};

void find_release(struct find *find);

/* ---- for detectors ---- */

/* A candidate of the process, without bytes. Without memory find->failed is set, and the candidate is find->spare. */
struct candidate *find_add(struct find *find, uint32_t process);

/* A candidate that stands for the request, with its bytes. */
struct candidate *find_add_request(struct find *find);

/* A candidate at a node, of bytes that no site has. */
struct candidate *find_add_at(struct find *find, uint32_t process, uint32_t node, uint64_t bytes);

/* The way that bytes become candidates. */
struct find_how {
	enum reference reference;
	enum mt_need need; /* MT_NEEDS: from the categories of the bytes */
	int by_category;   /* 1: a candidate has one category */
	int whole;         /* 1: one candidate of all bytes of a process */
	uint64_t least;    /* smaller groups make no candidate; 0: find_least() */
	uint64_t (*expect)(const struct scene *scene, const struct scene_site *site); /* NULL: no bytes are expected */
	void (*done)(struct find *find, struct candidate *candidate); /* NULL: nothing to add; bytes 0: no candidate */
};

/*
 * Makes candidates from find->take[site] bytes, find->expect[site] of them expected. Each process gives the largest branches of its
 * stacks, each at the innermost function with most of the bytes. Then take and expect of all sites are 0.
 */
void find_groups(struct find *find, const struct find_how *how);

/* Whether the site's bytes count. */
typedef int find_is(const struct scene *scene, const struct scene_site *site);

/* Makes candidates from the resident bytes of these sites on the device of the request. */
void find_sites(struct find *find, const struct find_how *how, find_is *is);

/* Resident bytes of these sites of a process on the device of the request. */
uint64_t find_sum(const struct scene *scene, uint32_t process, find_is *is);

/* Sets node, stack and tags from the takers of the process's empty segments, and of its tensors. No byte may be taken. */
void find_takers(struct find *find, struct candidate *candidate, int with_tensors);

/* Fills process, node, category, phase, known, tags, need and number of pieces from the parts. */
void find_describe(struct find *find, struct candidate *candidate);

/* Tags of the nearest telling function and of the frames inside it; tags of callers do not count. */
uint64_t find_own_tags(const struct scene *scene, uint32_t node);

/* Whether the bytes are equal, but for the padding of buckets and the adapters of a model. */
int find_is_near(uint64_t bytes, uint64_t other);

/* Whether the framework's allocator is asked for a whole model in one piece: the bytes of all weights, or double. A forward makes tensors of any size. */
int find_asks_for_model(const struct scene *scene);

/* Adds a part. */
void find_part(struct find *find, struct candidate *candidate, uint32_t site, uint64_t bytes);

/* For find_how.done: a model computes with one set of bytes, one layer and no state dict at a time, and an engine with all it gets. */
void find_say_not_now(struct find *find, struct candidate *candidate);

/* Least bytes of a candidate: a sixteenth of the missing bytes or a hundredth of the device, the smaller of the two. */
uint64_t find_least(const struct scene *scene);

/* The next time that the process needs bytes of the site's category. */
enum mt_need find_need(const struct scene *scene, const struct scene_site *site);

/* Whether the site's bytes are on the device of the request. */
static inline int find_is_here(const struct scene *scene, const struct scene_site *site)
{
	return site->device == scene->request.device && site->in_use;
}

/* Whether the site's bytes are of the requesting process. */
static inline int find_is_own(const struct scene *scene, const struct scene_site *site)
{
	return site->process == scene->request.process;
}

#endif
