/* frame_names.c - native frames by module and address, each module's file read once. */
#include "frame_names.h"

#include <stdlib.h>
#include <string.h>
#include "elf_names.h"

/* Names the frames of one module at a time. */
struct namer {
	struct mt_defs *defs;
	uint32_t added;
};

struct unnamed {
	uint32_t module;
	struct elf_name name;
};

static int by_place(const void *a, const void *b)
{
	const struct unnamed *one = a, *two = b;

	if (one->module != two->module)
		return one->module < two->module ? -1 : 1;
	return (one->name.offset > two->name.offset) - (one->name.offset < two->name.offset);
}

static int is_unnamed(const struct mt_frame *frame)
{
	return frame->kind == MT_FRAME_NATIVE && frame->module && !frame->symbol;
}

static uint32_t count_unnamed(const struct mt_defs *defs)
{
	const struct mt_frame *frame;
	uint32_t id, count = 0;

	for (id = 1; (frame = mt_defs_frame(defs, id)); id++)
		count += (uint32_t)is_unnamed(frame);
	return count;
}

/* Lists unnamed frames by module and address. NULL: none, or out of memory. */
static struct unnamed *list_unnamed(const struct mt_defs *defs, uint32_t *count)
{
	const struct mt_frame *frame;
	struct unnamed *list;
	uint32_t id, at = 0;

	*count = count_unnamed(defs);
	list = *count ? calloc(*count, sizeof(*list)) : NULL;
	if (!list)
		return NULL;
	for (id = 1; (frame = mt_defs_frame(defs, id)); id++)
		if (is_unnamed(frame))
			list[at++] = (struct unnamed){ frame->module,
						       { .offset = frame->offset, .frame = id, .unnamed = 1 } };
	qsort(list, *count, sizeof(*list), by_place);
	return list;
}

static int take_name(void *context, const struct elf_name *wanted, const char *name)
{
	struct namer *namer = context;
	struct mt_symbol symbol = { .frame = wanted->frame };

	symbol.name = mt_defs_add_string(namer->defs, name, strlen(name));
	if (!symbol.name || !mt_defs_add_symbol(namer->defs, &symbol))
		return 1;
	namer->added++;
	return 0;
}

static void name_module(struct namer *namer, uint32_t id, struct elf_name *wanted, size_t count, uint64_t deadline)
{
	const struct mt_module *module = mt_defs_module(namer->defs, id);

	elf_names_find(mt_defs_string(namer->defs, module->path), module->build_id, module->build_id_size, wanted,
		       count, deadline, take_name, namer);
}

uint32_t frame_names_add(struct mt_defs *defs, uint64_t deadline)
{
	struct namer namer = { .defs = defs };
	uint32_t count, first, end;
	struct unnamed *list = list_unnamed(defs, &count);
	struct elf_name *wanted = list ? calloc(count, sizeof(*wanted)) : NULL;

	for (first = 0; wanted && first < count; first = end) {
		for (end = first; end < count && list[end].module == list[first].module; end++)
			wanted[end - first] = list[end].name;
		name_module(&namer, list[first].module, wanted, end - first, deadline);
	}
	free(wanted);
	free(list);
	return namer.added;
}
