/* The largest holders, of any category: always candidates, and the last among equals. */
#include "detectors.h"
#include "why/find/find.h"

static int is_any(const struct scene *scene, const struct scene_site *site)
{
	return scene && site;
}

void find_largest(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_LARGEST, .by_category = 1, .need = MT_NEEDS };

	find_sites(find, &how, is_any);
}
