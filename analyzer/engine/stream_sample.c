/*
 * Samples beside the recorded calls: NVML's count of the GPU, the host's memory, and answers of the driver to the
 * program.
 */
#include "stream.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "device/gpu_total.h"
#include "memtrace/error.h"

#define TOLD_IS_NEW 1000000000 /* ns */

static int64_t time_of(const struct stream *stream, const struct mt_event *event)
{
	return analysis_time(stream_process(stream), event->time);
}

/* ---- one GPU's count ---- */

/* NULL: no GPU, or out of memory. */
static struct gpu_total *gpu_total_of(struct stream *stream, uint32_t id)
{
	const struct mt_device *device;

	if (stream->gpu[id] || stream->no_gpu[id])
		return stream->gpu[id];
	device = mt_defs_device(stream_process(stream)->defs, id);
	stream->no_gpu[id] = device && device->kind != MT_DEVICE_CUDA;
	if (!device || stream->no_gpu[id])
		return NULL;
	stream->gpu[id] = malloc(sizeof(*stream->gpu[id]));
	if (stream->gpu[id])
		memset(stream->gpu[id], 0, offsetof(struct gpu_total, change));
	if (stream->gpu[id] && stream->resumed)
		gpu_total_asked(stream->gpu[id], GPU_TOTAL_EARLIER, 1, 0);
	return stream->gpu[id];
}

/* The place of the process among the users of the device. */
static struct analysis_gpu_total *gpu_totals_of(const struct stream *stream, const struct analysis_device *device)
{
	uint32_t user = 0;

	while (user < device->users && device->user[user] != stream->process)
		user++;
	return user < device->users ? &device->gpu[user * ANALYSIS_PEAKS] : NULL;
}

/* A new settled sample: it may be the first after some peaks. */
static void show_peaks(struct analysis_device *device, struct analysis_gpu_total *around, const struct gpu_total *gpu)
{
	uint32_t peak;
	int64_t time;

	for (peak = 0; around && peak < ANALYSIS_PEAKS; peak++) {
		time = analysis_peak_time(device, peak);
		if (gpu->parts.sample.time < time || (around[peak].after_known && around[peak].peak_time == time))
			continue;
		around[peak] = (struct analysis_gpu_total){ .peak_time = time,
							    .after_known = 1,
							    .after = gpu->parts,
							    .before_known = gpu->settled > 1,
							    .before = gpu->before };
	}
}

/* For a peak without a later sample: uses the last sample before the peak. */
static void show_peaks_before(struct stream *stream, uint32_t id)
{
	const struct gpu_total *gpu = stream->gpu[id];
	const struct analysis_device *device = &stream->analysis->device[stream->device_of[id]];
	struct analysis_gpu_total *around = gpu_totals_of(stream, device);
	uint32_t peak;
	int64_t time;

	for (peak = 0; around && peak < ANALYSIS_PEAKS; peak++) {
		time = analysis_peak_time(device, peak);
		if (around[peak].after_known && around[peak].peak_time == time)
			continue;
		around[peak] = (struct analysis_gpu_total){ .peak_time = time, .before = gpu->parts };
		around[peak].before_known = gpu->settled && stream_process(stream)->last_time >= time;
	}
}

/* ---- free bytes ---- */

/* *bytes: bytes of all recorded processes on the device. 0 or an error. */
static int recorded_on(struct stream *stream, uint32_t id, uint64_t *bytes)
{
	uint32_t number = stream_device(stream, id);

	if (number == STREAM_NO_DEVICE)
		return -MT_E_MEMORY;
	*bytes = stream->analysis->attribution.device[number].held;
	return 0;
}

/* `free` bytes were free when the recorded processes held `recorded`. The difference to oom->recorded is corrected. */
static void set_free(struct analysis_oom *oom, uint64_t free, uint64_t recorded, enum analysis_free by)
{
	int64_t then = (int64_t)free - (int64_t)(oom->recorded - recorded);

	oom->free = then > 0 ? then : 0;
	oom->free_by = by;
}

static int is_of(const struct stream *stream, const struct analysis_oom *oom, uint32_t id)
{
	return oom->device == stream->device_of[id];
}

/* The driver told the program the free bytes. The first such answer is the best figure. */
static void tell_waiting(struct stream *stream, uint32_t id, uint64_t free, uint64_t recorded)
{
	struct analysis_oom *oom;
	uint32_t i;

	for (i = 0; i < stream->waiting_count; i++) {
		oom = &stream->analysis->oom[stream->waiting[i]];
		if (is_of(stream, oom, id) && oom->free_by != ANALYSIS_FREE_DRIVER &&
		    stream->time - oom->time <= TOLD_IS_NEW)
			set_free(oom, free, recorded, ANALYSIS_FREE_DRIVER);
	}
}

/* Uses a settled sample after the error. */
static void serve_waiting(struct stream *stream, uint32_t id, const struct gpu_total_parts *parts)
{
	const struct gpu_total_sample *sample = &parts->sample;
	struct analysis_oom *oom;
	uint32_t i, kept = 0;

	for (i = 0; i < stream->waiting_count; i++) {
		oom = &stream->analysis->oom[stream->waiting[i]];
		if (!is_of(stream, oom, id) || sample->time < oom->time) {
			stream->waiting[kept++] = stream->waiting[i];
			continue;
		}
		if (oom->free_by == ANALYSIS_FREE_BOUND && sample->total >= sample->used)
			set_free(oom, sample->total - sample->used, parts->held + sample->others, ANALYSIS_FREE_SAMPLE);
		if (sample->own_known && sample->used >= sample->own)
			oom->others = (int64_t)(sample->used - sample->own);
	}
	stream->waiting_count = kept;
}

void stream_sample_oom(struct stream *stream, uint32_t id)
{
	uint32_t number = stream->analysis->ooms - 1;
	struct analysis_oom *oom = &stream->analysis->oom[number];

	oom->held = mt_ledger_held(stream->ledger, id);
	if (stream->told.device == id && id && stream->time - stream->told.time <= TOLD_IS_NEW)
		set_free(oom, stream->told.free, stream->told.recorded, ANALYSIS_FREE_DRIVER);
	if (stream->waiting_count < STREAM_WAITING_MAX)
		stream->waiting[stream->waiting_count++] = number;
}

/* ---- the total ---- */

static void tell_total(struct stream *stream, uint32_t id, uint64_t total, enum analysis_total by)
{
	uint32_t number = stream->device_of[id];

	if (!total || !id || stream->total_by[id] >= by)
		return;
	stream->total[id] = total;
	stream->total_by[id] = by;
	if (number != STREAM_NO_DEVICE)
		stream_total_tell(stream->analysis, number, total, by);
}

/* ---- samples ---- */

/* Uses a pending sample that is now judged. Returns 0 or an error. */
static int judged(struct stream *stream, uint32_t id, const struct gpu_total *gpu)
{
	const struct analysis_sink *sink = stream->sink;
	uint32_t number = stream_device(stream, id);
	struct analysis_device *device;

	if (number == STREAM_NO_DEVICE)
		return -MT_E_MEMORY;
	device = &stream->analysis->device[number];
	if (gpu->judged.used > device->most_used)
		device->most_used = gpu->judged.used;
	if (gpu->is_settled) {
		show_peaks(device, gpu_totals_of(stream, device), gpu);
		serve_waiting(stream, id, &gpu->parts);
	}
	if (!sink->gpu_sample)
		return 0;
	return sink->gpu_sample(sink->context, stream->process, number, &gpu->judged,
				gpu->is_settled ? &gpu->parts : NULL);
}

static int note_gpu(struct stream *stream, const struct mt_event *event)
{
	uint32_t id = event->device < MT_LEDGER_DEVICES ? (uint32_t)event->device : 0;
	struct gpu_total_sample sample = {
		.time = time_of(stream, event),
		.took = event->flags >> 8 <= UINT32_MAX ? (int64_t)(event->flags >> 8) * 1000 : UINT32_MAX,
		.used = event->size,
		.total = event->value,
		.own = event->offset,
		.own_known = event->flags & 1,
	};
	struct gpu_total *gpu = gpu_total_of(stream, id);

	tell_total(stream, id, event->value, ANALYSIS_TOTAL_SAMPLE);
	if (!gpu)
		return 0;
	if (recorded_on(stream, id, &sample.others))
		return -MT_E_MEMORY;
	sample.others -= mt_ledger_held(stream->ledger, id);
	return gpu_total_sample(gpu, &sample) ? judged(stream, id, gpu) : 0;
}

static int note_host(struct stream *stream, const struct mt_event *event)
{
	struct analysis_host *host = &stream_process(stream)->host;
	const struct analysis_sink *sink = stream->sink;

	host->pinned = mt_ledger_pinned(stream->ledger);
	if (event->size)
		host->resident = event->size;
	if (event->size > host->most_resident)
		host->most_resident = event->size;
	/*
	 * After the end of the process, the cgroup's memory has shrunk: only a rise says something of the time before.
	 */
	if (event->size || !host->samples || event->value > host->cgroup) {
		host->time = time_of(stream, event);
		host->available = event->handle;
		host->cgroup = event->value;
		host->cgroup_limit = event->offset;
	}
	host->samples++;
	if (event->flags > host->killed)
		host->killed = event->flags;
	return sink->host_sample ? sink->host_sample(sink->context, stream->process, event, host->pinned) : 0;
}

/* ---- calls ---- */

static void ask(struct stream *stream, uint32_t id, const struct driver_cause *cause, int64_t time)
{
	struct gpu_total *gpu = gpu_total_of(stream, id);

	if (gpu && cause->more)
		gpu_total_asked(gpu, cause->cause, 1, time);
	if (gpu && cause->less)
		gpu_total_asked(gpu, cause->cause, 0, time);
}

/* A call without a device may be about any device. */
static void ask_device(struct stream *stream, uint64_t device, const struct driver_cause *cause, int64_t time)
{
	uint32_t id;

	if (device && device < MT_LEDGER_DEVICES) {
		ask(stream, (uint32_t)device, cause, time);
		return;
	}
	for (id = 1; id < MT_LEDGER_DEVICES; id++)
		if (stream->gpu[id])
			ask(stream, id, cause, time);
}

static int note_call(struct stream *stream, const struct mt_event *event)
{
	const struct driver_cause *cause = driver_cause_of(event->entry);
	uint32_t id = event->device < MT_LEDGER_DEVICES ? (uint32_t)event->device : 0;

	if (event->result)
		return 0;
	if (cause)
		ask_device(stream, event->device, cause, time_of(stream, event));
	if (event->entry != DRIVER_MEM_GET_INFO || !id)
		return 0;
	tell_total(stream, id, event->size, ANALYSIS_TOTAL_DRIVER);
	stream->told.device = id;
	stream->told.time = stream->time;
	stream->told.free = event->value;
	if (recorded_on(stream, id, &stream->told.recorded))
		return -MT_E_MEMORY;
	tell_waiting(stream, id, stream->told.free, stream->told.recorded);
	return 0;
}

/* All memory of the context goes, too. */
static void note_context_gone(struct stream *stream, const struct mt_event *event)
{
	struct driver_cause cause = { .less = 1 };

	for (cause.cause = 0; cause.cause < GPU_TOTAL_CAUSES; cause.cause++)
		ask_device(stream, event->device, &cause, time_of(stream, event));
}

static void note_life(struct stream *stream, const struct mt_event *event)
{
	int64_t time = time_of(stream, event);

	if (event->kind == MT_HOST_SAMPLE && event->size && time > stream->alive)
		stream->alive = time;
}

int stream_sample(struct stream *stream, const struct mt_event *event)
{
	note_life(stream, event);
	switch (event->kind) {
	case MT_GPU_SAMPLE:
		return note_gpu(stream, event);
	case MT_HOST_SAMPLE:
		return note_host(stream, event);
	case MT_DRIVER_NOTE:
		return note_call(stream, event);
	default:
		note_context_gone(stream, event);
		return 0;
	}
}

void stream_sample_pool(struct stream *stream, const struct mt_live *live, const struct mt_event *event)
{
	struct driver_cause cause = { .cause = GPU_TOTAL_POOLS, .more = 1, .less = 1 };

	if (live->kind != MT_DRIVER_ALLOC || (live->flags != MT_SPACE_ASYNC && live->flags != MT_SPACE_GRAPH))
		return;
	if (live->flags == MT_SPACE_GRAPH)
		cause.cause = GPU_TOTAL_GRAPHS;
	if (live->device)
		ask(stream, live->device, &cause, time_of(stream, event));
}

/* ---- bytes that changed hands ---- */

int stream_sample_held(struct stream *stream, const struct mt_event *event)
{
	struct gpu_total *gpu;
	uint64_t held;
	uint32_t id;
	int error = 0;

	while (stream->moved_count && !error) {
		id = stream->moved[--stream->moved_count];
		if (stream->no_gpu[id])
			continue;
		gpu = stream->gpu[id] ? stream->gpu[id] : gpu_total_of(stream, id);
		if (!gpu)
			continue;
		held = mt_ledger_held(stream->ledger, id);
		if (held != gpu_total_holds(gpu) && gpu_total_held(gpu, time_of(stream, event), held))
			error = judged(stream, id, gpu);
	}
	return error;
}

void stream_sample_checkpoint(struct stream *stream)
{
	uint32_t id;

	stream->resumed = 1;
	for (id = 0; id < MT_LEDGER_DEVICES; id++)
		if (stream->gpu[id])
			gpu_total_asked(stream->gpu[id], GPU_TOTAL_EARLIER, 1, stream->time);
}

/* Whether less than a twentieth of the GPU was free, by the newest sample or by the bytes that are known to be held. */
static int is_full(const struct stream *stream, uint32_t id)
{
	const struct analysis_device *device = &stream->analysis->device[stream->device_of[id]];
	const struct gpu_total_sample *sample = &stream->gpu[id]->judged;
	uint64_t total = sample->total ? sample->total : device->total;
	uint64_t used = sample->total ? sample->used : mt_ledger_held(stream->ledger, id);

	return total && used > total - total / 20;
}

int stream_sample_over(struct stream *stream)
{
	uint32_t id;
	int error = 0;

	for (id = 0; id < MT_LEDGER_DEVICES && !error; id++) {
		if (!stream->gpu[id])
			continue;
		if (gpu_total_finish(stream->gpu[id]))
			error = judged(stream, id, stream->gpu[id]);
		if (stream->device_of[id] != STREAM_NO_DEVICE)
			stream_process(stream)->gpu_full |= is_full(stream, id);
	}
	return error;
}

void stream_sample_finish(struct stream *stream)
{
	uint32_t id;

	for (id = 0; id < MT_LEDGER_DEVICES; id++)
		if (stream->gpu[id] && stream->device_of[id] != STREAM_NO_DEVICE)
			show_peaks_before(stream, id);
}
