/*
 * query.h - the questions that commands ask a database. A row of an answer is a plain struct. No question prints.
 *
 * Each question calls `row` for each row of its answer, in a fixed order. Strings in a row live until `row` returns. If `row` returns anything but 0,
 * the question ends. `row` may ask other questions. Questions return 0, the result of `row`, or -MT_E_x.
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
	int complete, torn;         /* torn: 1: the file ends inside a chunk, as after a crash */
	const char *ended, *damage; /* "": unknown; always "" after a torn end */
	uint64_t damage_offset;
	uint64_t let_go; /* number of events that were dropped on purpose (--keep) */
};

struct query_device {
	int64_t id, number;
	const char *kind, *name, *uuid; /* uuid "": unknown */
	uint64_t total;                 /* bytes, 0: unknown */
	struct {
		uint64_t bytes, slack;
		int64_t time, step, pid, rank; /* rank -1: none */
		const char *phase, *role;
		uint64_t imported; /* bytes that another process counts; not part of the peak */
		int64_t requested; /* bytes that tensors requested; -1: unknown, or equal to their blocks */
		int64_t blocks;    /* bytes of these blocks; -1 as for `requested` */
		int blocks_exact;  /* 0: `blocks` is a lower bound */
	} peak;
};

/* The parts of NVML's bytes of the recorded processes. X(member, column, words) */
#define QUERY_GPU_TOTAL_LIST(X)                            \
	X(context, context_bytes, "context")               \
	X(code, code_bytes, "code")                        \
	X(graph, graph_bytes, "graphs")                    \
	X(pool, pool_bytes, "kept by pools")               \
	X(earlier, earlier_bytes, "from before recording") \
	X(unexplained, unexplained_bytes, "unexplained")

/* NVML's figures at a peak. */
struct query_gpu_total {
	const char *peak;           /* "peak", or a phase: which peak this is */
	int64_t time;               /* time of the sample */
	uint64_t processes, absent; /* processes in these figures; recorded processes without a sample */
	uint64_t used, total, recorded;
	int known; /* 1: the processes' bytes and their parts are known */
	uint64_t process, others;
#define QUERY_GPU_TOTAL_MEMBER(member, column, words) int64_t member;
	QUERY_GPU_TOTAL_LIST(QUERY_GPU_TOTAL_MEMBER)
#undef QUERY_GPU_TOTAL_MEMBER
	const char *mixed; /* "context with code": some bytes of the first part may belong to the second */
};

/* Host memory of a process and of its cgroup and machine, in bytes. */
struct query_host {
	int64_t pid, rank, time; /* rank -1: none */
	uint64_t resident, pinned, most_resident, most_pinned, cgroup, cgroup_limit, available,
		killed;                 /* cgroup_limit 0: no limit */
	const char *pressure, *verdict; /* words of host.h; "": none */
};

/* The ways to cut a peak into parts. X(NAME, word, column of peak_part) */
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
	uint64_t known, rule; /* by category only: bytes that the framework named; bytes that a rule named */
};

struct query_site {
	int64_t id, node, pid, rank; /* node 0: no stack; rank -1: none */
	uint64_t bytes, count;
	const char *phase, *category, *owner;
	const char *parameter;   /* names that the framework uses: "layers.*.weight and 3 more"; "": none */
	const char *submodule;   /* path of the module on its stack: "layers.3.fc1"; "": none */
	uint64_t rule, probable; /* bytes with a category by a rule; by a guess; the framework named the rest */
	const char *evidence, *decided_by; /* evidence for the category; frame that decided the phase; "": none */
	uint64_t sites;                    /* number of sites in this row; other members describe the largest site */
};

/* The category with most bytes of the peak, as in the parts by category, and the phase that made most of these bytes. */
struct query_culprit {
	const char *category, *phase;
	uint64_t bytes;    /* all bytes of the category */
	uint64_t part;     /* part of these bytes from the phase */
	uint64_t probable; /* part of these bytes with a guessed category */
};

struct query_phase_peak {
	const char *phase;
	uint64_t bytes, tensors; /* largest number of each, possibly at different moments */
	int64_t time, step;
	int64_t process, seq; /* the event of the peak */
};

struct query_loss {
	int64_t pid, rank; /* rank -1: none */
	const char *reason;
	uint64_t events, records;
};

struct query_source {
	int64_t pid, rank; /* rank -1: none */
	const char *name, *state, *why;
	uint32_t processes; /* number of processes in the row */
	int64_t last_rank;  /* their highest rank */
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

/* As query_processes, for processes with an allocation on the device. The database must have lives. */
int query_processes_on(struct db *db, int64_t device, query_process_row *row, void *context);

/* Sets *bytes to the bytes of the device's peak in tensors. */
int query_tensors(struct db *db, int64_t device, uint64_t *bytes);

/*
 * Writes the names of the run's moments, a series as one: "end, oom, peak, start, step:1 to step:9". The text fits into QUERY_MOMENTS_MAX. Returns
 * `out`.
 */
#define QUERY_MOMENTS_MAX 512
const char *query_moments(char out[QUERY_MOMENTS_MAX], struct db *db);

/* Returns 1: a moment of the run has this name; 0: no moment has it; or -MT_E_x. */
int query_is_moment(struct db *db, const char *name);

/* The devices with bytes, by number. */
int query_devices(struct db *db, query_device_row *row, void *context);

/* The parts of the peak of device `device` (id), largest first. */
int query_parts(struct db *db, int64_t device, enum query_by by, query_part_row *row, void *context);

/*
 * Returns the source of the category of `bytes`: "census", "rule" or "probable", as in the table `site`: the weakest source of more than a hundredth
 * of the bytes. `rule` and `probable` are the bytes with these sources.
 */
const char *query_known(uint64_t bytes, uint64_t rule, uint64_t probable);

/* The `limit` largest sites at the peak, largest first; -1: all sites. */
int query_sites(struct db *db, int64_t device, int64_t limit, query_site_row *row, void *context);

/*
 * As query_sites, but sites of one line are one row if their modules differ only in numbers: `submodule` is then layers.*.fc1. Time grows with the
 * sites that have a module, and with `limit` for the others.
 */
int query_lines(struct db *db, int64_t device, int64_t limit, query_site_row *row, void *context);

/* One row; no row if the peak is 0. */
int query_culprit(struct db *db, int64_t device, query_culprit_row *row, void *context);

/* The peaks of the phases, by time. */
int query_phase_peaks(struct db *db, int64_t device, query_phase_peak_row *row, void *context);

/* NVML's figures at the peak of a device (id), then at the peaks of its phases, by time. */
int query_gpu_totals(struct db *db, int64_t device, query_gpu_total_row *row, void *context);

/* One row for each process with a sample of the host. */
int query_hosts(struct db *db, query_host_row *row, void *context);

int query_losses(struct db *db, query_loss_row *row, void *context);
int query_sources(struct db *db, query_source_row *row, void *context);

/* Sources that are off: one row for all processes with the same reason. `pid` and `rank` are the lowest of these. */
int query_sources_missing(struct db *db, query_source_row *row, void *context);

/* The newest census of a run: its parameters, with one row for the layers of a model. */

/* The kinds of memory in a census: X(member, word of parameter.what) */
#define QUERY_PARAMETER_LIST(X)     \
	X(weights, "weights")       \
	X(buffers, "buffers")       \
	X(gradients, "gradients")   \
	X(state, "optimizer state") \
	X(master, "master weights")

struct query_parameter {
	const char *name;                       /* name, with a star for the number of a layer; "": in no module */
	const char *model, *module, *optimizer; /* "": none */
	const char *dtype, *shape;              /* "": unknown; the whole tensor's shape, also for shards */
	uint64_t count, processes;              /* number of names; number of processes that have these */
	uint64_t bytes;                         /* sum of the members below; tied memory counts once */
#define QUERY_PARAMETER_MEMBER(member, word) uint64_t member;
	QUERY_PARAMETER_LIST(QUERY_PARAMETER_MEMBER)
#undef QUERY_PARAMETER_MEMBER
};

typedef int query_parameter_row(void *context, const struct query_parameter *row);

/* The `limit` largest parameters, largest first; -1: all parameters. */
int query_parameters(struct db *db, int64_t limit, query_parameter_row *row, void *context);

/* The sums over all parameters: one row; no row without a census. */
int query_parameter_sum(struct db *db, query_parameter_row *row, void *context);

#endif
