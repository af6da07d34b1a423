/* What the commands share: their table, messages, and how options are read. */
#include "command.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

const struct command commands[] = {
#define COMMAND_ENTRY(name, arguments, summary) { #name, arguments, summary, cmd_##name },
	COMMAND_LIST(COMMAND_ENTRY)
#undef COMMAND_ENTRY
};

const size_t command_count = MT_ARRAY_SIZE(commands);

int command_fail(int exit_code, const char *format, ...)
{
	char message[2048];
	va_list arguments;
	size_t i;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	for (i = 0; message[i]; i++)
		if (iscntrl((unsigned char)message[i]))
			message[i] = '?';
	fflush(stdout);
	fprintf(stderr, "memana: %s\n", message);
	return exit_code;
}

int command_bad_option(int argc, char **argv, int result)
{
	const char *what = result == ':' ? "needs a value" : "there is no such option";

	/* getopt names a short option in optopt; a long one is the argument it has just passed. */
	if (result == '?' && optopt && optind <= argc && strncmp(argv[optind - 1], "--", 2))
		return command_fail(EXIT_USAGE, "%s: -%c: %s (see memana %s --help)", argv[0], optopt, what, argv[0]);
	return command_fail(EXIT_USAGE, "%s: %s: %s (see memana %s --help)", argv[0], argv[optind - 1], what, argv[0]);
}

const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

int command_help(const char *name, const char *options)
{
	const struct command *command = command_find(name);

	printf("Usage: memana %s [options] %s\n  %s\n\n%s" COMMAND_OPTIONS_HELP, name, command->arguments,
	       command->summary, options);
	return 0;
}

int command_number(const char *text, long min, long max, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(text, &end, 10);
	return errno || end == text || *end || *number < min || *number > max ? -MT_E_ARGUMENT : 0;
}
