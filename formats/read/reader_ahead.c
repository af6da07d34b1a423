/* reader_ahead.c - threads that read ahead for several readers, each with a short queue of batches. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include "memtrace/ahead.h"
#include "memtrace/error.h"
#include "reader_impl.h"

/*
 * Batches of a reader: one in use, one being filled, the others waiting for as long as a thread takes to wake up. All of them, of 19 KiB each,
 * stay in a core's second cache.
 */
#define SLOTS 8u
#define LARGE_ALL (256u << 20) /* bytes of large chunks of all readers together */

/* The result of one mt_reader_next, with its tracker. */
struct slot {
	struct mt_event *own; /* exchanged with the reader's array at each batch */
	size_t room;
	struct mt_event one; /* an event outside the reader's array */
	struct mt_label *label;
	size_t label_room;
	struct mt_ahead_batch batch;
	int error;
};

/* One reader. The thread that sets `busy` owns the reader and the next free slot until it clears `busy`. */
struct lane {
	struct mt_reader *reader;
	struct mt_tracker *tracker; /* NULL: none */
	struct slot slot[SLOTS];
	uint32_t first, filled; /* ring of slots */
	int used;               /* the first is in the user's hands */
	int busy;
	int ended; /* 1: the batches in the ring are the last ones */
	int waits; /* the user reads the next chunk only when the ring is empty */
	int queued;
	struct lane *next; /* in the queue */
};

struct mt_ahead {
	pthread_mutex_t lock; /* guards all fields below, except those that `busy` protects */
	pthread_cond_t work, ready;
	struct lane *lane;
	uint32_t lanes, slots;
	struct lane *queue, **queue_end; /* lanes that can read on, longest wait first */
	/* Bytes left of LARGE_ALL: only the user's thread takes some, for large chunks; any thread gives them back. */
	_Atomic uint64_t large;
	int stop;
	uint32_t threads;
	pthread_t thread[MT_AHEAD_THREADS];
};

/* Frees an array that a checkpoint made larger than events need; otherwise many such arrays add up. */
static void drop_large(struct slot *slot)
{
	if (slot->room > MT_READER_BATCH) {
		free(slot->own);
		slot->own = NULL;
		slot->room = 0;
	}
	if (slot->label_room > MT_READER_BATCH) {
		free(slot->label);
		slot->label = NULL;
		slot->label_room = 0;
	}
}

/* 0 or -MT_E_MEMORY. */
static int label_events(struct mt_tracker *tracker, struct slot *slot)
{
	size_t room = slot->batch.count > MT_READER_BATCH ? slot->batch.count : MT_READER_BATCH, i;

	if (slot->label_room < slot->batch.count) {
		free(slot->label);
		slot->label = malloc(room * sizeof(*slot->label));
		slot->label_room = slot->label ? room : 0;
	}
	if (!slot->label)
		return -MT_E_MEMORY;
	for (i = 0; i < slot->batch.count; i++)
		mt_tracker_event(tracker, &slot->batch.events[i], 0, &slot->label[i]);
	slot->batch.labels = slot->label;
	return 0;
}

/* Reads and labels one batch. *wait as in mt_reader_next_until; NULL: read any chunk. */
static void fill(struct lane *lane, struct slot *slot, int *wait)
{
	struct mt_ahead_batch *batch = &slot->batch;

	do {
		slot->error = mt_reader_next_until(lane->reader, &batch->events, &batch->count, &batch->checkpoint,
						   wait);
	} while (!slot->error && batch->count && batch->checkpoint == MT_BATCH_REPEAT);
	batch->offset = mt_reader_offset(lane->reader);
	batch->labels = NULL;
	if (slot->error || !batch->count)
		return;
	if (mt_reader_trade(lane->reader, &slot->own, &slot->room)) {
		batch->events = slot->own;
	} else {
		slot->one = *batch->events;
		batch->events = &slot->one;
	}
	if (lane->tracker)
		slot->error = label_events(lane->tracker, slot);
}

static struct slot *next_slot(const struct mt_ahead *ahead, struct lane *lane)
{
	return &lane->slot[(lane->first + lane->filled) % ahead->slots];
}

static int can_read_on(const struct mt_ahead *ahead, const struct lane *lane)
{
	return !lane->busy && !lane->ended && !lane->waits && lane->filled < ahead->slots;
}

/* To be called where a lane may have become able to read on: no thread looks through all lanes. */
static void join_queue(struct mt_ahead *ahead, struct lane *lane)
{
	if (lane->queued || !can_read_on(ahead, lane))
		return;
	lane->queued = 1;
	lane->next = NULL;
	*ahead->queue_end = lane;
	ahead->queue_end = &lane->next;
}

/* Called with the lock, which is released while reading. */
static void read_on(struct mt_ahead *ahead, struct lane *lane, int ahead_of_user)
{
	struct slot *slot = next_slot(ahead, lane);
	int wait = 0;

	lane->busy = 1;
	pthread_mutex_unlock(&ahead->lock);
	fill(lane, slot, ahead_of_user ? &wait : NULL);
	pthread_mutex_lock(&ahead->lock);
	lane->busy = 0;
	lane->waits = wait;
	if (wait)
		return;
	lane->ended = slot->error || !slot->batch.count;
	lane->filled++;
	join_queue(ahead, lane);
}

/* Returns the next lane of the queue that can still read on; NULL: nothing to do. */
static struct lane *choose(struct mt_ahead *ahead)
{
	struct lane *lane;

	while ((lane = ahead->queue)) {
		ahead->queue = lane->next;
		if (!ahead->queue)
			ahead->queue_end = &ahead->queue;
		lane->queued = 0;
		if (can_read_on(ahead, lane))
			return lane;
	}
	return NULL;
}

static void *serve(void *context)
{
	struct mt_ahead *ahead = context;
	struct lane *lane;

	pthread_mutex_lock(&ahead->lock);
	while (!ahead->stop) {
		lane = choose(ahead);
		if (!lane) {
			pthread_cond_wait(&ahead->work, &ahead->lock);
			continue;
		}
		read_on(ahead, lane, 1);
		pthread_cond_signal(&ahead->ready);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

/* The user is done with the first batch. Threads are woken for half a ring at a time, not for each batch. */
static void let_go(struct mt_ahead *ahead, struct lane *lane)
{
	if (!lane->used)
		return;
	lane->used = 0;
	drop_large(&lane->slot[lane->first]);
	lane->first = (lane->first + 1) % ahead->slots;
	lane->filled--;
	join_queue(ahead, lane);
	if (lane->filled <= ahead->slots / 2)
		pthread_cond_signal(&ahead->work);
}

int mt_ahead_next(struct mt_ahead *ahead, uint32_t which, struct mt_ahead_batch *batch)
{
	struct lane *lane = &ahead->lane[which];
	struct slot *slot;

	pthread_mutex_lock(&ahead->lock);
	let_go(ahead, lane);
	while (!lane->filled && !lane->ended) {
		if (lane->busy)
			pthread_cond_wait(&ahead->ready, &ahead->lock);
		else
			read_on(ahead, lane, 0);
	}
	slot = &lane->slot[lane->first];
	lane->used = lane->filled != 0;
	*batch = slot->batch;
	if (!lane->used)
		batch->count = 0;
	pthread_mutex_unlock(&ahead->lock);
	return lane->used ? slot->error : 0;
}

/* mt_reader_more for a lane whose end the user has seen. Called with the lock, which is released meanwhile. */
static int more_of(struct mt_ahead *ahead, struct lane *lane)
{
	int more;

	let_go(ahead, lane);
	lane->busy = 1;
	pthread_mutex_unlock(&ahead->lock);
	more = mt_reader_more(lane->reader);
	pthread_mutex_lock(&ahead->lock);
	lane->busy = 0;
	if (more > 0)
		lane->ended = lane->waits = 0;
	join_queue(ahead, lane);
	return more;
}

/* 1: the user has seen the batch of 0 events, which is the end. */
static int is_at_end(const struct lane *lane)
{
	return lane->ended && !lane->busy &&
	       (!lane->filled || (lane->used && lane->filled == 1 && !lane->slot[lane->first].batch.count));
}

int mt_ahead_more(struct mt_ahead *ahead)
{
	int more, any = 0;
	uint32_t i;

	pthread_mutex_lock(&ahead->lock);
	for (i = 0; i < ahead->lanes && any >= 0; i++) {
		more = is_at_end(&ahead->lane[i]) ? more_of(ahead, &ahead->lane[i]) : 0;
		any = more < 0 ? more : any | more;
	}
	pthread_cond_broadcast(&ahead->work);
	pthread_mutex_unlock(&ahead->lock);
	return any;
}

/* Returns the processors without the one of the user's thread. */
static uint32_t spare_processors(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return count - 1 < (int)MT_AHEAD_THREADS ? (uint32_t)(count - 1) : MT_AHEAD_THREADS;
}

/* Starts threads with all signals blocked: signals are for the program's own thread. */
static void start(struct mt_ahead *ahead, uint32_t threads)
{
	uint32_t wanted = spare_processors();
	sigset_t all, before;

	if (wanted > ahead->lanes)
		wanted = ahead->lanes;
	if (wanted > threads)
		wanted = threads;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (ahead->threads < wanted && !pthread_create(&ahead->thread[ahead->threads], NULL, serve, ahead))
		ahead->threads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!ahead->threads)
		ahead->slots = 1;
}

struct mt_ahead *mt_ahead_new(struct mt_reader *const *readers, struct mt_tracker *const *trackers, uint32_t count,
			      uint32_t threads)
{
	struct mt_ahead *ahead = calloc(1, sizeof(*ahead));
	uint32_t i;

	if (ahead)
		ahead->lane = calloc(count ? count : 1, sizeof(*ahead->lane));
	if (!ahead || !ahead->lane) {
		free(ahead);
		return NULL;
	}
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->work, NULL);
	pthread_cond_init(&ahead->ready, NULL);
	ahead->lanes = count;
	ahead->large = LARGE_ALL;
	ahead->slots = SLOTS;
	ahead->queue_end = &ahead->queue;
	for (i = 0; i < count; i++) {
		ahead->lane[i].reader = readers[i];
		mt_reader_share(readers[i], &ahead->large);
		ahead->lane[i].tracker = trackers ? trackers[i] : NULL;
		join_queue(ahead, &ahead->lane[i]);
	}
	start(ahead, threads);
	return ahead;
}

void mt_ahead_free(struct mt_ahead *ahead)
{
	uint32_t i, j;

	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->stop = 1;
	pthread_cond_broadcast(&ahead->work);
	pthread_mutex_unlock(&ahead->lock);
	for (i = 0; i < ahead->threads; i++)
		pthread_join(ahead->thread[i], NULL);
	pthread_mutex_destroy(&ahead->lock);
	pthread_cond_destroy(&ahead->work);
	pthread_cond_destroy(&ahead->ready);
	for (i = 0; i < ahead->lanes; i++) {
		mt_reader_share(ahead->lane[i].reader, NULL);
		for (j = 0; j < SLOTS; j++) {
			free(ahead->lane[i].slot[j].own);
			free(ahead->lane[i].slot[j].label);
		}
	}
	free(ahead->lane);
	free(ahead);
}
