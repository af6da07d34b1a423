/* test_phase.c - the tracker: marks, threads, what is inherited, and where steps end. */
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "stack_builder.h"

#define LIB "/v/torch/"
#define MAIN "main /home/me/train.py\n"
#define FORWARD MAIN "_call_impl " LIB "nn/modules/module.py\nforward /home/me/net.py\n"
#define BACKWARD MAIN "backward " LIB "_tensor.py\nbackward " LIB "autograd/__init__.py\n"
#define OPTIMIZER MAIN "wrapper " LIB "optim/optimizer.py\nstep " LIB "optim/adamw.py\n"
#define CLIP MAIN "clip_grad_norm_ " LIB "nn/utils/clip_grad.py\n"

static struct mt_rules *rules;
static struct mt_defs *defs;
static struct mt_tracker *tracker;
static uint32_t main_thread, autograd_thread, other_thread;
static int follow = 1;
static struct mt_label label; /* label of the newest event */
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
	mt_tracker_event(tracker, &event, follow, &label);
}

/* An allocation; "" is no stack. */
static void alloc(uint32_t thread, const char *stack)
{
	send((struct mt_event){ .kind = MT_TENSOR_ALLOC,
				.thread = thread,
				.addr = 1,
				.size = 1,
				.stack = *stack ? make_stack(defs, stack) : 0 });
}

static void mark(uint32_t kind, uint32_t thread, const char *name)
{
	send((struct mt_event){ .kind = kind, .thread = thread, .name = name ? make_string(defs, name) : 0 });
}

static void push(const char *name)
{
	mark(MT_RANGE_PUSH, main_thread, name);
}

static void pop(void)
{
	mark(MT_RANGE_POP, main_thread, NULL);
}

static void event(uint32_t kind)
{
	mark(kind, main_thread, NULL);
}

#define CHECK_PHASE(thread, stack, want)                     \
	do {                                                 \
		alloc(thread, stack);                        \
		CHECK_STR(mt_phase_name(label.phase), want); \
	} while (0)

TEST(init_before_anything_else_then_other)
{
	setup();
	CHECK_PHASE(main_thread, MAIN, "init");
	CHECK_PHASE(main_thread, "", "init");
	CHECK_PHASE(other_thread, "", "init");
	CHECK_PHASE(main_thread, MAIN "__init__ " LIB "nn/modules/linear.py\n", "init");
	CHECK_EQ(label.category, MT_CATEGORY_WEIGHTS);
	CHECK_PHASE(main_thread, MAIN, "init");
	CHECK_PHASE(main_thread, FORWARD, "forward");
	CHECK_PHASE(main_thread, "run /home/me/run.py\n", "other");
	CHECK_PHASE(main_thread, "", "other");
	CHECK_EQ(label.rule_frame, 0);
	CHECK_PHASE(main_thread, MAIN "__init__ " LIB "nn/modules/linear.py\n", "init");
	teardown();
}

#define STEP MAIN "train_step /home/me/loop.py\n"
#define LOGPS "logps /home/me/loop.py\n"
#define MODEL "_call_impl " LIB "nn/modules/module.py\nforward /home/me/net.py\n"
#define STEP_BACKWARD STEP "backward " LIB "_tensor.py\n"

/* In the function that calls the model, and in what that calls; not in its callers, as long as nobody knows their part. */
TEST(loss_is_forward)
{
	setup();
	CHECK_PHASE(main_thread, STEP, "init");
	CHECK_PHASE(main_thread, STEP LOGPS MODEL, "forward");
	CHECK_PHASE(main_thread, STEP LOGPS, "forward");
	CHECK_EQ(label.category, MT_CATEGORY_ACTIVATIONS);
	CHECK_PHASE(main_thread, STEP LOGPS "gather /home/me/ops.py\n", "forward");
	CHECK_PHASE(main_thread, STEP "ratio /home/me/loop.py\n", "other");
	CHECK_PHASE(other_thread, STEP LOGPS, "other");
	CHECK_PHASE(main_thread, STEP LOGPS "load " LIB "serialization.py\n", "other");
	CHECK_PHASE(main_thread, STEP_BACKWARD, "backward");
	CHECK_PHASE(main_thread, STEP LOGPS, "other");
	teardown();
}

/* From the first backward on it is known which function calls both. */
TEST(loss_where_the_loop_is_known)
{
	setup();
	CHECK_PHASE(main_thread, STEP LOGPS MODEL, "forward");
	CHECK_PHASE(main_thread, STEP_BACKWARD, "backward");
	CHECK_PHASE(main_thread, STEP "ratio /home/me/loop.py\n", "other");
	CHECK_PHASE(main_thread, STEP LOGPS MODEL, "forward");
	CHECK_PHASE(main_thread, STEP "ratio /home/me/loop.py\n", "forward");
	CHECK_PHASE(main_thread, MAIN "rewards /home/me/loop.py\n", "other");
	event(MT_BACKWARD_BEGIN);
	event(MT_BACKWARD_END);
	CHECK_PHASE(main_thread, STEP "ratio /home/me/loop.py\n", "other");
	CHECK_PHASE(main_thread, STEP LOGPS MODEL, "forward");
	CHECK_PHASE(main_thread, STEP "wrapper " LIB "optim/optimizer.py\nstep " LIB "optim/adamw.py\n", "optimizer");
	CHECK_PHASE(main_thread, STEP LOGPS, "other");
	teardown();
}

TEST(a_mark_beats_the_stack)
{
	setup();
	push("rollout");
	CHECK_PHASE(main_thread, FORWARD, "rollout");
	CHECK_EQ(label.part, MT_PART_FORWARD);
	push("kv cache");
	alloc(main_thread, "");
	CHECK_EQ(label.category, MT_CATEGORY_KV_CACHE);
	CHECK_EQ(label.phase, MT_PHASE_ROLLOUT);
	pop();
	push("update_weights");
	CHECK_PHASE(main_thread, FORWARD, "weight-update");
	pop();
	pop();
	CHECK_PHASE(main_thread, FORWARD, "forward");
	CHECK(label.rule_frame != 0);
	push("optimizer");
	CHECK_PHASE(main_thread, FORWARD, "optimizer");
	CHECK_EQ(label.rule_frame, 0);
	pop();
	push("forward");
	CHECK_PHASE(main_thread, MAIN "__init__ " LIB "nn/modules/linear.py\n", "forward");
	pop();
	push("backward");
	CHECK_PHASE(main_thread, FORWARD, "backward");
	CHECK_EQ(label.part, MT_PART_RECOMPUTE);
	pop();
	CHECK_PHASE(main_thread, MAIN, "other");
	teardown();
}

TEST(explicit_phases_by_word)
{
	setup();
	mark(MT_PHASE_PUSH, main_thread, "weight-update");
	CHECK_PHASE(main_thread, "", "weight-update");
	mark(MT_PHASE_PUSH, main_thread, "recompute");
	alloc(main_thread, "");
	CHECK_EQ(label.part, MT_PART_RECOMPUTE);
	mark(MT_PHASE_POP, main_thread, NULL);
	mark(MT_PHASE_POP, main_thread, NULL);
	mark(MT_PHASE_PUSH, main_thread, "critic");
	CHECK_PHASE(main_thread, "", "critic");
	mark(MT_PHASE_PUSH, main_thread, "something of mine");
	CHECK_PHASE(main_thread, "", "critic");
	teardown();
}

TEST(pops_find_their_domain)
{
	uint32_t nccl;

	setup();
	nccl = make_string(defs, "NCCL");
	push("rollout");
	send((struct mt_event){
		.kind = MT_RANGE_PUSH, .thread = main_thread, .value = nccl, .name = make_string(defs, "kv cache") });
	mark(MT_PHASE_PUSH, main_thread, "ref");
	CHECK_PHASE(main_thread, "", "ref");
	pop(); /* the rollout, which lies below the others */
	CHECK_PHASE(main_thread, "", "ref");
	CHECK_EQ(label.category, MT_CATEGORY_KV_CACHE);
	mark(MT_PHASE_POP, main_thread, NULL);
	alloc(main_thread, "");
	CHECK_EQ(label.phase, MT_PHASE_OTHER);
	CHECK_EQ(label.category, MT_CATEGORY_KV_CACHE);
	send((struct mt_event){ .kind = MT_RANGE_POP, .thread = main_thread, .value = nccl });
	alloc(main_thread, "");
	CHECK_EQ(label.category, MT_CATEGORY_OTHER);
	teardown();
}

TEST(unbalanced_and_deep_pops)
{
	int i;

	setup();
	pop();
	mark(MT_PHASE_POP, main_thread, NULL);
	push("rollout");
	pop();
	pop();
	CHECK_PHASE(main_thread, "", "other");
	push("rollout");
	for (i = 0; i < 1000; i++)
		push(i % 2 ? "forward" : "aten::add");
	CHECK_PHASE(main_thread, "", "rollout");
	for (i = 0; i < 1000; i++)
		pop();
	CHECK_PHASE(main_thread, "", "rollout");
	CHECK_EQ(label.part, MT_PART_NONE);
	pop();
	CHECK_PHASE(main_thread, "", "other");
	teardown();
}

TEST(ids_that_are_not_defined)
{
	setup();
	push("rollout");
	send((struct mt_event){ .kind = MT_TENSOR_ALLOC, .thread = 1ull << 60, .stack = 1ull << 60 });
	CHECK_EQ(label.phase, MT_PHASE_ROLLOUT);
	send((struct mt_event){ .kind = MT_RANGE_PUSH, .thread = 77, .name = 1ull << 40, .value = 1ull << 40 });
	send((struct mt_event){ .kind = MT_STEP, .value = UINT64_MAX, .name = 1ull << 40 });
	CHECK(label.step != 0);
	send((struct mt_event){ .kind = 250 });
	teardown();
}

TEST(others_inherit_what_the_main_thread_does)
{
	setup();
	CHECK_PHASE(main_thread, FORWARD, "forward");
	CHECK_PHASE(other_thread, "", "other");
	push("rollout");
	CHECK_PHASE(other_thread, "", "rollout");
	CHECK_PHASE(other_thread, FORWARD, "rollout");
	mark(MT_RANGE_PUSH, other_thread, "update_weights");
	CHECK_PHASE(other_thread, "", "weight-update");
	CHECK_PHASE(main_thread, "", "rollout");
	mark(MT_RANGE_POP, other_thread, NULL);
	pop();
	CHECK_PHASE(other_thread, "", "other");
	push("optimizer");
	CHECK_PHASE(other_thread, "", "optimizer");
	CHECK_PHASE(other_thread, FORWARD, "forward");
	teardown();
}

TEST(process_wide_ranges)
{
	struct mt_event start = { .kind = MT_RANGE_START, .handle = 5 };

	setup();
	start.thread = other_thread;
	start.name = make_string(defs, "ref_compute_log_prob");
	send(start);
	CHECK_PHASE(other_thread, FORWARD, "ref");
	CHECK_PHASE(main_thread, "", "ref");
	push("rollout");
	CHECK_PHASE(main_thread, "", "rollout");
	CHECK_PHASE(other_thread, "", "ref");
	start.kind = MT_RANGE_END;
	start.handle = 6;
	send(start);
	CHECK_PHASE(other_thread, "", "ref");
	start.handle = 5;
	send(start);
	CHECK_PHASE(other_thread, "", "rollout");
	teardown();
}

TEST(autograd_threads)
{
	setup();
	alloc(main_thread, FORWARD);
	CHECK_PHASE(autograd_thread, "", "backward");
	CHECK_EQ(label.category, MT_CATEGORY_GRADIENTS);
	CHECK_PHASE(autograd_thread, "recompute_fn " LIB "utils/checkpoint.py\nforward /n.py\n", "backward");
	CHECK_EQ(label.part, MT_PART_RECOMPUTE);
	CHECK_PHASE(autograd_thread, "forward /n.py\n", "backward");
	CHECK_EQ(label.part, MT_PART_RECOMPUTE);
	CHECK_PHASE(autograd_thread, "backward /n.py\n", "backward");
	CHECK_EQ(label.part, MT_PART_BACKWARD);
	/* The critic's backward runs for the thread that waits. */
	mark(MT_RANGE_PUSH, other_thread, "update_critic");
	mark(MT_BACKWARD_BEGIN, other_thread, NULL);
	CHECK_PHASE(autograd_thread, "", "critic");
	CHECK_EQ(label.part, MT_PART_BACKWARD);
	mark(MT_BACKWARD_END, other_thread, NULL);
	mark(MT_RANGE_POP, other_thread, NULL);
	CHECK_PHASE(autograd_thread, "", "backward");
	/* Building a model before does not make a backward an init. */
	alloc(main_thread, MAIN "__init__ " LIB "nn/modules/linear.py\n");
	event(MT_BACKWARD_BEGIN);
	CHECK_PHASE(autograd_thread, "", "backward");
	event(MT_BACKWARD_END);
	push("ref");
	CHECK_PHASE(autograd_thread, "", "ref");
	teardown();
}

#define CRITIC MAIN "update_critic /v/verl/workers/fsdp_workers.py\n"
#define ACTOR MAIN "update_actor /v/verl/workers/fsdp_workers.py\n"

/* Autograd threads know nothing but their hooks: the role is that of whoever waits, or of the newest role function. */
TEST(backward_has_the_role_of_its_caller)
{
	setup();
	alloc(other_thread, CRITIC "forward /n.py\n");
	CHECK_PHASE(autograd_thread, "", "critic"); /* nobody said that a backward runs */
	CHECK_EQ(label.part, MT_PART_BACKWARD);
	alloc(main_thread, ACTOR "forward /n.py\n");
	CHECK_PHASE(autograd_thread, "", "backward");
	CHECK_STR(mt_role_name(label.role), "train");
	mark(MT_BACKWARD_BEGIN, other_thread, NULL);
	CHECK_PHASE(autograd_thread, "", "critic");
	/* A second one, for the actor; each thread's end is its own. */
	mark(MT_BACKWARD_BEGIN, main_thread, NULL);
	CHECK_PHASE(autograd_thread, "", "backward");
	CHECK_PHASE(autograd_thread, "unpack_hook " LIB "utils/checkpoint.py\nforward /n.py\n", "backward");
	CHECK_EQ(label.part, MT_PART_RECOMPUTE);
	CHECK_STR(mt_role_name(label.role), "train");
	mark(MT_BACKWARD_END, main_thread, NULL);
	CHECK_PHASE(autograd_thread, "", "critic");
	CHECK_STR(mt_category_name(label.category), "gradients");
	mark(MT_BACKWARD_END, other_thread, NULL);
	alloc(other_thread, MAIN);
	alloc(main_thread, MAIN);
	CHECK_PHASE(autograd_thread, "", "backward");
	CHECK_STR(mt_role_name(label.role), "none");
	teardown();
}

/* A backward that a capture runs is of the graphs, on whatever thread; the next backward of the training is not. */
TEST(backward_of_a_capture)
{
#define CAPTURE MAIN "make_graphed_callables " LIB "cuda/graphs.py\n"
	setup();
	alloc(main_thread, CAPTURE "forward /n.py\n");
	CHECK_STR(mt_category_name(label.category), "cuda graphs");
	event(MT_BACKWARD_BEGIN);
	CHECK_PHASE(autograd_thread, "", "backward");
	CHECK_STR(mt_category_name(label.category), "cuda graphs");
	CHECK_PHASE(autograd_thread, "backward /n.py\n", "backward");
	CHECK_STR(mt_category_name(label.category), "cuda graphs");
	CHECK_PHASE(main_thread, "", "backward"); /* a call without frames tells nothing of where it is */
	event(MT_BACKWARD_END);
	alloc(main_thread, FORWARD);
	event(MT_BACKWARD_BEGIN);
	CHECK_PHASE(autograd_thread, "", "backward");
	CHECK_STR(mt_category_name(label.category), "gradients");
	event(MT_BACKWARD_END);
	teardown();
#undef CAPTURE
}

/* A checkpoint's own backward begins and ends on the autograd thread, inside the one that the main thread waits for. */
TEST(backward_inside_backward)
{
	setup();
	alloc(main_thread, ACTOR "forward /n.py\n");
	event(MT_BACKWARD_BEGIN);
	CHECK_PHASE(autograd_thread, "backward " LIB "utils/checkpoint.py\nforward /n.py\n", "backward");
	CHECK_EQ(label.part, MT_PART_RECOMPUTE);
	CHECK_STR(mt_category_name(label.category), "recomputed activations");
	mark(MT_BACKWARD_BEGIN, autograd_thread, NULL);
	CHECK_PHASE(autograd_thread, "backward " LIB "utils/checkpoint.py\nbackward " LIB "autograd/__init__.py\n",
		    "backward");
	CHECK_STR(mt_category_name(label.category), "gradients");
	CHECK_STR(mt_role_name(label.role), "train");
	mark(MT_BACKWARD_END, autograd_thread, NULL);
	CHECK_PHASE(autograd_thread, "", "backward");
	CHECK_STR(mt_role_name(label.role), "train");
	event(MT_BACKWARD_END);
	CHECK_PHASE(main_thread, ACTOR, "other");
	teardown();
}

/* Its end is missing: the next forward that no backward has called, or an optimizer, shows that it is over. */
TEST(backward_whose_end_is_missing)
{
	setup();
	event(MT_BACKWARD_BEGIN);
	CHECK_PHASE(main_thread,
		    BACKWARD "my_hook /n.py\n"
			     "forward /n.py\n",
		    "backward");
	CHECK_EQ(label.part, MT_PART_RECOMPUTE);
	CHECK_PHASE(main_thread, "", "backward");
	CHECK_PHASE(main_thread, "~\nforward /n.py\n", "backward"); /* the caller may be among those left out */
	CHECK_PHASE(main_thread, FORWARD, "forward");
	CHECK_EQ(label.part, MT_PART_FORWARD);
	CHECK_PHASE(main_thread, "", "other");
	event(MT_BACKWARD_BEGIN);
	event(MT_BACKWARD_BEGIN);
	CHECK_PHASE(main_thread, OPTIMIZER, "optimizer");
	CHECK_PHASE(main_thread, "", "other");
	CHECK_PHASE(autograd_thread, "", "backward");
	event(MT_BACKWARD_END); /* late ones do no harm */
	event(MT_BACKWARD_END);
	CHECK_PHASE(main_thread, FORWARD, "forward");
	teardown();
}

/* Threads without Python work for the newest role function; Python that is in none is in none. */
TEST(helpers_work_for_the_open_role_function)
{
	setup();
	alloc(main_thread, MAIN "generate_sequences /v/verl/workers/fsdp_workers.py\n");
	CHECK_PHASE(other_thread, "", "rollout");
	CHECK_PHASE(other_thread, "!/usr/lib/libc.so.6\n", "rollout");
	CHECK_PHASE(other_thread, MAIN, "other");
	alloc(other_thread, MAIN "rollout_mode /v/verl/workers/fsdp_workers.py\n");
	CHECK_PHASE(autograd_thread, "", "weight-update");
	CHECK_PHASE(main_thread, "", "rollout"); /* its own before that of another */
	alloc(other_thread, MAIN);
	alloc(main_thread, MAIN);
	CHECK_PHASE(other_thread, "", "other");
	teardown();
}

TEST(windows_without_stacks)
{
	setup();
	event(MT_BACKWARD_BEGIN);
	CHECK_PHASE(main_thread, "", "backward");
	CHECK_PHASE(main_thread, MAIN, "backward");
	event(MT_BACKWARD_BEGIN);
	event(MT_BACKWARD_END);
	CHECK_PHASE(main_thread, "", "backward");
	event(MT_BACKWARD_END);
	CHECK_PHASE(main_thread, "", "other");
	event(MT_BACKWARD_END);
	CHECK_PHASE(main_thread, FORWARD, "forward");
	teardown();
}

/* ---- steps ---- */

static uint32_t closed; /* steps that label.step_closed reported */

static void work(const char *stack)
{
	alloc(main_thread, stack);
	closed += label.step_closed;
	CHECK_EQ(label.step, closed + 1);
}

static void does(uint32_t kind, const char *name)
{
	mark(kind, main_thread, name);
	closed += label.step_closed;
	CHECK_EQ(label.step, closed + 1);
}

static void train(int windows)
{
	work(FORWARD);
	work(MAIN);
	if (windows)
		does(MT_BACKWARD_BEGIN, NULL);
	work(BACKWARD);
	if (windows)
		does(MT_BACKWARD_END, NULL);
	work(OPTIMIZER);
	work(OPTIMIZER);
}

TEST(optimizer_ends_steps)
{
	int i;

	setup();
	work(MAIN);
	work(OPTIMIZER); /* without a backward: no step */
	for (i = 0; i < 5; i++) {
		CHECK_EQ(closed, i);
		train(i % 2);
		CHECK_EQ(closed, i);
		work(MAIN "zero_grad " LIB "optim/optimizer.py\n");
		CHECK_EQ(closed, i + 1);
		CHECK_STR(mt_tracker_step_why(tracker), "optimizer");
	}
	teardown();
}

TEST(several_optimizers_are_one_step)
{
	int i;

	setup();
	for (i = 0; i < 3; i++) {
		work(FORWARD);
		work(BACKWARD);
		work(CLIP); /* does not end it */
		work(MAIN);
		CHECK_EQ(closed, i);
		work(OPTIMIZER);
		work(MAIN);
		work(OPTIMIZER);
		work(MAIN);
		work(CLIP);
		work(MAIN);
		CHECK_EQ(closed, i + 1);
	}
	teardown();
}

TEST(accumulated_gradients_are_one_step)
{
	int i, j;

	setup();
	for (i = 0; i < 3; i++) {
		for (j = 0; j < 64; j++) {
			work(FORWARD);
			does(MT_BACKWARD_BEGIN, NULL);
			work(BACKWARD);
			does(MT_BACKWARD_END, NULL);
		}
		CHECK_EQ(closed, i);
		work(OPTIMIZER);
		work(MAIN);
		CHECK_EQ(closed, i + 1);
	}
	teardown();
}

/* Other threads free and allocate while the optimizer runs. */
TEST(only_the_optimizers_thread_ends_its_step)
{
	setup();
	alloc(autograd_thread, "");
	CHECK_EQ(label.step, 1);
	alloc(main_thread, OPTIMIZER);
	alloc(other_thread, "");
	CHECK_EQ(label.step_closed, 0);
	alloc(autograd_thread, "");
	CHECK_EQ(label.step_closed, 0);
	alloc(main_thread, OPTIMIZER);
	CHECK_EQ(label.step_closed, 0);
	alloc(main_thread, "");
	CHECK_EQ(label.step_closed, 1);
	CHECK_EQ(label.step, 2);
	teardown();
}

TEST(optimizer_marks_do_it_too)
{
	int i;

	setup();
	for (i = 0; i < 3; i++) {
		does(MT_RANGE_PUSH, "backward");
		work("");
		does(MT_RANGE_POP, NULL);
		does(MT_RANGE_PUSH, "Optimizer.step#AdamW.step");
		work("");
		does(MT_RANGE_POP, NULL);
		CHECK_EQ(closed, i);
		work("");
		CHECK_EQ(closed, i + 1);
	}
	teardown();
}

/* No stacks, no marks: the first step holds two windows, each later one is one. */
TEST(windows_end_steps_when_nothing_else_does)
{
	uint32_t i;

	setup();
	for (i = 0; i < 6; i++) {
		work("");
		does(MT_BACKWARD_BEGIN, NULL);
		work("");
		does(MT_BACKWARD_BEGIN, NULL);
		does(MT_BACKWARD_END, NULL);
		does(MT_BACKWARD_END, NULL);
		CHECK_EQ(closed, i ? i - 1 : 0);
		work("");
		CHECK_EQ(closed, i);
	}
	CHECK_STR(mt_tracker_step_why(tracker), "backward window");
	/* The optimizer shows up after all: it takes over, and what the window counted is not counted again. */
	work(OPTIMIZER);
	work("");
	CHECK_EQ(closed, 5);
	train(1);
	work("");
	CHECK_EQ(closed, 6);
	CHECK_STR(mt_tracker_step_why(tracker), "optimizer");
	teardown();
}

TEST(step_ranges_end_steps)
{
	char name[32];
	uint32_t i;

	setup();
	work(MAIN);
	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "step %u", i);
		does(MT_RANGE_PUSH, name);
		does(MT_RANGE_PUSH, "train_step");
		train(1);
		work(MAIN);
		does(MT_RANGE_POP, NULL);
		work(MAIN);
		train(1);
		CHECK_EQ(closed, i);
		does(MT_RANGE_POP, NULL);
		CHECK_EQ(closed, i);
		does(MT_RANGE_PUSH, "rollout");
		CHECK_EQ(closed, i + 1);
		does(MT_RANGE_POP, NULL);
		/* A thread beside has ranges of the same name. */
		mark(MT_RANGE_PUSH, other_thread, "step");
		mark(MT_RANGE_POP, other_thread, NULL);
		CHECK_EQ(label.step_closed, 0);
	}
	CHECK_STR(mt_tracker_step_why(tracker), "range step 3");
	teardown();
}

TEST(step_marks_end_steps)
{
	uint32_t i;

	setup();
	work(MAIN);
	does(MT_MARK, "step 0"); /* only the start-up was before */
	work(FORWARD);
	CHECK_EQ(closed, 0);
	for (i = 1; i < 4; i++) {
		does(MT_MARK, "step 1");
		CHECK_EQ(closed, i - 1);
		does(MT_MARK, "something else");
		CHECK_EQ(closed, i);
		train(0);
		work(MAIN);
		CHECK_EQ(closed, i);
	}
	teardown();
}

TEST(memrec_step_beats_all)
{
	uint32_t i;

	setup();
	for (i = 0; i < 4; i++) {
		does(MT_RANGE_PUSH, "step");
		train(1);
		does(MT_STEP_MARK, NULL);
		CHECK_EQ(closed, i);
		work(MAIN);
		CHECK_EQ(closed, i + 1);
		does(MT_RANGE_POP, NULL);
		work(MAIN);
		CHECK_EQ(closed, i + 1);
	}
	CHECK_STR(mt_tracker_step_why(tracker), "memrec_step");
	teardown();
}

/* The optimizer has counted the step already when the first memrec_step() comes at the end of the loop. */
TEST(late_marks_do_not_count_twice)
{
	uint32_t i;

	setup();
	for (i = 0; i < 4; i++) {
		train(1);
		work(MAIN);
		does(MT_STEP_MARK, NULL);
		work(MAIN);
		CHECK_EQ(closed, i + 1);
	}
	teardown();
	closed = 0;
	setup();
	train(1); /* nothing came after the optimizer yet */
	does(MT_RANGE_PUSH, "step 2");
	work(FORWARD);
	CHECK_EQ(closed, 1);
	train(1);
	does(MT_RANGE_POP, NULL);
	work(MAIN);
	CHECK_EQ(closed, 2);
	teardown();
}

TEST(pattern_for_ranges)
{
	setup();
	CHECK_EQ(mt_tracker_step_mark(tracker, "outer *"), 0);
	does(MT_RANGE_PUSH, "outer 1");
	train(1);
	work(MAIN);
	does(MT_STEP_MARK, NULL);
	does(MT_RANGE_PUSH, "step");
	does(MT_RANGE_POP, NULL);
	work(MAIN);
	CHECK_EQ(closed, 0);
	does(MT_RANGE_POP, NULL);
	work(MAIN);
	CHECK_EQ(closed, 1);
	CHECK_STR(mt_tracker_step_why(tracker), "range outer 1");
	does(MT_MARK, "outer mark");
	work(MAIN);
	CHECK_EQ(closed, 2);
	does(MT_PHASE_PUSH, "outer phase");
	does(MT_PHASE_POP, NULL);
	work(MAIN);
	CHECK_EQ(closed, 3);
	CHECK_STR(mt_tracker_step_why(tracker), "phase outer phase");
	teardown();
}

TEST(pattern_for_functions)
{
	uint32_t i;

	setup();
	CHECK_EQ(mt_tracker_step_mark(tracker, "update_*"), 0);
	for (i = 0; i < 3; i++) {
		work(MAIN "Worker.update_actor /w.py\nforward /n.py\n");
		work(MAIN "Worker.update_actor /w.py\nstep " LIB "optim/adamw.py\n");
		work(MAIN "Worker.update_actor /w.py\nhelper /w.py\n");
		CHECK_EQ(closed, i);
		work(MAIN);
		CHECK_EQ(closed, i + 1);
		work(OPTIMIZER);
		work(MAIN);
	}
	CHECK_EQ(closed, 3);
	teardown();
}

TEST(pattern_limits)
{
	char text[4096];

	setup();
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	CHECK_EQ(mt_tracker_step_mark(tracker, text), -MT_E_ARGUMENT);
	CHECK_EQ(mt_tracker_step_mark(tracker, NULL), 0);
	CHECK_EQ(mt_tracker_step_mark(tracker, "auto"), 0);
	train(1);
	work(MAIN);
	CHECK_EQ(closed, 1);
	teardown();
}

TEST(the_end_closes_what_was_only_waiting)
{
	setup();
	work(MAIN);
	CHECK_EQ(mt_tracker_finish(tracker), 0);
	train(1);
	CHECK_EQ(mt_tracker_finish(tracker), 1);
	CHECK_STR(mt_tracker_step_why(tracker), "optimizer");
	CHECK_EQ(mt_tracker_finish(tracker), 0);
	closed++;
	does(MT_STEP_MARK, NULL);
	work(MAIN);
	work(FORWARD);
	work(BACKWARD);
	CHECK_EQ(mt_tracker_finish(tracker), 0);
	does(MT_STEP_MARK, NULL);
	CHECK_EQ(mt_tracker_finish(tracker), 1);
	CHECK_STR(mt_tracker_step_why(tracker), "memrec_step");
	teardown();
}

/* Reading a trace: STEP events are believed, nothing is found beside them; then recording goes on. */
TEST(reading_believes_the_trace)
{
	struct mt_event step = { .kind = MT_STEP, .value = 7 };

	setup();
	follow = 0;
	step.name = make_string(defs, "optimizer");
	step.thread = main_thread;
	train(1);
	alloc(main_thread, MAIN);
	CHECK_EQ(label.step, 1);
	send(step);
	CHECK_EQ(label.step, 8);
	CHECK_EQ(label.step_closed, 1);
	CHECK_STR(mt_tracker_step_why(tracker), "optimizer");
	alloc(main_thread, BACKWARD);
	alloc(main_thread, OPTIMIZER);
	CHECK_EQ(label.step, 8);
	follow = 1;
	alloc(main_thread, MAIN);
	CHECK_EQ(label.step_closed, 1);
	CHECK_EQ(label.step, 9);
	teardown();
}

/* A node whose parents are many: computed without recursion, and known afterwards. */
TEST(deep_stacks)
{
	uint32_t node = 0, first = 0, i;

	setup();
	for (i = 0; i < 5000; i++) {
		char frame[64];

		snprintf(frame, sizeof(frame), "f%u /deep.py", i);
		node = mt_defs_add_node(defs, node, make_frame(defs, i ? frame : "forward /deep.py"));
		first = first ? first : node;
	}
	send((struct mt_event){ .kind = MT_TENSOR_ALLOC, .thread = main_thread, .stack = first + 1000 });
	CHECK_EQ(label.phase, MT_PHASE_FORWARD);
	CHECK_EQ(label.rule_frame, mt_defs_node(defs, first)->frame);
	send((struct mt_event){ .kind = MT_TENSOR_ALLOC, .thread = main_thread, .stack = node });
	teardown();
}

/* TRL asks for log-probs in the loss, too: there training_step, which may be among the frames that are missing, goes before. */
TEST(roles_outside_of_what_was_left_out)
{
	static const char
		training[] = "training_step /v/trl/trainer/grpo_trainer.py\n",
		generation[] = "_generate_and_score_completions /v/trl/trainer/grpo_trainer.py\n",
		logps[] = "_get_per_token_logps_and_entropies /v/trl/trainer/grpo_trainer.py\nforward /v/m.py\n";
	char stack[512];

	setup();
	snprintf(stack, sizeof(stack), "main /s.py\n~\n%s", logps);
	CHECK_PHASE(main_thread, stack, "logprob"); /* nothing has told of more */
	snprintf(stack, sizeof(stack), "main /s.py\n%s%s", training, generation);
	CHECK_PHASE(main_thread, stack, "rollout");
	snprintf(stack, sizeof(stack), "main /s.py\n~\n%s", logps);
	CHECK_PHASE(main_thread, stack, "logprob"); /* inside of the generation they are that */
	snprintf(stack, sizeof(stack), "main /s.py\n%sforward /v/m.py\n", training);
	CHECK_PHASE(main_thread, stack, "forward");
	snprintf(stack, sizeof(stack), "main /s.py\n~\n%s", logps);
	CHECK_PHASE(main_thread, stack, "forward");
	teardown();
}

/* Its generation runs the model many frames below training_step, which is among the outermost that are always kept. */
TEST(roles_that_take_over_in_what_was_left_out)
{
	static const char training[] = "training_step /v/transformers/trainer.py\n",
			  generation[] = "_generate_and_score_completions /v/trl/trainer/grpo_trainer.py\n",
			  logps[] = "_get_per_token_logps_and_entropies /v/trl/trainer/grpo_trainer.py\n",
			  sampling[] = "_sample /v/transformers/generation/utils.py\nforward /v/m.py\n";
	char stack[512];

	setup();
	snprintf(stack, sizeof(stack), "main /s.py\n%s~\n%s", training, sampling);
	CHECK_PHASE(main_thread, stack, "forward"); /* nothing has told of more */
	snprintf(stack, sizeof(stack), "main /s.py\n%s%s", training, generation);
	CHECK_PHASE(main_thread, stack, "rollout");
	snprintf(stack, sizeof(stack), "main /s.py\n%s~\n%s", training, sampling);
	CHECK_PHASE(main_thread, stack, "rollout");
	snprintf(stack, sizeof(stack), "main /s.py\n%s~\n%sforward /v/m.py\n", training, logps);
	CHECK_PHASE(main_thread, stack, "logprob"); /* it takes over from the one that is missing */
	snprintf(stack, sizeof(stack), "main /s.py\n%s~\n%s", training, sampling);
	CHECK_PHASE(main_thread, stack, "rollout");
	snprintf(stack, sizeof(stack), "main /s.py\n%scompute_loss /v/trl/trainer/grpo_trainer.py\nforward /v/m.py\n",
		 training);
	CHECK_PHASE(main_thread, stack, "forward");
	snprintf(stack, sizeof(stack), "main /s.py\n%s~\n%sforward /v/m.py\n", training, logps);
	CHECK_PHASE(main_thread, stack, "forward");
	teardown();
}

TEST_MAIN()
