/* load_freed.h - the stacks that freed something: the callsites are looked up of these, too. */
#ifndef MEMANA_LOAD_FREED_H
#define MEMANA_LOAD_FREED_H

#include <stdint.h>
#include "database/db.h"

struct load_freed {
	struct load_freed_process *process;
	uint32_t processes;
};

/* Notes that stack node `node` of `process` freed something. 0 or -MT_E_MEMORY; release in any case. */
int load_freed_add(struct load_freed *freed, uint32_t process, uint32_t node);

/* All of them as the table temp.freed (node). 0 or an error of the database. */
int load_freed_store(const struct load_freed *freed, struct db *db);

void load_freed_release(struct load_freed *freed);

#endif
