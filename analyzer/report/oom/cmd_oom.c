/* memana oom - the failed request: who asked, what was there, who had the rest, and what to do. */
#include <stdio.h>
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "oom_none.h"
#include "oom_words.h"
#include "query/callstack.h"
#include "report/answer.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/peak_points.h"
#include "report/running/running.h"
#include "report/top_host.h"

#define LIST_SHOWN 5
#define FRAMES_SHOWN 8
#define WORD_COLUMNS 26

/* ---- the request ---- */

static void print_frame(const struct text *text, const struct callstack_frame *frame)
{
	char place[512], clean[64], function[64];

	callstack_place(place, sizeof(place), frame);
	text_print(text, "  %-32s %s\n", text_fit(clean, sizeof(clean), place, 32, 1),
		   text_fit(function, sizeof(function), frame->function, 44, 0));
}

/* The module that was running, and the layers beside it. */
static int print_running(const struct text *text, struct db *db, int64_t oom)
{
	struct sentence sentence = { .size = 0 };
	struct running running;
	int error = running_load(&running, db, oom);

	running_say(&sentence, &running);
	if (sentence.size)
		text_wrap(text, 2, 0, sentence.text);
	return error;
}

static int print_stack(const struct text *text, struct db *db, int64_t node)
{
	struct symbols *symbols = symbols_new();
	struct callstack stack = { .count = 0 };
	char count[64];
	size_t i;
	int error = symbols ? callstack_load(&stack, db, node, symbols) : -MT_E_MEMORY;

	answer_title(text, "Who asked");
	if (!error && !stack.count)
		text_print(text, "  no stack was recorded\n");
	for (i = 0; i < stack.count && i < FRAMES_SHOWN; i++)
		print_frame(text, stack.frame[i]);
	if (i < stack.count)
		text_print(text, "  %s more\n", text_count(count, sizeof(count), stack.count - i, "frame"));
	callstack_release(&stack);
	symbols_free(symbols);
	return error;
}

/* ---- the device ---- */

static void print_bytes(const struct text *text, const char *word, int64_t bytes, const char *note)
{
	char size[TEXT_SIZE_MAX], signed_size[TEXT_SIZE_MAX + 1], clean[64];

	text_bytes(size, bytes < 0 ? (uint64_t)-bytes : (uint64_t)bytes);
	snprintf(signed_size, sizeof(signed_size), "%s%s", bytes < 0 ? "-" : "", size);
	text_print(text, "  %-*s %10s", WORD_COLUMNS, text_fit(clean, sizeof(clean), word, WORD_COLUMNS, 0),
		   signed_size);
	text_style(text, TEXT_DIM);
	text_print(text, "%s%s\n", *note ? "  " : "", note);
	text_style(text, TEXT_PLAIN);
}

static void print_row(void *context, const char *word, int64_t bytes, const char *note)
{
	print_bytes(context, word, bytes, note);
}

static void print_holders(const struct text *text, const struct oom *oom)
{
	const struct oom_holder *holder;
	char word[64], who[TEXT_SIZE_MAX], note[64], size[TEXT_SIZE_MAX];
	size_t i;

	for (i = 0; i < oom->holders; i++) {
		holder = &oom->holder[i];
		if (!holder->held)
			continue;
		snprintf(word, sizeof(word), "%s%s", answer_process(who, holder->rank, holder->pid),
			 holder->process == oom->it->process ? ", which asked" : "");
		snprintf(note, sizeof(note), "%s of it idle", text_bytes(size, holder->slack));
		print_bytes(text, word, (int64_t)holder->held, holder->slack ? note : "");
	}
}

/* The rows from "free" to "the device has" add up. */
static void print_device(const struct text *text, const struct oom *oom, const struct balance *balance)
{
	const struct oom_failure *it = oom->it;
	char title[64], name[TEXT_SIZE_MAX];

	snprintf(title, sizeof(title), "%s at that moment", answer_device(name, it->number, it->kind));
	title[0] = title[0] == 't' ? 'T' : title[0];
	answer_title(text, title);
	print_bytes(text, "asked for", (int64_t)it->requested, "");
	if (balance->free >= 0)
		print_bytes(text, "free", balance->free,
			    strcmp(it->free_by, "bound") ? oom_free_words(it) : "by nvidia-smi's count");
	print_holders(text, oom);
	balance_rows(balance, print_row, (void *)text);
	if (it->total)
		print_bytes(text, "the device has", (int64_t)it->total, "");
	if (oom->own_slack && oom->hole)
		print_bytes(text, "largest hole", (int64_t)oom->hole, "in a segment of the process that asked");
	if (oom->idle_segments)
		print_bytes(text, "segments with nothing in", (int64_t)oom->idle_segments, "of the process that asked");
	if (oom->asleep)
		print_bytes(text, "allocated, but asleep", (int64_t)oom->asleep, "pages unmapped: not counted here");
}

/* ---- who had the rest ---- */

/* `phase`: whose colour it has, or "" */
static void print_sum(const struct text *text, const char *word, const char *phase, uint64_t bytes, uint64_t whole)
{
	char clean[128], size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];

	text_phase_print(text, phase, "  %-*s", WORD_COLUMNS, text_fit(clean, sizeof(clean), word, WORD_COLUMNS, 0));
	text_print(text, " %10s  %5s", text_bytes(size, bytes), text_percent(share, bytes, whole));
	text_phase_bar(text, phase, bytes, whole, 30);
	text_print(text, "\n");
}

/* Idle memory has no purpose and no phase, but it is the allocator's. */
static void print_sums(const struct text *text, const struct oom *oom, enum oom_by by, const char *title)
{
	struct oom_sum sum[OOM_SUMS_MAX];
	size_t count = oom_sums(oom, by, sum), i;
	uint64_t whole = oom->in_use + oom->slack;

	if ((!count && !oom->slack) || (by == OOM_BY_OWNER && count < 2))
		return; /* one owner of all is no news */
	answer_title(text, title);
	for (i = 0; i < count; i++)
		print_sum(text, sum[i].word, by == OOM_BY_PHASE ? sum[i].word : "", sum[i].bytes, whole);
	if (oom->slack)
		print_sum(text, "idle in the allocator", by == OOM_BY_PHASE ? mt_category_name(MT_CATEGORY_SLACK) : "",
			  oom->slack, whole);
}

static void print_places(const struct text *text, const struct oom *oom, const struct answer_options *options)
{
	const struct oom_part *part;
	struct sentence sentence;
	char size[TEXT_SIZE_MAX], who[TEXT_SIZE_MAX];
	size_t i;

	if (oom->parts)
		answer_title(text, "Places that held most of it");
	for (i = 0; i < oom->parts && (int64_t)i < options->limit; i++) {
		part = &oom->part[i];
		sentence.size = 0;
		answer_say_place(&sentence, part->function, part->place);
		sentence_say(&sentence, ": %s, allocated in %s", answer_category(part->category), part->phase);
		if (oom->holders > 1)
			sentence_say(&sentence, ", %s", answer_process(who, part->rank, part->pid));
		text_phase_print(text, part->phase, "%12s  ", text_bytes(size, part->bytes));
		text_wrap(text, 14, 14, sentence.text);
	}
}

/* ---- all failures ---- */

static void print_failure(const struct text *text, const struct oom *oom, const struct oom_failure *failure)
{
	char time[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX], who[TEXT_SIZE_MAX], place[64];

	text_print(text, "  %3lld%s %9s  step %-4lld", (long long)failure->id, failure == oom->it ? "*" : " ",
		   text_time(time, failure->time), (long long)failure->step);
	text_phase_print(text, failure->phase, " %-13s", failure->phase);
	text_print(text, " %-10s %10s  %s\n", answer_process(who, failure->rank, failure->pid),
		   text_bytes(size, failure->requested), text_fit(place, sizeof(place), failure->place, 12, 1));
}

/* The newest ones; only where there are several. */
static void print_failures(const struct text *text, const struct oom *oom, const struct answer_options *options)
{
	size_t count = 0, i;

	for (i = 0; i < oom->all.count; i++)
		count += !oom->all.failure[i].is_part;
	if (count < 2)
		return;
	answer_title(text, "All failed requests (* the one above; another one: --number N)");
	for (i = 0; i < oom->all.count; i++) {
		if (oom->all.failure[i].is_part)
			continue;
		if ((int64_t)count-- <= options->limit)
			print_failure(text, oom, &oom->all.failure[i]);
	}
}

/* ---- the report ---- */

static int print_host(const struct text *text, struct db *db)
{
	struct host_sum sum;
	int error = host_sum(&sum, db);

	if (!error)
		top_host_had_room(text, &sum);
	return error;
}

static int print_it(const struct text *text, struct db *db, const struct oom *oom, const struct answer_options *options)
{
	struct sentence sentence = { .size = 0 };
	struct balance balance;
	int error;

	oom_verdict(&sentence, oom, options->name);
	answer_verdict(text, &sentence);
	if (options->brief)
		return 0;
	error = print_host(text, db);
	if (!error)
		error = print_stack(text, db, oom->it->node);
	if (!error)
		error = print_running(text, db, oom->it->id);
	if (!error)
		error = oom_balance(&balance, oom, db);
	if (error)
		return error;
	print_device(text, oom, &balance);
	print_sums(text, oom, OOM_BY_CATEGORY, "Who had the rest, by what it is");
	print_sums(text, oom, OOM_BY_PHASE, "By the phase that allocated it");
	print_sums(text, oom, OOM_BY_OWNER, "By who asked for it");
	print_places(text, oom, options);
	print_failures(text, oom, options);
	if (!oom->survived)
		text_print(text, "\nNext: memana advise, for the settings that would have helped\n");
	return 0;
}

/* Nothing failed: how near it came, and the host, which may be why the run is looked at. */
static int print_none(const struct text *text, struct db *db, const struct answer_options *options)
{
	struct sentence sentence = { .size = 0 };
	struct oom_none none;
	struct host_sum sum;
	int error = oom_none_load(&none, db), has_peak;

	if (!error)
		error = host_sum(&sum, db);
	if (error)
		return error;
	oom_none_say(&sentence, &none);
	has_peak = oom_none_has_peak(&none) && !*sum.all.verdict;
	if (has_peak)
		error = peak_points_say(&sentence, db, none.device, NULL);
	answer_verdict(text, &sentence);
	if (options->brief || error < 0)
		return error < 0 ? error : 0;
	top_host_line(text, &sum);
	return has_peak ? peak_table_print(text, db, none.device) : 0;
}

static int print_oom(const struct text *text, struct db *db, const struct answer_options *options)
{
	struct oom oom;
	int error = oom_load(&oom, db, options->number);

	if (!error)
		error = top_host_verdicts(text, db);
	if (!error && oom.it)
		error = print_it(text, db, &oom, options);
	else if (!error)
		error = print_none(text, db, options);
	oom_release(&oom);
	return error;
}

int cmd_oom(int argc, char **argv)
{
	static const struct command_option options[] = {
		{ COMMAND_NUMBER, "number", "N", "the failed request number N of the list (default: the newest)" },
		{ COMMAND_BRIEF, "brief", NULL, "the verdict alone" },
		{ 'n', NULL, "N", "show N places and requests (default 5; 0: all)" },
		COMMAND_RULES_OPTION,
		COMMAND_JSON_OPTION,
		COMMAND_HELP_OPTION,
	};
	static const struct answer answer = {
		.options = options,
		.parts = LOAD_LIVES,
		.limit = LIST_SHOWN,
		.text = print_oom,
		.json = oom_json,
	};

	return answer_command(argc, argv, &answer, NULL);
}
