/* The parts that all commands share: their table, messages, and the opening of their input. */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/json.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"

const struct command commands[] = {
#define COMMAND_ENTRY(name, arguments, summary) { #name, arguments, summary },
	COMMAND_LIST(COMMAND_ENTRY)
#undef COMMAND_ENTRY
};

const size_t command_count = MT_ARRAY_SIZE(commands);

int command_fail(int exit_code, const char *format, ...)
{
	char message[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	fflush(stdout);
	fprintf(stderr, "memana: %s\n", mt_clean(message, ""));
	return exit_code;
}

int command_bad_word(const struct mt_nearest *nearest, const char *format, ...)
{
	char message[1024], words[MT_NEAREST_WORDS];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	return command_fail(EXIT_USAGE, "%s%s", message, mt_nearest_words(words, nearest));
}

int command_bad_phase(const char *command, const char *option, const char *word)
{
	struct mt_nearest nearest = { .word = word };

#define TRY_PHASE(name, number, phase, letter) mt_nearest_try(&nearest, phase);
	MT_PHASE_LIST(TRY_PHASE)
#undef TRY_PHASE
	return command_bad_word(&nearest, "%s: --%s %s: no such phase; all are" COMMAND_PHASES, command, option, word);
}

const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

int command_number(const char *text, long min, long max, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(text, &end, 10);
	return errno || end == text || *end || *number < min || *number > max ? -MT_E_ARGUMENT : 0;
}

int command_rules(const char *path)
{
	if (!source_rules(path))
		return 0;
	return command_fail(EXIT_USAGE, "--rules %s: more than %u files (put the rules into one)", path,
			    SOURCE_RULES_MAX);
}

int command_output(const char *command, const char *output, char *const *input, int count)
{
	struct stat old, other;
	int i;

	if (!strcmp(output, "-"))
		return command_fail(EXIT_USAGE, "%s: -: this file cannot go to standard output (name a file)", command);
	if (stat(output, &old))
		return 0;
	if (!S_ISREG(old.st_mode))
		return command_fail(EXIT_USAGE, "%s: %s: not a file that could be replaced", command, output);
	for (i = 0; i < count; i++)
		if (!stat(input[i], &other) && other.st_dev == old.st_dev && other.st_ino == old.st_ino)
			return command_fail(EXIT_USAGE, "%s: %s: would replace what is read (give it another name)",
					    command, output);
	return 0;
}

/* Prints the message about a source that was opened, or that could not be opened. */
static int tell_opened(const struct source *source, int error)
{
	if (error)
		return command_fail(mt_exit_code(error), "%s", source->message);
	source_know(source);
	if (*source->skipped)
		command_fail(0, "%s", source->skipped);
	if (*source->others)
		command_fail(0, "%s", source->others);
	doc_left_out(source->left_out, source->left_outs);
	if (*source->damaged)
		command_fail(0, "%s", source->damaged);
	return 0;
}

int command_open(struct source *source, char *const *paths, uint32_t count, int databases)
{
	return tell_opened(source,
			   databases ? source_open(source, paths, count) : source_open_traces(source, paths, count));
}

int command_open_live(struct source *source, char *const *paths, uint32_t count, enum source_follow follow)
{
	return tell_opened(source, source_open_live(source, paths, count, follow));
}

int command_close(struct source *source, int status)
{
	int damage = source->damage;

	source_release(source);
	return status ? status : mt_exit_code(damage);
}
