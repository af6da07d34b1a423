/* test_phase_known.c - labels that the tracker keeps: random events get the labels that they have without. */
#include "phase/phase_impl.h"
#include "stack_builder.h"

#define LIB "/v/torch/"
#define MAIN "main /home/me/train.py\n"
#define LOOP MAIN "train_step /home/me/train.py\n"
#define NET "_call_impl " LIB "nn/modules/module.py\nforward /home/me/net.py\n"
#define BACKWARD "backward " LIB "_tensor.py\nbackward " LIB "autograd/__init__.py\n"
#define OPTIMIZER "wrapper " LIB "optim/optimizer.py\nstep " LIB "optim/adamw.py\n"
#define RAY "main_loop /v/ray/_private/worker.py\n"
#define VERL RAY "func /v/verl/single_controller/ray/base.py\ninner /v/verl/single_controller/base/decorator.py\n"
#define WORKER " /v/verl/workers/fsdp_workers.py\n"

/* Forwards of two callers, losses, a backward, an optimizer, role functions, frames left out, no Python, helpers. */
static const char *const stacks[] = {
	MAIN NET,
	LOOP NET,
	MAIN "evaluate /home/me/train.py\n" NET,
	LOOP,
	LOOP "loss /home/me/loss.py\n",
	MAIN "evaluate /home/me/train.py\nloss /home/me/loss.py\n",
	LOOP BACKWARD,
	LOOP BACKWARD NET,
	LOOP OPTIMIZER,
	MAIN "~\n" NET,
	VERL "update_actor" WORKER NET,
	VERL "update_actor" WORKER OPTIMIZER,
	VERL "generate_sequences" WORKER,
	VERL "compute_log_prob" WORKER NET,
	"!libc.so.6\n!libtorch_cuda.so\n",
};
static const char *const marks[] = { "forward", "optimizer", "train_step", "rollout", "lunch" };
static const uint32_t kinds[] = { MT_RANGE_PUSH,  MT_RANGE_POP,  MT_PHASE_PUSH,     MT_PHASE_POP,    MT_RANGE_START,
				  MT_RANGE_END,   MT_MARK,       MT_BACKWARD_BEGIN, MT_BACKWARD_END, MT_STEP_MARK,
				  MT_STEP,        MT_CUT,        MT_LIVE,           MT_TENSOR_OOM,   MT_VMM_RESERVE,
				  MT_DRIVER_FAIL, MT_HOST_SAMPLE };

#define STACKS MT_ARRAY_SIZE(stacks)
#define THREADS 4u

struct pair {
	struct mt_defs *defs;
	struct mt_rules *rules;
	struct mt_tracker *with, *without;
	uint32_t stack[STACKS], name[MT_ARRAY_SIZE(marks)];
	uint64_t random, kept; /* kept: labels that were found */
};

static uint32_t below(struct pair *pair, uint32_t limit)
{
	pair->random = pair->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(pair->random >> 33) % limit;
}

static void setup(struct pair *pair, uint64_t random, const char *pattern)
{
	static const char *const thread[THREADS] = { "python", "pt_autograd_0", "worker", "other" };
	char message[512] = "";
	uint32_t i;

	*pair = (struct pair){ .random = random, .defs = mt_defs_new() };
	CHECK_EQ(mt_rules_new(&pair->rules, message, sizeof(message)), 0);
	pair->with = mt_tracker_new(pair->rules, pair->defs);
	pair->without = mt_tracker_new(pair->rules, pair->defs);
	CHECK(pair->defs && pair->with && pair->without);
	CHECK_EQ(mt_tracker_step_mark(pair->with, pattern), 0);
	CHECK_EQ(mt_tracker_step_mark(pair->without, pattern), 0);
	for (i = 0; i < THREADS; i++)
		make_thread(pair->defs, 10 + i, thread[i], i ? 0 : MT_THREAD_MAIN);
	for (i = 0; i < STACKS; i++)
		pair->stack[i] = make_stack(pair->defs, stacks[i]);
	for (i = 0; i < MT_ARRAY_SIZE(marks); i++)
		pair->name[i] = make_string(pair->defs, marks[i]);
}

static void teardown(struct pair *pair)
{
	mt_tracker_free(pair->with);
	mt_tracker_free(pair->without);
	mt_rules_free(pair->rules);
	mt_defs_free(pair->defs);
}

/* Stacks come in runs of a few neighbours, as in a program; one event of `rare` is no memory event. */
static struct mt_event next_event(struct pair *pair, uint32_t i, uint32_t rare)
{
	uint32_t stack = below(pair, STACKS + 1) < 3 ? below(pair, STACKS) : (i / 64 + below(pair, 3)) % STACKS;
	struct mt_event event = { .kind = below(pair, 2) ? MT_TENSOR_ALLOC : MT_TENSOR_FREE,
				  .thread = below(pair, 8) ? 1 : below(pair, THREADS + 2),
				  .stack = below(pair, 16) ? pair->stack[stack] : 0 };

	if (!below(pair, rare)) {
		event.kind = kinds[below(pair, MT_ARRAY_SIZE(kinds))];
		event.name = pair->name[below(pair, MT_ARRAY_SIZE(marks))];
		event.handle = below(pair, 3);
		event.value = event.kind == MT_STEP ? i : 0;
	}
	return event;
}

static void run(uint64_t random, uint32_t rare, const char *pattern)
{
	struct mt_label with, without;
	struct mt_event event;
	struct pair pair;
	int follow = 0;
	uint32_t i;

	setup(&pair, random, pattern);
	for (i = 0; i < 40000; i++) {
		event = next_event(&pair, i, rare);
		follow ^= !below(&pair, 500);
		pair.kept += known_slot(pair.with, &event)->key == known_key(&event) &&
			     known_slot(pair.with, &event)->changes == known_changes(pair.with, follow);
		pair.without->changes++; /* each label that was kept is out of date */
		mt_tracker_event(pair.with, &event, follow, &with);
		mt_tracker_event(pair.without, &event, follow, &without);
		CHECK_EQ(memcmp(&with, &without, sizeof(with)), 0);
		if (!below(&pair, 5000))
			CHECK_EQ(mt_tracker_finish(pair.with), mt_tracker_finish(pair.without));
	}
	CHECK(pair.kept > 100);
	CHECK_STR(mt_tracker_step_why(pair.with), mt_tracker_step_why(pair.without));
	teardown(&pair);
}

TEST(labels_are_as_without_keeping)
{
	uint32_t i;

	for (i = 0; i < 24; i++)
		run(i, i % 3 ? 4u << i % 8 : 2000u, i % 5 == 4 ? "train_step" : NULL);
}

TEST_MAIN()
