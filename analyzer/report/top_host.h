/* top_host.h - host memory in `memana top`: one line; and a verdict, if something else than the GPU ended the run. */
#ifndef MEMANA_TOP_HOST_H
#define MEMANA_TOP_HOST_H

#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "database/db.h"
#include "query/query.h"

/* All sampled processes as one: sums of their own memory; of shared memory, the tightest numbers. */
struct host_sum {
	uint64_t processes;
	struct query_host all;   /* static words, or "" */
	uint64_t rose, own_rose; /* rise of the bytes in use; rise of the processes' RSS; 0: unknown */
};

/* Sums up the sampled processes. Returns 0 or -MT_E_x. */
int host_sum(struct host_sum *sum, struct db *db);

/* Prints "This was not a GPU out-of-memory: ..." for each process with this verdict. Returns 0 or -MT_E_x. */
int top_host_verdicts(const struct text *text, struct db *db);

/* Says the verdict without bytes into an empty sentence. Returns 0 or -MT_E_x. */
int top_host_say_briefly(struct sentence *sentence, struct db *db);

/* Prints, after errors of the GPU, that the host was not short of memory. Prints nothing if it was, or if this is unknown. */
void top_host_had_room(const struct text *text, const struct host_sum *sum);

/* Prints "Host: RSS 12.3 GiB, ...". */
void top_host_line(const struct text *text, const struct host_sum *sum);

/* Writes cgroup, machine and verdict into the open object, the same in all reports. */
void top_host_json(struct doc *doc, const struct query_host *row);

#endif
