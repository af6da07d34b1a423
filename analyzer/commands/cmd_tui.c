/* memana tui - the timeline: a run in a terminal, from its traces or a database. */
#include "report/command.h"
#include "report/command_option.h"
#include "show.h"

static const struct command_option own_options[] = { COMMAND_RULES_OPTION, COMMAND_HELP_OPTION };

int cmd_tui(int argc, char **argv)
{
	struct source source;
	uint32_t count;
	int option, status = 0;

	while (!status && (option = command_getopt(argc, argv, own_options)) != -1) {
		if (option == 'h')
			return command_help("tui", own_options, NULL);
		status = option == COMMAND_RULES ? command_rules(optarg) : command_bad_option(argc, argv, option);
	}
	if (status)
		return status;
	if (optind == argc)
		return command_fail(EXIT_USAGE, "tui: no trace named (memana tui trace.zst)");
	count = (uint32_t)(argc - optind);
	status = command_open_live(&source, argv + optind, count, SOURCE_AS_SEEN);
	if (status)
		return command_close(&source, status);
	return show_run("tui", &source, argv + optind, count);
}
