/*
 * rounds.h - a series of tensors that came to the GPU before, for another call, as weights do that come back from the host: how long
 * it was then.
 *
 * Its pieces are made by one function, whoever calls it, and by all that this calls:
 *
 *     update_actor > train_batch > load_model_to_gpu > _apply     64 pieces, and they went
 *     save_checkpoint >            load_model_to_gpu > _apply     45 are there, and one more is asked for
 *
 * A caller has rounds, one after the other: each begins where nothing of it is there, and ends where all of it has gone. An earlier
 * one is the same series where as many pieces with as many bytes had come, and the next was as large as the request.
 */
#ifndef MEMANA_ROUNDS_H
#define MEMANA_ROUNDS_H

#include <stdint.h>
#include "database/db.h"

/* A failed request; ids of the database. */
struct rounds_question {
	int64_t process, device, node, seq;
	uint64_t requested;
};

struct rounds {
	uint64_t found;       /* so many earlier rounds of the series; 0: none, and nothing else is known */
	uint64_t pieces;      /* that are there of it now, without the request */
	uint64_t least, most; /* bytes that came after the request's piece, at once, in any of them */
	uint64_t least_pieces;
};

/* Needs the lives of allocations in the database. 0 or -MT_E_x. */
int rounds_find(struct rounds *rounds, struct db *db, const struct rounds_question *question);

#endif
