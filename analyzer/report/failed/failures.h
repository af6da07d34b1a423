/*
 * failures.h - the failed requests of a run. If the driver refuses a request, a caching allocator gives back its cache and asks again; only then the
 * request fails. Refusals of the driver up to a second before a failure are part of this failure. A refusal without a failure did not stop the
 * program.
 */
#ifndef MEMANA_FAILURES_H
#define MEMANA_FAILURES_H

#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "database/db.h"

struct oom_failure {
	int64_t id, process, device;   /* ids */
	int64_t pid, rank, number;     /* rank -1: none; number: the device as people count */
	char kind[8], name[128];       /* kind and name of the device */
	uint64_t total;                /* bytes of the device; 0: unknown */
	char source[8], phase[24];     /* source: "tensor" or "driver" */
	int64_t time, seq, step, node; /* node 0: the request has no stack */
	int64_t processes, steps;      /* number of recorded processes; largest number of ended steps of a process */
	uint64_t requested;
	int64_t free;      /* free bytes; -1: unknown */
	char free_by[8];   /* "driver", "nvml" or "bound" */
	int64_t others;    /* bytes that other processes use; -1: unknown */
	uint64_t refusals; /* number of the driver's refusals before it */
	int is_part;       /* 1: part of a later failure; or `had`, in a run with a failure */
	int had; /* 1: refused by the driver and granted soon after, when the allocator had given back its cache */
	char category[32];              /* category of the request by rule or phase */
	char function[256], place[256]; /* "": unknown */
};

struct oom_failures {
	struct oom_failure *failure; /* in the order of the table oom: by time */
	size_t count, room;
};

/*
 * Loads all failed requests of the run. A request with is_part is no failure of its own: its failure counts it in `refusals`, and has the driver's
 * figures (free, free_by, others). Reads only the tables oom, process, device and place. Returns 0 or -MT_E_x. The caller releases `all`, also after
 * an error.
 */
int oom_failures_load(struct oom_failures *all, struct db *db);
void oom_failures_release(struct oom_failures *all);

/*
 * Says "Out of memory on GPU 0 (press D): 30.0 GiB asked for by f (x.py:1) of rank 3 in forward of step 4 at 8.2 s, 1.0 GiB free", without a full
 * stop. The first words are `what`; "(press D)" is `note`. Unknown facts are left out.
 */
void oom_say_failure(struct sentence *sentence, const char *what, const struct oom_failure *it, const char *note);

/* Returns the source of the free bytes in words: "the driver says so". Static storage. */
const char *oom_free_words(const struct oom_failure *failure);

/* Returns the bytes that were missing for the request. */
static inline uint64_t oom_missing(const struct oom_failure *it)
{
	return it->free > 0 && (uint64_t)it->free < it->requested ? it->requested - (uint64_t)it->free : it->requested;
}

#endif
