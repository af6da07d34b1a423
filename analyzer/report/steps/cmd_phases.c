/* memana phases - the memory that each phase took, held and left. */
#include <stdio.h>
#include <string.h>
#include "figures.h"
#include "report/command.h"
#include "report/peak_verdict.h"

#define PHASES_SHOWN 16 /* more than a device can have */

/* Returns the phase that left most bytes at the end; -1: no phase left any. */
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

/* Returns the phase with the next highest peak of its own; NULL: no such phase. */
static const struct phases_row *second_of(const struct phases_device *device)
{
	size_t i = 1;

	while (i < device->rows && device->shown[i]->inherits)
		i++;
	return i < device->rows ? device->shown[i] : NULL;
}

static void say_peak(struct sentence *sentence, const struct phases_device *device)
{
	const struct phases_row *first = device->shown[0], *second = second_of(device);
	char size[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], gap[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s has the peak of %s: %s", mt_phase_name((uint32_t)first->phase),
		     answer_device(name, device->number, device->kind), text_bytes(size, first->peak));
	if (device->total)
		sentence_say(sentence, " (%s)", text_percent(share, first->peak, device->total));
	if (first->ran_peak && device->steps && device->rows > 1 && device->shown[1]->inherits)
		sentence_say(sentence, " in step %lld", (long long)first->peak_step);
	if (second && second->peak == first->peak)
		sentence_say(sentence, ", as high as %s", mt_phase_name((uint32_t)second->phase));
	else if (second && second->ran_peak)
		sentence_say(sentence, ", %s above %s", text_bytes(gap, first->peak - second->peak),
			     mt_phase_name((uint32_t)second->phase));
	sentence_say(sentence, ".");
}

static void say_left(struct sentence *sentence, const struct phases_left *left)
{
	answer_say_place(sentence, left->function, left->place);
	answer_say_category(sentence, left->category, left->probable > left->bytes / 2);
}

/* Says which memory is alive at the end, if the run grew. A program that ends in order frees all memory. */
static void say_stays(struct sentence *sentence, const struct phases_device *device, const struct growth *growth)
{
	int phase = most_left(device);
	const struct phases_row *row = phase < 0 ? NULL : &device->row[phase];
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence, " ");
	growth_say(sentence, growth, device->id);
	if (!row && sentence->text[sentence->size - 1] == ' ')
		sentence_say(sentence, "Nothing stays to the end.");
	if (!row)
		return;
	if (sentence->text[sentence->size - 1] != ' ')
		sentence_say(sentence, " ");
	sentence_say(sentence, "Most of what stays to the end is from %s: %s",
		     answer_phase(mt_phase_name((uint32_t)phase)), text_bytes(size, row->left_end));
	if (row->places) {
		sentence_say(sentence, ", %s of it by ",
			     (uint64_t)row->left->bytes == row->left_end
				     ? "all"
				     : text_bytes(size, (uint64_t)row->left->bytes));
		say_left(sentence, row->left);
	}
	sentence_say(sentence, ".");
}

/* Says which pools sleep at the end. */
static void say_asleep(struct sentence *sentence, const struct phases_device *device)
{
	uint64_t asleep = 0;
	char size[TEXT_SIZE_MAX];
	int phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		asleep += device->row[phase].asleep_end;
	if (asleep)
		sentence_say(sentence, " %s more is in sleeping pools, without memory then.", text_bytes(size, asleep));
}

static void make_verdict(struct sentence *sentence, const struct phases_device *device,
			 const struct growth_figures *figures)
{
	size_t begin = figures->lost.size;

	*sentence = figures->lost;
	if (!text_known.history) {
		sentence_say(sentence, "%s", answer_no_history);
		return;
	}
	if (!device->rows)
		return;
	say_peak(sentence, device);
	if (sentence->text[begin] >= 'a' && sentence->text[begin] <= 'z')
		sentence->text[begin] = (char)(sentence->text[begin] - 'a' + 'A');
	say_stays(sentence, device, &figures->growth);
	say_asleep(sentence, device);
}

static size_t shown_rows(const struct phases_device *device, const struct answer_options *options)
{
	return (int64_t)device->rows > options->limit ? (size_t)options->limit : device->rows;
}

/* ---- text ---- */

static void print_stays(const struct text *text, const struct phases_device *device)
{
	const struct phases_row *row;
	struct sentence sentence;
	char title[96], size[TEXT_SIZE_MAX];
	size_t i;

	for (row = device->row; row < device->row + MT_PHASE_COUNT; row++) {
		if (!row->places)
			continue;
		snprintf(title, sizeof(title), "Left at the end, from %s",
			 answer_phase(mt_phase_name((uint32_t)row->phase)));
		answer_title(text, title);
		for (i = 0; i < row->places; i++) {
			sentence.size = 0;
			say_left(&sentence, &row->left[i]);
			text_phase_print(text, mt_phase_name((uint32_t)row->phase), "%12s  ",
					 text_bytes(size, (uint64_t)row->left[i].bytes));
			text_wrap(text, 14, 14, sentence.text);
		}
	}
}

static void print_device(const struct text *text, const struct growth_figures *figures,
			 const struct phases_device *device, const struct answer_options *options)
{
	struct sentence sentence;

	if (!device->rows)
		return;
	make_verdict(&sentence, device, figures);
	answer_verdict(text, &sentence);
	if (!text_known.history)
		return;
	text_print(text, "\n");
	column_text(text, &phases_columns, device->shown, shown_rows(device, options), 0);
	print_stays(text, device);
}

static int print_phases(const struct text *text, struct db *db, const struct growth_figures *figures,
			const struct answer_options *options)
{
	size_t i;

	(void)db;
	for (i = 0; i < figures->phases.count && (!i || text_known.history); i++) {
		if (i)
			text_print(text, "\n");
		print_device(text, figures, &figures->phases.device[i], options);
	}
	if (!figures->phases.count)
		text_print(text, PEAK_VERDICT_NONE "\n");
	return 0;
}

/* ---- JSON ---- */

static void json_device(struct doc *doc, const struct growth_figures *figures, const struct phases_device *device,
			const struct answer_options *options)
{
	struct sentence sentence;

	make_verdict(&sentence, device, figures);
	doc_object(doc, NULL);
	doc_int(doc, "id", device->number);
	doc_string(doc, "kind", device->kind);
	doc_string(doc, "name", device->name);
	doc_int_or_null(doc, "total_bytes", (int64_t)device->total, device->total != 0);
	doc_string(doc, "verdict", sentence.text);
	column_json_rows(doc, "phases", &phases_columns, device->shown, shown_rows(device, options), 0);
	doc_end(doc);
}

static int json_phases(struct doc *doc, struct db *db, const struct growth_figures *figures,
		       const struct answer_options *options)
{
	size_t i;

	(void)db;
	doc_array(doc, "devices");
	for (i = 0; i < figures->phases.count; i++)
		json_device(doc, figures, &figures->phases.device[i], options);
	doc_end(doc);
	growth_json(doc, &figures->growth, SIZE_MAX);
	return 0;
}

int cmd_phases(int argc, char **argv)
{
	static const struct growth_answer answer = {
		.parts = GROWTH_PHASES,
		.limit = PHASES_SHOWN,
		.limit_help = "show the N phases with the highest peaks (default: all)",
		.text = print_phases,
		.json = json_phases,
	};

	return growth_answer_command(argc, argv, &answer);
}
