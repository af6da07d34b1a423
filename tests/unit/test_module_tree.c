/* test_module_tree.c - names of modules over time, and the tree of their rows. */
#include "label/module_tree.h"
#include "label/telling.h"
#include "memtrace/event.h"
#include "test.h"

struct world {
	struct mt_defs *defs;
	struct tellings tellings;
	struct module_tree tree;
	uint64_t seq, count;
	uint32_t telling;
};

static void world_open(struct world *world)
{
	*world = (struct world){ .defs = mt_defs_new() };
	CHECK(world->defs != NULL);
}

static void world_close(struct world *world)
{
	module_tree_release(&world->tree);
	tellings_release(&world->tellings);
	mt_defs_free(world->defs);
}

static uint32_t text(struct world *world, const char *word)
{
	return mt_defs_add_string(world->defs, word, strlen(word));
}

/* Begins the next telling; names follow, then the end. */
static void begin(struct world *world)
{
	world->telling++;
	world->count = 0;
}

static void name(struct world *world, uint64_t address, const char *model, const char *name)
{
	struct mt_event event = { .kind = MT_INSTANCE_NAME,
				  .seq = ++world->seq,
				  .addr = address,
				  .name = text(world, name),
				  .value = text(world, model),
				  .flags = world->telling };

	CHECK_EQ(tellings_add(&world->tellings, &event), 0);
	world->count++;
}

static void end(struct world *world)
{
	struct mt_event event = {
		.kind = MT_INSTANCE_NAME, .seq = ++world->seq, .size = world->count, .flags = world->telling
	};

	CHECK_EQ(tellings_add(&world->tellings, &event), 0);
}

static uint32_t nest(struct world *world, uint32_t parent, uint64_t address, const char *type)
{
	return mt_defs_add_nest(world->defs, parent, mt_defs_add_instance(world->defs, address, text(world, type)));
}

/* A stack node that is the call of `nest`, below `parent`. */
static uint32_t node(struct world *world, uint32_t parent, uint32_t nest)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = mt_defs_count(world->defs, MT_DEF_FRAME) + 1 };

	return mt_defs_add_node_in(world->defs, parent, mt_defs_add_frame(world->defs, &frame), nest);
}

static void plant(struct world *world)
{
	module_tree_release(&world->tree);
	CHECK_EQ(module_tree_init(&world->tree, world->defs, &world->tellings), 0);
}

static int is_path(struct world *world, uint32_t row, const char *path)
{
	char out[MODULE_PATH_MAX];

	module_tree_path(out, sizeof(out), &world->tree, row);
	if (strcmp(out, path))
		fprintf(stderr, "%s, not %s\n", out, path);
	return row && !strcmp(out, path);
}

/* Whether the address has this name from event `first` to event `last`; NULL: it has none. */
static int is_name(struct world *world, uint64_t address, uint64_t first, uint64_t last, const char *name)
{
	struct telling_name found;
	int there = tellings_name(&world->tellings, address, first, last, &found);

	return name ? there && !strcmp(mt_defs_string(world->defs, found.name), name) : !there;
}

/* ---- names ---- */

TEST(a_name_holds_between_tellings_that_agree)
{
	struct world w;
	uint64_t first, second;

	world_open(&w);
	CHECK(is_name(&w, 0x7a, 0, UINT64_MAX, NULL));
	w.seq = 100;
	begin(&w);
	name(&w, 0x7a, "M#1", "layers.0");
	end(&w);
	first = w.seq += 100;
	CHECK(is_name(&w, 0x7a, first, first, "layers.0") && is_name(&w, 0x7b, first, first, NULL));
	begin(&w);
	name(&w, 0x7a, "M#1", "layers.0");
	name(&w, 0x7b, "M#1", "layers.1");
	end(&w);
	second = w.seq += 100;
	begin(&w);
	name(&w, 0x7b, "M#1", "head");
	end(&w);
	CHECK(is_name(&w, 0x7a, 1, first, "layers.0") && is_name(&w, 0x7a, 1, second, NULL));
	CHECK(is_name(&w, 0x7b, first, first, "layers.1") && is_name(&w, 0x7b, 1, first, NULL));
	CHECK(is_name(&w, 0x7b, second, second, NULL));
	CHECK(is_name(&w, 0x7b, w.seq, UINT64_MAX, "head") && is_name(&w, 0x7a, w.seq, w.seq, NULL));
	world_close(&w);
}

TEST(a_telling_that_ended_early_proves_nothing_by_its_silence)
{
	struct world w;
	uint64_t between;

	world_open(&w);
	begin(&w);
	name(&w, 0x7a, "M#1", "a");
	name(&w, 0x7b, "M#1", "b");
	end(&w);
	between = w.seq += 10;
	begin(&w);
	name(&w, 0x7a, "M#1", "a");
	w.count += 5;
	end(&w);
	w.seq += 10;
	CHECK(is_name(&w, 0x7b, between, UINT64_MAX, "b"));
	begin(&w);
	name(&w, 0x7b, "M#1", "b");
	end(&w);
	CHECK(is_name(&w, 0x7b, 0, UINT64_MAX, "b"));
	CHECK(is_name(&w, 0x7a, between, between, "a") && is_name(&w, 0x7a, w.seq, w.seq, NULL));
	world_close(&w);
}

TEST(a_module_of_two_models_has_its_first_name)
{
	struct world w;
	int i;

	world_open(&w);
	for (i = 0; i < 3; i++) {
		begin(&w);
		name(&w, 0x7a, "Actor#1", "backbone");
		name(&w, 0x7a, "Critic#2", "body");
		end(&w);
	}
	CHECK(is_name(&w, 0x7a, 0, UINT64_MAX, "backbone"));
	CHECK_EQ(w.tellings.runs, 2);
	world_close(&w);
}

/*
 * Objects come, go and are renamed at random, once at most between two tellings for each address; an object has its name
 * from its birth on. A name that is given is the true one, and memory is that of the changes.
 */
TEST(no_wrong_name_is_given)
{
	enum { ADDRESSES = 12, ROUNDS = 60 };
	static const char *const names[] = { "", "a", "b", "c", "d" };
	struct {
		uint64_t seq;
		int name[ADDRESSES];
	} seen[ROUNDS * 2 + 1];
	int now[ADDRESSES] = { 0 }, round, i, known = 0, changes = 0;
	struct telling_name found;
	struct world w;

	world_open(&w);
	srandom(7);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < 2; i++) {
			seen[round * 2 + i].seq = w.seq += 10;
			memcpy(seen[round * 2 + i].name, now, sizeof(now));
			if (!i && random() % 3 == 0) {
				now[random() % ADDRESSES] = (int)(random() % 5);
				changes++;
			}
		}
		begin(&w);
		for (i = 0; i < ADDRESSES; i++)
			if (now[i])
				name(&w, 0x1000 + (uint64_t)i, "M#1", names[now[i]]);
		end(&w);
	}
	for (round = 0; round < ROUNDS * 2; round++)
		for (i = 0; i < ADDRESSES; i++) {
			if (!seen[round].name[i] ||
			    !tellings_name(&w.tellings, 0x1000 + (uint64_t)i, seen[round].seq, seen[round].seq, &found))
				continue;
			known++;
			CHECK(!strcmp(mt_defs_string(w.defs, found.name), names[seen[round].name[i]]));
		}
	CHECK(known > ROUNDS * 2);
	CHECK(w.tellings.runs <= (uint32_t)changes * 2 + ADDRESSES + 1);
	world_close(&w);
}

/* ---- the tree ---- */

TEST(rows_of_named_modules)
{
	struct world w;
	uint32_t model, layer, fc, stack, row, parameter;

	world_open(&w);
	model = nest(&w, 0, 0x10, "Sequential");
	layer = nest(&w, model, 0x20, "Layer");
	fc = nest(&w, layer, 0x30, "Linear");
	stack = node(&w, node(&w, node(&w, node(&w, 0, 0), model), 0), layer);
	stack = node(&w, node(&w, stack, fc), 0);
	begin(&w);
	name(&w, 0x10, "Sequential#1", "");
	name(&w, 0x20, "Sequential#1", "layers.3");
	name(&w, 0x30, "Sequential#1", "layers.3.fc1");
	end(&w);
	plant(&w);
	CHECK_EQ(module_tree_nest(&w.tree, stack), fc);
	CHECK_EQ(module_tree_nest(&w.tree, 1), 0);
	row = module_tree_of_nest(&w.tree, fc, 1, 5);
	CHECK(is_path(&w, row, "layers.3.fc1") && !strcmp(mt_defs_string(w.defs, w.tree.row[row].type), "Linear"));
	CHECK(is_path(&w, module_tree_of_nest(&w.tree, model, 1, 5), "Sequential#1"));
	CHECK_EQ(module_tree_of_nest(&w.tree, layer, 1, 5), w.tree.row[row].parent);
	CHECK_EQ(w.tree.row[row].depth, 4);
	parameter = module_tree_of_parameter(
		&w.tree, "Sequential#1",
		"module._orig_mod.layers._fsdp_wrapped_module.3._checkpoint_wrapped_module.fc1.weight");
	CHECK_EQ(parameter, row);
	parameter = module_tree_of_parameter(&w.tree, "Sequential#1", "layers.3.fc2.weight");
	CHECK_EQ(module_tree_common(&w.tree, parameter, row), w.tree.row[row].parent);
	CHECK(is_path(&w, module_tree_of_parameter(&w.tree, "Sequential#1", "weight"), "Sequential#1"));
	CHECK_EQ(module_tree_common(&w.tree, module_tree_of_parameter(&w.tree, "Other#2", "weight"), row), 0);
	world_close(&w);
}

TEST(a_module_that_is_called_module_is_one)
{
	struct world w;

	world_open(&w);
	begin(&w);
	name(&w, 0x10, "M#1", "module");
	end(&w);
	plant(&w);
	CHECK(is_path(&w, module_tree_of_parameter(&w.tree, "M#1", "module.weight"), "module"));
	world_close(&w);
}

/* Without tellings: types and numbers, the latter where there are several. */
TEST(rows_of_modules_without_names)
{
	struct world w;
	uint32_t model, first, second;

	world_open(&w);
	model = nest(&w, 0, 0x10, "Transformer");
	first = nest(&w, model, 0x20, "Layer");
	second = nest(&w, model, 0x30, "Layer");
	plant(&w);
	first = module_tree_of_nest(&w.tree, nest(&w, first, 0x20, "Layer"), 1, 1); /* after the planting: not known */
	CHECK_EQ(first, 0);
	plant(&w);
	CHECK(is_path(&w, module_tree_of_nest(&w.tree, 2, 1, 1), "Transformer > Layer"));
	CHECK(is_path(&w, module_tree_of_nest(&w.tree, second, 1, 1), "Transformer > Layer 2"));
	CHECK(is_path(&w, module_tree_of_nest(&w.tree, 2, 1, 1), "Transformer > Layer 1"));
	CHECK(is_path(&w, module_tree_of_nest(&w.tree, 4, 1, 1), "Transformer > Layer 1 > Layer"));
	CHECK_EQ(w.tree.rows, 5);
	world_close(&w);
}

TEST(patterns)
{
	char out[MODULE_PATH_MAX];

	CHECK_STR(module_path_pattern(out, "layers.12.fc1"), "layers.*.fc1");
	CHECK_STR(module_path_pattern(out, "0.3"), "*.*");
	CHECK_STR(module_path_pattern(out, "Net > Layer 3 > Linear"), "Net > Layer * > Linear");
	CHECK_STR(module_path_pattern(out, "conv2d.1x1.v2"), "conv2d.1x1.v2");
	CHECK_STR(module_path_pattern(out, ""), "");
}

/* A module that is made in each call is never told of: it stands by its class below one that has a name. */
TEST(a_module_without_a_name_in_one_with)
{
	struct world w;
	uint32_t layer, inner;

	world_open(&w);
	layer = nest(&w, nest(&w, 0, 0x10, "Net"), 0x20, "Block");
	inner = nest(&w, layer, 0x90, "Softmax");
	begin(&w);
	name(&w, 0x10, "Net#1", "");
	name(&w, 0x20, "Net#1", "blocks.0");
	end(&w);
	plant(&w);
	CHECK(is_path(&w, module_tree_of_nest(&w.tree, inner, 1, 9), "blocks.0 > Softmax"));
	world_close(&w);
}

/* An address is used again: stacks of before and of after have their own names, those of both have none. */
TEST(an_address_is_used_again)
{
	struct world w;
	uint32_t model, inner, row;
	uint64_t between;

	world_open(&w);
	model = nest(&w, 0, 0x10, "Net");
	inner = nest(&w, model, 0x20, "Linear");
	begin(&w);
	name(&w, 0x10, "Net#1", "");
	name(&w, 0x20, "Net#1", "old");
	end(&w);
	between = w.seq += 100;
	begin(&w);
	name(&w, 0x10, "Net#1", "");
	name(&w, 0x20, "Net#1", "new");
	end(&w);
	plant(&w);
	CHECK(is_path(&w, module_tree_of_nest(&w.tree, inner, 0, 0), "old"));
	CHECK(is_path(&w, module_tree_of_nest(&w.tree, inner, w.seq, w.seq + 100), "new"));
	row = module_tree_of_nest(&w.tree, inner, between, between);
	CHECK(is_path(&w, row, "Net#1 > Linear"));
	CHECK_EQ(module_tree_of_nest(&w.tree, inner, 0, w.seq + 1), row);
	world_close(&w);
}

/* Deep nests and long names of a hostile trace end at the limit, and sisters in great number cost no square. */
TEST(limits)
{
	enum { SISTERS = 20000 };
	static char deep[MODULE_DEPTH_MAX * 8 + 1];
	char path[MODULE_PATH_MAX];
	uint32_t root, at, row = 0, i;
	struct world w;

	world_open(&w);
	root = at = nest(&w, 0, 0x10, "Net");
	for (i = 1; i < MT_NEST_DEPTH_MAX; i++)
		at = nest(&w, at, 0x10 + i, "Net");
	for (i = 0; i < SISTERS; i++)
		nest(&w, root, 0x100000 + i, "Expert");
	memset(deep, '.', sizeof(deep) - 1);
	plant(&w);
	row = module_tree_of_nest(&w.tree, at, 0, 0);
	CHECK_EQ(w.tree.row[row].depth, MODULE_DEPTH_MAX);
	for (i = 0; i < SISTERS; i++)
		row = module_tree_of_nest(&w.tree, MT_NEST_DEPTH_MAX + 1 + i, 0, 0);
	CHECK(is_path(&w, row, "Net > Expert 20000"));
	row = module_tree_of_parameter(&w.tree, "Net#1", deep);
	CHECK_EQ(w.tree.row[row].depth, MODULE_DEPTH_MAX);
	CHECK(strlen(module_tree_path(path, sizeof(path), &w.tree, row)) < MODULE_DEPTH_MAX);
	world_close(&w);
}

TEST_MAIN()
