#include "facts.h"

#include <stdlib.h>
#include <string.h>
#include "facts_rows.h"
#include "facts_state.h"
#include "memtrace/error.h"
#include "memtrace/facts.h"

#define RESTARTS_MOST 8u /* a census that comes later than the pass costs a new pass */

uint64_t mt_facts_identity(void)
{
	return MT_FACTS_IDENTITY;
}

/* ---- the pass of a collector ---- */

struct mt_facts {
	const char *path;
	const struct mt_rules *rules;
	struct analysis_input input;
	struct analysis analysis;
	struct analysis_pass *pass;
	struct facts_rows rows;
	uint32_t restarts;
};

static void end_pass(struct mt_facts *facts)
{
	analysis_pass_free(facts->pass);
	facts->pass = NULL;
	facts_rows_release(&facts->rows);
	analysis_release(&facts->analysis);
	mt_reader_free(facts->input.reader);
	facts->input.reader = NULL;
}

static int begin_pass(struct mt_facts *facts)
{
	int error = mt_reader_open(&facts->input.reader, facts->path);

	if (error)
		return error;
	facts->input.file = facts->path;
	facts->input.running = 1;
	facts_rows_init(&facts->rows, &facts->analysis);
	facts->pass = analysis_pass_new(&facts->analysis, &facts->input, facts->rules, &facts->rows.sink);
	return facts->pass ? 0 : -MT_E_MEMORY;
}

struct mt_facts *mt_facts_new(const char *path, const struct mt_rules *rules)
{
	struct mt_facts *facts = calloc(1, sizeof(*facts));

	if (!facts)
		return NULL;
	facts->path = path;
	facts->rules = rules;
	if (begin_pass(facts)) {
		mt_facts_free(facts);
		return NULL;
	}
	return facts;
}

void mt_facts_free(struct mt_facts *facts)
{
	if (!facts)
		return;
	end_pass(facts);
	free(facts);
}

int mt_facts_take(struct mt_facts *facts, uint32_t most)
{
	int taken = analysis_pass_take(facts->pass, most);

	if (taken <= 0 || !analysis_pass_is_behind(facts->pass))
		return taken;
	if (facts->restarts++ == RESTARTS_MOST)
		return -MT_E_LIMIT;
	end_pass(facts);
	taken = begin_pass(facts);
	return taken ? taken : 1;
}

/* A trace with a gap, or damage, is read anew: what is missing is told by the reader. */
static int is_whole(const struct mt_facts *facts)
{
	const struct analysis_process *process = &facts->analysis.process[0];

	return !process->cuts && !process->state->error && !process->state->damaged && !process->info->snapshot;
}

int mt_facts_end(struct mt_facts *facts, uint8_t **data, size_t *size)
{
	struct facts_io io = { .writing = 1 };

	*data = NULL;
	if (!is_whole(facts))
		return -MT_E_CORRUPT;
	io.error = analysis_pass_end(facts->pass);
	if (!io.error)
		facts_state(&io, &facts->analysis);
	if (!io.error)
		facts_rows_write(&io, &facts->rows);
	if (io.error)
		free(io.data);
	*data = io.error ? NULL : io.data;
	*size = io.size;
	return io.error;
}

/* ---- the answer of memana ---- */

/* The maker takes the rows of the pass; NULL: the answer has no rows. */
struct taker {
	const struct row_maker *maker;
	struct row_freed *freed;
};

/* 1; 0: there are no rows; -MT_E_CORRUPT: they are no facts of this trace; -MT_E_MEMORY; an error of the maker. */
static int take_facts(struct analysis *analysis, size_t size, const struct taker *taker)
{
	struct facts_io io = { .at = analysis->facts, .end = analysis->facts + size };

	facts_state(&io, analysis);
	analysis->attribution.turn = INT64_MAX;
	if (io.error || !taker->maker)
		return io.error ? io.error : 1;
	return facts_rows_read(&io, analysis, taker->maker, taker->freed);
}

/* 1; 0: the trace has none; or an error. */
static int from_facts(struct analysis *analysis, const struct analysis_input *input, const struct mt_rules *rules,
		      const struct taker *taker)
{
	uint8_t *data;
	size_t size;
	int error, taken = 0, found = mt_reader_facts(input->reader, mt_facts_identity(), &data, &size);

	if (found <= 0)
		return found;
	error = analysis_begin(analysis, input, 1, rules);
	analysis->facts = data;
	if (!error)
		taken = take_facts(analysis, size, taker);
	if (!error && taken > 0)
		error = analysis_settle(analysis);
	if (!error && taken > 0)
		return 1;
	analysis_release(analysis);
	mt_reader_rewind(input->reader);
	return error ? error : taken;
}

static int may_have_facts(const struct analysis_input *input, uint32_t inputs, const struct mt_rules *rules)
{
	return inputs == 1 && !input->running && mt_rules_are_built_in(rules);
}

int facts_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	      const struct mt_rules *rules)
{
	int found = may_have_facts(input, inputs, rules) ? from_facts(analysis, input, rules, &(struct taker){ 0 }) : 0;

	if (found == -MT_E_CORRUPT)
		found = 0;
	return found ? (found > 0 ? 0 : found) : analysis_run(analysis, input, inputs, rules, NULL);
}

int facts_run_rows(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		   const struct mt_rules *rules, const struct row_maker *maker, struct row_freed *freed)
{
	return may_have_facts(input, inputs, rules)
		       ? from_facts(analysis, input, rules, &(struct taker){ maker, freed })
		       : 0;
}
