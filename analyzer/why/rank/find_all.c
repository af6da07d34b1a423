/* Runs the table of detectors. The file is apart from find.c, which the detectors need. */
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "rank.h"
#include "why/detect/detectors.h"

int find_all(struct find *find, const struct scene *scene)
{
	memset(find, 0, sizeof(*find));
	find->scene = scene;
	find->take = calloc(scene->sites + 1, sizeof(*find->take));
	find->expect = calloc(scene->sites + 1, sizeof(*find->expect));
	find->node_sum = calloc(scene->nodes + 1, sizeof(*find->node_sum));
	find->process_sum = calloc(scene->processes + 1, sizeof(*find->process_sum));
	if (!find->take || !find->expect || !find->node_sum || !find->process_sum)
		return -MT_E_MEMORY;
	if (!scene->processes)
		return 0;
#define DETECTOR_RUN(name, function, kind, says) \
	find_begin(find);                        \
	function(find);
	DETECTOR_LIST(DETECTOR_RUN)
#undef DETECTOR_RUN
	return find->failed;
}
