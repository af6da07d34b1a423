/* worker_lists.c - places in an order: what was made between two moments and lives, and what outlives what made it. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/finding.h"
#include "report/steps/retained.h"
#include "store/store.h"
#include "worker_impl.h"
#include "worker_query.h"

/* ---- between two moments ---- */

struct between {
	struct worker *worker;
	struct worker_table *table;
	uint64_t bytes, count, first; /* first: bytes of the first place */
	char place[256], category[64];
	int processes;
};

enum between_column { BETWEEN_BYTES, BETWEEN_COUNT, BETWEEN_PHASE, BETWEEN_CATEGORY, BETWEEN_PLACE, BETWEEN_PROCESS };

static int between_row(void *context, struct db_stmt *row)
{
	struct between *between = context;
	struct worker_table *table = between->table;
	uint64_t bytes = (uint64_t)db_int(row, 0), count = (uint64_t)db_int(row, 1);
	char word[TEXT_SIZE_MAX], place[256];

	worker_place(place, sizeof(place), db_text(row, 4), db_text(row, 5));
	if (!between->count) {
		between->first = bytes;
		mt_copy_text(between->place, sizeof(between->place), place);
		mt_copy_text(between->category, sizeof(between->category), answer_category(db_text(row, 3)));
	}
	between->bytes += bytes;
	between->count += count;
	if (worker_table_row(table, worker_site(between->worker, db_int(row, 8)), -1))
		return 0;
	worker_table_cell(table, BETWEEN_BYTES, text_bytes(word, bytes));
	worker_table_cell(table, BETWEEN_COUNT, text_number(word, count));
	worker_table_cell(table, BETWEEN_PHASE, db_text(row, 2));
	worker_table_cell(table, BETWEEN_CATEGORY, db_text(row, 3));
	worker_table_cell(table, BETWEEN_PLACE, place);
	if (between->processes)
		worker_table_cell(table, BETWEEN_PROCESS, answer_process(word, db_int(row, 6), db_int(row, 7)));
	return 0;
}

static void say_between(struct sentence *sentence, const struct between *between, int64_t from, int64_t to)
{
	char size[TEXT_SIZE_MAX], first[TEXT_SIZE_MAX], count[64], begin[TEXT_SIZE_MAX], end[TEXT_SIZE_MAX];

	text_time(begin, from);
	text_time(end, to);
	if (!between->count) {
		sentence_say(sentence, "Nothing that was allocated between %s and %s is alive then.", begin, end);
		return;
	}
	sentence_say(sentence, "%s in %s, made between %s and %s, %s alive then: %s of it ",
		     text_bytes(size, between->bytes), text_count(count, sizeof(count), between->count, "allocation"),
		     begin, end, between->count == 1 ? "is" : "are",
		     between->first == between->bytes ? "all" : text_bytes(first, between->first));
	sentence_say(sentence, "%s, by %s.", between->category, between->place);
}

int worker_answer_between(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	int64_t from = question->from < question->to ? question->from : question->to;
	int64_t to = question->from < question->to ? question->to : question->from;
	struct between between = { .worker = worker, .table = table };
	struct sentence sentence = { 0 };
	int error;

	model_lock(worker->model);
	between.processes = worker->model->processes > 1;
	model_unlock(worker->model);
	worker_table_column(table, "bytes", 1);
	worker_table_column(table, "count", 1);
	worker_table_column(table, "phase", 0);
	worker_table_column(table, "category", 0);
	worker_table_column(table, "place", 0);
	if (between.processes)
		worker_table_column(table, "process", 0);
	error = worker_query_between(worker->db, store_device_id(question->device), from, to, between_row, &between);
	if (error)
		return error;
	say_between(&sentence, &between, from, to);
	worker_table_verdict(table, sentence.text);
	return 0;
}

/* ---- retained ---- */

/* Those that say most come first: a terminal of 80 columns has no room for all. */
enum retained_column {
	RETAINED_BYTES,
	RETAINED_PLACE,
	RETAINED_WHAT,
	RETAINED_PHASE,
	RETAINED_EACH,
	RETAINED_CATEGORY,
	RETAINED_SEEN
};

/* One of the sites that have this stack. */
static uint32_t site_of(struct worker *worker, const struct retained_growth *growth)
{
	const struct worker_query_stack stack = { .device = growth->device,
						  .process = growth->process,
						  .node = growth->node,
						  .phase = growth->phase,
						  .category = growth->category };
	int64_t site;

	worker_query_site_of(worker->db, &stack, &site); /* where that fails, the row is of none */
	return worker_site(worker, site);
}

static void add_growth(struct worker *worker, struct worker_table *table, const struct retained_list *list,
		       const char *what)
{
	const struct retained_growth *growth;
	char word[TEXT_SIZE_MAX], place[256];
	size_t i;

	for (i = 0; i < list->count; i++) {
		growth = &list->growth[i];
		if (worker_table_row(table, site_of(worker, growth), -1))
			return;
		worker_table_cell(table, RETAINED_BYTES, text_bytes(word, growth->bytes));
		worker_table_cell(table, RETAINED_WHAT, what);
		worker_table_cell(table, RETAINED_EACH, text_bytes(word, growth->bytes / growth->parts));
		if (growth->steps)
			worker_table_print(table, RETAINED_SEEN, "step %lld, in %u of %u", (long long)growth->step,
					   growth->steps, growth->steps_of);
		else
			worker_table_print(table, RETAINED_SEEN, "steps %u to %u of %u", growth->first,
					   growth->first + growth->parts - 1, growth->of);
		worker_table_cell(table, RETAINED_PHASE, growth->phase);
		worker_table_cell(table, RETAINED_CATEGORY, growth->category);
		worker_table_cell(table, RETAINED_PLACE, finding_place(place, sizeof(place), worker->db, growth->node));
	}
}

static void add_crossings(struct worker_table *table, const struct retained *retained)
{
	const struct retained_crossings *list = &retained->phases;
	const struct retained_crossing *crossing;
	struct sentence what;
	char word[TEXT_SIZE_MAX], count[64];
	size_t i;

	for (i = 0; i < list->count; i++) {
		crossing = &list->crossing[i];
		if (worker_table_row(table, 0, -1))
			return;
		worker_table_cell(table, RETAINED_BYTES, text_bytes(word, crossing->bytes));
		worker_table_cell(table, RETAINED_PLACE, "all places");
		what.size = 0;
		sentence_say(&what, "alive at %s's peak", crossing->to);
		retained_say_device(&what, retained, crossing);
		worker_table_cell(table, RETAINED_WHAT, what.text);
		worker_table_cell(table, RETAINED_SEEN,
				  text_count(count, sizeof(count), crossing->count, "allocation"));
		worker_table_cell(table, RETAINED_PHASE, crossing->from);
	}
}

int worker_answer_retained(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	static const struct retained_question all;
	struct retained retained = { 0 };
	struct sentence sentence;
	int error = worker_query_forget(worker->db);

	(void)question;
	worker_table_column(table, "bytes", 1);
	worker_table_column(table, "place", 0);
	worker_table_column(table, "kept", 0);
	worker_table_column(table, "from", 0);
	worker_table_column(table, "each", 1);
	worker_table_column(table, "category", 0);
	worker_table_column(table, "seen in", 0);
	if (!error)
		error = retained_load(&retained, worker->db, &all);
	if (!error) {
		add_growth(worker, table, &retained.batches, "by every micro-batch");
		add_growth(worker, table, &retained.steps, "by every step");
		add_crossings(table, &retained);
		sentence = retained_verdict(&retained, &all);
		worker_table_verdict(table, sentence.text);
	}
	retained_release(&retained);
	return error;
}
