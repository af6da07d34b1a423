/*
 * fold.c - turns a ring into a trace; see fold.h.
 *
 *     slots ──ring_read──> events by number ──intake──> ids ──emitter──> trace
 *     log   ──────────────────────────────────┘
 *
 * This file decides how long to wait for a missing number or definition, which records count as lost, and when the
 * producers get ring space back.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/copy.h"
#include "elf_names.h"
#include "emitter.h"
#include "fold_before.h"
#include "frame_names.h"
#include "intake.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"
#include "memtrace/ledger.h"
#include "ring_read.h"
#include "trace/defs.h"

#define PATIENCE_MS 2000u
#define HURRY 50u             /* divisor of the patience when a slot is nearly full */
#define RUN_EVENTS (1u << 20) /* events after which mt_fold_run returns to the caller */
#define GPU_TEXT 96u
#define KEEP_LEAST (64u << 10) /* least size of `keep` from a ring; a smaller trace would be useless */
#define CUDA_ERROR_OUT_OF_MEMORY 2u
#define NAMES_NS (300 * MT_NSEC_PER_SEC / 1000) /* at the end of a recording, for the names of native frames */

struct fold_gpu {
	int known;
	char name[GPU_TEXT], uuid[GPU_TEXT];
	uint64_t total;
};

struct mt_fold {
	struct ring_view *view;
	struct mt_intake *intake; /* NULL until there is a trace, like emitter */
	struct mt_emitter *emitter;
	const struct mt_rules *rules;
	struct mt_fold_options options;
	char *ring_path, *step_mark;
	struct fold_gpu gpu[MT_LEDGER_DEVICES];
	struct fold_before before;
	uint64_t waiting_for, waiting_since; /* missing number, and since when (ns) */
	int look_again;                      /* 1: the slots were not read again since a number was missing */
	uint64_t log_abandoned;              /* 1 + position of the log record that was given up; 0: none */
	uint64_t rejected;                   /* value of view->rejected that was handled */
	uint64_t owed;                       /* rejected records whose numbers were not yet found missing */
	int error;                           /* the writer's, until a flush succeeds */
	int was_stuck;      /* 1: a write failed since losses were last reported, which explains a full ring */
	uint64_t disk_told; /* part of the ring's MT_LOSS_DISK that the trace has */
	int finished;       /* 1: the target has ended and the ring is empty */
	uint64_t notable;   /* number of events that mt_fold_notable returns */
	void (*name_devices)(void *context); /* call before the first CUDA device; NULL: not set, or called */
	void *namer;
};

/* ---- opening and closing -------------------------------------------------------------------------------------- */

static void fold_free(struct mt_fold *fold)
{
	mt_intake_free(fold->intake);
	ring_view_close(fold->view);
	fold_before_release(&fold->before);
	free(fold->ring_path);
	free(fold->step_mark);
	free(fold);
}

static char *absolute_path(const char *path)
{
	char *absolute = realpath(path, NULL);

	return absolute ? absolute : strdup(path);
}

/* The options of the recorded program. */
static struct mt_fold_options asked_for(const struct ring_header *header)
{
	return (struct mt_fold_options){
		.steps = header->steps,
		.skip = header->skip,
		.step_mark = header->step_mark[0] ? header->step_mark : NULL,
		.keep = header->keep && header->keep < KEEP_LEAST ? KEEP_LEAST : header->keep,
	};
}

static int fold_open_ring(struct mt_fold **out, const char *ring_path, const struct mt_rules *rules,
			  const struct mt_fold_options *options, int shared)
{
	struct mt_fold *fold = calloc(1, sizeof(*fold));
	int err;

	*out = NULL;
	if (!fold)
		return -MT_E_MEMORY;
	fold->rules = rules;
	err = ring_view_open(&fold->view, ring_path, shared);
	if (!err) {
		fold->options = options ? *options : asked_for(fold->view->header);
		if (!fold->options.patience_ms)
			fold->options.patience_ms = PATIENCE_MS;
		fold->ring_path = absolute_path(ring_path);
		fold->step_mark = fold->options.step_mark ? strdup(fold->options.step_mark) : NULL;
		if (!fold->ring_path || (fold->options.step_mark && !fold->step_mark))
			err = -MT_E_MEMORY;
	}
	if (err) {
		fold_free(fold);
		return err;
	}
	fold->options.step_mark = fold->step_mark;
	*out = fold;
	return 0;
}

int mt_fold_open(struct mt_fold **fold, const char *ring_path, const struct mt_rules *rules,
		 const struct mt_fold_options *options)
{
	return fold_open_ring(fold, ring_path, rules, options, 1);
}

struct ring_header *mt_fold_header(struct mt_fold *fold)
{
	return fold->view->header;
}

static uint64_t expected_number(const struct mt_fold *fold)
{
	return mt_emitter_number(fold->emitter) + 1;
}

/* Call when the trace is open. Ring numbers before first_seq belong to an earlier recording in the same ring. */
static int fold_begin(struct mt_fold *fold)
{
	uint32_t i;

	fold->intake = mt_intake_new(fold->view, mt_emitter_defs(fold->emitter));
	if (!fold->intake) {
		mt_emitter_close(fold->emitter, MT_END_SIGNAL, NULL);
		fold->emitter = NULL;
		return -MT_E_MEMORY;
	}
	if (fold->view->header->first_seq > expected_number(fold))
		mt_emitter_gap(fold->emitter, fold->view->header->first_seq - 1, 0, MT_LOSS_LATE);
	fold->disk_told = mt_emitter_lost_count(fold->emitter, MT_LOSS_DISK); /* count of the trace that is continued */
	for (i = 0; i < MT_LEDGER_DEVICES; i++)
		if (fold->gpu[i].known)
			mt_intake_describe(fold->intake, i, fold->gpu[i].name, fold->gpu[i].uuid, fold->gpu[i].total);
	return 0;
}

int mt_fold_create(struct mt_fold *fold, const char *trace_path)
{
	const struct ring_header *header = fold->view->header;
	struct mt_process process = {
		.pid = header->pid,
		.ppid = header->ppid,
		.rank = header->rank,
		.depth = header->depth,
		.python_version = header->python_version,
		.tool_version = header->tool_version,
		.start_monotonic = header->start_monotonic,
		.start_realtime = header->start_realtime,
		.clock_error = header->clock_error,
		.host = header->host,
		.boot_id = header->boot_id,
		.command = header->command,
		.options = header->options,
		.ring_path = fold->ring_path,
		.run = header->run,
	};
	int err;

	if (fold->emitter)
		return -MT_E_ARGUMENT;
	err = mt_emitter_create(&fold->emitter, trace_path, &process, fold->rules, &fold->options);
	return err ? err : fold_begin(fold);
}

int mt_fold_resume(struct mt_fold *fold, const char *trace_path)
{
	int err;

	if (fold->emitter)
		return -MT_E_ARGUMENT;
	err = mt_emitter_resume(&fold->emitter, trace_path, fold->rules, &fold->options);
	return err ? err : fold_begin(fold);
}

static void copy_text(char *to, const char *from)
{
	strncpy(to, from ? from : "", GPU_TEXT - 1);
}

void mt_fold_device(struct mt_fold *fold, uint32_t index, const char *name, const char *uuid, uint64_t total)
{
	struct fold_gpu *gpu;

	if (index >= MT_LEDGER_DEVICES)
		return;
	gpu = &fold->gpu[index];
	gpu->known = 1;
	gpu->total = total;
	copy_text(gpu->name, name);
	copy_text(gpu->uuid, uuid);
	if (fold->intake)
		mt_intake_describe(fold->intake, index, gpu->name, gpu->uuid, total);
}

void mt_fold_names(struct mt_fold *fold, void (*name_devices)(void *context), void *context)
{
	fold->name_devices = name_devices;
	fold->namer = context;
}

/* Defines a device. Its name must be known by then, because definitions never change. */
static uint32_t device_of(struct mt_fold *fold, int type, int32_t index)
{
	void (*name_devices)(void *context) = fold->name_devices;

	if (type == MT_DEVICE_CUDA && name_devices) {
		fold->name_devices = NULL;
		name_devices(fold->namer);
	}
	return mt_intake_device(fold->intake, type, index);
}

/* ---- patience ------------------------------------------------------------------------------------------------- */

/*
 * 1: the next event cannot be written, and further waiting is useless. The first answer for a number is always 0: the
 * missing record may have come while the other slots were read.
 */
static int patience_over(struct mt_fold *fold, int final)
{
	uint64_t patience = fold->options.patience_ms * (MT_NSEC_PER_SEC / 1000), expected = expected_number(fold), now;

	now = mt_wait_clock_ns();
	if (fold->waiting_for != expected) {
		fold->waiting_for = expected;
		fold->waiting_since = now;
		fold->look_again = 1;
		return 0;
	}
	if (final)
		return 1;
	if (fold->view->fullest >= fold->view->slot_bytes / 4 * 3)
		patience /= HURRY;
	return now - fold->waiting_since >= patience;
}

/* ---- losses and sources --------------------------------------------------------------------------------------- */

static void keep_error(struct mt_fold *fold, int err)
{
	if (err)
		fold->error = err;
	fold->was_stuck |= err == -MT_E_SPACE || err == -MT_E_SYSTEM;
}

static void lost_more(struct mt_fold *fold, enum mt_loss reason, uint64_t more)
{
	keep_error(fold, mt_emitter_lost(fold->emitter, reason, mt_emitter_lost_count(fold->emitter, reason) + more));
}

/* The agent's counts; the other reasons are the fold's own. */
static int counted_by_agent(uint32_t reason)
{
	return reason == MT_LOSS_RING_FULL || reason == MT_LOSS_NO_SLOT || reason == MT_LOSS_REENTRY ||
	       reason == MT_LOSS_SEALED;
}

static uint64_t header_lost(const struct mt_fold *fold, enum mt_loss reason)
{
	return atomic_load_explicit(&fold->view->header->lost[reason], memory_order_relaxed);
}

/* Losses that the agent counted, without those for a full ring that an unwritable trace caused. */
static uint64_t agent_lost(const struct mt_fold *fold, enum mt_loss reason)
{
	uint64_t lost = header_lost(fold, reason), by_disk = header_lost(fold, MT_LOSS_DISK);

	if (reason != MT_LOSS_RING_FULL)
		return lost;
	return lost > by_disk ? lost - by_disk : 0;
}

/*
 * Counts losses of a full ring as losses of the disk if the trace could not be written. The count goes into the ring,
 * in a counter that the agent does not use, so the next reader of the ring sees the true reason.
 */
static void blame_disk(struct mt_fold *fold)
{
	uint64_t full = agent_lost(fold, MT_LOSS_RING_FULL);
	uint64_t known = mt_emitter_lost_count(fold->emitter, MT_LOSS_RING_FULL);

	if (fold->was_stuck && full > known)
		atomic_fetch_add(&fold->view->header->lost[MT_LOSS_DISK], full - known);
}

static void report_disk(struct mt_fold *fold)
{
	uint64_t lost, told = fold->disk_told;

	blame_disk(fold);
	lost = header_lost(fold, MT_LOSS_DISK);
	fold->was_stuck = 0;
	fold->disk_told = lost > told ? lost : told;
	lost_more(fold, MT_LOSS_DISK, fold->disk_told - told);
}

static void report_losses(struct mt_fold *fold)
{
	uint64_t rejected = fold->view->rejected - fold->rejected;
	uint32_t reason;

	fold->rejected += rejected;
	fold->owed += rejected;
	lost_more(fold, MT_LOSS_DAMAGED, rejected);
	report_disk(fold);
	for (reason = 0; reason < MT_LOSS_COUNT; reason++)
		if (counted_by_agent(reason))
			keep_error(fold, mt_emitter_lost(fold->emitter, reason, agent_lost(fold, reason)));
}

static void report_sources(struct mt_fold *fold)
{
	struct ring_header *header = fold->view->header;
	uint32_t source;

	for (source = 0; source < MT_SOURCE_COUNT; source++) {
		uint32_t state = atomic_load_explicit(&header->source_state[source], memory_order_acquire);
		char why[sizeof(header->source_why[0])];

		if (!state || state > MT_SOURCE_STATES)
			continue;
		memcpy(why, header->source_why[source], sizeof(why));
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&header->source_state[source], memory_order_relaxed) != state)
			continue; /* the agent is changing this state */
		why[sizeof(why) - 1] = 0;
		keep_error(fold, mt_emitter_source(fold->emitter, source, state - 1, why));
	}
}

/*
 * The numbers below `number` will not come. Each is reported once: those of rejected records have been already.
 */
static void skip_numbers(struct mt_fold *fold, uint64_t number, int final)
{
	uint64_t lost = number - expected_number(fold);
	uint64_t reported = lost < fold->owed ? lost : fold->owed;
	enum mt_loss reason = fold->view->rejected ? MT_LOSS_DAMAGED : final ? MT_LOSS_TORN : MT_LOSS_LATE;

	fold->owed -= reported;
	keep_error(fold, mt_emitter_gap(fold->emitter, number - 1, lost - reported, reason));
}

/*
 * Ends a ring whose process has ended: numbers that are still missing are lost. A ring cannot miss more numbers than
 * fit into it; a larger count is damage.
 */
static void skip_rest(struct mt_fold *fold)
{
	const struct ring_view *view = fold->view;
	uint64_t most = (uint64_t)view->slots * (view->slot_bytes / sizeof(struct ring_event) + 1);
	uint64_t expected = expected_number(fold);

	if (fold->finished || view->seq_limit <= expected)
		return;
	fold->finished = 1;
	if (view->seq_limit - expected <= most)
		skip_numbers(fold, view->seq_limit, 1);
	else
		lost_more(fold, MT_LOSS_DAMAGED, 1);
}

/* ---- events --------------------------------------------------------------------------------------------------- */

/*
 * Finds thread and stack. 0: the log does not have them yet. After waiting in vain, the event is written without them.
 */
static int fold_names(struct mt_fold *fold, const struct ring_event *from, struct mt_event *event, int final)
{
	uint32_t stack, thread;
	enum mt_intake_status of_stack = mt_intake_stack(fold->intake, from->stack, &stack);
	enum mt_intake_status of_thread = mt_intake_thread(fold->intake, from->thread, &thread);

	if (of_stack == MT_INTAKE_BLOCKED || of_thread == MT_INTAKE_BLOCKED) {
		uint64_t here = fold->view->log_at + 1;

		if (fold->log_abandoned != here && !patience_over(fold, final))
			return 0;
		fold->log_abandoned = here;
		stack = mt_intake_stack_partly(fold->intake, from->stack);
	}
	event->stack = stack;
	event->thread = thread;
	return 1;
}

static void fold_text(struct mt_fold *fold, const struct ring_event *from, struct mt_event *event)
{
	struct mt_defs *defs = mt_emitter_defs(fold->emitter);
	char text[RING_TEXT_MAX];

	ring_view_text(fold->view, text);
	if (from->name_bytes)
		event->name = mt_defs_add_name(defs, text, from->name_bytes);
	if (mt_kind_has_second_name(event->kind))
		event->value = from->domain_bytes ? mt_defs_add_name(defs, text + from->name_bytes, from->domain_bytes)
						  : 0;
}

/* Converts an event from the ring's form. 0: the log lacks a definition of the event so far. */
static int fold_convert(struct mt_fold *fold, const struct ring_event *from, struct mt_event *event, int final)
{
	uint32_t fields = mt_kind_fields(from->kind);

	/* All members: the compiler would clear the others by a slow instruction first. */
	*event = (struct mt_event){
		.seq = from->seq,
		.time = from->time,
		.thread = 0,
		.stack = 0,
		.device = 0,
		.addr = from->addr,
		.size = from->size,
		.total = from->total,
		.reserved = from->reserved,
		.handle = from->handle,
		.offset = from->offset,
		.entry = from->entry,
		.result = from->result,
		.name = 0,
		.value = from->value,
		.flags = from->flags,
		.phase = 0,
		.step = 0,
		.kind = from->kind,
	};
	if (!fold_names(fold, from, event, final))
		return 0;
	event->device = device_of(fold, from->device_type, from->device_index);
	if (fields & (MT_F(name) | MT_F(value)))
		fold_text(fold, from, event);
#define DROP_FOREIGN(name, number, encoding, meaning) \
	if (!(fields & MT_F(name)))                   \
		event->name = 0;
	MT_FIELD_LIST(DROP_FOREIGN)
#undef DROP_FOREIGN
	return 1;
}

static int is_notable(const struct mt_event *event)
{
	switch (event->kind) {
	case MT_TENSOR_OOM:
	case MT_DRIVER_NOTE:
	case MT_CONTEXT_GONE:
		return 1;
	case MT_DRIVER_FAIL:
		return event->result == CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return 0;
	}
}

static int fold_one(struct mt_fold *fold, const struct ring_event *from, uint64_t number, struct mt_event *event)
{
	uint64_t first = fold->view->header->first_seq;
	int err;

	if (from->record == RING_BEFORE)
		return fold_before_record(&fold->before, fold->emitter, number, first ? first : 1, from->value, event);
	err = fold_before_event(&fold->before, event);
	if (!err)
		err = mt_emitter_event(fold->emitter, number, event);
	fold->notable += is_notable(event);
	return err;
}

/* Writes the events that are next by number. Returns their count. */
static uint64_t fold_merge(struct mt_fold *fold, int final)
{
	struct ring_view *view = fold->view;
	const struct ring_event *from;
	struct mt_event event;
	uint64_t taken = 0;

	while (taken < RUN_EVENTS && !fold->error && !mt_emitter_done(fold->emitter) && (from = ring_view_peek(view))) {
		uint64_t expected = expected_number(fold), number = from->seq;

		if (number > expected && !patience_over(fold, final))
			break;
		if (number > expected)
			skip_numbers(fold, number, final);
		if (number >= expected) { /* else the event is in the trace, or was late and is counted */
			if (!fold_convert(fold, from, &event, final))
				break;
			keep_error(fold, fold_one(fold, from, number, &event));
		}
		ring_view_take(view);
		taken++;
		if (view->unreturned > view->slot_bytes / 2)
			mt_fold_flush(fold);
	}
	return taken;
}

/* ---- samples -------------------------------------------------------------------------------------------------- */

uint64_t mt_fold_notable(const struct mt_fold *fold)
{
	return fold->notable;
}

int64_t mt_fold_held(const struct mt_fold *fold, uint32_t index)
{
	uint32_t id = fold->intake ? mt_intake_known_device(fold->intake, index) : 0;

	return id ? (int64_t)mt_emitter_held(fold->emitter, id) : -1;
}

int mt_fold_sample(struct mt_fold *fold, const struct mt_event *sample)
{
	struct mt_event event = *sample;
	int err;

	if (!fold->emitter)
		return -MT_E_ARGUMENT;
	if (event.kind == MT_GPU_SAMPLE) {
		event.device = device_of(fold, MT_DEVICE_CUDA, (int32_t)sample->device);
		if (!event.device)
			return 1;
	}
	err = mt_emitter_sample(fold->emitter, &event);
	if (err < 0)
		keep_error(fold, err);
	return err;
}

int mt_fold_mark(struct mt_fold *fold, const char *name, uint64_t time)
{
	int err = fold->emitter ? mt_emitter_mark(fold->emitter, name, time) : 1;

	if (err < 0)
		keep_error(fold, err);
	return err;
}

uint64_t mt_fold_number(const struct mt_fold *fold)
{
	return fold->emitter ? mt_emitter_number(fold->emitter) : 0;
}

uint64_t mt_fold_events(const struct mt_fold *fold)
{
	return fold->emitter ? mt_emitter_events(fold->emitter) : 0;
}

/* ---- running -------------------------------------------------------------------------------------------------- */

int mt_fold_flush(struct mt_fold *fold)
{
	if (!fold->emitter)
		return -MT_E_ARGUMENT;
	fold->error = 0;
	keep_error(fold, mt_emitter_flush(fold->emitter));
	if (!fold->error)
		ring_view_release(fold->view);
	return fold->error;
}

/* Gives ring space back when a slot gets full, and when that costs nothing. */
static void give_back(struct mt_fold *fold)
{
	struct ring_view *view = fold->view;

	if (fold->error || !view->unreturned)
		return;
	if (view->fullest > view->slot_bytes / 2 || !mt_emitter_pending(fold->emitter))
		mt_fold_flush(fold);
}

/* The recording is over: the ring is emptied, because a thread of the program may wait for room. */
static int fold_discard(struct mt_fold *fold)
{
	int err = 0;

	if (ring_view_drain(fold->view))
		err = mt_fold_flush(fold);
	return err ? err : 1;
}

uint64_t mt_fold_steps(const struct mt_fold *fold)
{
	return fold->emitter ? mt_emitter_steps(fold->emitter) : 0;
}

void mt_fold_end_with_step(struct mt_fold *fold, enum mt_end why)
{
	mt_emitter_end_with_step(fold->emitter, why);
}

int mt_fold_run(struct mt_fold *fold, int final, uint64_t *folded)
{
	uint64_t taken;

	*folded = 0;
	if (!fold->emitter)
		return -MT_E_ARGUMENT;
	if (fold->error && mt_fold_flush(fold)) {
		blame_disk(fold);
		return fold->error;
	}
	if (mt_emitter_done(fold->emitter))
		return fold_discard(fold);
	fold_before_look(&fold->before, fold->emitter, 0);
	report_sources(fold);
	do {
		fold->look_again = 0;
		ring_view_refresh(fold->view);
		report_losses(fold);
		taken = fold_merge(fold, final);
		*folded += taken;
	} while ((taken || fold->look_again) && *folded < RUN_EVENTS && !fold->error &&
		 !mt_emitter_done(fold->emitter));
	if (final && !taken && !fold->error) {
		fold_before_look(&fold->before, fold->emitter, 1);
		skip_rest(fold);
	}
	report_losses(fold);
	give_back(fold);
	if (fold->error)
		return fold->error;
	return mt_emitter_done(fold->emitter) ? fold_discard(fold) : 0;
}

/* Writes END, which puts all events on disk, and names afterwards. */
static void end_with_names(struct mt_fold *fold, enum mt_end why)
{
	if (!mt_emitter_end(fold->emitter, why))
		frame_names_add(mt_emitter_defs(fold->emitter), mt_wait_clock_ns() + NAMES_NS);
}

void mt_fold_alive(struct mt_fold *fold, uint64_t time)
{
	if (fold->emitter)
		mt_emitter_alive(fold->emitter, time);
}

void mt_fold_facts(struct mt_fold *fold, const struct mt_facts_maker *maker)
{
	if (fold->emitter)
		mt_emitter_facts(fold->emitter, maker);
}

int mt_fold_close(struct mt_fold *fold, enum mt_end why, struct mt_fold_summary *summary)
{
	int err = 0;

	if (summary)
		*summary = (struct mt_fold_summary){ 0 };
	if (fold->emitter) {
		report_sources(fold);
		report_losses(fold);
		end_with_names(fold, why);
		err = mt_emitter_close(fold->emitter, why, summary);
		if (!err)
			ring_view_release(fold->view);
	}
	fold_free(fold);
	return err;
}

/* ---- recovering ---- */

static int same_file(int a, int b)
{
	struct stat first, second;

	return !fstat(a, &first) && !fstat(b, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

static int copy_file(const char *from_path, const char *to_path)
{
	int from = open(from_path, O_RDONLY | O_CLOEXEC), to, err = -MT_E_SYSTEM;
	struct stat st;

	if (from < 0)
		return err;
	to = open(to_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (to >= 0) {
		if (same_file(from, to))
			err = -MT_E_ARGUMENT;
		else if (!ftruncate(to, 0) && !fstat(from, &st))
			err = mt_copy_bytes(from, 0, to, (uint64_t)st.st_size);
		if (close(to) && !err)
			err = -MT_E_SYSTEM;
	}
	close(from);
	return err;
}

/* A trace without its process record holds no event: the ring has all there is. */
static int resume_or_create(struct mt_fold *fold, const char *path)
{
	int err = mt_fold_resume(fold, path);

	return err == -MT_E_MAGIC || err == -MT_E_TRUNCATED ? mt_fold_create(fold, path) : err;
}

static int fold_all(struct mt_fold *fold)
{
	uint64_t folded;
	int status;

	do
		status = mt_fold_run(fold, 1, &folded);
	while (!status && folded);
	return status < 0 ? status : 0;
}

int mt_fold_recover(const char *trace_path, const char *ring_path, const struct mt_rules *rules, const char *out_path,
		    struct mt_fold_summary *summary)
{
	struct mt_fold *fold;
	int err = fold_open_ring(&fold, ring_path, rules, NULL, 0), closed;

	if (err)
		return err;
	err = trace_path ? copy_file(trace_path, out_path) : 0;
	if (!err)
		err = trace_path ? resume_or_create(fold, out_path) : mt_fold_create(fold, out_path);
	if (!err)
		err = fold_all(fold);
	closed = mt_fold_close(fold, MT_END_RECOVERED, summary);
	return err ? err : closed;
}
