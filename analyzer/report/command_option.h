/*
 * command_option.h - the options of a command, each once: what getopt wants and the help are made of one table, and what shells
 * complete is made of the help (tools/completion.sh).
 */
#ifndef MEMANA_COMMAND_OPTION_H
#define MEMANA_COMMAND_OPTION_H

struct command_option {
	int key;           /* result of command_getopt; below 256 it is a letter that one can type: -o */
	const char *word;  /* "output": --output; NULL: there is the letter alone */
	const char *value; /* "FILE"; NULL: it takes none */
	const char *help;  /* a line or more; broken to lines where it is printed */
	const char *
		words; /* the possible values, blanks between; a word in capitals stands for something: "oom step:N TIME" */
};

/* Keys that mean the same everywhere. A command's own that are no letters count from COMMAND_OWN. */
enum { COMMAND_RULES = 256, COMMAND_JSON, COMMAND_BRIEF, COMMAND_NUMBER, COMMAND_ALL, COMMAND_FULL, COMMAND_OWN = 300 };

/* Options of the commands that read traces (command_getopt does what --all and --full say), and of those that answer programs. */
#define COMMAND_RULES_OPTION                                                                                       \
	{ COMMAND_ALL, "all", NULL,                                                                                \
	  "take all traces as one run (else those of another run than the newest are left "                        \
	  "out)" },                                                                                                \
	{                                                                                                          \
		COMMAND_RULES, "rules", "FILE", "more phase rules, before the built-in ones (may be given again)", \
	}
#define COMMAND_JSON_OPTION                                                        \
	{                                                                          \
		COMMAND_JSON, "json", NULL, "for programs; bytes and nanoseconds", \
	}

/* Commands that answer from sums (LOAD_STEPS, LOAD_SUMS), or from the facts of a trace, have this one. */
#define COMMAND_FULL_OPTION                                                                                          \
	{                                                                                                            \
		COMMAND_FULL, "full", NULL,                                                                          \
			"read every event, and keep each allocation instead of sums: the same answer, in more time", \
	}

/* 1: --full was given. */
int command_full(void);

/* The last row of every table: -h, which all commands have. */
#define COMMAND_HELP_OPTION                 \
	{ 'h', "help", NULL, "show this" }, \
	{                                   \
		0                           \
	}

/* getopt_long: the key, '?' or ':' (command_bad_option knows why), or -1. `options` are kept until the next call. */
int command_getopt(int argc, char **argv, const struct command_option *options);

/* command_fail for an option that command_getopt refused: `result` is what it returned ('?' or ':'). */
int command_bad_option(int argc, char **argv, int result);

/*
 * Prints "Usage: memana NAME ARGUMENTS", the summary, the options and the words that their values may be to stdout; then `notes`,
 * paragraphs with newlines between them (NULL: none). Returns 0.
 */
int command_help(const char *name, const struct command_option *options, const char *notes);

#endif
