/* app_parts.h - what the files of the app share: app_move.c (time), app_ask.c (questions), app_status.c (drawing),
 * app_run.c (input, ticks). */
#ifndef MEMANA_TUI_APP_PARTS_H
#define MEMANA_TUI_APP_PARTS_H

#include "app.h"
#include "report/oom/oom_words.h"

/* A request of the app itself. */
typedef void app_request_fn(struct app *app);

/* [request], NULL: not of this file. */
extern app_request_fn *const app_moves[REQUEST_COUNT];
extern app_request_fn *const app_questions[REQUEST_COUNT];

/* "GPU 0", "CPU"; "no device" while none is known. Under the model's lock. */
const char *app_device_name(const struct app *app, uint32_t device, char out[32]);

/* An error as the reports tell it (oom_words.h), as far as the model knows it. Under the model's lock. */
void app_oom(const struct app *app, const struct model_oom *oom, struct oom_failure *failure);

#endif
