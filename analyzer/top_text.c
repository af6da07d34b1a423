/* The report of `memana top` for people: the verdict first, then what it rests on, then what to try next. */
#include <string.h>
#include "callstack.h"
#include "memtrace/error.h"
#include "places.h"
#include "query.h"
#include "sentence.h"
#include "top.h"
#include "top_host.h"
#include "top_ranks.h"
#include "top_whole.h"

#define WORD_COLUMNS 24
#define WHY_COLUMNS 140 /* of what others may have written */
#define BAR_COLUMNS 32
#define SITE_INDENT 19
#define CALLERS_MAX 3
#define OOMS_MAX 5

struct report {
	const struct text *text;
	struct db *db;
	struct symbols *symbols;
	const struct top_options *options;
	uint64_t steps;		      /* of all processes */
	uint64_t events, lost, let_go;
	int damaged;		      /* a trace ends in damage */
	int processes;
	const struct query_device *device; /* the one being written */
	int devices;		      /* written */
	int64_t only;		      /* GPU (id) that stands for all, 0: none does */
	struct places places;	      /* of the device, or the one before */
	uint64_t ooms;
	struct host_sum host;
};

int top_wants(const struct top_options *options, const struct query_device *device)
{
	if (options->device_cpu)
		return !strcmp(device->kind, "cpu");
	return options->device < 0 || options->device == device->number;
}

const char *top_moment_word(const struct top_options *options)
{
	static const char *const words[] = { [MOMENT_PEAK] = "peak", [MOMENT_STEP] = "step", [MOMENT_OOM] = "oom",
					     [MOMENT_TIME] = "time" };

	return words[options->moment.kind];
}

/* ---- sentences ---- */

/* "in backward of step 2" */
static void say_phase(struct sentence *sentence, const struct report *report, const char *phase, int64_t step)
{
	if (!strcmp(phase, "other"))
		sentence_say(sentence, "outside any known phase");
	else
		sentence_say(sentence, "in %s", phase);
	if (report->steps)
		sentence_say(sentence, " of step %lld", (long long)step);
}

/* "alloc_activations (rl_step.c:211)" */
static void say_frame(struct sentence *sentence, const struct callstack_frame *frame)
{
	char place[512], function[512];

	callstack_place(place, sizeof(place), frame);
	if (*frame->function) {
		sentence_say_clean(sentence, callstack_function(function, sizeof(function), frame));
		sentence_say(sentence, " (");
		sentence_say_clean(sentence, place);
		sentence_say(sentence, ")");
	} else {
		sentence_say_clean(sentence, place);
	}
}

static int say_stack(struct sentence *sentence, const struct report *report, int64_t node)
{
	struct callstack stack;
	int error = callstack_load(&stack, report->db, node, report->symbols);
	size_t user = places_user_frame(&report->places, &stack);

	if (user != CALLSTACK_NO_FRAME) {
		sentence_say(sentence, ", by ");
		say_frame(sentence, &stack.frame[user]);
	}
	callstack_release(&stack);
	return error;
}

/* ---- the verdict ---- */

struct verdict {
	const struct report *report;
	struct sentence sentence;
};

/* ", most of it by ffn_forward (rl_step.c:95)" */
static void say_largest_place(struct sentence *sentence, const struct report *report, const struct query_culprit *row)
{
	const struct place *place;
	size_t i;

	for (i = 0; i < report->places.count; i++) {
		place = &report->places.place[i];
		if (strcmp(place->phase, row->phase) || strcmp(place->category, row->category))
			continue;
		if (place->user == CALLSTACK_NO_FRAME)
			return;
		sentence_say(sentence, "%s", place->bytes == row->bytes ? ", by " :
			    place->bytes > row->bytes / 2 ? ", most of it by " : ", the largest part by ");
		say_frame(sentence, &place->stack->frame[place->user]);
		return;
	}
}

static int say_culprit(void *context, const struct query_culprit *row)
{
	struct verdict *verdict = context;
	struct sentence *sentence = &verdict->sentence;
	char share[TEXT_SIZE_MAX];
	int is_slack = !strcmp(row->category, "allocator slack"),
	    is_all = row->bytes == verdict->report->device->peak.bytes;

	sentence_say(sentence, " %s of it is ",
	    is_all ? "All" : text_percent(share, row->bytes, verdict->report->device->peak.bytes));
	sentence_say(sentence, "%s", strcmp(row->category, "other") ? row->category : "memory of no known purpose");
	sentence_say(sentence, strcmp(row->phase, "other") ? ", %s in %s" : ", %s outside any known phase",
	    is_slack ? "taken from the driver" : "allocated", row->phase);
	say_largest_place(sentence, verdict->report, row);
	sentence_say(sentence, ".");
	return 0;
}

static void say_slack(struct sentence *sentence, const struct query_device *device)
{
	char size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];

	if (device->peak.slack < device->peak.bytes / 10 || !device->peak.slack)
		return;
	sentence_say(sentence, " %s (%s) is slack: the allocator holds it, no tensor uses it.",
	    text_bytes(size, device->peak.slack), text_percent(share, device->peak.slack, device->peak.bytes));
}

static void print_device_name(const struct report *report)
{
	const struct query_device *device = report->device;
	char name[128];

	text_style(report->text, TEXT_HEAD);
	text_fit(name, sizeof(name), device->name, 60, 0);
	if (!strcmp(device->kind, "cpu"))
		text_print(report->text, "CPU tensors\n");
	else
		text_print(report->text, "GPU %lld  %s\n", (long long)device->number, name);
	text_style(report->text, TEXT_PLAIN);
}

/* "Peak " */
static const char *moment_begins(const struct report *report)
{
	static const char *const words[] = { [MOMENT_PEAK] = "Peak ", [MOMENT_STEP] = "Peak of the step: ",
					     [MOMENT_OOM] = "When memory ran out: ", [MOMENT_TIME] = "Then: " };

	return words[report->options->moment.kind];
}

static int print_verdict(const struct report *report)
{
	const struct query_device *device = report->device;
	struct verdict verdict = { .report = report };
	struct sentence *sentence = &verdict.sentence;
	char size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];
	char lost[64], events[TEXT_SIZE_MAX];
	int error;

	print_device_name(report);
	if (report->lost)
		sentence_say(sentence, "%s of %s are lost: the %s at least ", text_count(lost, sizeof(lost), report->lost, "event"),
		    text_number(events, report->events + report->lost),
		    report->options->moment.kind == MOMENT_PEAK ? "peak is" : "device held");
	sentence_say(sentence, "%s%s", report->lost ? "" : moment_begins(report), text_bytes(size, device->peak.bytes));
	if (device->total)
		sentence_say(sentence, " of %s (%s)", text_bytes(total, device->total),
		    text_percent(share, device->peak.bytes, device->total));
	sentence_say(sentence, " at %s, ", text_time(time, device->peak.time));
	say_phase(sentence, report, device->peak.phase, device->peak.step);
	if (report->processes > 1)
		sentence_say(sentence, " (pid %lld)", (long long)device->peak.pid);
	sentence_say(sentence, ".");
	error = query_culprit(report->db, device->id, say_culprit, &verdict);
	say_slack(sentence, device);
	text_style(report->text, TEXT_BOLD);
	text_wrap(report->text, 0, 0, sentence->text);
	text_style(report->text, TEXT_PLAIN);
	return error;
}

/* ---- tables ---- */

static void print_title(const struct report *report, const char *title)
{
	text_print(report->text, "\n");
	text_style(report->text, TEXT_HEAD);
	text_print(report->text, "%s\n", title);
	text_style(report->text, TEXT_PLAIN);
}

/* "  forward                  25.7 GiB   42%  #############" */
static void print_share(const struct report *report, const char *word, uint64_t bytes, uint64_t whole)
{
	char clean[128], size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];

	text_print(report->text, "  %-*s %10s  %5s", WORD_COLUMNS,
		   text_fit(clean, sizeof(clean), word, WORD_COLUMNS, 0), text_bytes(size, bytes),
		   text_percent(share, bytes, whole));
	text_bar(report->text, bytes, whole, BAR_COLUMNS);
	text_print(report->text, "\n");
}

/* Of the largest place of the category; the word may be that of a phase or an owner, too. */
static void print_category_why(const struct report *report, const char *category)
{
	struct sentence sentence = { 0 };
	char clean[512];
	size_t i;

	for (i = 0; i < report->places.count; i++) {
		if (strcmp(report->places.place[i].category, category) || !*report->places.place[i].evidence)
			continue;
		text_fit(clean, sizeof(clean), report->places.place[i].evidence, WHY_COLUMNS, 0);
		sentence_say(&sentence, "largest: %s", clean);
		text_style(report->text, TEXT_DIM);
		text_wrap(report->text, 4, 0, sentence.text);
		text_style(report->text, TEXT_PLAIN);
		return;
	}
}

static int print_part(void *context, const struct query_part *row)
{
	const struct report *report = context;

	print_share(report, row->word, row->bytes, report->device->peak.bytes);
	if (report->options->why)
		print_category_why(report, row->word);
	return 0;
}

static int print_parts(struct report *report, enum query_by by)
{
	static const char *const titles[QUERY_BY_COUNT] = {
		[QUERY_BY_PHASE] = "By the phase that allocated it",
		[QUERY_BY_CATEGORY] = "By what it is",
		[QUERY_BY_OWNER] = "By who asked for it",
		[QUERY_BY_PROCESS] = "By process",
	};

	if (by == QUERY_BY_PHASE && report->options->moment.kind <= MOMENT_STEP)
		print_title(report, "At the peak, by the phase that allocated it");
	else
		print_title(report, titles[by]);
	return query_parts(report->db, report->device->id, by, print_part, report);
}

static int print_phase_peak(void *context, const struct query_phase_peak *row)
{
	struct report *report = context;
	uint64_t whole = report->device->total ? report->device->total : report->device->peak.bytes;
	char word[64], size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], step[48] = "";

	if (report->steps)
		snprintf(step, sizeof(step), ", step %lld", (long long)row->step);
	text_print(report->text, "  %-*s %10s  %5s  ", WORD_COLUMNS,
		   text_fit(word, sizeof(word), row->phase, WORD_COLUMNS, 0), text_bytes(size, row->bytes),
		   text_percent(share, row->bytes, whole));
	text_style(report->text, TEXT_DIM);
	text_print(report->text, "at %s%s\n", text_time(time, row->time), step);
	text_style(report->text, TEXT_PLAIN);
	return 0;
}

static int print_phase_peaks(struct report *report)
{
	print_title(report, "The most the device held while each phase ran");
	return query_phase_peaks(report->db, report->device->id, print_phase_peak, report);
}

/* ---- sites ---- */

/* The next frame outwards from `at` that belongs to the user, and is another place than the one before. */
static size_t next_caller(const struct callstack *stack, size_t at)
{
	const struct callstack_frame *last = &stack->frame[at];

	for (at++; at < stack->count; at++)
		if (callstack_is_user(&stack->frame[at]) &&
		    (strcmp(stack->frame[at].function, last->function) || stack->frame[at].line != last->line))
			return at;
	return CALLSTACK_NO_FRAME;
}

static void print_callers(const struct report *report, const struct callstack *stack, size_t at)
{
	struct sentence sentence = { 0 };
	int i;

	for (i = 0; i < CALLERS_MAX && (at = next_caller(stack, at)) != CALLSTACK_NO_FRAME; i++) {
		sentence_say(&sentence, i ? ", " : "called from ");
		say_frame(&sentence, &stack->frame[at]);
	}
	if (!i)
		return;
	text_style(report->text, TEXT_DIM);
	text_wrap(report->text, SITE_INDENT, 0, sentence.text);
	text_style(report->text, TEXT_PLAIN);
}

static void print_place_line(const struct report *report, const struct callstack *stack, size_t user)
{
	char place[512], clean[256], name[512], function[256];
	size_t room = TEXT_COLUMNS - SITE_INDENT;

	if (user == CALLSTACK_NO_FRAME) {
		text_print(report->text, "no stack was recorded\n");
		return;
	}
	callstack_place(place, sizeof(place), &stack->frame[user]);
	text_fit(clean, sizeof(clean), place, room / 2, 1);
	callstack_function(name, sizeof(name), &stack->frame[user]);
	text_fit(function, sizeof(function), name, room - room / 2 - 2, 0);
	text_style(report->text, TEXT_BOLD);
	text_print(report->text, "%s", clean);
	text_style(report->text, TEXT_PLAIN);
	text_print(report->text, "%s%s\n", *function ? "  " : "", function);
}

static void print_why_line(const struct report *report, const char *what, const char *why)
{
	struct sentence sentence = { 0 };
	char clean[512];

	text_fit(clean, sizeof(clean), why, WHY_COLUMNS, 0);
	sentence_say(&sentence, "%s%s", what, clean);
	text_wrap(report->text, SITE_INDENT, 0, sentence.text);
}

static void print_why(const struct report *report, const struct place *place)
{
	print_why_line(report, "why: ", *place->evidence ? place->evidence : "nothing tells what it is");
	if (*place->decided_by)
		print_why_line(report, "phase by: ", place->decided_by);
}

static void print_place(const struct report *report, const struct place *place)
{
	char size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], count[64];
	struct sentence sentence = { 0 };

	text_print(report->text, "%10s  %5s  ", text_bytes(size, place->bytes),
		   text_percent(share, place->bytes, report->device->peak.bytes));
	print_place_line(report, place->stack, place->user);
	sentence_say(&sentence, "%s, allocated in %s, %s", place->category, place->phase,
	    text_count(count, sizeof(count), place->count, "allocation"));
	if (report->processes > 1)
		sentence_say(&sentence, ", pid %lld", (long long)place->pid);
	text_wrap(report->text, SITE_INDENT, 0, sentence.text);
	if (report->options->why)
		print_why(report, place);
	if (place->user != CALLSTACK_NO_FRAME)
		print_callers(report, place->stack, place->user);
}

static void print_places(struct report *report)
{
	const struct places *places = &report->places;
	size_t limit = report->options->limit < 0 ? places->count : (size_t)report->options->limit, i;
	uint64_t rest = report->device->peak.bytes;
	char size[TEXT_SIZE_MAX];

	print_title(report, "Places that held most of it");
	for (i = 0; i < places->count && i < limit; i++) {
		print_place(report, &places->place[i]);
		rest -= places->place[i].bytes;
	}
	if (rest)
		text_print(report->text, "%10s  %5s  in smaller places\n", text_bytes(size, rest),
			   text_percent((char[TEXT_SIZE_MAX]){ 0 }, rest, report->device->peak.bytes));
}

/* ---- one device ---- */

static int print_all_tables(struct report *report)
{
	int error = print_parts(report, QUERY_BY_PHASE);

	if (!error)
		error = print_parts(report, QUERY_BY_CATEGORY);
	if (!error)
		error = print_parts(report, QUERY_BY_OWNER);
	if (!error && report->processes > 1)
		error = print_parts(report, QUERY_BY_PROCESS);
	if (error)
		return error;
	error = top_whole(report->text, report->db, report->device);
	if (error)
		return error;
	print_places(report);
	return print_phase_peaks(report);
}

static int print_device(void *context, const struct query_device *row)
{
	struct report *report = context;
	int error;

	if (!top_wants(report->options, row))
		return 0;
	if (report->only && report->only != row->id && !strcmp(row->kind, "cuda"))
		return 0;
	if (report->devices++)
		text_print(report->text, "\n");
	report->device = row;
	places_release(&report->places);
	error = places_load(&report->places, report->db, row->id, report->symbols);
	if (!error)
		error = print_verdict(report);
	if (error)
		return error;
	if (report->options->by == TOP_BY_ALL)
		return print_all_tables(report);
	if (report->options->by != TOP_BY_SITE)
		return print_parts(report, (enum query_by)report->options->by);
	print_places(report);
	return 0;
}

/* ---- the run ---- */

static int print_oom(void *context, const struct query_oom *row)
{
	struct report *report = context;
	struct sentence sentence = { 0 };
	char size[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];
	int error;

	if (report->ooms++ == 0) {
		text_style(report->text, TEXT_HEAD);
		text_print(report->text, "Out of memory\n");
		text_style(report->text, TEXT_PLAIN);
	}
	if (report->ooms > OOMS_MAX)
		return 0;
	sentence_say(&sentence, "At %s, ", text_time(time, row->time));
	say_phase(&sentence, report, row->phase, row->step);
	sentence_say(&sentence, ": %s asked for", text_bytes(size, row->requested));
	if (row->free >= 0)
		sentence_say(&sentence, ", %s%s free", strcmp(row->free_by, "bound") ? "" : "at most ",
			     text_bytes(size, (uint64_t)row->free));
	if (row->others > 0)
		sentence_say(&sentence, ", %s in use by others", text_bytes(size, (uint64_t)row->others));
	error = say_stack(&sentence, report, row->node);
	text_style(report->text, TEXT_BAD);
	text_wrap(report->text, 2, 0, sentence.text);
	text_style(report->text, TEXT_PLAIN);
	return error;
}

static int print_ooms(struct report *report)
{
	int error = query_ooms(report->db, print_oom, report);
	char count[64];

	if (report->ooms > OOMS_MAX)
		text_print(report->text, "  %s more\n",
			   text_count(count, sizeof(count), report->ooms - OOMS_MAX, "time"));
	if (report->ooms) {
		top_host_had_room(report->text, &report->host);
		text_print(report->text, "\n");
	}
	return error;
}

static int count_process(void *context, const struct query_process *row)
{
	struct report *report = context;

	report->processes++;
	report->steps += row->steps;
	report->events += row->events;
	report->lost += row->lost;
	report->let_go += row->let_go;
	report->damaged |= *row->damage != '\0';
	return 0;
}

static int print_source(void *context, const struct query_source *row)
{
	struct report *report = context;
	struct sentence sentence = { 0 };

	if (!strcmp(row->state, "on"))
		return 0;
	sentence_say(&sentence, "Not recorded: %s", row->name);
	if (*row->why) {
		sentence_say(&sentence, " (");
		sentence_say_clean(&sentence, row->why);
		sentence_say(&sentence, ")");
	}
	if (report->processes > 1)
		sentence_say(&sentence, " in pid %lld", (long long)row->pid);
	text_style(report->text, !strcmp(row->state, "failed") ? TEXT_WARN : TEXT_DIM);
	text_wrap(report->text, 0, 0, sentence.text);
	text_style(report->text, TEXT_PLAIN);
	return 0;
}

static int print_loss(void *context, const struct query_loss *row)
{
	struct report *report = context;
	char count[64];

	text_style(report->text, TEXT_BAD);
	text_print(report->text, "Lost: %s of pid %lld: %s\n", text_count(count, sizeof(count), row->events, "event"),
		   (long long)row->pid, row->reason);
	text_style(report->text, TEXT_PLAIN);
	return 0;
}

/* A trace that ends early is what a killed program leaves; everything that is in it is shown. */
static int print_incomplete(void *context, const struct query_process *row)
{
	struct report *report = context;
	struct sentence sentence = { 0 };
	char time[TEXT_SIZE_MAX], file[128];

	if (row->complete)
		return 0;
	text_fit(file, sizeof(file), row->file, 40, 1);
	sentence_say(&sentence, "Incomplete: %s ends at %s without an end mark (the program was killed, or still runs).", file,
	    text_time(time, row->last_time));
	text_style(report->text, TEXT_WARN);
	text_wrap(report->text, 0, 0, sentence.text);
	text_style(report->text, TEXT_PLAIN);
	return 0;
}

static int print_recording(struct report *report)
{
	char events[64], steps[64], processes[64], lost[64];
	struct sentence sentence = { 0 };
	int error;

	text_print(report->text, "\n");
	top_host_line(report->text, &report->host);
	sentence_say(&sentence, "Recorded: %s, ", text_count(events, sizeof(events), report->events, "event"));
	if (report->processes > 1)
		sentence_say(&sentence, "%s, ",
		    text_count(processes, sizeof(processes), (uint64_t)report->processes, "process"));
	sentence_say(&sentence, "%s, %s.", text_count(steps, sizeof(steps), report->steps, "step"),
	    report->lost      ? text_count(lost, sizeof(lost), report->lost, "lost event")
	    : report->damaged ? "and nobody knows what the damaged part held"
			      : "nothing lost");
	if (report->let_go)
		sentence_say(&sentence, " %s let go on purpose (--keep): this is about what is kept.",
			     text_count(lost, sizeof(lost), report->let_go, "earlier event"));
	text_wrap(report->text, 0, 0, sentence.text);
	error = query_losses(report->db, print_loss, report);
	if (!error)
		error = query_processes(report->db, print_incomplete, report);
	if (!error)
		error = query_sources(report->db, print_source, report);
	return error;
}

static void print_next(const struct report *report)
{
	char name[64];

	text_fit(name, sizeof(name), report->options->name, 36, 1);
	if (report->options->by == TOP_BY_SITE && report->options->is_database)
		text_print(report->text, "Next: memana sql %s \"SELECT * FROM phase_peak\"\n", name);
	else if (report->options->by == TOP_BY_SITE)
		text_print(report->text, "Next: memana load %s -o run.db\n", name);
	else
		text_print(report->text, "Next: memana top --by site %s\n", name);
}

static int count_device(void *context, const struct query_device *row)
{
	struct report *report = context;

	report->devices += top_wants(report->options, row);
	return 0;
}

/* How many devices the report is about. -MT_E_ARGUMENT: not the one that was asked for. */
static int count_devices(struct report *report)
{
	int error = query_devices(report->db, count_device, report), wanted = report->devices;

	report->devices = 0;
	if (error)
		return error;
	return !wanted && (report->options->device >= 0 || report->options->device_cpu) ? -MT_E_ARGUMENT : 0;
}

/* Several GPUs side by side; of many only the one that peaks highest is shown in detail. */
static int print_ranks(struct report *report)
{
	struct ranks ranks = { 0 };
	int error = 0;

	if (report->options->device < 0 && !report->options->device_cpu)
		error = ranks_load(&ranks, report->db, report->symbols);
	if (!error)
		top_ranks_text(report->text, &ranks, report->options->name);
	if (!error && ranks.count >= TOP_RANKS_MANY)
		report->only = ranks.rank[ranks.highest].device;
	ranks_release(&ranks);
	return error;
}

static int print_report(struct report *report)
{
	int error = query_processes(report->db, count_process, report);

	if (!error)
		error = count_devices(report);
	if (!error)
		error = host_sum(&report->host, report->db);
	if (!error)
		error = top_host_verdicts(report->text, report->db);
	if (!error)
		error = print_ooms(report);
	if (!error)
		error = print_ranks(report);
	if (!error)
		error = query_devices(report->db, print_device, report);
	if (error)
		return error;
	if (!report->devices)
		text_print(report->text, "No memory of a device was recorded.\n");
	error = print_recording(report);
	if (!error && report->devices)
		print_next(report);
	return error;
}

int top_text(const struct text *text, struct db *db, struct symbols *symbols, const struct top_options *options)
{
	struct report report = { .text = text, .db = db, .symbols = symbols, .options = options };
	int error = print_report(&report);

	places_release(&report.places);
	return error;
}
