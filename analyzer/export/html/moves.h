/*
 * moves.h - keeps the changes of the bytes that each device holds, in memory. The changes of a long run are thinned
 * until they fit into a page.
 *
 * A change is the effect of one event: moves of bytes from cell to cell (timeline/tape.h explains cells). For thinning,
 * time is cut into stretches of 2^shift ns. Each stretch keeps the change with the most bytes held, the changes with
 * the most and the fewest bytes in use, and the changes with a mark. The bytes of a dropped change are added to the
 * next kept one, so the bytes at each kept change are exact. Stretches become wider until the page holds all of them.
 */
#ifndef MEMANA_HTML_MOVES_H
#define MEMANA_HTML_MOVES_H

#include <stdint.h>

#define MOVES_MAX 3000000u /* usual value of `most` */

struct moves_move {
	uint32_t cell;
	int32_t count;
	int64_t bytes;
};

struct moves_change {
	int64_t time;   /* ns since the run began; never less than the time before */
	uint32_t first; /* index of the first move; the moves end before the first move of the next change */
};

/* The moment of a failed request: after the first `changes` changes. */
struct moves_mark {
	uint32_t changes;
	int64_t oom; /* id of the failed request */
};

/* A cell with allocations of two sites: `from` keeps at most `bytes` and `count`, and the rest goes to `to`. */
struct moves_share {
	uint32_t from, to; /* cells */
	int64_t bytes, count;
};

struct moves {
	struct moves_change *change;
	uint32_t changes, change_room;
	struct moves_move *move;
	uint32_t moves, move_room;
	struct moves_mark *mark; /* in the order of `changes` */
	uint32_t marks, mark_room;
	uint32_t peak;         /* number of changes up to the peak; 0: no peak */
	unsigned shift;        /* 0: all changes are kept */
	uint32_t thinned;      /* number of changes that are thinned by `shift` */
	uint64_t told, serial; /* number of changes that were added; serial of the newest one */
};

/* The sum of the moves of a cell over several changes. */
struct moves_net {
	int64_t bytes, count;
	uint32_t device;
	int is_touched;
};

/* The moves of all devices. All zeros: empty. The caller sets `most`, `range_first` and `range_last`. */
struct moves_all {
	/*
	 * Largest number of moves of all devices. After a thinning, moves_finish keeps fewer: changes that are sums all
	 * differ, and each takes more bytes of the file.
	 */
	uint64_t most;
	struct moves *device; /* by number of the device in the analysis (id - 1) */
	uint32_t devices;
	int64_t range_first, range_last; /* ns; earlier changes are summed up at range_first, later ones are left out */
	uint64_t moves;
	struct moves_net *net; /* by cell; all zero except for the cells in `touched` */
	uint32_t *touched;
	uint32_t cells, touches;
	int is_in_range; /* 1: the range has begun */
};

/*
 * Adds one move of a device. Moves with one `serial` are one change, and come one after the other. Returns 0,
 * -MT_E_MEMORY or -MT_E_LIMIT.
 */
int moves_add(struct moves_all *all, uint32_t device, uint64_t serial, int64_t time, const struct moves_move *move);

/*
 * Marks the device's newest change as its peak (the last call counts), or as the place of failed request `oom`. 0 or
 * -MT_E_x.
 */
int moves_peak(struct moves_all *all, uint32_t device, int64_t time);
int moves_oom(struct moves_all *all, uint32_t device, int64_t time, int64_t oom);

/* Call it after the last move: divides cells by `share`, and thins for the last time. Returns 0 or -MT_E_x. */
int moves_finish(struct moves_all *all, const struct moves_share *share, uint32_t shares);

/* The moves of a change, and their number in *count. */
const struct moves_move *moves_of(const struct moves *moves, uint32_t change, uint32_t *count);

void moves_release(struct moves_all *all);

#endif
