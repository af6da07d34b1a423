/* The options of commands: for getopt, for the help, and for messages about mistyped options. */
#include "command_option.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "command.h"
#include "memtrace/nearest.h"
#include "source/spool.h"

#define OPTIONS_MAX 32
#define HEAD_MAX 24 /* largest width of an option that has its help on the same line */

static int full;

static const char *one_dash; /* word with a single dash that ended the options */

static const struct command_option *proposed; /* options of the running command */

/* ---- for getopt ---- */

struct getopt_tables {
	struct option word[OPTIONS_MAX + 1];
	char letter[2 * OPTIONS_MAX + 2];
};

/* A ":" at the begin makes getopt distinguish a missing value from an unknown option. */
static void fill_tables(struct getopt_tables *tables, const struct command_option *options)
{
	const struct command_option *row;
	size_t words = 0, letters = 0;

	memset(tables, 0, sizeof(*tables));
	tables->letter[letters++] = ':';
	for (row = options; row->key && row < options + OPTIONS_MAX; row++) {
		if (row->word)
			tables->word[words++] = (struct option){ row->word,
								 row->value ? required_argument : no_argument, NULL,
								 row->key };
		if (row->key >= COMMAND_RULES)
			continue;
		tables->letter[letters++] = (char)row->key;
		if (row->value)
			tables->letter[letters++] = ':';
	}
}

static int takes_value(const struct command_option *row, const char *argument)
{
	if (!row->value)
		return 0;
	if (argument[1] == '-')
		return row->word && !strcmp(argument + 2, row->word);
	return argument[1] == row->key && !argument[2];
}

/* Finds a long option with a single dash; NULL: no such option. getopt would read -json as -j -s -o -n, and -output as a file "utput". */
static const char *find_one_dash(int argc, char **argv, const struct command_option *options)
{
	const struct command_option *row;
	int i, skip;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		skip = 0;
		for (row = options; argv[i][0] == '-' && row->key; row++) {
			if (row->word && row->word[1] && !strcmp(argv[i] + 1, row->word))
				return argv[i];
			skip |= takes_value(row, argv[i]);
		}
		i += skip;
	}
	return NULL;
}

/* Gives "-" the name of standard input: a trace. */
static void name_standard_input(int argc, char **argv)
{
	static char path[] = SPOOL_PATH;
	int i;

	for (i = optind; i < argc; i++)
		if (!strcmp(argv[i], "-"))
			argv[i] = path;
}

int command_getopt(int argc, char **argv, const struct command_option *options)
{
	struct getopt_tables tables;
	int key;

	proposed = options;
	if (optind == 1 && (one_dash = find_one_dash(argc, argv, options)))
		return '?';
	fill_tables(&tables, options);
	while ((key = getopt_long(argc, argv, tables.letter, tables.word, NULL)) == COMMAND_ALL ||
	       key == COMMAND_FULL) {
		full |= key == COMMAND_FULL;
		if (key == COMMAND_ALL)
			source_take_all();
	}
	if (key == -1)
		name_standard_input(argc, argv);
	return key;
}

int command_full(void)
{
	return full;
}

/* ---- mistyped options ---- */

/* Copies the option's name from "--name=value" to `name`, and starts the search for the nearest option. */
static void find_option(struct mt_nearest *nearest, char name[MT_NEAREST_MAX + 2], const char *argument)
{
	const struct command_option *row;

	snprintf(name, MT_NEAREST_MAX + 2, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
	nearest->word = name;
	for (row = proposed; row && row->key; row++)
		if (row->word)
			mt_nearest_try(nearest, row->word);
}

int command_bad_option(int argc, char **argv, int result)
{
	const char *what = result == ':' ? "needs a value" : "there is no such option", *argument = argv[optind - 1];
	struct mt_nearest nearest = { 0 };
	char name[MT_NEAREST_MAX + 2];

	if (one_dash)
		return command_fail(EXIT_USAGE,
				    "%s: %s: there is no such option (did you mean -%s? See memana %s --help)", argv[0],
				    one_dash, one_dash, argv[0]);
	/* getopt sets optopt for a short option. A long option is the argument before optind. */
	if (result == '?' && optopt && optind <= argc && strncmp(argument, "--", 2))
		return command_fail(EXIT_USAGE, "%s: -%c: %s (see memana %s --help)", argv[0], optopt, what, argv[0]);
	if (result == '?' && optopt && strchr(argument, '='))
		what = "takes no value";
	else if (result == '?' && !strncmp(argument, "--", 2))
		find_option(&nearest, name, argument);
	if (nearest.best)
		return command_fail(EXIT_USAGE, "%s: %s: %s (did you mean --%s? See memana %s --help)", argv[0],
				    argument, what, nearest.best, argv[0]);
	return command_fail(EXIT_USAGE, "%s: %s: %s (see memana %s --help)", argv[0], argument, what, argv[0]);
}

/* ---- the help ---- */

/* Writes the head of an option: " -o, --output FILE", " --json", " -n N". Returns its width. */
static int make_head(char head[64], const struct command_option *row)
{
	char letter[4] = "  ";

	if (row->key < COMMAND_RULES)
		snprintf(letter, sizeof(letter), "-%c", row->key);
	return snprintf(head, 64, "  %s%s%s%s%s%s", letter,
			!row->word                 ? ""
			: row->key < COMMAND_RULES ? ", "
						   : "  ",
			row->word ? "--" : "", row->word ? row->word : "", row->value ? " " : "",
			row->value ? row->value : "");
}

static int head_columns(const struct command_option *options)
{
	const struct command_option *row;
	char head[64];
	int widest = 0, columns;

	for (row = options; row->key; row++) {
		columns = make_head(head, row);
		if (columns > widest && columns <= HEAD_MAX)
			widest = columns;
	}
	return widest + 2;
}

static void print_row(const struct text *text, const struct command_option *row, int indent)
{
	char head[64];
	int at = make_head(head, row);

	text_print(text, "%s", head);
	if (at >= indent) {
		text_print(text, "\n");
		at = 0;
	}
	text_wrap(text, indent, at, row->help);
}

/* Prints the words for values once, below the options, for all options that take these words. */
static void print_words(const struct text *text, const struct command_option *options)
{
	const struct command_option *row, *other;
	int at;

	for (row = options; row->key; row++) {
		for (other = options; other < row && other->words != row->words; other++)
			;
		if (!row->words || other < row)
			continue;
		at = (int)strlen(row->value) + 3;
		text_print(text, "  %s:", row->value);
		text_wrap(text, 4, at, row->words + strspn(row->words, " "));
	}
}

static void print_notes(const struct text *text, const char *notes)
{
	char paragraph[1024];
	size_t size;

	for (; notes && *notes; notes += size + (notes[size] != '\0')) {
		size = strcspn(notes, "\n");
		snprintf(paragraph, sizeof(paragraph), "%.*s", (int)size, notes);
		text_wrap(text, 2, 0, paragraph);
	}
}

int command_help(const char *name, const struct command_option *options, const char *notes)
{
	const struct command *command = command_find(name);
	const struct command_option *row;
	struct text text;
	int indent = head_columns(options);

	text_init(&text, stdout);
	text_print(&text, "Usage: memana %s [options] %s\n  %s\n\n", name, command->arguments, command->summary);
	for (row = options; row->key; row++)
		print_row(&text, row, indent);
	print_words(&text, options);
	print_notes(&text, notes);
	return 0;
}
