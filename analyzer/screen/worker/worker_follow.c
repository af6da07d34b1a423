/*
 * worker_follow.c - the worker beside a running recording.
 *
 * The chart follows the recording event by event. The database cannot: the category of an allocation, the code that
 * freed it, and the memory that a step kept show only later. The database is therefore loaded anew with all events so
 * far. A load of a long run takes long: loads take 1 / LOAD_SHARE of the time at most. A question may start a load
 * earlier (LOAD_SHARE_ASKED).
 */
#include <stdio.h>
#include "base/progress.h"
#include "base/text.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "worker_impl.h"

#define LOAD_AFTER 1000000000      /* ns: least time between two loads */
#define LOAD_SHARE 10              /* share of the time for new sites and steps: 1 / LOAD_SHARE */
#define LOAD_SHARE_ASKED 1         /* the same for a question */
#define NOT_SAME_AFTER 10000000000 /* ns: least time before a new reading because the traces changed */

void worker_set_state(struct worker *worker, enum worker_state state)
{
	pthread_mutex_lock(&worker->lock);
	worker->done = worker->total = 0;
	worker->state = state;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
}

/* The model's facts of the run now. */
struct seen {
	enum model_follow follow;
	int64_t until;
	uint32_t sites, steps;
	uint64_t events;
};

static struct seen look(struct worker *worker)
{
	struct model *model = worker->model;
	struct seen seen;

	model_lock(model);
	seen = (struct seen){ model->follow, model->last_time, model->sites, model->steps, model->events };
	model_unlock(model);
	return seen;
}

/* Whether a load is due. A question can use a young database. */
static int is_due(const struct worker *worker, const struct seen *seen, int asked)
{
	int64_t age = progress_now() - worker->loaded.at;
	int64_t wait = worker->loaded.cost * (asked ? LOAD_SHARE_ASKED : LOAD_SHARE);

	if (!seen->events || (worker->db && seen->until <= worker->loaded.until))
		return 0;
	if (worker->loaded.at && age < (wait > LOAD_AFTER ? wait : LOAD_AFTER))
		return 0;
	return asked || !worker->db || seen->sites != worker->loaded.sites || seen->steps != worker->loaded.steps;
}

/*
 * Marks the run as replaced: the file was replaced, or events came late, and the numbers of sites differ from the
 * model's.
 */
static void note_not_same(struct worker *worker)
{
	struct model *model = worker->model;

	if (worker->loaded.at && progress_now() - worker->loaded.at < NOT_SAME_AFTER)
		return;
	model_lock(model);
	model->follow = MODEL_REPLACED;
	model_unlock(model);
}

static int note_end(void *context, const struct query_process *row)
{
	struct worker *worker = context;

	if (row->last_time > worker->loaded.until)
		worker->loaded.until = row->last_time;
	return 0;
}

static void load(struct worker *worker, const struct seen *seen, int asked)
{
	int64_t began = progress_now();
	struct db *before = worker->db;
	char why[sizeof(worker->why)] = "";
	int error;

	if (asked || !before)
		worker_set_state(worker, WORKER_LOADING);
	worker->db = NULL;
	worker->follow = SOURCE_AS_SEEN;
	error = worker_load(worker, why, sizeof(why));
	if (error == -MT_E_CORRUPT)
		note_not_same(worker);
	if (error) { /* the next load may succeed */
		db_close(worker->db);
		worker->db = before;
		mt_copy_text(worker->why, sizeof(worker->why), why);
	} else {
		db_close(before);
		worker_name_sites(worker);
		worker->loaded.until = seen->until;
		query_processes(worker->db, note_end, worker); /* the model may be behind the files */
		worker->loaded.sites = seen->sites;
		worker->loaded.steps = seen->steps;
	}
	worker->loaded.at = progress_now();
	worker->loaded.cost = worker->loaded.at - began;
	worker_set_state(worker, WORKER_READY);
}

int worker_keep_up(struct worker *worker, int asked)
{
	struct seen seen = look(worker);

	if (seen.follow == MODEL_WHOLE)
		return 1;
	if (is_due(worker, &seen, asked))
		load(worker, &seen, asked);
	return 0;
}

void worker_until_words(struct worker *worker, char *out, size_t size)
{
	char time[TEXT_SIZE_MAX];

	*out = '\0';
	if (look(worker).follow == MODEL_FOLLOWS)
		snprintf(out, size, "(Recorded by %s; the recording goes on.)", text_time(time, worker->loaded.until));
}
