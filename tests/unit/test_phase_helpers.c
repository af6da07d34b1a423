/* test_phase_helpers.c - the tracker: threads that work for the thread that woke them, and those that do not. */
#include "memtrace/phase.h"
#include "stack_builder.h"

#define LIB "/v/torch/"
#define MAIN "main /home/me/train.py\n"
#define FORWARD MAIN "_call_impl " LIB "nn/modules/module.py\nforward /home/me/net.py\n"
#define BACKWARD MAIN "backward " LIB "_tensor.py\nbackward " LIB "autograd/__init__.py\n"
#define OPTIMIZER MAIN "wrapper " LIB "optim/optimizer.py\nstep " LIB "optim/adamw.py\n"

static struct mt_rules *rules;
static struct mt_defs *defs;
static struct mt_tracker *tracker;
static uint32_t main_thread, autograd_thread, other_thread;
static struct mt_label label; /* the newest event has it */
static uint64_t seq;

static void setup(void)
{
	char message[512] = "";

	CHECK_EQ(mt_rules_new(&rules, message, sizeof(message)), 0);
	defs = mt_defs_new();
	tracker = mt_tracker_new(rules, defs);
	CHECK(defs && tracker);
	main_thread = make_thread(defs, 10, "python", MT_THREAD_MAIN);
	autograd_thread = make_thread(defs, 11, "pt_autograd_0", 0);
	other_thread = make_thread(defs, 12, "worker", 0);
}

static void teardown(void)
{
	mt_tracker_free(tracker);
	mt_defs_free(defs);
	mt_rules_free(rules);
}

static void send(struct mt_event event)
{
	event.seq = ++seq;
	mt_tracker_event(tracker, &event, 1, &label);
}

static void alloc(uint32_t thread, const char *stack)
{
	send((struct mt_event){
		.kind = MT_TENSOR_ALLOC, .thread = thread, .addr = 1, .size = 1, .stack = make_stack(defs, stack) });
}

static void event(uint32_t kind)
{
	send((struct mt_event){ .kind = kind, .thread = main_thread });
}

#define CHECK_PHASE(thread, stack, want)                     \
	do {                                                 \
		alloc(thread, stack);                        \
		CHECK_STR(mt_phase_name(label.phase), want); \
	} while (0)

#define LIBC "!/lib/x86_64-linux-gnu/libc.so.6\n"
#define CXX LIBC "!/lib/x86_64-linux-gnu/libstdc++.so.6\n"
#define TORCH "!/v/torch/lib/libtorch_cpu.so\n"
#define WORK TORCH "!/v/torch/lib/libc10.so\n"

/* Stacks of helpers, outermost first. */
static const char *const helpers[] = {
	LIBC "!/v/torch/lib/libgomp-98b21ff3.so.1\n" WORK,
	LIBC "!/usr/lib/libgomp.so.1\n" WORK,
	LIBC "!/opt/conda/lib/libiomp5.so\n" WORK,
	LIBC "!/usr/lib/llvm-16/lib/libomp.so.5\n" WORK,
	"!/lib/libpthread-2.31.so\n!/usr/lib/libgomp.so.1\n" WORK,
	CXX "!/v/torch/lib/libc10.so\n" WORK, /* c10::ThreadPool */
};

/* Stacks of threads that nobody wakes for a forward, though some of them call OpenMP. */
static const char *const others[] = {
	CXX TORCH WORK,                                             /* gloo's loop, a watchdog */
	CXX TORCH "!/v/torch/lib/libgomp-98b21ff3.so.1\n" WORK,     /* one of them calls OpenMP */
	LIBC "!/v/nvidia/nccl/lib/libnccl.so.2\n",                  /* NCCL's proxy */
	LIBC "!/usr/lib/x86_64-linux-gnu/libcuda.so.1\n",           /* the driver's own */
	"!/opt/engine/libengine.so\n!/usr/lib/libgomp.so.1\n" WORK, /* an engine's worker that calls OpenMP */
};

static uint32_t native_thread(void)
{
	static uint32_t tid = 100;

	return make_thread(defs, ++tid, "python", 0);
}

TEST(helpers_have_the_phase_of_the_thread_that_woke_them)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(helpers); i++) {
		uint32_t helper;

		setup();
		helper = native_thread();
		CHECK_PHASE(helper, helpers[i], "init"); /* nothing has run yet */
		CHECK_PHASE(main_thread, FORWARD, "forward");
		CHECK_PHASE(helper, helpers[i], "forward");
		CHECK_EQ(label.category, MT_CATEGORY_ACTIVATIONS);
		event(MT_BACKWARD_BEGIN);
		CHECK_PHASE(helper, helpers[i], "backward"); /* before the first event of the backward's thread */
		CHECK_PHASE(main_thread, BACKWARD, "backward");
		CHECK_PHASE(helper, helpers[i], "backward");
		CHECK_EQ(label.part, MT_PART_BACKWARD);
		CHECK_PHASE(main_thread, BACKWARD "forward /home/me/net.py\n", "backward");
		CHECK_PHASE(helper, helpers[i], "backward");
		CHECK_EQ(label.part, MT_PART_RECOMPUTE);
		event(MT_BACKWARD_END);
		CHECK_PHASE(main_thread, OPTIMIZER, "optimizer");
		CHECK_PHASE(helper, helpers[i], "optimizer");
		CHECK_PHASE(main_thread, MAIN, "other");
		CHECK_PHASE(helper, helpers[i], "other");
		CHECK_EQ(label.step, 2);
		teardown();
	}
}

/* On a GPU the backward runs on autograd's own thread, and the other one waits. */
TEST(helpers_of_a_backward_on_another_thread)
{
	uint32_t helper;

	setup();
	helper = native_thread();
	CHECK_PHASE(main_thread, FORWARD, "forward");
	event(MT_BACKWARD_BEGIN);
	CHECK_PHASE(autograd_thread, CXX TORCH, "backward");
	CHECK_PHASE(helper, helpers[0], "backward");
	event(MT_BACKWARD_END);
	CHECK_PHASE(main_thread, MAIN, "other");
	CHECK_PHASE(helper, helpers[0], "other");
	teardown();
}

TEST(threads_that_nobody_woke_for_a_forward_keep_their_phase)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(others); i++) {
		uint32_t other;

		setup();
		other = native_thread();
		CHECK_PHASE(main_thread, FORWARD, "forward");
		CHECK_PHASE(other, others[i], "other");
		event(MT_BACKWARD_BEGIN);
		CHECK_PHASE(main_thread, BACKWARD, "backward");
		CHECK_PHASE(other, others[i], "other");
		teardown();
	}
}

/* Data loader and pinning are threads of Python; what they do makes no work for helpers, and takes none away. */
TEST(python_threads_of_their_own_keep_their_phase)
{
	static const char loader[] = "_bootstrap /usr/lib/python3.11/threading.py\n_pin_memory_loop " LIB
				     "utils/data/_utils/pin_memory.py\n";
	uint32_t helper;

	setup();
	helper = native_thread();
	CHECK_PHASE(main_thread, FORWARD, "forward");
	CHECK_PHASE(other_thread, loader, "other");
	CHECK_PHASE(helper, helpers[0], "forward");
	CHECK_PHASE(other_thread, loader, "other");
	teardown();
}

/* A stack that lacks its outermost frames tells nothing new; a thread with the same number may be another one. */
TEST(a_helper_is_known_by_its_whole_stacks)
{
	uint32_t helper;

	setup();
	helper = native_thread();
	CHECK_PHASE(main_thread, FORWARD, "forward");
	CHECK_PHASE(helper, "~\n" WORK, "other");
	CHECK_PHASE(helper, helpers[0], "forward");
	CHECK_PHASE(helper, "~\n" WORK, "forward");
	CHECK_PHASE(helper, MAIN, "other");
	CHECK_PHASE(helper, "~\n" WORK, "other");
	teardown();
}

TEST_MAIN()
