/* memana retained - memory that outlives the phase, the micro-batch or the step in which it was allocated. */
#include <stdio.h>
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/finding.h"
#include "report/places.h"
#include "report/report.h"
#include "retained.h"

#define PLACES_TEXT 8

enum { OPTION_FROM = COMMAND_OWN, OPTION_TO, OPTION_STEP };

static const struct command_option own_options[] = {
	{ OPTION_FROM, "from", "PHASE", "what was allocated in this phase", COMMAND_PHASES },
	{ OPTION_TO, "to", "PHASE", "and is alive at the peak of this one", COMMAND_PHASES },
	{ OPTION_STEP, "step", "N", "look at one step: its micro-batches, and what its phases began with" },
	{ 'n', NULL, "N", "show N places of each kind (default 8; 0: all)" },
	COMMAND_RULES_OPTION,
	COMMAND_FULL_OPTION,
	COMMAND_JSON_OPTION,
	COMMAND_HELP_OPTION,
};

struct retained_command {
	struct retained_question question;
	size_t limit; /* largest number of places of each kind */
	int json, help;
};

static int parse_phase(const char *option, const char *word, const char **phase)
{
	int number = mt_phase_parse(word, strlen(word));

	if (number < 0)
		return command_bad_phase("retained", option, word);
	*phase = mt_phase_name((uint32_t)number);
	return 0;
}

static int take_own(struct answer_options *options, int option)
{
	struct retained_command *command = options->own;
	long number;

	switch (option) {
	case OPTION_FROM:
		return parse_phase("from", optarg, &command->question.from);
	case OPTION_TO:
		return parse_phase("to", optarg, &command->question.to);
	default:
		if (command_number(optarg, 1, INT32_MAX, &number))
			return command_fail(EXIT_USAGE, "retained: --step %s: not a number of a step", optarg);
		command->question.step = number;
		return 0;
	}
}

static int parse(struct retained_command *command, int argc, char **argv)
{
	const struct answer answer = { .options = own_options, .limit = PLACES_TEXT, .take_own = take_own };
	struct answer_options options;
	int status;

	memset(command, 0, sizeof(*command));
	status = answer_parse(&options, &answer, argc, argv, command);
	command->limit = (size_t)options.limit;
	command->json = options.json;
	command->help = options.help;
	return status;
}

/* ---- text ---- */

static void print_growth(const struct text *text, const struct growth_table *table, size_t limit, const char *title)
{
	const struct growth_row *row;
	struct sentence sentence;
	char each[TEXT_SIZE_MAX];
	size_t i;

	if (!table->rows)
		return;
	answer_title(text, title);
	for (i = 0; i < table->rows && i < limit; i++) {
		row = &table->row[i];
		sentence.size = 0;
		growth_say_name(&sentence, row->most->name);
		sentence_say(&sentence, ": %s each, %s from %s, ", text_bytes(each, row->each), row->most->category,
			     answer_phase(row->most->phase));
		growth_say_processes(&sentence, row);
		finding_phase_line(text, row->most->phase, row->bytes, sentence.text);
	}
}

static void print_crossings(const struct text *text, const struct retained *retained,
			    const struct retained_crossings *list, size_t limit, const char *title)
{
	const struct retained_crossing *crossing;
	struct sentence sentence;
	char place[256], count[64];
	size_t i;

	if (!list->count)
		return;
	answer_title(text, title);
	for (i = 0; i < list->count && i < limit; i++) {
		crossing = &list->crossing[i];
		sentence.size = 0;
		if (crossing->category)
			sentence_say(&sentence, "%s: %s, ",
				     finding_place(place, sizeof(place), retained->db, crossing->node),
				     crossing->category);
		sentence_say(&sentence, "from %s", answer_phase(crossing->from));
		if (crossing->from != crossing->to)
			sentence_say(&sentence, ", alive in %s", crossing->to);
		retained_say_device(&sentence, retained, crossing);
		if (crossing->from != crossing->to)
			sentence_say(&sentence, ", %s",
				     text_count(count, sizeof(count), crossing->count, "allocation"));
		finding_phase_line(text, crossing->from, crossing->bytes, sentence.text);
	}
}

static void print_text(const struct text *text, const struct retained *retained, const struct retained_command *command)
{
	struct sentence sentence = retained_verdict(retained, &command->question);

	answer_verdict(text, &sentence);
	if (!command->question.from && !command->question.to) {
		if (retained->step_count && retained->growth.state == GROWTH_UNKNOWN)
			print_crossings(text, retained, &retained->outlived, command->limit,
					"Allocated in a step, not needed by a later step, and still in use");
		print_growth(text, &retained->batch_table, command->limit,
			     "Kept by every micro-batch until the last one (worst step)");
		print_growth(text, &retained->growth.table, command->limit, "Kept by every step, never freed");
	}
	print_crossings(text, retained, &retained->places, command->limit, "By place");
	print_crossings(text, retained, &retained->phases, command->limit,
			command->question.step ? "Alive where another phase begins in that step"
					       : "Alive at the peak of another phase");
}

/* ---- JSON ---- */

static void json_growth(struct doc *doc, const struct growth_table *table, size_t limit, const char *key)
{
	column_json_rows(doc, key, &kept_columns, table->row, table->rows < limit ? table->rows : limit,
			 sizeof(*table->row));
}

static int json_crossings(struct doc *doc, const struct retained *retained, const struct retained_crossings *list,
			  size_t limit, const char *key)
{
	const struct retained_crossing *crossing;
	size_t i;
	int error = 0;

	doc_array(doc, key);
	for (i = 0; i < list->count && i < limit && !error; i++) {
		crossing = &list->crossing[i];
		doc_object(doc, NULL);
		doc_int(doc, "device", crossing->number);
		doc_string(doc, "from", crossing->from);
		doc_string(doc, "to", crossing->to);
		doc_int(doc, "bytes", (int64_t)crossing->bytes);
		doc_int(doc, "count", (int64_t)crossing->count);
		if (crossing->category) {
			doc_pid(doc, "pid", crossing->pid);
			doc_string(doc, "category", crossing->category);
			error = stack_json_place(doc, retained->db, crossing->node);
		}
		doc_end(doc);
	}
	doc_end(doc);
	return error;
}

struct retained_answer {
	const struct retained *retained;
	const struct retained_command *command;
};

static int json_retained(struct doc *doc, void *context)
{
	const struct retained_command *command = ((struct retained_answer *)context)->command;
	const struct retained *retained = ((struct retained_answer *)context)->retained;
	struct sentence sentence = retained_verdict(retained, &command->question);
	uint32_t i;
	int error;

	doc_string(doc, "verdict", sentence.text);
	doc_int(doc, "steps", (int64_t)retained->step_count);
	doc_int(doc, "micro_batches", (int64_t)retained->batch_count);
	doc_int(doc, "stays_bytes", (int64_t)retained->stays_bytes);
	doc_object(doc, "stays");
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (retained->stays[i])
			doc_int(doc, mt_category_name(i), (int64_t)retained->stays[i]);
	doc_end(doc);
	doc_int(doc, "later_bytes", (int64_t)retained->later_bytes);
	doc_int(doc, "asleep_bytes", (int64_t)retained->asleep_bytes);
	growth_json(doc, &retained->growth, command->limit);
	json_growth(doc, &retained->batch_table, command->limit, "per_micro_batch");
	json_growth(doc, &retained->growth.table, command->limit, "per_step");
	error = json_crossings(doc, retained, &retained->outlived, command->limit, "outlived");
	if (!error)
		error = json_crossings(doc, retained, &retained->phases, command->limit, "phases");
	if (!error)
		error = json_crossings(doc, retained, &retained->places, command->limit, "places");
	return error;
}

/* ---- the command ---- */

/* Prints the answer. Returns 0 or -MT_E_x; -MT_E_ARGUMENT: the run does not have the step. */
static int report(const struct retained_command *command, struct db *db)
{
	struct retained retained;
	struct text text;
	int64_t step = command->question.step;
	int there = step ? retained_has_step(db, step) : 1, error;

	if (there <= 0)
		return there ? there : -MT_E_ARGUMENT;
	error = retained_load(&retained, db, &command->question);
	text_init(&text, stdout);
	if (!error && command->json)
		error = growth_table_stacks(&retained.growth.table, db, command->limit);
	if (!error && command->json)
		error = growth_table_stacks(&retained.batch_table, db, command->limit);
	if (!error && command->json)
		error = answer_document("retained", db, json_retained, &(struct retained_answer){ &retained, command });
	else if (!error)
		print_text(&text, &retained, command);
	retained_release(&retained);
	return error;
}

/* Prints one line with the reason why there is no answer, and no other faults of the traces. Returns the exit status. */
static int fail(const struct retained_command *command, struct report_input *input, int error)
{
	char absent[160];

	input->told = 1;
	if (error != -MT_E_ARGUMENT)
		return finding_fail("retained", input->name, input->db, error);
	snprintf(absent, sizeof(absent), "retained: --step %lld: the run has no such step (memana steps lists them)",
		 (long long)command->question.step);
	return report_absent(&input->analysis, absent);
}

int cmd_retained(int argc, char **argv)
{
	struct retained_command command;
	struct report_input input;
	int status = parse(&command, argc, argv), error, needed, damage;

	if (status)
		return status;
	if (command.help)
		return command_help("retained", own_options, NULL);
	if (optind == argc)
		return command_fail(EXIT_USAGE, "retained: no trace named (memana retained trace.zst)");
	status = report_input_open(&input, "retained", argv + optind, (uint32_t)(argc - optind),
				   command.question.step ? LOAD_SUMS : LOAD_BATCHES);
	needed = status || input.source.db ? 0 : retained_needs_lives(input.db);
	if (needed > 0)
		status = report_input_reload(&input, "retained", LOAD_LIVES);
	if (!status) {
		error = needed < 0 ? needed : report(&command, input.db);
		status = error ? fail(&command, &input, error) : 0;
	}
	damage = report_input_close(&input);
	return status ? status : damage;
}
