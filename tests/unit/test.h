/*
 * test.h - unit tests: TEST(name) { CHECK(...); } and TEST_MAIN() at the end of a test_*.c file.
 *
 * Each test runs in a child process, so a crash is one failure and not the end. Prints "ok NAME", "not ok NAME" or
 * "skip NAME"; the exit status is the number of failures (at most 99).
 */
#ifndef TEST_H
#define TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct test_case {
	const char *name;
	void (*run)(void);
};

#define TEST_SKIP_STATUS 77

/* The section collects the cases; the linker makes its bounds. */
#define TEST(title)                                                                                               \
	static void test_##title(void);                                                                           \
	static const struct test_case test_case_##title                                                           \
		__attribute__((used, section("test_cases"), aligned(sizeof(void *)))) = { #title, test_##title }; \
	static void test_##title(void)

#define CHECK(condition)                                                         \
	do {                                                                     \
		if (!(condition)) {                                              \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition); \
			fflush(stdout);                                          \
			_exit(1);                                                \
		}                                                                \
	} while (0)

#define CHECK_EQ(got, want)                                                                               \
	do {                                                                                              \
		long long got_ = (long long)(got), want_ = (long long)(want);                             \
		if (got_ != want_) {                                                                      \
			printf("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, want_); \
			fflush(stdout);                                                                   \
			_exit(1);                                                                         \
		}                                                                                         \
	} while (0)

#define CHECK_STR(got, want)                                                                    \
	do {                                                                                    \
		const char *got_ = (got), *want_ = (want);                                      \
		if (!got_ || strcmp(got_, want_)) {                                             \
			printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got, \
			       got_ ? got_ : "(null)", want_);                                  \
			fflush(stdout);                                                         \
			_exit(1);                                                               \
		}                                                                               \
	} while (0)

#define SKIP(why)                               \
	do {                                    \
		printf("# skipped: %s\n", why); \
		fflush(stdout);                 \
		_exit(TEST_SKIP_STATUS);        \
	} while (0)

/* A fresh directory for the test's files; removed by the caller's caller (tests/run.sh gives TMPDIR). */
static inline const char *test_dir(void)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/unit-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return mkdtemp(path);
}

/* No more memory than `bytes` from here on. Sanitizers need too much of their own for that. */
static inline void test_limit_memory(size_t bytes)
{
#ifndef __SANITIZE_ADDRESS__
	const struct rlimit limit = { bytes, bytes };

	CHECK(!setrlimit(RLIMIT_AS, &limit));
#else
	(void)bytes;
#endif
}

extern const struct test_case __start_test_cases[], __stop_test_cases[];

static inline int test_run_one(const struct test_case *test)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		test->run();
		fflush(stdout);
		_exit(0); /* leak reports of sanitizers come from main, which sees what stays reachable */
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIP_STATUS) {
		printf("skip %s\n", test->name);
		return 0;
	}
	if (status && WIFSIGNALED(status))
		printf("# signal %d\n", WTERMSIG(status));
	printf("%sok %s\n", status ? "not " : "", test->name);
	return status != 0;
}

#define TEST_MAIN() TEST_MAIN_NAMED(main)

#define TEST_MAIN_NAMED(function)                                                 \
	int function(int argc, char **argv)                                       \
	{                                                                         \
		int failed = 0;                                                   \
		const struct test_case *test;                                     \
		for (test = __start_test_cases; test < __stop_test_cases; test++) \
			if (argc < 2 || strstr(test->name, argv[1]))              \
				failed += test_run_one(test);                     \
		return failed > 99 ? 99 : failed;                                 \
	}

/* The same; with "--write DIR" it only calls write(DIR): files for a test of commands. */
#define TEST_MAIN_WRITE(write)                               \
	static int test_main(int argc, char **argv);         \
	int main(int argc, char **argv)                      \
	{                                                    \
		if (argc != 3 || strcmp(argv[1], "--write")) \
			return test_main(argc, argv);        \
		write(argv[2]);                              \
		return 0;                                    \
	}                                                    \
	static TEST_MAIN_NAMED(test_main)

#endif
