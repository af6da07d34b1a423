/* The largest holders, of any category, and what a framework requests: always candidates, and the last among equals. */
#include "detectors.h"

#define SMALL 100 /* divisor: the page names the place of a smaller request anyway */

void find_largest(struct find *find)
{
	const struct scene_request *request = &find->scene->request;

	find_sites(find, &(struct find_how){ .need = MT_NEEDS, .by_category = 1 }, NULL);
	if (request->failure && request->node != SCENE_NONE && !request->from_driver &&
	    request->requested >= request->total / SMALL)
		find_add_request(find)->known = SCENE_PROBABLE;
}
