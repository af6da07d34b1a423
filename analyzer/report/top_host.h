/* top_host.h - the host's side of `memana top`: one line, and the verdict when it was not the GPU. */
#ifndef MEMANA_TOP_HOST_H
#define MEMANA_TOP_HOST_H

#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"
#include "query/query.h"

/* All processes that were looked at, as one: what is theirs added up, what they share from whom it is tightest. */
struct host_sum {
	uint64_t processes;
	struct query_host all;   /* words: static, or "" */
	uint64_t rose, own_rose; /* bytes in use, and the RSS of the processes; 0: not known */
};

/* 0 or -MT_E_x. */
int host_sum(struct host_sum *sum, struct db *db);

/* 1: it is full because it rose, and much of that is theirs: what was there before is not why; 0. */
int host_sum_rose(const struct host_sum *sum);

/* A cgroup with a limit, the job's own, filled while they ran, and hardly any of that is theirs: their children's, perhaps. */
int host_sum_others_rose(const struct host_sum *sum);

/* "This was not a GPU out-of-memory: ..." for each process of which that can be said. 0 or -MT_E_x. */
int top_host_verdicts(const struct text *text, struct db *db);

/* The same without its bytes, into an empty sentence. 0 or -MT_E_x. */
int top_host_say_briefly(struct sentence *sentence, struct db *db);

/* After errors of the GPU: that the host was not short. Nothing where that is not known. */
void top_host_had_room(const struct text *text, const struct host_sum *sum);

/* "Host: RSS 12.3 GiB, ..." */
void top_host_line(const struct text *text, const struct host_sum *sum);

/* Cgroup, machine and verdict as members of the open object, the same in every report. */
void top_host_json(struct doc *doc, const struct query_host *row);

#endif
