/* cupti_find.c - finds libcupti; cupti_find.h has the order and the reasons. */
#include "cupti_find.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/loaded/loaded.h"
#include "memtrace/base.h"
#include "shared/machine.h"
#include "shared/textbuf.h"

#define DRIVER_UNIT 1000 /* cuDriverGetVersion returns 1000 * major + 10 * minor */
#define NEWEST 13        /* newest major version */
#define OLDEST 11        /* up to 11.8 each minor version has its own name */
#define OLD_MINORS 9
#define NAMES_MAX 32u
#define NAME_BYTES 24u

/* From the folder of libcudart: of wheels for CUDA 13 and before, and of toolkits (lib64, targets/PROCESSOR-linux/lib). */
static const char *const beside_runtime[] = { "", "/../../cuda_cupti/lib", "/../../cu13/lib", "/../extras/CUPTI/lib64",
					      "/../../../extras/CUPTI/lib64" };

/* From a folder of Python packages, for CUDA 13 and before. */
static const char *const in_packages[] = { "/nvidia/cu13/lib", "/nvidia/cuda_cupti/lib" };

/* From the folder of a toolkit. */
static const char *const in_toolkit[] = { "/extras/CUPTI/lib64", "/lib64", "/targets/" MACHINE_TOOLKIT "/lib", "/lib" };

struct finder {
	cupti_user *use;
	void *context;
	char name[NAMES_MAX][NAME_BYTES]; /* the file's names, best first */
	size_t count;
	size_t first, end; /* range of names of the current search */
	/* Room for paths: a program's thread may have little stack. */
	char place[PATH_MAX], other[PATH_MAX], file[PATH_MAX];
};

/* ---- Names ---- */

static void add_name(struct finder *finder, int major, int minor)
{
	struct textbuf text;

	if (finder->count == NAMES_MAX)
		return;
	textbuf_init(&text, finder->name[finder->count++], NAME_BYTES);
	textbuf_add(&text, "libcupti.so");
	if (major) {
		textbuf_add(&text, ".");
		textbuf_add_number(&text, (uint64_t)major);
	}
	if (minor >= 0) {
		textbuf_add(&text, ".");
		textbuf_add_number(&text, (uint64_t)minor);
	}
}

static void add_major(struct finder *finder, int major)
{
	int minor;

	if (major > OLDEST)
		add_name(finder, major, -1);
	for (minor = OLD_MINORS - 1; major == OLDEST && minor >= 0; minor--)
		add_name(finder, major, minor);
}

/* Makes the names. Returns the number of names of the driver's own major version, which come first. */
static size_t make_names(struct finder *finder, int driver)
{
	int major = driver / DRIVER_UNIT >= OLDEST ? driver / DRIVER_UNIT : NEWEST, other;
	size_t own;

	add_major(finder, major);
	own = finder->count;
	for (other = major > NEWEST ? NEWEST : major - 1; other >= OLDEST; other--)
		add_major(finder, other);
	for (other = major + 1; other <= NEWEST; other++)
		add_major(finder, other);
	add_name(finder, 0, -1);
	return own;
}

/* ---- Files ---- */

/* The library's path in the loader; a name may have led elsewhere. */
static const char *path_of(void *library)
{
	struct link_map *map;

	return dlinfo(library, RTLD_DI_LINKMAP, &map) ? "" : map->l_name;
}

static int use_library(const struct finder *finder, void *library)
{
	enum cupti_use use;

	if (!library)
		return 0;
	use = finder->use(finder->context, library, path_of(library));
	if (use == CUPTI_REFUSED)
		dlclose(library);
	return use == CUPTI_USED;
}

/* The best of the files in `folder`/`below`. */
static int use_folder(struct finder *finder, const char *folder, const char *below)
{
	struct textbuf text;
	size_t i;

	for (i = finder->first; i < finder->end; i++) {
		textbuf_init(&text, finder->file, sizeof(finder->file));
		textbuf_add(&text, folder);
		textbuf_add(&text, below);
		textbuf_add(&text, "/");
		textbuf_add(&text, finder->name[i]);
		if (!text.cut && !access(finder->file, R_OK) &&
		    use_library(finder, dlopen(finder->file, RTLD_NOW | RTLD_LOCAL)))
			return 1;
	}
	return 0;
}

/* ---- Places ---- */

/* 1: used; 0: not used; -1: none. */
static int use_loaded(struct finder *finder)
{
	unsigned int i;

	for (i = 0; loaded_library("libcupti", i, finder->place, sizeof(finder->place)); i++)
		if (use_library(finder, dlopen(finder->place, RTLD_NOW | RTLD_NOLOAD)))
			return 1;
	return i ? 0 : -1;
}

static int use_beside_runtime(struct finder *finder)
{
	unsigned int i;
	size_t j;

	for (i = 0; loaded_library("libcudart", i, finder->place, sizeof(finder->place)); i++) {
		char *slash = strrchr(finder->place, '/');

		if (!slash)
			continue;
		*slash = '\0';
		for (j = 0; j < MT_ARRAY_SIZE(beside_runtime); j++)
			if (use_folder(finder, finder->place, beside_runtime[j]))
				return 1;
	}
	return 0;
}

static int use_soname(struct finder *finder)
{
	size_t i;

	for (i = finder->first; i < finder->end; i++)
		if (use_library(finder, dlopen(finder->name[i], RTLD_NOW | RTLD_LOCAL)))
			return 1;
	return 0;
}

/* Cuts the path of a Python extension to the folder of its packages. 0: not in such a folder. */
static int cut_to_packages(char *path)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	char *found;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(folders); i++) {
		found = strstr(path, folders[i]);
		if (!found)
			continue;
		found[strlen(folders[i]) - 1] = '\0';
		return 1;
	}
	return 0;
}

static int use_packages(struct finder *finder)
{
	char *path = finder->place, *before = finder->other;
	unsigned int i;
	size_t j;

	*before = '\0';
	for (i = 0; loaded_path(i, path, sizeof(finder->place)); i++) {
		if (!cut_to_packages(path) || !strcmp(path, before))
			continue;
		memcpy(before, path, strlen(path) + 1);
		for (j = 0; j < MT_ARRAY_SIZE(in_packages); j++)
			if (use_folder(finder, path, in_packages[j]))
				return 1;
	}
	return 0;
}

static int use_toolkit(struct finder *finder, const char *root)
{
	size_t i;

	for (i = 0; root && *root && i < MT_ARRAY_SIZE(in_toolkit); i++)
		if (use_folder(finder, root, in_toolkit[i]))
			return 1;
	return 0;
}

/* TOOLKIT/bin/nvcc, wherever a link in `folder` leads. */
static int use_toolkit_of(struct finder *finder, const char *folder, size_t size)
{
	struct textbuf text;
	char *bin;

	textbuf_init(&text, finder->other, sizeof(finder->other));
	textbuf_add_bytes(&text, folder, size);
	textbuf_add(&text, "/nvcc");
	if (text.cut || access(finder->other, X_OK) || !realpath(finder->other, finder->place))
		return 0;
	bin = strstr(finder->place, "/bin/nvcc");
	if (!bin)
		return 0;
	*bin = '\0';
	return use_toolkit(finder, finder->place);
}

static int use_compiler(struct finder *finder)
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

static int use_any_place(struct finder *finder, size_t first, size_t end)
{
	finder->first = first;
	finder->end = end;
	return use_beside_runtime(finder) || use_soname(finder) || use_packages(finder) ||
	       use_toolkit(finder, getenv("CUDA_HOME")) || use_toolkit(finder, getenv("CUDA_PATH")) ||
	       use_compiler(finder) || use_toolkit(finder, "/usr/local/cuda");
}

int cupti_find(cupti_user *use, void *context, int driver)
{
	static struct finder finder;
	size_t own;
	int loaded;

	finder.use = use;
	finder.context = context;
	finder.count = 0;
	own = make_names(&finder, driver);
	loaded = use_loaded(&finder);
	if (loaded >= 0)
		return loaded;
	return use_any_place(&finder, 0, own) || use_any_place(&finder, own, finder.count);
}
