/*
 * driver.h - declarations inside the stand-in's libcuda.so.1.
 *
 *     entries.c   what programs call: ENTER callback, lock, do_NAME, ledger line, unlock, EXIT callback
 *     driver.c    cuInit, devices, names      context.c   contexts, primary and green
 *     addresses.c address ranges              memory.c    allocations, by address; pool.c the pools that some are from
 *     vmm.c       handles and mappings        multicast.c handles that are many devices', endpoints
 *     array.c     arrays                      share.c     between processes: IPC, pools, memory of other APIs
 *     streams.c   work that does nothing, capture          graph.c     graphs with memory of their own
 *     code.c      modules, libraries          process.c   managed memory on its way, checkpoints, notifications
 *     ledger.c    the driver's own account on paper
 *
 * Functions named do_* or driver_* run under the one lock of entries.c, except where noted.
 */
#ifndef STANDIN_DRIVER_H
#define STANDIN_DRIVER_H

#include "account.h"
#include "agent/cuda/driver_entries.h"
#include "config.h"
#include "memtrace/base.h"
#include "memtrace/event.h"

#define PAGE (2ull << 20) /* bytes, the granularity of physical memory */
#define HOST (-1)         /* a "device" for the host */

struct cuda_context {
	struct cuda_context *next; /* next context ever made, so that stale handles differ from invalid ones */
	cuda_device device;
	struct cuda_context *owner; /* owner of its memory: itself, or the primary context of a green one */
	uint32_t uid;               /* from 1 */
	_Atomic int alive;
};

/* Declares and begins a function for programs: DRIVER_CALL(cuInit(unsigned int flags)) { ... } */
#define DRIVER_CALL(signature)           \
	MT_EXPORT cuda_result signature; \
	MT_EXPORT cuda_result signature

/* The effects of one call, for the ledger. `bytes`: physical memory taken (+) or given back (-). */
struct effect {
	cuda_device device; /* HOST: none */
	enum mt_space space;
	uint64_t address; /* or handle */
	uint64_t size;    /* asked for */
	int64_t bytes;
};

/* The work of each entry of driver_entries.h. */
#define DRIVER_DECLARE(name, id, class, space, since) \
	cuda_result do_##name(const struct args_##name *args, struct effect *effect);
CUDA_ENTRY_LIST(DRIVER_DECLARE)
#undef DRIVER_DECLARE

/* entries.c */
void driver_lock(void);
void driver_unlock(void);
void driver_fire_context(uint32_t id, struct cuda_context *context); /* CUPTI_CONTEXT_CREATED or _ENDS */

/* driver.c */
int driver_ready(void);                           /* without the lock; 0: cuInit was not called */
int driver_has_gpu(void);                         /* without the lock; at any time */
struct account *driver_account(unsigned int gpu); /* without the lock; NULL: no such GPU */
int driver_device_valid(cuda_device device);
struct cuda_context *driver_current(void); /* called without the lock; NULL: this thread has no live context */
uint32_t driver_context_uid(struct cuda_context *context); /* without the lock; 0: no such context, or gone */

/* Takes or gives back bytes of a device; HOST is endless. 1: done, 0: full. */
int driver_take(cuda_device device, uint64_t bytes);
void driver_give(cuda_device device, uint64_t bytes);

/*
 * addresses.c: addresses outside of the host's memory, never accessible. 0: none left. A freed range is handed out
 * again at once.
 */
cuda_address addresses_take(uint64_t bytes);
void addresses_give(cuda_address address, uint64_t bytes);

/* context.c: `device` is valid. */
struct cuda_context *context_new(cuda_device device); /* NULL: the device is full */
void context_gone(struct cuda_context *context);

/* An entry that does the same as another entry with the same arguments. */
#define DRIVER_SAME(name, other)                                                            \
	cuda_result do_##name(const struct args_##name *args, struct effect *effect)        \
	{                                                                                   \
		return do_##other((const struct args_##other *)(const void *)args, effect); \
	}

/* The device of a location, HOST for host memory. 0: no such place. */
int driver_place(const struct cuda_location *location, cuda_device *device);

/* Free all that is in a context. */
void memory_context_gone(struct cuda_context *context);
void array_context_gone(struct cuda_context *context);
void code_context_gone(struct cuda_context *context);

/* pool.c: pools give back idle memory. */
void memory_synchronized(void);

/* streams.c: the graph that a stream captures; NULL: none. */
struct cuda_graph *stream_graph(struct cuda_stream *stream);

/* ledger.c: writes one line at once, for an entry (`what`), or "gone" for bytes freed as a consequence. */
void ledger_open(const char *path);
void ledger_write(const char *what, cuda_result result, const struct effect *effect);

#endif
