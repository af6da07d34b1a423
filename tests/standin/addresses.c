/*
 * addresses.c - hands out address ranges from one large reservation without access. Touching "GPU memory" on the host
 * crashes as with a real GPU, and no address is one of the program's own.
 *
 * A range is rounded up to a power of two, and each size has a stack of free ranges. Address space costs nothing, and
 * the range freed last is handed out first, as drivers tend to do.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include "driver.h"

#define SMALLEST 9 /* 512 bytes */
#define CLASSES 48

static struct free_stack {
	cuda_address *range;
	size_t count, room;
} free_stack[CLASSES];

static cuda_address next, end;

static int reserve(void)
{
	uint64_t bytes;
	void *memory;

	for (bytes = 64ull << 40; bytes >= 1ull << 34; bytes >>= 1) { /* sanitizers, valgrind and limits leave less */
		memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			continue;
		next = ((cuda_address)(uintptr_t)memory + PAGE - 1) & ~(PAGE - 1);
		end = (cuda_address)(uintptr_t)memory + bytes;
		return 1;
	}
	return 0;
}

static unsigned int class_of(uint64_t bytes)
{
	unsigned int class = SMALLEST;

	while (class < CLASSES && 1ull << class < bytes)
		class ++;
	return class;
}

cuda_address addresses_take(uint64_t bytes)
{
	unsigned int class = class_of(bytes);
	uint64_t span, align;
	cuda_address address;

	if (class >= CLASSES || (!end && !reserve()))
		return 0;
	if (free_stack[class].count)
		return free_stack[class].range[--free_stack[class].count];
	span = 1ull << class;
	align = span < PAGE ? span : PAGE;
	address = (next + align - 1) & ~(align - 1);
	if (address + span > end)
		return 0;
	next = address + span;
	return address;
}

void addresses_give(cuda_address address, uint64_t bytes)
{
	struct free_stack *stack = &free_stack[class_of(bytes)];
	cuda_address *range;

	if (stack->count == stack->room) {
		range = realloc(stack->range, (stack->room * 2 + 16) * sizeof(*range));
		if (!range)
			return; /* only this range is lost */
		stack->range = range;
		stack->room = stack->room * 2 + 16;
	}
	stack->range[stack->count++] = address;
}
