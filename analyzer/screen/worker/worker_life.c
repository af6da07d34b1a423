/*
 * worker_life.c - every allocation of a place: times, phases and steps of birth and death, and the code that freed it.
 */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "memtrace/error.h"
#include "worker_impl.h"
#include "worker_query.h"

struct life {
	uint64_t count, bytes, freed, kept_bytes, steps, largest;
	int64_t shortest, longest, average; /* ns */
	char freed_by[256];
	uint64_t freed_there, freed_places;
};

/*
 * All rows of a place have one phase: the phase needs no column. The most important columns come first: a narrow screen
 * cuts the others.
 */
enum life_column {
	LIFE_BORN,
	LIFE_STEP,
	LIFE_LIVED,
	LIFE_SIZE,
	LIFE_FREED_PHASE,
	LIFE_FREED_STEP,
	LIFE_FREED_BY,
	LIFE_FREED
};

static int life_row(void *context, struct db_stmt *row)
{
	struct worker_table *table = context;
	int64_t born = db_int(row, 0);
	char word[TEXT_SIZE_MAX], place[256];

	if (worker_table_row(table, 0, born))
		return 0;
	worker_table_cell(table, LIFE_BORN, text_time(word, born));
	worker_table_cell(table, LIFE_SIZE, text_bytes(word, (uint64_t)db_int(row, 2)));
	worker_table_print(table, LIFE_STEP, "%lld", (long long)db_int(row, 3));
	if (db_type(row, 1) == DB_NULL) {
		worker_table_cell(table, LIFE_LIVED, "never freed");
		return 0;
	}
	worker_table_cell(table, LIFE_LIVED, text_time(word, db_int(row, 1) - born));
	worker_table_cell(table, LIFE_FREED, text_time(word, db_int(row, 1)));
	worker_table_cell(table, LIFE_FREED_PHASE, db_text(row, 4));
	worker_table_print(table, LIFE_FREED_STEP, "%lld", (long long)db_int(row, 5));
	if (db_int(row, 8))
		worker_table_cell(table, LIFE_FREED_BY, "unknown");
	else
		worker_table_cell(table, LIFE_FREED_BY,
				  worker_place(place, sizeof(place), db_text(row, 6), db_text(row, 7)));
	return 0;
}

static int sums_row(void *context, struct db_stmt *row)
{
	struct life *life = context;

	life->count = (uint64_t)db_int(row, 0);
	life->bytes = (uint64_t)db_int(row, 1);
	life->freed = (uint64_t)db_int(row, 2);
	life->kept_bytes = (uint64_t)db_int(row, 3);
	life->steps = (uint64_t)db_int(row, 4);
	life->shortest = db_int(row, 5);
	life->longest = db_int(row, 6);
	life->average = (int64_t)db_real(row, 7);
	life->largest = (uint64_t)db_int(row, 8);
	return 0;
}

static int freed_by_row(void *context, struct db_stmt *row)
{
	struct life *life = context;

	worker_place(life->freed_by, sizeof(life->freed_by), db_text(row, 0), db_text(row, 1));
	life->freed_there = (uint64_t)db_int(row, 2);
	life->freed_places = (uint64_t)db_int(row, 3);
	return 0;
}

/* "142 allocations in 3 steps, 14.2 GiB in all" */
static void say_births(struct sentence *sentence, const struct life *life)
{
	char count[64], steps[64], size[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s", text_count(count, sizeof(count), life->count, "allocation"));
	if (life->steps > 1 && life->count % life->steps == 0)
		sentence_say(sentence, ", %llu in each of %s", (unsigned long long)(life->count / life->steps),
			     text_count(steps, sizeof(steps), life->steps, "step"));
	else if (life->steps > 1)
		sentence_say(sentence, " in %s", text_count(steps, sizeof(steps), life->steps, "step"));
	if (life->count > 1 && life->bytes == life->largest * life->count)
		sentence_say(sentence, ", %s each", text_bytes(size, life->largest));
	else
		sentence_say(sentence, ", %s%s", text_bytes(size, life->bytes), life->count > 1 ? " in all" : "");
}

/* ", each lives 12 ms; freed by backward (rl_step.c:210)" */
static void say_deaths(struct sentence *sentence, const struct life *life)
{
	char one[TEXT_SIZE_MAX], two[TEXT_SIZE_MAX];
	const char *who = life->freed < life->count ? "the others live" : life->count == 1 ? "lives" : "each lives";

	if (life->longest <= life->shortest + life->shortest / 4)
		sentence_say(sentence, "%s %s", who, text_time(one, life->average));
	else
		sentence_say(sentence, "%s from %s to %s", who, text_time(one, life->shortest),
			     text_time(two, life->longest));
	if (!life->freed_there)
		sentence_say(sentence, "; the place that freed %s is unknown", life->freed == 1 ? "it" : "them");
	else if (life->freed_there == life->freed)
		sentence_say(sentence, "; freed by %s", life->freed_by);
	else
		sentence_say(sentence, "; freed by several, most often (%llu of %llu) by %s",
			     (unsigned long long)life->freed_there, (unsigned long long)life->freed, life->freed_by);
}

static void say_life(struct sentence *sentence, const struct life *life)
{
	char size[TEXT_SIZE_MAX], kept[64];

	if (!life->count) {
		sentence_say(sentence, "The traces have no allocation of this place.");
		return;
	}
	say_births(sentence, life);
	sentence_say(sentence, ", ");
	if (!life->freed)
		sentence_say(sentence, life->count == 1 ? "never freed" : "none was ever freed");
	else if (life->freed < life->count)
		sentence_say(sentence, "%s of them (%s) never freed, ", text_number(kept, life->count - life->freed),
			     text_bytes(size, life->kept_bytes));
	if (life->freed)
		say_deaths(sentence, life);
	sentence_say(sentence, ".");
}

int worker_answer_life(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	static const struct {
		const char *title;
		int numbers;
	} columns[] = { { "born at", 1 }, { "step", 1 }, { "lived", 1 },   { "size", 1 }, { "freed in", WORKER_PHASE },
			{ "step", 1 },    { "by", 0 },   { "freed at", 1 } };
	struct sentence sentence = { 0 };
	struct life life = { 0 };
	size_t i;
	int error;

	for (i = 0; i < MT_ARRAY_SIZE(columns); i++)
		worker_table_column(table, columns[i].title, columns[i].numbers);
	error = worker_query_life(worker->db, question->site, WORKER_ROWS_MAX + 1, life_row, table);
	if (!error)
		error = worker_query_life_sums(worker->db, question->site, sums_row, &life);
	if (!error)
		error = worker_query_freed_by(worker->db, question->site, freed_by_row, &life);
	if (error)
		return error;
	say_life(&sentence, &life);
	worker_table_verdict(table, sentence.text);
	return 0;
}
