#include "store_shared.h"

#include <stdlib.h>
#include <string.h>
#include "base/tuple.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "rows/row_id.h"

/* Texts of all processes by number, from 1. */
struct texts {
	struct tuple_table known;
	const char **text;
	uint32_t count, room;
};

struct sharing {
	const struct analysis *analysis;
	struct analysis_shared *shared;
	struct texts texts;
	struct tuple_table frame, node; /* values: index of `id` */
	int64_t *id;
	uint32_t ids, id_room;
	uint32_t *text; /* numbers of texts, by string of the process; 0: not looked up */
};

/* ---- texts ---- */

static int add_text(struct texts *texts, const struct tuple *key, const char *text)
{
	if (MT_ARRAY_ROOM(texts->text, texts->count, texts->room))
		return -MT_E_MEMORY;
	texts->text[texts->count] = text;
	return tuple_add(&texts->known, key, texts->count++);
}

/* The number of a text, from 1; 0: out of memory. Texts of one hash differ in the second word of their keys. */
static uint32_t text_number(struct texts *texts, const char *text)
{
	struct tuple key = { { tuple_text(text) } };
	uint32_t at;

	for (;; key.at[1]++) {
		at = tuple_find(&texts->known, &key);
		if (at == TUPLE_NONE)
			return add_text(texts, &key, text) ? 0 : texts->count;
		if (!strcmp(texts->text[at], text))
			return at + 1;
	}
}

/* The same of a string of the process. */
static uint32_t string_number(struct sharing *sharing, const struct mt_defs *defs, uint32_t string)
{
	if (string > mt_defs_count(defs, MT_DEF_STRING))
		string = 0;
	if (!sharing->text[string])
		sharing->text[string] = text_number(&sharing->texts, mt_defs_string(defs, string));
	return sharing->text[string];
}

/* ---- frames and nodes ---- */

/* The id of the first equal definition: `own`, if there is none before. 0: out of memory. */
static int64_t first_id(struct sharing *sharing, struct tuple_table *known, const struct tuple *key, int64_t own)
{
	uint32_t at = tuple_find(known, key);

	if (at != TUPLE_NONE)
		return sharing->id[at];
	if (MT_ARRAY_ROOM(sharing->id, sharing->ids, sharing->id_room))
		return 0;
	sharing->id[sharing->ids] = own;
	return tuple_add(known, key, sharing->ids++) ? 0 : own;
}

/* Two libraries are one by path and build id. */
static uint64_t module_number(struct sharing *sharing, const struct mt_defs *defs, uint32_t number)
{
	const struct mt_module *module = mt_defs_module(defs, number);
	uint64_t hash = 0;
	uint32_t i;

	if (!module)
		return 0;
	for (i = 0; i < module->build_id_size; i++)
		hash = (hash ^ module->build_id[i]) * 0x100000001b3u;
	return (hash << 32) + string_number(sharing, defs, module->path);
}

static int64_t share_frame(struct sharing *sharing, uint32_t process, uint32_t number)
{
	const struct mt_defs *defs = sharing->analysis->process[process].defs;
	const struct mt_frame *frame = mt_defs_frame(defs, number);
	uint32_t function = string_number(sharing, defs, frame->symbol ? frame->symbol : frame->function);
	uint32_t file = string_number(sharing, defs, frame->file);
	const struct tuple key = { { (uint64_t)function << 32 | file,
				     (uint64_t)frame->line << 32 | frame->kind << 1 | (frame->symbol != 0),
				     module_number(sharing, defs, frame->module), frame->offset } };

	if (!function || !file)
		return 0;
	return first_id(sharing, &sharing->frame, &key, row_id(process, number));
}

static int64_t share_node(struct sharing *sharing, uint32_t process, uint32_t number)
{
	const struct mt_node *node = mt_defs_node(sharing->analysis->process[process].defs, number);
	const struct tuple key = { { (uint64_t)sharing->shared->node[process][node->parent],
				     (uint64_t)sharing->shared->frame[process][node->frame] } };

	if (node->nest)
		return row_id(process, number);
	return first_id(sharing, &sharing->node, &key, row_id(process, number));
}

static int share_process(struct sharing *sharing, uint32_t process)
{
	const struct mt_defs *defs = sharing->analysis->process[process].defs;
	int64_t *frame = sharing->shared->frame[process], *node = sharing->shared->node[process];
	uint32_t i;
	int error = 0;

	sharing->text = calloc((size_t)mt_defs_count(defs, MT_DEF_STRING) + 1, sizeof(*sharing->text));
	if (!sharing->text)
		return -MT_E_MEMORY;
	for (i = mt_defs_count(defs, MT_DEF_FRAME); i && !error; i--) {
		frame[i] = share_frame(sharing, process, i);
		error = frame[i] ? 0 : -MT_E_MEMORY;
	}
	for (i = 1; i <= mt_defs_count(defs, MT_DEF_NODE) && !error; i++) {
		node[i] = share_node(sharing, process, i);
		error = node[i] ? 0 : -MT_E_MEMORY;
	}
	free(sharing->text);
	return error;
}

/* Makes one block with all arrays. NULL: out of memory. */
static struct analysis_shared *make_arrays(const struct analysis *analysis)
{
	size_t count = 0, lists = 2 * (size_t)analysis->processes;
	struct analysis_shared *shared;
	int64_t *at;
	uint32_t i;

	for (i = 0; i < analysis->processes; i++)
		count += 2 + (size_t)mt_defs_count(analysis->process[i].defs, MT_DEF_NODE) +
			 mt_defs_count(analysis->process[i].defs, MT_DEF_FRAME);
	shared = calloc(1, sizeof(*shared) + lists * sizeof(at) + count * sizeof(*at));
	if (!shared)
		return NULL;
	shared->node = (int64_t **)(shared + 1);
	shared->frame = shared->node + analysis->processes;
	at = (int64_t *)(shared->node + lists);
	for (i = 0; i < analysis->processes; i++) {
		shared->node[i] = at;
		at += 1 + mt_defs_count(analysis->process[i].defs, MT_DEF_NODE);
		shared->frame[i] = at;
		at += 1 + mt_defs_count(analysis->process[i].defs, MT_DEF_FRAME);
	}
	return shared;
}

int store_share(struct analysis *analysis)
{
	struct sharing sharing = { .analysis = analysis };
	uint32_t i;
	int error = 0;

	if (analysis->processes < 2)
		return 0;
	sharing.shared = make_arrays(analysis);
	if (!sharing.shared)
		return -MT_E_MEMORY;
	for (i = 0; i < analysis->processes && !error; i++)
		error = share_process(&sharing, i);
	tuple_release(&sharing.texts.known);
	tuple_release(&sharing.frame);
	tuple_release(&sharing.node);
	free(sharing.texts.text);
	free(sharing.id);
	analysis->shared = sharing.shared;
	return error;
}

/* ---- ids ---- */

int64_t store_node_id(const struct analysis *analysis, uint32_t process, uint64_t number)
{
	if (!number || !analysis->shared || process >= analysis->processes ||
	    number > mt_defs_count(analysis->process[process].defs, MT_DEF_NODE))
		return row_id(process, number);
	return analysis->shared->node[process][number];
}

int64_t store_frame_id(const struct analysis *analysis, uint32_t process, uint64_t number)
{
	if (!number || !analysis->shared || process >= analysis->processes ||
	    number > mt_defs_count(analysis->process[process].defs, MT_DEF_FRAME))
		return row_id(process, number);
	return analysis->shared->frame[process][number];
}
