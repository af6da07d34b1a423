/* memana load - makes a database of a run. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "database/db.h"
#include "memtrace/error.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/report.h"
#include "source/partial_file.h"
#include "source/source.h"
#include "store/load.h"

static const struct command_option own_options[] = {
	{ 'o', "output", "DB", "the database to write; an older one is replaced when all went well" },
	COMMAND_RULES_OPTION,
	COMMAND_HELP_OPTION,
};

static int load(struct source *source, const char *path, struct analysis *analysis)
{
	struct db *db;
	int error = db_create(&db, path, schema_sql), system;

	if (error)
		return error;
	error = load_run(db, analysis, source->input, source->inputs, source->rules, LOAD_TIMELINE);
	if (!error)
		error = load_names(db);
	if (!error)
		error = db_commit(db);
	system = errno;
	db_close(db);
	errno = system;
	return error;
}

static void print_done(const struct analysis *analysis, const char *output)
{
	char events[64];
	uint64_t count = 0;
	uint32_t i;

	for (i = 0; i < analysis->processes; i++)
		count += analysis->process[i].events;
	text_say("%s: %s loaded (memana sql %s \"SELECT ...\")\n", output,
		 text_count(events, sizeof(events), count, "event"), text_word(output));
}

/* Writes a temporary file next to `output`, and renames it: the file `output` is always complete. */
static int load_into(struct source *source, const char *output)
{
	struct analysis analysis = { 0 };
	char path[4096];
	int error = partial_file_beside(path, sizeof(path), output), is_made = !error, status;

	if (!error)
		error = load(source, path, &analysis);
	if (!error && rename(path, output))
		error = -MT_E_SYSTEM;
	if (error) {
		status = command_fail(mt_exit_code(error), "load: %s: %s%s", output,
				      error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error),
				      is_made && error == -MT_E_SYSTEM ? " (temporary files: see TMPDIR)" : "");
		unlink(path);
	}
	partial_file_end();
	if (!error) {
		print_done(&analysis, output);
		status = report_damage(&analysis, "loaded");
	}
	analysis_release(&analysis);
	return status;
}

int cmd_load(int argc, char **argv)
{
	const char *output = NULL;
	struct source source;
	int option, status = 0;

	while (!status && (option = command_getopt(argc, argv, own_options)) != -1) {
		if (option == 'h')
			return command_help("load", own_options, NULL);
		if (option == COMMAND_RULES)
			status = command_rules(optarg);
		else if (option != 'o')
			return command_bad_option(argc, argv, option);
		else
			output = optarg;
	}
	if (status)
		return status;
	if (optind == argc)
		return command_fail(EXIT_USAGE, "load: no trace named (memana load trace.zst -o run.db)");
	if (!output)
		return command_fail(EXIT_USAGE, "load: no database named (memana load %s -o run.db)",
				    text_word(argv[optind]));
	status = command_output("load", output, argv + optind, argc - optind);
	if (status)
		return status;
	status = command_open(&source, argv + optind, (uint32_t)(argc - optind), 0);
	if (!status)
		status = load_into(&source, output);
	return command_close(&source, status);
}
