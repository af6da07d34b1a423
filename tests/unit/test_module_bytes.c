/*
 * test_module_bytes.c - the peak by module, of generated trainings whose truth is counted on the way: which module's weights,
 * gradients, states and activations were there when a spike made the peak.
 */
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/module_lines.h"
#include "run_kit.h"
#include "trace_builder.h"

#define LAYERS 5
#define PARAMETERS (2 * LAYERS) /* fc1 and fc2 of each layer, of one size */
#define WEIGHT (1 * MIB)
#define ACTIVATION (3 * MIB)
#define SPIKE (200 * MIB)
#define HEAD 5352 /* bytes before the weights in their file */
#define MODEL "Net#1"

/* The spike's place in its step. */
enum spike_moment { IN_FORWARD, IN_BACKWARD, AFTER_BACKWARD, IN_OPTIMIZER, MOMENTS };

struct options {
	enum spike_moment moment;
	uint32_t spike_step;
	int keeps_gradients; /* the program never sets gradients to none */
	int skips;   /* in the spike's step one parameter has no gradient, and at the census another one had none */
	int is_flat; /* one block holds the head of a file, and all weights */
	int is_unit; /* one block holds the gradients of a layer */
	int wraps;   /* names of parameters have those of wrappers */
	int tells;   /* modules have names */
	int fails;   /* the spike is refused */
	int calls;   /* each layer has a dropout and a softmax of its own, of 2 and 1 MiB */
	int loses;   /* step 2: the free of layers.0's states is in a gap, and as many bytes come from the same stack */
	uint32_t leaks;      /* layers that keep 2 MiB of each step */
	uint32_t steps;      /* 0: 4 */
	uint64_t activation; /* bytes; 0: ACTIVATION */
};

struct training {
	struct builder m;
	struct options is;
	uint32_t step, out, call[LAYERS], softmax[LAYERS], dropout[LAYERS], backward, init, optimizer;
	uint64_t next, weight[PARAMETERS], gradient[PARAMETERS], state[PARAMETERS], activation[LAYERS];
	struct truth {
		uint64_t weights, gradients, states, activations;
	} truth[LAYERS]; /* by layer */
	int spiked;
};

static uint64_t take(struct training *t, uint32_t stack, uint64_t size)
{
	uint64_t address = t->next;

	t->next += (size + 0xfff) & ~0xfffull;
	t->m.stack = stack;
	builder_tensor_alloc(&t->m, address, size);
	return address;
}

static void drop(struct training *t, uint64_t *address, uint64_t size)
{
	if (*address)
		builder_tensor_free(&t->m, *address, size);
	*address = 0;
}

static uint64_t activation(const struct training *t)
{
	return t->is.activation ? t->is.activation : ACTIVATION;
}

static void spike(struct training *t)
{
	uint64_t address;
	uint32_t i;

	address = take(t, t->out, SPIKE);
	for (i = 0; i < PARAMETERS; i++) {
		t->truth[i / 2].weights += t->weight[i] ? WEIGHT : 0;
		t->truth[i / 2].gradients += t->gradient[i] ? WEIGHT : 0;
		t->truth[i / 2].states += t->state[i] ? WEIGHT : 0;
		t->truth[i / 2].activations += i % 2 && t->activation[i / 2] ? activation(t) : 0;
	}
	drop(t, &address, SPIKE);
	t->spiked = 1;
	t->m.stack = t->call[LAYERS / 2];
	if (t->is.fails)
		builder_event(&t->m, (struct mt_event){ .kind = MT_TENSOR_OOM,
							.device = t->m.device,
							.stack = t->m.stack,
							.size = 2 * SPIKE });
}

static int is_time(const struct training *t, enum spike_moment moment)
{
	return t->step == t->is.spike_step && t->is.moment == moment;
}

static void tell(struct training *t, uint32_t what, uint32_t parameter, uint64_t address, const char *optimizer,
		 const char *state)
{
	char name[128], text[256];

	snprintf(name, sizeof(name), "%slayers.%u.%sfc%u.weight", t->is.wraps ? "module._orig_mod." : "", parameter / 2,
		 t->is.wraps ? "_checkpoint_wrapped_module." : "", parameter % 2 + 1);
	snprintf(text, sizeof(text), "float32 512x512 512x512 Linear %s %s " MODEL, optimizer, state);
	if (address)
		builder_event(&t->m, (struct mt_event){ .kind = MT_CENSUS,
							.device = t->m.device,
							.addr = address,
							.size = WEIGHT,
							.name = builder_string(&t->m, name),
							.value = builder_string(&t->m, text),
							.flags = what | 1 << MT_CENSUS_NUMBER_SHIFT });
}

static void take_census(struct training *t)
{
	uint32_t i;

	for (i = 0; i < PARAMETERS; i++) {
		tell(t, MT_CENSUS_WEIGHT, i, t->weight[i], "AdamW#1", "-");
		tell(t, MT_CENSUS_GRADIENT, i, t->gradient[i], "AdamW#1", "-");
		tell(t, MT_CENSUS_STATE, i, t->state[i], "AdamW#1", "exp_avg");
	}
}

static void tell_name(struct training *t, uint64_t address, const char *name, uint64_t count)
{
	builder_event(&t->m, (struct mt_event){ .kind = MT_INSTANCE_NAME,
						.addr = address,
						.size = count,
						.name = builder_string(&t->m, name),
						.value = builder_string(&t->m, MODEL),
						.flags = 1 });
}

static void tell_names(struct training *t)
{
	char name[32];
	uint32_t i;

	tell_name(t, 0x1000, "", 0);
	for (i = 0; i < LAYERS; i++) {
		snprintf(name, sizeof(name), "layers.%u", i);
		tell_name(t, 0x2000 + i, name, 0);
	}
	tell_name(t, 0, "", LAYERS + 1);
}

/* A node of the call of an instance. */
static uint32_t call(struct training *t, uint32_t parent, uint32_t nest)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = 10 };

	frame.function = builder_string(&t->m, "_call_impl");
	frame.file = builder_string(&t->m, "/usr/lib/torch/nn/modules/module.py");
	return mt_defs_add_node_in(t->m.defs, parent, mt_defs_add_frame(t->m.defs, &frame), nest);
}

static void make_stacks(struct training *t)
{
	struct mt_defs *defs = t->m.defs;
	uint32_t top = builder_python(&t->m, 0, "main", "/home/me/train.py", 50), model, nest, i;

	t->init = builder_python(&t->m, top, "build", "/home/me/train.py", 5);
	t->out = builder_python(&t->m, top, "work", "/home/me/train.py", 6);
	t->backward = builder_python(&t->m, top, "backward", "/home/me/train.py", 7);
	t->optimizer = builder_python(&t->m, top, "step", "/home/me/train.py", 8);
	nest = mt_defs_add_nest(defs, 0, mt_defs_add_instance(defs, 0x1000, builder_string(&t->m, "Net")));
	model = call(t, top, nest);
	for (i = 0; i < LAYERS; i++) {
		t->call[i] = call(t, model,
				  mt_defs_add_nest(defs, nest,
						   mt_defs_add_instance(defs, 0x2000 + i,
									builder_string(&t->m, "Layer"))));
		t->call[i] = builder_python(&t->m, t->call[i], "forward", "/home/me/layer.py", 3);
		t->softmax[i] = builder_python(&t->m, t->call[i], "softmax", "/usr/lib/torch/nn/functional.py", 1841);
		t->dropout[i] = builder_python(&t->m, t->call[i], "dropout", "/usr/lib/torch/nn/functional.py", 1252);
	}
}

static void forward(struct training *t)
{
	uint32_t i;

	builder_phase(&t->m, "forward");
	for (i = 0; i < LAYERS; i++) {
		t->activation[i] = take(t, t->call[i], activation(t));
		if (t->is.calls) {
			take(t, t->dropout[i], 2 * MIB);
			take(t, t->softmax[i], MIB);
		}
		if (i < t->is.leaks)
			take(t, t->call[i], 2 * MIB);
		if (i == LAYERS / 2 && is_time(t, IN_FORWARD))
			spike(t);
	}
	builder_phase_end(&t->m);
}

static void take_gradient(struct training *t, uint32_t n)
{
	if (!t->is.is_unit) {
		t->gradient[n] = take(t, t->backward, WEIGHT);
		return;
	}
	t->gradient[n - 1] = take(t, t->backward, 2 * WEIGHT); /* fc1's and fc2's: n is odd */
	t->gradient[n] = t->gradient[n - 1] + WEIGHT;
}

static void drop_gradients(struct training *t)
{
	uint32_t i;

	for (i = 0; i < PARAMETERS; i++)
		if (!t->is.is_unit)
			drop(t, &t->gradient[i], WEIGHT);
		else if (i % 2 == 0)
			drop(t, &t->gradient[i], 2 * WEIGHT);
		else
			t->gradient[i] = 0;
}

/* From the last layer to the first. A temporary of the same size comes before each gradient. */
static void backward(struct training *t)
{
	uint64_t passing;
	uint32_t i, n;

	builder_phase(&t->m, "backward");
	for (i = 0; i < PARAMETERS; i++) {
		n = PARAMETERS - 1 - i;
		passing = take(t, t->backward, WEIGHT);
		if (!t->gradient[n] &&
		    !(t->is.skips && ((t->step == 1 && n == 2) || (t->step == t->is.spike_step && n == 4))))
			take_gradient(t, n);
		if (i == 4 && is_time(t, IN_BACKWARD))
			spike(t);
		drop(t, &passing, WEIGHT);
		if (n % 2 == 0)
			drop(t, &t->activation[n / 2], activation(t));
	}
	builder_phase_end(&t->m);
	if (is_time(t, AFTER_BACKWARD))
		spike(t);
}

static void lose_states(struct training *t)
{
	struct mt_event event = { .kind = MT_TENSOR_FREE, .device = t->m.device, .size = WEIGHT };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		event.addr = t->state[i];
		event.seq = ++t->m.seq;
		event.time = t->m.time += 1000;
		t->m.total -= WEIGHT;
		t->state[i] = 0;
		CHECK_EQ(mt_writer_skip(t->m.writer, &event, 0, 0), 0);
	}
	for (i = 0; i < 2; i++)
		take(t, t->optimizer, WEIGHT);
}

static void update(struct training *t)
{
	uint32_t i;

	builder_phase(&t->m, "optimizer");
	for (i = 0; i < PARAMETERS && t->step == 1; i++)
		t->state[i] = take(t, t->optimizer, WEIGHT);
	if (t->is.loses && t->step == 2)
		lose_states(t);
	if (is_time(t, IN_OPTIMIZER))
		spike(t);
	builder_phase_end(&t->m);
	if (t->step == 1) {
		take_census(t);
		if (t->is.tells)
			tell_names(t);
	}
	builder_step(&t->m, t->step);
	if (!t->is.keeps_gradients)
		drop_gradients(t);
}

static void train(struct training *t, const char *path, const struct options *is)
{
	uint64_t flat;
	uint32_t i;

	*t = (struct training){ .is = *is, .next = 0x100000000ull };
	builder_open(&t->m, path, 100, -1);
	t->is = *is;
	t->next = 0x100000000ull;
	t->m.device = t->m.cpu;
	make_stacks(t);
	builder_phase(&t->m, "init");
	flat = is->is_flat ? take(t, t->init, HEAD + PARAMETERS * WEIGHT) : 0;
	for (i = 0; i < PARAMETERS; i++)
		t->weight[i] = is->is_flat ? flat + HEAD + i * WEIGHT : take(t, t->init, WEIGHT);
	builder_phase_end(&t->m);
	for (t->step = 1; t->step <= (is->steps ? is->steps : 4); t->step++) {
		forward(t);
		backward(t);
		update(t);
	}
	CHECK(t->spiked);
	builder_close(&t->m);
}

/* ---- the answer ---- */

static uint64_t ask(struct db *db, const char *condition)
{
	struct db_stmt *stmt;
	char sql[512];
	uint64_t bytes;

	snprintf(sql, sizeof(sql), "SELECT ifnull(sum(bytes), 0) FROM peak_module_site WHERE %s", condition);
	CHECK_EQ(db_prepare(db, &stmt, sql), 0);
	CHECK_EQ(db_step(stmt), 1);
	bytes = (uint64_t)db_int(stmt, 0);
	db_finish(stmt);
	return bytes;
}

/* Bytes of a kind in the layer and below, by its path. */
static uint64_t layer_bytes(struct db *db, uint32_t layer, const char *category)
{
	char condition[256];

	snprintf(condition, sizeof(condition), "category = '%s' AND (path = 'layers.%u' OR path LIKE 'layers.%u.%%')",
		 category, layer, layer);
	return ask(db, condition);
}

static void check_layers(struct run *run, const struct training *t)
{
	uint32_t i;

	for (i = 0; i < LAYERS; i++) {
		CHECK_EQ(layer_bytes(run->db, i, "weights"), t->truth[i].weights);
		CHECK_EQ(layer_bytes(run->db, i, "optimizer state"), t->truth[i].states);
		CHECK_EQ(layer_bytes(run->db, i, "gradients"), t->truth[i].gradients);
		CHECK_EQ(layer_bytes(run->db, i, "activations"), t->truth[i].activations);
	}
}

/* Each site's rows add up to the site's part of the peak. */
static void check_sums(struct run *run)
{
	struct db_stmt *stmt;

	CHECK_EQ(ask(run->db, "1"), run->analysis.device[0].used ? run->analysis.device[0].peak.bytes
								 : run->analysis.device[1].peak.bytes);
	CHECK_EQ(db_prepare(run->db, &stmt,
			    "SELECT count(*) FROM (SELECT site, sum(bytes) AS bytes FROM peak_module GROUP BY site) AS it "
			    "JOIN peak_part USING (site) WHERE it.bytes != peak_part.bytes"),
		 0);
	CHECK_EQ(db_step(stmt), 1);
	CHECK_EQ(db_int(stmt, 0), 0);
	db_finish(stmt);
}

static const char *path(void)
{
	return run_path(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", "module_bytes.zst");
}

static void check(const struct options *is, int everything)
{
	static struct training t;
	struct run run;

	train(&t, path(), is);
	run_open_one(&run, path(), everything);
	check_sums(&run);
	check_layers(&run, &t);
	CHECK(is->moment == IN_FORWARD || t.truth[LAYERS - 1].gradients == 2 * WEIGHT);
	if (is->moment != IN_FORWARD)
		CHECK_EQ(ask(run.db, "category = 'gradients' AND path = 'layers.4.fc1'"), WEIGHT);
	if (is->is_flat)
		CHECK_EQ(ask(run.db, "category = 'weights' AND submodule IS NULL"), HEAD);
	run_close(&run);
}

/* ---- lines ---- */

/* Each line has its own bytes and those of the lines below it; the outermost ones add up to the peak. */
static void check_lines(struct db *db, uint64_t peak, const char *name, int folds)
{
	struct module_lines modules;
	uint64_t *below, sum = 0;
	uint32_t i;

	CHECK_EQ(module_lines_load(&modules, db, 1, name, folds), 0);
	below = calloc(modules.lines + 1, sizeof(*below));
	for (i = 1; i < modules.lines; i++) {
		CHECK(modules.line[i].parent < i);
		sum += modules.line[i].parent ? 0 : modules.line[i].all.bytes;
		below[modules.line[i].parent] += modules.line[i].all.bytes;
	}
	for (i = 1; i < modules.lines; i++)
		CHECK_EQ(below[i] + modules.line[i].own.bytes, modules.line[i].all.bytes);
	CHECK(name || sum == peak);
	free(below);
	module_lines_release(&modules);
}

static const struct module_line *line_of(const struct module_lines *modules, const char *path)
{
	uint32_t i;

	for (i = 1; i < modules->lines; i++)
		if (!strcmp(modules->line[i].path, path))
			return &modules->line[i];
	return NULL;
}

TEST(lines)
{
	static struct training t;
	struct options is = { .tells = 1, .spike_step = 2, .moment = IN_BACKWARD };
	const struct module_line *layers, *fc;
	struct module_lines modules;
	struct run run;

	train(&t, path(), &is);
	run_open_one(&run, path(), 0);
	check_lines(run.db, run.analysis.device[0].peak.bytes, NULL, 1);
	check_lines(run.db, run.analysis.device[0].peak.bytes, NULL, 0);
	CHECK_EQ(module_lines_load(&modules, run.db, 1, NULL, 1), 0);
	layers = line_of(&modules, "layers.*");
	fc = line_of(&modules, "layers.*.fc1");
	CHECK(layers && fc && layers->repeats && layers->count == LAYERS && fc->count == LAYERS && !fc->repeats);
	CHECK(!strcmp(modules.row[layers->least].path, "layers.3")); /* its activation is gone, */
	CHECK(!strcmp(modules.row[layers->most].path, "layers.2"));  /* and that of this one is not yet */
	CHECK_EQ(layers->all.column[MODULE_COLUMN_WEIGHTS], PARAMETERS * WEIGHT);
	CHECK(modules.line[layers->parent].passes && modules.line[layers->parent].lines == 1);
	CHECK_EQ(layers->depth, 1);
	module_lines_release(&modules);
	CHECK_EQ(module_lines_load(&modules, run.db, 1, "layers.*", 1), 0);
	CHECK(line_of(&modules, "layers.3") && line_of(&modules, "layers.3.fc2") && modules.line[1].lines == LAYERS);
	module_lines_release(&modules);
	CHECK_EQ(module_lines_load(&modules, run.db, 1, "layers.9", 1), -MT_E_ARGUMENT);
	module_lines_release(&modules);
	run_close(&run);
}

TEST(bytes_of_layers_at_every_moment)
{
	struct options is = { .tells = 1 };

	for (is.spike_step = 1; is.spike_step <= 4; is.spike_step++)
		for (is.moment = 0; is.moment < MOMENTS; is.moment++)
			check(&is, is.spike_step == 3);
}

/* A parameter without a gradient: then the order of the others proves nothing. No layer gets what is not its own. */
TEST(gradients_that_are_left_out)
{
	static struct training t;
	struct options is = { .tells = 1, .skips = 1, .spike_step = 3 };
	uint64_t truth, found;
	struct run run;
	uint32_t i;

	for (is.moment = IN_BACKWARD; is.moment < MOMENTS; is.moment++) {
		train(&t, path(), &is);
		run_open_one(&run, path(), 0);
		check_sums(&run);
		for (i = 0, truth = found = 0; i < LAYERS; i++) {
			CHECK(layer_bytes(run.db, i, "gradients") <= t.truth[i].gradients);
			truth += t.truth[i].gradients;
			found += layer_bytes(run.db, i, "gradients");
		}
		CHECK(truth > found);
		CHECK_EQ(ask(run.db, "category = 'gradients' AND path = 'layers'"), truth - found);
		run_close(&run);
	}
}

TEST(modules_without_names)
{
	static struct training t;
	struct options is = { .spike_step = 2, .moment = IN_FORWARD };
	struct run run;

	train(&t, path(), &is);
	run_open_one(&run, path(), 1);
	check_sums(&run);
	CHECK_EQ(ask(run.db, "category = 'activations' AND path = 'Net > Layer 1'"), ACTIVATION);
	CHECK_EQ(ask(run.db, "category = 'activations' AND path LIKE 'Net > Layer %'"), (LAYERS / 2 + 1) * ACTIVATION);
	CHECK_EQ(ask(run.db, "category = 'weights' AND path LIKE 'layers.%'"), PARAMETERS * WEIGHT);
	run_close(&run);
}

TEST(gradients_that_stay)
{
	struct options is = { .tells = 1, .keeps_gradients = 1, .spike_step = 3 };

	for (is.moment = 0; is.moment < MOMENTS; is.moment++)
		check(&is, 0);
}

TEST(names_of_wrappers_and_one_block_for_all_weights)
{
	check(&(struct options){ .tells = 1, .wraps = 1, .spike_step = 3, .moment = AFTER_BACKWARD }, 0);
	check(&(struct options){ .tells = 1, .is_unit = 1, .spike_step = 3, .moment = AFTER_BACKWARD }, 0);
	check(&(struct options){ .tells = 1, .is_unit = 1, .spike_step = 3, .moment = IN_BACKWARD }, 1);
	check(&(struct options){ .tells = 1, .is_flat = 1, .spike_step = 3, .moment = IN_BACKWARD }, 0);
}

/* Memory that goes in a gap is of no module afterwards. */
TEST(states_that_go_in_a_gap)
{
	check(&(struct options){ .tells = 1, .loses = 1, .spike_step = 3, .moment = AFTER_BACKWARD }, 0);
	check(&(struct options){ .tells = 1, .loses = 1, .spike_step = 3, .moment = IN_BACKWARD }, 1);
}

/* For tests/cli/test_top_modules.sh: the peak in the backward pass of step 3, with names and without. */
static void write_all(const char *folder)
{
	static struct training t;

	train(&t, run_path(folder, "named.zst"),
	      &(struct options){ .tells = 1, .spike_step = 3, .moment = IN_BACKWARD });
	train(&t, run_path(folder, "longer.zst"),
	      &(struct options){ .tells = 1, .spike_step = 3, .moment = IN_BACKWARD, .activation = 5 * MIB });
	train(&t, run_path(folder, "leak.zst"),
	      &(struct options){ .tells = 1, .spike_step = 3, .leaks = 3, .steps = 7 });
	train(&t, run_path(folder, "oom.zst"), &(struct options){ .tells = 1, .spike_step = 3, .fails = 1 });
	train(&t, run_path(folder, "calls.zst"),
	      &(struct options){ .tells = 1, .calls = 1, .spike_step = 1, .steps = 1 });
	train(&t, run_path(folder, "nameless.zst"), &(struct options){ .spike_step = 3, .moment = IN_FORWARD });
}

TEST_MAIN_WRITE(write_all)
