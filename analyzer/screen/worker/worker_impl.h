/* clerk_impl.h - what the parts of the clerk share. Private to clerk*.c. */
#ifndef MEMANA_TUI_CLERK_IMPL_H
#define MEMANA_TUI_CLERK_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include "clerk.h"
#include "database/db.h"
#include "memtrace/base.h"

/* ---- a table that is being filled (clerk_table.c) ---- */

struct clerk_texts;

struct clerk_table {
	struct clerk_answer answer;
	uint32_t room; /* rows */
	struct clerk_texts *texts;
	int failed; /* out of memory somewhere below */
};

/* NULL: out of memory. It is an answer: clerk_answer_free frees it. */
struct clerk_table *clerk_table_new(void);

/* All columns come before the first row. */
void clerk_table_column(struct clerk_table *table, const char *title, int numbers);

/* A new row, about a site (0: none) and a time (-1: none); its cells are empty. 0, or 1: there are enough, it is cut. */
int clerk_table_row(struct clerk_table *table, uint32_t site, int64_t time);

/* Fills a cell of the newest row. Words of unknown origin are made fit for a terminal and cut at CLERK_CELL_MAX. */
void clerk_table_cell(struct clerk_table *table, uint32_t column, const char *words);
void clerk_table_print(struct clerk_table *table, uint32_t column, const char *format, ...) MT_PRINTF(3, 4);
#define CLERK_CELL_MAX 240u /* columns */

void clerk_table_verdict(struct clerk_table *table, const char *words);
void clerk_table_trouble(struct clerk_table *table, const char *words);

/* After the last row: the widths. 0 or -MT_E_MEMORY, if anything above failed. */
int clerk_table_finish(struct clerk_table *table);

/* ---- the clerk ---- */

/* A call stack of the run; several sites have it. */
struct clerk_stack {
	int64_t node; /* of the database */
	struct callstack callstack;
	const char *function, *place; /* texts of the model; NULL: not known yet */
	int loaded;
};

struct clerk {
	struct model *model;
	struct feed *feed;
	char *const *paths;
	uint32_t count;
	pthread_t thread;
	struct clerk_stack *stack; /* by node; the model points into it */
	size_t stacks;
	struct db *db; /* of the whole run; the thread's own */
	_Atomic int stop;
	_Atomic uint32_t asked;       /* number of the newest question */
	_Atomic uint32_t working;     /* of the one that is worked on */
	_Atomic uint64_t done, total; /* of what the state is about */

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	enum clerk_state state;
	char why[1024];
	int waits; /* `question` is to be answered */
	struct clerk_question question;
	struct clerk_answer *answer; /* to question `answered`, until it is fetched */
	uint32_t answered;
};

/* Gives sites their stacks, names and evidence (clerk_names.c). 0, or -MT_E_x: then some have none. */
int clerk_name_sites(struct clerk *clerk);

/* Loads the run into clerk->db (clerk_load.c). 0 or -MT_E_x with the reason in `why`. */
int clerk_load(struct clerk *clerk, char *why, size_t why_size);

/* Fill `table` (clerk_life.c, clerk_lists.c, clerk_sql.c). 0 or -MT_E_x. */
typedef int clerk_answerer(struct clerk *clerk, const struct clerk_question *question, struct clerk_table *table);
clerk_answerer clerk_answer_life, clerk_answer_between, clerk_answer_retained, clerk_answer_sql;

/* Of all answers (clerk_table.c): the site of the model with the number that the database gives it; 0: the model has none. */
uint32_t clerk_site(struct clerk *clerk, int64_t number);

/* "backward (rl_step.c:210)"; "no stack was recorded" where both are empty. Returns `out`. */
const char *clerk_place(char *out, size_t size, const char *function, const char *place);

/* Asked by the database while it works: 1: clerk_free was called. `context`: the clerk. */
int clerk_stops(void *context);

#endif
