/* memana import - makes a trace from a PyTorch memory snapshot. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"
#include "memtrace/error.h"
#include "memtrace/import.h"
#include "report/command.h"
#include "report/command_option.h"
#include "source/partial_file.h"
#include "source/snapshot.h"
#include "source/spool.h"

static const struct command_option own_options[] = {
	{ 'o', "output", "TRACE", "the trace to write; an older one is replaced when all went well" },
	COMMAND_HELP_OPTION,
};

static int fail(const char *snapshot, int error, const struct mt_import_summary *summary)
{
	char why[256];

	return command_fail(mt_exit_code(error), "import: %s: %s", snapshot,
			    snapshot_why(why, sizeof(why), error, summary));
}

static void print_done(const char *output, const struct mt_import_summary *summary)
{
	char allocations[64], before[64], steps[64], bytes[TEXT_SIZE_MAX];

	text_count(allocations, sizeof(allocations), summary->allocations, "allocation");
	text_count(before, sizeof(before), summary->alive_before, "block");
	text_count(steps, sizeof(steps), summary->trace.steps, "step");
	text_say("%s: %s, %s alive before, %s (memana top %s)\n", output, allocations, before, steps,
		 text_word(output));
	if (summary->snapshot & MT_SNAPSHOT_NO_HISTORY)
		text_say("the snapshot has no history: it says what was allocated, not when or in which phase\n");
	else if (summary->snapshot & MT_SNAPSHOT_NO_TIMES)
		text_say("the snapshot has no times (PyTorch before 2.2): events are 1 us apart\n");
	if (summary->unknown)
		text_say("%s of unknown kinds left out\n",
			 text_count(before, sizeof(before), summary->unknown, "entry"));
	if (summary->host_segments)
		text_say("pinned host memory: %s in %s when the snapshot was taken\n",
			 text_bytes(bytes, summary->host_bytes),
			 text_count(before, sizeof(before), summary->host_segments, "segment"));
}

static int import_to(const char *snapshot, const char *output, const struct mt_rules *rules)
{
	struct mt_import_summary summary;
	char path[4096];
	int error, status = 0;

	error = strcmp(snapshot, SPOOL_PATH) ? 0 : spool_standard_input();
	if (error)
		return command_fail(mt_exit_code(error), "import: %s: %s", snapshot,
				    error == -MT_E_ARGUMENT ? "a terminal, not a snapshot" : strerror(errno));
	if (partial_file_beside(path, sizeof(path), output))
		return command_fail(mt_exit_code(-MT_E_SYSTEM), "import: %s: %s", output, strerror(errno));
	error = mt_import_snapshot(snapshot, path, rules, &summary);
	if (error)
		status = fail(snapshot, error, &summary);
	else if (rename(path, output))
		status = command_fail(mt_exit_code(-MT_E_SYSTEM), "import: %s: %s", output, strerror(errno));
	if (status)
		unlink(path);
	partial_file_end();
	if (status)
		return status;
	print_done(output, &summary);
	if (summary.damage)
		return command_fail(mt_exit_code(summary.damage),
				    "import: %s: %s at byte %llu (everything before is imported)", snapshot,
				    mt_strerror(summary.damage), (unsigned long long)summary.damage_offset);
	return 0;
}

int cmd_import(int argc, char **argv)
{
	const char *output = NULL;
	struct mt_rules *rules;
	char message[256];
	int option, error, status;

	while ((option = command_getopt(argc, argv, own_options)) != -1) {
		if (option == 'h')
			return command_help("import", own_options, NULL);
		if (option != 'o')
			return command_bad_option(argc, argv, option);
		output = optarg;
	}
	if (argc - optind != 1)
		return command_fail(EXIT_USAGE,
				    "import: name one snapshot (memana import snapshot.pickle -o trace.zst)");
	if (!output)
		return command_fail(EXIT_USAGE, "import: no trace named (memana import %s -o trace.zst)",
				    text_word(argv[optind]));
	status = command_output("import", output, argv + optind, 1);
	if (status)
		return status;
	error = mt_rules_new(&rules, message, sizeof(message));
	if (error)
		return command_fail(mt_exit_code(error), "%s", message);
	status = import_to(argv[optind], output, rules);
	mt_rules_free(rules);
	return status;
}
