/* The options as text: what the launcher writes the agent must read, and nothing else may get through. */
#include "shared/options.c"
#include "test.h"

TEST(defaults_are_an_empty_text)
{
	struct memrec_options options, back;
	char text[MEMREC_OPTIONS_MAX];

	memrec_options_init(&options);
	CHECK_EQ(options.depth, 32);
	CHECK_EQ(options.stacks, MEMREC_STACKS_PYTHON | MEMREC_STACKS_NATIVE);
	CHECK_EQ(options.slot_bytes, 1 << 20);
	CHECK_EQ(memrec_options_encode(&options, text, sizeof(text)), 0);
	CHECK_STR(text, "");
	CHECK_EQ(memrec_options_decode(&back, text), 0);
	CHECK_EQ(memcmp(&options, &back, sizeof(back)), 0);
}

TEST(every_member_survives)
{
	struct memrec_options options, back;
	char text[MEMREC_OPTIONS_MAX];

	memrec_options_init(&options);
#define SET_TO_LARGEST(member, key, def, min, max) options.member = (max);
	MEMREC_NUMBER_LIST(SET_TO_LARGEST)
#define SET_TO_KEY(member, key) snprintf(options.member, sizeof(options.member), "/value of " key);
	MEMREC_TEXT_LIST(SET_TO_KEY)
	CHECK_EQ(memrec_options_encode(&options, text, sizeof(text)), 0);
	CHECK_EQ(memrec_options_decode(&back, text), 0);
	CHECK_EQ(memcmp(&options, &back, sizeof(back)), 0);
}

TEST(every_byte_survives_in_a_text)
{
	struct memrec_options options, back;
	char text[MEMREC_OPTIONS_MAX], *c;
	int byte;

	memrec_options_init(&options);
	for (byte = 1; byte < 256; byte++)
		options.output[byte - 1] = (char)byte;
	CHECK_EQ(memrec_options_encode(&options, text, sizeof(text)), 0);
	for (c = text; *c; c++)
		CHECK(strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-%=", *c));
	CHECK_EQ(memrec_options_decode(&back, text), 0);
	CHECK_STR(back.output, options.output);
}

TEST(second_form)
{
	struct memrec_options options;

	CHECK_EQ(memrec_options_decode(&options, "steps:3+depth:8+output:/a/%25h.zst"), 0);
	CHECK_EQ(options.steps, 3);
	CHECK_EQ(options.depth, 8);
	CHECK_STR(options.output, "/a/%h.zst");
}

TEST(unknown_keys_are_ignored)
{
	struct memrec_options options;

	CHECK_EQ(memrec_options_decode(&options, "new-thing=1 steps=2  other=%41 "), 0);
	CHECK_EQ(options.steps, 2);
}

TEST(nonsense_is_refused)
{
	static const char *const bad[] = {
		"steps",           "steps=",           "steps=x",
		"steps=-1",        "steps=4294967296", "steps=99999999999999999999",
		"steps=3x",        "depth=257",        "slot-bytes=1048577",
		"slot-bytes=1024", "output=%",         "output=%4",
		"output=%4g",      "output=%00",
	};
	struct memrec_options options;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(bad); i++) {
		if (memrec_options_decode(&options, bad[i]) == -MT_E_ARGUMENT)
			continue;
		printf("# accepted: %s\n", bad[i]);
		CHECK(0);
	}
}

TEST(too_long_a_path_is_refused)
{
	static struct memrec_options options;
	static char text[MEMREC_PATH_MAX + 16];

	memcpy(text, "output=", 7);
	memset(text + 7, 'a', MEMREC_PATH_MAX - 1);
	CHECK_EQ(memrec_options_decode(&options, text), 0);
	CHECK_EQ(strlen(options.output), MEMREC_PATH_MAX - 1);
	text[7 + MEMREC_PATH_MAX - 1] = 'a';
	CHECK_EQ(memrec_options_decode(&options, text), -MT_E_ARGUMENT);
}

TEST(too_little_room_is_an_error_and_never_an_overflow)
{
	struct memrec_options options;
	char text[64];
	size_t size;

	memrec_options_init(&options);
	options.steps = 3;
	snprintf(options.output, sizeof(options.output), "/a b");
	CHECK_EQ(memrec_options_encode(&options, text, sizeof("steps=3 output=/a%20b")), 0);
	CHECK_STR(text, "steps=3 output=/a%20b");
	for (size = 0; size < sizeof("steps=3 output=/a%20b"); size++) {
		memset(text, '#', sizeof(text));
		CHECK_EQ(memrec_options_encode(&options, text, size), -MT_E_LIMIT);
		CHECK_EQ(text[size], '#');
	}
}

TEST_MAIN()
