/* facts_kit.h - for tests of facts: a trace of any length gets those that a collector would make. */
#ifndef FACTS_KIT_H
#define FACTS_KIT_H

#include "facts/facts.h"
#include "memtrace/facts.h"
#include "memtrace/writer.h"
#include "test.h"

static inline struct mt_rules *facts_kit_rules(void)
{
	static struct mt_rules *rules;
	char message[256];

	if (!rules)
		CHECK(!mt_rules_new(&rules, message, sizeof(message)));
	return rules;
}

static int facts_kit_is_untrue; /* 1: the next facts say something else */

static inline int facts_kit_make(void *context, int fd, uint64_t events, uint8_t **data, size_t *size)
{
	struct mt_facts *facts = mt_facts_new(context, facts_kit_rules());
	int taken = fd >= 0;

	while (facts && taken > 0)
		taken = mt_facts_take(facts, 100);
	CHECK(!facts || taken || mt_facts_taken(facts) <= events);
	taken = facts && !taken && !mt_facts_end(facts, data, size);
	mt_facts_free(facts);
	if (taken && facts_kit_is_untrue)
		(*data)[*size / 2] ^= 1;
	return taken;
}

/* A writer goes on with the trace, and closes it. 1: it has facts now. */
static inline int facts_kit_seal(const char *path)
{
	const struct mt_facts_maker maker = { mt_facts_identity(), (char *)path, facts_kit_make };
	struct mt_writer *writer;
	struct mt_reader *reader;
	uint8_t *data;
	uint64_t seq;
	size_t size;
	int found;

	if (mt_writer_reopen(&writer, path, NULL, &seq))
		return 0;
	mt_writer_facts(writer, &maker);
	if (mt_writer_close(writer, 1) || mt_reader_open(&reader, path))
		return 0;
	found = mt_reader_facts(reader, mt_facts_identity(), &data, &size);
	mt_reader_free(reader);
	free(data);
	return found == 1;
}

#endif
