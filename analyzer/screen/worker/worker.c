#include "worker_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "memtrace/error.h"
#include "query/stack_tree.h"
#include "screen/data/feed.h"

#define LOOK_MS 20 /* how often the model is asked whether it is read */

/* Whether the current answer is no longer wanted. */
static int gives_up(void *context)
{
	struct worker *worker = context;

	return worker->stop || worker->asked != worker->working;
}

static void fail(struct worker *worker, const char *why)
{
	pthread_mutex_lock(&worker->lock);
	mt_copy_text(worker->why, sizeof(worker->why), why);
	worker->state = WORKER_FAILED;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
}

/* ---- questions ---- */

/* Adds the time up to which an answer of a running recording is complete. */
static void say_until(struct worker *worker, struct worker_table *table)
{
	char until[128], words[2048];

	worker_until_words(worker, until, sizeof(until));
	snprintf(words, sizeof(words), "%s%s%s", table->answer.verdict, *table->answer.verdict && *until ? " " : "",
		 until);
	if (*until)
		worker_table_verdict(table, words);
}

static void answer_into(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	static worker_answerer *const answerers[] = {
		[WORKER_LIFE] = worker_answer_life,         [WORKER_BETWEEN] = worker_answer_between,
		[WORKER_RETAINED] = worker_answer_retained, [WORKER_ADVICE] = worker_answer_advice,
		[WORKER_MAP] = worker_answer_map,           [WORKER_SEGMENT] = worker_answer_segment,
		[WORKER_BESIDE] = worker_answer_beside,     [WORKER_SQL] = worker_answer_sql,
		[WORKER_MODULES] = worker_answer_modules
	};
	int error;

	/* WORKER_FAILED is final. A running recording may have no database yet. */
	if (worker->state == WORKER_FAILED || !worker->db) {
		worker_table_trouble(table, *worker->why ? worker->why : "nothing is recorded yet");
		return;
	}
	db_watch(worker->db, gives_up, worker);
	error = answerers[question->kind](worker, question, table);
	if (error)
		worker_table_trouble(table, error == -MT_E_SQL ? db_message(worker->db) : mt_strerror(error));
	else if (!*table->answer.trouble)
		say_until(worker, table);
	worker_table_finish(table);
}

static struct worker_answer *work(struct worker *worker, const struct worker_question *question)
{
	struct worker_table *table = worker_table_new();

	if (!table)
		return NULL;
	answer_into(worker, question, table);
	return &table->answer;
}

/* Answers the waiting question. Called with the lock; releases the lock meanwhile. */
static void serve_one(struct worker *worker)
{
	struct worker_question question;
	struct worker_answer *answer;

	worker->waits = 0;
	worker->working = worker->asked;
	question = worker->question;
	pthread_mutex_unlock(&worker->lock);
	answer = work(worker, &question);
	pthread_mutex_lock(&worker->lock);
	if (!gives_up(worker)) {
		worker->answer = answer;
		worker->answered = worker->working;
		answer = NULL;
	}
	worker->working = 0;
	worker_answer_free(answer);
	pthread_cond_broadcast(&worker->changed);
}

void worker_serve_early(struct worker *worker)
{
	struct db *db = worker->db;

	pthread_mutex_lock(&worker->lock);
	if (worker->early && worker->waits && worker->question.kind == WORKER_RETAINED) {
		worker->db = worker->early;
		serve_one(worker);
		worker->db = db;
	}
	pthread_mutex_unlock(&worker->lock);
}

/* ---- until it is ready ---- */

/* Waits for worker_free, at most `ms`. */
static void rest(struct worker *worker, long ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&worker->lock);
	if (!worker->stop)
		pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
	pthread_mutex_unlock(&worker->lock);
}

/* 1: the traces have been read, or `summary` is 1 and there is a summary. */
static int wait_for_model(struct worker *worker, int summary)
{
	struct model *model = worker->model;
	char why[sizeof(worker->why)];
	enum model_state state;

	do {
		model_lock(model);
		state = model->state;
		snprintf(why, sizeof(why), "the traces could not be read%s%s", *model->trouble ? ": " : "",
			 model->trouble);
		model_unlock(model);
		if (summary && worker->feed && feed_summary(worker->feed))
			break;
		worker_serve_early(worker);
		if (state == MODEL_READING)
			rest(worker, LOOK_MS);
	} while (state == MODEL_READING && !worker->stop);
	if (state == MODEL_FAILED)
		fail(worker, why);
	return state != MODEL_FAILED && !worker->stop;
}

/* 1: the model is that of facts, and the events are still to be read. */
static int is_outlined(struct worker *worker)
{
	int outlined;

	model_lock(worker->model);
	outlined = worker->model->outlined;
	model_unlock(worker->model);
	return outlined;
}

static void prepare(struct worker *worker)
{
	char why[sizeof(worker->why)];

	if (!wait_for_model(worker, 1))
		return;
	worker_set_state(worker, WORKER_NAMING);
	worker_name_sites(worker); /* a site without a name is shown without it */
	worker_set_state(worker, WORKER_WAITING);
	if (is_outlined(worker))
		worker_load_early(worker);
	if (!wait_for_model(worker, 0))
		return;
	worker_set_state(worker, WORKER_LOADING);
	if (worker_load(worker, why, sizeof(why)))
		fail(worker, why);
	else
		worker_set_state(worker, WORKER_READY);
	worker_drop_early(worker);
}

/* ---- serving ---- */

/* Answers questions of a running recording, and keeps its database up to date. */
static void serve_following(struct worker *worker)
{
	int whole = 0, asked = 0;

	while (!whole && !worker->stop) {
		whole = worker_keep_up(worker, asked);
		if (!asked)
			rest(worker, LOOK_MS);
		pthread_mutex_lock(&worker->lock);
		if (asked && worker->waits)
			serve_one(worker);
		asked = worker->waits;
		pthread_mutex_unlock(&worker->lock);
	}
}

/* Answers until worker_free. */
static void serve(struct worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	while (!worker->stop) {
		if (worker->waits)
			serve_one(worker);
		else
			pthread_cond_wait(&worker->changed, &worker->lock);
	}
	pthread_mutex_unlock(&worker->lock);
}

static void *run(void *context)
{
	struct worker *worker = context;

	if (worker_keep_up(worker, 0))
		prepare(worker);
	else
		serve_following(worker);
	serve(worker);
	return NULL;
}

/* ---- the screen's side ---- */

static int init_waiting(struct worker *worker)
{
	pthread_condattr_t attributes;
	int failed = pthread_condattr_init(&attributes);

	if (failed)
		return -MT_E_MEMORY;
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	failed = pthread_cond_init(&worker->changed, &attributes) || pthread_mutex_init(&worker->lock, NULL);
	pthread_condattr_destroy(&attributes);
	return failed ? -MT_E_MEMORY : 0;
}

int worker_new(struct worker **worker, struct model *model, struct feed *feed, char *const *paths, uint32_t count)
{
	struct worker *made = calloc(1, sizeof(*made));

	*worker = NULL;
	if (!made || init_waiting(made)) {
		free(made);
		return -MT_E_MEMORY;
	}
	made->serve_early = worker_serve_early;
	made->model = model;
	made->feed = feed;
	made->paths = paths;
	made->count = count;
	if (pthread_create(&made->thread, NULL, run, made)) {
		pthread_cond_destroy(&made->changed);
		pthread_mutex_destroy(&made->lock);
		free(made);
		return -MT_E_SYSTEM;
	}
	*worker = made;
	return 0;
}

static void take_stacks(struct worker *worker)
{
	struct worker_stacks *stacks;
	uint32_t i;
	size_t n;

	model_lock(worker->model);
	for (i = 1; i < worker->model->sites; i++)
		worker->model->site[i].callstack = NULL;
	model_unlock(worker->model);
	while ((stacks = worker->stacks)) {
		worker->stacks = stacks->more;
		for (n = 0; n < stacks->count; n++)
			callstack_release(&stacks->stack[n].callstack);
		free(stacks->stack);
		stack_tree_free(stacks->tree);
		free(stacks);
	}
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	pthread_mutex_lock(&worker->lock);
	worker->stop = 1;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
	pthread_join(worker->thread, NULL);
	take_stacks(worker);
	worker_answer_free(worker->answer);
	db_close(worker->db);
	worker_drop_early(worker);
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
}

enum worker_state worker_state(struct worker *worker, int *percent, const char **why)
{
	enum worker_state state;
	uint64_t done, total;

	pthread_mutex_lock(&worker->lock);
	state = worker->state;
	done = worker->done;
	total = worker->total;
	*why = state == WORKER_FAILED ? worker->why : "";
	pthread_mutex_unlock(&worker->lock);
	*percent = state == WORKER_READY ? 100 : total ? (int)((double)done / (double)total * 100) : 0;
	if (state != WORKER_READY && *percent > 99)
		*percent = 99;
	return state;
}

uint32_t worker_ask(struct worker *worker, const struct worker_question *question)
{
	uint32_t number;

	pthread_mutex_lock(&worker->lock);
	number = ++worker->asked;
	if (!number) /* 0 is no number */
		number = ++worker->asked;
	worker->question = *question;
	worker->waits = 1;
	worker_answer_free(worker->answer);
	worker->answer = NULL;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
	return number;
}

struct worker_answer *worker_answer(struct worker *worker, uint32_t number)
{
	struct worker_answer *answer = NULL;

	pthread_mutex_lock(&worker->lock);
	if (worker->answer && worker->answered == number) {
		answer = worker->answer;
		worker->answer = NULL;
	}
	pthread_mutex_unlock(&worker->lock);
	return answer;
}

int worker_pending(struct worker *worker, uint32_t number)
{
	int pending;

	pthread_mutex_lock(&worker->lock);
	pending = number == worker->asked && (worker->waits || worker->working == number || worker->answer);
	pthread_mutex_unlock(&worker->lock);
	return pending;
}

void worker_wait(struct worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	while ((worker->state != WORKER_READY && worker->state != WORKER_FAILED) || worker->waits || worker->working)
		pthread_cond_wait(&worker->changed, &worker->lock);
	pthread_mutex_unlock(&worker->lock);
}
