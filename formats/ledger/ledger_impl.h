/*
 * ledger_impl.h - the data structures of the ledger; for formats/ledger*.c only.
 *
 *     memory (physical)         region (addresses)        piece                    tensor
 *     cuMemAlloc, cuMemCreate   the allocation itself,    bytes of one region      own: bytes outside every region
 *     size, used, references    or one cuMemMap           that one tensor fills    inside: sum of its pieces
 *     ┌────────┐                ┌────────┐                ┌───────┐                ┌────────┐
 *     │ memory │───regions─────>│ region │───pieces──────>│ piece │<───pieces──────│ tensor │
 *     └────────┘                └────────┘                └───────┘                └────────┘
 *
 * A block of an expandable segment spans many mappings, so a tensor can have many pieces. The first piece is inside
 * struct tensor. Memory holds its size while it has a reference or a mapping. Its residual is size - used: tensors
 * never take more than the size. A tensor that is not wholly inside regions is "loose". A new region takes in loose
 * tensors.
 */
#ifndef FORMATS_LEDGER_IMPL_H
#define FORMATS_LEDGER_IMPL_H

#include "base/addrmap.h"
#include "base/pool.h"
#include "memtrace/ledger.h"
#include "rangemap.h"
#include "rangetree.h"

/* Longest size in bytes. A larger one is damage and is cut, so sums stay far below 2^64. */
#define LEDGER_SIZE_MAX (1ull << 48)

/* 1: no memory is at this address: 0, or the last address, whose end would not fit in 64 bits. */
static inline int ledger_is_nowhere(uint64_t addr)
{
	return !addr || addr == UINT64_MAX;
}

/* The number of frees that a DRIVER_KEEP can still undo. A failed call reports at once, per thread: dozens are
 * plenty. */
#define LEDGER_UNDO 64u

/*
 * A cache of regions. Tensors come and go in the same few segments, and segments of a caching allocator have at least 2
 * MiB. So each 2 MiB of addresses has a place for its newest region.
 */
#define LEDGER_RECENT 64u
#define LEDGER_RECENT_SHIFT 21

struct region;
struct tensor;

struct memory {
	struct mt_live live; /* DRIVER_ALLOC or VMM_CREATE */
	uint64_t used;
	uint64_t references, mappings;
	int named;                                  /* VMM_CREATE: 1: the handle still names this memory */
	struct memory *prev, *next;                 /* in the ledger's list */
	struct memory *context_prev, *context_next; /* DRIVER_ALLOC with a context: chain of this context */
	struct region *regions;
};

struct region {
	uint64_t addr, end;
	struct mt_live live;        /* VMM_MAP; unused when memory is linear */
	struct memory *memory;      /* NULL: mapping of an unknown handle, which holds no bytes */
	struct region *prev, *next; /* in the list of the memory, or in ledger->strays */
	int is_recent;              /* 1: was put into ledger->recent */
	struct piece *pieces;
};

struct piece {
	struct region *region; /* NULL: not in use */
	struct tensor *tensor;
	uint64_t bytes;
	struct piece *region_prev, *region_next;
	struct piece *tensor_prev, *tensor_next;
};

struct tensor {
	struct mt_live live;
	uint64_t own, inside;
	uint64_t told; /* own + inside, as last reported to the watcher */
	struct piece *pieces;
	struct piece first;
	int is_loose;
	struct range loose;
	struct tensor *found; /* next tensor found by the current search */
};

struct ledger_device {
	uint64_t held, tensors, holding, slack; /* holding: own + inside of all tensors */
	uint64_t moved;                         /* sum of all moves; equals held */
	struct addrmap map;                     /* tensors by address */
	struct rangetree loose;                 /* tensors; kept only once `indexed` */
	int indexed;                            /* a region has been seen: loose tensors must be found by address */
	int anchored;                           /* `ahead` is known */
	uint64_t counted;                       /* bytes of tensors that the allocator's total includes */
	uint64_t ahead;                         /* allocator's total minus counted */
};

struct undo {
	uint64_t key;          /* address or handle of the free; 0: empty */
	uint64_t serial;       /* serial of the event; one unmap can fill several entries */
	struct mt_live map;    /* kind 0: the event was no unmap */
	struct mt_live memory; /* kind 0: unknown handle */
	int gone;              /* 1: the memory ended with this free */
};

struct mt_ledger {
	mt_ledger_move *move;
	void *context;
	mt_ledger_reside *reside; /* NULL: no watcher */
	void *watcher;
	struct pool tensor_pool, piece_pool, memory_pool, region_pool;
	struct rangemap regions; /* regions, which never overlap: a new one replaces older ones */
	struct ledger_device device[MT_LEDGER_DEVICES]; /* from here to `undo`: cleared by mt_ledger_clear */
	uint64_t pinned;
	size_t count;
	struct memory *memories;
	struct region *strays;   /* regions without memory */
	struct addrmap contexts; /* the newest memory of each context */
	struct addrmap handles;  /* VMM memory by handle */
	struct addrmap objects;  /* by address alone: pinned and host memory, arrays, and things without a size */
	struct region *recent[LEDGER_RECENT]; /* in `regions`, by 2 MiB of addresses modulo LEDGER_RECENT; or NULL */
	struct mt_live *died;                 /* in the newest event */
	size_t died_count, died_max;
	uint64_t serial;               /* the newest event's, from 1 */
	uint64_t undos;                /* ever */
	struct undo undo[LEDGER_UNDO]; /* newest entries; last and not cleared, because few processes touch them */
};

/* A thing that comes to life, with the caller's tag, phase and step. */
struct birth {
	const struct mt_event *event;
	uint64_t tag;
	uint32_t kind, phase, step;
};

/* ledger.c */
void ledger_fill(struct mt_live *live, const struct birth *birth);
void ledger_move(struct mt_ledger *ledger, uint32_t device, uint64_t tag, int slack, uint64_t bytes);
int ledger_died_grow(struct mt_ledger *ledger, size_t count);

/* Makes room for `count` things that one event ends. 0 or -MT_E_MEMORY. */
static inline int ledger_died_reserve(struct mt_ledger *ledger, size_t count)
{
	return count <= ledger->died_max ? 0 : ledger_died_grow(ledger, count);
}

void ledger_died(struct mt_ledger *ledger, const struct mt_live *live);
uint64_t ledger_end(uint64_t addr, uint64_t size);

/* ledger_tensor.c */
int ledger_tensor_alloc(struct mt_ledger *ledger, const struct birth *birth, uint32_t device, struct mt_live **born);
int ledger_tensor_free(struct mt_ledger *ledger, uint32_t device, uint64_t addr); /* 1: unknown */
void ledger_index_tensors(struct mt_ledger *ledger, uint32_t device);

/*
 * Sorts tensors by address once their device has regions. CPU tensors and runs without driver events are never sorted.
 */
static inline void ledger_index_loose(struct mt_ledger *ledger, uint32_t device)
{
	if (!ledger->device[device].indexed)
		ledger_index_tensors(ledger, device);
}

int ledger_reserve_pieces(struct mt_ledger *ledger, uint32_t device, uint64_t addr, uint64_t end);
void ledger_attract(struct mt_ledger *ledger, struct region *region); /* loose tensors enter a new region */
void ledger_expel(struct mt_ledger *ledger, struct region *region);   /* its tensors stay, without the region */

/* ledger_memory.c */
int ledger_memory_on_device(const struct memory *memory);
uint64_t ledger_memory_capacity(const struct memory *memory); /* bytes that the memory can hold */
int ledger_memory_holds(const struct memory *memory);
int ledger_is_taken(const struct mt_ledger *ledger, const struct mt_live *live); /* 1: known memory has it */
int ledger_driver_alloc(struct mt_ledger *ledger, const struct mt_live *live, struct mt_live **born);
int ledger_open_again(struct mt_ledger *ledger, const struct mt_live *live); /* 1: a further opening */
int ledger_driver_free(struct mt_ledger *ledger, uint64_t addr, int *unknown);
int ledger_context_gone(struct mt_ledger *ledger, uint64_t context);
int ledger_vmm_create(struct mt_ledger *ledger, const struct mt_live *live, struct mt_live **born);
int ledger_vmm_release(struct mt_ledger *ledger, uint64_t handle, int *unknown);
int ledger_vmm_retain(struct mt_ledger *ledger, uint64_t addr, uint64_t handle, int *unknown);
int ledger_vmm_map(struct mt_ledger *ledger, const struct mt_live *live, struct mt_live **born);
int ledger_vmm_unmap(struct mt_ledger *ledger, uint64_t addr, uint64_t size, int *unknown);

/* ledger_undo.c */
struct undo *ledger_undo_slot(struct mt_ledger *ledger, uint64_t key);
int ledger_keep(struct mt_ledger *ledger, uint64_t key, struct mt_live **born, int *unknown);

#endif
