/*
 * test_gaps.c - events are missing: damaged, let go, or never written. Memory that the checkpoint after the gap does not
 * have goes where the gap begins, in the peak of the device and in the database.
 */
#include "memtrace/error.h"
#include "memtrace/reader.h"
#include "run_kit.h"
#include "trace_builder.h"
#include "trace_kit.h"

#define EVENTS 1200u
#define BLOCKS 40u
#define LIVES (2 * EVENTS)

enum gap_kind { GAP_DAMAGED, GAP_SKIPPED, GAP_KEPT, GAP_KINDS };

static const struct mt_writer_options options[GAP_KINDS] = {
	[GAP_DAMAGED] = { .chunk_events = 40, .checkpoint_events = 120 },
	[GAP_SKIPPED] = { .chunk_events = 40, .checkpoint_events = 120 },
	[GAP_KEPT] = { .chunk_events = 40, .checkpoint_events = 120, .keep = 8192 },
};

static uint64_t below(uint64_t bound)
{
	return (uint64_t)random() % bound;
}

/* ---- traces ---- */

/* An event that the trace does not have: the writer's live set knows of it alone. */
static void skip_event(struct builder *builder, struct mt_event event)
{
	event.seq = ++builder->seq;
	event.time = builder->time += 1000;
	event.thread = builder->thread;
	CHECK_EQ(mt_writer_skip(builder->writer, &event, 0, 0), 0);
}

/* Blocks of the driver that come and go. The other process takes its turns in between. */
static void write_process(const char *path, uint32_t pid, const struct mt_writer_options *how, int skips)
{
	uint64_t size[BLOCKS] = { 0 }, at, addr;
	struct mt_event event;
	struct builder builder;
	uint32_t i;

	builder_open_with(&builder, path, pid, -1, 1024 * MIB, how);
	builder.time += pid % 2 * 500;
	for (i = 0; i < EVENTS; i++) {
		at = below(BLOCKS);
		addr = (pid * 0x10000ull + at) << 32;
		if (size[at])
			event = (struct mt_event){ .kind = MT_DRIVER_FREE, .addr = addr };
		else
			event = (struct mt_event){
				.kind = MT_DRIVER_ALLOC, .device = builder.cuda, .addr = addr, .size = 1 + below(MIB)
			};
		size[at] = event.size;
		if (skips && i / 150 % 2)
			skip_event(&builder, event);
		else
			builder_event(&builder, event);
		if (how && how->keep && i == 200)
			builder_event(&builder, (struct mt_event){ .kind = MT_DRIVER_FAIL, .result = 2, .size = MIB });
		if (how && how->keep && i % 40 == 0)
			mt_writer_trim(builder.writer);
	}
	builder_close(&builder);
}

/* Bytes of some of the chunks of events are wrong. */
static void damage(const char *path)
{
	const struct mt_chunk_info *chunks;
	struct mt_reader *reader;
	uint32_t count, i;
	uint8_t *data;
	size_t size;

	data = kit_load(path, &size);
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	chunks = mt_reader_chunks(reader, &count);
	for (i = 4; i < count; i++)
		if (chunks[i].kind == MT_CHUNK_EVENTS && !below(6))
			data[chunks[i].offset + chunks[i].size - 1] ^= 1;
	mt_reader_free(reader);
	kit_save(path, data, size);
	free(data);
}

/* ---- the model: what the events of a trace say, gaps included ---- */

struct life {
	uint64_t seq, size;
	int64_t since, until; /* in the sums of the device; until 0: at the end of the process */
	int64_t born;         /* as the database says */
	uint64_t addr;
};

struct model {
	struct life life[LIVES];
	uint32_t count, gaps, early; /* early: lives that went at the begin of a gap */
	int64_t last;
};

static struct life *find_alive(struct model *model, uint64_t addr)
{
	uint32_t i;

	for (i = model->count; i > 0; i--)
		if (model->life[i - 1].addr == addr && !model->life[i - 1].until)
			return &model->life[i - 1];
	return NULL;
}

static int64_t run_time(uint64_t time)
{
	return (int64_t)(time - BUILDER_START);
}

static void model_event(struct model *model, const struct mt_event *event)
{
	struct life *life = event->kind == MT_DRIVER_FREE ? find_alive(model, event->addr) : NULL;

	model->last = run_time(event->time);
	if (life)
		life->until = model->last;
	if (event->kind == MT_DRIVER_ALLOC)
		model->life[model->count++] = (struct life){ event->seq, event->size, model->last,
							     0,          model->last, event->addr };
}

static int has(const struct mt_event *events, size_t count, uint64_t seq)
{
	while (count--)
		if (events[count].seq == seq && events[count].value == MT_DRIVER_ALLOC)
			return 1;
	return 0;
}

/* `begin`: of the gap, 1 ns after the newest event before it. */
static void model_checkpoint(struct model *model, const struct mt_event *events, size_t count, int64_t begin)
{
	int64_t newest = model->last, time;
	struct life *life;
	uint32_t i;
	size_t k;

	model->gaps++;
	for (i = 0; i < model->count; i++) {
		if (model->life[i].until || has(events, count, model->life[i].seq))
			continue;
		model->life[i].until = begin;
		model->early++;
	}
	for (k = 0; k < count; k++) {
		time = run_time(events[k].time);
		newest = events[k].value && time > newest ? time : newest;
		life = find_alive(model, events[k].addr);
		if (!life && events[k].value)
			model->life[model->count++] = (struct life){ events[k].seq, events[k].size, -1, 0,
								     time,          events[k].addr };
	}
	for (i = 0; i < model->count; i++)
		if (model->life[i].since < 0)
			model->life[i].since = newest;
	model->last = newest;
}

static void read_model(struct model *model, const char *path)
{
	const struct mt_event *events;
	struct mt_reader *reader;
	int64_t begin = 0;
	size_t count, i;
	int checkpoint;

	memset(model, 0, sizeof(*model));
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	while (!mt_reader_next(reader, &events, &count, &checkpoint) && count) {
		if (checkpoint == MT_BATCH_REPEAT)
			continue;
		if (events[0].kind == MT_CUT || events[0].kind == MT_LOST)
			begin = model->last + 1;
		if (checkpoint == MT_BATCH_ANEW) {
			model_checkpoint(model, events, count, begin ? begin : model->last + 1);
			begin = 0;
		}
		for (i = 0; i < count && checkpoint == MT_BATCH_EVENTS; i++)
			model_event(model, &events[i]);
	}
	mt_reader_free(reader);
}

/* The most bytes at any moment: it is reached when something begins. */
static uint64_t peak_of(const struct model *model, uint32_t models)
{
	uint64_t most = 0, sum;
	const struct life *life;
	uint32_t m, n, i, k;
	int64_t now;

	for (m = 0; m < models; m++) {
		for (i = 0; i < model[m].count; i++) {
			now = model[m].life[i].since;
			for (n = 0, sum = 0; n < models; n++)
				for (k = 0; k < model[n].count; k++) {
					life = &model[n].life[k];
					if (life->since <= now &&
					    (life->until ? life->until > now : model[n].last >= now))
						sum += life->size;
				}
			most = sum > most ? sum : most;
		}
	}
	return most;
}

/* ---- answers ---- */

static int64_t ask(struct db *db, const char *sql)
{
	struct db_stmt *stmt;
	int64_t value;

	CHECK_EQ(db_prepare(db, &stmt, sql), 0);
	CHECK_EQ(db_step(stmt), 1);
	value = db_int(stmt, 0);
	db_finish(stmt);
	return value;
}

/* Every life of the process `id` is in the database with the model's times. */
static void compare_lives(struct db *db, const struct model *model, int64_t id)
{
	static const char sql[] = "SELECT alloc_time, ifnull(free_time, 0), bytes FROM allocation WHERE process = ?1 "
				  "AND alloc_seq = ?2";
	const struct life *life;
	struct db_stmt *stmt;
	uint32_t i;

	for (i = 0; i < model->count; i++) {
		life = &model->life[i];
		CHECK_EQ(db_prepare(db, &stmt, sql), 0);
		db_bind(stmt, 1, id);
		db_bind(stmt, 2, (int64_t)life->seq);
		CHECK_EQ(db_step(stmt), 1);
		CHECK_EQ(db_int(stmt, 0), life->born);
		CHECK_EQ(db_int(stmt, 1), life->until);
		CHECK_EQ(db_int(stmt, 2), life->size);
		db_finish(stmt);
	}
}

static void compare(char *const *paths, const struct model *model)
{
	uint64_t peak = peak_of(model, 2);
	struct run run;
	int everything;

	for (everything = 0; everything < 2; everything++) {
		run_open(&run, paths, 2, everything);
		CHECK_EQ(ask(run.db, "SELECT bytes FROM peak"), peak);
		if (everything) {
			compare_lives(run.db, &model[0], 1);
			compare_lives(run.db, &model[1], 2);
		}
		run_close(&run);
	}
}

static void try_kind(enum gap_kind kind)
{
	static struct model model[2];
	const char *first = kit_path("a.zst"), *second = kit_path("b.zst");
	char *paths[] = { (char *)first, (char *)second };
	uint32_t seed, early = 0;

	for (seed = 1; seed <= 4; seed++) {
		srandom(seed);
		printf("# kind %d, seed %u\n", kind, seed);
		write_process(first, 100, &options[kind], kind == GAP_SKIPPED);
		write_process(second, 101, NULL, 0);
		if (kind == GAP_DAMAGED)
			damage(first);
		read_model(&model[0], first);
		read_model(&model[1], second);
		compare(paths, model);
		early += model[0].early;
	}
	CHECK(early > 0);
}

TEST(damaged_chunks)
{
	try_kind(GAP_DAMAGED);
}

TEST(skipped_events)
{
	try_kind(GAP_SKIPPED);
}

TEST(chunks_let_go)
{
	try_kind(GAP_KEPT);
}

TEST_MAIN()
