/*
 * memana verify - reads each chunk, and compares the summed bytes with the allocator's own totals at each event. It also compares the records of
 * steps, and the facts (facts/facts.h), with the events.
 *
 * Exit status: 0: all agree; 1: a total or a record differs, or the sums are inconsistent; 3: the file is damaged, its facts differ from its events,
 * or it ends inside a chunk. Other commands answer from the part before a torn end, without an error; verify checks each byte, and returns 3. A trace
 * that was not closed but has only complete chunks is not damaged.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/json.h"
#include "base/text.h"
#include "engine/analysis.h"
#include "facts/facts.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "memtrace/summary.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/report.h"
#include "source/source.h"

/* Bytes of a process at the end of a step, over all devices; and the peak, if the process has one device. */
struct step_end {
	uint32_t process, step, devices;
	uint64_t held, slack, tensors, peak;
};

/* The records of one process, compared with its events. */
struct records {
	uint64_t compared, differing;
	uint32_t first; /* first step whose record differs */
	enum facts_verdict facts;
};

struct verifying {
	const struct analysis *analysis;
	struct step_end *end; /* sorted by process, then by step */
	size_t ends, room;
	struct records *records; /* by process */
	uint32_t process;        /* the process of the records that are being read */
	uint64_t peak;           /* highest bytes since the newest step ended; a failed request has a record, too */
};

static int add_end(void *context, uint32_t process, uint32_t device, uint32_t step,
		   const struct analysis_step_device *told)
{
	struct verifying *verifying = context;
	struct step_end *end = verifying->ends ? &verifying->end[verifying->ends - 1] : NULL;

	if (!end || end->process != process || end->step != step) {
		if (MT_ARRAY_ROOM(verifying->end, verifying->ends, verifying->room))
			return -MT_E_MEMORY;
		end = &verifying->end[verifying->ends++];
		*end = (struct step_end){ .process = process, .step = step };
	}
	end->held += told->held;
	end->slack += told->slack;
	end->tensors += told->tensors;
	end->peak += told->peak.level.bytes;
	end->devices += verifying->analysis->device[device].users == 1 ? 1 : 2;
	return 0;
}

static int by_step(const void *a, const void *b)
{
	const struct step_end *one = a, *two = b;

	if (one->process != two->process)
		return one->process < two->process ? -1 : 1;
	return (one->step > two->step) - (one->step < two->step);
}

/* Whether record and events differ. `cut`: a part of the step's events may be missing, also those at its highest bytes. */
static int differs(const struct step_end *end, const struct mt_summary *record, uint64_t peak, int cut)
{
	uint64_t held = 0, slack = 0, tensors = 0;
	uint32_t i;

	for (i = 0; i < record->devices; i++) {
		held += record->device[i].held;
		slack += record->device[i].slack;
		tensors += record->device[i].tensors;
	}
	if (held != end->held || slack != end->slack || tensors != end->tensors)
		return 1;
	if (end->devices != 1 || record->devices != 1 || record->steps != 1)
		return 0;
	return peak < end->peak || (!cut && peak > end->peak);
}

/* Takes a record. A step whose events were dropped (--keep) has no end to compare with. */
static int take_record(void *context, const struct mt_summary *record)
{
	struct verifying *verifying = context;
	struct records *records = &verifying->records[verifying->process];
	const struct step_end key = { .process = verifying->process, .step = record->step }, *end;
	uint64_t peak;

	if (record->devices && record->device[0].peak > verifying->peak)
		verifying->peak = record->device[0].peak;
	if (record->why != MT_SUMMARY_STEP)
		return 0;
	peak = verifying->peak;
	verifying->peak = 0;
	end = verifying->ends ? bsearch(&key, verifying->end, verifying->ends, sizeof(key), by_step) : NULL;
	if (!end)
		return 0;
	records->compared++;
	if (differs(end, record, peak, verifying->analysis->process[verifying->process].cuts != 0) &&
	    !records->differing++)
		records->first = record->step;
	return 0;
}

/* Whether records and events can be compared. After losses on disk, by damage or of live memory, records have more than the events show. */
static int is_comparable(const struct analysis_process *process)
{
	return !process->loss[MT_LOSS_DISK].records && !process->loss[MT_LOSS_DAMAGED].records &&
	       !process->loss[MT_LOSS_ALIVE].records;
}

static int read_records(struct verifying *verifying, const struct source *source)
{
	uint32_t *process = &verifying->process;
	int error = 0;

	verifying->records = calloc(source->inputs + 1, sizeof(*verifying->records));
	if (!verifying->records)
		return -MT_E_MEMORY;
	if (verifying->ends)
		qsort(verifying->end, verifying->ends, sizeof(*verifying->end), by_step);
	for (*process = 0; *process < source->inputs && !error; ++*process)
		if (is_comparable(&verifying->analysis->process[*process]))
			error = mt_reader_summaries(source->input[*process].reader, take_record, verifying);
	return error;
}

static int agrees(const struct analysis_process *process, const struct records *records)
{
	return !process->differing && process->balanced && !records->differing;
}

static int verify_facts(struct verifying *verifying, const struct source *source)
{
	uint32_t i;
	int error = 0;

	for (i = 0; i < source->inputs && !error; i++)
		error = facts_verify(source->input[i].file, source->rules, &verifying->records[i].facts);
	return error;
}

/* Prints the damage. A torn end shows a crash; any other fault is damage. */
static void print_damage(const struct mt_trace_state *state)
{
	char chunks[64], events[64];

	if (report_is_torn(state))
		text_say("  torn end    the file ends inside a chunk, at byte %" PRIu64 ", as after a crash\n",
			 state->error_offset);
	else if (state->error)
		text_say("  damage      %s at byte %" PRIu64 "; %s unreadable, %s lost\n", mt_strerror(state->error),
			 state->error_offset, text_count(chunks, sizeof(chunks), state->damaged, "chunk"),
			 text_count(events, sizeof(events), state->missed, "event"));
}

/* Prints the numbers of events that neither totals nor ledger include. */
static void print_others(const struct analysis_process *process)
{
	char gpu[64], host[64], notes[64];

	text_say("  also read   %s and %s, %s of the driver\n",
		 text_count(gpu, sizeof(gpu), process->kinds[MT_GPU_SAMPLE], "GPU sample"),
		 text_count(host, sizeof(host), process->kinds[MT_HOST_SAMPLE], "host sample"),
		 text_count(notes, sizeof(notes), process->kinds[MT_DRIVER_NOTE], "note"));
}

static void print_records(const struct records *records)
{
	char compared[64], differing[TEXT_SIZE_MAX];

	if (!records->compared)
		return;
	text_say("  records     %s compared, %s differ",
		 text_count(compared, sizeof(compared), records->compared, "step"),
		 text_number(differing, records->differing));
	if (records->differing)
		text_say(", first in step %u", records->first);
	text_say("\n");
}

static void print_trace(const struct analysis_process *process, const struct records *records)
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
		text_say("  let go      %s removed by --keep\n",
			 text_count(events, sizeof(events), process->cut, "event"));
	if (!process->compared)
		text_say("  totals      not compared: the trace has no totals");
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
	print_records(records);
	if (records->facts != FACTS_NONE)
		text_say("  facts       %s %s the events\n", facts_verdict_word(records->facts),
			 records->facts == FACTS_AGREE ? "with" : "from");
	print_others(process);
	if (process->unknown_frees)
		text_say("  frees       %s of memory without a recorded allocation\n",
			 text_number(number, process->unknown_frees));
}

static void json_trace(struct doc *doc, const struct analysis_process *process, uint32_t number, const void *context)
{
	const struct records *records = (const struct records *)context + number;
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
	doc_int(doc, "step_records", (int64_t)records->compared);
	doc_int(doc, "step_records_differing", (int64_t)records->differing);
	doc_string(doc, "facts", facts_verdict_word(records->facts));
	doc_end(doc);
}

/* Prints one line about the first trace that ends inside a chunk. Returns the exit status; 0: there is no such trace. */
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

/* Prints one line about the first trace with wrong facts. Returns the exit status; 0: there is no such trace. */
static int report_facts(const struct analysis *analysis, const struct records *records)
{
	uint32_t i;

	for (i = 0; i < analysis->processes; i++)
		if (records[i].facts == FACTS_DIFFER)
			return command_fail(
				mt_exit_code(-MT_E_CORRUPT),
				"%s: its facts differ from its events (ask with --full: reports then read the events)",
				analysis->process[i].file);
	return 0;
}

/* Returns the exit status. */
static int judge(const struct analysis *analysis, const struct records *records)
{
	int status = report_damage(analysis, "good");
	uint32_t i;

	if (!status)
		status = report_torn(analysis);
	if (!status)
		status = report_facts(analysis, records);
	if (status)
		return status;
	for (i = 0; i < analysis->processes; i++)
		if (!agrees(&analysis->process[i], &records[i]))
			return EXIT_NO;
	return 0;
}

static int verify(const struct source *source, int json)
{
	struct analysis analysis;
	struct verifying verifying = { .analysis = &analysis };
	const struct analysis_sink sink = { .context = &verifying, .step_device = add_end };
	uint32_t i;
	int error = analysis_run(&analysis, source->input, source->inputs, source->rules, &sink), status;

	if (!error)
		error = read_records(&verifying, source);
	if (!error)
		error = verify_facts(&verifying, source);
	if (!error && json)
		error = report_json("verify", &analysis, json_trace, verifying.records);
	for (i = 0; !error && !json && i < analysis.processes; i++)
		print_trace(&analysis.process[i], &verifying.records[i]);
	status = error ? command_fail(mt_exit_code(error), "verify: %s", mt_strerror(error))
		       : judge(&analysis, verifying.records);
	free(verifying.end);
	free(verifying.records);
	analysis_release(&analysis);
	return status;
}

int cmd_verify(int argc, char **argv)
{
	return answer_traces(argc, argv, verify);
}
