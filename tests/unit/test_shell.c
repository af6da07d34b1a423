/* A name as a word of a command: a shell makes the name of the word again. */
#include <stdlib.h>
#include "base/clean.c"
#include "base/shell.c"
#include "memtrace/base.h"
#include "test.h"

/* The text that sh makes of the word. */
static const char *said_by_shell(const char *word)
{
	static char text[4096];
	char command[8192];
	FILE *out;
	size_t size;

	snprintf(command, sizeof(command), "cd '%s' && set -- %s && [ $# = 1 ] && printf '%%s' \"$1\"", test_dir(),
		 word);
	out = popen(command, "r");
	size = out ? fread(text, 1, sizeof(text) - 1, out) : 0;
	CHECK(out && !pclose(out));
	text[size] = '\0';
	return text;
}

TEST(every_byte_comes_through)
{
	char name[8] = "a?b", word[MT_SHELL_WORD(8)];
	int byte;

	for (byte = 1; byte < 256; byte++) {
		if (byte == '\n' || byte == '/')
			continue;
		name[1] = (char)byte;
		mt_shell_word(word, sizeof(word), name);
		CHECK_STR(said_by_shell(word), name);
		CHECK(!strpbrk(word, "\001\033\177"));
	}
}

TEST(hostile_names)
{
	static const char *const names[] = {
		"$(touch x)", "`touch x`",      "it's", "''",   "a b",   "*",  "~",       "#",
		"-o",         "--help",         "",     "a\\b", "$HOME", "!!", "a;b|c&d", "\xe2\x80\xae.zst",
		"\xc3\xa4",   "trace.rank0.zst"
	};
	char word[512], want[64];
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++) {
		snprintf(want, sizeof(want), "%s%s", *names[i] == '-' ? "./" : "", names[i]);
		CHECK_STR(said_by_shell(mt_shell_word(word, sizeof(word), names[i])), want);
	}
	CHECK_STR(mt_shell_word(word, sizeof(word), "/d/trace.rank0.zst"), "/d/trace.rank0.zst");
	CHECK_STR(mt_shell_word(word, sizeof(word), "a\nb"), "'a'?'b'");
	CHECK_STR(mt_shell_word(word, 4, "abcd"), "");
}

TEST_MAIN()
