/* cmd_growth.c - memana growth: whether memory grows, by how many bytes in each step, in which phase, and at which places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "figures.h"
#include "memtrace/error.h"
#include "report/command.h"

#define STEPS_SHOWN 12
#define PLACES_SHOWN 5
#define FRAMES_SHOWN 6

/* ---- the verdict ---- */

/* Says the phase that keeps most, if more than one phase keeps memory. */
static void say_phase(struct sentence *sentence, const struct growth_figures *figures)
{
	const struct growth_device *device = figures->growth.device;
	const struct growth_phase *row = figures->phase, *end = row + figures->phase_count;
	char share[TEXT_SIZE_MAX];

	while (row < end && row->number != device->number)
		row++;
	if (row == end || !row->bytes)
		return;
	if (row->bytes == device->bytes)
		sentence_say(sentence, " All of it is allocated in %s.", answer_phase(row->phase));
	else
		sentence_say(sentence, " %s of it is allocated in %s.", text_percent(share, row->bytes, device->bytes),
			     answer_phase(row->phase));
}

static void make_verdict(struct sentence *sentence, const struct growth_figures *figures)
{
	static const struct growth_list none;

	sentence->size = 0;
	growth_say_state(sentence, figures);
	if (figures->growth.devices) {
		say_phase(sentence, figures);
		growth_say_remedy(sentence, &figures->growth.table.places, &none);
	}
	growth_say_asleep(sentence, figures);
}

/* ---- text ---- */

/* Prints the earlier steps whose events were dropped. */
static int print_let_go(const struct text *text, struct db *db, const struct steps_lane *lane)
{
	struct let_go let_go;
	int error = let_go_load(&let_go, db, lane->process, lane->device);

	if (!error && let_go.count) {
		let_go_thin(&let_go, STEPS_SHOWN);
		answer_title(text, "Earlier steps (--keep let their events go)");
		column_text(text, &let_go_columns, let_go.row, let_go.count, sizeof(*let_go.row));
	}
	let_go_release(&let_go);
	return error;
}

/* Prints the steps of one lane. In a long run, a row is for several steps. */
static int print_steps(const struct text *text, const struct steps_lane *lane)
{
	char title[192], device[TEXT_SIZE_MAX], process[TEXT_SIZE_MAX];
	size_t rows;
	struct steps_row *row = steps_thin(lane, STEPS_SHOWN, &rows);

	if (!row)
		return -MT_E_MEMORY;
	snprintf(title, sizeof(title), "By step, %s on %s", answer_process(process, lane->rank, lane->pid),
		 answer_device(device, lane->number, lane->kind));
	answer_title(text, title);
	column_text(text, &steps_columns, row, rows, sizeof(*row));
	if (!row[rows - 1].ended)
		text_print(text, "  * did not end\n");
	free(row);
	return 0;
}

/* Prints the phases of the lane's device. */
static void print_phases(const struct text *text, const struct growth_figures *figures, const struct steps_lane *lane)
{
	const struct growth_phase *first = figures->phase, *end = first + figures->phase_count, *last;
	char title[96], device[TEXT_SIZE_MAX];

	while (first < end && first->number != lane->number)
		first++;
	for (last = first; last < end && last->number == lane->number;)
		last++;
	if (first == last)
		return;
	snprintf(title, sizeof(title), "By phase, all processes on %s",
		 answer_device(device, lane->number, lane->kind));
	answer_title(text, title);
	column_text(text, &growth_phase_columns, first, (size_t)(last - first), sizeof(*first));
}

/* Prints the frames of the user and of libraries, from the place outwards. */
static void print_stack(const struct text *text, const struct growth_name *name)
{
	struct sentence sentence = { .size = 0 };
	char function[256], place[CALLSTACK_PLACE_MAX];
	const struct callstack_frame *frame;
	size_t at, shown = 0;

	for (at = name->user; at < name->stack.count && shown < FRAMES_SHOWN; at++) {
		frame = name->stack.frame[at];
		if (at != name->user && !callstack_is_user(frame) && !callstack_is_library(frame))
			continue;
		sentence_say(&sentence, "%s", !shown ? "" : shown == 1 ? ", called from " : ", ");
		shown++;
		answer_say_place(&sentence, callstack_function(function, sizeof(function), frame),
				 callstack_place(place, sizeof(place), frame));
	}
	if (shown)
		text_wrap(text, 4, 2, sentence.text);
}

static void print_stacks(const struct text *text, const struct growth *growth)
{
	size_t i;

	if (growth->table.rows)
		answer_title(text, growth->table.rows > 1 ? "Their stacks" : "Its stack");
	for (i = 0; i < growth->table.rows && i < PLACES_SHOWN; i++)
		print_stack(text, growth->table.row[i].most->name);
}

static int print_growth(const struct text *text, struct db *db, const struct growth_figures *figures,
			const struct answer_options *options)
{
	const struct steps_lane *lane = growth_worst_lane(figures);
	struct sentence sentence;
	int error;

	(void)options;
	make_verdict(&sentence, figures);
	answer_verdict(text, &sentence);
	if (!lane)
		return 0;
	error = print_let_go(text, db, lane);
	if (!error)
		error = print_steps(text, lane);
	if (!error) {
		print_phases(text, figures, lane);
		growth_print(text, &figures->growth, PLACES_SHOWN);
		print_stacks(text, &figures->growth);
	}
	return error;
}

/* ---- JSON ---- */

static int json_lane(struct doc *doc, struct db *db, const struct steps_lane *lane)
{
	struct let_go let_go;
	int error = let_go_load(&let_go, db, lane->process, lane->device);

	doc_object(doc, NULL);
	column_json(doc, &steps_lane_columns, lane);
	column_json_rows(doc, "let_go", &let_go_columns, let_go.row, let_go.count, sizeof(*let_go.row));
	column_json_rows(doc, "steps", &steps_columns, lane->row, lane->count, sizeof(*lane->row));
	doc_end(doc);
	let_go_release(&let_go);
	return error;
}

static int json_growth(struct doc *doc, struct db *db, const struct growth_figures *figures,
		       const struct answer_options *options)
{
	const struct growth_table *table = &figures->growth.table;
	struct sentence sentence;
	size_t i;
	int error = 0;

	(void)options;
	make_verdict(&sentence, figures);
	doc_string(doc, "verdict", sentence.text);
	growth_json(doc, &figures->growth, SIZE_MAX);
	column_json_rows(doc, "phases", &growth_phase_columns, figures->phase, figures->phase_count,
			 sizeof(*figures->phase));
	column_json_rows(doc, "per_step", &kept_columns, table->row, table->rows, sizeof(*table->row));
	doc_array(doc, "processes");
	for (i = 0; i < figures->steps.count && !error; i++)
		error = json_lane(doc, db, &figures->steps.lane[i]);
	doc_end(doc);
	return error;
}

int cmd_growth(int argc, char **argv)
{
	static const struct growth_answer answer = {
		.parts = GROWTH_STEPS | GROWTH_PEAKS | GROWTH_STACKS,
		.limit = INT64_MAX,
		.text = print_growth,
		.json = json_growth,
	};

	return growth_answer_command(argc, argv, &answer);
}
