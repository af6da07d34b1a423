/* The app's stack of views, and the functions that views use. Actions of a person are in app_run.c. */
#include "app.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

/* ---- the stack ---- */

int app_open(struct app *app, const struct view_ops *ops, const void *argument)
{
	struct view *view = calloc(1, ops->size);
	int error = view ? 0 : -MT_E_MEMORY;

	if (view) {
		view->ops = ops;
		view->below = app->view;
		error = ops->open ? ops->open(view, app, argument) : 0;
	}
	if (!error) {
		app->view = view;
		app->changed = 1;
		return 0;
	}
	if (view && ops->release)
		ops->release(view);
	free(view);
	if (!app->message[0])
		app_say_bad(app, "%s: %s", ops->name, mt_strerror(error));
	return error;
}

void app_close(struct app *app)
{
	struct view *view = app->view;

	app->view = view->below;
	if (view->ops->release)
		view->ops->release(view);
	free(view);
	app->quit |= !app->view;
	app->changed = 1;
}

/* ---- words ---- */

static void say(struct app *app, int is_bad, const char *format, va_list arguments)
{
	vsnprintf(app->message, sizeof(app->message), format, arguments);
	app->message_is_bad = is_bad;
	app->changed = 1;
}

void app_say(struct app *app, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(app, 0, format, arguments);
	va_end(arguments);
}

void app_say_bad(struct app *app, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(app, 1, format, arguments);
	va_end(arguments);
}

void app_say_hits(struct app *app, const struct list_hits *hits, const char *what)
{
	if (hits->count)
		app_say(app, "\"%s\": %u of %u", app->search, hits->number, hits->count);
	else
		app_say(app, "no %s has \"%s\" in it", what, app->search);
}

void app_stale(struct app *app)
{
	app->stale = app->changed = 1;
}

void app_ask(struct app *app, const char *question, const char *text, void (*done)(struct app *app, const char *text))
{
	prompt_open(&app->prompt, question, text);
	app->asked = done;
	app->changed = 1;
}

/* ---- the search ---- */

static int site_has(void *context, uint32_t site)
{
	const struct app *app = context;

	return filter_site_has(app->model, site, app->search);
}

void app_find(struct app *app)
{
	liveset_find(&app->live, app->shown, app->palette.cells, site_has, app);
}
