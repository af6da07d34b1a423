/*
 * The producer's side of the ring on its own: wrapping, the growing log under many threads, the set of what is in it.
 * The agent's files are compiled into the test; its library has no symbols to link with.
 */
#include <pthread.h>
#include "agent/ring/event_clock.c"
#include "agent/ring/guest_map.c"
#include "agent/ring/hash_set.c"
#include "agent/ring/ring.c"
#include "shared/textbuf.c"
#include "test.h"

#define THREADS 4
#define NOBODY 0x7ffffff0u /* no thread has this id */

static struct ring ring;

static void open_ring_in(const char *dir, uint32_t slot_bytes)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/1.ring", dir);
	CHECK_EQ(ring_create(&ring, path, slot_bytes, RING_LOG_BYTES, 0), 0);
	ring_publish(&ring);
}

static void open_ring(uint32_t slot_bytes)
{
	open_ring_in(test_dir(), slot_bytes);
}

static void close_ring(void)
{
	ring_unlink(&ring);
	ring_forget(&ring);
}

/* Takes everything out of a slot like a collector; the number of events, each checked against `seq`. */
static uint64_t drain(struct ring_writer *writer, uint64_t seq)
{
	uint64_t head = atomic_load(&writer->slot->head), tail = atomic_load(&writer->slot->tail), events = 0;
	uint32_t mask = ring.header->slot_bytes - 1;

	while (tail < head) {
		const struct ring_event *event = (const void *)(writer->data + (tail & mask));

		CHECK(event->bytes && event->bytes % 8 == 0 && (tail & mask) + event->bytes <= mask + 1);
		tail += event->bytes;
		if (event->record == RING_PAD)
			continue;
		CHECK_EQ(event->seq, seq + events);
		CHECK_EQ(event->addr, event->seq * 3);
		CHECK_EQ(((const char *)(event + 1))[event->name_bytes], 'd');
		events++;
	}
	CHECK_EQ(tail, head);
	atomic_store(&writer->slot->tail, tail);
	return events;
}

/* Texts of all lengths, so that records meet the end of the slot in every way. */
static int append(struct ring_writer *writer, uint64_t seq, uint32_t length)
{
	static char name[RING_TEXT_MAX];
	struct ring_event event = { .kind = MT_MARK, .addr = seq * 3 };
	struct ring_text text = { name, "domain", (uint16_t)(length % (RING_TEXT_MAX - 6)), 6 };

	return ring_append(&ring, writer, &event, &text);
}

TEST(records_wrap_without_a_gap)
{
	struct ring_writer writer = { 0 };
	uint64_t seq = 1, drained = 1, i;

	open_ring(1 << 16);
	CHECK(ring_claim(&ring, &writer, 1));
	for (i = 0; i < 20000; i++) {
		if (append(&writer, seq, (uint32_t)(i * 37))) {
			drained += drain(&writer, drained);
			CHECK_EQ(drained, seq);
			CHECK_EQ(append(&writer, seq, (uint32_t)(i * 37)), 0);
		}
		seq++;
	}
	drained += drain(&writer, drained);
	CHECK_EQ(drained, seq);
	CHECK(atomic_load(&writer.slot->head) > 20 * (1 << 16));
	close_ring();
}

TEST(a_lost_event_takes_no_number)
{
	struct ring_writer writer = { 0 };
	uint64_t seq = 1;

	open_ring(1 << 16);
	CHECK(ring_claim(&ring, &writer, 1));
	while (!append(&writer, seq, 0))
		seq++;
	CHECK_EQ(append(&writer, seq, 0), -MT_E_SPACE);
	CHECK_EQ(atomic_load(&ring.header->next_seq), seq);
	CHECK_EQ(drain(&writer, 1), seq - 1);
	CHECK_EQ(append(&writer, seq, 0), 0);
	close_ring();
}

static void *fill_log(void *context)
{
	uint64_t key = (uint64_t)(uintptr_t)context;
	struct ring_log *log;
	int i;

	for (i = 0; i < 20000; i++) {
		size_t bytes = sizeof(*log) + (size_t)(i * 13 % 400);

		log = ring_log_begin(&ring, RING_LOG_THREAD, bytes);
		CHECK(log);
		log->key = key;
		memset(log + 1, (int)key, bytes - sizeof(*log));
		ring_log_end(log, bytes);
	}
	return NULL;
}

TEST(the_log_grows_under_many_threads)
{
	pthread_t thread[THREADS];
	uint64_t at = 0, records[THREADS + 1] = { 0 }, end;
	uintptr_t i;

	open_ring(1 << 16);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, fill_log, (void *)(i + 1)), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	end = atomic_load(&ring.header->log_head);
	CHECK(end > 10 * RING_LOG_STEP && end <= atomic_load(&ring.header->log_ready));
	while (at < end) {
		const struct ring_log *log = (const void *)(ring.log + at);
		const uint8_t *contents = (const void *)(log + 1);

		CHECK(log->bytes >= sizeof(*log) && log->kind == RING_LOG_THREAD && log->key <= THREADS);
		for (i = sizeof(*log); i + 8 <= log->bytes; i++)
			CHECK_EQ(contents[i - sizeof(*log)], log->key);
		records[log->key]++;
		at += log->bytes;
	}
	CHECK_EQ(at, end);
	for (i = 1; i <= THREADS; i++)
		CHECK_EQ(records[i], 20000);
	close_ring();
}

/* On a busy machine the thread that extends the log can be off the processor for many turns of the others. */
static void *let_grow(void *unused)
{
	struct timespec pause = { 0, 100000000 };

	(void)unused;
	nanosleep(&pause, NULL);
	atomic_store(&ring.header->log_growing, 0);
	return NULL;
}

TEST(a_thread_waits_for_the_one_that_extends_the_log)
{
	pthread_t thread;

	open_ring(1 << 16);
	atomic_store(&ring.header->log_head, atomic_load(&ring.header->log_ready));
	atomic_store(&ring.header->log_growing, 1);
	CHECK_EQ(pthread_create(&thread, NULL, let_grow, NULL), 0);
	CHECK(ring_log_begin(&ring, RING_LOG_THREAD, 64));
	pthread_join(thread, NULL);
	close_ring();
}

TEST(a_full_log_says_so_and_leaves_no_hole)
{
	struct ring_log *log;
	uint64_t end;

	open_ring(1 << 16);
	atomic_store(&ring.header->log_head, RING_LOG_BYTES - 4096);
	atomic_store(&ring.header->log_ready,
		     RING_LOG_BYTES - RING_LOG_STEP); /* the last step comes when it is needed */
	CHECK(!ring_log_begin(&ring, RING_LOG_THREAD, 4104));
	end = atomic_load(&ring.header->log_head);
	CHECK_EQ(end, RING_LOG_BYTES - 4096);
	log = ring_log_begin(&ring, RING_LOG_THREAD, 4096);
	CHECK(log);
	ring_log_end(log, 4096);
	CHECK(!ring_log_begin(&ring, RING_LOG_THREAD, 8));
	close_ring();
}

TEST(stacks_leave_room_for_threads_and_modules)
{
	uint64_t limit = RING_LOG_BYTES - RING_LOG_STEP;

	open_ring(1 << 16);
	atomic_store(&ring.header->log_head, limit - 64);
	atomic_store(&ring.header->log_ready, limit - RING_LOG_STEP);
	CHECK(!ring_log_begin(&ring, RING_LOG_STACK, 72));
	CHECK(!ring_log_begin(&ring, RING_LOG_CODE, 72));
	CHECK(ring_log_begin(&ring, RING_LOG_STACK, 64));
	CHECK(!ring_log_begin(&ring, RING_LOG_CODE, 8));
	CHECK(ring_log_begin(&ring, RING_LOG_THREAD, 72));
	CHECK(!ring_log_begin(&ring, RING_LOG_STACK, 8));
	CHECK(ring_log_begin(&ring, RING_LOG_MODULE, 72));
	CHECK_EQ(atomic_load(&ring.header->log_head), limit + 144);
	close_ring();
}

/* As a preloaded library may have it: the program's clock stands still. */
static int clock_stands;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static const struct timespec stood = { 1000, 0 };

	if (!clock_stands)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = stood;
	return 0;
}

TEST(a_wait_ends_where_the_clock_stands_still)
{
	struct ring_writer writer = { 0 };
	uint32_t i, me = (uint32_t)getpid(), shared = OWNED_SLOTS + NOBODY % SHARED_SLOTS;
	uint64_t seq;
	int slots;

	for (slots = 0; slots < 2; slots++) { /* 0: the thread's own, 1: shared */
		open_ring(1 << 16);
		writer = (struct ring_writer){ 0 };
		for (i = 0; slots && i < OWNED_SLOTS; i++)
			atomic_store(&ring.local[i].owner, me);
		CHECK(ring_claim(&ring, &writer, NOBODY));
		for (seq = 1; !append(&writer, seq, 0); seq++)
			;
		ring.wait_ns = 1000000;
		clock_stands = 1;
		CHECK_EQ(append(&writer, seq, 0), -MT_E_SPACE);
		atomic_store(&ring.local[shared].holder, slots ? me : 0);
		CHECK_EQ(append(&writer, seq, 0), -MT_E_SPACE);
		atomic_store(&ring.local[shared].holder, 0);
		clock_stands = 0;
		close_ring();
	}
}

TEST(a_ring_is_its_owners_whatever_the_umask)
{
	const char *dir = test_dir(); /* before the mask, which would shut its owner out */
	mode_t mask = umask(0777);
	struct stat st;

	open_ring_in(dir, 1 << 16);
	umask(mask);
	CHECK_EQ(stat(ring.path, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	close_ring();
}

TEST(an_existing_ring_is_not_touched)
{
	struct ring first;

	open_ring(1 << 16);
	ring.header->pid = 7;
	ring.header->start_ticks = 9;
	CHECK_EQ(ring_create(&first, ring.path, 1 << 16, RING_LOG_BYTES, 0), -MT_E_BUSY);
	ring_end_replaced(ring.path, 7, 8);
	CHECK_EQ(atomic_load(&ring.header->ended), 0);
	ring_end_replaced(ring.path, 7, 9);
	CHECK_EQ(atomic_load(&ring.header->ended), MT_END_REPLACED + 1);
	close_ring();
}

TEST(a_slot_outlives_its_thread)
{
	struct ring_writer first = { 0 }, second = { 0 }, third = { 0 };

	open_ring(1 << 16);
	CHECK(ring_claim(&ring, &first, NOBODY));
	CHECK_EQ(append(&first, 1, 5), 0);
	CHECK(ring_claim(&ring, &second, (uint32_t)getpid()));
	CHECK(second.slot == first.slot && second.head == first.head);
	CHECK_EQ(append(&second, 2, 5), 0);
	CHECK_EQ(drain(&second, 1), 2);
	CHECK(ring_claim(&ring, &third, NOBODY));
	CHECK(third.slot != second.slot); /* its thread is alive */
	close_ring();
}

TEST(no_slot_is_left)
{
	struct ring_writer writer = { 0 }, later = { 0 };
	uint32_t i, shared = OWNED_SLOTS + NOBODY % SHARED_SLOTS;

	open_ring(1 << 16);
	for (i = 0; i < RING_SLOTS; i++)
		atomic_store(&ring.local[i].owner, (uint32_t)getpid());
	CHECK(!ring_claim(&ring, &writer, NOBODY));
	atomic_store(&ring.local[shared].owner, 0);
	CHECK(!ring_claim(&ring, &writer, NOBODY)); /* not asked for at each call */
	CHECK(ring_claim(&ring, &later, NOBODY));
	CHECK(later.slot == &ring.header->slot[shared]);
	close_ring();
}

/* When there are more threads than slots, the last ones have many writers, one at a time. */
TEST(the_last_slots_are_shared)
{
	struct ring_writer first = { 0 }, second = { 0 }, other = { 0 };
	uint32_t i, me = (uint32_t)getpid(), shared = OWNED_SLOTS + NOBODY % SHARED_SLOTS;
	_Atomic uint32_t *holder = &ring.local[shared].holder;
	uint64_t seq;

	open_ring(1 << 16);
	for (i = 0; i < OWNED_SLOTS; i++)
		atomic_store(&ring.local[i].owner, me);
	CHECK(ring_claim(&ring, &first, NOBODY));
	CHECK(ring_claim(&ring, &second, NOBODY - SHARED_SLOTS));
	CHECK(ring_claim(&ring, &other, NOBODY - 1));
	CHECK(first.slot == second.slot && first.slot == &ring.header->slot[shared]);
	CHECK(other.slot != first.slot);
	for (seq = 1; seq <= 40; seq++)
		CHECK_EQ(append(seq % 3 ? &first : &second, seq, (uint32_t)seq), 0);
	CHECK_EQ(drain(&first, 1), 40);
	atomic_store(holder, me); /* a thread that is alive is at it */
	CHECK_EQ(append(&first, 41, 5), -MT_E_SPACE);
	atomic_store(holder, NOBODY - 2); /* one that has ended */
	CHECK_EQ(append(&first, 41, 5), 0);
	CHECK_EQ(atomic_load(holder), 0);
	CHECK_EQ(drain(&second, 41), 1);
	close_ring();
}

/* Whoever waits for room does not keep the others from the slot. */
TEST(a_shared_slot_that_is_full_is_let_go)
{
	struct ring_writer writer = { 0 };
	uint32_t i, me = (uint32_t)getpid(), shared = OWNED_SLOTS + NOBODY % SHARED_SLOTS;
	uint64_t seq = 1;

	open_ring(1 << 16);
	for (i = 0; i < OWNED_SLOTS; i++)
		atomic_store(&ring.local[i].owner, me);
	CHECK(ring_claim(&ring, &writer, NOBODY));
	while (!append(&writer, seq, 1))
		seq++;
	CHECK(seq > 100);
	CHECK_EQ(atomic_load(&ring.local[shared].holder), 0);
	CHECK_EQ(drain(&writer, 1), seq - 1);
	CHECK_EQ(append(&writer, seq, 1), 0);
	close_ring();
}

/* Space for the log is not asked for at each event when there was none. */
TEST(a_disk_that_is_full_is_left_alone)
{
	uint32_t refused = 0;
	char path[512];

	open_ring(1 << 16);
	snprintf(path, sizeof(path), "%s/away.ring", test_dir());
	atomic_store(&ring.header->log_head, RING_LOG_STEP);
	CHECK_EQ(rename(ring.path, path), 0); /* there is no growing what cannot be opened */
	CHECK(!ring_log_begin(&ring, RING_LOG_THREAD, 64));
	CHECK_EQ(rename(path, ring.path), 0);
	while (refused < 1 << 20 && !ring_log_begin(&ring, RING_LOG_THREAD, 64))
		refused++;
	CHECK(refused >= 100 && refused < 1 << 20);
	close_ring();
}

static struct hash_set known;

static void *fill_seen(void *context)
{
	uint64_t i, from = (uint64_t)(uintptr_t)context;

	for (i = 0; i < 50000; i++) {
		uint64_t key = hash_finish(hash_mix(hash_start(HASH_CODE), from + i));

		hash_set_add(&known, key);
		CHECK(hash_set_has(&known, key));
	}
	return NULL;
}

TEST(seen_under_many_threads)
{
	pthread_t thread[THREADS];
	uint64_t i, filled = 0;

	CHECK_EQ(hash_set_init(&known), 0);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, fill_seen, (void *)(uintptr_t)(i * 10000)), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < HASH_SET_NEAR + HASH_SET_ENTRIES; i++)
		filled += known.entry[i] != 0;
	CHECK_EQ(filled, 80000); /* an item that several threads added is there once */
	CHECK(!hash_set_has(&known, hash_finish(hash_mix(hash_start(HASH_MODULE), 1))));
	hash_set_release(&known);
}

TEST(a_full_set_forgets_nothing)
{
	uint64_t i, kept = 0;

	CHECK_EQ(hash_set_init(&known), 0);
	for (i = 0; i < 2 * HASH_SET_ENTRIES; i++) {
		uint64_t key = hash_finish(hash_mix(hash_start(HASH_CODE), i));

		uint64_t room = (uint64_t)hash_set_has_room(&known, key);

		hash_set_add(&known, key);
		CHECK_EQ(hash_set_has(&known, key), room);
		kept += room;
		CHECK_EQ(hash_set_is_crowded(&known), kept >= HASH_SET_ENTRIES / 4 * 3);
	}
	CHECK(kept > HASH_SET_ENTRIES * 9 / 10 && kept <= HASH_SET_NEAR + HASH_SET_ENTRIES);
	for (i = 0; i < 1000; i++)
		CHECK(hash_set_has(&known, hash_finish(hash_mix(hash_start(HASH_CODE), i))));
	hash_set_release(&known);
}

/* A look at the clock before and after: the time of an event lies in between, but for `apart` ns. */
static void check_time(struct event_clock *clock, int has_counter, uint64_t apart)
{
	uint64_t before = mt_clock_ns(), last = clock->last, time = event_clock_now(clock, has_counter);

	CHECK(time + apart >= before && time <= mt_clock_ns() + apart);
	CHECK(time >= last);
}

#define APART_NS 20000 /* 1 % of EVENT_CLOCK_TICKS: a rate of a short time may be wrong by less */

TEST(events_have_the_time_of_the_clock)
{
	struct event_clock plain = { 0 }, counted = { 0 };
	uint64_t end = mt_clock_ns() + 20 * 1000 * 1000;
	int has_counter = event_clock_has_counter();

	while (mt_clock_ns() < end) {
		check_time(&plain, 0, 0);
		check_time(&counted, has_counter, APART_NS);
	}
	CHECK_EQ(plain.rate, 0);
	if (has_counter)
		CHECK(counted.rate != 0);
}

/* Waits for longer than EVENT_CLOCK_TICKS: the next event looks at the clock. */
static void wait_for_look(void)
{
	uint64_t end = mt_clock_ns() + 5 * 1000 * 1000;

	while (mt_clock_ns() < end)
		continue;
}

TEST(a_wrong_counter_is_left_at_the_next_look)
{
	struct event_clock clock = { 0 };
	uint64_t time;

	if (!event_clock_has_counter())
		return;
	check_time(&clock, 1, 0);
	wait_for_look();
	check_time(&clock, 1, 0);
	CHECK(clock.rate != 0);
	clock.rate = 1; /* a counter that stands still */
	time = event_clock_now(&clock, 1);
	wait_for_look();
	CHECK(event_clock_now(&clock, 1) > time);
	check_time(&clock, 1, APART_NS);
	clock.ticks += (uint64_t)1 << 50; /* the counter of another processor */
	check_time(&clock, 1, APART_NS);
	wait_for_look();
	check_time(&clock, 1, APART_NS);
	clock.ns -= 1000 * 1000 * 1000; /* the time never goes back, and never comes before the last one */
	time = clock.last;
	CHECK_EQ(event_clock_now(&clock, 1) >= time, 1);
}

TEST_MAIN()
