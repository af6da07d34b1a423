/* clerk_lists.c - places in an order: what was made between two moments and lives, and what outlives what made it. */
#include <stdio.h>
#include <string.h>
#include "answer.h"
#include "clerk_impl.h"
#include "finding.h"
#include "memtrace/error.h"
#include "retained.h"
#include "retained_words.h"
#include "store.h"
#include "text.h"

/* ---- between two moments ---- */

/* Bytes, count and words by place; the site is that of the largest allocation. */
static const char between_sql[] =
	"SELECT sum(one.bytes), count(*), one.phase, one.category, ifnull(callsite.function, ''), ifnull(callsite.place, ''), "
	"ifnull(process.rank, -1), process.pid, one.site, max(one.bytes) "
	"FROM in_use AS one JOIN process ON process.id = one.process LEFT JOIN callsite ON callsite.node = one.node "
	"WHERE one.device = ?1 AND one.alloc_time > ?2 AND one.alloc_time <= ?3 AND one.since_time <= ?3 "
	"AND (one.until_time IS NULL OR one.until_time > ?3) AND one.bytes > 0 "
	"GROUP BY one.process, one.phase, one.category, callsite.function, callsite.file, callsite.line, callsite.place "
	"ORDER BY 1 DESC, 2 DESC, one.phase, one.category, 6, one.process";

struct between {
	struct clerk *clerk;
	struct clerk_table *table;
	uint64_t bytes, count, first; /* first: bytes of the first place */
	char place[256], category[64];
	int processes;
};

enum between_column { BETWEEN_BYTES, BETWEEN_COUNT, BETWEEN_PHASE, BETWEEN_CATEGORY, BETWEEN_PLACE, BETWEEN_PROCESS };

static int between_row(void *context, struct db_stmt *row)
{
	struct between *between = context;
	struct clerk_table *table = between->table;
	uint64_t bytes = (uint64_t)db_int(row, 0), count = (uint64_t)db_int(row, 1);
	char word[TEXT_SIZE_MAX], place[256];

	clerk_place(place, sizeof(place), db_text(row, 4), db_text(row, 5));
	if (!between->count) {
		between->first = bytes;
		mt_copy_text(between->place, sizeof(between->place), place);
		mt_copy_text(between->category, sizeof(between->category), answer_category(db_text(row, 3)));
	}
	between->bytes += bytes;
	between->count += count;
	if (clerk_table_row(table, clerk_site(between->clerk, db_int(row, 8)), -1))
		return 0;
	clerk_table_cell(table, BETWEEN_BYTES, text_bytes(word, bytes));
	clerk_table_cell(table, BETWEEN_COUNT, text_number(word, count));
	clerk_table_cell(table, BETWEEN_PHASE, db_text(row, 2));
	clerk_table_cell(table, BETWEEN_CATEGORY, db_text(row, 3));
	clerk_table_cell(table, BETWEEN_PLACE, place);
	if (between->processes)
		clerk_table_cell(table, BETWEEN_PROCESS, answer_process(word, db_int(row, 6), db_int(row, 7)));
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
	sentence_say(sentence, "%s in %s, made between %s and %s, %s alive then: %s of it ", text_bytes(size, between->bytes),
		     text_count(count, sizeof(count), between->count, "allocation"), begin, end,
		     between->count == 1 ? "is" : "are",
		     between->first == between->bytes ? "all" : text_bytes(first, between->first));
	sentence_say(sentence, "%s, by %s.", between->category, between->place);
}

int clerk_answer_between(struct clerk *clerk, const struct clerk_question *question, struct clerk_table *table)
{
	int64_t from = question->from < question->to ? question->from : question->to;
	int64_t to = question->from < question->to ? question->to : question->from;
	const int64_t parameters[ANSWER_PARAMETERS] = { store_device_id(question->device), from, to };
	struct between between = { .clerk = clerk, .table = table };
	struct sentence sentence = { 0 };
	int error;

	model_lock(clerk->model);
	between.processes = clerk->model->processes > 1;
	model_unlock(clerk->model);
	clerk_table_column(table, "bytes", 1);
	clerk_table_column(table, "count", 1);
	clerk_table_column(table, "phase", 0);
	clerk_table_column(table, "category", 0);
	clerk_table_column(table, "place", 0);
	if (between.processes)
		clerk_table_column(table, "process", 0);
	error = answer_rows(clerk->db, between_sql, parameters, between_row, &between);
	if (error)
		return error;
	say_between(&sentence, &between, from, to);
	clerk_table_verdict(table, sentence.text);
	return 0;
}

/* ---- retained ---- */

enum retained_column { RETAINED_BYTES, RETAINED_WHAT, RETAINED_PHASE, RETAINED_PLACE, RETAINED_EACH, RETAINED_CATEGORY,
		       RETAINED_SEEN };

static int site_row(void *context, struct db_stmt *row)
{
	*(int64_t *)context = db_int(row, 0);
	return 0;
}

/* One of the sites that have this stack. */
static uint32_t site_of(struct clerk *clerk, const struct retained_growth *growth)
{
	const int64_t parameters[ANSWER_PARAMETERS] = { growth->device, growth->process, growth->node };
	int64_t site = 0;
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT id FROM site WHERE device = ?1 AND process = ?2 AND ifnull(node, 0) = ?3 AND phase = '%s' "
		 "ORDER BY category = '%s' DESC, id LIMIT 1", growth->phase, growth->category);
	answer_rows(clerk->db, sql, parameters, site_row, &site); /* no site: the row is of none */
	return clerk_site(clerk, site);
}

static void add_growth(struct clerk *clerk, struct clerk_table *table, const struct retained_list *list, const char *what)
{
	const struct retained_growth *growth;
	char word[TEXT_SIZE_MAX], place[256];
	size_t i;

	for (i = 0; i < list->count; i++) {
		growth = &list->growth[i];
		if (clerk_table_row(table, site_of(clerk, growth), -1))
			return;
		clerk_table_cell(table, RETAINED_BYTES, text_bytes(word, growth->bytes));
		clerk_table_cell(table, RETAINED_WHAT, what);
		clerk_table_cell(table, RETAINED_EACH, text_bytes(word, growth->bytes / growth->parts));
		if (growth->steps)
			clerk_table_print(table, RETAINED_SEEN, "step %lld, in %u of %u", (long long)growth->step,
					  growth->steps, growth->steps_of);
		else
			clerk_table_print(table, RETAINED_SEEN, "steps %u to %u of %u", growth->first,
					  growth->first + growth->parts - 1, growth->of);
		clerk_table_cell(table, RETAINED_PHASE, growth->phase);
		clerk_table_cell(table, RETAINED_CATEGORY, growth->category);
		clerk_table_cell(table, RETAINED_PLACE, finding_place(place, sizeof(place), clerk->db, growth->node));
	}
}

static void add_crossings(struct clerk_table *table, const struct retained_crossings *list)
{
	const struct retained_crossing *crossing;
	char word[TEXT_SIZE_MAX], count[64];
	size_t i;

	for (i = 0; i < list->count; i++) {
		crossing = &list->crossing[i];
		if (clerk_table_row(table, 0, -1))
			return;
		clerk_table_cell(table, RETAINED_BYTES, text_bytes(word, crossing->bytes));
		clerk_table_print(table, RETAINED_WHAT, "alive at %s's peak", crossing->to);
		clerk_table_cell(table, RETAINED_SEEN, text_count(count, sizeof(count), crossing->count, "allocation"));
		clerk_table_cell(table, RETAINED_PHASE, crossing->from);
	}
}

static int drop_row(void *context, const struct db_stmt *row)
{
	struct sentence *drops = context;

	sentence_say(drops, "%s%s", drops->size ? " " : "", db_text(row, 0));
	return 0;
}

/* What retained_load makes of temporary tables is made anew for each question. */
static int drop_temporary(struct db *db)
{
	struct sentence names = { 0 };
	char *rest = names.text, *name, sql[300];
	int error = finding_rows(db, "SELECT name FROM sqlite_temp_schema WHERE type = 'table'", drop_row, &names);

	while (!error && (name = strsep(&rest, " ")) && *name) {
		snprintf(sql, sizeof(sql), "DROP TABLE temp.\"%.200s\"", name);
		error = finding_run(db, sql);
	}
	return error;
}

int clerk_answer_retained(struct clerk *clerk, const struct clerk_question *question, struct clerk_table *table)
{
	static const struct retained_question all;
	struct retained retained = { 0 };
	struct sentence sentence;
	int error = drop_temporary(clerk->db);

	(void)question;
	clerk_table_column(table, "bytes", 1);
	clerk_table_column(table, "kept", 0);
	clerk_table_column(table, "from", 0);
	clerk_table_column(table, "place", 0);
	clerk_table_column(table, "each", 1);
	clerk_table_column(table, "category", 0);
	clerk_table_column(table, "seen in", 0);
	if (!error)
		error = retained_load(&retained, clerk->db, &all);
	if (!error) {
		add_growth(clerk, table, &retained.batches, "by every micro-batch");
		add_growth(clerk, table, &retained.steps, "by every step");
		add_crossings(table, &retained.phases);
		sentence = retained_verdict(&retained, &all);
		clerk_table_verdict(table, sentence.text);
	}
	retained_release(&retained);
	return error;
}
