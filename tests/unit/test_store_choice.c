/* The database of `memana top`, which sums up the sites that are not shown, answers as one with all of them. */
#include <stdlib.h>
#include "memtrace/phase.h"
#include "query/module_lines.h"
#include "query/query.h"
#include "report/finding.h"
#include "report/steps/growth.h"
#include "run_kit.h"
#include "trace_builder.h"

#define RUNS 12
#define MOST 4
#define STEPS 4
#define LINES 25 /* some are helpers: in setup, in work and in the optimizer */

/* ---- runs at random ---- */

static unsigned below(unsigned number)
{
	return (unsigned)random() % number;
}

/* The call of one of a few modules, in one of two models. */
static uint32_t random_call(struct builder *m, uint32_t outer)
{
	uint32_t model = below(2), kind = builder_string(m, "Layer"), nest;
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON,
				  .function = builder_string(m, "_call_impl"),
				  .file = builder_string(m,
							 "/usr/lib/python3/dist-packages/torch/nn/modules/module.py"),
				  .line = 1 };

	nest = mt_defs_add_nest(m->defs, 0,
				mt_defs_add_instance(m->defs, 0x1000 * (1 + model), builder_string(m, "Net")));
	nest = mt_defs_add_nest(m->defs, nest, mt_defs_add_instance(m->defs, 0x9000 + 16 * below(8), kind));
	return mt_defs_add_node_in(m->defs, outer, mt_defs_add_frame(m->defs, &frame), nest);
}

static uint32_t random_stack(struct builder *m)
{
	uint32_t outer = builder_python(m, 0, "main", "/home/me/train.py", 1 + below(3));

	outer = builder_python(m, outer, "work", "/home/me/model.py", 1 + below(LINES));
	if (below(3))
		outer = random_call(m, outer);
	return below(9) ? builder_python(m, outer, "empty", "/usr/lib/python3/dist-packages/torch/nn.py", 1 + below(9))
			: 0;
}

/* Tensors of few sizes, half of which go at once. Sites of equal bytes are put in order by their number. */
static void write_one(const char *path, uint32_t number, int steps)
{
	static const char *const phases[] = { "init", "forward", "backward", "optimizer", "weight-update" };
	uint64_t addr = 0x100000000ull * (number + 1), size;
	unsigned step, i;
	struct builder m;

	builder_open_on(&m, path, 1000 + number, (int)number, (80 << 10) * MIB);
	for (step = 1; step <= STEPS; step++) {
		for (i = 0; i < 40; i++) {
			builder_phase(&m, phases[below(5)]);
			m.device = below(6) ? m.cuda : m.cpu;
			m.stack = random_stack(&m);
			size = MIB * (1 + below(4));
			addr += 8 * MIB;
			if (m.device == m.cuda && !below(4)) {
				builder_driver_alloc(&m, addr, size);
			} else {
				builder_tensor_alloc(&m, addr, size);
				if (below(2)) /* its site outlives no step */
					builder_tensor_free(&m, addr, size);
			}
			builder_phase_end(&m);
		}
		if (steps)
			builder_step(&m, step);
	}
	builder_close(&m);
}

/* ---- all answers as one text ---- */

struct asking {
	FILE *out;
	struct db *db;
};

static int say_part(void *context, const struct query_part *row)
{
	struct asking *asking = context;

	fprintf(asking->out, "part %s %llu %llu %lld %llu %llu\n", row->word, (unsigned long long)row->bytes,
		(unsigned long long)row->count, (long long)row->pid, (unsigned long long)row->known,
		(unsigned long long)row->rule);
	return 0;
}

static int say_culprit(void *context, const struct query_culprit *row)
{
	struct asking *asking = context;

	fprintf(asking->out, "culprit %s %s %llu %llu %llu\n", row->category, row->phase,
		(unsigned long long)row->bytes, (unsigned long long)row->part, (unsigned long long)row->probable);
	return 0;
}

static unsigned together; /* rows of several sites */

static int say_site(void *context, const struct query_site *row)
{
	struct asking *asking = context;
	struct finding_place named;

	together += row->sites > 1;
	CHECK_EQ(finding_place_of(&named, asking->db, row->node), 0);
	fprintf(asking->out, "%llu sites %lld %lld %s %s %s %llu %llu %s %llu %llu in %s at %s %s\n",
		(unsigned long long)row->sites, (long long)row->id, (long long)row->node, row->phase, row->category,
		row->owner, (unsigned long long)row->bytes, (unsigned long long)row->count, row->evidence,
		(unsigned long long)row->rule, (unsigned long long)row->probable, row->submodule, named.function,
		named.place);
	return 0;
}

static void say_modules(struct asking *asking, int64_t device)
{
	const struct module_line *line;
	struct module_lines modules;
	uint32_t i;
	int column;

	CHECK_EQ(module_lines_load(&modules, asking->db, device, NULL, 0), 0);
	for (i = 1; i < modules.lines; i++) {
		line = &modules.line[i];
		fprintf(asking->out, "module %s %u %llu %llu %llu", line->path, line->depth,
			(unsigned long long)line->all.bytes, (unsigned long long)line->own.bytes,
			(unsigned long long)line->own.count);
		for (column = 0; column < MODULE_COLUMNS; column++)
			fprintf(asking->out, " %llu", (unsigned long long)line->all.column[column]);
		fprintf(asking->out, "\n");
	}
	module_lines_release(&modules);
}

static int say_device(void *context, const struct query_device *device)
{
	struct asking *asking = context;
	uint64_t tensors;
	int by;

	CHECK_EQ(query_tensors(asking->db, device->id, &tensors), 0);
	fprintf(asking->out, "device %lld %llu\n", (long long)device->number, (unsigned long long)tensors);
	for (by = 0; by < QUERY_BY_COUNT; by++)
		CHECK_EQ(query_parts(asking->db, device->id, (enum query_by)by, say_part, asking), 0);
	CHECK_EQ(query_culprit(asking->db, device->id, say_culprit, asking), 0);
	CHECK_EQ(query_sites(asking->db, device->id, MOST, say_site, asking), 0);
	CHECK_EQ(query_lines(asking->db, device->id, MOST, say_site, asking), 0);
	say_modules(asking, device->id);
	return 0;
}

static void say_growth(struct asking *asking)
{
	const struct growth_place *place;
	struct growth growth;
	size_t i;

	CHECK_EQ(growth_load(&growth, asking->db), 0);
	fprintf(asking->out, "growth %d, %zu lanes\n", (int)growth.state, growth.lanes);
	for (i = 0; i < growth.table.places.count; i++) {
		place = &growth.table.places.place[i];
		fprintf(asking->out, "grows %lld %lld %lld %lld %s %s %llu\n", (long long)place->device,
			(long long)place->process, (long long)place->first_node, (long long)place->node, place->phase,
			place->category, (unsigned long long)place->bytes);
	}
	growth_release(&growth);
}

static char *answers(struct db *db)
{
	struct asking asking = { .db = db };
	char *text = NULL;
	size_t size;

	asking.out = open_memstream(&text, &size);
	CHECK(asking.out != NULL);
	CHECK_EQ(query_devices(db, say_device, &asking), 0);
	say_growth(&asking);
	fclose(asking.out);
	return text;
}

/* The analysis of `run` once more, with at most `most` sites of a device one by one. */
static struct db *choose(const struct run *run, size_t most)
{
	struct symbols *symbols = symbols_new();
	uint8_t *own = store_choose(&run->analysis, most);
	struct db *db;

	CHECK(own != NULL);
	CHECK_EQ(db_create(&db, NULL, schema_sql), 0);
	CHECK_EQ(store_summary_of(db, &run->analysis, own), 0);
	CHECK_EQ(load_places_of(db, symbols, &run->analysis, own), 0);
	symbols_free(symbols);
	free(own);
	return db;
}

static int64_t number_of(struct db *db, const char *sql)
{
	struct db_stmt *stmt;
	int64_t number;

	CHECK_EQ(db_prepare(db, &stmt, sql), 0);
	CHECK_EQ(db_step(stmt), 1);
	number = db_int(stmt, 0);
	db_finish(stmt);
	return number;
}

static void check_run(int steps)
{
	char first[] = "a.zst", second[] = "b.zst", *paths[] = { first, second }, *all, *some;
	struct run run;
	struct db *db;

	write_one(first, 0, steps);
	write_one(second, 1, steps);
	run_open(&run, paths, 2, 0);
	db = choose(&run, MOST);
	all = answers(run.db);
	some = answers(db);
	CHECK_STR(some, all);
	if (!steps) { /* nothing grows */
		CHECK(number_of(db, "SELECT count(*) FROM site WHERE id > 0") >= MOST * run.analysis.devices);
		CHECK(number_of(db, "SELECT count(*) FROM site WHERE id > 0") <
		      number_of(run.db, "SELECT count(*) FROM site"));
		CHECK_EQ(number_of(db, "SELECT count(*) FROM outlived_step"), 0);
	}
	free(all);
	free(some);
	db_close(db);
	run_close(&run);
}

TEST(sums_answer_as_all_sites_do)
{
	int run;

	for (run = 0; run < RUNS; run++) {
		srandom((unsigned)run);
		printf("# run %d\n", run);
		check_run(run % 2);
	}
	CHECK(together > 0);
}

TEST(no_site_one_by_one)
{
	char path[] = "none.zst", *paths[] = { path };
	struct run run;
	struct db *db;

	write_one(path, 0, 0);
	run_open(&run, paths, 1, 0);
	db = choose(&run, 0);
	CHECK_EQ(number_of(db, "SELECT count(*) FROM site WHERE id > 0"), 0);
	CHECK_EQ(number_of(db, "SELECT sum(bytes) FROM peak_part"),
		 number_of(run.db, "SELECT sum(bytes) FROM peak_part"));
	CHECK_EQ(number_of(db, "SELECT sum(bytes) FROM peak_module_site"),
		 number_of(run.db, "SELECT sum(bytes) FROM peak_part"));
	db_close(db);
	run_close(&run);
}

TEST_MAIN()
