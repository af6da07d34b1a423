/* wishes.c - the collector's side of a page of wishes: see wishes.h. */
#include "wishes.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WAIT_MS = 20 };

void wishes_begin(struct wishes *wishes, const struct ring_header *header, const char *ring_path)
{
	*wishes = (struct wishes){ .ring_path = ring_path };
	if (!header->control[0] || control_map(&wishes->page, header->control, 0))
		return;
	wishes->wish = atomic_load(&wishes->page->met);
	atomic_store(&wishes->page->events, 0);
	atomic_store(&wishes->page->step, 0);
	wishes->page->trace[0] = '\0';
}

/* 1: the page is for this ring. A later program of the same process (exec) may use the page by now. */
static int is_ours(const struct wishes *wishes)
{
	return wishes->page && !strncmp(wishes->page->ring, wishes->ring_path, sizeof(wishes->page->ring));
}

void wishes_trace(struct wishes *wishes, const char *trace)
{
	if (is_ours(wishes))
		strncpy(wishes->page->trace, trace, sizeof(wishes->page->trace) - 1);
}

/* The page is hostile input: each text is cut at its room. Marks that newer ones have overwritten are lost. */
static void put_marks(struct wishes *wishes, struct mt_fold *fold, uint64_t now)
{
	struct control *page = wishes->page;
	uint32_t marks = atomic_load(&page->marks), taken = atomic_load(&page->taken);
	char text[CONTROL_TEXT];

	if (marks - taken > CONTROL_MARKS)
		taken = marks - CONTROL_MARKS;
	for (; taken != marks; taken++) {
		memcpy(text, page->mark[taken % CONTROL_MARKS], sizeof(text));
		text[sizeof(text) - 1] = '\0';
		if (mt_fold_mark(fold, text, now) > 0)
			break;
	}
	atomic_store(&page->taken, taken);
}

static void say_figures(struct wishes *wishes, const struct mt_fold *fold)
{
	atomic_store_explicit(&wishes->page->events, mt_fold_events(fold), memory_order_relaxed);
	atomic_store_explicit(&wishes->page->step, mt_fold_steps(fold), memory_order_relaxed);
}

static int end_is_wished(const struct wishes *wishes)
{
	return wishes->page && atomic_load(&wishes->page->wish) != wishes->wish;
}

int wishes_tick(struct wishes *wishes, struct mt_fold *fold, uint64_t now)
{
	if (!is_ours(wishes))
		return 0;
	put_marks(wishes, fold, now);
	say_figures(wishes, fold);
	if (!end_is_wished(wishes))
		return 0;
	if (!wishes->since) {
		wishes->since = now;
		wishes->before = atomic_load(&mt_fold_header(fold)->next_seq);
	}
	if (atomic_load(&wishes->page->at_once))
		return 1;
	if (!wishes->last && mt_fold_events(fold) && mt_fold_number(fold) + 1 >= wishes->before) {
		wishes->last = 1;
		mt_fold_end_with_step(fold, MT_END_STOPPED);
	}
	return (wishes->last || !mt_fold_events(fold)) && !mt_fold_steps(fold) && now - wishes->since >= WISHES_STEP_NS;
}

/* Marks that come after the end of the recording are dropped. */
void wishes_end(struct wishes *wishes, uint64_t events, uint64_t steps)
{
	if (!is_ours(wishes))
		return;
	atomic_store(&wishes->page->events, events);
	atomic_store(&wishes->page->step, steps);
	atomic_store(&wishes->page->taken, atomic_load(&wishes->page->marks));
	atomic_store(&wishes->page->state, CONTROL_ENDED);
	munmap(wishes->page, sizeof(*wishes->page));
	wishes->page = NULL;
}

/* Maps the header of a ring that was read before. NULL: the ring is gone. */
static struct ring_header *map_header(const char *ring_path)
{
	int fd = open(ring_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	void *map = fd < 0 ? MAP_FAILED
			   : mmap(NULL, sizeof(struct ring_header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	return map == MAP_FAILED ? NULL : map;
}

int wishes_wait(const char *ring_path, volatile sig_atomic_t *told)
{
	struct ring_header *header = map_header(ring_path);
	struct target target;
	uint32_t whole;
	int next = 0;

	if (!header)
		return 0;
	target_init(&target, (pid_t)header->pid, header->start_ticks);
	whole = atomic_load(&header->recording);
	atomic_store(&header->whole, whole);
	while (!*told && !next && !atomic_load(&header->ended) && target_alive(&target)) {
		target_wait(&target, WAIT_MS);
		next = atomic_load(&header->recording) != whole;
	}
	target_release(&target);
	munmap(header, sizeof(*header));
	return next;
}
