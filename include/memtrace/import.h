/*
 * import.h - turns a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot, a pickle) into a trace for memana.
 *
 * A snapshot has two parts: a history of events, as far back as PyTorch's ring buffer reaches, and the memory at the
 * moment of the dump. Undoing the history from its end gives the live set of its beginning. The trace begins with this
 * set.
 *
 * The size of a block is the size that the program asked for, as in the snapshot. A block lives until its free is
 * completed. A snapshot lacks memory outside PyTorch's caching allocator: NCCL, other libraries, the context.
 */
#ifndef MEMTRACE_IMPORT_H
#define MEMTRACE_IMPORT_H

#include <stdint.h>
#include "memtrace/fold.h"
#include "memtrace/phase.h"

struct mt_import_summary {
	struct mt_fold_summary trace;
	uint64_t allocations, frees; /* events of blocks in the snapshot */
	uint64_t alive_before;       /* blocks that were alive at the beginning of the history */
	uint64_t unknown;            /* entries of a kind that this program does not know: left out */
	uint64_t host_bytes;         /* bytes of pinned memory at the dump */
	uint64_t host_segments;      /* segments of pinned memory at the dump */
	uint32_t snapshot;           /* enum mt_snapshot, as in the trace */
	int damage;                  /* 0, or -MT_E_x: the file is damaged; the part before the damage was imported */
	uint64_t damage_offset;      /* file offset of the damage or of the refused code */
};

/*
 * Returns 0 or an error: -MT_E_REFUSED (the pickle holds code), -MT_E_MAGIC (no pickle), -MT_E_VERSION, -MT_E_CORRUPT
 * (a pickle that is no snapshot), -MT_E_LIMIT, or an error of writing. After an error there is no file at `trace_path`.
 * `summary` has the figures known so far.
 */
int mt_import_snapshot(const char *snapshot_path, const char *trace_path, const struct mt_rules *rules,
		       struct mt_import_summary *summary);

#endif
