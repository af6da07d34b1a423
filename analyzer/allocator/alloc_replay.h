/*
 * alloc_replay.h - replays the tensors of one process on one device of a database under other settings of PyTorch's
 * caching allocator. A replay under its own settings shows the model's error.
 *
 * A recording of memrec lacks three facts: the stream of a request (inferred, see alloc_recorded.h), the moment at
 * which another stream was done with a freed block (the model uses the block at once), and calls of empty_cache()
 * that gave nothing back. When memory went back to the driver in the recording, the replay empties the cache. A
 * recording that begins in the middle begins with the segments that were there. If segments expand in one of both and
 * not in the other, it begins with the tensors alone, as if they had just been asked for.
 *
 * Pools that sleep (vLLM, torch_memory_saver) have an allocator of their own: their bytes are added as they were.
 * Needs memory for what is alive at once, not for the file.
 */
#ifndef MEMANA_ALLOC_REPLAY_H
#define MEMANA_ALLOC_REPLAY_H

#include <stddef.h>
#include <stdint.h>
#include "alloc_config.h"
#include "database/db.h"

/* One way to run it. */
struct alloc_scenario {
	struct alloc_config config;
	const int64_t *empty_at; /* the cache is emptied after these events (seq of the process, rising), too */
	size_t empties;
	int64_t asked_seq;    /* after this event, or at the end if that comes first: */
	uint64_t asked_bytes; /* bytes of a request to try: does the allocator have them? 0: no such request */
	uint64_t asked_free;  /* beside what the recording has reserved then, the driver has so much for it */
};

/* Bytes are those of the device: with pools that sleep. */
struct alloc_outcome {
	uint64_t peak_reserved;
	int64_t peak_seq, peak_time; /* after which event, ns */
	uint64_t peak_allocated;     /* the most in blocks, maybe at another time */
	uint64_t end_reserved;
	uint64_t retries;         /* requests for which everything cached went back first */
	int is_refused;           /* a request got nothing: the program ends there, and so does the replay */
	uint64_t refused_request; /* which, from 1 */
	uint64_t refused_bytes;   /* bytes that it could not have */
	int64_t refused_seq, refused_time;
	int gets_asked; /* 1: what the scenario asks for is given, within asked_free */
};

/* A moment at which the model and the recording differ. */
struct alloc_difference {
	uint64_t recorded, modelled; /* reserved bytes */
	int64_t seq, time;
};

struct alloc_replay {
	int is_expandable;      /* recorded: segments expanded */
	uint64_t requests;      /* tensors that came */
	uint64_t began_bytes;   /* segments that were there when the recording began */
	uint64_t beside_bytes;  /* the most in pools that sleep */
	uint64_t moments;       /* moments that were compared: every tensor that came or went */
	uint32_t pools;         /* pools that the model has: 1, or what alloc_recorded.h found */
	uint64_t recorded_peak; /* reserved bytes */
	int64_t recorded_seq, recorded_time;
	struct alloc_outcome modelled; /* with the settings of the recording */
	struct alloc_difference worst; /* the worst of all moments */
};

/*
 * `recorded`: the settings of the recording as far as known; whether segments expand is seen. outcome[i] is that of
 * scenario[i]. No segments of a caching allocator: recorded_peak is 0, and outcomes mean nothing. 0 or -MT_E_x.
 */
int alloc_replay(struct alloc_replay *replay, struct alloc_outcome *outcome, const struct alloc_scenario *scenario,
		 size_t count, struct db *db, int64_t process, int64_t device, const struct alloc_config *recorded);

/* |modelled - recorded| at the peaks, of recorded; 0.003 is 0.3 %. */
double alloc_replay_error(const struct alloc_replay *replay);

/* The most they differ at any moment, of the recorded peak. */
double alloc_replay_worst(const struct alloc_replay *replay);

#endif
