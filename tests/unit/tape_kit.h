/* tape_kit.h - for tests of the timeline's data: tapes of random changes, and once more what is on them. */
#ifndef TAPE_KIT_H
#define TAPE_KIT_H

#include "test.h"
#include "timeline/tape.h"
#include "trace_kit.h"

#define CELLS 64u

/* The parts of a tape, once more. */
struct told {
	struct tape_event *event;
	uint64_t count, room;
	uint64_t bytes[CELLS], live[CELLS]; /* now */
	int64_t time;
};

/* A change of a few moves at a random cell, as a ledger makes them: no cell ever holds less than nothing. */
static inline void tape_random_change(struct kit_random *random, struct told *told, struct tape *tape)
{
	uint64_t moves = kit_below(random, 4) ? 1 : 1 + kit_below(random, 3), i, bytes;
	struct tape_event event;
	uint32_t cell;

	if (kit_below(random, 3))
		told->time += (int64_t)kit_below(random, kit_below(random, 50) ? 100 : 100000);
	for (i = 0; i < moves; i++) {
		cell = 2 + (uint32_t)kit_below(random, CELLS - 2);
		bytes = told->bytes[cell];
		event = (struct tape_event){ .time = told->time, .cell = cell, .count = 1 };
		event.bytes = (int64_t)(1 + kit_below(random, 1000));
		if (bytes && kit_below(random, 2)) {
			event.bytes = -(int64_t)(kit_below(random, 2) ? bytes : 1 + kit_below(random, bytes));
			event.count = told->live[cell] ? -1 : 0;
		}
		told->bytes[cell] += (uint64_t)event.bytes;
		told->live[cell] += (uint64_t)(int64_t)event.count;
		if (i)
			CHECK_EQ(tape_add_part(tape, event.time, cell, event.bytes, event.count), 0);
		else
			CHECK_EQ(tape_add(tape, event.time, cell, event.bytes, event.count), 0);
		if (i)
			told->event[told->count - 1].more = 1;
		told->event[told->count++] = event;
	}
}

static inline void tell(struct kit_random *random, struct told *told, struct tape *tape, uint64_t events)
{
	memset(told, 0, sizeof(*told));
	told->room = events + 4;
	told->event = calloc(told->room, sizeof(*told->event));
	CHECK(told->event);
	while (told->count < events)
		tape_random_change(random, told, tape);
	CHECK_EQ(tape_settle(tape), told->count);
}

#endif
