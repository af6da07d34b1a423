/* The largest holders of each category, and the framework's request. All are always candidates. They rank below all candidates of equal size. */
#include "detectors.h"

#define SMALL 100 /* divisor: a request below 1/100 of the device makes no candidate */

void find_largest(struct find *find)
{
	const struct scene_request *request = &find->scene->request;

	find_sites(find, &(struct find_how){ .need = MT_NEEDS, .by_category = 1 }, NULL);
	if (request->failure && request->node != SCENE_NONE && !request->from_driver &&
	    request->requested >= request->total / SMALL)
		find_add_request(find)->known = SCENE_PROBABLE;
}
