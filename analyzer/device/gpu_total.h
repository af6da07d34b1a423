/*
 * whole.h - one process on one GPU as NVML counts it, against what the ledger holds: what the difference is.
 *
 *     NVML   ┌────────────── 71.2 GiB ───────────────┐
 *     ledger ├──────────── 70.4 ──────────┐          │
 *            │           recorded         │ remainder│ = context + code + graphs + pools + unexplained
 *
 * The remainder grows when the driver takes memory that no call names a size for. Growth between two samples is laid to
 * what the driver was asked for in between; where several things were asked for, to the first of the list below, which
 * remembers the others. What nobody asked for is unexplained. Nothing is ever divided up by guess.
 *
 * A sample says something only if nothing moved while it was made: an allocation counts for NVML before its call has
 * returned, a free after it was entered. So a sample is settled when the ledger held the same from a little before it to
 * a little after; the others are left alone.
 */
#ifndef MEMANA_WHOLE_H
#define MEMANA_WHOLE_H

#include <stdint.h>

/* X(NAME, word) - in order of who is believed first. */
#define WHOLE_CAUSE_LIST(X)   \
	X(CONTEXT, "context") \
	X(CODE, "code")       \
	X(GRAPHS, "graphs")   \
	X(POOLS, "pools")     \
	X(EARLIER, "earlier") /* from before the recording began */

enum whole_cause {
#define WHOLE_CAUSE_ENUM(name, word) WHOLE_##name,
	WHOLE_CAUSE_LIST(WHOLE_CAUSE_ENUM)
#undef WHOLE_CAUSE_ENUM
		WHOLE_CAUSES
};

const char *whole_cause_word(enum whole_cause cause);

#define WHOLE_CHANGES 1024u  /* newest changes of what is held that are remembered */
#define WHOLE_MARGIN 1000000 /* ns before and after a reading in which nothing may move */

/* One sample. Times are those of the run, ns. */
struct whole_sample {
	int64_t time, took;        /* began; lasted */
	uint64_t used, total, own; /* bytes: of everybody, there are, of the process */
	int own_known;
};

/* A settled sample taken apart. Where own is known: own = held + sum of cause + unexplained; else these are older. */
struct whole_parts {
	struct whole_sample sample;
	uint64_t held; /* by the ledger, then */
	int64_t cause[WHOLE_CAUSES];
	int64_t unexplained; /* below 0: the ledger holds more than NVML counts (managed memory that is not there) */
	uint8_t with[WHOLE_CAUSES]; /* bit per cause: bytes of it may be in this one, too */
};

struct whole {
	struct whole_change {
		int64_t time;
		uint64_t held;
	} change[WHOLE_CHANGES];
	uint64_t changes; /* ever */
	struct whole_sample pending;
	int is_pending;
	struct whole_asked {
		int is_asked;          /* since the newest settled sample */
		int64_t first, newest; /* when */
	} more[WHOLE_CAUSES], less[WHOLE_CAUSES];
	struct whole_sample judged; /* the newest sample of which it is known: */
	int is_settled;
	uint64_t settled;          /* samples */
	struct whole_parts parts;  /* of the newest of them */
	struct whole_parts before; /* of the one before it, if there are two */
};

/* What the process holds after a change at `time`. 1: the sample that was pending is judged. */
int whole_held(struct whole *whole, int64_t time, uint64_t held);

/* `with` as one number: bit WHOLE_CAUSES * cause + other. */
int64_t whole_mixed(const struct whole_parts *parts);
void whole_set_mixed(struct whole_parts *parts, int64_t mixed);

/* What it holds by what whole_held was told. */
static inline uint64_t whole_holds(const struct whole *whole)
{
	return whole->changes ? whole->change[(whole->changes - 1) % WHOLE_CHANGES].held : 0;
}

/* The driver was asked for memory of this kind, or to give some back. */
void whole_asked(struct whole *whole, enum whole_cause cause, int more, int64_t time);

/* A sample, in any order relative to changes of about its time. 1: the one before is judged. */
int whole_sample(struct whole *whole, const struct whole_sample *sample);

/* There will be no more changes. 1: the last sample is judged. */
int whole_finish(struct whole *whole);

#endif
