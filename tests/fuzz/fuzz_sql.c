/*
 * fuzz_sql.c - databases of others: `memana sql` and every report that a database can be asked for. Inputs are database
 * files (db_mutate.c).
 */
#include "fuzz.h"
#include "memtrace/base.h"

static const char *const lines[][COMMAND_WORDS_MAX] = {
	{ "sql", COMMAND_FILE, "SELECT sql FROM sqlite_schema" },
	{ "sql", "--json", COMMAND_FILE, "SELECT * FROM process, device, peak" },
	{ "sql", "--header", COMMAND_FILE,
	  "SELECT s.*, f.* FROM site s LEFT JOIN stack_node n ON n.id = s.node LEFT JOIN frame f ON f.id = n.frame" },
	{ "top", COMMAND_FILE },
	{ "top", "--json", "--why", COMMAND_FILE },
	{ "phases", COMMAND_FILE },
	{ "steps", COMMAND_FILE },
	{ "oom", COMMAND_FILE },
	{ "check", "--max-peak", "1GiB", "--growth=1%", COMMAND_FILE },
	{ "retained", COMMAND_FILE },
	{ "frag", COMMAND_FILE },
	{ "diff", COMMAND_FILE, COMMAND_FILE },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const *line = lines[fuzz_pick(data, size, MT_ARRAY_SIZE(lines))];

	command_run(line, fuzz_file("foreign.db", data, size));
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	return db_mutate(data, size, room, seed);
}
