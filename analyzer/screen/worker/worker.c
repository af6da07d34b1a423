#include "clerk_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "memtrace/error.h"

#define LOOK_MS 20 /* how often the model is asked whether it is read */

/* 1: the answer that is being worked on is not wanted any more. */
static int gives_up(void *context)
{
	struct clerk *clerk = context;

	return clerk->stop || clerk->asked != clerk->working;
}

static void set_state(struct clerk *clerk, enum clerk_state state)
{
	pthread_mutex_lock(&clerk->lock);
	clerk->done = clerk->total = 0;
	clerk->state = state;
	pthread_cond_broadcast(&clerk->changed);
	pthread_mutex_unlock(&clerk->lock);
}

static void fail(struct clerk *clerk, const char *why)
{
	pthread_mutex_lock(&clerk->lock);
	mt_copy_text(clerk->why, sizeof(clerk->why), why);
	clerk->state = CLERK_FAILED;
	pthread_cond_broadcast(&clerk->changed);
	pthread_mutex_unlock(&clerk->lock);
}

/* ---- until it is ready ---- */

/* Until clerk_free, or so long. */
static void rest(struct clerk *clerk, long ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&clerk->lock);
	if (!clerk->stop)
		pthread_cond_timedwait(&clerk->changed, &clerk->lock, &until);
	pthread_mutex_unlock(&clerk->lock);
}

/* 1: the traces have been read. */
static int wait_for_model(struct clerk *clerk)
{
	struct model *model = clerk->model;
	char why[sizeof(clerk->why)];
	enum model_state state;

	do {
		model_lock(model);
		state = model->state;
		snprintf(why, sizeof(why), "the traces could not be read%s%s", *model->trouble ? ": " : "",
			 model->trouble);
		model_unlock(model);
		if (state == MODEL_READING)
			rest(clerk, LOOK_MS);
	} while (state == MODEL_READING && !clerk->stop);
	if (state == MODEL_FAILED)
		fail(clerk, why);
	return state == MODEL_READ && !clerk->stop;
}

static void prepare(struct clerk *clerk)
{
	char why[sizeof(clerk->why)];

	if (!wait_for_model(clerk))
		return;
	set_state(clerk, CLERK_NAMING);
	clerk_name_sites(clerk); /* what has no name is shown without one */
	if (clerk->stop)
		return;
	set_state(clerk, CLERK_LOADING);
	if (clerk_load(clerk, why, sizeof(why)))
		fail(clerk, why);
	else
		set_state(clerk, CLERK_READY);
}

/* ---- questions ---- */

static int answer_into(struct clerk *clerk, const struct clerk_question *question, struct clerk_table *table)
{
	static clerk_answerer *const answerers[] = { [CLERK_LIFE] = clerk_answer_life,
						     [CLERK_BETWEEN] = clerk_answer_between,
						     [CLERK_RETAINED] = clerk_answer_retained,
						     [CLERK_SQL] = clerk_answer_sql };
	int error;

	if (clerk->state == CLERK_FAILED) { /* it stays that */
		clerk_table_trouble(table, clerk->why);
		return 0;
	}
	db_watch(clerk->db, gives_up, clerk);
	error = answerers[question->kind](clerk, question, table);
	if (error)
		clerk_table_trouble(table, error == -MT_E_SQL ? db_message(clerk->db) : mt_strerror(error));
	return clerk_table_finish(table);
}

/* An answer that says only that there is no memory needs none of its own that grows. */
static struct clerk_answer *work(struct clerk *clerk, const struct clerk_question *question)
{
	struct clerk_table *table = clerk_table_new();

	if (!table)
		return NULL;
	if (answer_into(clerk, question, table))
		table->answer.trouble = mt_strerror(-MT_E_MEMORY);
	return &table->answer;
}

/* Answers until clerk_free. */
static void serve(struct clerk *clerk)
{
	struct clerk_question question;
	struct clerk_answer *answer;

	pthread_mutex_lock(&clerk->lock);
	while (!clerk->stop) {
		if (!clerk->waits) {
			pthread_cond_wait(&clerk->changed, &clerk->lock);
			continue;
		}
		clerk->waits = 0;
		clerk->working = clerk->asked;
		question = clerk->question;
		pthread_mutex_unlock(&clerk->lock);
		answer = work(clerk, &question);
		pthread_mutex_lock(&clerk->lock);
		if (!gives_up(clerk)) {
			clerk->answer = answer;
			clerk->answered = clerk->working;
			answer = NULL;
		}
		clerk->working = 0;
		clerk_answer_free(answer);
		pthread_cond_broadcast(&clerk->changed);
	}
	pthread_mutex_unlock(&clerk->lock);
}

static void *run(void *context)
{
	struct clerk *clerk = context;

	prepare(clerk);
	serve(clerk);
	return NULL;
}

/* ---- the screen's side ---- */

static int init_waiting(struct clerk *clerk)
{
	pthread_condattr_t attributes;
	int failed = pthread_condattr_init(&attributes);

	if (failed)
		return -MT_E_MEMORY;
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	failed = pthread_cond_init(&clerk->changed, &attributes) || pthread_mutex_init(&clerk->lock, NULL);
	pthread_condattr_destroy(&attributes);
	return failed ? -MT_E_MEMORY : 0;
}

int clerk_new(struct clerk **clerk, struct model *model, struct feed *feed, char *const *paths, uint32_t count)
{
	struct clerk *made = calloc(1, sizeof(*made));

	*clerk = NULL;
	if (!made || init_waiting(made)) {
		free(made);
		return -MT_E_MEMORY;
	}
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
	*clerk = made;
	return 0;
}

static void take_stacks(struct clerk *clerk)
{
	uint32_t i;
	size_t n;

	model_lock(clerk->model);
	for (i = 1; i < clerk->model->sites; i++)
		clerk->model->site[i].callstack = NULL;
	model_unlock(clerk->model);
	for (n = 0; n < clerk->stacks; n++)
		callstack_release(&clerk->stack[n].callstack);
	free(clerk->stack);
}

void clerk_free(struct clerk *clerk)
{
	if (!clerk)
		return;
	pthread_mutex_lock(&clerk->lock);
	clerk->stop = 1;
	pthread_cond_broadcast(&clerk->changed);
	pthread_mutex_unlock(&clerk->lock);
	pthread_join(clerk->thread, NULL);
	take_stacks(clerk);
	clerk_answer_free(clerk->answer);
	db_close(clerk->db);
	pthread_cond_destroy(&clerk->changed);
	pthread_mutex_destroy(&clerk->lock);
	free(clerk);
}

enum clerk_state clerk_state(struct clerk *clerk, int *percent, const char **why)
{
	enum clerk_state state;
	uint64_t done, total;

	pthread_mutex_lock(&clerk->lock);
	state = clerk->state;
	done = clerk->done;
	total = clerk->total;
	*why = state == CLERK_FAILED ? clerk->why : "";
	pthread_mutex_unlock(&clerk->lock);
	*percent = state == CLERK_READY ? 100 : total ? (int)((double)done / (double)total * 100) : 0;
	if (state != CLERK_READY && *percent > 99)
		*percent = 99;
	return state;
}

uint32_t clerk_ask(struct clerk *clerk, const struct clerk_question *question)
{
	uint32_t number;

	pthread_mutex_lock(&clerk->lock);
	number = ++clerk->asked;
	if (!number) /* 0 is no number */
		number = ++clerk->asked;
	clerk->question = *question;
	clerk->waits = 1;
	clerk_answer_free(clerk->answer);
	clerk->answer = NULL;
	pthread_cond_broadcast(&clerk->changed);
	pthread_mutex_unlock(&clerk->lock);
	return number;
}

struct clerk_answer *clerk_answer(struct clerk *clerk, uint32_t number)
{
	struct clerk_answer *answer = NULL;

	pthread_mutex_lock(&clerk->lock);
	if (clerk->answer && clerk->answered == number) {
		answer = clerk->answer;
		clerk->answer = NULL;
	}
	pthread_mutex_unlock(&clerk->lock);
	return answer;
}

int clerk_pending(struct clerk *clerk, uint32_t number)
{
	int pending;

	pthread_mutex_lock(&clerk->lock);
	pending = number == clerk->asked && (clerk->waits || clerk->working == number || clerk->answer);
	pthread_mutex_unlock(&clerk->lock);
	return pending;
}

void clerk_wait(struct clerk *clerk)
{
	pthread_mutex_lock(&clerk->lock);
	while ((clerk->state != CLERK_READY && clerk->state != CLERK_FAILED) || clerk->waits || clerk->working)
		pthread_cond_wait(&clerk->changed, &clerk->lock);
	pthread_mutex_unlock(&clerk->lock);
}
