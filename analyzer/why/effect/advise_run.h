/*
 * advise_run.h - facts of a run for the effects of settings: the fullest device, the model, the micro-batches, and the roles of
 * processes.
 */
#ifndef MEMANA_ADVISE_RUN_H
#define MEMANA_ADVISE_RUN_H

#include <stddef.h>
#include <stdint.h>
#include "advise_replay.h"
#include "memtrace/knobs.h"
#include "why/scene/scene.h"

#define RUN_SIZES_MAX 1024u /* most different sizes of weights to remember */

/* Facts of PyTorch's census; 0: unknown. */
struct advise_model {
	uint64_t words, width, layers;              /* vocabulary; width of a token's vector; layers of the model */
	uint64_t element;                           /* bytes of an element of most weights */
	uint64_t elements, trained;                 /* elements of all weights; of the weights that an optimizer has */
	uint64_t weights, gradients, state, master; /* bytes */
	uint64_t wide[4];                           /* part of each of these with elements of 32 bits or more */
	uint64_t untrained;           /* bytes of weights of models without an optimizer: a reference's, a reward's */
	uint64_t largest;             /* bytes of the largest weight */
	uint64_t size[RUN_SIZES_MAX]; /* numbers of elements of weights, ascending */
	uint32_t sizes;
};

/* The roles of a process, bits 1 << enum mt_knob_process. */
struct advise_role {
	int64_t process; /* id */
	uint32_t roles;
};

/* The engine with the largest cache: a share of the GPU is this engine's. Bytes are the largest at once. */
struct advise_engine {
	int64_t process, pid; /* id; 0: no engine */
	uint32_t engines;     /* number of processes with an engine */
	uint64_t certain;     /* weights and cache: a lower bound of its share */
	uint64_t weights;     /* the part of `certain` that no share changes */
	uint64_t all;         /* all bytes of the engine */
	int has_cache, whole; /* has_cache: a cache is resident or requested; whole: the cache is complete */
};

/* The bytes in question, the largest or the requested ones: category and owner. */
struct advise_question {
	uint8_t category; /* enum mt_category */
	int64_t process;  /* id; 0: no process has any */
	int engine;       /* 1: the engine's, in a process with an engine beside its own model */
};

/* The failed request as tokens x words of the vocabulary x bytes of an element. */
struct advise_asked {
	uint64_t tokens, words, element; /* 0: the request is no logits */
	uint64_t earlier;                /* most tokens of an earlier tensor of logits; 0: none */
};

struct advise_run {
	struct db *db;
	const struct scene *scene;    /* the caller's */
	const struct oom_failure *it; /* the failed request of the scene; NULL: none failed, or the process survived it */
	struct advise_asked asked;
	int failed; /* 1: `it` is set, and the other members are of its moment */
	int64_t device, number, step;
	char kind[8], name[128], phase[24]; /* kind and name of the device; phase of its peak or of the request */
	uint64_t total;                     /* bytes of the device; 0: unknown */
	uint64_t used;                      /* largest count of nvidia-smi, for all processes; 0: no sample */
	uint64_t peak, slack;               /* held at the peak; the allocator's idle part */
	uint64_t limit; /* most bytes in use with which the request fits; 0: unknown, or none failed */
	struct advise_model model;
	struct replay replay;
	struct advise_role *role; /* one for each replay.process */
	uint32_t elsewhere;       /* roles with their own process: other processes have no bytes of these roles */
	uint32_t phases;          /* phases that ran, bits 1 << enum mt_phase */
	uint64_t gpus;            /* number of training processes */
	uint64_t world; /* number of GPUs of all machines in the recording; WORLD_MANY: others of unknown number */
	struct advise_engine engine;
	struct advise_question question;
	int came_back;                 /* 1: weights of init went, and came back in the failed phase */
	uint64_t tokens;               /* rows of the largest logits; 0: no logits, or the vocabulary is unknown */
	uint64_t tokens_least;         /* rows of the smallest logits of the same place */
	int64_t steps;                 /* number of ended steps */
	int snapshot, history, stacks; /* 1: made from a PyTorch snapshot; has phases; has stacks */
};

/* The scene must outlive the run. 0 or -MT_E_x; -MT_E_MAGIC: no bytes on any device. Release after an error, too. */
int advise_run_load(struct advise_run *run, const struct scene *scene);
void advise_run_release(struct advise_run *run);

/* Whether a weight of the census has this size, with elements of 2 or 4 bytes. */
int advise_is_weight(const struct advise_model *model, uint64_t bytes);

/*
 * The part of the weights that no optimizer has (a reference's, a reward's), 0 to 1. Without a census, a second set of equal
 * weights is a reference's if a reference computed.
 */
double advise_untrained(const struct advise_run *run);

/* The roles that a site's bytes belong to, bits 1 << enum mt_knob_process. */
uint32_t advise_roles_of(const struct advise_run *run, const struct replay_site *site);

/*
 * Sets replay.site[].roles from the models of struct mt_knob_file, by stacks or by the process's work. 0 or -MT_E_x. In
 * advise_whose.c, like advise_frame_condition().
 */
int advise_find_models(struct advise_run *run, const struct mt_knob_file *file);

/* Whether a site of this model was found. */
int advise_has_model(const struct advise_run *run, enum mt_knob_process process);

/*
 * Writes an SQL condition on a row of `frame`: this function (of any class if the word names none), the file "x.py", or a file
 * below "x/". 0: the word has quotes, or is empty or too long.
 */
int advise_frame_condition(char *sql, size_t size, const char *word);

/* Rows of the site's largest allocation as logits; 0: no logits, or unknown. */
uint64_t advise_rows(const struct advise_run *run, const struct replay_site *site);

/* Bytes of an element of the site's logits; 0: unknown. */
uint64_t advise_element(const struct advise_run *run, const struct replay_site *site);

/* Whether the site has logits, or bytes of their size outside of layers: its category can be older than the census. */
int advise_is_logits(const struct advise_run *run, const struct replay_site *site);

/* Tags of the site's stack (memtrace/why.h); 0: nothing is known of it. */
uint64_t advise_tags(const struct advise_run *run, const struct replay_site *site);

/* Memory that engines have, in whatever process. */
int advise_is_engines(const struct replay_site *site);

/* Whether the bytes can be an engine's pool of unknown category. */
int advise_is_set_aside(const struct replay_site *site);

/* Fills `asked` for a failed request. 0 or -MT_E_x. In advise_asked.c. */
int advise_find_asked(struct advise_run *run);

/* Fills site[].brought and came_back, after all other members of replay. 0 or -MT_E_x. In advise_whose.c. */
int advise_find_brought(struct advise_run *run);

/* Whether the site is of the process and engine in question. */
int advise_is_in_question(const struct advise_run *run, const struct replay_site *site);

/* Fills run->engine, after all other members. In advise_whose.c. */
void advise_find_engine(struct advise_run *run);

/* Bytes in use at a phase's peak, of these roles (1 << enum mt_knob_process) and categories (1 << enum mt_category). */
uint64_t advise_held(const struct advise_run *run, uint32_t roles, uint32_t categories, uint8_t phase);

/* Bytes that the site gains after the failed request; below 0: loses. */
double advise_later_of(const struct advise_run *run, uint32_t site);

/* The same at the moment in question (struct replay_site): figures of the page are of that moment, as memana oom's are. */
uint64_t advise_held_then(const struct advise_run *run, uint32_t categories);

#endif
