/*
 * liveset_impl.h - what a live set keeps from one frame to the next. Private to liveset*.c.
 *
 * Places are many, a frame is short, and most of them are as they were: which cells look alike is worked out once for
 * each edition of the model, and what orders rows are numbers.
 */
#ifndef MEMANA_TUI_LIVESET_IMPL_H
#define MEMANA_TUI_LIVESET_IMPL_H

#include "liveset.h"

/* ---- liveset_groups.c ---- */

struct liveset_groups;

struct liveset_groups *liveset_groups_new(void); /* NULL: out of memory */
void liveset_groups_free(struct liveset_groups *groups);

/* Knows the cells of all sites that the model has. 0 or -MT_E_MEMORY: then it knows none. */
int liveset_groups_follow(struct liveset_groups *groups, const struct model *model);

/* The number of the cell's group, below liveset_groups_count; the cell is one of the model that was followed. */
uint32_t liveset_group(const struct liveset_groups *groups, uint32_t cell);
uint32_t liveset_groups_count(const struct liveset_groups *groups);

/* ---- liveset_order.c ---- */

struct liveset_order;

struct liveset_order *liveset_order_new(void); /* NULL: out of memory */
void liveset_order_free(struct liveset_order *order);

/*
 * Sorts rows, no two of which are of one site and category. Those that are equal have the larger first, then the one of
 * the lower site. 0 or -MT_E_MEMORY: then they are as they were.
 */
int liveset_order_rows(struct liveset_order *order, struct liveset_row *row, uint32_t rows, const struct model *model,
		       enum liveset_sort sort);

#endif
