/* torch_stack.c - writes each frame and stack once. Later references have only its number. */
#include <stdlib.h>
#include <string.h>
#include "base/demangle.h"
#include "base/text.h"
#include "memtrace/defs.h"
#include "memtrace/error.h"
#include "query/callstack.h"
#include "torch.h"

/* Makes room in *ids for index `last`; new items are 0. Returns 0 or -MT_E_MEMORY. */
static int reach(uint32_t **ids, uint32_t *count, uint32_t last)
{
	uint32_t room = *count ? *count : 256;
	uint32_t *grown;

	while (room <= last)
		room *= 2;
	if (room == *count)
		return 0;
	grown = realloc(*ids, (size_t)room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + *count, 0, (size_t)(room - *count) * sizeof(*grown));
	*ids = grown;
	*count = room;
	return 0;
}

/* The texts of a frame. The caller frees `owned`. */
struct texts {
	const char *function, *file;
	unsigned line;
	char *owned;
};

static void find_native(struct torch *torch, const struct mt_defs *defs, const struct mt_frame *frame,
			struct texts *texts)
{
	const struct mt_module *module = mt_defs_module(defs, frame->module);
	const char *path = module ? mt_defs_string(defs, module->path) : "";
	struct symbol symbol = { 0 };

	if (frame->symbol) {
		texts->owned = demangle(mt_defs_string(defs, frame->symbol));
		texts->function = texts->owned ? texts->owned : mt_defs_string(defs, frame->symbol);
	}
	if (module && symbols_find(torch->run->symbols, path, module->build_id, module->build_id_size, frame->offset,
				   &symbol, 1)) {
		texts->function = *symbol.function ? symbol.function : texts->function;
		texts->file = symbol.file;
		texts->line = symbol.line;
	}
	if (!*texts->file)
		texts->file = path;
}

/* The name of the frame's library without its folder; "": none. */
static const char *module_name(const struct mt_defs *defs, const struct mt_frame *frame)
{
	const struct mt_module *module = mt_defs_module(defs, frame->module);

	return module ? text_base_name(mt_defs_string(defs, module->path)) : "";
}

static void find_texts(struct torch *torch, uint32_t process, const struct mt_frame *frame, struct texts *texts)
{
	const struct mt_defs *defs = torch->run->analysis.process[process].defs;

	*texts = (struct texts){ .function = mt_defs_string(defs, frame->function),
				 .file = mt_defs_string(defs, frame->file),
				 .line = frame->line };
	if (frame->kind == MT_FRAME_ELIDED)
		texts->function = "...";
	if (frame->kind == MT_FRAME_NATIVE && frame->module)
		find_native(torch, defs, frame, texts);
	if (!*texts->function && frame->kind == MT_FRAME_NATIVE)
		texts->function = "??";
	if (torch->run->options->confidential) {
		texts->file = module_name(defs, frame);
		texts->line = 0;
	}
	if (!*texts->file)
		texts->file = "??";
}

static void put_frame(struct torch *torch, uint32_t process, uint32_t id)
{
	const struct mt_frame *frame = mt_defs_frame(torch->run->analysis.process[process].defs, id);
	struct torch_memo_process *memo = &torch->memo.process[process];
	struct texts texts;

	torch_fail(torch, reach(&memo->frame, &memo->frames, id));
	if (torch->error || !frame)
		return;
	if (memo->frame[id]) {
		torch_write_get(torch->out, memo->frame[id] - 1);
		return;
	}
	find_texts(torch, process, frame, &texts);
	torch_write_dict(torch->out);
	torch_word(torch, TORCH_NAME);
	torch_text(torch, texts.function);
	torch_word(torch, TORCH_FILENAME);
	torch_text(torch, texts.file);
	torch_key_int(torch, TORCH_LINE, texts.line);
	torch_write_dict_end(torch->out);
	torch_write_put(torch->out, torch->memo.next_number);
	memo->frame[id] = ++torch->memo.next_number;
	free(texts.owned);
}

/* 1: a frame inside of the driver or of memrec. Frames of an imported snapshot have no module, and count as 0. */
static int is_driver(const struct mt_defs *defs, const struct mt_frame *frame)
{
	const struct mt_module *module = mt_defs_module(defs, frame->module);
	const char *symbol = mt_defs_string(defs, frame->symbol);
	struct callstack_frame native = { .function = symbol, .file = "", .native = 1 };

	if (!module)
		return 0;
	native.module = mt_defs_string(defs, module->path);
	return callstack_is_plumbing(&native);
}

/* The innermost node of the program; the node itself if the program has none. */
static uint32_t program_node(const struct mt_defs *defs, uint32_t node)
{
	const struct mt_node *at = mt_defs_node(defs, node);
	uint32_t number = node;

	while (at && mt_defs_frame(defs, at->frame) && is_driver(defs, mt_defs_frame(defs, at->frame))) {
		number = at->parent;
		at = mt_defs_node(defs, number);
	}
	return number ? number : node;
}

void torch_stack(struct torch *torch, uint32_t process, uint32_t node)
{
	const struct mt_defs *defs = torch->run->analysis.process[process].defs;
	struct torch_memo_process *memo = &torch->memo.process[process];
	const struct mt_node *at;
	uint32_t items = 0;

	torch_fail(torch, reach(&memo->stack, &memo->stacks, node));
	if (torch->error)
		return;
	if (memo->stack[node]) {
		torch_write_get(torch->out, memo->stack[node] - 1);
		return;
	}
	torch_write_list(torch->out);
	for (at = mt_defs_node(defs, program_node(defs, node)); at; at = mt_defs_node(defs, at->parent)) {
		torch_write_item(torch->out, &items);
		put_frame(torch, process, at->frame);
	}
	torch_write_list_end(torch->out);
	torch_write_put(torch->out, torch->memo.next_number);
	memo->stack[node] = ++torch->memo.next_number;
}
