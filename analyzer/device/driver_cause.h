/*
 * driver_cause.h - which calls of the driver take memory that no size is named for, and what the bytes then are.
 */
#ifndef MEMANA_DRIVER_CAUSE_H
#define MEMANA_DRIVER_CAUSE_H

#include <stdint.h>
#include "gpu_total.h"

#define DRIVER_MEM_GET_INFO 242u /* cuMemGetInfo_v2: the note has free bytes in `value` */

/*
 * CUPTI's callback ids, as in the field `entry` of events: X(id, call, CAUSE, MORE or LESS or BOTH). What
 * recorder/agent/cuda/driver_entries.h notes as context, code or graph is in it: a test compares them.
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

/* What a call did: an enum gpu_total_cause and whether there may be more or fewer bytes. */
struct driver_cause {
	enum gpu_total_cause cause;
	int more, less;
};

/* NULL: the call takes nothing, or says how much. Static storage. */
const struct driver_cause *driver_cause_of(uint64_t entry);

#endif
