/* memana oom - why a request failed, what to do about it, and the memory at the moment. */
#include "memtrace/error.h"
#include "oom_none.h"
#include "oom_page.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/peak_points.h"
#include "report/top_host.h"
#include "why.h"

#define LIST_SHOWN 5

enum { OPTION_WHY = COMMAND_OWN };

static void print_more(const struct text *text)
{
	text_print(text, "\n");
	text_wrap(text, 0, 0,
		  "More: memana advise (settings), memana top --at oom (everything that was there), --why (how this was "
		  "ranked)");
}

static int print_failure(const struct text *text, const struct why *why, const struct answer_options *options)
{
	struct sentence sentence = { .size = 0 };

	why_say_request(&sentence, why);
	answer_verdict(text, &sentence);
	text_print(text, "\n");
	why_page(text, why, sentence.text, options->brief ? 1 : 0);
	if (options->brief)
		return 0;
	print_more(text);
	return why_details(text, why, options->limit);
}

/* Prints the page of a run without a failed request: the nearest miss, host memory, and holders of the peak. */
static int print_none(const struct text *text, const struct why *why, const struct answer_options *options)
{
	struct db *db = why->scene.db;
	struct sentence sentence = { .size = 0 };
	struct oom_none none;
	struct host_sum sum;
	int error = oom_none_load(&none, db);

	if (!error)
		error = host_sum(&sum, db);
	if (!error)
		error = oom_none_say(&sentence, &none, db);
	if (error)
		return error;
	answer_verdict(text, &sentence);
	if (why_first(why))
		text_print(text, "\n");
	why_page(text, why, sentence.text, options->brief ? 1 : 0);
	if (options->brief)
		return 0;
	print_more(text);
	top_host_line(text, &sum);
	return oom_none_has_peak(&none) && !*sum.all.verdict ? peak_table_print(text, db, none.device) : 0;
}

static int print_oom(const struct text *text, struct db *db, const struct answer_options *options)
{
	const int *shows_ranking = options->own;
	struct why why;
	int error = why_load(&why, db, options->number);

	if (!error)
		error = why.scene.request.failure ? print_failure(text, &why, options)
						  : print_none(text, &why, options);
	if (!error && *shows_ranking)
		why_table(text, &why);
	why_release(&why);
	return error;
}

static int take_own(struct answer_options *options, int option)
{
	*(int *)options->own |= option == OPTION_WHY;
	return 0;
}

int cmd_oom(int argc, char **argv)
{
	static const struct command_option options[] = {
		{ COMMAND_NUMBER, "number", "N", "the failed request number N of the list (default: the newest)" },
		{ COMMAND_BRIEF, "brief", NULL, "the request and the first cause alone" },
		{ OPTION_WHY, "why", NULL, "list all candidates, with the keys of their order" },
		{ 'n', NULL, "N", "show N places and requests (default 5; 0: all)" },
		COMMAND_RULES_OPTION,
		COMMAND_JSON_OPTION,
		COMMAND_HELP_OPTION,
	};
	static const struct answer answer = {
		.options = options,
		.parts = LOAD_LIVES,
		.limit = LIST_SHOWN,
		.take_own = take_own,
		.text = print_oom,
		.json = oom_json,
	};
	int shows_ranking = 0;

	return answer_command(argc, argv, &answer, &shows_ranking);
}
