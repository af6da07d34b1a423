#include "memtrace/error.h"
#include "oom_none.h"
#include "oom_words.h"
#include "query/callstack.h"
#include "query/query.h"
#include "report/peak_points.h"
#include "report/places.h"
#include "report/running/running.h"
#include "report/top_host.h"

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

static void json_sums(struct doc *doc, const struct oom *oom, enum oom_by by, const char *key, const char *word)
{
	struct oom_sum sum[OOM_SUMS_MAX];
	size_t count = oom_sums(oom, by, sum), i;

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

static void json_holders(struct doc *doc, const struct oom *oom)
{
	const struct oom_holder *holder;
	size_t i;

	doc_array(doc, "processes");
	for (i = 0; i < oom->holders; i++) {
		holder = &oom->holder[i];
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
}

static void json_parts(struct doc *doc, const struct oom *oom, int64_t limit)
{
	const struct oom_part *part;
	size_t i;

	doc_array(doc, "in_use");
	for (i = 0; i < oom->parts && (int64_t)i < limit; i++) {
		part = &oom->part[i];
		doc_object(doc, NULL);
		doc_pid(doc, "pid", part->pid);
		doc_string(doc, "category", part->category);
		doc_string(doc, "phase", part->phase);
		doc_string(doc, "owner", part->owner);
		doc_string(doc, "function", part->function);
		doc_string(doc, "place", part->place);
		doc_int(doc, "bytes", (int64_t)part->bytes);
		doc_int(doc, "count", (int64_t)part->count);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_growth(struct doc *doc, const struct oom_growth *growth)
{
	if (!growth->bytes)
		return;
	doc_object(doc, "growth");
	doc_int(doc, "bytes", (int64_t)growth->bytes);
	doc_int(doc, "process_in_use_bytes", (int64_t)growth->in_use);
	doc_int(doc, "bytes_each", (int64_t)growth->each);
	doc_string(doc, "each", oom_growth_part(growth));
	doc_int(doc, "places", (int64_t)growth->places);
	doc_string(doc, "function", growth->function);
	doc_string(doc, "place", growth->place);
	doc_pid(doc, "pid", growth->pid);
	doc_bool(doc, "sleeps", growth->sleeps);
	doc_end(doc);
}

static void json_logits(struct doc *doc, const struct oom_logits *logits)
{
	if (!logits->tokens)
		return;
	doc_object(doc, "logits");
	doc_int(doc, "tokens", (int64_t)logits->tokens);
	doc_int(doc, "words", (int64_t)logits->words);
	doc_int(doc, "element_bytes", (int64_t)logits->element);
	doc_int_or_null(doc, "earlier_tokens", (int64_t)logits->earlier, logits->earlier != 0);
	doc_end(doc);
}

/* Who had it made; nothing where the place says it all. */
static void json_called_from(struct doc *doc, const char *function, const char *place)
{
	if (!*place)
		return;
	doc_object(doc, "called_from");
	doc_string(doc, "function", function);
	doc_string(doc, "place", place);
	doc_end(doc);
}

static void json_place(struct doc *doc, const struct oom_part *part)
{
	if (!part)
		return;
	doc_object(doc, "place");
	doc_pid(doc, "pid", part->pid);
	doc_string(doc, "category", part->category);
	doc_string(doc, "function", part->function);
	doc_string(doc, "place", part->place);
	json_called_from(doc, part->by, part->by_place);
	doc_int(doc, "bytes", (int64_t)part->bytes);
	doc_int(doc, "count", (int64_t)part->count);
	doc_end(doc);
}

static void json_pins(struct doc *doc, const struct oom_pins *pins)
{
	if (!pins->segments)
		return;
	doc_object(doc, "pins");
	doc_int(doc, "segments", (int64_t)pins->segments);
	doc_int(doc, "idle_bytes", (int64_t)pins->idle);
	doc_int(doc, "bytes", (int64_t)pins->bytes);
	doc_string(doc, "function", pins->function);
	doc_string(doc, "place", pins->place);
	json_called_from(doc, pins->caller, pins->caller_place);
	doc_end(doc);
}

/* Weights that were made twice. */
static void json_copy(struct doc *doc, const struct oom_copy *copy)
{
	if (!copy->alike)
		return;
	doc_object(doc, "copy");
	doc_int(doc, "bytes", (int64_t)copy->bytes);
	doc_int(doc, "of_bytes", (int64_t)copy->all);
	doc_string(doc, "function", copy->function);
	doc_string(doc, "place", copy->place);
	doc_end(doc);
}

/* Of what the request is a copy. */
static void json_clone(struct doc *doc, const struct oom_clone *clone)
{
	if (!clone->bytes)
		return;
	doc_object(doc, "copied");
	doc_int(doc, "bytes", (int64_t)clone->bytes);
	doc_int(doc, "times_before", (int64_t)clone->pairs);
	doc_string(doc, "function", clone->function);
	doc_string(doc, "place", clone->place);
	json_called_from(doc, clone->caller, clone->caller_place);
	doc_end(doc);
}

/* A pool that should have slept. */
static void json_slept(struct doc *doc, const struct oom *oom)
{
	const struct slept *slept = &oom->slept;

	if (!oom->should_sleep)
		return;
	doc_object(doc, "slept");
	doc_pid(doc, "pid", slept->pid);
	doc_int(doc, "bytes", (int64_t)slept->bytes);
	doc_int(doc, "times_computing", (int64_t)slept->works);
	doc_int(doc, "times_in_call", (int64_t)slept->calls);
	json_called_from(doc, slept->function, slept->place);
	doc_int(doc, "late_bytes", (int64_t)slept->leaves);
	doc_int_or_null(doc, "late_ns", slept->late, slept->leaves != 0);
	doc_end(doc);
}

static void json_next(struct doc *doc, const struct oom *oom, const char *name)
{
	struct sentence sentence = { .size = 0 };

	oom_say_next(&sentence, oom, name);
	doc_object(doc, "next");
	doc_string(doc, "rule", oom_rule_word(oom->rule));
	doc_int(doc, "bytes", (int64_t)oom->rule_bytes);
	if (*oom->waking)
		doc_string(doc, "waking", oom->waking);
	doc_int_or_null(doc, "pid", oom->rule_pid, oom->rule_pid != 0);
	doc_string(doc, "category", oom->rule_category);
	json_place(doc, oom->place);
	json_pins(doc, &oom->pins);
	json_copy(doc, &oom->copy);
	json_clone(doc, &oom->clone);
	json_growth(doc, &oom->growth);
	json_slept(doc, oom);
	json_logits(doc, &oom->logits);
	if (*oom->asked_by)
		doc_string(doc, "asked_by", oom->asked_by);
	doc_string(doc, "words", sentence.text);
	doc_end(doc);
}

static int json_it(struct doc *doc, struct db *db, const struct oom *oom, const struct answer_options *options)
{
	struct symbols *symbols = symbols_new();
	struct balance balance;
	struct running running;
	int64_t unrecorded;
	int error = oom_balance(&balance, oom, db);

	unrecorded = balance_unrecorded(&balance);
	doc_object(doc, "failure");
	json_failure(doc, oom->it);
	if (!error)
		error = symbols ? stack_json(doc, db, symbols, oom->it->node) : -MT_E_MEMORY;
	symbols_free(symbols);
	if (!error)
		error = running_load(&running, db, oom->it->id);
	if (!error)
		running_json(doc, &running);
	doc_int_or_null(doc, "total_bytes", (int64_t)oom->it->total, oom->it->total != 0);
	doc_int(doc, "slack_bytes", (int64_t)oom->own_slack);
	doc_int(doc, "largest_hole_bytes", (int64_t)oom->hole);
	doc_int(doc, "idle_segment_bytes", (int64_t)oom->idle_segments);
	doc_int(doc, "in_use_bytes", (int64_t)oom->in_use);
	doc_int(doc, "asleep_bytes", (int64_t)oom->asleep);
	doc_int(doc, "unrecorded_bytes", unrecorded >= 0 ? unrecorded : (int64_t)oom->unrecorded);
	balance_json(doc, &balance);
	doc_bool(doc, "survived", oom->survived);
	json_holders(doc, oom);
	json_sums(doc, oom, OOM_BY_CATEGORY, "by_category", "category");
	json_sums(doc, oom, OOM_BY_PHASE, "by_phase", "phase");
	json_sums(doc, oom, OOM_BY_OWNER, "by_owner", "owner");
	json_parts(doc, oom, options->limit);
	json_next(doc, oom, options->name);
	doc_end(doc);
	return error;
}

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

static void json_failures(struct doc *doc, const struct oom *oom)
{
	size_t i;

	doc_array(doc, "failures");
	for (i = 0; i < oom->all.count; i++) {
		if (oom->all.failure[i].is_part)
			continue;
		doc_object(doc, NULL);
		json_failure(doc, &oom->all.failure[i]);
		doc_end(doc);
	}
	doc_end(doc);
}

static int json_none(struct doc *doc, struct db *db)
{
	struct sentence sentence = { .size = 0 };
	struct oom_none none;
	int error = oom_none_load(&none, db);

	if (error)
		return error;
	oom_none_say(&sentence, &none);
	error = oom_none_has_peak(&none) ? peak_points_say(&sentence, db, none.device, NULL) : 0;
	if (error < 0)
		return error;
	doc_string(doc, "verdict", sentence.text);
	doc_null(doc, "failure");
	if (!none.device)
		return 0;
	doc_object(doc, "nearest");
	doc_int(doc, "device", none.number);
	if (text_known.history)
		doc_string(doc, "phase", none.phase);
	else
		doc_null(doc, "phase");
	doc_int_or_null(doc, "step", none.step, text_known.history);
	doc_int(doc, "peak_bytes", (int64_t)none.peak);
	doc_int_or_null(doc, "total_bytes", (int64_t)none.total, none.total != 0);
	doc_int_or_null(doc, "used_bytes", (int64_t)none.used, none.used != 0);
	doc_end(doc);
	return 0;
}

int oom_json(struct doc *doc, struct db *db, const struct answer_options *options)
{
	struct sentence sentence = { .size = 0 };
	struct oom oom;
	int error = oom_load(&oom, db, options->number);

	if (!error && oom.it) {
		oom_verdict(&sentence, &oom, options->name);
		doc_string(doc, "verdict", sentence.text);
		error = json_it(doc, db, &oom, options);
	} else if (!error) {
		error = json_none(doc, db);
	}
	json_failures(doc, &oom);
	doc_array(doc, "host");
	if (!error)
		error = query_hosts(db, json_host, doc);
	doc_end(doc);
	oom_release(&oom);
	return error;
}
