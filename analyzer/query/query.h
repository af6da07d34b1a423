/*
 * query.h - the named questions that commands ask a database. Rows come back as plain structs; nothing is printed.
 *
 * Every question calls `row` for each answer, in a fixed order. Strings in a row live until `row` returns. A result
 * other than 0 ends the question. `row` may ask other questions. Questions return 0, the result of `row`, or -MT_E_x.
 */
#ifndef MEMANA_QUERY_H
#define MEMANA_QUERY_H

#include <stddef.h>
#include <stdint.h>
#include "database/db.h"

struct query_process {
	int64_t id, pid, rank;                                                       /* rank -1: none */
	const char *file, *host, *command, *options, *python_version, *tool_version; /* "": none */
	int64_t start_realtime, first_time, last_time;
	uint64_t steps, events, lost, unknown_frees, chunks, file_bytes;
	int complete, torn;         /* torn: the file ends inside a chunk, as after a crash */
	const char *ended, *damage; /* "": unknown; after a torn end always "" */
	uint64_t damage_offset;
	uint64_t let_go; /* events dropped on purpose (--keep) */
};

struct query_device {
	int64_t id, number;
	const char *kind, *name, *uuid; /* uuid "": unknown */
	uint64_t total;                 /* bytes, 0: unknown */
	struct {
		uint64_t bytes, slack;
		int64_t time, step, pid, rank; /* rank -1: none */
		const char *phase, *role;
		uint64_t imported; /* bytes that another process counts, not part of the peak */
		int64_t requested; /* bytes that tensors asked for; -1: unknown, or as their blocks */
		int64_t blocks;    /* bytes of the blocks; -1 as above */
		int blocks_exact;  /* 0: a lower bound */
	} peak;
};

/* Parts of what NVML counts of the recorded processes. X(member, column, words) */
#define QUERY_GPU_TOTAL_LIST(X)                            \
	X(context, context_bytes, "context")               \
	X(code, code_bytes, "code")                        \
	X(graph, graph_bytes, "graphs")                    \
	X(pool, pool_bytes, "kept by pools")               \
	X(earlier, earlier_bytes, "from before recording") \
	X(unexplained, unexplained_bytes, "unexplained")

/* NVML's figures at a peak. */
struct query_gpu_total {
	const char *peak;           /* "peak", or the phase of the peak */
	int64_t time;               /* time of the sample */
	uint64_t processes, absent; /* processes in the figures; recorded processes that were not sampled */
	uint64_t used, total, recorded;
	int known; /* 1: the process bytes and their parts are known */
	uint64_t process, others;
#define QUERY_GPU_TOTAL_MEMBER(member, column, words) int64_t member;
	QUERY_GPU_TOTAL_LIST(QUERY_GPU_TOTAL_MEMBER)
#undef QUERY_GPU_TOTAL_MEMBER
	const char *mixed; /* "context with code": some bytes of the first may belong to the second */
};

/* Host memory of a process and around it, bytes. */
struct query_host {
	int64_t pid, rank, time; /* rank -1: none */
	uint64_t resident, pinned, most_resident, most_pinned, cgroup, cgroup_limit, available,
		killed;                 /* limit 0: none */
	const char *pressure, *verdict; /* words of host.h; "": none */
};

/* How to cut the peak into parts. X(NAME, word, column of peak_part) */
#define QUERY_BY_LIST(X)                  \
	X(PHASE, "phase", phase)          \
	X(CATEGORY, "category", category) \
	X(OWNER, "owner", owner)          \
	X(PROCESS, "process", process)

enum query_by {
#define QUERY_BY_ENUM(name, word, column) QUERY_BY_##name,
	QUERY_BY_LIST(QUERY_BY_ENUM)
#undef QUERY_BY_ENUM
		QUERY_BY_COUNT
};

extern const char *const query_by_words[QUERY_BY_COUNT];

struct query_part {
	const char *word; /* phase, category, owner, or "rank 0, pid 123" */
	uint64_t bytes, count;
	int64_t pid, rank;    /* by process only; rank -1: none */
	uint64_t known, rule; /* by category only: bytes that the framework named, and bytes by a rule */
};

struct query_site {
	int64_t id, node, pid, rank; /* node 0: no stack; rank -1: none */
	uint64_t bytes, count;
	const char *phase, *category, *owner;
	const char *parameter;   /* names that the framework uses: "layers.*.weight and 3 more"; "": none */
	const char *submodule;   /* path of the module of its stack: "layers.3.fc1"; "": none */
	uint64_t rule, probable; /* bytes with a category by a rule, and by a guess; the framework named the rest */
	const char *evidence, *decided_by; /* evidence for the category, and frame that decided the phase; "": none */
	uint64_t sites;                    /* number of sites in this row; other fields are of the largest */
};

/* The category that has most of the peak, as in the parts by category, and the phase that made most of it. */
struct query_culprit {
	const char *category, *phase;
	uint64_t bytes;    /* all bytes of the category */
	uint64_t part;     /* part of these bytes from the phase */
	uint64_t probable; /* part of these bytes with a guessed category */
};

struct query_phase_peak {
	const char *phase;
	uint64_t bytes, tensors; /* most of each, perhaps at different moments */
	int64_t time, step;
	int64_t process, seq; /* process and seq of the event of the peak */
};

struct query_loss {
	int64_t pid, rank; /* rank -1: none */
	const char *reason;
	uint64_t events, records;
};

struct query_source {
	int64_t pid, rank; /* rank -1: none */
	const char *name, *state, *why;
	uint32_t processes; /* number of processes that have it */
	int64_t last_rank;  /* highest rank among them */
};

typedef int query_process_row(void *context, const struct query_process *row);
typedef int query_device_row(void *context, const struct query_device *row);
typedef int query_part_row(void *context, const struct query_part *row);
typedef int query_site_row(void *context, const struct query_site *row);
typedef int query_culprit_row(void *context, const struct query_culprit *row);
typedef int query_phase_peak_row(void *context, const struct query_phase_peak *row);
typedef int query_loss_row(void *context, const struct query_loss *row);
typedef int query_gpu_total_row(void *context, const struct query_gpu_total *row);
typedef int query_host_row(void *context, const struct query_host *row);
typedef int query_source_row(void *context, const struct query_source *row);

int query_processes(struct db *db, query_process_row *row, void *context);

/* Asks only for processes with an allocation on the device. The database must have lives. */
int query_processes_on(struct db *db, int64_t device, query_process_row *row, void *context);

/* Bytes of the device's peak that are in tensors. */
int query_tensors(struct db *db, int64_t device, uint64_t *bytes);

/*
 * Writes the names of the run's moments, series as one: "end, oom, peak, start, step:1 to step:9". The text fits in
 * QUERY_MOMENTS_MAX. Returns `out`.
 */
#define QUERY_MOMENTS_MAX 512
const char *query_moments(char out[QUERY_MOMENTS_MAX], struct db *db);

/* Returns 1 if a moment of the run has this name, 0 if none has, or -MT_E_x. */
int query_is_moment(struct db *db, const char *name);

/* Devices that were used, by number. */
int query_devices(struct db *db, query_device_row *row, void *context);

/* The peak of device `device` (id) in parts, largest first. */
int query_parts(struct db *db, int64_t device, enum query_by by, query_part_row *row, void *context);

/*
 * The source of the category of `bytes`: census, rule or probable, as in the table `site`. The weakest source with more
 * than a hundredth of the bytes counts. `rule` and `probable` are the bytes with these sources.
 */
const char *query_known(uint64_t bytes, uint64_t rule, uint64_t probable);

/* The `limit` largest sites at the peak (-1: all), largest first. */
int query_sites(struct db *db, int64_t device, int64_t limit, query_site_row *row, void *context);

/*
 * As query_sites, but sites of one line are one row if their modules differ in numbers alone: `submodule` is
 * layers.*.fc1. Time grows with the sites that have a module, or with `limit` for the others.
 */
int query_lines(struct db *db, int64_t device, int64_t limit, query_site_row *row, void *context);

/* One row; none when nothing was held. */
int query_culprit(struct db *db, int64_t device, query_culprit_row *row, void *context);

/* In order of time. */
int query_phase_peaks(struct db *db, int64_t device, query_phase_peak_row *row, void *context);

/* NVML's figures at the peak of a device (id), then at those of the phases, by time. */
int query_gpu_totals(struct db *db, int64_t device, query_gpu_total_row *row, void *context);

/* A row for each process that was sampled. */
int query_hosts(struct db *db, query_host_row *row, void *context);

int query_losses(struct db *db, query_loss_row *row, void *context);
int query_sources(struct db *db, query_source_row *row, void *context);

/* Sources that are off, with one row for all processes that have the same reason. `pid` and `rank` are the lowest. */
int query_sources_missing(struct db *db, query_source_row *row, void *context);

/* The newest census of a run: parameters, with those of all layers together. Results as in query.h. */

/* The kinds of memory in a census: X(member, word of parameter.what) */
#define QUERY_PARAMETER_LIST(X)     \
	X(weights, "weights")       \
	X(buffers, "buffers")       \
	X(gradients, "gradients")   \
	X(state, "optimizer state") \
	X(master, "master weights")

struct query_parameter {
	const char *name;                       /* name with * for the number of a layer; "": no module has it */
	const char *model, *module, *optimizer; /* "": none */
	const char *dtype, *shape;              /* "": unknown; the shape is of the whole tensor, not of a shard */
	uint64_t count, processes;              /* names; processes that have them */
	uint64_t bytes;                         /* sum of all members below; tied memory counts once */
#define QUERY_PARAMETER_MEMBER(member, word) uint64_t member;
	QUERY_PARAMETER_LIST(QUERY_PARAMETER_MEMBER)
#undef QUERY_PARAMETER_MEMBER
};

typedef int query_parameter_row(void *context, const struct query_parameter *row);

/* The `limit` largest (-1: all), largest first. */
int query_parameters(struct db *db, int64_t limit, query_parameter_row *row, void *context);

/* The sums of all: one row, or none where there was no census. */
int query_parameter_sum(struct db *db, query_parameter_row *row, void *context);

#endif
