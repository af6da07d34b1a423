/*
 * frag_replay.h - memana frag --replay: the reserved bytes of a device's processes under other settings of PyTorch's caching allocator, by the model
 * of analyzer/allocator. A replay with the recorded settings shows the error of the model.
 */
#ifndef MEMANA_FRAG_REPLAY_H
#define MEMANA_FRAG_REPLAY_H

#include "allocator/alloc_replay.h"
#include "base/json.h"
#include "base/text.h"
#include "query/query.h"

#define FRAG_REPLAYS 16

/* The question. Its texts are words of the command line. */
struct frag_replay_ask {
	const char *conf[FRAG_REPLAYS];
	size_t count;
	const char *recorded;    /* settings of the recording; NULL: PyTorch's defaults */
	const char *empty_after; /* a phase; NULL: the cache is never emptied */
	uint64_t limit;          /* bytes for the process; 0: no limit */
};

/* Checks settings and phase. Returns 0; or -MT_E_ARGUMENT, with one line in `why`. */
int frag_replay_check(const struct frag_replay_ask *ask, char *why, size_t size);

/* Replays each process with segments on the device, and prints the sums. Returns 0 or -MT_E_x. */
int frag_replay_text(const struct frag_replay_ask *ask, const struct text *text, struct db *db,
		     const struct query_device *device);
int frag_replay_json(const struct frag_replay_ask *ask, struct doc *doc, struct db *db,
		     const struct query_device *device);

#endif
