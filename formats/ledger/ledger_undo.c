#include "ledger_impl.h"

#include "memtrace/error.h"

/* Returns an empty entry for the newest free of driver memory. The entry replaces the oldest one. */
struct undo *ledger_undo_slot(struct mt_ledger *ledger, uint64_t key)
{
	struct undo *undo = &ledger->undo[ledger->undos++ % LEDGER_UNDO];

	/* The kinds alone are cleared: a thing without a kind is empty, and each free of driver memory comes here. */
	undo->key = key;
	undo->serial = ledger->serial;
	undo->map.kind = undo->memory.kind = 0;
	undo->memory.handle = undo->memory.seq = 0;
	undo->gone = 0;
	return undo;
}

/* Number of entries in use. */
static uint32_t filled(const struct mt_ledger *ledger)
{
	return ledger->undos < LEDGER_UNDO ? (uint32_t)ledger->undos : LEDGER_UNDO;
}

/* Serial of the newest event that freed `key`; 0: no longer known. */
static uint64_t newest(const struct mt_ledger *ledger, uint64_t key)
{
	uint64_t serial = 0;
	uint32_t i;

	for (i = 0; key && i < filled(ledger); i++)
		if (ledger->undo[i].key == key && ledger->undo[i].serial > serial)
			serial = ledger->undo[i].serial;
	return serial;
}

static struct memory *same_memory(const struct mt_ledger *ledger, const struct mt_live *live)
{
	struct memory *memory = addrmap_find(&ledger->handles, live->handle);

	return memory && memory->live.seq == live->seq ? memory : NULL;
}

/* Undoes the release of a handle: makes the memory again, or adds one reference to it. */
static int keep_reference(struct mt_ledger *ledger, const struct undo *undo, struct mt_live **born, int *unknown)
{
	struct mt_live live = undo->memory;
	int is_there = same_memory(ledger, &live) != NULL;

	if (is_there)
		return ledger_vmm_retain(ledger, 0, live.handle, unknown);
	*unknown = !undo->gone || addrmap_find(&ledger->handles, live.handle);
	live.offset = 1;
	return *unknown ? 0 : ledger_vmm_create(ledger, &live, born);
}

/* Undoes an unmap. Memory that ended with its last mapping is made again; it had no reference. */
static int keep_mapping(struct mt_ledger *ledger, const struct undo *undo, struct mt_live **born, int *unknown)
{
	int is_there = same_memory(ledger, &undo->memory) != NULL;
	int is_free = !addrmap_find(&ledger->handles, undo->map.handle);
	struct mt_live *map = NULL;
	int error = 0;

	*unknown = ledger_is_taken(ledger, &undo->map) ||
		   (!is_there && (!is_free || (undo->memory.kind && !undo->gone)));
	if (*unknown)
		return 0;
	if (!is_there && undo->gone)
		error = ledger_vmm_create(ledger, &undo->memory, born);
	if (!error)
		error = ledger_vmm_map(ledger, &undo->map, &map);
	if (!*born)
		*born = map;
	return error;
}

/* Undoes one entry. If newer memory is in its place, the free did happen, whatever its result says. */
static int keep(struct mt_ledger *ledger, const struct undo *undo, struct mt_live **born, int *unknown)
{
	if (undo->map.kind)
		return keep_mapping(ledger, undo, born, unknown);
	*unknown = !undo->memory.kind;
	if (*unknown) /* the freed memory was unknown */
		return 0;
	if (undo->memory.kind == MT_VMM_CREATE)
		return keep_reference(ledger, undo, born, unknown);
	*unknown = undo->gone ? ledger_is_taken(ledger, &undo->memory) : !ledger_open_again(ledger, &undo->memory);
	return *unknown || !undo->gone ? 0 : ledger_driver_alloc(ledger, &undo->memory, born);
}

/* Undoes the newest free of `key`, last entry first, so memory comes back before its other mappings. */
int ledger_keep(struct mt_ledger *ledger, uint64_t key, struct mt_live **born, int *unknown)
{
	uint64_t serial = newest(ledger, key);
	struct undo *undo;
	uint32_t i;
	int error = 0;

	*unknown = !serial;
	for (i = 1; serial && !error && i <= filled(ledger); i++) {
		undo = &ledger->undo[(ledger->undos - i) % LEDGER_UNDO];
		if (undo->serial != serial)
			continue;
		error = keep(ledger, undo, born, unknown);
		if (!error)
			*undo = (struct undo){ 0 };
	}
	return error;
}
