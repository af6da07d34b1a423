/* main.c - memrec: which of its four programs is asked for. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "collect/collect.h"
#include "launch.h"
#include "memtrace/error.h"
#include "run/say.h"
#include "words.h"

/* 0: go on; else memrec ends with *status. */
static int answer_at_once(const struct arguments *arguments, int *status)
{
	*status = MEMREC_EXIT_OK;
	if (arguments->version)
		puts("memrec " MEMREC_VERSION " (" MEMREC_COMMIT ")");
	else if (arguments->help)
		arguments_print_help(stdout);
	return arguments->version || arguments->help;
}

/* Parses what `memrec ...` and `memrec env ...` have in common. 0: go on; else memrec ends with *status. */
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

/* memrec OPTIONS env FRAMEWORK means the same as memrec env OPTIONS FRAMEWORK; a command has -- before it. */
static int is_env(char **operands)
{
	return operands[0] && !strcmp(operands[0], "env") && strcmp(operands[-1], "--") != 0;
}

/* Moves the word `env` to the front. */
static void bring_forward(char **first, char **env)
{
	char *word = *env;

	memmove(first + 1, first, (size_t)(env - first) * sizeof(*first));
	*first = word;
}

static int env_command(struct arguments *arguments, int argc, char **argv)
{
	int status;

	return read_arguments(arguments, argc - 1, argv + 1, &status) ? status : env_main(arguments, argv + 2);
}

/* Files that memrec opens must not become the standard streams; the command gets those as they are. */
static void fill_standard_streams(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", O_RDWR | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	static struct arguments arguments;
	static char help[] = "--help", version[] = "--version";
	const char *first = argc > 1 ? argv[1] : "";
	const struct launch_command *command = launch_command_find(first);
	int status;

	fill_standard_streams();
	if ((argc == 3 || argc == 4) && !strcmp(first, "--collect"))
		return collect_main(argv[2]);
	if (command)
		return command->function(argc - 1, argv + 1);
	if (argc == 2 && (!strcmp(first, "help") || !strcmp(first, "version")))
		argv[1] = *first == 'h' ? help : version;
	if (!strcmp(first, "env"))
		return env_command(&arguments, argc, argv);
	if (read_arguments(&arguments, argc, argv, &status))
		return status;
	if (is_env(arguments.operands)) {
		bring_forward(argv + 1, arguments.operands);
		return env_command(&arguments, argc, argv);
	}
	if (!arguments.operands[0]) {
		say("no command given (memrec [options] -- COMMAND; see memrec --help)");
		return MEMREC_EXIT_USAGE;
	}
	return launch_main(argv[0], &arguments);
}
