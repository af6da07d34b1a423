#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "command.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "named.h"
#include "report.h"

/* ---- arguments ---- */

static int take_limit(struct answer_options *options, const char *command)
{
	long number;

	if (command_number(optarg, 0, 1 << 30, &number))
		return command_fail(EXIT_USAGE, "%s: -n %s: not a number of rows", command, optarg);
	options->limit = number ? number : INT64_MAX;
	return 0;
}

static int take_number(struct answer_options *options, const char *command)
{
	long number;

	if (command_number(optarg, 1, 1 << 30, &number))
		return command_fail(EXIT_USAGE, "%s: --number %s: not the number of a failed request", command, optarg);
	options->number = number;
	return 0;
}

static int parse_option(struct answer_options *options, const struct answer *answer, int argc, char **argv, int option)
{
	switch (option) {
	case 'n':
		return take_limit(options, argv[0]);
	case COMMAND_NUMBER:
		return take_number(options, argv[0]);
	case COMMAND_BRIEF:
		options->brief = 1;
		return 0;
	case COMMAND_JSON:
		options->json = 1;
		return 0;
	case 'h':
		options->help = 1;
		return 0;
	case COMMAND_RULES:
		return command_rules(optarg);
	case '?':
	case ':':
		return command_bad_option(argc, argv, option);
	default:
		return answer->take_own(options, option);
	}
}

int answer_parse(struct answer_options *options, const struct answer *answer, int argc, char **argv, void *own)
{
	int option, status = 0;

	*options = (struct answer_options){ .own = own };
	while (!status && (option = command_getopt(argc, argv, answer->options)) != -1)
		status = parse_option(options, answer, argc, argv, option);
	if (!options->limit)
		options->limit = options->json ? INT64_MAX : answer->limit;
	options->name = argc > optind ? named_words(argv + optind, (uint32_t)(argc - optind)) : "TRACE...";
	return status;
}

/* ---- the answer ---- */

int answer_document(const char *command, struct db *db, int (*fill)(struct doc *doc, void *context), void *context)
{
	struct doc *doc = doc_new();
	int error = -MT_E_MEMORY;

	if (doc) {
		doc_answer(doc, command);
		error = fill(doc, context);
		if (!error)
			error = report_traces(doc, "traces", db);
		doc_end(doc);
	}
	if (!error)
		error = report_shape(doc, db);
	if (!error)
		error = doc_print(doc, stdout);
	doc_free(doc);
	return error;
}

struct asked_json {
	const struct answer *answer;
	struct db *db;
	const struct answer_options *options;
};

static int fill_json(struct doc *doc, void *context)
{
	const struct asked_json *asked = context;

	return asked->answer->json(doc, asked->db, asked->options);
}

static int print_json(const struct answer *answer, struct db *db, const struct answer_options *options,
		      const char *command)
{
	return answer_document(command, db, fill_json, &(struct asked_json){ answer, db, options });
}

static int answer_print(const struct answer *answer, const struct text *text, struct db *db,
			const struct answer_options *options, const char *command)
{
	return options->json ? print_json(answer, db, options, command) : answer->text(text, db, options);
}

static int print(const struct answer *answer, struct report_input *input, const struct answer_options *options,
		 const char *command)
{
	struct text text;
	char absent[128];
	int error;

	text_init(&text, stdout);
	error = answer_print(answer, &text, input->db, options, command);
	/* The facts do not have this answer: read the events. */
	if (error == -MT_E_BUSY && !input->source.db && !report_input_reload(input, command, load_whole(answer->parts)))
		error = answer_print(answer, &text, input->db, options, command);
	if (error >= 0)
		return error;
	if (error == -MT_E_ARGUMENT) {
		snprintf(absent, sizeof(absent), "%s: no failed request has number %lld (without --number: the newest)",
			 command, (long long)options->number);
		input->told = 1;
		return report_absent(&input->analysis, absent);
	}
	return report_no_answer(command, input->db, error);
}

int answer_command(int argc, char **argv, const struct answer *answer, void *own)
{
	struct answer_options options;
	struct report_input input;
	int status = answer_parse(&options, answer, argc, argv, own), closed;

	if (status)
		return status;
	if (options.help)
		return command_help(argv[0], answer->options, NULL);
	if (optind == argc)
		return command_fail(EXIT_USAGE, "%s: no trace named (memana %s trace.zst)", argv[0], argv[0]);
	status = report_input_open_failure(&input, argv[0], argv + optind, (uint32_t)(argc - optind), answer->parts,
					   options.number > 0 && options.number < UINT32_MAX ? (uint32_t)options.number
											     : 0);
	if (!status)
		status = print(answer, &input, &options, argv[0]);
	closed = report_input_close(&input);
	return status ? status : closed;
}

int answer_traces(int argc, char **argv, int (*answer)(const struct source *source, int json))
{
	static const struct command_option options[] = { COMMAND_JSON_OPTION, COMMAND_HELP_OPTION };
	struct source source;
	int option, status, json = 0;

	while ((option = command_getopt(argc, argv, options)) != -1) {
		if (option == 'h')
			return command_help(argv[0], options, NULL);
		if (option != COMMAND_JSON)
			return command_bad_option(argc, argv, option);
		json = 1;
	}
	if (optind == argc)
		return command_fail(EXIT_USAGE, "%s: no trace named (memana %s trace.zst)", argv[0], argv[0]);
	source_take_all(); /* the answer needs all files of the run */
	status = command_open(&source, argv + optind, (uint32_t)(argc - optind), 0);
	if (!status)
		status = answer(&source, json);
	return command_close(&source, status);
}

/* ---- parts of reports ---- */

const char answer_no_history[] =
	"This PyTorch snapshot has no history: it says what was allocated when it was taken, not when, or in which "
	"phase or step. memana top and memana frag tell what it has; for the rest, call "
	"torch.cuda.memory._record_memory_history() before the model is built.";

void answer_title(const struct text *text, const char *title)
{
	text_print(text, "\n");
	text_style(text, TEXT_HEAD);
	text_print(text, "%s\n", title);
	text_style(text, TEXT_PLAIN);
}

void answer_verdict(const struct text *text, const struct sentence *sentence)
{
	text_style(text, TEXT_BOLD);
	text_wrap(text, 0, 0, sentence->text);
	text_style(text, TEXT_PLAIN);
}

const char *answer_device(char out[TEXT_SIZE_MAX], int64_t number, const char *kind)
{
	if (!strcmp(kind, "cpu"))
		snprintf(out, TEXT_SIZE_MAX, "the CPU");
	else
		snprintf(out, TEXT_SIZE_MAX, "GPU %lld", (long long)number);
	return out;
}

const char *answer_process(char out[TEXT_SIZE_MAX], int64_t rank, int64_t pid)
{
	if (rank < 0 && !pid)
		snprintf(out, TEXT_SIZE_MAX, "the process");
	else
		snprintf(out, TEXT_SIZE_MAX, "%s %lld", rank >= 0 ? "rank" : "pid",
			 (long long)(rank >= 0 ? rank : pid));
	return out;
}

void answer_say_place(struct sentence *sentence, const char *function, const char *place)
{
	if (*function) {
		sentence_say_clean(sentence, function);
		sentence_say(sentence, " (");
		sentence_say_clean(sentence, *place ? place : "unknown place");
		sentence_say(sentence, ")");
	} else {
		sentence_say_clean(sentence, *place ? place : "code without a recorded stack");
	}
}

const char *answer_phase(const char *phase)
{
	return strcmp(phase, mt_phase_name(MT_PHASE_BEFORE)) ? phase : "before the recording";
}

const char *answer_model(char out[128], const char *name)
{
	char clean[124];

	*out = '\0';
	if (strcmp(name, "GPU"))
		snprintf(out, 128, "  %s", text_fit(clean, sizeof(clean), name, 60, 0));
	return out;
}

const char *answer_category(const char *category)
{
	return strcmp(category, "other") ? category : "of unknown kind";
}

void answer_say_category(struct sentence *sentence, const char *category, int is_guess)
{
	int is_counted = !strcmp(category, "other") || !strcmp(category, mt_category_name(MT_CATEGORY_SLACK));

	sentence_say(sentence, ": %s%s", is_guess && !is_counted ? "probably " : "", answer_category(category));
}

int answer_flag(struct db *db, const char *sql, const int64_t parameter[DB_PARAMETERS], int *flag)
{
	int64_t number = *flag;
	int error = db_number(db, sql, parameter, &number);

	*flag = number != 0;
	return error;
}

int answer_bytes(struct db *db, const char *sql, const int64_t parameter[DB_PARAMETERS], uint64_t *bytes)
{
	return db_number(db, sql, parameter, (int64_t *)bytes);
}

int answer_say_lost(struct sentence *sentence, struct db *db, uint64_t *lost)
{
	const int64_t none[DB_PARAMETERS] = { 0 };
	char words[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX];
	uint64_t events = 0;
	int error = answer_bytes(db, "SELECT sum(lost) FROM process", none, lost);

	if (!error)
		error = answer_bytes(db, "SELECT sum(events) FROM process", none, &events);
	if (!error && *lost)
		sentence_say(sentence, "%s of %s are lost. ", text_count(words, sizeof(words), *lost, "event"),
			     text_number(all, events + *lost));
	return error;
}

static void json_value(struct doc *doc, const struct db_stmt *stmt, int column)
{
	const char *name = db_name(stmt, column);

	switch (db_type(stmt, column)) {
	case DB_INTEGER:
		doc_int(doc, name, db_int(stmt, column));
		break;
	case DB_REAL:
		doc_real(doc, name, db_real(stmt, column));
		break;
	case DB_TEXT:
	case DB_BLOB:
		doc_string(doc, name, db_text(stmt, column));
		break;
	case DB_NULL:
		doc_null(doc, name);
		break;
	}
}

void answer_row_json(struct doc *doc, const struct db_stmt *stmt)
{
	int columns = db_columns(stmt), column;

	doc_object(doc, NULL);
	for (column = 0; column < columns; column++)
		json_value(doc, stmt, column);
	doc_end(doc);
}
