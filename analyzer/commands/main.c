/* memana - answers questions about recordings of memrec. This file finds the command; cmd_*.c have the commands. */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "database/db.h"
#include "memtrace/error.h"
#include "memtrace/roomy.h"
#include "pager.h"
#include "report/command.h"
#include "source/partial_file.h"

static int help(FILE *file)
{
	size_t i;

	fprintf(file, "memana - what filled the GPU, in which phase, and who asked for it\n\n"
		      "Usage: memana COMMAND [options] TRACE...\n"
		      "       memana TRACE...         memana tui on a terminal, memana top elsewhere\n\n");
	for (i = 0; i < command_count; i++)
		fprintf(file, "  %-8s %-21s %s\n", commands[i].name, commands[i].arguments, commands[i].summary);
	fprintf(file, "\nSeveral traces are one run: processes are joined per GPU.\n"
		      "memana COMMAND --help has the options of a command.\n"
		      "  -h, --help       show this; memana help COMMAND is memana COMMAND --help\n"
		      "  -V, --version    show the version\n"
		      "      --color WHEN colours in text\n"
		      "      --no-pager   no pager on a terminal (else MEMANA_PAGER, PAGER or less)\n"
		      "  WHEN: auto always never\n"
		      "Exit status: 0 fine, 1 the answer is no, 2 usage, 3 bad input, 4 system error.\n");
	return 0;
}

static command_function *const runs[] = {
#define COMMAND_RUN(name, arguments, summary) cmd_##name,
	COMMAND_LIST(COMMAND_RUN)
#undef COMMAND_RUN
};

/* Whether all words are traces, and the terminal can show a screen. Options and databases go to top. */
static int wants_screen(int argc, char **argv)
{
	const char *terminal = getenv("TERM");
	int i;

	for (i = 1; i < argc; i++)
		if (*argv[i] == '-' || db_is_database(argv[i]))
			return 0;
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb");
}

/* Words of other programs that stand for a command: X(word, command). */
#define HABIT_LIST(X)                                \
	X("report", "memana top")                    \
	X("stats", "memana top")                     \
	X("summary", "memana top")                   \
	X("show", "memana top")                      \
	X("view", "memana tui")                      \
	X("gui", "memana export --to html")          \
	X("html", "memana export --to html")         \
	X("flamegraph", "memana export --to folded") \
	X("convert", "memana export")                \
	X("query", "memana sql")                     \
	X("leaks", "memana growth")                  \
	X("compare", "memana diff")                  \
	X("list", "memana info")                     \
	X("dump", "memana info")                     \
	X("watch", "memana live")                    \
	X("record", "memrec record")                 \
	X("run", "memrec record")

static const char *find_habit(const char *word)
{
#define HABIT_WORD(habit, command) \
	if (!strcmp(word, habit))  \
		return command;
	HABIT_LIST(HABIT_WORD)
#undef HABIT_WORD
	return NULL;
}

/* Reports a word that is neither command nor file: a misspelled command, or a missing file. */
static int unknown(const char *word)
{
	struct mt_nearest nearest = { .word = word };
	size_t i;

	if (*word == '-')
		return command_fail(EXIT_USAGE, "%s: there is no such option (see memana --help)", word);
	if (strchr(word, '/') || strchr(word, '.'))
		return command_fail(mt_exit_code(-MT_E_SYSTEM), "%s: %s", word, strerror(ENOENT));
	if (find_habit(word))
		return command_fail(EXIT_USAGE, "%s: neither a command nor a file (did you mean %s?)", word,
				    find_habit(word));
	for (i = 0; i < command_count; i++)
		mt_nearest_try(&nearest, commands[i].name);
	if (nearest.best)
		return command_fail(EXIT_USAGE, "%s: neither a command nor a file (did you mean memana %s?)", word,
				    nearest.best);
	return command_fail(EXIT_USAGE, "%s: neither a command nor a file (see memana --help)", word);
}

/* Whether a command uses the terminal itself, or prints no answer. */
static int has_no_pager(const char *name)
{
	static const char *const names[] = { "tui", "live", "wait", "load", "import", "export" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return 1;
	return 0;
}

static int run_command(const struct command *command, int argc, char **argv, int paged)
{
	if (paged && !has_no_pager(command->name))
		pager_begin();
	return runs[command - commands](argc, argv);
}

/* Runs memana help COMMAND as memana COMMAND --help. */
static int run_help(int argc, char **argv)
{
	static char option[] = "--help";
	char *arguments[] = { argv[argc - 1], option, NULL };
	const struct command *command = argc > 2 ? command_find(argv[2]) : NULL;

	if (argc == 2)
		return help(stdout);
	return command ? runs[command - commands](2, arguments) : unknown(argv[2]);
}

static int is_word(const char *word, const char *const *words)
{
	while (*words && strcmp(word, *words))
		words++;
	return *words != NULL;
}

/* Finds a command after options and their values: memana --json top TRACE means memana top --json TRACE. NULL: no word is a command. */
static const struct command *bring_forward(int argc, char **argv)
{
	const struct command *command = NULL;
	char *word;
	int i;

	for (i = 1; i < argc && *argv[i] == '-' && strcmp(argv[i], "--") != 0; i++)
		;
	if (i < argc && i > 1 && access(argv[i], F_OK))
		command = command_find(argv[i]);
	if (!command)
		return NULL;
	word = argv[i];
	memmove(argv + 2, argv + 1, (size_t)(i - 1) * sizeof(*argv));
	argv[1] = word;
	return command;
}

static int run(int argc, char **argv, int paged)
{
	static const char *const helps[] = { "-h", "--help", "help", NULL };
	static const char *const versions[] = { "-V", "--version", "version", NULL };
	static char top[] = "top", tui[] = "tui";
	const struct command *command;

	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (is_word(argv[1], helps))
		return run_help(argc, argv);
	if (is_word(argv[1], versions)) {
		printf("memana " MEMREC_VERSION " (" MEMREC_COMMIT ")\n");
		return 0;
	}
	command = command_find(argv[1]);
	if (command)
		return run_command(command, argc - 1, argv + 1, paged);
	if (wants_screen(argc, argv) && !access(argv[1], F_OK)) {
		argv[0] = tui;
		return cmd_tui(argc, argv);
	}
	if (*argv[1] != '-' && access(argv[1], F_OK))
		return unknown(argv[1]);
	command = bring_forward(argc, argv);
	if (command)
		return run_command(command, argc - 1, argv + 1, paged);
	argv[0] = top; /* options of top can come before the trace */
	return run_command(command_find(top), argc, argv, paged);
}

/* Returns 0; after a message, the exit status. */
static int set_colour(const char *word)
{
	static const char *const words[] = {
#define WHEN_WORD(name, word) [TEXT_##name] = word,
		TEXT_WHEN_LIST(WHEN_WORD)
#undef WHEN_WORD
	};
	size_t i;

	for (i = 0; word && i < MT_ARRAY_SIZE(words); i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		text_set_colour((enum text_when)i);
		return 0;
	}
	return command_fail(EXIT_USAGE, "--color: must be auto, always or never");
}

/* Removes the options of all commands, up to "--", from the command line. Returns 0; after a message, the exit status. */
static int take_common(int *argc, char **argv, int *paged)
{
	int from, to = 1, status = 0;

	for (from = 1; !status && from < *argc && strcmp(argv[from], "--") != 0; from++) {
		if (!strcmp(argv[from], "--no-pager"))
			*paged = 0;
		else if (!strncmp(argv[from], "--color=", 8))
			status = set_colour(argv[from] + 8);
		else if (!strcmp(argv[from], "--color"))
			status = set_colour(argv[++from]);
		else
			argv[to++] = argv[from];
	}
	while (from < *argc)
		argv[to++] = argv[from++];
	argv[to] = NULL;
	*argc = to;
	return status;
}

static int main_roomy(int argc, char **argv)
{
	int status, paged = 1;

	setlocale(LC_CTYPE, "");
	signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files (ulimit -f) counts as a full disk */
	setenv("SQLITE_TMPDIR", partial_file_folder(),
	       0); /* SQLite has files of its own, and would not look into /dev/shm */
	opterr = 0;
	status = take_common(&argc, argv, &paged);
	if (!status)
		status = run(argc, argv, paged);
	if (fflush(stdout))
		status = command_fail(mt_exit_code(MT_E_SYSTEM), "standard output: the answer is incomplete: %s",
				      strerror(errno));
	else if (ferror(stdout)) /* an earlier write failed, and its errno is lost */
		status = command_fail(mt_exit_code(MT_E_SYSTEM), "standard output: the answer is incomplete");
	pager_end();
	return status;
}

int main(int argc, char **argv)
{
	return mt_roomy(main_roomy, argc, argv);
}
