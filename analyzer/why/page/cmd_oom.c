/* memana oom - the cause of a failed request, what to do, and the memory at the moment. */
#include "memtrace/error.h"
#include "query/query.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/top_host.h"
#include "why.h"
#include "why/moment/oom_moment.h"

#define LIST_SHOWN 5

enum { OPTION_WHY = COMMAND_OWN };

/* ---- text ---- */

static int print_details(const struct text *text, const struct why *why, int64_t limit)
{
	struct host_sum host;
	int error;

	text_print(text, "\n");
	text_wrap(text, 0, 0,
		  "More: memana advise (settings), memana top --at oom (everything that was there), --why (how this was "
		  "ranked)");
	if (why->scene.request.failure)
		return oom_moment_text(text, &why->scene, limit);
	error = host_sum(&host, why->scene.db);
	if (!error)
		top_host_line(text, &host);
	return error;
}

static int print_oom(const struct text *text, struct db *db, const struct answer_options *options)
{
	const int *shows_ranking = options->own;
	struct sentence opening = { .size = 0 };
	struct why why;
	int error = why_load(&why, db, options->number);

	if (!error)
		error = why_say_opening(&opening, &why);
	if (!error) {
		answer_verdict(text, &opening);
		why_page(text, &why, opening.text, options->brief);
	}
	if (!error && !options->brief)
		error = print_details(text, &why, options->limit);
	if (!error && *shows_ranking)
		why_table(text, &why);
	why_release(&why);
	return error;
}

/* ---- JSON ---- */

static int json_host(void *context, const struct query_host *row)
{
	struct doc *doc = context;

	doc_object(doc, NULL);
	doc_pid(doc, "pid", row->pid);
	doc_int(doc, "rss_bytes", (int64_t)row->resident);
	top_host_json(doc, row);
	doc_end(doc);
	return 0;
}

static int json_oom(struct doc *doc, struct db *db, const struct answer_options *options)
{
	struct why why;
	int error = why_load(&why, db, options->number);

	if (!error)
		error = why_json_verdict(doc, &why);
	if (!error && why.scene.request.failure)
		error = oom_moment_json(doc, &why.scene);
	else
		doc_null(doc, "failure");
	if (!error)
		error = why_json(doc, &why, options->limit);
	oom_failures_json(doc, &why.scene);
	doc_array(doc, "host");
	if (!error)
		error = query_hosts(db, json_host, doc);
	doc_end(doc);
	why_release(&why);
	return error;
}

/* ---- the command ---- */

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
		{ 'n', NULL, "N", "show N failed requests, in JSON N places (default 5, in JSON all; 0: all)" },
		COMMAND_FULL_OPTION,
		COMMAND_RULES_OPTION,
		COMMAND_JSON_OPTION,
		COMMAND_HELP_OPTION,
	};
	static const struct answer answer = {
		.options = options,
		.parts = LOAD_MOMENT,
		.limit = LIST_SHOWN,
		.take_own = take_own,
		.text = print_oom,
		.json = json_oom,
	};
	int shows_ranking = 0;

	return answer_command(argc, argv, &answer, &shows_ranking);
}
