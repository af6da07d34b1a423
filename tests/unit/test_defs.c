/* test_defs.c - definitions: interning, limits, DEFS chunks. */
#include "trace/chunk.h"
#include "trace/defs.h"
#include "trace_kit.h"

static uint32_t add(struct mt_defs *defs, const char *text)
{
	return mt_defs_add_string(defs, text, strlen(text));
}

TEST(ids_are_dense_from_one_per_kind)
{
	struct mt_defs *defs = mt_defs_new();

	CHECK_EQ(add(defs, "a"), 1);
	CHECK_EQ(add(defs, "b"), 2);
	CHECK_EQ(mt_defs_add_frame(defs, &(struct mt_frame){ .kind = MT_FRAME_PYTHON, .function = 1 }), 1);
	CHECK_EQ(mt_defs_add_node(defs, 0, 1), 1);
	CHECK_EQ(mt_defs_count(defs, MT_DEF_STRING), 2);
	CHECK_EQ(mt_defs_count(defs, MT_DEF_NODE), 1);
	CHECK_EQ(mt_defs_count(defs, MT_DEF_DEVICE), 0);
	mt_defs_free(defs);
}

TEST(the_same_content_gets_the_same_id)
{
	struct kit_random random = { 1 }, again;
	struct mt_defs *defs = mt_defs_new();
	uint32_t id;
	int round, kind;

	for (round = 0; round < 3000; round++) {
		kind = 1 + (int)kit_below(&random, MT_DEF_END - 1);
		again = random;
		id = kit_define(&random, defs, (enum mt_def)kind);
		CHECK(id);
		/* The second time the same ids are drawn only when the counts have not changed since. */
		if (kind == MT_DEF_STRING)
			CHECK_EQ(kit_define(&again, defs, MT_DEF_STRING), id);
	}
	CHECK_EQ(mt_defs_add_frame(defs, mt_defs_frame(defs, 17)), 17);
	CHECK_EQ(mt_defs_add_module(defs, mt_defs_module(defs, 21)), 21);
	CHECK_EQ(mt_defs_add_node_in(defs, mt_defs_node(defs, 33)->parent, mt_defs_node(defs, 33)->frame,
				     mt_defs_node(defs, 33)->nest),
		 33);
	mt_defs_free(defs);
}

TEST(threads_are_equal_by_tid_and_name_devices_by_kind_and_index)
{
	struct mt_defs *defs = mt_defs_new();
	uint32_t name = add(defs, "pt_autograd_0");

	CHECK_EQ(mt_defs_add_thread(defs, &(struct mt_thread){ 7, name, 0 }), 1);
	CHECK_EQ(mt_defs_add_thread(defs, &(struct mt_thread){ 7, name, MT_THREAD_AUTOGRAD }), 1);
	CHECK_EQ(mt_defs_add_thread(defs, &(struct mt_thread){ 7, 0, 0 }), 2);
	CHECK_EQ(mt_defs_add_device(defs, &(struct mt_device){ MT_DEVICE_CUDA, 0, name, 0, 5 }), 1);
	CHECK_EQ(mt_defs_add_device(defs, &(struct mt_device){ MT_DEVICE_CUDA, 0, 0, 0, 0 }), 1);
	CHECK_EQ(mt_defs_add_device(defs, &(struct mt_device){ MT_DEVICE_CPU, 0, 0, 0, 0 }), 2);
	CHECK_EQ(mt_defs_device(defs, 1)->total, 5);
	mt_defs_free(defs);
}

TEST(what_is_not_defined_is_nothing)
{
	struct mt_defs *defs = mt_defs_new();

	CHECK_STR(mt_defs_string(defs, 0), "");
	CHECK_STR(mt_defs_string(defs, 1), "");
	CHECK_EQ(mt_defs_string_size(defs, UINT32_MAX), 0);
	CHECK(!mt_defs_module(defs, 0) && !mt_defs_frame(defs, 1) && !mt_defs_node(defs, UINT32_MAX));
	CHECK(!mt_defs_thread(defs, 0) && !mt_defs_device(defs, 9));
	CHECK_EQ(mt_defs_count(defs, (enum mt_def)0), 0);
	CHECK_EQ(mt_defs_count(defs, (enum mt_def)MT_DEF_END), 0);
	mt_defs_free(defs);
}

TEST(ids_inside_must_be_defined)
{
	struct mt_defs *defs = mt_defs_new();

	CHECK_EQ(mt_defs_add_frame(defs, &(struct mt_frame){ .kind = 1, .function = 1 }), 0);
	CHECK_EQ(mt_defs_add_node(defs, 1, 0), 0);
	CHECK_EQ(mt_defs_add_node(defs, 0, 1), 0);
	CHECK_EQ(mt_defs_add_module(defs, &(struct mt_module){ .path = 1 }), 0);
	CHECK_EQ(mt_defs_add_module(defs, &(struct mt_module){ .build_id_size = MT_BUILD_ID_MAX + 1 }), 0);
	CHECK_EQ(mt_defs_add_thread(defs, &(struct mt_thread){ .name = 1 }), 0);
	CHECK_EQ(mt_defs_add_device(defs, &(struct mt_device){ .uuid = 1 }), 0);
	CHECK_EQ(mt_defs_count(defs, MT_DEF_FRAME) + mt_defs_count(defs, MT_DEF_NODE), 0);
	mt_defs_free(defs);
}

TEST(strings_keep_every_byte_and_are_cut_at_the_limit)
{
	struct mt_defs *defs = mt_defs_new();
	char *text = calloc(1, MT_STRING_MAX + 10);
	uint32_t nul, big;

	memset(text, 'x', MT_STRING_MAX + 10);
	nul = mt_defs_add_string(defs, "a\0b", 3);
	CHECK_EQ(mt_defs_string_size(defs, nul), 3);
	CHECK(!memcmp(mt_defs_string(defs, nul), "a\0b", 4));
	CHECK(add(defs, "a") != nul);
	big = mt_defs_add_string(defs, text, MT_STRING_MAX + 10);
	CHECK_EQ(mt_defs_string_size(defs, big), MT_STRING_MAX);
	CHECK_EQ(mt_defs_string(defs, big)[MT_STRING_MAX], 0);
	CHECK_EQ(mt_defs_add_string(defs, text, MT_STRING_MAX), big);
	CHECK_EQ(mt_defs_string_size(defs, add(defs, "")), 0);
	free(text);
	mt_defs_free(defs);
}

TEST(stacks_end_at_the_depth_limit)
{
	struct mt_defs *defs = mt_defs_new();
	uint32_t frame = mt_defs_add_frame(defs, &(struct mt_frame){ .kind = MT_FRAME_ELIDED });
	uint32_t node = 0, depth;

	for (depth = 1; depth <= MT_STACK_DEPTH_MAX; depth++)
		CHECK_EQ(node = mt_defs_add_node(defs, node, frame), depth);
	CHECK_EQ(mt_defs_add_node(defs, node, frame), 0);
	mt_defs_free(defs);
}

TEST(pointers_stay_valid)
{
	struct mt_defs *defs = mt_defs_new();
	const char *first = mt_defs_string(defs, add(defs, "first"));
	const struct mt_thread *thread;
	char text[32];
	int i;

	mt_defs_add_thread(defs, &(struct mt_thread){ .tid = 99 });
	thread = mt_defs_thread(defs, 1);
	for (i = 0; i < 50000; i++) {
		snprintf(text, sizeof(text), "string %d", i);
		CHECK(add(defs, text));
		mt_defs_add_thread(defs, &(struct mt_thread){ .tid = (uint32_t)i });
	}
	CHECK(first == mt_defs_string(defs, 1) && thread == mt_defs_thread(defs, 1));
	CHECK_STR(first, "first");
	CHECK_EQ(thread->tid, 99);
	mt_defs_free(defs);
}

TEST(few_means_few)
{
	struct mt_defs *defs = mt_defs_new();
	uint32_t i;

	for (i = 1; i <= MT_DEFS_FEW_MAX; i++)
		CHECK_EQ(mt_defs_add_thread(defs, &(struct mt_thread){ .tid = i }), i);
	CHECK_EQ(mt_defs_add_thread(defs, &(struct mt_thread){ .tid = i }), 0);
	CHECK_EQ(mt_defs_add_thread(defs, &(struct mt_thread){ .tid = 5 }), 5);
	mt_defs_free(defs);
}

/* Encodes what is new and decodes it into `copy`. */
static void transfer(const struct mt_defs *defs, uint32_t done[MT_DEF_END], struct mt_defs *copy)
{
	struct mt_buffer payload = { 0 };
	struct mt_cursor cursor;

	while (mt_defs_encode(defs, done, NULL, 0, &payload)) {
		CHECK_EQ(payload.error, 0);
		CHECK(payload.size < MT_CHUNK_BYTES_MAX);
		cursor = mt_cursor_make(payload.data, payload.size);
		CHECK_EQ(mt_payload_kind(&cursor), MT_CHUNK_DEFS);
		CHECK_EQ(mt_defs_decode(copy, &cursor), 0);
	}
	mt_buffer_release(&payload);
}

TEST(chunks_carry_every_definition)
{
	uint64_t seed;

	for (seed = 1; seed <= 20; seed++) {
		struct kit_random random = { seed };
		struct mt_defs *defs = mt_defs_new(), *copy = mt_defs_new();
		uint32_t done[MT_DEF_END] = { 0 };
		int i, pieces;

		for (pieces = 0; pieces < 4; pieces++) {
			for (i = (int)kit_below(&random, 300); i > 0; i--)
				kit_define(&random, defs, (enum mt_def)(1 + kit_below(&random, MT_DEF_END - 1)));
			transfer(defs, done, copy);
			kit_same_defs(defs, copy);
		}
		mt_defs_free(defs);
		mt_defs_free(copy);
	}
}

TEST(many_definitions_take_several_chunks)
{
	struct mt_defs *defs = mt_defs_new(), *copy = mt_defs_new();
	uint32_t done[MT_DEF_END] = { 0 };
	struct mt_buffer payload = { 0 };
	char *text = malloc(MT_STRING_MAX);
	struct mt_cursor cursor;
	int i, chunks = 0;

	memset(text, 'y', MT_STRING_MAX);
	for (i = 0; i < 400; i++) {
		memcpy(text, &i, sizeof(i));
		CHECK(mt_defs_add_string(defs, text, MT_STRING_MAX));
	}
	mt_defs_add_frame(defs, &(struct mt_frame){ .kind = 1, .function = 400 });
	for (; mt_defs_encode(defs, done, NULL, 0, &payload); chunks++) {
		cursor = mt_cursor_make(payload.data, payload.size);
		mt_payload_kind(&cursor);
		CHECK_EQ(mt_defs_decode(copy, &cursor), 0);
	}
	CHECK(chunks >= 3);
	kit_same_defs(defs, copy);
	mt_buffer_release(&payload);
	free(text);
	mt_defs_free(defs);
	mt_defs_free(copy);
}

TEST(interning_goes_on_after_decoding)
{
	struct kit_random random = { 5 };
	struct mt_defs *defs = mt_defs_new(), *copy = mt_defs_new();
	uint32_t done[MT_DEF_END] = { 0 }, id, i;

	for (i = 0; i < 500; i++)
		kit_define(&random, defs, (enum mt_def)(1 + kit_below(&random, MT_DEF_END - 1)));
	transfer(defs, done, copy);
	for (id = 1; id <= mt_defs_count(defs, MT_DEF_STRING); id++)
		CHECK_EQ(mt_defs_add_string(copy, mt_defs_string(defs, id), mt_defs_string_size(defs, id)), id);
	CHECK_EQ(mt_defs_add_string(copy, "quite new, longer than any", 26), mt_defs_count(defs, MT_DEF_STRING) + 1);
	mt_defs_free(defs);
	mt_defs_free(copy);
}

TEST(any_damage_of_a_payload_is_refused_or_harmless)
{
	struct kit_random random = { 9 };
	struct mt_defs *defs = mt_defs_new();
	uint32_t done[MT_DEF_END] = { 0 }, i, errors = 0;
	struct mt_buffer payload = { 0 };

	for (i = 0; i < 60; i++)
		kit_define(&random, defs, (enum mt_def)(1 + kit_below(&random, MT_DEF_END - 1)));
	CHECK(mt_defs_encode(defs, done, NULL, 0, &payload));
	for (i = 0; i < 20000; i++) {
		struct mt_defs *copy = mt_defs_new();
		size_t size = i % 2 ? payload.size : kit_below(&random, payload.size),
		       at = kit_below(&random, payload.size);
		uint8_t *bytes = malloc(size + 1);
		struct mt_cursor cursor = mt_cursor_make(bytes, size);

		memcpy(bytes, payload.data, size);
		if (at < size)
			bytes[at] ^= (uint8_t)(1 + kit_below(&random, 255));
		mt_payload_kind(&cursor);
		errors += mt_defs_decode(copy, &cursor) != 0;
		free(bytes);
		mt_defs_free(copy);
	}
	CHECK(errors > 10000);
	mt_buffer_release(&payload);
	mt_defs_free(defs);
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

TEST(the_newest_symbol_names_a_native_frame_and_no_other)
{
	struct mt_defs *defs = mt_defs_new();
	uint32_t native = mt_defs_add_frame(defs, &(struct mt_frame){ .kind = MT_FRAME_NATIVE, .offset = 16 });
	uint32_t python = mt_defs_add_frame(defs, &(struct mt_frame){ .kind = MT_FRAME_PYTHON, .line = 3 });
	uint32_t first = add(defs, "_Z5firstv"), second = add(defs, "second");

	CHECK_EQ(mt_defs_add_symbol(defs, &(struct mt_symbol){ native, first }), 1);
	CHECK_EQ(mt_defs_frame(defs, native)->symbol, first);
	CHECK_EQ(mt_defs_add_symbol(defs, &(struct mt_symbol){ native, second }), 2);
	CHECK_EQ(mt_defs_frame(defs, native)->symbol, second);
	CHECK_EQ(mt_defs_add_symbol(defs, &(struct mt_symbol){ python, first }), 3);
	CHECK_EQ(mt_defs_frame(defs, python)->symbol, 0);
	CHECK_EQ(mt_defs_add_symbol(defs, &(struct mt_symbol){ 0, first }), 0);
	CHECK_EQ(mt_defs_add_symbol(defs, &(struct mt_symbol){ python + 1, first }), 0);
	CHECK_EQ(mt_defs_add_symbol(defs, &(struct mt_symbol){ native, second + 1 }), 0);
	/* A frame with a symbol is the same frame, and its copy begins without one. */
	CHECK_EQ(mt_defs_add_frame(defs, &(struct mt_frame){ .kind = MT_FRAME_NATIVE, .offset = 16 }), native);
	CHECK_EQ(mt_defs_add_frame(defs, mt_defs_frame(defs, native)), native);
	mt_defs_free(defs);
}

TEST(names_of_symbols_are_not_forgotten_with_those_of_events)
{
	struct mt_defs *defs = mt_defs_new();
	uint32_t frame = mt_defs_add_frame(defs, &(struct mt_frame){ .kind = MT_FRAME_NATIVE, .offset = 16 });
	uint32_t symbol = mt_defs_add_name(defs, "raw_alloc", 9), range = mt_defs_add_name(defs, "step 17", 7);
	uint8_t wanted[8] = { 0 };

	CHECK(mt_defs_add_symbol(defs, &(struct mt_symbol){ frame, symbol }));
	mt_defs_guess_names(defs);
	mt_defs_forget_names(defs, wanted, sizeof(wanted));
	CHECK_STR(mt_defs_string(defs, symbol), "raw_alloc");
	CHECK_STR(mt_defs_string(defs, range), "");
	mt_defs_free(defs);
}

TEST_MAIN()
