/* words.c - memrec's own commands. */
#include "words.h"

#include <string.h>
#include "attach.h"
#include "launch.h"
#include "memtrace/base.h"
#include "memtrace/nearest.h"

static const struct launch_command commands[] = {
#define COMMAND_ROW(name, operands, help) { #name, name##_main },
	LAUNCH_COMMAND_LIST(COMMAND_ROW)
#undef COMMAND_ROW
};

const struct launch_command *launch_command_find(const char *word)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(commands); i++)
		if (!strcmp(word, commands[i].word))
			return &commands[i];
	return NULL;
}

const char *launch_command_near(const char *word)
{
	struct mt_nearest nearest = { .word = word };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(commands); i++)
		mt_nearest_try(&nearest, commands[i].word);
	mt_nearest_try(&nearest, "env");
	return nearest.best;
}

void launch_command_print_help(FILE *file)
{
#define PRINT_COMMAND(name, operands, help) fprintf(file, "       memrec %-27s %s\n", #name " " operands, help);
	LAUNCH_COMMAND_LIST(PRINT_COMMAND)
#undef PRINT_COMMAND
}
