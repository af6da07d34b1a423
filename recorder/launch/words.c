/* words.c - the help for memrec's own commands, and the nearest command to a wrong word. */
#include "words.h"

#include "memtrace/base.h"
#include "memtrace/nearest.h"

static const char *const words[] = {
#define COMMAND_WORD(name, operands, help) #name,
	LAUNCH_COMMAND_LIST(COMMAND_WORD)
#undef COMMAND_WORD
};

const char *launch_command_near(const char *word)
{
	struct mt_nearest nearest = { .word = word };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(words); i++)
		mt_nearest_try(&nearest, words[i]);
	mt_nearest_try(&nearest, "env");
	return nearest.best;
}

void launch_command_print_help(FILE *file)
{
#define PRINT_COMMAND(name, operands, help) fprintf(file, "       memrec %-27s %s\n", #name " " operands, help);
	LAUNCH_COMMAND_LIST(PRINT_COMMAND)
#undef PRINT_COMMAND
}
