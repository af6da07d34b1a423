/*
 * advise_run.h - what a run tells of the things that settings move: the device that ran full or came nearest to it, the
 * model, the micro-batches, and which process does what.
 */
#ifndef MEMANA_ADVISE_RUN_H
#define MEMANA_ADVISE_RUN_H

#include <stddef.h>
#include <stdint.h>
#include "advise_replay.h"
#include "memtrace/knobs.h"
#include "report/oom/query_oom.h"

#define RUN_SIZES_MAX 1024u /* different numbers of elements of weights that are remembered */

/* By PyTorch's census; 0: it did not tell. */
struct advise_model {
	uint64_t words, width, layers;              /* of the vocabulary; of a token's vector; of the model */
	uint64_t element;                           /* bytes of a number of most weights */
	uint64_t elements, trained;                 /* numbers in all weights, and in those that an optimizer has */
	uint64_t weights, gradients, state, master; /* bytes */
	uint64_t wide[4];                           /* of each of these: in numbers of 32 bits or more */
	uint64_t untrained; /* bytes of the weights of models of which no optimizer has any: a reference's, a reward's */
	uint64_t largest;   /* bytes of the largest weight */
	uint64_t size[RUN_SIZES_MAX]; /* numbers of elements of weights, ascending */
	uint32_t sizes;
};

/* What a process does, as bits 1 << enum mt_knob_process. */
struct advise_role {
	int64_t process; /* id */
	uint32_t roles;
};

/* The engine with the largest cache: that of which a share of the GPU is. Bytes: the most that it had at once. */
struct advise_engine {
	int64_t process, pid; /* id; 0: there is none */
	uint32_t engines;     /* processes that have an engine */
	uint64_t certain;     /* weights and cache: whatever else is of its share, it is not smaller than that */
	uint64_t weights;     /* of that, what no share makes less */
	uint64_t all;         /* with all else that is the engine's */
	int has_cache, whole; /* a cache is there, or asked for; whole: all of it */
};

/* What is too much: of which there is most, or of which more was asked for; and whose that is. */
struct advise_question {
	uint8_t category; /* enum mt_category */
	int64_t process;  /* id; 0: nobody has any of it */
	int engine;       /* 1: it is an engine's, of those that have one beside a model of their own */
};

struct advise_run {
	struct db *db;
	struct oom oom; /* of the newest failed request; oom.it NULL: none */
	int failed;     /* 1: it was not survived, and the rest is about its device */
	int64_t device, number, step;
	char kind[8], name[128], phase[24]; /* of the device; of its peak, or of the request */
	uint64_t total;                     /* of the device, 0: unknown */
	uint64_t used;                      /* the most that nvidia-smi's count was, of everybody; 0: nobody looked */
	uint64_t peak, slack;               /* held at the peak, of it idle in the allocator */
	uint64_t limit; /* so much may be in use that the request fits; 0: unknown, or none failed */
	struct advise_model model;
	struct replay replay;
	struct advise_role *role; /* of replay.process */
	uint32_t elsewhere;       /* roles with a process of their own: nothing of another one is theirs */
	uint32_t phases;          /* that ran, bits 1 << enum mt_phase */
	uint64_t gpus;            /* processes that train */
	uint64_t world; /* GPUs that the recording shows, of all machines; many: others are there, and nobody tells how many */
	struct advise_engine engine;
	struct advise_question question;
	int came_back;   /* of who asked, in the phase that failed: weights that were there after init, and had gone */
	uint64_t tokens; /* rows of the largest logits; 0: there are none, or the vocabulary is unknown */
	uint64_t tokens_least;         /* and of the smallest of the same place */
	int64_t steps;                 /* of the run, that ended */
	int snapshot, history, stacks; /* made of a PyTorch snapshot; knows phases; has stacks */
};

/* 0, -MT_E_MAGIC: nothing was held on any device, or -MT_E_x. Release in any case. */
int advise_run_load(struct advise_run *run, struct db *db);
void advise_run_release(struct advise_run *run);

/* Whether a number of as many bytes is a weight's, by the census: in numbers of 2 or 4 bytes. */
int advise_is_weight(const struct advise_model *model, uint64_t bytes);

/*
 * How much of the weights no optimizer has: a reference's, a reward's. By the census; where there is none, a second set of the
 * same weights is a reference's if one computed. 0 to 1.
 */
double advise_untrained(const struct advise_run *run);

/* Bits 1 << enum mt_knob_process of who has the bytes of a site. */
uint32_t advise_roles_of(const struct advise_run *run, const struct replay_site *site);

/*
 * Whose models bytes are (struct mt_knob_file's models), into replay.site[].roles: by their stacks, or by what their process
 * does. 0 or -MT_E_x. In advise_whose.c, as are the two below.
 */
int advise_find_models(struct advise_run *run, const struct mt_knob_file *file);

/* One of these was found. */
int advise_has_model(const struct advise_run *run, enum mt_knob_process process);

/*
 * A condition of SQL on a row of `frame`: it is of this function (of any class, where the word names none), of the file "x.py", or
 * of a file below "x/". 0: the word cannot be asked for, or is too long.
 */
int advise_frame_condition(char *sql, size_t size, const char *word);

/* Rows of the site's largest allocation as logits; 0: they are none, or nobody knows. */
uint64_t advise_rows(const struct advise_run *run, const struct replay_site *site);

/* Bytes of a number of them; 0: unknown. */
uint64_t advise_element(const struct advise_run *run, const struct replay_site *site);

/* Logits, or what is as large as they are and not the layers': a place may have been judged before the census came. */
int advise_is_logits(const struct advise_run *run, const struct replay_site *site);

/* Memory that engines have, in whatever process. */
int advise_is_engines(const struct replay_site *site);

/* What an engine has set aside, where nothing tells that it is its cache. */
int advise_is_set_aside(const struct replay_site *site);

/* Fills site[].brought and came_back; all else of replay is there. 0 or -MT_E_x. In advise_whose.c. */
int advise_find_brought(struct advise_run *run);

/* Fills run->question; all else is there. In advise_whose.c. */
void advise_find_question(struct advise_run *run);

/* The site is of who has what is too much. */
int advise_is_in_question(const struct advise_run *run, const struct replay_site *site);

/* Fills run->engine; all else is there. 0 or -MT_E_x. In advise_whose.c. */
int advise_find_engine(struct advise_run *run);

/* In use in a phase at its peak, of whom (1 << enum mt_knob_process), of the categories 1 << enum mt_category. */
uint64_t advise_held(const struct advise_run *run, uint32_t roles, uint32_t categories, uint8_t phase);

/* More of the site by what the step takes after the request that failed; below 0: less. Bytes. */
double advise_later_of(const struct advise_run *run, uint32_t site);

/* What there is most of then, as a category's word; "": nothing is. Static storage. */
const char *advise_largest_category(const struct advise_run *run);

/* The same at the moment in question (struct replay_site): figures of the page are of that moment, as memana oom's are. */
uint64_t advise_held_then(const struct advise_run *run, uint32_t categories);

#endif
