/* frag.h - the memory of a device's caching allocators at one instant: segments, holes, and the tensors that keep segments. */
#ifndef MEMANA_FRAG_H
#define MEMANA_FRAG_H

#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "database/db.h"
#include "device/segment_map.h"
#include "query/alive.h"

#define FRAG_PINNED 8 /* divisor: tensors that use at most 1/FRAG_PINNED of a segment pin it */

struct frag_instant {
	char at[32]; /* "peak", "oom:2", "step:3:end"; "": the instant is only a time */
	struct alive_moment when;
	int64_t step;   /* 0: unknown */
	char phase[32]; /* "": unknown */
};

/* The tensor with number block.id. */
struct frag_tensor {
	int64_t node, step, time; /* its birth: stack (0: none), step, time */
	int64_t site;             /* 0: no site */
	const char *phase;        /* a static word */
};

struct frag_map {
	struct segment_piece *piece; /* id: the site that took the piece */
	size_t pieces, piece_room;
	struct segment_block *block;
	size_t blocks, block_room;
	struct frag_tensor *tensor; /* index: block.id */
	size_t tensor_room;
	struct segment_map map;
};

/* A place that pins segments: it has most bytes in each of these. */
struct frag_pin {
	int64_t node, first_node; /* stack of one of its tensors; see finding.h */
	const char *phase;
	int64_t first_step, last_step; /* steps of the births, first and last */
	uint64_t bytes;                /* bytes of its tensors in these segments */
	uint64_t idle, segments;       /* free bytes in these segments; number of segments */
};

struct frag_pins {
	struct frag_pin *pin; /* sorted by idle bytes, largest first */
	size_t count, room;
	uint64_t segments, idle, bytes; /* sums of all pins */
};

/* The memory of a device at an instant: its segments and its pins. */
struct frag_state {
	struct frag_instant instant;
	struct frag_map map;
	struct frag_pins pins;
	int expandable, sleeps; /* modes of the process with most idle bytes (frag_modes) */
	int64_t pool_beside;    /* from frag_pool_beside */
};

/*
 * Finds the instant of a name in the table moment; `at` NULL: after all events up to `time`. Returns 1; 0: the device has no such moment; or -MT_E_x.
 */
int frag_instant(struct frag_instant *instant, struct db *db, int64_t device, const char *at, int64_t time);

/* As frag_instant, for the cursor at `time`: the device's peak or a failed request, if one has this time. */
int frag_instant_at_cursor(struct frag_instant *instant, struct db *db, int64_t device, int64_t time);

/* Loads the state; call finding_same_places() before. Returns 0 or -MT_E_x. The caller releases `state`, also after an error. */
int frag_state_load(struct frag_state *state, struct db *db, int64_t device, const struct frag_instant *instant);
void frag_state_release(struct frag_state *state);

/* Returns the findings and the advice in words. */
struct sentence frag_verdict(const struct frag_state *state, struct db *db);

/* Returns the segments sorted by idle bytes; the caller frees the array. NULL: out of memory. */
const struct segment **frag_sort(const struct segment_map *map);

/*
 * frag_is_pinned: whether few tensors keep a segment from going back to the driver. frag_holder: the tensor with most bytes in a segment; NULL: the
 * segment is empty.
 */
int frag_is_pinned(const struct segment *segment);
const struct frag_tensor *frag_holder(const struct frag_map *map, const struct segment *segment);

static inline uint64_t frag_idle(const struct frag_map *map)
{
	return map->map.bytes - map->map.used;
}

/*
 * Loads the memory of a process on the device; `process` 0: of all processes. Returns 0 or -MT_E_x. The caller releases `map`, also after an error.
 */
int frag_load(struct frag_map *map, struct db *db, int64_t device, int64_t process, const struct alive_moment *when);
void frag_release(struct frag_map *map);

/* Finds the tensors that pin the segments of `map`; call finding_same_places() before. Returns 0 or -MT_E_x. The caller frees pins->pin. */
int frag_pins(struct frag_pins *pins, struct db *db, const struct frag_map *map);

/*
 * Finds how a process takes memory of a device; `process` 0: any process. `expandable` 1: segments are mapped, and not by a pool that sleeps.
 * `sleeps` 1: a pool lost memory under its tensors and can get it back (vLLM sleep mode, torch_memory_saver). `map` must be of the same process or
 * processes. Returns 0 or -MT_E_x.
 */
int frag_modes(struct db *db, const struct frag_map *map, int64_t device, int64_t process, int *expandable,
	       int *sleeps);

/*
 * Sets *pid to another process of the run that has a pool that can sleep, on any device; 0: none. Such a process refuses to start with expandable
 * segments in its environment. Returns 0 or -MT_E_x.
 */
int frag_pool_beside(struct db *db, int64_t process, int64_t *pid);

#endif
