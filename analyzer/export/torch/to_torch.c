/* Two passes over the traces: what bytes are, then the entries; and the order of the file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "label/category.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "torch.h"

#define DEVICES_MAX 64u   /* most devices of one process */
#define SHOWN_MAX 600000u /* entries of a device that PyTorch's viewer takes */

void torch_fail(struct torch *torch, int error)
{
	if (error && !torch->error)
		torch->error = error;
}

int torch_grow(void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 256;
	void *grown;

	if (count < *room)
		return 0;
	grown = realloc(*(void **)array, wanted * size);
	if (!grown)
		return -MT_E_MEMORY;
	*(void **)array = grown;
	*room = wanted;
	return 0;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

int torch_list_open(struct torch_list *list)
{
	list->file = export_temporary();
	list->out = list->file < 0 ? NULL : export_out_new(list->file);
	if (!list->out)
		return list->file < 0 ? -MT_E_SYSTEM : -MT_E_MEMORY;
	torch_write_list(list->out);
	return 0;
}

void torch_list_release(struct torch_list *list)
{
	if (list->out)
		export_out_close(list->out);
	if (list->file > 0)
		close(list->file);
	export_names_release(&list->texts);
	free(list->text);
	free(list->stack);
	free(list->frame);
	*list = (struct torch_list){ 0 };
}

/* The whole list into the output. */
static int list_copy(struct torch *torch, struct torch_list *list)
{
	int error;

	torch_write_list_end(list->out);
	error = export_out_close(list->out);
	list->out = NULL;
	return error ? error : export_copy(torch->out, list->file);
}

static const char *const words[] = {
#define TORCH_WORD_TEXT(name, word) word,
	TORCH_WORD_LIST(TORCH_WORD_TEXT)
#undef TORCH_WORD_TEXT
};

void torch_word(struct torch_list *list, enum torch_word word)
{
	if (list->word[word]) {
		torch_write_get(list->out, list->word[word] - 1);
		return;
	}
	torch_write_text(list->out, words[word]);
	torch_write_put(list->out, list->next_number);
	list->word[word] = ++list->next_number;
}

static int text_room(struct torch_list *list)
{
	uint32_t room = list->text_room ? 2 * list->text_room : 256;
	uint32_t *grown;

	if (list->texts.count < list->text_room)
		return 0;
	grown = realloc(list->text, room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	list->text = grown;
	list->text_room = room;
	return 0;
}

void torch_text(struct torch *torch, struct torch_list *list, const char *text)
{
	uint32_t number = 0;
	int is_new = 0, error = text_room(list);

	if (!error)
		error = export_names_add(&list->texts, text, strlen(text), &number, &is_new);
	torch_fail(torch, error);
	if (error)
		return;
	if (!is_new) {
		torch_write_get(list->out, list->text[number]);
		return;
	}
	torch_write_text(list->out, text);
	torch_write_put(list->out, list->next_number);
	list->text[number] = list->next_number++;
}

void torch_key_word(struct torch_list *list, enum torch_word key, enum torch_word value)
{
	torch_word(list, key);
	torch_word(list, value);
}

void torch_key_int(struct torch_list *list, enum torch_word key, int64_t value)
{
	torch_word(list, key);
	torch_write_int(list->out, value);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

/* 1: the process has driver memory on a device of this kind; then its tensors lie in that. */
static int has_driver(const struct torch *torch, uint32_t process, uint32_t kind)
{
	const struct analysis *analysis = &torch->run->analysis;
	const struct site_key *key;
	uint32_t i;

	for (i = 1; i < analysis->attribution.sites; i++) {
		key = &analysis->attribution.site[i].key;
		if (key->process == process && key->driver && analysis->device[key->device].kind == kind)
			return 1;
	}
	return 0;
}

static struct torch_slot *add_slot(struct torch *torch, uint32_t process, uint32_t device, uint32_t kind)
{
	struct torch_slot *slot;

	torch_fail(torch, torch_grow(&torch->slot, torch->slots, &torch->slot_room, sizeof(*torch->slot)));
	if (torch->error)
		return NULL;
	slot = &torch->slot[torch->slots];
	*slot = (struct torch_slot){ .process = process,
				     .device = device,
				     .run_device = UINT32_MAX,
				     .is_bare = !has_driver(torch, process, kind) };
	torch->slots++;
	torch_fail(torch, torch_list_open(&slot->list));
	return torch->error ? NULL : slot;
}

struct torch_slot *torch_slot_of(struct torch *torch, uint32_t process, uint32_t device)
{
	const struct tuple key = { { process, device } };
	const struct mt_device *kind = mt_defs_device(torch->run->analysis.process[process].defs, device);
	uint32_t number = tuple_find(&torch->known, &key);

	if (torch->error || !kind || (torch->gpus_only && kind->kind == MT_DEVICE_CPU))
		return NULL;
	if (number != TUPLE_NONE)
		return &torch->slot[number];
	torch_fail(torch, tuple_add(&torch->known, &key, (uint32_t)torch->slots));
	return torch->error ? NULL : add_slot(torch, process, device, kind->kind);
}

struct torch_slot *torch_slot_run(struct torch *torch, uint32_t process, uint32_t device)
{
	uint32_t i;

	for (i = 0; i < torch->slots; i++)
		if (torch->slot[i].process == process && torch->slot[i].run_device == device)
			return &torch->slot[i];
	return NULL;
}

struct torch_slot *torch_slot_any(struct torch *torch, uint32_t process)
{
	uint32_t i;

	for (i = 0; i < torch->slots; i++)
		if (torch->slot[i].process == process)
			return &torch->slot[i];
	return NULL;
}

/* Numbers of devices in the snapshot: those of the process where they are free, else the next ones. */
static int number_slots(struct torch *torch, uint32_t *devices)
{
	struct tuple_table taken = { 0 };
	struct tuple key = { 0 };
	const struct mt_device *device;
	uint32_t i, next = 0;
	int error = 0;

	for (i = 0; i < torch->slots && !error; i++) {
		device = mt_defs_device(torch->run->analysis.process[torch->slot[i].process].defs,
					torch->slot[i].device);
		key.at[0] = device->index;
		if (device->index >= DEVICES_MAX || tuple_find(&taken, &key) != TUPLE_NONE) {
			torch->slot[i].index = UINT32_MAX;
			continue;
		}
		torch->slot[i].index = device->index;
		error = tuple_add(&taken, &key, i);
	}
	for (i = 0; i < torch->slots && !error; i++) {
		if (torch->slot[i].index == UINT32_MAX) {
			for (key.at[0] = next; tuple_find(&taken, &key) != TUPLE_NONE; key.at[0] = ++next)
				;
			torch->slot[i].index = next;
			error = tuple_add(&taken, &key, i);
		}
		*devices = torch->slot[i].index >= *devices ? torch->slot[i].index + 1 : *devices;
	}
	tuple_release(&taken);
	return error;
}

/* ---- the first pass ---------------------------------------------------------------------------------------------- */

/* Categories of sites, and which memory tensors are cut from. */
static int keep_sites(struct torch *torch)
{
	const struct analysis *analysis = &torch->run->analysis;
	uint32_t i;

	torch->sites = analysis->attribution.sites;
	torch->category = calloc((size_t)torch->sites + 1, 1);
	torch->is_cut = calloc((size_t)torch->sites + 1, 1);
	if (!torch->category || !torch->is_cut)
		return -MT_E_MEMORY;
	for (i = 1; i < torch->sites; i++) {
		torch->category[i] = category_of_site(&analysis->categories, &analysis->attribution, i);
		torch->is_cut[i] = analysis->attribution.site[i].tensors_seen != 0;
	}
	for (i = 0; i < analysis->devices; i++)
		torch->gpus_only |= analysis->device[i].used && analysis->device[i].kind != MT_DEVICE_CPU;
	for (i = 0; i < analysis->ooms; i++)
		torch->has_tensor_ooms |= analysis->oom[i].kind == MT_TENSOR_OOM;
	return 0;
}

static int run_passes(struct torch *torch)
{
	struct export_run *run = torch->run;
	struct analysis_sink sink = torch_sink(torch);
	uint32_t i;
	int error = export_pass(run, NULL);

	if (!error)
		error = keep_sites(torch);
	if (!error)
		error = torch_list_open(&torch->ranges);
	if (!error)
		error = torch_list_open(&torch->host);
	for (i = 0; i < run->source.inputs; i++)
		mt_reader_rewind(run->source.input[i].reader);
	if (!error)
		error = analysis_run(&torch->second, run->source.input, run->source.inputs, run->source.rules, &sink);
	return error ? error : torch->error;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static int slot_by_index(const void *a, const void *b)
{
	const struct torch_slot *one = *(struct torch_slot *const *)a, *two = *(struct torch_slot *const *)b;

	return one->index < two->index ? -1 : one->index > two->index;
}

/* A list of entries for each device, an empty one for those between. */
static int put_traces(struct torch *torch, const struct torch_list *root)
{
	struct torch_slot **order = calloc(torch->slots + 1, sizeof(*order));
	uint32_t devices = 0, items = 0, i, next = 0;
	int error = order ? number_slots(torch, &devices) : -MT_E_MEMORY;

	for (i = 0; i < torch->slots && !error; i++)
		order[i] = &torch->slot[i];
	if (!error && torch->slots)
		qsort(order, torch->slots, sizeof(*order), slot_by_index);
	torch_write_list(root->out);
	for (i = 0; i < devices && !error; i++) {
		torch_write_item(root->out, &items);
		if (next < torch->slots && order[next]->index == i) {
			if (!next)
				torch_slot_end(torch, order[next]);
			error = list_copy(torch, &order[next++]->list);
		} else {
			torch_write_list(root->out);
			torch_write_list_end(root->out);
		}
	}
	torch_write_list_end(root->out);
	free(order);
	return error;
}

static int put_root(struct torch *torch)
{
	struct torch_list root = { .out = torch->out };
	int error;

	torch_write_begin(root.out);
	torch_write_dict(root.out);
	torch_write_text(root.out, "device_traces");
	error = put_traces(torch, &root);
	torch_write_text(root.out, "host_traces");
	if (!error)
		error = list_copy(torch, &torch->host);
	torch_write_text(root.out, "external_annotations");
	if (!error)
		error = list_copy(torch, &torch->ranges);
	torch_write_text(root.out, "segments");
	if (!error)
		torch_segments(torch, &root);
	torch_write_text(root.out, "host_segments");
	if (!error)
		torch_host_segments(torch, &root);
	torch_write_text(root.out, "allocator_settings");
	torch_write_dict(root.out);
	torch_write_dict_end(root.out);
	torch_write_dict_end(root.out);
	torch_write_end(root.out);
	root.out = NULL;
	torch_list_release(&root);
	return error ? error : torch->error;
}

static void release(struct torch *torch)
{
	size_t i;

	for (i = 0; i < torch->slots; i++)
		torch_list_release(&torch->slot[i].list);
	torch_list_release(&torch->ranges);
	torch_list_release(&torch->host);
	analysis_release(&torch->second);
	tuple_release(&torch->known);
	tuple_release(&torch->block);
	free(torch->slot);
	free(torch->open);
	free(torch->thing);
	free(torch->handle);
	free(torch->block_bytes);
	free(torch->category);
	free(torch->is_cut);
}

int to_torch(struct export_run *run, struct export_out *out)
{
	struct torch torch = { .run = run, .out = out };
	int error = run->source.db ? -MT_E_MAGIC : export_find_range(run, &torch.range);

	run->what = "event";
	if (!error)
		error = run_passes(&torch);
	if (!error && !torch.slots && !torch.host.items && !torch.things)
		error = -MT_E_MISSING;
	if (!error)
		error = put_root(&torch);
	if (!error && run->written > SHOWN_MAX)
		run->hint =
			"PyTorch's viewer shows 600,000 entries of a device: export less (--steps, --since, --until)";
	release(&torch);
	return error;
}
