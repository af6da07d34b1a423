/*
 * bench_repeat.c - makes a long trace of a short one, for top.sh.
 *
 *     bench_repeat TRACE MILLION_EVENTS FILE
 *
 * Goes through the events of TRACE repeatedly until `count` were written. In between, what is alive at its end is
 * freed, and frees of what it did not see being allocated are left out: the second time begins as the first one did.
 * Times and steps go on. Prints how many events there are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/ledger.h"
#include "memtrace/reader.h"
#include "memtrace/writer.h"
#include "trace/defs.h"

#define BETWEEN 1000u /* ns from one time to the next */

struct repeat {
	struct mt_reader *reader;
	struct mt_writer *writer;
	struct mt_ledger *ledger;
	uint64_t wanted, events, seq;
	uint64_t first_time, last_time; /* limits of the trace */
	uint64_t later;                 /* added to times, */
	uint64_t steps, more_steps;     /* and steps */
	uint64_t total[MT_LEDGER_DEVICES];
	struct mt_live *alive;
	size_t alive_count, alive_room;
};

static void die(const char *what, int error)
{
	fprintf(stderr, "bench_repeat: %s: %s\n", what, mt_strerror(error));
	exit(4);
}

static void emit(struct repeat *repeat, struct mt_event *event)
{
	int error;

	event->seq = repeat->seq += 64;
	error = mt_writer_event(repeat->writer, event, 1, 1);
	if (error)
		die("writing", error);
	repeat->events++;
}

/* The allocator's total, when a block is freed in between. */
static uint64_t total_without(struct repeat *repeat, const struct mt_live *live)
{
	uint64_t *total = &repeat->total[live->device];

	if (live->flags & MT_FLAG_NO_TOTAL)
		return 0;
	*total -= *total < live->size ? *total : live->size;
	return *total;
}

static int note_alive(void *context, const struct mt_live *live)
{
	struct repeat *repeat = context;

	if (repeat->alive_count < repeat->alive_room)
		repeat->alive[repeat->alive_count++] = *live;
	return 0;
}

/* The event that frees it; tensors first, then mappings, then memory. */
static uint32_t kind_of_end(const struct mt_live *live)
{
	switch (live->kind) {
	case MT_TENSOR_ALLOC:
		return MT_TENSOR_FREE;
	case MT_VMM_MAP:
		return MT_VMM_UNMAP;
	case MT_VMM_CREATE:
		return MT_VMM_RELEASE;
	default:
		return MT_DRIVER_FREE;
	}
}

static int by_end(const void *a, const void *b)
{
	const struct mt_live *one = a, *two = b;
	uint32_t first = kind_of_end(one), second = kind_of_end(two);

	if (first != second)
		return first == MT_TENSOR_FREE || (second != MT_TENSOR_FREE && first == MT_VMM_UNMAP) ? -1 : 1;
	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

static void free_one(struct repeat *repeat, const struct mt_live *live)
{
	struct mt_event event = { .kind = kind_of_end(live),
				  .thread = live->thread,
				  .stack = live->stack,
				  .time = repeat->last_time + repeat->later,
				  .addr = live->addr,
				  .flags = live->flags };

	if (event.kind == MT_TENSOR_FREE || event.kind == MT_VMM_UNMAP)
		event.size = live->size;
	if (event.kind == MT_TENSOR_FREE) {
		event.device = live->device;
		event.total = total_without(repeat, live);
	}
	if (event.kind == MT_VMM_RELEASE)
		event.handle = live->handle;
	if (event.kind != MT_VMM_RELEASE || live->offset) /* one that its mapping held is gone with it */
		emit(repeat, &event);
}

static void free_all(struct repeat *repeat)
{
	size_t i;

	repeat->alive_count = 0;
	repeat->alive_room = mt_ledger_count(repeat->ledger);
	repeat->alive = calloc(repeat->alive_room + 1, sizeof(*repeat->alive));
	if (!repeat->alive)
		die("what is alive", -MT_E_MEMORY);
	mt_ledger_each(repeat->ledger, note_alive, repeat);
	qsort(repeat->alive, repeat->alive_count, sizeof(*repeat->alive), by_end);
	for (i = 0; i < repeat->alive_count; i++)
		free_one(repeat, &repeat->alive[i]);
	free(repeat->alive);
	mt_ledger_clear(repeat->ledger);
}

static union mt_definition definition(const struct mt_defs *defs, enum mt_def kind, uint32_t id)
{
	switch (kind) {
	case MT_DEF_STRING:
		return (union mt_definition){ .string = { .text = mt_defs_string(defs, id),
							  .size = (uint32_t)mt_defs_string_size(defs, id) } };
	case MT_DEF_MODULE:
		return (union mt_definition){ .module = *mt_defs_module(defs, id) };
	case MT_DEF_FRAME:
		return (union mt_definition){ .frame = *mt_defs_frame(defs, id) };
	case MT_DEF_THREAD:
		return (union mt_definition){ .thread = *mt_defs_thread(defs, id) };
	case MT_DEF_DEVICE:
		return (union mt_definition){ .device = *mt_defs_device(defs, id) };
	case MT_DEF_SYMBOL:
		return (union mt_definition){ .symbol = *mt_defs_symbol(defs, id) };
	case MT_DEF_INSTANCE:
		return (union mt_definition){ .instance = *mt_defs_instance(defs, id) };
	case MT_DEF_NEST:
	case MT_DEF_NODE:
	case MT_DEF_NESTED:
	case MT_DEF_VARIANT:
		break;
	}
	return (union mt_definition){ .nest = *mt_defs_nest(defs, id) };
}

/* Definitions that the reader knows get the same ids in the new trace. */
static void define(struct repeat *repeat)
{
	const struct mt_defs *from = mt_reader_defs(repeat->reader);
	struct mt_defs *to = mt_writer_defs(repeat->writer);
	const struct mt_node *node;
	union mt_definition copy;
	enum mt_def kind;
	uint32_t id;

	for (kind = MT_DEF_STRING; kind <= MT_DEF_NEST; kind++)
		for (id = mt_defs_count(to, kind) + 1; kind != MT_DEF_NODE && id <= mt_defs_count(from, kind); id++) {
			copy = definition(from, kind, id);
			if (mt_defs_append(to, kind, &copy))
				die("definitions", -MT_E_MEMORY);
		}
	for (id = mt_defs_count(to, MT_DEF_NODE) + 1; (node = mt_defs_node(from, id)); id++)
		if (mt_defs_add_node_in(to, node->parent, node->frame, node->nest) != id)
			die("definitions", -MT_E_MEMORY);
}

static void take(struct repeat *repeat, const struct mt_event *from)
{
	struct mt_ledger_change change;
	struct mt_event event = *from;

	if (mt_ledger_event(repeat->ledger, from, 0, 0, 0, &change))
		die("ledger", -MT_E_MEMORY);
	if ((event.kind == MT_TENSOR_ALLOC || event.kind == MT_TENSOR_FREE) && event.device < MT_LEDGER_DEVICES)
		repeat->total[event.device] = event.total;
	if (event.kind == MT_STEP) {
		repeat->steps = event.value;
		event.value += repeat->more_steps;
	}
	event.time += repeat->later;
	if (event.kind != MT_END && !(change.unknown && repeat->later) && repeat->events < repeat->wanted)
		emit(repeat, &event);
}

/* Once through the trace. */
static void go_through(struct repeat *repeat)
{
	const struct mt_event *events;
	size_t count, i;
	int error, checkpoint;

	while (!(error = mt_reader_next(repeat->reader, &events, &count, &checkpoint)) && count) {
		define(repeat);
		for (i = 0; i < count && checkpoint == MT_BATCH_EVENTS; i++) {
			if (!repeat->first_time)
				repeat->first_time = events[i].time;
			if (events[i].time > repeat->last_time)
				repeat->last_time = events[i].time;
			take(repeat, &events[i]);
		}
	}
	if (error)
		die("reading", error);
	mt_reader_rewind(repeat->reader);
}

int main(int argc, char **argv)
{
	struct repeat repeat = { .wanted = (uint64_t)((argc > 2 ? atof(argv[2]) : 1) * 1e6) };
	uint64_t before;
	int error;

	if (argc != 4)
		die("TRACE MILLION_EVENTS FILE", -MT_E_ARGUMENT);
	repeat.ledger = mt_ledger_new(NULL, NULL);
	error = mt_reader_open(&repeat.reader, argv[1]);
	if (!error)
		error = mt_writer_open(&repeat.writer, argv[3], mt_reader_process(repeat.reader), NULL);
	if (error || !repeat.ledger)
		die(argv[1], error);
	do {
		before = repeat.events;
		go_through(&repeat);
		if (repeat.events < repeat.wanted)
			free_all(&repeat);
		repeat.later += repeat.last_time - repeat.first_time + BETWEEN;
		repeat.more_steps += repeat.steps;
	} while (repeat.events < repeat.wanted && repeat.events > before);
	error = mt_writer_close(repeat.writer, 1);
	if (error)
		die(argv[3], error);
	printf("%llu\n", (unsigned long long)repeat.events);
	mt_reader_free(repeat.reader);
	mt_ledger_free(repeat.ledger);
	return 0;
}
