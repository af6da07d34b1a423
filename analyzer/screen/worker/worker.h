/*
 * clerk.h - answers that take longer than a frame, worked out in a thread while the screen stays alive.
 *
 * When the traces are read, the clerk gives every site its call stack and a better name, the largest first (needs the
 * summary database only). Then it loads the whole run into a temporary database, and from then on it answers questions.
 * A question replaces the one that waits; the one that is worked on is interrupted.
 *
 *   WAITING -> NAMING -> LOADING -> READY      questions are answered when READY, and with why not when FAILED
 *        \__________\__________\-> FAILED
 */
#ifndef MEMANA_TUI_CLERK_H
#define MEMANA_TUI_CLERK_H

#include <stddef.h>
#include <stdint.h>
#include "screen/data/feed.h"
#include "timeline/model.h"

#define CLERK_TEXT_MAX 4096u /* bytes of a question's SQL */
#define CLERK_ROWS_MAX 10000u

/* X(NAME) - what can be asked. */
#define CLERK_QUESTION_LIST(X)                                                                 \
	X(LIFE)     /* the allocations of `site`: when each was born and freed, and by whom */ \
	X(BETWEEN)  /* what was born in (from, to] and is alive at `to`, place by place */     \
	X(RETAINED) /* growth per step and micro-batch, crossings of phases (retained.h) */    \
	X(SQL)      /* `text`; columns called site, time and *_time say what a row is about */

enum clerk_question_kind {
#define CLERK_QUESTION_ENUM(name) CLERK_##name,
	CLERK_QUESTION_LIST(CLERK_QUESTION_ENUM)
#undef CLERK_QUESTION_ENUM
};

struct clerk_question {
	enum clerk_question_kind kind;
	uint32_t site;    /* of the model */
	uint32_t device;  /* of the model; BETWEEN */
	int64_t from, to; /* ns since the run began */
	char text[CLERK_TEXT_MAX];
};

struct clerk_column {
	const char *title;
	int numbers; /* 1: right-aligned */
	int width;   /* columns that its widest text takes */
};

/* A table of words; ready to be shown. */
struct clerk_answer {
	const char *verdict; /* a sentence or two; "": none */
	struct clerk_column *column;
	uint32_t columns;
	const char **text; /* rows * columns of them, never NULL */
	uint32_t *site;    /* of the model, by row; 0: the row is of no site */
	int64_t *time;     /* that a row is about, -1: none */
	uint32_t rows;
	int cut;             /* there are more than CLERK_ROWS_MAX */
	const char *trouble; /* "": none; else why there is no answer */
};

enum clerk_state {
	CLERK_WAITING, /* for the traces to be read */
	CLERK_NAMING,
	CLERK_LOADING,
	CLERK_READY,
	CLERK_FAILED,
};

struct clerk;

/* `paths`, as on the command line, are opened again for the load. They, `model` and `feed` outlive the clerk. */
int clerk_new(struct clerk **clerk, struct model *model, struct feed *feed, char *const *paths, uint32_t count);

/*
 * Interrupts and ends the thread; what was looked up of native frames last is waited for. The call stacks that the sites
 * of the model have are the clerk's: they are taken from the model here, so free it when the screen is gone. NULL is
 * fine.
 */
void clerk_free(struct clerk *clerk);

/* What it does; *percent of it. With CLERK_FAILED, `why` says why (lives as long as the clerk). */
enum clerk_state clerk_state(struct clerk *clerk, int *percent, const char **why);

/* Asks: the question is copied. Its number, from 1. May be asked before CLERK_READY: it waits. */
uint32_t clerk_ask(struct clerk *clerk, const struct clerk_question *question);

/* The answer to question `number`, NULL: not yet, or another one was asked since. The caller's to free with
 * clerk_answer_free. */
struct clerk_answer *clerk_answer(struct clerk *clerk, uint32_t number);
void clerk_answer_free(struct clerk_answer *answer);

/* 1: clerk_answer has the answer to question `number`, or will, if no other is asked; 0: it was fetched, or replaced. */
int clerk_pending(struct clerk *clerk, uint32_t number);

/* For tests: waits until it is ready or failed and no question waits. */
void clerk_wait(struct clerk *clerk);

#endif
