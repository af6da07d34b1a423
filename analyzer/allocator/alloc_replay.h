/*
 * alloc_replay.h - replays the tensors of one process on one device of a database under other settings of PyTorch's
 * caching allocator. A replay under its own settings shows the model's error.
 *
 * A recording of memrec lacks three facts. The stream of a request is inferred (alloc_recorded.h). The moment at which
 * another stream was done with a freed block is unknown: the model uses the block at once. Calls of empty_cache() that
 * gave nothing back are not recorded. When memory went back to the driver in the recording, the replay empties the
 * cache. A recording that begins in the middle begins with the segments that were there. If segments expand in one of
 * both and not in the other, it begins with the tensors alone, as if they had just been asked for.
 *
 * Pools that sleep (vLLM, torch_memory_saver) have an allocator of their own: their bytes are added as they were.
 * Memory grows with the live allocations, not with the file.
 */
#ifndef MEMANA_ALLOC_REPLAY_H
#define MEMANA_ALLOC_REPLAY_H

#include <stddef.h>
#include <stdint.h>
#include "alloc_config.h"
#include "database/db.h"

/* One replay with other settings. */
struct alloc_scenario {
	struct alloc_config config;
	const int64_t *empty_at; /* seq, ascending: also empty the cache after these events of the process */
	size_t empties;
	int64_t asked_seq;    /* seq: try the request after this event, or at the end if earlier */
	uint64_t asked_bytes; /* bytes of the request to try; 0: none */
	uint64_t asked_free;  /* bytes that the driver had free for the request then */
};

/* The result of a replay. Bytes are of the device, with pools that sleep. */
struct alloc_outcome {
	uint64_t peak_reserved;
	int64_t peak_seq, peak_time; /* event of the peak; ns */
	uint64_t peak_allocated;     /* most bytes in blocks, perhaps at another time */
	uint64_t end_reserved;
	uint64_t retries;         /* requests that first gave the whole cache back */
	int is_refused;           /* 1: a request failed: program and replay end there */
	uint64_t refused_request; /* number of the failed request, from 1 */
	uint64_t refused_bytes;   /* bytes of the failed request */
	int64_t refused_seq, refused_time;
	int gets_asked; /* 1: the scenario's request succeeds within asked_free */
};

/* A moment at which the model and the recording differ. */
struct alloc_difference {
	uint64_t recorded, modelled; /* reserved bytes */
	int64_t seq, time;
};

struct alloc_replay {
	int is_expandable;      /* 1: the recorded segments expanded */
	uint64_t requests;      /* number of tensors */
	uint64_t began_bytes;   /* bytes of segments at the beginning of the recording */
	uint64_t beside_bytes;  /* most bytes in pools that sleep */
	uint64_t moments;       /* number of compared moments: births and deaths of tensors */
	uint32_t pools;         /* number of pools of the model: 1, or those of alloc_recorded.h */
	uint64_t recorded_peak; /* reserved bytes */
	int64_t recorded_seq, recorded_time;
	struct alloc_outcome modelled; /* replay with the settings of the recording */
	struct alloc_difference worst; /* the worst of all moments */
};

/*
 * Replays. `recorded`: the settings of the recording as far as known, with expandable segments detected. outcome[i]
 * belongs to scenario[i]. Without segments of a caching allocator recorded_peak is 0, and outcomes have no meaning.
 * Returns 0 or -MT_E_x.
 */
int alloc_replay(struct alloc_replay *replay, struct alloc_outcome *outcome, const struct alloc_scenario *scenario,
		 size_t count, struct db *db, int64_t process, int64_t device, const struct alloc_config *recorded);

/* |modelled - recorded| / recorded, at the peaks; 0.003 is 0.3 %. */
double alloc_replay_error(const struct alloc_replay *replay);

/* The largest difference at any moment, as a share of the recorded peak. */
double alloc_replay_worst(const struct alloc_replay *replay);

#endif
