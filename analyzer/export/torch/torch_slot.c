/* Devices of processes, and their numbers in the snapshot. */
#include <stdlib.h>
#include "memtrace/error.h"
#include "torch.h"

#define DEVICES_MAX 64u /* most devices of one process */

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
				     .is_bare = !(torch->driver[process] & 1u << (kind != MT_DEVICE_CPU)) };
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
int torch_number_slots(struct torch *torch, uint32_t *devices)
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
