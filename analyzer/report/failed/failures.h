/*
 * failures.h - the failed requests of a run.
 *
 * A caching allocator is refused by the driver, gives back its cache, asks again and then gives up. The driver's refusals up to a
 * second before a failure are part of the failure. The program survived a refusal without such an end.
 */
#ifndef MEMANA_FAILURES_H
#define MEMANA_FAILURES_H

#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "database/db.h"

struct oom_failure {
	int64_t id, process, device;   /* ids */
	int64_t pid, rank, number;     /* rank -1: none; number of the device */
	char kind[8], name[128];       /* the device's */
	uint64_t total;                /* the device's, 0: unknown */
	char source[8], phase[24];     /* source: tensor, driver */
	int64_t time, seq, step, node; /* node 0: no stack */
	int64_t processes, steps;      /* the run's: recorded; the most that ended in one of them */
	uint64_t requested;
	int64_t free;      /* -1: unknown */
	char free_by[8];   /* driver, nvml, bound */
	int64_t others;    /* in use by others than the process, -1: unknown */
	uint64_t refusals; /* by the driver before it */
	int is_part;       /* 1: it is such a refusal itself, or `had` in a run in which something failed */
	int had;           /* 1: refused by the driver, and had soon after: the allocator let go of what it kept */
	char category[32]; /* the request's, by rule or phase */
	char function[256], place[256]; /* "": unknown */
};

struct oom_failures {
	struct oom_failure *failure; /* in the order of `oom`: of time */
	size_t count, room;
};

/*
 * All failed requests of the run, of every process and device, for lists of them. A request with is_part is no failure of its own:
 * `refusals` of the failure that it led to counts it, with the driver's words (free, free_by, others). Needs the tables oom, process, device and
 * place alone. 0 or -MT_E_x. Release in any case.
 */
int oom_failures_load(struct oom_failures *all, struct db *db);
void oom_failures_release(struct oom_failures *all);

/*
 * "Out of memory on GPU 0 (press D): 30.0 GiB asked for by f (x.py:1) of rank 3 in forward of step 4 at 8.2 s, 1.0 GiB free",
 * and no end of the sentence. The first words are `what`; `note`: "(press D)". Facts that `it` lacks are left out.
 */
void oom_say_failure(struct sentence *sentence, const char *what, const struct oom_failure *it, const char *note);

/* The source of the free bytes: "the driver says so". Static storage. */
const char *oom_free_words(const struct oom_failure *failure);

/* Bytes that are missing for the request. */
static inline uint64_t oom_missing(const struct oom_failure *it)
{
	return it->free > 0 && (uint64_t)it->free < it->requested ? it->requested - (uint64_t)it->free : it->requested;
}

#endif
