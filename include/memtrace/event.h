/*
 * event.h - the events of a trace, and their fields.
 *
 * The two lists below are the only source: the codec, the spec's tables (checked by a test), the loader and `memana
 * info` are made from them. To add a field or a kind, append it, describe it in formats/trace/trace-v1.md and add a
 * golden file. Numbers never change.
 */
#ifndef MEMTRACE_EVENT_H
#define MEMTRACE_EVENT_H

#include <stdint.h>

/*
 * Fields: X(name, number, encoding, meaning). All are uint64_t in memory and varints in the file; a field that
 * is not of the event's kind is 0.
 *
 * Encodings: PLAIN  the value
 *            STEP   difference to the same field of the previous event, minus 1 (seq never goes back)
 *            DELTA  difference to the same field of the previous event, zigzag
 *            ADDR   difference to the same field of the previous event that has it, zigzag, low bits folded
 *            TOTAL  difference to what the previous total plus/minus this event's size predicts, zigzag
 */
#define MT_FIELD_LIST(X)                                                                           \
	X(seq, 0, STEP, "sequence number in the process, from 1, strictly increasing in the file") \
	X(time, 1, DELTA, "CLOCK_MONOTONIC, ns")                                                   \
	X(thread, 2, PLAIN, "thread id (definition)")                                              \
	X(stack, 3, PLAIN, "innermost stack node (definition), 0: none")                           \
	X(device, 4, PLAIN, "device id (definition), 0: unknown or host")                          \
	X(addr, 5, ADDR, "address, never 0 for memory")                                            \
	X(size, 6, PLAIN, "bytes")                                                                 \
	X(total, 7, TOTAL, "the allocator's own allocated bytes on the device after the event")    \
	X(reserved, 8, DELTA, "the allocator's own reserved bytes on the device after the event")  \
	X(handle, 9, ADDR, "VMM handle, context, range id")                                        \
	X(offset, 10, PLAIN, "offset into the handle, bytes")                                      \
	X(entry, 11, PLAIN, "CUPTI driver callback id of the call")                                \
	X(result, 12, PLAIN, "CUresult of a failed call")                                          \
	X(name, 13, PLAIN, "string id (definition)")                                               \
	X(value, 14, PLAIN, "a number, by kind")                                                   \
	X(flags, 15, PLAIN, "enum mt_flag bits, or enum mt_space, by kind")                        \
	X(phase, 16, PLAIN, "enum mt_phase at birth, in checkpoints only")                         \
	X(step, 17, PLAIN, "step at birth, in checkpoints only")

enum mt_field {
#define MT_FIELD_ENUM(name, number, encoding, meaning) MT_FIELD_##name = (number),
	MT_FIELD_LIST(MT_FIELD_ENUM)
#undef MT_FIELD_ENUM
		MT_FIELD_COUNT = 18,
};

#define MT_F(name) (1u << MT_FIELD_##name)
#define MT_F_COMMON (MT_F(seq) | MT_F(time) | MT_F(thread))
#define MT_F_TENSOR                                                                                          \
	(MT_F_COMMON | MT_F(stack) | MT_F(device) | MT_F(addr) | MT_F(size) | MT_F(total) | MT_F(reserved) | \
	 MT_F(flags))

/*
 * Kinds: X(NAME, number, fields, meaning). An allocation has the time of the call's return, a free the time of its
 * entry, because an address may be handed out again before a free returns.
 */
#define MT_KIND_LIST(X)                                                                                                                                                                                                                                         \
	X(TENSOR_ALLOC, 1, MT_F_TENSOR, "the framework's allocator handed out a block")                                                                                                                                                                         \
	X(TENSOR_FREE, 2, MT_F_TENSOR, "the framework's allocator took a block back")                                                                                                                                                                           \
	X(TENSOR_OOM, 3, MT_F_COMMON | MT_F(stack) | MT_F(device) | MT_F(size) | MT_F(total) | MT_F(reserved),                                                                                                                                                  \
	  "the framework's allocator gave up; size: bytes asked for")                                                                                                                                                                                           \
	X(DRIVER_ALLOC, 8,                                                                                                                                                                                                                                      \
	  MT_F_COMMON | MT_F(stack) | MT_F(device) | MT_F(addr) | MT_F(size) | MT_F(handle) | MT_F(entry) |                                                                                                                                                     \
		  MT_F(flags),                                                                                                                                                                                                                                  \
	  "the driver handed out memory; flags: enum mt_space; handle: the context it goes with, 0: none")                                                                                                                                                      \
	X(DRIVER_FREE, 9, MT_F_COMMON | MT_F(stack) | MT_F(addr) | MT_F(entry), "the driver was asked to free")                                                                                                                                                 \
	X(DRIVER_KEEP, 10, MT_F_COMMON | MT_F(addr) | MT_F(entry) | MT_F(result),                                                                                                                                                                               \
	  "the newest free of addr (or release of handle) failed: it is still there")                                                                                                                                                                           \
	X(DRIVER_FAIL, 11, MT_F_COMMON | MT_F(stack) | MT_F(device) | MT_F(size) | MT_F(entry) | MT_F(result),                                                                                                                                                  \
	  "the driver refused; size: bytes asked for")                                                                                                                                                                                                          \
	X(DRIVER_NOTE, 12,                                                                                                                                                                                                                                      \
	  MT_F_COMMON | MT_F(stack) | MT_F(device) | MT_F(addr) | MT_F(size) | MT_F(handle) | MT_F(value) |                                                                                                                                                     \
		  MT_F(entry) | MT_F(result),                                                                                                                                                                                                                   \
	  "a call that moves no bytes of the ledger but explains some; the fields as its arguments")                                                                                                                                                            \
	X(CONTEXT_GONE, 13, MT_F_COMMON | MT_F(stack) | MT_F(device) | MT_F(handle) | MT_F(entry),                                                                                                                                                              \
	  "a context went, and with it what was allocated in it")                                                                                                                                                                                               \
	X(VMM_RESERVE, 16, MT_F_COMMON | MT_F(addr) | MT_F(size), "address range reserved: no bytes of the device")                                                                                                                                             \
	X(VMM_UNRESERVE, 17, MT_F_COMMON | MT_F(addr) | MT_F(size), "address range given back")                                                                                                                                                                 \
	X(VMM_CREATE, 18,                                                                                                                                                                                                                                       \
	  MT_F_COMMON | MT_F(stack) | MT_F(device) | MT_F(handle) | MT_F(size) | MT_F(entry) | MT_F(flags),                                                                                                                                                     \
	  "physical memory taken; flags: enum mt_space")                                                                                                                                                                                                        \
	X(VMM_RELEASE, 19, MT_F_COMMON | MT_F(stack) | MT_F(handle),                                                                                                                                                                                            \
	  "one reference dropped; the bytes go when references and mappings are all gone")                                                                                                                                                                      \
	X(VMM_RETAIN, 20, MT_F_COMMON | MT_F(addr) | MT_F(handle), "one reference more, by mapped address")                                                                                                                                                     \
	X(VMM_MAP, 21, MT_F_COMMON | MT_F(stack) | MT_F(addr) | MT_F(size) | MT_F(offset) | MT_F(handle),                                                                                                                                                       \
	  "part of a handle appears at an address")                                                                                                                                                                                                             \
	X(VMM_UNMAP, 22, MT_F_COMMON | MT_F(stack) | MT_F(addr) | MT_F(size), "mappings in the range disappear")                                                                                                                                                \
	X(RANGE_PUSH, 32, MT_F_COMMON | MT_F(name) | MT_F(value),                                                                                                                                                                                               \
	  "NVTX range opened on the thread; value: string id of the domain, 0: default")                                                                                                                                                                        \
	X(RANGE_POP, 33, MT_F_COMMON | MT_F(value), "newest range of that domain on the thread closed")                                                                                                                                                         \
	X(RANGE_START, 34, MT_F_COMMON | MT_F(name) | MT_F(handle), "process-wide range opened")                                                                                                                                                                \
	X(RANGE_END, 35, MT_F_COMMON | MT_F(handle), "process-wide range closed")                                                                                                                                                                               \
	X(MARK, 36, MT_F_COMMON | MT_F(name), "instant mark")                                                                                                                                                                                                   \
	X(PHASE_PUSH, 37, MT_F_COMMON | MT_F(name), "memrec_phase_push: an explicit phase by name")                                                                                                                                                             \
	X(PHASE_POP, 38, MT_F_COMMON, "memrec_phase_pop")                                                                                                                                                                                                       \
	X(STEP_MARK, 39, MT_F_COMMON, "memrec_step: the running step ends here")                                                                                                                                                                                \
	X(BACKWARD_BEGIN, 40, MT_F_COMMON, "torch::autograd::Engine::execute entered")                                                                                                                                                                          \
	X(BACKWARD_END, 41, MT_F_COMMON, "torch::autograd::Engine::execute left")                                                                                                                                                                               \
	X(CENSUS, 42, MT_F_COMMON | MT_F(device) | MT_F(addr) | MT_F(size) | MT_F(name) | MT_F(value) | MT_F(flags),                                                                                                                                            \
	  "the framework says what is there now: see Census")                                                                                                                                                                                                   \
	X(INSTANCE_NAME, 43, MT_F_COMMON | MT_F(addr) | MT_F(size) | MT_F(name) | MT_F(value) | MT_F(flags),                                                                                                                                                    \
	  "the framework says what an instance is called now: see Names of instances")                                                                                                                                                                          \
	X(OPTIMIZER_STEP, 44, MT_F_COMMON, "an optimizer of PyTorch took a step on this thread")                                                                                                                                                                \
	X(STEP, 48, MT_F_COMMON | MT_F(value) | MT_F(name),                                                                                                                                                                                                     \
	  "step `value` (from 1) ended with the event before; name: what closed it")                                                                                                                                                                            \
	X(GPU_SAMPLE, 49, MT_F_COMMON | MT_F(device) | MT_F(size) | MT_F(offset) | MT_F(value) | MT_F(flags),                                                                                                                                                   \
	  "size: bytes of the GPU in use by all; offset: by this process (flags bit 0: known); value: total bytes less NVML's reserved; flags from bit 8 on: us the reading took")                                                                              \
	X(HOST_SAMPLE, 50, MT_F_COMMON | MT_F(size) | MT_F(handle) | MT_F(offset) | MT_F(value) | MT_F(flags),                                                                                                                                                  \
	  "size: resident bytes of the process; value: bytes of its cgroup, without what can be dropped; offset: the cgroup's limit, 0: none; handle: bytes the machine has available; flags: processes the kernel killed in the cgroup since recording began") \
	X(LOST, 56, MT_F_COMMON | MT_F(value) | MT_F(flags), "value: records lost here; flags: enum mt_loss")                                                                                                                                                   \
	X(SOURCE, 57, MT_F_COMMON | MT_F(name) | MT_F(value) | MT_F(flags),                                                                                                                                                                                     \
	  "a source changed; flags: enum mt_source; value: enum mt_source_state; name: why")                                                                                                                                                                    \
	X(LIVE, 58, MT_F_TENSOR | MT_F(entry) | MT_F(offset) | MT_F(handle) | MT_F(value) | MT_F(phase) | MT_F(step),                                                                                                                                           \
	  "in checkpoint chunks only: one thing alive there, as it was born; value: the kind it was born as")                                                                                                                                                   \
	X(CUT, 59, MT_F_COMMON | MT_F(value),                                                                                                                                                                                                                   \
	  "value: events before this were let go on purpose (--keep); a checkpoint follows")                                                                                                                                                                    \
	X(END, 63, MT_F_COMMON | MT_F(value), "recording ended; value: enum mt_end")

enum mt_kind {
#define MT_KIND_ENUM(name, number, fields, meaning) MT_##name = (number),
	MT_KIND_LIST(MT_KIND_ENUM)
#undef MT_KIND_ENUM
		MT_KIND_MAX = 255, /* the format's limit: kinds are one byte */
};

/* 1: the field `value` of this kind is a string id as well. */
static inline int mt_kind_has_second_name(uint32_t kind)
{
	return kind == MT_RANGE_PUSH || kind == MT_RANGE_POP || kind == MT_CENSUS || kind == MT_INSTANCE_NAME;
}

/* The framework's words for memory: bits 0 to 5 of the flags of a CENSUS. X(NAME, number, word) */
#define MT_CENSUS_LIST(X)              \
	X(WEIGHT, 1, "weights")        \
	X(BUFFER, 2, "buffers")        \
	X(GRADIENT, 3, "gradients")    \
	X(STATE, 4, "optimizer state") \
	X(MASTER, 5, "master weights")

enum mt_census {
#define MT_CENSUS_ENUM(name, number, word) MT_CENSUS_##name = (number),
	MT_CENSUS_LIST(MT_CENSUS_ENUM)
#undef MT_CENSUS_ENUM
		MT_CENSUS_COUNT = 6, /* with 0, which is none */
};

#define MT_CENSUS_WHAT 63u        /* bits of the flags that are an enum mt_census */
#define MT_CENSUS_TIED 64u        /* the same memory as an earlier record of this census */
#define MT_CENSUS_NUMBER_SHIFT 8u /* bits from here on: number of the census in the process, from 1 */

/* The places of driver memory. X(NAME, number, word) */
#define MT_SPACE_LIST(X)           \
	X(DEVICE, 0, "device")     \
	X(ASYNC, 1, "async-pool")  \
	X(MANAGED, 2, "managed")   \
	X(PINNED, 3, "pinned")     \
	X(ARRAY, 4, "array")       \
	X(IMPORTED, 5, "imported") \
	X(HOST, 6, "host")         \
	X(GRAPH, 7, "graph")       \
	X(MULTICAST, 8, "multicast")

enum mt_space {
#define MT_SPACE_ENUM(name, number, word) MT_SPACE_##name = (number),
	MT_SPACE_LIST(MT_SPACE_ENUM)
#undef MT_SPACE_ENUM
};

/* Bits of `flags` of tensor events. */
enum mt_flag {
	MT_FLAG_NO_TOTAL = 1, /* allocations: the allocator's totals do not include this block (shared memory maps) */
	MT_FLAG_REQUESTED =
		2, /* size: requested bytes; total: bytes of the allocator's blocks on the device. Memory from before the first event: handle has the bytes of its block */
	MT_FLAG_AT_LEAST = 4, /* with MT_FLAG_REQUESTED: `total` is a lower bound of the blocks */
};

/* Reasons for missing records. X(NAME, number, words) */
#define MT_LOSS_LIST(X)                                               \
	X(RING_FULL, 0, "the ring was full longer than the wait")     \
	X(NO_SLOT, 1, "no ring slot was left for the thread")         \
	X(REENTRY, 2, "an event happened inside the recorder")        \
	X(LATE, 3, "a record came after its turn")                    \
	X(TORN, 4, "a record was not finished when the process died") \
	X(DAMAGED, 5, "the ring or the trace was damaged")            \
	X(DISK, 6, "the trace could not be written")                  \
	X(SEALED, 7, "the thread may make no system calls (seccomp)") \
	X(ALIVE, 8, "more was alive than a checkpoint holds")

enum mt_loss {
#define MT_LOSS_ENUM(name, number, words) MT_LOSS_##name = (number),
	MT_LOSS_LIST(MT_LOSS_ENUM)
#undef MT_LOSS_ENUM
		MT_LOSS_COUNT = 9,
};

/* The origins of events. X(NAME, number, word) */
#define MT_SOURCE_LIST(X)                  \
	X(CUPTI, 0, "cupti")               \
	X(TENSORS_CUDA, 1, "cuda-tensors") \
	X(TENSORS_CPU, 2, "cpu-tensors")   \
	X(NVTX, 3, "nvtx")                 \
	X(PYTHON, 4, "python-stacks")      \
	X(NATIVE, 5, "native-stacks")      \
	X(API, 6, "marks")                 \
	X(ENGINE, 7, "autograd-engine")    \
	X(GPU, 8, "gpu-samples")           \
	X(HOST, 9, "host-samples")         \
	X(CENSUS, 10, "census")

enum mt_source {
#define MT_SOURCE_ENUM(name, number, word) MT_SOURCE_##name = (number),
	MT_SOURCE_LIST(MT_SOURCE_ENUM)
#undef MT_SOURCE_ENUM
		MT_SOURCE_COUNT = 11,
};

/* X(NAME, number, word) */
#define MT_SOURCE_STATE_LIST(X)                                       \
	X(OFF, 0, "off") /* not wanted, not present, or given away */ \
	X(ON, 1, "on")                                                \
	X(FAILED, 2, "failed")                                        \
	X(PARTLY, 3, "partly") /* it works now, and failed for some time */

enum mt_source_state {
#define MT_SOURCE_STATE_ENUM(name, number, word) MT_SOURCE_##name = (number),
	MT_SOURCE_STATE_LIST(MT_SOURCE_STATE_ENUM)
#undef MT_SOURCE_STATE_ENUM
		MT_SOURCE_STATES
};

/* The word of a state, such as "on"; "failed" for an unknown number. */
const char *mt_source_state_word(uint64_t state);

/* Reasons for the end of a recording. X(NAME, number, words) */
#define MT_END_LIST(X)                                                                   \
	X(EXIT, 0, "the process ended")                                                  \
	X(STEPS, 1, "the steps asked for were recorded")                                 \
	X(REPLACED, 2, "the process ran another program (exec)")                         \
	X(SIGNAL, 3, "the collector was told to finish")                                 \
	X(RECOVERED, 4, "folded in from a left-over ring")                               \
	X(KILLED, 5, "the process was gone without leaving in order (killed, or _exit)") \
	X(STOPPED, 6, "memrec stop")

enum mt_end {
#define MT_END_ENUM(name, number, words) MT_END_##name = (number),
	MT_END_LIST(MT_END_ENUM)
#undef MT_END_ENUM
};

/* One event. `kind` is an enum mt_kind, or a number this program does not know (skip it). */
struct mt_event {
#define MT_FIELD_MEMBER(name, number, encoding, meaning) uint64_t name;
	MT_FIELD_LIST(MT_FIELD_MEMBER)
#undef MT_FIELD_MEMBER
	uint32_t kind;
};

/* Bits MT_F() of the fields that events of `kind` carry; 0: unknown kind. */
uint32_t mt_kind_fields(uint32_t kind);

/* "tensor-alloc" and so on; NULL: unknown. Static storage. */
const char *mt_kind_name(uint32_t kind);
const char *mt_space_name(uint32_t space);
const char *mt_loss_name(uint32_t loss);
const char *mt_source_name(uint32_t source);
const char *mt_census_name(uint32_t what); /* NULL: none of MT_CENSUS_LIST */
const char *mt_end_name(uint32_t end);

#endif
