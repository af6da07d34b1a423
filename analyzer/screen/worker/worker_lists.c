/*
 * worker_lists.c - lists of places: memory that was made between two moments and lives, and memory that outlived its
 * step or phase.
 */
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
	uint64_t bytes, count; /* kept */
	int64_t before, after; /* in use */
	int64_t most;          /* growth of the first place */
	char place[256], category[64];
	int processes;
};

/* The most important columns come first: 80 columns have no room for all. */
#define BETWEEN_COLUMN_LIST(X)          \
	X(GROWN, "grown by", 1)         \
	X(PLACE, "place", 0)            \
	X(PHASE, "phase", WORKER_PHASE) \
	X(MADE, "allocated", 1)         \
	X(FREED, "freed", 1)            \
	X(BYTES, "kept", 1)             \
	X(COUNT, "count", 1)            \
	X(CATEGORY, "category", 0)      \
	X(PROCESS, "process", 0)

enum between_column {
#define BETWEEN_COLUMN_ENUM(name, title, numbers) BETWEEN_##name,
	BETWEEN_COLUMN_LIST(BETWEEN_COLUMN_ENUM)
#undef BETWEEN_COLUMN_ENUM
};

static void between_columns(struct worker_table *table, int processes)
{
#define BETWEEN_COLUMN_ADD(name, title, numbers)            \
	if (BETWEEN_##name != BETWEEN_PROCESS || processes) \
		worker_table_column(table, title, numbers);
	BETWEEN_COLUMN_LIST(BETWEEN_COLUMN_ADD)
#undef BETWEEN_COLUMN_ADD
}

static int between_row(void *context, struct db_stmt *row)
{
	struct between *between = context;
	struct worker_table *table = between->table;
	int64_t grown = db_int(row, 0), made = db_int(row, 1), freed = made - grown;
	uint64_t kept = (uint64_t)db_int(row, 2), count = (uint64_t)db_int(row, 3);
	char word[TEXT_SIZE_MAX], place[256];

	if (freed < 0) { /* a pool woke up: memory came back without a birth */
		made = grown;
		freed = 0;
	}
	worker_place(place, sizeof(place), db_text(row, 6), db_text(row, 7));
	if (!table->answer.rows) {
		between->most = grown;
		mt_copy_text(between->place, sizeof(between->place), place);
		mt_copy_text(between->category, sizeof(between->category), answer_category(db_text(row, 5)));
	}
	between->bytes += kept;
	between->count += count;
	if (worker_table_row(table, worker_site(between->worker, db_int(row, 10)), -1))
		return 0;
	worker_table_cell(table, BETWEEN_GROWN, text_change(word, grown));
	worker_table_cell(table, BETWEEN_MADE, text_bytes(word, (uint64_t)made));
	worker_table_cell(table, BETWEEN_FREED, text_bytes(word, (uint64_t)freed));
	worker_table_cell(table, BETWEEN_BYTES, text_bytes(word, kept));
	worker_table_cell(table, BETWEEN_COUNT, text_number(word, count));
	worker_table_cell(table, BETWEEN_PHASE, db_text(row, 4));
	worker_table_cell(table, BETWEEN_CATEGORY, db_text(row, 5));
	worker_table_cell(table, BETWEEN_PLACE, place);
	if (between->processes)
		worker_table_cell(table, BETWEEN_PROCESS, answer_process(word, db_int(row, 8), db_int(row, 9)));
	return 0;
}

static int in_use_row(void *context, struct db_stmt *row)
{
	struct between *between = context;

	between->before = db_int(row, 0);
	between->after = db_int(row, 1);
	return 0;
}

static void say_between(struct sentence *sentence, const struct between *between, int64_t from, int64_t to)
{
	char size[TEXT_SIZE_MAX], first[TEXT_SIZE_MAX], count[64], begin[TEXT_SIZE_MAX], end[TEXT_SIZE_MAX];

	text_time(begin, from);
	text_time(end, to);
	sentence_say(sentence, "In use: %s at %s, %s at %s (%s). ", text_bytes(size, (uint64_t)between->before), begin,
		     text_bytes(first, (uint64_t)between->after), end,
		     text_change(count, between->after - between->before));
	if (between->most > 0)
		sentence_say(sentence, "Most was added by %s: %s, %s. ", between->place,
			     text_bytes(size, (uint64_t)between->most), between->category);
	if (!between->count)
		sentence_say(sentence, "Nothing that was allocated meanwhile is alive then.");
	else
		sentence_say(sentence, "%s in %s, made meanwhile, %s alive then.", text_bytes(size, between->bytes),
			     text_count(count, sizeof(count), between->count, "allocation"),
			     between->count == 1 ? "is" : "are");
}

int worker_answer_between(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	int64_t from = question->from < question->to ? question->from : question->to;
	int64_t to = question->from < question->to ? question->to : question->from;
	int64_t device = store_device_id(question->device);
	struct between between = { .worker = worker, .table = table };
	struct sentence sentence = { 0 };
	int error;

	model_lock(worker->model);
	between.processes = worker->model->processes > 1;
	model_unlock(worker->model);
	between_columns(table, between.processes);
	error = worker_query_between(worker->db, device, from, to, between_row, &between);
	if (!error)
		error = worker_query_in_use(worker->db, device, from, to, in_use_row, &between);
	if (error)
		return error;
	say_between(&sentence, &between, from, to);
	worker_table_verdict(table, sentence.text);
	return 0;
}

/* ---- retained ---- */

/* The most important columns come first: 80 columns have no room for all. */
enum retained_column {
	RETAINED_BYTES,
	RETAINED_PLACE,
	RETAINED_WHAT,
	RETAINED_PHASE,
	RETAINED_SEEN,
	RETAINED_EACH, /* this column and the next exist only if the rows are places */
	RETAINED_CATEGORY
};

/* One of the sites that have this stack. */
static uint32_t site_of(struct worker *worker, const struct growth_place *growth)
{
	const struct worker_query_stack stack = { .device = growth->device,
						  .process = growth->process,
						  .node = growth->node,
						  .phase = growth->phase,
						  .category = growth->category };
	int64_t site;

	worker_query_site_of(worker->db, &stack, &site); /* after a failure the row has no site */
	return worker_site(worker, site);
}

static void add_growth(struct worker *worker, struct worker_table *table, const struct growth_list *list,
		       const char *what)
{
	const struct growth_place *growth;
	char word[TEXT_SIZE_MAX], place[256];
	size_t i;

	for (i = 0; i < list->count; i++) {
		growth = &list->place[i];
		if (worker_table_row(table, site_of(worker, growth), -1))
			return;
		worker_table_cell(table, RETAINED_BYTES, text_bytes(word, growth->bytes));
		worker_table_cell(table, RETAINED_WHAT, what);
		worker_table_cell(table, RETAINED_EACH, text_bytes(word, growth->each));
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

/* The time of a phase's peak on the device; -1: unknown. */
static int64_t peak_of(struct worker *worker, const struct retained_crossing *crossing)
{
	int64_t time;

	return worker_query_phase_peak(worker->db, crossing->device, crossing->to, &time) ? -1 : time;
}

static void add_crossings(struct worker *worker, struct worker_table *table, const struct retained *retained)
{
	const struct retained_crossings *list = &retained->phases;
	const struct retained_crossing *crossing;
	struct sentence what;
	char word[TEXT_SIZE_MAX], count[64];
	size_t i;

	for (i = 0; i < list->count; i++) {
		crossing = &list->crossing[i];
		if (worker_table_row(table, 0, peak_of(worker, crossing)))
			return;
		worker_table_cell(table, RETAINED_BYTES, text_bytes(word, crossing->bytes));
		worker_table_cell(table, RETAINED_PLACE, "all places");
		what.size = 0;
		sentence_say(&what, "at %s's peak", crossing->to);
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
	worker_table_column(table, "place", WORKER_BRIEF);
	worker_table_column(table, "kept", WORKER_BRIEF);
	worker_table_column(table, "from", WORKER_PHASE);
	worker_table_column(table, "evidence", 0);
	if (!error)
		error = retained_load(&retained, worker->db, &all);
	if (!error && retained.batches.count + retained.steps.count) {
		worker_table_column(table, "each", 1);
		worker_table_column(table, "category", 0);
	}
	if (!error) {
		add_growth(worker, table, &retained.batches, "by every micro-batch");
		add_growth(worker, table, &retained.steps, "by every step");
		add_crossings(worker, table, &retained);
		sentence = retained_verdict(&retained, &all);
		worker_table_verdict(table, sentence.text);
	}
	retained_release(&retained);
	return error;
}
