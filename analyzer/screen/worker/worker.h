/*
 * worker.h - a thread for answers that take longer than a frame. The screen stays responsive.
 *
 * When the traces are read, the worker gives every site its call stack and a better name, the largest first (needs the
 * summary database only). Then it loads the whole run into a temporary database, and from then on it answers questions.
 * A new question replaces the waiting one, and interrupts the current one.
 *
 *   WAITING -> NAMING -> LOADING -> READY      questions are answered when READY, and with why not when FAILED
 *        \__________\__________\-> FAILED
 *
 * While the traces are still being written (model->follow), the worker loads the recorded part and names its sites. It
 * loads once at the beginning, then for a question, and for new sites. Loading takes at most a tenth of the time and
 * one processor. Answers tell the time up to which they are complete. The states are then WAITING -> LOADING -> READY,
 * and LOADING again for a question.
 */
#ifndef MEMANA_TUI_WORKER_H
#define MEMANA_TUI_WORKER_H

#include <stddef.h>
#include <stdint.h>
#include "report/frag/frag.h"
#include "screen/data/feed.h"
#include "timeline/model.h"

#define WORKER_TEXT_MAX 4096u /* bytes of a question's SQL */
#define WORKER_ROWS_MAX 10000u

/* X(NAME) - the questions. */
#define WORKER_QUESTION_LIST(X)                                                                         \
	X(LIFE)     /* allocations of `site`: times of birth and death, and the code that freed them */ \
	X(BETWEEN)  /* memory born in (from, to] and alive at `to`, place by place */                   \
	X(RETAINED) /* growth per step and micro-batch, crossings of phases (retained.h) */             \
	X(MODULES)  /* the memory in use at `to` on `device`, module by module */                       \
	X(ADVICE)   /* the settings that would have helped (advice.h) */                                \
	X(MAP)      /* the segments of `device` at `to`: an answer with a map, and no rows */           \
	X(SEGMENT)  /* the live set at `to` in the segment that begins at `address` */                  \
	X(BESIDE)   /* the driver's memory in use at `to` that is in none of them */                    \
	X(SQL)      /* `text`; columns named site, time and *_time are links of a row */

enum worker_question_kind {
#define WORKER_QUESTION_ENUM(name) WORKER_##name,
	WORKER_QUESTION_LIST(WORKER_QUESTION_ENUM)
#undef WORKER_QUESTION_ENUM
};

struct worker_question {
	enum worker_question_kind kind;
	uint32_t site;    /* site of the model */
	uint32_t device;  /* device of the model; BETWEEN, MAP, SEGMENT, BESIDE */
	int64_t from, to; /* ns since the run began */
	int64_t process;  /* process of the database; with `address` */
	uint64_t address;
	char text[WORKER_TEXT_MAX];
};

struct worker_column {
	const char *title;
	int numbers; /* 1: right-aligned */
	int whole;   /* 1: never cut the words: cut words would mean nothing */
	int brief;   /* 1: cut the words before another column goes */
	int phase;   /* 1: words that may be a phase's */
	int width;   /* columns of its widest text */
};

/* A table of words, ready to show. `map` is set only for MAP without trouble. */
struct worker_answer {
	const char *verdict; /* a sentence or two; "": none */
	struct worker_column *column;
	uint32_t columns;
	const char **text; /* rows * columns of them, never NULL */
	uint32_t *site;    /* by row: site of the model; 0: none */
	int64_t *time;     /* by row: time; -1: none */
	uint32_t rows;
	int cut; /* 1: there are more than WORKER_ROWS_MAX rows */
	struct worker_map *map;
	const char *trouble; /* "": none; else the reason for no answer: no verdict, columns, rows or map */
};

/* The segments of a device, as in memana frag. Sites of tensors are the model's, 0: none. */
struct worker_map {
	struct frag_state state;
	const struct segment **sorted; /* state.map.map.count of them, most idle first */
	uint64_t beside, besides;      /* bytes and allocations of BESIDE */
};

enum worker_state {
	WORKER_WAITING, /* waits for the traces to be read */
	WORKER_NAMING,
	WORKER_LOADING,
	WORKER_READY,
	WORKER_FAILED,
};

struct worker;

/*
 * Starts the worker. It opens `paths`, as on the command line, again for the load. `paths`, `model` and `feed` must
 * outlive the worker.
 */
int worker_new(struct worker **worker, struct model *model, struct feed *feed, char *const *paths, uint32_t count);

/*
 * Interrupts and ends the thread; the current look-up of native frames is waited for. The worker owns the call stacks
 * of the model's sites and takes them from the model: free it after the screen. NULL is allowed.
 */
void worker_free(struct worker *worker);

/*
 * The present work of the worker; *percent of it done. With WORKER_FAILED, `why` has the reason. The text lives as long
 * as the worker.
 */
enum worker_state worker_state(struct worker *worker, int *percent, const char **why);

/* Asks a question, and copies it. Returns its number, from 1. Before WORKER_READY the question waits. */
uint32_t worker_ask(struct worker *worker, const struct worker_question *question);

/*
 * The answer to question `number`. NULL: not yet, or another question was asked. The caller frees it with
 * worker_answer_free.
 */
struct worker_answer *worker_answer(struct worker *worker, uint32_t number);
void worker_answer_free(struct worker_answer *answer);

/*
 * Whether an answer to question `number` is there or will come, if no other question is asked. 0: fetched, or replaced.
 */
int worker_pending(struct worker *worker, uint32_t number);

/* For tests: waits until it is ready or failed and no question waits. */
void worker_wait(struct worker *worker);

#endif
