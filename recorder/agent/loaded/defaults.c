/* defaults.c - see defaults.h. */
#include "defaults.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "loaded.h"
#include "memtrace/base.h"
#include "shared/textbuf.h"

static int is_program(const char *path)
{
	struct stat stat_of;

	return !stat(path, &stat_of) && S_ISREG(stat_of.st_mode) && !access(path, X_OK);
}

static void default_output(char *output)
{
	char here[MEMREC_PATH_MAX];
	struct textbuf text;

	if (!getcwd(here, sizeof(here)))
		return;
	textbuf_init(&text, output, MEMREC_PATH_MAX);
	textbuf_add(&text, here);
	textbuf_add(&text, "/trace.zst");
}

/* The build folder has all programs in one place; installed, they are PREFIX/lib/memrec/libmemrec.so and PREFIX/bin. */
static void default_collector(char *collector)
{
	static const char *const places[] = { "/memrec", "/../../bin/memrec" };
	char own[PATH_MAX], real[PATH_MAX];
	struct textbuf text;
	char *slash;
	size_t i;

	if (!loaded_own_path(own, sizeof(own)) || !realpath(own, real))
		return;
	slash = strrchr(real, '/');
	*slash = '\0';
	for (i = 0; i < MT_ARRAY_SIZE(places); i++) {
		textbuf_init(&text, collector, MEMREC_PATH_MAX);
		textbuf_add(&text, real);
		textbuf_add(&text, places[i]);
		if (!text.cut && is_program(collector))
			return;
	}
	collector[0] = '\0';
}

void memrec_defaults(struct memrec_options *options)
{
	if (!options->output[0])
		default_output(options->output);
	if (!options->collector[0])
		default_collector(options->collector);
}

/* 1: `path` is the file that we were loaded from, by whatever name. */
static int is_own_path(const char *path)
{
	struct stat theirs, ours;
	char own[PATH_MAX];

	return loaded_own_path(own, sizeof(own)) && !stat(path, &theirs) && !stat(own, &ours) &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

int defaults_name_us(const char *variable)
{
	const char *path = getenv(variable);

	return path && is_own_path(path);
}
