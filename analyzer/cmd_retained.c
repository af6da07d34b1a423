/* memana retained - what outlives the phase, the micro-batch or the step that made it. */
#include <stdio.h>
#include <string.h>
#include "answer.h"
#include "asked.h"
#include "command.h"
#include "finding.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "retained.h"

#define PLACES_TEXT 8
#define STEPS_ENOUGH 4 /* three that can be judged, and the last */

static const char options_help[] =
	"      --from PHASE what was allocated in this phase\n"
	"      --to PHASE   and is alive at the peak of this one\n"
	"      --step N     look at one step: its micro-batches, and what its phases began with\n"
	"  -n N             show N places of each kind (default 8; 0: all)\n"
	"      --json       for programs; bytes and nanoseconds\n";

static const struct option long_options[] = {
	{ "from", required_argument, NULL, 'f' },
	{ "to", required_argument, NULL, 't' },
	{ "step", required_argument, NULL, 's' },
	{ "json", no_argument, NULL, 'j' },
	COMMAND_RULES_OPTION,
	COMMAND_OPTIONS,
};

struct retained_command {
	struct retained_question question;
	size_t limit; /* places of each kind */
	int json, help;
};

static int parse_phase(const char *option, const char *word, const char **phase)
{
	int number = mt_phase_parse(word, strlen(word));

	if (number < 0)
		return command_fail(EXIT_USAGE, "retained: --%s %s: no such phase (see memana phases)", option, word);
	*phase = mt_phase_name((uint32_t)number);
	return 0;
}

static int parse(struct retained_command *command, int argc, char **argv)
{
	int option, status = 0;
	long number;

	*command = (struct retained_command){ .limit = PLACES_TEXT };
	while (!status && (option = getopt_long(argc, argv, ":n:h", long_options, NULL)) != -1) {
		if (option == 'f')
			status = parse_phase("from", optarg, &command->question.from);
		else if (option == 't')
			status = parse_phase("to", optarg, &command->question.to);
		else if (option == 's' && !command_number(optarg, 1, INT32_MAX, &number))
			command->question.step = number;
		else if (option == 'n' && !command_number(optarg, 0, INT32_MAX, &number))
			command->limit = number ? (size_t)number : SIZE_MAX;
		else if (option == 's' || option == 'n')
			status = command_fail(EXIT_USAGE, "retained: %s: not a number of %s", optarg,
					      option == 's' ? "a step" : "places");
		else if (option == 'j')
			command->json = 1;
		else if (option == 'h')
			command->help = 1;
		else if (option == COMMAND_RULES)
			status = command_rules(optarg);
		else
			status = command_bad_option(argc, argv, option);
	}
	return status;
}

/* ---- the verdict ---- */

static uint64_t sum_of(const struct retained_list *list)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < list->count; i++)
		sum += list->growth[i].bytes;
	return sum;
}

/* "forward_step (actor.py:312)", " and 2 other places" */
static void say_places(struct sentence *sentence, const struct retained *retained, const struct retained_list *list)
{
	char place[256], others[64];

	sentence_say(sentence, "%s",
		     finding_place(place, sizeof(place), retained->db, list->growth[0].node));
	if (list->count > 1)
		sentence_say(sentence, " and %s", text_count(others, sizeof(others), list->count - 1, "other place"));
}

static void say_batches(struct sentence *sentence, const struct retained *retained)
{
	const struct retained_list *list = &retained->batches;
	const struct retained_growth *growth = &list->growth[0];
	char each[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX];

	say_places(sentence, retained, list);
	sentence_say(sentence,
		     " keep%s %s more with every micro-batch (%u of the %u before the last one of step %lld; so in %u of %u "
		     "steps), %s when the last one begins",
		     list->count > 1 ? "" : "s", text_bytes(each, sum_of(list) / growth->parts), growth->parts, growth->of - 1,
		     (long long)growth->step, growth->steps, growth->steps_of, text_bytes(all, sum_of(list)));
}

static void say_steps(struct sentence *sentence, const struct retained *retained)
{
	const struct retained_list *list = &retained->steps;
	const struct retained_growth *growth = &list->growth[0];
	char each[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX];

	say_places(sentence, retained, list);
	sentence_say(sentence, " keep%s %s more with every step (steps %u to %u of %u), never freed, %s so far",
		     list->count > 1 ? "" : "s", text_bytes(each, sum_of(list) / growth->parts), growth->first,
		     growth->first + growth->parts - 1, growth->of, text_bytes(all, sum_of(list)));
}

/* "12.1 GiB since step 1 (weights 4.0 GiB, optimizer state 8.1 GiB)" */
static void say_stays(struct sentence *sentence, const struct retained *retained)
{
	char size[TEXT_SIZE_MAX];
	uint32_t i;
	int parts = 0;

	sentence_say(sentence, "%s since step 1", text_bytes(size, retained->stays_bytes));
	/* "other" comes last; crumbs are left out. */
	for (i = 1; i <= MT_CATEGORY_COUNT; i++)
		if (retained->stays[i % MT_CATEGORY_COUNT] > retained->stays_bytes / 100)
			sentence_say(sentence, "%s%s %s", parts++ ? ", " : " (", mt_category_name(i % MT_CATEGORY_COUNT),
				     text_bytes(size, retained->stays[i % MT_CATEGORY_COUNT]));
	sentence_say(sentence, parts ? ")" : "");
}

static void say_nothing_grows(struct sentence *sentence, const struct retained *retained)
{
	char size[TEXT_SIZE_MAX], steps[64];

	if (retained->step_count < STEPS_ENOUGH) {
		sentence_say(sentence, "%s ended: too few to tell growth from what is replaced (%d are needed).",
			     text_count(steps, sizeof(steps), retained->step_count, "step"), STEPS_ENOUGH);
		if (retained->step_count) {
			sentence_say(sentence, " At the end of the last one are alive ");
			say_stays(sentence, retained);
			if (retained->later_bytes)
				sentence_say(sentence, ", and %s made later", text_bytes(size, retained->later_bytes));
			sentence_say(sentence, ".");
		}
		return;
	}
	sentence_say(sentence, "Nothing grows over %s: across them stays ",
		     text_count(steps, sizeof(steps), retained->step_count, "step"));
	say_stays(sentence, retained);
	if (retained->later_bytes)
		sentence_say(sentence, ", and %s that is replaced or came once", text_bytes(size, retained->later_bytes));
	sentence_say(sentence, ".");
}

/* The pair of phases that has most, and the place that has most of it. */
static void say_asked(struct sentence *sentence, const struct retained *retained, const struct retained_question *question)
{
	const struct retained_crossing *pair = retained->phases.crossing, *at = retained->places.crossing;
	char size[TEXT_SIZE_MAX], place[256], when[64] = "";

	if (question->step)
		snprintf(when, sizeof(when), "begins in step %lld", (long long)question->step);
	if (!retained->phases.count) {
		sentence_say(sentence, "Nothing that was allocated in %s is alive %s %s%s%s.",
			     question->from ? question->from : "another phase", *when ? "where" : "at the peak of",
			     question->to ? question->to : "another phase", *when ? " " : "", when);
		return;
	}
	sentence_say(sentence, "%s allocated in %s is alive %s %s%s%s", text_bytes(size, pair->bytes), pair->from,
		     *when ? "where" : "at the peak of", pair->to, *when ? " " : "", when);
	while (at->from != pair->from || at->to != pair->to)
		at++; /* each pair has a place */
	sentence_say(sentence, ": %s of it %s, by %s.", at->bytes == pair->bytes ? "all" : text_bytes(size, at->bytes),
		     at->category, finding_place(place, sizeof(place), retained->db, at->node));
}

static struct sentence verdict(const struct retained *retained, const struct retained_question *question)
{
	struct sentence sentence = { 0 };
	int batches = retained->batches.count != 0, steps = retained->steps.count != 0;

	if (question->from || question->to) {
		say_asked(&sentence, retained, question);
		return sentence;
	}
	if (batches)
		say_batches(&sentence, retained);
	if (batches && steps)
		sentence_say(&sentence, "; ");
	if (steps)
		say_steps(&sentence, retained);
	if (batches || steps)
		sentence_say(&sentence, ": no knob fixes this; drop the reference (keep a detached number instead of the "
					"tensor, or delete it before the next round).");
	else
		say_nothing_grows(&sentence, retained);
	return sentence;
}

/* ---- text ---- */

static void print_growth(const struct text *text, const struct retained *retained, const struct retained_list *list,
			 size_t limit, const char *title)
{
	const struct retained_growth *growth;
	struct sentence sentence;
	char place[256], each[TEXT_SIZE_MAX];
	size_t i;

	if (!list->count)
		return;
	answer_title(text, title);
	for (i = 0; i < list->count && i < limit; i++) {
		growth = &list->growth[i];
		sentence.size = 0;
		sentence_say(&sentence, "%s: %s each, %s from %s, pid %lld",
			     finding_place(place, sizeof(place), retained->db, growth->node),
			     text_bytes(each, growth->bytes / growth->parts), growth->category, growth->phase,
			     (long long)growth->pid);
		finding_line(text, growth->bytes, sentence.text);
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
		sentence_say(&sentence, "from %s in %s, %s", crossing->from, crossing->to,
			     text_count(count, sizeof(count), crossing->count, "allocation"));
		finding_line(text, crossing->bytes, sentence.text);
	}
}

static void print_text(const struct text *text, const struct retained *retained, const struct retained_command *command)
{
	struct sentence sentence = verdict(retained, &command->question);

	answer_verdict(text, &sentence);
	if (!command->question.from && !command->question.to) {
		print_growth(text, retained, &retained->batches, command->limit,
			     "Kept by every micro-batch until the last one (worst step)");
		print_growth(text, retained, &retained->steps, command->limit, "Kept by every step, never freed");
	}
	print_crossings(text, retained, &retained->places, command->limit, "By place");
	print_crossings(text, retained, &retained->phases, command->limit,
			command->question.step ? "Alive where another phase begins in that step" :
						 "Alive at the peak of another phase");
}

/* ---- JSON ---- */

static int json_growth(struct doc *doc, const struct retained *retained, const struct retained_list *list,
		       size_t limit, const char *key)
{
	const struct retained_growth *growth;
	size_t i;
	int error = 0;

	doc_array(doc, key);
	for (i = 0; i < list->count && i < limit && !error; i++) {
		growth = &list->growth[i];
		doc_object(doc, NULL);
		doc_int(doc, "bytes", (int64_t)growth->bytes);
		doc_int(doc, "bytes_each", (int64_t)(growth->bytes / growth->parts));
		doc_int(doc, "first", growth->first);
		doc_int(doc, "parts", growth->parts);
		doc_int(doc, "parts_of", growth->of);
		if (growth->steps) {
			doc_int(doc, "step", growth->step);
			doc_int(doc, "steps", growth->steps);
			doc_int(doc, "steps_of", growth->steps_of);
		}
		doc_int(doc, "pid", growth->pid);
		doc_string(doc, "phase", growth->phase);
		doc_string(doc, "category", growth->category);
		error = finding_json_place(doc, retained->db, growth->node);
		doc_end(doc);
	}
	doc_end(doc);
	return error;
}

static int json_crossings(struct doc *doc, const struct retained *retained,
			  const struct retained_crossings *list, size_t limit, const char *key)
{
	const struct retained_crossing *crossing;
	size_t i;
	int error = 0;

	doc_array(doc, key);
	for (i = 0; i < list->count && i < limit && !error; i++) {
		crossing = &list->crossing[i];
		doc_object(doc, NULL);
		doc_string(doc, "from", crossing->from);
		doc_string(doc, "to", crossing->to);
		doc_int(doc, "bytes", (int64_t)crossing->bytes);
		doc_int(doc, "count", (int64_t)crossing->count);
		if (crossing->category) {
			doc_int(doc, "pid", crossing->pid);
			doc_string(doc, "category", crossing->category);
			error = finding_json_place(doc, retained->db, crossing->node);
		}
		doc_end(doc);
	}
	doc_end(doc);
	return error;
}

static int print_json(const struct retained *retained, const struct retained_command *command)
{
	struct sentence sentence = verdict(retained, &command->question);
	struct doc *doc = doc_new();
	uint32_t i;
	int error;

	if (!doc)
		return -MT_E_MEMORY;
	doc_object(doc, NULL);
	doc_int(doc, "version", 1);
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
	error = json_growth(doc, retained, &retained->batches, command->limit, "per_micro_batch");
	if (!error)
		error = json_growth(doc, retained, &retained->steps, command->limit, "per_step");
	if (!error)
		error = json_crossings(doc, retained, &retained->phases, command->limit, "phases");
	if (!error)
		error = json_crossings(doc, retained, &retained->places, command->limit, "places");
	doc_end(doc);
	if (!error)
		error = doc_print(doc, stdout);
	doc_free(doc);
	return error;
}

/* ---- the command ---- */

static int report(const struct retained_command *command, struct db *db)
{
	struct retained retained;
	struct text text;
	int error = retained_load(&retained, db, &command->question);

	text_init(&text, stdout);
	if (!error && command->json)
		error = print_json(&retained, command);
	else if (!error)
		print_text(&text, &retained, command);
	retained_release(&retained);
	return error;
}

int cmd_retained(int argc, char **argv)
{
	struct retained_command command;
	struct asked asked;
	int status = parse(&command, argc, argv), error, damage;

	if (status)
		return status;
	if (command.help)
		return command_help("retained", options_help);
	if (optind == argc)
		return command_fail(EXIT_USAGE, "retained: no trace named (memana retained trace.zst)");
	if (command.json && command.limit == PLACES_TEXT)
		command.limit = SIZE_MAX;
	status = asked_open(&asked, "retained", argv + optind, (uint32_t)(argc - optind));
	if (!status) {
		error = report(&command, asked.db);
		status = error ? finding_fail("retained", asked.name, asked.db, error) : 0;
	}
	damage = asked_close(&asked);
	return status ? status : damage;
}
