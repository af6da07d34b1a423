/* Names of traces: who gets the plain one, who gets which other one, and what happens to older files. */
#include <sys/stat.h>
#include "collect/output.c"
#include "run/rundir.c"
#include "shared/options.c"
#include "shared/textbuf.c"
#include "test.h"

static const char *name(const char *pattern, const char *run_dir, int32_t rank, unsigned attempt, int *plain)
{
	static char path[MEMREC_PATH_MAX];
	struct output_owner owner = { run_dir, "/run/4711.ring", "node7", 4711, rank };

	CHECK_EQ(output_name(path, pattern, &owner, attempt, plain), 0);
	return path;
}

TEST(names)
{
	static const struct {
		const char *pattern, *run_dir;
		int32_t rank;
		unsigned attempt;
		const char *path;
		int plain;
	} rows[] = {
		{ "/d/trace.zst", "/run", -1, 0, "/d/trace.zst", 1 },
		{ "/d/trace.zst", "/run", -1, 1, "/d/trace.4711.zst", 0 },
		{ "/d/trace.zst", "/run", -1, 2, "/d/trace.4711.2.zst", 0 },
		{ "/d/trace.zst", "/run", 3, 0, "/d/trace.rank3.zst", 0 },
		{ "/d/trace.zst", "/run", 3, 1, "/d/trace.4711.zst", 0 },
		{ "/d/trace.zst", "", -1, 0, "/d/trace.4711.zst", 0 },
		{ "/d/trace.zst", "", 0, 0, "/d/trace.rank0.zst", 0 },
		{ "/d/%h.%p.zst", "/run", -1, 0, "/d/node7.4711.zst", 0 },
		{ "/d/%r/t.zst", "/run", 12, 0, "/d/12/t.zst", 0 },
		{ "/d/%r/t.zst", "/run", -1, 0, "/d/none/t.zst", 1 },
		{ "/d/%h.zst", "/run", 2, 0, "/d/node7.rank2.zst", 0 },
		{ "/d/100%%.zst", "/run", -1, 0, "/d/100%.zst", 1 },
		{ "/d.x/trace", "/run", 3, 0, "/d.x/trace.rank3", 0 },
		{ "/d/.zst", "/run", 3, 0, "/d/.zst.rank3", 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int plain;

		CHECK_STR(name(rows[i].pattern, rows[i].run_dir, rows[i].rank, rows[i].attempt, &plain), rows[i].path);
		CHECK_EQ(plain, rows[i].plain);
	}
}

TEST(no_host_leaves_the_folder)
{
	static const char *const rows[][2] = {
		{ "node7.example.org", "/d/t.node7.example.org.zst" },
		{ "../../etc/x", "/d/t._._.._etc_x.zst" },
		{ "..", "/d/t._..zst" },
		{ "/", "/d/t._.zst" },
	};
	char path[MEMREC_PATH_MAX];
	size_t i;
	int plain;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct output_owner owner = { "/run", "/run/4711.ring", rows[i][0], 4711, -1 };

		CHECK_EQ(output_name(path, "/d/t.%h.zst", &owner, 0, &plain), 0);
		CHECK_STR(path, rows[i][1]);
	}
}

/* The owner's rights are given whatever the umask is. */
TEST(the_folder_of_a_run_is_its_owners)
{
	const char *dir = test_dir(); /* before the mask, which would shut its owner out */
	char path[MEMREC_PATH_MAX];
	mode_t mask = umask(0777);
	struct stat st;

	CHECK_EQ(rundir_make(path, dir, "/nowhere"), 0);
	umask(mask);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0700);
	CHECK_EQ(rmdir(path), 0);
}

TEST(patterns)
{
	CHECK_EQ(output_check("a.%p.%r.%h.%%"), 0);
	CHECK_EQ(output_check("plain"), 0);
	CHECK_EQ(output_check("a%"), -MT_E_ARGUMENT);
	CHECK_EQ(output_check("a%q"), -MT_E_ARGUMENT);
	CHECK_EQ(output_check("%%%"), -MT_E_ARGUMENT);
}

TEST(directories)
{
	char dir[MEMREC_PATH_MAX];

	output_dir(dir, "/a/b/c");
	CHECK_STR(dir, "/a/b");
	output_dir(dir, "/c");
	CHECK_STR(dir, "/");
	output_dir(dir, "c");
	CHECK_STR(dir, ".");
}

TEST(too_long_a_name_is_an_error)
{
	static char pattern[MEMREC_PATH_MAX], path[MEMREC_PATH_MAX];
	struct output_owner owner = { "/run", "/run/4711.ring", "node7", 4711, -1 };
	int plain;

	memset(pattern, 'a', sizeof(pattern) - 1);
	memcpy(pattern + sizeof(pattern) - 5, "/b.c", 4);
	CHECK_EQ(output_name(path, pattern, &owner, 0, &plain), 0);
	CHECK_EQ(output_name(path, pattern, &owner, 1, &plain), -MT_E_LIMIT);
	memcpy(pattern, "%h", 2);
	CHECK_EQ(output_name(path, pattern, &owner, 0, &plain), -MT_E_LIMIT);
}

TEST(a_long_name_is_cut_before_what_is_added)
{
	char path[MEMREC_PATH_MAX], whole[300], want[300];
	struct output_owner owner = { "/run", "/run/4711.ring", "node7", 4711, -1 };
	int plain;

	snprintf(whole, sizeof(whole), "/d/%0251d.zst", 0); /* 255 bytes, as much as a name may have */
	CHECK_EQ(output_name(path, whole, &owner, 0, &plain), 0);
	CHECK_STR(path, whole);
	CHECK_EQ(output_name(path, whole, &owner, 1, &plain), 0);
	snprintf(want, sizeof(want), "/d/%0238d.4711.zst", 0);
	CHECK_STR(path, want);
	memcpy(whole + 3 + 237, "\xc3\xa4", 2); /* a character that the cut would part */
	CHECK_EQ(output_name(path, whole, &owner, 1, &plain), 0);
	snprintf(want, sizeof(want), "/d/%0237d.4711.zst", 0);
	CHECK_STR(path, want);
	snprintf(whole, sizeof(whole), "/d/a.%0253d", 0); /* all of it is a suffix */
	CHECK_EQ(output_name(path, whole, &owner, 1, &plain), 0);
	snprintf(want, sizeof(want), "/d/a.%0240d.4711", 0);
	CHECK_STR(path, want);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static void check_file(const char *path, const char *want)
{
	char text[64] = "";
	FILE *file = fopen(path, "r");

	CHECK(file && fgets(text, sizeof(text), file) && !fclose(file));
	CHECK_STR(text, want);
}

/* Claims, and writes nothing: the descriptor, which holds the lock. */
static int claim(char *path, const char *pattern, const struct output_owner *owner, int *plain)
{
	int lock = output_claim(path, pattern, owner, plain);

	CHECK(lock >= 0);
	return lock;
}

/* The same, with the trace closed at once. */
static void claim_once(char *path, const char *pattern, const struct output_owner *owner, int *plain)
{
	close(claim(path, pattern, owner, plain));
}

TEST(claims)
{
	const char *dir = test_dir();
	struct output_owner first = { dir, "1.ring", "h", 1, -1 }, second = { dir, "2.ring", "h", 2, -1 };
	char pattern[512], old[520], path[MEMREC_PATH_MAX], want[560];
	struct stat st;
	int plain;

	snprintf(pattern, sizeof(pattern), "%s/trace.zst", dir);
	snprintf(old, sizeof(old), "%s.old", pattern);
	write_file(pattern, "earlier");
	claim_once(path, pattern, &first, &plain);
	CHECK_STR(path, pattern);
	CHECK_EQ(plain, 1);
	check_file(old, "earlier");
	CHECK(!stat(pattern, &st) && !st.st_size);

	write_file(pattern, "of this run");
	claim_once(path, pattern, &second, &plain);
	snprintf(want, sizeof(want), "%s/trace.2.zst", dir);
	CHECK_STR(path, want);
	CHECK_EQ(plain, 0);
	check_file(pattern, "of this run");
	check_file(old, "earlier");

	second.ring = "2.1.ring"; /* the same process after exec */
	claim_once(path, pattern, &second, &plain);
	snprintf(want, sizeof(want), "%s/trace.2.2.zst", dir);
	CHECK_STR(path, want);
	claim_once(path, pattern, &second, &plain); /* its collector died and is replaced */
	CHECK_STR(path, want);
}

TEST(a_trace_that_is_being_written_keeps_its_name)
{
	const char *dir = test_dir(), *run = test_dir(), *other_run = test_dir();
	struct output_owner first = { run, "1.ring", "h", 1, -1 }, second = { other_run, "2.ring", "h", 2, -1 };
	char pattern[512], old[520], path[MEMREC_PATH_MAX], want[520];
	int plain, lock;

	snprintf(pattern, sizeof(pattern), "%s/trace.zst", dir);
	snprintf(old, sizeof(old), "%s.old", pattern);
	snprintf(want, sizeof(want), "%s/trace.2.zst", dir);
	lock = claim(path, pattern, &first, &plain);
	write_file(pattern, "being written");
	claim_once(path, pattern, &second, &plain);
	CHECK_STR(path, want);
	check_file(pattern, "being written");
	CHECK(access(old, F_OK));

	close(lock);
	second.run_dir = test_dir();
	claim_once(path, pattern, &second, &plain);
	CHECK_STR(path, pattern);
	check_file(old, "being written");
}

TEST(an_empty_file_is_taken_as_it_is)
{
	char path[512], old[520];
	int first, second;

	snprintf(path, sizeof(path), "%s/trace.zst", test_dir());
	snprintf(old, sizeof(old), "%s.old", path);
	write_file(path, "");
	first = output_open(path);
	CHECK(first >= 0 && access(old, F_OK));
	second = output_open(path); /* and whoever had made it finds it locked */
	CHECK_EQ(second, -MT_E_BUSY);
	close(first);
}

TEST(folders_by_rank_do_not_get_in_each_others_way)
{
	const char *dir = test_dir();
	struct output_owner first = { dir, "1.ring", "h", 1, 0 }, second = { dir, "2.ring", "h", 2, 1 };
	char pattern[512], path[MEMREC_PATH_MAX], want[512];
	int plain;

	snprintf(pattern, sizeof(pattern), "%s/%%r/trace.zst", dir);
	snprintf(want, sizeof(want), "%s/0", dir);
	CHECK_EQ(mkdir(want, 0700), 0);
	snprintf(want, sizeof(want), "%s/1", dir);
	CHECK_EQ(mkdir(want, 0700), 0);
	claim_once(path, pattern, &first, &plain);
	claim_once(path, pattern, &second, &plain);
	snprintf(want, sizeof(want), "%s/1/trace.zst", dir);
	CHECK_STR(path, want);
}

TEST(only_files_are_moved_away)
{
	const char *dir = test_dir();
	char path[512], old[520];
	struct stat st;

	snprintf(path, sizeof(path), "%s/fifo", dir);
	snprintf(old, sizeof(old), "%s.old", path);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(output_keep_old(path), 0);
	CHECK(!stat(path, &st) && S_ISFIFO(st.st_mode));
	CHECK(stat(old, &st));
	CHECK_EQ(output_keep_old(old), 0); /* nothing there: nothing to keep */
}

TEST(restore)
{
	const char *dir = test_dir();
	char path[512];

	snprintf(path, sizeof(path), "%s/trace.zst", dir);
	write_file(path, "earlier");
	CHECK_EQ(output_keep_old(path), 0);
	output_restore_old(path);
	check_file(path, "earlier");
}

TEST_MAIN()
