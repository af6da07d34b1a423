/*
 * The tables of CUDA graphs on their own. The agent's files are compiled into the test; its library has no symbols to
 * link with.
 */
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include "agent/cuda/graphs.c"
#include "agent/ring/guest_map.c"
#include "shared/textbuf.c"
#include "test.h"

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
