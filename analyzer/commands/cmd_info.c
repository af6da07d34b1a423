/* memana info - describes a trace: its contents and its missing parts. */
#include <stdio.h>
#include <time.h>
#include "base/json.h"
#include "base/text.h"
#include "engine/analysis.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/report.h"
#include "source/source.h"

static double bytes_per_event(const struct analysis_process *process)
{
	return process->events ? (double)process->state->file_bytes / (double)process->events : 0;
}

static const char *ended(const struct analysis_process *process)
{
	const char *words = process->ended ? mt_end_name(process->ended - 1) : NULL;

	if (words)
		return words;
	return process->ended ? "for a reason that this version does not know"
			      : "not said (the program was killed, or still runs)";
}

static void version_words(char out[16], uint32_t version)
{
	snprintf(out, 16, "%u.%u.%u", version >> 16 & 0xff, version >> 8 & 0xff, version & 0xff);
}

static void python_words(char out[16], uint32_t version)
{
	snprintf(out, 16, "%u.%u.%u", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
}

/* ---- text ---- */

static void print_line(const char *name, const char *value)
{
	char clean[1024];

	text_say("  %-14s %s\n", name, text_fit(clean, sizeof(clean), value, 200, 0));
}

static void print_start(const struct mt_process *info)
{
	time_t seconds = (time_t)(info->start_realtime / MT_NSEC_PER_SEC);
	struct tm when;
	char words[64];

	if (localtime_r(&seconds, &when) && strftime(words, sizeof(words), "%Y-%m-%d %H:%M:%S %Z", &when))
		print_line(strstr(info->options, "attached=1") ? "attached"
			   : strstr(info->options, "paused=1") ? "memrec start"
							       : "started",
			   words);
}

/* Prints the kind of a snapshot, and the facts that it lacks. */
static void print_snapshot(const struct mt_process *info)
{
	char words[64];

	print_line("made of", info->options);
	print_line("snapshot", info->command);
	print_line("process", "not known: a snapshot does not say");
	print_line("history", info->snapshot & MT_SNAPSHOT_NO_HISTORY ? "none: the snapshot lists one moment"
			      : info->snapshot & MT_SNAPSHOT_CUT ? "its beginning is missing (max_entries was reached)"
								 : "complete for the recorded time");
	if (info->snapshot & MT_SNAPSHOT_NO_TIMES && !(info->snapshot & MT_SNAPSHOT_NO_HISTORY))
		print_line("times", "not known (PyTorch before 2.2): events have an order only");
	if (info->rank >= 0) {
		snprintf(words, sizeof(words), "%d, from the file's name", info->rank);
		print_line("rank", words);
	}
}

static void print_process(const struct mt_process *info)
{
	char words[128], tool[16], python[16];

	if (info->snapshot) {
		print_snapshot(info);
		if (info->start_realtime)
			print_start(info);
		return;
	}
	print_line("command", info->command);
	if (info->rank >= 0)
		snprintf(words, sizeof(words), "%u, rank %d, on %.60s", info->pid, info->rank, info->host);
	else
		snprintf(words, sizeof(words), "%u, on %.60s", info->pid, info->host);
	print_line("pid", words);
	version_words(tool, info->tool_version);
	python_words(python, info->python_version);
	snprintf(words, sizeof(words), "memrec %s%s%s", tool, info->python_version ? ", Python " : "",
		 info->python_version ? python : "");
	print_line("versions", words);
	print_start(info);
}

static const char *completeness(const struct mt_trace_state *state)
{
	if (state->complete)
		return "yes";
	if (*report_damage_words(state))
		return "no: the file is damaged";
	return "no: the file was not closed; each chunk in it is whole";
}

static void print_size(const struct analysis_process *process)
{
	char words[160], size[TEXT_SIZE_MAX], events[64], chunks[64], steps[64], time[TEXT_SIZE_MAX];
	int size_of;

	text_count(events, sizeof(events), process->events, "event");
	text_count(steps, sizeof(steps), process->steps, "step");
	if (process->info->snapshot & MT_SNAPSHOT_NO_TIMES)
		snprintf(words, sizeof(words), "%s, %s", steps, events);
	else
		snprintf(words, sizeof(words), "%s in %s, %s",
			 text_time(time, process->last_time - process->first_time), steps, events);
	print_line("recorded", words);
	size_of = snprintf(words, sizeof(words), "%s in %s", text_bytes(size, process->state->file_bytes),
			   text_count(chunks, sizeof(chunks), process->state->chunks, "chunk"));
	if (!*report_damage_words(process->state)) /* no counted event has bytes of unreadable chunks */
		snprintf(words + size_of, sizeof(words) - (size_t)size_of, ", %.2f bytes per event",
			 bytes_per_event(process));
	print_line("file", words);
	if (!process->info->snapshot)
		print_line("ended", ended(process));
	print_line("complete", completeness(process->state));
	if (process->cut) {
		snprintf(words, sizeof(words), "%s removed by --keep: peaks are of the kept events only",
			 text_count(events, sizeof(events), process->cut, "event"));
		print_line("let go", words);
	}
}

static void print_kinds(const struct analysis_process *process)
{
	char number[TEXT_SIZE_MAX];
	const char *name;
	uint32_t kind;

	text_say("  events\n");
	for (kind = 0; kind <= MT_KIND_MAX; kind++) {
		name = mt_kind_name(kind);
		if (process->kinds[kind])
			text_say("    %-18s %14s\n", name ? name : "unknown",
				 text_number(number, process->kinds[kind]));
	}
}

static void print_sources(const struct analysis_process *process)
{
	const struct analysis_source *source;
	char why[512];
	uint32_t i;

	text_say("  sources\n");
	for (i = 0; i < MT_SOURCE_COUNT; i++) {
		source = &process->source[i];
		if (source->seen)
			text_say("    %-18s %s%s%s\n", mt_source_name(i), mt_source_state_word(source->state),
				 *source->why ? ": " : "", text_fit(why, sizeof(why), source->why, sizeof(why) - 4, 0));
	}
}

static void print_losses(const struct analysis_process *process)
{
	char number[64];
	uint32_t i;
	int any = 0;

	for (i = 0; i < MT_LOSS_COUNT; i++) {
		if (!process->loss[i].records)
			continue;
		text_say("%s    %s: %s\n", any++ ? "" : "  lost\n",
			 text_count(number, sizeof(number), process->loss[i].count, "event"), mt_loss_name(i));
	}
	if (!any)
		print_line("lost", "nothing");
}

static void print_trace(const struct analysis_process *process)
{
	char clean[1024];

	text_say("%s\n", text_fit(clean, sizeof(clean), process->file, 200, 1));
	print_process(process->info);
	print_size(process);
	print_losses(process);
	if (!process->info->snapshot)
		print_sources(process);
	print_kinds(process);
}

/* ---- JSON ---- */

static void json_kinds(struct doc *doc, const struct analysis_process *process)
{
	uint32_t kind;

	doc_object(doc, "events_by_kind");
	for (kind = 0; kind <= MT_KIND_MAX; kind++)
		if (process->kinds[kind] && mt_kind_name(kind))
			doc_int(doc, mt_kind_name(kind), (int64_t)process->kinds[kind]);
	doc_end(doc);
}

static void json_sources(struct doc *doc, const struct analysis_process *process)
{
	const struct analysis_source *source;
	uint32_t i;

	doc_array(doc, "sources");
	for (i = 0; i < MT_SOURCE_COUNT; i++) {
		source = &process->source[i];
		if (!source->seen)
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "name", mt_source_name(i));
		doc_string(doc, "state", mt_source_state_word(source->state));
		doc_string(doc, "why", source->why);
		doc_time(doc, "time_ns", source->time);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_losses(struct doc *doc, const struct analysis_process *process)
{
	uint32_t i;

	doc_array(doc, "losses");
	for (i = 0; i < MT_LOSS_COUNT; i++) {
		if (!process->loss[i].records)
			continue;
		doc_object(doc, NULL);
		doc_string(doc, "reason", mt_loss_name(i));
		doc_int(doc, "events", (int64_t)process->loss[i].count);
		doc_time(doc, "first_time_ns", process->loss[i].first_time);
		doc_time(doc, "last_time_ns", process->loss[i].last_time);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_process(struct doc *doc, const struct mt_process *info)
{
	char words[16];

	doc_pid(doc, "pid", info->pid);
	doc_pid(doc, "ppid", info->ppid);
	if (info->rank >= 0)
		doc_int(doc, "rank", info->rank);
	else
		doc_null(doc, "rank");
	doc_string(doc, "host", info->host);
	doc_string(doc, "command", info->command);
	doc_string(doc, "options", info->options);
	version_words(words, info->tool_version);
	doc_string(doc, "tool_version", words);
	python_words(words, info->python_version);
	doc_string(doc, "python_version", info->python_version ? words : "");
	doc_int_or_null(doc, "start_realtime_ns", (int64_t)info->start_realtime, info->start_realtime != 0);
	doc_int_or_null(doc, "clock_error_ns", (int64_t)info->clock_error, !info->snapshot);
	doc_string(doc, "recorded_by", info->snapshot ? "pytorch" : "memrec");
	doc_bool(doc, "has_history", !(info->snapshot & MT_SNAPSHOT_NO_HISTORY));
	doc_bool(doc, "has_times", !(info->snapshot & MT_SNAPSHOT_NO_TIMES));
	doc_bool(doc, "history_cut", (info->snapshot & MT_SNAPSHOT_CUT) != 0);
}

static void json_trace(struct doc *doc, const struct analysis_process *process, uint32_t number MT_UNUSED,
		       const void *context MT_UNUSED)
{
	const struct report_losses losses = report_losses_of(process);
	int known;

	doc_object(doc, NULL);
	doc_string(doc, "file", process->file);
	json_process(doc, process->info);
	known = !(process->info->snapshot & MT_SNAPSHOT_NO_TIMES);
	doc_int_or_null(doc, "first_time_ns", process->first_time, known);
	doc_int_or_null(doc, "last_time_ns", process->last_time, known);
	doc_int(doc, "steps", process->steps);
	doc_int(doc, "events", (int64_t)process->events);
	doc_int(doc, "chunks", process->state->chunks);
	doc_int(doc, "file_bytes", (int64_t)process->state->file_bytes);
	doc_real(doc, "bytes_per_event", bytes_per_event(process));
	if (process->info->snapshot)
		doc_null(doc, "ended");
	else
		doc_string(doc, "ended", ended(process));
	report_losses(doc, &losses);
	json_kinds(doc, process);
	json_sources(doc, process);
	json_losses(doc, process);
	doc_end(doc);
}

/* ---- the command ---- */

static int info(const struct source *source, int json)
{
	struct analysis analysis;
	uint32_t i;
	int error = analysis_run(&analysis, source->input, source->inputs, source->rules, NULL), status = 0;

	if (!error && json)
		error = report_json("info", &analysis, json_trace, NULL);
	for (i = 0; !error && !json && i < analysis.processes; i++)
		print_trace(&analysis.process[i]);
	if (error)
		status = command_fail(mt_exit_code(error), "info: %s", mt_strerror(error));
	else
		status = report_damage(&analysis, "shown");
	analysis_release(&analysis);
	return status;
}

int cmd_info(int argc, char **argv)
{
	return answer_traces(argc, argv, info);
}
