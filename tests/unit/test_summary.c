/*
 * test_summary.c - the records of memtrace/summary.h say what is alive when a step ends, and the peak since the step before,
 * whatever becomes of the events.
 */
#include "memtrace/phase.h"
#include "memtrace/summary.h"
#include "summary/history.h"
#include "trace/chunk.h"
#include "trace_kit.h"

#define SLOTS 200u
#define STEP_EVENTS 150u
#define ENOUGH 1000u /* steps that make more than one chunk of records */
#define NODES 5u
#define RECORDS_MAX 8192u

/* ---- a program, and what it has at each record ---- */

struct thing {
	uint64_t addr, size; /* addr 0: none */
	uint32_t stack, device, phase, step;
	int driver;
};

/* Sums in which each key has a weight of its own: right only if the bytes and numbers of all keys are. */
struct truth {
	uint64_t seq, sum, sum_of_places; /* of_places: whatever the step of birth is */
	uint64_t held[3], peak[3], tensors[3];
};

struct program {
	struct kit_random random;
	struct mt_writer *writer;
	const struct mt_writer_options *options;
	struct thing thing[SLOTS];
	struct truth truth[RECORDS_MAX], now;
	size_t truths;
	uint64_t events;
	uint32_t step;
};

static uint64_t weight(uint32_t stack, uint32_t device, uint32_t phase, int driver, uint32_t step)
{
	struct kit_random random = { (uint64_t)stack << 48 ^ (uint64_t)device << 40 ^ (uint64_t)phase << 34 ^
				     (uint64_t)driver << 33 ^ step };

	return kit_next(&random);
}

static void count(struct program *program, const struct thing *thing, int sign)
{
	struct truth *now = &program->now;
	uint64_t amount = (uint64_t)sign * (thing->size + 31);

	now->sum += amount * weight(thing->stack, thing->device, thing->phase, thing->driver, thing->step);
	now->sum_of_places += amount * weight(thing->stack, thing->device, thing->phase, thing->driver, 0);
	now->held[thing->device] += (uint64_t)sign * thing->size;
	if (!thing->driver)
		now->tensors[thing->device] += (uint64_t)sign * thing->size;
	if (now->held[thing->device] > now->peak[thing->device])
		now->peak[thing->device] = now->held[thing->device];
}

static void write_event(struct program *program, struct mt_event *event, uint32_t phase)
{
	event->seq = 64 * ++program->events;
	event->time = 1000 * event->seq;
	CHECK_EQ(mt_writer_event(program->writer, event, phase, program->step), 0);
	mt_writer_trim(program->writer);
	program->now.seq = event->seq;
}

static void note_truth(struct program *program)
{
	uint32_t device;

	CHECK(program->truths < RECORDS_MAX);
	program->truth[program->truths++] = program->now;
	for (device = 0; device < 3; device++)
		program->now.peak[device] = program->now.held[device];
}

static void allocate(struct program *program, struct thing *thing)
{
	struct mt_event event = { .thread = 1 };

	*thing = (struct thing){ .addr = 0x7f0000000000 + (program->events << 20),
				 .size = 512 * (1 + kit_below(&program->random, 64)),
				 .stack = (uint32_t)kit_below(&program->random, NODES),
				 .device = 1 + (uint32_t)kit_below(&program->random, 2),
				 .phase = (uint32_t)kit_below(&program->random, 3) + MT_PHASE_FORWARD,
				 .step = program->step,
				 .driver = !kit_below(&program->random, 5) };
	event.kind = thing->driver ? MT_DRIVER_ALLOC : MT_TENSOR_ALLOC;
	event.addr = thing->addr;
	event.size = thing->size;
	event.stack = thing->stack;
	event.device = thing->device;
	count(program, thing, 1);
	write_event(program, &event, thing->phase);
}

static void release(struct program *program, struct thing *thing)
{
	struct mt_event event = { .thread = 1, .addr = thing->addr, .size = thing->size, .device = thing->device };

	event.kind = thing->driver ? MT_DRIVER_FREE : MT_TENSOR_FREE;
	count(program, thing, -1);
	thing->addr = 0;
	write_event(program, &event, MT_PHASE_OTHER);
}

static void run_step(struct program *program, int oom)
{
	struct mt_event event = { .thread = 1, .kind = MT_STEP, .value = program->step };
	struct mt_event failure = { .thread = 1, .kind = MT_TENSOR_OOM, .device = 1, .size = 1 << 30 };
	struct thing *thing;
	uint32_t i;

	for (i = 0; i < STEP_EVENTS; i++) {
		thing = &program->thing[kit_below(&program->random, SLOTS)];
		if (thing->addr)
			release(program, thing);
		else
			allocate(program, thing);
	}
	if (oom) {
		write_event(program, &failure, MT_PHASE_FORWARD);
		note_truth(program);
	}
	write_event(program, &event, MT_PHASE_OTHER);
	note_truth(program);
	program->step++;
}

static void define(struct mt_defs *defs)
{
	uint32_t i, string = mt_defs_add_string(defs, "f", 1);

	mt_defs_add_thread(defs, &(struct mt_thread){ .tid = 7, .flags = MT_THREAD_MAIN });
	/* Some are one stack in several modules: a file numbers these in another way. */
	for (i = 0; i < NODES; i++)
		mt_defs_add_node_in(defs, 0,
				    mt_defs_add_frame(defs, &(struct mt_frame){ .kind = 1,
										.function = string,
										.line = i / 2 }),
				    i % 2 ? mt_defs_add_nest(defs, 0, mt_defs_add_instance(defs, 0x1000 + i, string))
					  : 0);
	for (i = 0; i < 2; i++)
		mt_defs_add_device(defs, &(struct mt_device){ .kind = MT_DEVICE_CUDA, .index = i });
}

static struct program *begin(const char *path, const struct mt_writer_options *options, uint64_t seed)
{
	struct program *program = calloc(1, sizeof(*program));

	CHECK(program);
	program->random.state = seed;
	program->options = options;
	program->step = 1;
	CHECK_EQ(mt_writer_open(&program->writer, path, &kit_process, options), 0);
	define(mt_writer_defs(program->writer));
	return program;
}

static void end(struct program *program)
{
	CHECK_EQ(mt_writer_close(program->writer, 1), 0);
	program->writer = NULL;
}

/* ---- what the records say ---- */

struct reading {
	const struct program *program;
	uint64_t sum, sum_of_places, peak;
	size_t records, thinned;
	uint32_t steps, last_step;
	int without_steps; /* 1: births are of steps that were thinned out */
};

static const struct truth *truth_at(const struct program *program, uint64_t seq)
{
	size_t i;

	for (i = 0; i < program->truths; i++)
		if (program->truth[i].seq == seq)
			return &program->truth[i];
	return NULL;
}

static void check_devices(const struct mt_summary *summary, const struct truth *truth)
{
	uint32_t i;

	for (i = 0; i < summary->devices; i++) {
		const struct mt_summary_device *device = &summary->device[i];

		CHECK(device->device < 3);
		CHECK_EQ(device->held, truth->held[device->device]);
		CHECK_EQ(device->tensors, truth->tensors[device->device]);
		CHECK(device->peak >= truth->peak[device->device]);
		CHECK(device->peak == truth->peak[device->device] || summary->steps > 1);
		CHECK(device->peak_seq <= summary->seq);
	}
}

static int take(void *context, const struct mt_summary *summary)
{
	struct reading *reading = context;
	const struct truth *truth = truth_at(reading->program, summary->seq);
	uint32_t i;

	CHECK(truth);
	if (summary->anew)
		reading->sum = reading->sum_of_places = 0;
	for (i = 0; i < summary->rows; i++) {
		const struct mt_summary_row *row = &summary->row[i];
		uint64_t amount = (uint64_t)row->plain + (uint64_t)row->slack + 31 * (uint64_t)row->count;

		reading->sum += amount * weight(row->stack, row->device, row->phase, row->driver, row->step);
		reading->sum_of_places += amount * weight(row->stack, row->device, row->phase, row->driver, 0);
	}
	CHECK_EQ(reading->sum_of_places, truth->sum_of_places);
	CHECK(reading->without_steps || reading->sum == truth->sum);
	check_devices(summary, truth);
	reading->records++;
	reading->steps += summary->steps;
	reading->thinned += summary->steps > 1;
	reading->last_step = summary->step;
	return 0;
}

static struct reading read_all(const char *path, const struct program *program, int without_steps)
{
	struct reading reading = { .program = program, .without_steps = without_steps };
	const struct mt_event *events;
	struct mt_reader *reader;
	size_t count;
	int batch;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	while (!mt_reader_next(reader, &events, &count, &batch) && count)
		; /* for the definitions */
	CHECK_EQ(mt_reader_summaries(reader, take, &reading), 0);
	mt_reader_free(reader);
	return reading;
}

TEST(each_step_is_told)
{
	static const struct mt_writer_options options = { .chunk_events = 100 };
	struct program *program;
	struct reading reading;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed < 9; seed++) {
		program = begin("steps.zst", &options, seed);
		for (i = 0; i < 40; i++)
			run_step(program, i % 7 == 3);
		end(program);
		reading = read_all("steps.zst", program, 0);
		CHECK_EQ(reading.records, program->truths);
		CHECK_EQ(reading.steps, 40);
		free(program);
	}
}

TEST(a_flight_recorder_keeps_what_it_lets_go_of)
{
	static const struct mt_writer_options options = { .keep = 512u << 10, .chunk_events = 256 };
	struct program *program = begin("keep.zst", &options, 3);
	struct reading reading;
	uint32_t i;

	for (i = 0; i < 3000; i++)
		run_step(program, i == 1000);
	CHECK(mt_writer_cut(program->writer) > 100000);
	end(program);
	reading = read_all("keep.zst", program, 1);
	CHECK_EQ(reading.steps, 3000);
	CHECK_EQ(reading.last_step, 3000);
	CHECK(reading.thinned > 10);
	CHECK(reading.records > 20 && reading.records < 1100);
	free(program);
}

TEST(a_writer_that_goes_on_tells_all_anew)
{
	static const struct mt_writer_options options = { .chunk_events = 100 };
	struct program *program = begin("reopen.zst", &options, 5);
	struct reading reading;
	uint64_t last;
	uint32_t i;

	for (i = 0; i < 10; i++)
		run_step(program, 0);
	CHECK_EQ(mt_writer_flush(program->writer), 0);
	CHECK_EQ(mt_writer_close(program->writer, 0), 0);
	CHECK_EQ(mt_writer_reopen(&program->writer, "reopen.zst", &options, &last), 0);
	CHECK_EQ(last, program->events * 64);
	for (i = 0; i < SLOTS; i++)
		if (program->thing[i].addr)
			release(program, &program->thing[i]); /* events do not tell their phase to who goes on */
	for (i = 0; i < 10; i++)
		run_step(program, 0);
	end(program);
	reading = read_all("reopen.zst", program, 0);
	CHECK_EQ(reading.records, 20);
	free(program);
}

/* A byte of each chunk of records in turn. The records that are told are right. */
TEST(damage_takes_records_and_nothing_else)
{
	static const struct mt_writer_options options = { .chunk_events = 100 };
	struct program *program = begin("damage.zst", &options, 7);
	const struct mt_chunk_info *chunks;
	struct mt_reader *reader;
	struct reading reading;
	uint32_t count, i;
	size_t tried = 0, size;

	for (i = 0; i < ENOUGH; i++)
		run_step(program, 0);
	end(program);
	CHECK_EQ(mt_reader_open(&reader, "damage.zst"), 0);
	chunks = mt_reader_chunks(reader, &count);
	for (i = 0; i < count; i++) {
		uint8_t *data = kit_load("damage.zst", &size);

		if (chunks[i].kind == MT_CHUNK_SUMMARIES) {
			data[chunks[i].offset + chunks[i].size / 2] ^= 0x10;
			kit_save("damaged.zst", data, size);
			reading = read_all("damaged.zst", program, 0);
			CHECK(reading.records < ENOUGH);
			tried++;
		}
		free(data);
	}
	mt_reader_free(reader);
	CHECK(tried > 1);
	free(program);
}

/* ---- hostile records ---- */

/* A record of bytes that are 0: it claims `devices` and `rows`, and has `given` rows. */
static void put_claim(struct mt_buffer *records, uint32_t devices, uint32_t rows, uint32_t given)
{
	size_t zeros[] = { 5, (size_t)devices * 9, (size_t)given * 8 };
	uint32_t claims[] = { devices, rows };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(zeros); i++) {
		CHECK(!mt_buffer_reserve(records, zeros[i]));
		memset(records->data + records->size, 0, zeros[i]);
		records->size += zeros[i];
		if (i < MT_ARRAY_SIZE(claims))
			mt_buffer_put_varint(records, claims[i]);
	}
}

/* A trace with one chunk of records. */
static const char *save_records(const char *name, const struct mt_buffer *records)
{
	struct mt_packer *packer = mt_packer_new(1);
	struct mt_buffer payload = { 0 }, out = { 0 };
	const char *path = kit_path(name);
	struct mt_writer *writer;
	uint8_t *data;
	size_t size;

	CHECK_EQ(mt_writer_open(&writer, path, &kit_process, NULL), 0);
	CHECK_EQ(mt_writer_close(writer, 0), 0);
	data = kit_load(path, &size);
	mt_buffer_put(&out, data, size);
	mt_payload_begin(&payload, MT_CHUNK_SUMMARIES);
	mt_payload_section(&payload, 1, records->data, records->size);
	CHECK_EQ(mt_packer_pack(packer, &payload, 0, &out), 0);
	kit_save(path, out.data, out.size);
	free(data);
	mt_buffer_release(&payload);
	mt_buffer_release(&out);
	mt_packer_free(packer);
	return path;
}

struct claims {
	uint32_t records, devices;
	uint64_t rows;
};

static int count_claims(void *context, const struct mt_summary *summary)
{
	struct claims *claims = context;

	claims->records++;
	claims->devices += summary->devices;
	claims->rows += summary->rows;
	return 0;
}

static struct claims read_claims(const char *path)
{
	struct claims claims = { 0 };
	struct mt_reader *reader;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(mt_reader_summaries(reader, count_claims, &claims), 0);
	mt_reader_free(reader);
	return claims;
}

#define LARGE 7u /* records of all rows that a record may have: a chunk has no more of them */
#ifdef __SANITIZE_ADDRESS__
#define LARGE_KIB (256 << 10)
#else
#define LARGE_KIB (128 << 10) /* 56 MiB of chunk, 40 MiB of record, and room; all records together are 280 MiB */
#endif

static void read_large(const char *path)
{
	CHECK_EQ(read_claims(path).rows, LARGE * (uint64_t)HISTORY_ROWS_MAX);
}

TEST(the_largest_chunk_takes_the_memory_of_one_record)
{
	struct mt_buffer records = { 0 };
	const char *path;
	long kib;
	uint32_t i;

	for (i = 0; i < LARGE; i++)
		put_claim(&records, 0, HISTORY_ROWS_MAX, HISTORY_ROWS_MAX);
	path = save_records("large.zst", &records);
	kib = kit_cost_of(read_large, path).ru_maxrss - kit_cost_of(NULL, path).ru_maxrss;
	printf("# %zu bytes of records: %ld KiB\n", records.size, kib);
	CHECK(kib < LARGE_KIB);
	mt_buffer_release(&records);
}

/* The second of three records claims what is wrong: the first is handed out. */
TEST(a_record_that_claims_too_much_ends_its_chunk)
{
	static const struct {
		uint32_t devices, rows, given, records;
	} claim[] = {
		{ HISTORY_DEVICES_MAX, HISTORY_ROWS_MAX, HISTORY_ROWS_MAX, 3 },
		{ HISTORY_DEVICES_MAX + 1, 0, 0, 1 },
		{ 0, HISTORY_ROWS_MAX + 1, HISTORY_ROWS_MAX + 1, 1 },
		{ 0, UINT32_MAX, 1, 1 },
		{ 1, 1000, 10, 1 },
	};
	struct mt_buffer records = { 0 };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(claim); i++) {
		mt_buffer_clear(&records);
		put_claim(&records, 1, 2, 2);
		put_claim(&records, claim[i].devices, claim[i].rows, claim[i].given);
		put_claim(&records, 1, 0, 0);
		CHECK_EQ(read_claims(save_records("claims.zst", &records)).records, claim[i].records);
	}
	mt_buffer_release(&records);
}

TEST_MAIN()
