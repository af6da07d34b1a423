/*
 * alloc_config.h - how PyTorch's caching allocator is set: PYTORCH_ALLOC_CONF, as far as it moves bytes of the device.
 *
 * Facts from PyTorch's c10/core/AllocatorConfig and c10/cuda/CUDACachingAllocator.cpp (2.1 to 2.15).
 */
#ifndef MEMANA_ALLOC_CONFIG_H
#define MEMANA_ALLOC_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#define ALLOC_CONFIG_INTERVALS 16 /* entries of roundup_power2_divisions: from 1 MiB to 64 GiB */

struct alloc_config {
	int expandable;         /* expandable_segments */
	uint64_t max_split;     /* bytes; UINT64_MAX: none */
	uint64_t large_segment; /* bytes of the segments, or pages, that requests from 1 to 10 MiB come from */
	uint64_t max_rounding;  /* how much larger than the request a block that is not split may be, bytes */
	double gc_threshold;    /* share of the memory the process may have; 0: off */
	double fraction;        /* share of the device that the process may have; 0: not said, and then no collection */
	uint32_t divisions[ALLOC_CONFIG_INTERVALS]; /* steps for each power of two; 0: off */
	uint64_t device_bytes;                      /* memory the device has for programs; 0: unknown */
	uint64_t limit;                             /* bytes at which the driver refuses this process; 0: never */
};

/* PyTorch's defaults. */
void alloc_config_init(struct alloc_config *config);

/*
 * Sets what `conf` says, in PyTorch's spelling ("expandable_segments:True,max_split_size_mb:128"), and leaves the rest.
 * Keys that move no bytes of the device are taken and mean nothing. 0, or -MT_E_ARGUMENT with one line in `why`: what
 * is wrong, and with which key; `config` is undefined then.
 */
int alloc_config_parse(struct alloc_config *config, const char *conf, char *why, size_t size);

/* The process's own limit, bytes; UINT64_MAX: as much as there is. */
uint64_t alloc_config_allowed(const struct alloc_config *config);

/* The bytes of a block for a request. Up to 2^62. */
uint64_t alloc_config_round(const struct alloc_config *config, uint64_t bytes);

#endif
