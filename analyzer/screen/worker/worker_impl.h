/* worker_impl.h - shared by the parts of the worker. Private to worker*.c. */
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
	int failed; /* 1: memory ran out in a function below */
};

/* NULL: out of memory. It is an answer: worker_answer_free frees it. */
struct worker_table *worker_table_new(void);

/*
 * Adds a column, before the first row. `numbers` 1: numbers; WORKER_WHOLE: words that must not be cut; WORKER_BRIEF:
 * words that are cut before another column goes; WORKER_PHASE: words that may be a phase's.
 */
void worker_table_column(struct worker_table *table, const char *title, int numbers);
#define WORKER_WHOLE 2
#define WORKER_BRIEF 3
#define WORKER_PHASE 4

/* Adds a row with empty cells, about a site (0: none) and a time (-1: none). Returns 0, or 1: the table is full. */
int worker_table_row(struct worker_table *table, uint32_t site, int64_t time);

/* Fills a cell of the newest row. Words of unknown origin are cleaned for a terminal, and cut at WORKER_CELL_MAX. */
void worker_table_cell(struct worker_table *table, uint32_t column, const char *words);
void worker_table_print(struct worker_table *table, uint32_t column, const char *format, ...) MT_PRINTF(3, 4);
#define WORKER_CELL_MAX 240u /* columns */

void worker_table_verdict(struct worker_table *table, const char *words);
/* Sets a trouble, and drops the rest of the answer. */
void worker_table_trouble(struct worker_table *table, const char *words);

/* After the last row: sets the widths. If memory ran out before, this becomes the trouble. */
void worker_table_finish(struct worker_table *table);

/* ---- the worker ---- */

/* A call stack of the run; several sites have it. */
struct worker_stack {
	int64_t node; /* node of the database */
	struct callstack callstack;
	const char *function, *place; /* texts of the model; NULL: not known yet */
	int loaded;
};

/* Stacks that were loaded together. They never move: model and screen point at them. */
struct worker_stacks {
	struct worker_stack *stack; /* by node */
	size_t count;
	struct stack_tree *tree;    /* has their frames */
	struct worker_stacks *more; /* stacks that were loaded before */
};

struct worker {
	struct model *model;
	struct feed *feed;
	char *const *paths;
	uint32_t count;
	enum source_follow follow; /* how paths are opened; the ring of a running recording is left alone */
	pthread_t thread;
	struct worker_stacks *stacks; /* the newest; NULL: none yet */
	struct db *db;                /* whole run, or part recorded so far; used by the thread alone */
	struct db *early;             /* the facts, for what is retained while `db` is loaded; NULL: none */
	void (*serve_early)(struct worker *
				    worker); /* worker_load() calls this function after each batch; NULL: no question can come */
	struct {
		int64_t at, cost;      /* ns: time of the last load and its length; 0: none yet */
		int64_t until;         /* end of the loaded part of the run */
		uint32_t sites, steps; /* sites and ended steps of the model at the load */
	} loaded;                      /* while the recording runs */
	_Atomic int stop;
	_Atomic uint32_t asked;       /* number of the newest question */
	_Atomic uint32_t working;     /* number of the current question */
	_Atomic uint64_t done, total; /* progress of the state's work */

	pthread_mutex_t lock; /* guards all fields below */
	pthread_cond_t changed;
	enum worker_state state;
	char why[1024];
	int waits; /* 1: `question` waits for its answer */
	struct worker_question question;
	struct worker_answer *answer; /* answer to question `answered`, until it is fetched */
	uint32_t answered;
};

/*
 * Gives sites their stacks, names and evidence, from the summary or, without one, from worker->db (worker_names.c).
 * Returns 0, or -MT_E_x: some sites have none.
 */
int worker_name_sites(struct worker *worker);

/*
 * While the recording runs (worker_follow.c), called repeatedly without the lock: loads the recorded part, if due.
 * Returns 1 when the traces are complete, else 0.
 */
int worker_keep_up(struct worker *worker, int asked);

/* Writes the words for the time of an answer; "": the run is complete. */
void worker_until_words(struct worker *worker, char *out, size_t size);

/* Sets the state, with `done` and `total` 0, and wakes waiting threads. */
void worker_set_state(struct worker *worker, enum worker_state state);

/* Loads the facts of the run into worker->early (worker_load.c), where they can answer. */
void worker_load_early(struct worker *worker);
void worker_drop_early(struct worker *worker);

/* Answers a question that waits, if worker->early can (worker.c). */
void worker_serve_early(struct worker *worker);

/* Loads the run into worker->db (worker_load.c). 0 or -MT_E_x with the reason in `why`. */
int worker_load(struct worker *worker, char *why, size_t why_size);

/*
 * Functions that fill `table` (worker_life.c, worker_lists.c, worker_modules.c, worker_advice.c, worker_map.c,
 * worker_sql.c). They return 0 or -MT_E_x.
 */
typedef int worker_answerer(struct worker *worker, const struct worker_question *question, struct worker_table *table);
worker_answerer worker_answer_life, worker_answer_between, worker_answer_retained, worker_answer_advice,
	worker_answer_map, worker_answer_segment, worker_answer_beside, worker_answer_sql, worker_answer_modules;

/* For all answers (worker_table.c): the model's site with this number of the database; 0: none. */
uint32_t worker_site(struct worker *worker, int64_t number);

/* "backward (rl_step.c:210)"; "no stack was recorded" where both are empty. Returns `out`. */
const char *worker_place(char *out, size_t size, const char *function, const char *place);

/* Called by the database while it works. Returns 1 if worker_free was called. `context`: the worker. */
int worker_stops(void *context);

#endif
