/*
 * fuzz_advice.c - what is asked of a database of others and computed from it, rather than read: advice, what a change would
 * have done, and the allocator's model. Inputs are database files (db_mutate.c).
 */
#include "fuzz.h"
#include "memtrace/base.h"

static const char *const lines[][COMMAND_WORDS_MAX] = {
	{ "advise", COMMAND_FILE },
	{ "advise", "--json", "-n", "0", COMMAND_FILE },
	{ "advise", "--fit", "1GiB", COMMAND_FILE },
	{ "advise", "--framework", "verl", "--set", "ppo_max_token_len_per_gpu=4096", "--now",
	  "ppo_max_token_len_per_gpu=16384", COMMAND_FILE },
	{ "advise", "--framework", "trl", "--set", "per_device_train_batch_size=1", "--json", COMMAND_FILE },
	{ "advise", "--framework", "pytorch", "--set", "expandable_segments=True", COMMAND_FILE },
	{ "frag", "--replay", "expandable_segments:True", COMMAND_FILE },
	{ "frag", "--replay", "max_split_size_mb:64,roundup_power2_divisions:[256:1,>:4]", "--limit", "1GiB", "--at",
	  "oom", COMMAND_FILE },
	{ "frag", "--replay", "garbage_collection_threshold:0.5", "--recorded", "expandable_segments:True",
	  "--empty-after", "rollout", "--json", COMMAND_FILE },
	{ "retained", "--json", COMMAND_FILE },
	{ "top", "--at", "step:1", COMMAND_FILE },
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
