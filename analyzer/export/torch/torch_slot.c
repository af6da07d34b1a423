/* torch_slot.c - keeps the devices of the processes, and numbers them for the snapshot. */
#include <stdlib.h>
#include "memtrace/error.h"
#include "torch.h"

#define DEVICES_MAX 64u /* largest number of devices of one process */

static struct torch_slot *add_slot(struct torch *torch, uint32_t process, uint32_t device)
{
	torch_fail(torch, export_grow(&torch->slot, torch->slots, &torch->slot_room, sizeof(*torch->slot)));
	if (torch->error)
		return NULL;
	torch->slot[torch->slots] = (struct torch_slot){ .process = process,
							 .device = device,
							 .run_device = UINT32_MAX };
	return &torch->slot[torch->slots++];
}

static const struct mt_device *device_of(const struct torch *torch, uint32_t process, uint32_t device)
{
	return mt_defs_device(torch->run->analysis.process[process].defs, device);
}

struct torch_slot *torch_slot_of(struct torch *torch, uint32_t process, uint32_t device)
{
	const struct tuple key = { { process, device } };
	uint32_t number = tuple_find(&torch->known, &key);

	if (torch->error || !device_of(torch, process, device))
		return NULL;
	if (number != TUPLE_NONE)
		return &torch->slot[number];
	torch_fail(torch, tuple_add(&torch->known, &key, (uint32_t)torch->slots));
	return torch->error ? NULL : add_slot(torch, process, device);
}

int torch_slot_is_bare(const struct torch *torch, const struct torch_slot *slot)
{
	int is_gpu = device_of(torch, slot->process, slot->device)->kind != MT_DEVICE_CPU;

	return !(torch->driver[slot->process] & 1u << is_gpu);
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

static int is_left_out(const struct torch *torch, const struct torch_slot *slot)
{
	return torch->gpus_only && device_of(torch, slot->process, slot->device)->kind == MT_DEVICE_CPU;
}

/*
 * A device keeps its index of the process if this index is free in the snapshot. Otherwise it gets the next free one.
 */
int torch_number_slots(struct torch *torch, uint32_t *devices)
{
	struct tuple_table taken = { 0 };
	struct tuple key = { 0 };
	const struct mt_device *device;
	uint32_t i, next = 0;
	int error = 0;

	for (i = 0; i < torch->slots && !error; i++) {
		device = device_of(torch, torch->slot[i].process, torch->slot[i].device);
		key.at[0] = device->index;
		torch->slot[i].index = UINT32_MAX;
		if (is_left_out(torch, &torch->slot[i]) || device->index >= DEVICES_MAX ||
		    tuple_find(&taken, &key) != TUPLE_NONE)
			continue;
		torch->slot[i].index = device->index;
		error = tuple_add(&taken, &key, i);
	}
	for (i = 0; i < torch->slots && !error; i++) {
		if (is_left_out(torch, &torch->slot[i]))
			continue;
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
