/*
 * hook_c10.c - turns PyTorch's reports on tensors and backward passes into events.
 *
 * PyTorch reports each block to its own profiler by exported functions of libc10, called through the PLT. A library in
 * LD_PRELOAD with the same names comes first: the agent reads the call and forwards it. If the agent is loaded later,
 * it is written into the slots of these calls (injection.c). The reports come under the allocator's lock, so no hook
 * may wait for anything that an allocating thread can hold.
 *
 * Versions 1.10 to 1.13 mangle the names differently from later ones. The arguments are the same in machine code.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/census/agent_census.h"
#include "agent/cupti/cupti.h"
#include "agent/life/agent.h"
#include "agent/loaded/loaded.h"
#include "hooks.h"
#include "memtrace/base.h"

/* c10::Device. `type`: CPU 0, CUDA 1 (also ROCm); other types are ignored. */
struct c10_device {
	int8_t type, index;
};

typedef void report_function(void *block, int64_t size, uint64_t total, uint64_t reserved, struct c10_device device);
typedef void oom_function(int64_t size, uint64_t total, uint64_t reserved, struct c10_device device);
typedef bool enabled_function(void);
/*
 * A C++ vector as a return value: by hidden pointer, which is the first argument on x86-64 and has its own register on
 * aarch64.
 */
struct c10_vector {
	void *words[3];
};
typedef struct c10_vector execute_function(void *engine, const void *roots, const void *inputs, bool keep_graph,
					   bool create_graph, bool accumulate, const void *outputs);
typedef void thread_init_function(void *engine, int device, const void *queue, bool count);

/*
 * All replaced names: X(hook, its type, name that PyTorch calls). The hooks are exported under these names at the end;
 * here they have hidden names, which no other library can bind to.
 */
#define C10_SYMBOL_LIST(X)                                                                                    \
	X(hook_report_m, report_function, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")            \
	X(hook_report_l, report_function, "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE")            \
	X(hook_oom_lm, oom_function, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE")                   \
	X(hook_oom_l, oom_function, "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE")                    \
	X(hook_oom_m, oom_function, "_ZN3c1027reportOutOfMemoryToProfilerEmmmNS_6DeviceE")                    \
	X(hook_enabled, enabled_function, "_ZN3c1022memoryProfilingEnabledEv")                                \
	X(hook_execute, execute_function,                                                                     \
	  "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_") \
	X(hook_thread_init, thread_init_function,                                                             \
	  "_ZN5torch8autograd6Engine11thread_initEiRKSt10shared_ptrINS0_10ReadyQueueEEb")

#define C10_DECLARE(function, type, name) static type function;
C10_SYMBOL_LIST(C10_DECLARE)
#undef C10_DECLARE

enum c10_symbol {
#define C10_ENUM(function, type, name) C10_##function,
	C10_SYMBOL_LIST(C10_ENUM)
#undef C10_ENUM
		C10_SYMBOLS
};

static const char *const symbol_names[] = {
#define C10_NAME(function, type, name) name,
	C10_SYMBOL_LIST(C10_NAME)
#undef C10_NAME
};

static struct {
	_Atomic int looked;
	void *_Atomic function;
} originals[C10_SYMBOLS];

static void look_up(void *context)
{
	const enum c10_symbol *symbol = context;

	atomic_store(&originals[*symbol].function, loaded_find(symbol_names[*symbol]));
	atomic_store_explicit(&originals[*symbol].looked, 1, memory_order_release);
}

/* The real function, looked up once, at the first call, when PyTorch is loaded. NULL: none. */
static void *real(enum c10_symbol symbol)
{
	if (!atomic_load_explicit(&originals[symbol].looked, memory_order_acquire) && !agent_work(look_up, &symbol))
		look_up(&symbol);
	return atomic_load_explicit(&originals[symbol].function, memory_order_relaxed);
}

/*
 * As real(), for functions that a signal handler may call. A handler that interrupted the recorder cannot look up
 * names, because the recorder may hold the loader's lock. Then NULL: the program's own profiler misses one report, and
 * the thread does not hang.
 */
static inline void *real_report(enum c10_symbol symbol)
{
	if (atomic_load_explicit(&originals[symbol].looked, memory_order_acquire))
		return atomic_load_explicit(&originals[symbol].function, memory_order_relaxed);
	return agent_is_inside() ? NULL : real(symbol);
}

/* ---- CPU tensors: asked for, or there is nothing else in this process ---- */

/*
 * 1: the kernel has a GPU. A device node is not enough: the driver's library makes /dev/nvidiactl as root, and without
 * a GPU opening it fails (ENXIO). /dev/dxg is WSL's.
 */
static int kernel_has_gpu(void)
{
	static const char *const nodes[] = { "/dev/nvidiactl", "/dev/dxg" };
	int fd, found = 0, saved = errno;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(nodes) && !found; i++) {
		fd = open(nodes[i], O_RDWR | O_CLOEXEC);
		found = fd >= 0 || (errno != ENOENT && errno != ENOTDIR && errno != ENXIO && errno != ENODEV);
		if (fd >= 0)
			close(fd);
	}
	errno = saved;
	return found;
}

/* A subscription that CUPTI accepted shows a GPU. A call of cuInit does not, because its result is unknown here. */
static int has_gpu(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	if (visible && (!*visible || !strcmp(visible, "-1")))
		return 0;
	return kernel_has_gpu() || cupti_finds_gpu();
}

static int decide_cpu(const struct memrec_options *options)
{
	if (options->cpu == MEMREC_CPU_ON || (options->cpu == MEMREC_CPU_AUTO && !has_gpu())) {
		agent_source(MT_SOURCE_TENSORS_CPU, MT_SOURCE_ON, "");
		if (options->attached || options->paused)
			agent_source_note(
				MT_SOURCE_TENSORS_CPU,
				"tensors from before the recording are unknown: PyTorch keeps no list of CPU tensors");
		return 1;
	}
	agent_source(MT_SOURCE_TENSORS_CPU, MT_SOURCE_OFF,
		     options->cpu == MEMREC_CPU_OFF ? "not asked for" : "there is a GPU (--cpu records both)");
	return 0;
}

/* Decided once per recording, because an allocation and its free need the same answer. */
static int records_cpu(void)
{
	static _Atomic uint64_t decided; /* twice the number of the life, and 1: yes */
	const struct memrec_options *options = agent_options();
	uint64_t life, answer;

	if (!options || !agent_is_listening())
		return 0;
	life = agent_life() << 1;
	answer = atomic_load_explicit(&decided, memory_order_relaxed);
	if ((answer & ~1ull) != life) {
		answer = life | (uint64_t)decide_cpu(options);
		atomic_store(&decided, answer);
	}
	return (int)(answer & 1);
}

/* ---- Tensors ---- */

static int is_ours(struct c10_device device)
{
	return device.type == MT_DEVICE_CUDA || (device.type == MT_DEVICE_CPU && records_cpu());
}

/*
 * 1: a shared-memory map (DataLoader). It is reported as CPU memory with totals of its own: 0 allocated, and its length
 * as reserved. The CPU allocator itself reserves nothing. Its free looks like that of any block; only the ledger knows
 * the address.
 */
static int is_map(struct c10_device device, int64_t size, uint64_t total, uint64_t reserved)
{
	return device.type == MT_DEVICE_CPU && size > 0 && !total && reserved == (uint64_t)size;
}

static void note_tensors(struct c10_device device)
{
	agent_source(device.type == MT_DEVICE_CUDA ? MT_SOURCE_TENSORS_CUDA : MT_SOURCE_TENSORS_CPU, MT_SOURCE_ON, "");
}

/* Subscribes to driver calls again (cupti_look) before PyTorch is asked for its blocks. */
static int ask_to_begin(void)
{
	return census_ask_to_begin(cupti_look);
}

/* Inline, because each frame of the agent costs the unwinder as much as one of the program. */
static inline __attribute__((always_inline)) void report(void *block, int64_t size, uint64_t total, uint64_t reserved,
							 struct c10_device device)
{
	struct ring_event event;

	if (!block || !size || !is_ours(device))
		return;
	if (agent_is_paused()) {
		if (device.type == MT_DEVICE_CUDA)
			agent_ask_first(ask_to_begin);
		if (!agent_is_awaited())
			cupti_rest();
		return;
	}
	note_tensors(device);
	if (device.type == MT_DEVICE_CUDA && size > 0)
		cupti_check_tensor(device.index, reserved);
	cupti_look();
	event = ring_event_none;
	event.kind = size < 0 ? MT_TENSOR_FREE : MT_TENSOR_ALLOC;
	event.device_type = device.type;
	event.device_index = device.type == MT_DEVICE_CPU ? 0 : device.index;
	event.addr = (uint64_t)(uintptr_t)block;
	event.size = size < 0 ? 0 - (uint64_t)size : (uint64_t)size;
	if (is_map(device, size, total, reserved)) {
		event.flags = MT_FLAG_NO_TOTAL;
	} else {
		event.total = total;
		event.reserved = reserved;
	}
	agent_memory(&event, STACK_TENSOR);
	census_look();
}

static void report_oom(int64_t size, uint64_t total, uint64_t reserved, struct c10_device device)
{
	struct ring_event event = { .kind = MT_TENSOR_OOM, .size = (uint64_t)size };

	if (!is_ours(device) || agent_is_paused())
		return;
	note_tensors(device);
	event.total = total;
	event.reserved = reserved;
	event.device_type = device.type;
	event.device_index = device.type == MT_DEVICE_CPU ? 0 : device.index;
	agent_memory(&event, STACK_TENSOR);
	census_oom();
}

#define C10_REPORT(hook)                                                                                  \
	void hook(void *block, int64_t size, uint64_t total, uint64_t reserved, struct c10_device device) \
	{                                                                                                 \
		report_function *forward = (report_function *)real_report(C10_##hook);                    \
                                                                                                          \
		report(block, size, total, reserved, device);                                             \
		if (forward)                                                                              \
			forward(block, size, total, reserved, device);                                    \
	}

#define C10_OOM(hook)                                                                        \
	void hook(int64_t size, uint64_t total, uint64_t reserved, struct c10_device device) \
	{                                                                                    \
		oom_function *forward = (oom_function *)real_report(C10_##hook);             \
                                                                                             \
		report_oom(size, total, reserved, device);                                   \
		if (forward)                                                                 \
			forward(size, total, reserved, device);                              \
	}

C10_REPORT(hook_report_m)
C10_REPORT(hook_report_l)
C10_OOM(hook_oom_lm)
C10_OOM(hook_oom_l)
C10_OOM(hook_oom_m)

/* The CPU allocator asks this before it reports. */
bool hook_enabled(void)
{
	enabled_function *forward;

	if (records_cpu())
		return true;
	forward = (enabled_function *)real(C10_hook_enabled);
	return forward && forward();
}

/* ---- Backward ---- */

enum { UNWIND_CLEANUP_PHASE = 2, UNWIND_GO_ON = 8 }; /* constants of the C++ ABI */

int hook_backward_unwound(int version, int actions, uint64_t class, void *exception, void *context);

/*
 * The personality routine of hook_execute, which the unwinder calls when an exception leaves the backward pass. A
 * cleanup by the compiler would load libgcc_s into each process, before the program's own copy.
 */
__attribute__((used)) int hook_backward_unwound(int version MT_UNUSED, int actions, uint64_t class MT_UNUSED,
						void *exception MT_UNUSED, void *context MT_UNUSED)
{
	if (actions & UNWIND_CLEANUP_PHASE)
		agent_follow(MT_BACKWARD_END);
	return UNWIND_GO_ON;
}

__attribute__((noinline)) struct c10_vector hook_execute(void *engine, const void *roots, const void *inputs,
							 bool keep_graph, bool create_graph, bool accumulate,
							 const void *outputs)
{
	execute_function *forward = (execute_function *)real(C10_hook_execute);
	struct c10_vector result = { { NULL } }; /* an empty vector */

	__asm__ volatile(".cfi_personality 0x1b, hook_backward_unwound"); /* 0x1b: 4 bytes, relative to the place */
	if (!forward)
		return result; /* cannot happen: the caller was linked to this function */
	agent_source(MT_SOURCE_ENGINE, MT_SOURCE_ON, "");
	cupti_look();
	agent_follow(MT_BACKWARD_BEGIN);
	result = forward(engine, roots, inputs, keep_graph, create_graph, accumulate, outputs);
	agent_follow(MT_BACKWARD_END);
	return result;
}

/* Runs for the whole life of an autograd thread. */
void hook_thread_init(void *engine, int device, const void *queue, bool count)
{
	thread_init_function *forward = (thread_init_function *)real(C10_hook_thread_init);

	agent_source(MT_SOURCE_ENGINE, MT_SOURCE_ON, "");
	agent_thread_is_autograd();
	if (forward)
		forward(engine, device, queue, count);
}

/* ---- Names ---- */

#define C10_EXPORT(function, type, name) \
	MT_EXPORT type exported_##function __asm__(name) __attribute__((alias(#function)));
C10_SYMBOL_LIST(C10_EXPORT)
#undef C10_EXPORT

const struct loaded_hook *hook_c10_table(size_t *count)
{
	static const struct loaded_hook table[] = {
#define C10_ROW(function, type, name) { name, (void *)function },
		C10_SYMBOL_LIST(C10_ROW)
#undef C10_ROW
	};

	*count = MT_ARRAY_SIZE(table);
	return table;
}
