#include "load_sink.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "store.h"

struct load_freed_process {
	uint8_t *node; /* by number, 1: it did */
	uint32_t room;
};

static int add_process(struct load_freed *freed, uint32_t process)
{
	struct load_freed_process *more = realloc(freed->process, ((size_t)process + 1) * sizeof(*more));

	if (!more)
		return -MT_E_MEMORY;
	memset(more + freed->processes, 0, (process + 1 - freed->processes) * sizeof(*more));
	freed->process = more;
	freed->processes = process + 1;
	return 0;
}

static int add_room(struct load_freed_process *process, uint32_t node)
{
	size_t room = (size_t)node + node / 2 + 64;
	uint8_t *more = room <= UINT32_MAX ? realloc(process->node, room) : NULL;

	if (!more)
		return -MT_E_MEMORY;
	memset(more + process->room, 0, room - process->room);
	process->node = more;
	process->room = (uint32_t)room;
	return 0;
}

int load_freed_add(struct load_freed *freed, uint32_t process, uint32_t node)
{
	if (process >= freed->processes && add_process(freed, process))
		return -MT_E_MEMORY;
	if (node >= freed->process[process].room && add_room(&freed->process[process], node))
		return -MT_E_MEMORY;
	freed->process[process].node[node] = 1;
	return 0;
}

static int store_process_nodes(struct db_stmt *insert, const struct load_freed *freed, uint32_t process)
{
	const struct load_freed_process *nodes = &freed->process[process];
	uint32_t i;
	int error = 0;

	for (i = 1; i < nodes->room && !error; i++) {
		if (!nodes->node[i])
			continue;
		db_bind(insert, 1, store_id(process, i));
		error = db_run(insert);
	}
	return error;
}

int load_freed_store(const struct load_freed *freed, struct db *db)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "CREATE TEMP TABLE freed (node INTEGER PRIMARY KEY)");

	if (!error)
		error = db_run(stmt);
	db_finish(stmt);
	if (error)
		return error;
	error = db_prepare(db, &stmt, "INSERT INTO freed VALUES (?)");
	for (i = 0; i < freed->processes && !error; i++)
		error = store_process_nodes(stmt, freed, i);
	db_finish(stmt);
	return error;
}

void load_freed_release(struct load_freed *freed)
{
	uint32_t i;

	for (i = 0; i < freed->processes; i++)
		free(freed->process[i].node);
	free(freed->process);
	memset(freed, 0, sizeof(*freed));
}
