/*
 * stream_step.c - the bytes of a device during each step of each user, and at the step's end; and the holders of a
 * device when a request failed.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

/* ---- peaks ---- */

static void take_level(const struct stream *stream, uint32_t number, struct analysis_step_peak *peak)
{
	peak->level = stream_level(stream, number);
	peak->time = stream->time;
	peak->seq = stream_process(stream)->last_seq;
	peak->process = stream->process;
	peak->role = stream_process(stream)->role;
}

/* A step begins at the level that the last step left. Its phase is the phase of its first work. */
static void begin_peak(const struct stream *stream, uint32_t number, struct analysis_step_peak *peak)
{
	*peak = (struct analysis_step_peak){ .phase_known = 0 };
	take_level(stream, number, peak);
	stream->analysis->device[number].watched = 0;
}

void stream_step_held(struct stream *stream, uint32_t number)
{
	struct analysis_device *device = &stream->analysis->device[number];
	struct analysis_level level = stream_level(stream, number);
	const struct analysis_process *process;
	struct analysis_step_peak *peak;
	int higher;
	uint32_t i;

	device->watched = 1;
	device->quiet = (struct analysis_level){ .bytes = UINT64_MAX, .tensors = UINT64_MAX };
	for (i = 0; i < device->users; i++) {
		process = &stream->analysis->process[device->user[i]];
		peak = &device->step_peak[i];
		if (process->over)
			continue;
		higher = analysis_is_higher(level, peak->level);
		if (higher)
			take_level(stream, number, peak);
		if (higher || !peak->phase_known) {
			peak->phase_known = process->phase_known;
			peak->phase = process->phase_known ? process->phase : MT_PHASE_OTHER;
		}
		device->watched &= peak->phase_known;
		if (analysis_is_higher(device->quiet, peak->level))
			device->quiet = peak->level;
	}
}

/* ---- ends ---- */

/* Adds the bytes of this process alone, under all its ids of the device. */
static void add_own(const struct stream *stream, uint32_t number, struct analysis_step_device *end)
{
	uint32_t id;

	for (id = 0; id < MT_LEDGER_DEVICES; id++) {
		if (stream->device_of[id] != number)
			continue;
		end->held += mt_ledger_held(stream->ledger, id);
		end->slack += mt_ledger_slack(stream->ledger, id);
		end->tensors += mt_ledger_tensors(stream->ledger, id);
	}
}

/* `counts` 0: no recorded step ended. */
static int end_device(struct stream *stream, uint32_t number, int counts)
{
	struct analysis_device *device = &stream->analysis->device[number];
	const struct analysis_sink *sink = stream->sink;
	struct analysis_step_device end = { 0 };
	uint32_t i;

	for (i = 0; device->user[i] != stream->process; i++)
		;
	end.peak = device->step_peak[i];
	begin_peak(stream, number, &device->step_peak[i]);
	if (!counts || !sink->step_device)
		return 0;
	add_own(stream, number, &end);
	return sink->step_device(sink->context, stream->process, number, stream_process(stream)->next_step, &end);
}

static int end_devices(struct stream *stream, int counts)
{
	uint32_t i;
	int error = 0;

	for (i = 0; i < stream->touched_count && !error; i++)
		error = end_device(stream, stream->touched[i], counts);
	return error;
}

int stream_step_end(struct stream *stream, const struct mt_event *event, int counts)
{
	struct analysis_process *process = stream_process(stream);
	int error;

	process->next_step = event->value <= UINT32_MAX ? (uint32_t)event->value : UINT32_MAX;
	error = end_devices(stream, counts);
	process->next_step += process->next_step < UINT32_MAX;
	process->step_seq = event->seq;
	process->step_time = stream->time;
	stream_instant(stream);
	return error;
}

int stream_step_finish(struct stream *stream)
{
	return end_devices(stream, 1);
}

/* ---- out of memory ---- */

static int add_holder(struct analysis *analysis, uint32_t process)
{
	size_t count = analysis->oom_holders, room = count ? count * 2 : 1;
	struct analysis_oom_holder *grown;

	/* The array has room up to the next power of two. */
	if (!(count & (count - 1))) {
		grown = realloc(analysis->oom_holder, room * sizeof(*grown));
		if (!grown)
			return -MT_E_MEMORY;
		analysis->oom_holder = grown;
	}
	analysis->oom_holder[analysis->oom_holders++] = (struct analysis_oom_holder){ .oom = analysis->ooms - 1,
										      .process = process };
	return 0;
}

int stream_step_oom(struct stream *stream)
{
	struct analysis *analysis = stream->analysis;
	const struct analysis_oom *oom = &analysis->oom[analysis->ooms - 1];
	const struct analysis_device *device = &analysis->device[oom->device];
	struct analysis_oom_holder *holder;
	const struct site *site;
	uint32_t first = analysis->oom_holders, i, at;
	int error = 0;

	for (i = 0; i < device->users && !error; i++)
		if (!analysis->process[device->user[i]].over)
			error = add_holder(analysis, device->user[i]);
	for (i = 1; i < analysis->attribution.sites && !error; i++) {
		site = &analysis->attribution.site[i];
		if (site->key.device != oom->device || !(site->now.plain + site->now.slack))
			continue;
		for (at = first; at < analysis->oom_holders; at++) {
			holder = &analysis->oom_holder[at];
			if (holder->process != site->key.process)
				continue;
			holder->held += site->now.plain + site->now.slack;
			holder->slack += site->now.slack + (site->tensors_seen ? site->now.plain : 0);
			break;
		}
	}
	return error;
}
