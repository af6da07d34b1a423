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
	struct candidate *candidate;
	size_t candidates;
	int failed;              /* 0 or -MT_E_MEMORY */
	uint64_t *take, *expect; /* a number for each site, zeroed by find_begin */
	uint64_t *node_sum;      /* a number for each node */
	uint64_t *process_sum;   /* a number for each process */
};

void find_release(struct find *find);

/* ---- for detectors ---- */

/* A candidate of the process, without bytes. NULL: out of memory, noted in find->failed. */
struct candidate *find_add(struct find *find, enum mt_cause cause, uint32_t process);

/* Takes the newest candidate back. */
void find_drop(struct find *find);

/* A candidate that stands for the request, with `bytes`. NULL: out of memory. */
struct candidate *find_add_request(struct find *find, enum mt_cause cause, uint64_t bytes);

/* A candidate at a node, of bytes that no site has. NULL: out of memory. */
struct candidate *find_add_at(struct find *find, enum mt_cause cause, uint32_t process, uint32_t node, uint64_t bytes);

/* Sets take and expect of all sites to 0. */
void find_begin(struct find *find);

/* The way that bytes become candidates. */
struct find_how {
	enum mt_cause cause;
	enum reference reference;
	int by_category;   /* 1: a candidate has one category */
	enum mt_need need; /* MT_NEEDS: from the categories of the bytes */
	uint64_t least;    /* smaller groups make no candidate; 0: find_least() */
	void (*done)(struct find *find,
		     struct candidate *candidate); /* can set bytes to 0: no candidate; NULL: nothing to add */
};

/*
 * Makes candidates from find->take[site] bytes, find->expect[site] of them expected. Each process gives the largest branches of its
 * stacks, each at the innermost function with most of the bytes.
 */
void find_groups(struct find *find, const struct find_how *how);

/* Whether the site's bytes count. */
typedef int find_is(const struct scene *scene, const struct scene_site *site);

/* Makes candidates from the resident bytes of these sites on the device of the request. */
void find_sites(struct find *find, const struct find_how *how, find_is *is);

/* Sets find->process_sum to the resident bytes of these sites on the device of the request. find_groups() overwrites the sums. */
void find_sums(struct find *find, find_is *is);

/* The same for one process. */
uint64_t find_sum(const struct scene *scene, uint32_t process, find_is *is);

/* Makes one candidate from all taken bytes of a process. NULL: too few bytes, or out of memory. */
struct candidate *find_whole(struct find *find, const struct find_how *how, uint32_t process);

/* The branch of the process's stacks with most taken bytes; SCENE_NONE: no taken site has a stack. */
uint32_t find_branch(struct find *find, uint32_t process);

/* Fills process, node, category, phase, known, tags, need and number of pieces from the parts. */
void find_describe(struct find *find, struct candidate *candidate);

/* Tags of the nearest telling function and of the frames inside it; tags of callers do not count. */
uint64_t find_own_tags(const struct scene *scene, uint32_t node);

/* Adds a part. */
void find_part(struct find *find, struct candidate *candidate, uint32_t site, uint64_t bytes);

/* Least bytes of a candidate: a sixteenth of the missing bytes or a hundredth of the device, the smaller of the two. */
uint64_t find_least(const struct scene *scene);

/* The next time that the process needs bytes of the site's category. */
enum mt_need find_need(const struct scene *scene, const struct scene_site *site);

/* Whether the site's bytes are on the device of the request. */
static inline int find_is_here(const struct scene *scene, const struct scene_site *site)
{
	return site->device == scene->request.device && site->in_use;
}

/* A forward makes these categories; its backward or its reader frees them. */
static inline int find_is_of_forward(enum mt_category category)
{
	return category == MT_CATEGORY_ACTIVATIONS || category == MT_CATEGORY_RECOMPUTED ||
	       category == MT_CATEGORY_LOGITS || category == MT_CATEGORY_EVALUATION;
}

static inline int find_is_own(const struct scene *scene, const struct scene_site *site)
{
	return site->process == scene->request.process;
}

#endif
