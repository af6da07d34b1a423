/*
 * memana verify - reads every chunk and holds our bytes against the allocator's own totals at every event.
 *
 * Exit status: 0 all agrees; 1 a total differs or the books do not balance; 3 the file is damaged, or ends in the middle of
 * a chunk. Other commands answer from what stands before a torn end and call that no failure; whoever asks for each byte
 * wants to know that some are missing. A trace that only was not closed has whole chunks alone: nothing in it is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include "base/json.h"
#include "base/text.h"
#include "engine/analysis.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/report.h"
#include "source/source.h"

static int agrees(const struct analysis_process *process)
{
	return !process->differing && process->balanced;
}

/* A torn end is what a crash leaves; anything else is damage. */
static void print_damage(const struct mt_trace_state *state)
{
	char chunks[64], events[64];

	if (report_is_torn(state))
		text_say("  torn end    it ends in the middle of a chunk, at byte %" PRIu64 ": what a crash leaves\n",
			 state->error_offset);
	else if (state->error)
		text_say("  damage      %s at byte %" PRIu64 "; %s of no use, which takes %s\n",
			 mt_strerror(state->error), state->error_offset,
			 text_count(chunks, sizeof(chunks), state->damaged, "chunk"),
			 text_count(events, sizeof(events), state->missed, "event"));
}

/* Kinds that the totals and the ledger say nothing about. */
static void print_others(const struct analysis_process *process)
{
	char gpu[64], host[64], notes[64];

	text_say("  besides     %s and %s, %s of the driver\n",
		 text_count(gpu, sizeof(gpu), process->kinds[MT_GPU_SAMPLE], "GPU sample"),
		 text_count(host, sizeof(host), process->kinds[MT_HOST_SAMPLE], "host sample"),
		 text_count(notes, sizeof(notes), process->kinds[MT_DRIVER_NOTE], "note"));
}

static void print_trace(const struct analysis_process *process)
{
	const struct mt_trace_state *state = process->state;
	char clean[1024], chunks[64], events[64], number[TEXT_SIZE_MAX], differing[TEXT_SIZE_MAX];

	text_say("%s\n", text_fit(clean, sizeof(clean), process->file, 200, 1));
	text_say("  chunks      %s, %s%s\n", text_count(chunks, sizeof(chunks), state->chunks, "chunk"),
		 text_count(events, sizeof(events), state->events, "event"),
		 state->complete ? ", complete" : ", without an end");
	print_damage(state);
	text_say("  lost        %s\n", text_count(events, sizeof(events), state->lost, "event"));
	if (process->cut)
		text_say("  let go      %s on purpose (--keep)\n",
			 text_count(events, sizeof(events), process->cut, "event"));
	if (!process->compared)
		text_say("  totals      not compared: the trace has none");
	else
		text_say("  totals      compared at %s, %s differ",
			 text_count(events, sizeof(events), process->compared, "event"),
			 text_number(differing, process->differing));
	if (process->differing)
		text_say(", first at event %s", text_number(number, process->first_differing));
	if (process->reordered)
		text_say(", %s in another order (threads report after the allocator's lock)",
			 text_number(number, process->reordered));
	text_say("\n  ledger      %s\n", process->balanced ? "balances" : "does not balance");
	print_others(process);
	if (process->unknown_frees)
		text_say("  frees       %s of memory that was never seen to be allocated\n",
			 text_number(number, process->unknown_frees));
}

static void json_trace(struct doc *doc, const struct analysis_process *process)
{
	const struct report_losses losses = report_losses_of(process);

	doc_object(doc, NULL);
	doc_string(doc, "file", process->file);
	doc_int(doc, "chunks", process->state->chunks);
	doc_int(doc, "events", (int64_t)process->state->events);
	report_losses(doc, &losses);
	doc_int(doc, "damaged_chunks", process->state->damaged);
	doc_int(doc, "missed", (int64_t)process->state->missed);
	doc_int(doc, "gpu_samples", (int64_t)process->kinds[MT_GPU_SAMPLE]);
	doc_int(doc, "host_samples", (int64_t)process->kinds[MT_HOST_SAMPLE]);
	doc_int(doc, "driver_notes", (int64_t)process->kinds[MT_DRIVER_NOTE]);
	doc_int(doc, "compared", (int64_t)process->compared);
	doc_int(doc, "differing", (int64_t)process->differing);
	doc_int(doc, "reordered", (int64_t)process->reordered);
	doc_int(doc, "unknown_frees", (int64_t)process->unknown_frees);
	doc_bool(doc, "balanced", process->balanced);
	doc_end(doc);
}

/* One line about the first trace that ends in the middle of a chunk. The exit code; 0: none does. */
static int report_torn(const struct analysis *analysis)
{
	const struct analysis_process *process;
	uint32_t i;

	for (i = 0; i < analysis->processes; i++) {
		process = &analysis->process[i];
		if (report_is_torn(process->state))
			return command_fail(mt_exit_code(process->state->error),
					    "%s: readable up to byte %" PRIu64 ": %s", process->file,
					    process->state->error_offset, mt_strerror(process->state->error));
	}
	return 0;
}

/* The exit code. */
static int judge(const struct analysis *analysis)
{
	int status = report_damage(analysis, "good");
	uint32_t i;

	if (!status)
		status = report_torn(analysis);
	if (status)
		return status;
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
		error = report_json(&analysis, json_trace);
	for (i = 0; !error && !json && i < analysis.processes; i++)
		print_trace(&analysis.process[i]);
	status = error ? command_fail(mt_exit_code(error), "verify: %s", mt_strerror(error)) : judge(&analysis);
	analysis_release(&analysis);
	return status;
}

int cmd_verify(int argc, char **argv)
{
	return answer_traces(argc, argv, verify);
}
