/*
 * Every byte has one owner, at every event: random runs of several processes that share two GPUs, with everything
 * that the driver can do, stopped after each of their events. The analyzer's bytes for each place of each process
 * must be those of ledger_model.h, to the byte, and add up to the GPU's bytes.
 */
#include "engine/analysis.h"
#include "ledger_model.h"
#include "memtrace/base.h"
#include "test.h"
#include "trace_builder.h"

#define RUNS 10
#define EVENTS 110
#define PROCESSES 3
#define GPUS 2
#define STACKS 3
#define PHASES 4
#define UNIT 16ull
#define UNITS 48

static const char *const words[PHASES] = { "rollout", "forward", "optimizer", "weight-update" };
static const uint8_t phases[PHASES] = { MT_PHASE_ROLLOUT, MT_PHASE_FORWARD, MT_PHASE_OPTIMIZER,
					MT_PHASE_WEIGHT_UPDATE };

/* One event of the run, and the place that its bytes are of. */
struct step {
	uint32_t process, stack, phase;
	struct mt_event event; /* kind 0: the process goes on to `phase` */
};

struct bytes {
	uint64_t tensors, driver, slack; /* slack: driver memory in which tensors have been */
};

/* Held bytes, by place. */
struct held {
	struct bytes by[GPUS][PROCESSES][STACKS][PHASES];
	uint64_t gpu[GPUS];
};

static struct step run[EVENTS];
static struct model model[PROCESSES];
static struct held want, got;
static char paths[PROCESSES][300];

/* ---- the run --------------------------------------------------------------------------------------------------- */

/* The second GPU has another number in each process. */
static uint32_t second_gpu(uint32_t process)
{
	return 3 + process;
}

static uint32_t gpu_of(uint32_t device)
{
	return device != 1;
}

static struct mt_event random_event(uint32_t process)
{
	static const uint32_t kinds[] = { MT_TENSOR_ALLOC, MT_TENSOR_ALLOC, MT_TENSOR_ALLOC, MT_TENSOR_FREE,
					  MT_DRIVER_ALLOC, MT_DRIVER_ALLOC, MT_DRIVER_FREE,  MT_DRIVER_KEEP,
					  MT_VMM_CREATE,   MT_VMM_CREATE,   MT_VMM_RELEASE,  MT_VMM_RETAIN,
					  MT_VMM_MAP,      MT_VMM_MAP,      MT_VMM_MAP,      MT_VMM_UNMAP,
					  MT_CONTEXT_GONE };
	static const uint32_t spaces[] = { MT_SPACE_DEVICE,  MT_SPACE_DEVICE,   MT_SPACE_DEVICE, MT_SPACE_ASYNC,
					   MT_SPACE_MANAGED, MT_SPACE_PINNED,   MT_SPACE_ARRAY,  MT_SPACE_IMPORTED,
					   MT_SPACE_GRAPH,   MT_SPACE_MULTICAST };
	struct mt_event event = { .kind = kinds[(size_t)random() % MT_ARRAY_SIZE(kinds)] };

	event.device = random() % 5 ? 1 : second_gpu(process);
	event.addr = (1 + (uint64_t)random() % UNITS) * UNIT;
	event.handle = (1 + (uint64_t)random() % 6) * UNIT;
	event.size = (1 + (uint64_t)random() % 8) * UNIT;
	if (event.kind == MT_DRIVER_ALLOC || event.kind == MT_VMM_CREATE) {
		event.flags = spaces[(size_t)random() % MT_ARRAY_SIZE(spaces)];
		event.size *= 2;
	}
	return event;
}

static void make_run(void)
{
	uint32_t phase[PROCESSES] = { 0 };
	struct step *step;
	uint32_t i;

	for (i = 0; i < EVENTS; i++) {
		step = &run[i];
		memset(step, 0, sizeof(*step));
		step->process = (uint32_t)random() % PROCESSES;
		step->stack = (uint32_t)random() % STACKS;
		if (random() % 10)
			step->event = random_event(step->process);
		else
			phase[step->process] = (uint32_t)random() % PHASES;
		step->phase = phase[step->process];
	}
}

/* ---- what it must say ------------------------------------------------------------------------------------------ */

static struct bytes *place(struct held *held, uint32_t process, uint32_t device, uint64_t tag)
{
	return &held->by[gpu_of(device)][process][run[tag].stack][run[tag].phase];
}

static void want_of(uint32_t process)
{
	const struct model *m = &model[process];
	const struct m_tensor *tensor;
	struct bytes *bytes;
	uint64_t size;
	int i;

	for (i = 0; i < m->memories; i++) {
		if (!m->memory[i].alive || m_is_host(&m->memory[i]))
			continue;
		bytes = place(&want, process, m->memory[i].device, m->memory[i].tag);
		*(m->memory[i].seen ? &bytes->slack : &bytes->driver) += m_capacity(&m->memory[i]) - m_used(m, i);
		want.gpu[gpu_of(m->memory[i].device)] += m_capacity(&m->memory[i]);
	}
	for (i = 0; i < m->tensors; i++) {
		tensor = &m->tensor[i];
		if (!tensor->alive)
			continue;
		size = tensor->own + m_inside(m, i);
		place(&want, process, tensor->device, tensor->tag)->tensors += size;
		want.gpu[gpu_of(tensor->device)] += tensor->own;
	}
}

static void make_want(void)
{
	uint32_t i;

	memset(&want, 0, sizeof(want));
	for (i = 0; i < PROCESSES; i++)
		want_of(i);
}

/* ---- what it says ---------------------------------------------------------------------------------------------- */

/* The traces of the run's first `count` events. */
static void write_run(uint32_t count)
{
	static struct builder builder[PROCESSES];
	uint32_t i, p, stacks[PROCESSES][STACKS];

	for (p = 0; p < PROCESSES; p++) {
		builder_open(&builder[p], paths[p], 100 + p, (int)p);
		for (i = 1; i <= p; i++)
			builder_device(&builder[p], MT_DEVICE_CUDA, 10 + i, "not used", "", 0);
		CHECK_EQ(builder_device(&builder[p], MT_DEVICE_CUDA, 1, "Test GPU", "GPU-0001", 1024 * MIB),
			 second_gpu(p));
		for (i = 0; i < STACKS; i++)
			stacks[p][i] = builder_python(&builder[p], 0, "f", "/home/me/x.py", i + 1);
		builder_phase(&builder[p], words[0]);
	}
	for (i = 0; i < count; i++) {
		p = run[i].process;
		builder[p].time = BUILDER_START + 10000 * (uint64_t)(i + 1);
		run[i].event.stack = stacks[p][run[i].stack];
		if (run[i].event.kind) {
			builder_event(&builder[p], run[i].event);
		} else {
			builder_phase_end(&builder[p]);
			builder_phase(&builder[p], words[run[i].phase]);
		}
	}
	for (p = 0; p < PROCESSES; p++)
		builder_close(&builder[p]);
}

static int number_of_phase(uint8_t phase)
{
	int i;

	for (i = 0; i < PHASES && phases[i] != phase; i++)
		;
	CHECK(i < PHASES);
	return i;
}

/* The line of a stack is its number. */
static uint32_t number_of_stack(const struct mt_defs *defs, uint32_t stack)
{
	return mt_defs_frame(defs, mt_defs_node(defs, stack)->frame)->line - 1;
}

static int number_of_gpu(const struct analysis_device *device)
{
	const char *uuid = device->uuid ? device->uuid : "";

	return !strcmp(uuid, "GPU-0000") ? 0 : !strcmp(uuid, "GPU-0001") ? 1 : -1;
}

static void got_site(const struct analysis *analysis, const struct site *site)
{
	const struct site_key *key = &site->key;
	int gpu = number_of_gpu(&analysis->device[key->device]);
	struct bytes *bytes;

	if (!site->now.plain && !site->now.slack)
		return;
	CHECK(gpu >= 0);
	bytes = &got.by[gpu][key->process][number_of_stack(analysis->process[key->process].defs, key->stack)]
		       [number_of_phase(key->phase)];
	*(key->driver ? &bytes->driver : &bytes->tensors) += site->now.plain;
	bytes->slack += site->now.slack;
}

static void make_got(const struct analysis *analysis, uint64_t peak[GPUS])
{
	uint32_t i;
	int gpu;

	memset(&got, 0, sizeof(got));
	for (i = 1; i < analysis->attribution.sites; i++)
		got_site(analysis, &analysis->attribution.site[i]);
	for (i = 0; i < analysis->devices; i++) {
		gpu = number_of_gpu(&analysis->device[i]);
		if (gpu < 0) {
			CHECK_EQ(analysis->attribution.device[i].held, 0);
			continue;
		}
		got.gpu[gpu] = analysis->attribution.device[i].held;
		peak[gpu] = analysis->device[i].peak.bytes;
	}
}

/* ---- and whether that is the same ------------------------------------------------------------------------------ */

static uint64_t sum_of(const struct held *held, int gpu)
{
	const struct bytes *bytes = &held->by[gpu][0][0][0];
	uint64_t sum = 0;
	int i;

	for (i = 0; i < PROCESSES * STACKS * PHASES; i++)
		sum += bytes[i].tensors + bytes[i].driver + bytes[i].slack;
	return sum;
}

static void compare(const uint64_t peak[GPUS], const uint64_t peak_wanted[GPUS])
{
	const struct bytes *one = &got.by[0][0][0][0], *two = &want.by[0][0][0][0];
	int i;

	for (i = 0; i < GPUS * PROCESSES * STACKS * PHASES; i++) {
		CHECK_EQ(one[i].tensors, two[i].tensors);
		CHECK_EQ(one[i].slack, two[i].slack);
		CHECK_EQ(one[i].driver, two[i].driver);
	}
	for (i = 0; i < GPUS; i++) {
		CHECK_EQ(got.gpu[i], want.gpu[i]);
		CHECK_EQ(got.gpu[i], sum_of(&got, i));
		CHECK_EQ(peak[i], peak_wanted[i]);
	}
}

static void analyze(const struct mt_rules *rules, uint32_t count, const uint64_t peak_wanted[GPUS])
{
	struct analysis_input input[PROCESSES];
	uint64_t peak[GPUS] = { 0 };
	struct analysis analysis;
	uint32_t p;

	write_run(count);
	for (p = 0; p < PROCESSES; p++) {
		input[p] = (struct analysis_input){ .file = paths[p], .running = 1 };
		CHECK_EQ(mt_reader_open(&input[p].reader, paths[p]), 0);
	}
	CHECK_EQ(analysis_run(&analysis, input, PROCESSES, rules, NULL), 0);
	for (p = 0; p < PROCESSES; p++)
		CHECK(analysis.process[p].balanced);
	make_got(&analysis, peak);
	compare(peak, peak_wanted);
	analysis_release(&analysis);
	for (p = 0; p < PROCESSES; p++)
		mt_reader_free(input[p].reader);
}

TEST(every_byte_has_one_owner_at_every_event)
{
	const char *folder = test_dir();
	uint64_t peak[GPUS];
	uint32_t seed, i, gpu;
	struct mt_rules *rules;
	char message[512];

	CHECK_EQ(mt_rules_new(&rules, message, sizeof(message)), 0);
	for (i = 0; i < PROCESSES; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%u.zst", folder, i);
	for (seed = 1; seed <= RUNS; seed++) {
		srandom(seed);
		printf("# run %u\n", seed);
		make_run();
		memset(model, 0, sizeof(model));
		memset(peak, 0, sizeof(peak));
		for (i = 0; i < EVENTS; i++) {
			m_event(&model[run[i].process], &run[i].event, i);
			make_want();
			for (gpu = 0; gpu < GPUS; gpu++)
				peak[gpu] = want.gpu[gpu] > peak[gpu] ? want.gpu[gpu] : peak[gpu];
			analyze(rules, i + 1, peak);
		}
	}
	mt_rules_free(rules);
}

TEST_MAIN()
