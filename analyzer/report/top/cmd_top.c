/* memana top - the memory that filled the device at its peak. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "database/db.h"
#include "engine/analysis.h"
#include "facts/facts.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/named.h"
#include "report/places.h"
#include "report/report.h"
#include "source/source.h"
#include "store/load.h"
#include "store/store.h"
#include "store/store_shared.h"
#include "top.h"
#include "top_at.h"

#define PLACES_TEXT 8
#define PLACES_JSON 100

#define BY_WORD(name, word, column) word " "

enum { OPTION_BY = COMMAND_OWN, OPTION_AT, OPTION_WHY, OPTION_DEVICE, OPTION_DEPTH, OPTION_MODULE };

static const struct command_option own_options[] = {
	{ OPTION_BY, "by", "TABLE", "only one table", QUERY_BY_LIST(BY_WORD) "place parameter module" },
	{ OPTION_DEPTH, "depth", "N", "with --by module: levels of the tree (default 2; in JSON all)" },
	{ OPTION_MODULE, "module", "NAME",
	  "with --by module: this module alone, and each of the layers in it (model.layers)" },
	{ OPTION_AT, "at", "WHEN",
	  "the moment: peak (default), oom (the last out-of-memory error), step:N (the peak of step N), or a time since the "
	  "run began (12.5s, 300ms)",
	  "peak oom step:N TIME" },
	{ OPTION_WHY, "why", NULL,
	  "the evidence of each category, the frame and rule that decided the phase, and all stacks" },
	{ COMMAND_BRIEF, "brief", NULL, "only the first sentences, about the GPU with the highest peak" },
	{ OPTION_DEVICE, "device", "N", "only this device (a number, or cpu)" },
	{ 'n', NULL, "N", "show N places (default 8, in JSON 100; 0: all)" },
	COMMAND_RULES_OPTION,
	COMMAND_FULL_OPTION,
	COMMAND_JSON_OPTION,
	COMMAND_HELP_OPTION,
};

struct top_command {
	struct top_options options;
	const char *device; /* the word of the command line */
	int json, help;
};

static int bad_by(const char *word)
{
	struct mt_nearest nearest = { .word = word };
	int i;

	for (i = 0; i < QUERY_BY_COUNT; i++)
		mt_nearest_try(&nearest, query_by_words[i]);
	mt_nearest_try(&nearest, "place");
	mt_nearest_try(&nearest, "parameter");
	mt_nearest_try(&nearest, "module");
	return command_bad_word(&nearest,
				"top: --by %s: not one of phase, category, owner, process, place, parameter, module",
				word);
}

static int parse_by(const char *word)
{
	int i;

	for (i = 0; i < QUERY_BY_COUNT; i++)
		if (!strcmp(word, query_by_words[i]))
			return i;
	if (!strcmp(word, "parameter"))
		return TOP_BY_PARAMETER;
	if (!strcmp(word, "module"))
		return TOP_BY_MODULE;
	/* older scripts have the word "site" */
	return !strcmp(word, "place") || !strcmp(word, "site") ? TOP_BY_PLACE : TOP_BY_ALL;
}

/* Takes an option. Returns 0, or the exit status. */
static int parse_option(struct top_command *command, int argc, char **argv, int option)
{
	long number;

	switch (option) {
	case OPTION_BY:
		command->options.by = parse_by(optarg);
		if (command->options.by != TOP_BY_ALL)
			return 0;
		return bad_by(optarg);
	case OPTION_DEVICE:
		command->options.device_cpu = !strcmp(optarg, "cpu");
		if (!command->options.device_cpu && command_number(optarg, 0, 1 << 20, &number))
			return command_fail(EXIT_USAGE, "top: --device %s: neither a number nor cpu", optarg);
		command->options.device = command->options.device_cpu ? -1 : number;
		command->device = optarg;
		return 0;
	case 'n':
		if (command_number(optarg, 0, 1 << 30, &number))
			return command_fail(EXIT_USAGE, "top: -n %s: not a number of places", optarg);
		command->options.limit = number ? number : -1;
		return 0;
	case OPTION_DEPTH:
		if (command_number(optarg, 0, 255, &number))
			return command_fail(EXIT_USAGE, "top: --depth %s: not a number of levels (0 to 255)", optarg);
		command->options.depth = number;
		return 0;
	case OPTION_MODULE:
		command->options.module = optarg;
		command->options.by = TOP_BY_MODULE;
		return 0;
	case OPTION_AT:
		if (moment_parse(&command->options.moment, optarg))
			return command_fail(EXIT_USAGE,
					    "top: --at %s: not one of peak, oom, step:N, or a time (12.5s, 300ms)",
					    optarg);
		return 0;
	case OPTION_WHY:
		command->options.why = 1;
		return 0;
	case COMMAND_BRIEF:
		command->options.brief = 1;
		return 0;
	case COMMAND_RULES:
		return command_rules(optarg);
	case COMMAND_JSON:
		command->json = 1;
		return 0;
	case 'h':
		command->help = 1;
		return 0;
	default:
		return command_bad_option(argc, argv, option);
	}
}

static int parse(struct top_command *command, int argc, char **argv)
{
	int option, status = 0;

	*command = (struct top_command){ .options = { .by = TOP_BY_ALL, .device = -1, .limit = 0, .depth = -1 } };
	while (!status && (option = command_getopt(argc, argv, own_options)) != -1)
		status = parse_option(command, argc, argv, option);
	if (!command->options.limit)
		command->options.limit = command->json                         ? PLACES_JSON
					 : command->options.by >= TOP_BY_PLACE ? 20
									       : PLACES_TEXT;
	return status;
}

static int report(const struct top_command *command, struct db *db, struct symbols *symbols)
{
	struct text text;
	int error;

	if (command->json) {
		error = top_json(stdout, db, symbols, &command->options);
	} else {
		text_init(&text, stdout);
		error = top_text(&text, db, symbols, &command->options);
	}
	if (!error)
		return 0;
	if (error == -MT_E_ARGUMENT && command->options.module)
		return command_fail(EXIT_USAGE,
				    "top: --module %s: no module of that name holds anything (--by module: all)",
				    command->options.module);
	if (error == -MT_E_ARGUMENT)
		return command_fail(EXIT_USAGE,
				    "top: --device %s: nothing was recorded there (without --device: all devices)",
				    command->device);
	return report_no_answer("top", db, error);
}

/* Returns the number of sites that need rows of their own. */
static size_t most_sites(const struct top_options *options)
{
	if (options->limit < 0)
		return SIZE_MAX;
	return options->limit > PLACES_SITES_MAX ? (size_t)options->limit : PLACES_SITES_MAX;
}

static int store(struct db *db, struct analysis *analysis, struct symbols *symbols, size_t most)
{
	uint8_t *own = store_choose(analysis, most);
	int error = own ? store_share(analysis) : -MT_E_MEMORY;

	if (!error)
		error = store_summary_of(db, analysis, own);
	if (!error)
		error = load_places_of(db, symbols, analysis, own);
	free(own);
	return error;
}

/* Analyses the traces into a database in memory. Returns 0, or the exit status. */
static int analyse(const struct top_command *command, struct source *source, struct db **db, struct analysis *analysis,
		   struct symbols *symbols)
{
	int error = command_full() ? analysis_run(analysis, source->input, source->inputs, source->rules, NULL)
				   : facts_run(analysis, source->input, source->inputs, source->rules);

	if (!error)
		error = db_create(db, NULL, schema_sql);
	if (!error)
		error = store(*db, analysis, symbols, most_sites(&command->options));
	if (!error)
		return 0;
	return command_fail(mt_exit_code(error), "%s: %s", source->input[0].file, mt_strerror(error));
}

/* Prints one line: the run does not have the moment. Returns the exit status. */
static int no_moment(struct report_input *input, const struct moment *moment)
{
	char why[128], absent[160];

	snprintf(absent, sizeof(absent), "top: --at %s", top_at_absent(why, sizeof(why), input->db, moment));
	input->told = 1;
	return report_absent(&input->analysis, absent);
}

/*
 * Loads traces for a moment other than the peak, with the lives of all allocations. Sums for the moment, kept during the pass, would be faster, but a
 * trace must give the same answer as a database.
 */
static int top_of_moment(const struct top_command *command, struct report_input *input, struct symbols *symbols)
{
	const struct moment *moment = &command->options.moment;
	int there = top_at(input->db, moment);

	if (there < 0)
		return report_no_answer("top", input->db, there);
	return there ? report(command, input->db, symbols) : no_moment(input, moment);
}

static int top_of_traces(const struct top_command *command, struct source *source, struct symbols *symbols)
{
	struct analysis analysis;
	struct db *db = NULL;
	int status = analyse(command, source, &db, &analysis, symbols);

	if (!status)
		status = report(command, db, symbols);
	if (!status)
		status = report_damage(&analysis, "shown");
	db_close(db);
	analysis_release(&analysis);
	return status;
}

static int answer_moment(struct top_command *command, struct symbols *symbols, char *const *paths, uint32_t count)
{
	struct report_input input;
	int status = report_input_open(&input, "top", paths, count, LOAD_LIVES), damage;

	command->options.is_database = input.source.db != NULL;
	if (!status)
		status = top_of_moment(command, &input, symbols);
	damage = report_input_close(&input);
	return status ? status : damage;
}

static int answer(struct top_command *command, struct symbols *symbols, char *const *paths, uint32_t count)
{
	struct source source;
	int status;

	if (command->options.moment.kind != MOMENT_PEAK)
		return answer_moment(command, symbols, paths, count);
	status = command_open(&source, paths, count, 1);
	command->options.is_database = source.db != NULL;
	if (!status)
		status = source.db ? report(command, source.db, symbols) : top_of_traces(command, &source, symbols);
	return command_close(&source, status);
}

int cmd_top(int argc, char **argv)
{
	struct top_command command;
	struct symbols *symbols;
	int status = parse(&command, argc, argv);

	if (status)
		return status;
	if (command.help)
		return command_help("top", own_options, NULL);
	if (optind == argc)
		return command_fail(EXIT_USAGE, "top: no trace named (memana top trace.zst)");
	command.options.name = named_words(argv + optind, (uint32_t)(argc - optind));
	symbols = symbols_new();
	if (!symbols)
		return command_fail(mt_exit_code(-MT_E_MEMORY), "top: %s", mt_strerror(-MT_E_MEMORY));
	status = answer(&command, symbols, argv + optind, (uint32_t)(argc - optind));
	symbols_free(symbols);
	return status;
}
