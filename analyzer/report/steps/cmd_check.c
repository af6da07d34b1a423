/* memana check - limits on peak, growth and host memory, for CI: one line per rule, and the exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "figures.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/report.h"

enum { OPTION_PEAK = COMMAND_OWN, OPTION_PHASE, OPTION_GROWTH, OPTION_HOST };

static const struct command_option own_options[] = {
	{ OPTION_PEAK, "max-peak", "SIZE", "no GPU held more (the CPU where no GPU was used); 70GiB, 512MiB, bytes" },
	{ OPTION_PHASE, "phase", "PHASE", "--max-peak counts only while this phase ran", COMMAND_PHASES },
	{ OPTION_GROWTH, "growth", "LIMIT",
	  "no process keeps more of every step than this (memana growth says what grows): 1% of what is in use when step 2 "
	  "ends, or 10MiB" },
	{ OPTION_HOST, "max-host", "SIZE", "no process had more resident host memory" },
	COMMAND_RULES_OPTION,
	COMMAND_FULL_OPTION,
	{ COMMAND_JSON, "json", NULL, "for programs; bytes" },
	COMMAND_HELP_OPTION,
};

static const char notes[] =
	"The shortest: memana check trace.zst --growth 1%. What cannot be told from the recording does not hold.";

struct limits {
	int has_peak, has_growth, has_host, growth_is_percent;
	uint64_t peak, growth, host; /* bytes */
	double percent;
	const char *phase; /* NULL: any */
	struct answer_options options;
};

/* The result of one rule. */
struct finding {
	const char *rule;
	char subject[64]; /* "GPU 0", "rank 3 on GPU 0" */
	int holds, known;
	int64_t value, limit; /* bytes; value: when known */
	char words[160];      /* why it is not known */
};

struct check {
	const struct limits *limits;
	struct finding *finding;
	size_t count, room;
	size_t broken;
	uint64_t lost; /* events that are not in the traces */
	int gpus;
	int64_t device; /* id of the one being asked about */
	uint64_t phase_peak;
	int phase_ran;
	struct sentence growth;        /* the growth, in words */
	struct growth_figures figures; /* empty where no limit is about growth */
};

/* ---- arguments ---- */

static int parse_growth(const char *text, struct limits *limits)
{
	char *end;

	limits->percent = strtod(text, &end);
	limits->growth_is_percent = end != text && !strcmp(end, "%") && limits->percent >= 0 && limits->percent <= 1e6;
	return limits->growth_is_percent ? 0 : text_parse_size(text, &limits->growth);
}

static int take_own(struct answer_options *options, int option)
{
	struct limits *limits = options->own;

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
	default:
		limits->phase = optarg;
		if (mt_phase_parse(optarg, strlen(optarg)) >= 0)
			return 0;
		return command_bad_phase("check", "phase", optarg);
	}
}

static int parse(struct limits *limits, int argc, char **argv)
{
	static const struct answer answer = { .options = own_options, .take_own = take_own };
	int status;

	memset(limits, 0, sizeof(*limits));
	status = answer_parse(&limits->options, &answer, argc, argv, limits);
	if (status || limits->options.help)
		return status;
	if (optind == argc)
		return command_fail(EXIT_USAGE, "check: no trace named (memana check trace.zst --max-peak 70GiB)");
	if (limits->phase && !limits->has_peak)
		return command_fail(EXIT_USAGE, "check: --phase %s: of what (add --max-peak SIZE)", limits->phase);
	if (!limits->has_peak && !limits->has_growth && !limits->has_host)
		return command_fail(
			EXIT_USAGE,
			"check: no limit given (memana check trace.zst --growth 1%%; or --max-peak SIZE, --max-host SIZE)");
	return 0;
}

/* ---- findings ---- */

static struct finding *add_finding(struct check *check, const char *rule)
{
	size_t room = check->room ? check->room * 2 : 8;
	struct finding *finding;

	if (check->count == check->room) {
		finding = realloc(check->finding, room * sizeof(*finding));
		if (!finding)
			return NULL;
		check->finding = finding;
		check->room = room;
	}
	finding = &check->finding[check->count++];
	memset(finding, 0, sizeof(*finding));
	finding->rule = rule;
	return finding;
}

static void judge(struct check *check, struct finding *finding, int64_t value, uint64_t limit)
{
	finding->known = 1;
	finding->value = value;
	finding->limit = limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
	finding->holds = value <= finding->limit;
	check->broken += !finding->holds;
}

static void cannot_tell(struct check *check, struct finding *finding, uint64_t limit, const char *why)
{
	finding->limit = limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
	snprintf(finding->words, sizeof(finding->words), "%s", why);
	check->broken++;
}

static int count_lost(void *context, const struct query_process *row)
{
	((struct check *)context)->lost += row->lost;
	return 0;
}

static int count_gpu(void *context, const struct query_device *row)
{
	((struct check *)context)->gpus += !strcmp(row->kind, "cuda") && row->peak.bytes;
	return 0;
}

/* ---- the peak ---- */

static int find_phase(void *context, const struct query_phase_peak *row)
{
	struct check *check = context;

	if (strcmp(row->phase, check->limits->phase))
		return 0;
	check->phase_ran = 1;
	check->phase_peak = row->bytes;
	return 0;
}

/* GPUs, or the CPU where there is none. */
static int check_peak(void *context, const struct query_device *row)
{
	struct check *check = context;
	struct finding *finding;

	if (check->gpus ? strcmp(row->kind, "cuda") || !row->peak.bytes : strcmp(row->kind, "cpu") != 0)
		return 0;
	finding = add_finding(check, "max-peak");
	if (!finding)
		return -MT_E_MEMORY;
	answer_device(finding->subject, row->number, row->kind);
	judge(check, finding, (int64_t)row->peak.bytes, check->limits->peak);
	return 0;
}

struct phase_check {
	struct check *check;
	struct db *db;
};

static int check_phase(void *context, const struct query_device *row)
{
	struct phase_check *phase = context;
	struct check *check = phase->check;
	struct finding *finding;
	char device[TEXT_SIZE_MAX];
	int error;

	if (check->gpus ? strcmp(row->kind, "cuda") || !row->peak.bytes : strcmp(row->kind, "cpu") != 0)
		return 0;
	check->phase_ran = 0;
	error = query_phase_peaks(phase->db, row->id, find_phase, check);
	finding = error ? NULL : add_finding(check, "max-peak");
	if (!finding)
		return error ? error : -MT_E_MEMORY;
	snprintf(finding->subject, sizeof(finding->subject), "%s in %.24s",
		 answer_device(device, row->number, row->kind), check->limits->phase);
	if (check->phase_ran)
		judge(check, finding, (int64_t)check->phase_peak, check->limits->peak);
	else
		cannot_tell(check, finding, check->limits->peak, "the phase did not run");
	return 0;
}

static int check_peaks(struct check *check, struct db *db)
{
	struct phase_check phase = { .check = check, .db = db };
	size_t before = check->count;
	struct finding *finding;
	int error = check->limits->phase ? query_devices(db, check_phase, &phase)
					 : query_devices(db, check_peak, check);

	if (error || check->count > before)
		return error;
	finding = add_finding(check, "max-peak");
	if (!finding)
		return -MT_E_MEMORY;
	cannot_tell(check, finding, check->limits->peak, "nothing was recorded on any device");
	return 0;
}

/* ---- growth ---- */

static int check_lane(struct check *check, const struct steps_lane *lane)
{
	const struct limits *limits = check->limits;
	struct finding *finding = add_finding(check, "growth");
	char process[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX];
	uint64_t limit = limits->growth;

	if (!finding)
		return -MT_E_MEMORY;
	snprintf(finding->subject, sizeof(finding->subject), "%s on %s", answer_process(process, lane->rank, lane->pid),
		 answer_device(device, lane->number, lane->kind));
	if (lane->state == GROWTH_UNKNOWN) {
		cannot_tell(check, finding, limit, "too few steps ended");
		return 0;
	}
	if (limits->growth_is_percent)
		limit = (uint64_t)((double)lane->row[1].in_use * limits->percent / 100);
	judge(check, finding, (int64_t)lane->each, limit);
	return 0;
}

static int check_growth(struct check *check, struct db *db)
{
	struct finding *finding;
	const struct steps *steps = &check->figures.steps;
	size_t before = check->count, i;
	int error = growth_figures_load(&check->figures, db, GROWTH_STEPS);

	for (i = 0; i < steps->count && !error; i++)
		if (!check->gpus || !strcmp(steps->lane[i].kind, "cuda"))
			error = check_lane(check, &steps->lane[i]);
	if (!error)
		growth_say(&check->growth, &check->figures.growth, 0);
	if (error || check->count > before)
		return error;
	finding = add_finding(check, "growth");
	if (!finding)
		return -MT_E_MEMORY;
	cannot_tell(check, finding, check->limits->growth, "no step ended");
	return 0;
}

/* ---- the host ---- */

static int check_host(void *context, const struct query_host *row)
{
	struct check *check = context;
	struct finding *finding = add_finding(check, "max-host");
	char process[TEXT_SIZE_MAX];

	if (!finding)
		return -MT_E_MEMORY;
	snprintf(finding->subject, sizeof(finding->subject), "host memory of %s",
		 answer_process(process, row->rank, row->pid));
	if (row->most_resident)
		judge(check, finding, (int64_t)row->most_resident, check->limits->host);
	else
		cannot_tell(check, finding, check->limits->host, "it was gone before the first sample");
	return 0;
}

static int check_hosts(struct check *check, struct db *db)
{
	size_t before = check->count;
	struct finding *finding;
	int error = query_hosts(db, check_host, check);

	if (error || check->count > before)
		return error;
	finding = add_finding(check, "max-host");
	if (!finding)
		return -MT_E_MEMORY;
	cannot_tell(check, finding, check->limits->host, "the host's memory was not sampled");
	return 0;
}

/* ---- the answer ---- */

static void say_finding(struct sentence *sentence, const struct check *check, const struct finding *finding)
{
	int is_growth = !strcmp(finding->rule, "growth");
	char value[TEXT_SIZE_MAX], limit[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s%s%s", finding->subject, *finding->subject ? ": " : "",
		     is_growth && !finding->known ? "growth " : "");
	if (!finding->known) {
		sentence_say(sentence, "cannot be told: %s", finding->words);
		return;
	}
	if (is_growth)
		text_change(value, finding->value);
	else
		text_bytes(value, (uint64_t)finding->value);
	sentence_say(sentence, "%s%s%s, limit %s%s", check->lost ? "at least " : "", value, is_growth ? " a step" : "",
		     text_bytes(limit, (uint64_t)finding->limit), check->lost ? " (events are lost)" : "");
}

static void make_verdict(struct sentence *sentence, const struct check *check)
{
	const struct finding *worst = NULL;
	char count[64];
	size_t i;

	for (i = 0; i < check->count && !worst; i++)
		if (!check->finding[i].holds)
			worst = &check->finding[i];
	if (!worst) {
		sentence_say(sentence, "%s: all hold.", text_count(count, sizeof(count), check->count, "limit"));
		return;
	}
	sentence_say(sentence, "%zu of %s broken; ", check->broken,
		     text_count(count, sizeof(count), check->count, "limit"));
	sentence_say(sentence, "%s of ",
		     !strcmp(worst->rule, "growth")     ? "growth"
		     : !strcmp(worst->rule, "max-host") ? "use"
							: "peak");
	say_finding(sentence, check, worst);
	sentence_say(sentence, ".");
	if (!strcmp(worst->rule, "growth") && check->growth.size)
		sentence_say(sentence, " %s", check->growth.text);
}

static void print_text(const struct check *check)
{
	struct sentence sentence = { .size = 0 };
	struct text text;
	size_t i;

	text_init(&text, stdout);
	make_verdict(&sentence, check);
	answer_verdict(&text, &sentence);
	for (i = 0; i < check->count; i++) {
		sentence.size = 0;
		say_finding(&sentence, check, &check->finding[i]);
		text_style(&text, check->finding[i].holds ? TEXT_GOOD : TEXT_BAD);
		text_print(&text, "%s", check->finding[i].holds ? "ok      " : "not ok  ");
		text_style(&text, TEXT_PLAIN);
		text_print(&text, "%-9s ", check->finding[i].rule);
		text_wrap(&text, 18, 18, sentence.text);
	}
}

#define CHECK_COLUMNS(X, T)                                                                              \
	X(T, rule, WORD, NULL, it->rule, "the limit: max-peak, growth or max-host")                      \
	X(T, subject, WORD, NULL, it->subject, "device, process or both")                                \
	X(T, ok, FLAG, NULL, it->holds, "whether it holds")                                              \
	X(T, bytes, BYTES, NULL, COLUMN_IF(it->known, it->value), "the figure; null: it cannot be told") \
	X(T, limit_bytes, BYTES, NULL, it->limit, "most that it may be")                                 \
	X(T, why, WORD, NULL, it->words, "why the figure cannot be told")

COLUMN_TABLE(check, struct finding, CHECK_COLUMNS)

static int json_check(struct doc *doc, void *context)
{
	const struct check *check = context;
	struct sentence sentence = { .size = 0 };

	make_verdict(&sentence, check);
	doc_string(doc, "verdict", sentence.text);
	doc_bool(doc, "ok", !check->broken);
	doc_int(doc, "lost", (int64_t)check->lost);
	column_json_rows(doc, "limits", &check_columns, check->finding, check->count, sizeof(*check->finding));
	if (check->limits->has_growth)
		growth_json(doc, &check->figures.growth, SIZE_MAX);
	return 0;
}

/* 0, EXIT_NO, or the exit code of an error. */
static int answer(struct check *check, struct db *db)
{
	int error = query_processes(db, count_lost, check);

	if (!error)
		error = query_devices(db, count_gpu, check);
	if (!error && check->limits->has_peak)
		error = check_peaks(check, db);
	if (!error && check->limits->has_growth)
		error = check_growth(check, db);
	if (!error && check->limits->has_host)
		error = check_hosts(check, db);
	if (!error && check->limits->options.json)
		error = answer_document("check", db, json_check, check);
	else if (!error)
		print_text(check);
	if (error)
		return report_no_answer("check", db, error);
	return check->broken ? EXIT_NO : 0;
}

int cmd_check(int argc, char **argv)
{
	struct limits limits;
	struct check check = { .limits = &limits };
	struct report_input input;
	int status = parse(&limits, argc, argv), closed;

	if (status)
		return status;
	if (limits.options.help)
		return command_help("check", own_options, notes);
	status = report_input_open(&input, "check", argv + optind, (uint32_t)(argc - optind), LOAD_STEPS);
	if (!status)
		status = answer(&check, input.db);
	else
		input.analysis.processes = 0; /* one line is enough */
	closed = report_input_close(&input);
	free(check.finding);
	growth_figures_release(&check.figures);
	return closed ? closed : status;
}
