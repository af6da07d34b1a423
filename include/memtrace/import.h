/*
 * import.h - converts a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot, a pickle) into a trace for memana.
 *
 * A snapshot has two parts: a history of events, as long as PyTorch's ring buffer, and the memory at the moment of the dump. The history, undone from
 * its end, gives the memory at its beginning. The trace starts with this memory. The size of a block is the size that the program requested, as in
 * the snapshot. A block lives until its free is completed.
 *
 * A snapshot does not have memory outside of PyTorch's caching allocator: NCCL, other libraries, the context.
 */
#ifndef MEMTRACE_IMPORT_H
#define MEMTRACE_IMPORT_H

#include <stdint.h>
#include "memtrace/fold.h"
#include "memtrace/phase.h"

struct mt_import_summary {
	struct mt_fold_summary trace;
	uint64_t allocations, frees; /* numbers of events of blocks in the snapshot */
	uint64_t alive_before;       /* number of blocks that were alive at the beginning of the history */
	uint64_t unknown;            /* number of entries of unknown kinds; they are left out */
	uint64_t host_bytes;         /* bytes of pinned memory at the dump */
	uint64_t host_segments;      /* number of segments of pinned memory at the dump */
	uint32_t snapshot;           /* enum mt_snapshot, for the trace */
	int damage;             /* 0; or -MT_E_x: the file is damaged, and the part before the damage was imported */
	uint64_t damage_offset; /* offset in the file of the damage, or of the refused code */
};

/*
 * Returns 0; -MT_E_REFUSED (the pickle has code), -MT_E_MAGIC (no pickle), -MT_E_VERSION, -MT_E_CORRUPT (a pickle, but no snapshot), -MT_E_LIMIT; or
 * an error of writing. After an error, `trace_path` does not exist. `summary` has the figures up to the end or the error.
 */
int mt_import_snapshot(const char *snapshot_path, const char *trace_path, const struct mt_rules *rules,
		       struct mt_import_summary *summary);

#endif
