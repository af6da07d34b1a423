/*
 * app.h - the program behind the screen: the state that is shown, and the stack of views. No curses: ui.c shows the
 * canvas and passes on input; tests do the same without a terminal.
 */
#ifndef MEMANA_TUI_APP_H
#define MEMANA_TUI_APP_H

#include <stdint.h>
#include "report/failed/failures.h"
#include "screen/data/feed.h"
#include "screen/data/liveset.h"
#include "screen/data/series.h"
#include "screen/draw/canvas.h"
#include "screen/draw/filter.h"
#include "screen/draw/palette.h"
#include "screen/draw/scale.h"
#include "screen/input/list.h"
#include "screen/input/prompt.h"
#include "screen/worker/worker.h"
#include "timeline/model.h"
#include "view.h"

#define APP_NO_TIME INT64_MIN
#define APP_FILE_MAX 1024u

struct app {
	struct model *model;
	struct worker *worker; /* NULL in some tests; functions that need it say so */
	struct canvas canvas;

	/* The shown part; views change it through the functions below. */
	struct scale scale;
	enum palette_by by;
	uint32_t device;
	uint64_t hidden; /* processes, see palette_scope */
	struct filter filter;
	enum liveset_sort sort;
	int64_t mark_a, mark_b; /* APP_NO_TIME: not set */
	struct {
		int64_t time;    /* time of the cursor; if it differs, the cursor is only a time */
		uint64_t events; /* events of the tape that count at this moment */
	} moment;                /* see app_go_highest */
	char search[FILTER_TEXT_MAX];

	/* Computed from these fields by app_tick. */
	struct palette palette;
	struct series *series;
	const struct tape *tape; /* tape of the series */
	struct liveset live;     /* at the cursor */
	int64_t live_time;       /* time of `live` */
	uint64_t live_events;
	uint64_t live_seen; /* events of the model at the time */
	unsigned edition;   /* edition of the model that the fields above are of */
	uint32_t sites;     /* sites of the model at the time */
	int stale;          /* palette, series and live must be made anew */

	struct view *view; /* top view */
	struct prompt prompt;
	char message[256]; /* for the status row until the next key; "": none */
	int message_is_bad;
	int changed; /* 1: there is something new to draw since app_draw */
	int quit;

	/* private */
	uint8_t *shown; /* by cell: 1: part of `live` */
	uint32_t shown_room;
	int64_t placed;    /* place of the cursor, as long as the person has not moved it */
	int begun;         /* the scale has the times of the run */
	int held;          /* the run goes on, and the screen stands still */
	int device_chosen; /* a person chose the device */
	int named;         /* the worker has named the sites */
	void (*asked)(struct app *app, const char *text);
	char file[APP_FILE_MAX]; /* file to overwrite if the person agrees */
};

/*
 * Opens the timeline with `width` x `height` cells; `colours` and `ascii` as in struct canvas. Returns 0 or
 * -MT_E_MEMORY. The caller releases the app in any case, and owns model and worker.
 */
int app_init(struct app *app, struct model *model, struct worker *worker, int width, int height, int colours,
	     int ascii);
void app_release(struct app *app);

/*
 * Shows another model of the same run from now on. The choices, marks and zoom stay: they are times and words. Call it
 * only with the first view on top, because other views know sites by number.
 */
void app_change(struct app *app, struct model *model, struct worker *worker);

/* Handles a person's input. */
void app_input(struct app *app, const struct input *input);

/*
 * Updates the computed fields, with about `budget` events of the tape at most. Returns 1: call again soon; 0: all is up
 * to date.
 */
int app_tick(struct app *app, uint64_t budget);

/* Draws everything to the canvas. */
void app_draw(struct app *app);

/* Whether the screen follows work in progress (reading, the worker, an answer). Tick again within 50 ms or so. */
int app_is_waiting(struct app *app);

/* ---- for views ---- */

/* Opens a view on top. Returns 0; or, after a message, the error of its open. */
int app_open(struct app *app, const struct view_ops *ops, const void *argument);
void app_close(struct app *app); /* closes the top view; the last one: the app quits */

/* Under the status row until the next key. */
void app_say(struct app *app, const char *format, ...) MT_PRINTF(2, 3);
/* Says "x": 2 of 5; or that no `what` has the words of the search. */
void app_say_hits(struct app *app, const struct list_hits *hits, const char *what);
void app_say_bad(struct app *app, const char *format, ...) MT_PRINTF(2, 3);

/* Moves the cursor to `time` for a person. The cursor no longer follows the peak. */
void app_go(struct app *app, int64_t time);

/* As app_go, to the highest moment of a column. Several changes may share one time. */
void app_go_highest(struct app *app, const struct series_column *column);

/* The same, to the highest moment of a column of the chart. */
void app_go_column(struct app *app, int column);

/* The most bytes held of the shown cells, and the time. For the whole device this is the moment of the verdict. */
uint64_t app_peak(const struct app *app, int64_t *time);

/* The most bytes in use of the shown cells; 0: at the moment of app_peak. Call both under the model's lock. */
uint64_t app_used_peak(const struct app *app, int64_t *time);

/*
 * The process whose phases and steps are shown: the first on the device with its own phase at the cursor, else the
 * first on the device. Call it under the model's lock.
 */
uint32_t app_process(const struct app *app);

/* Marks the rows of the live set with the words of the search in a stack. Call it under the model's lock. */
void app_find(struct app *app);

/* Call it when colours, device, hidden processes or filter have changed. A new cursor needs no call. */
void app_stale(struct app *app);

/* Asks the person for a line. `done` gets it, unless the person cancels. */
void app_ask(struct app *app, const char *question, const char *text, void (*done)(struct app *app, const char *text));

/*
 * Shared by the app's files: app_move.c (time), app_ask.c (questions), app_goto.c (moments by name), app_status.c
 * (drawing), app_run.c (input, ticks).
 */

/* A request of the app itself. */
typedef void app_request_fn(struct app *app);

/* By request; NULL: another file handles it. */
extern app_request_fn *const app_moves[REQUEST_COUNT];
extern app_request_fn *const app_questions[REQUEST_COUNT];

/* Ask for a moment to go to (@), and for two steps to compare (2). */
app_request_fn app_ask_moment, app_ask_steps;

/* Shows the worker's answer to a question, or the reason for a missing answer. */
void app_ask_worker(struct app *app, const char *title, const struct worker_question *question);

/* "GPU 0", "CPU"; "no device" while none is known. Under the model's lock. */
const char *app_device_name(const struct app *app, uint32_t device, char out[32]);

/* Describes an error as the reports do (failures.h), with the model's facts. Call it under the model's lock. */
void app_oom(const struct app *app, const struct model_oom *oom, struct oom_failure *failure);

#endif
