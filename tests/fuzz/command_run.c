/* command_run.c - calls commands of memana as its main does; see fuzz.h. */

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "fuzz.h"
#include "report/command.h"

#define WORD_MAX 512
#define STATUS_MAX 4

static command_function *const functions[] = {
#define COMMAND_RUN(name, arguments, summary) cmd_##name,
	COMMAND_LIST(COMMAND_RUN)
#undef COMMAND_RUN
};

void command_run(const char *const *words, const char *path)
{
	char copy[COMMAND_WORDS_MAX][WORD_MAX], *argv[COMMAND_WORDS_MAX + 1] = { NULL };
	const struct command *command;
	int argc, status;

	for (argc = 0; argc < COMMAND_WORDS_MAX && words[argc]; argc++) {
		snprintf(copy[argc], sizeof(copy[argc]), "%s", strcmp(words[argc], COMMAND_FILE) ? words[argc] : path);
		argv[argc] = copy[argc];
	}
	optind = 0; /* getopt begins anew */
	opterr = 0;
	command = command_find(words[0]);
	FUZZ_CHECK(command);
	status = functions[command - commands](argc, argv);
	FUZZ_CHECK(status >= 0 && status <= STATUS_MAX);
	fflush(stdout);
}
