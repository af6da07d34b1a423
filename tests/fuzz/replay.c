/*
 * replay.c - runs a fuzz target without clang: over the files and folders that are named, and over what its own
 * mutator (fuzz.h) makes of each of them.
 *
 *     fuzz_NAME [-n ROUNDS] PATH...
 *
 * Exit status 0: all of it was survived; else the last line on stderr names the file and the round (0: the file itself).
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fuzz.h"

#define GROWTH 4096u /* bytes that mutations may add */

/* The place at which sanitizers say what they found; a word of their runtime, if there is one. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

static struct fuzz_random numbers = { 1 };
static unsigned int rounds;
static unsigned long runs;
static char doing[4400];

/* Says where it was. */
static void died(int number)
{
	signal(number, SIG_DFL);
	if (write(fuzz_report(), doing, strlen(doing)) < 0)
		_exit(99);
	raise(number);
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room)
{
	size_t at = fuzz_below(&numbers, size + 1);

	switch (fuzz_below(&numbers, 4)) {
	case 0:
		if (size < room) {
			memmove(data + at + 1, data + at, size - at);
			data[at] = (uint8_t)fuzz_next(&numbers);
			return size + 1;
		}
		break;
	case 1:
		if (size > 1 && at < size) {
			memmove(data + at, data + at + 1, size - at - 1);
			return size - 1;
		}
		break;
	default:
		break;
	}
	if (at < size)
		data[at] ^= (uint8_t)(1u << fuzz_below(&numbers, 8));
	return size;
}

static void run(const uint8_t *data, size_t size, const char *path, unsigned int round)
{
	uint8_t *exact = malloc(size + !size); /* so that a sanitizer sees who reads behind the end */

	FUZZ_CHECK(exact != NULL);
	memcpy(exact, data, size);
	snprintf(doing, sizeof(doing), "fuzz: %s, round %u\n", path, round);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	runs++;
}

static void run_file(const char *path, size_t size)
{
	size_t room = size + GROWTH, changed;
	uint8_t *data = malloc(2 * room), *mutant = data + room;
	unsigned int round;

	FUZZ_CHECK(data && fuzz_read(path, data, room) == size);
	run(data, size, path, 0);
	for (round = 1; round <= rounds; round++) {
		memcpy(mutant, data, size);
		changed = LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(mutant, size, room, round)
						  : LLVMFuzzerMutate(mutant, size, room);
		run(mutant, changed, path, round);
	}
	free(data);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void run_path(const char *path)
{
	struct dirent **entry;
	struct stat status;
	char inner[4096];
	int count, i;

	FUZZ_CHECK(!stat(path, &status));
	if (!S_ISDIR(status.st_mode)) {
		run_file(path, (size_t)status.st_size);
		return;
	}
	count = scandir(path, &entry, NULL, by_name);
	for (i = 0; i < count; i++) {
		snprintf(inner, sizeof(inner), "%s/%s", path, entry[i]->d_name);
		if (*entry[i]->d_name != '.')
			run_path(inner);
		free(entry[i]);
	}
	if (count >= 0)
		free(entry);
}

/* The output of commands is of no interest. */
static void silence(int fd)
{
	int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

	FUZZ_CHECK(quiet >= 0 && dup2(quiet, fd) >= 0);
	close(quiet);
}

int main(int argc, char **argv)
{
	int option, out = dup(STDOUT_FILENO);

	while ((option = getopt(argc, argv, "n:")) != -1) {
		if (option != 'n')
			return 2;
		rounds = (unsigned int)strtoul(optarg, NULL, 10);
	}
	signal(SIGABRT, died);
	signal(SIGSEGV, died);
	signal(SIGBUS, died);
	if (__sanitizer_set_report_fd)
		__sanitizer_set_report_fd((void *)(intptr_t)fuzz_report());
	silence(STDOUT_FILENO);
	silence(STDERR_FILENO);
	argv += optind;
	while (*argv)
		run_path(*argv++);
	dprintf(out, "%lu runs\n", runs);
	return runs == 0;
}
