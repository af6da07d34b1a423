/*
 * category.h - what the bytes of a site are, from how they lived.
 *
 * Rules and phases give a first opinion when something is born; whether it was right shows later. One pass cannot look
 * ahead, so each site counts how its allocations lived, and is judged when all events have been read:
 *
 *     born in      weights   gradients        optimizer state    activations
 *     init         stays
 *     backward               freed after it
 *     optimizer                               stays
 *     forward                                                    freed in backward
 *
 * Memory that goes in the phase in which it came is workspace. Sizes tell more. Sizes from before the first
 * computation, the weights', are numbered, and the number is part of the site's key. A line's allocations in the size
 * of a weight are another site than its rest. Logits have the size that a function of the loss allocates. Without a
 * rule that names one, they are tokens x vocabulary, once where there are dozens of the layers.
 *
 * One line's allocations in one phase may be for several purposes. Some are gone in the phase in which they came; the
 * rest live on, until backward, beyond it, for good. Then it is two sites in the end, by how each allocation lived
 * (`twin`). The peak's bytes are told apart, too, because deaths are held against the standing peak.
 *
 * It cannot tell apart what lives alike. Nor what a trace that ends early would have shown: then the opinion stays.
 * Memory without evidence is "other".
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
#define EVIDENCE_LIST(X)                                                                                   \
	X(NONE)                                                                                            \
	X(CENSUS)            /* the framework said so */                                                   \
	X(AS_CENSUS)         /* it said so of what the same stack allocated in the same size */            \
	X(RULE)              /* a rule names what its function allocates */                                \
	X(RULE_VOCABULARY)   /* and it has the size of logits */                                           \
	X(OWNER)             /* the library that asked takes memory for one purpose */                     \
	X(OPINION)           /* the phase, and nothing that speaks against it */                           \
	X(STAYS)             /* born in init and kept */                                                   \
	X(SIZED_GRADIENT)    /* kept beyond the backward, with the size of weights */                      \
	X(GRADIENT)          /* kept beyond the backward */                                                \
	X(STATE)             /* born in one step's optimizer, and kept */                                  \
	X(SIZED_STATE)       /* and of the size of weights */                                              \
	X(TEMPORARY)         /* born and freed in one stretch of the phase */                              \
	X(NOT_A_WEIGHT)      /* born in backward, of no weight's size, trace ends */                       \
	X(FOR_BACKWARD)      /* born in forward, freed in backward */                                      \
	X(PASSING)           /* born and freed in forward */                                               \
	X(REFUSED)           /* the same, and it was to be had in another element when memory ran out */   \
	X(HALF)              /* half as large as the gradients of the same function, which a rule names */ \
	X(VOCABULARY)        /* tokens x vocabulary x bytes of an element */                               \
	X(LOSS)              /* as many elements as the loss made of them */                               \
	X(CENSUS_VOCABULARY) /* and the census says how many words there are */                            \
	X(RETAINED)          /* a step's, alive two step ends later */                                     \
	X(ANEW)              /* made by the optimizer anew in each step */                                 \
	X(AS_GRADIENTS)      /* alive before, as many of the size as there are gradients */                \
	X(AS_STATE)          /* alive before, half as many as optimizer state */                           \
	X(SEVERAL)           /* alive before, several times as many as gradients */                        \
	X(BACK)              /* as many as there were weights, or states, of the size, which all went */   \
	X(REPLACED)          /* alive before, gone in the optimizer, which made as many */                 \
	X(LOADED)            /* loaded in init, and no other weights have the size */                      \
	X(LAYERS)            /* alive before, in the sizes of a model's layers that nobody trains */

enum evidence {
#define EVIDENCE_ENUM(name) EVIDENCE_##name,
	EVIDENCE_LIST(EVIDENCE_ENUM)
#undef EVIDENCE_ENUM
		EVIDENCE_COUNT
};

/* How the allocations of a site lived. */
struct category_site {
	uint64_t born, died;
	uint64_t home;                  /* died in the phase and step in which they were born */
	uint64_t in_backward;           /* died in a backward that they were not born in */
	uint64_t in_optimizer;          /* died in an optimizer */
	uint64_t later;                 /* died in a later step */
	uint64_t old;                   /* lived on over the ends of two steps */
	uint64_t after;                 /* the most that were alive when a stretch of their phase was over */
	uint64_t largest, smallest;     /* bytes */
	uint32_t first_step, last_step; /* steps of the births */
	uint64_t first_seq, last_seq;   /* their events */
	uint32_t rule_frame;            /* mt_label, of the first birth */
	uint8_t by_rule, by_owner;      /* source of the first opinion, if not just the phase */
	uint8_t is_loss;                /* a rule says that its function is of the loss or the head */
	uint8_t is_handed;              /* a state dict by a rule, which a model may use as it is */
	uint8_t category;               /* enum mt_category, once settled */
	uint8_t why;                    /* enum evidence */
	uint64_t figure[3];             /* the numbers behind the evidence */
	uint32_t twin;                  /* the site of those of its allocations that died, 0: this one */
	uint8_t twin_home;              /* 1: no, of those only that died at home */
	uint64_t share, share_count; /* for a site with a twin: bytes and allocations that it has at most at a time */
	struct {
		uint64_t epoch, bytes, count; /* fields of struct attribution_device */
	} passing;                            /* the part of the device's peak that died at home later */
};

struct category_sizes;
struct census;

/* Sums over all sites and processes of an analysis. Zeroed: empty. */
struct categories {
	struct category_site *site; /* by the number of the site */
	uint32_t room;
	int home;                      /* the dying allocation goes in the phase and step in which it was born */
	struct category_sizes **sizes; /* two of each process: of tensors, of driver memory */
	uint32_t processes;
};

void categories_release(struct categories *categories);

/* The sizes of a process that has none: of tensors, or of driver memory. They are the categories' own from now on. 0 or -MT_E_MEMORY. */
int category_take_sizes(struct categories *categories, uint32_t process, int driver, struct category_sizes *sizes);

/*
 * For the key of the site of something of `size` bytes that is about to be born: the number of its size, 0: none. `there`: it is
 * not, it was there when the trace began; what was computed then tells nothing of what comes first.
 */
uint8_t category_size(struct categories *categories, uint32_t process, int driver, uint64_t size, uint8_t phase,
		      uint32_t stack, int there);

/* Whether such a size is tokens x vocabulary by what the census tells of the process. */
int category_is_logits(const struct categories *categories, const struct census *census, uint32_t process,
		       uint64_t size);

/* A tensor of the size could not be had. */
void category_refused(struct categories *categories, uint32_t process, uint64_t size);

/* The facts of site `number`, made when it is new. NULL: out of memory. Moves `site`. */
struct category_site *category_site(struct categories *categories, uint32_t number);

/*
 * `live` was born at the site; it died during an event with `label`; it came back, for the free had failed; it was alive at
 * the end, in `step`.
 */
void category_born(struct category_site *site, const struct mt_live *live);
void category_loss(struct categories *categories, uint32_t process, uint64_t size); /* at a site that is_loss */
void category_back(struct categories *categories, const struct mt_live *live);
int category_died(struct categories *categories, uint32_t process, const struct mt_live *live,
		  const struct mt_label *label); /* 1: at home, in the phase and step in which it was born */
void category_kept(struct category_site *site, const struct mt_live *live, uint32_t step);

/* Something of `size` bytes died at home that had been there at the device's peak, with that epoch. */
void category_passed(struct category_site *site, uint64_t epoch, uint64_t size);

/* A stretch of `phase` is over in the process: what it allocated and is still there has outlived it. */
void category_phase_over(struct categories *categories, const struct attribution *attribution, uint32_t process,
			 uint8_t phase);

/* The facts of a process beside its sites. */
struct category_told {
	const struct census *census; /* the framework's word */
	uint32_t steps;
};

/*
 * After the last event: the category of every site. `told`: by process, of which there are `processes`. `first`: of alike_sites.
 * Makes new sites. 0 or -MT_E_MEMORY.
 */
int categories_settle(struct categories *categories, struct attribution *attribution, const struct category_told *told,
		      uint32_t processes, const uint32_t *first);

/* The category of a site; that of its key where nothing was seen of it. */
uint8_t category_of_site(const struct categories *categories, const struct attribution *attribution, uint32_t number);

#endif
