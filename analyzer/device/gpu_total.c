#include "gpu_total.h"

#include <stddef.h>
#include <string.h>
#include "memtrace/base.h"

const char *gpu_total_cause_word(enum gpu_total_cause cause)
{
	static const char *const words[] = {
#define GPU_TOTAL_CAUSE_WORD(name, word) [GPU_TOTAL_##name] = word,
		GPU_TOTAL_CAUSE_LIST(GPU_TOTAL_CAUSE_WORD)
#undef GPU_TOTAL_CAUSE_WORD
	};

	return words[cause];
}

static int64_t end_of(const struct gpu_total_sample *sample)
{
	return sample->time + sample->took + GPU_TOTAL_MARGIN;
}

/*
 * The bytes held all the time while the pending sample was taken. Returns 0 if they changed, or if the changes are no
 * longer remembered.
 */
static int held_during(const struct gpu_total *gpu, uint64_t *held)
{
	const struct gpu_total_change *change;
	uint64_t i;

	for (i = gpu->changes; i > 0 && gpu->changes - i < GPU_TOTAL_CHANGES; i--) {
		change = &gpu->change[(i - 1) % GPU_TOTAL_CHANGES];
		if (change->time > end_of(&gpu->pending))
			continue;
		*held = change->held;
		return change->time < gpu->pending.time - GPU_TOTAL_MARGIN;
	}
	*held = 0; /* no change had happened yet */
	return i == 0;
}

/* ---- splitting the remainder ---- */

/* Whether the driver was asked before the end of the sample. Later calls also arrive before the sample is judged. */
static int was_asked(const struct gpu_total *gpu, const struct gpu_total_asked *asked)
{
	return asked->is_asked && asked->first <= end_of(&gpu->parts.sample);
}

static void grow(struct gpu_total *gpu, struct gpu_total_parts *parts, int64_t bytes)
{
	uint8_t asked = 0;
	int cause, first = -1;

	for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++) {
		if (!was_asked(gpu, &gpu->more[cause]))
			continue;
		asked |= (uint8_t)(1u << cause);
		if (first < 0)
			first = cause;
	}
	if (first < 0) {
		parts->unexplained += bytes;
		return;
	}
	parts->cause[first] += bytes;
	parts->with[first] |= (uint8_t)(asked & ~(1u << first));
}

/* Takes as much of `bytes` from *part as is in it. Returns the rest. */
static int64_t take(int64_t *part, int64_t bytes)
{
	int64_t taken = *part < 0 ? 0 : *part < bytes ? *part : bytes;

	*part -= taken;
	return bytes - taken;
}

/*
 * Takes bytes off the parts: first from parts that the driver was asked to give back, then from unexplained bytes, then
 * from parts that the driver may trim.
 */
static void shrink(struct gpu_total *gpu, struct gpu_total_parts *parts, int64_t bytes)
{
	int cause;

	for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++)
		if (was_asked(gpu, &gpu->less[cause]))
			bytes = take(&parts->cause[cause], bytes);
	bytes = take(&parts->unexplained, bytes);
	bytes = take(&parts->cause[GPU_TOTAL_POOLS], bytes);
	bytes = take(&parts->cause[GPU_TOTAL_GRAPHS], bytes);
	parts->unexplained -= bytes;
}

/* Keeps calls as new as the sample. Such calls may still be at work, and count for the next sample, too. */
static void forget(struct gpu_total_asked *asked, int64_t until)
{
	asked->is_asked &= asked->newest >= until;
	asked->first = asked->newest;
}

/* The bytes of all parts, context to unexplained. */
static int64_t remainder_of(const struct gpu_total_parts *parts)
{
	int64_t bytes = parts->unexplained;
	int cause;

	for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++)
		bytes += parts->cause[cause];
	return bytes;
}

static void take_apart(struct gpu_total *gpu)
{
	struct gpu_total_parts *parts = &gpu->parts;
	int64_t growth = (int64_t)(parts->sample.own - parts->held) - remainder_of(parts);
	int cause;

	if (growth > 0)
		grow(gpu, parts, growth);
	else
		shrink(gpu, parts, -growth);
	for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++) {
		forget(&gpu->more[cause], parts->sample.time - GPU_TOTAL_MARGIN);
		forget(&gpu->less[cause], parts->sample.time - GPU_TOTAL_MARGIN);
	}
}

/* Whether the newest change before the pending sample is a free that waits for the GPU: NVML still counts its bytes. A pool keeps its bytes. */
static int is_in_a_free(const struct gpu_total *gpu, uint64_t held)
{
	uint64_t i = gpu->changes;
	int64_t growth = (int64_t)(gpu->pending.own - held) - remainder_of(&gpu->parts), freed;

	while (i > 0 && gpu->changes - i < GPU_TOTAL_CHANGES &&
	       gpu->change[(i - 1) % GPU_TOTAL_CHANGES].time > end_of(&gpu->pending))
		i--;
	if (i < 2 || gpu->changes - i + 2 > GPU_TOTAL_CHANGES || gpu->more[GPU_TOTAL_POOLS].is_asked)
		return 0;
	freed = (int64_t)(gpu->change[(i - 2) % GPU_TOTAL_CHANGES].held - held);
	return gpu->pending.own_known && freed > GPU_TOTAL_PAGE && growth > freed - GPU_TOTAL_PAGE &&
	       growth < freed + GPU_TOTAL_PAGE;
}

/* Whether a sample can be of this process: NVML tells the process's bytes, or counts at least the bytes held. */
static int makes_sense(const struct gpu_total_sample *sample, uint64_t held)
{
	return sample->own_known || sample->used >= held;
}

static int judge(struct gpu_total *gpu)
{
	uint64_t held;

	if (!gpu->is_pending)
		return 0;
	gpu->is_pending = 0;
	gpu->judged = gpu->pending;
	gpu->is_settled = held_during(gpu, &held) && makes_sense(&gpu->pending, held) && !is_in_a_free(gpu, held);
	if (!gpu->is_settled)
		return 1;
	if (gpu->settled++)
		gpu->before = gpu->parts;
	gpu->parts.sample = gpu->pending;
	gpu->parts.held = held;
	if (gpu->pending.own_known)
		take_apart(gpu);
	return 1;
}

/* ---- what happens ---- */

int gpu_total_held(struct gpu_total *gpu, int64_t time, uint64_t held)
{
	struct gpu_total_change *change;
	int fresh = gpu->is_pending && time > end_of(&gpu->pending) ? judge(gpu) : 0;

	change = &gpu->change[gpu->changes++ % GPU_TOTAL_CHANGES];
	change->time = time;
	change->held = held;
	return fresh;
}

void gpu_total_asked(struct gpu_total *gpu, enum gpu_total_cause cause, int more, int64_t time)
{
	struct gpu_total_asked *asked = more ? &gpu->more[cause] : &gpu->less[cause];

	if (!asked->is_asked || time < asked->first)
		asked->first = time;
	if (!asked->is_asked || time > asked->newest)
		asked->newest = time;
	asked->is_asked = 1;
}

int gpu_total_sample(struct gpu_total *gpu, const struct gpu_total_sample *sample)
{
	int fresh = judge(gpu);

	gpu->pending = *sample;
	gpu->is_pending = 1;
	return fresh;
}

int gpu_total_finish(struct gpu_total *gpu)
{
	return judge(gpu);
}

int64_t gpu_total_mixed(const struct gpu_total_parts *parts)
{
	int64_t mixed = 0;
	int cause;

	for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++)
		mixed |= (int64_t)(parts->with[cause] & ((1 << GPU_TOTAL_CAUSES) - 1)) << GPU_TOTAL_CAUSES * cause;
	return mixed;
}

void gpu_total_set_mixed(struct gpu_total_parts *parts, int64_t mixed)
{
	int cause;

	for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++)
		parts->with[cause] = (uint8_t)(mixed >> GPU_TOTAL_CAUSES * cause & ((1 << GPU_TOTAL_CAUSES) - 1));
}

enum change { MORE = 1, LESS = 2, BOTH = 3 };

static const struct {
	uint32_t entry;
	struct driver_cause cause;
} causes[] = {
#define CAUSE_ROW(id, call, name, change) { id, { GPU_TOTAL_##name, (change)&MORE, (change)&LESS } },
	DRIVER_CAUSE_LIST(CAUSE_ROW)
#undef CAUSE_ROW
};

const struct driver_cause *driver_cause_of(uint64_t entry)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(causes); i++)
		if (causes[i].entry == entry)
			return &causes[i].cause;
	return NULL;
}
