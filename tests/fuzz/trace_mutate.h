/*
 * trace_mutate.h - makes traces of traces, past checksums and compression.
 *
 *     raw        bytes of the file, as they lie there
 *     chunks     one is dropped, repeated, or changes places; the index is right, old, or gone
 *     sections   one section of one payload; its length, the frame's checksum and the index fit again
 *     events     fields, kinds and order of events; a writer makes a trace of them, so that nothing contradicts
 */
#ifndef FUZZ_TRACE_MUTATE_H
#define FUZZ_TRACE_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* As LLVMFuzzerCustomMutator. */
size_t trace_mutate(uint8_t *data, size_t size, size_t room, unsigned int seed);

/* The two halves: 0, nothing could be made of it; else the size. */
size_t trace_mutate_chunks(uint8_t *data, size_t size, size_t room, unsigned int seed);
size_t trace_mutate_events(uint8_t *data, size_t size, size_t room, unsigned int seed);

#endif
