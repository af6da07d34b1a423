/*
 * fuzz_facts.c - reports that are answered from the facts in a trace (memtrace/facts.h). A trace without facts gets those that a collector would
 * make, and each answer must equal that of the events. The mutator changes facts, and seals the trace with them: any answer will do.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "fuzz.h"
#include "memtrace/base.h"
#include "memtrace/facts.h"
#include "memtrace/reader.h"
#include "memtrace/writer.h"

#define TAKEN_AT_ONCE 100u
#define ANSWER_MAX (4u << 20)

static const char *const lines[][COMMAND_WORDS_MAX] = {
	{ "top", "--json", COMMAND_FILE },
	{ "top", "--why", "--json", COMMAND_FILE },
	{ "oom", "--json", COMMAND_FILE },
	{ "oom", "--why", COMMAND_FILE },
	{ "growth", "--json", COMMAND_FILE },
	{ "steps", "--json", COMMAND_FILE },
	{ "phases", "--json", COMMAND_FILE },
	{ "retained", "--json", COMMAND_FILE },
	{ "retained", "--step", "2", COMMAND_FILE },
	{ "check", "--json", "--growth", "1MiB", COMMAND_FILE },
	{ "advise", "--json", "-n", "0", COMMAND_FILE },
};

/* ---- a trace gets facts ---- */

struct sealing {
	const char *path;
	struct mt_buffer content; /* facts that the trace had */
	struct fuzz_random random;
	unsigned int changes; /* 0: the facts stay as they are */
};

static int make_honest(struct sealing *sealing)
{
	struct mt_facts *facts = mt_facts_new(sealing->path, fuzz_rules());
	uint8_t *data = NULL;
	size_t size = 0;
	int taken = facts ? 1 : -1;

	while (taken > 0)
		taken = mt_facts_take(facts, TAKEN_AT_ONCE);
	taken = !taken && !mt_facts_end(facts, &data, &size);
	if (taken)
		mt_buffer_put(&sealing->content, data, size);
	free(data);
	mt_facts_free(facts);
	return taken;
}

static int make(void *context, int fd, uint64_t events, uint8_t **data, size_t *size)
{
	struct sealing *sealing = context;
	unsigned int i;

	(void)fd;
	(void)events;
	if (!sealing->content.size && !make_honest(sealing))
		return 0;
	for (i = 0; i < sealing->changes; i++)
		fuzz_varints(&sealing->random, &sealing->content);
	*data = sealing->content.data;
	*size = sealing->content.size;
	sealing->content = (struct mt_buffer){ 0 };
	return *data != NULL;
}

/* 1: the trace has facts; they are in `content`. */
static int read_facts(const char *path, struct mt_buffer *content)
{
	struct mt_reader *reader;
	uint8_t *data = NULL;
	size_t size = 0;
	int found = !mt_reader_open(&reader, path) && mt_reader_facts(reader, mt_facts_identity(), &data, &size) == 1;

	if (found)
		mt_buffer_put(content, data, size);
	free(data);
	mt_reader_free(reader);
	return found;
}

static int seal(struct sealing *sealing)
{
	const struct mt_facts_maker maker = { mt_facts_identity(), sealing, make };
	struct mt_writer *writer;
	uint64_t seq;
	int error = mt_writer_reopen(&writer, sealing->path, NULL, &seq);

	if (error)
		return 0;
	mt_writer_facts(writer, &maker);
	error = mt_writer_close(writer, 1);
	mt_buffer_release(&sealing->content);
	return !error;
}

/* ---- answers ---- */

/* The answer lies in a file: it may be larger than a pipe takes. */
static size_t answer(const char *const *line, const char *path, const char *name, uint8_t *text)
{
	const char *file = fuzz_path(name);
	int before = dup(STDOUT_FILENO), out = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_CHECK(out >= 0 && dup2(out, STDOUT_FILENO) >= 0);
	command_run(line, path);
	close(STDOUT_FILENO);
	if (before >= 0) {
		FUZZ_CHECK(dup2(before, STDOUT_FILENO) >= 0);
		close(before);
	}
	close(out);
	return fuzz_read(file, text, ANSWER_MAX);
}

static void compare(const char *const *line, const char *path)
{
	static uint8_t text[2][ANSWER_MAX];
	const char *full[COMMAND_WORDS_MAX] = { line[0], "--full" };
	size_t size[2], i;

	for (i = 1; i + 1 < COMMAND_WORDS_MAX && line[i]; i++)
		full[i + 1] = line[i];
	size[0] = answer(line, path, "answer", text[0]);
	size[1] = answer(full, path, "answer", text[1]);
	FUZZ_CHECK(size[0] == size[1] && !memcmp(text[0], text[1], size[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const *line = lines[fuzz_pick(data, size, MT_ARRAY_SIZE(lines))];
	struct sealing sealing = { .path = fuzz_file("facts.zst", data, size) };

	if (read_facts(sealing.path, &sealing.content))
		command_run(line, sealing.path);
	else if (seal(&sealing))
		compare(line, sealing.path);
	mt_buffer_release(&sealing.content);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	struct sealing sealing = { .random = { seed }, .changes = 1 + seed % 4 };
	size_t made = 0;

	if (seed % 4) {
		sealing.path = fuzz_file("sealed.zst", data, size);
		read_facts(sealing.path, &sealing.content);
		if (seal(&sealing))
			made = fuzz_read(sealing.path, data, room);
		mt_buffer_release(&sealing.content);
	}
	return made ? made : trace_mutate(data, size, room, seed);
}
