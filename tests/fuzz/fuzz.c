/* fuzz.c - files and numbers of the fuzz targets; see fuzz.h. */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/varint.h"

#define PATHS_MAX 8

static char folder[256];
static struct {
	char name[32], path[300];
} paths[PATHS_MAX];

static int report = STDERR_FILENO;

/* Before libFuzzer or replay.c closes it. */
__attribute__((constructor)) static void keep_report(void)
{
	report = dup(STDERR_FILENO);
}

int fuzz_report(void)
{
	return report;
}

_Noreturn void fuzz_failed(const char *file, int line, const char *condition)
{
	dprintf(report, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

/* Names that the programs append to ours are none of PATHS_MAX: --keep alone makes such files. */
static void clean(void)
{
	char path[sizeof(paths[0].path) + 8];
	size_t i;

	for (i = 0; i < PATHS_MAX && *paths[i].name; i++) {
		snprintf(path, sizeof(path), "%s.keep", paths[i].path);
		unlink(path);
		unlink(paths[i].path);
	}
	rmdir(folder);
}

static void make_folder(void)
{
	const char *parent = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/fuzz-XXXXXX", parent && *parent ? parent : "/tmp");
	FUZZ_CHECK(mkdtemp(folder) != NULL);
	atexit(clean);
}

const char *fuzz_path(const char *name)
{
	size_t i;

	if (!*folder)
		make_folder();
	for (i = 0; i < PATHS_MAX && *paths[i].name; i++)
		if (!strcmp(paths[i].name, name))
			return paths[i].path;
	FUZZ_CHECK(i < PATHS_MAX);
	snprintf(paths[i].name, sizeof(paths[i].name), "%s", name);
	snprintf(paths[i].path, sizeof(paths[i].path), "%s/%s", folder, name);
	return paths[i].path;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
	const char *path = fuzz_path(name);
	int fd;

	unlink(path); /* some file systems wait for the disk when a file is cut and written anew */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	return path;
}

size_t fuzz_read(const char *path, uint8_t *data, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	size_t size = 0;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &status) && (size_t)status.st_size <= room && read(fd, data, room) == status.st_size)
		size = (size_t)status.st_size;
	close(fd);
	return size;
}

size_t fuzz_pick(const uint8_t *data, size_t size, size_t count)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	while (size--)
		hash = (hash ^ *data++) * 0x100000001b3ull;
	return (hash >> 32) % count;
}

uint64_t fuzz_next(struct fuzz_random *random)
{
	uint64_t x = random->state += 0x9E3779B97F4A7C15ull;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
	x = (x ^ x >> 27) * 0x94D049BB133111EBull;
	return x ^ x >> 31;
}

uint64_t fuzz_below(struct fuzz_random *random, uint64_t bound)
{
	return bound ? fuzz_next(random) % bound : 0;
}

uint64_t fuzz_number(struct fuzz_random *random)
{
	uint64_t value = fuzz_next(random) >> fuzz_below(random, 64);

	switch (fuzz_below(random, 6)) {
	case 0:
		return fuzz_below(random, 4);
	case 1:
		return UINT64_MAX - fuzz_below(random, 3);
	case 2:
		return 1ull << fuzz_below(random, 64);
	case 3:
		return value & ~(uint64_t)511;
	default:
		return value;
	}
}

void fuzz_in_place(uint8_t *at, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	size_t changed;

	FUZZ_CHECK(copy != NULL);
	memcpy(copy, at, size);
	changed = LLVMFuzzerMutate(copy, size, size);
	memcpy(at, copy, changed < size ? changed : size);
	free(copy);
}

void fuzz_varints(struct fuzz_random *random, struct mt_buffer *content)
{
	uint8_t number[MT_VARINT_MAX], *end;
	struct mt_buffer changed = { 0 };
	struct mt_cursor rest;
	size_t skip;

	if (fuzz_below(random, 2) || !content->size) {
		mt_buffer_reserve(content, FUZZ_VARINTS);
		content->size = LLVMFuzzerMutate(content->data, content->size, content->size + FUZZ_VARINTS);
		return;
	}
	rest = mt_cursor_make(content->data, content->size);
	for (skip = fuzz_below(random, content->size); skip && !rest.error; skip--)
		mt_cursor_varint(&rest);
	if (rest.error || !mt_cursor_left(&rest))
		rest = mt_cursor_make(content->data, content->size);
	mt_buffer_put(&changed, content->data, (size_t)(rest.at - content->data));
	end = mt_varint_put(number, fuzz_number(random));
	mt_buffer_put(&changed, number, (size_t)(end - number));
	mt_cursor_varint(&rest);
	mt_buffer_put(&changed, rest.at, mt_cursor_left(&rest));
	mt_buffer_release(content);
	*content = changed;
}
