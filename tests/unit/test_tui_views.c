/* The views of a place, of the flame and of answers; the flame's tree and boxes against brute force. */
#include "screen/draw/flame.h"
#include "screen/view/flame_stack.h"

#include "trace_kit.h"
#include "tui_kit.h"

/* ---- random stacks ------------------------------------------------------------------------------------------------- */

#define STACKS 60u
#define DEPTH 7u
#define NAMES 5u

static const struct callstack_frame names[NAMES] = {
	{ .function = "a", .file = "x.py", .module = "", .line = 1 },
	{ .function = "a", .file = "x.py", .module = "", .line = 2 },
	{ .function = "b", .file = "x.py", .module = "", .line = 1 },
	{ .function = "", .file = "", .module = "lib.so", .offset = 1 },
	{ .function = "", .file = "", .module = "lib.so", .offset = 2 },
};

/* Equal frames at another address: they are told apart by what they say. */
static struct callstack_frame twins[NAMES];

struct random_stack {
	const struct callstack_frame *frame[DEPTH];
	unsigned name[DEPTH];
	struct flame_stack stack;
};

static void make_stacks(struct random_stack *stacks, struct kit_random *random)
{
	unsigned i, k;

	memcpy(twins, names, sizeof(twins));
	for (i = 0; i < STACKS; i++) {
		stacks[i].stack = (struct flame_stack){ .frame = stacks[i].frame,
							.frames = kit_below(random, DEPTH + 1),
							.bytes = 1 + kit_next(random) %
									     (kit_below(random, 3) ? 50 : 1000000),
							.count = 1 + kit_below(random, 3),
							.site = i + 1,
							.layer = (uint32_t)kit_below(random, SERIES_LAYERS_MAX) };
		for (k = 0; k < stacks[i].stack.frames; k++) {
			stacks[i].name[k] = (unsigned)kit_below(random, NAMES);
			stacks[i].frame[k] = kit_below(random, 2) ? &names[stacks[i].name[k]]
								  : &twins[stacks[i].name[k]];
		}
	}
}

static void make_flame(struct flame *flame, const struct random_stack *stacks, unsigned count)
{
	unsigned i;

	CHECK_EQ(flame_begin(flame), 0);
	for (i = 0; i < count; i++)
		CHECK_EQ(flame_add(flame, &stacks[i].stack), 0);
	flame_finish(flame);
}

static int begins_like(const struct random_stack *one, const struct random_stack *two, size_t depth)
{
	return two->stack.frames >= depth && !memcmp(one->name, two->name, depth * sizeof(*one->name));
}

/* The node of the first frames of a stack, found by walking. */
static uint32_t node_of(const struct flame *flame, const struct random_stack *stack, size_t depth)
{
	uint32_t node = FLAME_ROOT, child;
	size_t i;

	for (i = 0; i < depth; i++) {
		for (child = flame->node[node].child; child; child = flame->node[child].next)
			if (flame->node[child].frame == &names[stack->name[i]] ||
			    flame->node[child].frame == &twins[stack->name[i]])
				break;
		CHECK(child);
		node = child;
	}
	return node;
}

/* Every prefix of every stack is one node, and holds what all stacks that begin like it hold. */
static void check_node(const struct flame *flame, const struct random_stack *stacks, unsigned which, size_t depth)
{
	const struct flame_node *node = &flame->node[node_of(flame, &stacks[which], depth)];
	uint64_t bytes = 0, own = 0, count = 0, layer[SERIES_LAYERS_MAX] = { 0 };
	unsigned i;

	for (i = 0; i < STACKS; i++) {
		if (!begins_like(&stacks[which], &stacks[i], depth))
			continue;
		bytes += stacks[i].stack.bytes;
		count += stacks[i].stack.count;
		layer[stacks[i].stack.layer] += stacks[i].stack.bytes;
		own += stacks[i].stack.frames == depth ? stacks[i].stack.bytes : 0;
	}
	CHECK_EQ(node->bytes, bytes);
	CHECK_EQ(node->own, own);
	CHECK_EQ(node->count, count);
	CHECK(!memcmp(node->layer, layer, sizeof(layer)));
	for (i = 0; i < SERIES_LAYERS_MAX; i++)
		CHECK(layer[i] <= layer[flame_layer(node)]);
}

TEST(the_tree_adds_up)
{
	struct random_stack stacks[STACKS];
	struct kit_random random = { 1 };
	struct flame flame = { 0 };
	uint64_t sum;
	unsigned round, i;
	uint32_t node, child;
	size_t depth;

	for (round = 0; round < 200; round++) {
		make_stacks(stacks, &random);
		make_flame(&flame, stacks, STACKS);
		for (i = 0; i < STACKS; i++)
			for (depth = 0; depth <= stacks[i].stack.frames; depth++)
				check_node(&flame, stacks, i, depth);
		for (node = FLAME_ROOT; node < flame.nodes; node++) {
			sum = flame.node[node].own;
			for (child = flame.node[node].child; child; child = flame.node[child].next) {
				sum += flame.node[child].bytes;
				CHECK_EQ(flame.node[child].parent, node);
				CHECK(!flame.node[child].next ||
				      flame.node[child].bytes >= flame.node[flame.node[child].next].bytes);
			}
			CHECK_EQ(flame.node[node].bytes, sum);
		}
	}
	flame_release(&flame);
}

/* ---- boxes ---- */

/* Below each box lie boxes that, with its own bytes, are all of it; inside it, one beside the other. */
static void check_below(const struct flame *flame, const struct flame_layout *layout, uint32_t above)
{
	const struct flame_box *parent = &layout->box[above], *box;
	const struct flame_node *node = &flame->node[parent->part.node];
	uint64_t all, sum = parent->part.rest ? 0 : node->own;
	uint32_t i, children = 0, ignored;
	int x = parent->x;

	all = flame_bytes(flame, parent->part, &ignored);
	for (i = above + 1; i < layout->boxes; i++) {
		box = &layout->box[i];
		if (box->above != above)
			continue;
		CHECK_EQ(box->depth, parent->depth + 1);
		CHECK(box->width >= 1 && box->x == x);
		x += box->width;
		sum += flame_bytes(flame, box->part, &ignored);
		children++;
		if (!box->part.rest) /* as wide as it is large, to a column */
			CHECK((double)box->width <=
			      (double)flame->node[box->part.node].bytes / (double)all * parent->width + 1.001);
	}
	CHECK(x <= parent->x + parent->width);
	if (parent->part.rest && above) {
		CHECK_EQ(children, 0);
		return;
	}
	CHECK_EQ(sum, all);
	if (children && (parent->part.rest || !node->own)) /* nothing is blank but what stacks that end here hold */
		CHECK_EQ(x, parent->x + parent->width);
}

TEST(boxes_have_every_byte)
{
	struct random_stack stacks[STACKS];
	struct kit_random random = { 2 };
	struct flame flame = { 0 };
	struct flame_layout layout = { 0 };
	struct flame_part top;
	unsigned round;
	uint32_t i, ignored;
	int width;

	for (round = 0; round < 300; round++) {
		make_stacks(stacks, &random);
		make_flame(&flame, stacks, 1 + (unsigned)kit_below(&random, STACKS));
		width = 1 + (int)kit_below(&random, 200);
		top = (struct flame_part){ FLAME_ROOT + (uint32_t)kit_below(&random, flame.nodes - FLAME_ROOT), 0 };
		CHECK_EQ(flame_lay_out(&layout, &flame, top, width), 0);
		CHECK_EQ(layout.box[0].width, width);
		for (i = 0; i < layout.boxes; i++) {
			check_below(&flame, &layout, i);
			CHECK(flame_bytes(&flame, layout.box[i].part, &ignored) > 0);
			CHECK_EQ(flame_box_of(&layout, &flame, layout.box[i].part), i);
			CHECK(layout.box[i].depth < layout.depth);
		}
	}
	flame_layout_release(&layout);
	flame_release(&flame);
}

/* Two hundred children of one size, ten columns: whoever goes on into the smaller ones meets them all. */
TEST(the_smaller_ones_can_be_reached)
{
	static struct callstack_frame frame[200];
	static char name[200][8];
	const struct callstack_frame *one;
	struct flame flame = { 0 };
	struct flame_layout layout = { 0 };
	struct flame_part top = { FLAME_ROOT, 0 };
	struct flame_stack stack = { .frame = &one, .frames = 1, .bytes = 10, .count = 1 };
	uint32_t i, seen = 0, children, rounds;

	CHECK_EQ(flame_begin(&flame), 0);
	for (i = 0; i < 200; i++) {
		snprintf(name[i], sizeof(name[i]), "f%u", i);
		frame[i] = (struct callstack_frame){ .function = name[i], .file = "", .module = "" };
		one = &frame[i];
		CHECK_EQ(flame_add(&flame, &stack), 0);
	}
	flame_finish(&flame);
	for (rounds = 0; top.node && rounds < 100; rounds++) {
		CHECK_EQ(flame_lay_out(&layout, &flame, top, 10), 0);
		top.node = 0;
		for (i = 1; i < layout.boxes; i++) {
			if (layout.box[i].part.rest) {
				flame_bytes(&flame, layout.box[i].part, &children);
				CHECK(children);
				top = layout.box[i].part;
			} else {
				seen++;
			}
		}
		check_below(&flame, &layout, 0);
	}
	CHECK_EQ(seen, 200);
	flame_layout_release(&layout);
	flame_release(&flame);
}

TEST(a_part_is_found_again)
{
	struct random_stack stacks[STACKS];
	struct kit_random random = { 3 };
	struct flame old = { 0 }, flame = { 0 };
	struct flame_part found;
	uint32_t node;
	unsigned round, i;

	for (round = 0; round < 50; round++) {
		make_stacks(stacks, &random);
		make_flame(&old, stacks, STACKS);
		make_flame(&flame, stacks + STACKS / 2, STACKS / 2); /* other numbers, and some are gone */
		for (i = STACKS / 2; i < STACKS; i++) {
			node = node_of(&old, &stacks[i], stacks[i].stack.frames);
			found = flame_same_part(&flame, &old, (struct flame_part){ node, 0 });
			CHECK_EQ(found.node, node_of(&flame, &stacks[i], stacks[i].stack.frames));
		}
		for (node = 0; node < old.nodes + 2; node++) { /* the others are somewhere above */
			found = flame_same_part(&flame, &old, (struct flame_part){ node, 3 });
			CHECK(found.node >= FLAME_ROOT && found.node < flame.nodes);
		}
	}
	flame_release(&old);
	flame_release(&flame);
}

TEST(deep_stacks_are_laid_out)
{
	static struct callstack_frame frame[5000];
	static const struct callstack_frame *at[5000];
	struct flame_stack stack = { .frame = at, .frames = 5000, .bytes = 10, .count = 1 };
	struct flame flame = { 0 };
	struct flame_layout layout = { 0 };
	unsigned i;

	for (i = 0; i < 5000; i++) {
		frame[i] = (struct callstack_frame){ .function = "f", .file = "", .module = "", .line = i };
		at[i] = &frame[i];
	}
	CHECK_EQ(flame_begin(&flame), 0);
	CHECK_EQ(flame_add(&flame, &stack), 0);
	flame_finish(&flame);
	CHECK_EQ(flame_lay_out(&layout, &flame, (struct flame_part){ FLAME_ROOT, 0 }, 80), 0);
	CHECK_EQ(layout.depth, 5001);
	CHECK_EQ(flame_same_part(&flame, &flame, (struct flame_part){ flame.nodes - 1, 0 }).node, flame.nodes - 1);
	flame_layout_release(&layout);
	flame_release(&flame);
}

/* ---- screens ------------------------------------------------------------------------------------------------------- */

static struct kit *open_run(int width, int height, int colours, int ascii)
{
	struct kit *kit = kit_open(kit_rl_run(), NULL);

	kit_screen(kit, width, height, colours, ascii);
	return kit;
}

static int count_words(struct kit *kit, const char *words)
{
	char *text = kit_dump(kit), *at = text;
	int count = 0;

	for (; (at = strstr(at, words)); at++)
		count++;
	free(text);
	return count;
}

TEST(a_place_tells_what_it_is)
{
	struct kit *kit = open_run(120, 40, 256, 0);

	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "allocate_kv_cache (engine.py:88)"));
	CHECK(kit_shows(kit, "26.0 GiB in 1 allocation at 7.2 s; the most was 26.0 GiB at 880.0 ms"));
	CHECK(kit_shows(kit, "allocated in rollout, kv cache, owner pytorch, pid 4711"));
	CHECK(kit_shows(kit, "▸ generate"));
	CHECK(kit_shows(kit, "each lives 800.0 ms; freed by allocate_kv_cache (engine.py:88)."));
	CHECK_EQ(count_words(kit, "never freed"), 0);
	kit_keys(kit, "q j Enter");
	CHECK(kit_shows(kit, "load_layer (model.py:56)"));
	CHECK(kit_shows(kit, "because: "));
	CHECK(kit_shows(kit, "14 allocations, 1.0 GiB each, none was ever freed."));
	kit_close(kit);
}

/* ---- a place with many stacks ---- */

#define CALLERS 12

/* One line that is called from 12 others: caller i holds i MiB in i allocations. The second one comes through dropout. */
static struct kit *open_callers(int width, int height)
{
	struct builder m;
	uint32_t main;
	struct kit *kit;
	uint64_t i, k, at = 0x100000000;

	kit_go_apart();
	builder_open(&m, "callers.zst", 100, -1);
	builder_phase(&m, "forward");
	main = builder_python(&m, 0, "main", "/home/me/train.py", 9);
	for (i = 1; i <= CALLERS; i++) {
		m.stack = builder_python(&m, main, i == 2 ? "dropout" : "block", "/home/me/model.py",
					 (uint32_t)(100 + i));
		m.stack = builder_python(&m, m.stack, "linear", "/opt/site-packages/torch/nn/modules/linear.py", 125);
		for (k = 0; k < i; k++, at += 2 * MIB)
			builder_driver_alloc(&m, at, MIB);
	}
	builder_close(&m);
	kit = kit_open("callers.zst", NULL);
	for (i = 1; i < kit->model.sites; i++) { /* a helper that a person calls one place */
		kit->model.site[i].function = model_text(&kit->model, "linear");
		kit->model.site[i].place = model_text(&kit->model, "linear.py:125");
	}
	kit->model.edition++;
	kit_screen(kit, width, height, 256, 0);
	return kit;
}

TEST(a_place_has_all_its_stacks)
{
	struct kit *kit = open_callers(100, 60);
	char words[64];
	int i;

	CHECK_EQ(kit->app.live.rows, 1);
	CHECK_EQ(kit->app.live.row[0].bytes, CALLERS * (CALLERS + 1) / 2 * MIB);
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "78.0 MiB in 78 allocations at"));
	CHECK(kit_shows(kit, "12 stacks, innermost first"));
	CHECK(kit_shows(kit, "  78.0 MiB   linear"));
	for (i = CALLERS; i > 9; i--) { /* the largest first */
		snprintf(words, sizeof(words), "  %d.0 MiB   \342\226\270 block", i);
		CHECK(kit_shows(kit, words));
	}
	kit_keys(kit, "/");
	kit_type(kit, "dropout");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "   2.0 MiB   \342\226\270 dropout"));
	kit_keys(kit, "0");
	app_go(&kit->app, 0);
	kit_draw(kit);
	CHECK(kit_shows(kit, "12 stacks, innermost first; none is alive at the cursor"));
	kit_close(kit);
}

/* The largest stack of the row has not got the words; another one has. */
TEST(a_search_looks_at_all_stacks_of_a_row)
{
	struct kit *kit = open_callers(80, 24);

	kit_keys(kit, "/");
	kit_type(kit, "dropout");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "\"dropout\": 1 of 1"));
	CHECK(kit->app.live.row[0].is_found);
	kit_keys(kit, "/");
	kit_type(kit, "nowhere");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "no stack of what is alive here has \"nowhere\" in it"));
	CHECK(!kit->app.live.row[0].is_found);
	kit_keys(kit, "f");
	kit_type(kit, "dropout");
	kit_keys(kit, "Enter Enter");
	CHECK(kit_shows(kit, "2.0 MiB in 2 allocations at")); /* as the row has it */
	kit_close(kit);
}

TEST(a_place_follows_the_cursor)
{
	struct kit *kit = open_run(80, 24, 0, 1);

	kit_keys(kit, "Enter Left");
	CHECK(kit_shows(kit, " at 7.0 s"));
	kit_keys(kit, "{ {");
	CHECK(kit_shows(kit, "0 B at "));
	kit_keys(kit, "Tab G Enter"); /* its first life */
	CHECK_EQ(kit->app.scale.cursor / 10000000, 88);
	CHECK(kit_shows(kit, "26.0 GiB in 1 allocation at 880.0 ms"));
	kit_mouse(kit, MOUSE_PRESS, 0, 5);
	CHECK_EQ(kit->app.scale.cursor, kit->app.scale.from);
	kit_keys(kit, "Tab g Enter"); /* the stack: tells where the frame is */
	CHECK(kit_shows(kit, "engine.py:88"));
	kit_close(kit);
}

TEST(the_flame_is_walked_and_zoomed)
{
	struct kit *kit = open_run(100, 30, 0, 1);

	kit_keys(kit, "t");
	CHECK(kit_shows(kit, "77.0 GiB  100%  all"));
	CHECK(kit_shows(kit, "|main rrr"));
	CHECK(kit_shows(kit, "|allocator slack ~~")); /* a subtree of its own */
	kit_keys(kit, "Down Right");
	CHECK(kit_shows(kit, "21.0 GiB  27%  allocator slack"));
	kit_keys(kit, "Left Down Right");
	CHECK(kit_shows(kit, "14.0 GiB  18%  init_model"));
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "|init_model iii"));
	CHECK_EQ(count_words(kit, "generate"), 0);
	kit_keys(kit, "Down");
	CHECK(kit_shows(kit, "14.0 GiB  18% (100% of what is shown)  load_layer"));
	CHECK(kit_shows(kit, "model.py:56"));
	kit_keys(kit, "q");
	CHECK(kit_shows(kit, "|generate rrr"));
	CHECK(kit_shows(kit, "14.0 GiB  18%  init_model"));
	kit_keys(kit, "Up Up Up Down Down"); /* not beyond the top; the largest first */
	CHECK(kit_shows(kit, "26.0 GiB  34%  generate"));
	kit_mouse(kit, MOUSE_DOUBLE, 40, 3);
	CHECK(kit_shows(kit, "|init_model iii"));
	kit_keys(kit, "q q");
	CHECK(!strcmp(kit->app.view->ops->name, "timeline"));
	kit_close(kit);
}

/* Frames of an interpreter, of a framework's modules, of a library that has a name, of the allocator: outermost last. */
static const struct callstack_frame mixed[] = {
	{ .function = "c10::cuda::malloc", .file = "", .module = "/opt/torch/lib/libc10_cuda.so", .native = 1 },
	{ .function = "at::empty", .file = "", .module = "/opt/torch/lib/libtorch_cpu.so", .native = 1 },
	{ .function = "flash_attn_fwd", .file = "", .module = "/opt/libflash.so", .native = 1 },
	{ .function = "_PyEval_EvalFrameDefault", .file = "", .module = "/usr/bin/python3.11", .native = 1 },
	{ .function = "Attention.forward", .file = "/home/me/model.py", .module = "", .line = 12 },
	{ .function = "_call_impl", .file = "/opt/site-packages/torch/nn/modules/module.py", .module = "", .line = 9 },
	{ .function = "", .file = "", .module = "", .elided = 1 },
	{ .function = "main", .file = "/home/me/train.py", .module = "", .line = 3 },
	{ .function = "__libc_start_call_main", .file = "", .module = "/lib/libc.so.6", .native = 1 },
	{ .function = "_start", .file = "", .module = "/usr/bin/python3.11", .native = 1 },
};

/* The functions of the rows, with blanks between them. */
static const char *rows_of(const struct callstack_frame *frames, size_t count, int slack, int all)
{
	static char words[512];
	static const struct callstack_frame *row[FLAME_STACK_MAX];
	const struct callstack_frame *frame[MT_ARRAY_SIZE(mixed)];
	struct callstack stack = { .frame = frame, .count = count };
	struct model_site site = { .stack = 1, .callstack = &stack };
	size_t rows, i, at = 0;

	for (i = 0; i < count; i++)
		frame[i] = &frames[i];
	rows = flame_stack(row, &site, slack, all);
	words[0] = '\0';
	for (i = 0; i < rows; i++)
		at += (size_t)snprintf(words + at, sizeof(words) - at, "%s%s", i ? " " : "",
				       row[i]->elided ? "..." : row[i]->function);
	return words;
}

TEST(plumbing_is_one_row)
{
	size_t count = MT_ARRAY_SIZE(mixed);

	CHECK_STR(rows_of(mixed, count, 0, 0), "main ... Attention.forward flash_attn_fwd plumbing");
	CHECK_STR(rows_of(mixed + 4, count - 4, 1, 0), "allocator slack main ... Attention.forward");
	CHECK_STR(rows_of(mixed + 4, count - 4, 0, 1),
		  "_start __libc_start_call_main main ... _call_impl Attention.forward");
	/* If there is nothing else, the words that name the place stay. */
	CHECK_STR(rows_of(mixed + 5, 1, 0, 0), "_call_impl");
	CHECK_STR(rows_of(NULL, 0, 0, 0), "no stack was recorded");
}

/* A run whose stacks go through a framework's modules. */
static struct kit *open_with_plumbing(void)
{
	static const char torch[] = "/opt/site-packages/torch/nn/modules/module.py";
	struct builder m;
	uint32_t main, forward;
	struct kit *kit;

	kit_go_apart();
	builder_open(&m, "plumbing.zst", 100, -1);
	builder_phase(&m, "forward");
	main = builder_python(&m, 0, "main", "/home/me/train.py", 9);
	forward = builder_python(&m, builder_python(&m, main, "_call_impl", torch, 100), "forward", "/home/me/model.py",
				 12);
	m.stack = builder_python(&m, forward, "_call_impl", torch, 100);
	builder_driver_alloc(&m, 0x100000000, 24 * MIB);
	m.stack = builder_python(&m, main, "load", "/home/me/load.py", 5);
	builder_driver_alloc(&m, 0x200000000, 8 * MIB);
	builder_close(&m);
	kit = kit_open("plumbing.zst", NULL);
	kit_screen(kit, 100, 24, 0, 1);
	kit_keys(kit, "t");
	return kit;
}

TEST(plumbing_opens_and_closes)
{
	struct kit *kit = open_with_plumbing();

	CHECK(kit_shows(kit, "|forward f"));
	CHECK(kit_shows(kit, "|plumbing"));
	CHECK_EQ(count_words(kit, "_call_impl"), 0);
	kit_keys(kit, "Down Down Down");
	CHECK(kit_shows(kit, "24.0 MiB  75%  plumbing"));
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "every frame is shown"));
	CHECK_EQ(count_words(kit, "|_call_impl"), 2);
	kit_keys(kit, "q");
	CHECK_EQ(count_words(kit, "_call_impl"), 0);
	CHECK(!strcmp(kit->app.view->ops->name, "flame"));
	kit_keys(kit, "q");
	CHECK(!strcmp(kit->app.view->ops->name, "timeline"));
	kit_close(kit);
}

/* A node of the call of an instance. */
static uint32_t module_call(struct builder *m, uint32_t parent, uint32_t nest)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = 100 };

	frame.function = builder_string(m, "_call_impl");
	frame.file = builder_string(m, "/opt/site-packages/torch/nn/modules/module.py");
	return mt_defs_add_node_in(m->defs, parent, mt_defs_add_frame(m->defs, &frame), nest);
}

static void tell_name(struct builder *m, uint64_t address, const char *name, uint64_t count)
{
	builder_event(m, (struct mt_event){ .kind = MT_INSTANCE_NAME,
					    .addr = address,
					    .size = count,
					    .name = builder_string(m, name),
					    .value = builder_string(m, "Net#1"),
					    .flags = 1 });
}

/* Two layers are one row, by the name of the module; the function of the layer stands below. */
TEST(frames_of_modules_have_their_names)
{
	static const char layer[] = "/opt/site-packages/torch/nn/modules/activation.py";
	uint32_t main, net, nest, i, at;
	struct builder m;
	struct kit *kit;

	kit_go_apart();
	builder_open(&m, "modules.zst", 100, -1);
	m.device = m.cpu;
	main = builder_python(&m, 0, "main", "/home/me/train.py", 9);
	nest = mt_defs_add_nest(m.defs, 0, mt_defs_add_instance(m.defs, 0x1000, builder_string(&m, "Net")));
	net = builder_python(&m, module_call(&m, main, nest), "forward", "/home/me/model.py", 12);
	for (i = 0; i < 2; i++) {
		at = mt_defs_add_instance(m.defs, 0x2000 + i, builder_string(&m, "MultiheadAttention"));
		at = module_call(&m, net, mt_defs_add_nest(m.defs, nest, at));
		at = builder_python(&m, at, "forward", layer, 1167);
		m.stack = builder_python(&m, at, "softmax", "/opt/site-packages/torch/nn/functional.py", 1841);
		builder_tensor_alloc(&m, 0x100000000 * (i + 1), 24 * MIB);
	}
	tell_name(&m, 0x1000, "", 0);
	tell_name(&m, 0x2000, "layers.0.self_attn", 0);
	tell_name(&m, 0x2001, "layers.1.self_attn", 0);
	tell_name(&m, 0, "", 3);
	builder_close(&m);
	kit = kit_open("modules.zst", NULL);
	kit_screen(kit, 100, 24, 0, 1);
	kit_keys(kit, "t Down Down Down Down");
	CHECK(kit_shows(kit, "|Net#1"));
	CHECK(kit_shows(kit, "|self_attn"));
	CHECK(kit_shows(kit, "48.0 MiB  100%  softmax"));
	CHECK_EQ(count_words(kit, "plumbing"), 0);
	kit_close(kit);
}

TEST(the_flame_is_searched)
{
	struct kit *kit = open_with_plumbing();

	kit_keys(kit, "/");
	kit_type(kit, "home/me");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "\"home/me\": 1 of 3")); /* folders count */
	kit_keys(kit, "/");
	kit_type(kit, "nowhere");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "no frame has \"nowhere\" in it"));
	kit_keys(kit, "/");
	kit_type(kit, "_call_impl");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "\"_call_impl\": 1 of 2, in the plumbing")); /* which unfolds */
	CHECK(kit_shows(kit, "24.0 MiB  75%  _call_impl"));
	kit_keys(kit, "q");
	kit_keys(kit, "/");
	kit_type(kit, "LO");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "\"LO\": 1 of 1"));
	kit_keys(kit, "Left");
	CHECK(kit_shows(kit, "24.0 MiB  75%  forward"));
	kit_keys(kit, "n");
	CHECK(kit_shows(kit, "8.0 MiB  25%  load"));
	kit_keys(kit, "/");
	kit_type(kit, "mo");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "24.0 MiB  75%  forward")); /* model.py */
	kit_keys(kit, "/");
	kit_type(kit, ".py");
	kit_keys(kit, "Enter N N");
	CHECK(kit_shows(kit, "\".py\": 1 of 3"));
	kit_keys(kit, "N");
	CHECK(kit_shows(kit, "\".py\": 3 of 3"));
	CHECK(kit_shows(kit, "8.0 MiB  25%  load"));
	kit_close(kit);
}

/* A burst of keys, none of which has been drawn for. */
TEST(the_flame_hears_keys_before_it_is_drawn)
{
	static const int keys[] = { 't', KEY_CODE_DOWN, KEY_CODE_RIGHT };
	struct kit *kit = open_run(100, 30, 0, 1);
	struct input input = { .kind = INPUT_KEY };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(keys); i++) {
		input.key = keys[i];
		app_input(&kit->app, &input);
	}
	kit_draw(kit);
	CHECK(kit_shows(kit, "21.0 GiB  27%  allocator slack"));
	kit_close(kit);
}

/* The chosen row stays chosen when the cursor moves, and a row that is gone is left for the one above it. */
TEST(the_flame_follows_the_cursor)
{
	struct kit *kit = open_run(100, 30, 0, 1);

	kit_keys(kit, "t Down Down Right");
	CHECK(kit_shows(kit, "init_model"));
	kit_keys(kit, "{");
	CHECK(kit_shows(kit, "14.0 GiB"));
	CHECK(kit_shows(kit, "%  init_model"));
	kit_keys(kit, "Left"); /* the largest of main, then a moment when it is gone */
	kit_keys(kit, "[ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [");
	CHECK(kit_shows(kit, "Alive at "));
	kit_close(kit);
}

/* Driver memory without a stack, and a site whose stack nobody has looked up. */
TEST(the_flame_has_honest_labels)
{
	static char path[512];
	struct builder m;
	struct kit *kit;
	uint32_t i;

	snprintf(path, sizeof(path), "%s/run.zst", test_dir());
	builder_open(&m, path, 100, -1);
	builder_phase(&m, "forward");
	builder_driver_alloc(&m, 0x100000000, 8 * MIB);
	m.stack = builder_python(&m, 0, "main", "/home/me/train.py", 9);
	builder_driver_alloc(&m, 0x200000000, 24 * MIB);
	builder_close(&m);
	kit = kit_open(path, NULL);
	kit_screen(kit, 120, 24, 0, 1);
	kit_keys(kit, "t Down Right");
	CHECK(kit_shows(kit, "8.0 MiB  25%  no stack was recorded"));
	for (i = 1; i < kit->model.sites; i++)
		kit->model.site[i].callstack = NULL;
	kit_keys(kit, "Left");
	CHECK(kit_shows(kit, "not named yet"));
	CHECK(kit_shows(kit, "no stack was recorded"));
	kit_close(kit);
}

TEST(answers_scroll_and_lead_on)
{
	struct kit *kit = open_run(60, 20, 256, 0);

	kit_keys(kit, ":");
	kit_type(kit, "SELECT id, site, alloc_time, phase, category, memory, bytes FROM allocation ORDER BY id");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "id  site  alloc_time"));
	CHECK(!count_words(kit, "   bytes"));
	kit_keys(kit, "Right Right Right Right");
	CHECK(kit_shows(kit, " bytes"));
	CHECK(!count_words(kit, "id  site"));
	kit_keys(kit, "Right Right Right Right Left Left Left Left Left Left Left Left Left Left");
	CHECK(kit_shows(kit, "id  site"));
	kit_keys(kit, "j Enter");
	CHECK(!strcmp(kit->app.view->ops->name, "place"));
	kit_keys(kit, "q");
	CHECK(kit_shows(kit, "id  site")); /* the answer is still there */
	kit_keys(kit, "q :");
	kit_type(kit, "SELECT 1000000000 AS time");
	kit_keys(kit, "Enter Enter");
	CHECK_EQ(kit->app.scale.cursor, 1000000000);
	kit_keys(kit, "q :");
	kit_type(kit, "DROP TABLE site");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "read-only"));
	kit_keys(kit, "q :");
	kit_type(kit, "SELECT * FROM allocations");
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "no such table: allocations"));
	CHECK(kit_shows(kit, "bytes_by_place"));
	kit_keys(kit, "Enter Left Right j");
	kit_close(kit);
}

TEST(retained_and_difference_are_answers)
{
	struct kit *kit = open_run(80, 24, 256, 0);

	kit_keys(kit, "r");
	CHECK(kit_shows(kit, "by every step"));
	CHECK(kit_shows(kit, "at rollout's peak"));
	kit_keys(kit, "j Enter"); /* to a peak */
	CHECK(kit_shows(kit, "the cursor is at "));
	kit_keys(kit, "p");
	kit_keys(kit, "q m { { m d");
	CHECK(kit_shows(kit, "28.0 GiB at 5.0 s, 56.0 GiB at 7.2 s (+28.0 GiB)"));
	CHECK(kit_shows(kit, "made meanwhile"));
	CHECK(kit_shows(kit, "52.0 GiB  26.0 GiB")); /* two rollouts, one is over */
	CHECK(kit_shows(kit, "keep_for_metrics (metrics.py:17)"));
	kit_keys(kit, "j Enter");
	CHECK(kit_shows(kit, "2.0 GiB each"));
	kit_close(kit);
}

/* Whoever asks while an answer is waited for takes it away; coming back asks again. */
TEST(an_answer_that_was_replaced_is_asked_for_again)
{
	struct worker_question question = { .kind = WORKER_SQL, .text = "SELECT 'the first' AS words" },
			       other = question;
	struct view_answer_argument argument = { "first", &question };
	struct kit *kit = open_run(80, 24, 0, 1);

	CHECK_EQ(app_open(&kit->app, &view_answer_ops, &argument), 0);
	worker_ask(kit->worker, &other);
	kit_draw(kit);
	CHECK(kit_shows(kit, "the first"));
	kit_close(kit);
}

TEST(without_a_worker_views_say_so)
{
	struct kit *kit = open_run(80, 24, 0, 1);
	struct worker *worker = kit->worker;
	struct view_answer_argument argument = { "t", &(struct worker_question){ .kind = WORKER_SQL } };

	kit->app.worker = NULL;
	kit_keys(kit, "Enter");
	CHECK(kit_shows(kit, "there is no database to ask"));
	kit_keys(kit, "q");
	CHECK_EQ(app_open(&kit->app, &view_answer_ops, &argument), 0);
	kit_draw(kit);
	CHECK(kit_shows(kit, "there is no database to ask"));
	kit->app.worker = worker;
	kit_close(kit);
}

/* Every view, from the largest screen to the smallest, with and without colours: what is shown is clean. */
TEST(all_sizes_are_drawn)
{
	static const struct {
		int width, height;
	} sizes[] = { { 200, 60 }, { 120, 40 }, { 80, 24 }, { 60, 16 }, { 50, 12 }, { 41, 11 }, { 40, 10 }, { 20, 5 } };
	static const char *const views[] = { "Enter", "Enter Tab", "t", "t Down Down Enter",
					     "r",     "m { { m d", "M", "M Enter" };
	struct kit *kit = kit_open(kit_rl_run(), NULL);
	char *text, *at;
	size_t i, k;

	for (k = 0; k < MT_ARRAY_SIZE(views); k++) {
		kit_screen(kit, 200, 60, k % 2 ? 8 : 0, 1);
		kit_keys(kit, views[k]);
		for (i = 0; i < 2 * MT_ARRAY_SIZE(sizes); i++) { /* and back */
			size_t size = i < MT_ARRAY_SIZE(sizes) ? i : 2 * MT_ARRAY_SIZE(sizes) - 1 - i;

			kit_resize(kit, sizes[size].width, sizes[size].height);
			text = kit_dump(kit);
			for (at = text; *at; at++)
				CHECK((*at >= ' ' && *at <= '~') || *at == '\n');
			free(text);
		}
		kit_keys(kit, "j j G k u b g Left Right Up Down");
	}
	kit_close(kit);
}

/* Names of unknown origin: control characters, broken UTF-8, wide characters, and very long ones. */
TEST(hostile_names_are_harmless)
{
	static const char *const functions[] = { "\033[2J\033]0;x\a", "\xff\xfe\xc3",
						 "関数の名前がとても長い関数の名前",
						 "\xe2\x80\xae"
						 "abc",
						 "" };
	static char path[512], longest[3000];
	struct builder m;
	struct kit *kit;
	char *text, *at;
	size_t i;

	memset(longest, 'x', sizeof(longest) - 1);
	snprintf(path, sizeof(path), "%s/run.zst", test_dir());
	builder_open(&m, path, 100, -1);
	builder_phase(&m, "forward");
	for (i = 0; i <= MT_ARRAY_SIZE(functions); i++) {
		const char *function = i < MT_ARRAY_SIZE(functions) ? functions[i] : longest;

		m.stack = builder_python(&m, builder_python(&m, 0, function, function, 1), function, function, 7);
		builder_driver_alloc(&m, 0x100000000 * (i + 1), (16 - i) * MIB);
	}
	builder_close(&m);
	kit = kit_open(path, NULL);
	for (i = 0; i < 12; i++) {
		kit_screen(kit, i % 2 ? 97 : 40, i % 2 ? 30 : 10, 256, 0);
		kit_keys(kit, &"j j j j j "[2 * (i / 2 < 5 ? 5 - i / 2 : 0)]);
		kit_keys(kit, i % 3 ? "Enter Tab" : "t Down Right Right Enter");
		text = kit_dump(kit);
		for (at = text; *at; at++)
			CHECK((unsigned char)*at >= ' ' || *at == '\n');
		CHECK(!strstr(text, "\xe2\x80\xae") && !strchr(text, '\x7f'));
		free(text);
	}
	kit_close(kit);
}

TEST_MAIN()
