/*
 * trace_events.c - TRACE as text, one event per line, for tests that compare events one by one:
 *
 *     trace_events TRACE       columns under their names, blanks between them; "-" for an event without one
 *
 * held, tensors, absent (not resident), slack: what the ledger says of the device after the event, bytes; of the newest
 * device where the event names none. The last line is "written N" with the number of events; "unbalanced" in its place: the
 * ledger contradicts itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include "memtrace/error.h"
#include "memtrace/ledger.h"
#include "memtrace/reader.h"

static void print_device(const struct mt_defs *defs, uint64_t id)
{
	const struct mt_device *device = mt_defs_device(defs, (uint32_t)id);

	if (!device)
		printf(" -");
	else if (device->kind == MT_DEVICE_CPU)
		printf(" cpu");
	else
		printf(" %" PRIu32, device->index);
}

static void print_event(const struct mt_defs *defs, const struct mt_event *event, const struct mt_ledger *ledger)
{
	const struct mt_thread *thread = mt_defs_thread(defs, (uint32_t)event->thread);
	static uint32_t device;

	if (event->device)
		device = (uint32_t)event->device;
	printf("%s %" PRIu64 " %" PRIu64 " %" PRIu32, mt_kind_name(event->kind), event->seq, event->time,
	       thread ? thread->tid : 0);
	print_device(defs, event->device);
	printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, event->addr, event->size,
	       event->total, event->reserved, event->handle, event->offset);
	printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, event->entry, event->result, event->value,
	       event->flags);
	printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", mt_ledger_held(ledger, device),
	       mt_ledger_tensors(ledger, device), mt_ledger_nonresident(ledger, device),
	       mt_ledger_slack(ledger, device));
}

/* 0, or an error. */
static int print_trace(struct mt_reader *reader, struct mt_ledger *ledger)
{
	const struct mt_event *events;
	uint64_t printed = 0;
	size_t count, i;
	int checkpoint, error;

	printf("kind seq time tid device addr size total reserved handle offset entry result value flags "
	       "held tensors absent slack\n");
	while (!(error = mt_reader_next(reader, &events, &count, &checkpoint)) && count) {
		for (i = 0; i < count && !checkpoint; i++, printed++) {
			error = mt_ledger_event(ledger, &events[i], 0, 0, 0, NULL);
			if (error)
				return error;
			print_event(mt_reader_defs(reader), &events[i], ledger);
		}
	}
	if (mt_ledger_check(ledger))
		printf("written %" PRIu64 "\n", printed);
	else
		printf("unbalanced\n");
	return error ? error : mt_reader_state(reader)->error;
}

int main(int argc, char **argv)
{
	struct mt_ledger *ledger = mt_ledger_new(NULL, NULL);
	struct mt_reader *reader = NULL;
	int error;

	if (argc != 2 || !ledger) {
		fprintf(stderr, "usage: trace_events TRACE\n");
		return 2;
	}
	error = mt_reader_open(&reader, argv[1]);
	if (!error)
		error = print_trace(reader, ledger);
	if (error)
		fprintf(stderr, "trace_events: %s: %s\n", argv[1], mt_strerror(error));
	mt_reader_free(reader);
	mt_ledger_free(ledger);
	return mt_exit_code(error);
}
