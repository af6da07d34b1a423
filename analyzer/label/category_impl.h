/* category_impl.h - a site under judgement, for category.c (by its own lifetimes) and category_settle.c (by comparison with other sites). */
#ifndef MEMANA_CATEGORY_IMPL_H
#define MEMANA_CATEGORY_IMPL_H

#include "category.h"
#include "category_sizes.h"

struct judge {
	const struct site *site;
	const struct category_told *told; /* facts of the site's process */
	struct category_site *facts;
	struct category_sizes *sizes; /* sizes of the site's process; NULL: none */
	uint64_t births;              /* births at the site's line: of all sites alike (alike.h) */
	uint64_t most;                /* largest number of births at one line of the process */
	uint64_t at_peak;             /* allocations of the site that were alive at the peak */
	uint8_t opinion;
};

static inline void say(const struct judge *judge, uint8_t category, enum evidence why)
{
	judge->facts->category = category;
	judge->facts->why = (uint8_t)why;
}

static inline void say_of(const struct judge *judge, uint8_t category, enum evidence why, uint64_t count)
{
	say(judge, category, why);
	judge->facts->figure[0] = count;
	judge->facts->figure[1] = judge->facts->born;
}

/* Whether the site has the size of a weight. */
static inline int is_sized(const struct site *site)
{
	return site->key.size && site->key.size < SIZES_LOGITS;
}

/* Whether the allocations have the sizes of logits. Sets facts->figure. */
int category_has_logits(const struct judge *judge);

/* Sets the category of the site from its own facts. */
void category_judge(const struct judge *judge);

#endif
