/* seen.c - open addressing, at most SEEN_PROBES steps; entries are only ever filled. */
#include "seen.h"

#include <stddef.h>
#include <sys/mman.h>
#include "memtrace/error.h"

#define SEEN_PROBES 64u

int seen_init(struct seen *seen)
{
	void *map = mmap(NULL, SEEN_ENTRIES * sizeof(*seen->entry), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	seen->entry = map == MAP_FAILED ? NULL : map;
	return seen->entry ? 0 : -MT_E_MEMORY;
}

void seen_release(struct seen *seen)
{
	if (seen->entry)
		munmap(seen->entry, SEEN_ENTRIES * sizeof(*seen->entry));
	seen->entry = NULL;
}

int seen_has(const struct seen *seen, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < SEEN_PROBES; i++) {
		uint64_t entry = atomic_load_explicit(&seen->entry[(key + i) % SEEN_ENTRIES], memory_order_acquire);

		if (entry == key)
			return 1;
		if (!entry)
			return 0;
	}
	return 0;
}

int seen_has_room(const struct seen *seen, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < SEEN_PROBES; i++)
		if (!atomic_load_explicit(&seen->entry[(key + i) % SEEN_ENTRIES], memory_order_relaxed))
			return 1;
	return 0;
}

void seen_add(struct seen *seen, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < SEEN_PROBES; i++) {
		_Atomic uint64_t *entry = &seen->entry[(key + i) % SEEN_ENTRIES];
		uint64_t old = 0;

		if (atomic_compare_exchange_strong(entry, &old, key) || old == key)
			return;
	}
}
