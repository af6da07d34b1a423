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

/* A callback of CUPTI's resource domain: contexts that are made and end. `entry`: the call that the thread is inside of. */
void hook_context_resource(uint32_t id, const struct cupti_resource_data *data, uint32_t entry);

/* The ordinal; -1: a device, but not known which. */
void driver_call_device(struct driver_call *call, int device);

/* The event goes out as `kind`, which must be the last that is done with it. */
void driver_call_send(struct driver_call *call, enum mt_kind kind);

/*
 * At EXIT: memory of `size` bytes in the space event.flags came back, at `addr`; or DRIVER_FAIL with the size, when the
 * call failed. Memory of a device needs driver_call_device first.
 */
void driver_call_allocated(struct driver_call *call, uint64_t addr, uint64_t size);

/* A free counts from ENTER; one that fails is taken back at EXIT (DRIVER_KEEP). event.addr or .handle says of what. */
void driver_call_freed(struct driver_call *call, enum mt_kind kind);

/* At EXIT: a DRIVER_NOTE with what driver_notes.h says of the entry; nothing when it says nothing. */
void driver_call_note(struct driver_call *call);

/* A table had no room: says so once, in the words of `why` (it begins "more than ..."). */
void driver_call_full(const char *why);

/* How many bytes an array takes, from what the program asks for. */

/*
 * Elements times their size, over `levels` mip levels (at least 1). The driver's own padding is not in it. 0: sparse
 * arrays and those to be mapped later, which take no memory, and formats that are not known.
 */
uint64_t arrays_bytes(const struct cuda_array3d_desc *desc, unsigned int levels);

#endif
