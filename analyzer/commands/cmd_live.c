/* memana live - the timeline of recordings that still run: of the named ones, or of all on this machine. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "memtrace/error.h"
#include "report/command.h"
#include "report/command_option.h"
#include "show.h"
#include "source/folder.h"
#include "source/live.h"

#define LOOK_MS 100 /* ms between two looks for a trace that does not exist yet */

static const struct command_option own_options[] = { COMMAND_RULES_OPTION, COMMAND_HELP_OPTION };

static const char notes[] =
	"Without TRACE: all recordings of yours that run on this machine. A TRACE, or a folder, that is not there yet "
	"is waited for.";

/* Whether the file is missing or empty: a recording may be about to write it. */
static int file_may_come(const char *path)
{
	struct stat status;

	return stat(path, &status) ? errno == ENOENT : S_ISREG(status.st_mode) && !status.st_size;
}

/* As file_may_come; for a folder, whether all its files may come. */
static int may_come(const char *path)
{
	struct folder folder;
	uint32_t i;
	int may;

	if (!folder_is(path))
		return file_may_come(path);
	may = !folder_list(&folder, path);
	for (i = 0; i < folder.count && may; i++)
		may = file_may_come(folder.path[i]);
	folder_release(&folder);
	return may;
}

static int wait_for(const char *path)
{
	int said = 0;

	while (may_come(path)) {
		if (!said++)
			command_fail(0, "live: waiting for %s (Ctrl-C ends that)", path);
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

static int show(char *const *paths, uint32_t count)
{
	struct source source;
	int status = command_open_live(&source, paths, count, SOURCE_PATIENTLY);

	return status ? command_close(&source, status) : show_run("live", &source, paths, count);
}

static int show_all(void)
{
	struct live_traces traces;
	int status, error = live_find(&traces, NULL, 0);

	if (error)
		status = command_fail(mt_exit_code(error), "live: %s", mt_strerror(error));
	else if (!traces.count)
		status = command_fail(EXIT_NO, "live: no recording of yours runs on this machine (memrec -- COMMAND "
					       "starts one; name a trace to wait for it)");
	else
		status = show(traces.path, traces.count);
	live_release(&traces);
	return status;
}

int cmd_live(int argc, char **argv)
{
	int option, i, status = 0;

	while (!status && (option = command_getopt(argc, argv, own_options)) != -1) {
		if (option == 'h')
			return command_help("live", own_options, notes);
		status = option == COMMAND_RULES ? command_rules(optarg) : command_bad_option(argc, argv, option);
	}
	if (status)
		return status;
	if (optind == argc)
		return show_all();
	for (i = optind; i < argc; i++)
		wait_for(argv[i]);
	return show(argv + optind, (uint32_t)(argc - optind));
}
