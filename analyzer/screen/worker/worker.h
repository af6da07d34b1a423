/*
 * worker.h - answers that take longer than a frame, worked out in a thread while the screen stays alive.
 *
 * When the traces are read, the worker gives every site its call stack and a better name, the largest first (needs the
 * summary database only). Then it loads the whole run into a temporary database, and from then on it answers questions.
 * A question replaces the one that waits; the one that is worked on is interrupted.
 *
 *   WAITING -> NAMING -> LOADING -> READY      questions are answered when READY, and with why not when FAILED
 *        \__________\__________\-> FAILED
 *
 * While the traces are still being written (model->follow), the worker loads the recorded part and names its sites. It loads once at
 * the beginning, then for a question, and for new sites. Loading takes at most a tenth of the time and one processor. Answers say
 * up to when they know. The states are then WAITING -> LOADING -> READY, and LOADING again for a question.
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

/* X(NAME) - what can be asked. */
#define WORKER_QUESTION_LIST(X)                                                                \
	X(LIFE)     /* the allocations of `site`: when each was born and freed, and by whom */ \
	X(BETWEEN)  /* memory born in (from, to] and alive at `to`, place by place */          \
	X(RETAINED) /* growth per step and micro-batch, crossings of phases (retained.h) */    \
	X(MODULES)  /* the memory in use at `to` on `device`, module by module */              \
	X(ADVICE)   /* the settings that would have helped (advice.h) */                       \
	X(MAP)      /* the segments of `device` at `to`: an answer with a map, and no rows */  \
	X(SEGMENT)  /* the live set at `to` in the segment that begins at `address` */         \
	X(BESIDE)   /* the driver's memory in use at `to` that is in none of them */           \
	X(SQL)      /* `text`; columns called site, time and *_time say what a row is about */

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
	int whole;   /* 1: words that say nothing when they are cut */
	int brief;   /* 1: words that are cut before another column goes */
	int phase;   /* 1: words that are a phase's, or none's */
	int width;   /* columns that its widest text takes */
};

/* A table of words; ready to be shown. `map` is there if and only if a MAP was asked for and there is no trouble. */
struct worker_answer {
	const char *verdict; /* a sentence or two; "": none */
	struct worker_column *column;
	uint32_t columns;
	const char **text; /* rows * columns of them, never NULL */
	uint32_t *site;    /* sites of the model, by row; 0: the row is of no site */
	int64_t *time;     /* times that the rows are about, -1: none */
	uint32_t rows;
	int cut; /* there are more than WORKER_ROWS_MAX */
	struct worker_map *map;
	const char *trouble; /* "": none; else why there is no answer: no verdict, no columns, no rows, no map */
};

/* The segments of a device, as memana frag has them. The sites of its tensors are those of the model, 0: none. */
struct worker_map {
	struct frag_state state;
	const struct segment **sorted; /* state.map.map.count of them, most idle first */
	uint64_t beside, besides;      /* bytes and number of allocations of the driver that BESIDE has */
};

enum worker_state {
	WORKER_WAITING, /* for the traces to be read */
	WORKER_NAMING,
	WORKER_LOADING,
	WORKER_READY,
	WORKER_FAILED,
};

struct worker;

/* `paths`, as on the command line, are opened again for the load. They, `model` and `feed` outlive the worker. */
int worker_new(struct worker **worker, struct model *model, struct feed *feed, char *const *paths, uint32_t count);

/*
 * Interrupts and ends the thread; what was looked up of native frames last is waited for. The call stacks that the sites
 * of the model have are the worker's: they are taken from the model here, so free it when the screen is gone. NULL is
 * fine.
 */
void worker_free(struct worker *worker);

/* Its work now; *percent of it. With WORKER_FAILED, `why` says why (lives as long as the worker). */
enum worker_state worker_state(struct worker *worker, int *percent, const char **why);

/* Asks: the question is copied. Its number, from 1. May be asked before WORKER_READY: it waits. */
uint32_t worker_ask(struct worker *worker, const struct worker_question *question);

/* The answer to question `number`, NULL: not yet, or another one was asked since. The caller's to free with
 * worker_answer_free. */
struct worker_answer *worker_answer(struct worker *worker, uint32_t number);
void worker_answer_free(struct worker_answer *answer);

/* 1: worker_answer has the answer to question `number`, or will, if no other is asked; 0: it was fetched, or replaced. */
int worker_pending(struct worker *worker, uint32_t number);

/* For tests: waits until it is ready or failed and no question waits. */
void worker_wait(struct worker *worker);

#endif
