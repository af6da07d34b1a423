/*
 * liveset_impl.h - the data that a live set keeps from frame to frame. Private to liveset*.c.
 *
 * Places are many, a frame is short, and most places stay as they were. The groups of cells are therefore computed once
 * for each edition of the model. Rows are ordered by numbers.
 */
#ifndef MEMANA_TUI_LIVESET_IMPL_H
#define MEMANA_TUI_LIVESET_IMPL_H

#include "liveset.h"

/* ---- liveset_groups.c ---- */

struct liveset_groups;

struct liveset_groups *liveset_groups_new(void); /* NULL: out of memory */
void liveset_groups_free(struct liveset_groups *groups);

/* Adds the cells of all sites of the model. Returns 0 or -MT_E_MEMORY: no cell is known then. */
int liveset_groups_follow(struct liveset_groups *groups, const struct model *model);

/* The number of the cell's group, below liveset_groups_count; the cell is one of the model that was followed. */
uint32_t liveset_group(const struct liveset_groups *groups, uint32_t cell);
uint32_t liveset_groups_count(const struct liveset_groups *groups);

/* ---- liveset_order.c ---- */

struct liveset_order;

struct liveset_order *liveset_order_new(void); /* NULL: out of memory */
void liveset_order_free(struct liveset_order *order);

/*
 * Sorts rows, each with its own site and category. Equal rows are ordered by bytes, largest first, then by site.
 * Returns 0 or -MT_E_MEMORY: the rows are unchanged then.
 */
int liveset_order_rows(struct liveset_order *order, struct liveset_row *row, uint32_t rows, const struct model *model,
		       enum liveset_sort sort);

#endif
