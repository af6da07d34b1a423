/* The timeline's facts of a run: the live set at a moment, the model's texts and spans, and filters. */
#include "memtrace/error.h"
#include "screen/data/liveset.h"
#include "screen/draw/filter.h"
#include "tape_kit.h"
#include "test.h"
#include "timeline/model.h"
#include "timeline/tape.h"

/* ---- the live set ------------------------------------------------------------------------------------------------ */

/* Sites 1 .. 31 of two processes and devices; several look alike. */
static void add_sites(struct model *model, struct kit_random *random)
{
	static const char *const functions[] = { "alpha", "beta", "gamma", "" };
	struct model_process process = { .rank = -1, .file = "run/rank0.zst" };
	struct model_site site;
	uint32_t i;

	CHECK_EQ(model_add_process(model, &process), 0);
	process.file = "run/rank1.zst";
	CHECK_EQ(model_add_process(model, &process), 0);
	CHECK_EQ(model_owner(model, "libnccl"), 1);
	for (i = 1; i < CELLS / 2; i++) {
		site = (struct model_site){
			.process = (uint32_t)kit_below(random, 2),
			.device = (uint32_t)kit_below(random, 2),
			.owner = (uint32_t)kit_below(random, 2),
			.stack = (uint32_t)kit_below(random, 8),
			.phase = (uint8_t)(MT_PHASE_FORWARD + kit_below(random, 2)),
			.category = (uint8_t)kit_below(random, 2),
			.all_slack = kit_below(random, 5) == 0,
		};
		site.function = functions[site.stack % 4]; /* one line is called from two places */
		site.place = "here.py:1";
		CHECK_EQ(model_add_site(model, i, &site), 0);
	}
	CHECK_EQ(model->sites, CELLS / 2);
}

static int alike(const struct model *model, uint32_t a, uint32_t b)
{
	const struct model_site *one = &model->site[TAPE_SITE(a)], *two = &model->site[TAPE_SITE(b)];

	return one->process == two->process && one->device == two->device && one->function == two->function &&
	       one->phase == two->phase && model_category(model, a) == model_category(model, b);
}

/* Every cell must be in exactly one row; each row is the sum of the cells that look like it. */
static void check_live(const struct liveset *live, const struct model *model, const struct told *told, int64_t time,
		       const uint8_t *shown, uint32_t cells)
{
	uint64_t bytes[CELLS] = { 0 }, count[CELLS] = { 0 }, i, sum = 0, sum_count = 0, row_bytes, row_count;
	uint32_t row, a, b, rows = 0;

	for (i = 0; i < told->count && told->event[i].time <= time; i++) {
		bytes[told->event[i].cell] += (uint64_t)told->event[i].bytes;
		count[told->event[i].cell] += (uint64_t)(int64_t)told->event[i].count;
	}
	for (a = 0; a < cells; a++)
		if (!shown[a])
			bytes[a] = count[a] = 0;
	for (a = 2; a < CELLS; a++) {
		for (b = 2; b < a && !alike(model, a, b); b++)
			;
		if (b < a)
			continue;
		row_bytes = row_count = 0;
		for (b = a; b < CELLS; b++) {
			row_bytes += alike(model, a, b) ? bytes[b] : 0;
			row_count += alike(model, a, b) ? count[b] : 0;
		}
		if (!row_bytes)
			continue;
		rows++;
		sum += row_bytes;
		sum_count += row_count;
		for (row = 0; row < live->rows; row++)
			if (live->row[row].bytes == row_bytes && live->row[row].count == row_count &&
			    live->row[row].category == model_category(model, a) &&
			    model->site[live->row[row].site].function == model->site[TAPE_SITE(a)].function)
				break;
		CHECK(row < live->rows);
	}
	CHECK_EQ(live->rows, rows);
	CHECK_EQ(live->bytes, sum);
	CHECK_EQ(live->count, sum_count);
}

/* The row before a row must not come after it. */
static int is_before(const struct model *model, const struct liveset_row *a, const struct liveset_row *b,
		     enum liveset_sort sort)
{
	switch (sort) {
	case LIVESET_SORT_BYTES:
		return a->bytes >= b->bytes;
	case LIVESET_SORT_COUNT:
		return a->count >= b->count;
	case LIVESET_SORT_PHASE:
		return model->site[a->site].phase <= model->site[b->site].phase;
	case LIVESET_SORT_CATEGORY:
		return a->category <= b->category;
	default:
		return strcmp(model->site[a->site].function, model->site[b->site].function) <= 0;
	}
}

TEST(the_live_set_is_what_going_through_all_events_gives)
{
	struct kit_random random = { 8 };
	struct liveset live = { 0 };
	uint8_t shown[CELLS];
	struct model model;
	struct told told;
	uint32_t cells, i;
	int64_t time;
	int round;

	CHECK_EQ(model_init(&model), 0);
	add_sites(&model, &random);
	tell(&random, &told, model.tape, TAPE_BLOCK + 20000);
	model.events = told.count;
	for (round = 0; round < 60; round++) {
		for (i = 0; i < CELLS; i++)
			shown[i] = kit_below(&random, 3) != 0;
		cells = round % 2 ? CELLS : (uint32_t)kit_below(&random, CELLS);
		time = round == 0 ? -5 : round == 1 ? INT64_MAX : (int64_t)kit_below(&random, (uint64_t)told.time + 2);
		CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, time), shown, cells,
				    round % LIVESET_SORTS),
			 0);
		check_live(&live, &model, &told, time, shown, cells);
		for (i = 1; i < live.rows; i++)
			CHECK(is_before(&model, &live.row[i - 1], &live.row[i], round % LIVESET_SORTS));
	}
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, told.event[TAPE_BLOCK].time), NULL, 0,
			    LIVESET_SORT_BYTES),
		 0);
	check_live(&live, &model, &told, told.event[TAPE_BLOCK].time, NULL, 0);
	free(told.event);
	liveset_release(&live);
	model_release(&model);
}

TEST(a_row_is_called_after_the_site_that_holds_most)
{
	struct model_site site = { .stack = 3, .function = "f", .place = "f.py:1" };
	struct liveset live = { 0 };
	struct model model;

	CHECK_EQ(model_init(&model), 0);
	CHECK_EQ(model_add_site(&model, 1, &site), 0);
	CHECK_EQ(model_add_site(&model, 2, &site), 0);
	CHECK_EQ(tape_add(model.tape, 1, TAPE_CELL(1, 0), 10, 1), 0);
	CHECK_EQ(tape_add(model.tape, 2, TAPE_CELL(2, 0), 30, 2), 0);
	CHECK_EQ(tape_add(model.tape, 3, TAPE_CELL(2, 1), 500, 0), 0);
	model.events = tape_settle(model.tape);
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 2), NULL, 0, LIVESET_SORT_BYTES), 0);
	CHECK_EQ(live.rows, 1);
	CHECK_EQ(live.row[0].site, 2);
	CHECK_EQ(live.row[0].bytes, 40);
	CHECK_EQ(live.row[0].count, 3);
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 3), NULL, 0, LIVESET_SORT_BYTES), 0);
	CHECK_EQ(live.rows, 2);
	CHECK_EQ(live.row[0].category, MT_CATEGORY_SLACK);
	liveset_release(&live);
	model_release(&model);
}

/* One line that several stacks lead to is one row; without a name each stack is. */
TEST(a_line_is_one_row)
{
	struct model_site site = { .function = "f", .place = "f.py:1" };
	struct liveset live = { 0 };
	struct model model;
	uint32_t i;

	CHECK_EQ(model_init(&model), 0);
	for (i = 1; i <= 6; i++) {
		site.stack = i;
		site.owner = i % 2;
		if (i == 5)
			site.function = site.place = "";
		CHECK_EQ(model_add_site(&model, i, &site), 0);
		CHECK_EQ(tape_add(model.tape, i, TAPE_CELL(i, 0), 10, 1), 0);
	}
	model.events = tape_settle(model.tape);
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 6), NULL, 0, LIVESET_SORT_BYTES), 0);
	CHECK_EQ(live.rows, 3);
	CHECK_EQ(live.row[0].bytes, 40);
	CHECK_EQ(live.row[0].count, 4);
	CHECK(model_same_line(&model, 1, 4) && !model_same_line(&model, 1, 5) && !model_same_line(&model, 5, 6));
	liveset_release(&live);
	model_release(&model);
}

/* State that a live set keeps from one time to the next must not outlive its source. */
TEST(what_looks_alike_changes_with_the_model)
{
	struct model_site site = { .stack = 3, .function = "f", .place = "f.py:1" };
	struct liveset live = { 0 };
	struct model model;
	uint32_t i;

	CHECK_EQ(model_init(&model), 0);
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 5), NULL, 0, LIVESET_SORT_PLACE), 0);
	CHECK_EQ(live.rows, 0);
	for (i = 1; i <= 2; i++) {
		CHECK_EQ(model_add_site(&model, i, &site), 0);
		CHECK_EQ(tape_add(model.tape, i, TAPE_CELL(i, 0), (int64_t)i * 10, 1), 0);
	}
	model.events = tape_settle(model.tape);
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 5), NULL, 0, LIVESET_SORT_PLACE), 0);
	CHECK_EQ(live.rows, 1);
	CHECK_EQ(live.row[0].bytes, 30);
	/* A site is something else than it seemed. */
	model.site[1].category = MT_CATEGORY_WEIGHTS;
	model.edition++;
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 5), NULL, 0, LIVESET_SORT_PLACE), 0);
	CHECK_EQ(live.rows, 2);
	CHECK_EQ(live.row[0].bytes, 20);
	/* Sites come, many of them, and look like the first one. */
	site.category = MT_CATEGORY_WEIGHTS;
	for (i = 3; i < 1000; i++) {
		CHECK_EQ(model_add_site(&model, i, &site), 0);
		CHECK_EQ(tape_add(model.tape, 4, TAPE_CELL(i, 0), 1, 1), 0);
	}
	model.events = tape_settle(model.tape);
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 5), NULL, 0, LIVESET_SORT_BYTES), 0);
	CHECK_EQ(live.rows, 2);
	CHECK_EQ(live.row[0].bytes, 10 + 997);
	CHECK_EQ(live.row[0].count, 998);
	CHECK_EQ(live.row[0].site, 1);
	/* Names turn up, with no new edition. */
	model.site[2].function = "a";
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 5), NULL, 0, LIVESET_SORT_PLACE), 0);
	CHECK_EQ(live.row[0].site, 2);
	model.site[2].function = "z";
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 5), NULL, 0, LIVESET_SORT_PLACE), 0);
	CHECK_EQ(live.row[0].site, 1);
	liveset_release(&live);
	model_release(&model);
}

/* A number larger than any digit that sorts. */
TEST(rows_of_all_sizes_are_in_order)
{
	struct kit_random random = { 9 };
	struct liveset live = { 0 };
	struct model_site site = { .function = "", .place = "" };
	struct model model;
	uint32_t i;

	CHECK_EQ(model_init(&model), 0);
	for (i = 1; i < 3000; i++) {
		site.stack = i;
		CHECK_EQ(model_add_site(&model, i, &site), 0);
		CHECK_EQ(tape_add(model.tape, 1, TAPE_CELL(i, 0),
				  (int64_t)(1 + (kit_below(&random, 1u << 30) << i % 30)),
				  1 + (int32_t)kit_below(&random, 1u << 30)),
			 0);
	}
	model.events = tape_settle(model.tape);
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 1), NULL, 0, LIVESET_SORT_BYTES), 0);
	CHECK_EQ(live.rows, 2999);
	for (i = 1; i < live.rows; i++)
		CHECK(live.row[i - 1].bytes > live.row[i].bytes ||
		      (live.row[i - 1].bytes == live.row[i].bytes && live.row[i - 1].site < live.row[i].site));
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, 1), NULL, 0, LIVESET_SORT_COUNT), 0);
	for (i = 1; i < live.rows; i++)
		CHECK(live.row[i - 1].count > live.row[i].count ||
		      (live.row[i - 1].count == live.row[i].count && live.row[i - 1].bytes >= live.row[i].bytes));
	liveset_release(&live);
	model_release(&model);
}

TEST(the_live_set_at_the_end_of_a_full_block)
{
	const struct model_site site = { .stack = 1 };
	struct liveset live = { 0 };
	struct model model;
	uint32_t i;

	CHECK_EQ(model_init(&model), 0);
	CHECK_EQ(model_add_site(&model, 1, &site), 0);
	for (i = 0; i < TAPE_BLOCK; i++)
		CHECK_EQ(tape_add(model.tape, (int64_t)i, TAPE_CELL(1, 0), 3, 1), 0);
	model.events = tape_settle(model.tape);
	CHECK_EQ(liveset_at(&live, &model, model_events_at(&model, UINT32_MAX, INT64_MAX), NULL, 0, LIVESET_SORT_BYTES),
		 0);
	CHECK_EQ(live.bytes, 3 * TAPE_BLOCK);
	CHECK_EQ(live.count, TAPE_BLOCK);
	liveset_release(&live);
	model_release(&model);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

TEST(texts_are_kept_once)
{
	struct model model;
	char text[200];
	const char *kept[3000], *large;
	static char huge[200000];
	int i;

	CHECK_EQ(model_init(&model), 0);
	CHECK_STR(model.owner[0], "pytorch");
	for (i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "function number %d of a module with a long name", i);
		kept[i] = model_text(&model, text);
		CHECK(kept[i] && kept[i] != text);
	}
	memset(huge, 'x', sizeof(huge) - 1);
	large = model_text(&model, huge);
	CHECK_STR(large, huge);
	for (i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "function number %d of a module with a long name", i);
		CHECK(model_text(&model, text) == kept[i]);
		CHECK_STR(kept[i], text);
	}
	CHECK(model_text(&model, huge) == large);
	CHECK_STR(model_text(&model, ""), "");
	model_release(&model);
}

TEST(the_span_at_a_time_is_that_of_the_process)
{
	static const struct model_span spans[] = {
		{ .process = 0, .first = 10, .last = 20 },
		{ .process = 1, .first = 0, .last = 25 },
		{ .process = 0, .first = 30, .last = 40 },
		{ .process = 1, .first = 26, .last = 90 },
	};
	struct model_process process = { 0 };
	struct model model;
	size_t i;

	CHECK_EQ(model_init(&model), 0);
	CHECK_EQ(model_span_at(&model, 0, 5), 0);
	CHECK_EQ(model_add_process(&model, &process), 0);
	CHECK_EQ(model_add_process(&model, &process), 0);
	for (i = 0; i < MT_ARRAY_SIZE(spans); i++)
		CHECK_EQ(model_add_span(&model, &spans[i]), 0);
	CHECK_EQ(model_span_at(&model, 0, 5), 0);
	CHECK_EQ(model_span_at(&model, 0, 20), 0);
	CHECK_EQ(model_span_at(&model, 0, 21), 2);
	CHECK_EQ(model_span_at(&model, 0, 41), 4);
	CHECK_EQ(model_span_at(&model, 1, 25), 1);
	CHECK_EQ(model_span_at(&model, 1, 26), 3);
	CHECK_EQ(model_span_at(&model, 7, 26), 4);
	model_release(&model);
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

static void filter_model(struct model *model)
{
	static struct callstack_frame frame = { .function = "Attention.forward",
						.file = "/srv/model/attention.py",
						.module = "" };
	static const struct callstack_frame *frames[] = { &frame };
	static const struct callstack stack = { .frame = frames, .count = 1, .room = 1 };
	struct model_process process = { .rank = 3, .file = "run/trace.rank3.zst" };
	struct model_site sites[] = {
		{ .phase = MT_PHASE_FORWARD,
		  .category = MT_CATEGORY_ACTIVATIONS,
		  .most = 2ull << 30,
		  .function = "mlp",
		  .place = "mlp.py:3" },
		{ .phase = MT_PHASE_OPTIMIZER,
		  .category = MT_CATEGORY_OPTIMIZER_STATE,
		  .most = 1 << 20,
		  .function = "step",
		  .place = "adam.py:9" },
		{ .phase = MT_PHASE_BACKWARD,
		  .category = MT_CATEGORY_OTHER,
		  .most = 3 << 20,
		  .owner = 1,
		  .driver = 1,
		  .function = "run",
		  .place = "run.py:9",
		  .callstack = &stack },
	};
	uint32_t i;

	CHECK_EQ(model_init(model), 0);
	CHECK_EQ(model_add_process(model, &process), 0);
	CHECK_EQ(model_owner(model, "libnccl"), 1);
	for (i = 0; i < MT_ARRAY_SIZE(sites); i++)
		CHECK_EQ(model_add_site(model, i + 1, &sites[i]), 0);
}

/* Which sites are shown, plainly and as slack: "1--2-3". */
static const char *shown_by(const struct model *model, const char *text)
{
	static char word[7];
	struct filter filter = { 0 };
	uint32_t cell;

	CHECK_EQ(filter_set(&filter, text), 0);
	CHECK_EQ(filter_make(&filter, model), 0);
	CHECK_EQ(filter.cells, 8);
	for (cell = 2; cell < 8; cell++)
		word[cell - 2] = (char)(filter.shown[cell] ? '0' + TAPE_SITE(cell) : '-');
	filter_release(&filter);
	return word;
}

TEST(filter_words)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{ "", "112233" },
		{ "forward", "11----" },
		{ "activ", "1-----" },
		{ "optimizer", "--22--" },
		{ "optimizer-state", "--2---" },
		{ "OPTIMIZER_STATE", "--2---" },
		{ "pytorch", "1122-3" }, /* slack is the allocator's, whoever asked for the memory */
		{ "libn", "----3-" },
		{ "allocator", "-1-2-3" },
		{ "!allocator", "1-2-3-" },
		{ ">1MiB", "11--33" },
		{ ">2.9MiB", "11--33" },
		{ "<3.1MiB", "--2233" },
		{ "<2m", "--22--" },
		{ ">1MiB <1GiB", "----33" },
		{ ">1.5gb", "11----" },
		{ "!>1MiB", "--22--" },
		{ "adam.PY", "--22--" },
		{ "attention", "----33" },
		{ "Attention.forward", "----33" },
		{ "rank3", "112233" },
		{ "rank4", "------" },
		{ "  backward   !allocator ", "----3-" },
		{ "phase=optimizer", "--22--" },
		{ "category=optimizer-state", "--2---" },
		{ "category=optimizer", "------" },
		{ "owner=pytorch", "1122-3" },
		{ "process=rank-3 phase=forward", "11----" },
		{ "!process=rank-3", "------" },
	};
	struct model model;
	size_t i;

	filter_model(&model);
	for (i = 0; i < MT_ARRAY_SIZE(cases); i++)
		CHECK_STR(shown_by(&model, cases[i].text), cases[i].shown);
	CHECK(filter_site_has(&model, 3, "attention.py"));
	CHECK(!filter_site_has(&model, 2, "attention.py"));
	model_release(&model);
}

TEST(a_filter_that_is_none_changes_nothing)
{
	static const char *const wrong[] = { ">", "<big", ">1XiB", "forward >", ">1GiBs", ">-1", "forward !" };
	struct filter filter = { 0 };
	char text[FILTER_TEXT_MAX + 1];
	size_t i;

	CHECK_EQ(filter_set(&filter, "forward"), 0);
	for (i = 0; i < MT_ARRAY_SIZE(wrong); i++) {
		CHECK_EQ(filter_set(&filter, wrong[i]), -MT_E_ARGUMENT);
		CHECK_STR(filter.text, "forward");
	}
	memset(text, 'x', FILTER_TEXT_MAX);
	text[FILTER_TEXT_MAX] = '\0';
	CHECK_EQ(filter_set(&filter, text), -MT_E_ARGUMENT);
	CHECK_STR(filter.text, "forward");
	CHECK_EQ(filter_set(&filter, ""), 0);
	CHECK_STR(filter.text, "");
	filter_release(&filter);
}

TEST_MAIN()
