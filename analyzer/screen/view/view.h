/*
 * view.h - one screenful: the timeline, a place, the flame, an answer, the help.
 *
 * Views lie on a stack. The top view is drawn, and gets requests before the app; the views below rest. A view knows the
 * app, but not curses.
 */
#ifndef MEMANA_TUI_VIEW_H
#define MEMANA_TUI_VIEW_H

#include "screen/draw/canvas.h"
#include "screen/input/request.h"

struct app;
struct view;

/* X(NAME) - every view; its operations are view_<name>_ops in view_<name>.c. */
#define VIEW_LIST(X)                                                                 \
	X(timeline) /* the first screen */                                           \
	X(place)    /* one place: its stack, its life, and the code that freed it */ \
	X(flame)    /* the live set as an icicle of call stacks */                   \
	X(map)      /* segments at the cursor, and their contents */                 \
	X(answer)   /* a table from the worker: diff, retained, SQL */               \
	X(help)

struct view_ops {
	const char *name;
	size_t size; /* size of the view's own struct, which begins with struct view and is zeroed */
	/*
	 * Initializes the view; each view defines its `argument`. Returns 0, or -MT_E_x: the view is not opened. May be
	 * NULL.
	 */
	int (*open)(struct view *view, struct app *app, const void *argument);
	/* Draws the view into all rows of the canvas but the last, the status row. Called under the model's lock. */
	void (*draw)(struct view *view, struct app *app, struct area area);
	/*
	 * Handles a request. Returns 1: done; 0: not handled. Takes the model's lock itself. `input`: the input, for
	 * the mouse.
	 */
	int (*request)(struct view *view, struct app *app, enum request request, const struct input *input);
	/* Line of keys for the status row: "Enter stack  t flame  ? help". */
	const char *hint;
	int searches; /* 1: it answers SEARCH_ON and SEARCH_BACK */
	/* Whether `piece` of the hint, and the text after it, is about a key without effect now. NULL: never. */
	int (*is_idle)(const struct view *view, const char *piece);
	void (*release)(struct view *view); /* may be NULL */
	/* Whether the view waits for an answer, or draws more each time: draw it again soon. NULL: never. */
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
