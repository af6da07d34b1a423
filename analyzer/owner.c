#include "owner.h"

#include <ctype.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/phase.h"

/* Libraries on the way to the driver: they hand on what somebody else asked for. */
static const char *const passers[] = { "libcuda", "libcudart", "libcupti", "libmemrec", "libnvidia" };

/* Libraries that are parts of one owner. X(prefix, owner) */
#define OWNER_LIST(X)                \
	X("libc10", OWNER_PYTORCH)   \
	X("libtorch", OWNER_PYTORCH)

/* Owners that take driver memory for one purpose. X(prefix, category) */
#define PURPOSE_LIST(X)                      \
	X("libnccl", MT_CATEGORY_NCCL)       \
	X("libcublas", MT_CATEGORY_WORKSPACE) \
	X("libcudnn", MT_CATEGORY_WORKSPACE)

static int starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Bytes of the hash that wheels put into file names, "libgomp-a34b3233.so.1": as many hex digits after the last '-'. */
static size_t wheel_hash(const char *name, size_t size)
{
	size_t digits = 0;

	while (digits < size && isxdigit((unsigned char)name[size - 1 - digits]))
		digits++;
	return digits == 8 && size > 9 && name[size - 9] == '-' ? 9 : 0;
}

/* "/usr/lib/libnccl.so.2" -> "libnccl", "_C.cpython-311-x86_64-linux-gnu.so" -> "_C", "/opt/bin/python3.11" as it is.
 */
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

void owner_of_stack(char name[OWNER_NAME_MAX], const struct mt_defs *defs, uint32_t stack)
{
	const struct mt_node *node;
	const struct mt_module *module;
	const struct mt_frame *frame;

	for (node = mt_defs_node(defs, stack); node; node = mt_defs_node(defs, node->parent)) {
		frame = mt_defs_frame(defs, node->frame);
		if (!frame || frame->kind != MT_FRAME_NATIVE || !(module = mt_defs_module(defs, frame->module)))
			continue;
		short_name(name, mt_defs_string(defs, module->path));
		if (!*name || is_passer(name))
			continue;
#define OWNER_CASE(prefix, owner)                          \
	if (starts_with(name, prefix)) {                   \
		mt_copy_text(name, OWNER_NAME_MAX, owner); \
		return;                                    \
	}
		OWNER_LIST(OWNER_CASE)
#undef OWNER_CASE
		return;
	}
	mt_copy_text(name, OWNER_NAME_MAX, "unknown");
}

uint8_t owner_category(const char *name, uint8_t opinion)
{
#define PURPOSE_CASE(prefix, category)    \
	if (starts_with(name, prefix))    \
		return (category);
	PURPOSE_LIST(PURPOSE_CASE)
#undef PURPOSE_CASE
	return opinion;
}
