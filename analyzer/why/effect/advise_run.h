/* advise_run.h - facts of a run for the effects of settings: the fullest device, the model, the micro-batches, and the roles of processes. */
#ifndef MEMANA_ADVISE_RUN_H
#define MEMANA_ADVISE_RUN_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/knobs.h"
#include "replay.h"

#define RUN_ROLE(name) (1u << MT_KNOB_PROCESS_##name)

/* A training process works for all of these. */
#define RUN_TRAINERS (RUN_ROLE(TRAINER) | RUN_ROLE(REFERENCE) | RUN_ROLE(CRITIC) | RUN_ROLE(REWARD))

/* Categories that a micro-batch makes and frees. Other categories stay between micro-batches. */
#define RUN_PASSING                                                                                \
	(1u << MT_CATEGORY_ACTIVATIONS | 1u << MT_CATEGORY_RECOMPUTED | 1u << MT_CATEGORY_LOGITS | \
	 1u << MT_CATEGORY_WORKSPACE | 1u << MT_CATEGORY_OTHER)

/* Facts of PyTorch's census; 0: unknown. */
struct advise_model {
	uint64_t words, width, layers;     /* vocabulary; width of a token's vector; layers of the model */
	uint64_t element;                  /* bytes of an element of most weights */
	uint64_t elements;                 /* elements of all weights */
	uint64_t bytes[MT_CATEGORY_COUNT]; /* bytes of weights, gradients and states */
	uint64_t wide[MT_CATEGORY_COUNT];  /* part of these with elements of 32 bits or more */
	uint64_t untrained; /* bytes of weights of models without an optimizer: a reference's, a reward's */
	uint64_t largest;   /* bytes of the largest weight */
};

/* The engine with the largest cache: a share of the GPU is this engine's. Bytes are the largest at once. */
struct advise_engine {
	int64_t process;  /* id; 0: no engine */
	uint32_t engines; /* number of processes with an engine */
	uint64_t certain; /* weights and cache: a lower bound of its share */
	uint64_t weights; /* the part of `certain` that no share changes */
	uint64_t all;     /* all bytes of the engine */
	int has_cache;    /* 1: a cache is resident or requested */
};

struct advise_run {
	struct db *db;
	const struct scene *scene;    /* the caller's */
	const struct oom_failure *it; /* the failed request of the scene; NULL: none failed */
	struct {
		uint64_t tokens, words; /* words of the vocabulary; 0: the request is no logits */
	} asked;                        /* the failed request as tokens x words x bytes of an element */
	int failed;                     /* 1: `it` is set, and the other members are of its moment */
	char phase[24];                 /* phase of the device's peak or of the request */
	uint64_t total;                 /* bytes of the device; 0: unknown */
	uint64_t peak, slack;           /* held at the peak; the allocator's idle part */
	uint64_t limit;                 /* most bytes in use with which the request fits; 0: unknown, or none failed */
	struct advise_model model;
	struct replay replay;
	uint32_t *role;     /* for each process of the scene: bits 1 << enum mt_knob_process */
	uint32_t models;    /* roles of which a site was found */
	uint32_t elsewhere; /* roles with their own process: other processes have no bytes of these roles */
	uint32_t phases;    /* phases that ran, bits 1 << enum mt_phase */
	int alone;          /* 1: the run has one GPU; 0: more, or unknown */
	double layers;      /* number of layers, by the census or by repeated stacks; 0: unknown */
	struct advise_engine engine;
	uint64_t tokens; /* rows of the largest logits; 0: unknown */
	int64_t steps;   /* number of ended steps */
};

/* The scene must outlive the run. 0 or -MT_E_x; -MT_E_MAGIC: no bytes on any device. Release after an error, too. */
int advise_run_load(struct advise_run *run, const struct scene *scene);
void advise_run_release(struct advise_run *run);

/* Rows of the site's largest allocation as logits; 0: no logits, or unknown. */
uint64_t advise_rows(const struct replay_site *site);

/* Whether the site has logits, or bytes of their size outside of layers: its category can be older than the census. */
int advise_is_logits(const struct advise_run *run, const struct replay_site *site);

/* Rows of the largest logits in phases (bits 1 << enum mt_phase); 0: not known. */
uint64_t advise_tokens_in(const struct advise_run *run, uint32_t phases);

/* Bytes of the site at the peak of the phase with most. */
uint64_t advise_site_held(const struct replay_site *site);

/* ---- owners (advise_whose.c) ---- */

/* Sets engine and own_cache of each site. */
void advise_find_engine_sites(struct advise_run *run);

/* Sets replay.site[].roles from the models of struct mt_knob_file, by stacks or by the process's work. */
void advise_find_models(struct advise_run *run, const struct mt_knob_file *file);

/* The roles that a site's bytes belong to, bits 1 << enum mt_knob_process. */
uint32_t advise_roles_of(const struct advise_run *run, const struct replay_site *site);

/* Whether the bytes can be an engine's pool of unknown category. */
int advise_is_set_aside(const struct replay_site *site);

/* Whether a model generates without an engine, with its own cache: in this process (id), or 0: in any. */
int advise_generates_itself(const struct advise_run *run, int64_t process);

/* Fills run->engine, after all other members. */
void advise_find_engine(struct advise_run *run);

#endif
