/* kept_impl.h - what kept.c notes on the way, and kept_find.c reads at the end. */
#ifndef MEMANA_KEPT_IMPL_H
#define MEMANA_KEPT_IMPL_H

#include "kept.h"

/* The moments that can be the one in the end: a driver's refusal may turn out to be no failure. */
enum kept_which { KEPT_TENSOR_OOM, KEPT_DRIVER_FAIL, KEPT_PEAK, KEPT_MOMENTS };

struct kept_at {
	int set;
	uint32_t epoch; /* number of its newest setting, from 1 */
	uint32_t device, step;
	uint64_t seq;
	uint64_t lost; /* deaths at or before this event may be missing from the log */
	int has_step_before;
	uint64_t step_before_seq;
	int64_t step_before_time;
};

/* Deaths of a site so far. */
struct kept_deaths {
	uint64_t count, home_count; /* home_count: in the step of the birth */
	uint64_t first_seq, last_seq;
	uint64_t largest;         /* bytes of the largest of all */
	uint64_t largest_earlier; /* the same of births before the step of the newest death; `late` are in this step */
	uint64_t largest_late;
	uint32_t late_step;
};

/* Kinds of lives: bits of kept_slot.kind. */
enum { KEPT_COUNTS = 1, KEPT_DIED = 2, KEPT_HOME = 4, KEPT_INSIDE = 8 };

/* Deaths of lives of one site and kind: now, and when each moment was set. */
struct kept_slot {
	uint32_t site; /* 0: free */
	uint32_t kind;
	struct kept_deaths now, was[KEPT_MOMENTS];
	uint32_t epoch[KEPT_MOMENTS]; /* epoch of `was`; another one than the moment's: it was as it is now */
};

struct kept_span {
	struct call_span of;
	uint32_t step;
};

struct kept {
	const struct analysis *analysis;
	int none;               /* nothing can be kept */
	struct kept_life *life; /* by death: the newest, those that a moment needs, and in the end all that stay */
	size_t lives, life_room;
	uint64_t lost; /* deaths at or before this event may be missing */
	struct kept_life newest,
		given_back; /* the newest birth, and the newest that was given back to the driver; seq 0: none */
	struct kept_life *slept;
	size_t sleepers, slept_room;
	struct kept_mapping
		*mapping; /* by their ends: the newest, those that a moment needs, and in the end all that stay */
	size_t mappings, mapping_room;
	struct kept_span *span; /* the newest */
	size_t spans, span_room;
	uint64_t spans_lost; /* spans up to this event are missing; 0: none */
	struct kept_at at[KEPT_MOMENTS];
	struct kept_slot *slot; /* a hash table */
	size_t slots, used;
	struct {
		int known;
		uint32_t step;
		uint64_t seq;
		int64_t time;
	} step_end[MT_LEDGER_DEVICES]; /* the peak of the newest step that ended, by device */
};

/* The table's slot for the site's lives of this kind: that of its own, or the free one. */
struct kept_slot *kept_slot_of(struct kept_slot *slot, size_t slots, uint32_t site, uint32_t kind);

/* The deaths of a slot when the moment was set. */
static inline const struct kept_deaths *kept_deaths_at(const struct kept_slot *slot, const struct kept *kept,
						       enum kept_which which)
{
	return slot->epoch[which] == kept->at[which].epoch ? &slot->was[which] : &slot->now;
}

/* Whether the fullest of two devices is the first, as memana oom has it. */
int kept_is_fuller(const struct analysis *analysis, uint32_t one, uint32_t other);

/* Whether memory of this kind can count as in use. */
static inline int kept_counts(uint8_t space)
{
	return space != MT_SPACE_PINNED && space != MT_SPACE_HOST && space != MT_SPACE_IMPORTED &&
	       space != MT_SPACE_MULTICAST;
}

/* The kind of a life. */
static inline uint32_t kept_kind(const struct kept_life *life)
{
	return (kept_counts(life->space) ? KEPT_COUNTS : 0u) | (life->gone_seq != KEPT_STAYS ? KEPT_DIED : 0u) |
	       (life->home ? KEPT_HOME : 0u) | (life->tensors_inside ? KEPT_INSIDE : 0u);
}

#endif
