/* inject.c - sets the environment of the command, so that the command loads the agent. */
#include "inject.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "shared/machine.h"

#define LIBRARY "libmemrec.so"
#define LOADER_32 "/lib/ld-linux.so.2"

int inject_find_program(char *path)
{
	ssize_t size = readlink("/proc/self/exe", path, MEMREC_PATH_MAX - 1);

	if (size < 0)
		return -MT_E_SYSTEM;
	path[size] = '\0';
	return 0;
}

void inject_find_memana(char *path)
{
	char *slash;

	if (inject_find_program(path))
		path[0] = '\0';
	slash = strrchr(path, '/');
	if (!slash || slash + sizeof("/memana") > path + MEMREC_PATH_MAX) {
		path[0] = '\0';
		return;
	}
	memcpy(slash, "/memana", sizeof("/memana"));
	if (access(path, X_OK))
		path[0] = '\0';
}

int inject_find_library(char *path, const char *program)
{
	static const char *const places[] = { "/" LIBRARY, "/../lib/memrec/" LIBRARY };
	const char *slash = strrchr(program, '/');
	char real[PATH_MAX];
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(places); i++) {
		snprintf(path, MEMREC_PATH_MAX, "%.*s%s", slash ? (int)(slash - program) : 0, program, places[i]);
		if (access(path, R_OK) || !realpath(path, real))
			continue;
		snprintf(path, MEMREC_PATH_MAX, "%s", real);
		return 0;
	}
	return -MT_E_MISSING;
}

/* Sets *context to 1 if the C library lies in a folder of known name: the loader's word for $LIB is then known. */
static int note_word(struct dl_phdr_info *object, size_t size MT_UNUSED, void *context)
{
	static const char *const words[] = { "/lib/" MACHINE_LIB "/libc.so.6", "/lib64/libc.so.6" };
	size_t length = object->dlpi_name ? strlen(object->dlpi_name) : 0, i;

	for (i = 0; i < MT_ARRAY_SIZE(words); i++)
		if (length >= strlen(words[i]) && !strcmp(object->dlpi_name + length - strlen(words[i]), words[i]))
			return *(int *)context = 1;
	return 0;
}

/*
 * Gets the name of `library` for LD_PRELOAD (MEMREC_PATH_MAX bytes). The loader of a 32-bit program would print that it
 * cannot load a 64-bit library. If the system has a 32-bit loader, the name is FOLDER/each/$LIB/libmemrec.so. Each
 * loader replaces $LIB, and finds a library of its own kind there. The name is `library` itself if the system has no
 * 32-bit loader, or if the word for $LIB is not known.
 */
static void inject_preload_name(char *name, const char *library)
{
	const char *slash = strrchr(library, '/');
	int known = 0, size = slash ? (int)(slash - library) : 0;

	snprintf(name, MEMREC_PATH_MAX, "%.*s/each/lib32/" LIBRARY, size, library);
	dl_iterate_phdr(note_word, &known);
	if (known && !access(LOADER_32, F_OK) && !access(name, R_OK))
		snprintf(name, MEMREC_PATH_MAX, "%.*s/each/$LIB/" LIBRARY, size, library);
	else
		snprintf(name, MEMREC_PATH_MAX, "%s", library);
}

static int is_in_list(const char *list, const char *library)
{
	size_t size = strlen(library);

	while (*list) {
		size_t item = strcspn(list, ": ");

		if (item == size && !memcmp(list, library, size))
			return 1;
		list += item;
		list += strspn(list, ": ");
	}
	return 0;
}

static int prepend(const char *variable, const char *library)
{
	const char *old = getenv(variable);
	char *value;
	int error;

	if (!old || !*old)
		return setenv(variable, library, 1) ? -MT_E_MEMORY : 0;
	if (is_in_list(old, library))
		return 0;
	if (asprintf(&value, "%s:%s", library, old) < 0)
		return -MT_E_MEMORY;
	error = setenv(variable, value, 1) ? -MT_E_MEMORY : 0;
	free(value);
	return error;
}

/*
 * 1: memrec cannot use the variable. A list (`shared`) cannot hold a path with a separator. Another variable may have
 * another tool's library; CUDA tools write "none" for no library.
 */
static int is_taken(const char *variable, const char *library, int shared)
{
	const char *old = getenv(variable);

	if (shared)
		return strpbrk(library, ": ") != NULL;

	return old && *old && strcmp(old, "none") && strcmp(old, library);
}

int inject_set(const char *library, const struct memrec_options *options, unsigned *taken)
{
	char text[MEMREC_OPTIONS_MAX], preload[MEMREC_PATH_MAX];
	int error = memrec_options_encode(options, text, sizeof(text));

	*taken = 0;
	if (error)
		return error;
	if (setenv(MEMREC_OPTIONS_VARIABLE, text, 1))
		return -MT_E_MEMORY;
	inject_preload_name(preload, library);
#define SET_INJECTION(name, bit, variable, shared)                       \
	if (is_taken(variable, library, shared))                         \
		*taken |= (bit);                                         \
	else if (shared)                                                 \
		error = prepend(variable, preload);                      \
	else                                                             \
		error = setenv(variable, library, 1) ? -MT_E_MEMORY : 0; \
	if (error)                                                       \
		return error;
	INJECT_LIST(SET_INJECTION)
#undef SET_INJECTION
	return 0;
}

void inject_clear(void)
{
	unsetenv(MEMREC_OPTIONS_VARIABLE);
#define CLEAR_INJECTION(name, bit, variable, shared) unsetenv(variable);
	INJECT_LIST(CLEAR_INJECTION)
#undef CLEAR_INJECTION
}
