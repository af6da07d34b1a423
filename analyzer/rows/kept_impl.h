/* kept_impl.h - the notes that kept.c makes during the pass, and that kept_find.c reads at the end. */
#ifndef MEMANA_KEPT_IMPL_H
#define MEMANA_KEPT_IMPL_H

#include "kept.h"
#include "label/category_sizes.h"

/* A step that ended. */
struct kept_ended {
	uint32_t step; /* 0: none */
	struct kept_when begin;
};

/* Facts of a failed request for memana advise. */
struct kept_request {
	struct kept_ended ended[2]; /* the two newest steps before the request, newest first */
	uint64_t tokens, words;
	int open;       /* 1: the process had computed nothing before the request */
	int disordered; /* 1: births and steps did not come in the order of their numbers */
};

/* Candidates for the kept moment. Three, because a later event may show that a driver's refusal was no failure. */
enum kept_which { KEPT_TENSOR_OOM, KEPT_DRIVER_FAIL, KEPT_PEAK, KEPT_MOMENTS };

struct kept_at {
	int set;
	uint32_t epoch; /* number of the newest assignment of this candidate, from 1 */
	uint32_t device, step;
	int before_stays; /* 1: step peaks of the step before are kept, at any age */
	struct kept_when when;
	struct kept_when lost; /* deaths up to this event may be missing from the log */
	struct kept_request request;
};

/* The largest of the births before a time: rising times and bytes. */
#define KEPT_STAIRS 6u
struct kept_stairs {
	struct {
		int64_t time;
		uint64_t bytes;
	} stair[KEPT_STAIRS];
	uint32_t count;
	int lost; /* 1: the oldest stairs were dropped; nothing is known of times before the first one here */
};

/* Deaths of a site so far. */
struct kept_deaths {
	uint64_t count, home_count; /* home_count: in the step of the birth */
	uint64_t largest;           /* bytes of the largest of all */
	uint64_t largest_earlier; /* largest birth before the step of the newest death; `late`: largest birth in that step */
	uint64_t largest_late;
	uint32_t late_step;
	struct kept_stairs stairs; /* unused in a run of one process */
};

/* Bits of kept_slot.kind. */
enum { KEPT_COUNTS = 1, KEPT_DIED = 2, KEPT_HOME = 4, KEPT_INSIDE = 8 };

/* The deaths of one site and kind: up to now, and up to each candidate moment. */
struct kept_slot {
	uint32_t site, kind;
	uint32_t next;                /* number of the site's next slot, of another kind, from 1; 0: none */
	uint32_t epochs;              /* value of kept.epochs at the last comparison of `epoch` */
	uint32_t epoch[KEPT_MOMENTS]; /* epoch of `was`; if the moment has another epoch, `now` is still its state */
	uint64_t births;              /* births up to now */
	uint64_t most, least; /* bytes of the largest and of the smallest, without empty ones; 0: all are empty */
	struct kept_deaths now, was[KEPT_MOMENTS];
};

struct kept_span {
	struct call_span of;
	uint32_t process;
	int64_t first_time;
};

/* The first span of a step. */
struct kept_begin {
	uint32_t step;
	int64_t time;
};

/* The peak of a device while a step of a process ran. */
struct kept_step {
	uint32_t process, device, step;
	struct analysis_level level;
	struct kept_when when;
};

struct kept_process {
	struct kept_life newest;     /* the newest birth; seq 0: none */
	struct kept_life given_back; /* the newest memory given back to the driver; seq 0: none */
	uint64_t spans_lost;         /* spans up to this event were dropped; 0: none */
	struct kept_begin *begin;    /* begins of all steps, by number */
	size_t begins, begin_room;
	struct kept_request now; /* without tokens and words */
	uint64_t born;           /* number of the newest birth event */
	/* Sizes of tensors; NULL: no tensor so far. `weights` counts live tensors until the first computation. */
	struct category_sizes *sizes;
};

struct kept_site {
	uint64_t size;  /* bytes of the site's newest tensor */
	uint32_t slot;  /* the site's first slot: its number from 1; 0: none */
	uint8_t number; /* the number of `size` among the sizes of the process */
};

/* An array that grows. */
struct kept_list {
	size_t count, room;
};

struct kept {
	const struct analysis *analysis;
	uint32_t failure;       /* number of the request that the answer is about; 0: the newest */
	uint32_t only;          /* the one process that can reach the moment, from 1; 0: any */
	int none;               /* 1: everything was given up */
	size_t window;          /* deaths */
	struct kept_life *life; /* by death: the newest, and the ones that a moment needs */
	struct kept_list lives;
	struct kept_when lost;  /* deaths up to this event may be missing */
	struct kept_life *stay; /* never freed */
	struct kept_list stays;
	struct kept_life *slept;
	struct kept_list sleepers;
	struct kept_mapping *mapping; /* by end: the newest, the ones that a moment needs, and the ones that never end */
	struct kept_list mappings;
	struct kept_span *span; /* the newest */
	struct kept_list spans;
	struct kept_step *step; /* the newest */
	struct kept_list steps;
	uint32_t steps_lost; /* highest step with a dropped peak, 0: none; see before_stays */
	struct kept_at at[KEPT_MOMENTS];
	uint32_t epochs;        /* number of assignments of all candidates */
	struct kept_slot *slot; /* by first death */
	struct kept_list slots;
	struct kept_site *site; /* by number */
	size_t sites;
	struct kept_process *process; /* by process of the run; NULL before the first call */
	uint32_t processes;
};

/* Searches the log for the newest birth of each process. */
void kept_note_logged(struct kept *kept);

/* Whether no step peak of the step before the moment was dropped. */
int kept_has_step_before(const struct kept *kept, const struct kept_at *at);

/* Notes for advice a birth of the process, or the end of a step. 0 or -MT_E_MEMORY. */
int kept_note_birth(struct kept *kept, struct kept_process *of, const struct mt_live *live);
void kept_note_ended(const struct kept *kept, struct kept_process *of, const struct mt_event *event);

/* Fills in at->request after the request has failed. */
void kept_note_request(const struct kept *kept, struct kept_at *at, uint64_t requested);

/* Notes the end of a tensor. Its site is known. */
void kept_size_gone(const struct kept *kept, struct kept_process *process, const struct mt_live *live);

/* After the lives of the moment: fills in the members for advice, if they are known. 0 or -MT_E_MEMORY. */
int kept_find_advice(const struct kept *kept, const struct kept_at *at, int failed, struct kept_moment *moment);

/* Whether the mapping exists at the moment. */
int kept_is_mapped(const struct kept *kept, const struct kept_mapping *mapping, const struct kept_when *when);

/* The order of all events of the run. */
static inline int kept_is_later(const struct kept_when *one, const struct kept_when *two)
{
	if (one->time != two->time)
		return one->time > two->time;
	if (one->process != two->process)
		return one->process > two->process;
	return one->seq > two->seq;
}

static inline uint32_t kept_process_of(const struct kept *kept, const struct kept_life *life)
{
	return kept->processes == 1 ? 0 : kept->analysis->attribution.site[life->site].key.process;
}

/* Returns the end of a life. Memory that was never freed ends with its process; see query/alive.h. */
static inline struct kept_when kept_end(const struct kept *kept, uint32_t process, int64_t time, uint64_t seq)
{
	const struct analysis_process *owner = &kept->analysis->process[process];

	if (seq != KEPT_STAYS)
		return (struct kept_when){ time, process, seq };
	return owner->over ? (struct kept_when){ owner->over_time, process, owner->over_seq }
			   : (struct kept_when){ INT64_MAX, process, KEPT_STAYS };
}

static inline struct kept_when kept_birth(const struct kept *kept, const struct kept_life *life)
{
	return (struct kept_when){ life->time, kept_process_of(kept, life), life->seq };
}

static inline struct kept_when kept_death(const struct kept *kept, const struct kept_life *life)
{
	return kept_end(kept, kept_process_of(kept, life), life->gone_time, life->gone_seq);
}

/* Whether a life contains the moment. Births and deaths by the event of the moment count as earlier. */
static inline int kept_is_between(const struct kept_when *birth, const struct kept_when *death,
				  const struct kept_when *when)
{
	return !kept_is_later(birth, when) && kept_is_later(death, when);
}

static inline int kept_is_alive(const struct kept *kept, const struct kept_life *life, const struct kept_when *when)
{
	struct kept_when birth = kept_birth(kept, life), death = kept_death(kept, life);

	return kept_is_between(&birth, &death, when);
}

/* Makes room for the site. 0 or -MT_E_MEMORY. */
int kept_add_site(struct kept *kept, uint32_t number);

/* Returns the entry of the site; adds a missing one. NULL: out of memory. */
static inline struct kept_site *kept_site_at(struct kept *kept, uint32_t number)
{
	return number < kept->sites || !kept_add_site(kept, number) ? &kept->site[number] : NULL;
}

/* Returns the slot of this kind, for a site that has an entry. NULL: none. */
static inline struct kept_slot *kept_slot_of(const struct kept *kept, uint32_t site, uint32_t kind)
{
	uint32_t number = kept->site[site].slot;

	while (number && kept->slot[number - 1].kind != kind)
		number = kept->slot[number - 1].next;
	return number ? &kept->slot[number - 1] : NULL;
}

/* Returns the deaths of a slot up to the moment. */
static inline const struct kept_deaths *kept_deaths_at(const struct kept_slot *slot, const struct kept *kept,
						       enum kept_which which)
{
	return slot->epoch[which] == kept->at[which].epoch ? &slot->was[which] : &slot->now;
}

/* Whether the moment can be on the device. */
static inline int kept_may_be(const struct kept *kept, const struct analysis_device *device)
{
	return !kept->only || device->user[0] == kept->only - 1;
}

/* Whether the first of two devices is the fuller one, by the rule of memana oom. */
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
