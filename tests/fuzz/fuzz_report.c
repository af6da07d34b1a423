/* fuzz_report.c - every report of memana about a trace: the loader, the questions, the words. Slow, so it stands alone. */
#include "fuzz.h"
#include "memtrace/base.h"

static const char *const lines[][COMMAND_WORDS_MAX] = {
	{ "info", COMMAND_FILE },
	{ "verify", "--json", COMMAND_FILE },
	{ "top", COMMAND_FILE },
	{ "top", "--json", "--at", "oom", COMMAND_FILE },
	{ "steps", COMMAND_FILE },
	{ "phases", "--json", COMMAND_FILE },
	{ "oom", COMMAND_FILE },
	{ "frag", COMMAND_FILE },
	{ "retained", COMMAND_FILE },
	{ "sql", COMMAND_FILE, "SELECT * FROM allocation" },
	{ "advise", COMMAND_FILE },
	{ "top", "--by", "parameter", COMMAND_FILE },
	{ "sql", COMMAND_FILE, "SELECT * FROM parameter" },
	{ "frag", "--replay", "expandable_segments:True", COMMAND_FILE },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const *line = lines[fuzz_pick(data, size, MT_ARRAY_SIZE(lines))];

	command_run(line, fuzz_file("report.zst", data, size));
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	return trace_mutate(data, size, room, seed);
}
