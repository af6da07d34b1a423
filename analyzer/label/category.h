/*
 * category.h - the category of a site's bytes, derived from the lifetimes of its allocations.
 *
 * Rules and phases give a first opinion at a birth. Later events confirm or refute the opinion. One pass cannot look
 * ahead: each site counts how its allocations lived, and is judged after the last event:
 *
 *     born in      weights   gradients        optimizer state    activations
 *     init         stays
 *     backward               freed after it
 *     optimizer                               stays
 *     forward                                                    freed in backward
 *
 * Memory that is freed in the phase of its birth is workspace. Sizes tell more. Each size from before the first
 * computation (a weight's) gets a number. The number is part of the site's key. Allocations of a line in the size of a
 * weight are one site, and the other allocations of the line are another. Logits have the size that a function of the
 * loss allocates. Without a rule that names such a function, logits are tokens x vocabulary. Logits come once where a
 * layer's tensors come dozens of times.
 *
 * One line may allocate for several purposes in one phase. Some allocations die in the phase of their birth; the others
 * live until backward or longer. At the end such a site becomes two sites (`twin`). The bytes of the peak are split,
 * too: each death is compared with the current peak.
 *
 * Two purposes with equal lifetimes stay one site. If a trace ends early, the first opinion stays. Memory without
 * evidence is "other".
 */
#ifndef MEMANA_CATEGORY_H
#define MEMANA_CATEGORY_H

#include <stddef.h>
#include <stdint.h>
#include "attribution.h"
#include "census.h"
#include "memtrace/ledger.h"
#include "memtrace/phase.h"

/* Why a site has its category. X(NAME) - the words are in evidence.c. */
#define EVIDENCE_LIST(X)                                                                                          \
	X(NONE)                                                                                                   \
	X(CENSUS)            /* the framework said so */                                                          \
	X(AS_CENSUS)         /* the framework named allocations of the same stack and size */                     \
	X(RULE)              /* a rule names what its function allocates */                                       \
	X(RULE_VOCABULARY)   /* a rule names the function, and the bytes have the size of logits */               \
	X(OWNER)             /* the library that called takes memory for one purpose */                           \
	X(OPINION)           /* the phase alone, with no evidence against */                                      \
	X(STAYS)             /* born in init and kept */                                                          \
	X(SIZED_GRADIENT)    /* kept beyond the backward, with the size of weights */                             \
	X(GRADIENT)          /* kept beyond the backward */                                                       \
	X(STATE)             /* born in one step's optimizer, and kept */                                         \
	X(SIZED_STATE)       /* the same, and the bytes have the size of weights */                               \
	X(TEMPORARY)         /* born and freed in one stretch of the phase */                                     \
	X(NOT_A_WEIGHT)      /* born in backward, of no weight's size, trace ends */                              \
	X(FOR_BACKWARD)      /* born in forward, freed in backward */                                             \
	X(PASSING)           /* born and freed in forward */                                                      \
	X(REFUSED)           /* as PASSING, after a request for wider elements of the tensor ran out of memory */ \
	X(HALF)              /* half as large as the gradients of the same function (named by a rule) */          \
	X(VOCABULARY)        /* tokens x vocabulary x bytes of an element */                                      \
	X(LOSS)              /* as many elements as the loss made of them */                                      \
	X(CENSUS_VOCABULARY) /* VOCABULARY, with the vocabulary that the census tells */                          \
	X(RETAINED)          /* made in a step, alive two step ends later */                                      \
	X(ANEW)              /* made by the optimizer anew in each step */                                        \
	X(AS_GRADIENTS)      /* alive before; as many of this size as gradients */                                \
	X(AS_STATE)          /* alive before; half as many as tensors of optimizer state */                       \
	X(SEVERAL)           /* alive before; several times as many as gradients */                               \
	X(BACK)              /* as many as weights, or states, of this size that were all freed */                \
	X(REPLACED)          /* alive before; freed in an optimizer that made as many */                          \
	X(LOADED)            /* loaded in init, and no other weights have the size */                             \
	X(LAYERS)            /* alive before, in the sizes of the layers of a model that is not trained */

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
	uint64_t in_optimizer;          /* number that were born elsewhere and died in an optimizer */
	uint64_t later;                 /* number that died in a later step */
	uint64_t old;                   /* number that lived for two step ends or more */
	uint64_t after;                 /* most allocations alive at the end of a stretch of their phase */
	uint64_t largest, smallest;     /* bytes */
	uint32_t first_step, last_step; /* steps of the births */
	uint64_t first_seq, last_seq;   /* event numbers of the first and the last birth */
	uint32_t rule_frame;            /* rule_frame of the first birth's mt_label */
	uint8_t by_rule, by_owner;      /* source of the first opinion, unless the phase alone */
	uint8_t is_loss;                /* a rule says that the function belongs to the loss or the head */
	uint8_t is_handed;              /* a rule names a state dict that a model may use without a copy */
	uint8_t category;               /* enum mt_category, once settled */
	uint8_t why;                    /* enum evidence */
	uint64_t figure[3];             /* the numbers behind the evidence */
	uint32_t twin;                  /* site of the allocations that died, 0: this site */
	uint8_t twin_home;              /* 1: the twin has only allocations that died at home */
	uint64_t share, share_count;    /* with a twin: most bytes and allocations at one time */
	struct {
		uint64_t epoch, bytes, count; /* fields of struct attribution_device */
	} passing;                            /* part of the device's peak that died at home afterwards */
};

struct category_sizes;
struct census;

/* Sums over all sites and processes of an analysis. Zeroed: empty. */
struct categories {
	struct category_site *site; /* by the number of the site */
	uint32_t room;
	int home;                      /* the dying allocation dies in the phase and step of its birth */
	struct category_sizes **sizes; /* two of each process: of tensors, of driver memory */
	uint32_t processes;
};

void categories_release(struct categories *categories);

/*
 * Gives a process its sizes: of tensors, or of driver memory. The process has none yet. On success `categories` owns
 * `sizes`. Returns 0 or -MT_E_MEMORY.
 */
int category_take_sizes(struct categories *categories, uint32_t process, int driver, struct category_sizes *sizes);

/*
 * Returns the number of the size class for the key of a site, before a birth of `size` bytes; 0: none. `there`: the
 * memory existed when the trace began. Such memory adds no size after the first computation.
 */
uint8_t category_size(struct categories *categories, uint32_t process, int driver, uint64_t size, uint8_t phase,
		      uint32_t stack, int there);

/*
 * Whether tensors of `size` bytes are logits: by the vocabulary of the census, or by the loss where the census has
 * none.
 */
int category_is_logits(const struct categories *categories, const struct census *census, uint32_t process,
		       uint64_t size);

/* Notes that a request for a tensor of `size` bytes failed. */
void category_refused(struct categories *categories, uint32_t process, uint64_t size);

/*
 * Returns the facts of site `number`, and makes them when the site is new. NULL: out of memory. May move
 * `categories->site`.
 */
struct category_site *category_site(struct categories *categories, uint32_t number);

/*
 * Call category_born at a birth, category_died at a death during an event with `label`. category_back takes back a
 * death whose free failed. category_kept tells of memory alive at the end, in `step`.
 */
void category_born(struct category_site *site, const struct mt_live *live);
void category_loss(struct categories *categories, uint32_t process, uint64_t size); /* at a site that is_loss */
void category_back(struct categories *categories, const struct mt_live *live);
int category_died(struct categories *categories, uint32_t process, const struct mt_live *live,
		  const struct mt_label *label); /* returns 1 for a death in the phase and step of the birth */
void category_kept(struct category_site *site, const struct mt_live *live, uint32_t step);

/* Notes that `size` bytes of the device's peak number `epoch` died in the phase and step of their birth. */
void category_passed(struct category_site *site, uint64_t epoch, uint64_t size);

/*
 * Notes the end of a stretch of `phase` in the process. Memory that the stretch allocated and that is still alive has
 * outlived the stretch.
 */
void category_phase_over(struct categories *categories, const struct attribution *attribution, uint32_t process,
			 uint8_t phase);

/* The facts of a process beside its sites. */
struct category_told {
	const struct census *census; /* the framework's word */
	uint32_t steps;
};

/*
 * After the last event: sets the category of every site. `told` has `processes` entries. `first` is the result of
 * alike_sites. Makes new sites. Returns 0 or -MT_E_MEMORY.
 */
int categories_settle(struct categories *categories, struct attribution *attribution, const struct category_told *told,
		      uint32_t processes, const uint32_t *first);

/* The category of a site, or the category of its key for a site without births. */
uint8_t category_of_site(const struct categories *categories, const struct attribution *attribution, uint32_t number);

#endif
