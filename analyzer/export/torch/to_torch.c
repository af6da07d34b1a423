/* to_torch.c - runs the pass over the traces, keeps facts about sites, and writes the file in its order. */
#include <stdlib.h>
#include "label/category.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "torch.h"

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

/* Keeps the category of each site, and whether tensors are cut from its memory. Call it after the pass. */
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

static int run_pass(struct torch *torch)
{
	struct analysis_sink sink = torch_sink(torch);
	int error = export_pass(torch->run, &sink);

	if (!error)
		error = torch->error;
	if (!error)
		error = keep_sites(torch);
	torch->memo.process = calloc((size_t)torch->run->analysis.processes + 1, sizeof(*torch->memo.process));
	return !error && !torch->memo.process ? -MT_E_MEMORY : error;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static int slot_by_index(const void *a, const void *b)
{
	const struct torch_slot *one = *(struct torch_slot *const *)a, *two = *(struct torch_slot *const *)b;

	return one->index < two->index ? -1 : one->index > two->index;
}

/* Writes a list of entries for each index of a device. An index without a device gets an empty list. */
static int put_traces(struct torch *torch, uint32_t devices)
{
	struct torch_slot **order = calloc(torch->slots + 1, sizeof(*order));
	uint32_t items = 0, i, next = 0;

	if (!order)
		return -MT_E_MEMORY;
	for (i = 0; i < torch->slots; i++)
		order[i] = &torch->slot[i];
	if (torch->slots)
		qsort(order, torch->slots, sizeof(*order), slot_by_index);
	torch_write_list(torch->out);
	for (i = 0; i < devices && !torch->error; i++) {
		torch_write_item(torch->out, &items);
		if (order[next]->index == i) {
			torch_entries(torch, order[next++], i + 1 == devices);
		} else {
			torch_write_list(torch->out);
			torch_write_list_end(torch->out);
		}
	}
	torch_write_list_end(torch->out);
	free(order);
	return torch->error;
}

/* Writes the settings. If entries were left out, the viewer says that older entries are missing. */
static void put_settings(struct torch *torch)
{
	torch_write_dict(torch->out);
	if (torch->run->left_out) {
		torch_write_text(torch->out, "trace_alloc_overflowed");
		torch_write_bool(torch->out, 1);
		torch_write_text(torch->out, "trace_alloc_max_entries");
		torch_write_int(torch->out, TORCH_SHOWN);
	}
	torch_write_dict_end(torch->out);
}

static int put_root(struct torch *torch, uint32_t devices)
{
	int error;

	torch_write_begin(torch->out);
	torch_write_dict(torch->out);
	torch_write_text(torch->out, "device_traces");
	error = put_traces(torch, devices);
	torch_write_text(torch->out, "host_traces");
	torch_entries(torch, NULL, 0);
	torch_write_text(torch->out, "external_annotations");
	torch_range_entries(torch);
	torch_write_text(torch->out, "segments");
	torch_segments(torch);
	torch_write_text(torch->out, "host_segments");
	torch_host_segments(torch);
	torch_write_text(torch->out, "allocator_settings");
	put_settings(torch);
	torch_write_dict_end(torch->out);
	torch_write_end(torch->out);
	return error ? error : torch->error;
}

static void release(struct torch *torch)
{
	size_t i;

	for (i = 0; i < torch->slots; i++)
		torch_log_release(&torch->slot[i].log);
	torch_log_release(&torch->ranges);
	torch_log_release(&torch->host);
	torch_memo_release(torch);
	tuple_release(&torch->known);
	tuple_release(&torch->block);
	free(torch->slot);
	free(torch->open);
	free(torch->thing);
	free(torch->handle);
	free(torch->blocks);
	free(torch->category);
	free(torch->is_cut);
	free(torch->driver);
}

int to_torch(struct export_run *run, struct export_out *out)
{
	struct torch torch = { .run = run, .out = out };
	int error = run->source.db ? -MT_E_MAGIC : export_find_range(run, &torch.range);
	uint32_t devices = 0;

	run->what = "event";
	if (!error)
		error = run_pass(&torch);
	if (!error)
		error = torch_number_slots(&torch, &devices);
	if (!error && !devices && !torch.host.records && !torch.things)
		error = -MT_E_MISSING;
	if (!error)
		error = put_root(&torch, devices);
	if (!error && run->left_out)
		run->hint = "PyTorch's viewer shows 600,000 entries of a device: the newest are in the file. Others: "
			    "--steps, --since, --until; all: --full";
	release(&torch);
	return error;
}
