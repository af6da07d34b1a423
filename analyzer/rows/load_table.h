/*
 * load_table.h - the tables that grow while the traces are read: their rows in memory, column by column as schema.sql
 * has them.
 */
#ifndef MEMANA_LOAD_TABLE_H
#define MEMANA_LOAD_TABLE_H

#include <stdint.h>

/* X(table): name in the schema, struct load_<table>, enum LOAD_<table>, columns LOAD_COLUMNS_<table> */
#define LOAD_TABLES(X)    \
	X(allocation_raw) \
	X(mapping)        \
	X(phase_span)     \
	X(step)           \
	X(step_device)    \
	X(gpu_sample)     \
	X(host_sample)

/* Tables, which the formatter takes for expressions. */
/* clang-format off */

/* X(type, column); INTEGER: int64_t; OPTIONAL: int64_t, DB_CELL_NULL is null; TEXT: a string that lives as long as the traces are open */
#define LOAD_COLUMNS_allocation_raw(X)                                                                                        \
	X(OPTIONAL, id) X(INTEGER, process) X(INTEGER, device) X(INTEGER, site) X(TEXT, memory) X(INTEGER, address) X(INTEGER, bytes)   \
	X(INTEGER, alloc_seq) X(INTEGER, alloc_time) X(OPTIONAL, free_seq) X(OPTIONAL, free_time) X(OPTIONAL, thread)  \
	X(INTEGER, step) X(OPTIONAL, free_step) X(OPTIONAL, free_node) X(INTEGER, tensors_inside)      \
	X(INTEGER, at_home) X(INTEGER, allocations)

#define LOAD_COLUMNS_mapping(X)                                                                                   \
	X(OPTIONAL, id) X(INTEGER, process) X(INTEGER, address) X(INTEGER, bytes) X(INTEGER, handle)               \
	X(INTEGER, map_seq) X(INTEGER, map_time) X(OPTIONAL, unmap_seq) X(OPTIONAL, unmap_time)

#define LOAD_COLUMNS_phase_span(X)                                                                                  \
	X(OPTIONAL, id) X(INTEGER, process) X(TEXT, phase) X(INTEGER, step) X(INTEGER, first_seq) X(INTEGER, last_seq) \
	X(INTEGER, first_time) X(INTEGER, last_time)

#define LOAD_COLUMNS_step(X)                                                                                         \
	X(INTEGER, process) X(INTEGER, step) X(INTEGER, begin_seq) X(INTEGER, begin_time) X(INTEGER, end_seq)        \
	X(INTEGER, end_time) X(TEXT, closed_by)

#define LOAD_COLUMNS_step_device(X)                                                                                \
	X(INTEGER, process) X(INTEGER, step) X(INTEGER, device) X(INTEGER, peak_bytes) X(INTEGER, peak_time)       \
	X(TEXT, peak_phase) X(INTEGER, held_bytes) X(INTEGER, slack_bytes) X(INTEGER, tensor_bytes)   \
	X(INTEGER, peak_tensor_bytes) X(INTEGER, peak_process) X(INTEGER, peak_seq) X(TEXT, peak_role)

#define LOAD_COLUMNS_gpu_sample(X)                                                                                \
	X(INTEGER, process) X(INTEGER, device) X(INTEGER, time) X(INTEGER, used_bytes) X(INTEGER, total_bytes)    \
	X(OPTIONAL, process_bytes) X(OPTIONAL, recorded_bytes) X(OPTIONAL, context_bytes) X(OPTIONAL, code_bytes)      \
	X(OPTIONAL, graph_bytes) X(OPTIONAL, pool_bytes) X(OPTIONAL, earlier_bytes) X(OPTIONAL, unexplained_bytes)    \
	X(OPTIONAL, mixed)

#define LOAD_COLUMNS_host_sample(X)                                                                                \
	X(INTEGER, process) X(INTEGER, time) X(OPTIONAL, rss_bytes) X(INTEGER, pinned_bytes) X(INTEGER, cgroup_bytes) \
	X(OPTIONAL, cgroup_limit_bytes) X(INTEGER, available_bytes) X(INTEGER, killed)

/* clang-format on */

#define LOAD_MEMBER_INTEGER int64_t
#define LOAD_MEMBER_OPTIONAL int64_t
#define LOAD_MEMBER_TEXT const char *
#define LOAD_MEMBER(type, column) LOAD_MEMBER_##type column;
#define LOAD_STRUCT(table)                        \
	struct load_##table {                     \
		LOAD_COLUMNS_##table(LOAD_MEMBER) \
	};
LOAD_TABLES(LOAD_STRUCT)

enum load_table {
#define LOAD_ENUM(table) LOAD_##table,
	LOAD_TABLES(LOAD_ENUM)
#undef LOAD_ENUM
		LOAD_TABLE_COUNT
};

#endif
