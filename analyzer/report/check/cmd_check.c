/* memana check - compares peak, growth and host memory with limits or a baseline, for CI: one line for each rule, and the exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/report.h"

enum {
	OPTION_PEAK = COMMAND_OWN,
	OPTION_PHASE,
	OPTION_GROWTH,
	OPTION_HOST,
	OPTION_SAVE,
	OPTION_BASELINE,
	OPTION_TOLERANCE,
	OPTION_JUNIT,
	OPTION_GITHUB
};

static const struct command_option own_options[] = {
	{ OPTION_PEAK, "max-peak", "SIZE",
	  "largest peak of a GPU, or of the CPU without a GPU (70GiB, 512MiB, bytes)" },
	{ OPTION_PHASE, "phase", "PHASE", "--max-peak counts only while this phase ran", COMMAND_PHASES },
	{ OPTION_GROWTH, "growth", "LIMIT",
	  "most that a process may keep of every step: 10MiB, or 1% of what is in use when step 2 ends (memana growth says "
	  "what grows)" },
	{ OPTION_HOST, "max-host", "SIZE", "largest resident host memory of a process" },
	{ OPTION_SAVE, "save", "FILE",
	  "write peaks of devices and phases and the growth into FILE, a baseline for later runs" },
	{ OPTION_BASELINE, "baseline", "FILE", "no figure may exceed that of FILE by more than the tolerance" },
	{ OPTION_TOLERANCE, "tolerance", "PERCENT", "for --baseline (default 1, and 1 MiB at least)" },
	{ OPTION_JUNIT, "junit", "FILE", "write the result as JUnit XML, too" },
	{ OPTION_GITHUB, "github", NULL, "print annotations for GitHub instead of text" },
	COMMAND_RULES_OPTION,
	COMMAND_FULL_OPTION,
	{ COMMAND_JSON, "json", NULL, "print JSON, in bytes" },
	COMMAND_HELP_OPTION,
};

static const char notes[] =
	"The shortest check: memana check trace.zst --growth 1%. A limit without enough data in the recording counts as broken.";

/* ---- arguments ---- */

static int parse_growth(const char *text, struct check_limits *limits)
{
	char *end;

	limits->percent = strtod(text, &end);
	limits->growth_is_percent = end != text && !strcmp(end, "%") && limits->percent >= 0 && limits->percent <= 1e6;
	return limits->growth_is_percent ? 0 : text_parse_size(text, &limits->growth);
}

static int parse_tolerance(const char *text, struct check_limits *limits)
{
	char *end;

	limits->tolerance = strtod(text, &end);
	if (end != text && (!*end || !strcmp(end, "%")) && limits->tolerance >= 0 && limits->tolerance <= 1e6)
		return 0;
	return command_fail(EXIT_USAGE, "check: --tolerance %s: not a percentage", text);
}

static int take_own(struct answer_options *options, int option)
{
	struct check_limits *limits = options->own;

	switch (option) {
	case OPTION_PEAK:
		limits->has_peak = 1;
		if (!text_parse_size(optarg, &limits->peak))
			return 0;
		return command_fail(EXIT_USAGE, "check: --max-peak %s: not a size (70GiB, 512MiB, bytes)", optarg);
	case OPTION_HOST:
		limits->has_host = 1;
		if (!text_parse_size(optarg, &limits->host))
			return 0;
		return command_fail(EXIT_USAGE, "check: --max-host %s: not a size (70GiB, 512MiB, bytes)", optarg);
	case OPTION_GROWTH:
		limits->has_growth = 1;
		if (!parse_growth(optarg, limits))
			return 0;
		return command_fail(EXIT_USAGE, "check: --growth %s: neither a part (1%%) nor a size (10MiB)", optarg);
	case OPTION_SAVE:
		limits->save = optarg;
		return 0;
	case OPTION_BASELINE:
		limits->baseline = optarg;
		return 0;
	case OPTION_TOLERANCE:
		return parse_tolerance(optarg, limits);
	case OPTION_JUNIT:
		limits->junit = optarg;
		return 0;
	case OPTION_GITHUB:
		limits->github = 1;
		return 0;
	default:
		limits->phase = optarg;
		if (mt_phase_parse(optarg, strlen(optarg)) >= 0)
			return 0;
		return command_bad_phase("check", "phase", optarg);
	}
}

static int parse(struct check_limits *limits, int argc, char **argv)
{
	static const struct answer answer = { .options = own_options, .take_own = take_own };
	int status;

	memset(limits, 0, sizeof(*limits));
	limits->tolerance = CHECK_TOLERANCE;
	status = answer_parse(&limits->options, &answer, argc, argv, limits);
	if (status || limits->options.help)
		return status;
	if (optind == argc)
		return command_fail(EXIT_USAGE, "check: no trace named (memana check trace.zst --max-peak 70GiB)");
	if (limits->phase && !limits->has_peak)
		return command_fail(EXIT_USAGE, "check: --phase %s needs a limit (add --max-peak SIZE)", limits->phase);
	if (!limits->has_peak && !limits->has_growth && !limits->has_host && !limits->save && !limits->baseline)
		return command_fail(
			EXIT_USAGE,
			"check: no limit given (memana check trace.zst --growth 1%%; or --max-peak SIZE, --max-host SIZE, "
			"--baseline FILE)");
	if (limits->save && command_output("check", limits->save, argv + optind, argc - optind))
		return EXIT_USAGE;
	return limits->junit ? command_output("check", limits->junit, argv + optind, argc - optind) : 0;
}

/* Whether the command prints an answer. With --save alone, it prints one only as JSON. */
static int has_answer(const struct check *check)
{
	return check->count || !check->limits->save || check->limits->options.json;
}

static int tell(struct check *check, struct db *db)
{
	int error = 0;

	if (check->limits->options.json)
		error = answer_document("check", db, check_json, check);
	else if (check->limits->github)
		check_print_github(check);
	else
		check_print_text(check);
	if (error)
		return report_no_answer("check", db, error);
	return check->limits->junit ? check_write_junit(check) : 0;
}

/* Returns 0, EXIT_NO, or the exit status of an error. */
static int answer(struct check *check, struct db *db)
{
	int error = check_find(check, db), status = 0;

	if (error)
		return report_no_answer("check", db, error);
	if (check->limits->baseline)
		status = check_against(check, db);
	if (!status && check->limits->save)
		status = check_save(check, db);
	if (!status && has_answer(check))
		status = tell(check, db);
	return status ? status : check->broken ? EXIT_NO : 0;
}

int cmd_check(int argc, char **argv)
{
	struct check_limits limits;
	struct check check = { .limits = &limits };
	struct report_input input;
	int status = parse(&limits, argc, argv), closed;

	if (status)
		return status;
	if (limits.options.help)
		return command_help("check", own_options, notes);
	status = report_input_open(&input, "check", argv + optind, (uint32_t)(argc - optind), LOAD_ENDS);
	if (!status)
		status = answer(&check, input.db);
	closed = report_input_close(&input);
	free(check.finding);
	growth_figures_release(&check.figures);
	return closed ? closed : status;
}
