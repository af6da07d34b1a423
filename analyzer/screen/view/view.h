/*
 * view.h - one screenful: the timeline, a place, the flame, an answer, the help.
 *
 * Views lie on a stack; the uppermost is drawn and hears requests before the app does; those below rest. A view knows
 * the app and nothing of curses.
 */
#ifndef MEMANA_TUI_VIEW_H
#define MEMANA_TUI_VIEW_H

#include "screen/draw/canvas.h"
#include "screen/input/request.h"

struct app;
struct view;

/* X(NAME) - every view; its operations are view_<name>_ops in view_<name>.c. */
#define VIEW_LIST(X)                                                         \
	X(timeline) /* the first screen */                                   \
	X(place)    /* one place: stack, life, who freed it */               \
	X(flame)    /* the live set as an icicle of call stacks */           \
	X(map)      /* the segments at the cursor, and what lives in them */ \
	X(answer)   /* a table from the worker: diff, retained, SQL */       \
	X(help)

struct view_ops {
	const char *name;
	size_t size; /* size of the view's own struct, which begins with struct view and is zeroed */
	/* Takes what it was opened for; `argument` is the view's own kind. 0 or -MT_E_x: then it is not opened. May be
	 * NULL. */
	int (*open)(struct view *view, struct app *app, const void *argument);
	/* Draws itself into all rows of the canvas but the last, which is the status row; under the model's lock. */
	void (*draw)(struct view *view, struct app *app, struct area area);
	/* 1: done; 0: not mine. Takes the model's lock itself where it needs it. `input`: what was done, for the mouse. */
	int (*request)(struct view *view, struct app *app, enum request request, const struct input *input);
	/* Line of keys for the status row: "Enter stack  t flame  ? help". */
	const char *hint;
	int searches; /* 1: it answers SEARCH_ON and SEARCH_BACK */
	/* 1: `piece` of the hint, and what follows it, is of a key that has nothing to do now. May be NULL: none is. */
	int (*is_idle)(const struct view *view, const char *piece);
	void (*release)(struct view *view); /* may be NULL */
	/* 1: it waits for an answer, or draws more each time: it is to be drawn again soon. May be NULL: never. */
	int (*waits)(struct view *view);
};

struct view {
	const struct view_ops *ops;
	struct view *below;
};

#define VIEW_OPS(name) extern const struct view_ops view_##name##_ops;
VIEW_LIST(VIEW_OPS)
#undef VIEW_OPS

/* The arguments with which the views are opened. */
struct view_place_argument {
	uint32_t site;
	int slack; /* 1: the allocator's slack in the memory that the site took */
};

struct view_answer_argument {
	const char *title;
	const struct worker_question *question;
};

#endif
