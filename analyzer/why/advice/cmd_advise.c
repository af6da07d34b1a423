/* memana advise - the settings that would have helped, the bytes that each saves, and the actions that no setting does. */
#include <stdio.h>
#include "advice.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"

#define ROWS_SHOWN 3
#define GIVEN_MAX 64 /* largest number of --now options, and of --set options */

enum { OPTION_FRAMEWORK = COMMAND_OWN, OPTION_CONFIG, OPTION_NOW, OPTION_SET, OPTION_FIT, OPTION_WHY };

static const struct command_option own_options[] = {
	{ OPTION_FRAMEWORK, "framework", "NAME",
	  "whose settings: one of memana knobs (default: auto, what the trace shows)", "auto" MT_KNOBS_FRAMEWORKS },
	{ OPTION_CONFIG, "config", "FILE", "the configuration of the run, YAML or JSON" },
	{ OPTION_NOW, "now", "KEY=VALUE",
	  "what a setting is now; goes before the configuration and the command line (may be given again)" },
	{ OPTION_SET, "set", "KEY=VALUE", "what if: the peaks that this would give (may be given again)" },
	{ OPTION_FIT, "fit", "SIZE", "the cheapest settings that stay below SIZE" },
	{ COMMAND_BRIEF, "brief", NULL, "the request and the first action alone" },
	{ OPTION_WHY, "why", NULL, "list all candidates, with the keys of their order" },
	{ 'n', NULL, "N", "show N settings (default 3; 0: all, and those that would not have helped)" },
	COMMAND_FULL_OPTION,
	COMMAND_RULES_OPTION,
	COMMAND_JSON_OPTION,
	COMMAND_HELP_OPTION,
};

struct asked {
	struct effect_request request;
	const char *now[GIVEN_MAX], *set[GIVEN_MAX];
	int shows_ranking;
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
	case OPTION_WHY:
		asked->shows_ranking = 1;
		return 0;
	default:
		return take_fit(&asked->request);
	}
}

/* ---- the answer ---- */

/* Ends with the message about wrong options or wrong data, if the configuration has one; else returns the error. */
static int fail(const struct advice *advice, int error)
{
	const struct advise_config *config = advice->effects.config;

	if (!config || !*config->message)
		return error;
	if (error == -MT_E_ARGUMENT)
		return command_fail(EXIT_USAGE, "advise: %s", config->message);
	if (error == -MT_E_RULES || error == -MT_E_SYSTEM)
		return command_fail(mt_exit_code(error), "advise: %s", config->message);
	return error;
}

static int load(struct advice *advice, struct db *db, const struct answer_options *options)
{
	struct asked *asked = options->own;
	int error;

	asked->request.now = asked->now;
	asked->request.set = asked->set;
	error = advice_load(advice, db, &asked->request);
	return error ? fail(advice, error) : 0;
}

static int print_advice(const struct text *text, struct db *db, const struct answer_options *options)
{
	const struct asked *asked = options->own;
	struct advice advice;
	int error = load(&advice, db, options);

	if (!error)
		error = advice_page(text, &advice, options->limit, options->brief);
	if (!error && asked->shows_ranking)
		why_table(text, &advice.why);
	advice_release(&advice);
	return error;
}

static int json_advice(struct doc *doc, struct db *db, const struct answer_options *options)
{
	struct advice advice;
	int error = load(&advice, db, options);

	if (!error)
		error = advice_json(doc, &advice, options->limit);
	advice_release(&advice);
	return error;
}

int cmd_advise(int argc, char **argv)
{
	static const struct answer answer = {
		.options = own_options,
		.parts = LOAD_ADVICE,
		.limit = ROWS_SHOWN,
		.take_own = take_own,
		.text = print_advice,
		.json = json_advice,
	};
	struct asked asked = { .request = { .fit = 0 } };

	return answer_command(argc, argv, &answer, &asked);
}
