#include "oom_moment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "query/callstack.h"
#include "report/answer.h"
#include "report/balance/balance.h"
#include "report/places.h"
#include "report/running/running.h"
#include "report/top_host.h"

#define FRAMES_SHOWN 8
#define WORD_COLUMNS 26

/* ---- the failed requests ---- */

#define FAILURE_COLUMNS(X, T)                                                                                    \
	X(T, number, NUMBER, "number", it->id, "number for --number")                                            \
	X(T, source, WORD, NULL, it->source, "tensor: PyTorch's allocator asked; driver: a call of the driver")  \
	X(T, time_ns, MOMENT, "time", it->time, "moment of the request")                                         \
	X(T, step, NUMBER, "step", it->step, "step of the process")                                              \
	X(T, phase, PHASE, "phase", it->phase, "phase of the process")                                           \
	X(T, pid, PID, NULL, it->pid, "the process")                                                             \
	X(T, rank, NUMBER, NULL, COLUMN_IF(it->rank >= 0, it->rank), "its rank")                                 \
	X(T, process, LABEL, "process", answer_process(value->store, it->rank, it->pid), "rank, or pid")         \
	X(T, device, NUMBER, "device", it->number, "number of the device")                                       \
	X(T, requested_bytes, BYTES, "requested", it->requested, "size of the request")                          \
	X(T, free_bytes, BYTES, "free", COLUMN_IF(it->free >= 0, it->free), "free on the device at the request") \
	X(T, free_by, WORD, NULL, it->free_by, "source of the free bytes: driver, nvml or bound (at most)")      \
	X(T, others_bytes, BYTES, NULL, COLUMN_IF(it->others >= 0, it->others), "in use by other processes")     \
	X(T, refusals, COUNT, NULL, it->refusals,                                                                \
	  "number of the driver's refusals within a second before the failure")                                  \
	X(T, function, WORD, NULL, it->function, "function that asked")                                          \
	X(T, place, WORD, "place", it->place, "its file and line")
COLUMN_TABLE(failure, struct oom_failure, FAILURE_COLUMNS)

/* A request that is part of another one is counted in that one's refusals. */
void oom_failures_json(struct doc *doc, const struct scene *scene)
{
	const struct oom_failures *all = &scene->failures;
	size_t i;

	doc_array(doc, "failures");
	for (i = 0; i < all->count; i++) {
		if (all->failure[i].is_part)
			continue;
		doc_object(doc, NULL);
		column_json(doc, &failure_columns, &all->failure[i]);
		doc_end(doc);
	}
	doc_end(doc);
}

static int print_failures(const struct text *text, const struct scene *scene, int64_t limit)
{
	const struct oom_failures *all = &scene->failures;
	const struct oom_failure **own = calloc(all->count + 1, sizeof(*own));
	size_t count = 0, shown, i;

	if (!own)
		return -MT_E_MEMORY;
	for (i = 0; i < all->count; i++)
		if (!all->failure[i].is_part)
			own[count++] = &all->failure[i];
	shown = (int64_t)count < limit ? count : (size_t)limit;
	if (count > 1) {
		answer_title(text, "All failed requests (another one: --number N)");
		column_text(text, &failure_columns, own + count - shown, shown, 0);
	}
	free(own);
	return 0;
}

/* ---- the stack ---- */

static void print_stack(const struct text *text, const struct scene *scene)
{
	char place[CALLSTACK_PLACE_MAX], clean[64], function[64];
	const struct callstack_frame *frame;
	uint32_t node = scene->request.node;
	int shown;

	answer_title(text, "Who asked");
	if (node == SCENE_NONE)
		text_print(text, "  no stack was recorded\n");
	for (shown = 0; node != SCENE_NONE && shown < FRAMES_SHOWN; shown++, node = scene->node[node].parent) {
		frame = &scene->frame[scene->node[node].frame].frame;
		callstack_place(place, sizeof(place), frame);
		text_print(text, "  %-32s %s\n", text_fit(clean, sizeof(clean), place, 32, 1),
			   text_fit(function, sizeof(function), frame->function, 44, 0));
	}
	if (node != SCENE_NONE)
		text_print(text, "  and %u more\n", scene->node[node].depth + 1);
}

/* ---- the device ---- */

#define HOLDER_COLUMNS(X, T)                                                                                  \
	X(T, pid, PID, NULL, it->pid, "the process")                                                          \
	X(T, rank, NUMBER, NULL, COLUMN_IF(it->rank >= 0, it->rank), "its rank")                              \
	X(T, held_bytes, BYTES, NULL, it->held, "held on the device by recorded calls")                       \
	X(T, slack_bytes, BYTES, NULL, it->slack, "part of these that no tensor uses")                        \
	X(T, idle_segment_bytes, BYTES, NULL, it->idle, "part of the slack that the allocator can give back") \
	X(T, asleep_bytes, BYTES, NULL, it->asleep, "allocated without resident pages")
COLUMN_TABLE(holder, struct scene_process, HOLDER_COLUMNS)

/* The facts that text and JSON share. */
struct oom_moment {
	struct running running; /* the running module and its sibling layers */
	struct balance balance;
	const struct scene_process **holder; /* processes with bytes on the device, largest first */
	size_t holders;
	uint64_t asleep; /* sum of sleeping bytes over all processes */
};

static int by_held(const void *one, const void *two)
{
	const struct scene_process *a = *(const struct scene_process *const *)one;
	const struct scene_process *b = *(const struct scene_process *const *)two;

	return a->held != b->held ? (a->held < b->held ? 1 : -1) : (a->id > b->id) - (a->id < b->id);
}

static int load_moment(struct oom_moment *moment, const struct scene *scene)
{
	const struct oom_failure *it = scene->request.failure;
	const struct balance_question question = { .oom = it->id,
						   .device = it->device,
						   .time = it->time,
						   .requested = it->requested,
						   .total = it->total,
						   .free = it->free,
						   .free_by = it->free_by,
						   .recorded = scene->held };
	size_t i;
	int error;

	*moment = (struct oom_moment){ .holder = calloc(scene->processes + 1, sizeof(*moment->holder)) };
	if (!moment->holder)
		return -MT_E_MEMORY;
	for (i = 0; i < scene->processes; i++) {
		moment->asleep += scene->process[i].asleep;
		if (scene->process[i].held || scene->process[i].asleep)
			moment->holder[moment->holders++] = &scene->process[i];
	}
	qsort(moment->holder, moment->holders, sizeof(*moment->holder), by_held);
	error = running_load(&moment->running, scene->db, it->id);
	return error ? error : balance_load(&moment->balance, &question, scene->db);
}

static void print_row(void *context, const char *word, int64_t bytes, const char *note)
{
	const struct text *text = context;
	char size[TEXT_SIZE_MAX], figure[TEXT_SIZE_MAX + 1];

	snprintf(figure, sizeof(figure), "%s%s", bytes < 0 ? "-" : "", text_bytes(size, (uint64_t)llabs(bytes)));
	text_print(text, "  %-*s %10s", WORD_COLUMNS, word, figure);
	text_style(text, TEXT_DIM);
	text_print(text, "%s%s\n", *note ? "  " : "", note);
	text_style(text, TEXT_PLAIN);
}

static void print_holder(const struct text *text, const struct scene_process *holder, int has_asked)
{
	char word[64], note[64], name[TEXT_SIZE_MAX];

	snprintf(word, sizeof(word), "%s%s", answer_process(name, holder->rank, holder->pid),
		 has_asked ? ", which asked" : "");
	snprintf(note, sizeof(note), "%s of it idle", text_bytes(name, holder->slack));
	if (holder->held)
		print_row((void *)text, word, (int64_t)holder->held, holder->slack ? note : "");
}

/* The rows from "free" to "the device has" sum up to the size of the device. */
static void print_device(struct text *text, const struct scene *scene, const struct oom_moment *moment)
{
	const struct scene_request *request = &scene->request;
	const struct scene_process *asked = &scene->process[request->process];
	char title[64], name[TEXT_SIZE_MAX];
	size_t i;

	snprintf(title, sizeof(title), "Memory of %s at that moment",
		 answer_device(name, request->number, request->kind));
	answer_title(text, title);
	print_row(text, "asked for", (int64_t)request->requested, "");
	if (moment->balance.free >= 0)
		print_row(text, "free", moment->balance.free,
			  strcmp(request->failure->free_by, "bound") ? oom_free_words(request->failure)
								     : "by nvidia-smi's count");
	for (i = 0; i < moment->holders; i++)
		print_holder(text, moment->holder[i], moment->holder[i] == asked);
	balance_rows(&moment->balance, print_row, text);
	if (request->total)
		print_row(text, "the device has", (int64_t)request->total, "");
	if (asked->slack && request->hole)
		print_row(text, "largest hole", (int64_t)request->hole, "in a segment of the process that asked");
	if (asked->idle)
		print_row(text, "segments with nothing in", (int64_t)asked->idle, "of the process that asked");
	if (moment->asleep)
		print_row(text, "allocated, but asleep", (int64_t)moment->asleep, "pages unmapped: not counted here");
}

static void json_device(struct doc *doc, const struct scene *scene, const struct oom_moment *moment)
{
	const struct scene_request *request = &scene->request;
	int64_t unrecorded = balance_unrecorded(&moment->balance);

	doc_int_or_null(doc, "total_bytes", (int64_t)request->total, request->total != 0);
	doc_int(doc, "slack_bytes", (int64_t)scene->process[request->process].slack);
	doc_int(doc, "largest_hole_bytes", (int64_t)request->hole);
	doc_int(doc, "idle_segment_bytes", (int64_t)scene->process[request->process].idle);
	doc_int(doc, "in_use_bytes", (int64_t)scene->in_use);
	doc_int(doc, "asleep_bytes", (int64_t)moment->asleep);
	doc_int(doc, "unrecorded_bytes", unrecorded >= 0 ? unrecorded : (int64_t)request->outside);
	balance_json(doc, &moment->balance);
	doc_bool(doc, "survived", request->failure->had);
	column_json_rows(doc, "processes", &holder_columns, moment->holder, moment->holders, 0);
}

/* ---- the whole moment ---- */

int oom_moment_text(const struct text *text, const struct scene *scene, int64_t limit)
{
	struct sentence running = { .size = 0 };
	struct oom_moment moment;
	struct host_sum host;
	int error = load_moment(&moment, scene);

	if (!error)
		error = host_sum(&host, scene->db);
	if (!error) {
		print_stack(text, scene);
		running_say(&running, &moment.running);
		if (running.size)
			text_wrap(text, 2, 0, running.text);
		print_device((struct text *)text, scene, &moment);
		top_host_had_room(text, &host);
		error = print_failures(text, scene, limit);
	}
	free(moment.holder);
	return error;
}

int oom_moment_json(struct doc *doc, const struct scene *scene)
{
	struct symbols *symbols = symbols_new();
	struct oom_moment moment;
	int error = load_moment(&moment, scene);

	doc_object(doc, "failure");
	column_json(doc, &failure_columns, scene->request.failure);
	if (!error)
		error = symbols ? stack_json(doc, scene->db, symbols, scene->request.failure->node) : -MT_E_MEMORY;
	if (!error) {
		running_json(doc, &moment.running);
		json_device(doc, scene, &moment);
	}
	doc_end(doc);
	symbols_free(symbols);
	free(moment.holder);
	return error;
}
