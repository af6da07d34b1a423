/* top_host.h - host memory in `memana top`: one line, and a verdict if not the GPU ended the run. */
#ifndef MEMANA_TOP_HOST_H
#define MEMANA_TOP_HOST_H

#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"
#include "query/query.h"

/* All sampled processes as one: sums of their own memory; of shared memory the tightest figures. */
struct host_sum {
	uint64_t processes;
	struct query_host all;   /* words: static, or "" */
	uint64_t rose, own_rose; /* rise of the bytes in use, and of the processes' RSS; 0: unknown */
};

/* 0 or -MT_E_x. */
int host_sum(struct host_sum *sum, struct db *db);

/*
 * 1: memory in use rose, and the processes caused much of the rise. Memory from before the run is not the cause then.
 */
int host_sum_rose(const struct host_sum *sum);

/*
 * 1: the cgroup has a limit and was filled during the run, but hardly by the recorded processes. Their children may
 * have filled it.
 */
int host_sum_others_rose(const struct host_sum *sum);

/* Prints "This was not a GPU out-of-memory: ..." for each process with such a verdict. Returns 0 or -MT_E_x. */
int top_host_verdicts(const struct text *text, struct db *db);

/* The verdict without bytes, into an empty sentence. Returns 0 or -MT_E_x. */
int top_host_say_briefly(struct sentence *sentence, struct db *db);

/* After errors of the GPU: prints that the host had memory left, if this is known. */
void top_host_had_room(const struct text *text, const struct host_sum *sum);

/* "Host: RSS 12.3 GiB, ..." */
void top_host_line(const struct text *text, const struct host_sum *sum);

/* Adds cgroup, machine and verdict to the open object, in one form for all reports. */
void top_host_json(struct doc *doc, const struct query_host *row);

#endif
