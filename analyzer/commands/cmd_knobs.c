/* memana knobs - lists the frameworks' settings that change memory use (formats/knobs), one line each, for grep. */
#include <stdio.h>
#include <string.h>
#include "base/json.h"
#include "base/text.h"
#include "memtrace/error.h"
#include "memtrace/knobs.h"
#include "report/command.h"
#include "report/command_option.h"

/* ---- text ---- */

static const char *process_word(uint32_t bit)
{
	return mt_knob_process_word((enum mt_knob_process)bit);
}

/* Writes the words of the bits, such as "weights, gradients". */
static void bit_words(char *out, size_t size, uint32_t bits, const char *(*word)(uint32_t bit))
{
	size_t used = 0;
	uint32_t bit;

	*out = '\0';
	for (bit = 0; bit < 32 && used < size; bit++)
		if (bits & 1u << bit)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", word(bit));
}

static void print_line(const struct mt_knob_file *file, const char *key, const char *value, const char *cost,
		       const char *words)
{
	char clean[4096];

	text_say("%-12s %-56s %-12s %-15s %s\n", file->framework, key, value, cost,
		 text_fit(clean, sizeof(clean), words, sizeof(clean) - 4, 0));
}

static const char *default_words(const struct mt_knob_name *name, uint32_t release)
{
	const char *value = mt_knob_default_in(name, release);

	if (!value)
		return "-";
	return *value ? value : "''";
}

/* Prints an old key, and the setting that replaces it. */
static void print_past(const struct mt_knob_file *file, const struct mt_knob_name *name, const char *today)
{
	char words[2400];

	if (name->gone < file->releases)
		snprintf(words, sizeof(words), "gone in %s: %s", file->release[name->gone].version, today);
	else
		snprintf(words, sizeof(words), "older: %s", today);
	print_line(file, name->key, default_words(name, name->gone - 1), "-", words);
}

static void print_knob(const struct mt_knob_file *file, const struct mt_knob *knob)
{
	char categories[320], phases[200], processes[100], words[3200];
	uint32_t i;

	if (knob->instead) {
		print_past(file, &knob->name, knob->instead);
	} else {
		bit_words(categories, sizeof(categories), knob->categories, mt_knob_category_words);
		bit_words(phases, sizeof(phases), knob->phases, mt_phase_name);
		bit_words(processes, sizeof(processes), knob->processes, process_word);
		snprintf(words, sizeof(words), "%s [%s; %s; %s]%s%s", knob->what, categories, phases, processes,
			 knob->not_so ? " But: " : "", knob->not_so ? knob->not_so : "");
		print_line(file, knob->name.key, default_words(&knob->name, file->releases - 1),
			   mt_knob_cost_words(knob->cost), words);
	}
	for (i = 0; i < knob->olders; i++)
		print_past(file, &knob->older[i], knob->name.key);
}

/* ---- JSON ---- */

static void json_text(struct doc *doc, const char *key, const char *text)
{
	if (text)
		doc_string(doc, key, text);
	else
		doc_null(doc, key);
}

static void json_bits(struct doc *doc, const char *key, uint32_t bits, const char *(*word)(uint32_t bit))
{
	uint32_t bit;

	doc_array(doc, key);
	for (bit = 0; bit < 32; bit++)
		if (bits & 1u << bit)
			doc_string(doc, NULL, word(bit));
	doc_end(doc);
}

static void json_name(struct doc *doc, const struct mt_knob_file *file, const struct mt_knob_name *name)
{
	uint32_t i;

	doc_string(doc, "key", name->key);
	json_text(doc, "source", name->source);
	doc_string(doc, "since", file->release[name->since].version);
	json_text(doc, "gone", name->gone < file->releases ? file->release[name->gone].version : NULL);
	doc_array(doc, "defaults");
	for (i = 0; i < name->defaults; i++) {
		doc_object(doc, NULL);
		doc_string(doc, "since", file->release[name->by_release[i].since].version);
		doc_string(doc, "value", name->by_release[i].value);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_constraint(struct doc *doc, const struct mt_knob_constraint *constraint)
{
	int about_fact = constraint->kind == MT_KNOB_CONSTRAINT_AT_LEAST ||
			 constraint->kind == MT_KNOB_CONSTRAINT_DIVIDES;
	uint32_t i;

	doc_object(doc, NULL);
	doc_string(doc, "says", constraint->says);
	if (about_fact)
		doc_string(doc, mt_knob_constraint_key(constraint->kind), mt_knob_fact_words(constraint->fact));
	else if (constraint->key)
		doc_string(doc, mt_knob_constraint_key(constraint->kind), constraint->key);
	if (constraint->times)
		doc_string(doc, "times", constraint->times);
	if (constraint->beyond)
		doc_string(doc, "beyond", mt_knob_beyond_word(constraint->beyond));
	if (constraint->values) {
		doc_array(doc, "value");
		for (i = 0; i < constraint->values; i++)
			doc_string(doc, NULL, constraint->value[i]);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_older(struct doc *doc, const struct mt_knob_file *file, const struct mt_knob *knob)
{
	uint32_t i;

	doc_array(doc, "older");
	for (i = 0; i < knob->olders; i++) {
		doc_object(doc, NULL);
		json_name(doc, file, &knob->older[i]);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_knob(struct doc *doc, const struct mt_knob_file *file, const struct mt_knob *knob)
{
	uint32_t i;

	doc_object(doc, NULL);
	doc_string(doc, "framework", file->framework);
	json_name(doc, file, &knob->name);
	json_older(doc, file, knob);
	json_text(doc, "instead", knob->instead);
	json_text(doc, "passes", knob->passes);
	json_text(doc, "unset", knob->unset);
	doc_string(doc, "what", knob->what);
	json_bits(doc, "process", knob->processes, process_word);
	json_bits(doc, "phase", knob->phases, mt_phase_name);
	json_bits(doc, "category", knob->categories, mt_knob_category_words);
	doc_string(doc, "saves", mt_knob_saves_word(knob->saves));
	doc_string(doc, "unit", knob->unit);
	doc_string(doc, "method", mt_knob_method_word(knob->method));
	doc_int_or_null(doc, "copies", knob->copies, knob->copies != 0);
	doc_string(doc, "cost", mt_knob_cost_words(knob->cost));
	json_text(doc, "effect", knob->effect);
	doc_array(doc, "constraint");
	for (i = 0; i < knob->constraints; i++)
		json_constraint(doc, &knob->constraint[i]);
	doc_end(doc);
	json_text(doc, "not_so", knob->not_so);
	doc_end(doc);
}

/* ---- the command ---- */

/* Whether the file's framework was requested, or no framework was. */
static int is_asked(const struct mt_knob_file *file, int count, char **framework)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(file->framework, framework[i]))
			return 1;
	return !count;
}

static int check_asked(const struct mt_knobs *knobs, int count, char **framework)
{
	char names[512] = "";
	size_t used = 0;
	uint32_t k;
	int i;

	for (k = 0; k < knobs->files && used < sizeof(names); k++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", k ? ", " : "",
					 knobs->file[k].framework);
	for (i = 0; i < count; i++)
		if (!mt_knobs_find(knobs, framework[i]))
			return command_fail(EXIT_USAGE, "knobs: nothing is known of %s (one of: %s)", framework[i],
					    names);
	return 0;
}

static void print_all(const struct mt_knobs *knobs, int count, char **framework)
{
	const struct mt_knob_file *file;
	uint32_t i, k;

	text_say("%-12s %-56s %-12s %-15s %s\n", "framework", "key", "default", "cost", "what it moves");
	for (i = 0; i < knobs->files; i++) {
		file = &knobs->file[i];
		for (k = 0; k < file->knobs && is_asked(file, count, framework); k++)
			print_knob(file, &file->knob[k]);
	}
}

static int json_all(const struct mt_knobs *knobs, int count, char **framework)
{
	struct doc *doc = doc_new();
	const struct mt_knob_file *file;
	uint32_t i, k;
	int error;

	if (!doc)
		return -MT_E_MEMORY;
	doc_answer(doc, "knobs");
	doc_array(doc, "knobs");
	for (i = 0; i < knobs->files; i++) {
		file = &knobs->file[i];
		for (k = 0; k < file->knobs && is_asked(file, count, framework); k++)
			json_knob(doc, file, &file->knob[k]);
	}
	doc_end(doc);
	doc_end(doc);
	error = doc_print(doc, stdout);
	doc_free(doc);
	return error;
}

static int answer(int count, char **framework, int json)
{
	char message[512];
	struct mt_knobs *knobs;
	int error = mt_knobs_new(&knobs, message, sizeof(message)), status;

	if (error)
		return command_fail(mt_exit_code(error), "knobs: %s", message);
	status = check_asked(knobs, count, framework);
	if (!status && json)
		error = json_all(knobs, count, framework);
	else if (!status)
		print_all(knobs, count, framework);
	if (error)
		status = command_fail(mt_exit_code(error), "knobs: %s", mt_strerror(error));
	mt_knobs_free(knobs);
	return status;
}

int cmd_knobs(int argc, char **argv)
{
	static const struct command_option options[] = {
		{ COMMAND_JSON, "json", NULL, "all that is known of them, for programs" },
		COMMAND_HELP_OPTION,
	};
	int json = 0, option;

	while ((option = command_getopt(argc, argv, options)) != -1) {
		if (option == 'h')
			return command_help(argv[0], options, "FRAMEWORK:" MT_KNOBS_FRAMEWORKS);
		if (option != COMMAND_JSON)
			return command_bad_option(argc, argv, option);
		json = 1;
	}
	return answer(argc - optind, argv + optind, json);
}
