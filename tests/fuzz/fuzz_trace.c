/* fuzz_trace.c - the trace reader, and the analysis of what it hands out. Inputs are traces as they lie on a disk. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file("trace.zst", data, size);

	trace_read(path);
	trace_analyse(path);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
{
	return trace_mutate(data, size, room, seed);
}
