/*
 * memana verify - reads every chunk and holds our bytes against the allocator's own totals at every event.
 *
 * Exit status: 0 all agrees; 1 a total differs or the books do not balance; 3 the file is damaged. A trace without an
 * end is no damage: what a killed program leaves is good up to there.
 */
#include <inttypes.h>
#include <stdio.h>
#include "analysis.h"
#include "command.h"
#include "json.h"
#include "memtrace/error.h"
#include "source.h"
#include "text.h"

static int agrees(const struct analysis_process *process)
{
	return !process->differing && process->balanced;
}

static void print_trace(const struct analysis_process *process)
{
	const struct mt_trace_state *state = process->state;
	char clean[1024], chunks[64], events[64], number[TEXT_SIZE_MAX], differing[TEXT_SIZE_MAX];

	printf("%s\n", text_fit(clean, sizeof(clean), process->file, 200, 1));
	printf("  chunks      %s, %s%s\n", text_count(chunks, sizeof(chunks), state->chunks, "chunk"),
	       text_count(events, sizeof(events), state->events, "event"),
	       state->complete ? ", complete" : ", without an end");
	if (state->error)
		printf("  damage      %s at byte %" PRIu64 "\n", mt_strerror(state->error), state->error_offset);
	printf("  lost        %s\n", text_count(events, sizeof(events), state->lost, "event"));
	printf("  totals      compared at %s, %s differ",
	       text_count(events, sizeof(events), process->compared, "event"),
	       text_number(differing, process->differing));
	if (process->differing)
		printf(", first at event %s", text_number(number, process->first_differing));
	if (process->reordered)
		printf(", %s in another order (threads report after the allocator's lock)",
		       text_number(number, process->reordered));
	printf("\n  ledger      %s\n", process->balanced ? "balances" : "does not balance");
	if (process->unknown_frees)
		printf("  frees       %s of memory that was never seen to be allocated\n",
		       text_number(number, process->unknown_frees));
}

static void json_trace(struct doc *doc, const struct analysis_process *process)
{
	doc_object(doc, NULL);
	doc_string(doc, "file", process->file);
	doc_int(doc, "chunks", process->state->chunks);
	doc_int(doc, "events", (int64_t)process->state->events);
	doc_int(doc, "lost", (int64_t)process->state->lost);
	doc_bool(doc, "complete", process->state->complete);
	doc_string(doc, "damage", process->state->error ? mt_strerror(process->state->error) : "");
	doc_int(doc, "compared", (int64_t)process->compared);
	doc_int(doc, "differing", (int64_t)process->differing);
	doc_int(doc, "reordered", (int64_t)process->reordered);
	doc_int(doc, "unknown_frees", (int64_t)process->unknown_frees);
	doc_bool(doc, "balanced", process->balanced);
	doc_end(doc);
}

static int print_json(const struct analysis *analysis)
{
	struct doc *doc = doc_new();
	uint32_t i;
	int error = -MT_E_MEMORY;

	if (doc) {
		doc_object(doc, NULL);
		doc_int(doc, "version", 1);
		doc_array(doc, "traces");
		for (i = 0; i < analysis->processes; i++)
			json_trace(doc, &analysis->process[i]);
		doc_end(doc);
		doc_end(doc);
		error = doc_print(doc, stdout);
	}
	doc_free(doc);
	return error;
}

/* The exit code. */
static int judge(const struct analysis *analysis)
{
	const struct analysis_process *where;
	int error = analysis_damage(analysis, &where);
	uint32_t i;

	if (error)
		return command_fail(mt_exit_code(error), "%s: %s at byte %" PRIu64 " (everything before is good)",
				    where->file, mt_strerror(error), where->state->error_offset);
	for (i = 0; i < analysis->processes; i++)
		if (!agrees(&analysis->process[i]))
			return EXIT_NO;
	return 0;
}

static int verify(const struct source *source, int json)
{
	struct analysis analysis;
	uint32_t i;
	int error = analysis_run(&analysis, source->input, source->inputs, source->rules, NULL), status;

	if (!error && json)
		error = print_json(&analysis);
	for (i = 0; !error && !json && i < analysis.processes; i++)
		print_trace(&analysis.process[i]);
	status = error ? command_fail(mt_exit_code(error), "verify: %s", mt_strerror(error)) : judge(&analysis);
	analysis_release(&analysis);
	return status;
}

int cmd_verify(int argc, char **argv)
{
	return command_traces(argc, argv, verify);
}
