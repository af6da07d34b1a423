/*
 * ledger_model.h - what a ledger should say, told a second time in the plainest way: arrays, no sums that are kept,
 * every answer by walking over everything. For streams of at most MODEL_MANY events.
 */
#ifndef LEDGER_MODEL_H
#define LEDGER_MODEL_H

#include <string.h>
#include "memtrace/event.h"

#define MODEL_MANY 400
#define MODEL_UNDO 64 /* as the ledger promises */

struct m_memory {
	int alive, is_vmm, is_named, refs, seen;
	int opened; /* imported by address: how often */
	uint64_t addr, size, handle, tag;
	uint64_t context; /* context that it goes with, 0: none */
	uint32_t device, space;
};

struct m_region {
	int alive, is_map, memory; /* memory -1: unknown handle */
	uint64_t addr, end, handle, tag;
};

struct m_tensor {
	int alive;
	uint64_t addr, end, own, tag;
	uint32_t device;
};

/* The frees that a KEEP can bring back: the newest MODEL_UNDO of them. */
struct m_undo {
	uint64_t key, event, handle;
	int memory, region, gone; /* -1: none */
};

struct model {
	struct m_memory memory[MODEL_MANY];
	struct m_region region[MODEL_MANY];
	struct m_tensor tensor[MODEL_MANY];
	uint64_t share[MODEL_MANY][MODEL_MANY]; /* [tensor][region] */
	struct m_undo undo[4 * MODEL_MANY];
	int memories, regions, tensors, undos;
	uint64_t event;
};

static inline uint64_t m_capacity(const struct m_memory *memory)
{
	return memory->space == MT_SPACE_IMPORTED || memory->space == MT_SPACE_MULTICAST ? 0 : memory->size;
}

static inline int m_is_host(const struct m_memory *memory)
{
	return memory->space == MT_SPACE_PINNED || memory->space == MT_SPACE_HOST;
}

static inline int m_ranged(const struct m_memory *memory)
{
	return memory->size && memory->space != MT_SPACE_ARRAY && !m_is_host(memory);
}

static inline uint64_t m_used(const struct model *m, int memory)
{
	uint64_t used = 0;
	int t, r;

	for (r = 0; r < m->regions; r++)
		for (t = 0; m->region[r].alive && m->region[r].memory == memory && t < m->tensors; t++)
			used += m->share[t][r];
	return used;
}

static inline int m_mappings(const struct model *m, int memory)
{
	int r, n = 0;

	for (r = 0; r < m->regions; r++)
		n += m->region[r].alive && m->region[r].memory == memory;
	return n;
}

static inline uint64_t m_inside(const struct model *m, int tensor)
{
	uint64_t bytes = 0;
	int r;

	for (r = 0; r < m->regions; r++)
		bytes += m->share[tensor][r];
	return bytes;
}

static inline void m_enter(struct model *m, int t, int r)
{
	struct m_tensor *tensor = &m->tensor[t];
	struct m_region *region = &m->region[r];
	struct m_memory *memory = region->memory < 0 ? NULL : &m->memory[region->memory];
	uint64_t low = tensor->addr > region->addr ? tensor->addr : region->addr;
	uint64_t high = tensor->end < region->end ? tensor->end : region->end;
	uint64_t room;

	if (high <= low || !memory || memory->device != tensor->device || m_is_host(memory))
		return;
	room = m_capacity(memory) - m_used(m, region->memory);
	memory->seen = 1;
	m->share[t][r] = high - low < room ? high - low : room;
	tensor->own -= high - low < tensor->own ? high - low : tensor->own;
}

static inline void m_bury(struct model *m, int t)
{
	m->tensor[t].alive = 0;
	memset(m->share[t], 0, sizeof(m->share[t]));
}

static inline void m_check_memory(struct model *m, int i)
{
	if (i >= 0 && !m->memory[i].refs && !m_mappings(m, i))
		m->memory[i].alive = 0;
}

static inline void m_drop_region(struct model *m, int r)
{
	int t;

	m->region[r].alive = 0;
	for (t = 0; t < m->tensors; t++)
		m->share[t][r] = 0;
}

/* Things without a range (end == addr) meet what begins at the same address only. */
static inline int m_meets(const struct m_region *region, uint64_t addr, uint64_t end)
{
	return region->alive && (region->addr == addr || (end > addr && region->addr < end && region->end > addr));
}

static inline void m_drop_older(struct model *m, uint64_t addr, uint64_t end)
{
	int i;

	for (i = 0; i < m->memories; i++)
		if (m->memory[i].alive && !m->memory[i].is_vmm && m->memory[i].refs && m->memory[i].addr == addr)
			m->memory[i].alive = m->memory[i].refs = 0;
	for (i = 0; i < m->regions; i++)
		if (m_meets(&m->region[i], addr, end))
			m_drop_region(m, i);
}

static inline void m_sweep(struct model *m)
{
	int i;

	for (i = 0; i < m->memories; i++)
		if (m->memory[i].alive)
			m_check_memory(m, i);
}

static inline int m_named(const struct model *m, uint64_t handle)
{
	int i;

	for (i = m->memories - 1; i >= 0; i--)
		if (m->memory[i].alive && m->memory[i].is_named && m->memory[i].handle == handle)
			return i;
	return -1;
}

static inline void m_add_region(struct model *m, int memory, uint64_t addr, uint64_t size, int is_map, uint64_t handle,
				uint64_t tag)
{
	int r = m->regions++, t, next;
	uint64_t after = 0;

	m_drop_older(m, addr, addr + size);
	m->region[r] = (struct m_region){ 1, is_map, memory, addr, addr + size, handle, tag };
	m_sweep(m);
	for (;;) { /* lowest first */
		for (next = -1, t = 0; t < m->tensors; t++)
			if (m->tensor[t].alive && m->tensor[t].addr >= after && m->tensor[t].end > m->tensor[t].addr &&
			    m_inside(m, t) < m->tensor[t].end - m->tensor[t].addr && memory >= 0 &&
			    m->tensor[t].device == m->memory[memory].device &&
			    (next < 0 || m->tensor[t].addr < m->tensor[next].addr))
				next = t;
		if (next < 0)
			break;
		m_enter(m, next, r);
		after = m->tensor[next].addr + 1;
	}
}

static inline void m_tensor_alloc(struct model *m, const struct mt_event *e, uint64_t tag)
{
	int t, r, next, me = m->tensors;
	uint64_t after = 0;

	for (t = 0; t < m->tensors; t++)
		if (m->tensor[t].alive && m->tensor[t].addr == e->addr && m->tensor[t].device == e->device)
			m_bury(m, t);
	m->tensor[m->tensors++] = (struct m_tensor){ 1, e->addr, e->addr + e->size, e->size, tag, (uint32_t)e->device };
	for (;; after = m->region[next].addr + 1) {
		for (next = -1, r = 0; r < m->regions; r++)
			if (m->region[r].alive && m->region[r].addr >= after &&
			    (next < 0 || m->region[r].addr < m->region[next].addr))
				next = r;
		if (next < 0)
			break;
		m_enter(m, me, next);
	}
}

/* The memory handed out at this address and alive; -1: nothing. */
static inline int m_allocated(const struct model *m, uint64_t addr)
{
	int i;

	for (i = 0; i < m->memories; i++)
		if (m->memory[i].alive && !m->memory[i].is_vmm && m->memory[i].addr == addr)
			return i;
	return -1;
}

/* An import that is open already is open once more. */
static inline int m_open_again(struct model *m, uint64_t addr, uint64_t size)
{
	int i = m_allocated(m, addr);

	if (i < 0 || m->memory[i].space != MT_SPACE_IMPORTED || m->memory[i].size != size)
		return 0;
	m->memory[i].opened++;
	return 1;
}

static inline void m_driver_alloc(struct model *m, const struct mt_event *e, uint64_t tag)
{
	struct m_memory memory = { .alive = 1,
				   .addr = e->addr,
				   .size = e->size,
				   .tag = tag,
				   .opened = 1,
				   .device = (uint32_t)e->device,
				   .space = (uint32_t)e->flags,
				   .context = e->handle };
	int i;

	if (memory.space == MT_SPACE_IMPORTED && m_open_again(m, e->addr, e->size))
		return;
	i = m->memories++;
	if (!m_ranged(&memory)) {
		m_drop_older(m, e->addr, e->addr);
		m_sweep(m);
		memory.refs = 1;
	}
	m->memory[i] = memory;
	if (m_ranged(&memory))
		m_add_region(m, i, e->addr, e->size, 0, 0, tag);
}

static inline struct m_undo *m_undo(struct model *m, uint64_t key)
{
	struct m_undo *undo = &m->undo[m->undos++];

	*undo = (struct m_undo){ key, m->event, 0, -1, -1, 0 };
	return undo;
}

/* Memory that was handed out at an address goes, with its addresses. */
static inline void m_drop_memory(struct model *m, int memory)
{
	int r;

	m->memory[memory].alive = m->memory[memory].refs = 0;
	for (r = 0; r < m->regions; r++)
		if (m->region[r].alive && m->region[r].memory == memory)
			m_drop_region(m, r);
}

static inline void m_driver_free(struct model *m, uint64_t addr)
{
	int i = m_allocated(m, addr);
	struct m_undo *undo;

	undo = m_undo(m, addr);
	if (i < 0)
		return;
	undo->memory = i;
	undo->gone = m->memory[i].space != MT_SPACE_IMPORTED || m->memory[i].opened == 1;
	if (undo->gone)
		m_drop_memory(m, i);
	else
		m->memory[i].opened--;
}

static inline void m_context_gone(struct model *m, uint64_t context)
{
	int i;

	for (i = 0; context && i < m->memories; i++)
		if (m->memory[i].alive && !m->memory[i].is_vmm && m->memory[i].context == context)
			m_drop_memory(m, i);
}

static inline void m_create(struct model *m, const struct mt_event *e, uint64_t tag)
{
	int older = m_named(m, e->handle);

	if (e->flags == MT_SPACE_IMPORTED && older >= 0 && m->memory[older].refs) {
		m->memory[older].refs++;
		return;
	}
	if (older >= 0) {
		m->memory[older].is_named = m->memory[older].refs = 0;
		m_check_memory(m, older);
	}
	m->memory[m->memories++] = (struct m_memory){ .alive = 1,
						      .is_vmm = 1,
						      .is_named = 1,
						      .refs = 1,
						      .size = e->size,
						      .handle = e->handle,
						      .tag = tag,
						      .device = (uint32_t)e->device,
						      .space = (uint32_t)e->flags };
}

static inline void m_release(struct model *m, uint64_t handle)
{
	int i = m_named(m, handle);
	struct m_undo *undo;

	undo = m_undo(m, handle);
	if (i < 0 || !m->memory[i].refs)
		return;
	undo->memory = i;
	undo->handle = handle;
	m->memory[i].refs--;
	m_check_memory(m, i);
	undo->gone = !m->memory[i].alive;
}

static inline void m_retain(struct model *m, const struct mt_event *e)
{
	int i = -1, r, older;

	for (r = 0; r < m->regions; r++)
		if (m->region[r].alive && m->region[r].is_map && m->region[r].addr <= e->addr &&
		    e->addr < m->region[r].end)
			i = m->region[r].memory;
	if (i < 0)
		i = m_named(m, e->handle);
	if (i < 0)
		return;
	if (!m->memory[i].is_named || (m->memory[i].handle != e->handle && !m->memory[i].refs)) {
		older = m_named(m, e->handle);
		if (older >= 0) {
			m->memory[older].is_named = m->memory[older].refs = 0;
			m_check_memory(m, older);
		}
		m->memory[i].is_named = 1;
		m->memory[i].handle = e->handle;
	}
	m->memory[i].refs++;
}

static inline void m_unmap(struct model *m, const struct mt_event *e)
{
	uint64_t end = e->addr + (e->size ? e->size : 1), after = 0;
	int r, next;
	struct m_undo *undo;

	for (;;) {
		for (next = -1, r = 0; r < m->regions; r++)
			if (m->region[r].alive && m->region[r].is_map && m->region[r].addr >= after &&
			    m->region[r].addr < end && m->region[r].end > e->addr &&
			    (next < 0 || m->region[r].addr < m->region[next].addr))
				next = r;
		if (next < 0)
			break;
		after = m->region[next].end;
		undo = m_undo(m, e->addr);
		undo->region = next;
		undo->memory = m->region[next].memory;
		undo->handle = m->region[next].handle;
		m_drop_region(m, next);
		if (undo->memory >= 0) {
			undo->handle = m->memory[undo->memory].handle;
			m_check_memory(m, undo->memory);
			undo->gone = !m->memory[undo->memory].alive;
		}
	}
}

static inline int m_taken(const struct model *m, uint64_t addr, uint64_t end)
{
	int i;

	for (i = 0; i < m->memories; i++)
		if (m->memory[i].alive && !m->memory[i].is_vmm && m->memory[i].refs && m->memory[i].addr == addr)
			return 1;
	for (i = 0; i < m->regions; i++)
		if (m_meets(&m->region[i], addr, end))
			return 1;
	return 0;
}

static inline void m_keep_map(struct model *m, const struct m_undo *undo)
{
	struct m_memory *memory = undo->memory < 0 ? NULL : &m->memory[undo->memory];
	struct m_region region = m->region[undo->region];
	int holder = m_named(m, undo->handle);
	int there = memory && holder == undo->memory;

	if (m_taken(m, region.addr, region.end) || (!there && holder >= 0) || (!there && !undo->gone && memory))
		return;
	if (!there && undo->gone) {
		memory->alive = memory->is_named = 1;
		memory->refs = 0;
		memory->handle = undo->handle;
	}
	m_add_region(m, undo->memory, region.addr, region.end - region.addr, 1, undo->handle, region.tag);
}

static inline void m_keep_one(struct model *m, const struct m_undo *undo)
{
	struct m_memory *memory = undo->memory < 0 ? NULL : &m->memory[undo->memory];
	int holder = m_named(m, undo->handle);

	if (undo->region >= 0) {
		m_keep_map(m, undo);
	} else if (!memory) {
		return; /* it freed nothing */
	} else if (memory->is_vmm && holder == undo->memory) {
		memory->refs++;
	} else if (memory->is_vmm && undo->gone && holder < 0) {
		memory->alive = memory->is_named = memory->refs = 1;
		memory->handle = undo->handle;
	} else if (!memory->is_vmm && !undo->gone) {
		if (memory->space == MT_SPACE_IMPORTED)
			m_open_again(m, memory->addr, memory->size);
	} else if (!memory->is_vmm && !m_taken(m, memory->addr, memory->addr + (m_ranged(memory) ? memory->size : 0))) {
		struct mt_event e = { .addr = memory->addr,
				      .size = memory->size,
				      .device = memory->device,
				      .flags = memory->space,
				      .handle = memory->context };
		int seen = memory->seen;

		m_driver_alloc(m, &e, memory->tag);
		m->memory[m->memories - 1].seen |= seen;
	}
}

static inline void m_keep(struct model *m, uint64_t key)
{
	int i, first = m->undos > MODEL_UNDO ? m->undos - MODEL_UNDO : 0;
	uint64_t event = 0;

	for (i = first; i < m->undos; i++)
		if (m->undo[i].key == key)
			event = m->undo[i].event;
	for (i = m->undos - 1; event && i >= first; i--) {
		if (m->undo[i].event != event || !m->undo[i].key)
			continue;
		m->undo[i].key = 0;
		m_keep_one(m, &m->undo[i]);
		m->undo[i].event = 0;
	}
}

static inline void m_event(struct model *m, const struct mt_event *e, uint64_t tag)
{
	int t;

	m->event++;
	switch (e->kind) {
	case MT_TENSOR_ALLOC:
		m_tensor_alloc(m, e, tag);
		break;
	case MT_TENSOR_FREE:
		for (t = 0; t < m->tensors; t++)
			if (m->tensor[t].alive && m->tensor[t].addr == e->addr && m->tensor[t].device == e->device)
				m_bury(m, t);
		break;
	case MT_DRIVER_ALLOC:
		m_driver_alloc(m, e, tag);
		break;
	case MT_DRIVER_FREE:
		m_driver_free(m, e->addr);
		break;
	case MT_CONTEXT_GONE:
		m_context_gone(m, e->handle);
		break;
	case MT_DRIVER_KEEP:
		m_keep(m, e->addr);
		break;
	case MT_VMM_CREATE:
		m_create(m, e, tag);
		break;
	case MT_VMM_RELEASE:
		m_release(m, e->handle);
		break;
	case MT_VMM_RETAIN:
		m_retain(m, e);
		break;
	case MT_VMM_MAP:
		if (e->size)
			m_add_region(m, m_named(m, e->handle), e->addr, e->size, 1, e->handle, tag);
		break;
	case MT_VMM_UNMAP:
		m_unmap(m, e);
		break;
	}
}

#endif
