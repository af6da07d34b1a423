#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "memtrace/error.h"

int folder_is(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static int is_file(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode);
}

/* Adds `path`, and owns it. */
static int add(struct folder *folder, char *path, uint32_t *room)
{
	uint32_t larger = *room ? *room * 2 : 64;
	char **grown;

	if (folder->count == FOLDER_FILES_MAX) {
		free(path);
		return -MT_E_LIMIT;
	}
	if (folder->count == *room) {
		grown = realloc(folder->path, larger * sizeof(*grown));
		if (!grown) {
			free(path);
			return -MT_E_MEMORY;
		}
		folder->path = grown;
		*room = larger;
	}
	folder->path[folder->count++] = path;
	return 0;
}

static int take(struct folder *folder, const char *where, const char *name, uint32_t *room)
{
	size_t size = strlen(where);
	char *path;

	if (*name == '.')
		return 0;
	if (asprintf(&path, "%s%s%s", where, size && where[size - 1] == '/' ? "" : "/", name) < 0)
		return -MT_E_MEMORY;
	if (is_file(path))
		return add(folder, path, room);
	free(path);
	return 0;
}

/* Orders names with numbers by value. Names that differ in leading zeros alone (1 and 01) are ordered by bytes. */
int folder_order(const char *one, const char *two)
{
	int order = strverscmp(one, two);

	return order ? order : strcmp(one, two);
}

static int by_name(const void *a, const void *b)
{
	return folder_order(*(char *const *)a, *(char *const *)b);
}

int folder_list(struct folder *folder, const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	uint32_t room = 0;
	int error = 0, saved;

	memset(folder, 0, sizeof(*folder));
	if (!directory)
		return -MT_E_SYSTEM;
	for (errno = 0; !error && (entry = readdir(directory)) != NULL; errno = 0)
		error = take(folder, path, entry->d_name, &room);
	if (!error && errno)
		error = -MT_E_SYSTEM;
	saved = errno;
	closedir(directory);
	errno = saved;
	if (folder->count)
		qsort(folder->path, folder->count, sizeof(*folder->path), by_name);
	return error;
}

void folder_release(struct folder *folder)
{
	uint32_t i;

	for (i = 0; i < folder->count; i++)
		free(folder->path[i]);
	free(folder->path);
	memset(folder, 0, sizeof(*folder));
}
