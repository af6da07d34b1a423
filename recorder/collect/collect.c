/* collect.c - the collector. It shares a machine with a training: it sleeps whenever there is nothing to do. */
#include "collect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "ending.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"
#include "memtrace/fold.h"
#include "memtrace/writer.h"
#include "output.h"
#include "own_pass.h"
#include "run/rundir.h"
#include "run/say.h"
#include "run/target.h"
#include "sampling.h"
#include "wishes.h"

/* How long to sleep, ms: at once again while there is much to do, slowly when there is not. */
enum { SLEEP_BUSY = 1, SLEEP_IDLE = 20 };

enum { LOCK_TRIES = 10, LOCK_MS = 10 };

#define UNSAFE_MS 500u /* how long an event may be in the ring alone */

struct collector {
	const char *ring_path;
	struct target target;
	struct mt_rules *rules;
	struct mt_fold *fold;
	struct ring_header *header; /* header of the fold's ring */
	struct run_result result;
	int created;              /* the trace is there */
	int trace_lock;           /* descriptor: nobody takes the file away while it is written; -1 */
	uint64_t unsafe_since;    /* ms; since when events wait to be written, 0: none do */
	struct sampling sampling; /* once the trace is there */
	struct own_pass pass;     /* the same */
	struct ending ending;
	uint64_t alive;       /* ns; when the recording was last seen to go on. Events of a successor are later */
	enum mt_end why;      /* how it ended */
	struct wishes wishes; /* the user's, under --paused */
	int stopping;         /* the agent was told to stop: what it is writing comes in a moment */
	int goes_on;          /* the recording is over, and another one may follow in the same ring */
};

static int left_behind; /* a thread that hangs in the driver */

/* Set by SIGTERM, SIGINT and SIGHUP: drain and finish at once. */
static volatile sig_atomic_t told_to_finish;

static volatile sig_atomic_t asked_to_end; /* number of ENDING_SIGNALs, 2 at most */

static void on_signal(int number)
{
	if (number != ENDING_SIGNAL)
		told_to_finish = 1;
	else if (asked_to_end < 2)
		asked_to_end++;
}

static void reset_signals(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;
	int number;

	for (number = 1; number < NSIG; number++)
		sigaction(number, &action, NULL);
	action.sa_handler = on_signal;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(ENDING_SIGNAL, &action, NULL);
	action.sa_handler = SIG_IGN; /* a write that fails is an error value here */
	sigaction(SIGXFSZ, &action, NULL);
	sigaction(SIGPIPE, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Closes `first` and all above: whoever reads a pipe of the target must see its end when the target ends. */
static void close_from(int first)
{
	long fd, max;

#ifdef SYS_close_range
	if (!syscall(SYS_close_range, first, ~0u, 0))
		return;
#endif
	max = sysconf(_SC_OPEN_MAX);
	for (fd = first; fd < (max > 0 ? max : 65536); fd++)
		close((int)fd);
}

/* Standard input, output and error on /dev/null, the lock on 3, nothing else. */
static int keep_only(int lock)
{
	int null, fd, kept = fcntl(lock, F_DUPFD, 3);

	if (kept < 0 || dup2(kept, 3) < 0)
		return -MT_E_SYSTEM;
	close_from(4);
	null = open("/dev/null", O_RDWR);
	for (fd = 0; fd < 3; fd++)
		if (null < 0 || (null != fd && dup2(null, fd) < 0))
			return -MT_E_SYSTEM;
	if (null > 3)
		close(null);
	return 0;
}

/* 1 in the parent, 0 in the daemon, or an error. The lock goes along. */
static int daemonise(int lock)
{
	pid_t pid = fork();

	if (pid < 0)
		return -MT_E_SYSTEM;
	if (pid)
		return 1;
	setsid();
	umask(umask(077) & ~0600u); /* the collector opens its own files more than once */
	reset_signals();
	if (keep_only(lock)) /* the working folder stays: a relative LD_LIBRARY_PATH must lead to the same NVML */
		return -MT_E_SYSTEM;
	return flock(3, LOCK_EX) ? -MT_E_SYSTEM : 0; /* ours already, but on NFS the fork lost it */
}

/* The folder of the run; "" when the agent found no room there and put the ring elsewhere. */
static const char *run_dir_of(const struct collector *c)
{
	const char *run_dir = c->header->run_dir;
	size_t size = strlen(run_dir);

	return size && !strncmp(c->ring_path, run_dir, size) && c->ring_path[size] == '/' ? run_dir : "";
}

static struct output_owner owner_of(const struct collector *c)
{
	uint32_t recording = atomic_load(&c->header->recording);

	return (struct output_owner){ run_dir_of(c),   c->ring_path,       c->header->host, c->header->pid,
				      c->header->rank, c->header->boot_id, recording };
}

/* The name of the trace, and its file, locked: the descriptor or an error. */
static int choose_name(struct collector *c, char *path, int *plain)
{
	struct output_owner owner = owner_of(c);
	int lock, saved;

	*plain = 0;
	/* A collector that died may have chosen it already. */
	if (rundir_own_trace(c->ring_path, path, MEMREC_PATH_MAX) && access(path, F_OK))
		return filelock_open(path, O_CREAT | O_EXCL);
	lock = output_claim(path, c->header->output, &owner, plain);
	if (lock != -MT_E_SYSTEM ||
	    (errno != EACCES && errno != EPERM && errno != EROFS && errno != ENOENT && errno != ENOTDIR))
		return lock;
	*plain = 0;
	saved = errno;
	lock = output_claim_fallback(path, c->header->output, &owner);
	errno = saved; /* the reason, if this was in vain, too */
	return lock;
}

/* 1: `path` is the name that one trace alone gets. */
static int is_plain(const struct collector *c, const char *path)
{
	struct output_owner owner = owner_of(c);
	char name[MEMREC_PATH_MAX];
	int plain;

	return !output_name(name, c->header->output, &owner, 0, &plain) && plain && !strcmp(name, path);
}

/* A trace that a dead collector has begun: goes on with it, or, if it says nothing yet, begins it anew. */
static int resume_trace(struct collector *c, const char *path)
{
	char unfinished[MEMREC_PATH_MAX + sizeof(MT_KEEP_SUFFIX)];
	int error;

	c->trace_lock = filelock_open(path, 0);
	if (c->trace_lock < 0)
		return c->trace_lock;
	error = mt_fold_resume(c->fold, path);
	if (error == -MT_E_MAGIC || error == -MT_E_TRUNCATED)
		error = mt_fold_create(c->fold, path);
	snprintf(unfinished, sizeof(unfinished), "%s" MT_KEEP_SUFFIX, path);
	unlink(unfinished);
	return error;
}

static void begin_trace(struct collector *c, const char *path, int plain)
{
	c->created = 1;
	c->result.plain = plain;
	snprintf(c->result.trace, sizeof(c->result.trace), "%s", path);
	wishes_trace(&c->wishes, path);
	sampling_begin(&c->sampling, c->fold, c->target.pid, target_alive(&c->target));
	own_pass_begin(&c->pass, c->fold, c->result.trace, c->header->keep);
}

static int create_trace(struct collector *c)
{
	char path[MEMREC_PATH_MAX];
	int plain, error;

	if (rundir_own_trace(c->ring_path, path, sizeof(path)) && !access(path, F_OK)) {
		error = resume_trace(c, path);
		if (!error)
			begin_trace(c, path, is_plain(c, path));
		return error;
	}
	c->trace_lock = choose_name(c, path, &plain);
	if (c->trace_lock < 0)
		return c->trace_lock;
	error = rundir_set_trace(c->ring_path, path);
	if (!error)
		error = mt_fold_create(c->fold, path);
	if (error) {
		int saved = errno;

		unlink(path);
		rundir_set_trace(c->ring_path, NULL);
		output_restore_old(path);
		errno = saved;
		return error;
	}
	begin_trace(c, path, plain);
	return 0;
}

static void note_error(struct collector *c, int error)
{
	c->result.error = -error;
	c->result.system_error = error == -MT_E_SYSTEM ? errno : 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * MT_NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* Is it over? Asked before a fold, so that the fold sees all that came before the end. */
static int is_over(struct collector *c)
{
	uint64_t now = now_ns(); /* before the looks: who was there may be gone after them */
	uint32_t ended = atomic_load(&c->header->ended);
	int alive = !ended && target_alive(&c->target);

	if (alive)
		c->alive = now;
	if (told_to_finish || ending_is_due(&c->ending, c->fold, asked_to_end, now)) {
		atomic_store(&c->header->stop, 1);
		c->why = MT_END_SIGNAL;
		return 1;
	}
	if (wishes_tick(&c->wishes, c->fold, now) || (c->wishes.page && atomic_load(&c->header->stop))) {
		c->why = MT_END_STOPPED;
		if (atomic_exchange(&c->header->stop, 1) && c->stopping++)
			return 1;
	}
	if (ended) {
		c->why = ended - 1 <= MT_END_RECOVERED ? (enum mt_end)(ended - 1) : MT_END_EXIT;
		return 1;
	}
	if (alive)
		return 0;
	c->why = atomic_load(&c->header->leaving) ? MT_END_EXIT : MT_END_KILLED;
	return 1;
}

/* The next sleep after one of `ms`. */
static int rest(int ms, uint64_t folded, int error)
{
	if (error)
		return SLEEP_IDLE; /* the disk is full: it will not change within a millisecond */
	if (folded)
		return SLEEP_BUSY;
	return ms * 2 < SLEEP_IDLE ? ms * 2 : SLEEP_IDLE;
}

static uint64_t now_ms(void)
{
	return mt_wait_clock_ns() / 1000000;
}

/*
 * With --keep a new file takes the name of the trace now and then, and the writer has that one locked. The old one is to
 * go, so nobody may have it open.
 */
static void let_old_file_go(struct collector *c)
{
	struct stat st;

	if (c->trace_lock < 0 || fstat(c->trace_lock, &st) || st.st_nlink)
		return;
	close(c->trace_lock);
	c->trace_lock = -1;
}

/*
 * Events that are not in the trace are lost with the ring: when a container ends, or a machine. Small chunks are poor
 * ones, so not before events have waited for a while.
 */
static int keep_safe(struct collector *c, uint64_t folded)
{
	uint64_t now;

	if (!folded && !c->unsafe_since)
		return 0;
	now = now_ms();
	if (!c->unsafe_since)
		c->unsafe_since = now;
	if (now - c->unsafe_since < UNSAFE_MS)
		return 0;
	c->unsafe_since = 0;
	return mt_fold_flush(c->fold);
}

static int has_events(const struct ring_header *header)
{
	uint64_t first = header->first_seq ? header->first_seq : 1;

	return atomic_load(&header->next_seq) > first;
}

/*
 * Folds until it is over. A process that never records anything gets no trace. An error of the writer is no reason to
 * stop: events wait in the ring while it has room, and the disk may have some again later.
 */
static void follow(struct collector *c)
{
	int over, error, ms = SLEEP_BUSY;
	uint64_t folded;

	do {
		over = is_over(c);
		error = 0;
		folded = 0;
		if (!c->created && has_events(c->header)) {
			error = create_trace(c);
			if (error)
				break;
		}
		if (c->created) {
			sampling_prepare(&c->sampling);
			error = mt_fold_run(c->fold, over, &folded);
		}
		if (c->header->keep)
			let_old_file_go(c);
		if (error > 0) {
			c->why = MT_END_STEPS; /* unless the fold knows better */
			return;
		}
		if (c->created && !error) {
			sampling_tick(&c->sampling, folded, !over && target_alive(&c->target));
			error = keep_safe(c, folded);
			own_pass_tick(&c->pass, atomic_load(&c->header->next_seq));
		}
		ms = rest(ms, folded, error);
		if (!over)
			target_wait(&c->target, ms);
	} while (!over || (folded && !error));
	if (error)
		note_error(c, error);
}

static void note_sources(struct collector *c)
{
	size_t i;

	for (i = 0; i < MT_SOURCE_COUNT; i++) {
		uint32_t state = atomic_load(&c->header->source_state[i]);

		if (state != MT_SOURCE_FAILED + 1 && state != MT_SOURCE_ON + 1 && state != MT_SOURCE_PARTLY + 1)
			continue;
		memcpy(c->result.why[i], c->header->source_why[i], sizeof(c->result.why[i]) - 1);
		if (state != MT_SOURCE_FAILED + 1 && c->result.why[i][0])
			c->result.noted |= 1 << i;
	}
}

static void finish(struct collector *c)
{
	struct mt_fold_summary summary = { .events = 0 };
	int error;

	if (c->created)
		left_behind = sampling_end(&c->sampling, target_alive(&c->target));
	note_sources(c);
	c->result.pid = c->header->pid;
	c->result.rank = c->header->rank;
	c->result.recording = atomic_load(&c->header->recording);
	c->goes_on = c->wishes.page && !told_to_finish && !atomic_load(&c->header->ended) && target_alive(&c->target);
	atomic_store(&c->header->stop, 1);
	mt_fold_alive(c->fold, c->alive);
	c->pass.hurry = told_to_finish;
	error = mt_fold_close(c->fold, c->why, &summary);
	own_pass_end(&c->pass);
	if (error && c->created)
		note_error(c, error);
	run_result_summary(&c->result, &summary);
	wishes_end(&c->wishes, summary.events, summary.steps);
}

static int open_ring(struct collector *c)
{
	char message[256];
	struct ring_header *header = malloc(sizeof(*header));
	int error = header ? rundir_read_header(c->ring_path, header) : -MT_E_MEMORY;

	if (!error)
		error = mt_rules_new(&c->rules, message, sizeof(message));
	if (!error)
		error = mt_fold_open(&c->fold, c->ring_path, c->rules, NULL);
	if (!error) {
		c->header = mt_fold_header(c->fold);
		target_init(&c->target, (pid_t)header->pid, header->start_ticks);
		wishes_begin(&c->wishes, header, c->ring_path);
		ending_begin(&c->ending, header);
	}
	free(header);
	return error;
}

/* The trace of the newest recording is closed, and the collector died after that. */
static int is_over_already(const struct collector *c)
{
	char path[MEMREC_PATH_MAX];

	return c->wishes.page && atomic_load(&c->header->stop) && !rundir_own_trace(c->ring_path, path, sizeof(path));
}

/* One recording. *goes_on as in struct collector. */
static int collect_one(const char *ring_path, struct run_result *result, int *goes_on)
{
	struct collector *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return -MT_E_MEMORY;
	c->ring_path = ring_path;
	c->trace_lock = -1;
	error = open_ring(c);
	if (!error) {
		atomic_store(&c->header->collector_pid, (uint32_t)getpid());
		if (!is_over_already(c))
			follow(c);
		finish(c);
		target_release(&c->target);
	}
	if (c->trace_lock >= 0)
		close(c->trace_lock);
	mt_rules_free(c->rules);
	*result = c->result;
	*goes_on = c->goes_on;
	free(c);
	return error;
}

int collect_ring(const char *ring_path, struct run_result *result)
{
	int goes_on;

	return collect_one(ring_path, result, &goes_on);
}

static int collect_and_report(const char *ring_path)
{
	struct run_result result;
	char dir[MEMREC_PATH_MAX];
	int goes_on, error;

	do {
		error = collect_one(ring_path, &result, &goes_on);
		if (error)
			return error;
		rundir_write_result(ring_path, goes_on,
				    &result); /* before the ring goes: the launcher waits for that */
		asked_to_end = 0;             /* memrec detach meant this recording */
	} while (goes_on && wishes_wait(ring_path, &told_to_finish));
	if (goes_on ? !told_to_finish : rundir_is_spent(&result))
		unlink(ring_path);
	output_dir(dir, ring_path);
	rundir_clean(dir);
	return 0;
}

/* Whoever looks whether a collector is there (agent, launcher) has the lock for a moment. */
static int lock_ring(const char *ring_path)
{
	int tries, lock = rundir_lock_ring(ring_path);

	for (tries = 0; lock == -MT_E_BUSY && tries < LOCK_TRIES; tries++) {
		poll(NULL, 0, LOCK_MS);
		lock = rundir_lock_ring(ring_path);
	}
	return lock;
}

int collect_main(const char *ring_path)
{
	char *absolute = realpath(ring_path, NULL);
	int lock = absolute ? lock_ring(absolute) : -MT_E_SYSTEM, error;

	error = lock < 0 ? lock : daemonise(lock);
	if (!error)
		error = collect_and_report(absolute);
	free(absolute);
	if (left_behind)
		_exit(mt_exit_code(error)); /* leaving in order might wait for what that thread holds */
	return error > 0 ? MEMREC_EXIT_OK : mt_exit_code(error);
}
