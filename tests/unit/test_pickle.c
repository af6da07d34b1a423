/* test_pickle.c - pickles by hand: every opcode, shared values, damage at every byte, and what must be refused. */
#include <limits.h>
#include "import/pickle.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "test.h"

static const char path[] = "/dev/shm/test_pickle";

static void write_file(const void *data, size_t size)
{
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "%s.%d", path, (int)getpid());
	file = fopen(name, "w");
	CHECK(file);
	CHECK_EQ(fwrite(data, 1, size, file), size);
	CHECK(!fclose(file));
}

/* Opens these bytes; the file is gone again afterwards. */
static int open_bytes(struct pickle **pickle, const void *data, size_t size, int *damage, uint64_t *offset)
{
	char name[64];
	int error;

	write_file(data, size);
	snprintf(name, sizeof(name), "%s.%d", path, (int)getpid());
	error = pickle_open(pickle, name, damage, offset);
	unlink(name);
	return error;
}

#define BYTES(text) (text), sizeof(text) - 1

static struct pickle *whole(const void *data, size_t size)
{
	struct pickle *pickle;
	uint64_t offset;
	int damage;

	CHECK_EQ(open_bytes(&pickle, data, size, &damage, &offset), 0);
	CHECK_EQ(damage, 0);
	CHECK_EQ(offset, size);
	return pickle;
}

static int64_t int_of(const void *data, size_t size)
{
	struct pickle *pickle = whole(data, size);
	int64_t value = pickle_int(pickle, pickle_root(pickle), INT64_MIN);

	pickle_free(pickle);
	return value;
}

TEST(integers)
{
	CHECK_EQ(int_of(BYTES("\x80\4K\xff.")), 255);
	CHECK_EQ(int_of(BYTES("\x80\4M\1\2.")), 513);
	CHECK_EQ(int_of(BYTES("\x80\4J\xfe\xff\xff\xff.")), -2);
	CHECK_EQ(int_of(BYTES("\x80\4\x8a\0.")), 0);
	CHECK_EQ(int_of(BYTES("\x80\4\x8a\1\x80.")), -128);
	CHECK_EQ(int_of(BYTES("\x80\4\x8a\6\0\0\0\0\0\x7f.")), 0x7f0000000000);
	CHECK_EQ(int_of(BYTES("\x80\4\x8a\x9\0\0\0\0\0\0\0\x80\0.")), INT64_MIN); /* 2^63, cut to 64 bits */
	CHECK_EQ(int_of(BYTES("\x80\2\x8b\2\0\0\0\1\1.")), 257);
	CHECK_EQ(int_of(BYTES("\x80\4\x88.")), 1);
	CHECK_EQ(int_of(BYTES("\x80\5\x89.")), 0);
	CHECK_EQ(int_of(BYTES("\x80\4N.")), INT64_MIN);
}

TEST(reals)
{
	struct pickle *pickle = whole(BYTES("\x80\4G\x3f\xe8\0\0\0\0\0\0."));

	CHECK_EQ(pickle_type(pickle, pickle_root(pickle)), PICKLE_FLOAT);
	CHECK_EQ(pickle_int(pickle, pickle_root(pickle), 7), 7);
	pickle_free(pickle);
}

static void check_text(const void *data, size_t size, const char *want)
{
	struct pickle *pickle = whole(data, size);
	size_t got;

	pickle_text(pickle, pickle_root(pickle), &got);
	CHECK_EQ(got, strlen(want));
	CHECK(pickle_is(pickle, pickle_root(pickle), want));
	CHECK(!pickle_is(pickle, pickle_root(pickle), "abcd"));
	pickle_free(pickle);
}

TEST(texts)
{
	check_text(BYTES("\x80\4\x8c\3abc."), "abc");
	check_text(BYTES("\x80\2X\3\0\0\0abc."), "abc");
	check_text(BYTES("\x80\4\x8d\3\0\0\0\0\0\0\0abc."), "abc");
	check_text(BYTES("\x80\4\x8c\0."), "");
	check_text(BYTES("\x80\2U\3abc."), "abc");
	check_text(BYTES("\x80\4"
			 "C\3abc."),
		   "abc");
}

TEST(containers)
{
	/* [1, (2, 3), {"k": 4, "k": 5}, (), [6], (7, 8, 9, 10)] */
	struct pickle *pickle = whole(BYTES("\x80\4](K\1K\2K\3\x86}(\x8c\1kK\4\x8c\1kK\5u)]K\6a(K\7K\x8K\x9K\xat"
					    "e."));
	pickle_id root = pickle_root(pickle), pair = pickle_item(pickle, root, 1), dict = pickle_item(pickle, root, 2);

	CHECK_EQ(pickle_type(pickle, root), PICKLE_LIST);
	CHECK_EQ(pickle_count(pickle, root), 6);
	CHECK_EQ(pickle_int(pickle, pickle_item(pickle, pair, 1), 0), 3);
	CHECK_EQ(pickle_type(pickle, dict), PICKLE_DICT);
	CHECK_EQ(pickle_count(pickle, dict), 2);
	CHECK(pickle_is(pickle, pickle_key(pickle, dict, 0), "k"));
	CHECK_EQ(pickle_int(pickle, pickle_item(pickle, dict, 0), 0), 4);
	CHECK_EQ(pickle_int(pickle, pickle_get(pickle, dict, "k"), 0), 5);
	CHECK_EQ(pickle_get(pickle, dict, "l"), 0);
	CHECK_EQ(pickle_get(pickle, pair, "k"), 0);
	CHECK_EQ(pickle_count(pickle, pickle_item(pickle, root, 3)), 0);
	CHECK_EQ(pickle_count(pickle, pickle_item(pickle, root, 5)), 4);
	CHECK_EQ(pickle_type(pickle, pickle_item(pickle, root, 6)), PICKLE_NONE);
	pickle_free(pickle);
}

/* A value that is in the file once is one value, also inside itself. */
TEST(shared_values)
{
	struct pickle *pickle = whole(BYTES("\x80\4]\x94(}\x94h\1h\1h\0"
					    "e."));
	pickle_id root = pickle_root(pickle);

	CHECK_EQ(pickle_count(pickle, root), 4);
	CHECK_EQ(pickle_item(pickle, root, 0), pickle_item(pickle, root, 2));
	CHECK_EQ(pickle_item(pickle, root, 3), root);
	pickle_free(pickle);
	pickle = whole(BYTES("\x80\2]q\0(}r\1\0\0\0j\1\0\0\0h\1"
			     "e."));
	CHECK_EQ(pickle_item(pickle, pickle_root(pickle), 0), pickle_item(pickle, pickle_root(pickle), 2));
	pickle_free(pickle);
}

static int error_of(const void *data, size_t size, int *damage)
{
	struct pickle *pickle;
	uint64_t offset;
	int error = open_bytes(&pickle, data, size, damage, &offset);

	CHECK(offset <= size);
	CHECK((error == 0) == (pickle != NULL));
	pickle_free(pickle);
	return error;
}

TEST(code_is_refused)
{
	static const unsigned char refused[] = { 'c',  0x93, 'R',  'b', 'i', 'o',  0x81, 0x92,
						 0x82, 0x83, 0x84, 'P', 'Q', 0x97, 0x98 };
	unsigned char data[] = { 0x80, 4, '}', '(', 0x8c, 1, 'k', 0, 'u', '.' };
	int damage;
	size_t i;

	for (i = 0; i < sizeof(refused); i++) {
		data[7] = refused[i];
		CHECK_EQ(error_of(data, sizeof(data), &damage), -MT_E_REFUSED);
	}
}

TEST(no_pickles)
{
	int damage;

	CHECK_EQ(error_of("", 0, &damage), -MT_E_MAGIC);
	CHECK_EQ(error_of(BYTES("\x80"), &damage), -MT_E_MAGIC);
	CHECK_EQ(error_of(BYTES("PK\3\4"), &damage), -MT_E_MAGIC);
	CHECK_EQ(error_of(BYTES("\x80\6N."), &damage), -MT_E_VERSION);
	CHECK_EQ(error_of(BYTES("\x80\4"), &damage), -MT_E_TRUNCATED);
}

/* Every one of these would make a careless reader look below its stack or beyond its memo. */
TEST(nonsense)
{
	static const struct {
		const char *data;
		size_t size;
	} bad[] = {
		{ BYTES("\x80\4.") },
		{ BYTES("\x80\4\x85.") },
		{ BYTES("\x80\4K\1\x87.") },
		{ BYTES("\x80\4t.") },
		{ BYTES("\x80\4"
			"e.") },
		{ BYTES("\x80\4u.") },
		{ BYTES("\x80\4K\1K\2"
			"a.") },
		{ BYTES("\x80\4"
			"0.") },
		{ BYTES("\x80\4"
			"1.") },
		{ BYTES("\x80\4h\0.") },
		{ BYTES("\x80\4\x94.") },
		{ BYTES("\x80\4"
			"Nr\xff\xff\xff\x7f.") },
		{ BYTES("\x80\4}(K\1u.") },
		{ BYTES("\x80\4](K\1a.") },
		{ BYTES("\x80\4K\1(e.") },
		{ BYTES("\x80\4NN.") },
		{ BYTES("\x80\4(N.") },
		{ BYTES("\x80\4\x8c\x10"
			"abc.") },
		{ BYTES("\x80\4\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
			"a.") },
		{ BYTES("\x80\4\xff.") },
	};
	size_t i;
	int damage, error;

	for (i = 0; i < MT_ARRAY_SIZE(bad); i++) {
		error = error_of(bad[i].data, bad[i].size, &damage);
		if (!error)
			CHECK(damage == -MT_E_CORRUPT || damage == -MT_E_TRUNCATED);
		else
			CHECK(error == -MT_E_CORRUPT || error == -MT_E_TRUNCATED);
	}
}

/* Most of a long file is read by a loop of its own, its ends by the machine: each number comes out of both. */
TEST(many_of_each_number)
{
	static const struct {
		const char *opcode;
		size_t size;
		int64_t number;
	} each[] = {
		{ BYTES("K\xff"), 255 },
		{ BYTES("M\1\xff"), 0xff01 },
		{ BYTES("J\xfe\xff\xff\xff"), -2 },
		{ BYTES("\x8a\0"), 0 },
		{ BYTES("\x8a\1\x80"), -128 },
		{ BYTES("\x8a\3\0\0\x40"), 0x400000 },
		{ BYTES("\x8a\x8\1\0\0\0\0\0\0\x80"), INT64_MIN + 1 },
		{ BYTES("\x8a\x9\1\0\0\0\0\0\0\x80\0"), INT64_MIN + 1 },
	};
	char data[2048];
	struct pickle *pickle;
	size_t i, n, size;

	for (i = 0; i < MT_ARRAY_SIZE(each); i++) {
		memcpy(data, "\x80\4](", size = 4);
		for (n = 0; n < 100; n++, size += each[i].size)
			memcpy(data + size, each[i].opcode, each[i].size);
		memcpy(data + size, "e.", 2);
		pickle = whole(data, size + 2);
		CHECK_EQ(pickle_count(pickle, pickle_root(pickle)), 100);
		for (n = 0; n < 100; n++)
			CHECK_EQ(pickle_int(pickle, pickle_item(pickle, pickle_root(pickle), (uint32_t)n), 7),
				 each[i].number);
		pickle_free(pickle);
	}
}

/* [{5: root}, ...] with 100 dicts, number 1 to 100 of the memo; `tail` is the inside of one more. */
static int open_dicts(struct pickle **pickle, const char *tail, size_t tail_size, int *damage)
{
	static const char dict[] = "}\x94(K\5h\0u";
	char data[2048] = "\x80\4]\x94(";
	size_t n, size = 5;
	uint64_t offset;

	for (n = 0; n < 100; n++, size += sizeof(dict) - 1)
		memcpy(data + size, dict, sizeof(dict) - 1);
	memcpy(data + size, tail, tail_size);
	memcpy(data + size + tail_size, "e.", 2);
	return open_bytes(pickle, data, size + tail_size + 2, damage, &offset);
}

TEST(many_dicts)
{
	struct pickle *pickle;
	pickle_id dict;
	uint32_t n;
	int damage;

	CHECK_EQ(open_dicts(&pickle, BYTES("}\x94(K\5j\x64\0\0\0u"), &damage), 0);
	CHECK_EQ(damage, 0);
	CHECK_EQ(pickle_count(pickle, pickle_root(pickle)), 101);
	for (n = 0; n < 101; n++) {
		dict = pickle_item(pickle, pickle_root(pickle), n);
		CHECK_EQ(pickle_count(pickle, dict), 1);
		CHECK_EQ(pickle_int(pickle, pickle_key(pickle, dict, 0), 0), 5);
		CHECK_EQ(pickle_item(pickle, dict, 0),
			 n < 100 ? pickle_root(pickle) : pickle_item(pickle, pickle_root(pickle), 99));
	}
	pickle_free(pickle);
	CHECK_EQ(open_dicts(&pickle, BYTES("}\x94(K\5j\x66\0\0\0u........."), &damage), 0);
	CHECK_EQ(damage, -MT_E_CORRUPT); /* the memo ends with 101 */
	pickle_free(pickle);
	CHECK_EQ(open_dicts(&pickle, BYTES("}(\x94K\5h\0u........."), &damage), 0);
	CHECK_EQ(damage, -MT_E_CORRUPT); /* nothing is on the mark */
	pickle_free(pickle);
}

/* {"a": [{"x": 1}, {"x": 2}], "b": 3} */
static const char sample[] =
	"\x80\4\x95\0\0\0\0\0\0\0\0}\x94(\x8c\1a\x94]\x94(}\x94\x8c\1x\x94K\1s}\x94h\4K\2se\x8c\1b\x94K\3u.";

TEST(a_torn_file_keeps_what_was_read)
{
	struct pickle *pickle;
	uint64_t offset;
	size_t size;
	pickle_id items;
	int damage, error, whole_items = 0;

	for (size = 2; size < sizeof(sample) - 1; size++) {
		error = open_bytes(&pickle, sample, size, &damage, &offset);
		if (error) {
			CHECK_EQ(error, -MT_E_TRUNCATED);
			continue;
		}
		CHECK_EQ(damage, -MT_E_TRUNCATED);
		CHECK_EQ(pickle_type(pickle, pickle_root(pickle)), PICKLE_DICT);
		items = pickle_get(pickle, pickle_root(pickle), "a");
		whole_items += pickle_int(pickle, pickle_get(pickle, pickle_item(pickle, items, 1), "x"), 0) == 2;
		pickle_free(pickle);
	}
	CHECK(whole_items >= 5); /* from the second item's end on */
}

/* Any byte may be any other: never a crash, and never more values than bytes. */
TEST(damage_anywhere)
{
	struct pickle *pickle;
	char data[sizeof(sample) - 1];
	uint64_t offset;
	size_t at;
	int byte, damage;

	for (at = 2; at < sizeof(data); at++)
		for (byte = 0; byte < 256; byte += 3) {
			memcpy(data, sample, sizeof(data));
			data[at] = (char)byte;
			if (open_bytes(&pickle, data, sizeof(data), &damage, &offset))
				continue;
			CHECK(pickle_values(pickle) <= sizeof(data) + 3);
			pickle_free(pickle);
		}
}

TEST_MAIN()
