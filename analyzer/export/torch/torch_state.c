/*
 * torch_state.c - writes the segments that are alive at the end of the range, and their blocks.
 *
 * Neighbouring mapped pieces of an expandable segment are one segment. A tensor outside of all segments is a segment of
 * its own. Driver memory from which no tensors are cut is one block.
 */
#include <stdlib.h>
#include "torch.h"

#define BLOCK_MIN 512u         /* bytes; sizes of PyTorch's blocks are multiples of it */
#define SMALL_MAX (2ull << 20) /* largest size of a segment for small blocks, bytes */

/* The order of things: regions, then tensors, then pinned memory; each by slot and address. */
static int by_place(const void *a, const void *b)
{
	const struct torch_thing *one = a, *two = b;

	if (one->is_host != two->is_host)
		return one->is_host ? 1 : -1;
	if (one->is_tensor != two->is_tensor)
		return one->is_tensor ? 1 : -1;
	if (one->slot != two->slot)
		return one->slot < two->slot ? -1 : 1;
	return one->addr < two->addr ? -1 : one->addr > two->addr;
}

/* The next part of the file: a segment and the tensors in it. */
struct segment {
	const struct torch_thing *region; /* first region; NULL: a tensor outside of all regions */
	uint64_t start, end;
	uint32_t slot;
	const struct torch_thing *tensor;
	size_t tensors;
	uint64_t allocated, requested; /* bytes of the blocks in use; bytes that were requested for them */
};

struct state {
	struct torch *torch;
	const struct torch_thing *region, *tensor; /* next region and next tensor to write */
	const struct torch_thing *regions_end, *tensors_end;
	uint32_t process; /* process of the running segment */
	uint32_t items;
};

static int is_before(const struct torch_thing *one, const struct torch_thing *two)
{
	return one->slot < two->slot || (one->slot == two->slot && one->addr < two->addr);
}

int torch_is_filled(const struct torch *torch, int is_tensor, uint32_t site)
{
	return !is_tensor && !(site < torch->sites && torch->is_cut[site]);
}

static int is_filled(const struct state *state, const struct torch_thing *thing)
{
	return torch_is_filled(state->torch, thing->is_tensor, thing->site);
}

/* Takes the next region and, if it is mapped, the mapped regions right behind it. */
static void take_regions(struct state *state, struct segment *segment)
{
	const struct torch_thing *first = state->region++;

	segment->region = first;
	segment->slot = first->slot;
	segment->start = first->addr;
	segment->end = first->addr + first->size;
	while (state->region < state->regions_end && first->is_mapped && !is_filled(state, first) &&
	       state->region->is_mapped && !is_filled(state, state->region) && state->region->slot == first->slot &&
	       state->region->addr == segment->end)
		segment->end += state->region++->size;
}

static int next_segment(struct state *state, struct segment *segment)
{
	const struct torch_thing *tensor = state->tensor < state->tensors_end ? state->tensor : NULL;

	*segment = (struct segment){ .tensor = tensor };
	if (state->region < state->regions_end && (!tensor || !is_before(tensor, state->region))) {
		take_regions(state, segment);
		while (state->tensor < state->tensors_end && state->tensor->slot == segment->slot &&
		       state->tensor->addr < segment->end) {
			state->tensor++;
			segment->tensors++;
		}
		return 1;
	}
	if (!tensor)
		return 0;
	segment->slot = tensor->slot;
	segment->start = tensor->addr;
	segment->end = tensor->addr + tensor->size;
	segment->tensors = 1;
	state->tensor++;
	return 1;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void put_block(struct state *state, uint64_t addr, uint64_t size, const struct torch_thing *thing,
		      uint32_t *items)
{
	struct torch *torch = state->torch;

	torch_write_item(torch->out, items);
	torch_write_dict(torch->out);
	torch_key_int(torch, TORCH_ADDRESS, (int64_t)addr);
	torch_key_int(torch, TORCH_SIZE, (int64_t)size);
	torch_key_int(torch, TORCH_REQUESTED_SIZE, thing ? (int64_t)thing->size : 0);
	torch_key_word(torch, TORCH_STATE, thing ? TORCH_ACTIVE_ALLOCATED : TORCH_INACTIVE);
	torch_word(torch, TORCH_FRAMES);
	torch_stack(torch, state->process, thing ? thing->stack : 0);
	torch_write_dict_end(torch->out);
}

/* The end of a tensor's block: at the beginning of the next tensor or before. */
static uint64_t block_end(const struct segment *segment, size_t i)
{
	const struct torch_thing *tensor = &segment->tensor[i];
	uint64_t limit = i + 1 < segment->tensors ? tensor[1].addr : segment->end;
	uint64_t size = tensor->block ? tensor->block : (tensor->size + BLOCK_MIN - 1) / BLOCK_MIN * BLOCK_MIN;

	return limit - tensor->addr < size ? limit : tensor->addr + size;
}

static void put_tensors(struct state *state, struct segment *segment, uint32_t *items)
{
	uint64_t at = segment->start, end;
	size_t i;

	for (i = 0; i < segment->tensors; i++) {
		if (segment->tensor[i].addr > at)
			put_block(state, at, segment->tensor[i].addr - at, NULL, items);
		end = block_end(segment, i);
		at = segment->tensor[i].addr;
		if (end > at)
			put_block(state, at, end - at, &segment->tensor[i], items);
		segment->allocated += end - at;
		segment->requested += segment->tensor[i].size;
		at = end;
	}
	if (at < segment->end)
		put_block(state, at, segment->end - at, NULL, items);
}

static void put_blocks(struct state *state, struct segment *segment)
{
	uint32_t items = 0;

	torch_write_list(state->torch->out);
	if (segment->region && is_filled(state, segment->region) && !segment->tensors) {
		put_block(state, segment->start, segment->end - segment->start, segment->region, &items);
		segment->allocated = segment->requested = segment->end - segment->start;
	} else {
		put_tensors(state, segment, &items);
	}
	torch_write_list_end(state->torch->out);
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

static void put_segment(struct state *state, struct segment *segment)
{
	struct torch *torch = state->torch;
	uint64_t size = segment->end - segment->start;
	const struct torch_thing *owner = segment->region ? segment->region : segment->tensor;

	state->process = torch->slot[segment->slot].process;
	torch_write_item(torch->out, &state->items);
	torch_write_dict(torch->out);
	torch_key_int(torch, TORCH_DEVICE, torch->slot[segment->slot].index);
	torch_key_int(torch, TORCH_ADDRESS, (int64_t)segment->start);
	torch_key_int(torch, TORCH_TOTAL_SIZE, (int64_t)size);
	torch_word(torch, TORCH_BLOCKS);
	put_blocks(state, segment);
	torch_key_int(torch, TORCH_ALLOCATED_SIZE, (int64_t)segment->allocated);
	torch_key_int(torch, TORCH_ACTIVE_SIZE, (int64_t)segment->allocated);
	torch_key_int(torch, TORCH_REQUESTED_SIZE, (int64_t)segment->requested);
	torch_key_int(torch, TORCH_STREAM, 0);
	torch_key_word(torch, TORCH_SEGMENT_TYPE, size <= SMALL_MAX ? TORCH_SMALL : TORCH_LARGE);
	torch_word(torch, TORCH_SEGMENT_POOL_ID);
	torch_write_pair(torch->out, 0, 0);
	torch_word(torch, TORCH_IS_EXPANDABLE);
	torch_write_bool(torch->out, segment->region && segment->region->is_mapped);
	torch_word(torch, TORCH_FRAMES);
	torch_stack(torch, state->process, owner->stack);
	torch_write_dict_end(torch->out);
}

static void drop_left_out(struct torch *torch)
{
	size_t i, kept = 0;

	for (i = 0; i < torch->things; i++)
		if (torch->thing[i].is_host || torch->slot[torch->thing[i].slot].index != UINT32_MAX)
			torch->thing[kept++] = torch->thing[i];
	torch->things = kept;
}

void torch_segments(struct torch *torch)
{
	struct state state = { .torch = torch };
	struct segment segment;
	size_t regions = 0, end;

	drop_left_out(torch);
	end = torch->things;
	if (torch->things)
		qsort(torch->thing, torch->things, sizeof(*torch->thing), by_place);
	while (end && torch->thing[end - 1].is_host)
		end--;
	while (regions < end && !torch->thing[regions].is_tensor)
		regions++;
	state.region = torch->thing;
	state.regions_end = state.tensor = torch->thing + regions;
	state.tensors_end = torch->thing + end;
	torch_write_list(torch->out);
	while (!torch->error && next_segment(&state, &segment))
		put_segment(&state, &segment);
	torch_write_list_end(torch->out);
}

void torch_host_segments(struct torch *torch)
{
	const struct torch_thing *thing;
	uint32_t items = 0;
	size_t i;

	torch_write_list(torch->out);
	for (i = 0; i < torch->things && !torch->error; i++) {
		thing = &torch->thing[i];
		if (!thing->is_host)
			continue;
		torch_write_item(torch->out, &items);
		torch_write_dict(torch->out);
		torch_key_int(torch, TORCH_ADDRESS, (int64_t)thing->addr);
		torch_key_int(torch, TORCH_TOTAL_SIZE, (int64_t)thing->size);
		torch_word(torch, TORCH_FRAMES);
		torch_stack(torch, thing->process, thing->stack);
		torch_write_dict_end(torch->out);
	}
	torch_write_list_end(torch->out);
}
