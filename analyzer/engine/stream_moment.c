/* stream_moment.c - takes down who holds a device, at the moment that the analysis is about. */
#include "stream.h"

int stream_moment_open(const struct stream *stream, uint32_t number)
{
	const struct analysis *analysis = stream->analysis;
	const struct analysis_device *device = &analysis->device[number];
	uint32_t i;

	if (analysis->moment.kind != MOMENT_STEP)
		return analysis->moment.kind == MOMENT_PEAK;
	for (i = 0; i < device->users; i++)
		if (analysis->process[device->user[i]].next_step == analysis->moment.step)
			return 1;
	return 0;
}

void stream_moment_step(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct moment *moment = &stream->analysis->moment;
	struct mt_label first = *label;
	uint32_t i;

	if (moment->kind != MOMENT_STEP)
		return;
	if (label->step == moment->step) {
		moment->taken = 1;
		moment->born |= event->kind == MT_TENSOR_ALLOC || event->kind == MT_DRIVER_ALLOC ||
				event->kind == MT_VMM_CREATE;
	}
	if (stream->in_moment || stream_process(stream)->next_step != moment->step)
		return;
	stream->in_moment = 1;
	first.step = moment->step;
	for (i = 0; i < stream->touched_count; i++)
		if (stream_is_higher(stream, stream->touched[i]))
			stream_take_peak(stream, stream->touched[i], event, &first);
}

void stream_moment_oom(struct stream *stream, const struct mt_event *event, const struct mt_label *label, uint32_t device)
{
	struct moment *moment = &stream->analysis->moment;
	int final = event->kind == MT_TENSOR_OOM;

	if (moment->kind != MOMENT_OOM || (moment->final && !final))
		return;
	if (final && !moment->final)
		stream_moment_forget(stream->analysis);
	moment->final |= final;
	moment->taken = 1;
	stream->analysis->device[device].at_moment = 1;
	stream_take_peak(stream, device, event, label);
}

void stream_moment_forget(struct analysis *analysis)
{
	uint32_t i;

	for (i = 0; i < analysis->devices; i++)
		analysis->device[i].at_moment = 0;
}

/* The process that uses the device and did something last. */
static const struct analysis_process *newest_user(const struct analysis *analysis, const struct analysis_device *device)
{
	const struct analysis_process *process, *newest = NULL;
	uint32_t i;

	for (i = 0; i < device->users; i++) {
		process = &analysis->process[device->user[i]];
		if (process->events && (!newest || process->last_time > newest->last_time))
			newest = process;
	}
	return newest;
}

void stream_moment_time(struct analysis *analysis, int64_t time)
{
	const struct analysis_process *process;
	struct analysis_device *device;
	uint32_t i;

	if (analysis->moment.kind != MOMENT_TIME || analysis->moment.taken || time <= analysis->moment.time)
		return;
	analysis->moment.taken = 1;
	for (i = 0; i < analysis->devices; i++) {
		device = &analysis->device[i];
		process = newest_user(analysis, device);
		device->peak.step = 1;
		if (!process)
			continue;
		attribution_peak(&analysis->attribution, i);
		device->imported = device->imported_now;
		device->peak.bytes = analysis->attribution.device[i].held;
		device->peak.tensors = device->tensors_now;
		device->peak.time = analysis->moment.time;
		device->peak.seq = process->last_seq;
		device->peak.process = (uint32_t)(process - analysis->process);
		device->peak.step = process->phase_known ? process->step : 1;
		device->peak.phase = process->phase_known ? process->phase : MT_PHASE_OTHER;
	}
}
