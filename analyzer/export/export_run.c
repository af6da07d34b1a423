/* export_run.c - a pass over the events of a run, for all formats, and its release. */
#include <stdlib.h>
#include <string.h>
#include "export.h"
#include "export_moment.h"
#include "memtrace/error.h"
#include "memtrace/reader.h"

void export_run_release(struct export_run *run)
{
	if (run->db != run->source.db)
		db_close(run->db);
	run->db = NULL;
	run->has_steps = run->has_lives = 0;
	analysis_release(&run->analysis);
	memset(&run->analysis, 0, sizeof(run->analysis));
}

void export_rewind(struct export_run *run)
{
	uint32_t i;

	export_run_release(run);
	for (i = 0; i < run->source.inputs; i++)
		mt_reader_rewind(run->source.input[i].reader);
}

int export_pass(struct export_run *run, const struct analysis_sink *sink)
{
	if (run->source.db)
		return -MT_E_ARGUMENT;
	export_rewind(run);
	return analysis_run(&run->analysis, run->source.input, run->source.inputs, run->source.rules, sink);
}

int export_grow(void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 256;
	void *grown;

	if (count < *room)
		return 0;
	grown = realloc(*(void **)array, wanted * size);
	if (!grown)
		return -MT_E_MEMORY;
	*(void **)array = grown;
	*room = wanted;
	return 0;
}
