/* main.c - memrec: finds the command of the command line and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "attach.h"
#include "collect/collect.h"
#include "launch.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/roomy.h"
#include "run/say.h"
#include "words.h"

struct launch_command {
	const char *word;
	int (*function)(int argc, char **argv);
};

static const struct launch_command commands[] = {
#define COMMAND_ROW(name, operands, help) { #name, name##_main },
	LAUNCH_COMMAND_LIST(COMMAND_ROW)
#undef COMMAND_ROW
};

static const char *called_as; /* argv[0], for the line with the next command */

/* Finds a command of memrec. NULL: `word` is the name of a program. */
static const struct launch_command *command_find(const char *word)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(commands); i++)
		if (!strcmp(word, commands[i].word))
			return &commands[i];
	return NULL;
}

/* Answers --help and --version. 0: go on; else memrec ends with *status. */
static int answer_at_once(const struct arguments *arguments, int *status)
{
	*status = MEMREC_EXIT_OK;
	if (arguments->version)
		puts("memrec " MEMREC_VERSION " (" MEMREC_COMMIT ")");
	else if (arguments->help)
		arguments_print_help(stdout);
	return arguments->version || arguments->help;
}

/* Parses the arguments of `memrec ...` and `memrec env ...`. 0: go on; else memrec ends with *status. */
static int read_arguments(struct arguments *arguments, int argc, char **argv, int *status)
{
	struct arguments_error why = { .what = "" };
	int error = arguments_parse(arguments, argc, argv, &why);

	if (!error)
		return answer_at_once(arguments, status);
	if (error == -MT_E_ARGUMENT)
		say("%s: %s", why.what, why.why);
	else
		say("working folder: %s (go to one that exists)", say_why(error, errno));
	*status = mt_exit_code(error);
	return 1;
}

/*
 * 1: the first operand is memrec's command `word`, without -- before it. `memrec OPTIONS env` is the same as `memrec
 * env OPTIONS`, and `memrec OPTIONS record` the same as `memrec record OPTIONS`.
 */
static int is_ours(char **operands, const char *word)
{
	return operands[0] && !strcmp(operands[0], word) && strcmp(operands[-1], "--") != 0;
}

/* Moves *word to *first, and the words between them back by one. */
static void bring_forward(char **first, char **word)
{
	char *moved = *word;

	memmove(first + 1, first, (size_t)(word - first) * sizeof(*first));
	*first = moved;
}

static int env_command(struct arguments *arguments, int argc, char **argv)
{
	int status;

	return read_arguments(arguments, argc - 1, argv + 1, &status) ? status : env_main(arguments, argv + 2);
}

/* Opens /dev/null for closed standard streams: no other file of memrec gets their number. */
static void fill_standard_streams(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", O_RDWR | O_CLOEXEC);
}

int record_main(int argc, char **argv)
{
	static struct arguments arguments;
	int status;

	if (read_arguments(&arguments, argc, argv, &status))
		return status;
	if (arguments.operands[0])
		return launch_main(called_as, &arguments);
	say("no command given (memrec [options] -- COMMAND; see memrec --help)");
	return MEMREC_EXIT_USAGE;
}

/* Runs a command line that begins with an option or a program. `env` or `record` may come after the options. */
static int options_first(int argc, char **argv)
{
	static struct arguments arguments;
	int status;

	if (read_arguments(&arguments, argc, argv, &status))
		return status;
	if (!is_ours(arguments.operands, "env") && !is_ours(arguments.operands, "record"))
		return record_main(argc, argv);
	bring_forward(argv + 1, arguments.operands);
	return *argv[1] == 'e' ? env_command(&arguments, argc, argv) : record_main(argc - 1, argv + 1);
}

/* Runs `memrec help COMMAND` as `memrec COMMAND --help`. Prints the general help if COMMAND is not in the list. */
static int help_main(int argc, char **argv)
{
	static char option[] = "--help";
	const struct launch_command *command = command_find(argv[argc - 1]);
	char *arguments[] = { argv[argc - 1], option, NULL };

	if (command)
		return command->function(2, arguments);
	arguments_print_help(stdout);
	return MEMREC_EXIT_OK;
}

static int main_roomy(int argc, char **argv)
{
	static struct arguments arguments;
	static char version[] = "--version";
	const char *first = argc > 1 ? argv[1] : "";
	const struct launch_command *command = command_find(first);

	called_as = argv[0];
	fill_standard_streams();
	if ((argc == 3 || argc == 4) && !strcmp(first, "--collect"))
		return collect_main(argv[2]);
	if (command)
		return command->function(argc - 1, argv + 1);
	if (argc <= 3 && !strcmp(first, "help"))
		return help_main(argc, argv);
	if (argc == 2 && !strcmp(first, "version"))
		argv[1] = version;
	if (!strcmp(first, "env"))
		return env_command(&arguments, argc, argv);
	return options_first(argc, argv);
}

int main(int argc, char **argv)
{
	return mt_roomy(main_roomy, argc, argv);
}
