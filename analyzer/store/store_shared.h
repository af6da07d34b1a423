/*
 * store_shared.h - stacks that several processes have in common, as one row each.
 *
 *     rank 0   main ── train ── forward        rows of their own
 *     rank 1   main ── train ── forward        the rows of rank 0
 *
 * A frame is equal by function, file and line; a native one also by its library and address there. A node is equal by frame and parent. A node
 * that calls a module is equal to no other: modules belong to their process.
 */
#ifndef MEMANA_STORE_SHARED_H
#define MEMANA_STORE_SHARED_H

#include "engine/analysis.h"

/*
 * Makes analysis->shared from all definitions, after the last event. With one process it stays NULL: nothing is shared. 0 or -MT_E_MEMORY.
 */
int store_share(struct analysis *analysis);

/* The ids of rows: those of store_id, or of the process before that has an equal node or frame. `number` 0 and unknown numbers: store_id. */
int64_t store_node_id(const struct analysis *analysis, uint32_t process, uint64_t number);
int64_t store_frame_id(const struct analysis *analysis, uint32_t process, uint64_t number);

#endif
