/* The worker: names of sites, and answers with known numbers. */
#include "screen/worker/worker_impl.h"

#include "facts_kit.h"
#include "query/callstack.h"
#include "worker_kit.h"

/* ---- names ---- */

TEST(sites_get_stacks_names_and_evidence)
{
	struct kit *kit = open_steps();
	const struct model_site *site = &kit->model.site[site_called(kit, "attention")];
	uint32_t i;

	CHECK_STR(site->place, "model.py:20");
	CHECK(site->callstack && site->callstack->count == 2);
	CHECK_STR(site->callstack->frame[0]->function, "attention");
	CHECK_STR(site->callstack->frame[1]->function, "main");
	CHECK(site->evidence && *site->evidence);
	for (i = 1; i < kit->model.sites; i++)
		CHECK(kit->model.site[i].callstack);
	kit_no_screen(kit);
	worker_free(kit->worker);
	kit->worker = NULL;
	for (i = 1; i < kit->model.sites; i++)
		CHECK(!kit->model.site[i].callstack); /* nothing points to what is gone */
	kit_close(kit);
}

/* Facts have names and a verdict. One of some readings is seen between these and its last event. */
TEST(names_come_before_the_events)
{
	const char *path = new_path();
	int reading = 1, seen = 0;
	struct kit *kit;
	unsigned i;

	write_long(path, 100000);
	CHECK(facts_kit_seal(path));
	for (i = 0; i < 50 && !seen; i++, reading = 1) {
		kit = kit_open_early(path);
		while (reading && !seen) {
			model_lock(&kit->model);
			reading = kit->model.state == MODEL_READING;
			seen = kit->model.outlined && kit->model.site[1].callstack && *kit->model.verdict;
			model_unlock(&kit->model);
		}
		worker_wait(kit->worker);
		CHECK_EQ(kit->model.state, MODEL_READ);
		CHECK(!kit->model.outlined && strstr(kit->model.verdict, "model.py:"));
		kit_close(kit);
	}
	CHECK(seen);
}

/* The facts answer what is retained, more than once: all cells are those of the whole database. */
TEST(facts_answer_while_the_events_are_read)
{
	struct worker worker = { .lock = PTHREAD_MUTEX_INITIALIZER,
				 .changed = PTHREAD_COND_INITIALIZER,
				 .question = { .kind = WORKER_RETAINED } };
	struct worker_answer *whole, *early;
	const char *path = new_path();
	struct kit *kit;
	uint32_t i;

	write_steps(path);
	CHECK(facts_kit_seal(path));
	kit = kit_open(path, NULL);
	whole = ask(kit, &worker.question);
	worker.model = &kit->model;
	worker.paths = kit->path;
	worker.count = kit->paths;
	worker_load_early(&worker);
	CHECK(whole->rows && worker.early);
	while (worker.answered < 2) {
		worker.waits = 1;
		worker.asked++;
		worker_serve_early(&worker);
		early = worker.answer;
		CHECK(early && !worker.waits && !worker.db);
		CHECK_STR(early->trouble, "");
		CHECK_STR(early->verdict, whole->verdict);
		CHECK(early->rows == whole->rows && early->columns == whole->columns);
		for (i = 0; i < whole->rows * whole->columns; i++)
			CHECK_STR(early->text[i], whole->text[i]);
		for (i = 0; i < whole->rows; i++)
			CHECK(early->site[i] == whole->site[i] && early->time[i] == whole->time[i]);
		worker_answer_free(early);
	}
	worker.waits = 1;
	worker.question.kind = WORKER_BETWEEN;
	worker_serve_early(&worker);
	CHECK(worker.waits); /* for the whole database */
	worker_answer_free(whole);
	worker_drop_early(&worker);
	kit_close(kit);
}

/* A helper that allocates for everybody is not the place: the same rule as in the reports. */
TEST(names_are_those_of_the_reports)
{
	const char *path = new_path();
	struct builder m;
	struct kit *kit;

	builder_open(&m, path, 100, -1);
	builder_phase(&m, "init");
	m.stack = builder_python(&m, builder_python(&m, 0, "load", "/home/me/a.py", 1), "helper", "/home/me/h.py", 9);
	builder_tensor_alloc(&m, 0x100000000, 4 * MIB);
	builder_phase_end(&m);
	builder_phase(&m, "forward");
	m.stack = builder_python(&m, builder_python(&m, 0, "run", "/home/me/a.py", 2), "helper", "/home/me/h.py", 9);
	builder_tensor_alloc(&m, 0x200000000, 4 * MIB);
	builder_phase_end(&m);
	builder_close(&m);
	kit = kit_open(path, NULL);
	CHECK_STR(kit->model.site[site_called(kit, "load")].place, "a.py:1");
	CHECK_STR(kit->model.site[site_called(kit, "run")].place, "a.py:2");
	kit_close(kit);
}

/* ---- answers ---- */

TEST(life_tells_who_freed_it)
{
	struct kit *kit = open_steps();
	struct worker_question question = { .kind = WORKER_LIFE, .site = site_called(kit, "attention") };
	struct worker_answer *answer = ask(kit, &question);

	CHECK_STR(answer->trouble, "");
	CHECK_EQ(answer->rows, 2 * STEPS);
	CHECK_STR(answer->verdict, "10 allocations, 2 in each of 5 steps, 3.0 MiB each, each lives 20.0 us; freed by "
				   "backward (train.py:42).");
	CHECK_STR(cell(answer, 0, "size"), "3.0 MiB");
	CHECK_STR(cell(answer, 0, "freed in"), "backward");
	CHECK_STR(cell(answer, 0, "by"), "backward (train.py:42)");
	CHECK_STR(cell(answer, 0, "step"), "5"); /* all of one size: the newest first */
	CHECK_STR(cell(answer, 2 * STEPS - 1, "step"), "1");
	CHECK(answer->time[0] > answer->time[1] && answer->time[2 * STEPS - 1] > 0);
	worker_answer_free(answer);
	kit_close(kit);
}

TEST(life_tells_what_was_never_freed)
{
	struct kit *kit = open_steps();
	struct worker_question question = { .kind = WORKER_LIFE, .site = site_called(kit, "keep") };
	struct worker_answer *answer = ask(kit, &question);

	CHECK_STR(answer->verdict, "5 allocations, 1 in each of 5 steps, 1.0 MiB each, none was ever freed.");
	CHECK_STR(cell(answer, 0, "lived"), "never freed");
	CHECK_STR(cell(answer, 0, "by"), "");
	worker_answer_free(answer);
	question.site = 1000000;
	answer = ask(kit, &question);
	CHECK_EQ(answer->rows, 0);
	CHECK(has(answer->verdict, "no allocation"));
	worker_answer_free(answer);
	kit_close(kit);
}

/* Against what the events say: activations are alive only inside a step. */
TEST(between_adds_up_what_is_new_and_alive)
{
	struct kit *kit = open_steps();
	struct worker_question question = { .kind = WORKER_BETWEEN, .from = -1, .to = kit->model.last_time };
	struct worker_answer *answer = ask(kit, &question);
	struct model_step *step = kit->model.step;

	CHECK_EQ(answer->rows, 2); /* weights and what leaks, in the end */
	CHECK(has(answer->verdict, "9.0 MiB in 6 allocations"));
	CHECK_STR(cell(answer, 0, "kept"), "5.0 MiB");
	CHECK_STR(cell(answer, 0, "grown by"), "+5.0 MiB");
	CHECK_STR(cell(answer, 0, "count"), "5");
	CHECK_STR(cell(answer, 0, "place"), "keep (metrics.py:3)");
	CHECK_EQ(answer->site[0], site_called(kit, "keep"));
	worker_answer_free(answer);

	question.from = step[1].time; /* steps 3 and 4, to the end of 4 */
	question.to = step[3].time;
	answer = ask(kit, &question);
	CHECK_EQ(answer->rows, 1);
	CHECK_STR(cell(answer, 0, "kept"), "2.0 MiB");
	worker_answer_free(answer);

	question.to = step[1].time + 4000; /* push, two activations, the leak */
	answer = ask(kit, &question);
	CHECK_EQ(answer->rows, 2);
	CHECK(has(answer->verdict, "7.0 MiB in 3 allocations"));
	CHECK(has(answer->verdict, "attention (model.py:20): 6.0 MiB, "));
	worker_answer_free(answer);

	question.device = 1; /* nothing was ever there */
	answer = ask(kit, &question);
	CHECK_EQ(answer->rows, 0);
	CHECK(has(answer->verdict, "Nothing"));
	worker_answer_free(answer);
	kit_close(kit);
}

/* Memory born at `from` does not count, memory born at `to` does; memory freed at `to` is not alive. */
TEST(between_takes_its_end_and_not_its_beginning)
{
	struct kit *kit = open_steps();
	struct worker_question question = { .kind = WORKER_BETWEEN };
	struct worker_answer *answer = ask_sql(kit,
					       "SELECT alloc_time, free_time FROM allocation WHERE bytes = 3145728 "
					       "ORDER BY alloc_time LIMIT 1");
	int64_t born = atoll(cell(answer, 0, "alloc_time")), freed = atoll(cell(answer, 0, "free_time"));

	worker_answer_free(answer);
	question.from = born - 1;
	question.to = born;
	answer = ask(kit, &question);
	CHECK_EQ(answer->rows, 1);
	worker_answer_free(answer);
	question.from = born;
	question.to = born + 1;
	answer = ask(kit, &question);
	CHECK_EQ(answer->rows, 0);
	worker_answer_free(answer);
	question.from = born - 1;
	question.to = freed;
	answer = ask(kit, &question);
	CHECK_STR(cell(answer, 0, "count"), "1"); /* the other one, that is freed a us later */
	worker_answer_free(answer);
	kit_close(kit);
}

/* Twice, because the question makes tables of its own. */
TEST(retained_tells_what_grows)
{
	struct kit *kit = open_steps();
	struct worker_question question = { .kind = WORKER_RETAINED };
	struct worker_answer *answer;
	int round;

	for (round = 0; round < 2; round++) {
		answer = ask(kit, &question);
		CHECK_STR(answer->trouble, "");
		CHECK(has(answer->verdict, "keep (metrics.py:3) keeps 1.0 MiB more with every step"));
		CHECK_STR(cell(answer, 0, "kept"), "by every step");
		CHECK_STR(cell(answer, 0, "each"), "1.0 MiB");
		CHECK_STR(cell(answer, 0, "place"), "keep (metrics.py:3)");
		CHECK_EQ(answer->site[0], site_called(kit, "keep"));
		worker_answer_free(answer);
	}
	kit_close(kit);
}

TEST(advice_is_what_memana_advise_says)
{
	struct kit *kit = open_steps();
	struct worker_question question = { .kind = WORKER_ADVICE };
	struct worker_answer *answer;
	int round;

	for (round = 0; round < 2; round++) {
		answer = ask(kit, &question);
		CHECK_STR(answer->trouble, "");
		CHECK(has(answer->verdict, "No request for GPU memory failed in this recording"));
		worker_answer_free(answer);
	}
	kit_close(kit);
}

/* ---- modules ---- */

/* A call inside of `stack`; both change to those of the module. */
static void call(struct builder *m, uint32_t *stack, uint32_t *nest, uint64_t address, const char *type)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = 3 };

	*nest = mt_defs_add_nest(m->defs, *nest, mt_defs_add_instance(m->defs, address, builder_string(m, type)));
	*stack = mt_defs_add_node_in(m->defs, *stack, mt_defs_add_frame(m->defs, &frame), *nest);
}

static void tell(struct builder *m, uint64_t address, const char *name, uint64_t told)
{
	builder_event(m, (struct mt_event){ .kind = MT_INSTANCE_NAME,
					    .addr = address,
					    .size = told,
					    .name = builder_string(m, name),
					    .value = builder_string(m, "Net#1"),
					    .flags = 1 });
}

/*
 * Three layers. Without experts the last one has twice the activations of the others. With them all layers have 6 MiB, in two
 * experts each that have 1 and 5, 2 and 4, 3 and 3 MiB.
 */
static struct kit *open_layers(int has_experts)
{
	const char *path = new_path();
	uint32_t i, j, stack, nest, layer[2];
	char name[32];
	struct builder m;

	builder_open(&m, path, 100, -1);
	builder_phase(&m, "forward");
	for (i = 0; i < 3; i++) {
		stack = builder_python(&m, 0, "main", "/home/me/train.py", 1);
		nest = mt_defs_add_nest(m.defs, 0, mt_defs_add_instance(m.defs, 0x1000, builder_string(&m, "Net")));
		call(&m, &stack, &nest, 0x2000 + i, "Layer");
		m.stack = layer[0] = stack;
		layer[1] = nest;
		if (!has_experts)
			builder_tensor_alloc(&m, 0x100000000 + i * 0x10000000ull, (i < 2 ? 4 : 8) * MIB);
		for (j = 0; j < 2 && has_experts; j++) {
			stack = layer[0], nest = layer[1];
			call(&m, &stack, &nest, 0x3000 + 2 * i + j, "Expert");
			m.stack = stack;
			builder_tensor_alloc(&m, 0x100000000 + (2 * i + j) * 0x10000000ull, (j ? 5 - i : 1 + i) * MIB);
		}
	}
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "layers.%u", i);
		tell(&m, 0x2000 + i, name, 9);
		for (j = 0; j < 2; j++) {
			snprintf(name, sizeof(name), "layers.%u.experts.%u", i, j);
			tell(&m, 0x3000 + 2 * i + j, name, 9);
		}
	}
	tell(&m, 0, "", 9);
	builder_phase_end(&m);
	builder_close(&m);
	return kit_open(path, NULL);
}

TEST(modules_have_a_bar_for_each_layer)
{
	struct kit *kit = open_layers(0);
	struct worker_question question = { .kind = WORKER_MODULES, .to = INT64_MAX };
	struct worker_answer *answer;
	uint32_t i;

	model_lock(&kit->model);
	question.to = kit->model.device[0].peak_time;
	model_unlock(&kit->model);
	answer = ask(kit, &question);
	CHECK_STR(answer->trouble, "");
	CHECK(has(answer->verdict, "layers.2 holds most of layers.*: 8.0 MiB; layers.0 holds 4.0 MiB."));
	for (i = 0; i < answer->rows && !strstr(cell(answer, i, "module"), "layers.0"); i++)
		;
	CHECK(i + 3 <= answer->rows && has(cell(answer, i, ""), "#"));
	CHECK(has(cell(answer, i + 1, "module"), "layers.1") && has(cell(answer, i + 2, "module"), "layers.2"));
	CHECK_STR(cell(answer, i + 2, "bytes"), "8.0 MiB");
	worker_answer_free(answer);
	kit_close(kit);
}

/* To the peak, and the modules there: two keys. */
TEST(the_unlike_layer_takes_two_keys)
{
	struct kit *kit = open_layers(0);

	kit_screen(kit, 100, 30, 256, 0);
	kit_keys(kit, "p L");
	CHECK(kit_shows(kit, "layers.2 holds most of layers.*"));
	kit_close(kit);
}

TEST(the_unlike_expert_takes_two_keys)
{
	struct kit *kit = open_layers(1);

	kit_screen(kit, 100, 30, 256, 0);
	kit_keys(kit, "p L");
	CHECK(kit_shows(kit, "All of layers.* hold 6.0 MiB each."));
	CHECK(kit_shows(kit, "layers.0.experts.1 holds most of layers.*.experts.*: 5.0 MiB;"));
	CHECK(kit_shows(kit, " experts.*  6 x Expert")); /* below layers.* */
	kit_close(kit);
}

/* ---- SQL ---- */

TEST(sql_gives_words_of_all_types)
{
	struct kit *kit = open_steps();
	struct worker_answer *answer =
		ask_sql(kit, "SELECT 7 AS n, 2.5 AS r, 'a' || char(10, 27) || 'b' AS t, NULL AS u, x'00ff' AS b");

	CHECK_STR(answer->trouble, "");
	CHECK_EQ(answer->rows, 1);
	CHECK_STR(cell(answer, 0, "n"), "7");
	CHECK_STR(cell(answer, 0, "r"), "2.5");
	CHECK_STR(cell(answer, 0, "t"), "a??b");
	CHECK_STR(cell(answer, 0, "u"), "");
	CHECK_STR(cell(answer, 0, "b"), "00ff");
	CHECK(answer->column[0].numbers && !answer->column[2].numbers);
	CHECK_EQ(answer->column[2].width, 4);
	worker_answer_free(answer);

	answer = ask_sql(kit, "SELECT site, alloc_time FROM allocation ORDER BY alloc_seq LIMIT 1");
	CHECK_EQ(answer->site[0], site_called(kit, "load"));
	CHECK_EQ(answer->time[0], 2000);
	worker_answer_free(answer);
	answer = ask_sql(kit, "SELECT -5 AS site, 'x' AS time");
	CHECK_EQ(answer->site[0], 0);
	CHECK_EQ(answer->time[0], -1);
	worker_answer_free(answer);
	kit_close(kit);
}

TEST(sql_is_cut_at_the_limit)
{
	struct kit *kit = open_steps();
	struct worker_answer *answer =
		ask_sql(kit, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n");

	CHECK_EQ(answer->rows, WORKER_ROWS_MAX);
	CHECK(answer->cut);
	CHECK_STR(cell(answer, WORKER_ROWS_MAX - 1, "i"), "10000");
	worker_answer_free(answer);
	answer = ask_sql(kit, "SELECT 1 WHERE 0");
	CHECK_EQ(answer->rows, 0);
	CHECK(!answer->cut && answer->columns == 1);
	worker_answer_free(answer);
	kit_close(kit);
}

TEST(sql_can_only_read)
{
	static const char *const refused[] = {
		"DROP TABLE allocation_raw",
		"DELETE FROM site",
		"INSERT INTO step VALUES (1, 1, 1, 1, 1, 1, '')",
		"VACUUM",
		"UPDATE site SET phase = 'x'",
		"CREATE TEMP TABLE t (i)",
		"ATTACH 'x.db' AS x",
		"PRAGMA user_version = 7",
		"SELECT load_extension('x')",
		"BEGIN",
		"SELECT 1; SELECT 2",
		"SELECT",
		"",
		"SELECT nothing FROM nowhere",
	};
	struct kit *kit = open_steps();
	struct worker_question retained = { .kind = WORKER_RETAINED };
	struct worker_answer *answer;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(refused); i++) {
		answer = ask_sql(kit, refused[i]);
		if (!*answer->trouble)
			printf("# not refused: %s\n", refused[i]);
		CHECK(*answer->trouble && !answer->rows);
		worker_answer_free(answer);
	}
	answer = ask_sql(kit, "SELECT (SELECT count(*) FROM allocation) AS a, (SELECT count(*) FROM step) AS s");
	CHECK_STR(cell(answer, 0, "a"), "16");
	CHECK_STR(cell(answer, 0, "s"), "5");
	worker_answer_free(answer);
	answer = ask(kit, &retained); /* makes tables: that is not refused to the worker itself */
	CHECK_STR(answer->trouble, "");
	worker_answer_free(answer);
	CHECK_EQ(files_left(), 0);
	kit_close(kit);
}

TEST_MAIN()
