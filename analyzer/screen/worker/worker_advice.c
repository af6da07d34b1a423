/* The settings that would have helped, as in `memana advise`. Present settings come from the recording alone. */
#include "base/text.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "why/advice/advice.h"
#include "worker_impl.h"
#include "worker_query.h"

/* The most important columns come first: 80 columns have no room for all. */
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

static void add_setting(struct worker_table *table, const struct advice *advice, const struct effect *effect)
{
	struct sentence evidence = { .size = 0 };
	char range[ADVICE_RANGE_MAX], now[ADVICE_WORDS_MAX];

	worker_table_print(table, ADVICE_SAVES, "%s%s", effect->probable ? "~" : "",
			   advice_range(range, effect->saved));
	if (effect->knob->written == MT_KNOB_WRITTEN_CODE)
		worker_table_cell(table, ADVICE_SETTING, effect->knob->what);
	else
		worker_table_print(table, ADVICE_SETTING, "%s = %s", effect->knob->name.key, advice_proposed(effect));
	worker_table_cell(table, ADVICE_NOW, advice_now(effect, now));
	worker_table_cell(table, ADVICE_THEN, advice_range(range, effect->outcome.peak));
	worker_table_cell(table, ADVICE_WHERE, answer_phase(mt_phase_name(effect->outcome.in)));
	worker_table_cell(table, ADVICE_FITS, !effect->fits ? "" : effect->probable ? "probably" : "yes");
	worker_table_cell(table, ADVICE_COSTS, mt_knob_cost_words(effect->cost));
	advice_say_evidence(&evidence, advice, effect);
	worker_table_cell(table, ADVICE_WHY, evidence.text);
}

/* Says which request failed, or that none did, and the first action. */
static int say_verdict(struct worker_table *table, const struct advice *advice)
{
	struct sentence verdict = { .size = 0 };
	int error = why_say_opening(&verdict, &advice->why);

	if (advice->rows) {
		sentence_say(&verdict, " ");
		advice_say_action(&verdict, advice, &advice->row[0]);
	}
	worker_table_verdict(table, verdict.text);
	return error;
}

int worker_answer_advice(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	static const struct effect_request request = { .fit = 0 };
	struct advice advice;
	size_t i;
	int error = worker_query_forget(worker->db);

	(void)question;
#define ADVICE_COLUMN_ADD(name, title, numbers) worker_table_column(table, title, numbers);
	ADVICE_COLUMN_LIST(ADVICE_COLUMN_ADD)
#undef ADVICE_COLUMN_ADD
	if (error)
		return error;
	error = advice_load(&advice, worker->db, &request);
	if (!error)
		error = say_verdict(table, &advice);
	for (i = 0; !error && i < advice.settings && !worker_table_row(table, 0, -1); i++)
		add_setting(table, &advice, advice.effects.effect[i]);
	advice_release(&advice);
	return error;
}
