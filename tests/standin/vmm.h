/* vmm.h - physical memory by handle, for vmm.c and multicast.c. */
#ifndef STANDIN_VMM_H
#define STANDIN_VMM_H

#include "driver.h"

struct handle {
	struct handle *next;
	uint64_t size;
	cuda_device device;
	enum mt_space space;               /* IMPORTED: the bytes are another process's; MULTICAST: there are none */
	uint32_t refs, mappings, bindings; /* lives while there is one; bindings: to multicast objects */
	struct cuda_memory_props props;
};

struct handle *handle_of(cuda_handle id);                                          /* NULL: there is no such handle */
struct handle *handle_new(uint64_t size, cuda_device device, enum mt_space space); /* NULL: out of host memory */
void handle_describe(const struct handle *handle, struct effect *effect, int64_t bytes);

/* After a reference, mapping or binding was dropped: ends the handle if that was the last. */
void handle_dropped(struct handle *handle);

/* The mapping at an address: its first address, 0: there is none. */
cuda_address vmm_address_mapped(cuda_address address, struct handle **handle);

#endif
