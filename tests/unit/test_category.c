/* Sizes that tell of a vocabulary, words for moments, and the frame that a place is named after. */
#include <stdlib.h>
#include <string.h>
#include "engine/moment.h"
#include "label/category_sizes.h"
#include "memtrace/base.h"
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
	sizes_release(sizes);
	free(sizes);
}

/* Policy and reference have an embedding and a head each: four tables. A weight of each layer is none, even of few layers. */
TEST(several_models_have_several_vocabularies)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t figure[3];

	CHECK(sizes != NULL);
	add_weights(sizes, 64000 * 1024 * 2, 4);
	add_weights(sizes, 1024 * 2, 50);
	add_weights(sizes, 1024 * 4096 * 2, 6);
	sizes->closed = 1;
	sizes_number(sizes, 8192 * 1024 * 2);
	CHECK(sizes_vocabulary(sizes, 8192ull * 64000 * 4, figure));
	CHECK_EQ(figure[0], 8192);
	CHECK_EQ(figure[1], 64000);
	sizes->weights[sizes_find(sizes, 1024 * 2)] = 36;
	CHECK(sizes_vocabulary(sizes, 8192ull * 64000 * 4, figure));
	CHECK(!sizes_vocabulary(sizes, 8192ull * 4096 * 4, figure));
	sizes->weights[sizes_find(sizes, 1024 * 2)] = 31;
	CHECK(!sizes_vocabulary(sizes, 8192ull * 64000 * 4, figure));
	sizes_release(sizes);
	free(sizes);
}

/* A table of 125 MiB is in a block of 126. The number of words then follows from tokens with numbers of their own, or is not known. */
TEST(a_vocabulary_in_a_larger_block)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t figure[3];

	CHECK(sizes != NULL);
	add_weights(sizes, 126u << 20, 2);
	add_weights(sizes, 1024 * 2, 50);
	sizes->closed = 1;
	sizes_number(sizes, 8192 * 1024 * 2);
	CHECK(!sizes_vocabulary(sizes, 8192ull * 64000 * 4, figure));
	sizes_number(sizes, 8192 * 8);
	CHECK(sizes_vocabulary(sizes, 8192ull * 64000 * 4, figure));
	CHECK_EQ(figure[0], 8192);
	CHECK_EQ(figure[1], 64000);
	CHECK(!sizes_vocabulary(sizes, 8192ull * 63999 * 4, figure));
	CHECK(!sizes_vocabulary(sizes, 8192ull * 64000 * 4 + 512, figure));
	sizes_release(sizes);
	free(sizes);
}

/* Actor and critic of 128, 1024, 1024: what a layer makes of 2,048 rows is none of a vocabulary of 1,024. */
TEST(a_square_weight_is_no_vocabulary)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t figure[3];

	CHECK(sizes != NULL);
	add_weights(sizes, 128 * 1024 * 4, 2);
	add_weights(sizes, 1024 * 1024 * 4, 2);
	add_weights(sizes, 1024 * 4, 4);
	sizes->closed = 1;
	sizes_number(sizes, 2048 * 128 * 4);
	sizes_number(sizes, 2048 * 1024 * 4);
	CHECK(!sizes_vocabulary(sizes, 2048ull * 1024 * 4, figure));
	sizes_release(sizes);
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
	sizes_release(sizes);
	free(sizes);
}

/* The loss of 999 of 1,000 tokens (a sequence's last has no next), of 32,000 words; layers have sizes as large dozens of times. */
TEST(logits_have_the_size_of_what_the_loss_makes)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t loss = 999ull * 32000 * 4, figure[3];

	CHECK(!sizes_of_loss(sizes, loss, 1, figure));
	sizes_note_loss(sizes, 4);
	CHECK_EQ(sizes->losses, 0);
	sizes_note_loss(sizes, loss);
	sizes_note_loss(sizes, 999 * 128); /* a mask of the loss is none */
	CHECK(sizes_of_loss(sizes, loss, 1, figure) && figure[0] == loss && !figure[1]);
	CHECK(sizes_of_loss(sizes, loss / 2, 1, figure));
	CHECK(sizes_of_loss(sizes, 1000ull * 32000 * 4, 2, figure));
	CHECK(!sizes_of_loss(sizes, 1000ull * 32000 * 4, 3, figure));
	CHECK(!sizes_of_loss(sizes, 1000ull * 5632 * 4, 1, figure));
	CHECK(!sizes_of_loss(sizes, loss + 512, 1, figure));
	CHECK(!sizes_of_loss(sizes, 999 * 128, 1, figure));
	sizes_release(sizes);
	free(sizes);
}

TEST(the_largest_of_many_losses_are_kept)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t i, figure[3];

	for (i = 1; i <= 4 * SIZES_LOSSES; i++)
		sizes_note_loss(sizes, (100 + i) << 20);
	CHECK_EQ(sizes->losses, SIZES_LOSSES);
	CHECK(sizes_of_loss(sizes, (100ull + 4 * SIZES_LOSSES) << 20, 1, figure));
	CHECK(!sizes_is_of_loss(sizes, 101 << 20));
	sizes_release(sizes);
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
	sizes_release(sizes);
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
	sizes_release(sizes);
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

/* The stack of these frames; release it. */
static struct callstack stack_of(const struct callstack_frame *frame, size_t count)
{
	struct callstack stack = { .count = 0 };
	size_t i;

	for (i = 0; i < count; i++)
		CHECK_EQ(callstack_append(&stack, &frame[i]), 0);
	return stack;
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
	struct callstack stack = stack_of(frame, 6);
	char text[256];

	CHECK_EQ(callstack_user_frame(&stack), 3);
	CHECK_STR(callstack_function(text, sizeof(text), &frame[3]), "MmBackward0");
	CHECK_STR(callstack_place(text, sizeof(text), &frame[3]), "autograd");
	frame[3] = native("torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", "");
	CHECK_EQ(callstack_user_frame(&stack), 3);
	CHECK_STR(callstack_function(text, sizeof(text), &frame[3]), "AccumulateGrad");
	callstack_release(&stack);
}

TEST(plumbing_is_nobodys_place)
{
	struct callstack_frame frame[] = {
		native("c10::cuda::CUDACachingAllocator::raw_alloc(unsigned long)", "/x/libc10_cuda.so"),
		native("at::native::empty_cuda(int)", "/x/libtorch_cuda.so"),
		native("flash::launch(Params&)", "/x/libflash.so"),
		native("execute_native_thread_routine", ""),
	};
	struct callstack stack = stack_of(frame, 4);
	char text[256];

	CHECK_EQ(callstack_user_frame(&stack), 2);
	CHECK_STR(callstack_place(text, sizeof(text), &frame[3]), "native code");
	stack.count = 2;
	CHECK_EQ(callstack_user_frame(&stack), 0);
	frame[3].function = "";
	frame[3].offset = 0x10;
	CHECK_STR(callstack_place(text, sizeof(text), &frame[3]), "0x10");
	callstack_release(&stack);
}

static struct callstack_frame in_source(const char *function, const char *file)
{
	struct callstack_frame frame = native(function, "");

	frame.file = file;
	return frame;
}

/* The library of a snapshot's native frame is unknown: names and sources tell the interpreter from a library. */
TEST(an_interpreter_without_a_module_is_plumbing)
{
	struct callstack_frame plumbing[] = {
		native("cfunction_vectorcall_NOARGS.llvm.17104391946697789317", ""),
		native("run_eval_code_obj", ""),
		native("slot_tp_call", ""),
		native("??", ""),
		native("_object* torch::autograd::TypeError_to_NotImplemented_<&f>(_object*)", ""),
		native("auto at::native::_efficient_attention_forward(at::Tensor const&)", ""),
		in_source("do_raise", "/usr/local/src/conda/python-3.10.14/Python/ceval.c"),
		in_source("task_step_impl", "/build/Python-3.12.1/Modules/_asynciomodule.c"),
		in_source("list_extend", "./../Objects/listobject.c"),
	};
	struct callstack_frame named[] = {
		native("ncclCommInitRank", ""),
		native("slot_tp_call(kernels::Slot)", ""), /* no function in C */
		native("void flash::launch<at::Half>(Params&)", ""),
		in_source("run_mod", "/home/me/ext/mod.c"),
		in_source("fill", "/home/me/Modules/fill.c"),
		in_source("fill", "/home/me/python-3.11/ext/fill.c"),
		native("list_extend", "/x/libfast.so"),
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(plumbing); i++)
		CHECK(callstack_is_plumbing(&plumbing[i]));
	for (i = 0; i < MT_ARRAY_SIZE(named); i++)
		CHECK(!callstack_is_plumbing(&named[i]));
}

static struct callstack_frame python(const char *function, const char *file, unsigned line)
{
	return (struct callstack_frame){ .function = function, .file = file, .module = "", .line = line };
}

/* The stack outermost last, the place and function that it should have. */
static void check_place(struct callstack_frame *frame, size_t count, const char *place, const char *function)
{
	struct callstack stack = stack_of(frame, count);
	size_t user = callstack_user_frame(&stack), i;
	char text[512];

	CHECK(user < count);
	CHECK_STR(callstack_place_of(text, sizeof(text), &stack, user), place);
	for (i = 0; i < count; i++) /* the result learned of a frame is the result seen of it */
		callstack_learn(&frame[i]);
	CHECK_EQ(callstack_user_frame(&stack), user);

	CHECK(user < count);
	CHECK_STR(callstack_place_of(text, sizeof(text), &stack, user), place);
	CHECK_STR(callstack_function_of(text, sizeof(text), &stack, user), function);
	callstack_release(&stack);
	for (i = 0; i < count; i++)
		frame[i].learned = 0;
}

#define PACKAGES "/opt/venv/lib/python3.11/site-packages/"

/* TRL's kernel under a script of one line, as the issue has it; nothing that autograd or modules put between counts. */
TEST(a_library_under_the_users_line_tells_things_apart)
{
	struct callstack_frame frame[] = {
		python("mm", PACKAGES "torch/functional.py", 377),
		python("ChunkedLogProbFunction.backward", PACKAGES "trl/kernels/chunked_logprob.py", 413),
		python("BackwardCFunction.apply", PACKAGES "torch/autograd/function.py", 307),
		python("_engine_run_backward", PACKAGES "torch/autograd/graph.py", 823),
		python("Tensor.backward", PACKAGES "torch/_tensor.py", 626),
		python("Accelerator.backward", PACKAGES "accelerate/accelerator.py", 2740),
		python("Trainer.train", PACKAGES "transformers/trainer.py", 2206),
		python("<module>", "/home/me/sft.py", 19),
		python("_run_code", "<frozen runpy>", 88),
	};

	check_place(frame, 9, "sft.py:19 > trl/kernels/chunked_logprob.py:413", "ChunkedLogProbFunction.backward");
	check_place(frame + 2, 7, "sft.py:19 > accelerate/accelerator.py:2740", "Accelerator.backward");
	check_place(frame + 7, 2, "sft.py:19", "<module>");
	check_place(frame, 7, "trl/kernels/chunked_logprob.py:413", "ChunkedLogProbFunction.backward");
}

/* A snapshot of a fine-tuning in a notebook: the layer, not the hook and the module around it; and the cell. */
TEST(wrappers_and_modules_are_plumbing)
{
	struct callstack_frame frame[] = {
		python("silu", PACKAGES "torch/nn/functional.py", 2072),
		python("forward", PACKAGES "torch/nn/modules/activation.py", 393),
		python("_call_impl", PACKAGES "torch/nn/modules/module.py", 1527),
		python("forward", PACKAGES "transformers/models/llama/modeling_llama.py", 216),
		python("new_forward", PACKAGES "accelerate/hooks.py", 166),
		python("inner", "/opt/venv/lib/python3.11/contextlib.py", 81),
		python("<module>", "/tmp/ipykernel_17/3105878423.py", 21),
	};

	check_place(frame, 7, "cell 3105878423:21 > transformers/.../modeling_llama.py:216", "forward");
	check_place(frame + 4, 3, "cell 3105878423:21", "<module>");
	frame[6].file = "<ipython-input-12-0a1b2c3d>";
	check_place(frame + 4, 3, "In [12]:21", "<module>");
	frame[6].file = "<stdin>";
	check_place(frame + 4, 3, "<stdin>:21", "<module>");
	/* Without anything else the layer is better than nothing. */
	check_place(frame, 3, "torch/nn/functional.py:2072", "silu");
}

static const char *work_of(struct callstack_frame *frame, size_t count)
{
	static char text[256];
	struct callstack stack = stack_of(frame, count);

	callstack_work(text, sizeof(text), &stack, callstack_user_frame(&stack));
	callstack_release(&stack);
	return text;
}

/* A layer of PyTorch names the work and no place; a container of layers and the call of a module name neither. */
TEST(layers_name_the_work)
{
	struct callstack_frame frame[] = {
		native("at::_ops::_softmax::call(at::Tensor const&)", "/opt/libtorch_cpu.so"),
		python("softmax", PACKAGES "torch/nn/functional.py", 1841),
		python("MultiheadAttention.forward", PACKAGES "torch/nn/modules/activation.py", 1167),
		python("Module._call_impl", PACKAGES "torch/nn/modules/module.py", 1194),
		python("Sequential.forward", PACKAGES "torch/nn/modules/container.py", 204),
		python("Module._call_impl", PACKAGES "torch/nn/modules/module.py", 1194),
		python("<module>", "/home/me/mytrain.py", 8),
	};
	static const int is_plumbing[] = { 1, 0, 0, 1, 1, 1, 0 };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(frame); i++)
		CHECK_EQ(callstack_is_plumbing(&frame[i]), is_plumbing[i]);
	check_place(frame, 7, "mytrain.py:8", "<module>");
	CHECK_STR(work_of(frame, 7), "softmax");
	CHECK_STR(work_of(frame + 2, 5), "MultiheadAttention.forward");
	CHECK_STR(work_of(frame + 3, 4), "<module>");
	frame[1] = frame[6];
	CHECK_STR(work_of(frame, 2), "_softmax");
}

TEST(the_name_of_a_module_in_another)
{
	static const char *const words[][2] = { { "layers.*.self_attn", "self_attn" }, { "model.layers.*", "layers.*" },
						{ "a.experts.*.*", "experts.*.*" },    { "*", "*" },
						{ "Sequential#1", "Sequential#1" },    { "Net > Layer *", "Layer *" },
						{ "layers.* > Softmax", "Softmax" } };
	struct callstack_frame frame = { .function = "forward", .file = "", .module = "" };
	size_t i;

	CHECK(!callstack_submodule(&frame));
	for (i = 0; i < MT_ARRAY_SIZE(words); i++) {
		frame.submodule = words[i][0];
		CHECK_STR(callstack_submodule(&frame), words[i][1]);
	}
}

/* The machinery of a notebook's cells is no more the program than the machinery of a script. */
TEST(a_notebook_is_run_by_plumbing)
{
	struct callstack_frame frame[] = {
		python("<module>", "/tmp/ipykernel_17/3105878423.py", 21),
		python("run_cell", PACKAGES "ipykernel/zmqshell.py", 549),
		python("start", PACKAGES "tornado/platform/asyncio.py", 195),
		python("launch_instance", PACKAGES "traitlets/config/application.py", 1046),
		python("run_ast_nodes", "/opt/lib/python3.11/dist-packages/IPython/core/interactiveshell.py", 3256),
		python("<module>", PACKAGES "ipykernel_launcher.py", 17),
	};
	size_t i;

	CHECK(!callstack_is_plumbing(&frame[0]));
	for (i = 1; i < MT_ARRAY_SIZE(frame); i++)
		CHECK(callstack_is_plumbing(&frame[i]));
}

/* The optimizer's state and its working memory are two places, also under the user's own loop. */
TEST(an_optimizers_lines_are_places)
{
	struct callstack_frame frame[] = {
		python("Adam._init_group", PACKAGES "torch/optim/adam.py", 111),
		python("Adam.step", PACKAGES "torch/optim/adam.py", 166),
		python("Optimizer.profile_hook_step.<locals>.wrapper", PACKAGES "torch/optim/optimizer.py", 385),
		python("main", "/home/me/torch/train.py", 66),
	};

	check_place(frame, 4, "train.py:66 > torch/optim/adam.py:111", "Adam._init_group");
	check_place(frame + 2, 2, "train.py:66", "main");
	frame[0].file = "/opt/pytorch/torch/optim/adam.py";
	check_place(frame, 4, "train.py:66 > torch/optim/adam.py:111", "Adam._init_group");
}

#define HASH "cabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs"

TEST(compiled_code_goes_by_what_it_was_made_from)
{
	struct callstack_frame frame[] = {
		python("call", "/tmp/torchinductor_me/ab/" HASH ".py", 213),
		python("CompiledFxGraph.__call__", PACKAGES "torch/_inductor/output_code.py", 460),
		python("_TorchDynamoContext.__call__.<locals>._fn", PACKAGES "torch/_dynamo/eval_frame.py", 663),
		python("LlamaMLP.forward", PACKAGES "transformers/models/llama/modeling_llama.py", 176),
		python("main", "/home/me/train.py", 30),
	};

	check_place(frame, 5, "train.py:30 > compiled code:213 of transformers/.../modeling_llama.py:176",
		    "LlamaMLP.forward");
	frame[3] = python("Block.forward", "/home/me/model.py", 12);
	check_place(frame, 5, "model.py:12 > compiled code:213", "Block.forward");
	frame[0].file = "/scratch/cache/ab/" HASH ".py"; /* TORCHINDUCTOR_CACHE_DIR */
	check_place(frame, 5, "model.py:12 > compiled code:213", "Block.forward");
	frame[0].file = "/scratch/cache/ab/sorted.py";
	check_place(frame, 5, "sorted.py:213", "call");
}

/* A made trace with as many tables and widths as there is room for: what one settling tries has an end. */
TEST(tables_of_inexact_size_are_tried_a_bounded_number_of_times)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t figure[3];
	uint32_t i, most;

	for (i = 0; i < 120; i++) {
		add_weights(sizes, (uint64_t)(2 * i + 5) << 21, 1);
		add_weights(sizes, 1024 + 512 * i, 8);
	}
	for (i = 0; i < 40; i++)
		sizes_vocabulary(sizes, ((uint64_t)100 << 20) + 2 * i + 1, figure);
	most = sizes->tried;
	CHECK(most >= 1u << 24 && most < (1u << 24) + 1025);
	sizes_vocabulary(sizes, ((uint64_t)200 << 20) + 1, figure);
	CHECK(sizes->tried == most);
	sizes_release(sizes);
	free(sizes);
}

/* Anomaly detection in a snapshot: the engine itself calls an operation, and no node of the backward does. */
TEST(an_operation_is_better_than_the_allocator)
{
	struct callstack_frame frame[] = {
		native("c10::cuda::CUDACachingAllocator::Native::malloc(void**)", "/x/libc10_cuda.so"),
		native("at::_ops::ne_Tensor::call(at::Tensor const&, at::Tensor const&)", "/x/libtorch_cpu.so"),
		native("at::native::isnan(at::Tensor const&)", "/x/libtorch_cpu.so"),
		native("at::_ops::isnan::call(at::Tensor const&)", "/x/libtorch_cpu.so"),
		native("torch::autograd::Engine::thread_main(int)", "/x/libtorch_cpu.so"),
		native("__clone3", "/usr/lib/libc.so.6"),
	};

	check_place(frame, 6, "an operation of PyTorch", "isnan");
	frame[4] = native("void torch::autograd::validate_outputs_impl<Edge>(int)", "/x/libtorch_cpu.so");
	check_place(frame, 6, "an operation of PyTorch", "isnan");
}

TEST_MAIN()
