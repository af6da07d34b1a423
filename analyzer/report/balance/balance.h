/*
 * balance.h - divides the bytes of a device at a failed request into free, recorded, counted by NVML, and unknown.
 *
 *     total = free + recorded + context + code + .. + unexplained + others + unknown
 *
 * The parts between `recorded` and `unknown` come from one NVML sample near the request, as in `memana top --at oom`. `unknown` is the rest: 0 if
 * sample and driver agree, below 0 if the sample has more bytes. No part is a guess.
 */
#ifndef MEMANA_BALANCE_H
#define MEMANA_BALANCE_H

#include "base/json.h"
#include "database/db.h"
#include "query/query.h"

/* The failed request, and its device at this moment. */
struct balance_question {
	int64_t oom, device, time; /* ids of request and device; time in ns */
	uint64_t requested;
	uint64_t total;      /* bytes of the device; 0: unknown */
	int64_t free;        /* free bytes; -1: unknown */
	const char *free_by; /* source of the free bytes, as in the table oom */
	uint64_t recorded;   /* bytes that the processes of the run hold by recorded calls */
};

struct balance {
	uint64_t total; /* bytes of the device; 0: unknown, and no balance can be made */
	int64_t free;   /* free bytes; -1: unknown, and part of `unknown` */
	uint64_t recorded;
	int sampled; /* 1: `sample` has the processes' bytes */
	struct query_gpu_total
		sample;  /* without strings; `others` is without recorded bytes of processes that have no sample */
	int64_t later;   /* ns from the request to the sample */
	int64_t unknown; /* bytes of no known part */
};

/* Makes the balance. Returns 0 or -MT_E_x. */
int balance_load(struct balance *balance, const struct balance_question *question, struct db *db);

/* Returns the bytes in use without a recorded call; -1: unknown. */
int64_t balance_unrecorded(const struct balance *balance);

/* Takes one row of a table: word, bytes, and a note. The note may be "". */
typedef void balance_row(void *context, const char *word, int64_t bytes, const char *note);

/* Calls `row` for each part from the processes to the total. */
void balance_rows(const struct balance *balance, balance_row *row, void *context);

/* Writes the field "balance" into the open object. */
void balance_json(struct doc *doc, const struct balance *balance);

#endif
