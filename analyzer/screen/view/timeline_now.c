/* The present state of a running recording: the sentences over the chart, in place of the verdict. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/phase.h"
#include "timeline.h"

#define ROOMY 80 /* least columns for the words "No event was lost" */

/* ---- where it is ---- */

static int is_here(uint64_t here, const struct model *model, uint32_t process)
{
	return (here & palette_process_bit(process)) && model->process[process].now.known;
}

static int same_place(const struct model *model, uint32_t one, uint32_t two)
{
	return model->process[one].now.phase == model->process[two].now.phase &&
	       model->process[one].now.step == model->process[two].now.step;
}

static void say_place(struct sentence *sentence, const struct model *model, uint32_t process)
{
	const char *phase = mt_phase_name(model->process[process].now.phase);

	sentence_say(sentence, "%s of step %u", phase, model->process[process].now.step);
}

/* Tells processes in one phase of one step together. */
static void say_places(struct sentence *sentence, const struct app *app)
{
	const struct model *model = app->model;
	uint64_t here = timeline_processes(app), told = 0;
	uint32_t i, j, count, places = 0;
	char name[PALETTE_NAME_MAX];

	for (i = 0; i < model->processes && i < 64 && places < 3; i++) {
		if (!is_here(here & ~told, model, i))
			continue;
		for (j = i, count = 0; j < model->processes && j < 64; j++) {
			if (!is_here(here, model, j) || !same_place(model, i, j))
				continue;
			told |= palette_process_bit(j);
			count++;
		}
		sentence_say(sentence, places++ ? ", " : " in ");
		say_place(sentence, model, i);
		palette_process_name(name, model, i);
		if (count > 1)
			sentence_say(sentence, " (%u processes)", count);
		else if (model->processes > 1)
			sentence_say(sentence, " (%s)", name);
	}
}

/* ---- how full it is ---- */

static void say_bytes(struct sentence *sentence, const struct model_device *device)
{
	uint64_t held = device->now.held, tensors = device->now.tensors;
	char size[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];

	sentence_say(sentence, ".");
	if (tensors || device->kind == MT_DEVICE_CPU) /* otherwise no tensor was reported */
		sentence_say(sentence, " Allocated %s%s", text_bytes(size, tensors),
			     device->kind == MT_DEVICE_CPU ? "" : ",");
	if (device->kind != MT_DEVICE_CPU)
		sentence_say(sentence, tensors ? " held %s" : " Held %s", text_bytes(size, held));
	if (device->total)
		sentence_say(sentence, ", free %s at most",
			     text_bytes(size, device->total > held ? device->total - held : 0));
	else if (device->now.available)
		sentence_say(sentence, ", free on the machine %s", text_bytes(size, device->now.available));
	sentence_say(sentence, "; the highest was %s", text_bytes(size, device->peak));
	sentence_say(sentence, " at %s.", text_time(time, device->peak_time));
}

void timeline_say_now(struct sentence *sentence, const struct app *app)
{
	const struct model *model = app->model;
	const struct model_device *device = app->device < model->devices ? &model->device[app->device] : NULL;
	char time[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s %s", model->follow == MODEL_FOLLOWS ? "Recording:" : "The recording has ended at",
		     text_time(time, model->last_time));
	if (model->follow == MODEL_FOLLOWS)
		say_places(sentence, app);
	if (device)
		say_bytes(sentence, device);
	if (!model->lost && app->canvas.width >= ROOMY)
		sentence_say(sentence, " No event was lost.");
}
