/*
 * gpu_total.h - the difference between NVML's count of one process on one GPU and the bytes of the ledger, explained.
 *
 *     NVML   ┌────────────── 71.2 GiB ───────────────┐
 *     ledger ├──────────── 70.4 ──────────┐          │
 *            │           recorded         │ remainder│ = context + code + graphs + pools + unexplained
 *
 * The remainder grows when the driver takes memory that no call names a size for. Growth between two samples goes to
 * the driver calls in between. If there are several causes, the first in the list below gets the bytes, and `with`
 * remembers the others. Bytes without a call are unexplained. Bytes are never divided by guess.
 *
 * A sample is useful only if no memory moved during it: NVML counts an allocation before its call returns, and a free
 * after its call begins. A sample is settled when the ledger held equal bytes from shortly before to shortly after it.
 * A free waits for the GPU, some hundred ms: a remainder that grew by the bytes of the newest free is of that free.
 * Other samples are ignored.
 */
#ifndef MEMANA_GPU_TOTAL_H
#define MEMANA_GPU_TOTAL_H

#include <stdint.h>

/* X(NAME, word), in order of trust. */
#define GPU_TOTAL_CAUSE_LIST(X) \
	X(CONTEXT, "context")   \
	X(CODE, "code")         \
	X(GRAPHS, "graphs")     \
	X(POOLS, "pools")       \
	X(EARLIER, "earlier") /* from before the recording began */

enum gpu_total_cause {
#define GPU_TOTAL_CAUSE_ENUM(name, word) GPU_TOTAL_##name,
	GPU_TOTAL_CAUSE_LIST(GPU_TOTAL_CAUSE_ENUM)
#undef GPU_TOTAL_CAUSE_ENUM
		GPU_TOTAL_CAUSES
};

const char *gpu_total_cause_word(enum gpu_total_cause cause);

#define GPU_TOTAL_CHANGES 1024u  /* newest changes of what is held that are remembered */
#define GPU_TOTAL_MARGIN 1000000 /* ns before and after a reading in which nothing may move */
#define GPU_TOTAL_PAGE (2 << 20) /* bytes: the driver takes memory by pages of 2 MiB, and NVML counts these */

/* One sample. Times are those of the run, ns. */
struct gpu_total_sample {
	int64_t time, took;        /* begin and length */
	uint64_t used, total, own; /* bytes: used by all processes, total, used by this process */
	int own_known;
	uint64_t others; /* recorded bytes of the other processes, while the pass reads the sample */
};

/*
 * The parts of a settled sample. If `own` is known: own = held + sum of cause + unexplained. Otherwise the parts are
 * older.
 */
struct gpu_total_parts {
	struct gpu_total_sample sample;
	uint64_t held; /* bytes of the ledger at the sample */
	int64_t cause[GPU_TOTAL_CAUSES];
	int64_t unexplained; /* below 0: the ledger holds more than NVML counts (managed memory that is not resident) */
	uint8_t with[GPU_TOTAL_CAUSES]; /* bit per cause: the bytes may include bytes of this cause */
};

struct gpu_total {
	uint64_t changes; /* number of all changes */
	struct gpu_total_sample pending;
	int is_pending;
	struct gpu_total_asked {
		int is_asked;          /* since the newest settled sample */
		int64_t first, newest; /* times of the calls */
	} more[GPU_TOTAL_CAUSES], less[GPU_TOTAL_CAUSES];
	struct gpu_total_sample judged; /* newest sample that was judged */
	int is_settled;
	uint64_t settled;              /* samples */
	struct gpu_total_parts parts;  /* parts of the newest settled sample */
	struct gpu_total_parts before; /* parts of the settled sample before it */
	struct gpu_total_change {
		int64_t time;
		uint64_t held;
	} change[GPU_TOTAL_CHANGES]; /* the newest; needs no zeros */
};

/* Notes the process's bytes after a change at `time`. Returns 1 if the pending sample was judged. */
int gpu_total_held(struct gpu_total *gpu, int64_t time, uint64_t held);

/* `with` as one number: bit GPU_TOTAL_CAUSES * cause + other. */
int64_t gpu_total_mixed(const struct gpu_total_parts *parts);
void gpu_total_set_mixed(struct gpu_total_parts *parts, int64_t mixed);

/* The process's bytes, as of the newest gpu_total_held. */
static inline uint64_t gpu_total_holds(const struct gpu_total *gpu)
{
	return gpu->changes ? gpu->change[(gpu->changes - 1) % GPU_TOTAL_CHANGES].held : 0;
}

/* Notes a driver call that takes memory of this kind (`more`) or gives it back. */
void gpu_total_asked(struct gpu_total *gpu, enum gpu_total_cause cause, int more, int64_t time);

/*
 * Notes a sample. Samples and changes of about the same time may come in any order. Returns 1 if the sample before was
 * judged.
 */
int gpu_total_sample(struct gpu_total *gpu, const struct gpu_total_sample *sample);

/* Ends the changes. Returns 1 if the last sample was judged. */
int gpu_total_finish(struct gpu_total *gpu);

/* Driver calls that take memory of unnamed size, and the cause that each stands for. */

#define DRIVER_MEM_GET_INFO 242u /* cuMemGetInfo_v2: the note has free bytes in `value`, total in `size` */

/*
 * CUPTI's callback ids, as in the field `entry` of events: X(id, call, CAUSE, MORE or LESS or BOTH). The notes of
 * context, code or graph in recorder/agent/cuda/driver_entries.h are all in it: a test compares them.
 */
#define DRIVER_CAUSE_LIST(X)                                    \
	X(386, cuDevicePrimaryCtxRetain, CONTEXT, MORE)         \
	X(10, cuCtxCreate, CONTEXT, MORE)                       \
	X(235, cuCtxCreate_v2, CONTEXT, MORE)                   \
	X(645, cuCtxCreate_v3, CONTEXT, MORE)                   \
	X(757, cuCtxCreate_v4, CONTEXT, MORE)                   \
	X(743, cuGreenCtxCreate, CONTEXT, MORE)                 \
	X(744, cuGreenCtxDestroy, CONTEXT, LESS)                \
	X(136, cuCtxSetLimit, CONTEXT, BOTH)                    \
	X(313, cuCtxEnablePeerAccess, CONTEXT, MORE)            \
	X(314, cuCtxDisablePeerAccess, CONTEXT, LESS)           \
	X(18, cuModuleLoad, CODE, MORE)                         \
	X(19, cuModuleLoadData, CODE, MORE)                     \
	X(20, cuModuleLoadDataEx, CODE, MORE)                   \
	X(21, cuModuleLoadFatBinary, CODE, MORE)                \
	X(22, cuModuleUnload, CODE, LESS)                       \
	X(23, cuModuleGetFunction, CODE, MORE)                  \
	X(241, cuModuleGetGlobal_v2, CODE, MORE)                \
	X(678, cuLibraryLoadData, CODE, MORE)                   \
	X(679, cuLibraryLoadFromFile, CODE, MORE)               \
	X(680, cuLibraryUnload, CODE, LESS)                     \
	X(682, cuLibraryGetModule, CODE, MORE)                  \
	X(683, cuKernelGetFunction, CODE, MORE)                 \
	X(684, cuLibraryGetGlobal, CODE, MORE)                  \
	X(685, cuLibraryGetManaged, CODE, MORE)                 \
	X(513, cuGraphInstantiate, GRAPHS, MORE)                \
	X(578, cuGraphInstantiate_v2, GRAPHS, MORE)             \
	X(643, cuGraphInstantiateWithFlags, GRAPHS, MORE)       \
	X(656, cuGraphInstantiateWithParams, GRAPHS, MORE)      \
	X(657, cuGraphInstantiateWithParams_ptsz, GRAPHS, MORE) \
	X(580, cuGraphUpload, GRAPHS, MORE)                     \
	X(581, cuGraphUpload_ptsz, GRAPHS, MORE)                \
	X(516, cuGraphExecDestroy, GRAPHS, LESS)                \
	X(517, cuGraphDestroy, GRAPHS, LESS)                    \
	X(640, cuDeviceGraphMemTrim, GRAPHS, LESS)              \
	X(642, cuDeviceSetGraphMemAttribute, GRAPHS, BOTH)      \
	X(602, cuMemPoolTrimTo, POOLS, LESS)                    \
	X(603, cuMemPoolSetAttribute, POOLS, BOTH)              \
	X(607, cuMemPoolCreate, POOLS, MORE)                    \
	X(608, cuMemPoolDestroy, POOLS, LESS)

/* The effect of a call: an enum gpu_total_cause and whether there may be more or fewer bytes. */
struct driver_cause {
	enum gpu_total_cause cause;
	int more, less;
};

/* Returns NULL if the call takes no memory, or names its size. Static storage. */
const struct driver_cause *driver_cause_of(uint64_t entry);

#endif
