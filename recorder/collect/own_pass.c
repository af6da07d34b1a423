#include "own_pass.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef EVENTS_LEAST            /* make bench-record builds a collector without the pass */
#define EVENTS_LEAST (1u << 20) /* a reader takes a quarter of a second for as many */
#endif
#define KEEP_LEAST (4u << 20) /* bytes: a flight recorder's file of less is read in half a second */
#define TAKEN_AT_ONCE 65536u
#define LATE_MOST (1u << 25)  /* events that are taken when the program is gone: as long as a reader would take later */
#define LATE_HURRY (1u << 20) /* the same where somebody wants the collector to be gone */
#define BEHIND (1u << 20)     /* events that are taken without a pause before the pass hastens */
#define NICE 5
#define WAIT_NS 50000000 /* for the collector to write more */

static void wait_for_more(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
}

static void give_up(struct own_pass *pass)
{
	mt_facts_free(pass->facts);
	mt_rules_free(pass->rules);
	pass->facts = NULL;
	pass->rules = NULL;
}

/* Rules of its own: a tracker may note things in them. The file is noted before it is opened: another one that comes between is seen later. */
static void begin(struct own_pass *pass)
{
	char message[256];

	if (stat(pass->trace, &pass->file))
		pass->file = (struct stat){ .st_ino = 0 };
	if (!mt_rules_new(&pass->rules, message, sizeof(message)))
		pass->facts = mt_facts_new(pass->trace, pass->rules);
}

static int is_read(const struct own_pass *pass, const struct stat *file)
{
	return file->st_ino == pass->file.st_ino && file->st_dev == pass->file.st_dev;
}

/* A flight recorder has put another file in the place of the one that is read: what it let go is in no figure of that. */
static void begin_again(struct own_pass *pass)
{
	struct stat now;

	if (!pass->facts || stat(pass->trace, &now) || is_read(pass, &now))
		return;
	give_up(pass);
	begin(pass);
}

static void go_slowly(struct own_pass *pass)
{
	pass->hastens = 0;
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
}

/* A thread cannot raise its own priority. It ends, and the collector starts another one. */
static int is_to_hasten(const struct own_pass *pass)
{
	return !pass->hastens && pass->run >= BEHIND;
}

static void *follow(void *context)
{
	struct own_pass *pass = context;
	int taken = 1;

	if (!pass->hastens)
		go_slowly(pass);
	if (!pass->rules)
		begin(pass);
	while (pass->facts && !pass->stop && taken >= 0 && !is_to_hasten(pass)) {
		taken = mt_facts_take(pass->facts, TAKEN_AT_ONCE);
		pass->run += TAKEN_AT_ONCE;
		if (!taken) {
			pass->run = 0;
			if (pass->hastens)
				go_slowly(pass);
			wait_for_more();
		}
		if (pass->keeps)
			begin_again(pass);
	}
	if (taken < 0)
		give_up(pass);
	pass->behind = pass->facts && is_to_hasten(pass);
	return NULL;
}

static void join(struct own_pass *pass)
{
	pass->stop = 1;
	if (pass->threaded)
		pthread_join(pass->thread, NULL);
	pass->threaded = 0;
}

/* The name may have become that of another trace: facts are of the file that is written. */
static int make(void *context, int fd, uint64_t events, uint8_t **data, size_t *size)
{
	struct own_pass *pass = context;
	struct stat written;
	uint64_t most = pass->hurry ? LATE_HURRY : LATE_MOST, late = 0;
	int taken = 1;

	join(pass);
	if (pass->keeps)
		begin_again(pass);
	if (pass->facts && events > mt_facts_taken(pass->facts) + most)
		return 0; /* the pass would end without facts after all that time */
	while (pass->facts && taken > 0 && late < most) {
		taken = mt_facts_take(pass->facts, TAKEN_AT_ONCE);
		late += TAKEN_AT_ONCE;
	}
	return pass->facts && !taken && !fstat(fd, &written) && is_read(pass, &written) &&
	       !mt_facts_end(pass->facts, data, size);
}

void own_pass_begin(struct own_pass *pass, struct mt_fold *fold, const char *trace, uint64_t keep)
{
	if (keep && keep < KEEP_LEAST)
		return;
	pass->keeps = keep != 0;
	pass->trace = trace;
	pass->maker = (struct mt_facts_maker){ mt_facts_identity(), pass, make };
	mt_fold_facts(fold, &pass->maker);
}

/* Signals are for the collector's own thread. */
static void start(struct own_pass *pass)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pass->threaded = !pthread_create(&pass->thread, NULL, follow, pass);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void own_pass_tick(struct own_pass *pass, uint64_t events)
{
	if (pass->trace && !pass->began && events >= EVENTS_LEAST) {
		pass->began = 1;
		start(pass);
	}
	if (!pass->behind)
		return;
	pthread_join(pass->thread, NULL); /* it has ended */
	pass->behind = 0;
	pass->hastens = 1;
	start(pass);
}

void own_pass_end(struct own_pass *pass)
{
	join(pass);
	give_up(pass);
}
