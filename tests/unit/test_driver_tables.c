/* test_driver_tables.c - what the agent learns by watching the driver: contexts, pools, graphs, sizes of arrays. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include "agent/cuda/arrays.c"
#include "agent/cuda/contexts.c"
#include "agent/cuda/graphs.c"
#include "agent/cuda/pools.c"
#include "agent/ring/guest_map.c"
#include "shared/textbuf.c"
#include "test.h"

#define MIB (1ull << 20)
#define CONTEXT(n) ((const void *)(uintptr_t)(0x1000 + (n)))
#define POOL(n) ((const struct cuda_pool *)(uintptr_t)(0x2000 + (n)))
#define GRAPH(n) ((const struct cuda_graph *)(uintptr_t)(0x3000 + (n)))
#define EXEC(n) ((const struct cuda_exec *)(uintptr_t)(0x4000 + (n)))
#define STREAM(n) ((const struct cuda_stream *)(uintptr_t)(0x5000 + (n)))

/* ---- Contexts ---- */

TEST(a_context_is_where_it_was_made)
{
	CHECK(contexts_add(CONTEXT(1), 1, CONTEXT_OWN));
	CHECK(contexts_add(CONTEXT(2), 3, CONTEXT_OWN));
	CHECK_EQ(contexts_device(CONTEXT(1)), 1);
	CHECK_EQ(contexts_device(CONTEXT(2)), 3);
	CHECK_EQ(contexts_owner(CONTEXT(2)), (uint64_t)(uintptr_t)CONTEXT(2));
	CHECK_EQ(contexts_device(CONTEXT(3)), -1);
	contexts_remove(CONTEXT(1));
	CHECK(contexts_add(CONTEXT(1), 0, CONTEXT_OWN)); /* the address again */
	CHECK_EQ(contexts_device(CONTEXT(1)), 0);
}

static int asked;

/* CUPTI, which knows the contexts up to the fifth. */
static int answer(const void *context)
{
	asked++;
	if (!context)
		return 6;
	return context <= CONTEXT(5) ? (int)((uintptr_t)context - 0x1000) : -1;
}

TEST(an_unknown_context_is_asked_for_once)
{
	contexts_start(answer);
	CHECK_EQ(contexts_device(CONTEXT(3)), 3);
	CHECK_EQ(contexts_device(CONTEXT(3)), 3);
	CHECK_EQ(asked, 1);
	CHECK_EQ(contexts_device(CONTEXT(9)), -1);
	CHECK_EQ(contexts_device(CONTEXT(9)), -1);
	CHECK_EQ(asked, 2);
	CHECK_EQ(contexts_device(NULL), 6);
	contexts_devices(1); /* then there is nothing to ask */
	CHECK_EQ(contexts_device(CONTEXT(9)), 0);
	CHECK_EQ(asked, 3);
}

TEST(what_is_not_known_is_not_taken_from_others)
{
	CHECK_EQ(contexts_device(NULL), -1);
	contexts_add(CONTEXT(1), 2, CONTEXT_OWN);
	CHECK_EQ(contexts_device(NULL), -1);
	CHECK_EQ(contexts_device(CONTEXT(9)), -1);
	CHECK_EQ(contexts_known_device(CONTEXT(1)), 2);
	contexts_start(answer);
	CHECK_EQ(contexts_known_device(CONTEXT(3)), -1);
	CHECK_EQ(asked, 0);
}

TEST(cupti_tells_of_contexts_that_are_made_and_end)
{
	contexts_start(answer);
	CHECK(contexts_made(CONTEXT(2)));
	CHECK_EQ(contexts_known_device(CONTEXT(2)), 2);
	CHECK(contexts_ended(CONTEXT(2)));
	CHECK(!contexts_ended(CONTEXT(2))); /* its end has been told */
	CHECK(contexts_made(CONTEXT(9)));
	CHECK_EQ(contexts_known_device(CONTEXT(9)), -1);
	CHECK(contexts_made(CONTEXT(3)));
	contexts_add(CONTEXT(3), 2, CONTEXT_GREEN);
	CHECK(!contexts_ended(CONTEXT(3))); /* its memory is the primary one's */
}

TEST(the_end_of_a_primary_context_is_told_once)
{
	contexts_start(answer);
	contexts_made(CONTEXT(4));
	CHECK(contexts_retain(4, CONTEXT(4)));
	CHECK(contexts_ended(CONTEXT(4)));
	CHECK_EQ(contexts_release(4), 0);
	contexts_made(CONTEXT(4)); /* the address again */
	CHECK(contexts_retain(4, CONTEXT(4)));
	CHECK_EQ(contexts_release(4), 0); /* whoever else holds it: CUPTI will tell */
	CHECK(contexts_ended(CONTEXT(4)));
}

/* An address of another context may lie on another device by now. */
TEST(what_was_known_before_calls_were_missed_is_asked_again)
{
	contexts_start(answer);
	contexts_add(CONTEXT(2), 5, CONTEXT_OWN);
	CHECK_EQ(contexts_device(CONTEXT(2)), 5);
	contexts_missed();
	CHECK_EQ(contexts_known_device(CONTEXT(2)), -1);
	CHECK_EQ(contexts_device(CONTEXT(2)), 2);
}

TEST(one_visible_device_is_the_one)
{
	setenv("CUDA_VISIBLE_DEVICES", "2,3", 1);
	contexts_start(NULL);
	CHECK_EQ(contexts_device(NULL), -1);
	setenv("CUDA_VISIBLE_DEVICES", "GPU-0123", 1);
	contexts_start(NULL);
	CHECK_EQ(contexts_device(CONTEXT(1)), 0);
}

TEST(one_counted_device_is_the_one)
{
	contexts_devices(0);
	CHECK_EQ(contexts_device(NULL), -1);
	contexts_devices(1);
	CHECK_EQ(contexts_device(NULL), 0);
}

TEST(a_primary_context_goes_with_its_last_reference)
{
	CHECK_EQ(contexts_release(0), 0);
	CHECK(contexts_retain(0, CONTEXT(1)));
	CHECK(!contexts_retain(0, CONTEXT(1)));
	CHECK_EQ(contexts_release(0), 0);
	CHECK_EQ(contexts_release(0), (uint64_t)(uintptr_t)CONTEXT(1));
	CHECK_EQ(contexts_release(0), 0);
	CHECK(contexts_retain(0, CONTEXT(2)));
	CHECK_EQ(contexts_reset(0), (uint64_t)(uintptr_t)CONTEXT(2));
	CHECK_EQ(contexts_release(0), 0); /* the reference outlived the reset */
	CHECK_EQ(contexts_reset(7), 0);
}

/* Somebody else has retained it in a way that we do not see: our count says nothing. */
TEST(a_context_that_was_there_before_is_not_thought_gone)
{
	contexts_use(CONTEXT(1));
	CHECK_EQ(contexts_device(CONTEXT(1)), -1);
	contexts_retain(4, CONTEXT(1));
	CHECK_EQ(contexts_device(CONTEXT(1)), 4);
	CHECK_EQ(contexts_release(4), 0);
	CHECK_EQ(contexts_device(CONTEXT(1)), 4);
	CHECK_EQ(contexts_reset(4), (uint64_t)(uintptr_t)CONTEXT(1));
}

TEST(what_was_missed_is_not_counted_on)
{
	contexts_retain(0, CONTEXT(1));
	contexts_missed();
	CHECK_EQ(contexts_release(0), 0);
	CHECK_EQ(contexts_reset(0), (uint64_t)(uintptr_t)CONTEXT(1));
	contexts_retain(0, CONTEXT(2)); /* a new one, seen from its beginning */
	contexts_retain(0, CONTEXT(2));
	CHECK_EQ(contexts_release(0), 0);
	CHECK_EQ(contexts_release(0), (uint64_t)(uintptr_t)CONTEXT(2));
}

TEST(memory_of_a_green_context_is_the_primary_ones)
{
	contexts_retain(1, CONTEXT(1));
	contexts_add(CONTEXT(2), 1, CONTEXT_GREEN);
	contexts_retain(1, NULL);
	CHECK_EQ(contexts_owner(CONTEXT(2)), (uint64_t)(uintptr_t)CONTEXT(1));
	CHECK_EQ(contexts_release(1), 0);
	CHECK_EQ(contexts_release(1), (uint64_t)(uintptr_t)CONTEXT(1));
	CHECK_EQ(contexts_owner(CONTEXT(2)), 0);
}

TEST(tables_that_are_full_say_so)
{
	struct pool_place place = { MT_SPACE_ASYNC, 0 };
	uint32_t i;

	for (i = 0; i < CONTEXTS_MAX; i++)
		CHECK(contexts_add(CONTEXT(i), 0, CONTEXT_OWN));
	CHECK(!contexts_add(CONTEXT(i), 0, CONTEXT_OWN));
	for (i = 0; i < POOLS_MAX; i++)
		CHECK(pools_add(POOL(i), place));
	CHECK(!pools_add(POOL(i), place));
	pools_remove(POOL(7));
	CHECK(pools_add(POOL(i), place));
}

/* ---- Pools ---- */

static struct pool_place place_of(int location_type, int id, int type)
{
	struct cuda_location location = { location_type, id };

	return pools_place(&location, type);
}

TEST(a_pool_is_where_it_was_made)
{
	struct pool_place place = { MT_SPACE_DEVICE, 9 };

	CHECK(!pools_find(POOL(1), &place));
	CHECK_EQ(place.device, 9);
	pools_add(POOL(1), place_of(CUDA_LOCATION_DEVICE, 3, CUDA_MEMORY_PINNED));
	pools_add(POOL(2), place_of(CUDA_LOCATION_NUMA, 1, CUDA_MEMORY_PINNED));
	pools_add(POOL(3), place_of(CUDA_LOCATION_DEVICE, 2, CUDA_MEMORY_MANAGED));
	pools_add(POOL(4), place_of(CUDA_LOCATION_LOCALITY, 5 | 1 << 8, CUDA_MEMORY_PINNED));
	CHECK(pools_find(POOL(1), &place) && place.space == MT_SPACE_ASYNC && place.device == 3);
	CHECK(pools_find(POOL(2), &place) && place.space == MT_SPACE_PINNED && place.device == -1);
	CHECK(pools_find(POOL(3), &place) && place.space == MT_SPACE_MANAGED && place.device == 2);
	CHECK(pools_find(POOL(4), &place) && place.space == MT_SPACE_ASYNC && place.device == 5);
	pools_remove(POOL(1));
	CHECK(!pools_find(POOL(1), &place));
}

/* ---- Graphs ---- */

TEST(a_graph_takes_the_most_that_is_alive_at_once)
{
	struct graph_memory memory;

	graphs_alloc(GRAPH(1), 0x100, 10, 2);
	graphs_alloc(GRAPH(1), 0x200, 6, 2);
	graphs_free(GRAPH(1), 0x100);
	graphs_alloc(GRAPH(1), 0x300, 8, 2);
	graphs_instantiate(EXEC(1), GRAPH(1));
	CHECK(!graphs_holds(EXEC(1), &memory));
	CHECK(graphs_wants(EXEC(1), &memory));
	CHECK_EQ(memory.addr, 0x100);
	CHECK_EQ(memory.size, 16);
	CHECK_EQ(memory.device, 2);
	graphs_taken(EXEC(1));
	CHECK(!graphs_wants(EXEC(1), &memory));
	CHECK(graphs_holds(EXEC(1), &memory));
	graphs_exec_destroy(EXEC(1));
	CHECK(!graphs_holds(EXEC(1), &memory));
	graphs_instantiate(EXEC(1), GRAPH(1)); /* again, and again not run yet */
	CHECK(graphs_wants(EXEC(1), &memory));
	CHECK(!graphs_wants(EXEC(2), &memory));
}

TEST(addresses_are_a_graphs_as_long_as_it_or_its_exec_lives)
{
	graphs_alloc(GRAPH(1), 0x100, 10, 0);
	CHECK(graphs_own(0x100) && !graphs_own(0x101) && !graphs_own(0));
	graphs_instantiate(EXEC(1), GRAPH(1));
	graphs_destroy(GRAPH(1));
	CHECK(graphs_own(0x100));
	graphs_exec_destroy(EXEC(1));
	CHECK(!graphs_own(0x100));
	graphs_alloc(GRAPH(2), 0x100, 10, 0);
	graphs_destroy(GRAPH(2));
	CHECK(!graphs_own(0x100));
}

TEST(a_child_brings_its_memory_along)
{
	struct graph_memory memory;

	graphs_alloc(GRAPH(1), 0x100, 10, 0);
	graphs_alloc(GRAPH(2), 0x200, 7, 0);
	graphs_free(GRAPH(2), 0x200);
	graphs_move(GRAPH(1), GRAPH(2));
	graphs_instantiate(EXEC(1), GRAPH(1));
	CHECK(graphs_wants(EXEC(1), &memory));
	CHECK_EQ(memory.size, 17);
	graphs_exec_destroy(EXEC(1));
	graphs_destroy(GRAPH(1));
	CHECK(!graphs_own(0x200));
}

static void *on_another_thread(void *argument)
{
	*(int *)argument = graphs_capture(STREAM(9), 0x900, 1, 0) + 2 * graphs_capture(STREAM(1), 0x300, 30, 0);
	return NULL;
}

TEST(what_a_stream_records_belongs_to_the_graph)
{
	struct graph_memory memory;
	pthread_t thread;
	int caught;

	CHECK(!graphs_capture(STREAM(1), 0x100, 10, 0));
	graphs_capture_begin(STREAM(1), 0);
	CHECK(graphs_capture(STREAM(1), 0x100, 10, 0));
	CHECK(graphs_capture(STREAM(2), 0x200, 20, 0)); /* it may have joined */
	CHECK(!pthread_create(&thread, NULL, on_another_thread, &caught) && !pthread_join(thread, NULL));
	CHECK_EQ(caught, 2); /* the recording stream by any thread, others not */
	CHECK(graphs_is_capturing(STREAM(1)));
	CHECK(graphs_capture(STREAM(1), 0x100, 0, 0));
	graphs_capture_end(STREAM(1), GRAPH(1));
	CHECK(!graphs_is_capturing(STREAM(1)) && !graphs_is_capturing(STREAM(2)));
	graphs_capture_begin(STREAM(1), 1); /* the same nodes */
	CHECK(graphs_capture(STREAM(1), 0x100, 10, 0));
	graphs_capture_end(STREAM(1), GRAPH(1));
	graphs_instantiate(EXEC(1), GRAPH(1));
	CHECK(graphs_wants(EXEC(1), &memory));
	CHECK_EQ(memory.addr, 0x100);
	CHECK_EQ(memory.size, 60);
}

TEST(a_recording_that_came_to_nothing_leaves_nothing)
{
	graphs_capture_begin(NULL, 0); /* the thread's own stream, by either name */
	CHECK(graphs_capture(CUDA_STREAM_PER_THREAD, 0x100, 10, 0));
	graphs_capture_end(NULL, NULL);
	CHECK(!graphs_own(0x100));
	CHECK(!graphs_is_capturing(NULL));
	CHECK(!graphs_are_incomplete());
}

TEST(what_has_no_room_is_told_and_not_guessed)
{
	struct graph_memory memory;
	uint64_t i;

	for (i = 1; i <= GRAPHS_NODES_MAX; i++)
		graphs_alloc(GRAPH(1), i << 12, 1, 0);
	CHECK(!graphs_are_incomplete());
	graphs_alloc(GRAPH(2), i << 12, 1, 0);
	CHECK(graphs_are_incomplete());
	CHECK(!graphs_are_incomplete()); /* once is enough */
	graphs_instantiate(EXEC(2), GRAPH(2));
	CHECK(!graphs_wants(EXEC(2), &memory));
	graphs_instantiate(EXEC(1), GRAPH(1));
	CHECK(graphs_wants(EXEC(1), &memory));
	CHECK_EQ(memory.size, GRAPHS_NODES_MAX);
	graphs_exec_destroy(EXEC(1));
	graphs_destroy(GRAPH(1));
	graphs_alloc(GRAPH(3), 0x1000, 5, 0); /* there is room again */
	graphs_instantiate(EXEC(3), GRAPH(3));
	CHECK(graphs_wants(EXEC(3), &memory));
}

/* ---- Arrays ---- */

static uint64_t bytes_of(size_t width, size_t height, size_t depth, int format, unsigned int channels,
			 unsigned int flags, unsigned int levels)
{
	struct cuda_array3d_desc desc = { width, height, depth, format, channels, flags };

	return arrays_bytes(&desc, levels);
}

TEST(an_array_takes_what_its_elements_take)
{
	CHECK_EQ(bytes_of(1024, 0, 0, 0x20, 4, 0, 1), 16384); /* one row of float4 */
	CHECK_EQ(bytes_of(640, 480, 0, 0x01, 4, 0, 1), 640 * 480 * 4);
	CHECK_EQ(bytes_of(64, 64, 6, 0x10, 2, CUDA_ARRAY_CUBEMAP, 1), 64 * 64 * 6 * 4);
	CHECK_EQ(bytes_of(8, 8, 8, 0x03, 1, 0, 2), (512 + 64) * 4);                  /* levels halve every side */
	CHECK_EQ(bytes_of(8, 8, 3, 0x03, 1, CUDA_ARRAY_LAYERED, 2), (192 + 48) * 4); /* but the layers */
	CHECK_EQ(bytes_of(4, 1, 1, 0x08, 1, 0, 100), 4 + 2 + 1);               /* no more levels than there can be */
	CHECK_EQ(bytes_of(10, 10, 0, 0x91, 4, 0, 1), 3 * 3 * 8);               /* blocks, begun ones too */
	CHECK_EQ(bytes_of(1920, 1080, 0, 0xb0, 3, 0, 1), 1920 * 1080 * 3 / 2); /* all planes of NV12 */
	CHECK_EQ(bytes_of(16, 16, 0, 0xc5, 4, 0, 1), 16 * 16 * 8);
}

TEST(arrays_that_take_nothing)
{
	CHECK_EQ(bytes_of(4096, 4096, 0, 0x01, 1, CUDA_ARRAY_SPARSE, 1), 0);
	CHECK_EQ(bytes_of(4096, 4096, 0, 0x01, 1, CUDA_ARRAY_DEFERRED, 1), 0);
	CHECK_EQ(bytes_of(4096, 4096, 0, 0x7777, 1, 0, 1), 0);
}

/* ---- Handlers ---- */

static sigjmp_buf jump;

int agent_is_sealed(void)
{
	return 0;
}

static void leave(int number)
{
	(void)number;
	siglongjmp(jump, 1);
}

/* A lock that is never given back makes the next call spin: SIGALRM ends the test then. */
TEST(a_handler_that_jumps_out_leaves_no_lock_behind)
{
	const struct cuda_graph *graph = (const void *)64;
	struct sigaction action = { .sa_handler = leave };
	volatile int jumped = 0;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	if (sigsetjmp(jump, 1)) {
		jumped = 1;
	} else {
		lock();
		raise(SIGUSR1);
		unlock();
	}
	CHECK_EQ(jumped, 1);
	alarm(10);
	graphs_alloc(graph, 4096, 64, 0);
	CHECK_EQ(graphs_own(4096), 1);
	CHECK_EQ(graphs_own(8192), 0);
	alarm(0);
}

TEST_MAIN()
