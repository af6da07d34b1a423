/*
 * frag.h - the memory of a device's caching allocators at one instant: segments, their holes, and the tensors that keep
 * them.
 */
#ifndef MEMANA_FRAG_H
#define MEMANA_FRAG_H

#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "database/db.h"
#include "device/segment_map.h"
#include "query/alive.h"

#define FRAG_PINNED 8 /* a segment is pinned if its used part is above 0 and at most 1 / FRAG_PINNED */

struct frag_instant {
	char at[32]; /* "peak", "oom:2", "step:3:end"; "": only the time is known */
	struct alive_moment when;
	int64_t step;   /* 0: unknown */
	char phase[32]; /* "": unknown */
};

/* A tensor: what block.id numbers. */
struct frag_tensor {
	int64_t node, step, time; /* facts of its birth; node 0: no stack */
	int64_t site;             /* 0: none */
	const char *phase;        /* static word */
};

struct frag_map {
	struct segment_piece *piece; /* id: site of the memory */
	size_t pieces, piece_room;
	struct segment_block *block;
	size_t blocks, block_room;
	struct frag_tensor *tensor; /* by block.id */
	size_t tensor_room;
	struct segment_map map;
};

/* A place that pins segments: the place with most bytes in each of them. */
struct frag_pin {
	int64_t node, first_node; /* place of one tensor; see finding.h */
	const char *phase;
	int64_t first_step, last_step; /* steps of the births */
	uint64_t bytes;                /* bytes of its tensors in these segments */
	uint64_t idle, segments;       /* free bytes of these segments; number of segments */
};

struct frag_pins {
	struct frag_pin *pin; /* most idle bytes first */
	size_t count, room;
	uint64_t segments, idle, bytes; /* sums over all pins */
};

/* The memory of a device at an instant, with its segments and pins. */
struct frag_state {
	struct frag_instant instant;
	struct frag_map map;
	struct frag_pins pins;
	int expandable, sleeps; /* modes of the process with most idle bytes; see frag_modes */
	int64_t pool_beside;    /* see frag_pool_beside */
};

/*
 * Finds the instant of a name in the table moment; NULL: after all events up to `time`. Returns 1; 0: the device has no
 * such moment; or -MT_E_x.
 */
int frag_instant(struct frag_instant *instant, struct db *db, int64_t device, const char *at, int64_t time);

/* The same for a cursor at `time`: the device's peak, or an error, if one has this time. */
int frag_instant_at_cursor(struct frag_instant *instant, struct db *db, int64_t device, int64_t time);

/*
 * Loads the state. finding_same_places() must have made its table. Returns 0 or -MT_E_x; the caller releases `state` in
 * any case.
 */
int frag_state_load(struct frag_state *state, struct db *db, int64_t device, const struct frag_instant *instant);
void frag_state_release(struct frag_state *state);

/* The findings and the advice. */
struct sentence frag_verdict(const struct frag_state *state, struct db *db);

/* Returns the segments by idle bytes; NULL: out of memory. The caller frees the array. */
const struct segment **frag_sort(const struct segment_map *map);

/*
 * frag_is_pinned: whether few tensors keep a segment from going back. frag_holder: the tensor with most bytes in a
 * segment, NULL: it is empty.
 */
int frag_is_pinned(const struct segment *segment);
const struct frag_tensor *frag_holder(const struct frag_map *map, const struct segment *segment);

static inline uint64_t frag_idle(const struct frag_map *map)
{
	return map->map.bytes - map->map.used;
}

/*
 * Loads the memory of one process on the device, 0: of all. Returns 0 or -MT_E_x. The caller releases `map` in any
 * case.
 */
int frag_load(struct frag_map *map, struct db *db, int64_t device, int64_t process, const struct alive_moment *when);
void frag_release(struct frag_map *map);

/*
 * Finds the tensors that pin the segments of `map`. finding_same_places() must have made its table. Returns 0 or
 * -MT_E_x; the caller frees `pin`.
 */
int frag_pins(struct frag_pins *pins, struct db *db, const struct frag_map *map);

/*
 * How a process takes memory of a device; process 0: any process. `expandable` 1: segments are mapped, and not by a
 * pool that sleeps. `sleeps` 1: a pool lost memory under its tensors and may get it back (vLLM sleep mode,
 * torch_memory_saver). `map` is of the same process or processes. Returns 0 or -MT_E_x.
 */
int frag_modes(struct db *db, const struct frag_map *map, int64_t device, int64_t process, int *expandable,
	       int *sleeps);

/*
 * Sets the pid of another process of the run with a pool that can sleep, on any device; 0: none. With expandable
 * segments in its environment such a process refuses to start. Returns 0 or -MT_E_x.
 */
int frag_pool_beside(struct db *db, int64_t process, int64_t *pid);

#endif
