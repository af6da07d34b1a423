/* sampling.c - decides when to look at GPUs and host, and writes the samples: see sampling.h. */
#include "sampling.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "memtrace/base.h"
#include "memtrace/clock.h"

/* Shortest time between two looks, ms: after an important event, after a pause of events, with events, without. */
enum { AFTER_NOTABLE = 10, AFTER_PAUSE = 20, WITH_EVENTS = 100, WITHOUT = 1000 };

#define COST_SHARE 100u    /* readings take at most one part in 100 of the time */
#define NAMES_WAIT 2000    /* ms; longest wait until NVML is open */
#define LAST_WAIT 100      /* ms; longest wait for the last reading, and for the end of the thread */
#define SWEEP_MS 10000u    /* ms between two looks at the GPUs on which the process has no known memory */
#define SILENT_AFTER 5000u /* ms without an answer after which NVML counts as hanging */
#define GPU_NOTICEABLE (2ull << 20)
#define HOST_NOTICEABLE (16ull << 20)

static uint64_t now_ms(void)
{
	return mt_wait_clock_ns() / 1000000;
}

static int differs(uint64_t one, uint64_t two, uint64_t noticeable)
{
	return (one > two ? one - two : two - one) >= noticeable;
}

/* ---- sources ---- */

static void report(struct sampling *s, enum mt_source source, enum mt_source_state state, const char *why)
{
	mt_copy_text(s->header->source_why[source], sizeof(s->header->source_why[source]), why);
	atomic_store(&s->header->source_state[source], (uint32_t)state + 1);
}

static void report_gpu(struct sampling *s, enum mt_source_state state, const char *why)
{
	if (s->reported == (int)state + 1)
		return;
	s->reported = (int)state + 1;
	report(s, MT_SOURCE_GPU, state, why);
}

/* ---- beginning ---- */

/* Call this only after CUDA has started: NVML makes device nodes if root calls it, also on a machine without a GPU. */
static void start_gpu(struct sampling *s)
{
	if (s->started)
		return;
	s->started = 1;
	s->gpu = gpu_sampler_start(s->pid, s->header->visible_devices);
}

/* The callback of mt_fold_names: the trace gets its first event of a CUDA device after this call. */
static void name_devices(void *context)
{
	struct sampling *s = context;
	struct gpu_name *gpus = calloc(GPU_NAMES_MAX, sizeof(*gpus));
	int i;

	start_gpu(s);
	if (s->gpu && gpus)
		s->gpus = gpu_sampler_names(s->gpu, gpus, NAMES_WAIT, s->why, sizeof(s->why));
	for (i = 0; i < s->gpus; i++)
		if (gpus[i].name[0])
			mt_fold_device(s->fold, (uint32_t)i, gpus[i].name, gpus[i].uuid, gpus[i].total);
	free(gpus);
}

void sampling_begin(struct sampling *s, struct mt_fold *fold, pid_t pid, int alive)
{
	memset(s, 0, sizeof(*s));
	s->fold = fold;
	s->header = mt_fold_header(fold);
	s->pid = pid;
	s->live = alive;
	mt_fold_names(fold, name_devices, s);
	if (!alive)
		return;
	host_sampler_init(&s->host, "", pid);
	report(s, MT_SOURCE_HOST, MT_SOURCE_ON, "");
}

void sampling_prepare(struct sampling *s)
{
	if (atomic_load_explicit(&s->header->cuda, memory_order_relaxed))
		start_gpu(s);
}

/* ---- the time of the next look ---- */

int sampling_is_due(const struct sampling *s, uint64_t now, uint64_t folded, uint64_t notable)
{
	uint64_t since = now - s->asked;

	if (since * 1000 < s->micros * COST_SHARE)
		return 0;
	if (notable != s->notable)
		return since >= AFTER_NOTABLE;
	if (s->events != s->asked_events)
		return since >= (folded ? WITH_EVENTS : AFTER_PAUSE);
	return since >= WITHOUT;
}

/* ---- the samples in the trace ---- */

static void write_gpu(struct sampling *s, int i, const struct gpu_figures *gpu, uint64_t now)
{
	struct mt_event event = {
		.kind = MT_GPU_SAMPLE,
		.time = gpu->time,
		.device = (uint64_t)i,
		.size = gpu->used,
		.offset = gpu->own_known ? gpu->own : 0,
		.value = gpu->total,
		.flags = gpu->micros << 8 | (gpu->own_known ? 1 : 0),
	};

	if (mt_fold_sample(s->fold, &event))
		return;
	s->gpu_written[i].used = gpu->used;
	s->gpu_written[i].own = gpu->own;
	s->gpu_written[i].known = gpu->own_known;
	s->gpu_written[i].at = now;
	s->gpu_written[i].events = s->events;
}

/* A GPU without an event in the trace gets samples only if NVML lists bytes of the process there. */
static void consider_gpu(struct sampling *s, int i, const struct gpu_figures *gpu, uint64_t now)
{
	int in_trace = mt_fold_held(s->fold, (uint32_t)i) >= 0;

	if (in_trace && gpu->read)
		report_gpu(s, MT_SOURCE_ON, gpu->why ? gpu->why : "");
	else if (in_trace && gpu->why)
		report_gpu(s, MT_SOURCE_FAILED, gpu->why);
	if (!gpu->read || (!in_trace && !(gpu->own_known && gpu->own)))
		return;
	if (s->urgent || !s->gpu_written[i].at || gpu->own_known != s->gpu_written[i].known ||
	    differs(gpu->used, s->gpu_written[i].used, GPU_NOTICEABLE) ||
	    differs(gpu->own, s->gpu_written[i].own, GPU_NOTICEABLE) ||
	    (s->events != s->gpu_written[i].events && now - s->gpu_written[i].at >= WITHOUT))
		write_gpu(s, i, gpu, now);
}

static void write_reading(struct sampling *s, uint64_t now)
{
	int i;

	for (i = 0; i < s->reading.count; i++)
		consider_gpu(s, i, &s->reading.gpu[i], now);
	s->have_reading = 0;
	s->urgent = 0;
}

int sampling_host_is_due(const struct sampling *s, uint64_t now, uint64_t notable)
{
	uint64_t since = now - s->host_looked;

	if (notable != s->host_notable)
		return since >= AFTER_NOTABLE;
	return since >= (s->events != s->host_events ? WITH_EVENTS : WITHOUT);
}

static void look_at_host(struct sampling *s, uint64_t now, int always)
{
	struct host_figures host;
	const struct host_figures *before = &s->host_written;
	struct mt_event event = { .kind = MT_HOST_SAMPLE };
	uint64_t time = mt_clock_ns();

	s->host_looked = now;
	s->host_events = s->events;
	s->host_notable = mt_fold_notable(s->fold);
	host_sampler_read(&s->host, &host);
	if (!always && s->host_at && host.killed == before->killed && now - s->host_at < WITHOUT &&
	    !differs(host.resident, before->resident, HOST_NOTICEABLE) &&
	    !differs(host.cgroup, before->cgroup, HOST_NOTICEABLE) &&
	    !differs(host.available, before->available, 4 * HOST_NOTICEABLE))
		return;
	event.time = time;
	event.size = host.resident;
	event.value = host.cgroup;
	event.offset = host.cgroup_limit;
	event.handle = host.available;
	event.flags = host.killed;
	if (mt_fold_sample(s->fold, &event))
		return;
	s->host_written = host;
	s->host_at = now;
}

/* ---- looking ---- */

/* Asks for a reading of the GPUs that the process uses, and every SWEEP_MS of all its GPUs. */
static void ask(struct sampling *s, uint64_t now, uint64_t notable)
{
	struct gpu_question question = { .wanted = 0 };
	int sweep = now - s->swept >= SWEEP_MS;
	int64_t held;
	int i;

	if (sweep)
		s->swept = now;
	for (i = 0; i < s->gpus; i++) {
		held = mt_fold_held(s->fold, (uint32_t)i);
		if (held < 0 && !s->gpu_written[i].at && !sweep)
			continue;
		question.wanted |= 1ull << i;
		question.held[i] = held > 0 ? (uint64_t)held : 0;
	}
	s->urgent |= notable != s->notable;
	s->notable = notable;
	s->asked_events = s->events;
	s->asked = now;
	if (s->gpu && question.wanted)
		s->waiting = !gpu_sampler_ask(s->gpu, &question);
}

static uint64_t micros_of(const struct gpu_reading *reading)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < reading->count; i++)
		sum += reading->gpu[i].micros;
	return sum;
}

static int any_device(const struct sampling *s)
{
	uint32_t i;

	for (i = 0; i < GPU_NAMES_MAX; i++)
		if (mt_fold_held(s->fold, i) >= 0)
			return 1;
	return 0;
}

static void receive(struct sampling *s, uint64_t now, int alive, int ms)
{
	if (!s->waiting)
		return;
	if (!gpu_sampler_take(s->gpu, &s->reading, ms)) {
		if (now - s->asked >= SILENT_AFTER && any_device(s))
			report_gpu(s, MT_SOURCE_FAILED, "NVML does not answer any more");
		return;
	}
	s->waiting = 0;
	s->micros = micros_of(&s->reading);
	s->have_reading = alive; /* the bytes of a process that has ended may be free already in these figures */
}

void sampling_tick(struct sampling *s, uint64_t folded, int alive)
{
	uint64_t now = now_ms(), notable = mt_fold_notable(s->fold);

	s->events += folded;
	if (!s->live)
		return;
	if (!s->gpus && !s->reported && any_device(s))
		report_gpu(s, MT_SOURCE_FAILED, s->why);
	if (s->have_reading) /* all events from before the reading are folded by now */
		write_reading(s, now);
	receive(s, now, alive, 0);
	if (alive && sampling_host_is_due(s, now, notable))
		look_at_host(s, now, 0);
	if (s->waiting || s->have_reading || !alive || !sampling_is_due(s, now, folded, notable))
		return;
	ask(s, now, notable);
}

int sampling_end(struct sampling *s, int alive)
{
	uint64_t now = now_ms();

	if (!s->live)
		return gpu_sampler_stop(s->gpu, LAST_WAIT);
	if (s->have_reading)
		write_reading(s, now);
	if (!s->waiting && alive)
		ask(s, now, mt_fold_notable(s->fold));
	s->urgent = 1;
	receive(s, now, alive, LAST_WAIT);
	if (s->have_reading)
		write_reading(s, now);
	look_at_host(s, now, 1);
	return gpu_sampler_stop(s->gpu, LAST_WAIT);
}
