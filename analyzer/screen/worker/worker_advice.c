/* The settings that would have helped, as `memana advise` says them. Settings are taken from the recording alone. */
#include "base/text.h"
#include "memtrace/error.h"
#include "report/advise/advise.h"
#include "worker_impl.h"
#include "worker_query.h"

/* Those that say most come first: a terminal of 80 columns has no room for all. */
#define ADVICE_COLUMN_LIST(X)            \
	X(SAVES, "saves", 1)             \
	X(SETTING, "with", WORKER_WHOLE) \
	X(NOW, "is now", 0)              \
	X(THEN, "then", 1)               \
	X(WHERE, "in", WORKER_PHASE)     \
	X(FITS, "fits", 0)               \
	X(COSTS, "costs", 0)             \
	X(WHY, "because of", 0)

enum advice_column {
#define ADVICE_COLUMN_ENUM(name, title, numbers) ADVICE_##name,
	ADVICE_COLUMN_LIST(ADVICE_COLUMN_ENUM)
#undef ADVICE_COLUMN_ENUM
};

static void add_setting(struct worker_table *table, const struct advise_row *row)
{
	char range[ADVISE_RANGE_MAX];

	worker_table_print(table, ADVICE_SAVES, "%s%s", row->probable ? "~" : "",
			   advise_range_words(range, row->saved));
	if (row->knob->written == MT_KNOB_WRITTEN_CODE)
		worker_table_cell(table, ADVICE_SETTING, row->knob->what);
	else
		worker_table_print(table, ADVICE_SETTING, "%s = %s", row->knob->name.key, row->to);
	worker_table_cell(table, ADVICE_NOW, row->now_words);
	worker_table_cell(table, ADVICE_THEN, advise_range_words(range, row->outcome.peak));
	worker_table_cell(table, ADVICE_WHERE, answer_phase(mt_phase_name(row->outcome.in)));
	worker_table_cell(table, ADVICE_FITS, !row->fits ? "" : row->probable ? "probably" : "yes");
	worker_table_cell(table, ADVICE_COSTS, advise_cost_words(row->cost));
	worker_table_cell(table, ADVICE_WHY, row->evidence);
}

int worker_answer_advice(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	static const struct advise_request request = { .name = "TRACE" };
	struct sentence verdict = { .size = 0 };
	struct advice advice;
	size_t i;
	int error = worker_query_forget(worker->db);

	(void)question;
#define ADVICE_COLUMN_ADD(name, title, numbers) worker_table_column(table, title, numbers);
	ADVICE_COLUMN_LIST(ADVICE_COLUMN_ADD)
#undef ADVICE_COLUMN_ADD
	if (error)
		return error;
	error = advise(&advice, worker->db, &request);
	if (!error) {
		sentence_say(&verdict, "%s %s", advice.answer.text, advice.verdict.text);
		worker_table_verdict(table, verdict.text);
		for (i = 0; i < advice.rows && !worker_table_row(table, 0, -1); i++)
			add_setting(table, &advice.row[i]);
	} else if (error == -MT_E_MAGIC) {
		worker_table_verdict(table, advise_nothing_held);
		error = 0;
	}
	advise_release(&advice);
	return error;
}
