/* memana phases - what each phase took, what the device held meanwhile, and what it left behind. */
#include <stdio.h>
#include <string.h>
#include "growth.h"
#include "query_phases.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"

#define PHASES_SHOWN 16 /* all there are */
#define PLACES_SHOWN 3

/* Phases of a device that did something. */
struct order {
	int phase[MT_PHASE_COUNT];
	int count;
};

static int has_any(const struct phases_row *row)
{
	return row->runs || row->count || row->ran_peak;
}

static int is_higher(const struct phases_device *device, int one, int two)
{
	uint64_t peak = device->row[one].peak, other = device->row[two].peak;

	return peak > other || (peak == other && one == device->peak_phase);
}

/* Highest peak first; what is equal in the order of the phases, but for the one that memana top names. */
static void sort_by_peak(struct order *order, const struct phases_device *device)
{
	int phase, i;

	order->count = 0;
	for (phase = 0; phase < MT_PHASE_COUNT; phase++) {
		if (!has_any(&device->row[phase]))
			continue;
		for (i = order->count++; i && is_higher(device, phase, order->phase[i - 1]); i--)
			order->phase[i] = order->phase[i - 1];
		order->phase[i] = phase;
	}
}

/* The phase that left most at the end; -1: nothing is left. */
static int most_left(const struct phases_device *device)
{
	int phase, most = -1;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (device->row[phase].left_end &&
		    (most < 0 || device->row[phase].left_end > device->row[most].left_end))
			most = phase;
	return most;
}

/* ---- the verdict ---- */

static void say_peak(struct sentence *sentence, const struct phases_device *device, const struct order *order)
{
	const struct phases_row *first = &device->row[order->phase[0]], *second = NULL;
	char size[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], gap[TEXT_SIZE_MAX];

	if (order->count > 1)
		second = &device->row[order->phase[1]];
	sentence_say(sentence, "%s has the peak of %s: %s", mt_phase_name((uint32_t)order->phase[0]),
		     answer_device(name, device->number, device->kind), text_bytes(size, first->peak));
	if (device->total)
		sentence_say(sentence, " (%s)", text_percent(share, first->peak, device->total));
	if (second && second->peak == first->peak)
		sentence_say(sentence, ", as high as %s", mt_phase_name((uint32_t)order->phase[1]));
	else if (second && second->ran_peak)
		sentence_say(sentence, ", %s above %s", text_bytes(gap, first->peak - second->peak),
			     mt_phase_name((uint32_t)order->phase[1]));
	sentence_say(sentence, ".");
}

struct largest {
	struct sentence *sentence;
	uint64_t all;
};

static int say_largest(void *context, const struct phases_left *row)
{
	struct largest *largest = context;
	char size[TEXT_SIZE_MAX];

	sentence_say(largest->sentence, ", %s of it by ",
		     (uint64_t)row->bytes == largest->all ? "all" : text_bytes(size, (uint64_t)row->bytes));
	answer_say_place(largest->sentence, row->function, row->place);
	answer_say_category(largest->sentence, row->category, row->probable > row->bytes / 2);
	return 0;
}

/* A program that leaves in order frees what it had: of a run that grew, this is what to say. */
static int say_stays(struct sentence *sentence, const struct phases_device *device, const struct growth *growth)
{
	struct db *db = growth->db;
	struct largest largest = { .sentence = sentence };
	char size[TEXT_SIZE_MAX];
	int phase = most_left(device), error;

	sentence_say(sentence, " ");
	growth_say(sentence, growth, device->id);
	if (phase < 0 && sentence->text[sentence->size - 1] == ' ')
		sentence_say(sentence, "Nothing stays to the end.");
	if (phase < 0)
		return 0;
	if (sentence->text[sentence->size - 1] != ' ')
		sentence_say(sentence, " ");
	largest.all = device->row[phase].left_end;
	sentence_say(sentence, "Most of what stays to the end is from %s: %s",
		     phase == MT_PHASE_BEFORE ? "before the recording" : mt_phase_name((uint32_t)phase),
		     text_bytes(size, largest.all));
	error = phases_left(db, device->id, mt_phase_name((uint32_t)phase), 1, say_largest, &largest);
	sentence_say(sentence, ".");
	return error;
}

/* Pools that sleep at the end. */
static void say_asleep(struct sentence *sentence, const struct phases_device *device)
{
	uint64_t asleep = 0;
	char size[TEXT_SIZE_MAX];
	int phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		asleep += device->row[phase].asleep_end;
	if (asleep)
		sentence_say(sentence, " %s more is allocated, but asleep then.", text_bytes(size, asleep));
}

static int make_verdict(struct sentence *sentence, const struct phases_device *device, const struct order *order,
			const struct growth *growth)
{
	int error;

	sentence->size = 0;
	if (!text_known.history) {
		sentence_say(sentence, "%s", answer_no_history);
		return 0;
	}
	say_peak(sentence, device, order);
	if (sentence->text[0] >= 'a' && sentence->text[0] <= 'z')
		sentence->text[0] = (char)(sentence->text[0] - 'a' + 'A');
	error = say_stays(sentence, device, growth);
	say_asleep(sentence, device);
	return error;
}

/* ---- text ---- */

static const char *or_dash(char out[TEXT_SIZE_MAX], uint64_t bytes)
{
	return bytes ? text_bytes(out, bytes) : "-";
}

static void print_row(const struct text *text, const struct phases_row *row, const char *phase)
{
	char time[TEXT_SIZE_MAX], bytes[TEXT_SIZE_MAX], peak[TEXT_SIZE_MAX], run[TEXT_SIZE_MAX], step[TEXT_SIZE_MAX],
		end[TEXT_SIZE_MAX];

	text_phase_print(text, phase, "  %-13s", phase);
	text_print(text, "%5llu%9s%11s%10s%10s%10s%10s\n", (unsigned long long)row->runs,
		   row->runs ? text_time(time, row->time) : "-", or_dash(bytes, row->bytes), or_dash(peak, row->peak),
		   or_dash(run, row->left_run), or_dash(step, row->left_step), or_dash(end, row->left_end));
}

static void print_table(const struct text *text, const struct phases_device *device, const struct order *order,
			const struct answer_options *options)
{
	int i;

	text_print(text, "\n");
	text_style(text, TEXT_HEAD);
	text_print(text, "%50s%20s%10s\n", "device", "most left by one", "left");
	text_print(text, "  %-13s%5s%9s%11s%10s%10s%10s%10s\n", "phase", "runs", "time", "allocated", "peak", "run",
		   "step", "at end");
	text_style(text, TEXT_PLAIN);
	for (i = 0; i < order->count && i < options->limit; i++)
		print_row(text, &device->row[order->phase[i]], mt_phase_name((uint32_t)order->phase[i]));
}

struct left {
	const struct text *text;
	const char *phase;
};

static int print_left(void *context, const struct phases_left *row)
{
	const struct left *left = context;
	const struct text *text = left->text;
	struct sentence sentence = { .size = 0 };
	char size[TEXT_SIZE_MAX];

	text_phase_print(text, left->phase, "%12s  ", text_bytes(size, (uint64_t)row->bytes));
	answer_say_place(&sentence, row->function, row->place);
	answer_say_category(&sentence, row->category, row->probable > row->bytes / 2);
	text_wrap(text, 14, 14, sentence.text);
	return 0;
}

static int print_stays(const struct text *text, struct db *db, const struct phases_device *device)
{
	struct left left = { .text = text };
	char title[96];
	int phase, error = 0;

	for (phase = 0; phase < MT_PHASE_COUNT && !error; phase++) {
		if (!device->row[phase].left_end)
			continue;
		snprintf(title, sizeof(title), "Left at the end, from %s",
			 phase == MT_PHASE_BEFORE ? "before the recording" : mt_phase_name((uint32_t)phase));
		answer_title(text, title);
		left.phase = mt_phase_name((uint32_t)phase);
		error = phases_left(db, device->id, left.phase, PLACES_SHOWN, print_left, &left);
	}
	return error;
}

static int print_device(const struct text *text, const struct growth *growth, const struct phases_device *device,
			const struct answer_options *options)
{
	struct sentence sentence = { .size = 0 };
	struct order order;
	int error;

	sort_by_peak(&order, device);
	if (!order.count)
		return 0;
	error = make_verdict(&sentence, device, &order, growth);
	answer_verdict(text, &sentence);
	if (!text_known.history)
		return error;
	print_table(text, device, &order, options);
	return error ? error : print_stays(text, growth->db, device);
}

static int load(struct phases *phases, struct growth *growth, struct db *db)
{
	int error = phases_load(phases, db);

	memset(growth, 0, sizeof(*growth));
	return error ? error : growth_load(growth, db);
}

static int print_phases(const struct text *text, struct db *db, const struct answer_options *options)
{
	struct phases phases;
	struct growth growth;
	size_t i;
	int error = load(&phases, &growth, db);

	for (i = 0; i < phases.count && !error; i++) {
		if (i)
			text_print(text, "\n");
		error = print_device(text, &growth, &phases.device[i], options);
	}
	if (!error && !phases.count)
		text_print(text, "Nothing was held on any device in this recording.\n");
	growth_release(&growth);
	phases_release(&phases);
	return error;
}

/* ---- JSON ---- */

static int json_left(void *context, const struct phases_left *row)
{
	struct doc *doc = context;

	doc_object(doc, NULL);
	doc_string(doc, "function", row->function);
	doc_string(doc, "place", row->place);
	doc_string(doc, "category", row->category);
	doc_int(doc, "bytes", row->bytes);
	doc_end(doc);
	return 0;
}

static int json_row(struct doc *doc, struct db *db, const struct phases_device *device, int phase)
{
	const struct phases_row *row = &device->row[phase];
	int error;

	doc_object(doc, NULL);
	doc_string(doc, "phase", mt_phase_name((uint32_t)phase));
	doc_int(doc, "runs", (int64_t)row->runs);
	doc_time(doc, "time_ns", row->time);
	doc_int(doc, "allocated_bytes", (int64_t)row->bytes);
	doc_int(doc, "allocations", (int64_t)row->count);
	doc_int_or_null(doc, "peak_bytes", (int64_t)row->peak, row->ran_peak);
	doc_int_or_null(doc, "peak_ns", row->peak_time, row->ran_peak && text_known.times);
	doc_int_or_null(doc, "peak_step", row->peak_step, row->ran_peak);
	doc_int(doc, "left_after_run_bytes", (int64_t)row->left_run);
	doc_int(doc, "left_after_step_bytes", (int64_t)row->left_step);
	doc_int(doc, "left_at_end_bytes", (int64_t)row->left_end);
	doc_int(doc, "asleep_at_end_bytes", (int64_t)row->asleep_end);
	doc_array(doc, "left_at_end");
	error = phases_left(db, device->id, mt_phase_name((uint32_t)phase), PLACES_SHOWN, json_left, doc);
	doc_end(doc);
	doc_end(doc);
	return error;
}

static int json_device(struct doc *doc, const struct growth *growth, const struct phases_device *device,
		       const struct answer_options *options)
{
	struct sentence sentence = { .size = 0 };
	struct order order;
	int error = 0, i;

	sort_by_peak(&order, device);
	doc_object(doc, NULL);
	doc_int(doc, "id", device->number);
	doc_string(doc, "kind", device->kind);
	doc_string(doc, "name", device->name);
	doc_int_or_null(doc, "total_bytes", (int64_t)device->total, device->total != 0);
	if (order.count)
		error = make_verdict(&sentence, device, &order, growth);
	doc_string(doc, "verdict", sentence.text);
	doc_array(doc, "phases");
	for (i = 0; i < order.count && i < options->limit && !error; i++)
		error = json_row(doc, growth->db, device, order.phase[i]);
	doc_end(doc);
	doc_end(doc);
	return error;
}

static int json_phases(struct doc *doc, struct db *db, const struct answer_options *options)
{
	struct phases phases;
	struct growth growth;
	size_t i;
	int error = load(&phases, &growth, db);

	doc_array(doc, "devices");
	for (i = 0; i < phases.count && !error; i++)
		error = json_device(doc, &growth, &phases.device[i], options);
	doc_end(doc);
	if (!error)
		error = growth_json(doc, &growth, SIZE_MAX);
	growth_release(&growth);
	phases_release(&phases);
	return error;
}

int cmd_phases(int argc, char **argv)
{
	static const struct command_option options[] = {
		{ 'n', NULL, "N", "show the N phases with the highest peaks (default: all)" },
		COMMAND_RULES_OPTION,
		COMMAND_FULL_OPTION,
		COMMAND_JSON_OPTION,
		COMMAND_HELP_OPTION,
	};
	static const struct answer answer = {
		.options = options,
		.parts = LOAD_SUMS,
		.limit = PHASES_SHOWN,
		.text = print_phases,
		.json = json_phases,
	};

	return answer_command(argc, argv, &answer);
}
