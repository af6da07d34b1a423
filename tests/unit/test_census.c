/* test_census.c - the census of a trace: descriptions, what is known of births, and the vocabulary. */
#include "label/category_sizes.h"
#include "label/census.h"
#include "memtrace/phase.h"
#include "trace_kit.h"

TEST(descriptions)
{
	struct census_text text;

	CHECK(census_parse(&text, "bfloat16 32000x64 16000x64 Embedding AdamW#1 - Qwen2#1"));
	CHECK(!strcmp(text.dtype, "bfloat16") && !strcmp(text.local, "16000x64") && !strcmp(text.state, "-"));
	CHECK(!strcmp(text.model, "Qwen2#1"));
	CHECK(!census_parse(&text, "") && !strcmp(text.dtype, "-"));
	CHECK(!census_parse(&text, "a b c d e f"));
	CHECK(!census_parse(&text, "a b c d e f g h"));
	CHECK(!census_parse(&text, "a  c d e f g") && !strcmp(text.dtype, "-"));
}

TEST(shapes)
{
	uint64_t dims[CENSUS_DIMS_MAX];

	CHECK_EQ(census_dims(dims, "32000x64"), 2);
	CHECK(dims[0] == 32000 && dims[1] == 64);
	CHECK_EQ(census_dims(dims, "7"), 1);
	CHECK_EQ(census_dims(dims, "-"), 0);
	CHECK_EQ(census_dims(dims, ""), 0);
	CHECK_EQ(census_dims(dims, "9223372036854775808"), 0);
	CHECK_EQ(census_dims(dims, "99999999999999999999999"), 0);
	CHECK_EQ(census_dims(dims, "4611686018427387904x2"), 0);
	CHECK_EQ(census_dims(dims, "281474976710656"), 1);
	CHECK_EQ(census_dims(dims, "281474976710657"), 0);
	CHECK_EQ(census_dims(dims, "16777216x16777217"), 0);
	CHECK_EQ(census_dims(dims, "0x281474976710656"), 2);
	CHECK_EQ(census_dims(dims, "1x2x3x4x5x6x7x8"), 8);
	CHECK_EQ(census_dims(dims, "1x2x3x4x5x6x7x8x9"), 0);
	CHECK_EQ(census_dims(dims, "4x-1"), 0);
}

/* The golden trace: a weight with two names in the first block, a gradient that fills three quarters of the second. */
TEST(what_is_known)
{
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .seq = 64, .stack = 1, .size = 16000 * 64 * 2 };
	struct census census = { 0 };
	enum census_certainty how;
	struct mt_reader *reader;
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/golden/v1-census.zst", getenv("SRC") ? getenv("SRC") : ".");
	CHECK_EQ(mt_reader_open(&reader, path), 0);
	CHECK_EQ(census_read(&census, reader), 0);
	CHECK_EQ(census.rows, 4);
	CHECK(census.row[0].block == 64 && census.row[2].block == 128 && !census.row[3].block);
	CHECK(census.words[0] == 32000 && census.words[1] == 16000 && census.width == 64);

	CHECK_EQ(census_category(&census, &event, &how), MT_CATEGORY_WEIGHTS);
	CHECK_EQ(how, CENSUS_KNOWN);
	event.seq = 128;
	CHECK_EQ(census_category(&census, &event, &how), MT_CATEGORY_GRADIENTS);
	event = (struct mt_event){ .kind = MT_TENSOR_ALLOC, .seq = 6400, .stack = 3, .size = 4 << 20 };
	CHECK_EQ(census_category(&census, &event, &how), MT_CATEGORY_GRADIENTS);
	CHECK_EQ(how, CENSUS_ALIKE);
	event.size++;
	census_category(&census, &event, &how);
	CHECK_EQ(how, CENSUS_SILENT);
	census_release(&census);
	mt_reader_free(reader);
}

/* Logits of 512 tokens; not without a tensor of as many tokens; blocks of a GPU are rounded up. */
TEST(tokens_times_vocabulary)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t figure[3];

	CHECK(sizes != NULL);
	CHECK(!sizes_logits(sizes, 512ull * 32000 * 4, 32000, 64, figure));
	sizes_number(sizes, 512 * 64 * 2);
	CHECK(sizes_logits(sizes, 512ull * 32000 * 4, 32000, 64, figure));
	CHECK(figure[0] == 512 && figure[1] == 32000 && figure[2] == 4);
	CHECK(sizes_logits(sizes, 512ull * 32000 * 2, 32000, 64, figure) && figure[0] * figure[2] == 512 * 2);
	CHECK(!sizes_logits(sizes, 512ull * 32000 * 4 + 4, 32000, 64, figure));
	sizes_number(sizes, 1024); /* 17 tokens of 15 elements of 4 bytes, rounded up */
	CHECK(sizes_logits(sizes, (17ull * 1001 * 4 + 511) / 512 * 512, 1001, 15, figure) && figure[0] == 17);
	CHECK(sizes_of_layer(sizes, 512 * 256 * 2, 256, 64));
	CHECK(!sizes_of_layer(sizes, 512 * 256 * 4, 256, 64));
	CHECK(!sizes_logits(sizes, UINT64_MAX, UINT64_MAX, UINT64_MAX, figure));
	CHECK(!sizes_logits(sizes, UINT64_MAX, UINT32_MAX, UINT32_MAX, figure));
	free(sizes);
}

/* 2,048 tokens of 151,936 words in 16 bits: 593.5 MiB in a block of 594. Tokens with numbers of their own make it sure; short rows never do. */
TEST(logits_in_a_larger_block)
{
	struct category_sizes *sizes = calloc(1, sizeof(*sizes));
	uint64_t figure[3];

	CHECK(sizes != NULL);
	sizes_number(sizes, 2048 * 896 * 2);
	CHECK(!sizes_logits(sizes, 594ull << 20, 151936, 896, figure));
	sizes_number(sizes, 2048 * 8);
	CHECK(sizes_logits(sizes, 594ull << 20, 151936, 896, figure));
	CHECK(figure[0] == 2048 && figure[1] == 151936 && figure[2] == 2);
	CHECK(!sizes_logits(sizes, 596ull << 20, 151936, 896, figure)); /* more than 1 MiB is split off */
	CHECK(!sizes_logits(sizes, (594ull << 20) - 512, 151936, 896, figure));
	CHECK(!sizes_logits(sizes, 2048ull * 16000 * 2 + (1 << 19), 16000, 896, figure)); /* 62.5 MiB: small */
	sizes_number(sizes, 16384 * 896 * 2);
	sizes_number(sizes, 16384 * 8);
	CHECK(!sizes_logits(sizes, 126ull << 20, 2000, 896, figure)); /* 125 MiB: rows of 8,000 bytes are short */
	free(sizes);
}

TEST_MAIN()
