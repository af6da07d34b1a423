/*
 * nvtx_client.h - just enough of NVTX 3 to mark ranges, for machines without the CUDA toolkit. A program that has the
 * toolkit includes nvtx3/nvToolsExt.h instead; profilers see no difference.
 *
 * Without a profiler (NVTX_INJECTION64_PATH not set) a call costs one comparison.
 */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

/* Ranges nest and belong to the calling thread. Both return the nesting depth, or -2 when nobody listens. */
int nvtx_push(const char *name);
int nvtx_pop(void);

#endif
