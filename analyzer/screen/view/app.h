/*
 * app.h - the program behind the screen: what is looked at, and the stack of views. No curses: ui.c shows the canvas
 * and hands in what a person did; tests do the same without a terminal.
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
	struct worker *worker; /* NULL in some tests: what needs it says so */
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
		int64_t time;    /* the cursor's; another one: the cursor is a time alone */
		uint64_t events; /* events of the tape that count then */
	} moment;                /* see app_go_highest */
	char search[FILTER_TEXT_MAX];

	/* Worked out from it by app_tick. */
	struct palette palette;
	struct series *series;
	const struct tape *tape; /* tape of the series */
	struct liveset live;     /* at the cursor */
	int64_t live_time;       /* time that it was worked out for */
	uint64_t live_events;
	uint64_t live_seen; /* events that the model had then */
	unsigned edition;   /* edition of the model that all this is of */
	uint32_t sites;     /* the same */
	int stale;          /* palette, series and live are to be made anew */

	struct view *view; /* the uppermost */
	struct prompt prompt;
	char message[256]; /* for the status row until the next key; "": none */
	int message_is_bad;
	int changed; /* since app_draw: it has something new to draw */
	int quit;

	/* private */
	uint8_t *shown; /* by cell: whether it is part of `live` */
	uint32_t shown_room;
	int64_t placed;    /* the cursor's place while the person has not moved it */
	int begun;         /* the scale is that of the run */
	int held;          /* the run goes on, but the screen does not follow it */
	int device_chosen; /* by the person */
	int named;         /* the worker has named the sites */
	void (*asked)(struct app *app, const char *text);
	char file[APP_FILE_MAX]; /* to be written when the person agrees */
};

/*
 * Opens the timeline. `width` x `height` cells; `colours` and `ascii` as in struct canvas. 0 or -MT_E_MEMORY. Release
 * in any case. Model and worker are the caller's.
 */
int app_init(struct app *app, struct model *model, struct worker *worker, int width, int height, int colours,
	     int ascii);
void app_release(struct app *app);

/*
 * From now on it shows another model, of the same run: what was chosen, marked and zoomed into stays, as times and words
 * do. Only while no other view is on top of the first one, for those know sites by their number.
 */
void app_change(struct app *app, struct model *model, struct worker *worker);

/* Takes what a person did. */
void app_input(struct app *app, const struct input *input);

/*
 * Works on what is not up to date, for at most about `budget` events of the tape. 1: there is more to do, call again
 * soon; 0: the screen shows what is known.
 */
int app_tick(struct app *app, uint64_t budget);

/* Draws everything to the canvas. */
void app_draw(struct app *app);

/* 1: something is going on that the screen follows (reading, the worker, an answer): tick again within 50 ms or so. */
int app_is_waiting(struct app *app);

/* ---- for views ---- */

/* Opens a view on top. 0 or what its open returned, after a message. */
int app_open(struct app *app, const struct view_ops *ops, const void *argument);
void app_close(struct app *app); /* the uppermost; of the last one: the app quits */

/* Under the status row until the next key. */
void app_say(struct app *app, const char *format, ...) MT_PRINTF(2, 3);
/* "x": 2 of 5; or that no `what` has the words that are searched for. */
void app_say_hits(struct app *app, const struct list_hits *hits, const char *what);
void app_say_bad(struct app *app, const char *format, ...) MT_PRINTF(2, 3);

/* The person moves the cursor to `time`: from now on it does not follow the peak. */
void app_go(struct app *app, int64_t time);

/* The same, to the highest moment of a column: several changes may have one time. */
void app_go_highest(struct app *app, const struct series_column *column);

/* The same, to the highest moment of a column of the chart. */
void app_go_column(struct app *app, int column);

/* The most that was held of what is shown, bytes, and when; of the whole device that is the moment of the verdict. */
uint64_t app_peak(const struct app *app, int64_t *time);

/* The most that was in use of it, bytes; 0: that is the moment of app_peak. Both under the model's lock. */
uint64_t app_used_peak(const struct app *app, int64_t *time);

/*
 * The process whose phases and steps are meant: the first one on the device that is in a phase of its own at the cursor,
 * else the first one on the device. Under the model's lock.
 */
uint32_t app_process(const struct app *app);

/* Marks the rows of the live set that have the words of the search in a stack. Under the model's lock. */
void app_find(struct app *app);

/* Colours, device, hidden processes or filter have changed. A new cursor needs no call: the live set follows it. */
void app_stale(struct app *app);

/* Asks for a line; `done` hears it, unless the person gives up. */
void app_ask(struct app *app, const char *question, const char *text, void (*done)(struct app *app, const char *text));

/* The shared part of the app's files: app_move.c (time), app_ask.c (questions), app_goto.c (moments by name),
 * app_status.c (drawing), app_run.c (input, ticks). */

/* A request of the app itself. */
typedef void app_request_fn(struct app *app);

/* [request], NULL: not of this file. */
extern app_request_fn *const app_moves[REQUEST_COUNT];
extern app_request_fn *const app_questions[REQUEST_COUNT];

/* Ask for a moment to go to (@), and for two steps to compare (2). */
app_request_fn app_ask_moment, app_ask_steps;

/* Shows the answer to a question of the worker, or says why there is none. */
void app_ask_worker(struct app *app, const char *title, const struct worker_question *question);

/* "GPU 0", "CPU"; "no device" while none is known. Under the model's lock. */
const char *app_device_name(const struct app *app, uint32_t device, char out[32]);

/* An error as the reports tell it (failures.h), as far as the model knows it. Under the model's lock. */
void app_oom(const struct app *app, const struct model_oom *oom, struct oom_failure *failure);

#endif
