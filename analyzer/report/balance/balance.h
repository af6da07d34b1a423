/*
 * balance.h - divides all bytes of a device at a failed request: free, recorded, counted by NVML, and unknown.
 *
 *     total = free + recorded + context + code + .. + unexplained + others + unknown
 *
 * The parts between `recorded` and `unknown` come from one NVML sample near the request, as in `memana top --at oom`.
 * `unknown` is the rest: 0 if the sample and the driver agree, below 0 if the sample has more. No part is a guess.
 */
#ifndef MEMANA_BALANCE_H
#define MEMANA_BALANCE_H

#include "base/json.h"
#include "database/db.h"
#include "query/query.h"

/* The failed request, and the bytes of its device at that time. */
struct balance_question {
	int64_t oom, device, time; /* ids, ns */
	uint64_t requested;
	uint64_t total;      /* 0: unknown */
	int64_t free;        /* -1: unknown */
	const char *free_by; /* as in the table oom */
	uint64_t recorded;   /* bytes that all processes of the run hold by recorded calls */
};

struct balance {
	uint64_t total; /* bytes; 0: unknown, and there is no balance */
	int64_t free;   /* bytes; -1: unknown, and counted in `unknown` */
	uint64_t recorded;
	int sampled; /* 1: there is a sample with the processes' bytes */
	struct query_gpu_total
		sample;  /* without its strings; `others` leaves out recorded bytes of processes without a sample */
	int64_t later;   /* ns from the request to the sample */
	int64_t unknown; /* bytes */
};

/* 0 or -MT_E_x. */
int balance_load(struct balance *balance, const struct balance_question *question, struct db *db);

/* Bytes in use without a recorded call; -1: unknown. */
int64_t balance_unrecorded(const struct balance *balance);

/* One row of a table: bytes, and a note that may be "". */
typedef void balance_row(void *context, const char *word, int64_t bytes, const char *note);

/* Calls `row` for each part between the processes and the total. */
void balance_rows(const struct balance *balance, balance_row *row, void *context);

/* Writes the field "balance" of the open object. */
void balance_json(struct doc *doc, const struct balance *balance);

#endif
