/* Words for people: sizes, times, shares, and strings that come from somebody else's program. */
#include "base/text.h"
#include "memtrace/base.h"
#include "memtrace/clean.h"
#include "memtrace/nearest.h"
#include "test.h"

static char out[TEXT_SIZE_MAX];

TEST(sizes)
{
	CHECK_STR(text_bytes(out, 0), "0 B");
	CHECK_STR(text_bytes(out, 1023), "1023 B");
	CHECK_STR(text_bytes(out, 1024), "1.0 KiB");
	CHECK_STR(text_bytes(out, 1048575), "1.0 MiB");
	CHECK_STR(text_bytes(out, 80ull << 30), "80.0 GiB");
	CHECK_STR(text_bytes(out, UINT64_MAX), "16.0 EiB");
}

TEST(times)
{
	CHECK_STR(text_time(out, 0), "0.0 us");
	CHECK_STR(text_time(out, 999), "1.0 us");
	CHECK_STR(text_time(out, 12400000000), "12.4 s");
	CHECK_STR(text_time(out, -1500000), "-1.5 ms");
	CHECK_STR(text_time(out, 3600000000000), "1.00 h");
}

TEST(shares_and_counts)
{
	char words[64];

	CHECK_STR(text_percent(out, 0, 0), "0.0%");
	CHECK_STR(text_percent(out, 1, 100000), "<0.1%");
	CHECK_STR(text_percent(out, 42, 100), "42%");
	CHECK_STR(text_percent(out, 1, 20), "5.0%");
	CHECK_STR(text_number(out, 1234567), "1,234,567");
	CHECK_STR(text_number(out, 123), "123");
	CHECK_STR(text_count(words, sizeof(words), 1, "process"), "1 process");
	CHECK_STR(text_count(words, sizeof(words), 2000, "process"), "2,000 processes");
	CHECK_STR(text_count(words, sizeof(words), 2, "event"), "2 events");
}

TEST(strings_are_made_fit)
{
	char words[64];

	CHECK_STR(text_fit(words, sizeof(words), "train.py", 10, 0), "train.py");
	CHECK_STR(text_fit(words, sizeof(words), "a_very_long_name", 10, 0), "a_very_...");
	CHECK_STR(text_fit(words, sizeof(words), "/a/very/long/train.py", 11, 1), "...train.py");
	CHECK_STR(text_fit(words, sizeof(words), "red \033[31m\x7f\xc2\x9b", 40, 0), "red ?[31m??");
	CHECK_STR(text_fit(words, sizeof(words), "\xff\xc0\x80 \xed\xa0\x80 ok", 40, 0), "??? ??? ok");
	CHECK_STR(text_fit(words, sizeof(words), "größe", 5, 0), "größe");
	CHECK_STR(text_fit(words, 16, "äääääääääääääääääääää", 60, 0), "ääääää");
}

static const char *clean(const char *text, const char *keep)
{
	static char copy[64];

	mt_copy_text(copy, sizeof(copy), text);
	return mt_clean(copy, keep);
}

TEST(what_a_terminal_would_act_on_is_not_shown)
{
	CHECK_STR(clean("red \033[31m\x7f\xc2\x9b", ""), "red ?[31m??");
	CHECK_STR(clean("\xe2\x80\xaegnp.exe \xe2\x81\xa6 \xd8\x9c", ""), "?gnp.exe ? ?"); /* U+202E U+2066 U+061C */
	CHECK_STR(clean("\xe2\x80\xa8 \xe2\x80\x8b \xef\xbb\xbf \xf3\xa0\x81\x81", ""),
		  "? ? ? ?"); /* U+2028 U+200B U+FEFF U+E0041 */
	CHECK_STR(clean("\xff\xc0\x80 \xed\xa0\x80", ""), "??? ???");
	CHECK_STR(clean("a\tb\nc\r", "\n\t"), "a\tb\nc?");
	CHECK_STR(clean("a\tb\nc", ""), "a?b?c");
	CHECK_STR(clean("größe █ 大 \xf0\x9f\x98\x80", ""), "größe █ 大 \xf0\x9f\x98\x80");
	CHECK_STR(clean("", ""), "");
}

TEST(utf8_is_checked)
{
	uint32_t code;

	CHECK_EQ(mt_utf8("a", 1, &code), 1);
	CHECK_EQ(mt_utf8("\xc3\xa4", 2, &code), 2);
	CHECK_EQ(mt_utf8("\xc3\xa4", 1, &code), 0);
	CHECK_EQ(mt_utf8("\xe2\x96\x88", 3, &code), 3);
	CHECK_EQ(mt_utf8("\xf0\x9f\x98\x80", 4, &code), 4);
	CHECK_EQ(mt_utf8("\xe0\x80\x80", 3, &code), 0);
	CHECK_EQ(mt_utf8("\xf4\x90\x80\x80", 4, &code), 0);
	CHECK_EQ(mt_utf8("\x80", 1, &code), 0);
}

/* Nothing wider than 80 columns, every word there once, each line indented. */
TEST(words_are_wrapped)
{
	struct text text = { 0 };
	char *written = NULL, *line, *rest = NULL;
	size_t size, words = 0, used = 0;
	char long_text[2000] = "";
	int i;

	for (i = 0; i < 150; i++)
		used += (size_t)snprintf(long_text + used, sizeof(long_text) - used, "%sword%d", i ? " " : "", i);
	text.file = open_memstream(&written, &size);
	text_wrap(&text, 4, 0, long_text);
	fclose(text.file);
	for (line = strtok_r(written, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		CHECK(strlen(line) <= 80 && strlen(line) > 40);
		CHECK(!strncmp(line, "    w", 5));
		for (i = 0; line[i]; i++)
			words += line[i] == 'w';
	}
	CHECK_EQ(words, 150);
	free(written);
}

/* A database of others may say that a part is more than its whole, by any factor. */
TEST(bars_end_at_their_width)
{
	static const struct {
		uint64_t part, whole;
		int width;
	} bars[] = {
		{ 0, 10, 0 }, { 5, 10, 10 }, { 10, 10, 20 }, { 11, 10, 20 }, { UINT64_MAX, 1, 20 },
	};
	char *written = NULL;
	struct text text;
	size_t i, size;

	for (i = 0; i < MT_ARRAY_SIZE(bars); i++) {
		text = (struct text){ .file = open_memstream(&written, &size) };
		text_phase_bar(&text, "", bars[i].part, bars[i].whole, 20);
		fclose(text.file);
		CHECK_EQ(strspn(written + strspn(written, " "), "#"), bars[i].width);
		free(written);
	}
}

static const char *nearest(const char *word, const char *a, const char *b, const char *c)
{
	struct mt_nearest it = { .word = word };

	mt_nearest_try(&it, a);
	mt_nearest_try(&it, b);
	mt_nearest_try(&it, c);
	return it.best ? it.best : "";
}

TEST(nearest)
{
	char words[MT_NEAREST_WORDS], longest[200];
	struct mt_nearest it = { .word = "tpo" };

	CHECK_STR(nearest("tpo", "oom", "top", "tui"), "top");
	CHECK_STR(nearest("FORWARD", "backward", "forward", "other"), "forward");
	CHECK_STR(nearest("retaind", "frag", "retained", "diff"), "retained");
	CHECK_STR(nearest("alloc", "site", "allocation", "oom"), "allocation");
	CHECK_STR(nearest("x", "top", "tui", "y"), "");
	CHECK_STR(nearest("frobnicate", "top", "frag", "info"), "");
	CHECK_STR(nearest("", "top", "frag", "info"), "");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK_STR(nearest(longest, longest, "top", longest), "");
	CHECK_STR(mt_nearest_words(words, &it), "");
	mt_nearest_try(&it, "top");
	CHECK_STR(mt_nearest_words(words, &it), " (did you mean top?)");
}

TEST_MAIN()
