/* fuzz_straight.c - PyTorch's snapshots where a trace is wanted: imported in passing, and every report about them. */
#include <string.h>
#include "fuzz.h"
#include "memtrace/base.h"

static const char *const lines[][COMMAND_WORDS_MAX] = {
	{ "top", COMMAND_FILE },
	{ "top", "--json", "--by", "site", COMMAND_FILE },
	{ "top", "--at", "oom", COMMAND_FILE },
	{ "frag", COMMAND_FILE },
	{ "frag", "--replay", "expandable_segments:True", "--json", COMMAND_FILE },
	{ "advise", "--json", COMMAND_FILE },
	{ "oom", COMMAND_FILE },
	{ "retained", COMMAND_FILE },
	{ "sql", COMMAND_FILE, "SELECT count(*), sum(bytes) FROM allocation" },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const *line = lines[fuzz_pick(data, size, MT_ARRAY_SIZE(lines))];

	command_run(line, fuzz_file("straight.pickle", data, size));
	return 0;
}
