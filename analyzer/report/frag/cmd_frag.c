/* memana frag - reserved and allocated bytes, holes, and the tensors that keep segments from going back to the driver. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/moment.h"
#include "frag_report.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/finding.h"
#include "report/report.h"

#define ROWS_TEXT 8

enum { OPTION_AT = COMMAND_OWN, OPTION_REPLAY, OPTION_LIMIT, OPTION_EMPTY_AFTER, OPTION_RECORDED };

static const struct command_option own_options[] = {
	{ OPTION_AT, "at", "WHEN",
	  "peak (default), oom, step:N (the peak inside of it), step:N:end, or a time such as 12.5s",
	  "peak oom step:N step:N:end TIME" },
	{ 'n', NULL, "N", "show N places and segments (default 8; 0: all)" },
	{ OPTION_REPLAY, "replay", "CONF",
	  "what would have been reserved with these settings, as PYTORCH_ALLOC_CONF spells them (expandable_segments:True); "
	  "may be repeated, to compare settings" },
	{ OPTION_LIMIT, "limit", "SIZE", "with --replay: GPU memory that the process can get (70GiB)" },
	{ OPTION_EMPTY_AFTER, "empty-after", "PHASE",
	  "with --replay: call torch.cuda.empty_cache() each time that this phase ends", COMMAND_PHASES },
	{ OPTION_RECORDED, "recorded", "CONF", "with --replay: the settings that the run had, if not the defaults" },
	COMMAND_RULES_OPTION,
	COMMAND_JSON_OPTION,
	COMMAND_HELP_OPTION,
};

/* ---- arguments ---- */

static int is_moment(const char *word)
{
	return !strcmp(word, "peak") || !strcmp(word, "oom") || !strcmp(word, "end") || !strncmp(word, "step:", 5) ||
	       !strncmp(word, "oom:", 4);
}

static int take_at(struct frag_command *command)
{
	command->at = is_moment(optarg) ? optarg : NULL;
	if (command->at || !moment_time(optarg, &command->time))
		return 0;
	return command_fail(EXIT_USAGE,
			    "frag: --at %s: not one of peak, oom, oom:N, step:N, step:N:end, end, or a time (12.5s, 300ms)",
			    optarg);
}

static int take_replay(struct frag_replay_ask *ask)
{
	if (ask->count == FRAG_REPLAYS)
		return command_fail(EXIT_USAGE, "frag: --replay more than %d times", FRAG_REPLAYS);
	ask->conf[ask->count++] = optarg;
	return 0;
}

static int take_limit(struct frag_replay_ask *ask)
{
	if (!text_parse_size(optarg, &ask->limit) && ask->limit)
		return 0;
	return command_fail(EXIT_USAGE, "frag: --limit %s: not a size such as 70GiB", optarg);
}

static int take_own(struct answer_options *options, int option)
{
	struct frag_command *command = options->own;

	switch (option) {
	case OPTION_AT:
		return take_at(command);
	case OPTION_REPLAY:
		return take_replay(&command->replay);
	case OPTION_LIMIT:
		return take_limit(&command->replay);
	case OPTION_EMPTY_AFTER:
		command->replay.empty_after = optarg;
		return 0;
	default:
		command->replay.recorded = optarg;
		return 0;
	}
}

static int parse(struct frag_command *command, int argc, char **argv)
{
	const struct answer answer = { .options = own_options, .limit = ROWS_TEXT, .take_own = take_own };
	struct answer_options options;
	char why[200];
	int status;

	*command = (struct frag_command){ .at = "peak" };
	status = answer_parse(&options, &answer, argc, argv, command);
	command->limit = (size_t)options.limit;
	command->json = options.json;
	command->help = options.help;
	if (status || options.help || !frag_replay_check(&command->replay, why, sizeof(why)))
		return status;
	return command_fail(EXIT_USAGE, "frag: %s", why);
}

/* ---- the command ---- */

static int report_device(void *context, const struct query_device *device)
{
	struct frag_report *report = context;
	const struct frag_command *command = report->command;
	struct frag_instant instant;
	int found, error;

	if (strcmp(device->kind, "cuda"))
		return 0;
	found = frag_instant(&instant, report->db, device->id, command->at, command->time);
	if (found != 1)
		return found;
	report->device = device;
	error = frag_state_load(&report->state, report->db, device->id, &instant);
	if (!error)
		error = report->doc ? frag_json(report) : frag_text(report);
	frag_state_release(&report->state);
	return error;
}

static int print_report(struct frag_report *report)
{
	int error = finding_same_places(report->db);

	if (report->doc) {
		doc_answer(report->doc, "frag");
		doc_array(report->doc, "devices");
	}
	if (!error)
		error = query_devices(report->db, report_device, report);
	if (report->doc) {
		doc_end(report->doc);
		if (!error)
			error = report_traces(report->doc, "traces", report->db);
		doc_end(report->doc);
	}
	if (!error && !report->devices && report->command->at && strcmp(report->command->at, "peak"))
		return -MT_E_ARGUMENT;
	if (!error && !report->devices && !report->doc)
		text_wrap(report->text, 0, 0,
			  text_known.snapshot
				  ? "This PyTorch snapshot has no segment: no memory of a GPU was reserved "
				    "when it was taken, nor in its history."
				  : "No memory of a GPU was recorded, so there is no allocator to look at. CPU "
				    "tensors come from malloc: memana top tells what filled the CPU.");
	if (!error && report->doc)
		error = report_shape(report->doc, report->db);
	return error || !report->doc ? error : doc_print(report->doc, stdout);
}

/* Says that the recording does not have the instant that was asked for. Returns the exit status. */
static int absent(struct report_input *input, const char *what)
{
	char text[QUERY_MOMENTS_MAX + 512];

	snprintf(text, sizeof(text), "frag: %s: %s", input->name, what);
	input->told = 1;
	return report_absent(&input->analysis, text);
}

static int answer(const struct frag_command *command, struct report_input *input)
{
	struct frag_report report = { .command = command, .db = input->db };
	struct text text;
	char what[QUERY_MOMENTS_MAX + 128], end[TEXT_SIZE_MAX], moments[QUERY_MOMENTS_MAX];
	int64_t last = 0;
	int error = db_number(input->db, "SELECT max(0, ifnull(max(last_time), 0)) FROM process", NULL, &last);

	if (error)
		return finding_fail("frag", input->name, input->db, error);
	error = -MT_E_MEMORY;
	if (!command->at && command->time > last) {
		snprintf(what, sizeof(what), "the recording is over by then (it ends at %s, %lldns)",
			 text_time(end, last), (long long)last);
		return absent(input, what);
	}
	text_init(&text, stdout);
	report.text = &text;
	report.doc = command->json ? doc_new() : NULL;
	if (report.doc || !command->json)
		error = print_report(&report);
	doc_free(report.doc);
	if (error == -MT_E_ARGUMENT) {
		if (query_is_moment(input->db, command->at))
			snprintf(what, sizeof(what), "no GPU memory at %.32s was recorded (see memana top)",
				 command->at);
		else
			snprintf(what, sizeof(what), "--at %.32s: no such moment; there are: %s", command->at,
				 query_moments(moments, input->db));
		return absent(input, what);
	}
	return error ? finding_fail("frag", input->name, input->db, error) : 0;
}

int cmd_frag(int argc, char **argv)
{
	struct frag_command command;
	struct report_input input;
	int status = parse(&command, argc, argv), damage;

	if (status)
		return status;
	if (command.help)
		return command_help("frag", own_options, NULL);
	if (optind == argc)
		return command_fail(EXIT_USAGE, "frag: no trace named (memana frag trace.zst)");
	status = report_input_open(&input, "frag", argv + optind, (uint32_t)(argc - optind), LOAD_LIVES);
	if (!status)
		status = answer(&command, &input);
	damage = report_input_close(&input);
	return status ? status : damage;
}
