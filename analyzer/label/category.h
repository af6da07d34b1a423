/*
 * category.h - the category of a site's bytes, found from the lifetimes of its allocations.
 *
 * Rules and phases give a first opinion at a birth. Later events confirm or refute this opinion. One pass cannot look ahead: each site counts how its
 * allocations lived, and is judged after the last event:
 *
 *     born in      weights   gradients        optimizer state    activations
 *     init         stays
 *     backward               freed after it
 *     optimizer                               stays
 *     forward                                                    freed in backward
 *
 * Memory that is freed in the phase of its birth is workspace. Sizes tell more. Each size from before the first computation can be the size of a
 * weight, and gets a number. This number is part of the site's key: allocations of a line in the size of a weight are one site, and the line's other
 * allocations are another site. Logits have the size that a function of the loss allocates. Without a rule that names such a function, logits have
 * tokens x vocabulary elements, and are far fewer than the tensors of layers.
 *
 * One line may allocate for two purposes in one phase: some allocations die in the phase of their birth, the others live until backward or longer. At
 * the end, such a site becomes two sites (`twin`). The bytes of the peak are split, too: each death is compared with the current peak.
 *
 * Two purposes with equal lifetimes stay one site. If a trace ends early, the first opinion stays. Memory without evidence is "other".
 */
#ifndef MEMANA_CATEGORY_H
#define MEMANA_CATEGORY_H

#include <stddef.h>
#include <stdint.h>
#include "attribution.h"
#include "census.h"
#include "memtrace/ledger.h"
#include "memtrace/phase.h"

/* The evidence for a site's category. X(NAME) - the words are in evidence.c. */
#define EVIDENCE_LIST(X)                                                                                         \
	X(NONE)                                                                                                  \
	X(CENSUS)            /* the framework named the allocations */                                           \
	X(AS_CENSUS)         /* the framework named allocations of the same stack and size */                    \
	X(RULE)              /* a rule names what its function allocates */                                      \
	X(RULE_VOCABULARY)   /* a rule names the function, and the bytes have the size of logits */              \
	X(OWNER)             /* the calling library takes memory for one purpose only */                         \
	X(OPINION)           /* only the phase, with no evidence against it */                                   \
	X(STAYS)             /* born in init and kept */                                                         \
	X(SIZED_GRADIENT)    /* kept beyond the backward, with the size of weights */                            \
	X(GRADIENT)          /* kept beyond the backward */                                                      \
	X(STATE)             /* born in the optimizer of one step, and kept */                                   \
	X(SIZED_STATE)       /* as STATE, with the size of weights */                                            \
	X(TEMPORARY)         /* born and freed in one period of the phase */                                     \
	X(NOT_A_WEIGHT)      /* born in backward, not in the size of a weight, until the trace ended */          \
	X(FOR_BACKWARD)      /* born in forward, freed in backward */                                            \
	X(PASSING)           /* born and freed in forward */                                                     \
	X(REFUSED)           /* as PASSING, after a request for the same elements, or wider ones, was refused */ \
	X(HALF)              /* half as large as the gradients of the same function (named by a rule) */         \
	X(VOCABULARY)        /* tokens x vocabulary x bytes of an element */                                     \
	X(LOSS)              /* as many elements as an allocation of the loss */                                 \
	X(CENSUS_VOCABULARY) /* as VOCABULARY, with the vocabulary of the census */                              \
	X(RETAINED)          /* made in a step, and alive two step ends later */                                 \
	X(ANEW)              /* made anew by the optimizer in each step */                                       \
	X(IN_PLACE)          /* as ANEW, and freed by the optimizer of the next step */                          \
	X(AS_GRADIENTS)      /* from before the first computation; as many of this size as gradients */          \
	X(AS_STATE)          /* from before the first computation; half as many as tensors of optimizer state */ \
	X(SEVERAL)           /* from before the first computation; several times as many as gradients */         \
	X(BACK)              /* as many of this size as freed weights, or freed states */                        \
	X(REPLACED)          /* from before the first computation; freed in an optimizer that made as many */    \
	X(LOADED)            /* loaded in init; no other weights have this size */                               \
	X(LAYERS)            /* from before the trace; in the sizes of the layers of an untrained model */

enum evidence {
#define EVIDENCE_ENUM(name) EVIDENCE_##name,
	EVIDENCE_LIST(EVIDENCE_ENUM)
#undef EVIDENCE_ENUM
		EVIDENCE_COUNT
};

/* How the allocations of a site lived. */
struct category_site {
	uint64_t born, died;
	uint64_t home;                  /* number that died in the phase and step of their birth */
	uint64_t in_backward;           /* number that were born elsewhere and died in a backward */
	uint64_t in_optimizer;          /* number that died in an optimizer, not in the one that made them */
	uint64_t later;                 /* number that died in a later step */
	uint64_t old;                   /* number that lived for two step ends or more */
	uint64_t after;                 /* largest number of allocations alive at the end of a period of their phase */
	uint64_t largest, smallest;     /* bytes of an allocation */
	uint32_t first_step, last_step; /* steps of the births */
	uint64_t first_seq, last_seq;   /* seq of the first and the last birth */
	uint32_t rule_frame;            /* rule_frame of the first birth's label */
	uint8_t by_rule, by_owner;      /* source of the first opinion; 0 and 0: the phase alone */
	uint8_t is_loss;                /* a rule says that the function belongs to the loss or the head */
	uint8_t is_handed;              /* 1: a rule names a state dict that a model may use without a copy */
	uint8_t category;               /* enum mt_category, final after categories_settle */
	uint8_t why;                    /* enum evidence */
	uint64_t figure[3];             /* numbers of the evidence */
	uint32_t twin;                  /* site of the allocations that were split off; 0: none were */
	uint8_t twin_home;              /* 1: the twin has only allocations that died at home */
	uint64_t share, share_count;    /* with a twin: bytes and allocations that stay with this site, at most */
	struct {
		uint64_t epoch, bytes, count; /* fields of struct attribution_device */
	} passing; /* bytes of the device's peak that later died in the phase of their birth */
};

struct category_sizes;
struct census;

/* Counts of all sites and processes of an analysis. All zero: empty. */
struct categories {
	struct category_site *site; /* index: number of the site */
	uint32_t room;
	int home;                      /* 1: the current death is in the phase and step of its birth */
	struct category_sizes **sizes; /* two for each process: tensors, driver memory */
	uint32_t processes;
};

void categories_release(struct categories *categories);

/*
 * Gives a process its sizes of tensors, or of driver memory; the process must not have them yet. On success `categories` owns `sizes`. Returns 0 or
 * -MT_E_MEMORY.
 */
int category_take_sizes(struct categories *categories, uint32_t process, int driver, struct category_sizes *sizes);

/*
 * Returns the number of the size class for the key of a site, before a birth of `size` bytes; 0: no class. `there`: the memory was there when the
 * trace began, and adds no size after the first computation.
 */
uint8_t category_size(struct categories *categories, uint32_t process, int driver, uint64_t size, uint8_t phase,
		      uint32_t stack, int there);

/* Whether tensors of `size` bytes are logits, by the vocabulary of the census; without a census, by the loss. */
int category_is_logits(const struct categories *categories, const struct census *census, uint32_t process,
		       uint64_t size);

/* Notes that a request for a tensor of `size` bytes failed. */
void category_refused(struct categories *categories, uint32_t process, uint64_t size);

/* Returns the facts of site `number`, zeroed for a new site. NULL: out of memory. May move `categories->site`. */
struct category_site *category_site(struct categories *categories, uint32_t number);

/*
 * category_born counts a birth, category_died a death in an event with `label`. `size_class`: of the site's key. `unwinds`: an exception frees, and
 * the phase of the death says nothing. category_back takes back a death whose free failed. category_kept counts memory alive at the end, in `step`.
 */
void category_born(struct category_site *site, const struct mt_live *live);
void category_loss(struct categories *categories, uint32_t process, uint64_t size); /* for a site with is_loss */
void category_back(struct categories *categories, const struct mt_live *live);
int category_died(struct categories *categories, uint32_t process, const struct mt_live *live, uint8_t size_class,
		  const struct mt_label *label, int unwinds); /* returns 1 for a death in phase and step of the birth */
void category_kept(struct category_site *site, const struct mt_live *live, uint32_t step);

/* Counts `size` bytes of the device's peak number `epoch` that died in the phase and step of their birth. */
void category_passed(struct category_site *site, uint64_t epoch, uint64_t size);

/* Notes the end of a period of `phase` in the process. Memory that the period allocated and that is alive has outlived the period. */
void category_phase_over(struct categories *categories, const struct attribution *attribution, uint32_t process,
			 uint8_t phase);

/* Facts about a process that its sites do not have. */
struct category_told {
	const struct census *census; /* the framework's word */
	uint32_t steps;
};

/*
 * Sets the category of each site, after the last event, and adds twin sites. `told` has `processes` entries. `first` is the result of alike_sites.
 * Returns 0 or -MT_E_MEMORY.
 */
int categories_settle(struct categories *categories, struct attribution *attribution, const struct category_told *told,
		      uint32_t processes, const uint32_t *first);

/* Returns the category of a site. A site without births has the category of its key. */
uint8_t category_of_site(const struct categories *categories, const struct attribution *attribution, uint32_t number);

#endif
