/*
 * pause.c - begins recordings under `memrec --paused`.
 *
 *     paused ──wish to record, seen by a hook──> armed ──> .. on ──wish to end, seen by the collector──> paused
 *
 * A hook reads one word of the page (shared/control.h) and returns. No thread, signal or descriptor waits for a wish.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "agent.h"
#include "agent/ring/guest_map.h"
#include "agent/stacks/own_stack.h"
#include "life.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "shared/textbuf.h"

#define ASK_NS MT_NSEC_PER_SEC /* longest time for the asked thread */
#define ANSWER_TRIES 1000

static char page_path[MEMREC_PATH_MAX]; /* written before life->page */
static int (*_Atomic ask_first)(void);  /* agent_ask_first */

/* Ends the ring of an earlier program of the same process (exec). */
static void end_predecessor(struct control *page)
{
	char ring[MEMREC_PATH_MAX];

	memcpy(ring, page->ring, sizeof(ring));
	ring[sizeof(ring) - 1] = '\0';
	if (*ring)
		ring_end_replaced(ring, (uint32_t)getpid(), agent_start_ticks());
	page->ring[0] = '\0';
}

/* On a stack of ours. */
static void open_page(void *context MT_UNUSED)
{
	struct control *page;
	int cancel, error;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = agent_place_control(&page, page_path, &life_options);
	if (error) {
		life_set(LIFE_OFF);
		agent_place_failed(&life_options, error);
	} else {
		end_predecessor(page);
		atomic_store(&page->state, CONTROL_PAUSED);
		atomic_store(&life->page, page);
	}
	pthread_setcancelstate(cancel, NULL);
}

/* One thread opens the page, once. Other threads stay paused meanwhile. */
static struct control *open_once(void)
{
	uint32_t no = 0;
	uint64_t held;
	int saved = errno;

	if (agent_is_sealed() || agent_is_inside() || !atomic_compare_exchange_strong(&life->opened, &no, 1))
		return NULL;
	guest_hold_signals(&held);
	if (!own_stack_call(open_page, NULL))
		atomic_store(&life->opened, 0);
	guest_release_signals(&held);
	errno = saved;
	return atomic_load(&life->page);
}

void agent_ask_first(int (*ask)(void))
{
	if (!atomic_load_explicit(&ask_first, memory_order_relaxed))
		atomic_store(&ask_first, ask);
}

static void begin_without(void)
{
	agent_source(MT_SOURCE_TENSORS_CUDA, MT_SOURCE_ON, "");
	agent_source_note(MT_SOURCE_TENSORS_CUDA,
			  "memory from before the recording is unknown: Python's main thread could not be asked in time");
}

/* 1: Python's main thread, which can list the memory from before, was asked to begin and still has time. */
static int is_left_to_another(uint32_t wish)
{
	int (*ask)(void) = atomic_load(&ask_first);

	if (!ask || atomic_load(&life->answers))
		return 0;
	if (atomic_exchange(&life->asked, wish) != wish) {
		atomic_store(&life->asked_at, mt_clock_ns());
		if (ask())
			return 1;
	} else if (mt_clock_ns() - atomic_load(&life->asked_at) < ASK_NS) {
		return 1;
	}
	begin_without();
	return 0;
}

/*
 * Acts on a wish. Signals are held, and one thread runs at a time: a late thread must not report an older wish as met.
 */
static void meet(struct control *page)
{
	uint32_t word = atomic_load(&life->word), wish = atomic_load(&page->wish);

	if ((word & LIFE_STATE_MASK) != LIFE_PAUSED || wish == atomic_load(&life->seen))
		return;
	if (control_records(wish) && is_left_to_another(wish))
		return;
	if (control_records(wish)) {
		atomic_store(&life->steps, atomic_load(&page->steps));
		atomic_store(&page->state, CONTROL_RECORDING);
	}
	atomic_store(&page->met, wish);
	atomic_store(&life->seen, wish);
	atomic_store(&life->asked, 0);
	if (control_records(wish))
		life_change(word, LIFE_PAUSED, LIFE_ARMED);
}

/* A new wish. The trace of the last recording is whole before the next one begins. 1: events are taken. */
static int come_by(struct control *page)
{
	uint32_t no = 0;
	uint64_t held;

	if (!agent_is_whole())
		return 0;
	guest_hold_signals(&held);
	if (atomic_compare_exchange_strong(&life->meeting, &no, 1)) {
		meet(page);
		atomic_store(&life->meeting, 0);
	}
	guest_release_signals(&held);
	return life_state() >= LIFE_ARMED;
}

int pause_is_over(int opens)
{
	struct control *page = atomic_load_explicit(&life->page, memory_order_acquire);

	if (!page && opens)
		page = open_once();
	if (!page)
		return 0;
	return atomic_load_explicit(&page->wish, memory_order_acquire) !=
		       atomic_load_explicit(&life->seen, memory_order_relaxed) &&
	       come_by(page);
}

int agent_is_awaited(void)
{
	return atomic_load_explicit(&life->asked, memory_order_relaxed) != 0;
}

int pause_tells(void)
{
	return (int)atomic_exchange(&life->tells, 0);
}

int agent_start_telling(void)
{
	int started, told, tries;

	atomic_store(&life->tells, 1);
	atomic_store(&life->answers, 1);
	for (tries = 0; tries < ANSWER_TRIES && agent_is_awaited() && agent_is_paused(); tries++)
		sched_yield(); /* another thread looks at the wish */
	started = !agent_is_paused() && agent_start();
	atomic_store(&life->answers, 0);
	told = !pause_tells();
	return started && told;
}

void pause_tell(struct ring_header *header, const char *ring_path)
{
	struct control *page = atomic_load(&life->page);
	uint32_t steps = atomic_load(&life->steps);
	struct textbuf text;

	if (!page)
		return;
	header->steps = steps ? steps : (uint32_t)life_options.steps;
	textbuf_init(&text, header->control, sizeof(header->control));
	textbuf_add(&text, page_path);
	textbuf_init(&text, page->ring, sizeof(page->ring));
	textbuf_add(&text, ring_path);
}

void pause_failed(void)
{
	struct control *page = atomic_load(&life->page);

	if (page)
		atomic_store(&page->state, CONTROL_FAILED);
}

void pause_arm(void)
{
	atomic_store(&life->page, NULL);
	atomic_store(&life->opened, 0);
	atomic_store(&life->seen, 0);
	atomic_store(&life->asked, 0);
	atomic_store(&life->answers, 0);
	atomic_store(&life->tells, 0);
}

enum life_state pause_or_off(void)
{
	return atomic_load(&life->page) ? LIFE_PAUSED : LIFE_OFF;
}

void pause_end(void)
{
	size_t size = strlen(life_options.run_dir);
	char *slash = strrchr(page_path, '/');

	if (!atomic_load(&life->page) || !slash || (size && !strncmp(page_path, life_options.run_dir, size)))
		return;
	unlink(page_path);
	*slash = '\0';
	rmdir(page_path); /* fails while the folder has a ring */
}
