#include "tape_split.h"

#include <stdlib.h>
#include "memtrace/error.h"

/* What a cell has held so far, both parts together; share NULL: it is not shared. */
struct held {
	const struct tape_share *share;
	uint64_t bytes, count;
};

/* How much the part that is kept changes when all that is held changes to `now`. */
static int64_t kept_change(uint64_t before, uint64_t now, uint64_t keep)
{
	return (int64_t)((now < keep ? now : keep) - (before < keep ? before : keep));
}

/* One event, or two of one change. */
static int add_shared(struct tape *split, struct held *held, const struct tape_event *event)
{
	struct tape_event kept = *event, rest = *event;
	uint64_t bytes = held->bytes + (uint64_t)event->bytes, count = held->count + (uint64_t)(int64_t)event->count;
	int error = 0;

	kept.bytes = kept_change(held->bytes, bytes, held->share->bytes);
	kept.count = (int32_t)kept_change(held->count, count, held->share->count);
	rest.cell = held->share->to;
	rest.bytes -= kept.bytes;
	rest.count -= kept.count;
	held->bytes = bytes;
	held->count = count;
	if (!rest.bytes && !rest.count)
		return tape_add_event(split, &kept);
	if (kept.bytes || kept.count) {
		kept.more = 1;
		error = tape_add_event(split, &kept);
	}
	return error ? error : tape_add_event(split, &rest);
}

static int copy(struct tape *split, const struct tape *tape, struct held *held, uint32_t cells)
{
	uint64_t events = tape_count(tape), i;
	const struct tape_event *event;
	uint32_t run;
	int error = 0;

	for (i = 0; i < events && !error; i++) {
		event = tape_at(tape, i, &run);
		if (event->cell < cells && held[event->cell].share)
			error = add_shared(split, &held[event->cell], event);
		else
			error = tape_add_event(split, event);
	}
	return error;
}

int tape_split(struct tape **split, const struct tape *tape, const struct tape_share *share, uint32_t shares)
{
	struct held *held; /* by cell */
	uint32_t i, cells = 0;
	int error;

	for (i = 0; i < shares; i++)
		if (share[i].from >= cells)
			cells = share[i].from + 1;
	held = calloc((size_t)cells + 1, sizeof(*held));
	for (i = 0; i < shares && held; i++)
		held[share[i].from].share = &share[i];
	*split = tape_new();
	error = *split && held ? copy(*split, tape, held, cells) : -MT_E_MEMORY;
	free(held);
	if (!error) {
		tape_settle(*split);
		return 0;
	}
	tape_free(*split);
	*split = NULL;
	return error;
}
