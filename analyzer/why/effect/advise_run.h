/* advise_run.h - the facts of a run that the effects of settings need: the fullest device, the model, micro-batches, and roles of processes. */
#ifndef MEMANA_ADVISE_RUN_H
#define MEMANA_ADVISE_RUN_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/knobs.h"
#include "replay.h"

#define RUN_ROLE(name) (1u << MT_KNOB_PROCESS_##name)

/* The roles that a training process can have. */
#define RUN_TRAINERS (RUN_ROLE(TRAINER) | RUN_ROLE(REFERENCE) | RUN_ROLE(CRITIC) | RUN_ROLE(REWARD))

/* Categories that a micro-batch makes and frees. Bytes of all other categories stay between micro-batches. */
#define RUN_PASSING                                                                                \
	(1u << MT_CATEGORY_ACTIVATIONS | 1u << MT_CATEGORY_RECOMPUTED | 1u << MT_CATEGORY_LOGITS | \
	 1u << MT_CATEGORY_WORKSPACE | 1u << MT_CATEGORY_OTHER)

/* Facts from PyTorch's census; 0: unknown. */
struct advise_model {
	uint64_t words, width, layers;     /* vocabulary; width of a token's vector; layers of the model */
	uint64_t element;                  /* bytes of an element of most weights */
	uint64_t elements;                 /* elements of all weights */
	uint64_t bytes[MT_CATEGORY_COUNT]; /* bytes of weights, gradients and states, by category */
	uint64_t wide[MT_CATEGORY_COUNT];  /* part of `bytes` with elements of 32 bits or more */
	uint64_t untrained;                /* bytes of weights of models without an optimizer, such as a reference */
	uint64_t largest;                  /* bytes of the largest weight */
};

/* The engine with the largest cache: settings of a share mean this engine. Each number of bytes is the largest at one time. */
struct advise_engine {
	int64_t process;  /* id; 0: the run has no engine */
	uint32_t engines; /* number of processes that have an engine */
	uint64_t certain; /* bytes of weights and cache: its share is at least as large */
	uint64_t weights; /* part of `certain` that does not depend on the share */
	uint64_t all;     /* bytes of all memory of the engine */
	int has_cache;    /* 1: the engine has a cache, or requested one */
};

struct advise_run {
	struct db *db;
	const struct scene *scene;    /* not owned */
	const struct oom_failure *it; /* the scene's failed request, which all members are about; NULL: none */
	struct {
		uint64_t tokens, words; /* words: vocabulary; 0: the request is not for logits */
	} asked;                        /* the failed request as tokens x words x bytes of an element */
	char phase[24];                 /* phase of the device's peak or of the request */
	uint64_t total;                 /* bytes of the device; 0: unknown */
	uint64_t peak, slack;           /* bytes at the peak; slack of the allocator in these */
	uint64_t limit; /* bytes in use up to which the request fits; 0: unknown, or no request failed */
	struct advise_model model;
	struct replay replay;
	uint32_t *role;     /* roles of each process of the scene: bits 1 << enum mt_knob_process */
	uint32_t models;    /* roles that some site has */
	uint32_t elsewhere; /* roles with a process of their own: other processes have no bytes of these roles */
	uint32_t phases;    /* phases that ran, bits 1 << enum mt_phase */
	int alone;          /* 1: the run has one GPU; 0: more GPUs, or unknown */
	double layers;      /* number of layers by census or repeated stacks; 0: unknown */
	struct advise_engine engine;
	uint64_t tokens; /* rows of the largest logits; 0: unknown */
	int64_t steps;   /* number of ended steps */
};

/* Loads the run's facts. The scene must outlive the run. Returns 0 or -MT_E_x; -MT_E_MAGIC: no device has bytes. Release after an error, too. */
int advise_run_load(struct advise_run *run, const struct scene *scene);
void advise_run_release(struct advise_run *run);

/* Returns the rows of the site's largest allocation of logits; 0: the site has no logits, or the rows are unknown. */
uint64_t advise_rows(const struct replay_site *site);

/* Whether the site has logits, or passing bytes of about their size: a site can get its category before the census knows the vocabulary. */
int advise_is_logits(const struct advise_run *run, const struct replay_site *site);

/* Returns the rows of the largest logits of these phases (bits 1 << enum mt_phase); 0: unknown. */
uint64_t advise_tokens_in(const struct advise_run *run, uint32_t phases);

/* Returns the site's bytes at the peak of the phase where it has most. */
uint64_t advise_site_held(const struct replay_site *site);

/* ---- owners (advise_whose.c) ---- */

/* Sets engine and own_cache of each site, and the roles of processes without a role. */
void advise_find_engine_sites(struct advise_run *run);

/* Sets replay.site[].roles by the models of the file: by stacks, else by the only model that a process works for. */
void advise_find_models(struct advise_run *run, const struct mt_knob_file *file);

/* Returns the roles that the site's bytes serve: bits 1 << enum mt_knob_process. */
uint32_t advise_roles_of(const struct advise_run *run, const struct replay_site *site);

/* Whether the site can be an engine's pool of unknown category. */
int advise_is_set_aside(const struct replay_site *site);

/* Whether a model with its own cache generates, without an engine, in this process (id); 0: in any process. */
int advise_generates_itself(const struct advise_run *run, int64_t process);

/* Fills run->engine. All other members must be filled before. */
void advise_find_engine(struct advise_run *run);

#endif
