/* The details of memana oom: the request's stack, the device, and the holders of the rest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "query/callstack.h"
#include "report/answer.h"
#include "report/running/running.h"
#include "report/top_host.h"
#include "why.h"
#include "why_held.h"

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

/* Prints the running module and its sibling layers. */
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

static void print_holders(const struct text *text, const struct scene *scene, const uint32_t *order)
{
	const struct scene_process *holder;
	char word[64], who[TEXT_SIZE_MAX], note[64], size[TEXT_SIZE_MAX];
	size_t i;

	for (i = 0; i < scene->processes; i++) {
		holder = &scene->process[order[i]];
		if (!holder->held)
			continue;
		snprintf(word, sizeof(word), "%s%s", answer_process(who, holder->rank, holder->pid),
			 order[i] == scene->request.process ? ", which asked" : "");
		snprintf(note, sizeof(note), "%s of it idle", text_bytes(size, holder->slack));
		print_bytes(text, word, (int64_t)holder->held, holder->slack ? note : "");
	}
}

/* The rows from "free" to "the device has" add up. */
static void print_device(const struct text *text, const struct scene *scene, const struct balance *balance,
			 const uint32_t *order)
{
	const struct scene_request *request = &scene->request;
	const struct oom_failure *it = request->failure;
	char title[64], name[TEXT_SIZE_MAX];

	snprintf(title, sizeof(title), "%s at that moment", answer_device(name, it->number, it->kind));
	title[0] = title[0] == 't' ? 'T' : title[0];
	answer_title(text, title);
	print_bytes(text, "asked for", (int64_t)it->requested, "");
	if (balance->free >= 0)
		print_bytes(text, "free", balance->free,
			    strcmp(it->free_by, "bound") ? oom_free_words(it) : "by nvidia-smi's count");
	print_holders(text, scene, order);
	balance_rows(balance, print_row, (void *)text);
	if (it->total)
		print_bytes(text, "the device has", (int64_t)it->total, "");
	if (scene->process[request->process].slack && request->hole)
		print_bytes(text, "largest hole", (int64_t)request->hole, "in a segment of the process that asked");
	if (request->idle_segments)
		print_bytes(text, "segments with nothing in", (int64_t)request->idle_segments,
			    "of the process that asked");
	if (why_asleep(scene))
		print_bytes(text, "allocated, but asleep", (int64_t)why_asleep(scene),
			    "pages unmapped: not counted here");
}

/* ---- holders ---- */

/* `phase` gives the colour; "": none. */
static void print_sum(const struct text *text, const char *word, const char *phase, uint64_t bytes, uint64_t whole)
{
	char clean[128], size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];

	text_phase_print(text, phase, "  %-*s", WORD_COLUMNS, text_fit(clean, sizeof(clean), word, WORD_COLUMNS, 0));
	text_print(text, " %10s  %5s", text_bytes(size, bytes), text_percent(share, bytes, whole));
	text_phase_bar(text, phase, bytes, whole, 30);
	text_print(text, "\n");
}

/* Idle memory has no category and no phase: the table adds a row for it. */
static void print_sums(const struct text *text, const struct scene *scene, const struct held *held, enum held_by by,
		       const char *title)
{
	struct held_sum sum[HELD_SUMS_MAX];
	size_t count = held_sums(held, by, sum), i;
	uint64_t whole = scene->in_use + scene->slack;

	if ((!count && !scene->slack) || (by == HELD_BY_OWNER && count < 2))
		return; /* a single owner is no news */
	answer_title(text, title);
	for (i = 0; i < count; i++)
		print_sum(text, sum[i].word, by == HELD_BY_PHASE ? sum[i].word : "", sum[i].bytes, whole);
	if (scene->slack)
		print_sum(text, "idle in the allocator", by == HELD_BY_PHASE ? mt_category_name(MT_CATEGORY_SLACK) : "",
			  scene->slack, whole);
}

static void print_place(const struct text *text, const struct scene *scene, const struct held_part *part,
			int names_process)
{
	const struct scene_process *process = &scene->process[part->process];
	const char *phase = mt_phase_name((uint32_t)part->phase);
	struct sentence sentence = { .size = 0 };
	char size[TEXT_SIZE_MAX], who[TEXT_SIZE_MAX];

	answer_say_place(&sentence, part->function, part->place);
	sentence_say(&sentence, ": %s, allocated in %s", answer_category(mt_category_name((uint32_t)part->category)),
		     phase);
	if (names_process)
		sentence_say(&sentence, ", %s", answer_process(who, process->rank, process->pid));
	text_phase_print(text, phase, "%12s  ", text_bytes(size, part->bytes));
	text_wrap(text, 14, 14, sentence.text);
}

static void print_places(const struct text *text, const struct scene *scene, const struct held *held, int64_t limit)
{
	size_t holders = 0, i;

	for (i = 0; i < scene->processes; i++)
		holders += scene->process[i].on_device;
	if (held->parts)
		answer_title(text, "Places that held most of it");
	for (i = 0; i < held->parts && (int64_t)i < limit; i++)
		print_place(text, scene, &held->part[i], holders > 1);
}

/* ---- all failures ---- */

static void print_failure(const struct text *text, const struct scene *scene, const struct oom_failure *failure)
{
	char time[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX], who[TEXT_SIZE_MAX], place[64];

	text_print(text, "  %3lld%s %9s  step %-4lld", (long long)failure->id,
		   failure == scene->request.failure ? "*" : " ", text_time(time, failure->time),
		   (long long)failure->step);
	text_phase_print(text, failure->phase, " %-13s", failure->phase);
	text_print(text, " %-10s %10s  %s\n", answer_process(who, failure->rank, failure->pid),
		   text_bytes(size, failure->requested), text_fit(place, sizeof(place), failure->place, 12, 1));
}

/* Prints the newest failed requests, if the run has several. */
static void print_failures(const struct text *text, const struct scene *scene, int64_t limit)
{
	const struct oom_failures *all = &scene->failures;
	size_t count = 0, i;

	for (i = 0; i < all->count; i++)
		count += !all->failure[i].is_part;
	if (count < 2)
		return;
	answer_title(text, "All failed requests (* the one above; another one: --number N)");
	for (i = 0; i < all->count; i++) {
		if (all->failure[i].is_part)
			continue;
		if ((int64_t)count-- <= limit)
			print_failure(text, scene, &all->failure[i]);
	}
}

/* ---- all of it ---- */

static int print_host(const struct text *text, struct db *db)
{
	struct host_sum sum;
	int error = host_sum(&sum, db);

	if (!error)
		top_host_had_room(text, &sum);
	return error;
}

static int print_tables(const struct text *text, const struct scene *scene, int64_t limit)
{
	struct balance balance;
	struct held held = { NULL, 0 };
	uint32_t *order = why_holders(scene);
	int error = order ? why_balance(&balance, scene) : -MT_E_MEMORY;

	if (!error)
		error = held_load(&held, scene);
	if (!error) {
		print_device(text, scene, &balance, order);
		error = print_host(text, scene->db);
	}
	if (!error) {
		print_sums(text, scene, &held, HELD_BY_CATEGORY, "Who had the rest, by what it is");
		print_sums(text, scene, &held, HELD_BY_PHASE, "By the phase that allocated it");
		print_sums(text, scene, &held, HELD_BY_OWNER, "By who asked for it");
		print_places(text, scene, &held, limit);
		print_failures(text, scene, limit);
	}
	held_release(&held);
	free(order);
	return error;
}

int why_details(const struct text *text, const struct why *why, int64_t limit)
{
	const struct scene *scene = &why->scene;
	const struct oom_failure *it = scene->request.failure;
	int error = print_stack(text, scene->db, it->node);

	if (!error)
		error = print_running(text, scene->db, it->id);
	return error ? error : print_tables(text, scene, limit);
}
