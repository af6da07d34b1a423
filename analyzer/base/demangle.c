#include "demangle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define PROPORTION 32u /* largest number of bytes of a name for one byte of its symbol; PyTorch 1.13 reaches 19 */
#define NAME_MIN 256u  /* bytes that any name may have */
#define NAME_MAX_BYTES 65536u

/* A function of the C++ runtime library without a C header. It calls `take` for each piece of the name. Returns 0 if `symbol` is no mangled name. */
int __gcclibcxx_demangle_callback(const char *symbol, void (*take)(const char *piece, size_t size, void *context),
				  void *context);

struct name {
	char *text;
	size_t size, room;
	jmp_buf too_long;
};

/* Takes a piece of the name. The library has no way to stop early. Its demangler works on the stack, and holds no memory during the call. */
static void take(const char *piece, size_t size, void *context)
{
	struct name *name = context;

	if (size >= name->room - name->size)
		longjmp(name->too_long, 1);
	memcpy(name->text + name->size, piece, size);
	name->size += size;
}

static size_t room_for(const char *symbol)
{
	size_t room = strlen(symbol) * PROPORTION;

	if (room < NAME_MIN)
		return NAME_MIN;
	return room < NAME_MAX_BYTES ? room : NAME_MAX_BYTES;
}

char *demangle(const char *symbol)
{
	struct name *name;
	char *text = NULL;

	if (strncmp(symbol, "_Z", 2) || !(name = calloc(1, sizeof(*name))))
		return NULL;
	name->room = room_for(symbol);
	name->text = malloc(name->room);
	if (name->text && !setjmp(name->too_long) && !__gcclibcxx_demangle_callback(symbol, take, name)) {
		name->text[name->size] = '\0';
		text = name->text;
		name->text = NULL;
	}
	free(name->text);
	free(name);
	return text;
}
