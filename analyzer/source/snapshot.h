/*
 * snapshot.h - reads a PyTorch memory snapshot (a pickle) as a trace: imports the snapshot into a hidden temporary
 * trace. The trace goes with its reader.
 */
#ifndef MEMANA_SNAPSHOT_H
#define MEMANA_SNAPSHOT_H

#include "memtrace/import.h"
#include "memtrace/reader.h"

/* 1: the file begins like a pickle, whatever its name is. Opens nothing but regular files. */
int snapshot_is_pickle(const char *path);

/*
 * Imports `path` into a temporary file and opens it. The file has no name afterwards. `summary` is as in
 * mt_import_snapshot: after `damage` the reader has the part before it. Returns the errors of mt_import_snapshot, with
 * *reader NULL.
 */
int snapshot_open(struct mt_reader **reader, const char *path, const struct mt_rules *rules,
		  struct mt_import_summary *summary);

/* Writes why `path` could not be imported: "a pickle, but not a PyTorch memory snapshot". Returns `out`. */
const char *snapshot_why(char *out, size_t size, int error, const struct mt_import_summary *summary);

#endif
