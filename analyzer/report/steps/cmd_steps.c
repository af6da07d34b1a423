/* cmd_steps.c - memana steps: the peak of each step, the memory alive at its end, and the growth of the run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "figures.h"
#include "memtrace/error.h"
#include "report/command.h"

#define STEPS_SHOWN 20
#define PLACES_SHOWN 5

/* ---- the verdict ---- */

static void say_peak(struct sentence *sentence, const struct steps_lane *lane)
{
	const struct steps_row *row = lane->highest;
	char size[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX], first[TEXT_SIZE_MAX], end[TEXT_SIZE_MAX], other[TEXT_SIZE_MAX];

	sentence_say(sentence, " The peak of %s, %s, is in step %lld%s, in %s",
		     answer_device(device, lane->number, lane->kind), text_bytes(size, row->peak), (long long)row->step,
		     row->ended ? "" : ", which did not end", row->peak_phase);
	if (row->peak_process != lane->process)
		sentence_say(sentence, " of %s", answer_process(other, row->peak_rank, row->peak_pid));
	sentence_say(sentence, ".");
	if (lane->atypical)
		sentence_say(sentence,
			     " Step %lld differs from the other steps (peak %s, %s at its end; step %lld: %s): "
			     "ignore this step when you compare.",
			     (long long)lane->row[0].step, text_bytes(first, lane->row[0].peak),
			     text_bytes(end, lane->row[0].in_use), (long long)lane->row[1].step,
			     text_bytes(other, lane->row[1].peak));
}

/* Finds the lanes with the highest and the lowest peak, on different GPUs. Returns 1 if there are several GPUs. */
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

static void say_imbalance(struct sentence *sentence, const struct steps *steps)
{
	const struct steps_lane *high, *low;
	char one[TEXT_SIZE_MAX], two[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX];

	if (!find_extremes(steps, &high, &low))
		return;
	sentence_say(sentence, " Ranks: %s peaks highest, %s above %s.", answer_process(one, high->rank, high->pid),
		     text_bytes(size, high->highest->peak - low->highest->peak),
		     answer_process(two, low->rank, low->pid));
}

static void make_verdict(struct sentence *sentence, const struct growth_figures *figures,
			 const struct answer_options *options)
{
	const struct steps_lane *lane = growth_worst_lane(figures);

	sentence->size = 0;
	growth_say_state(sentence, figures);
	if (!lane)
		return;
	if (lane->state == GROWTH_GROWING)
		sentence_say(sentence, " Its stack: memana growth %s.", options->name);
	growth_say_asleep(sentence, figures);
	say_peak(sentence, lane);
	say_imbalance(sentence, &figures->steps);
}

/* ---- text ---- */

/* Prints the steps of one lane; of a long run, only the newest. */
static void print_lane(const struct text *text, const struct steps_lane *lane, const struct answer_options *options)
{
	size_t first = (int64_t)lane->count > options->limit ? lane->count - (size_t)options->limit : 0;
	char title[192], device[TEXT_SIZE_MAX], process[TEXT_SIZE_MAX], count[64];

	snprintf(title, sizeof(title), "Steps of %s on %s", answer_process(process, lane->rank, lane->pid),
		 answer_device(device, lane->number, lane->kind));
	answer_title(text, title);
	if (first)
		text_print(text, "  %s earlier (-n 0: all)\n", text_count(count, sizeof(count), first, "step"));
	column_text(text, &steps_columns, &lane->row[first], lane->count - first, sizeof(*lane->row));
	if (!lane->row[lane->count - 1].ended)
		text_print(text, "  * did not end\n");
}

/* Whether no lane of the device has a higher peak. */
static int makes_peak(const struct steps *steps, const struct steps_lane *lane)
{
	size_t i;

	for (i = 0; i < steps->count; i++)
		if (&steps->lane[i] != lane && steps->lane[i].device == lane->device &&
		    (growth_peaks_higher(&steps->lane[i], lane) ||
		     (&steps->lane[i] < lane && !growth_peaks_higher(lane, &steps->lane[i]))))
			return 0;
	return 1;
}

static const char *lane_device(char store[COLUMN_STORE], const struct steps_lane *lane)
{
	char word[TEXT_SIZE_MAX];

	snprintf(store, COLUMN_STORE, "%s", answer_device(word, lane->number, lane->kind));
	return store;
}

static const char *lane_by(char store[COLUMN_STORE], const struct steps_lane *lane)
{
	char word[TEXT_SIZE_MAX];

	snprintf(store, COLUMN_STORE, "%s", answer_process(word, lane->highest->peak_rank, lane->highest->peak_pid));
	return store;
}

/* Columns for the peak of the whole device, over all processes. */
#define STEPS_PEAK_COLUMNS(X, T)                                               \
	X(T, device, LABEL, "device", lane_device(value->store, it), "device") \
	X(T, peak, BYTES, "peak", it->highest->peak, "its highest peak")       \
	X(T, step, NUMBER, "in step", it->highest->step, "step of the peak")   \
	X(T, by, LABEL, "by", lane_by(value->store, it), "process that made it")

COLUMN_TABLE(steps_peak, struct steps_lane, STEPS_PEAK_COLUMNS)

static int print_lanes(const struct text *text, const struct steps *steps)
{
	const void **row = malloc(steps->count * sizeof(*row));
	size_t count = 0, i;

	if (!row)
		return -MT_E_MEMORY;
	for (i = 0; i < steps->count; i++)
		if (makes_peak(steps, &steps->lane[i]))
			row[count++] = &steps->lane[i];
	answer_title(text, "Devices");
	column_text(text, &steps_peak_columns, row, count, 0);
	answer_title(text, "Processes");
	column_text(text, &steps_lane_columns, steps->lane, steps->count, sizeof(*steps->lane));
	free(row);
	return 0;
}

static int print_steps(const struct text *text, struct db *db, const struct growth_figures *figures,
		       const struct answer_options *options)
{
	struct sentence sentence;
	int error;

	(void)db;
	make_verdict(&sentence, figures, options);
	answer_verdict(text, &sentence);
	error = figures->steps.count > 1 ? print_lanes(text, &figures->steps) : 0;
	if (!error && growth_worst_lane(figures)) {
		print_lane(text, growth_worst_lane(figures), options);
		growth_print(text, &figures->growth, PLACES_SHOWN);
	}
	return error;
}

/* ---- JSON ---- */

/* Writes the places that grow in this lane. */
static void json_growing(struct doc *doc, const struct growth *growth, const struct steps_lane *lane)
{
	const struct growth_place *place = growth->table.places.place, *end = place + growth->table.places.count;
	struct growth_row row;

	doc_array(doc, "growing");
	for (; place < end; place++) {
		if (place->process != lane->process || place->device != lane->device)
			continue;
		row = growth_row_of(place);
		doc_object(doc, NULL);
		column_json(doc, &growth_columns, &row);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_lane(struct doc *doc, const struct growth *growth, const struct steps_lane *lane,
		      const struct answer_options *options)
{
	size_t first = (int64_t)lane->count > options->limit ? lane->count - (size_t)options->limit : 0;

	doc_object(doc, NULL);
	column_json(doc, &steps_lane_columns, lane);
	column_json_rows(doc, "steps", &steps_columns, &lane->row[first], lane->count - first, sizeof(*lane->row));
	json_growing(doc, growth, lane);
	doc_end(doc);
}

static int json_steps(struct doc *doc, struct db *db, const struct growth_figures *figures,
		      const struct answer_options *options)
{
	const struct steps_lane *high, *low;
	struct sentence sentence;
	size_t i;
	int ranks = find_extremes(&figures->steps, &high, &low);

	(void)db;
	make_verdict(&sentence, figures, options);
	doc_string(doc, "verdict", sentence.text);
	doc_int_or_null(doc, "imbalance_bytes", ranks ? (int64_t)(high->highest->peak - low->highest->peak) : 0, ranks);
	growth_json(doc, &figures->growth, SIZE_MAX);
	doc_array(doc, "processes");
	for (i = 0; i < figures->steps.count; i++)
		json_lane(doc, &figures->growth, &figures->steps.lane[i], options);
	doc_end(doc);
	return 0;
}

int cmd_steps(int argc, char **argv)
{
	static const struct growth_answer answer = {
		.parts = GROWTH_STEPS,
		.limit = STEPS_SHOWN,
		.limit_help = "show the newest N steps (default 20; 0: all)",
		.text = print_steps,
		.json = json_steps,
	};

	return growth_answer_command(argc, argv, &answer);
}
