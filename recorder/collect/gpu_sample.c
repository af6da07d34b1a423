/* gpu_sample.c - the thread that asks NVML, and the search for the process's own bytes: see gpu_sample.h. */
#include "gpu_sample.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"

#define VISIBLE_MAX 1024
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu /* inode of the machine's first pid namespace; linux/proc_ns.h */

enum work_state { WORK_OPENING, WORK_IDLE, WORK_ASKED, WORK_READING, WORK_DONE, WORK_OVER };

struct gpu_sampler {
	pthread_t thread;
	pthread_mutex_t lock; /* guards the members from `changed` to `reading`; not held during a call of NVML */
	pthread_cond_t changed;
	enum work_state state;
	int stop;
	char why[128]; /* reason why NVML gives no figures; "": it does */
	int count;
	struct gpu_name gpus[GPU_NAMES_MAX];
	struct gpu_question question;
	struct gpu_reading reading;

	/* Used by the thread alone. */
	pid_t pid;
	char visible[VISIBLE_MAX];
	struct gpu_pids pids;
	struct nvml nvml;
	struct gpu_reading draft;
	struct nvml_process list[GPU_PROCESSES_MAX];
};

/* ---- the numbers of the process ---- */

static int is_in_proc(unsigned int pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !access(path, F_OK);
}

/* Reads the numbers of "NSpid:\t4711\t12\t1"; `line` begins after the colon. */
static int parse_pids(struct gpu_pids *pids, const char *line)
{
	char *end;
	unsigned long pid;

	while (pids->count < GPU_PIDS_MAX) {
		pid = strtoul(line, &end, 10);
		if (end == line)
			break;
		pids->pid[pids->count++] = (unsigned int)pid;
		line = end;
	}
	return pids->count;
}

void gpu_pids_read(struct gpu_pids *pids, pid_t pid)
{
	char path[48], line[256];
	struct stat namespace;
	FILE *file;

	memset(pids, 0, sizeof(*pids));
	pids->is_here = is_in_proc;
	pids->outermost = !stat("/proc/self/ns/pid", &namespace) && namespace.st_ino == INITIAL_PID_NAMESPACE;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "NSpid:", 6))
			parse_pids(pids, line + 6);
	if (file)
		fclose(file);
	if (!pids->count)
		pids->pid[pids->count++] = (unsigned int)pid;
}

/* ---- the bytes of the process ---- */

static int is_ours(const struct gpu_pids *pids, unsigned int pid)
{
	int i;

	/* In the outermost namespace, the driver and /proc use the same numbers. */
	if (pids->outermost)
		return pid == pids->pid[0];
	for (i = 0; i < pids->count; i++)
		if (pids->pid[i] == pid)
			return 1;
	return 0;
}

static int all_are_here(const struct nvml_process *list, unsigned int count, const struct gpu_pids *pids)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (!pids->is_here(list[i].pid))
			return 0;
	return 1;
}

int gpu_own_bytes(uint64_t *own, const struct nvml_process *list, unsigned int count, const struct gpu_pids *pids,
		  uint64_t used, uint64_t held)
{
	const struct nvml_process *ours = NULL;
	unsigned int i, found = 0;

	for (i = 0; i < count; i++) {
		if (!is_ours(pids, list[i].pid))
			continue;
		ours = &list[i];
		found++;
	}
	if (found != 1 || (!pids->outermost && !all_are_here(list, count, pids)))
		ours = NULL;
	/* In a container the list may have the machine's numbers: one process on the GPU is then known by its size. */
	if (!ours && !pids->outermost && count == 1 && list->used <= used && held > used - list->used)
		ours = list;
	if (!ours || ours->used == NVML_NOT_AVAILABLE)
		return 0;
	*own = ours->used;
	return 1;
}

const char *gpu_own_why(const struct nvml_process *list, unsigned int count, const struct gpu_pids *pids)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (is_ours(pids, list[i].pid) && list[i].used == NVML_NOT_AVAILABLE)
			return "NVML does not tell the bytes of processes here";
	if (!count && !pids->outermost)
		return "NVML lists no process (a container hides them, or none has a context on the GPU yet)";
	if (pids->outermost || all_are_here(list, count, pids))
		return "NVML does not list the process (it has no context on the GPU yet, or is ending)";
	return "NVML does not list the process (a container hides its number)";
}

/* ---- the thread ---- */

static void read_gpu(struct gpu_sampler *s, int i, struct gpu_figures *gpu)
{
	unsigned int count = GPU_PROCESSES_MAX;
	int result;

	if (!s->gpus[i].device) {
		gpu->why = "which of the machine's GPUs it is cannot be told";
		return;
	}
	if (nvml_is_split(&s->nvml, s->gpus[i].device)) {
		gpu->why = "the GPU is cut into MIG instances";
		return;
	}
	gpu->time = mt_clock_ns();
	result = nvml_read_processes(&s->nvml, s->gpus[i].device, s->list, &count);
	if (result)
		count = 0;
	if (result)
		gpu->why = nvml_word(result);
	result = nvml_read_memory(&s->nvml, s->gpus[i].device, &gpu->used, &gpu->total);
	gpu->micros = (mt_clock_ns() - gpu->time) / 1000;
	if (result) {
		gpu->why = nvml_word(result);
		return;
	}
	gpu->read = 1;
	gpu->own_known = gpu_own_bytes(&gpu->own, s->list, count, &s->pids, gpu->used, s->question.held[i]);
	if (!gpu->own_known && !gpu->why)
		gpu->why = gpu_own_why(s->list, count, &s->pids);
}

static void read_all(struct gpu_sampler *s)
{
	int i;

	memset(&s->draft, 0, sizeof(s->draft));
	s->draft.count = s->count;
	for (i = 0; i < s->count; i++)
		if (s->question.wanted >> i & 1)
			read_gpu(s, i, &s->draft.gpu[i]);
}

static void set_state(struct gpu_sampler *s, enum work_state state)
{
	s->state = state;
	pthread_cond_broadcast(&s->changed);
}

/* Opens NVML. Returns 1 when there is something to sample. */
static int begin(struct gpu_sampler *s)
{
	char why[sizeof(s->why)];
	struct gpu_name gpus[GPU_NAMES_MAX];
	int opened = !nvml_open(&s->nvml, why, sizeof(why));
	int count = opened ? gpu_names_read(gpus, &s->nvml, s->pid, s->visible) : 0;

	if (opened && !count)
		snprintf(why, sizeof(why), "the process sees no GPU that NVML knows (or only MIG instances)");
	gpu_pids_read(&s->pids, s->pid);
	pthread_mutex_lock(&s->lock);
	memcpy(s->why, why, sizeof(why));
	s->count = count;
	memcpy(s->gpus, gpus, (size_t)count * sizeof(*gpus));
	set_state(s, WORK_IDLE);
	pthread_mutex_unlock(&s->lock);
	return opened;
}

static void *work(void *context)
{
	struct gpu_sampler *s = context;
	int opened = begin(s);

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		if (s->state != WORK_ASKED) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		set_state(s, WORK_READING); /* the collector does not change the question in this state */
		pthread_mutex_unlock(&s->lock);
		read_all(s);
		pthread_mutex_lock(&s->lock);
		s->reading = s->draft;
		set_state(s, WORK_DONE);
	}
	pthread_mutex_unlock(&s->lock);
	if (opened)
		nvml_close(&s->nvml);
	pthread_mutex_lock(&s->lock);
	set_state(s, WORK_OVER);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- the collector's side ---- */

static int init_lock(struct gpu_sampler *s)
{
	pthread_condattr_t attributes;
	int failed;

	if (pthread_condattr_init(&attributes))
		return -1;
	failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) || pthread_cond_init(&s->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (failed)
		return -1;
	if (!pthread_mutex_init(&s->lock, NULL))
		return 0;
	pthread_cond_destroy(&s->changed);
	return -1;
}

static void sampler_free(struct gpu_sampler *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
}

struct gpu_sampler *gpu_sampler_start(pid_t pid, const char *visible)
{
	struct gpu_sampler *s = calloc(1, sizeof(*s));
	sigset_t all, before;
	int failed;

	if (!s || init_lock(s)) {
		free(s);
		return NULL;
	}
	s->pid = pid;
	mt_copy_text(s->visible, sizeof(s->visible), visible);
	/* The thread takes no signals: a signal must wake the collector. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&s->thread, NULL, work, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!failed)
		return s;
	sampler_free(s);
	return NULL;
}

/* Waits while the state is `state` or `other`, at most `ms`. The caller holds the lock. 1: the state is another one. */
static int wait_while(struct gpu_sampler *s, enum work_state state, enum work_state other, int ms)
{
	uint64_t end = mt_wait_clock_ns() + (uint64_t)ms * 1000000;
	struct timespec until = { (time_t)(end / MT_NSEC_PER_SEC), (long)(end % MT_NSEC_PER_SEC) };

	while (s->state == state || s->state == other)
		if (pthread_cond_timedwait(&s->changed, &s->lock, &until) == ETIMEDOUT)
			break;
	return s->state != state && s->state != other;
}

int gpu_sampler_names(struct gpu_sampler *s, struct gpu_name gpus[GPU_NAMES_MAX], int ms, char *why, size_t size)
{
	int count = 0;

	pthread_mutex_lock(&s->lock);
	if (wait_while(s, WORK_OPENING, WORK_OPENING, ms)) {
		count = s->count;
		memcpy(gpus, s->gpus, (size_t)count * sizeof(*gpus));
		mt_copy_text(why, size, s->why);
	} else {
		mt_copy_text(why, size, "NVML does not answer");
	}
	pthread_mutex_unlock(&s->lock);
	return count;
}

int gpu_sampler_ask(struct gpu_sampler *s, const struct gpu_question *question)
{
	int error = -MT_E_BUSY;

	pthread_mutex_lock(&s->lock);
	if (s->state == WORK_IDLE || s->state == WORK_DONE) {
		s->question = *question;
		set_state(s, WORK_ASKED);
		error = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return error;
}

int gpu_sampler_take(struct gpu_sampler *s, struct gpu_reading *reading, int ms)
{
	int done;

	pthread_mutex_lock(&s->lock);
	done = wait_while(s, WORK_ASKED, WORK_READING, ms) && s->state == WORK_DONE;
	if (done) {
		*reading = s->reading;
		s->state = WORK_IDLE;
	}
	pthread_mutex_unlock(&s->lock);
	return done;
}

int gpu_sampler_stop(struct gpu_sampler *s, int ms)
{
	enum work_state last = WORK_OPENING;
	int over = 0;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	s->stop = 1;
	pthread_cond_broadcast(&s->changed);
	/* The thread may go through several states before WORK_OVER. */
	while (!over && s->state != WORK_OVER) {
		last = s->state;
		over = !wait_while(s, last, last, ms);
	}
	over = s->state == WORK_OVER;
	pthread_mutex_unlock(&s->lock);
	if (!over) {
		pthread_detach(s->thread); /* the thread still uses *s, so *s is not freed */
		return 1;
	}
	pthread_join(s->thread, NULL);
	sampler_free(s);
	return 0;
}
