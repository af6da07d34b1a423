/*
 * test_fold_crash.c - the fold against threads that really run, processes that really die, and rings that were
 * overwritten. The condition: every published event is in the trace once, in order, with its text.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include "fold_kit.h"

#define SLOT_BYTES 4096u /* holds 36 events: wraps and fills all the time */
#define THREADS 4u
#define STACKS 50u
#define EVENTS_MAX (1u << 18)

/* The producers' actions, seen by the test whatever dies. */
struct record {
	_Atomic uint64_t published;
	_Atomic uint32_t done;                /* producers that are through */
	_Atomic uint64_t content[EVENTS_MAX]; /* by number: thread and index, 0: not published */
};

static struct kit kit;
static struct record *record;

static uint64_t content_of(uint32_t thread, uint64_t index)
{
	return (uint64_t)thread << 32 | (index + 1);
}

static void start(uint32_t slots)
{
	kit_init(&kit, slots, SLOT_BYTES);
	record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(record != MAP_FAILED);
}

static void finish(void)
{
	munmap(record, sizeof(*record));
	kit_release(&kit);
}

/* ---- producers ------------------------------------------------------------------------------------------------ */

struct producer {
	pthread_t thread;
	uint32_t number; /* from 1, and its serial in the log */
	uint64_t events;
};

/* Stack hashes: 1000 * thread + 1.. ; the Python frame's line tells thread and stack apart. */
static void define_stack(uint32_t thread, uint32_t stack)
{
	struct ring_python python = { .code = thread * 1000 + stack };
	struct ring_log_stack counts = { .python = 1 };
	char name[32];

	snprintf(name, sizeof(name), "f%u_%u", thread, stack);
	ring_builder_code(&kit.builder, python.code, stack, name, "", "p.py", NULL, 0);
	ring_builder_stack(&kit.builder, thread * 1000 + stack, &counts, &python, NULL);
}

static void produce_one(const struct producer *producer, uint32_t slot, uint64_t index)
{
	struct ring_event event = kit_event(index % 3 ? MT_DRIVER_FREE : MT_MARK);
	uint32_t stack = 1 + (uint32_t)(index % STACKS);
	char name[64] = "";

	event.thread = producer->number;
	event.addr = content_of(producer->number, index);
	event.time = index;
	if (event.kind == MT_MARK)
		snprintf(name, sizeof(name), "%llu %.*s", (unsigned long long)event.addr, (int)(index % 40),
			 "........................................");
	else
		event.stack = producer->number * 1000 + stack;
	if (index < STACKS)
		define_stack(producer->number, stack);
	event.seq = ring_builder_event(&kit.builder, slot, event, name, NULL);
	atomic_store(&record->content[event.seq], event.addr);
	atomic_fetch_add(&record->published, 1);
}

/* Changes its slot now and then, as if it were another thread. */
static void *produce(void *argument)
{
	struct producer *producer = argument;
	uint32_t slot = ring_builder_claim(&kit.builder);
	char name[32];
	uint64_t i;

	snprintf(name, sizeof(name), "producer %u", producer->number);
	ring_builder_thread(&kit.builder, producer->number, 100 + producer->number, name);
	for (i = 0; i < producer->events; i++) {
		if (i % 500 == 499) {
			ring_builder_leave(&kit.builder, slot);
			slot = ring_builder_claim(&kit.builder);
		}
		produce_one(producer, slot, i);
	}
	ring_builder_leave(&kit.builder, slot);
	atomic_fetch_add(&record->done, 1);
	return NULL;
}

static void produce_all(uint64_t events)
{
	struct producer producers[THREADS];
	uint32_t i;

	for (i = 0; i < THREADS; i++) {
		producers[i].number = i + 1;
		producers[i].events = events;
		if (pthread_create(&producers[i].thread, NULL, produce, &producers[i]))
			_exit(1);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(producers[i].thread, NULL);
}

/* A child that does not outlive a test that fails. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static pid_t produce_in_child(uint64_t events)
{
	pid_t pid = fork_child();

	if (!pid) {
		produce_all(events);
		_exit(0);
	}
	return pid;
}

static void kill_child(pid_t pid)
{
	CHECK(!kill(pid, SIGKILL));
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static int child_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == pid;
}

/* ---- what must hold ------------------------------------------------------------------------------------------- */

/* `torn`: who died while it wrote a definition hides those that others wrote behind it (RING_LOG_BLOCKED). */
static void check_event(const struct mt_event *event, uint64_t content, int torn)
{
	const struct mt_defs *defs = mt_reader_defs(kit.reader);
	uint32_t thread = (uint32_t)(content >> 32), index = (uint32_t)content - 1;
	const struct mt_node *node = mt_defs_node(defs, (uint32_t)event->stack);
	const struct mt_thread *builder = mt_defs_thread(defs, (uint32_t)event->thread);
	char name[64];

	CHECK_EQ(event->time, index);
	CHECK(torn || builder);
	CHECK(!builder || builder->tid == 100 + thread);
	if (event->kind == MT_MARK) {
		snprintf(name, sizeof(name), "%llu %.*s", (unsigned long long)content, (int)(index % 40),
			 "........................................");
		CHECK_STR(kit_string(&kit, event->name), name);
		return;
	}
	CHECK_EQ(event->kind, MT_DRIVER_FREE);
	CHECK_EQ(event->addr, content);
	CHECK(torn || node);
	if (!node)
		return;
	snprintf(name, sizeof(name), "f%u_%u", thread, 1 + index % STACKS);
	CHECK_STR(kit_string(&kit, mt_defs_frame(defs, node->frame)->function), name);
}

/* Everything published is there, once, and whole; `torn`: numbers may be missing that were not published. */
static void check_trace(const char *path, int torn)
{
	uint64_t number, seen = 0, last = atomic_load(&kit.builder.header->next_seq) - 1;
	size_t i = 0;

	kit_read(&kit, path);
	for (number = 1; number <= last; number++) {
		uint64_t content = atomic_load(&record->content[number]);

		while (i < kit.count && kit.events[i].seq < number << KIT_SHIFT)
			i++;
		if (i < kit.count && kit.events[i].seq == number << KIT_SHIFT) {
			/* A producer may die between publishing and saying so here. */
			CHECK(content || torn);
			if (content)
				check_event(&kit.events[i], content, torn);
			seen++;
		} else {
			CHECK(torn && !content);
		}
	}
	CHECK_EQ(seen + kit_lost(&kit, MT_LOSS_TORN), last);
	CHECK_EQ(kit.summary.lost, kit_lost(&kit, MT_LOSS_TORN));
	CHECK(torn || !kit.summary.lost);
}

/* Patience that no busy machine exhausts. */
static const struct mt_fold_options patient = { .patience_ms = 3600 * 1000 };

/* Folds until `published` events are out or the child has ended. Returns 1 when it has. */
static int fold_until(uint64_t published, pid_t child)
{
	uint64_t folded;

	while (atomic_load(&record->published) < published) {
		int ended = child_ended(child);

		CHECK_EQ(mt_fold_run(kit.fold, 0, &folded), 0);
		/* Nothing new: write what there is, as the collector does, or new threads wait for slots that old ones left. */
		if (!folded)
			CHECK_EQ(mt_fold_flush(kit.fold), 0);
		if (ended)
			return 1;
	}
	return 0;
}

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

TEST(every_event_of_running_threads_arrives_once)
{
	const uint64_t events = 20000;
	pid_t child;

	start(THREADS + 1);
	kit_open(&kit, &patient);
	child = produce_in_child(events);
	CHECK_EQ(fold_until(UINT64_MAX, child), 1);
	CHECK_EQ(atomic_load(&record->done), THREADS);
	CHECK_EQ(kit_run_final(&kit), 0);
	kit_close(&kit, MT_END_EXIT);
	CHECK_EQ(kit.summary.events, THREADS * events + 1);
	check_trace(kit.trace, 0);
	finish();
}

TEST(a_killed_target_loses_nothing_published)
{
	uint32_t random = 7, round;

	for (round = 0; round < 12; round++) {
		pid_t child;

		start(THREADS);
		kit_open(&kit, &patient);
		child = produce_in_child(1u << 14);
		if (!fold_until(next_random(&random) % 6000, child))
			kill_child(child);
		CHECK_EQ(kit_run_final(&kit), 0);
		kit_close(&kit, MT_END_EXIT);
		check_trace(kit.trace, 1);
		finish();
	}
}

/* Folds in a child until `count` events are published, then is killed in the middle of it. */
static void collect_and_die(uint64_t published)
{
	pid_t pid = fork_child();
	uint64_t folded;
	int err;

	if (!pid) {
		err = mt_fold_open(&kit.fold, kit.ring, kit.rules, &patient);
		/* The one before may have died before it made the file. */
		if (!err && mt_fold_resume(kit.fold, kit.trace))
			err = mt_fold_create(kit.fold, kit.trace);
		while (err >= 0) {
			err = mt_fold_run(kit.fold, 0, &folded);
			if (!err && folded % 7 == 0)
				err = mt_fold_flush(kit.fold);
		}
		printf("# collector: %s\n", mt_strerror(err));
		fflush(stdout);
		_exit(1);
	}
	while (atomic_load(&record->published) < published) {
		CHECK(!child_ended(pid));
		sched_yield();
	}
	kill_child(pid);
}

TEST(killed_collectors_lose_nothing)
{
	const uint64_t events = 2500;
	uint32_t random = 11, round, life;

	for (round = 0; round < 5; round++) {
		uint64_t published = 0, all = THREADS * events;
		pid_t producers;

		start(THREADS);
		producers = produce_in_child(events);
		for (life = 0; life < 4; life++) {
			published += next_random(&random) % (all / 4) + 1;
			collect_and_die(published);
		}
		collect_and_die(all);
		CHECK(waitpid(producers, NULL, 0) == producers);
		CHECK_EQ(mt_fold_recover(kit.trace, kit.ring, kit.rules, kit.recovered, &kit.summary), 0);
		CHECK_EQ(kit.summary.events, all + 1);
		check_trace(kit.recovered, 0);
		finish();
	}
}

/* ---- rings that were overwritten ------------------------------------------------------------------------------ */

static void copy_ring(const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, kit.builder.header, kit.builder.bytes), kit.builder.bytes);
	close(fd);
}

/* Somewhere in one of: the fixed header, the cursors, the records, the log. */
static off_t random_place(uint32_t *random)
{
	const struct ring_header *header = kit.builder.header;
	size_t cursors = offsetof(struct ring_header, next_seq);
	size_t log_used = (size_t)atomic_load(&header->log_head);

	switch (next_random(random) % 8) {
	case 0:
		return next_random(random) % 64;
	case 1:
		return (off_t)(cursors + next_random(random) % 4096);
	case 2:
	case 3:
		return (off_t)(header->log_offset + next_random(random) % log_used);
	default:
		return (off_t)(header->header_bytes + next_random(random) % (header->slots * header->slot_bytes));
	}
}

static void overwrite(const char *path, uint32_t *random)
{
	int fd = open(path, O_RDWR), count = 1 + (int)(next_random(random) % 8);

	CHECK(fd >= 0);
	while (count--) {
		uint64_t value = (uint64_t)next_random(random) << 40 ^ next_random(random);
		off_t place = random_place(random);
		ssize_t size = next_random(random) % 2 ? 1 : 8;

		CHECK_EQ(pwrite(fd, &value, (size_t)size, place), size);
	}
	if (next_random(random) % 50 == 0)
		CHECK(!ftruncate(fd, next_random(random) % (off_t)kit.builder.bytes));
	close(fd);
}

/* Events that are there came from the ring: number and content belong together, unless the record was hit. */
static uint64_t count_good(void)
{
	uint64_t good = 0, number;
	size_t i;

	for (i = 0; i < kit.count; i++) {
		number = kit.events[i].seq >> KIT_SHIFT;
		if (number < EVENTS_MAX && kit.events[i].kind == MT_DRIVER_FREE &&
		    kit.events[i].addr == atomic_load(&record->content[number]))
			good++;
	}
	return good;
}

TEST(damaged_rings_give_good_events_or_an_error)
{
	const uint64_t events = 30;
	uint32_t random = 13, round, folded = 0, refused = 0;
	uint64_t good = 0;
	char ring[600];

	start(THREADS);
	produce_all(events);
	snprintf(ring, sizeof(ring), "%s.damaged", kit.ring);
	for (round = 0; round < 400; round++) {
		int err;

		copy_ring(ring);
		overwrite(ring, &random);
		err = mt_fold_open(&kit.fold, ring, kit.rules, NULL);
		CHECK(!err == !!kit.fold);
		if (err) {
			CHECK(err < 0);
			refused++;
			continue;
		}
		CHECK_EQ(mt_fold_create(kit.fold, kit.trace), 0);
		CHECK_EQ(kit_run_final(&kit), 0);
		kit_close(&kit, MT_END_EXIT);
		kit_read(&kit, kit.trace);
		good += count_good();
		folded++;
	}
	printf("# %u folded, %u refused\n", folded, refused);
	CHECK(folded > 200 && refused > 10);
	/* 80 of 120 events are such; few of them may be hit or lie in a slot whose cursors were. */
	CHECK(good > folded * 80ull * 3 / 4);
	finish();
}

TEST_MAIN()
