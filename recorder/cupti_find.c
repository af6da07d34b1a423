/* cupti_find.c - where a libcupti can be; see cupti_find.h for the order and why. */
#include "cupti_find.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "loaded.h"
#include "memtrace/base.h"
#include "textbuf.h"

/* The file's names, newest first. Up to 11.8 each minor version had its own. */
static const char *const names[] = {
	"libcupti.so.13",   "libcupti.so.12",	"libcupti.so.11.8", "libcupti.so.11.7", "libcupti.so.11.6",
	"libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2", "libcupti.so.11.1",
	"libcupti.so.11.0", "libcupti.so",
};

/* From the folder of libcudart: of wheels for CUDA 13 and before, and of toolkits (lib64, targets/x86_64-linux/lib). */
static const char *const beside_runtime[] = { "",
					      "/../../cuda_cupti/lib",
					      "/../../cu13/lib",
					      "/../extras/CUPTI/lib64",
					      "/../../../extras/CUPTI/lib64" };

/* From the folder of a toolkit. */
static const char *const in_toolkit[] = { "/extras/CUPTI/lib64", "/lib64", "/targets/x86_64-linux/lib", "/lib" };

struct finder {
	int (*use)(void *context, void *library);
	void *context;
};

static int use_file(const struct finder *finder, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	return library && finder->use(finder->context, library);
}

/* The newest of the files in `folder`/`below`. */
static int use_folder(const struct finder *finder, const char *folder, const char *below)
{
	char path[PATH_MAX];
	struct textbuf text;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++) {
		textbuf_init(&text, path, sizeof(path));
		textbuf_add(&text, folder);
		textbuf_add(&text, below);
		textbuf_add(&text, "/");
		textbuf_add(&text, names[i]);
		if (!text.cut && !access(path, R_OK) && use_file(finder, path))
			return 1;
	}
	return 0;
}

/* 1 used, 0 not used, -1: there is none. */
static int use_loaded(const struct finder *finder)
{
	char path[PATH_MAX];
	unsigned int i;
	void *library;

	for (i = 0; loaded_library("libcupti", i, path, sizeof(path)); i++) {
		library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
		if (library && finder->use(finder->context, library))
			return 1;
	}
	return i ? 0 : -1;
}

static int use_beside_runtime(const struct finder *finder)
{
	char path[PATH_MAX];
	unsigned int i;
	size_t j;

	for (i = 0; loaded_library("libcudart", i, path, sizeof(path)); i++) {
		char *slash = strrchr(path, '/');

		if (!slash)
			continue;
		*slash = '\0';
		for (j = 0; j < MT_ARRAY_SIZE(beside_runtime); j++)
			if (use_folder(finder, path, beside_runtime[j]))
				return 1;
	}
	return 0;
}

static int use_soname(const struct finder *finder)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		if (use_file(finder, names[i]))
			return 1;
	return 0;
}

static int use_toolkit(const struct finder *finder, const char *root)
{
	size_t i;

	for (i = 0; root && *root && i < MT_ARRAY_SIZE(in_toolkit); i++)
		if (use_folder(finder, root, in_toolkit[i]))
			return 1;
	return 0;
}

/* TOOLKIT/bin/nvcc, wherever a link in `folder` leads. */
static int use_toolkit_of(const struct finder *finder, const char *folder, size_t size)
{
	char path[PATH_MAX], real[PATH_MAX];
	struct textbuf text;
	char *bin;

	textbuf_init(&text, path, sizeof(path));
	textbuf_add_bytes(&text, folder, size);
	textbuf_add(&text, "/nvcc");
	if (text.cut || access(path, X_OK) || !realpath(path, real))
		return 0;
	bin = strstr(real, "/bin/nvcc");
	if (!bin)
		return 0;
	*bin = '\0';
	return use_toolkit(finder, real);
}

static int use_compiler(const struct finder *finder)
{
	const char *list = getenv("PATH");

	while (list && *list) {
		size_t size = strcspn(list, ":");

		if (size && use_toolkit_of(finder, list, size))
			return 1;
		list += size;
		list += *list == ':';
	}
	return 0;
}

int cupti_find(int (*use)(void *context, void *library), void *context)
{
	struct finder finder = { use, context };
	int loaded = use_loaded(&finder);

	if (loaded >= 0)
		return loaded;
	return use_beside_runtime(&finder) || use_soname(&finder) || use_toolkit(&finder, getenv("CUDA_HOME")) ||
	       use_toolkit(&finder, getenv("CUDA_PATH")) || use_compiler(&finder) ||
	       use_toolkit(&finder, "/usr/local/cuda");
}
