/* collect.c - the collector. It sleeps while the ring is empty, because it shares the machine with a training. */
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

/* Shortest and longest sleep between two folds, ms. */
enum { SLEEP_BUSY = 1, SLEEP_IDLE = 20 };

enum { LOCK_TRIES = 10, LOCK_MS = 10 };

#define UNSAFE_MS 500u /* longest time that an event is in the ring and not in the trace, ms */

struct collector {
	const char *ring_path;
	struct target target;
	struct mt_rules *rules;
	struct mt_fold *fold;
	struct ring_header *header; /* header of the fold's ring */
	struct run_result result;
	int created;              /* 1: the trace exists */
	int trace_lock;           /* descriptor that holds the lock of the trace; -1: none */
	uint64_t unsafe_since;    /* ms; time of the oldest event that is not in the trace; 0: all are in the trace */
	struct sampling sampling; /* valid if created */
	struct own_pass pass;     /* valid if created */
	struct ending ending;
	uint64_t alive;       /* ns; time of the newest look that found the recording running */
	enum mt_end why;      /* how the recording ended */
	struct wishes wishes; /* wishes of the user, under --paused */
	int stopping;         /* number of folds since the agent was told to stop; it may still write an event */
	int goes_on;          /* 1: the recording is over, and another one may follow in the same ring */
};

static int left_behind; /* 1: a thread hangs in the driver and cannot be joined */

/* Set by SIGTERM, SIGINT and SIGHUP: take the events of the ring and finish at once. */
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

/* Closes `first` and all higher descriptors. An open copy of the target's pipe would keep the pipe's reader waiting. */
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

/* Keeps descriptors 0 to 3 alone: /dev/null as standard input, output and error, and the lock as 3. */
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

/* Returns 1 in the parent, 0 in the daemon, or an error. The daemon keeps the lock. */
static int daemonise(int lock)
{
	pid_t pid = fork();

	if (pid < 0)
		return -MT_E_SYSTEM;
	if (pid)
		return 1;
	setsid();
	umask(umask(077) & ~0600u); /* the collector must be able to open its own files a second time */
	reset_signals();
	if (keep_only(lock)) /* the working folder stays: a relative LD_LIBRARY_PATH must lead to the same NVML */
		return -MT_E_SYSTEM;
	return flock(3, LOCK_EX) ? -MT_E_SYSTEM : 0; /* on NFS, fork loses the lock */
}

/* The folder of the run; "" if the agent found no room there and made the ring in another folder. */
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

/* Chooses the name of the trace, and makes and locks its file. Returns the descriptor or an error. */
static int choose_name(struct collector *c, char *path, int *plain)
{
	struct output_owner owner = owner_of(c);
	int lock, saved;

	*plain = 0;
	/* A collector that died may have chosen the name already. */
	if (rundir_own_trace(c->ring_path, path, MEMREC_PATH_MAX) && access(path, F_OK))
		return filelock_open(path, O_CREAT | O_EXCL);
	lock = output_claim(path, c->header->output, &owner, plain);
	if (lock != -MT_E_SYSTEM ||
	    (errno != EACCES && errno != EPERM && errno != EROFS && errno != ENOENT && errno != ENOTDIR))
		return lock;
	*plain = 0;
	saved = errno;
	lock = output_claim_fallback(path, c->header->output, &owner);
	errno = saved; /* errno says why the wanted folder failed, also if the fallback fails */
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

/* Goes on with the trace of a collector that died. Begins the trace anew if the trace has no header yet. */
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

/* 1: the recording is over. Call this function before a fold: the fold then takes all events before the end. */
static int is_over(struct collector *c)
{
	uint64_t now = mt_clock_ns(); /* read before target_alive: the process may end right after that look */
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
		return SLEEP_IDLE; /* a full disk stays full for longer than a millisecond */
	if (folded)
		return SLEEP_BUSY;
	return ms * 2 < SLEEP_IDLE ? ms * 2 : SLEEP_IDLE;
}

static uint64_t now_ms(void)
{
	return mt_wait_clock_ns() / 1000000;
}

/*
 * With --keep, the writer sometimes replaces the trace by a new file, and locks the new file itself. The old file has
 * no name then. Closing its descriptor frees its disk space.
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
 * Writes events that have waited for UNSAFE_MS to the trace: a container or a machine that ends takes the ring along.
 * Earlier writes would make small chunks, which compress badly.
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
 * Folds until the recording is over. A process without events gets no trace. After an error of the writer, the events
 * wait in the ring, and the next fold tries to write them: the disk may have room by then.
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
			c->why = MT_END_STEPS; /* the fold keeps the reason of mt_fold_end_with_step */
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

/* 1: an earlier collector closed the trace of the newest recording before it died. */
static int is_over_already(const struct collector *c)
{
	char path[MEMREC_PATH_MAX];

	return c->wishes.page && atomic_load(&c->header->stop) && !rundir_own_trace(c->ring_path, path, sizeof(path));
}

/* Collects one recording. *goes_on: as in struct collector. */
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
				    &result); /* written before the ring is removed: the launcher waits for both */
		asked_to_end = 0;             /* a signal of memrec detach is for one recording */
	} while (goes_on && wishes_wait(ring_path, &told_to_finish));
	if (goes_on ? !told_to_finish : rundir_is_spent(&result))
		unlink(ring_path);
	output_dir(dir, ring_path);
	rundir_clean(dir);
	return 0;
}

/* Agent and launcher take the lock for a moment to see whether a collector has it, so this function tries ten times. */
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
		_exit(mt_exit_code(error)); /* exit could wait for a lock of the thread that hangs */
	return error > 0 ? MEMREC_EXIT_OK : mt_exit_code(error);
}
