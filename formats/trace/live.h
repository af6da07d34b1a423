/* live.h - checkpoints: the live set of a ledger as LIVE events (trace-v1.md, "CHECKPOINT"). */
#ifndef FORMATS_LIVE_H
#define FORMATS_LIVE_H

#include "base/buffer.h"
#include "memtrace/ledger.h"
#include "memtrace/reader.h"

/*
 * Makes the payload of a checkpoint chunk. Seq, time and live bytes of *info are the caller's and go into the SUMMARY;
 * events and phases are filled in. 0, -MT_E_MEMORY, -MT_E_LIMIT: the set does not fit into one chunk.
 */
int mt_live_encode(const struct mt_ledger *ledger, struct mt_chunk_info *info, struct mt_buffer *payload);

#endif
