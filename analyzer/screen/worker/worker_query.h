/*
 * worker_query.h - the timeline's questions to a database. Private to worker*.c.
 *
 * Views ask the worker, and the worker asks these functions. SQL is only in worker_query.c, except for SQL that a
 * person types (worker_sql.c).
 *
 * `row` is called for each row, whose columns are listed; a result other than 0 ends the query and is handed on. All
 * return 0, that result, or -MT_E_x.
 */
#ifndef MEMANA_TUI_WORKER_QUERY_H
#define MEMANA_TUI_WORKER_QUERY_H

#include <stdint.h>
#include "database/db.h"
#include "query/alive.h"

typedef int worker_query_row(void *context, struct db_stmt *row);

/* ---- of the summary (store_summary) ---- */

/* Whether load_places has filled the table. */
int worker_query_has_places(struct db *db, int *has);

/* node, function, place: the user's name for the place of a stack. */
int worker_query_places(struct db *db, worker_query_row *row, void *context);

/* id, evidence, decided_by: the evidence for a site's category. */
int worker_query_evidence(struct db *db, worker_query_row *row, void *context);

/* ---- of the whole run (load_run) ---- */

/* The indexes that the queries below need to be fast. Once. */
int worker_query_prepare(struct db *db);

/* id, process, device, node, phase: of every site. */
int worker_query_sites(struct db *db, worker_query_row *row, void *context);

/*
 * The `limit` largest allocations of the site's place, largest first. Columns: alloc_time, free_time, bytes, step; phase and step of
 * the free; function and place of the free, and 1 if these are not known.
 */
int worker_query_life(struct db *db, int64_t site, int64_t limit, worker_query_row *row, void *context);

/*
 * One row about all these allocations. Columns: count, bytes, number of freed ones, bytes of the others, number of
 * steps of birth; shortest, longest and average life in ns; bytes of the largest.
 */
int worker_query_life_sums(struct db *db, int64_t site, worker_query_row *row, void *context);

/*
 * One row: the function and place that freed most of them, the number it freed, and the number of places that freed
 * any.
 */
int worker_query_freed_by(struct db *db, int64_t site, worker_query_row *row, void *context);

/*
 * The changes on a device in (from, to], place by place, the largest growth first. Columns: bytes that are more in
 * use at `to` than at `from` (negative: fewer), bytes that were born meanwhile. Then bytes and number of these that
 * are in use at `to`; phase, category, function, place, rank (-1: none), pid. Last the site and bytes of the largest
 * allocation. An allocation that was born and is gone has no row. worker_query_in_use: one row, the bytes in use at
 * `from` and at `to`.
 */
int worker_query_between(struct db *db, int64_t device, int64_t from, int64_t to, worker_query_row *row, void *context);
int worker_query_in_use(struct db *db, int64_t device, int64_t from, int64_t to, worker_query_row *row, void *context);

/*
 * Driver memory of a device that no tensor uses at a moment, largest first. Columns: bytes, alloc_time, phase, step,
 * site, node, memory ("device", "async-pool").
 */
int worker_query_beside(struct db *db, int64_t device, const struct alive_moment *when, worker_query_row *row,
			void *context);

/* name: of every table and view. */
int worker_query_tables(struct db *db, worker_query_row *row, void *context);

/* *time: of the phase's peak on the device (of the database); -1: it has none. */
int worker_query_phase_peak(struct db *db, int64_t device, const char *phase, int64_t *time);

/* The columns in which sites of one stack differ. */
struct worker_query_stack {
	int64_t device, process, node; /* ids of the database; node 0: none */
	const char *phase, *category;  /* preferred category: a site with another one is better than no site */
};

/* *site: a site with this stack, 0: none. */
int worker_query_site_of(struct db *db, const struct worker_query_stack *stack, int64_t *site);

/* Drops the temporary tables of the last question, and not the one that the facts have filled. */
int worker_query_forget(struct db *db);

#endif
