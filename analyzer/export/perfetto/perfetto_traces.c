/* perfetto_traces.c - tells a run from traces, by one pass over their events. */
#include "memtrace/error.h"
#include "perfetto.h"
#include "store/load.h"
#include "store/store.h"

struct pass {
	struct perfetto *perfetto;
	const struct analysis *analysis;
	uint32_t process; /* process of the running change */
	uint64_t event;   /* event of the running change */
	int started;
};

/* Finds times and number of events of the run from the chunks of all traces, before the first event. */
static void measure(struct pass *pass)
{
	struct perfetto *perfetto = pass->perfetto;
	const struct mt_chunk_info *chunk;
	uint64_t events = 0;
	int64_t first = INT64_MAX, last = INT64_MIN, begin, end;
	uint32_t i, k, chunks;

	for (i = 0; i < perfetto->processes; i++) {
		chunk = mt_reader_chunks(perfetto->run->source.input[i].reader, &chunks);
		for (k = 0; k < chunks; k++) {
			if (chunk[k].kind != MT_CHUNK_EVENTS || chunk[k].error || !chunk[k].events)
				continue;
			begin = analysis_time(&pass->analysis->process[i], chunk[k].first_time);
			end = analysis_time(&pass->analysis->process[i], chunk[k].last_time);
			first = begin < first ? begin : first;
			last = end > last ? end : last;
			events += chunk[k].events;
		}
	}
	perfetto->origin = pass->analysis->process[0].origin;
	perfetto_set_width(perfetto, first, last, events);
}

static int next_batch(void *context, uint32_t process, uint64_t events, uint64_t bytes)
{
	struct pass *pass = context;

	(void)process;
	(void)events;
	(void)bytes;
	if (!pass->started)
		measure(pass);
	pass->started = 1;
	return pass->perfetto->error;
}

/* The highest peak so far of the process's running step on the device. NULL: none yet. */
static const struct analysis_step_peak *peak_of(const struct analysis *analysis, struct perfetto_pair *pair)
{
	const struct analysis_device *device = &analysis->device[pair->device];
	uint32_t i;

	if (pair->user < device->users)
		return &device->step_peak[pair->user];
	for (i = 0; i < device->users; i++) {
		if (device->user[i] != pair->process)
			continue;
		pair->user = i;
		return &device->step_peak[i];
	}
	return NULL;
}

/* Keeps the bytes of the site at a peak, before the first change after this peak. */
static void touch(struct pass *pass, struct perfetto_site *site)
{
	const struct analysis_step_peak *peak = peak_of(pass->analysis, &pass->perfetto->pair[site->pair - 1]);

	if (!peak || (site->peak_seq == peak->seq && site->peak_process == peak->process))
		return;
	site->peak = site->now;
	site->peak_seq = peak->seq;
	site->peak_process = peak->process;
}

/* The site of a move or a count. Ends the running change if another event has begun. NULL: an error. */
static struct perfetto_site *site_of(struct pass *pass, uint32_t number)
{
	struct perfetto *perfetto = pass->perfetto;
	const struct site_key *key = &pass->analysis->attribution.site[number].key;
	uint64_t event = pass->analysis->process[key->process].events;

	if (key->process != pass->process || event != pass->event)
		perfetto_change_end(perfetto);
	pass->process = key->process;
	pass->event = event;
	if (number >= perfetto->sites || !perfetto->site[number].pair)
		perfetto_site_is(perfetto, number,
				 &(struct perfetto_site_key){ .process = key->process,
							      .device = key->device,
							      .node = store_id(key->process, key->stack),
							      .phase = key->phase,
							      .driver = key->driver });
	return perfetto->error ? NULL : &perfetto->site[number];
}

static void moved(void *context, uint32_t number, int slack, int64_t bytes, int64_t time)
{
	struct pass *pass = context;
	struct perfetto_site *site = site_of(pass, number);

	if (!site)
		return;
	touch(pass, site);
	perfetto_moved(pass->perfetto, number, slack, bytes, time);
}

static void counted(void *context, uint32_t number, int change, int64_t time)
{
	struct pass *pass = context;
	struct perfetto_site *site = site_of(pass, number);

	(void)time;
	if (!site)
		return;
	touch(pass, site);
	site->now.count += (uint64_t)(int64_t)change;
}

static int ended_span(void *context, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
		      const struct mt_event *last)
{
	struct pass *pass = context;
	const struct analysis_process *owner = &pass->analysis->process[process];

	(void)step;
	perfetto_span(pass->perfetto, process, phase, analysis_time(owner, first->time),
		      analysis_time(owner, last->time));
	return pass->perfetto->error;
}

static int ended_step(void *context, uint32_t process, const struct mt_event *event)
{
	struct pass *pass = context;
	const struct analysis_process *owner = &pass->analysis->process[process];

	perfetto_step(pass->perfetto, process, event->value <= UINT32_MAX ? (uint32_t)event->value : UINT32_MAX,
		      owner->step_time, analysis_time(owner, event->time));
	return pass->perfetto->error;
}

static int ended_step_device(void *context, uint32_t process, uint32_t device, uint32_t step,
			     const struct analysis_step_device *end)
{
	struct pass *pass = context;
	struct perfetto_pair *pair = perfetto_pair_of(pass->perfetto, process, device);
	struct perfetto_moment moment = { .step = step,
					  .bytes = end->peak.level.bytes,
					  .time = end->peak.time,
					  .process = end->peak.process,
					  .seq = end->peak.seq };

	if (pair)
		perfetto_heap_dump(pass->perfetto, pair, &moment);
	return pass->perfetto->error;
}

static int gpu_sample(void *context, uint32_t process, uint32_t device, const struct gpu_total_sample *sample,
		      const struct gpu_total_parts *parts)
{
	struct pass *pass = context;

	(void)parts;
	perfetto_gpu(pass->perfetto, process, device, sample->time, sample->used, sample->own_known ? sample->own : 0);
	return pass->perfetto->error;
}

static int host_sample(void *context, uint32_t process, const struct mt_event *event, uint64_t pinned)
{
	struct pass *pass = context;

	perfetto_host(pass->perfetto, process, analysis_time(&pass->analysis->process[process], event->time),
		      event->size, pinned, event->value);
	return pass->perfetto->error;
}

/* Makes a database in memory, as memana top does, for the names of stacks and for failed requests. */
static int store(struct export_run *run)
{
	int error = db_create(&run->db, NULL, schema_sql);

	if (!error)
		error = store_summary(run->db, &run->analysis, 0);
	return error ? error : load_places(run->db, run->symbols);
}

int perfetto_feed_traces(struct perfetto *perfetto)
{
	struct pass pass = { .perfetto = perfetto, .analysis = &perfetto->run->analysis };
	const struct analysis_sink sink = {
		.context = &pass,
		.moved = moved,
		.counted = counted,
		.batch = next_batch,
		.span = ended_span,
		.step = ended_step,
		.step_device = ended_step_device,
		.gpu_sample = gpu_sample,
		.host_sample = host_sample,
	};
	uint32_t i;
	int error = perfetto_processes(perfetto, perfetto->run->source.inputs);

	if (!error)
		error = export_pass(perfetto->run, &sink);
	perfetto_finish(perfetto);
	for (i = 1; !error && i < perfetto->sites && i < perfetto->run->analysis.attribution.sites; i++)
		perfetto->site[i].all_slack = perfetto->run->analysis.attribution.site[i].tensors_seen != 0;
	error = error ? error : perfetto->error;
	return error ? error : store(perfetto->run);
}
