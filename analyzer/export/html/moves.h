/*
 * moves.h - every change of the bytes that a device holds, in memory. A run with more changes than a page can hold is thinned.
 *
 * A change is the effect of one event: moves of bytes from cell to cell (timeline/tape.h explains cells). A long run keeps the
 * moments that a picture needs. Time is cut into stretches of 2^shift ns. Each stretch keeps the moment with the most bytes held,
 * the moments with the most and with the fewest bytes in use, and the marks. A change that is left out is added to the next one
 * that stays: bytes are exact at each moment that stays. Stretches become wider until the page holds all of them.
 */
#ifndef MEMANA_HTML_MOVES_H
#define MEMANA_HTML_MOVES_H

#include <stdint.h>

#define MOVES_MAX 3000000u /* a usual `most` */

struct moves_move {
	uint32_t cell;
	int32_t count;
	int64_t bytes;
};

struct moves_change {
	int64_t time;   /* ns since the run began; never goes back */
	uint32_t first; /* its first move; the last one is before the first of the next change */
};

/* A moment with a name: after the first `changes` changes. */
struct moves_mark {
	uint32_t changes;
	int64_t oom; /* id of the failed request */
};

/* A site with allocations of two sites: `from` keeps at most `bytes` and `count`, and the rest belongs to `to`. */
struct moves_share {
	uint32_t from, to; /* cells */
	int64_t bytes, count;
};

struct moves {
	struct moves_change *change;
	uint32_t changes, change_room;
	struct moves_move *move;
	uint32_t moves, move_room;
	struct moves_mark *mark; /* in order */
	uint32_t marks, mark_room;
	uint32_t peak;         /* the first changes that make the peak; 0: no peak was told */
	unsigned shift;        /* 0: all changes are there */
	uint32_t thinned;      /* the first changes that are as `shift` says */
	uint64_t told, serial; /* changes that were told, and the newest one */
};

/* The gain of a cell over changes that are summed up. */
struct moves_net {
	int64_t bytes, count;
	uint32_t device;
	int is_touched;
};

/* All devices. Zeroed is empty; `most`, `range_first` and `range_last` are set by the caller. */
struct moves_all {
	/*
	 * Moves of all devices, more are thinned. At the end fewer stay of them, for changes that are sums are all different: each costs
	 * more bytes of a file.
	 */
	uint64_t most;
	struct moves *device; /* by number of the analysis: id - 1 */
	uint32_t devices;
	int64_t range_first, range_last; /* ns: later changes are left out, earlier ones are summed up at range_first */
	uint64_t moves;
	struct moves_net *net; /* by cell; of `touched` alone it is not zero */
	uint32_t *touched;
	uint32_t cells, touches;
	int is_in_range; /* the range has begun */
};

/*
 * One move of a device. Moves with one `serial` are one change; serials are told in groups. 0, -MT_E_MEMORY or -MT_E_LIMIT.
 */
int moves_add(struct moves_all *all, uint32_t device, uint64_t serial, int64_t time, const struct moves_move *move);

/* The changes told so far are the peak of the device, until another peak is told; a request has failed there. 0 or -MT_E_x. */
int moves_peak(struct moves_all *all, uint32_t device, int64_t time);
int moves_oom(struct moves_all *all, uint32_t device, int64_t time, int64_t oom);

/* After the last move: shares out the cells of all devices, and thins for the last time. 0 or -MT_E_x. */
int moves_finish(struct moves_all *all, const struct moves_share *share, uint32_t shares);

/* The moves of a change: *count of them. */
const struct moves_move *moves_of(const struct moves *moves, uint32_t change, uint32_t *count);

void moves_release(struct moves_all *all);

#endif
