/* The document of memana oom: docs/schema/oom.schema.json. */
#include <stdlib.h>
#include "memtrace/error.h"
#include "oom_none.h"
#include "oom_page.h"
#include "query/callstack.h"
#include "query/query.h"
#include "report/places.h"
#include "report/running/running.h"
#include "report/top_host.h"
#include "why.h"
#include "why_held.h"

#define CAUSES_LEAST 10 /* least number of causes in the list, for any -n */

/* ---- the failure ---- */

static void json_failure(struct doc *doc, const struct oom_failure *failure)
{
	doc_int(doc, "number", failure->id);
	doc_string(doc, "source", failure->source);
	doc_time(doc, "time_ns", failure->time);
	doc_int(doc, "step", failure->step);
	doc_string(doc, "phase", failure->phase);
	doc_pid(doc, "pid", failure->pid);
	doc_int_or_null(doc, "rank", failure->rank, failure->rank >= 0);
	doc_int(doc, "device", failure->number);
	doc_int(doc, "requested_bytes", (int64_t)failure->requested);
	doc_int_or_null(doc, "free_bytes", failure->free, failure->free >= 0);
	doc_string(doc, "free_by", failure->free_by);
	doc_int_or_null(doc, "others_bytes", failure->others, failure->others >= 0);
	doc_int(doc, "refusals", (int64_t)failure->refusals);
	doc_string(doc, "function", failure->function);
	doc_string(doc, "place", failure->place);
}

static void json_sums(struct doc *doc, const struct held *held, enum held_by by, const char *key, const char *word)
{
	struct held_sum sum[HELD_SUMS_MAX];
	size_t count = held_sums(held, by, sum), i;

	doc_array(doc, key);
	for (i = 0; i < count; i++) {
		doc_object(doc, NULL);
		doc_string(doc, word, sum[i].word);
		doc_int(doc, "bytes", (int64_t)sum[i].bytes);
		doc_int(doc, "count", (int64_t)sum[i].count);
		doc_end(doc);
	}
	doc_end(doc);
}

static int json_holders(struct doc *doc, const struct scene *scene)
{
	uint32_t *order = why_holders(scene);
	const struct scene_process *holder;
	size_t i;

	if (!order)
		return -MT_E_MEMORY;
	doc_array(doc, "processes");
	for (i = 0; i < scene->processes; i++) {
		holder = &scene->process[order[i]];
		if (!holder->held && !holder->asleep)
			continue;
		doc_object(doc, NULL);
		doc_pid(doc, "pid", holder->pid);
		doc_int_or_null(doc, "rank", holder->rank, holder->rank >= 0);
		doc_int(doc, "held_bytes", (int64_t)holder->held);
		doc_int(doc, "slack_bytes", (int64_t)holder->slack);
		doc_int(doc, "idle_segment_bytes", (int64_t)holder->idle);
		doc_int(doc, "asleep_bytes", (int64_t)holder->asleep);
		doc_end(doc);
	}
	doc_end(doc);
	free(order);
	return 0;
}

static void json_parts(struct doc *doc, const struct scene *scene, const struct held *held, int64_t limit)
{
	const struct held_part *part;
	size_t i;

	doc_array(doc, "in_use");
	for (i = 0; i < held->parts && (int64_t)i < limit; i++) {
		part = &held->part[i];
		doc_object(doc, NULL);
		doc_pid(doc, "pid", scene->process[part->process].pid);
		doc_string(doc, "category", mt_category_name((uint32_t)part->category));
		doc_string(doc, "phase", mt_phase_name((uint32_t)part->phase));
		doc_string(doc, "owner", part->owner);
		doc_string(doc, "function", part->function);
		doc_string(doc, "place", part->place);
		doc_int(doc, "bytes", (int64_t)part->bytes);
		doc_int(doc, "count", (int64_t)part->count);
		doc_end(doc);
	}
	doc_end(doc);
}

/* Writes the stack of the request, and the running module. */
static int json_asked(struct doc *doc, const struct scene *scene)
{
	const struct oom_failure *it = scene->request.failure;
	struct symbols *symbols = symbols_new();
	struct running running;
	int error = symbols ? stack_json(doc, scene->db, symbols, it->node) : -MT_E_MEMORY;

	symbols_free(symbols);
	if (!error)
		error = running_load(&running, scene->db, it->id);
	if (!error)
		running_json(doc, &running);
	return error;
}

static void json_device(struct doc *doc, const struct scene *scene, const struct balance *balance)
{
	const struct scene_request *request = &scene->request;
	int64_t unrecorded = balance_unrecorded(balance);

	doc_int_or_null(doc, "total_bytes", (int64_t)request->total, request->total != 0);
	doc_int(doc, "slack_bytes", (int64_t)scene->process[request->process].slack);
	doc_int(doc, "largest_hole_bytes", (int64_t)request->hole);
	doc_int(doc, "idle_segment_bytes", (int64_t)request->idle_segments);
	doc_int(doc, "in_use_bytes", (int64_t)scene->in_use);
	doc_int(doc, "asleep_bytes", (int64_t)why_asleep(scene));
	doc_int(doc, "unrecorded_bytes", unrecorded >= 0 ? unrecorded : (int64_t)request->outside);
	balance_json(doc, balance);
	doc_bool(doc, "survived", request->failure->had);
}

static int json_it(struct doc *doc, const struct scene *scene, const struct answer_options *options)
{
	struct held held = { NULL, 0 };
	struct balance balance;
	int error = why_balance(&balance, scene);

	doc_object(doc, "failure");
	json_failure(doc, scene->request.failure);
	if (!error)
		error = json_asked(doc, scene);
	if (!error)
		error = held_load(&held, scene);
	if (!error) {
		json_device(doc, scene, &balance);
		error = json_holders(doc, scene);
		json_sums(doc, &held, HELD_BY_CATEGORY, "by_category", "category");
		json_sums(doc, &held, HELD_BY_PHASE, "by_phase", "phase");
		json_sums(doc, &held, HELD_BY_OWNER, "by_owner", "owner");
		json_parts(doc, scene, &held, options->limit);
	}
	doc_end(doc);
	held_release(&held);
	return error;
}

/* ---- host and failures ---- */

static int json_host(void *context, const struct query_host *row)
{
	struct doc *doc = context;

	doc_object(doc, NULL);
	doc_pid(doc, "pid", row->pid);
	doc_int(doc, "rss_bytes", (int64_t)row->resident);
	top_host_json(doc, row);
	doc_end(doc);
	return 0;
}

static void json_failures(struct doc *doc, const struct oom_failures *all)
{
	size_t i;

	doc_array(doc, "failures");
	for (i = 0; i < all->count; i++) {
		if (all->failure[i].is_part)
			continue;
		doc_object(doc, NULL);
		json_failure(doc, &all->failure[i]);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_nearest(struct doc *doc, const struct oom_none *none)
{
	doc_object(doc, "nearest");
	doc_int(doc, "device", none->number);
	if (text_known.history)
		doc_string(doc, "phase", none->phase);
	else
		doc_null(doc, "phase");
	doc_int_or_null(doc, "step", none->step, text_known.history);
	doc_int(doc, "peak_bytes", (int64_t)none->peak);
	doc_int_or_null(doc, "total_bytes", (int64_t)none->total, none->total != 0);
	doc_int_or_null(doc, "used_bytes", (int64_t)none->used, none->used != 0);
	doc_end(doc);
}

static int json_none(struct doc *doc, const struct why *why)
{
	struct sentence sentence = { .size = 0 };
	struct oom_none none;
	int error = oom_none_load(&none, why->scene.db);

	if (!error)
		error = oom_none_say(&sentence, &none, why->scene.db);
	if (error)
		return error;
	why_say_verdict(&sentence, why);
	doc_string(doc, "verdict", sentence.text);
	doc_null(doc, "failure");
	if (none.device)
		json_nearest(doc, &none);
	return 0;
}

static int json_why(struct doc *doc, const struct why *why, const struct answer_options *options)
{
	struct sentence sentence = { .size = 0 };

	if (!why->scene.request.failure)
		return json_none(doc, why);
	why_say_verdict(&sentence, why);
	doc_string(doc, "verdict", sentence.text);
	return json_it(doc, &why->scene, options);
}

int oom_json(struct doc *doc, struct db *db, const struct answer_options *options)
{
	struct why why;
	int error = why_load(&why, db, options->number);

	if (!error)
		error = json_why(doc, &why, options);
	if (!error)
		error = why_json(doc, &why, options->limit > CAUSES_LEAST ? options->limit : CAUSES_LEAST);
	json_failures(doc, &why.scene.failures);
	doc_array(doc, "host");
	if (!error)
		error = query_hosts(db, json_host, doc);
	doc_end(doc);
	why_release(&why);
	return error;
}
