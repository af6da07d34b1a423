/* fold_impl.h - what fold_recover.c shares with fold.c. */
#ifndef FORMATS_FOLD_IMPL_H
#define FORMATS_FOLD_IMPL_H

#include "memtrace/fold.h"

/* mt_fold_open; `shared` 0: nothing is written to the ring file. */
int mt_fold_open_ring(struct mt_fold **fold, const char *ring_path, const struct mt_rules *rules,
		      const struct mt_fold_options *options, int shared);

#endif
