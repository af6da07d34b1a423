/* test_named.c - the traces of a command line as words: a shell makes the same names of them. */
#include "report/named.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test.h"

#define NAMES_MAX 8

struct expected {
	const char *also; /* a file that was not named; NULL: there is none */
	int pattern;      /* the words are one pattern */
	const char *name[NAMES_MAX];
};

static const struct expected table[] = {
	{ NULL, 0, { "a b.zst" } },
	{ NULL, 0, { "$(touch x).zst", "it's" } },
	{ NULL, 1, { "run/trace.rank0.zst", "run/trace.rank1.zst", "run/trace.rank2.zst", "run/trace.zst" } },
	{ "run/trace.rank9.zst",
	  0,
	  { "run/trace.rank0.zst", "run/trace.rank1.zst", "run/trace.rank2.zst", "run/trace.zst" } },
	{ "run/other.txt", 1, { "run/trace.rank0.zst", "run/trace.rank1.zst", "run/trace.rank2.zst", "run/trace.zst" } },
	{ NULL, 1, { "t0", "t1", "t10", "t100" } },
	{ NULL, 1, { "my run/x;1", "my run/x;2", "my run/x;3", "my run/x;4" } },
	{ NULL, 1, { "x-1-a", "x-2-a", "x-3-a", "x-4-a" } },
	{ NULL, 1, { "aa", "aaa", "aaaa", "aaaaa" } },
	{ NULL, 0, { "run/a", "a", "run/b", "b" } },
	{ NULL, 1, { "run/*1", "run/*2", "run/*3", "run/*4" } },
	{ NULL, 1, { "/proc/self/cwd/1", "/proc/self/cwd/2", "/proc/self/cwd/3", "/proc/self/cwd/4" } },
};

static void make_file(const char *name)
{
	char folder[256];
	const char *slash = strrchr(name, '/');
	int fd;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - name) : 0, name);
	if (slash)
		mkdir(folder, 0700);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
}

/* The names that the shell makes of the words, one a line, sorted. */
static void expand(const char *words, char *out, size_t size)
{
	char command[9000];
	size_t used;
	FILE *shell;

	snprintf(command, sizeof(command), "printf '%%s\\n' %s | LC_ALL=C sort", words);
	shell = popen(command, "r");
	CHECK(shell);
	used = fread(out, 1, size - 1, shell);
	out[used] = '\0';
	CHECK_EQ(pclose(shell), 0);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

TEST(a_shell_makes_the_same_names)
{
	char got[4096], want[4096], *names[NAMES_MAX];
	const char *words;
	uint32_t count;
	size_t row, used;

	for (row = 0; row < sizeof(table) / sizeof(*table); row++) {
		CHECK(!chdir(test_dir()));
		for (count = 0; count < NAMES_MAX && table[row].name[count]; count++)
			make_file(names[count] = (char *)table[row].name[count]);
		if (table[row].also)
			make_file(table[row].also);
		words = named_words(names, count);
		printf("# %s\n", words);
		expand(words, got, sizeof(got));
		if (table[row].pattern)
			CHECK(strchr(words, '*') && !strstr(words, names[count - 1]));
		qsort(names, count, sizeof(*names), by_name);
		for (used = 0; count; count--, memmove(names, names + 1, count * sizeof(*names)))
			used += (size_t)snprintf(want + used, sizeof(want) - used, "%s\n", names[0]);
		CHECK_STR(got, want);
	}
}

/* Names that need no more than 8 KiB are all there. */
TEST(as_many_names_as_there_is_room_for)
{
	static char text[400][32];
	char *names[400];
	uint32_t i;

	CHECK(!chdir(test_dir()));
	for (i = 0; i < 400; i++) {
		snprintf(text[i], sizeof(text[i]), "%u/no file of this name %u", i, i);
		names[i] = text[i];
	}
	CHECK_STR(named_words(names, 2), "'0/no file of this name 0' '1/no file of this name 1'");
	CHECK_STR(named_words(names, 400), "TRACE...");
}

TEST_MAIN()
