/* Traces on their way into the timeline's model: it must say what `memana top` says. */
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "facts_kit.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "report/peak_verdict.h"
#include "screen/data/feed.h"
#include "screen/data/feed_facts.h"
#include "screen/data/liveset.h"
#include "screen/data/series.h"
#include "store/load.h"
#include "test.h"
#include "trace_builder.h"
#include "trace_kit.h"

#define SEGMENT 0x100000000ull

struct run {
	struct source source;
	struct model model;
	struct feed *feed;
};

static void open_run(struct run *run, char *const *paths, uint32_t count)
{
	memset(run, 0, sizeof(*run));
	CHECK_EQ(source_open_traces(&run->source, paths, count), 0);
	CHECK_EQ(model_init(&run->model), 0);
}

static void read_run(struct run *run, char *const *paths, uint32_t count)
{
	open_run(run, paths, count);
	CHECK_EQ(feed_new(&run->feed, &run->model, &run->source), 0);
	feed_wait(run->feed);
}

static void close_run(struct run *run)
{
	feed_free(run->feed);
	model_release(&run->model);
	source_release(&run->source);
}

/* ---- what must be true of any run -------------------------------------------------------------------------------- */

/* 1 for cells of the device. */
static uint8_t *cells_of(const struct model *model, uint32_t device)
{
	uint8_t *shown = calloc((size_t)model->sites * 2 + 1, 1);
	uint32_t cell;

	CHECK(shown);
	for (cell = 2; cell < model->sites * 2; cell++)
		shown[cell] = model->site[TAPE_SITE(cell)].device == device;
	return shown;
}

/* The series of the device, all in one layer. */
static struct series *series_of(const struct model *model, const uint8_t *shown)
{
	struct series *series = series_new();
	uint8_t *layer = calloc((size_t)model->sites * 2 + 1, 1);
	uint32_t cell;

	CHECK(series && layer);
	for (cell = 0; cell < model->sites * 2; cell++)
		layer[cell] = shown[cell] ? 0 : SERIES_HIDDEN;
	CHECK_EQ(series_begin(series, layer, model->sites * 2, SERIES_HIDDEN, SERIES_HIDDEN, 1), 0);
	CHECK_EQ(series_more(series, model->tape, model->events, UINT64_MAX), 0);
	free(layer);
	return series;
}

static int check_part(void *context, const struct query_part *row)
{
	uint64_t *bytes = context;
	uint32_t category;

	for (category = 0; strcmp(mt_category_name(category), row->word); category++)
		CHECK(category < MT_CATEGORY_COUNT);
	CHECK_EQ(bytes[category], row->bytes);
	bytes[category] = 0;
	return 0;
}

/* At the peak: chart, table and the summary are the same bytes, of the same categories. */
static void check_device(struct run *run, uint32_t number)
{
	const struct model *model = &run->model;
	const struct model_device *device = &model->device[number];
	uint8_t *shown = cells_of(model, number);
	struct series *series = series_of(model, shown);
	uint64_t bytes[MT_CATEGORY_COUNT] = { 0 };
	struct liveset live = { 0 };
	struct series_column column;
	int64_t time;
	uint32_t i;

	CHECK_EQ(series_peak(series, &time), device->peak);
	CHECK(time <= device->peak_time);
	series_columns(series, model->tape, device->peak_time, device->peak_time + 1, &column, 1);
	CHECK_EQ(column.max, device->peak);
	CHECK_EQ(liveset_at(&live, model, model_events_at(model, number, device->peak_time), shown, model->sites * 2,
			    LIVESET_SORT_BYTES),
		 0);
	CHECK_EQ(live.bytes, device->peak);
	for (i = 0; i < live.rows; i++)
		bytes[live.row[i].category] += live.row[i].bytes;
	CHECK_EQ(query_parts(feed_summary(run->feed), number + 1, QUERY_BY_CATEGORY, check_part, bytes), 0);
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		CHECK_EQ(bytes[i], 0);
	liveset_release(&live);
	series_free(series);
	free(shown);
}

/* Time never goes back, and each site's `most` is the most that it held after a change. */
static void check_sites(const struct model *model)
{
	uint64_t *held = calloc(model->sites, sizeof(*held)), *most = calloc(model->sites, sizeof(*most)), i, first;
	const struct tape_event *event;
	int64_t time = INT64_MIN;
	uint32_t run, site;

	CHECK(held && most);
	for (i = first = 0; i < model->events; i++) {
		event = tape_at(model->tape, i, &run);
		CHECK(event->time >= time);
		time = event->time;
		CHECK(TAPE_SITE(event->cell) < model->sites);
		held[TAPE_SITE(event->cell)] += (uint64_t)event->bytes;
		for (; !event->more && first <= i; first++) {
			site = TAPE_SITE(tape_at(model->tape, first, &run)->cell);
			if (held[site] > most[site])
				most[site] = held[site];
		}
	}
	CHECK_EQ(first, model->events);
	for (site = 1; site < model->sites; site++)
		CHECK_EQ(model->site[site].most, most[site]);
	free(held);
	free(most);
}

static int count_device(void *context, const struct query_device *row)
{
	const struct model *model = context;

	CHECK_EQ(model->device[row->id - 1].number, row->number);
	CHECK_EQ(model->device[row->id - 1].peak, row->peak.bytes);
	return 0;
}

static void check_run(struct run *run)
{
	const struct model *model = &run->model;
	uint32_t i, sites = 0;

	CHECK_STR(model->trouble, "");
	CHECK_EQ(model->state, MODEL_READ);
	CHECK_EQ(model->error, 0);
	CHECK_EQ(model->bytes_read, model->bytes_total);
	CHECK(model->bytes_total > 0);
	CHECK_EQ(model->events, tape_count(model->tape));
	CHECK(feed_summary(run->feed) != NULL);
	CHECK_EQ(query_devices(feed_summary(run->feed), count_device, (void *)model), 0);
	for (i = 0; i < model->devices; i++)
		check_device(run, i);
	for (i = 0; i < model->processes; i++)
		sites += model->process[i].sites;
	CHECK_EQ(sites, model->sites ? model->sites - 1 : 0);
	check_sites(model);
}

/* ---- traces ------------------------------------------------------------------------------------------------------ */

/* A step that allocates, frees and fails; the peak is 300 MiB. */
static void write_step(const char *path)
{
	struct builder m;
	uint32_t frame;

	builder_open(&m, path, 77, 2);
	frame = builder_python(&m, 0, "train", "/home/me/train.py", 50);
	builder_phase(&m, "init");
	m.stack = builder_native(&m, 0, "/x/libcuda.so.1", 0x10);
	builder_driver_alloc(&m, SEGMENT, 200 * MIB);
	m.stack = builder_python(&m, frame, "Model.load", "/home/me/model.py", 7);
	builder_tensor_alloc(&m, SEGMENT, 70 * MIB);
	m.stack = builder_python(&m, frame, "Model.tie", "/home/me/model.py", 19);
	builder_tensor_alloc(&m, SEGMENT + 80 * MIB, 50 * MIB);
	builder_phase_end(&m);
	builder_phase(&m, "forward");
	m.stack = builder_native(&m, builder_native(&m, 0, "/usr/bin/python3.11", 0x30), "/x/libnccl.so.2", 0x40);
	builder_driver_alloc(&m, 2 * SEGMENT, 100 * MIB);
	builder_phase_end(&m);
	builder_phase(&m, "backward");
	m.stack = frame;
	builder_tensor_free(&m, SEGMENT, 70 * MIB);
	builder_driver_free(&m, 2 * SEGMENT);
	builder_phase_end(&m);
	builder_step(&m, 1);
	builder_phase(&m, "rollout");
	/* The driver refuses, the allocator asks once more and gives up: one error. */
	builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_FAIL,
					     .device = m.cuda,
					     .stack = frame,
					     .size = 902 * MIB,
					     .result = 2 });
	builder_event(&m, (struct mt_event){ .kind = MT_DRIVER_FAIL,
					     .device = m.cuda,
					     .stack = frame,
					     .size = 902 * MIB,
					     .result = 2 });
	builder_event(&m,
		      (struct mt_event){ .kind = MT_TENSOR_OOM, .device = m.cuda, .stack = frame, .size = 900 * MIB });
	m.device = m.cpu;
	m.total = 0;
	builder_tensor_alloc(&m, 9 * SEGMENT, MIB);
	builder_phase_end(&m);
	builder_close(&m);
}

TEST(a_step_as_a_person_sees_it)
{
	char path[] = "step.zst", *paths[] = { path };
	const struct model_site *site;
	struct run run;
	uint32_t i, found = 0;

	write_step(path);
	read_run(&run, paths, 1);
	check_run(&run);
	CHECK_EQ(run.model.devices, 2);
	CHECK_EQ(run.model.device[1].number, 1); /* the CPU comes after the GPUs */
	CHECK_STR(run.model.device[1].name, "CPU");
	CHECK_EQ(run.model.device[1].peak, MIB);
	CHECK_EQ(run.model.device[0].number, 0);
	CHECK_EQ(run.model.device[0].peak, 300 * MIB);
	CHECK_EQ(run.model.device[0].total, 1024 * MIB);
	CHECK_STR(run.model.device[0].name, "Test GPU");
	CHECK_EQ(run.model.processes, 1);
	CHECK_EQ(run.model.process[0].pid, 77);
	CHECK_EQ(run.model.process[0].rank, 2);
	CHECK_STR(run.model.process[0].file, "step.zst");
	CHECK_EQ(run.model.steps, 1);
	CHECK_EQ(run.model.step[0].number, 1);
	CHECK_EQ(run.model.ooms, 1);
	CHECK_EQ(run.model.oom[0].requested, 900 * MIB);
	CHECK_EQ(run.model.oom[0].phase, MT_PHASE_ROLLOUT);
	CHECK_EQ(run.model.spans, 4);
	CHECK_EQ(run.model.span[model_span_at(&run.model, 0, run.model.oom[0].time)].phase, MT_PHASE_ROLLOUT);
	CHECK(run.model.first_time < run.model.last_time);
	CHECK(run.model.oom[0].time <= run.model.last_time);
	for (i = 1; i < run.model.sites; i++) {
		site = &run.model.site[i];
		if (!strcmp(site->function, "Model.load")) {
			CHECK_STR(site->place, "model.py:7");
			CHECK_EQ(site->most, 70 * MIB);
			CHECK_EQ(site->phase, MT_PHASE_INIT);
			CHECK(!site->all_slack);
			found++;
		} else if (!strcmp(run.model.owner[site->owner], "libnccl")) {
			CHECK_EQ(site->category, MT_CATEGORY_NCCL);
			CHECK_EQ(site->driver, 1);
			found++;
		} else if (site->driver) {
			CHECK(site->all_slack);
			CHECK_EQ(model_cell_owner(&run.model, TAPE_CELL(i, 0)), 0);
			CHECK_EQ(site->most, 200 * MIB);
			found++;
		}
	}
	CHECK_EQ(found, 3);
	CHECK_STR(run.model.verdict,
		  "Peak 300.0 MiB of 1.0 GiB (29%) at 7.0 us, in forward of step 1. 40% of it is probably weights, allocated "
		  "in init, most of it by Model.load (model.py:7).");
	close_run(&run);
}

/* Opens a trace with checkpoints every few events, so that damage is a gap and not the end. */
static void open_with_checkpoints(struct builder *m, const char *path, uint32_t pid)
{
	const struct mt_writer_options options = { .chunk_events = 1000, .checkpoint_events = 3000 };
	struct mt_process process = { .pid = pid,
				      .ppid = 1,
				      .rank = -1,
				      .depth = 32,
				      .start_monotonic = BUILDER_START,
				      .host = "node",
				      .boot_id = "boot",
				      .command = "train" };
	struct mt_thread thread = { .tid = pid, .flags = MT_THREAD_MAIN };

	memset(m, 0, sizeof(*m));
	CHECK_EQ(mt_writer_open(&m->writer, path, &process, &options), 0);
	m->defs = mt_writer_defs(m->writer);
	m->time = BUILDER_START;
	m->thread = m->main_thread = mt_defs_add_thread(m->defs, &thread);
	m->cuda = m->device = builder_device(m, MT_DEVICE_CUDA, 0, "Test GPU", "GPU-0000", 1024 * MIB);
}

/* Segments, tensors in them, segments that go with tensors inside, and another process beside it. */
static void write_random(const char *path, uint32_t pid, uint64_t seed, uint64_t events, int checkpoints)
{
	static const char *const phases[] = { "rollout", "forward", "backward", "optimizer" };
	struct kit_random random = { seed };
	uint64_t size[64] = { 0 }, i, slot, segment, address;
	uint8_t there[4] = { 0 };
	uint32_t stack[6];
	struct builder m;
	char name[32];

	if (checkpoints)
		open_with_checkpoints(&m, path, pid);
	else
		builder_open(&m, path, pid, (int)(pid % 10));
	m.time += pid; /* no two processes do something at the same time */
	for (i = 0; i < MT_ARRAY_SIZE(stack); i++) {
		snprintf(name, sizeof(name), "layer_%u", (unsigned)i);
		stack[i] = builder_python(&m, 0, name, "/home/me/net.py", (uint32_t)i + 1);
	}
	for (i = 0; i < events; i++) {
		slot = kit_below(&random, MT_ARRAY_SIZE(size));
		segment = slot % MT_ARRAY_SIZE(there);
		address = (segment + 1) * SEGMENT + slot / MT_ARRAY_SIZE(there) * MIB;
		m.stack = stack[kit_below(&random, MT_ARRAY_SIZE(stack))];
		if (kit_below(&random, 500) == 0) {
			builder_phase(&m, phases[kit_below(&random, MT_ARRAY_SIZE(phases))]);
		} else if (kit_below(&random, 400) == 0) {
			builder_phase_end(&m);
		} else if (kit_below(&random, there[segment] ? 300 : 30) == 0) {
			there[segment] = !there[segment];
			if (there[segment])
				builder_driver_alloc(&m, (segment + 1) * SEGMENT, 16 * MIB);
			else
				builder_driver_free(&m, (segment + 1) * SEGMENT);
		} else if (!size[slot]) {
			size[slot] = 512 * (1 + kit_below(&random, 2048));
			builder_tensor_alloc(&m, address, size[slot]);
		} else {
			builder_tensor_free(&m, address, size[slot]);
			size[slot] = 0;
		}
	}
	builder_close(&m);
}

/* The kind of a site turns out long after the screen has got to know it. */
TEST(a_segment_that_gets_tensors_late)
{
	char path[] = "late.zst", *paths[] = { path };
	struct run run;
	struct builder m;
	uint32_t i, found = 0;

	builder_open(&m, path, 700, -1);
	m.stack = builder_python(&m, 0, "segment", "/home/me/a.py", 1);
	builder_driver_alloc(&m, SEGMENT, 64 * MIB);
	m.stack = builder_python(&m, 0, "tensor", "/home/me/a.py", 2);
	for (i = 0; i < 100000; i++) {
		builder_tensor_alloc(&m, 9 * SEGMENT, 512);
		builder_tensor_free(&m, 9 * SEGMENT, 512);
	}
	builder_tensor_alloc(&m, SEGMENT, MIB);
	builder_close(&m);
	read_run(&run, paths, 1);
	check_run(&run);
	for (i = 1; i < run.model.sites; i++) {
		if (!run.model.site[i].driver)
			continue;
		CHECK(run.model.site[i].all_slack);
		found++;
	}
	CHECK_EQ(found, 1);
	CHECK(run.model.edition > 0);
	close_run(&run);
}

TEST(random_runs_add_up)
{
	char one[] = "one.zst", two[] = "two.zst", *paths[] = { one, two };
	struct run run;
	uint64_t seed;

	for (seed = 1; seed <= 6; seed++) {
		write_random(one, 100, seed, 20000, 0);
		write_random(two, 201, seed + 100, 20000, 0);
		read_run(&run, paths, 1 + seed % 2);
		check_run(&run);
		CHECK(run.model.devices && run.model.device[0].peak > 0);
		close_run(&run);
	}
}

#define WEIGHTS 5u

/* Address of tensor `i` of `kind`; all have one size. */
static uint64_t tensor_at(uint32_t kind, uint32_t i)
{
	return (kind + 1) * SEGMENT + i * MIB;
}

/*
 * An importer's view of a training step: weights and twice as much optimizer state are there from the start, nobody
 * knows whence, and of one size. The optimizer makes the state anew and frees the old.
 */
static void write_replaced_state(const char *path)
{
	enum { WEIGHT, GRADIENT, STATE };
	struct builder m;
	uint32_t i, main_frame, backward, step;

	builder_open(&m, path, 900, -1);
	main_frame = builder_python(&m, 0, "main", "/home/me/train.py", 9);
	backward = builder_python(&m, main_frame, "backward", "/home/me/train.py", 42);
	step = builder_python(&m, main_frame, "step", "/home/me/train.py", 43);
	m.stack = 0;
	for (i = 0; i < 3 * WEIGHTS; i++)
		builder_tensor_alloc(&m, tensor_at(WEIGHT, i), MIB);
	builder_phase(&m, "backward");
	m.stack = backward;
	for (i = 0; i < WEIGHTS; i++)
		builder_tensor_alloc(&m, tensor_at(GRADIENT, i), MIB);
	builder_phase_end(&m);
	builder_phase(&m, "optimizer");
	m.stack = step;
	for (i = 0; i < 2 * WEIGHTS; i++) {
		builder_tensor_alloc(&m, tensor_at(STATE, i), MIB);
		builder_tensor_free(&m, tensor_at(WEIGHT, WEIGHTS + i), MIB);
	}
	builder_phase_end(&m);
	builder_step(&m, 1);
	builder_close(&m);
}

static uint64_t live_bytes(const struct model *model, int64_t time, enum mt_category category)
{
	struct liveset live = { 0 };
	uint64_t bytes = 0;
	uint32_t i;

	CHECK_EQ(liveset_at(&live, model, model_events_at(model, UINT32_MAX, time), NULL, 0, LIVESET_SORT_BYTES), 0);
	for (i = 0; i < live.rows; i++)
		bytes += live.row[i].category == category ? live.row[i].bytes : 0;
	liveset_release(&live);
	return bytes;
}

/* One site turns out to be two when all is read: what the chart has of it, too. */
TEST(a_site_of_weights_and_of_optimizer_state)
{
	char path[] = "replaced.zst", *paths[] = { path };
	const struct model *model;
	struct run run;
	uint32_t i, found = 0;

	write_replaced_state(path);
	read_run(&run, paths, 1);
	check_run(&run);
	model = &run.model;
	CHECK_EQ(model->device[0].peak, (4 * WEIGHTS + 1) * MIB);
	CHECK_EQ(live_bytes(model, model->device[0].peak_time, MT_CATEGORY_WEIGHTS), WEIGHTS * MIB);
	CHECK_EQ(live_bytes(model, model->device[0].peak_time, MT_CATEGORY_OPTIMIZER_STATE), (2 * WEIGHTS + 1) * MIB);
	CHECK_EQ(live_bytes(model, model->last_time, MT_CATEGORY_WEIGHTS), WEIGHTS * MIB);
	for (i = 1; i < model->sites; i++) {
		if (model->site[i].stack)
			continue;
		CHECK_EQ(model->site[i].most,
			 model->site[i].category == MT_CATEGORY_WEIGHTS ? WEIGHTS * MIB : 2 * WEIGHTS * MIB);
		found++;
	}
	CHECK_EQ(found, 2);
	close_run(&run);
}

/* Reads all traces in the working directory. */
static void check_traces_here(void)
{
	struct run run;
	glob_t found;

	CHECK_EQ(glob("*.zst", 0, NULL, &found), 0);
	read_run(&run, found.gl_pathv, (uint32_t)found.gl_pathc);
	check_run(&run);
	CHECK(run.model.devices && run.model.device[0].peak > 0);
	close_run(&run);
	globfree(&found);
}

/* The stories of tests/cases, each in a folder of its own. */
TEST(the_cases_add_up)
{
	const char *build = getenv("BUILD"), *tree = getenv("SRC");
	char pattern[4096], command[16384], *name;
	glob_t cases;
	size_t i;

	if (!build || !tree)
		SKIP("BUILD and SRC do not say where the cases are");
	snprintf(pattern, sizeof(pattern), "%s/tests/cases/*.case", tree);
	CHECK_EQ(glob(pattern, 0, NULL, &cases), 0);
	for (i = 0; i < cases.gl_pathc; i++) {
		name = basename(cases.gl_pathv[i]);
		CHECK_EQ(mkdir(name, 0777), 0);
		snprintf(command, sizeof(command), "'%s/cases/make_case' '%s' '%s'", build, cases.gl_pathv[i], name);
		CHECK_EQ(system(command), 0);
		CHECK_EQ(chdir(name), 0);
		check_traces_here();
		CHECK_EQ(chdir(".."), 0);
	}
	CHECK(cases.gl_pathc > 0);
	globfree(&cases);
}

/* The sample program on the stand-in GPU: segments, pools, virtual memory, an error. */
TEST(the_sample_run_adds_up)
{
	char self[4096] = "", path[] = "rl_step.zst", *paths[] = { path }, command[16384];
	const char *build;
	struct run run;
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CHECK(size > 0);
	build = dirname(dirname(dirname(self)));
	snprintf(command, sizeof(command), "%s/memrec", build);
	if (access(command, X_OK))
		SKIP("memrec is not built");
	snprintf(command, sizeof(command),
		 "LD_LIBRARY_PATH=%s/standin STANDIN_MEM=80GiB '%s/memrec' --steps 3 -o %s -- '%s/samples/rl_step' "
		 ">rl_step.log 2>&1",
		 build, build, path, build);
	CHECK_EQ(system(command), 0);
	read_run(&run, paths, 1);
	check_run(&run);
	CHECK_EQ(run.model.steps, 3);
	CHECK(run.model.events > 1000);
	CHECK(run.model.device[0].peak > 40ull << 30);
	CHECK(strstr(run.model.verdict, "% of it is probably activations"));
	close_run(&run);
}

/* ---- what can go wrong ------------------------------------------------------------------------------------------- */

/* Turns a byte of chunk `number` of the events over. */
static void damage(const char *path, uint32_t number)
{
	const struct mt_chunk_info *chunk;
	struct mt_reader *reader;
	uint32_t count, i;
	off_t offset = 0;
	uint8_t byte;
	int file;

	CHECK_EQ(mt_reader_open(&reader, path), 0);
	chunk = mt_reader_chunks(reader, &count);
	for (i = 0; i < count && !offset; i++)
		if (chunk[i].kind == MT_CHUNK_EVENTS && !number--)
			offset = (off_t)(chunk[i].offset + chunk[i].size / 2);
	mt_reader_free(reader);
	CHECK(offset > 0);
	file = open(path, O_RDWR);
	CHECK(file >= 0);
	CHECK_EQ(pread(file, &byte, 1, offset), 1);
	byte ^= 0x55;
	CHECK_EQ(pwrite(file, &byte, 1, offset), 1);
	close(file);
}

TEST(a_damaged_trace_shows_what_is_good)
{
	char path[] = "damaged.zst", *paths[] = { path };
	struct run run;

	write_random(path, 300, 5, 20000, 1);
	damage(path, 4);
	read_run(&run, paths, 1);
	CHECK(strstr(run.model.trouble, "damaged.zst: "));
	CHECK(strstr(run.model.trouble, " at byte "));
	CHECK(strstr(run.model.trouble, " events missing, everything else is shown)"));
	CHECK(run.model.lost > 0);
	CHECK(strstr(run.model.verdict, "Peak at least "));
	run.model.trouble[0] = '\0';
	check_run(&run);
	close_run(&run);

	write_random(path, 300, 5, 20000, 0);
	damage(path, 0);
	read_run(&run, paths, 1);
	CHECK(strstr(run.model.trouble, " events missing, everything else is shown)"));
	CHECK(run.model.lost > 0);
	CHECK_EQ(run.model.state, MODEL_READ);
	CHECK_EQ(run.model.error, 0);
	close_run(&run);
}

/* The peak is the last event before a gap: what stands for the missing events must not swallow it. */
TEST(a_peak_right_before_a_gap)
{
	char path[] = "gap.zst", *paths[] = { path };
	struct run run;
	struct builder m;
	int i;

	open_with_checkpoints(&m, path, 800);
	for (i = 0; i < 999; i++)
		builder_tensor_alloc(&m, SEGMENT + (uint64_t)i * MIB, 512);
	builder_tensor_alloc(&m, 2 * SEGMENT, 100 * MIB);
	builder_tensor_free(&m, 2 * SEGMENT, 100 * MIB);
	for (i = 0; i < 6000; i++) {
		builder_tensor_alloc(&m, 3 * SEGMENT, 512);
		builder_tensor_free(&m, 3 * SEGMENT, 512);
	}
	builder_close(&m);
	damage(path, 1);
	read_run(&run, paths, 1);
	CHECK(strstr(run.model.trouble, "everything else is shown"));
	run.model.trouble[0] = '\0';
	check_run(&run);
	CHECK_EQ(run.model.device[0].peak, 100 * MIB + 999 * 512);
	close_run(&run);
}

TEST(reading_ends_when_the_screen_does)
{
	char path[] = "long.zst", *paths[] = { path };
	struct run run;

	write_random(path, 400, 9, 300000, 0);
	open_run(&run, paths, 1);
	run.model.stop = 1;
	CHECK_EQ(feed_new(&run.feed, &run.model, &run.source), 0);
	feed_wait(run.feed);
	CHECK_EQ(run.model.state, MODEL_FAILED);
	CHECK_EQ(run.model.error, 0);
	CHECK(run.model.events < 300000);
	CHECK(run.model.bytes_read < run.model.bytes_total);
	CHECK(feed_summary(run.feed) == NULL);
	close_run(&run);
	/* In the middle of it, wherever that is. */
	open_run(&run, paths, 1);
	CHECK_EQ(feed_new(&run.feed, &run.model, &run.source), 0);
	close_run(&run);
}

/* Every change is two events and the first one is one: the block that there is no room for begins inside a change. */
TEST(a_full_disk_ends_reading_and_keeps_what_was_read)
{
	struct rlimit limit = { .rlim_cur = 2 << 20, .rlim_max = 2 << 20 };
	char path[] = "long.zst", *paths[] = { path };
	struct run run;
	struct builder m;
	int i;

	builder_open(&m, path, 500, -1);
	builder_driver_alloc(&m, SEGMENT, 64 * MIB);
	for (i = 0; i < 40000; i++) {
		builder_tensor_alloc(&m, SEGMENT, 512);
		builder_tensor_free(&m, SEGMENT, 512);
	}
	builder_close(&m);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	setenv("TMPDIR", ".", 1);
	read_run(&run, paths, 1);
	CHECK_EQ(run.model.state, MODEL_FAILED);
	CHECK_EQ(run.model.error, -MT_E_SYSTEM);
	CHECK(strstr(run.model.trouble, ".: File too large (TMPDIR names another folder"));
	CHECK(tape_count(run.model.tape) == TAPE_BLOCK);
	CHECK(run.model.events < TAPE_BLOCK && run.model.events > TAPE_BLOCK - 4);
	check_sites(&run.model);
	CHECK(run.model.sites > 1);
	CHECK(feed_summary(run.feed) == NULL);
	close_run(&run);
}

TEST(nothing_in_a_trace_is_nothing_on_the_screen)
{
	char path[] = "empty.zst", *paths[] = { path };
	struct run run;
	struct builder m;

	builder_open(&m, path, 600, -1);
	builder_close(&m);
	read_run(&run, paths, 1);
	check_run(&run);
	CHECK_EQ(run.model.events, 0);
	CHECK_STR(run.model.verdict, PEAK_VERDICT_NONE);
	CHECK_STR(run.model.unended, "");
	close_run(&run);
}

/* The run is not complete, and the screen says so of the trace. */
static void check_unended(struct run *run)
{
	CHECK_EQ(run->model.state, MODEL_READ);
	CHECK(*run->model.verdict);
	CHECK(strstr(run->model.unended, "cut.zst ends at "));
	CHECK_STR(run->model.trouble, "");
}

static void load_file(const struct source *source, const char *path)
{
	struct analysis analysis = { 0 };
	struct db *db;

	CHECK_EQ(db_create(&db, path, schema_sql), 0);
	CHECK_EQ(load_run(db, &analysis, source->input, source->inputs, source->rules, LOAD_TIMELINE), 0);
	CHECK_EQ(db_commit(db), 0);
	db_close(db);
	analysis_release(&analysis);
}

/* Trace and database of a trace that ends in its head, between chunks, in the middle of one. */
TEST(a_trace_without_its_end_is_told_of)
{
	char path[] = "cut.zst", file[] = "cut.db", *trace[] = { path }, *database[] = { file };
	struct run run, loaded;
	struct stat st;
	off_t size;

	write_random(path, 300, 5, 3000, 1);
	CHECK(!stat(path, &st));
	for (size = st.st_size / 2; size > 900; size /= 2) {
		CHECK(!truncate(path, size));
		read_run(&run, trace, 1);
		check_unended(&run);
		close_run(&run);
		open_run(&run, trace, 1);
		unlink(file);
		load_file(&run.source, file);
		memset(&loaded, 0, sizeof(loaded));
		CHECK_EQ(source_open(&loaded.source, database, 1), 0);
		CHECK_EQ(model_init(&loaded.model), 0);
		CHECK_EQ(feed_new(&loaded.feed, &loaded.model, &loaded.source), 0);
		feed_wait(loaded.feed);
		check_unended(&loaded);
		close_run(&loaded);
		close_run(&run);
	}
}

/* ---- the first picture of a long run ---- */

/* The most bytes of the device on the tape, by complete changes. */
static uint64_t most_of(const struct model *model, uint32_t device)
{
	uint64_t held = 0, most = 0, i;
	const struct tape_event *event;
	uint32_t run;

	for (i = 0; i < model->events; i++) {
		event = tape_at(model->tape, i, &run);
		held += model->site[TAPE_SITE((uint32_t)event->cell)].device == device ? (uint64_t)event->bytes : 0;
		most = !event->more && held > most ? held : most;
	}
	return most;
}

static void check_outline(const char *path)
{
	char *paths[] = { (char *)path };
	struct analysis analysis = { 0 };
	struct run first, whole;
	uint32_t i;

	open_run(&first, paths, 1);
	CHECK_EQ(model_add_process(&first.model, &(struct model_process){ .file = path }), 0);
	CHECK_EQ(feed_facts(&first.model, &analysis, first.source.input, 1, first.source.rules), 1);
	read_run(&whole, paths, 1);
	CHECK(first.model.outlined && !whole.model.outlined);
	CHECK_EQ(whole.model.state, MODEL_READ);
	CHECK_EQ(first.model.spans, whole.model.spans);
	CHECK_EQ(first.model.steps, whole.model.steps);
	CHECK_EQ(first.model.sites, whole.model.sites);
	CHECK_EQ(first.model.last_time, whole.model.last_time);
	for (i = 1; i < first.model.sites; i++)
		CHECK_EQ(first.model.site[i].category, whole.model.site[i].category);
	for (i = 0; i < first.model.devices; i++) {
		CHECK_EQ(most_of(&first.model, i), most_of(&whole.model, i));
		CHECK_EQ(most_of(&first.model, i), first.model.device[i].peak);
		CHECK_EQ(first.model.device[i].peak, whole.model.device[i].peak);
	}
	analysis_release(&analysis);
	close_run(&whole);
	close_run(&first);
}

TEST(facts_are_the_first_picture)
{
	static const char *const names[] = { "v1-kinds", "v1-census", "v1-run", "v1-keep" };
	char from[4096];
	const char *path;
	uint8_t *bytes;
	size_t i, size, sealed = 0;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++) {
		snprintf(from, sizeof(from), "%s/tests/golden/%s.zst", getenv("SRC") ? getenv("SRC") : ".", names[i]);
		path = kit_path("outlined.zst");
		bytes = kit_load(from, &size);
		kit_save(path, bytes, size);
		free(bytes);
		if (!facts_kit_seal(path))
			continue;
		sealed++;
		check_outline(path);
	}
	CHECK(sealed > 1);
}

TEST_MAIN()
