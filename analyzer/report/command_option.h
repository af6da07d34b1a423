/*
 * command_option.h - the table of a command's options. The input of getopt and the help come from this table; shell completion comes from the help
 * (tools/completion.sh).
 */
#ifndef MEMANA_COMMAND_OPTION_H
#define MEMANA_COMMAND_OPTION_H

struct command_option {
	int key;           /* result of command_getopt; below 256 also the letter of the option, -o */
	const char *word;  /* "output" for --output; NULL: the option has only a letter */
	const char *value; /* "FILE"; NULL: the option takes no value */
	const char *help;  /* one line or more; broken into lines when printed */
	const char *
		words; /* the possible values, with blanks between; a word in capitals is a placeholder: "oom step:N TIME" */
};

/* Keys with the same meaning in all commands. Own keys of a command that are no letters begin at COMMAND_OWN. */
enum { COMMAND_RULES = 256, COMMAND_JSON, COMMAND_BRIEF, COMMAND_NUMBER, COMMAND_ALL, COMMAND_FULL, COMMAND_OWN = 300 };

/* Options of commands that read traces (command_getopt applies --all and --full), and of commands with a JSON answer. */
#define COMMAND_RULES_OPTION                                                                                 \
	{ COMMAND_ALL, "all", NULL, "take all traces as one run (default: those of the newest run alone)" }, \
	{                                                                                                    \
		COMMAND_RULES, "rules", "FILE",                                                              \
			"more phase rules, which go before the built-in ones (may be repeated)",             \
	}
#define COMMAND_JSON_OPTION                                                         \
	{                                                                           \
		COMMAND_JSON, "json", NULL, "print JSON, in bytes and nanoseconds", \
	}

/* Option of commands that answer from sums (LOAD_STEPS, LOAD_SUMS) or from the facts of a trace. */
#define COMMAND_FULL_OPTION                                                                                       \
	{                                                                                                         \
		COMMAND_FULL, "full", NULL,                                                                       \
			"read every event and keep each allocation, without sums: the same answer, in more time", \
	}

/* Whether --full was given. */
int command_full(void);

/* The last row of each table. All commands have -h. */
#define COMMAND_HELP_OPTION                 \
	{ 'h', "help", NULL, "show this" }, \
	{                                   \
		0                           \
	}

/* As getopt_long: returns the key, '?' or ':' (see command_bad_option), or -1. Stores the pointer `options` until the next call. */
int command_getopt(int argc, char **argv, const struct command_option *options);

/* As command_fail, for an option that command_getopt refused. `result`: its answer, '?' or ':'. */
int command_bad_option(int argc, char **argv, int result);

/*
 * Prints to stdout: "Usage: memana NAME ARGUMENTS", the summary, the options, the words for their values, and `notes` (paragraphs with newlines
 * between; NULL: none). Returns 0.
 */
int command_help(const char *name, const struct command_option *options, const char *notes);

#endif
