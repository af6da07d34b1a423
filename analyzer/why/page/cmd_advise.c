/* memana advise - which setting would have helped, by how many bytes, and when none does. */
#include <stdio.h>
#include "advice.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/report.h"

#define ROWS_SHOWN 3
#define GIVEN_MAX 64 /* most options --now, and --set */

enum { OPTION_FRAMEWORK = COMMAND_OWN, OPTION_CONFIG, OPTION_NOW, OPTION_SET, OPTION_FIT };

static const struct command_option own_options[] = {
	{ OPTION_FRAMEWORK, "framework", "NAME",
	  "whose settings: one of memana knobs (default: auto, what the trace shows)", "auto" MT_KNOBS_FRAMEWORKS },
	{ OPTION_CONFIG, "config", "FILE", "the configuration of the run, YAML or JSON" },
	{ OPTION_NOW, "now", "KEY=VALUE",
	  "what a setting is now; goes before the configuration and the command line (may be given again)" },
	{ OPTION_SET, "set", "KEY=VALUE", "what if: the peaks that this would give (may be given again)" },
	{ OPTION_FIT, "fit", "SIZE", "the cheapest settings that stay below SIZE" },
	{ COMMAND_BRIEF, "brief", NULL, "the request and the first action alone" },
	{ 'n', NULL, "N", "show N settings (default 3; 0: all, and those that would not have helped)" },
	COMMAND_RULES_OPTION,
	COMMAND_JSON_OPTION,
	COMMAND_HELP_OPTION,
};

struct asked {
	struct effect_request request;
	const char *now[GIVEN_MAX], *set[GIVEN_MAX];
};

static int take_given(const char **given, size_t *count, const char *option)
{
	if (*count == GIVEN_MAX)
		return command_fail(EXIT_USAGE, "advise: %s: more than %d of them", option, GIVEN_MAX);
	given[(*count)++] = optarg;
	return 0;
}

static int take_fit(struct effect_request *request)
{
	if (text_parse_size(optarg, &request->fit) || !request->fit)
		return command_fail(EXIT_USAGE, "advise: --fit %s: not a size (--fit 80GiB)", optarg);
	return 0;
}

static int take_own(struct answer_options *options, int option)
{
	struct asked *asked = options->own;

	switch (option) {
	case OPTION_FRAMEWORK:
		asked->request.framework = optarg;
		return 0;
	case OPTION_CONFIG:
		asked->request.file = optarg;
		return 0;
	case OPTION_NOW:
		return take_given(asked->now, &asked->request.nows, "--now");
	case OPTION_SET:
		return take_given(asked->set, &asked->request.sets, "--set");
	default:
		return take_fit(&asked->request);
	}
}

static const struct answer answer = {
	.options = own_options,
	.limit = ROWS_SHOWN,
	.take_own = take_own,
};

/* ---- the answer ---- */

/* JSON is read by programs: the warnings are in it. On paper they stand below the actions. */
struct answered {
	const struct advice *advice;
	int64_t limit;
};

static int fill_json(struct doc *doc, void *context)
{
	const struct answered *it = context;

	return advice_json(doc, it->advice, it->limit);
}

/* The options are wrong, there is nothing to say, or the database is not what it seems to be. */
static int fail(const struct advice *advice, struct db *db, int error)
{
	const struct advise_config *config = advice->effects.config;
	const char *message = config ? config->message : "";

	if (*message && error == -MT_E_ARGUMENT)
		return command_fail(EXIT_USAGE, "advise: %s", message);
	if (*message && (error == -MT_E_RULES || error == -MT_E_SYSTEM))
		return command_fail(mt_exit_code(error), "advise: %s", message);
	return report_no_answer("advise", db, error);
}

static int answer_db(struct db *db, const struct answer_options *options, struct asked *asked)
{
	struct advice advice;
	struct text text;
	int error, status = 0;

	asked->request.now = asked->now;
	asked->request.set = asked->set;
	error = advice_load(&advice, db, &asked->request);
	text_init(&text, stdout);
	if (options->json && !error)
		error = answer_document("advise", db, fill_json, &(struct answered){ &advice, options->limit });
	else if (!error)
		error = advice_page(&text, &advice, options->limit, options->brief);
	if (error)
		status = fail(&advice, db, error);
	advice_release(&advice);
	return status;
}

int cmd_advise(int argc, char **argv)
{
	struct asked asked = { .request = { .fit = 0 } };
	struct answer_options options;
	struct report_input input;
	int status = answer_parse(&options, &answer, argc, argv, &asked), closed;

	if (status)
		return status;
	if (options.help)
		return command_help("advise", answer.options, NULL);
	if (optind == argc)
		return command_fail(EXIT_USAGE, "advise: no trace named (memana advise trace.zst)");
	status = report_input_open(&input, "advise", argv + optind, (uint32_t)(argc - optind), LOAD_TIMELINE);
	if (!status)
		status = answer_db(input.db, &options, &asked);
	else
		input.analysis.processes = 0; /* one line is enough */
	closed = report_input_close(&input);
	return status ? status : closed;
}
