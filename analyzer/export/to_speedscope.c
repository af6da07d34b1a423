/*
 * to_speedscope.c - writes stacks as a file of speedscope: a "sampled" profile for each device, in bytes. The format is
 * in speedscope's file-format-schema.json.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "export_moment.h"
#include "export_names.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "report/answer.h"

struct writer {
	struct export_run *run;
	struct export_out *out;
	struct export_names frames; /* "function\0file\0line" */
	int64_t device;             /* id of the device of the open profile; 0: no profile is open */
	uint32_t profiles;
	uint64_t *weight; /* weights of the open profile's samples */
	size_t weights, room;
};

static int add_weight(struct writer *writer, uint64_t bytes)
{
	if (MT_ARRAY_ROOM(writer->weight, writer->weights, writer->room))
		return -MT_E_MEMORY;
	writer->weight[writer->weights++] = bytes;
	return 0;
}

static void end_profile(struct writer *writer)
{
	uint64_t sum = 0;
	size_t i;

	if (!writer->device)
		return;
	export_text(writer->out, "],\n\"weights\":[");
	for (i = 0; i < writer->weights; i++) {
		export_print(writer->out, "%s%" PRIu64, i ? "," : "", writer->weight[i]);
		sum += writer->weight[i];
	}
	export_print(writer->out, "],\"startValue\":0,\"endValue\":%" PRIu64 "}", sum);
	writer->device = 0;
	writer->weights = 0;
}

static void begin_profile(struct writer *writer, const struct query_device *device)
{
	char name[TEXT_SIZE_MAX], when[128], title[300];

	snprintf(title, sizeof(title), "%s, %s",
		 !strcmp(device->kind, "cpu") ? "CPU" : answer_device(name, device->number, device->kind),
		 export_moment_words(when, sizeof(when), writer->run));
	export_print(writer->out,
		     "%s{\"type\":\"sampled\",\"unit\":\"bytes\",\"name\":", writer->profiles ? ",\n" : "");
	export_json_string(writer->out, title);
	export_text(writer->out, ",\n\"samples\":[");
	writer->device = device->id;
	writer->profiles++;
}

static int put_frame(struct writer *writer, const struct export_frame *frame, int is_first)
{
	char key[EXPORT_NAME_MAX + 4096];
	uint32_t number;
	int size = snprintf(key, sizeof(key), "%s%c%.4000s%c%u", frame->function, 0, frame->file, 0, frame->line);
	int error = export_names_add(&writer->frames, key, (size_t)size, &number, NULL);

	export_print(writer->out, "%s%u", is_first ? "" : ",", number);
	return error;
}

static int put_stack(void *context, const struct export_stack *stack)
{
	struct writer *writer = context;
	size_t i = stack->device_frames;
	int error;

	if (writer->device != stack->device->id) {
		end_profile(writer);
		begin_profile(writer, stack->device);
	}
	export_text(writer->out, writer->weights ? ",[" : "[");
	error = add_weight(writer, stack->bytes);
	for (; i < stack->frames && !error; i++)
		error = put_frame(writer, &stack->frame[i], i == stack->device_frames);
	export_text(writer->out, "]");
	writer->run->written++;
	return error;
}

static void put_frames(struct writer *writer)
{
	const char *function, *file, *line;
	uint32_t i;

	export_text(writer->out, "],\n\"shared\":{\"frames\":[");
	for (i = 0; i < writer->frames.count; i++) {
		function = export_names_get(&writer->frames, i, NULL);
		file = function + strlen(function) + 1;
		line = file + strlen(file) + 1;
		export_text(writer->out, i ? ",\n{\"name\":" : "\n{\"name\":");
		export_json_string(writer->out, function);
		if (*file) {
			export_text(writer->out, ",\"file\":");
			export_json_string(writer->out, file);
		}
		if (strcmp(line, "0"))
			export_print(writer->out, ",\"line\":%s", line);
		export_text(writer->out, "}");
	}
	export_text(writer->out, "\n]}}\n");
}

int to_speedscope(struct export_run *run, struct export_out *out)
{
	struct writer writer = { .run = run, .out = out };
	int error;

	run->what = "stack";
	export_text(out,
		    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"memana@" MEMREC_VERSION
		    "\",\"activeProfileIndex\":0,\"name\":");
	export_json_string(out, run->name);
	export_text(out, ",\n\"profiles\":[\n");
	error = export_stacks(run, put_stack, &writer);
	end_profile(&writer);
	put_frames(&writer);
	export_names_release(&writer.frames);
	free(writer.weight);
	return error || run->written ? error : -MT_E_MISSING;
}
