/* Files that are not whole yet: told to stop, the program leaves none behind. */
#include "source/partial_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include "memtrace/base.h"
#include "memtrace/fold.h"
#include "ring_builder.h"
#include "source/source.h"
#include "test.h"

static const char *file_in(const char *folder, const char *name)
{
	static char path[2][512];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0 && !close(fd));
}

/* How a child ends that begins with `path`, and ends too if `whole`, before the signal comes. */
static int ends_by(const char *path, int signal, int whole)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		make(path);
		partial_file_begin(path);
		if (whole)
			partial_file_end();
		raise(signal);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(told_to_stop_it_goes)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	const char *path = file_in(test_dir(), "half");
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(signals); i++) {
		CHECK_EQ(ends_by(path, signals[i], 0), signals[i]);
		CHECK(access(path, F_OK));
		CHECK_EQ(ends_by(path, signals[i], 1), signals[i]);
		CHECK(!access(path, F_OK));
	}
}

/* As under nohup. */
TEST(what_is_ignored_stays_ignored)
{
	const char *path = file_in(test_dir(), "half");

	signal(SIGHUP, SIG_IGN);
	CHECK_EQ(ends_by(path, SIGHUP, 0), 0);
	CHECK(!access(path, F_OK));
	signal(SIGHUP, SIG_DFL);
}

TEST(a_limit_on_file_sizes_is_an_error_meanwhile)
{
	const char *path = file_in(test_dir(), "half");

	CHECK_EQ(ends_by(path, SIGXFSZ, 0), 0);
	CHECK_EQ(ends_by(path, SIGXFSZ, 1), SIGXFSZ);
}

/* ---- the trace that a left-over ring completes ---- */

static void put(struct ring_builder *builder, uint32_t slot, uint64_t addr)
{
	struct ring_event event = { .kind = MT_DRIVER_ALLOC,
				    .device_type = MT_DEVICE_CUDA,
				    .thread = 1,
				    .time = addr,
				    .addr = addr,
				    .size = 4096 };

	ring_builder_event(builder, slot, event, NULL, NULL);
}

/* Records something, leaves more in the ring and dies with target and collector. */
static void leave_ring(const char *ring, const char *trace)
{
	struct ring_builder builder;
	struct mt_rules *rules;
	struct mt_fold *fold;
	uint64_t folded, i;
	uint32_t slot;

	CHECK_EQ(ring_builder_open(&builder, ring, 2, 1 << 16, 1 << 16), 0);
	slot = ring_builder_claim(&builder);
	CHECK_EQ(mt_rules_new(&rules, NULL, 0), 0);
	CHECK_EQ(mt_fold_open(&fold, ring, rules, NULL), 0);
	CHECK_EQ(mt_fold_create(fold, trace), 0);
	put(&builder, slot, 0x10000);
	CHECK_EQ(mt_fold_run(fold, 0, &folded), 0);
	CHECK_EQ(mt_fold_flush(fold), 0);
	for (i = 2; i < 200; i++)
		put(&builder, slot, i * 0x10000);
	_exit(0);
}

static int has_files(const char *folder)
{
	DIR *files = opendir(folder);
	struct dirent *file;
	int count = 0;

	CHECK(files);
	while ((file = readdir(files)))
		count += *file->d_name != '.';
	closedir(files);
	return count;
}

/* Opens the trace again and again, until it is told to stop. */
static void open_for_ever(char *trace)
{
	struct source source;

	for (;;) {
		if (source_open(&source, &trace, 1))
			_exit(1);
		source_release(&source);
	}
}

TEST(told_to_stop_the_completed_trace_goes)
{
	const char *folder = test_dir();
	char *trace = strdup(file_in(folder, "left.zst")), *work = strdup(file_in(folder, "work"));
	int status, round;
	pid_t pid = fork();

	if (!pid)
		leave_ring(file_in(folder, "ring"), trace);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(!mkdir(work, 0700) && !setenv("TMPDIR", work, 1));
	for (round = 0; round < 20; round++) {
		pid = fork();
		if (!pid)
			open_for_ever(trace);
		while (!has_files(work))
			CHECK(!waitpid(pid, &status, WNOHANG));
		kill(pid, SIGTERM);
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
		CHECK(!has_files(work));
	}
	free(trace);
	free(work);
}

TEST_MAIN()
