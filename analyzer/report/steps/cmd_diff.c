/* memana diff - the differences between two runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "diff.h"
#include "diff_cause.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/finding.h"
#include "report/report.h"

#define ROWS_TEXT 8
#define TRACES_MAX 4096
#define CELL 11

enum { OPTION_TOLERANCE = COMMAND_OWN };

static const struct command_option own_options[] = {
	{ OPTION_TOLERANCE, "tolerance", "P",
	  "percent by which two figures may differ and count as equal (default 1; less than 1 MiB never counts)" },
	{ 'n', NULL, "N", "show N rows of each table (default 8; 0: all)" },
	COMMAND_RULES_OPTION,
	COMMAND_FULL_OPTION,
	COMMAND_JSON_OPTION,
	COMMAND_HELP_OPTION,
};

static const char notes[] = "A and B are a trace, several traces of one run joined by commas, or a database.\n"
			    "Exit status 0: equal; 1: different.";

struct diff_command {
	uint64_t permille;
	struct answer_options options;
};

static const struct {
	const char *key, *title;
	int decides;
} tables[DIFF_COUNT] = {
#define DIFF_ROW(name, key, title, decides) [DIFF_##name] = { key, title, decides },
	DIFF_LIST(DIFF_ROW)
#undef DIFF_ROW
};

/* ---- arguments ---- */

/* Takes --tolerance, the only own option. */
static int take_tolerance(struct answer_options *options, int option)
{
	struct diff_command *command = options->own;
	char *end;
	double percent = strtod(optarg, &end);

	(void)option;
	if (end == optarg || (*end && strcmp(end, "%")) || !(percent >= 0 && percent <= 100))
		return command_fail(EXIT_USAGE, "diff: --tolerance %s: not a percentage", optarg);
	command->permille = (uint64_t)(percent * 10 + 0.5);
	return 0;
}

static int parse(struct diff_command *command, int argc, char **argv)
{
	const struct answer answer = { .options = own_options, .limit = ROWS_TEXT, .take_own = take_tolerance };

	command->permille = 10;
	return answer_parse(&command->options, &answer, argc, argv, command);
}

/* ---- the verdict ---- */

/* Whether a table that decides has a row with a difference. */
static int runs_differ(const struct diff *diff, uint64_t permille)
{
	size_t i;
	int kind;

	for (kind = 0; kind < DIFF_COUNT; kind++)
		for (i = 0; i < diff->table[kind].count && tables[kind].decides; i++)
			if (diff_differs(&diff->table[kind].row[i], permille))
				return 1;
	return 0;
}

/* Returns the row with the largest change in the direction of `sign` (0: any) on `device`; NULL: no row differs. */
static const struct diff_row *most(const struct diff *diff, enum diff_kind kind, int64_t device, int64_t sign,
				   uint64_t permille)
{
	const struct diff_row *row;
	size_t i;

	for (i = 0; i < diff->table[kind].count; i++) {
		row = &diff->table[kind].row[i];
		if (diff_differs(row, permille) && (device < 0 || row->device == device) &&
		    (!sign || (diff_change(row) > 0) == (sign > 0)))
			return row;
	}
	return NULL;
}

static void say_clean(struct sentence *sentence, const char *words)
{
	char clean[256];

	sentence_say(sentence, "%s", text_fit(clean, sizeof(clean), words, 70, 0));
}

/* Says "12.0 MiB instead of 6.0 MiB". */
static void say_figures(struct sentence *sentence, const struct diff_row *row)
{
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s instead of %s", text_bytes(b, row->b.bytes), text_bytes(a, row->a.bytes));
}

static void say_factor(struct sentence *sentence, const struct diff_row *row)
{
	int factor = diff_factor(row);

	if (factor == 2)
		sentence_say(sentence, ", twice the bytes per allocation: bf16 -> fp32?");
	else if (factor == -2)
		sentence_say(sentence, ", half the bytes per allocation: fp32 -> bf16?");
	else if (!row->a.in)
		sentence_say(sentence, ", new");
	else if (!row->b.in)
		sentence_say(sentence, ", gone");
}

/* Says which part of the peak changed most: a place, else a category. */
static void say_largest(struct sentence *sentence, const struct diff *diff, const struct diff_row *peak,
			uint64_t permille)
{
	int64_t sign = diff_change(peak);
	const struct diff_row *site = most(diff, DIFF_SITE, peak->device, sign, permille);
	const struct diff_row *category = most(diff, DIFF_CATEGORY, peak->device, sign, permille);

	if (!site && !category)
		return;
	sentence_say(sentence, "; the largest change is ");
	say_clean(sentence, site ? site->label : category->label);
	if (site && site->phase)
		sentence_say(sentence, " in %s", site->phase);
	sentence_say(sentence, ": ");
	say_figures(sentence, site ? site : category);
	say_factor(sentence, site ? site : category);
}

/* Says the cause that the changes of the places have in common. */
static void say_cause(struct sentence *sentence, const struct diff *diff, const struct diff_row *peak)
{
	struct diff_cause cause = diff_cause(diff, peak->device);
	char size[TEXT_SIZE_MAX];

	switch (cause.kind) {
	case DIFF_CAUSE_DTYPE:
		sentence_say(sentence,
			     " Probably the data type: weights and tensors of their size have %s the bytes in as many "
			     "allocations (%s). These tensors make %s of the difference.",
			     cause.factor > 1 ? "twice" : "half", cause.factor > 1 ? "bf16 -> fp32?" : "fp32 -> bf16?",
			     text_bytes(size, cause.bytes));
		break;
	case DIFF_CAUSE_TOKENS:
		sentence_say(sentence,
			     " Probably the tokens of a micro-batch: weights are equal, and tensors made of tokens have %.3g "
			     "times the bytes in as many allocations. These tensors make %s of the difference.",
			     cause.factor, text_bytes(size, cause.bytes));
		break;
	case DIFF_CAUSE_COPY:
		sentence_say(sentence,
			     " %s has one more copy of the weights, %s in as many allocations as the weights, by ",
			     diff_change(cause.row) > 0 ? "B" : "A", text_bytes(size, cause.bytes));
		say_clean(sentence, cause.row->label);
		sentence_say(sentence, " in %s.", cause.row->phase);
		break;
	case DIFF_CAUSE_UNKNOWN:
		break;
	}
}

static void say_difference(struct sentence *sentence, const struct diff *diff, uint64_t permille)
{
	const struct diff_row *peak = most(diff, DIFF_DEVICE, -1, 0, permille);
	const struct diff_row *phase = most(diff, DIFF_PHASE_PEAK, -1, 0, permille);
	const struct diff_row *row = peak ? peak : phase ? phase : most(diff, DIFF_STEP_PEAK, -1, 0, permille);
	char size[TEXT_SIZE_MAX];
	int64_t change;

	row = row ? row : most(diff, DIFF_OWNER, -1, 0, permille);
	change = diff_change(row);
	sentence_say(sentence, "%s takes %s %s than A", "B",
		     text_bytes(size, (uint64_t)(change < 0 ? -change : change)), change < 0 ? "less" : "more");
	sentence_say(sentence, peak ? " at the peak of %s, " : " in %s, ", row->label);
	say_figures(sentence, row);
	if (peak)
		say_largest(sentence, diff, peak, permille);
	sentence_say(sentence, ".");
	if (peak)
		say_cause(sentence, diff, peak);
}

/* Says the owners that only one run has, and a different number of steps or micro-batches. */
static void say_more(struct sentence *sentence, const struct diff *diff)
{
	const struct diff_row *row;
	char size[TEXT_SIZE_MAX];
	size_t i;

	for (i = 0; i < diff->table[DIFF_OWNER].count; i++) {
		row = &diff->table[DIFF_OWNER].row[i];
		if (row->a.in && row->b.in)
			continue;
		sentence_say(sentence, " ");
		say_clean(sentence, row->label);
		sentence_say(sentence, " is %s (%s).", row->b.in ? "new in B" : "only in A",
			     text_bytes(size, row->b.in ? row->b.bytes : row->a.bytes));
	}
	if (diff->a.batches != diff->b.batches)
		sentence_say(sentence, " A has up to %llu micro-batches in a step, B %llu.",
			     (unsigned long long)diff->a.batches, (unsigned long long)diff->b.batches);
	if (diff->a.steps != diff->b.steps)
		sentence_say(sentence, " A has %llu steps, B %llu.", (unsigned long long)diff->a.steps,
			     (unsigned long long)diff->b.steps);
}

static struct sentence verdict(const struct diff *diff, const struct diff_command *command, int differ)
{
	struct sentence sentence = { 0 };
	char percent[32];

	if (*diff->a.lost.text)
		sentence_say(&sentence, "A: %s", diff->a.lost.text);
	if (*diff->b.lost.text)
		sentence_say(&sentence, "B: %s", diff->b.lost.text);
	if (differ) {
		say_difference(&sentence, diff, command->permille);
	} else {
		snprintf(percent, sizeof(percent), "%.4g%%", (double)command->permille / 10);
		sentence_say(&sentence, "A and B are equal within %s: peaks of devices, phases and steps, and owners.",
			     percent);
	}
	say_more(&sentence, diff);
	return sentence;
}

/* ---- text ---- */

static void print_row(const struct text *text, const struct diff_row *row, int with_device)
{
	struct sentence sentence = { 0 };
	char a[TEXT_SIZE_MAX], b[TEXT_SIZE_MAX], change[TEXT_SIZE_MAX];

	if (with_device)
		sentence_say(&sentence, "device %lld, ", (long long)row->device);
	say_clean(&sentence, row->label);
	if (row->phase)
		sentence_say(&sentence, " in %s", row->phase);
	say_factor(&sentence, row);
	text_print(text, "%*s %*s %*s  ", CELL, row->a.in ? text_bytes(a, row->a.bytes) : "-", CELL,
		   row->b.in ? text_bytes(b, row->b.bytes) : "-", CELL + 1, text_change(change, diff_change(row)));
	text_wrap(text, 3 * CELL + 5, 3 * CELL + 5, sentence.text);
}

/* Prints the rows with a difference, and the peaks of all devices. */
static void print_table(const struct text *text, const struct diff *diff, enum diff_kind kind, int64_t limit)
{
	const struct diff_table *table = &diff->table[kind];
	int64_t shown = 0;
	size_t i;

	for (i = 0; i < table->count && shown < limit; i++) {
		if (!diff_change(&table->row[i]) && kind != DIFF_DEVICE)
			break;
		if (!shown++) {
			answer_title(text, tables[kind].title);
			text_print(text, "%*s %*s %*s\n", CELL, "A", CELL, "B", CELL + 1, "change");
		}
		print_row(text, &table->row[i], diff->table[DIFF_DEVICE].count > 1 && kind != DIFF_DEVICE);
	}
}

/* ---- JSON ---- */

static void json_row(struct doc *doc, const struct diff_row *row)
{
	doc_object(doc, NULL);
	doc_int(doc, "device", row->device);
	doc_string(doc, "name", row->label);
	if (row->phase)
		doc_string(doc, "phase", row->phase);
	doc_int_or_null(doc, "a_bytes", (int64_t)row->a.bytes, row->a.in);
	doc_int_or_null(doc, "b_bytes", (int64_t)row->b.bytes, row->b.in);
	doc_int_or_null(doc, "a_count", (int64_t)row->a.count, row->a.in);
	doc_int_or_null(doc, "b_count", (int64_t)row->b.count, row->b.in);
	doc_int(doc, "change_bytes", diff_change(row));
	if (diff_factor(row))
		doc_real(doc, "factor", diff_factor(row) == 2 ? 2 : 0.5);
	doc_end(doc);
}

/* Writes the cause for each device whose cause is known. */
static void json_cause(struct doc *doc, const struct diff *diff)
{
	const struct diff_table *peaks = &diff->table[DIFF_DEVICE];
	struct diff_cause cause;
	size_t i;

	doc_array(doc, "causes");
	for (i = 0; i < peaks->count; i++) {
		cause = diff_cause(diff, peaks->row[i].device);
		if (cause.kind == DIFF_CAUSE_UNKNOWN)
			continue;
		doc_object(doc, NULL);
		doc_int(doc, "device", peaks->row[i].device);
		doc_string(doc, "cause", diff_cause_word(cause.kind));
		if (cause.factor > 0)
			doc_real(doc, "factor", cause.factor);
		doc_int(doc, "bytes", (int64_t)cause.bytes);
		if (cause.row)
			doc_string(doc, "place", cause.row->label);
		doc_end(doc);
	}
	doc_end(doc);
}

static int print_json(const struct diff *diff, const struct diff_command *command, const char *words, int differ,
		      struct db *a, struct db *b)
{
	struct doc *doc = doc_new();
	size_t i;
	int kind, error;

	if (!doc)
		return -MT_E_MEMORY;
	doc_answer(doc, "diff");
	doc_string(doc, "verdict", words);
	doc_bool(doc, "equal", !differ);
	doc_real(doc, "tolerance_percent", (double)command->permille / 10);
	doc_int(doc, "a_steps", (int64_t)diff->a.steps);
	doc_int(doc, "b_steps", (int64_t)diff->b.steps);
	doc_int(doc, "a_micro_batches", (int64_t)diff->a.batches);
	doc_int(doc, "b_micro_batches", (int64_t)diff->b.batches);
	json_cause(doc, diff);
	for (kind = 0; kind < DIFF_COUNT; kind++) {
		doc_array(doc, tables[kind].key);
		for (i = 0; i < diff->table[kind].count && (int64_t)i < command->options.limit; i++)
			json_row(doc, &diff->table[kind].row[i]);
		doc_end(doc);
	}
	error = report_traces(doc, "a_traces", a);
	if (!error)
		error = report_traces(doc, "b_traces", b);
	doc_end(doc);
	if (!error)
		error = report_shape(doc, b);
	if (!error)
		error = report_shape(doc, a); /* with the devices that only the first run has */
	if (!error)
		error = doc_print(doc, stdout);
	doc_free(doc);
	return error;
}

/* ---- the command ---- */

/* Prints the answer. Returns 0, EXIT_NO, or -MT_E_x. */
static int report(const struct diff_command *command, struct db *a, struct db *b)
{
	struct sentence sentence;
	struct text text;
	struct diff diff;
	int error = diff_load(&diff, a, b), differ = 0, kind;

	if (!error) {
		differ = runs_differ(&diff, command->permille);
		sentence = verdict(&diff, command, differ);
		text_init(&text, stdout);
	}
	if (!error && command->options.json) {
		error = print_json(&diff, command, sentence.text, differ, a, b);
	} else if (!error) {
		answer_verdict(&text, &sentence);
		for (kind = 0; kind < DIFF_COUNT; kind++)
			print_table(&text, &diff, (enum diff_kind)kind, command->options.limit);
	}
	diff_release(&diff);
	return error ? error : differ ? EXIT_NO : 0;
}

/* Opens "trace" or "trace,trace"; a file with a comma in its name is one trace. Returns 0 or the exit status. */
static int open_side(struct report_input *input, char *word)
{
	char *path[TRACES_MAX] = { word };
	uint32_t count = 1;
	char *comma;

	if (access(word, F_OK))
		for (comma = strchr(word, ','); comma && count < TRACES_MAX; comma = strchr(comma + 1, ',')) {
			*comma = '\0';
			path[count++] = comma + 1;
		}
	return report_input_open(input, "diff", path, count, LOAD_STEPS);
}

int cmd_diff(int argc, char **argv)
{
	struct diff_command command;
	struct report_input a, b = { 0 };
	int status = parse(&command, argc, argv), answer, damage_a, damage_b;

	if (status)
		return status;
	if (command.options.help)
		return command_help("diff", own_options, notes);
	if (argc - optind != 2)
		return command_fail(EXIT_USAGE, "diff: two runs are needed (memana diff before.zst after.zst)");
	status = open_side(&a, argv[optind]);
	if (!status) {
		status = open_side(&b, argv[optind + 1]);
		answer = status ? 0 : report(&command, a.db, b.db);
		if (answer < 0)
			status = finding_fail("diff", b.name, b.db, answer);
		a.told = b.told = status || answer < 0; /* a message was printed: no second line */
		if (!status)
			status = answer;
	}
	damage_a = report_input_close(&a);
	b.told |= damage_a;
	damage_b = report_input_close(&b);
	return damage_a ? damage_a : damage_b ? damage_b : status;
}
