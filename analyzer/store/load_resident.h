/*
 * load_resident.h - the table `resident`. Changes are written down as they come, in a temporary table; when every
 * allocation has its row they become stretches. Private to load*.c.
 */
#ifndef MEMANA_LOAD_RESIDENT_H
#define MEMANA_LOAD_RESIDENT_H

#include <stdint.h>
#include "database/db.h"
#include "memtrace/ledger.h"

struct load_resident {
	struct db *db;
	struct db_stmt *change; /* NULL: there was none yet */
};

/* The tensor of the process (id) has `bytes` of its bytes from this event on. 0 or -MT_E_SQL. */
int load_resident_add(struct load_resident *resident, int64_t process, const struct mt_live *tensor, uint64_t bytes,
		      uint64_t seq, int64_t time, uint32_t step);

/* After the last one: fills the table, if `fill`, and lets go what it needed. 0 or -MT_E_SQL. */
int load_resident_finish(struct load_resident *resident, int fill);

#endif
