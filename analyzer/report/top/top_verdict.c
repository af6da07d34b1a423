/* The verdict of `memana top`: the peak in one to three sentences. */
#include <string.h>
#include "memtrace/base.h"
#include "query/callstack.h"
#include "report/answer.h"
#include "report/peak_verdict.h"
#include "report/steps/growth.h"
#include "top_report.h"

/* Says "in backward of step 2". */
static void top_say_phase(struct sentence *sentence, const struct top_report *report, const char *phase, int64_t step)
{
	peak_say_phase(sentence, phase, step, report->steps != 0);
}

void top_say_frame(struct sentence *sentence, const struct callstack_frame *frame)
{
	char place[PEAK_NAME_MAX], function[PEAK_NAME_MAX];

	callstack_place(place, sizeof(place), frame);
	answer_say_place(sentence, callstack_function(function, sizeof(function), frame), place);
}

/* ---- the verdict ---- */

/* Finds the largest place, as a peak_place_of. */
static int largest_place(void *context, const struct query_culprit *row, struct peak_place *largest)
{
	const struct top_report *report = context;
	const struct place *place;
	size_t i;

	for (i = 0; i < report->places.count; i++) {
		place = &report->places.place[i];
		if (strcmp(place->phase, row->phase) || strcmp(place->category, row->category))
			continue;
		largest->bytes = place->bytes;
		if (place->user == CALLSTACK_NO_FRAME)
			return 0;
		callstack_function_of(largest->function, sizeof(largest->function), place->stack, place->user);
		places_name(largest->place, sizeof(largest->place), place);
		return 0;
	}
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

struct tensor_peak {
	uint64_t tensors;
	int64_t step;
	char phase[24];
};

static int take_tensors(void *context, const struct query_phase_peak *row)
{
	struct tensor_peak *most = context;

	if (row->tensors > most->tensors) {
		*most = (struct tensor_peak){ .tensors = row->tensors, .step = row->step };
		mt_copy_text(most->phase, sizeof(most->phase), row->phase);
	}
	return 0;
}

/* Says the peak of tensors if it is at another time: if the cache is full, the peak of held bytes does not show it. */
static int say_tensors(struct sentence *sentence, const struct top_report *report)
{
	const struct query_device *device = report->device;
	struct tensor_peak most = { 0 };
	uint64_t here = device->peak.bytes - device->peak.slack;
	char size[TEXT_SIZE_MAX];
	int error;

	if (report->options->moment.kind != MOMENT_PEAK || device->peak.slack < device->peak.bytes / 10)
		return 0;
	error = query_phase_peaks(report->db, device->id, take_tensors, &most);
	if (error || most.tensors <= here + here / 10)
		return error;
	sentence_say(sentence, " Tensors alone had their most, %s, ", text_bytes(size, most.tensors));
	top_say_phase(sentence, report, most.phase, most.step);
	sentence_say(sentence, ".");
	return 0;
}

static void print_device_name(const struct top_report *report)
{
	const struct query_device *device = report->device;
	char name[128];

	text_style(report->text, TEXT_HEAD);
	if (!strcmp(device->kind, "cpu"))
		text_print(report->text, "CPU tensors\n");
	else
		text_print(report->text, "GPU %lld%s\n", (long long)device->number, answer_model(name, device->name));
	text_style(report->text, TEXT_PLAIN);
}

/* Returns the first words of the verdict, such as "Peak ". */
static const char *moment_begins(const struct top_report *report)
{
	static const char *const words[] = { [MOMENT_PEAK] = "Peak ",
					     [MOMENT_STEP] = "Peak of the step: ",
					     [MOMENT_OOM] = "When memory ran out: ",
					     [MOMENT_TIME] = "Then: " };

	return words[report->options->moment.kind];
}

/* Returns "12 events of 9,000 are lost: the peak is at least ", or the words of moment_begins. */
static const char *verdict_begins(struct sentence *begins, const struct top_report *report)
{
	char lost[64], events[TEXT_SIZE_MAX];

	if (!report->lost)
		return moment_begins(report);
	sentence_say(begins, "%s of %s are lost: the %s at least ",
		     text_count(lost, sizeof(lost), report->lost, "event"),
		     text_number(events, report->events + report->lost),
		     report->options->moment.kind == MOMENT_PEAK ? "peak is" : "device held");
	return begins->text;
}

static int note_unseen(void *context, const struct query_source *row)
{
	int *unseen = context;

	*unseen |= !strcmp(row->name, "cupti") && strcmp(row->state, "on");
	return 0;
}

/* Without CUPTI, the recording has tensors, but not their segments, and no memory of others. */
static int say_unseen(struct sentence *sentence, const struct top_report *report)
{
	int unseen = 0, error;

	if (!strcmp(report->device->kind, "cpu"))
		return 0;
	error = query_sources(report->db, note_unseen, &unseen);
	if (unseen)
		sentence_say(sentence,
			     " Driver calls were not recorded, or not all (see below): memory beside tensors may "
			     "be missing here.");
	return error;
}

/* Growth is about the whole run, also in a report about another moment. */
static int say_growth(struct sentence *sentence, const struct top_report *report)
{
	struct growth growth;
	int error = growth_load(&growth, report->db);

	if (!error && growth.state == GROWTH_GROWING) {
		sentence_say(sentence, " ");
		growth_say(sentence, &growth, report->device->id);
	}
	growth_release(&growth);
	return error;
}

int top_print_verdict(const struct top_report *report)
{
	struct sentence sentence = { 0 }, begins = { 0 };
	const struct peak_verdict verdict = {
		.begins = verdict_begins(&begins, report),
		.device = report->device,
		.has_steps = report->steps != 0,
		.has_processes = report->processes > 1,
		.has_parts = 1,
		.place_of = largest_place,
		.context = (void *)report,
	};
	int error;

	if (!report->options->brief)
		print_device_name(report);
	error = peak_verdict_say(&sentence, report->db, &verdict);
	say_slack(&sentence, report->device);
	if (!error)
		error = say_tensors(&sentence, report);
	if (!error)
		error = say_growth(&sentence, report);
	if (!error)
		error = say_unseen(&sentence, report);
	answer_verdict(report->text, &sentence);
	return error;
}
