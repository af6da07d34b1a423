/* The clerk gives up when it is asked to, leaves nothing behind, and says what went wrong. */
#include "screen/clerk/clerk_impl.h"

#include <sched.h>
#include "clerk_kit.h"
#include "report/asked.h"
#include "store/load.h"

/* ---- giving up ---- */

static const char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/* Asks what has no end; the clerk is at work on it. One that only waits would be replaced, not interrupted. */
static uint32_t ask_endless(struct kit *kit)
{
	struct clerk_question question = { .kind = CLERK_SQL };
	uint32_t number;

	mt_copy_text(question.text, sizeof(question.text), endless);
	number = clerk_ask(kit->clerk, &question);
	while (kit->clerk->working != number)
		sched_yield();
	return number;
}

TEST(a_question_interrupts_the_one_before)
{
	struct kit *kit = open_steps();
	struct clerk_answer *answer;
	uint32_t first;
	int round;

	for (round = 0; round < 20; round++) {
		first = ask_endless(kit);
		CHECK(clerk_pending(kit->clerk, first));
		answer = ask_sql(kit, "SELECT 42 AS n");
		CHECK_STR(cell(answer, 0, "n"), "42");
		CHECK(!clerk_answer(kit->clerk, first) && !clerk_pending(kit->clerk, first));
		clerk_answer_free(answer);
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
		enum clerk_state state;

		clerk_free(kit->clerk);
		CHECK_EQ(clerk_new(&kit->clerk, &kit->model, kit->feed, kit->path, kit->paths), 0);
		do /* as far as the round says */
			state = clerk_state(kit->clerk, &percent, &why);
		while (state < CLERK_LOADING ? round >= 2 : state == CLERK_LOADING && percent < round * 10 - 20);
		interrupted += state == CLERK_LOADING;
		CHECK(state != CLERK_FAILED);
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
	struct clerk clerk = { .paths = paths, .count = 1, .stop = 1 };
	char why[512] = "";

	alarm(ANSWER_WITHIN);
	write_long(path, 100000);
	CHECK(clerk_load(&clerk, why, sizeof(why)) < 0);
	CHECK(clerk.total > 0 && clerk.done < clerk.total);
	db_close(clerk.db);
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

/* What the watch of a load returns ends it, and is what the load returns. */
TEST(a_watched_load_ends_when_told_to)
{
	const char *path = new_path();
	char *paths[] = { (char *)path };
	struct batches batches = { .enough = 2 };
	const struct load_watch watch = { .context = &batches, .batch = hear };
	struct analysis analysis = { 0 };
	struct source source;
	struct db *db;

	write_long(path, 100000);
	CHECK_EQ(source_open_traces(&source, paths, 1), 0);
	CHECK_EQ(asked_database(&db), 0);
	CHECK_EQ(load_run_watched(db, &analysis, source.input, source.inputs, source.rules, &watch), -MT_E_BUSY);
	CHECK_EQ(batches.heard, 2);
	analysis_release(&analysis);
	db_close(db);
	source_release(&source);
}

/* ---- what can go wrong ---- */

static const char *why_failed(const struct kit *kit)
{
	const char *why;
	int percent;

	clerk_wait(kit->clerk);
	CHECK_EQ(clerk_state(kit->clerk, &percent, &why), CLERK_FAILED);
	return why;
}

static void start_again(struct kit *kit)
{
	clerk_free(kit->clerk);
	CHECK_EQ(clerk_new(&kit->clerk, &kit->model, kit->feed, kit->path, kit->paths), 0);
}

TEST(a_trace_that_has_disappeared)
{
	struct kit *kit = open_steps();
	struct clerk_answer *answer;

	CHECK(!unlink(kit->path[0]));
	start_again(kit);
	CHECK(has(why_failed(kit), "run.zst: No such file"));
	CHECK(kit->model.site[site_called(kit, "keep")].callstack); /* what needs no database is there */
	answer = ask_sql(kit, "SELECT 1");
	CHECK(has(answer->trouble, "No such file"));
	clerk_answer_free(answer);
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

TEST(traces_that_could_not_be_read)
{
	struct model model;
	struct clerk_question question = { .kind = CLERK_LIFE, .site = 1 };
	struct clerk_answer *answer;
	struct clerk *clerk;
	const char *why;
	uint32_t number;
	int percent;

	alarm(ANSWER_WITHIN);
	CHECK_EQ(model_init(&model), 0);
	CHECK_EQ(clerk_new(&clerk, &model, NULL, NULL, 0), 0);
	number = clerk_ask(clerk, &question); /* asked while it waits */
	CHECK_EQ(clerk_state(clerk, &percent, &why), CLERK_WAITING);
	model_lock(&model);
	model.state = MODEL_FAILED;
	snprintf(model.trouble, sizeof(model.trouble), "the disk is gone");
	model_unlock(&model);
	clerk_wait(clerk);
	CHECK_EQ(clerk_state(clerk, &percent, &why), CLERK_FAILED);
	CHECK(has(why, "the disk is gone"));
	answer = clerk_answer(clerk, number);
	CHECK(answer && has(answer->trouble, "the disk is gone"));
	clerk_answer_free(answer);
	clerk_free(clerk);
	CHECK_EQ(clerk_new(&clerk, &model, NULL, NULL, 0), 0);
	clerk_free(clerk);
	clerk_free(NULL);
	model_release(&model);
}

TEST_MAIN()
