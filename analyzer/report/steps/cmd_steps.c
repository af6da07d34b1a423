/* memana steps - the peak of each step, what it leaves, and whether the run grows. */
#include <stdio.h>
#include <string.h>
#include "query_steps.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/finding.h"

#define STEPS_SHOWN 20
#define PLACES_SHOWN 5

/* ---- the verdict ---- */

struct verdict {
	struct sentence sentence;
	const struct steps_lane *lane; /* the one it is about */
	int several;                   /* there are others: say whose it is */
};

/* " of rank 3", if there are several processes */
static const char *of_whom(const struct verdict *verdict, char out[TEXT_SIZE_MAX + 8])
{
	char process[TEXT_SIZE_MAX];

	*out = '\0';
	if (verdict->several)
		snprintf(out, TEXT_SIZE_MAX + 8, " of %s",
			 answer_process(process, verdict->lane->rank, verdict->lane->pid));
	return out;
}

/* True for the higher peak; of two processes that saw the same peak, for the one that made it. */
static int peaks_higher(const struct steps_lane *one, const struct steps_lane *two)
{
	const struct steps_row *peak = one->highest, *other = two->highest;

	return peak->peak != other->peak ? peak->peak > other->peak
					 : one->device == two->device && peak->peak_process == one->process;
}

/* The lane that grows fastest, else the one that peaks highest; NULL: there are no steps. */
static const struct steps_lane *worst_lane(const struct steps *steps)
{
	const struct steps_lane *worst = NULL, *lane;
	size_t i;

	for (i = 0; i < steps->count; i++) {
		lane = &steps->lane[i];
		if (!lane->ended)
			continue;
		if (!worst || lane->state > worst->state ||
		    (lane->state == worst->state &&
		     (lane->state == GROWTH_GROWING ? lane->each > worst->each : peaks_higher(lane, worst))))
			worst = lane;
	}
	return worst;
}

static void say_growing(struct verdict *verdict, const struct growth *growth, const struct answer_options *options)
{
	growth_say(&verdict->sentence, growth, 0);
	sentence_say(&verdict->sentence, " Its stack: memana retained %s.", options->name);
}

static void say_steady(struct verdict *verdict)
{
	const struct steps_lane *lane = verdict->lane;
	const struct steps_row *last = &lane->row[lane->ended - 1];
	char in_use[TEXT_SIZE_MAX], count[64], whose[TEXT_SIZE_MAX + 8];

	of_whom(verdict, whose);
	if (lane->state == GROWTH_STEADY)
		sentence_say(&verdict->sentence,
			     "Steady: nothing more is kept with every step%s. Step %lld, the last one, ends with %s in use.",
			     whose, (long long)last->step, text_bytes(in_use, last->in_use));
	else
		sentence_say(&verdict->sentence, "%s%s ended, the last one with %s in use" GROWTH_RECORD_MORE,
			     text_count(count, sizeof(count), lane->ended, "step"), whose,
			     text_bytes(in_use, last->in_use));
}

/* The bytes of a pool that sleeps at the ends of steps: it will want them when it wakes. */
static void say_asleep(struct verdict *verdict)
{
	uint64_t asleep = verdict->lane->row[verdict->lane->ended - 1].asleep;
	char size[TEXT_SIZE_MAX];

	if (asleep)
		sentence_say(&verdict->sentence, " %s more is allocated, but asleep then.", text_bytes(size, asleep));
}

static void say_peak(struct verdict *verdict)
{
	const struct steps_lane *lane = verdict->lane;
	const struct steps_row *row = lane->highest;
	char size[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX], first[TEXT_SIZE_MAX], end[TEXT_SIZE_MAX], other[TEXT_SIZE_MAX];

	sentence_say(&verdict->sentence, " The peak of %s, %s, is in step %lld%s, in %s",
		     answer_device(device, lane->number, lane->kind), text_bytes(size, row->peak), (long long)row->step,
		     row->ended ? "" : ", which did not end", row->peak_phase);
	if (row->peak_process != lane->process)
		sentence_say(&verdict->sentence, " of %s", answer_process(other, row->peak_rank, row->peak_pid));
	sentence_say(&verdict->sentence, ".");
	if (lane->atypical)
		sentence_say(&verdict->sentence,
			     " Step %lld is not like the others (peak %s, %s at its end; step %lld: %s): "
			     "leave it out when comparing.",
			     (long long)lane->row[0].step, text_bytes(first, lane->row[0].peak),
			     text_bytes(end, lane->row[0].in_use), (long long)lane->row[1].step,
			     text_bytes(other, lane->row[1].peak));
}

/* Lanes on GPUs of their own: who peaks highest and who lowest. 1: there are several. */
static int find_extremes(const struct steps *steps, const struct steps_lane **high, const struct steps_lane **low)
{
	const struct steps_lane *lane;
	size_t i;

	*high = *low = NULL;
	for (i = 0; i < steps->count; i++) {
		lane = &steps->lane[i];
		if (!lane->ended || strcmp(lane->kind, "cuda"))
			continue;
		if (!*high || lane->highest->peak > (*high)->highest->peak)
			*high = lane;
		if (!*low || lane->highest->peak < (*low)->highest->peak)
			*low = lane;
	}
	return *high && (*high)->device != (*low)->device;
}

static void say_imbalance(struct verdict *verdict, const struct steps *steps)
{
	const struct steps_lane *high, *low;
	char one[TEXT_SIZE_MAX], two[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX];

	if (!find_extremes(steps, &high, &low))
		return;
	sentence_say(&verdict->sentence, " Ranks: %s peaks highest, %s above %s.",
		     answer_process(one, high->rank, high->pid),
		     text_bytes(size, high->highest->peak - low->highest->peak),
		     answer_process(two, low->rank, low->pid));
}

static void make_verdict(struct verdict *verdict, const struct steps *steps, const struct answer_options *options)
{
	memset(verdict, 0, sizeof(*verdict));
	verdict->lane = worst_lane(steps);
	verdict->several = steps->count > 1;
	if (!verdict->lane) {
		sentence_say(&verdict->sentence, "%s",
			     !text_known.history ? answer_no_history
			     : text_known.snapshot
				     ? "No step ended in this snapshot: its history has no optimizer that ran and was "
				       "left. memana phases and memana retained look inside the one step it has."
				     : "No step ended in this recording. What a step is, memrec --step-mark says; "
				       "memana info tells what was recorded.");
		return;
	}
	if (verdict->lane->state == GROWTH_GROWING)
		say_growing(verdict, &steps->growth, options);
	else
		say_steady(verdict);
	say_asleep(verdict);
	say_peak(verdict);
	say_imbalance(verdict, steps);
}

/* ---- text ---- */

static void print_row(const struct text *text, const struct steps_lane *lane, const struct steps_row *row)
{
	char time[TEXT_SIZE_MAX], peak[TEXT_SIZE_MAX], in_use[TEXT_SIZE_MAX], change[TEXT_SIZE_MAX] = "";
	char phase[32], word[32] = "";
	int category;

	if (row > lane->row) {
		answer_change(change, (int64_t)(row->in_use - row[-1].in_use));
		category = steps_grown_category(row);
		if (category >= 0)
			text_fit(word, sizeof(word), mt_category_name((uint32_t)category), 14, 0);
	}
	text_print(text, "  %5lld%s %9s %10s ", (long long)row->step, row->ended ? " " : "*",
		   text_time(time, row->end - row->begin), text_bytes(peak, row->peak));
	text_phase_print(text, row->peak_phase, " %-13s", text_fit(phase, sizeof(phase), row->peak_phase, 13, 0));
	text_print(text, " %10s", text_bytes(in_use, row->in_use));
	if (*change)
		text_print(text, " %10s", change);
	text_print(text, "%s%s\n", *word ? "  " : "", word);
}

/* All steps of one lane; of a long run the newest. */
static void print_lane(const struct text *text, const struct steps_lane *lane, const struct answer_options *options)
{
	size_t first = (int64_t)lane->count > options->limit ? lane->count - (size_t)options->limit : 0, i;
	char title[192], device[TEXT_SIZE_MAX], process[TEXT_SIZE_MAX], count[64];

	snprintf(title, sizeof(title), "Steps of %s on %s", answer_process(process, lane->rank, lane->pid),
		 answer_device(device, lane->number, lane->kind));
	answer_title(text, title);
	text_style(text, TEXT_DIM);
	text_print(text, "   step       time       peak  in               at end     change  of it most\n");
	if (first)
		text_print(text, "  %s earlier (-n 0: all)\n", text_count(count, sizeof(count), first, "step"));
	text_style(text, TEXT_PLAIN);
	for (i = first; i < lane->count; i++)
		print_row(text, lane, &lane->row[i]);
	if (!lane->row[lane->count - 1].ended) {
		text_style(text, TEXT_DIM);
		text_print(text, "  * did not end\n");
		text_style(text, TEXT_PLAIN);
	}
}

/* The lane with the highest peak of its device. */
static int makes_peak(const struct steps *steps, const struct steps_lane *lane)
{
	size_t i;

	for (i = 0; i < steps->count; i++)
		if (&steps->lane[i] != lane && steps->lane[i].device == lane->device &&
		    (peaks_higher(&steps->lane[i], lane) ||
		     (&steps->lane[i] < lane && !peaks_higher(lane, &steps->lane[i]))))
			return 0;
	return 1;
}

/* Peaks are those of a whole device. */
static void print_devices(const struct text *text, const struct steps *steps)
{
	char process[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX], peak[TEXT_SIZE_MAX];
	const struct steps_lane *lane;
	size_t i;

	answer_title(text, "Devices");
	text_style(text, TEXT_DIM);
	text_print(text, "  %-9s %11s %7s  %s\n", "device", "peak", "in step", "by");
	text_style(text, TEXT_PLAIN);
	for (i = 0; i < steps->count; i++) {
		lane = &steps->lane[i];
		if (makes_peak(steps, lane))
			text_print(text, "  %-9s %11s %7lld  %s\n", answer_device(device, lane->number, lane->kind),
				   text_bytes(peak, lane->highest->peak), (long long)lane->highest->step,
				   answer_process(process, lane->highest->peak_rank, lane->highest->peak_pid));
	}
}

/* The process's own figures. */
static void print_lanes(const struct text *text, const struct steps *steps)
{
	const struct steps_lane *lane;
	char process[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX], in_use[TEXT_SIZE_MAX], each[TEXT_SIZE_MAX];
	size_t i;

	answer_title(text, "Processes");
	text_style(text, TEXT_DIM);
	text_print(text, "  %-12s %-9s %6s %14s %13s\n", "process", "on", "steps", "at last end", "kept a step");
	text_style(text, TEXT_PLAIN);
	for (i = 0; i < steps->count; i++) {
		lane = &steps->lane[i];
		text_print(text, "  %-12s %-9s %6zu %14s %13s\n", answer_process(process, lane->rank, lane->pid),
			   answer_device(device, lane->number, lane->kind), lane->ended,
			   lane->ended ? text_bytes(in_use, lane->row[lane->ended - 1].in_use) : "-",
			   lane->state == GROWTH_UNKNOWN ? "-" : answer_change(each, (int64_t)lane->each));
	}
}

static int print_place(const struct text *text, const struct growth *growth, const struct growth_row *row)
{
	struct sentence sentence = { .size = 0 };
	struct finding_place named;
	char change[TEXT_SIZE_MAX], each[TEXT_SIZE_MAX], module[FINDING_MODULE_MAX];
	int error = finding_place_of(&named, growth->db, row->most->node);

	text_phase_print(text, row->most->phase, "%12s  ", answer_change(change, (int64_t)row->bytes));
	answer_say_place(&sentence, named.function, named.place);
	sentence_say(&sentence, "%s", finding_in_module(module, growth->db, row->most->first_node, row->most->phase));
	sentence_say(&sentence, ": %s more with every step, %s, allocated in %s, ", text_bytes(each, row->each),
		     answer_category(row->most->category), row->most->phase);
	growth_say_processes(&sentence, &growth->table, row);
	text_wrap(text, 14, 14, sentence.text);
	return error;
}

static int print_places(const struct text *text, const struct growth *growth)
{
	size_t i;
	int error = 0;

	if (growth->table.rows)
		answer_title(text, "What grows");
	for (i = 0; i < growth->table.rows && i < PLACES_SHOWN && !error; i++)
		error = print_place(text, growth, &growth->table.row[i]);
	return error;
}

static int print_steps(const struct text *text, struct db *db, const struct answer_options *options)
{
	struct verdict verdict;
	struct steps steps;
	int error = steps_load(&steps, db);

	if (!error) {
		make_verdict(&verdict, &steps, options);
		answer_verdict(text, &verdict.sentence);
		if (steps.count > 1) {
			print_devices(text, &steps);
			print_lanes(text, &steps);
		}
	}
	if (!error && verdict.lane) {
		print_lane(text, verdict.lane, options);
		error = print_places(text, &steps.growth);
	}
	steps_release(&steps);
	return error;
}

/* ---- JSON ---- */

static void json_categories(struct doc *doc, const struct steps_row *row)
{
	int i;

	doc_array(doc, "in_use_by_category");
	for (i = 0; i < MT_CATEGORY_COUNT; i++) {
		if (!row->category[i])
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "category", mt_category_name((uint32_t)i));
		doc_int(doc, "bytes", row->category[i]);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_row(struct doc *doc, const struct steps_lane *lane, const struct steps_row *row)
{
	doc_object(doc, NULL);
	doc_int(doc, "step", row->step);
	doc_bool(doc, "ended", row->ended);
	doc_string(doc, "closed_by", row->closed_by);
	doc_time(doc, "begin_ns", row->begin);
	doc_time(doc, "end_ns", row->end);
	doc_int(doc, "peak_bytes", (int64_t)row->peak);
	doc_time(doc, "peak_ns", row->peak_time);
	doc_string(doc, "peak_phase", row->peak_phase);
	doc_pid(doc, "peak_pid", row->peak_pid);
	doc_int_or_null(doc, "peak_rank", row->peak_rank, row->peak_rank >= 0);
	doc_string(doc, "own_phase", row->own_phase);
	doc_int(doc, "held_bytes", (int64_t)row->held);
	doc_int(doc, "slack_bytes", (int64_t)row->slack);
	doc_int(doc, "in_use_bytes", (int64_t)row->in_use);
	doc_int(doc, "asleep_bytes", (int64_t)row->asleep);
	doc_int_or_null(doc, "change_bytes", (int64_t)(row->in_use - (row > lane->row ? row[-1].in_use : 0)),
			row > lane->row);
	json_categories(doc, row);
	doc_end(doc);
}

/* The places that grow in this lane. */
static int json_growing(struct doc *doc, const struct growth *growth, const struct steps_lane *lane)
{
	const struct growth_list *list = &growth->table.places;
	struct finding_place named;
	size_t i;
	int error = 0;

	doc_array(doc, "growing");
	for (i = 0; i < list->count && !error; i++) {
		if (list->place[i].process != lane->process || list->place[i].device != lane->device)
			continue;
		error = finding_place_of(&named, growth->db, list->place[i].node);
		doc_object(doc, NULL);
		doc_string(doc, "function", named.function);
		doc_string(doc, "place", named.place);
		if (!error)
			error = finding_module_json(doc, growth->db, list->place[i].first_node, list->place[i].phase);
		doc_string(doc, "phase", list->place[i].phase);
		doc_string(doc, "category", list->place[i].category);
		doc_int(doc, "bytes", (int64_t)list->place[i].bytes);
		doc_int(doc, "count", (int64_t)list->place[i].count);
		doc_end(doc);
	}
	doc_end(doc);
	return error;
}

static int json_lane(struct doc *doc, const struct growth *growth, const struct steps_lane *lane,
		     const struct answer_options *options)
{
	size_t first = (int64_t)lane->count > options->limit ? lane->count - (size_t)options->limit : 0, i;
	int error;

	doc_object(doc, NULL);
	doc_pid(doc, "pid", lane->pid);
	doc_int_or_null(doc, "rank", lane->rank, lane->rank >= 0);
	doc_int(doc, "device", lane->number);
	doc_string(doc, "kind", lane->kind);
	doc_int(doc, "ended", (int64_t)lane->ended);
	doc_string(doc, "state", growth_state_word(lane->state));
	doc_int_or_null(doc, "growth_bytes_per_step", (int64_t)lane->each, lane->state != GROWTH_UNKNOWN);
	doc_int_or_null(doc, "growth_bytes", (int64_t)lane->grown, lane->state != GROWTH_UNKNOWN);
	doc_bool(doc, "first_step_atypical", lane->atypical);
	doc_array(doc, "steps");
	for (i = first; i < lane->count; i++)
		json_row(doc, lane, &lane->row[i]);
	doc_end(doc);
	error = json_growing(doc, growth, lane);
	doc_end(doc);
	return error;
}

static int json_steps(struct doc *doc, struct db *db, const struct answer_options *options)
{
	const struct steps_lane *high, *low;
	struct verdict verdict;
	struct steps steps;
	size_t i;
	int error = steps_load(&steps, db), ranks;

	if (!error) {
		make_verdict(&verdict, &steps, options);
		ranks = find_extremes(&steps, &high, &low);
		doc_string(doc, "verdict", verdict.sentence.text);
		doc_int_or_null(doc, "imbalance_bytes", ranks ? (int64_t)(high->highest->peak - low->highest->peak) : 0,
				ranks);
		error = growth_json(doc, &steps.growth, SIZE_MAX);
	}
	doc_array(doc, "processes");
	for (i = 0; i < steps.count && !error; i++)
		error = json_lane(doc, &steps.growth, &steps.lane[i], options);
	doc_end(doc);
	steps_release(&steps);
	return error;
}

int cmd_steps(int argc, char **argv)
{
	static const struct command_option options[] = {
		{ 'n', NULL, "N", "show the newest N steps (default 20; 0: all)" },
		COMMAND_RULES_OPTION,
		COMMAND_FULL_OPTION,
		COMMAND_JSON_OPTION,
		COMMAND_HELP_OPTION,
	};
	static const struct answer answer = {
		.options = options,
		.parts = LOAD_SUMS,
		.limit = STEPS_SHOWN,
		.text = print_steps,
		.json = json_steps,
	};

	return answer_command(argc, argv, &answer);
}
