/* memana - reads what memrec recorded. This file finds the command; the commands are in cmd_*.c. */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "database/db.h"
#include "memtrace/error.h"
#include "report/command.h"

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
		      "  -h, --help       show this\n"
		      "      --version    show the version\n"
		      "Exit status: 0 fine, 1 the answer is no, 2 usage, 3 bad input, 4 system error.\n");
	return 0;
}

static command_function *const runs[] = {
#define COMMAND_RUN(name, arguments, summary) cmd_##name,
	COMMAND_LIST(COMMAND_RUN)
#undef COMMAND_RUN
};

/* Traces alone, on a terminal that can show a screen: options and databases are for top. */
static int wants_screen(int argc, char **argv)
{
	const char *terminal = getenv("TERM");
	int i;

	for (i = 1; i < argc; i++)
		if (*argv[i] == '-' || db_is_database(argv[i]))
			return 0;
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb");
}

/* A word that is nothing: a command with a letter wrong, or a file that is not there. */
static int unknown(const char *word)
{
	struct mt_nearest nearest = { .word = word };
	size_t i;

	if (*word == '-')
		return command_fail(EXIT_USAGE, "%s: there is no such option (see memana --help)", word);
	if (strchr(word, '/') || strchr(word, '.'))
		return command_fail(mt_exit_code(-MT_E_SYSTEM), "%s: %s", word, strerror(ENOENT));
	for (i = 0; i < command_count; i++)
		mt_nearest_try(&nearest, commands[i].name);
	if (nearest.best)
		return command_fail(EXIT_USAGE, "%s: neither a command nor a file (did you mean memana %s?)", word,
				    nearest.best);
	return command_fail(EXIT_USAGE, "%s: neither a command nor a file (see memana --help)", word);
}

static int run(int argc, char **argv)
{
	static char top[] = "top", tui[] = "tui";
	const struct command *command;

	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		return help(stdout);
	if (!strcmp(argv[1], "--version")) {
		printf("memana " MEMREC_VERSION " (" MEMREC_COMMIT ")\n");
		return 0;
	}
	command = command_find(argv[1]);
	if (command)
		return runs[command - commands](argc - 1, argv + 1);
	if (*argv[1] != '-' && !access(argv[1], F_OK)) {
		if (wants_screen(argc, argv)) {
			argv[0] = tui;
			return cmd_tui(argc, argv);
		}
		argv[0] = top;
		return cmd_top(argc, argv);
	}
	return unknown(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

	setlocale(LC_CTYPE, "");
	signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files (ulimit -f) is an error like a full disk */
	opterr = 0;
	status = run(argc, argv);
	if (fflush(stdout) || ferror(stdout))
		return command_fail(mt_exit_code(MT_E_SYSTEM), "standard output: %s (is there space left?)",
				    strerror(errno));
	return status;
}
