/*
 * alloc_config.h - the settings of PyTorch's caching allocator (PYTORCH_ALLOC_CONF) that change bytes of the device.
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
	uint64_t large_segment; /* bytes of a segment, or page, for requests from 1 to 10 MiB */
	uint64_t max_rounding;  /* bytes that an unsplit block may be larger than its request */
	double gc_threshold;    /* share of the process's memory at which collection begins; 0: off */
	double fraction;        /* share of the device for the process; 0: not set, and no collection */
	uint32_t divisions[ALLOC_CONFIG_INTERVALS]; /* steps for each power of two; 0: off */
	uint64_t device_bytes;                      /* bytes of the device for programs; 0: unknown */
	uint64_t limit;                             /* bytes at which the driver refuses this process; 0: never */
};

/* PyTorch's defaults. */
void alloc_config_init(struct alloc_config *config);

/*
 * Applies `conf`, in PyTorch's spelling ("expandable_segments:True,max_split_size_mb:128"); other settings stay. Keys
 * that do not change bytes of the device are accepted and ignored. Returns 0, or -MT_E_ARGUMENT with one line in `why`
 * about the key and its error; `config` is undefined then.
 */
int alloc_config_parse(struct alloc_config *config, const char *conf, char *why, size_t size);

/* The limit of the process in bytes; UINT64_MAX: none. */
uint64_t alloc_config_allowed(const struct alloc_config *config);

/* The bytes of the block for a request of up to 2^62 bytes. */
uint64_t alloc_config_round(const struct alloc_config *config, uint64_t bytes);

#endif
