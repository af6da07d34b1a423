/*
 * import.h - turns a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot, a pickle) into a trace, so that every
 * question of memana can be asked about it.
 *
 * A snapshot has what happened since its recording began, as far as its ring buffer reaches back, and what was there
 * when it was dumped. Going back from the end finds the live set of its beginning; the trace begins with it.
 *
 * Sizes of blocks are those asked for (that is what a snapshot says), and a block lives until its free is completed.
 * Not in a snapshot: memory that PyTorch's caching allocator does not manage (NCCL, other libraries, the context).
 */
#ifndef MEMTRACE_IMPORT_H
#define MEMTRACE_IMPORT_H

#include <stdint.h>
#include "memtrace/fold.h"
#include "memtrace/phase.h"

struct mt_import_summary {
	struct mt_fold_summary trace;
	uint64_t allocations, frees; /* events of blocks in the snapshot */
	uint64_t alive_before;       /* blocks that were alive when it begins */
	uint64_t unknown;            /* entries of a kind that this program does not know: left out */
	uint64_t host_bytes;         /* bytes of pinned memory when it was dumped, */
	uint64_t host_segments;      /* and its segments */
	uint32_t snapshot;           /* enum mt_snapshot, as in the trace */
	int damage;                  /* 0, or -MT_E_x: the file ends early; what stands before was imported */
	uint64_t damage_offset;      /* bytes from the start of the file; also of code that was refused */
};

/*
 * Errors: -MT_E_REFUSED (the pickle holds code), -MT_E_MAGIC (no pickle), -MT_E_VERSION, -MT_E_CORRUPT (a pickle, but
 * no snapshot), -MT_E_LIMIT, those of writing. Nothing is left at `trace_path` then. `summary` is filled in as far as known.
 */
int mt_import_snapshot(const char *snapshot_path, const char *trace_path, const struct mt_rules *rules,
		       struct mt_import_summary *summary);

#endif
