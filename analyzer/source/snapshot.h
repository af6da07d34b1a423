/*
 * snapshot.h - a PyTorch memory snapshot (a pickle) where a trace is expected: it is made into a trace that nobody else
 * sees and that goes with its reader.
 */
#ifndef MEMANA_SNAPSHOT_H
#define MEMANA_SNAPSHOT_H

#include "memtrace/import.h"
#include "memtrace/reader.h"

/* 1: the file begins like a pickle, whatever its name is. Opens nothing but regular files. */
int snapshot_is_pickle(const char *path);

/*
 * Imports `path` into a temporary file and opens that; the name of the file is gone afterwards. `summary` as that of
 * mt_import_snapshot: with its `damage` the reader has what stood before. Errors as there (*reader is NULL).
 */
int snapshot_open(struct mt_reader **reader, const char *path, const struct mt_rules *rules,
		  struct mt_import_summary *summary);

/* "a pickle, but not a PyTorch memory snapshot": why `path` could not be imported, into `out`, which is returned. */
const char *snapshot_why(char *out, size_t size, int error, const struct mt_import_summary *summary);

#endif
