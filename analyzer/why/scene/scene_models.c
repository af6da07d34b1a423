/* The package of each site, which stands for its model. Each package is one bit. Packages beyond 64 get no bit. */
#include <string.h>
#include "memtrace/error.h"
#include "scene_impl.h"

#define MODELS 64

struct models {
	struct {
		const char *name;
		size_t size;
	} at[MODELS];
	size_t count;
};

static uint64_t bit_of(struct models *models, const char *name, size_t size)
{
	size_t i;

	for (i = 0; i < models->count; i++)
		if (models->at[i].size == size && !memcmp(models->at[i].name, name, size))
			return (uint64_t)1 << i;
	if (i == MODELS)
		return 0;
	models->at[i].name = name;
	models->at[i].size = size;
	models->count++;
	return (uint64_t)1 << i;
}

/* The first directory below site-packages, or of a relative path. */
static uint64_t package_of(struct models *models, const char *file)
{
	const char *end, *installed = strstr(file, "-packages/");

	if (installed)
		file = installed + strlen("-packages/");
	end = strchr(file, '/');
	return end && end > file ? bit_of(models, file, (size_t)(end - file)) : 0;
}

/* The nearest package among the telling frames, from the node outwards. */
static uint64_t maker_of(const struct scene *scene, const uint64_t *package, uint32_t node)
{
	for (node = scene_telling(scene, node); node != SCENE_NONE; node = scene_telling(scene, node)) {
		if (package[scene->node[node].frame])
			return package[scene->node[node].frame];
		node = scene->node[node].parent;
	}
	return 0;
}

int scene_load_models(struct scene *scene)
{
	struct models models = { .count = 0 };
	uint64_t *package = calloc(scene->frames + 1, sizeof(*package));
	uint64_t *around = calloc(scene->nodes + 1, sizeof(*around));
	struct scene_site *site;
	size_t i;
	int error = package && around ? 0 : -MT_E_MEMORY;

	for (i = 0; !error && i < scene->frames; i++)
		package[i] = package_of(&models, scene->frame[i].frame.file);
	/* One pass is enough: a parent has a lower number than its children. */
	for (i = 0; !error && i < scene->nodes; i++)
		around[i] = package[scene->node[i].frame] |
			    (scene->node[i].parent == SCENE_NONE ? 0 : around[scene->node[i].parent]);
	for (i = 0; !error && i < scene->sites; i++) {
		site = &scene->site[i];
		site->code = site->node == SCENE_NONE ? 0 : around[site->node];
		site->model = maker_of(scene, package, site->node);
	}
	free(package);
	free(around);
	return error;
}
