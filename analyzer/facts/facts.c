#include "facts.h"

#include <stdlib.h>
#include <string.h>
#include "facts_guess.h"
#include "facts_join.h"
#include "facts_peers.h"
#include "facts_rows.h"
#include "facts_state.h"
#include "memtrace/error.h"
#include "memtrace/facts.h"

#define TAKEN_AT_ONCE 65536u /* events */
#define RESTARTS_MOST 8u     /* a census event behind the pass costs a new pass */

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
	error = facts_rows_init(&facts->rows, &facts->analysis);
	if (error)
		return error;
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

uint64_t mt_facts_taken(const struct mt_facts *facts)
{
	return facts->analysis.process[0].events;
}

/* Whether the trace is undamaged. The events of a damaged trace are read, because the reader reports the missing parts. */
static int is_whole(const struct mt_facts *facts)
{
	const struct analysis_process *process = &facts->analysis.process[0];

	return !process->state->error && !process->state->damaged && !process->info->snapshot;
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

/* The facts of the processes of a run. */
struct reading {
	struct analysis *run;
	const struct analysis_input *input;
	const struct mt_rules *rules;
	int has_rows;
	struct facts_io *io; /* by process; its position is behind the state of the analysis */
};

/* Copies *text to `to` and points *text there; `to` NULL: copies nothing. Returns the size with its NUL. */
static size_t move_text(const char **text, char *to)
{
	size_t size = *text ? strlen(*text) + 1 : 0;

	if (to && size)
		*text = memcpy(to, *text, size);
	return size;
}

/* Does the same for all texts of the analysis that lie in the facts. */
static size_t move_texts(struct analysis *one, char *to)
{
	size_t size = 0;
	uint32_t i;

	for (i = 0; i < MT_SOURCE_COUNT; i++)
		size += move_text(&one->process[0].source[i].why, to ? to + size : NULL);
	for (i = 0; i < one->devices; i++) {
		size += move_text(&one->device[i].name, to ? to + size : NULL);
		size += move_text(&one->device[i].uuid, to ? to + size : NULL);
	}
	return size;
}

/* Frees the facts of a process but its texts: without rows nothing else is needed, and a run may have many processes. 0 or -MT_E_MEMORY. */
static int keep_texts(struct analysis *one, uint8_t **facts)
{
	char *texts = malloc(move_texts(one, NULL) + 1);

	if (!texts)
		return -MT_E_MEMORY;
	move_texts(one, texts);
	free(*facts);
	*facts = (uint8_t *)texts;
	return 0;
}

/* Reads the facts of one process. 1; 0: no facts, or two processes share a device; or an error. */
static int read_one(struct facts_joining *joining, const struct reading *reading, uint32_t number)
{
	const struct analysis_input *input = &reading->input[number];
	struct facts_io *io = &reading->io[number];
	struct analysis one;
	uint8_t *data;
	size_t size;
	int taken, found = mt_reader_facts(input->reader, mt_facts_identity(), &data, &size);

	if (found <= 0)
		return found;
	reading->run->facts[number] = data;
	*io = (struct facts_io){ .at = data, .end = data + size };
	io->error = analysis_begin(&one, input, 1, reading->rules);
	if (!io->error)
		facts_state(io, &one);
	if (!io->error)
		facts_guess_outlived(io, &one);
	if (!io->error && !reading->has_rows)
		io->error = keep_texts(&one, &reading->run->facts[number]);
	taken = io->error ? io->error : facts_joining_add(joining, &one, number);
	analysis_release(&one);
	return taken;
}

static int read_all(const struct reading *reading)
{
	struct facts_joining joining;
	uint32_t i;
	int taken = 1;

	facts_joining_init(&joining, reading->run);
	for (i = 0; i < reading->run->processes && taken > 0; i++)
		taken = read_one(&joining, reading, i);
	if (taken > 0 && facts_joining_end(&joining))
		taken = -MT_E_MEMORY;
	facts_joining_release(&joining);
	return taken;
}

/* Whether lives are passed on as sums by step. These need categories first. */
static int is_folded(const struct facts_taker *taker)
{
	return taker->maker && taker->detail == SUMS_STEPS;
}

/* Finds the moment: for one process in its facts, for several in their events. 1; 0: no moment was kept; or an error. */
static int find_moment(const struct reading *reading, const struct facts_taker *taker)
{
	struct kept_moment *moment = taker->moment;
	int found;

	if (reading->run->processes == 1) {
		found = facts_rows_moment(reading->io[0], reading->run, taker);
		return found > 0 && taker->course ? moment->advice && taker->course->moves : found;
	}
	found = facts_peers(reading->run, reading->input, moment);
	return found > 0 ? (int)moment->there : found;
}

/* Passes on the rows of all processes. 1 or an error. */
static int tell_places(const struct reading *reading, const struct facts_taker *taker, struct facts_fold *fold)
{
	struct facts_place *place = facts_places(reading->run);
	uint32_t i;
	int told = place ? 1 : -MT_E_MEMORY;

	if (told > 0 && fold && (analysis_settle(reading->run) || facts_fold_init(fold, reading->run, taker->maker)))
		told = -MT_E_MEMORY;
	for (i = 0; i < reading->run->processes && told > 0; i++)
		told = facts_rows_read(&reading->io[i], reading->run, &place[i], taker, fold);
	free(place);
	return told;
}

/* Gives the taker all that was asked for. 1; 0: rows or moment are missing, and the taker got nothing; or an error. */
static int tell_rows(const struct reading *reading, const struct facts_taker *taker)
{
	struct facts_fold fold = { 0 };
	uint32_t i;
	int told = reading->run->processes == 1 || (!taker->course && !taker->outline), error = 0;

	for (i = 0; i < reading->run->processes && told > 0; i++)
		told = facts_rows_are_there(reading->io[i], taker);
	if (told > 0 && (taker->moment || taker->course || taker->outline))
		told = find_moment(reading, taker);
	if (told <= 0 && taker->moment)
		kept_moment_release(taker->moment);
	if (told > 0)
		told = tell_places(reading, taker, is_folded(taker) ? &fold : NULL);
	if (told > 0 && is_folded(taker))
		error = facts_fold_finish(&fold);
	facts_fold_release(&fold);
	return error ? error : told;
}

static int read_run(struct reading *reading, uint32_t inputs, const struct facts_taker *taker)
{
	int taken = 1, error = analysis_begin(reading->run, reading->input, inputs, reading->rules);

	reading->run->facts = calloc(inputs, sizeof(*reading->run->facts));
	reading->io = calloc(inputs, sizeof(*reading->io));
	if (!error && (!reading->run->facts || !reading->io))
		error = -MT_E_MEMORY;
	if (!error)
		taken = read_all(reading);
	if (!error && taken > 0 && taker->maker)
		taken = tell_rows(reading, taker);
	if (!error && taken > 0 && !is_folded(taker))
		error = analysis_settle(reading->run);
	free(reading->io);
	return error ? error : taken;
}

static int ends_with_facts(const struct analysis_input *input)
{
	uint32_t count;
	const struct mt_chunk_info *chunk = mt_reader_chunks(input->reader, &count);

	return !input->running && count && chunk[count - 1].kind == MT_CHUNK_FACTS;
}

static int may_have_facts(const struct analysis_input *input, uint32_t inputs, const struct mt_rules *rules)
{
	uint32_t i;

	for (i = 0; i < inputs; i++)
		if (!ends_with_facts(&input[i]))
			return 0;
	return inputs && mt_rules_are_built_in(rules);
}

/* Answers from facts. 1; 0: the facts are not enough, and the readers are at their beginning; or an error. */
static int from_facts(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		      const struct mt_rules *rules, const struct facts_taker *taker)
{
	struct reading reading = { .run = analysis, .input = input, .rules = rules, .has_rows = taker->maker != NULL };
	uint32_t i;
	int taken;

	if (!may_have_facts(input, inputs, rules))
		return 0;
	taken = read_run(&reading, inputs, taker);
	if (taken > 0)
		return 1;
	analysis_release(analysis);
	for (i = 0; i < inputs; i++)
		mt_reader_rewind(input[i].reader);
	return taken;
}

int facts_run(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
	      const struct mt_rules *rules)
{
	int found = from_facts(analysis, input, inputs, rules, &(struct facts_taker){ 0 });

	if (found == -MT_E_CORRUPT)
		found = 0;
	return found ? (found > 0 ? 0 : found) : analysis_run(analysis, input, inputs, rules, NULL);
}

int facts_run_rows(struct analysis *analysis, const struct analysis_input *input, uint32_t inputs,
		   const struct mt_rules *rules, const struct facts_taker *taker)
{
	return from_facts(analysis, input, inputs, rules, taker);
}

/* ---- the answer of memana verify ---- */

const char *facts_verdict_word(enum facts_verdict verdict)
{
	static const char *const words[] = {
#define FACTS_VERDICT_WORD(name, word) [FACTS_##name] = word,
		FACTS_VERDICT_LIST(FACTS_VERDICT_WORD)
#undef FACTS_VERDICT_WORD
	};

	return words[verdict];
}

/* Makes the facts that a collector would write. The caller frees *data. 0 or -MT_E_x. */
static int make_facts(const char *path, const struct mt_rules *rules, uint8_t **data, size_t *size)
{
	struct mt_facts *facts = mt_facts_new(path, rules);
	int taken = facts ? 1 : -MT_E_MEMORY;

	while (taken > 0)
		taken = mt_facts_take(facts, TAKEN_AT_ONCE);
	if (!taken)
		taken = mt_facts_end(facts, data, size);
	mt_facts_free(facts);
	return taken;
}

/* Reads the facts of a file. 1: *data and *size are set; 0: the file has no facts of this program, or is a snapshot; -MT_E_x. */
static int read_facts(const char *path, uint8_t **data, size_t *size)
{
	struct mt_reader *reader;
	int found = mt_reader_open(&reader, path);

	if (found)
		return found == -MT_E_MAGIC ? 0 : found;
	found = mt_reader_facts(reader, mt_facts_identity(), data, size);
	mt_reader_free(reader);
	return found;
}

int facts_verify(const char *path, const struct mt_rules *rules, enum facts_verdict *verdict)
{
	uint8_t *data = NULL, *again = NULL;
	size_t size = 0, size_again = 0;
	int found = mt_rules_are_built_in(rules) ? read_facts(path, &data, &size) : 0, error;

	*verdict = FACTS_NONE;
	if (found <= 0)
		return found;
	error = make_facts(path, rules, &again, &size_again);
	*verdict = !error && size == size_again && !memcmp(data, again, size) ? FACTS_AGREE : FACTS_DIFFER;
	free(data);
	free(again);
	return error == -MT_E_MEMORY ? error : 0;
}
