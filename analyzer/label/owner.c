#include "owner.h"

#include <ctype.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/phase.h"

/* Libraries between a caller and the driver. Their requests belong to the module that calls them. */
static const char *const passers[] = { "libcuda", "libcudart", "libcupti", "libmemrec", "libnvidia" };

/*
 * The owners of driver memory, by the module that called: X(test, pattern, owner, category). The first line that fits counts. A module without a line
 * is its own owner, by its name.
 *
 * NAME: the short name begins with the pattern. PATH: the path of a shared library contains the pattern. Category: the only purpose of the owner's
 * driver memory; OWNER_ANY: several purposes.
 */
#define OWNER_LIST(X)                                                                     \
	X(NAME, "libc10", OWNER_PYTORCH, OWNER_ANY)                                       \
	X(NAME, "libtorch", OWNER_PYTORCH, OWNER_ANY)                                     \
	X(NAME, "libnccl", "libnccl", MT_CATEGORY_NCCL)                                   \
	X(NAME, "libcublas", "libcublas", MT_CATEGORY_WORKSPACE) /* also libcublasLt */   \
	X(NAME, "libcudnn", "libcudnn", MT_CATEGORY_WORKSPACE)                            \
	X(NAME, "libnvshmem", "nvshmem", OWNER_ANY)                                       \
	X(NAME, "nvshmem_", "nvshmem", OWNER_ANY) /* also its bootstrap and transports */ \
	X(NAME, "deep_ep", "deepep", OWNER_ANY)                                           \
	X(NAME, "cumem_allocator", "vllm cumem", OWNER_ANY)                               \
	X(NAME, "torch_memory_saver", "torch_memory_saver", OWNER_ANY)                    \
	X(NAME, "libtriton", "triton", OWNER_ANY)                                         \
	X(NAME, "__triton_launcher", "triton", OWNER_ANY)                                 \
	X(PATH, "/triton/", "triton", OWNER_ANY) /* its compiled code is in ~/.triton */  \
	X(PATH, "/.triton/", "triton", OWNER_ANY)                                         \
	X(PATH, "/flashinfer/", "flashinfer", OWNER_ANY)                                  \
	X(PATH, "/cupy/", "cupy", OWNER_ANY)                                              \
	X(PATH, "/cupy_backends/", "cupy", OWNER_ANY)                                     \
	X(NAME, "libonnxruntime", "onnxruntime", OWNER_ANY)                               \
	X(NAME, "onnxruntime_pybind", "onnxruntime", OWNER_ANY)                           \
	X(NAME, "libtensorflow", "tensorflow", OWNER_ANY)                                 \
	X(NAME, "_pywrap_tensorflow", "tensorflow", OWNER_ANY)                            \
	X(NAME, "xla_extension", "jax", OWNER_ANY)                                        \
	X(NAME, "libjax_common", "jax", OWNER_ANY)                                        \
	X(PATH, "/xla_cuda", "jax", OWNER_ANY) /* the plugin of jax */                    \
	X(NAME, "libnvinfer", "tensorrt", OWNER_ANY)                                      \
	X(NAME, "librmm", "rmm", OWNER_ANY)                                               \
	X(NAME, "libfaiss", "faiss", OWNER_ANY)                                           \
	X(NAME, "_swigfaiss", "faiss", OWNER_ANY)

enum test { NAME, PATH };

static const struct {
	enum test test;
	const char *pattern, *owner;
	int category; /* enum mt_category or OWNER_ANY */
} owners[] = {
#define OWNER_ROW(test, pattern, owner, category) { test, pattern, owner, category },
	OWNER_LIST(OWNER_ROW)
#undef OWNER_ROW
};

static int starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Returns the bytes of the hash that wheels put into file names, "libgomp-a34b3233.so.1": '-' and 8 hex digits; 0: no hash. */
static size_t wheel_hash(const char *name, size_t size)
{
	size_t digits = 0;

	while (digits < size && isxdigit((unsigned char)name[size - 1 - digits]))
		digits++;
	return digits == 8 && size > 9 && name[size - 9] == '-' ? 9 : 0;
}

/* Shortens "/usr/lib/libnccl.so.2" to "libnccl" and "_C.cpython-311-x86_64-linux-gnu.so" to "_C"; keeps "/opt/bin/python3.11". */
static void short_name(char name[OWNER_NAME_MAX], const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const char *end = strstr(base, ".so");
	const char *python = strstr(base, ".cpython-");
	size_t size = strlen(base);

	if (end && (end[3] == '.' || end[3] == '\0')) {
		size = (size_t)((python && python < end ? python : end) - base);
		size -= wheel_hash(base, size);
	}
	if (size >= OWNER_NAME_MAX)
		size = OWNER_NAME_MAX - 1;
	memcpy(name, base, size);
	name[size] = '\0';
}

/* "libnvidia" and "libnvidia-ml", but not "libcudautils". */
static int is_passer(const char *name)
{
	size_t i, size;

	for (i = 0; i < MT_ARRAY_SIZE(passers); i++) {
		size = strlen(passers[i]);
		if (!strncmp(name, passers[i], size) && (name[size] == '\0' || name[size] == '-'))
			return 1;
	}
	return 0;
}

int owner_passes_on(const char *path)
{
	char name[OWNER_NAME_MAX];

	short_name(name, path);
	return is_passer(name);
}

/* Returns the index in owners[]; -1: no line fits. */
static int find_owner(const char *name, const char *path)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(owners); i++)
		if (owners[i].test == NAME ? starts_with(name, owners[i].pattern)
					   : strstr(path, ".so") && strstr(path, owners[i].pattern))
			return (int)i;
	return -1;
}

/* Writes the owner of a module, by its path. Returns 0 for a module that only passes on requests of other modules. */
static int owner_of_path(char name[OWNER_NAME_MAX], const char *path)
{
	int owner;

	short_name(name, path);
	if (!*name || is_passer(name))
		return 0;
	owner = find_owner(name, path);
	if (owner >= 0)
		mt_copy_text(name, OWNER_NAME_MAX, owners[owner].owner);
	return 1;
}

void owner_of_stack(char name[OWNER_NAME_MAX], const struct mt_defs *defs, uint32_t stack)
{
	const struct mt_node *node;
	const struct mt_module *module;
	const struct mt_frame *frame;

	for (node = mt_defs_node(defs, stack); node; node = mt_defs_node(defs, node->parent)) {
		frame = mt_defs_frame(defs, node->frame);
		if (!frame || frame->kind != MT_FRAME_NATIVE || !(module = mt_defs_module(defs, frame->module)))
			continue;
		if (owner_of_path(name, mt_defs_string(defs, module->path)))
			return;
	}
	mt_copy_text(name, OWNER_NAME_MAX, "unknown");
}

int owner_purpose(const char *name)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(owners); i++)
		if (!strcmp(owners[i].owner, name))
			return owners[i].category;
	return OWNER_ANY;
}
