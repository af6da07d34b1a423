/* What `memana top` says first: the peak in a sentence or three. */
#include <string.h>
#include "answer.h"
#include "callstack.h"
#include "top_report.h"

void top_say_phase(struct sentence *sentence, const struct top_report *report, const char *phase, int64_t step)
{
	if (!strcmp(phase, "other"))
		sentence_say(sentence, "outside any known phase");
	else
		sentence_say(sentence, "in %s", phase);
	if (report->steps)
		sentence_say(sentence, " of step %lld", (long long)step);
}

void top_say_frame(struct sentence *sentence, const struct callstack_frame *frame)
{
	char place[512], function[512];

	callstack_place(place, sizeof(place), frame);
	if (*frame->function) {
		sentence_say_clean(sentence, callstack_function(function, sizeof(function), frame));
		sentence_say(sentence, " (");
		sentence_say_clean(sentence, place);
		sentence_say(sentence, ")");
	} else {
		sentence_say_clean(sentence, place);
	}
}

/* ---- the verdict ---- */

struct verdict {
	const struct top_report *report;
	struct sentence sentence;
};

/* ", most of it by ffn_forward (rl_step.c:95)" */
static void say_largest_place(struct sentence *sentence, const struct top_report *report, const struct query_culprit *row)
{
	const struct place *place;
	size_t i;

	for (i = 0; i < report->places.count; i++) {
		place = &report->places.place[i];
		if (strcmp(place->phase, row->phase) || strcmp(place->category, row->category))
			continue;
		if (place->user == CALLSTACK_NO_FRAME)
			return;
		sentence_say(sentence, "%s", place->bytes == row->bytes ? ", by " :
			    place->bytes > row->bytes / 2 ? ", most of it by " : ", the largest part by ");
		top_say_frame(sentence, &place->stack->frame[place->user]);
		return;
	}
}

static int say_culprit(void *context, const struct query_culprit *row)
{
	struct verdict *verdict = context;
	struct sentence *sentence = &verdict->sentence;
	char share[TEXT_SIZE_MAX];
	int is_slack = !strcmp(row->category, "allocator slack"),
	    is_all = row->bytes == verdict->report->device->peak.bytes;

	sentence_say(sentence, " %s of it is ",
	    is_all ? "All" : text_percent(share, row->bytes, verdict->report->device->peak.bytes));
	sentence_say(sentence, "%s", strcmp(row->category, "other") ? row->category : "memory of no known purpose");
	sentence_say(sentence, strcmp(row->phase, "other") ? ", %s in %s" : ", %s outside any known phase",
	    is_slack ? "taken from the driver" : "allocated", row->phase);
	say_largest_place(sentence, verdict->report, row);
	sentence_say(sentence, ".");
	return 0;
}

static void say_slack(struct sentence *sentence, const struct query_device *device)
{
	char size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];

	if (device->peak.slack < device->peak.bytes / 10 || !device->peak.slack)
		return;
	sentence_say(sentence, " %s (%s) is slack: the allocator holds it, no tensor uses it.",
	    text_bytes(size, device->peak.slack), text_percent(share, device->peak.slack, device->peak.bytes));
}

static void print_device_name(const struct top_report *report)
{
	const struct query_device *device = report->device;
	char name[128];

	text_style(report->text, TEXT_HEAD);
	text_fit(name, sizeof(name), device->name, 60, 0);
	if (!strcmp(device->kind, "cpu"))
		text_print(report->text, "CPU tensors\n");
	else
		text_print(report->text, "GPU %lld  %s\n", (long long)device->number, name);
	text_style(report->text, TEXT_PLAIN);
}

/* "Peak " */
static const char *moment_begins(const struct top_report *report)
{
	static const char *const words[] = { [MOMENT_PEAK] = "Peak ", [MOMENT_STEP] = "Peak of the step: ",
					     [MOMENT_OOM] = "When memory ran out: ", [MOMENT_TIME] = "Then: " };

	return words[report->options->moment.kind];
}

int top_print_verdict(const struct top_report *report)
{
	const struct query_device *device = report->device;
	struct verdict verdict = { .report = report };
	struct sentence *sentence = &verdict.sentence;
	char size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];
	char lost[64], events[TEXT_SIZE_MAX];
	int error;

	print_device_name(report);
	if (report->lost)
		sentence_say(sentence, "%s of %s are lost: the %s at least ",
		    text_count(lost, sizeof(lost), report->lost, "event"),
		    text_number(events, report->events + report->lost),
		    report->options->moment.kind == MOMENT_PEAK ? "peak is" : "device held");
	sentence_say(sentence, "%s%s", report->lost ? "" : moment_begins(report), text_bytes(size, device->peak.bytes));
	if (device->total)
		sentence_say(sentence, " of %s (%s)", text_bytes(total, device->total),
		    text_percent(share, device->peak.bytes, device->total));
	sentence_say(sentence, " at %s, ", text_time(time, device->peak.time));
	top_say_phase(sentence, report, device->peak.phase, device->peak.step);
	if (report->processes > 1)
		sentence_say(sentence, " (pid %lld)", (long long)device->peak.pid);
	sentence_say(sentence, ".");
	error = query_culprit(report->db, device->id, say_culprit, &verdict);
	say_slack(sentence, device);
	answer_verdict(report->text, sentence);
	return error;
}
