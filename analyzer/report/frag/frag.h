/*
 * frag.h - what the caching allocators of a device hold at one instant, in which segments, and what keeps them.
 */
#ifndef MEMANA_FRAG_H
#define MEMANA_FRAG_H

#include <stddef.h>
#include <stdint.h>
#include "base/text.h"
#include "database/db.h"
#include "device/segment_map.h"
#include "query/alive.h"

#define FRAG_PINNED 8 /* a segment is pinned if the used part is not zero and at most 1 / FRAG_PINNED */

struct frag_instant {
	char at[32]; /* "peak", "oom:2", "step:3:end"; "": only a time is known */
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
	struct segment_piece *piece; /* id: the site that its memory is of */
	size_t pieces, piece_room;
	struct segment_block *block;
	size_t blocks, block_room;
	struct frag_tensor *tensor; /* by block.id */
	size_t tensor_room;
	struct segment_map map;
};

/* A place whose tensors pin segments: of each such segment, the place with most bytes in it. */
struct frag_pin {
	int64_t node, first_node; /* place of one tensor; see finding.h */
	const char *phase;
	int64_t first_step, last_step; /* steps of the births */
	uint64_t bytes;                /* its tensors in those segments */
	uint64_t idle, segments;       /* free bytes of those segments, and how many */
};

struct frag_pins {
	struct frag_pin *pin; /* most idle bytes first */
	size_t count, room;
	uint64_t segments, idle, bytes; /* sums over all */
};

/* All that there is to know of a device at an instant. */
struct frag_state {
	struct frag_instant instant;
	struct frag_map map;
	struct frag_pins pins;
	int expandable, sleeps; /* modes of the process with most of it idle; see frag_modes */
	int64_t pool_beside;    /* see frag_pool_beside */
};

/* The instant of a name of the table moment; NULL: after all events that are not later than `time`. 1, 0: the device has
 * no such moment, or -MT_E_x. */
int frag_instant(struct frag_instant *instant, struct db *db, int64_t device, const char *at, int64_t time);

/* The same, of what a cursor at `time` means: the device's peak, or an error, where it is one's time. */
int frag_instant_at_cursor(struct frag_instant *instant, struct db *db, int64_t device, int64_t time);

/* finding_same_places() has made its table. 0 or -MT_E_x; release in any case. */
int frag_state_load(struct frag_state *state, struct db *db, int64_t device, const struct frag_instant *instant);
void frag_state_release(struct frag_state *state);

/* The findings and the advice. */
struct sentence frag_verdict(const struct frag_state *state, struct db *db);

/* Segments by idle bytes; NULL: out of memory. Free it. */
const struct segment **frag_sort(const struct segment_map *map);

/* Whether few tensors keep a segment from going back; and the one with most bytes in it, NULL: it is empty. */
int frag_is_pinned(const struct segment *segment);
const struct frag_tensor *frag_holder(const struct frag_map *map, const struct segment *segment);

static inline uint64_t frag_idle(const struct frag_map *map)
{
	return map->map.bytes - map->map.used;
}

/* The bytes of one process on the device, 0: all of them. 0 or -MT_E_x. Release in any case. */
int frag_load(struct frag_map *map, struct db *db, int64_t device, int64_t process, const struct alive_moment *when);
void frag_release(struct frag_map *map);

/* The tensors that pin the segments of `map`. finding_same_places() has made its table. 0 or -MT_E_x; free pin. */
int frag_pins(struct frag_pins *pins, struct db *db, const struct frag_map *map);

/*
 * How a process takes memory of a device, 0: any of them: `expandable` 1: segments are mapped, and no pool that sleeps
 * does it; `sleeps` 1: a pool lost memory under its tensors and may get it back (vLLM sleep mode, torch_memory_saver).
 * `map` is of the same process or processes. 0 or -MT_E_x.
 */
int frag_modes(struct db *db, const struct frag_map *map, int64_t device, int64_t process, int *expandable,
	       int *sleeps);

/*
 * The process id of another process of the run that has a pool which can sleep, on whatever device; 0: none has. Such a process
 * refuses to start where its environment has expandable segments. 0 or -MT_E_x.
 */
int frag_pool_beside(struct db *db, int64_t process, int64_t *pid);

#endif
