/* arguments.c - parses the command line of memrec, and prints the help. */
#include "launch.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/output.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/nearest.h"
#include "memtrace/writer.h"
#include "run/say.h"
#include "words.h"

/* The action for an option. */
enum action {
	SET_OUTPUT,
	SET_NUMBER,
	SET_SIZE,
	SET_STEP_MARK,
	SET_STACKS,
	SET_FLAG,
	SET_RING_DIR,
	SET_LIVE,
	SET_QUIET,
	SET_VERBOSE,
	SET_HELP,
	SET_VERSION
};

/*
 * Every option, in the order of the help: X(letter or 0, word, value's name or NULL, action, member or 0, help).
 * Numbers and flags are members of struct memrec_options.
 */
#define MEMBER(name) offsetof(struct memrec_options, name)
#define OPTION_LIST(X)                                                                                               \
	X('o', "output", "FILE", SET_OUTPUT, 0,                                                                      \
	  "the trace (default trace.zst); %p pid, %r rank, %h host, %% a %.\n"                                       \
	  "An older file is kept as FILE.old")                                                                       \
	X(0, "steps", "N", SET_NUMBER, MEMBER(steps), "stop recording after N steps (default 0: the whole run)")     \
	X(0, "duration", "S", SET_NUMBER, MEMBER(duration),                                                          \
	  "stop recording after S seconds (default 0: the whole run)")                                               \
	X(0, "skip", "N", SET_NUMBER, MEMBER(skip), "let N steps pass first")                                        \
	X(0, "paused", NULL, SET_FLAG, MEMBER(paused), "record nothing until memrec start; then until memrec stop")  \
	X(0, "step-mark", "PATTERN", SET_STEP_MARK, 0,                                                               \
	  "what one step is: an NVTX range or a Python function\n"                                                   \
	  "(default auto)")                                                                                          \
	X(0, "depth", "N", SET_NUMBER, MEMBER(depth), "frames kept per stack (default 32; 0: none)")                 \
	X(0, "stacks", "LIST", SET_STACKS, 0,                                                                        \
	  "python,native | python | native | none (default: Python, and native\n"                                    \
	  "frames where they are cheap or the only ones)")                                                           \
	X(0, "keep", "SIZE", SET_SIZE, MEMBER(keep), "flight recorder: keep only the newest SIZE of trace (256MiB)") \
	X(0, "cpu", NULL, SET_FLAG, MEMBER(cpu), "record CPU tensors, too (the default without a GPU)")              \
	X(0, "no-cupti", NULL, SET_FLAG, MEMBER(no_cupti),                                                           \
	  "leave CUPTI to another tool: no driver calls in the trace")                                               \
	X(0, "yield-cupti", NULL, SET_FLAG, MEMBER(yield_cupti),                                                     \
	  "give CUPTI to another tool of the program as long as it\n"                                                \
	  "wants it (torch.profiler): no driver calls in the trace meanwhile")                                       \
	X(0, "no-census", NULL, SET_FLAG, MEMBER(no_census),                                                         \
	  "do not ask PyTorch what its weights, gradients and optimizer\n"                                           \
	  "states are")                                                                                              \
	X(0, "no-modules", NULL, SET_FLAG, MEMBER(no_modules), "do not note the module (layer) of a frame")          \
	X(0, "live", NULL, SET_LIVE, 0, "show the timeline while recording; what COMMAND prints goes to FILE.log")   \
	X(0, "ring-dir", "DIR", SET_RING_DIR, 0, "where the shared ring lies while recording")                       \
	X('q', "quiet", NULL, SET_QUIET, 0, "print errors alone: no summary, no last words")                         \
	X('v', "verbose", NULL, SET_VERBOSE, 0, "say what is recorded, and how")                                     \
	X('h', "help", NULL, SET_HELP, 0, "this text")                                                               \
	X('V', "version", NULL, SET_VERSION, 0, "the version")

struct option_row {
	char letter;
	const char *word, *value;
	enum action action;
	size_t member;
	const char *help;
};

static const struct option_row rows[] = {
#define OPTION_ROW(letter, word, value, action, member, help) { letter, word, value, action, member, help },
	OPTION_LIST(OPTION_ROW)
#undef OPTION_ROW
};

/* Values of --stacks: X(word, bits of enum memrec_stacks). */
#define STACKS_LIST(X)                                                                                \
	X("python,native", MEMREC_STACKS_PYTHON | MEMREC_STACKS_NATIVE | MEMREC_STACKS_NATIVE_ALWAYS) \
	X("native,python", MEMREC_STACKS_PYTHON | MEMREC_STACKS_NATIVE | MEMREC_STACKS_NATIVE_ALWAYS) \
	X("python", MEMREC_STACKS_PYTHON)                                                             \
	X("native", MEMREC_STACKS_NATIVE | MEMREC_STACKS_NATIVE_ALWAYS)                               \
	X("none", 0)

#define STACKS_NAME(word, bits) " " word

/* Reports an option that getopt refused. For -xyz, only the refused letter is named. */
static int refuse(struct arguments_error *error, char **argv, const char *why)
{
	if (optopt > 0 && optopt < 256)
		snprintf(error->what, sizeof(error->what), "-%c", optopt);
	else
		snprintf(error->what, sizeof(error->what), "%s", argv[optind - 1]);
	snprintf(error->why, sizeof(error->why), "%s", why);
	return -MT_E_ARGUMENT;
}

static const struct option_row *find_word(const char *word)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].word, word))
			return &rows[i];
	return NULL;
}

/* Reports an unknown option, and the known option with the nearest name. */
static int refuse_unknown(struct arguments_error *error, char **argv)
{
	const char *argument = argv[optind - 1];
	struct mt_nearest nearest = { 0 };
	char word[MT_NEAREST_MAX + 2] = "", why[96];
	size_t i;

	if (!strncmp(argument, "--", 2))
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
	nearest.word = word;
	for (i = 0; i < MT_ARRAY_SIZE(rows); i++)
		mt_nearest_try(&nearest, rows[i].word);
	if (!nearest.best)
		return refuse(error, argv, "no such option (see memrec --help)");
	snprintf(why, sizeof(why), "no such option (did you mean --%s? See memrec --help)", nearest.best);
	return refuse(error, argv, why);
}

static int set_stacks(struct memrec_options *options, const char *list)
{
#define STACKS_WORD(word, bits)           \
	if (!strcmp(list, word)) {        \
		options->stacks = (bits); \
		return 0;                 \
	}
	STACKS_LIST(STACKS_WORD)
#undef STACKS_WORD
	return -MT_E_ARGUMENT;
}

/* Finds the range of an option in the list of numbers. */
static void find_range(size_t member, uint64_t *min, uint64_t *max)
{
#define FIND_RANGE(name, key, def, smallest, largest) \
	if (member == MEMBER(name)) {                 \
		*min = (smallest);                    \
		*max = (largest);                     \
	}
	MEMREC_NUMBER_LIST(FIND_RANGE)
#undef FIND_RANGE
}

static int set_number(struct memrec_options *options, size_t member, const char *text, struct arguments_error *error)
{
	uint64_t min = 0, max = 0, value;
	char *end;

	find_range(member, &min, &max);
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < min || value > max) {
		snprintf(error->why, sizeof(error->why),
			 "must be a number from %" PRIu64 " to %" PRIu64 ", not \"%.100s\"", min, max, text);
		return -MT_E_ARGUMENT;
	}
	*(uint64_t *)((char *)options + member) = value;
	return 0;
}

/* Parses a size such as 4GiB into *bytes. Returns 0 or -MT_E_ARGUMENT. */
static int parse_size(const char *text, uint64_t *bytes)
{
	static const struct {
		const char *word;
		int shift;
	} units[] = { { "", 0 }, { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 }, { "TiB", 40 } };
	uint64_t number;
	char *end;
	size_t i;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno)
		return -MT_E_ARGUMENT;
	for (i = 0; i < MT_ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].word) != 0 || number > UINT64_MAX >> units[i].shift)
			continue;
		*bytes = number << units[i].shift;
		return 0;
	}
	return -MT_E_ARGUMENT;
}

static int set_size(struct memrec_options *options, size_t member, const char *text, struct arguments_error *error)
{
	uint64_t min = 0, max = 0, bytes;

	find_range(member, &min, &max);
	if (parse_size(text, &bytes) || !bytes || bytes < min || bytes > max) {
		snprintf(error->why, sizeof(error->why), "must be a size such as 256MiB or 4GiB, not \"%.100s\"", text);
		return -MT_E_ARGUMENT;
	}
	if (bytes < MT_KEEP_MIN) {
		snprintf(error->why, sizeof(error->why),
			 "must be 1MiB or more, not \"%.100s\": what is alive and the names "
			 "of stacks take some of it",
			 text);
		return -MT_E_ARGUMENT;
	}
	*(uint64_t *)((char *)options + member) = bytes;
	return 0;
}

static int set_text(char *member, const char *text, struct arguments_error *error)
{
	if (!*text || strlen(text) >= MEMREC_PATH_MAX) {
		snprintf(error->why, sizeof(error->why), *text ? "is too long" : "must not be empty");
		return -MT_E_ARGUMENT;
	}
	snprintf(member, MEMREC_PATH_MAX, "%s", text);
	return 0;
}

/* Refuses -output, which getopt reads as -o with the file "utput". Returns 0 or -MT_E_ARGUMENT. */
static int refuse_one_dash(struct arguments_error *error, const char *argument)
{
	if (argument[0] != '-' || !argument[1] || !find_word(argument + 1))
		return 0;
	snprintf(error->what, sizeof(error->what), "%s", argument);
	snprintf(error->why, sizeof(error->why), "no such option (did you mean -%s? See memrec --help)", argument);
	return -MT_E_ARGUMENT;
}

static int set_output(struct memrec_options *options, const char *text, struct arguments_error *error)
{
	if (!strcmp(text, "-")) {
		snprintf(error->why, sizeof(error->why), "must be a file: standard output is the command's");
		return -MT_E_ARGUMENT;
	}
	if (output_check(text)) {
		snprintf(error->why, sizeof(error->why),
			 "has a %% before another letter than p, r, h (%%%% is a percent sign)");
		return -MT_E_ARGUMENT;
	}
	return set_text(options->output, text, error);
}

static int apply(struct arguments *arguments, const struct option_row *row, const char *value,
		 struct arguments_error *error)
{
	switch (row->action) {
	case SET_OUTPUT:
		return set_output(&arguments->options, value, error);
	case SET_NUMBER:
		return set_number(&arguments->options, row->member, value, error);
	case SET_SIZE:
		return set_size(&arguments->options, row->member, value, error);
	case SET_STEP_MARK:
		return set_text(arguments->options.step_mark, value, error);
	case SET_STACKS:
		snprintf(error->why, sizeof(error->why), "must be python,native, python, native or none");
		return set_stacks(&arguments->options, value);
	case SET_FLAG:
		*(uint64_t *)((char *)&arguments->options + row->member) = 1;
		return 0;
	case SET_RING_DIR:
		arguments->ring_dir = value;
		return 0;
	case SET_LIVE:
		arguments->live = 1;
		return 0;
	case SET_QUIET:
		say_set_level(SAY_QUIET);
		return 0;
	case SET_VERBOSE:
		say_set_level(SAY_VERBOSE);
		return 0;
	case SET_HELP:
		arguments->help = 1;
		return 0;
	case SET_VERSION:
		arguments->version = 1;
		return 0;
	}
	return 0;
}

/* Makes getopt's tables. In `letters`, + stops at the first operand, and : reports a missing value as such. */
static void make_getopt(struct option *words, char *letters)
{
	size_t i;

	*letters++ = '+';
	*letters++ = ':';
	for (i = 0; i < MT_ARRAY_SIZE(rows); i++) {
		words[i] = (struct option){ rows[i].word, rows[i].value ? required_argument : no_argument, NULL,
					    (int)(256 + i) };
		if (!rows[i].letter)
			continue;
		*letters++ = rows[i].letter;
		if (rows[i].value)
			*letters++ = ':';
	}
	*letters = '\0';
	words[i] = (struct option){ NULL, 0, NULL, 0 };
}

static const struct option_row *find_row(int got)
{
	size_t i;

	if (got >= 256)
		return &rows[got - 256];
	for (i = 0; i < MT_ARRAY_SIZE(rows); i++)
		if (rows[i].letter == got)
			return &rows[i];
	return NULL;
}

/* Takes the values of MEMREC_OPTIONS that apply to a new run. An invalid text is ignored. */
static void take_environment(struct memrec_options *options)
{
	const char *text = getenv(MEMREC_OPTIONS_VARIABLE);
	struct memrec_options given;

	if (!text || memrec_options_decode(&given, text))
		return;
	*options = given;
	options->run_dir[0] = '\0';
	options->collector[0] = '\0';
}

static int make_absolute(char *path)
{
	char here[PATH_MAX], relative[MEMREC_PATH_MAX];

	if (path[0] == '/')
		return 0;
	snprintf(relative, sizeof(relative), "%s", path);
	if (!getcwd(here, sizeof(here)))
		return -MT_E_SYSTEM;
	if (snprintf(path, MEMREC_PATH_MAX, "%s/%s", here, relative) < (int)MEMREC_PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -MT_E_SYSTEM;
}

int arguments_parse(struct arguments *arguments, int argc, char **argv, struct arguments_error *error)
{
	struct option words[MT_ARRAY_SIZE(rows) + 1];
	char letters[2 + 2 * MT_ARRAY_SIZE(rows) + 1];
	int got;

	memset(arguments, 0, sizeof(*arguments));
	memrec_options_init(&arguments->options);
	take_environment(&arguments->options);
	make_getopt(words, letters);
	opterr = 0;
	optind = 1;
	for (;;) {
		const struct option_row *row;

		if (optind < argc && refuse_one_dash(error, argv[optind]))
			return -MT_E_ARGUMENT;
		got = getopt_long(argc, argv, letters, words, NULL);
		if (got == -1)
			break;
		row = find_row(got);
		if (got == ':')
			return refuse(error, argv, "needs a value");
		if (!row)
			return refuse_unknown(error, argv);
		snprintf(error->what, sizeof(error->what), "--%s", row->word);
		if (apply(arguments, row, optarg, error))
			return -MT_E_ARGUMENT;
	}
	arguments->operands = argv + optind;
	if (!arguments->options.output[0])
		snprintf(arguments->options.output, MEMREC_PATH_MAX, "trace.zst");
	return make_absolute(arguments->options.output);
}

/* Prints one option. Further lines of its help are indented. */
static void print_option(FILE *file, const struct option_row *row)
{
	const char *help = row->help;
	char head[40];

	snprintf(head, sizeof(head), "%s%c%c --%s%s%s", row->letter ? "-" : " ", row->letter ? row->letter : ' ',
		 row->letter ? ',' : ' ', row->word, row->value ? " " : "", row->value ? row->value : "");
	fprintf(file, "  %-25s ", head);
	for (; *help; help++) {
		putc(*help, file);
		if (*help == '\n')
			fprintf(file, "%28s", "");
	}
	putc('\n', file);
}

void arguments_print_options(FILE *file)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(rows); i++)
		print_option(file, &rows[i]);
	fprintf(file, "  LIST:" STACKS_LIST(STACKS_NAME) "\n");
}

void arguments_print_help(FILE *file)
{
	fprintf(file, "usage: memrec [options] -- COMMAND [ARG...]\n"
		      "       memrec env [options] [FRAMEWORK]   what to set where a launcher starts the processes\n");
	launch_command_print_help(file);
	fprintf(file, "\nRecords what fills GPU memory in COMMAND and its children, with stacks and phases.\n"
		      "memana reads the trace: memana top trace.zst\n"
		      "\n");
	arguments_print_options(file);
	fprintf(file, "  FRAMEWORK:%s\n", env_frameworks);
	fprintf(file, "\nA program with the name of one of these commands is run by memrec -- NAME.\n"
		      "The exit status is COMMAND's own, 128+N when signal N killed it; memrec's errors: 2 usage,\n"
		      "4 system, 126 COMMAND cannot be executed, 127 COMMAND was not found.\n");
}
