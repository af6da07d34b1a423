/*
 * find_sizes.h - block sizes of a process, to find copies: later blocks of equal size, or of equal elements in another dtype.
 */
#ifndef MEMANA_WHY_FIND_SIZES_H
#define MEMANA_WHY_FIND_SIZES_H

#include <stddef.h>
#include <stdint.h>
#include "find.h"

#define FIND_SIZES_MOST 75          /* percent of a site: an unfinished copy, or one with more blocks, is a copy */
#define FIND_SIZES_MANY 4           /* pieces: two or three can have equal sizes by chance */
#define FIND_SIZES_LEAST (1u << 20) /* bytes: smaller blocks often have equal sizes by chance */

/* Blocks of one size and site. */
struct find_sizes_row {
	uint64_t each;
	int64_t there;  /* seq at which the site had most of its blocks */
	uint64_t count; /* blocks of this size up to this row */
};

struct find_sizes {
	struct find_sizes_row *row; /* by size, then there */
	size_t rows;
	uint64_t bytes;
};

/*
 * Loads the process's weights on the device of the request. engine 1: weights of an engine; 0: all other weights. 0 or
 * -MT_E_MEMORY.
 */
int find_sizes_load(struct find_sizes *sizes, const struct scene *scene, uint32_t process, int engine);
void find_sizes_release(struct find_sizes *sizes);

/* A copy has `num` bytes for each `den` bytes of its original. */
struct find_sizes_ratio {
	unsigned num, den;
};

/* Blocks of a site with sizes that were resident before the site's first block. */
struct find_sizes_match {
	struct find_sizes_ratio ratio;
	uint64_t bytes, pieces, kinds; /* matching blocks; kinds: number of different sizes */
	uint64_t of;                   /* bytes of the site in blocks of FIND_SIZES_LEAST or more */
	uint64_t there;                /* number of earlier blocks of these sizes */
};

/* The sizes of one site: its blocks from..to (indices of scene.block). 0 or -MT_E_MEMORY. */
int find_sizes_site(struct find_sizes *sizes, const struct scene *scene, size_t from, size_t to);

/* since: seq of the site's first block. */
struct find_sizes_match find_sizes_match(const struct find_sizes *sizes, const struct find_sizes *site,
					 struct find_sizes_ratio ratio, int64_t since);

/* Whether the sizes are equal up to the rounding of allocators. */
static inline int find_sizes_are_equal(uint64_t one, uint64_t two)
{
	uint64_t more = one > two ? one - two : two - one;

	return more <= 1024 || more <= one / 1024;
}

/* The process needs bytes of the category, but not these. */
static inline void find_not_now(struct candidate *candidate)
{
	if (candidate->need == MT_NEED_NOW)
		candidate->need = MT_NEED_LATER;
}

/* The end of the site's blocks that begin at `from`. */
static inline size_t find_site_end(const struct scene *scene, size_t from)
{
	size_t to = from;

	while (to < scene->blocks && scene->block[to].site == scene->block[from].site)
		to++;
	return to;
}

/* Seq at which the site had most of its blocks. A quarter can come late: a partial reload makes no new model. */
static inline int64_t find_site_there(const struct scene *scene, size_t from, size_t to)
{
	return scene->block[from + (to - from - 1) * 3 / 4].seq;
}

#endif
