/* life.c - the page with the state of the recording in this process, and the options of the recording. */
#include "life.h"

#include <sys/mman.h>
#include "agent.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14 */
#endif

static struct life never;
static _Atomic int has_options; /* set when the rest is ready */

struct life *life = &never;
struct memrec_options life_options;

int life_is_empty(void)
{
	int i, threads = 0;

	for (i = 0; i < 1 << LIFE_LINE_BITS; i++)
		threads |= atomic_load(&life->inside[i].threads);
	return !threads;
}

void life_forked(void)
{
	int i;

	for (i = 0; i < 1 << LIFE_LINE_BITS; i++)
		atomic_store(&life->inside[i].threads, 0);
}

struct life *life_new(void)
{
	void *page = mmap(NULL, sizeof(struct life), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	madvise(page, sizeof(struct life), MADV_WIPEONFORK); /* without it, the fork handler clears the page */
	return page;
}

int life_has_begun(void)
{
	return life != &never;
}

void life_options_are_there(void)
{
	atomic_store_explicit(&has_options, 1, memory_order_release);
}

const struct memrec_options *agent_options(void)
{
	return atomic_load_explicit(&has_options, memory_order_acquire) ? &life_options : NULL;
}
