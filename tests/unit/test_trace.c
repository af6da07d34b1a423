/* test_trace.c - whole traces: what the writer takes, the reader gives. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include "memtrace/ledger.h"
#include "trace/chunk_list.h"
#include "trace_kit.h"

static const struct mt_writer_options small = { .chunk_events = 23, .checkpoint_events = 120 };

/* Opens, reads everything, wants all of `trace`, complete. The reader is the caller's. */
static struct mt_reader *read_complete(const char *path, const struct kit_trace *trace)
{
	struct mt_reader *reader;
	const struct mt_trace_state *state;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(kit_read_prefix(reader, trace), trace->count);
	state = mt_reader_state(reader);
	CHECK_EQ(state->error, 0);
	CHECK(state->complete);
	CHECK_EQ(state->events, trace->count);
	return reader;
}

TEST(round_trip)
{
	uint64_t seed;

	for (seed = 1; seed <= 60; seed++) {
		struct mt_writer_options options = { .level = seed % 2 ? 1 : 0,
						     .chunk_events = 1 + (uint32_t)(seed * 7 % 90),
						     .checkpoint_events = 1 + (uint32_t)(seed * 31 % 300) };
		const char *path = kit_path("trace.zst");
		struct mt_reader *reader;
		struct kit_trace trace;

		kit_begin(&trace, path, seed, &options);
		kit_write_events(&trace, kit_below(&trace.random, 900));
		CHECK_EQ(mt_writer_events(trace.writer), trace.count);
		CHECK_EQ(mt_writer_flush(trace.writer), 0);
		CHECK_EQ(mt_writer_pending(trace.writer), 0);
		CHECK_EQ(mt_reader_open(&reader, path), 0);
		CHECK_EQ(kit_read_prefix(reader, &trace), trace.count);
		CHECK(!mt_reader_state(reader)->complete && !mt_reader_state(reader)->error);
		kit_same_defs(mt_writer_defs(trace.writer), mt_reader_defs(reader));
		mt_reader_free(reader);
		CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
		mt_reader_free(read_complete(path, &trace));
		kit_release(&trace);
	}
}

TEST(nothing_but_a_process)
{
	const char *path = kit_path("trace.zst");
	struct mt_writer *writer;
	struct mt_reader *reader;
	const struct mt_event *events;
	size_t count = 9;
	int checkpoint;

	CHECK_EQ(mt_writer_open(&writer, path, &(struct mt_process){ .rank = 7 }, NULL), 0);
	CHECK_EQ(mt_writer_close(writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(mt_reader_process(reader)->rank, 7);
	CHECK_STR(mt_reader_process(reader)->command, "");
	CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
	CHECK_EQ(count, 0);
	CHECK(mt_reader_state(reader)->complete);
	mt_reader_free(reader);
	CHECK_EQ(mt_writer_close(NULL, 1), 0);
	mt_reader_free(NULL);
}

TEST(the_process_comes_back)
{
	const char *path = kit_path("trace.zst");
	const struct mt_process *process;
	struct mt_reader *reader;
	struct mt_writer *writer;

	CHECK_EQ(mt_writer_open(&writer, path, &kit_process, NULL), 0);
	CHECK_EQ(mt_writer_close(writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	process = mt_reader_process(reader);
#define SAME_NUMBER(member) CHECK_EQ(process->member, kit_process.member)
#define SAME_TEXT(member) CHECK_STR(process->member, kit_process.member)
	SAME_NUMBER(pid);
	SAME_NUMBER(ppid);
	SAME_NUMBER(rank);
	SAME_NUMBER(depth);
	SAME_NUMBER(python_version);
	SAME_NUMBER(tool_version);
	SAME_NUMBER(start_monotonic);
	SAME_NUMBER(start_realtime);
	SAME_NUMBER(clock_error);
	SAME_TEXT(host);
	SAME_TEXT(boot_id);
	SAME_TEXT(command);
	SAME_TEXT(options);
	SAME_TEXT(ring_path);
	SAME_TEXT(run);
	mt_reader_free(reader);
}

TEST(long_commands_are_cut)
{
	const char *path = kit_path("trace.zst");
	struct mt_process process = { .pid = 1 };
	char *command = malloc(2 * MT_STRING_MAX);
	struct mt_writer *writer;
	struct mt_reader *reader;

	memset(command, 'c', 2 * MT_STRING_MAX);
	command[2 * MT_STRING_MAX - 1] = '\0';
	process.command = command;
	CHECK_EQ(mt_writer_open(&writer, path, &process, NULL), 0);
	CHECK_EQ(mt_writer_close(writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(strlen(mt_reader_process(reader)->command), MT_STRING_MAX);
	mt_reader_free(reader);
	free(command);
}

TEST(rewinding_gives_the_same_again)
{
	const char *path = kit_path("trace.zst");
	struct mt_trace_state state;
	struct mt_reader *reader;
	struct kit_trace trace;
	const struct mt_event *events;
	size_t count;
	int i, checkpoint;

	kit_begin(&trace, path, 3, &small);
	kit_write_events(&trace, 400);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	reader = read_complete(path, &trace);
	state = *mt_reader_state(reader);
	for (i = 0; i < 5; i++) {
		mt_reader_rewind(reader);
		if (i % 2) { /* from the middle, too */
			CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
			mt_reader_rewind(reader);
		}
		CHECK_EQ(kit_read_prefix(reader, &trace), trace.count);
		CHECK(!memcmp(&state, mt_reader_state(reader), sizeof(state)));
	}
	mt_reader_free(reader);
	kit_release(&trace);
}

static uint64_t held_by_all(const struct mt_ledger *ledger)
{
	uint64_t held = 0;
	uint32_t device;

	for (device = 0; device < MT_LEDGER_DEVICES; device++)
		held += mt_ledger_held(ledger, device);
	return held;
}

/* Writes allocations and frees that make sense: `live` at most, on one device. */
static void write_allocations(struct kit_trace *trace, size_t count, uint64_t *live, size_t room)
{
	struct mt_defs *defs = mt_writer_defs(trace->writer);
	uint32_t device = mt_defs_add_device(defs, &(struct mt_device){ .kind = MT_DEVICE_CUDA });
	size_t i;

	while (count--) {
		struct mt_event event = { .kind = MT_TENSOR_ALLOC, .device = device, .seq = ++trace->seq };

		i = kit_below(&trace->random, room);
		event.time = 50 * event.seq;
		event.addr = 0x7f0000000000 + 4096 * i;
		event.size = 512 * (1 + i % 8);
		if (live[i])
			event.kind = MT_TENSOR_FREE;
		live[i] = !live[i];
		CHECK_EQ(mt_writer_event(trace->writer, &event, 1 + (uint32_t)(i % 3), 4), 0);
		kit_remember(trace, &event);
	}
}

/* The chunk's figures of the index against a ledger that has eaten everything before. */
static void check_figures(const struct mt_chunk_info *info, struct mt_ledger *ledger, const struct mt_event *events)
{
	uint64_t most = held_by_all(ledger);
	uint32_t i;

	CHECK_EQ(info->live_start, most);
	for (i = 0; i < info->events; i++) {
		CHECK_EQ(mt_ledger_event(ledger, &events[i], 0, 0, 0, NULL), 0);
		if (held_by_all(ledger) > most)
			most = held_by_all(ledger);
	}
	CHECK_EQ(info->live_max, most);
	CHECK_EQ(info->first_seq, events[0].seq);
	CHECK_EQ(info->last_seq, events[i - 1].seq);
	CHECK_EQ(info->first_time, events[0].time);
	CHECK_EQ(info->last_time, events[i - 1].time);
	CHECK_EQ(info->phases & ~(uint32_t)(2 | 4 | 8), 0);
}

TEST(the_index_knows_the_live_bytes)
{
	const char *path = kit_path("trace.zst");
	struct mt_ledger *ledger = mt_ledger_new(NULL, NULL);
	const struct mt_chunk_info *chunks;
	uint64_t live[40] = { 0 };
	struct mt_reader *reader;
	struct kit_trace trace;
	uint32_t i, count, phases = 0;
	size_t at = 0;

	kit_begin(&trace, path, 8, &small);
	write_allocations(&trace, 1000, live, MT_ARRAY_SIZE(live));
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	reader = read_complete(path, &trace);
	chunks = mt_reader_chunks(reader, &count);
	CHECK_EQ(chunks[0].kind, MT_CHUNK_PROCESS);
	for (i = 0; i < count; i++) {
		if (chunks[i].kind == MT_CHUNK_CHECKPOINT)
			CHECK_EQ(chunks[i].live_start, held_by_all(ledger));
		if (chunks[i].kind != MT_CHUNK_EVENTS)
			continue;
		check_figures(&chunks[i], ledger, &trace.events[at]);
		at += chunks[i].events;
		phases |= chunks[i].phases;
	}
	CHECK_EQ(at, trace.count);
	CHECK_EQ(phases, 2 | 4 | 8);
	mt_reader_free(reader);
	mt_ledger_free(ledger);
	kit_release(&trace);
}

/* Scanning must find what the index says: the same file without its index. */
TEST(scanning_finds_what_the_index_says)
{
	const char *path = kit_path("trace.zst"), *cut = kit_path("cut.zst");
	const struct mt_chunk_info *by_index, *by_scan;
	struct mt_reader *indexed, *scanned;
	struct kit_trace trace;
	uint32_t i, count, scan_count;
	uint8_t *data;
	size_t size;

	kit_begin(&trace, path, 21, &small);
	kit_write_events(&trace, 700);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	CHECK_EQ(mt_reader_open(&indexed, path), 0);
	by_index = mt_reader_chunks(indexed, &count);
	data = kit_load(path, &size);
	kit_save(cut, data, by_index[count - 1].offset + by_index[count - 1].size);
	CHECK_EQ(mt_reader_open(&scanned, cut), 0);
	by_scan = mt_reader_chunks(scanned, &scan_count);
	CHECK_EQ(scan_count, count);
	for (i = 0; i < count; i++)
		CHECK(!memcmp(&by_index[i], &by_scan[i], sizeof(*by_index)));
	CHECK_EQ(kit_read_prefix(scanned, &trace), trace.count);
	CHECK(!mt_reader_state(scanned)->complete);
	mt_reader_free(indexed);
	mt_reader_free(scanned);
	free(data);
	kit_release(&trace);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static int count_live(void *context, const struct mt_live *live)
{
	*(uint64_t *)context += live->addr ^ live->seq << 20 ^ live->phase ^ live->size;
	return 0;
}

static uint64_t fingerprint(const struct mt_ledger *ledger)
{
	uint64_t sum = 0;

	mt_ledger_each(ledger, count_live, &sum);
	return sum;
}

/* At each checkpoint, a ledger built from it alone equals the one that ate all events before. */
TEST(checkpoints_are_the_live_set)
{
	const char *path = kit_path("trace.zst");
	struct mt_ledger *all = mt_ledger_new(NULL, NULL), *one = mt_ledger_new(NULL, NULL);
	const struct mt_event *events;
	uint64_t live[200] = { 0 };
	struct mt_reader *reader;
	struct kit_trace trace;
	size_t count, i, since = 0;
	int checkpoint, checkpoints = 0;

	kit_begin(&trace, path, 5, &small);
	write_allocations(&trace, 3000, live, MT_ARRAY_SIZE(live));
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	while (!mt_reader_next(reader, &events, &count, &checkpoint) && count) {
		if (checkpoint)
			mt_ledger_clear(one);
		for (i = 0; i < count; i++)
			CHECK_EQ(mt_ledger_event(checkpoint ? one : all, &events[i], 0,
						 checkpoint ? (uint32_t)events[i].phase
							    : 1 + (uint32_t)(events[i].addr >> 12 & 0xff) % 3,
						 4, NULL),
				 0);
		since = checkpoint ? 0 : since + count;
		CHECK(since <= small.checkpoint_events);
		if (!checkpoint)
			continue;
		checkpoints++;
		CHECK_EQ(mt_ledger_count(one), mt_ledger_count(all));
		CHECK_EQ(held_by_all(one), held_by_all(all));
		CHECK_EQ(fingerprint(one), fingerprint(all));
		CHECK_EQ(events[0].step, 4);
	}
	CHECK(checkpoints >= 3000 / 120);
	mt_reader_free(reader);
	mt_ledger_free(all);
	mt_ledger_free(one);
	kit_release(&trace);
}

TEST(skipped_events_leave_their_live_set)
{
	const char *path = kit_path("trace.zst");
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .size = 4096 };
	const struct mt_event *events;
	struct mt_reader *reader;
	struct kit_trace trace;
	size_t count;
	int checkpoint;
	uint64_t last;

	kit_begin(&trace, path, 1, NULL);
	for (event.seq = 1; event.seq <= 9; event.seq++) {
		event.addr = 4096 * event.seq;
		event.time = 100 * event.seq;
		CHECK_EQ(mt_writer_skip(trace.writer, &event, 6, 2), 0);
	}
	CHECK_EQ(mt_writer_events(trace.writer), 0);
	event.kind = MT_TENSOR_FREE;
	event.addr = 4096;
	CHECK_EQ(mt_writer_event(trace.writer, &event, 6, 3), 0);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
	CHECK(checkpoint);
	CHECK_EQ(count, 9);
	CHECK(events[0].seq == 1 && events[0].phase == 6 && events[0].step == 2 && events[0].value == MT_TENSOR_ALLOC);
	CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
	CHECK(!checkpoint && count == 1 && events[0].seq == 10 && events[0].kind == MT_TENSOR_FREE);
	mt_reader_free(reader);

	CHECK_EQ(mt_writer_reopen(&trace.writer, path, NULL, &last), 0);
	CHECK_EQ(last, 10);
	event.seq = 11;
	event.addr = 2 * 4096;
	CHECK_EQ(mt_writer_skip(trace.writer, &event, 6, 3), 0);
	event.seq = 12;
	event.addr = 3 * 4096;
	CHECK_EQ(mt_writer_event(trace.writer, &event, 6, 3), 0);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK(!mt_reader_next(reader, &events, &count, &checkpoint) && checkpoint && count == 9);
	CHECK(!mt_reader_next(reader, &events, &count, &checkpoint) && !checkpoint && count == 1);
	CHECK(!mt_reader_next(reader, &events, &count, &checkpoint) && checkpoint && count == 7);
	CHECK(events[0].phase == 6 && events[0].addr == 3 * 4096);
	mt_reader_free(reader);
	kit_release(&trace);
}

/* A free that was not seen is known from the checkpoint only: reopening must not bring the memory back. */
TEST(skipped_frees_stay_freed)
{
	const char *path = kit_path("trace.zst");
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .size = 4096 };
	const struct mt_event *events;
	struct mt_reader *reader;
	struct kit_trace trace;
	size_t count;
	int checkpoint;
	uint64_t last;

	kit_begin(&trace, path, 1, NULL);
	for (event.seq = 1; event.seq <= 9; event.seq++) {
		event.addr = 4096 * event.seq;
		CHECK_EQ(mt_writer_event(trace.writer, &event, 6, 2), 0);
	}
	event.kind = MT_TENSOR_FREE;
	CHECK_EQ(mt_writer_skip(trace.writer, &event, 6, 2), 0);
	event = (struct mt_event){ .kind = MT_MARK, .seq = 11 };
	CHECK_EQ(mt_writer_event(trace.writer, &event, 6, 2), 0);
	CHECK_EQ(mt_writer_close(trace.writer, 0), 0);
	CHECK_EQ(mt_writer_reopen(&trace.writer, path, NULL, &last), 0);
	event.seq = 12;
	CHECK_EQ(mt_writer_skip(trace.writer, &event, 6, 2), 0);
	event.seq = 13;
	CHECK_EQ(mt_writer_event(trace.writer, &event, 6, 2), 0);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK(!mt_reader_next(reader, &events, &count, &checkpoint) && !checkpoint && count == 9);
	CHECK(!mt_reader_next(reader, &events, &count, &checkpoint) && checkpoint && count == 8);
	CHECK(!mt_reader_next(reader, &events, &count, &checkpoint) && !checkpoint && count == 1);
	CHECK(!mt_reader_next(reader, &events, &count, &checkpoint) && checkpoint && count == 8);
	CHECK_EQ(events[7].addr, 4096 * 8);
	mt_reader_free(reader);
	kit_release(&trace);
}

/* The writer died between the checkpoint and the first events: what was left out is still accounted for. */
TEST(a_checkpoint_at_the_end_counts)
{
	const char *path = kit_path("trace.zst");
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .addr = 4096, .size = 512, .seq = 70 };
	const struct mt_chunk_info *chunks;
	struct mt_reader *reader;
	struct mt_writer *writer;
	uint32_t count;
	uint64_t last;

	CHECK_EQ(mt_writer_open(&writer, path, &kit_process, NULL), 0);
	CHECK_EQ(mt_writer_skip(writer, &event, 6, 2), 0);
	event = (struct mt_event){ .kind = MT_MARK, .seq = 71 };
	CHECK_EQ(mt_writer_event(writer, &event, 6, 2), 0);
	CHECK_EQ(mt_writer_close(writer, 0), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	chunks = mt_reader_chunks(reader, &count);
	CHECK(count == 3 && chunks[1].kind == MT_CHUNK_CHECKPOINT);
	CHECK(!truncate(path, (off_t)(chunks[2].offset + 3)));
	mt_reader_free(reader);
	CHECK_EQ(mt_writer_reopen(&writer, path, NULL, &last), 0);
	CHECK_EQ(last, 70);
	CHECK_EQ(mt_writer_events(writer), 0);
	CHECK_EQ(mt_writer_event(writer, &event, 6, 2), 0);
	CHECK_EQ(mt_writer_close(writer, 1), 0);
}

/* ---- reopening --------------------------------------------------------------------------------------------------- */

/* Tears off up to `most` bytes; the process chunk stays. */
static void tear(const char *path, size_t keep, uint64_t most, struct kit_random *random)
{
	struct stat st;
	uint64_t off = kit_below(random, most + 1);

	CHECK(!stat(path, &st));
	if ((uint64_t)st.st_size < keep + off)
		off = (uint64_t)st.st_size - keep;
	CHECK(!truncate(path, st.st_size - (off_t)off));
}

TEST(reopening_goes_on_where_the_file_ends)
{
	uint64_t seed;

	for (seed = 1; seed <= 30; seed++) {
		const char *path = kit_path("trace.zst");
		struct mt_reader *reader;
		struct kit_trace trace;
		uint64_t last, begin;
		int round;

		kit_begin(&trace, path, seed, &small);
		begin = mt_writer_bytes(trace.writer);
		for (round = 0; round < 5; round++) {
			kit_write_events(&trace, kit_below(&trace.random, 200));
			CHECK_EQ(mt_writer_close(trace.writer, round % 2), 0);
			tear(path, begin, round % 3 ? 1500 : 0, &trace.random);
			CHECK_EQ(mt_writer_reopen(&trace.writer, path, NULL, &last), 0);
			while (trace.count && trace.events[trace.count - 1].seq > last)
				trace.count--; /* the part torn off */
			CHECK_EQ(last, trace.count ? trace.events[trace.count - 1].seq : 0);
			CHECK_EQ(mt_writer_events(trace.writer), trace.count);
		}
		kit_write_events(&trace, 50);
		CHECK_EQ(mt_writer_flush(trace.writer), 0);
		CHECK_EQ(mt_reader_open(&reader, path), 0);
		CHECK_EQ(kit_read_prefix(reader, &trace), trace.count);
		kit_same_defs(mt_writer_defs(trace.writer), mt_reader_defs(reader));
		mt_reader_free(reader);
		CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
		mt_reader_free(read_complete(path, &trace));
		kit_release(&trace);
	}
}

/* The index of a trace that was reopened is the one of a trace that was not. */
TEST(reopening_keeps_the_live_set)
{
	const char *path = kit_path("trace.zst");
	struct mt_ledger *ledger = mt_ledger_new(NULL, NULL);
	const struct mt_chunk_info *chunks;
	uint64_t live[40] = { 0 }, last;
	struct mt_reader *reader;
	struct kit_trace trace;
	uint32_t i, count;
	size_t at = 0;
	int round;

	kit_begin(&trace, path, 8, &small);
	for (round = 0; round < 6; round++) {
		write_allocations(&trace, 100, live, MT_ARRAY_SIZE(live));
		CHECK_EQ(mt_writer_close(trace.writer, round % 2), 0);
		CHECK_EQ(mt_writer_reopen(&trace.writer, path, NULL, &last), 0);
		CHECK_EQ(last, trace.seq);
	}
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	reader = read_complete(path, &trace);
	chunks = mt_reader_chunks(reader, &count);
	for (i = 0; i < count; i++) {
		if (chunks[i].kind != MT_CHUNK_EVENTS)
			continue;
		check_figures(&chunks[i], ledger, &trace.events[at]);
		at += chunks[i].events;
	}
	CHECK_EQ(at, trace.count);
	mt_reader_free(reader);
	mt_ledger_free(ledger);
	kit_release(&trace);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

TEST(the_writer_refuses_what_a_reader_would)
{
	const char *path = kit_path("trace.zst");
	struct mt_event good = { .kind = MT_MARK, .seq = 10 }, bad;
	struct kit_trace trace;

	kit_begin(&trace, path, 1, NULL);
	CHECK_EQ(mt_writer_event(trace.writer, &good, 0, 1), 0);
#define REFUSED(...)                                                        \
	bad = (struct mt_event){ .kind = MT_MARK, .seq = 11, __VA_ARGS__ }; \
	CHECK_EQ(mt_writer_event(trace.writer, &bad, 0, 1), -MT_E_ARGUMENT);
	REFUSED(.thread = 1)
	REFUSED(.name = 1)
	bad = (struct mt_event){ .kind = MT_MARK, .seq = 10 };
	CHECK_EQ(mt_writer_event(trace.writer, &bad, 0, 1), -MT_E_ARGUMENT);
	bad = (struct mt_event){ .kind = MT_LIVE, .seq = 11 };
	CHECK_EQ(mt_writer_event(trace.writer, &bad, 0, 1), -MT_E_ARGUMENT);
	bad = (struct mt_event){ .kind = 200, .seq = 11 };
	CHECK_EQ(mt_writer_event(trace.writer, &bad, 0, 1), -MT_E_ARGUMENT);
	bad = (struct mt_event){ .kind = MT_TENSOR_ALLOC, .seq = 11, .device = 1 };
	CHECK_EQ(mt_writer_event(trace.writer, &bad, 0, 1), -MT_E_ARGUMENT);
	bad = (struct mt_event){ .kind = MT_RANGE_PUSH, .seq = 11, .value = 1 };
	CHECK_EQ(mt_writer_event(trace.writer, &bad, 0, 1), -MT_E_ARGUMENT);
	CHECK_EQ(mt_writer_skip(trace.writer, &bad, 0, 1), -MT_E_ARGUMENT);
	CHECK_EQ(mt_writer_events(trace.writer), 1);
	kit_remember(&trace, &good);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	mt_reader_free(read_complete(path, &trace));
	kit_release(&trace);
}

TEST(files_that_are_not_there)
{
	struct mt_reader *reader = (void *)1;
	struct mt_writer *writer = (void *)1;
	uint64_t last;

	CHECK_EQ(mt_reader_open(&reader, kit_path("missing.zst")), -MT_E_SYSTEM);
	CHECK_EQ(errno, ENOENT);
	CHECK(!reader);
	CHECK_EQ(mt_writer_open(&writer, kit_path("no/folder.zst"), &kit_process, NULL), -MT_E_SYSTEM);
	CHECK(!writer);
	writer = (void *)1;
	CHECK_EQ(mt_writer_reopen(&writer, kit_path("missing.zst"), NULL, &last), -MT_E_SYSTEM);
	CHECK(!writer);
	CHECK_EQ(mt_reader_open(&reader, "/"), -MT_E_MAGIC);
}

TEST(losses_are_added_up)
{
	const char *path = kit_path("trace.zst");
	struct mt_reader *reader;
	struct kit_trace trace;
	uint64_t i;

	kit_begin(&trace, path, 1, &small);
	for (i = 1; i <= 100; i++) {
		struct mt_event event = { .kind = i % 10 ? MT_MARK : MT_LOST, .seq = i };

		event.value = event.kind == MT_LOST ? i : 0;
		CHECK_EQ(mt_writer_event(trace.writer, &event, 0, 1), 0);
		kit_remember(&trace, &event);
	}
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	reader = read_complete(path, &trace);
	CHECK_EQ(mt_reader_state(reader)->lost, 550);
	mt_reader_free(reader);
	kit_release(&trace);
}

/* A reader that is at work while somebody cuts the file, which is longer than what is read at a time: an error at worst. */
TEST(the_file_may_shrink_while_it_is_read)
{
	const char *path = kit_path("trace.zst");
	const struct mt_event *events;
	struct mt_reader *reader;
	struct kit_trace trace;
	size_t count;
	int checkpoint;

	kit_begin(&trace, path, 2, &small);
	kit_write_events(&trace, 20000);
	CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(mt_reader_next(reader, &events, &count, &checkpoint), 0);
	CHECK(count);
	CHECK(!truncate(path, (off_t)mt_reader_state(reader)->file_bytes / 2));
	while (!mt_reader_next(reader, &events, &count, &checkpoint) && count)
		;
	CHECK_EQ(mt_reader_state(reader)->error, -MT_E_TRUNCATED);
	CHECK(!mt_reader_state(reader)->complete);
	mt_reader_free(reader);
	kit_release(&trace);
}

#define STEP 97u /* bytes */

/* A writer with events in its file. Returns the bytes of the file with an index, but without the names to come. */
static uint64_t begin_with_events(struct kit_trace *trace, const char *path)
{
	uint32_t count;
	uint64_t bytes;
	struct mt_reader *reader;

	kit_begin(trace, path, 12, NULL);
	kit_write_events(trace, 900);
	CHECK_EQ(mt_writer_flush(trace->writer), 0);
	bytes = mt_writer_bytes(trace->writer);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(kit_read_prefix(reader, trace), trace->count);
	mt_reader_chunks(reader, &count);
	mt_reader_free(reader);
	return bytes + mt_index_size(count);
}

static void add_names(struct kit_trace *trace)
{
	struct mt_defs *defs = mt_writer_defs(trace->writer);
	int i;

	for (i = 0; i < 1500; i++)
		kit_symbol(&trace->random, defs);
	for (i = 0; i < 20; i++)
		kit_string(&trace->random, defs);
}

/* Names of native functions come last. A disk that has no room for the names has all events and an index. */
TEST(names_that_do_not_fit_leave_the_index)
{
	const char *path = kit_path("trace.zst");
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct kit_trace trace;
	struct mt_reader *reader;
	uint64_t bytes, room, full = UINT64_MAX;
	int flush;

	signal(SIGXFSZ, SIG_IGN);
	for (room = 0; room < full + STEP; room += STEP)
		for (flush = 0; flush < 2; flush++) {
			bytes = begin_with_events(&trace, path);
			add_names(&trace);
			limit.rlim_cur = bytes + room;
			CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
			if (flush)
				mt_writer_flush(trace.writer);
			CHECK_EQ(mt_writer_close(trace.writer, 1), 0);
			limit.rlim_cur = RLIM_INFINITY;
			CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
			reader = read_complete(path, &trace);
			if (mt_defs_count(mt_reader_defs(reader), MT_DEF_SYMBOL) > 1000)
				full = room;
			mt_reader_free(reader);
			kit_release(&trace);
		}
}

TEST_MAIN()
