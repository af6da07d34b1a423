/*
 * gpu_memory.h - device memory for the samples, in the four ways that training programs take it, with an account of
 * its own. The account is this program's own count, to be held against anybody else's.
 *
 * Every call that fails ends the program with a message. Not for several threads.
 */
#ifndef GPU_MEMORY_H
#define GPU_MEMORY_H

#include "cuda_driver.h"

/* Physical device memory that this program holds, counted where it asks for it. */
struct gpu_account {
	uint64_t calls; /* calls of the driver's memory functions */
	uint64_t bytes, peak;
	int peak_step;
	const char *peak_phase;

	int step; /* set by the program: what it is doing */
	const char *phase;
};

extern struct gpu_account gpu_account;

/* Everything below is multiplied by this (1: as it says). */
extern double gpu_scale;

/* 1, or less when the GPU has less than `needed` bytes free now. */
double gpu_scale_to_fit(double needed);

/* A tensor of its own: cuMemAlloc, cuMemFree. Freeing one that is not there does nothing. */
struct tensor {
	cuda_address address; /* 0: not there */
	uint64_t bytes;
};

struct tensor tensor_new(uint64_t elements, uint64_t element_bytes);
void tensor_free(struct tensor *tensor);

/* A short-lived buffer from the driver's pool: cuMemAllocAsync, cuMemFreeAsync. */
struct tensor buffer_new(uint64_t bytes);
void buffer_free(struct tensor *buffer);

/*
 * Memory that can sleep: its addresses stay, its pages are given back and taken anew, as inference engines do while
 * training needs the GPU (cuMemAddressReserve once; cuMemCreate, cuMemMap to wake; cuMemUnmap, cuMemRelease to sleep).
 */
struct pages {
	cuda_address address;
	uint64_t bytes;
	cuda_handle handle; /* 0: asleep */
};

struct pages pages_reserve(uint64_t elements, uint64_t element_bytes); /* asleep */
void pages_wake(struct pages *pages, int count);                       /* those that are asleep */
void pages_sleep(struct pages *pages, int count);                      /* those that are awake */

/* Page-locked host memory: cuMemHostAlloc, cuMemFreeHost. Not in the account's bytes. */
void *pinned_new(uint64_t bytes);
void pinned_free(void *memory);

#endif
