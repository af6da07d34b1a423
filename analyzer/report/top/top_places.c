/* Prints the places that held most of the peak, largest first. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/phase.h"
#include "query/callstack.h"
#include "report/answer.h"
#include "report/peak_verdict.h"
#include "top_report.h"

#define SITE_INDENT 19
#define CALLERS_MAX 3

static int says_something(const struct callstack_frame *frame)
{
	return callstack_is_user(frame) || callstack_is_library(frame);
}

/* Returns the next frame outwards from `at` that is of the user or of a library, differs from frame `at`, and is not `user`. */
static size_t next_caller(const struct callstack *stack, size_t at, size_t user)
{
	const struct callstack_frame *last = stack->frame[at];

	for (at++; at < stack->count; at++)
		if (at != user && says_something(stack->frame[at]) &&
		    (strcmp(stack->frame[at]->function, last->function) || stack->frame[at]->line != last->line))
			return at;
	return CALLSTACK_NO_FRAME;
}

static void print_callers(const struct top_report *report, const struct callstack *stack, size_t user)
{
	struct sentence sentence = { 0 };
	size_t at = callstack_inner_frame(stack, user);
	int i;

	for (i = 0; i < CALLERS_MAX && (at = next_caller(stack, at, user)) != CALLSTACK_NO_FRAME; i++) {
		sentence_say(&sentence, i ? ", " : "called from ");
		top_say_frame(&sentence, stack->frame[at]);
	}
	if (!i)
		return;
	text_style(report->text, TEXT_DIM);
	text_wrap(report->text, SITE_INDENT, 0, sentence.text);
	text_style(report->text, TEXT_PLAIN);
}

/* Prints the function on the line of its place; on the next line, if both are too long for one. */
static void print_place_line(const struct top_report *report, const struct place *of)
{
	const struct callstack *stack = of->stack;
	size_t user = of->user;
	char place[512], clean[256], name[512], function[256];
	size_t room = (size_t)text_columns(report->text) - SITE_INDENT;

	if (user == CALLSTACK_NO_FRAME) {
		text_print(report->text, "no stack was recorded\n");
		return;
	}
	places_name(place, sizeof(place), of);
	text_fit(clean, sizeof(clean), place, room, 1);
	if (*of->submodule && of->functions == 1)
		snprintf(name, sizeof(name), "%s", of->function->name);
	else if (*of->submodule) /* other stacks of the place have other functions */
		callstack_function(name, sizeof(name), stack->frame[user]);
	else
		callstack_function_of(name, sizeof(name), stack, user);
	text_fit(function, sizeof(function), name, room, 0);
	text_style(report->text, TEXT_BOLD);
	text_print(report->text, "%s", clean);
	text_style(report->text, TEXT_PLAIN);
	if (*function && strlen(clean) + 2 + strlen(function) > room)
		text_print(report->text, "\n%*s", SITE_INDENT, "");
	else if (*function)
		text_print(report->text, "  ");
	text_print(report->text, "%s\n", function);
}

#define FUNCTIONS_MAX 3

static void print_function(const struct top_report *report, const struct place_function *function, const char *name)
{
	char size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], clean[256];

	text_print(report->text, "%*s%10s  %5s  %s\n", SITE_INDENT, "", text_bytes(size, function->bytes),
		   text_percent(share, function->bytes, report->device->peak.bytes),
		   text_fit(clean, sizeof(clean), name, (size_t)text_columns(report->text) - 2 * SITE_INDENT, 0));
}

/* Prints the functions that allocated the bytes. The last row has all small ones. */
static void print_functions(const struct top_report *report, const struct place *place)
{
	size_t shown = place->functions > FUNCTIONS_MAX + 1 ? FUNCTIONS_MAX : place->functions, i;
	struct place_function others = { 0 };
	char words[64];

	if (place->functions < 2)
		return;
	for (i = 0; i < shown; i++)
		print_function(report, &place->function[i], place->function[i].name);
	for (; i < place->functions; i++)
		others.bytes += place->function[i].bytes;
	if (others.bytes) {
		snprintf(words, sizeof(words), "%zu others", place->functions - shown);
		print_function(report, &others, words);
	}
}

#define STACKS_MAX 20

/* Prints "4.0 MiB, 2 allocations: softmax (torch/nn/functional.py:1841), ..": the frames from the innermost one to the line of the place. */
static void print_stack(const struct top_report *report, const struct place_site *site)
{
	struct sentence sentence = { 0 };
	char size[TEXT_SIZE_MAX], count[64];
	const char *before = ": ";
	size_t i;

	sentence_say(&sentence, "stack: %s, %s", text_bytes(size, site->bytes),
		     text_count(count, sizeof(count), site->count, "allocation"));
	if (site->sites > 1)
		sentence_say(&sentence, ", %s alike", text_count(count, sizeof(count), site->sites, "stack"));
	for (i = 0; i < site->user; i++) {
		if (callstack_is_plumbing(site->stack.frame[i]))
			continue;
		sentence_say(&sentence, "%s", before);
		top_say_frame(&sentence, site->stack.frame[i]);
		before = ", ";
	}
	if (*before == ':') {
		sentence_say(&sentence, "%s", before);
		top_say_frame(&sentence, site->stack.frame[site->user]);
	}
	text_wrap(report->text, SITE_INDENT, 0, sentence.text);
}

/* Prints all stacks of a place. */
static void print_stacks(const struct top_report *report, const struct place *place)
{
	size_t i;

	if (place->sites < 2 || place->user == CALLSTACK_NO_FRAME)
		return;
	for (i = 0; i < place->sites && i < STACKS_MAX; i++)
		print_stack(report, place->site[i]);
	if (i < place->sites)
		text_print(report->text, "%*s%zu smaller ones are in --json\n", SITE_INDENT, "", place->sites - i);
}

static void print_why_line(const struct top_report *report, const char *what, const char *why)
{
	struct sentence sentence = { 0 };
	char clean[512];

	text_fit(clean, sizeof(clean), why, TOP_WHY_COLUMNS, 0);
	sentence_say(&sentence, "%s%s", what, clean);
	text_wrap(report->text, SITE_INDENT, 0, sentence.text);
}

static void print_why(const struct top_report *report, const struct place *place)
{
	print_why_line(report,
		       "why: ", *place->evidence ? place->evidence : "unknown: nothing in the recording says more");
	if (*place->decided_by)
		print_why_line(report, "phase by: ", place->decided_by);
}

/* Says "weights (known)", "kv cache (by a rule)" or "probably activations". "other" and slack have no such words. */
static void say_category(struct sentence *sentence, const struct place *place)
{
	int is_plain = !strcmp(place->category, mt_category_name(MT_CATEGORY_OTHER)) ||
		       !strcmp(place->category, mt_category_name(MT_CATEGORY_SLACK));
	int is_rule = !strcmp(place->known, "rule"), is_known = !strcmp(place->known, "census");

	sentence_say(sentence, "%s%s%s", is_plain || is_known || is_rule ? "" : "probably ", place->category,
		     is_plain   ? ""
		     : is_known ? " (known)"
		     : is_rule  ? " (by a rule)"
				: "");
}

/* Returns the layer for the colour of a place: its phase; slack has its own. */
static const char *place_layer(const struct place *place)
{
	const char *slack = mt_category_name(MT_CATEGORY_SLACK);

	return strcmp(place->category, slack) ? place->phase : slack;
}

/* Says ", rank 3", ", ranks 0 to 7" or ", 5 processes". */
void top_say_processes(struct sentence *sentence, uint32_t processes, int64_t first, int64_t last)
{
	if (first >= 0 && last - first + 1 == (int64_t)processes)
		sentence_say(sentence, "ranks %lld to %lld", (long long)first, (long long)last);
	else
		sentence_say(sentence, "%u %s", processes, first >= 0 ? "ranks" : "processes");
}

static void say_processes(struct sentence *sentence, const struct place *place)
{
	char name[TEXT_SIZE_MAX];

	if (place->processes > 1) {
		sentence_say(sentence, ", ");
		top_say_processes(sentence, place->processes, place->ranks[0], place->ranks[1]);
	} else if (place->pid || place->rank >= 0) {
		sentence_say(sentence, ", %s", answer_process(name, place->rank, place->pid));
	}
}

static void print_place(const struct top_report *report, const struct place *place)
{
	char size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], count[64], name[256];
	struct sentence sentence = { 0 };

	text_phase_print(report->text, place_layer(place), "%10s  %5s  ", text_bytes(size, place->bytes),
			 text_percent(share, place->bytes, report->device->peak.bytes));
	print_place_line(report, place);
	if (*place->parameter)
		sentence_say(&sentence,
			     "%s: ", text_fit(name, sizeof(name), place->parameter, TEXT_COLUMNS - SITE_INDENT - 2, 1));
	say_category(&sentence, place);
	if (text_known.history) {
		sentence_say(&sentence, ", allocated ");
		peak_say_phase(&sentence, place->phase, 0, 0);
	}
	sentence_say(&sentence, ", %s", text_count(count, sizeof(count), place->count, "allocation"));
	if (place->stacks > place->processes)
		sentence_say(&sentence, " from %s", text_count(count, sizeof(count), place->stacks, "stack"));
	if (report->processes > 1)
		say_processes(&sentence, place);
	text_wrap(report->text, SITE_INDENT, 0, sentence.text);
	print_functions(report, place);
	if (report->options->why) {
		print_why(report, place);
		print_stacks(report, place);
	}
	if (place->user != CALLSTACK_NO_FRAME)
		print_callers(report, place->stack, place->user);
}

/* Returns the frame of a place without a function's name; NULL: the place has a name, or no stack. */
static const struct callstack_frame *nameless_frame(const struct place *place)
{
	const struct callstack_frame *frame;

	if (place->user == CALLSTACK_NO_FRAME)
		return NULL;
	frame = place->stack->frame[callstack_inner_frame(place->stack, place->user)];
	return callstack_is_nameless(frame) ? frame : NULL;
}

static int is_of(const struct place *place, const char *module)
{
	const struct callstack_frame *frame = nameless_frame(place);

	return frame && !strcmp(frame->module, module);
}

static size_t count_of(const struct places *places, size_t end, const char *module)
{
	size_t i, count = 0;

	for (i = 0; i < end; i++)
		count += (size_t)is_of(&places->place[i], module);
	return count;
}

static void print_nameless(const struct top_report *report, const char *module, size_t places)
{
	struct sentence sentence = { 0 };
	char count[64], name[256];

	text_fit(name, sizeof(name), module, 200, 1);
	sentence_say(&sentence, "No symbols: %s of %s %s. ", text_count(count, sizeof(count), places, "place"), name,
		     places == 1 ? "is an address" : "are addresses");
	if (access(module, F_OK))
		sentence_say(&sentence, "The file is not here, and the recording has no names of it.");
	else
		sentence_say(&sentence, "The file is another build or stripped, and the recording has no names of it.");
	text_style(report->text, TEXT_WARN);
	text_wrap(report->text, 0, 0, sentence.text);
	text_style(report->text, TEXT_PLAIN);
}

/* Names each module without symbols once. There are at most PLACES_SITES_MAX places. */
static void print_all_nameless(const struct top_report *report, size_t shown)
{
	const struct places *places = &report->places;
	const struct callstack_frame *frame;
	size_t i;

	for (i = 0; i < shown; i++) {
		frame = nameless_frame(&places->place[i]);
		if (frame && !count_of(places, i, frame->module))
			print_nameless(report, frame->module, count_of(places, shown, frame->module));
	}
}

void top_print_places(const struct top_report *report)
{
	const struct places *places = &report->places;
	size_t limit = report->options->limit < 0 ? places->count : (size_t)report->options->limit, i;
	uint64_t rest = report->device->peak.bytes;
	char size[TEXT_SIZE_MAX];

	answer_title(report->text, "Places that held most of it");
	for (i = 0; i < places->count && i < limit; i++) {
		print_place(report, &places->place[i]);
		rest -= places->place[i].bytes;
	}
	if (rest)
		text_print(report->text, "%10s  %5s  in smaller places\n", text_bytes(size, rest),
			   text_percent((char[TEXT_SIZE_MAX]){ 0 }, rest, report->device->peak.bytes));
	print_all_nameless(report, limit < places->count ? limit : places->count);
}
