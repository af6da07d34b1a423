/* The worker gives up when it is asked to, leaves nothing behind, and says what went wrong. */
#include "screen/worker/worker_impl.h"

#include <sched.h>
#include "report/report.h"
#include "store/load.h"
#include "why/advice/advice.h"
#include "worker_kit.h"

/* ---- giving up ---- */

static const char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/* Asks what has no end; the worker is at work on it. One that only waits would be replaced, not interrupted. */
static uint32_t ask_endless(struct kit *kit)
{
	struct worker_question question = { .kind = WORKER_SQL };
	uint32_t number;

	mt_copy_text(question.text, sizeof(question.text), endless);
	number = worker_ask(kit->worker, &question);
	while (kit->worker->working != number)
		sched_yield();
	return number;
}

TEST(a_question_interrupts_the_one_before)
{
	struct kit *kit = open_steps();
	struct worker_answer *answer;
	uint32_t first;
	int round;

	for (round = 0; round < 20; round++) {
		first = ask_endless(kit);
		CHECK(worker_pending(kit->worker, first));
		answer = ask_sql(kit, "SELECT 42 AS n");
		CHECK_STR(cell(answer, 0, "n"), "42");
		CHECK(!worker_answer(kit->worker, first) && !worker_pending(kit->worker, first));
		worker_answer_free(answer);
	}
	kit_close(kit);
}

TEST(leaving_interrupts_a_question)
{
	struct kit *kit = open_steps();

	ask_endless(kit);
	kit_close(kit); /* returns */
	CHECK_EQ(files_left(), 0);
}

/* Left in every state, also a while into the load. */
TEST(leaving_interrupts_the_load)
{
	const char *path = new_path();
	struct kit *kit;
	const char *why;
	int round, percent, interrupted = 0;

	alarm(ANSWER_WITHIN);
	write_long(path, 100000);
	kit = kit_open(path, NULL);
	for (round = 0; round < 12; round++) {
		enum worker_state state;

		worker_free(kit->worker);
		CHECK_EQ(worker_new(&kit->worker, &kit->model, kit->feed, kit->path, kit->paths), 0);
		do /* as far as the round says */
			state = worker_state(kit->worker, &percent, &why);
		while (state < WORKER_LOADING ? round >= 2 : state == WORKER_LOADING && percent < round * 10 - 20);
		interrupted += state == WORKER_LOADING;
		CHECK(state != WORKER_FAILED);
	}
	CHECK(interrupted > 0);
	kit_close(kit);
	CHECK_EQ(files_left(), 0);
}

/* A load that is told to stop does not go on to the end of the traces. */
TEST(a_load_that_is_stopped_ends_early)
{
	const char *path = new_path();
	char *paths[] = { (char *)path };
	struct worker worker = { .paths = paths, .count = 1, .stop = 1 };
	char why[512] = "";

	alarm(ANSWER_WITHIN);
	write_long(path, 100000);
	CHECK(worker_load(&worker, why, sizeof(why)) < 0);
	CHECK(worker.total > 0 && worker.done < worker.total);
	db_close(worker.db);
	CHECK_EQ(files_left(), 0);
}

struct batches {
	unsigned heard, enough;
};

static int hear(void *context, uint32_t process, uint64_t events, uint64_t bytes)
{
	struct batches *batches = context;

	(void)process, (void)events, (void)bytes;
	return ++batches->heard == batches->enough ? -MT_E_BUSY : 0;
}

/* The return value of a load's watch ends the load, and is the load's own. */
TEST(a_watched_load_ends_when_told_to)
{
	const char *path = new_path();
	char *paths[] = { (char *)path };
	struct batches batches = { .enough = 2 };
	const struct load_watch watch = { .context = &batches, .quiet = 1, .batch = hear };
	struct analysis analysis = { 0 };
	struct source source;
	struct db *db;

	write_long(path, 100000);
	CHECK_EQ(source_open_traces(&source, paths, 1), 0);
	CHECK_EQ(report_database(&db), 0);
	CHECK_EQ(load_run_watched(db, &analysis, source.input, source.inputs, source.rules, LOAD_TIMELINE, &watch),
		 -MT_E_BUSY);
	CHECK_EQ(batches.heard, 2);
	analysis_release(&analysis);
	db_close(db);
	source_release(&source);
}

/* ---- an answer that is interrupted ---- */

struct watch {
	unsigned questions, enough;
};

static int has_enough(void *context)
{
	struct watch *watch = context;

	return ++watch->questions >= watch->enough;
}

static int advise_until(struct db *db, struct watch *watch)
{
	static const struct effect_request request = { .fit = 0 };
	struct advice advice;
	int error;

	db_watch(db, has_enough, watch);
	error = advice_load(&advice, db, &request);
	advice_release(&advice);
	db_watch(db, NULL, NULL);
	return error;
}

/* Interrupted at each of its statements. */
TEST(an_advice_that_is_interrupted_returns)
{
	char *paths[] = { (char *)kit_rl_run() };
	struct watch watch = { .enough = 1 };
	struct analysis analysis = { 0 };
	struct source source;
	struct db *db;
	unsigned interrupted;

	alarm(ANSWER_WITHIN);
	CHECK_EQ(source_open_traces(&source, paths, 1), 0);
	CHECK_EQ(report_database(&db), 0);
	CHECK_EQ(load_run(db, &analysis, source.input, source.inputs, source.rules, LOAD_TIMELINE), 0);
	for (interrupted = 0; advise_until(db, &watch); interrupted++)
		watch = (struct watch){ .enough = watch.enough + 1 };
	CHECK(interrupted > 20);
	analysis_release(&analysis);
	db_close(db);
	source_release(&source);
}

/* ---- what can go wrong ---- */

static const char *why_failed(const struct kit *kit)
{
	const char *why;
	int percent;

	worker_wait(kit->worker);
	CHECK_EQ(worker_state(kit->worker, &percent, &why), WORKER_FAILED);
	return why;
}

static void start_again(struct kit *kit)
{
	worker_free(kit->worker);
	CHECK_EQ(worker_new(&kit->worker, &kit->model, kit->feed, kit->path, kit->paths), 0);
}

TEST(a_trace_that_has_disappeared)
{
	struct kit *kit = open_steps();
	struct worker_answer *answer;

	CHECK(!unlink(kit->path[0]));
	start_again(kit);
	CHECK(has(why_failed(kit), "run.zst: No such file"));
	CHECK(kit->model.site[site_called(kit, "keep")].callstack); /* parts that need no database are there */
	answer = ask_sql(kit, "SELECT 1");
	CHECK(has(answer->trouble, "No such file"));
	worker_answer_free(answer);
	kit_close(kit);
}

TEST(a_trace_that_is_another_one_now)
{
	struct kit *kit = open_steps();

	CHECK(!unlink(kit->path[0]));
	write_long(kit->path[0], 10);
	start_again(kit);
	CHECK(has(why_failed(kit), "changed"));
	kit_close(kit);
}

TEST(no_room_for_a_database)
{
	struct kit *kit = open_steps();

	CHECK(!setenv("TMPDIR", "/dev/null/nowhere", 1));
	start_again(kit);
	CHECK(has(why_failed(kit), "temporary database"));
	kit_close(kit);
}

/* An answer with a trouble has nothing else, whatever was asked; and every view lives with it. */
static void walk_without_database(struct kit *kit)
{
	static const char *const ways[] = { "Enter", "M", "t", "r", "a", "0 g m l l m d", "2 Enter", "0 Enter Tab" };
	static const char keys[] = "Enter j k g G n N + - 0 [ ] p Left Right Tab Enter q";
	struct worker_question question = { .site = 1, .to = INT64_MAX, .process = 1 };
	struct worker_answer *answer;
	size_t i;
	int kind;

	for (kind = WORKER_LIFE; kind <= WORKER_SQL; kind++) {
		question.kind = (enum worker_question_kind)kind;
		snprintf(question.text, sizeof(question.text), "SELECT 1 FROM nowhere");
		answer = ask(kit, &question);
		CHECK(*answer->trouble && !*answer->verdict);
		CHECK(!answer->rows && !answer->columns && !answer->map);
		worker_answer_free(answer);
	}
	kit_screen(kit, 80, 24, 256, 0);
	snprintf(kit->app.search, sizeof(kit->app.search), "a");
	for (i = 0; i < MT_ARRAY_SIZE(ways); i++) {
		kit_keys(kit, ways[i]);
		kit_keys(kit, keys);
		while (kit->app.view->below)
			app_close(&kit->app);
	}
	kit_no_screen(kit);
}

TEST(views_live_with_a_worker_that_failed)
{
	struct kit *kit = open_steps();

	CHECK(!setenv("TMPDIR", "/dev/null/nowhere", 1));
	start_again(kit);
	why_failed(kit);
	walk_without_database(kit);
	kit_close(kit);
}

/* The database is there, and every question about it fails. */
TEST(views_live_with_questions_that_fail)
{
	struct kit *kit = open_steps();

	CHECK_EQ(db_execute(kit->worker->db, "DROP TABLE allocation_raw"), 0);
	CHECK_EQ(db_execute(kit->worker->db, "DROP TABLE named_moment"), 0);
	walk_without_database(kit);
	kit_close(kit);
}

TEST(traces_that_could_not_be_read)
{
	struct model model;
	struct worker_question question = { .kind = WORKER_LIFE, .site = 1 };
	struct worker_answer *answer;
	struct worker *worker;
	const char *why;
	uint32_t number;
	int percent;

	alarm(ANSWER_WITHIN);
	CHECK_EQ(model_init(&model), 0);
	CHECK_EQ(worker_new(&worker, &model, NULL, NULL, 0), 0);
	number = worker_ask(worker, &question); /* asked while it waits */
	CHECK_EQ(worker_state(worker, &percent, &why), WORKER_WAITING);
	model_lock(&model);
	model.state = MODEL_FAILED;
	snprintf(model.trouble, sizeof(model.trouble), "the disk is gone");
	model_unlock(&model);
	worker_wait(worker);
	CHECK_EQ(worker_state(worker, &percent, &why), WORKER_FAILED);
	CHECK(has(why, "the disk is gone"));
	answer = worker_answer(worker, number);
	CHECK(answer && has(answer->trouble, "the disk is gone"));
	worker_answer_free(answer);
	worker_free(worker);
	CHECK_EQ(worker_new(&worker, &model, NULL, NULL, 0), 0);
	worker_free(worker);
	worker_free(NULL);
	model_release(&model);
}

TEST_MAIN()
