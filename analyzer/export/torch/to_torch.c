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

#define SHOWN_MAX 600000u /* entries of a device that PyTorch's viewer takes */

/* ---- the first pass ---------------------------------------------------------------------------------------------- */

/* Categories of sites, and which memory tensors are cut from. */
static int keep_sites(struct torch *torch)
{
	const struct analysis *analysis = &torch->run->analysis;
	const struct site_key *key;
	uint32_t i;

	torch->sites = analysis->attribution.sites;
	torch->category = calloc((size_t)torch->sites + 1, 1);
	torch->is_cut = calloc((size_t)torch->sites + 1, 1);
	torch->driver = calloc((size_t)analysis->processes + 1, 1);
	if (!torch->category || !torch->is_cut || !torch->driver)
		return -MT_E_MEMORY;
	for (i = 1; i < torch->sites; i++) {
		torch->category[i] = category_of_site(&analysis->categories, &analysis->attribution, i);
		torch->is_cut[i] = analysis->attribution.site[i].tensors_seen != 0;
		key = &analysis->attribution.site[i].key;
		if (key->driver)
			torch->driver[key->process] |= (uint8_t)(1u << (analysis->device[key->device].kind !=
									MT_DEVICE_CPU));
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
	int error = order ? torch_number_slots(torch, &devices) : -MT_E_MEMORY;

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
			error = torch_list_copy(torch, &order[next++]->list);
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
		error = torch_list_copy(torch, &torch->host);
	torch_write_text(root.out, "external_annotations");
	if (!error)
		error = torch_list_copy(torch, &torch->ranges);
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
	free(torch->driver);
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
