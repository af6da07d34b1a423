/* Sizes that tell of a vocabulary, words for moments, and the frame that a place is named after. */
#include <stdlib.h>
#include <string.h>
#include "engine/moment.h"
#include "label/category_sizes.h"
#include "memtrace/error.h"
#include "query/callstack.h"
#include "test.h"

/* Weights of a model: `times` of each size. */
static void add_weights(struct category_sizes *sizes, uint64_t size, int times)
{
	while (times--)
		sizes->weights[sizes_number(sizes, size)]++;
}

/* Vocabulary 50,000, width 768, `element` bytes each. */
static struct category_sizes *small_model(uint64_t element)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));

	CHECK(sizes != NULL);
	add_weights(sizes, 50000 * 768 * element, 1);
	add_weights(sizes, 768 * element, 25);
	add_weights(sizes, 768 * 768 * element, 48);
	add_weights(sizes, 768 * 3072 * element, 24);
	sizes->closed = 1;
	return sizes;
}

TEST(logits_are_tokens_times_vocabulary)
{
	struct category_sizes *sizes = small_model(2);
	uint64_t figure[3];

	CHECK(!sizes_vocabulary(sizes, 1000ull * 50000 * 4, figure));
	sizes_number(sizes, 1000 * 768 * 2);
	CHECK(sizes_vocabulary(sizes, 1000ull * 50000 * 4, figure));
	CHECK_EQ(figure[0], 1000);
	CHECK_EQ(figure[1], 50000);
	CHECK_EQ(figure[2], 4);
	CHECK(sizes_vocabulary(sizes, 1000ull * 50000 * 2, figure));
	CHECK_EQ(figure[0], 1000);
	CHECK_EQ(figure[2], 2);
	CHECK(!sizes_vocabulary(sizes, 1000ull * 50000 * 2 + 2, figure));
	CHECK(!sizes_vocabulary(sizes, 1001ull * 50000 * 4, figure));
	CHECK(!sizes_vocabulary(sizes, 1000ull * 3072 * 2, figure));
	free(sizes);
}

TEST(tensors_of_half_the_weights_elements_count)
{
	struct category_sizes *sizes = small_model(4);
	uint64_t figure[3];

	sizes_number(sizes, 1000 * 768 * 2);
	CHECK(sizes_vocabulary(sizes, 1000ull * 50000 * 2, figure));
	/* Or half as many of 4 bytes: that the vectors are of 2 is not said anywhere. */
	CHECK_EQ(figure[0] * figure[2], 2000);
	CHECK(sizes_vocabulary(sizes, 1000ull * 50000 * 4, figure));
	CHECK_EQ(figure[0], 1000);
	CHECK_EQ(figure[2], 4);
	free(sizes);
}

TEST(sizes_have_numbers_until_something_is_computed)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t i;

	CHECK_EQ(sizes_number(sizes, 4096), 1);
	CHECK_EQ(sizes_number(sizes, 8192), 2);
	CHECK_EQ(sizes_number(sizes, 4096), 1);
	CHECK_EQ(sizes_number(sizes, SIZES_SMALLEST - 1), 0);
	sizes->closed = 1;
	CHECK_EQ(sizes_number(sizes, 12288), 0);
	CHECK(sizes_seen(sizes, 12288));
	CHECK(!sizes_seen(sizes, 12289));
	CHECK_EQ(sizes_find(sizes, 8192), 2);
	for (i = 1; i <= 3 * SIZES_SLOTS; i++)
		sizes_number(sizes, i << 20);
	CHECK(sizes->used < SIZES_SLOTS);
	CHECK_EQ(sizes_number(sizes, 4096), 1);
	CHECK(!sizes_seen(sizes, 3ull * SIZES_SLOTS << 20));
	free(sizes);
}

TEST(numbers_of_sizes_run_out)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t i;

	for (i = 1; i < SIZES_NUMBERS; i++)
		CHECK_EQ(sizes_number(sizes, i << 12), i < SIZES_NUMBERS ? (long)i : 0);
	CHECK_EQ(sizes_number(sizes, i << 12), 0);
	CHECK_EQ(sizes_number(sizes, 1 << 12), 1);
	free(sizes);
}

TEST(words_for_moments)
{
	static const struct {
		const char *word;
		enum moment_kind kind;
		uint32_t step;
		int64_t time;
	} good[] = {
		{ "peak", MOMENT_PEAK, 0, 0 },
		{ "oom", MOMENT_OOM, 0, 0 },
		{ "step:3", MOMENT_STEP, 3, 0 },
		{ "12.5s", MOMENT_TIME, 0, 12500000000 },
		{ "300ms", MOMENT_TIME, 0, 300000000 },
		{ "7us", MOMENT_TIME, 0, 7000 },
		{ "1500ns", MOMENT_TIME, 0, 1500 },
		{ "2min", MOMENT_TIME, 0, 120000000000 },
		{ "0s", MOMENT_TIME, 0, 0 },
	};
	static const char *const bad[] = {
		"",     "step", "step:", "step:0", "step:-1", "step:3x", "step:99999999999",      "5",   "s", "-1s",
		"infs", "nans", "0x10s", "1e3",    "5 s",     "5h",      "99999999999999999999s", "ooms"
	};
	struct moment moment;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_EQ(moment_parse(&moment, good[i].word), 0);
		CHECK_EQ(moment.kind, good[i].kind);
		CHECK_EQ(moment.step, good[i].step);
		CHECK_EQ(moment.time, good[i].time);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(moment_parse(&moment, bad[i]), -MT_E_ARGUMENT);
}

static struct callstack_frame native(const char *function, const char *module)
{
	return (struct callstack_frame){ .function = function, .file = "", .module = module, .native = 1 };
}

TEST(a_backward_is_named_by_its_node)
{
	struct callstack_frame frame[] = {
		native("c10::cuda::CUDACachingAllocator::Native::malloc(void**)", "/x/libc10_cuda.so"),
		native("at::detail::empty_generic(c10::ArrayRef<long>)", ""),
		native("torch::autograd::VariableType::(anonymous namespace)::mm(at::Tensor const&)", ""),
		native("torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", ""),
		native("torch::autograd::Node::operator()(std::vector<at::Tensor>&&)", ""),
		native("torch::autograd::Engine::thread_main(int)", ""),
	};
	struct callstack stack = { .frame = frame, .count = 6 };
	char text[256];

	CHECK_EQ(callstack_user_frame(&stack), 3);
	CHECK_STR(callstack_function(text, sizeof(text), &frame[3]), "MmBackward0");
	CHECK_STR(callstack_place(text, sizeof(text), &frame[3]), "autograd");
	frame[3] = native("torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", "");
	CHECK_EQ(callstack_user_frame(&stack), 3);
	CHECK_STR(callstack_function(text, sizeof(text), &frame[3]), "AccumulateGrad");
}

TEST(plumbing_is_nobodys_place)
{
	struct callstack_frame frame[] = {
		native("c10::cuda::CUDACachingAllocator::raw_alloc(unsigned long)", "/x/libc10_cuda.so"),
		native("at::native::empty_cuda(int)", "/x/libtorch_cuda.so"),
		native("flash::launch(Params&)", "/x/libflash.so"),
		native("execute_native_thread_routine", ""),
	};
	struct callstack stack = { .frame = frame, .count = 4 };
	char text[256];

	CHECK_EQ(callstack_user_frame(&stack), 2);
	CHECK_STR(callstack_place(text, sizeof(text), &frame[3]), "native code");
	stack.count = 2;
	CHECK_EQ(callstack_user_frame(&stack), 0);
	frame[3].function = "";
	frame[3].offset = 0x10;
	CHECK_STR(callstack_place(text, sizeof(text), &frame[3]), "0x10");
}

TEST_MAIN()
