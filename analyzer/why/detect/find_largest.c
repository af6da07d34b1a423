/* The largest holders, of any category: always candidates, and the last among equals. */
#include "detectors.h"
#include "why/find/find.h"

void find_largest(struct find *find)
{
	const struct find_how how = { .cause = MT_CAUSE_LARGEST, .by_category = 1, .need = MT_NEEDS };
	const struct scene *scene = find->scene;
	size_t i;

	for (i = 0; i < scene->sites; i++)
		if (find_is_here(scene, &scene->site[i]))
			find->take[i] = scene->site[i].at[SCENE_NOW];
	find_groups(find, &how, NULL);
}
