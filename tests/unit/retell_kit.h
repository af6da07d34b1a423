/*
 * retell_kit.h - for tests that show a recording made a moment ago: rewrites it as any machine would have made it. An event comes
 * each EVERY ns. The copy leaves out machine and process, and the collector's own events: samples of memory, and sources.
 */
#ifndef RETELL_KIT_H
#define RETELL_KIT_H

#include "memtrace/error.h"
#include "memtrace/reader.h"
#include "memtrace/writer.h"
#include "test.h"

#define RETELL_EVERY 110000u /* ns */
#define RETELL_START 1000000000u

/* Numbers stay: each kind is defined in its order. `known`: how many of each kind there are already. */
static inline void retell_definitions(struct mt_defs *to, const struct mt_defs *from, uint32_t known[MT_DEF_NEST + 1])
{
	const struct mt_node *node;
	uint32_t *at;

	for (at = &known[MT_DEF_STRING]; *at < mt_defs_count(from, MT_DEF_STRING); ++*at)
		mt_defs_add_string(to, mt_defs_string(from, *at + 1), mt_defs_string_size(from, *at + 1));
	for (at = &known[MT_DEF_MODULE]; *at < mt_defs_count(from, MT_DEF_MODULE); ++*at)
		mt_defs_add_module(to, mt_defs_module(from, *at + 1));
	for (at = &known[MT_DEF_FRAME]; *at < mt_defs_count(from, MT_DEF_FRAME); ++*at)
		mt_defs_add_frame(to, mt_defs_frame(from, *at + 1));
	for (at = &known[MT_DEF_INSTANCE]; *at < mt_defs_count(from, MT_DEF_INSTANCE); ++*at)
		mt_defs_add_instance(to, mt_defs_instance(from, *at + 1)->address,
				     mt_defs_instance(from, *at + 1)->type);
	for (at = &known[MT_DEF_NEST]; *at < mt_defs_count(from, MT_DEF_NEST); ++*at)
		mt_defs_add_nest(to, mt_defs_nest(from, *at + 1)->parent, mt_defs_nest(from, *at + 1)->instance);
	for (at = &known[MT_DEF_NODE]; *at < mt_defs_count(from, MT_DEF_NODE); ++*at) {
		node = mt_defs_node(from, *at + 1);
		CHECK_EQ(mt_defs_add_node_in(to, node->parent, node->frame, node->nest), *at + 1);
	}
	for (at = &known[MT_DEF_THREAD]; *at < mt_defs_count(from, MT_DEF_THREAD); ++*at)
		mt_defs_add_thread(to, mt_defs_thread(from, *at + 1));
	for (at = &known[MT_DEF_DEVICE]; *at < mt_defs_count(from, MT_DEF_DEVICE); ++*at)
		mt_defs_add_device(to, mt_defs_device(from, *at + 1));
	for (at = &known[MT_DEF_SYMBOL]; *at < mt_defs_count(from, MT_DEF_SYMBOL); ++*at)
		mt_defs_add_symbol(to, mt_defs_symbol(from, *at + 1));
}

static inline void retell_event(struct mt_writer *writer, struct mt_event event, uint64_t *told)
{
	if (event.kind > MT_STEP && event.kind != MT_END)
		return;
	event.seq = ++*told;
	event.time = RETELL_START + *told * RETELL_EVERY;
	CHECK_EQ(mt_writer_event(writer, &event, 0, 0), 0);
}

/* Makes the trace `to` of the trace `from`. */
static inline void retell(const char *from, const char *to)
{
	struct mt_process process;
	const struct mt_event *events;
	struct mt_reader *reader;
	struct mt_writer *writer;
	uint32_t known[MT_DEF_NEST + 1] = { 0 };
	uint64_t told = 0;
	size_t count, i;
	int batch;

	CHECK_EQ(mt_reader_open(&reader, from), 0);
	process = *mt_reader_process(reader);
	process.pid = 4711;
	process.ppid = 1;
	process.start_monotonic = RETELL_START;
	process.start_realtime = process.clock_error = 0;
	process.host = process.boot_id = process.command = process.options = process.ring_path = "";
	CHECK_EQ(mt_writer_open(&writer, to, &process, NULL), 0);
	while (!mt_reader_next(reader, &events, &count, &batch) && count) {
		retell_definitions(mt_writer_defs(writer), mt_reader_defs(reader), known);
		for (i = 0; i < count && batch == MT_BATCH_EVENTS; i++)
			retell_event(writer, events[i], &told);
	}
	CHECK_EQ(mt_writer_close(writer, 1), 0);
	mt_reader_free(reader);
}

#endif
