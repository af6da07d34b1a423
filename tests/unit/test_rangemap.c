/* test_rangemap.c - ranges in order, against a plain array. */
#include "ledger/rangemap.h"
#include "test.h"

#define MOST 4000

struct model {
	uint64_t addr[MOST], end[MOST];
	size_t count;
};

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t bound)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % bound;
}

/* Each range's value is its own address. */
static void *value_of(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static size_t model_first(const struct model *model, uint64_t addr, uint64_t end)
{
	size_t i, found = MOST;

	for (i = 0; i < model->count; i++)
		if (model->addr[i] < end && model->end[i] > addr &&
		    (found == MOST || model->addr[i] < model->addr[found]))
			found = i;
	return found;
}

static void look(const struct rangemap *map, const struct model *model, uint64_t addr, uint64_t end)
{
	size_t found = model_first(model, addr, end);

	CHECK(rangemap_first(map, addr, end) == (found < MOST ? value_of(model->addr[found]) : NULL));
}

/* Perhaps at the place where something changes next, perhaps at another, perhaps not at all. */
static void seek(struct rangemap *map, const struct model *model, uint64_t addr)
{
	uint64_t at = random_below(3) ? addr : addr + random_below(5);
	size_t found = model_first(model, at, at + 2);

	if (random_below(3))
		CHECK(rangemap_seek(map, at, at + 2) == (found < MOST ? value_of(model->addr[found]) : NULL));
}

static void put(struct rangemap *map, struct model *model, uint64_t addr, uint64_t end)
{
	if (model->count == MOST || model_first(model, addr, end) < MOST)
		return;
	seek(map, model, addr);
	CHECK_EQ(rangemap_reserve(map), 0);
	rangemap_insert(map, addr, end, value_of(addr));
	model->addr[model->count] = addr;
	model->end[model->count++] = end;
	CHECK_EQ(map->count, model->count);
}

static void take(struct rangemap *map, struct model *model, size_t i)
{
	seek(map, model, model->addr[i]);
	CHECK(rangemap_remove(map, model->addr[i]) == value_of(model->addr[i]));
	CHECK(rangemap_remove(map, model->addr[i]) == NULL);
	model->addr[i] = model->addr[--model->count];
	model->end[i] = model->end[model->count];
	CHECK_EQ(map->count, model->count);
}

/* Rounds in which most is put in, and most is taken out, down to nothing. */
static void play(uint64_t space, uint64_t longest)
{
	struct model *model = calloc(1, sizeof(*model));
	struct rangemap map;
	uint64_t addr;
	int round, i;

	CHECK(model != NULL);
	rangemap_init(&map);
	for (round = 0; round < 8; round++) {
		for (i = 0; i < 6000; i++) {
			addr = 1 + random_below(space);
			if (random_below(10) < (round % 2 ? 2 : 7))
				put(&map, model, addr, addr + 1 + random_below(longest));
			else if (model->count)
				take(&map, model, (size_t)random_below(model->count));
			addr = random_below(space + longest);
			look(&map, model, addr, addr + 1 + random_below(2 * longest));
		}
		while (round % 4 == 3 && model->count)
			take(&map, model, (size_t)random_below(model->count));
	}
	CHECK(!map.count && !map.root && rangemap_first(&map, 0, UINT64_MAX) == NULL);
	rangemap_release(&map);
	free(model);
}

TEST(finds_what_an_array_finds)
{
	play(1000, 3);
	play(100000, 40);
	play(1ull << 47, 1ull << 32);
}

TEST(an_empty_map_has_nothing)
{
	struct rangemap map;

	rangemap_init(&map);
	CHECK(rangemap_first(&map, 0, UINT64_MAX) == NULL);
	CHECK(rangemap_remove(&map, 1) == NULL);
	rangemap_release(&map);
}

TEST(both_ends_of_the_address_space)
{
	struct model model = { 0 };
	struct rangemap map;

	rangemap_init(&map);
	put(&map, &model, 1, 2);
	put(&map, &model, UINT64_MAX - 1, UINT64_MAX);
	look(&map, &model, 0, 1);
	look(&map, &model, 0, 2);
	look(&map, &model, 2, UINT64_MAX - 1);
	look(&map, &model, 2, UINT64_MAX);
	look(&map, &model, UINT64_MAX - 1, UINT64_MAX);
	rangemap_release(&map);
}

/* One survivor of each hundred, below, above and between whatever comes next. */
TEST(survivors_are_found_among_what_comes_and_goes)
{
	struct model *model = calloc(1, sizeof(*model));
	struct rangemap map;
	uint64_t round, i, addr;

	CHECK(model != NULL);
	rangemap_init(&map);
	for (round = 0; round < 60; round++) {
		for (i = 0; i < 100; i++) {
			addr = round % 2 ? 1000000 - round * 1000 - i * 8 : 1000000 + round * 1000 + i * 8;
			put(&map, model, addr, addr + 8);
		}
		for (i = model->count; i-- > round + 1;)
			take(&map, model, (size_t)i);
		for (i = 0; i < model->count; i++)
			look(&map, model, model->addr[i], model->addr[i] + 1);
		CHECK(map.height <= 3);
	}
	rangemap_release(&map);
	free(model);
}

TEST_MAIN()
