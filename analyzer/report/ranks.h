/*
 * ranks.h - compares GPUs: the highest peak, whether all peaks have the same place, and how even each phase is. The name of a GPU is the rank of the
 * process that made its peak.
 */
#ifndef MEMANA_RANKS_H
#define MEMANA_RANKS_H

#include <stddef.h>
#include <stdint.h>
#include "base/symbol.h"
#include "database/db.h"

#define RANKS_WORD_MAX 32
#define RANKS_PLACE_MAX 256

struct rank {
	int64_t device, number; /* id in the database; number for --device */
	int64_t rank, pid;      /* rank -1: none */
	uint64_t bytes;         /* bytes of the peak */
	int64_t step;
	char phase[RANKS_WORD_MAX];
	uint64_t site_bytes;                                   /* bytes of the largest place at the peak */
	char function[RANKS_PLACE_MAX], file[RANKS_PLACE_MAX]; /* user frame of this place; "": none */
	unsigned line;
	int is_usual; /* 1: it is the place that most GPUs share */
};

/* The peaks of one phase on all ranks. */
struct rank_phase {
	char phase[RANKS_WORD_MAX];
	uint32_t ranks; /* number of ranks that ran the phase */
	uint64_t least, median, most;
	const struct rank *highest;
};

struct ranks {
	struct rank *rank; /* sorted by number */
	uint32_t count;
	struct rank_phase *phase; /* sorted by bytes, highest first */
	uint32_t phases;
	uint32_t lowest, highest; /* indices */
	uint64_t median;
	uint32_t usual;       /* index of a GPU with the place that most GPUs share */
	uint32_t usual_count; /* number of the GPUs that share it */
};

/* Loads the GPUs with bytes. Returns 0 or -MT_E_x. The caller releases `ranks`, also after an error. */
int ranks_load(struct ranks *ranks, struct db *db, struct symbols *symbols);
void ranks_release(struct ranks *ranks);

/* Writes "rank 3", or "GPU 3" without a rank. Returns `out`. */
const char *ranks_name(char out[RANKS_WORD_MAX], const struct rank *rank);

#endif
