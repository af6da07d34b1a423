/*
 * retained_lives.h - reads the lives of a run once, and counts them for retained. Private to retained*.c.
 *
 *     in_use_span ──> one life after the other ─┬─> retained_alive.c    alive at the peak of a phase, at the end of the last step
 *                                               └─> retained_batches.c  kept by micro-batches
 *
 * Lives come by device, then by process. No table in SQL joins them: a run of many ranks has millions.
 */
#ifndef MEMANA_RETAINED_LIVES_H
#define MEMANA_RETAINED_LIVES_H

#include "base/tuple.h"
#include "retained.h"

#define RETAINED_NEVER INT64_MAX /* no free, no end */

/* A site. Sites of one kind have the same device, process, place, phase and category. Kinds are sorted by these five, from 1. */
struct retained_site {
	int64_t id, node, first_node; /* 0: no stack; first_node: see finding.h */
	uint32_t kind;
	uint8_t phase, category; /* enum mt_phase, enum mt_category */
};

/* One row of in_use_span: an allocation, or several as one sum. */
struct retained_life {
	const struct retained_site *site;
	int64_t bytes, asleep, count;
	int64_t step, free_step, since_step, until_step;
	int64_t alloc_seq, free_seq, since_seq, until_seq, since_time, until_time;
};

/* The process and the device of the lives that are read now. */
struct retained_owner {
	int64_t device, number, process, pid, rank; /* device, process: ids; number: of the device; rank -1: none */
	const char *device_kind;                    /* "cuda", "cpu" */
	int64_t over_time, over_seq;                /* end of the process; RETAINED_NEVER: unknown */
	int64_t first_step, last_step;              /* ended steps; last_step RETAINED_NEVER: no step ended */
	uint64_t threshold;                         /* fewer bytes are no growth, see retained.h */
};

struct retained_lives {
	struct db *db;
	struct db_stmt *stmt; /* at the next life; NULL: all lives were read */
	struct retained_site *site;
	size_t sites, room;
	struct retained_owner owner;
};

/* Call finding_same_places() before. 0 or -MT_E_x; release in any case. */
int retained_lives_open(struct retained_lives *lives, struct db *db);
void retained_lives_release(struct retained_lives *lives);

/* Moves to the next device and process, lives->owner. Returns 1; 0: all lives were read; or -MT_E_x. */
int retained_lives_owner(struct retained_lives *lives);

/* Reads the owner's next life. Returns 1; 0: no more lives; or -MT_E_x. */
int retained_lives_next(struct retained_lives *lives, struct retained_life *life);

/* ---- retained_alive.c: retained->phases, places, outlived, stays, later_bytes, asleep_bytes ---- */

struct retained_instant;

struct retained_alive {
	struct retained *retained; /* the answer */
	const struct retained_question *question;
	struct retained_owner owner;      /* process and device of the lives that are taken now */
	struct retained_instant *instant; /* the moments of the question, by device */
	size_t instants, room;
	const struct retained_instant *from, *to;                     /* moments of the owner's device */
	struct retained_crossing sum[MT_PHASE_COUNT][MT_PHASE_COUNT]; /* sums of the owner's device */
	struct tuple_table crosses, outlived; /* by kind, and phase of the instant: entries of the owner */
};

/* Reads the moments of the question. 0 or -MT_E_x; release in any case. */
int retained_alive_open(struct retained_alive *alive, struct retained *retained, struct db *db,
			const struct retained_question *question);
void retained_alive_release(struct retained_alive *alive);

/* retained_alive_owner begins the lives of an owner; retained_alive_take takes one life. 0 or -MT_E_MEMORY. */
int retained_alive_owner(struct retained_alive *alive, const struct retained_owner *owner);
int retained_alive_take(struct retained_alive *alive, const struct retained_life *life);

/* After the last life: sorts the lists. 0 or -MT_E_MEMORY. */
int retained_alive_finish(struct retained_alive *alive);

/* ---- retained_batches.c: retained->batches, by device, process, place, phase and category ---- */

#define RETAINED_MOVES_MOST (1u << 19) /* moves of one owner in memory, 24 bytes each */

extern size_t retained_moves_room; /* RETAINED_MOVES_MOST; tests lower it */

struct batch_step;
struct batch_move;

struct retained_batches {
	struct db *db;
	struct growth_list *list; /* places that grow by micro-batches, each with its worst step */
	int64_t only;             /* the one step of the question; 0: all steps */
	const struct retained_owner *owner;
	const struct retained_lives *lives;
	int64_t process;         /* process of the steps below */
	struct batch_step *step; /* by number */
	size_t steps, step_room;
	int64_t *begin; /* numbers of the events that begin micro-batches, by step */
	size_t begins, begin_room;
	struct batch_move *move; /* moves of the owner */
	size_t moves, move_room;
	int spilled;     /* 1: some moves are in the table temp.batch_move */
	uint64_t *moved; /* by micro-batch: differences of what a place held; they may wrap around */
	size_t parts, moved_room;
	struct growth_parts at;
	struct tuple_table known; /* by kind: entries of the list */
};

/* Reads temp.batch_begin. Each: 0 or -MT_E_x; release in any case. */
int retained_batches_owner(struct retained_batches *batches, const struct retained_lives *lives);
int retained_batches_take(struct retained_batches *batches, const struct retained_life *life);
int retained_batches_judge(struct retained_batches *batches);   /* after the owner's last life */
void retained_batches_finish(struct retained_batches *batches); /* after the last owner: sorts the list */
void retained_batches_release(struct retained_batches *batches);

#endif
