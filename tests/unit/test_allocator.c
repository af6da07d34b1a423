/* The model of PyTorch's caching allocator: its rules one by one, its settings, and random programs held against sums. */
#include "allocator/alloc_impl.h"
#include "memtrace/error.h"
#include "test.h"

#define MIB (1ull << 20)
#define KIB (1ull << 10)

static struct alloc_config settings(const char *conf)
{
	struct alloc_config config;
	char why[160];

	alloc_config_init(&config);
	CHECK(!alloc_config_parse(&config, conf, why, sizeof(why)));
	return config;
}

static struct alloc_model *model_of(const char *conf)
{
	struct alloc_config config = settings(conf);

	return alloc_model_new(&config);
}

static uint64_t reserved(const struct alloc_model *model)
{
	return alloc_model_state(model)->reserved;
}

static uint64_t allocated(const struct alloc_model *model)
{
	return alloc_model_state(model)->allocated;
}

/* ---- rules ---- */

/* The effect of one request on an empty allocator. */
TEST(sizes_of_blocks_and_segments)
{
	static const struct {
		uint64_t bytes, allocated, reserved;
	} cases[] = {
		{ 0, 512, 2 * MIB },
		{ 1, 512, 2 * MIB },
		{ 513, 1024, 2 * MIB },
		{ MIB, MIB, 2 * MIB },
		{ MIB + 1, MIB + 512, 20 * MIB },
		{ 10 * MIB - 512, 10 * MIB - 512, 20 * MIB },
		{ 10 * MIB, 10 * MIB, 10 * MIB },
		{ 11 * MIB, 12 * MIB, 12 * MIB },             /* a rest of 1 MiB is not split off */
		{ 11 * MIB - 512, 11 * MIB - 512, 12 * MIB }, /* a larger one is */
		{ 100 * MIB + 1, 100 * MIB + 512, 102 * MIB },
	};
	struct alloc_model *model;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		model = model_of("");
		CHECK(!alloc_model_take(model, 1, cases[i].bytes, 0));
		CHECK_EQ(reserved(model), cases[i].reserved);
		CHECK_EQ(allocated(model), cases[i].allocated);
		alloc_model_give(model, 1);
		CHECK_EQ(allocated(model), 0);
		CHECK_EQ(reserved(model), cases[i].reserved);
		CHECK(!alloc_model_empty_cache(model));
		CHECK_EQ(reserved(model), 0);
		alloc_model_free(model);
	}
}

/* The smallest that fits; neighbours join; a segment with anything in it stays. */
TEST(the_smallest_that_fits)
{
	struct alloc_model *model = model_of("");

	CHECK(!alloc_model_take(model, 1, 40 * MIB, 0));
	CHECK(!alloc_model_take(model, 2, 30 * MIB, 0));
	alloc_model_give(model, 1);
	alloc_model_give(model, 2);
	CHECK(!alloc_model_take(model, 3, 25 * MIB, 0)); /* from the 30 */
	CHECK(!alloc_model_take(model, 4, 36 * MIB, 0)); /* from the 40 */
	CHECK_EQ(reserved(model), 70 * MIB);
	CHECK(!alloc_model_take(model, 5, 5 * MIB, 0)); /* fills the 30 */
	CHECK_EQ(reserved(model), 70 * MIB);
	CHECK(!alloc_model_empty_cache(model));
	CHECK_EQ(reserved(model), 70 * MIB);
	alloc_model_give(model, 3);
	CHECK(!alloc_model_empty_cache(model)); /* 5 is still there */
	CHECK_EQ(reserved(model), 70 * MIB);
	alloc_model_give(model, 5);
	CHECK(!alloc_model_take(model, 6, 30 * MIB, 0)); /* both are one again */
	CHECK_EQ(reserved(model), 70 * MIB);
	alloc_model_give(model, 6);
	CHECK(!alloc_model_empty_cache(model));
	CHECK_EQ(reserved(model), 40 * MIB);
	alloc_model_free(model);
}

TEST(pools_share_nothing)
{
	struct alloc_model *model = model_of("");

	CHECK(!alloc_model_take(model, 1, 30 * MIB, 0));
	alloc_model_give(model, 1);
	CHECK(!alloc_model_take(model, 2, 30 * MIB, 3)); /* not from another pool */
	CHECK_EQ(reserved(model), 60 * MIB);
	alloc_model_give(model, 2);
	alloc_model_keep(model, 3, 1);
	CHECK(!alloc_model_empty_cache(model));
	CHECK_EQ(reserved(model), 30 * MIB);
	alloc_model_keep(model, 3, 0);
	CHECK(!alloc_model_empty_cache(model));
	CHECK_EQ(reserved(model), 0);
	CHECK_EQ(alloc_model_take(model, 4, 1, ALLOC_MODEL_POOLS), -MT_E_ARGUMENT);
	alloc_model_free(model);
}

/* Pages of 2 and 20 MiB, one after the other; what lies in free blocks goes back. */
TEST(pages_of_expandable_segments)
{
	struct alloc_model *model = model_of("expandable_segments:True");

	CHECK(!alloc_model_take(model, 1, 30 * MIB, 0));
	CHECK_EQ(reserved(model), 40 * MIB);
	CHECK(!alloc_model_take(model, 2, 15 * MIB, 0)); /* 10 MiB of it are there */
	CHECK_EQ(reserved(model), 60 * MIB);
	CHECK(!alloc_model_take(model, 3, 1 * KIB, 0));
	CHECK_EQ(reserved(model), 62 * MIB);
	alloc_model_give(model, 1);
	CHECK(!alloc_model_empty_cache(model)); /* the first page; the second has the beginning of 2 */
	CHECK_EQ(reserved(model), 42 * MIB);
	CHECK(!alloc_model_take(model, 4, 30 * MIB, 0)); /* into the gap */
	CHECK_EQ(reserved(model), 62 * MIB);
	CHECK_EQ(allocated(model), 45 * MIB + 1 * KIB);
	alloc_model_give(model, 2);
	alloc_model_give(model, 3);
	alloc_model_give(model, 4);
	CHECK(!alloc_model_empty_cache(model));
	CHECK_EQ(reserved(model), 0);
	alloc_model_free(model);
}

/* The driver refuses: everything cached goes back, then the request fails. */
TEST(what_is_cached_goes_back_before_a_request_fails)
{
	struct alloc_config config = settings("");
	struct alloc_model *model;
	int expandable;

	config.limit = 100 * MIB;
	for (expandable = 0; expandable < 2; expandable++) {
		config.expandable = expandable;
		model = alloc_model_new(&config);
		CHECK(!alloc_model_take(model, 1, 40 * MIB, 0));
		CHECK(!alloc_model_take(model, 2, 40 * MIB, 1));
		alloc_model_give(model, 2);
		CHECK(!alloc_model_take(model, 3, 60 * MIB, 0));
		CHECK_EQ(alloc_model_state(model)->retries, 1);
		CHECK_EQ(reserved(model), 100 * MIB);
		CHECK_EQ(alloc_model_take(model, 4, 1, 0), ALLOC_MODEL_REFUSED);
		CHECK_EQ(alloc_model_state(model)->failed, 1);
		CHECK_EQ(allocated(model), 100 * MIB);
		alloc_model_give(model, 1);
		alloc_model_beside(model, 40 * MIB); /* somebody else has taken them */
		CHECK_EQ(alloc_model_take(model, 5, 1, 0), ALLOC_MODEL_REFUSED);
		alloc_model_beside(model, 0);
		CHECK(!alloc_model_take(model, 6, 1, 0));
		alloc_model_free(model);
	}
}

/* A block that is not to be split is not taken for less, nor for much less. */
TEST(blocks_that_are_not_split)
{
	struct alloc_model *model = model_of("max_split_size_mb:64");

	CHECK(!alloc_model_take(model, 1, 100 * MIB, 0));
	alloc_model_give(model, 1);
	CHECK(!alloc_model_take(model, 2, 40 * MIB, 0));
	CHECK_EQ(reserved(model), 140 * MIB);
	CHECK(!alloc_model_take(model, 3, 70 * MIB, 0)); /* 30 MiB too many */
	CHECK_EQ(reserved(model), 210 * MIB);
	CHECK(!alloc_model_take(model, 4, 90 * MIB, 0)); /* all of it */
	CHECK_EQ(allocated(model), 210 * MIB);
	alloc_model_free(model);
}

/* Segments that were free for longer than the average go, when more than the threshold is reserved. */
TEST(garbage_collection)
{
	struct alloc_config config = settings("garbage_collection_threshold:0.5,per_process_memory_fraction:0.8");
	struct alloc_model *model;

	config.device_bytes = 250 * MIB; /* it may have 200, and collects from 100 on */
	model = alloc_model_new(&config);
	CHECK(!alloc_model_take(model, 1, 60 * MIB, 0));
	CHECK(!alloc_model_take(model, 2, 50 * MIB, 0));
	alloc_model_give(model, 1);
	CHECK(!alloc_model_take(model, 3, 30 * MIB, 0)); /* takes of 1 */
	alloc_model_give(model, 3);
	CHECK_EQ(reserved(model), 110 * MIB);
	CHECK(!alloc_model_take(model, 4, 80 * MIB, 0)); /* 60 of them go first */
	CHECK_EQ(reserved(model), 130 * MIB);
	CHECK_EQ(alloc_model_take(model, 5, 90 * MIB, 0), ALLOC_MODEL_REFUSED);
	alloc_model_free(model);
}

TEST(rounding_to_divisions)
{
	static const struct {
		const char *conf;
		uint64_t bytes, rounded;
	} cases[] = {
		{ "roundup_power2_divisions:4", 1200 * MIB, 1280 * MIB },
		{ "roundup_power2_divisions:4", 1280 * MIB, 1280 * MIB },
		{ "roundup_power2_divisions:4", 2048, 2048 },
		{ "roundup_power2_divisions:4", 2049, 2560 },
		{ "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 300 * MIB + 1, 300 * MIB + 512 },
		{ "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 600 * MIB, 768 * MIB },
		{ "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 1200 * MIB, 1280 * MIB },
		{ "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 2100 * MIB, 2304 * MIB },
		{ "", 1200 * MIB + 1, 1200 * MIB + 512 },
	};
	struct alloc_config config;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		config = settings(cases[i].conf);
		CHECK_EQ(alloc_config_round(&config, cases[i].bytes), cases[i].rounded);
	}
}

TEST(settings_as_pytorch_spells_them)
{
	static const char *const wrong[] = {
		"colour:red",
		"expandable_segments",
		"expandable_segments:yes",
		"max_split_size_mb:5",
		"max_split_size_mb:64mb",
		"garbage_collection_threshold:2",
		"backend:cudaMallocAsync",
		"roundup_power2_divisions:3",
		"roundup_power2_divisions:[256:2",
		"roundup_power2_divisions:[3:2]",
		"expandable_segments:True max_split_size_mb:64",
		",",
		":",
		"[",
		"max_split_size_mb:99999999999999999999",
	};
	struct alloc_config config = settings(" expandable_segments : True , max_split_size_mb:128,backend:native,"
					      "pinned_num_register_threads:8,large_segment_size_mb:12");
	char why[40];
	size_t i;

	CHECK_EQ(config.expandable, 1);
	CHECK_EQ(config.max_split, 128 * MIB);
	CHECK_EQ(config.large_segment, 12 * MIB);
	config = settings("expandable_segments:False");
	CHECK_EQ(config.expandable, 0);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memset(why, 0, sizeof(why));
		alloc_config_init(&config);
		CHECK_EQ(alloc_config_parse(&config, wrong[i], why, sizeof(why)), -MT_E_ARGUMENT);
		CHECK(*why && strlen(why) < sizeof(why));
	}
}

/* ---- a beginning ---- */

TEST(a_beginning_with_segments)
{
	struct alloc_model *model = model_of("");

	CHECK(!alloc_model_begin_segment(model, 100 * MIB, 20 * MIB, 0, 0));
	CHECK(!alloc_model_begin_segment(model, 200 * MIB, 2 * MIB, 0, 1));
	CHECK(!alloc_model_begin_segment(model, 110 * MIB, 20 * MIB, 0, 0)); /* in the way: left out */
	CHECK(!alloc_model_begin_block(model, 1, 104 * MIB, 3 * MIB));
	CHECK(!alloc_model_begin_block(model, 2, 108 * MIB, 11 * MIB + 512 * KIB)); /* to the end */
	CHECK_EQ(alloc_model_begin_block(model, 3, 105 * MIB, MIB), 1);
	CHECK_EQ(alloc_model_begin_block(model, 4, 500 * MIB, MIB), 1);
	CHECK_EQ(reserved(model), 22 * MIB);
	CHECK_EQ(allocated(model), 15 * MIB);
	CHECK(!alloc_model_take(model, 5, 4 * MIB, 0)); /* before the first */
	CHECK(!alloc_model_take(model, 6, 1 * KIB, 0));
	CHECK_EQ(reserved(model), 22 * MIB);
	alloc_model_give(model, 5);
	alloc_model_give(model, 1);
	CHECK(!alloc_model_take(model, 7, 8 * MIB, 0)); /* and the 1 MiB between them */
	CHECK_EQ(reserved(model), 22 * MIB);
	alloc_model_free(model);
}

/* The list of blocks is out of reach: going along the list for each block would take the square of them. */
TEST(a_block_is_found_without_those_before_it)
{
	struct alloc_model *model = model_of("");
	struct alloc_block *first;
	uint64_t i, count = 200, base = 1ull << 45;

	CHECK(!alloc_model_begin_segment(model, base, 2 * count * KIB, 0, 1));
	first = alloc_segment_at(model, base)->first;
	alloc_segment_at(model, base)->first = NULL;
	for (i = count; i--;)
		CHECK(!alloc_model_begin_block(model, i + 1, base + 2 * i * KIB, KIB));
	for (i = 0; i < count; i++)
		CHECK_EQ(alloc_model_begin_block(model, count + 1, base + 2 * i * KIB + 512, 512), 1);
	CHECK_EQ(allocated(model), count * KIB);
	for (i = count; i--;)
		alloc_model_give(model, i + 1);
	CHECK_EQ(alloc_block_at(model, base + 2 * count * KIB - 1)->bytes, 2 * count * KIB);
	CHECK_EQ(allocated(model), 0);
	alloc_segment_at(model, base)->first = first;
	alloc_model_free(model);
}

TEST(a_beginning_with_pages)
{
	struct alloc_model *model = model_of("expandable_segments:True");
	uint64_t base = 1ull << 45;

	CHECK(!alloc_model_begin_segment(model, base, 20 * MIB, 0, 0));
	CHECK(!alloc_model_begin_segment(model, base + 40 * MIB, 20 * MIB, 0, 0));
	CHECK(!alloc_model_begin_block(model, 1, base + 45 * MIB, 15 * MIB));
	CHECK_EQ(reserved(model), 40 * MIB);
	CHECK(!alloc_model_take(model, 2, 45 * MIB, 0)); /* 20 there, 20 mapped between, 5 of the other page */
	CHECK_EQ(reserved(model), 60 * MIB);
	alloc_model_free(model);
}

/* ---- random programs ---- */

#define LIVE_MAX 300

/* Every block of every segment is where it belongs, and the sums are right. */
static void check_sums(const struct alloc_model *model)
{
	struct alloc_node *place = alloc_tree_from(&model->segment, 0, 0);
	uint64_t held = 0, used = 0, addr;
	const struct alloc_block *block;

	for (; place; place = alloc_tree_next(&model->segment, place)) {
		addr = place->addr;
		for (block = ((struct alloc_segment *)place)->first; block; block = block->next) {
			CHECK(block->node.addr == addr && block->bytes && (!block->next || block->next->prev == block));
			CHECK(!block->next || block->allocated || block->next->allocated ||
			      block->mapped != block->next->mapped);
			held += block->mapped ? block->bytes : 0;
			used += block->allocated ? block->bytes : 0;
			addr += block->bytes;
		}
		CHECK(addr - place->addr == ((struct alloc_segment *)place)->bytes);
	}
	CHECK_EQ(held, reserved(model));
	CHECK_EQ(used, allocated(model));
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void run_random(const char *conf, uint64_t seed, uint64_t limit)
{
	struct alloc_config config = settings(conf);
	struct alloc_model *model;
	uint64_t id = 0, live[LIVE_MAX], bytes;
	size_t count = 0, i, at;

	config.device_bytes = 4096 * MIB;
	config.limit = limit;
	model = alloc_model_new(&config);
	for (i = 0; i < 6000; i++) {
		if (count < LIVE_MAX && next_random(&seed) % 2) {
			bytes = next_random(&seed) % (1ull << (next_random(&seed) % 28));
			live[count++] = ++id;
			CHECK(alloc_model_take(model, id, bytes, (uint32_t)(next_random(&seed) % 3)) >= 0);
		} else if (count) {
			at = next_random(&seed) % count;
			alloc_model_give(model, live[at]);
			live[at] = live[--count];
		}
		if (next_random(&seed) % 500 == 0)
			CHECK(!alloc_model_empty_cache(model));
		if (i % 100 == 0)
			check_sums(model);
		CHECK(!limit || reserved(model) <= limit);
	}
	while (count)
		alloc_model_give(model, live[--count]);
	CHECK(!alloc_model_empty_cache(model));
	check_sums(model);
	CHECK_EQ(reserved(model), 0);
	alloc_model_free(model);
}

TEST(random_programs_add_up)
{
	static const char *const confs[] = {
		"",
		"expandable_segments:True",
		"max_split_size_mb:32",
		"garbage_collection_threshold:0.2,per_process_memory_fraction:0.5",
		"expandable_segments:True,roundup_power2_divisions:8,large_segment_size_mb:12",
	};
	size_t i;

	for (i = 0; i < sizeof(confs) / sizeof(*confs); i++) {
		run_random(confs[i], 7 + i, 0);
		run_random(confs[i], 70 + i, 600 * MIB);
	}
}

/* ---- work ---- */

#define FRAGMENTS 300

/* Requests that give everything back, in a model that has as many holes that cannot go: the blocks looked at. */
static uint64_t looked_at(const char *conf, uint64_t fragments)
{
	struct alloc_config config = settings(conf);
	struct alloc_model *model;
	uint64_t i, looked;

	config.device_bytes = 1ull << 40;
	model = alloc_model_new(&config);
	for (i = 1; i <= fragments; i++) {
		CHECK(!alloc_model_take(model, 2 * i, 12 * MIB, 0));
		CHECK(!alloc_model_take(model, 2 * i + 1, 3 * MIB, 0));
	}
	for (i = 1; i <= fragments; i++)
		alloc_model_give(model, 2 * i + 1);
	CHECK(!alloc_model_empty_cache(model));
	model->looked = 0;
	for (i = 1; i <= fragments; i++) {
		CHECK(!alloc_model_take(model, 1, 64 * MIB, 0));
		alloc_model_give(model, 1);
		CHECK(!alloc_model_empty_cache(model));
	}
	looked = model->looked;
	alloc_model_free(model);
	return looked;
}

TEST(giving_back_looks_at_what_goes)
{
	static const char *const confs[] = { "", "expandable_segments:True", "garbage_collection_threshold:0.000001" };
	uint64_t few, more;
	size_t i;

	for (i = 0; i < sizeof(confs) / sizeof(*confs); i++) {
		few = looked_at(confs[i], FRAGMENTS);
		more = looked_at(confs[i], 4 * FRAGMENTS);
		printf("# %s: %d holes %llu, %d %llu\n", confs[i], FRAGMENTS, (unsigned long long)few, 4 * FRAGMENTS,
		       (unsigned long long)more);
		CHECK(few >= FRAGMENTS && more <= 5 * few);
	}
}

/* One request that is larger than a run of mapped and unmapped blocks, up to one that stays. */
static uint64_t looked_at_for_a_place(uint64_t pages)
{
	struct alloc_model *model = model_of("expandable_segments:True");
	uint64_t i, looked;

	for (i = 1; i <= pages + 1; i++)
		CHECK(!alloc_model_take(model, i, 20 * MIB, 0));
	for (i = 1; i <= pages; i += 2)
		alloc_model_give(model, i);
	CHECK(!alloc_model_empty_cache(model));
	for (i = 2; i <= pages; i += 2)
		alloc_model_give(model, i);
	model->looked = 0;
	CHECK(!alloc_model_take(model, pages + 2, (pages + 1) * 20 * MIB, 0));
	CHECK_EQ(reserved(model), (pages / 2 + 1 + pages + 1) * 20 * MIB);
	looked = model->looked;
	alloc_model_free(model);
	return looked;
}

TEST(a_run_of_blocks_is_looked_at_once)
{
	uint64_t few = looked_at_for_a_place(FRAGMENTS), more = looked_at_for_a_place(4 * FRAGMENTS);

	CHECK(few >= FRAGMENTS && more <= 5 * few);
}

TEST_MAIN()
