/*
 * ranks.h - several GPUs side by side: which peaks highest, whether the same place is behind it everywhere, and how
 * even each phase is. A GPU goes by the rank of the process that was at work when it peaked.
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
	int64_t device, number; /* id in the database; what --device takes */
	int64_t rank, pid;      /* rank -1: none */
	uint64_t bytes;         /* the peak */
	int64_t step;
	char phase[RANKS_WORD_MAX];
	uint64_t site_bytes;                                   /* bytes of the largest place at the peak */
	char function[RANKS_PLACE_MAX], file[RANKS_PLACE_MAX]; /* its user frame; "": none */
	unsigned line;
	int is_usual; /* the place is the one that most GPUs have */
};

/* The peaks of one phase. */
struct rank_phase {
	char phase[RANKS_WORD_MAX];
	uint32_t ranks; /* ranks that ran it */
	uint64_t least, median, most;
	const struct rank *highest;
};

struct ranks {
	struct rank *rank; /* by number */
	uint32_t count;
	struct rank_phase *phase; /* highest first */
	uint32_t phases;
	uint32_t lowest, highest; /* indexes */
	uint64_t median;
	uint32_t usual;       /* index of one whose largest place most GPUs share, */
	uint32_t usual_count; /* their number */
};

/* GPUs on which something happened. 0 or -MT_E_x. Release in any case. */
int ranks_load(struct ranks *ranks, struct db *db, struct symbols *symbols);
void ranks_release(struct ranks *ranks);

/* "rank 3", or where there is none "GPU 3". */
const char *ranks_name(char out[RANKS_WORD_MAX], const struct rank *rank);

#endif
