/* refusals.c - see memtrace/refusals.h. */
#include "memtrace/refusals.h"

#include <string.h>

#define CUDA_ERROR_OUT_OF_MEMORY 2u
#define SAME_REQUEST 1000000000u /* ns: longest time between a refusal and its outcome */

/* Removes the refusal at `i`. */
static void take_out(struct mt_refusals *refusals, size_t i)
{
	refusals->count--;
	memmove(&refusals->open[i], &refusals->open[i + 1], (refusals->count - i) * sizeof(*refusals->open));
}

/* Refusals without an outcome in a second have failed. Threads may be late: a time before the refusal's is no later. */
static void let_go(struct mt_refusals *refusals, uint64_t time)
{
	while (refusals->count && time > refusals->open[0].time && time - refusals->open[0].time > SAME_REQUEST) {
		refusals->failed++;
		take_out(refusals, 0);
	}
}

static void refused(struct mt_refusals *refusals, const struct mt_event *event)
{
	if (refusals->count == MT_REFUSALS_OPEN) {
		refusals->failed++;
		take_out(refusals, 0);
	}
	refusals->open[refusals->count++] = (struct mt_refusal){
		.time = event->time, .device = event->device, .entry = event->entry, .size = event->size
	};
}

/* Memory of the host, or of another GPU, is another request: a program may take that instead. */
static void given(struct mt_refusals *refusals, const struct mt_event *event)
{
	const struct mt_refusal *open;
	size_t i;

	for (i = refusals->count; i--;) {
		open = &refusals->open[i];
		if (open->device != event->device || open->entry != event->entry || open->size != event->size)
			continue;
		refusals->survived++;
		take_out(refusals, i);
	}
}

/* The allocator failed: all open refusals of the device belong to this one failure. */
static void failed(struct mt_refusals *refusals, const struct mt_event *event)
{
	size_t i;

	for (i = refusals->count; i--;)
		if (refusals->open[i].device == event->device)
			take_out(refusals, i);
	refusals->failed++;
}

void mt_refusals_event(struct mt_refusals *refusals, const struct mt_event *event)
{
	let_go(refusals, event->time);
	switch (event->kind) {
	case MT_DRIVER_FAIL:
		if (event->result == CUDA_ERROR_OUT_OF_MEMORY)
			refused(refusals, event);
		break;
	case MT_DRIVER_ALLOC:
	case MT_VMM_CREATE:
		given(refusals, event);
		break;
	case MT_TENSOR_OOM:
		failed(refusals, event);
		break;
	}
}

void mt_refusals_end(struct mt_refusals *refusals)
{
	refusals->failed += refusals->count;
	refusals->count = 0;
}
