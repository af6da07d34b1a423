/* memana top - what filled the device at its peak. */
#include <stdio.h>
#include <string.h>
#include "engine/analysis.h"
#include "report/command.h"
#include "store/load.h"
#include "memtrace/error.h"
#include "store/query.h"
#include "report/report.h"
#include "database/schema.h"
#include "source/source.h"
#include "store/store.h"
#include "base/text.h"
#include "top.h"

#define SITES_TEXT 8
#define SITES_JSON 100

static const char options_help[] =
	"      --by WHAT    only one table: phase, category, owner, process or site\n"
	"      --at WHEN    not at the peak but at oom (the last out-of-memory error), at the peak of step:N, or at a time\n"
	"                   since the run began (12.5s, 300ms)\n"
	"      --why        on what each category rests, and which frame and rule decided on the phase\n"
	COMMAND_RULES_HELP
	"      --device N   only this device (a number, or cpu)\n"
	"  -n N             show N sites (default 8, in JSON 100; 0: all)\n"
	"      --json       for programs; bytes and nanoseconds\n";

static const struct option long_options[] = {
	{ "by", required_argument, NULL, 'b' },
	{ "device", required_argument, NULL, 'd' },
	{ "at", required_argument, NULL, 'a' },
	{ "why", no_argument, NULL, 'w' },
	COMMAND_RULES_OPTION,
	{ "json", no_argument, NULL, 'j' },
	COMMAND_OPTIONS,
};

struct top_command {
	struct top_options options;
	int json, help;
};

static int parse_by(const char *word)
{
	int i;

	for (i = 0; i < QUERY_BY_COUNT; i++)
		if (!strcmp(word, query_by_words[i]))
			return i;
	return !strcmp(word, "site") ? TOP_BY_SITE : TOP_BY_ALL;
}

/* 0, or the exit code. */
static int parse_option(struct top_command *command, int argc, char **argv, int option)
{
	long number;

	switch (option) {
	case 'b':
		command->options.by = parse_by(optarg);
		if (command->options.by != TOP_BY_ALL)
			return 0;
		return command_fail(EXIT_USAGE, "top: --by %s: not one of phase, category, owner, process, site",
				    optarg);
	case 'd':
		command->options.device_cpu = !strcmp(optarg, "cpu");
		if (!command->options.device_cpu && command_number(optarg, 0, 1 << 20, &number))
			return command_fail(EXIT_USAGE, "top: --device %s: neither a number nor cpu", optarg);
		command->options.device = command->options.device_cpu ? -1 : number;
		return 0;
	case 'n':
		if (command_number(optarg, 0, 1 << 30, &number))
			return command_fail(EXIT_USAGE, "top: -n %s: not a number of sites", optarg);
		command->options.limit = number ? number : -1;
		return 0;
	case 'a':
		if (moment_parse(&command->options.moment, optarg))
			return command_fail(EXIT_USAGE, "top: --at %s: not one of peak, oom, step:N, or a time (12.5s, 300ms)",
					    optarg);
		return 0;
	case 'w':
		command->options.why = 1;
		return 0;
	case COMMAND_RULES:
		return command_rules(optarg);
	case 'j':
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

	*command = (struct top_command){ .options = { .by = TOP_BY_ALL, .device = -1, .limit = 0 } };
	while (!status && (option = getopt_long(argc, argv, ":n:h", long_options, NULL)) != -1)
		status = parse_option(command, argc, argv, option);
	if (!command->options.limit)
		command->options.limit = command->json                        ? SITES_JSON
					 : command->options.by == TOP_BY_SITE ? 20
									      : SITES_TEXT;
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
	if (error == -MT_E_ARGUMENT)
		return command_fail(EXIT_USAGE,
				    "top: nothing was recorded on that device (without --device: all there are)");
	return report_no_answer("top", db, error);
}

/* Analyses the traces into a database in memory. 0, or the exit code. */
static int analyse(struct source *source, const struct moment *moment, struct db **db, struct analysis *analysis,
		   struct symbols *symbols)
{
	int error = analysis_run_at(analysis, source->input, source->inputs, source->rules, NULL, moment);

	if (!error)
		error = db_create(db, NULL, schema_sql);
	if (!error)
		error = store_summary(*db, analysis, 0);
	if (!error)
		error = load_callsites(*db, symbols);
	if (!error)
		return 0;
	return command_fail(mt_exit_code(error), "%s: %s", source->input[0].file, mt_strerror(error));
}

static uint32_t most_steps(const struct analysis *analysis)
{
	uint32_t i, most = 0;

	for (i = 0; i < analysis->processes; i++)
		if (analysis->process[i].steps > most)
			most = analysis->process[i].steps;
	return most;
}

/* Whether the run has the moment that was asked for: 0, or the exit code. After the last step a new one may have begun. */
static int check_moment(const struct analysis *analysis)
{
	const struct moment *moment = &analysis->moment;
	uint32_t steps = most_steps(analysis);
	int64_t last = analysis_last_time(analysis);
	char text[TEXT_SIZE_MAX], count[64], absent[160] = "";

	if (moment->kind == MOMENT_OOM && !moment->taken)
		snprintf(absent, sizeof(absent), "top: --at oom: no out-of-memory error was recorded");
	if (moment->kind == MOMENT_STEP && (!moment->taken || (moment->step > steps && !moment->born)))
		snprintf(absent, sizeof(absent), "top: --at step:%u: the run has %s", moment->step,
			 text_count(count, sizeof(count), steps, "step"));
	if (moment->kind == MOMENT_TIME && moment->time > last)
		snprintf(absent, sizeof(absent), "top: --at: the recording is over by then (it ends at %s, %lldns)",
			 text_time(text, last), (long long)last);
	return *absent ? report_absent(analysis, absent) : 0;
}

static int top_of_traces(const struct top_command *command, struct source *source, struct symbols *symbols)
{
	struct analysis analysis;
	struct db *db = NULL;
	int status = analyse(source, &command->options.moment, &db, &analysis, symbols);

	if (!status)
		status = check_moment(&analysis);
	if (!status)
		status = report(command, db, symbols);
	if (!status)
		status = report_damage(&analysis, "shown");
	db_close(db);
	analysis_release(&analysis);
	return status;
}

static int answer(const struct top_command *command, struct source *source)
{
	struct symbols *symbols = symbols_new();
	int status;

	if (!symbols)
		return command_fail(mt_exit_code(-MT_E_MEMORY), "top: %s", mt_strerror(-MT_E_MEMORY));
	status = source->db ? report(command, source->db, symbols) : top_of_traces(command, source, symbols);
	symbols_free(symbols);
	return status;
}

int cmd_top(int argc, char **argv)
{
	struct top_command command;
	struct source source;
	int status = parse(&command, argc, argv), error;

	if (status)
		return status;
	if (command.help)
		return command_help("top", options_help);
	if (optind == argc)
		return command_fail(EXIT_USAGE, "top: no trace named (memana top trace.zst)");
	command.options.name = argc - optind == 1 ? argv[optind] : "TRACE...";
	error = source_open(&source, argv + optind, (uint32_t)(argc - optind));
	if (error)
		status = command_fail(mt_exit_code(error), "%s", source.message);
	command.options.is_database = source.db != NULL;
	if (source.db && command.options.moment.kind != MOMENT_PEAK) {
		source_release(&source);
		return command_fail(EXIT_USAGE, "top: --at needs the trace: a database has the sums of the peak only");
	}
	if (!error)
		status = answer(&command, &source);
	source_release(&source);
	return status;
}
