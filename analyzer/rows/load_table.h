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

/*
 * X(type, column): int64_t, but for TEXT: a string that lives as long as the traces are open. DB_CELL_NULL is null in an OPTIONAL, TIME and
 * DEFINITION. TIME: ns since the run began; PROCESS, DEVICE, SITE: ids of the run; DEFINITION: one of the process (row_id).
 */
#define LOAD_COLUMNS_allocation_raw(X)                                                                                        \
	X(OPTIONAL, id) X(PROCESS, process) X(DEVICE, device) X(SITE, site) X(TEXT, memory) X(INTEGER, address) X(INTEGER, bytes)   \
	X(INTEGER, alloc_seq) X(TIME, alloc_time) X(OPTIONAL, free_seq) X(TIME, free_time) X(DEFINITION, thread)  \
	X(INTEGER, step) X(OPTIONAL, free_step) X(DEFINITION, free_node) X(INTEGER, tensors_inside)      \
	X(INTEGER, at_home) X(INTEGER, allocations)

#define LOAD_COLUMNS_mapping(X)                                                                                   \
	X(OPTIONAL, id) X(PROCESS, process) X(INTEGER, address) X(INTEGER, bytes) X(INTEGER, handle)               \
	X(INTEGER, map_seq) X(TIME, map_time) X(OPTIONAL, unmap_seq) X(TIME, unmap_time)

#define LOAD_COLUMNS_phase_span(X)                                                                                  \
	X(OPTIONAL, id) X(PROCESS, process) X(TEXT, phase) X(INTEGER, step) X(INTEGER, first_seq) X(INTEGER, last_seq) \
	X(TIME, first_time) X(TIME, last_time)

#define LOAD_COLUMNS_step(X)                                                                                         \
	X(PROCESS, process) X(INTEGER, step) X(INTEGER, begin_seq) X(TIME, begin_time) X(INTEGER, end_seq)        \
	X(TIME, end_time) X(TEXT, closed_by)

#define LOAD_COLUMNS_step_device(X)                                                                                \
	X(PROCESS, process) X(INTEGER, step) X(DEVICE, device) X(INTEGER, peak_bytes) X(TIME, peak_time)       \
	X(TEXT, peak_phase) X(INTEGER, held_bytes) X(INTEGER, slack_bytes) X(INTEGER, tensor_bytes)   \
	X(INTEGER, peak_tensor_bytes) X(PROCESS, peak_process) X(INTEGER, peak_seq) X(TEXT, peak_role)

#define LOAD_COLUMNS_gpu_sample(X)                                                                                \
	X(PROCESS, process) X(DEVICE, device) X(TIME, time) X(INTEGER, used_bytes) X(INTEGER, total_bytes)    \
	X(OPTIONAL, process_bytes) X(OPTIONAL, recorded_bytes) X(OPTIONAL, context_bytes) X(OPTIONAL, code_bytes)      \
	X(OPTIONAL, graph_bytes) X(OPTIONAL, pool_bytes) X(OPTIONAL, earlier_bytes) X(OPTIONAL, unexplained_bytes)    \
	X(OPTIONAL, mixed)

#define LOAD_COLUMNS_host_sample(X)                                                                                \
	X(PROCESS, process) X(TIME, time) X(OPTIONAL, rss_bytes) X(INTEGER, pinned_bytes) X(INTEGER, cgroup_bytes) \
	X(OPTIONAL, cgroup_limit_bytes) X(INTEGER, available_bytes) X(INTEGER, killed)

/* clang-format on */

#define LOAD_MEMBER_INTEGER int64_t
#define LOAD_MEMBER_OPTIONAL int64_t
#define LOAD_MEMBER_TIME int64_t
#define LOAD_MEMBER_PROCESS int64_t
#define LOAD_MEMBER_DEVICE int64_t
#define LOAD_MEMBER_SITE int64_t
#define LOAD_MEMBER_DEFINITION int64_t
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
