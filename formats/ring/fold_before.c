/* fold_before.c - builds the live set at the beginning of a trace of a process that was already running. */
#include "fold_before.h"

#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"

#define PATIENCE_NS (10 * MT_NSEC_PER_SEC) /* Python's main thread may be busy elsewhere */

static void end(struct fold_before *before, struct mt_emitter *emitter)
{
	before->since = 0;
	addrmap_release(&before->touched);
	mt_emitter_wait(emitter, 0);
}

static int is_birth(const struct mt_event *event)
{
	return event->kind == MT_TENSOR_ALLOC || event->kind == MT_DRIVER_ALLOC || event->kind == MT_VMM_CREATE ||
	       event->kind == MT_VMM_MAP || event->kind == MT_VMM_RELEASE;
}

/*
 * The key of an address, with a bit for tensors, because a tensor can have its segment's address. Addresses have less
 * than 57 bits.
 */
static uint64_t key_of(const struct mt_event *event)
{
	uint64_t is_tensor = event->kind == MT_TENSOR_ALLOC || event->kind == MT_TENSOR_FREE;

	return event->addr << 1 | is_tensor;
}

int fold_before_record(struct fold_before *before, struct mt_emitter *emitter, uint64_t number, uint64_t first,
		       uint64_t mark, struct mt_event *event)
{
	if (event->kind == MT_MARK && mark == RING_BEFORE_BEGINS && number == first) {
		before->since = mt_wait_clock_ns();
		mt_emitter_wait(emitter, 1);
	} else if (event->kind == MT_MARK && before->since) {
		end(before, emitter);
	} else if (before->since && is_birth(event) && !addrmap_find(&before->touched, key_of(event))) {
		return mt_emitter_told(emitter, number, event);
	}
	mt_emitter_pass(emitter, number);
	return 0;
}

int fold_before_event(struct fold_before *before, const struct mt_event *event)
{
	int error;

	if (!before->since || !event->addr)
		return 0;
	error = addrmap_reserve(&before->touched);
	if (!error)
		addrmap_put(&before->touched, key_of(event), before);
	return error;
}

void fold_before_look(struct fold_before *before, struct mt_emitter *emitter, int final)
{
	if (before->since && (final || mt_wait_clock_ns() - before->since > PATIENCE_NS))
		end(before, emitter);
}

void fold_before_release(struct fold_before *before)
{
	addrmap_release(&before->touched);
}
