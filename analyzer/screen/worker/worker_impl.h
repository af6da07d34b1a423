/* worker_impl.h - what the parts of the worker share. Private to worker*.c. */
#ifndef MEMANA_TUI_WORKER_IMPL_H
#define MEMANA_TUI_WORKER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include "database/db.h"
#include "memtrace/base.h"
#include "worker.h"

/* ---- a table that is being filled (worker_table.c) ---- */

struct worker_texts;

struct worker_table {
	struct worker_answer answer;
	uint32_t room; /* rows */
	struct worker_texts *texts;
	int failed; /* out of memory somewhere below */
};

/* NULL: out of memory. It is an answer: worker_answer_free frees it. */
struct worker_table *worker_table_new(void);

/* All columns come before the first row. `numbers`: 1: it has numbers; WORKER_WHOLE: words that say nothing when cut;
 * WORKER_BRIEF: words that are cut before another column goes; WORKER_PHASE: words that may be a phase's. */
void worker_table_column(struct worker_table *table, const char *title, int numbers);
#define WORKER_WHOLE 2
#define WORKER_BRIEF 3
#define WORKER_PHASE 4

/* A new row, about a site (0: none) and a time (-1: none); its cells are empty. 0, or 1: there are enough, it is cut. */
int worker_table_row(struct worker_table *table, uint32_t site, int64_t time);

/* Fills a cell of the newest row. Words of unknown origin are made fit for a terminal and cut at WORKER_CELL_MAX. */
void worker_table_cell(struct worker_table *table, uint32_t column, const char *words);
void worker_table_print(struct worker_table *table, uint32_t column, const char *format, ...) MT_PRINTF(3, 4);
#define WORKER_CELL_MAX 240u /* columns */

void worker_table_verdict(struct worker_table *table, const char *words);
/* Drops what the answer has: an answer with a trouble has nothing else. */
void worker_table_trouble(struct worker_table *table, const char *words);

/* After the last row: the widths. Out of memory in anything above becomes the trouble. */
void worker_table_finish(struct worker_table *table);

/* Releases the map of an answer; NULL is fine (worker_map.c). */
void worker_map_free(struct worker_map *map);

/* ---- the worker ---- */

/* A call stack of the run; several sites have it. */
struct worker_stack {
	int64_t node; /* node of the database */
	struct callstack callstack;
	const char *function, *place; /* texts of the model; NULL: not known yet */
	int loaded;
};

/* Those that were met in one go. They stay where they are: the model points at them, and the screen may, too. */
struct worker_stacks {
	struct worker_stack *stack; /* by node */
	size_t count;
	struct stack_tree *tree;    /* has their frames */
	struct worker_stacks *more; /* met before */
};

struct worker {
	struct model *model;
	struct feed *feed;
	char *const *paths;
	uint32_t count;
	enum source_follow follow; /* how they are opened: beside a recording that runs its ring is left alone */
	pthread_t thread;
	struct worker_stacks *stacks; /* the newest; NULL: none yet */
	struct db *db;                /* database of the whole run, or of the part recorded by then; the thread's own */
	struct {
		int64_t at, cost;      /* ns: when it was loaded last, and how long that took; 0: never */
		int64_t until;         /* end of the part of the run in it */
		uint32_t sites, steps; /* sites and ends of steps that the model had */
	} loaded;                      /* while the recording runs */
	_Atomic int stop;
	_Atomic uint32_t asked;       /* number of the newest question */
	_Atomic uint32_t working;     /* number of the one that is worked on */
	_Atomic uint64_t done, total; /* progress of the state's work */

	pthread_mutex_t lock; /* guards all that follows */
	pthread_cond_t changed;
	enum worker_state state;
	char why[1024];
	int waits; /* `question` is to be answered */
	struct worker_question question;
	struct worker_answer *answer; /* to question `answered`, until it is fetched */
	uint32_t answered;
};

/*
 * Gives sites their stacks, names and evidence, from the summary or, where there is none, from worker->db (worker_names.c).
 * 0, or -MT_E_x: then some have none.
 */
int worker_name_sites(struct worker *worker);

/*
 * While the recording runs (worker_follow.c), called again and again without the lock: loads what is recorded by now, where
 * that is due. 1: the traces are whole; 0.
 */
int worker_keep_up(struct worker *worker, int asked);

/* The words of an answer for the time it is about; "": the run is whole. */
void worker_until_words(struct worker *worker, char *out, size_t size);

/* With `done` and `total` at 0; wakes who waits for it. */
void worker_set_state(struct worker *worker, enum worker_state state);

/* Loads the run into worker->db (worker_load.c). 0 or -MT_E_x with the reason in `why`. */
int worker_load(struct worker *worker, char *why, size_t why_size);

/* Fill `table` (worker_life.c, worker_lists.c, worker_modules.c, worker_advice.c, worker_map.c, worker_sql.c). 0 or -MT_E_x. */
typedef int worker_answerer(struct worker *worker, const struct worker_question *question, struct worker_table *table);
worker_answerer worker_answer_life, worker_answer_between, worker_answer_retained, worker_answer_advice,
	worker_answer_map, worker_answer_segment, worker_answer_beside, worker_answer_sql, worker_answer_modules;

/* For all answers (worker_table.c): the site of the model with the number that the database gives it; 0: the model
 * has none. */
uint32_t worker_site(struct worker *worker, int64_t number);

/* "backward (rl_step.c:210)"; "no stack was recorded" where both are empty. Returns `out`. */
const char *worker_place(char *out, size_t size, const char *function, const char *place);

/* Asked by the database while it works: 1: worker_free was called. `context`: the worker. */
int worker_stops(void *context);

#endif
