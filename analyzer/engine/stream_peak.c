/* The peaks of devices: overall, and during each phase. */
#include "stream.h"

/* Tensors come and go, often without a change of the bytes held. */
static inline void take_phase_tensors(struct stream *stream, uint32_t number)
{
	const struct analysis_process *process = &stream->analysis->process[stream->process];
	struct analysis_device *device = &stream->analysis->device[number];
	struct analysis_phase_peak *peak = &device->phase_peak[process->phase];

	if (process->phase_known && device->tensors_now > peak->tensors)
		peak->tensors = device->tensors_now;
}

/*
 * A change counts for the phase of its own process. Other processes may only wait, in their last phase; their phases
 * count at their own events.
 */
void stream_phase_peaks(struct stream *stream, uint32_t number)
{
	struct analysis_device *device = &stream->analysis->device[number];
	struct analysis_level level = stream_level(stream, number);
	const struct analysis_process *process;
	struct analysis_phase_peak *peak;
	int is_new = 0;
	uint32_t i;

	stream_step_held(stream, number);
	take_phase_tensors(stream, number);
	for (i = 0; i < device->users; i++) {
		process = &stream->analysis->process[device->user[i]];
		peak = &device->phase_peak[process->phase];
		if (!process->phase_known || process->over)
			continue;
		if (device->user[i] == stream->process && (!peak->ran || analysis_is_higher(level, peak->level))) {
			is_new = 1;
			peak->ran = 1;
			peak->level = level;
			peak->time = stream->time;
			peak->seq = process->last_seq;
			peak->process = stream->process;
			peak->step = process->step;
		}
		if (analysis_is_higher(device->quiet, peak->level))
			device->quiet = peak->level;
	}
	if (is_new)
		stream_instant(stream);
}

/* Makes the device's level its peak. */
static void stream_take_peak(struct stream *stream, uint32_t number, const struct mt_event *event,
			     const struct mt_label *label)
{
	struct analysis_device *device = &stream->analysis->device[number];

	attribution_peak(&stream->analysis->attribution, number);
	device->imported = device->imported_now;
	device->blocks = device->blocks_now;
	device->peak.bytes = stream->analysis->attribution.device[number].peak;
	device->peak.tensors = device->tensors_now;
	device->peak.seq = event->seq;
	device->peak.time = stream->time;
	device->peak.step = label->step;
	device->peak.process = stream->process;
	device->peak.thread = event->thread <= UINT32_MAX ? (uint32_t)event->thread : 0;
	device->peak.phase = label->phase;
	device->peak.role = label->role;
	if (stream->sink->reached)
		stream->sink->reached(stream->sink->context, number, 0);
}

/*
 * A caching allocator keeps memory that it took from the driver: the device stays equally full while tensors come and
 * go. Among these moments the peak is the first with the most tensor bytes. The peak then includes the block that a
 * segment was taken for, and tensors that waited for their pages (a pool that wakes up).
 */
static int stream_is_higher(const struct stream *stream, uint32_t number)
{
	const struct attribution_device *now = &stream->analysis->attribution.device[number];
	const struct analysis_device *device = &stream->analysis->device[number];

	return now->held > now->peak || (now->held == now->peak && device->tensors_now > device->peak.tensors);
}

void stream_settle(struct stream *stream, const struct mt_event *event, const struct mt_label *label)
{
	struct attribution *attribution = &stream->analysis->attribution;
	struct analysis_device *device;
	int number;

	while ((number = attribution_next_dirty(attribution)) >= 0) {
		device = &stream->analysis->device[number];
		device->used = 1;
		take_phase_tensors(stream, (uint32_t)number);
		if (stream_is_higher(stream, (uint32_t)number))
			stream_take_peak(stream, (uint32_t)number, event, label);
		if (!device->watched || analysis_is_higher(stream_level(stream, (uint32_t)number), device->quiet))
			stream_phase_peaks(stream, (uint32_t)number);
	}
}
