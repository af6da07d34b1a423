/* top_run.c - prints facts about the recording: failed requests, contents, and gaps. */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "memtrace/base.h"
#include "report/answer.h"
#include "report/failed/failures.h"
#include "top_report.h"

#define OOMS_MAX 5

static void print_oom(const struct top_report *report, const struct oom_failure *it)
{
	struct sentence sentence = { 0 };
	char size[TEXT_SIZE_MAX];

	oom_say_failure(&sentence, it->had ? "A request was refused" : "Out of memory", it, "");
	if (it->others > 0)
		sentence_say(&sentence, ", %s in use by others", text_bytes(size, (uint64_t)it->others));
	sentence_say(&sentence, it->had ? "; a later try got the memory within a second." : ".");
	text_style(report->text, it->had ? TEXT_PLAIN : TEXT_BAD);
	text_wrap(report->text, 0, 0, sentence.text);
	text_style(report->text, TEXT_PLAIN);
}

/* A refusal of the driver is part of the line of its failure, or of the allocator's recovery. */
static void print_failures(const struct top_report *report, const struct oom_failures *all)
{
	uint64_t shown = 0, count = 0;
	char more[64];
	size_t i;

	for (i = 0; i < all->count; i++) {
		if (all->failure[i].is_part)
			continue;
		count++;
		if (shown < OOMS_MAX) {
			print_oom(report, &all->failure[i]);
			shown++;
		}
	}
	if (count > shown)
		text_print(report->text, "%s more\n", text_count(more, sizeof(more), count - shown, "time"));
	if (count) {
		top_host_had_room(report->text, &report->host);
		text_print(report->text, "\n");
	}
}

int top_print_ooms(const struct top_report *report)
{
	struct oom_failures all;
	int error = oom_failures_load(&all, report->db);

	if (!error)
		print_failures(report, &all);
	oom_failures_release(&all);
	return error;
}

#define SOURCE_WHY_MAX 255 /* bytes that a recorder writes, at most */

static int print_source(void *context, const struct query_source *row)
{
	struct top_report *report = context;
	struct sentence sentence = { 0 };
	char why[SOURCE_WHY_MAX + 4], process[TEXT_SIZE_MAX];

	sentence_say(&sentence, "%s: %s", !strcmp(row->state, "partly") ? "Partly recorded" : "Not recorded",
		     row->name);
	if (*row->why)
		sentence_say(&sentence, " (%s)", text_fit(why, sizeof(why), row->why, SOURCE_WHY_MAX, 0));
	if (row->processes > 1) {
		sentence_say(&sentence, " in ");
		top_say_processes(&sentence, row->processes, row->rank, row->last_rank);
	} else if (report->processes > 1) {
		sentence_say(&sentence, " in %s", answer_process(process, row->rank, row->pid));
	}
	text_style(report->text, !strcmp(row->state, "off") ? TEXT_DIM : TEXT_WARN);
	text_wrap(report->text, 0, 0, sentence.text);
	text_style(report->text, TEXT_PLAIN);
	return 0;
}

static int print_loss(void *context, const struct query_loss *row)
{
	struct top_report *report = context;
	char count[64], process[TEXT_SIZE_MAX];

	text_style(report->text, TEXT_BAD);
	text_print(report->text, "Lost: %s of %s: %s\n", text_count(count, sizeof(count), row->events, "event"),
		   answer_process(process, row->rank, row->pid), row->reason);
	text_style(report->text, TEXT_PLAIN);
	return 0;
}

static void print_warning(const struct top_report *report, const char *words)
{
	text_style(report->text, TEXT_WARN);
	text_wrap(report->text, 0, 0, words);
	text_style(report->text, TEXT_PLAIN);
}

/* A trace without an end mark is of a killed or running program. All of its contents are used. */
static int print_incomplete(void *context, const struct query_process *row)
{
	struct top_report *report = context;
	struct sentence sentence = { 0 };
	char time[TEXT_SIZE_MAX], file[128], lost[64];

	if (row->complete)
		return 0;
	text_fit(file, sizeof(file), row->file, 40, 1);
	if (*row->damage)
		sentence_say(&sentence, "Incomplete: %s is damaged at byte %" PRIu64 ": %s; %s lost.", file,
			     row->damage_offset, row->damage,
			     row->lost ? text_count(lost, sizeof(lost), row->lost, "event")
				       : "an unknown number of events is");
	else
		sentence_say(&sentence,
			     "Incomplete: %s ends at %s without an end mark (the program was killed, or still runs).",
			     file, text_time(time, row->last_time));
	print_warning(report, sentence.text);
	return 0;
}

/* Processes that ran before memrec, or before memrec start attached to them. */
static const char late_sql[] =
	"SELECT count(DISTINCT pid), min(start_realtime), min(rank), min(pid), ' ' || options || ' ' LIKE '% paused=1 %' AS paused "
	"FROM process WHERE paused OR ' ' || options || ' ' LIKE '% attached=1 %' GROUP BY paused";

static int print_late(void *context, struct db_stmt *stmt)
{
	const struct top_report *report = context;
	struct sentence sentence = { 0 };
	char processes[64], process[TEXT_SIZE_MAX], words[64] = "an unknown time";
	time_t seconds = (time_t)((uint64_t)db_int(stmt, 1) / MT_NSEC_PER_SEC);
	int64_t count = db_int(stmt, 0), rank = db_type(stmt, 2) == DB_NULL ? -1 : db_int(stmt, 2);
	struct tm when;

	if (db_type(stmt, 1) != DB_NULL && localtime_r(&seconds, &when))
		strftime(words, sizeof(words), "%Y-%m-%d %H:%M:%S %Z", &when);
	sentence_say(&sentence, "Recorded from %s on, when memrec %s %s.", words,
		     db_int(stmt, 4) ? "start came to" : "attached to",
		     count == 1 ? answer_process(process, rank, db_int(stmt, 3))
				: text_count(processes, sizeof(processes), (uint64_t)count, "process"));
	text_wrap(report->text, 0, 0, sentence.text);
	return 0;
}

/* Processes that use a device, and whose recording ended (?1) before the device's peak. */
static const char stopped_sql[] =
	"WITH user AS (SELECT DISTINCT device, process FROM site) "
	"SELECT rank, pid, last_time, number, kind FROM user JOIN process ON process.id = user.process "
	"JOIN peak ON peak.device = user.device JOIN device ON device.id = user.device "
	"WHERE ended = ?1 AND last_time < peak.time AND number IS NOT NULL ORDER BY number, process.id";

#define STOPPED_MAX 8 /* number of processes that are named: a node has as many GPUs */

static void print_stopped_process(const struct top_report *report, struct db_stmt *stmt)
{
	struct sentence sentence = { 0 };
	char process[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX];
	int64_t rank = db_type(stmt, 0) == DB_NULL ? -1 : db_int(stmt, 0);

	sentence_say(&sentence,
		     "The peak of %s lacks the memory that %s held after its recording ended at %s (--steps). Record without "
		     "--steps to add that memory.",
		     answer_device(device, db_int(stmt, 3), db_text(stmt, 4)),
		     answer_process(process, rank, db_int(stmt, 1)), text_time(time, db_int(stmt, 2)));
	print_warning(report, sentence.text);
}

static int print_stopped(const struct top_report *report)
{
	struct sentence sentence = { 0 };
	struct db_stmt *stmt;
	char others[64];
	uint64_t found = 0;
	int error = db_prepare(report->db, &stmt, stopped_sql), more = 0;

	if (!error)
		db_bind_text(stmt, 1, mt_end_name(MT_END_STEPS));
	while (!error && (more = db_step(stmt)) == 1)
		if (found++ < STOPPED_MAX)
			print_stopped_process(report, stmt);
	db_finish(stmt);
	if (found > STOPPED_MAX) {
		sentence_say(&sentence, "For the same reason no peak includes the memory of %s.",
			     text_count(others, sizeof(others), found - STOPPED_MAX, "other process"));
		print_warning(report, sentence.text);
	}
	return error ? error : more;
}

int top_print_recording(struct top_report *report)
{
	char events[64], steps[64], processes[64], lost[64];
	struct sentence sentence = { 0 };
	int error;

	text_print(report->text, "\n");
	top_host_line(report->text, &report->host);
	if (!text_known.history)
		return 0;
	sentence_say(&sentence, "Recorded: %s, ", text_count(events, sizeof(events), report->events, "event"));
	if (report->processes > 1)
		sentence_say(&sentence, "%s, ",
			     text_count(processes, sizeof(processes), (uint64_t)report->processes, "process"));
	sentence_say(&sentence, "%s, %s.", text_count(steps, sizeof(steps), report->steps, "step"),
		     report->lost      ? text_count(lost, sizeof(lost), report->lost, "lost event")
		     : report->damaged ? "an unknown number of lost events"
				       : "nothing lost");
	if (report->let_go)
		sentence_say(&sentence, " %s removed by --keep: this answer covers the kept events only.",
			     text_count(lost, sizeof(lost), report->let_go, "earlier event"));
	text_wrap(report->text, 0, 0, sentence.text);
	error = db_rows(report->db, late_sql, NULL, print_late, report);
	if (!error)
		error = query_losses(report->db, print_loss, report);
	if (!error)
		error = print_stopped(report);
	if (!error)
		error = query_processes(report->db, print_incomplete, report);
	if (!error)
		error = query_sources_missing(report->db, print_source, report);
	return error;
}

void top_print_blocks(const struct top_report *report)
{
	const struct query_device *device = report->device;
	struct sentence sentence = { 0 };
	char requested[TEXT_SIZE_MAX], blocks[TEXT_SIZE_MAX];

	if (device->peak.blocks < 0)
		return;
	sentence_say(&sentence,
		     "Tensor sizes are the requested bytes, %s in all. PyTorch's rounded blocks, which "
		     "torch.cuda.memory_allocated counts, have %s%s.",
		     text_bytes(requested, (uint64_t)device->peak.requested),
		     device->peak.blocks_exact ? "" : "at least ", text_bytes(blocks, (uint64_t)device->peak.blocks));
	text_wrap(report->text, 0, 0, sentence.text);
}

/* Memory from before the recording has no phase, and often no stack. Says how to record this memory next time. */
int top_print_before(const struct top_report *report)
{
	struct sentence sentence = { 0 };
	uint64_t bytes = 0;
	char size[TEXT_SIZE_MAX];
	int error = db_number(report->db, "SELECT ifnull(sum(bytes), 0) FROM peak_part WHERE phase = 'before'", NULL,
			      (int64_t *)&bytes);

	if (error || (!bytes && text_known.history))
		return error;
	if (!text_known.history)
		sentence_say(&sentence, "%s", answer_no_history);
	else
		sentence_say(&sentence, "%s at the peak existed before the recording: ", text_bytes(size, bytes));
	if (text_known.history && text_known.cut)
		sentence_say(&sentence, "the snapshot's history was cut at its beginning (raise max_entries of "
					"torch.cuda.memory._record_memory_history, or call it later).");
	else if (text_known.history && text_known.snapshot)
		sentence_say(&sentence, "call torch.cuda.memory._record_memory_history() before the model is built.");
	else if (text_known.history)
		sentence_say(&sentence, "start memrec earlier.");
	print_warning(report, sentence.text);
	return 0;
}

void top_print_next(const struct top_report *report)
{
	const char *name = report->options->name;

	if (report->options->by == TOP_BY_PLACE && report->options->is_database)
		text_print(report->text, "Next: memana sql %s \"SELECT * FROM phase_peak\"\n", name);
	else if (report->options->by == TOP_BY_PLACE)
		text_print(report->text, "Next: memana load %s -o run.db\n", name);
	else
		text_print(report->text, "Next: memana top --by place %s\n", name);
}
