/*
 * driver_call.h - one call of the driver, from CUPTI's callback to the event in the ring. For hook_cupti.c,
 * hook_memory.c, hook_context.c, hook_graph.c and driver_notes.c.
 */
#ifndef RECORDER_DRIVER_CALL_H
#define RECORDER_DRIVER_CALL_H

#include <stdint.h>
#include "agent/life/agent.h"
#include "cuda_abi.h"
#include "driver_entries.h"

enum cuda_entry {
#define CUDA_ENTRY_ENUM(name, id, class, space, since) ENTRY_##name = (id),
	CUDA_ENTRY_LIST(CUDA_ENTRY_ENUM)
#undef CUDA_ENTRY_ENUM
};

struct driver_call {
	uint32_t id;                            /* enum cuda_entry */
	const struct cupti_callback_data *data; /* params: struct args_NAME of the entry */
	int entered;                            /* 1: at ENTER, 0: at EXIT */
	cuda_result result;                     /* at EXIT */
	struct ring_event event;                /* all 0 but no device, and flags: the enum mt_space of the entry */
};

/* The actions at ENTER and at EXIT of the entries of each class. */
#define CUDA_CLASS_DECODER(name, policy, meaning) void decode_##name(struct driver_call *call);
CUDA_CLASS_LIST(CUDA_CLASS_DECODER)
#undef CUDA_CLASS_DECODER

/*
 * Handles a callback of CUPTI's resource domain: a context was made or ends. `entry`: the driver call of this thread.
 */
void hook_context_resource(uint32_t id, const struct cupti_resource_data *data, uint32_t entry);

/* Sets the device by its ordinal; -1: an unknown device. */
void driver_call_device(struct driver_call *call, int device);

/* Sends the event as `kind`. Do not use the event afterwards. */
void driver_call_send(struct driver_call *call, enum mt_kind kind);

/*
 * At EXIT: memory of `size` bytes in the space event.flags came back, at `addr`; or DRIVER_FAIL with the size, when the
 * call failed. Memory of a device needs driver_call_device first.
 */
void driver_call_allocated(struct driver_call *call, uint64_t addr, uint64_t size);

/*
 * Sends a free. A free counts from ENTER; a failed one is undone at EXIT (DRIVER_KEEP). event.addr or .handle names the
 * freed thing.
 */
void driver_call_freed(struct driver_call *call, enum mt_kind kind);

/* At EXIT: sends the DRIVER_NOTE of driver_notes.h for the entry, if there is one. */
void driver_call_note(struct driver_call *call);

/* A table is full: reports this once, in the words of `why` ("more than ..."). */
void driver_call_full(const char *why);

/* ---- the bytes of an array ---- */

/*
 * Bytes of an array: elements times their size, over `levels` mip levels (at least 1), without the driver's padding. 0:
 * sparse arrays and arrays that are mapped later, which take no memory, and unknown formats.
 */
uint64_t arrays_bytes(const struct cuda_array3d_desc *desc, unsigned int levels);

#endif
