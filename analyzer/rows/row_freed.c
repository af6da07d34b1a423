/* The stacks of frees, as bits by node. */
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "row_sink.h"

static int add_process(struct row_freed *freed, uint32_t process)
{
	struct row_freed_process *more = realloc(freed->process, ((size_t)process + 1) * sizeof(*more));

	if (!more)
		return -MT_E_MEMORY;
	memset(more + freed->processes, 0, (process + 1 - freed->processes) * sizeof(*more));
	freed->process = more;
	freed->processes = process + 1;
	return 0;
}

static int add_room(struct row_freed_process *process, uint32_t node)
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

int row_freed_add(struct row_freed *freed, uint32_t process, uint32_t node)
{
	if (process >= freed->processes && add_process(freed, process))
		return -MT_E_MEMORY;
	if (node >= freed->process[process].room && add_room(&freed->process[process], node))
		return -MT_E_MEMORY;
	freed->process[process].node[node] = 1;
	return 0;
}

void row_freed_release(struct row_freed *freed)
{
	uint32_t i;

	for (i = 0; i < freed->processes; i++)
		free(freed->process[i].node);
	free(freed->process);
	memset(freed, 0, sizeof(*freed));
}
