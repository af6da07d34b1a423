/*
 * load_category.h - the categories of allocations. Private to load*.c.
 *
 * Rows are written when something dies, with what its site seems to be then; what it was is known at the end. Mostly the
 * first few that died tell: only rows before the last change of mind are looked at again.
 */
#ifndef MEMANA_LOAD_CATEGORY_H
#define MEMANA_LOAD_CATEGORY_H

#include <stdint.h>
#include "database/db.h"
#include "engine/analysis.h"

struct load_category_site {
	uint64_t until; /* rows up to this one may have another category than `category`, 0: none */
	uint8_t category;
	uint8_t written; /* rows of the site have been */
};

/* Zeroed: no site is known. */
struct load_category {
	struct load_category_site *site; /* by number */
	uint32_t room;
	uint64_t rows; /* of `allocation`: no id is above */
};

/*
 * The enum mt_category for the row of something that died or is left at `site`; it will be the next row. -MT_E_MEMORY.
 */
int load_category_row(struct load_category *categories, const struct analysis *analysis, uint32_t site);

/* allocation.category, now that it is known; the table `site` is filled. 0 or an error of the database. */
int load_category_settle(struct load_category *categories, struct db *db, const struct analysis *analysis);

void load_category_release(struct load_category *categories);

#endif
