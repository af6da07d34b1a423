/* locations.h - what a CUmemLocation says. */
#ifndef RECORDER_LOCATIONS_H
#define RECORDER_LOCATIONS_H

#include "cuda_abi.h"

/* The ordinal, -1: it is no device's. */
static inline int location_device(const struct cuda_location *location)
{
	switch (location->type) {
	case CUDA_LOCATION_DEVICE:
		return location->id;
	case CUDA_LOCATION_LOCALITY:
		return location->id & 0xff;
	default:
		return -1;
	}
}

static inline int location_is_host(const struct cuda_location *location)
{
	return location->type == CUDA_LOCATION_HOST || location->type == CUDA_LOCATION_NUMA ||
	       location->type == CUDA_LOCATION_NUMA_CURRENT;
}

#endif
