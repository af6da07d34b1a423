/*
 * The model of each site, or the model that the site works for. Recorded modules tell it, else the packages on the stack.
 *
 * Each model and each package is one bit. Models and packages beyond 64 get no bit.
 */
#include <string.h>
#include "memtrace/error.h"
#include "scene_impl.h"

#define MODELS 64

struct models {
	struct {
		const char *name; /* package name; NULL: a model */
		size_t size;
		int64_t root; /* outermost submodule of a model; 0: a package */
	} at[MODELS];
	size_t count;
};

static uint64_t bit_of(struct models *models, const char *name, size_t size, int64_t root)
{
	size_t i;

	for (i = 0; i < models->count; i++)
		if (models->at[i].root == root && models->at[i].size == size &&
		    (!size || !memcmp(models->at[i].name, name, size)))
			return (uint64_t)1 << i;
	if (i == MODELS)
		return 0;
	models->at[i].name = name;
	models->at[i].size = size;
	models->at[i].root = root;
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
	return end && end > file ? bit_of(models, file, (size_t)(end - file), 0) : 0;
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

/* One pass is enough: a parent has a lower number than its children. */
static int by_packages(struct scene *scene, struct models *models)
{
	uint64_t *package = calloc(scene->frames + 1, sizeof(*package));
	uint64_t *around = calloc(scene->nodes + 1, sizeof(*around));
	struct scene_site *site;
	size_t i;

	for (i = 0; package && i < scene->frames; i++)
		package[i] = package_of(models, scene->frame[i].frame.file);
	for (i = 0; package && around && i < scene->nodes; i++)
		around[i] = package[scene->node[i].frame] |
			    (scene->node[i].parent == SCENE_NONE ? 0 : around[scene->node[i].parent]);
	for (i = 0; package && around && i < scene->sites; i++) {
		site = &scene->site[i];
		site->code = site->node == SCENE_NONE ? 0 : around[site->node];
		site->model = maker_of(scene, package, site->node);
	}
	i = package && around;
	free(package);
	free(around);
	return i ? 0 : -MT_E_MEMORY;
}

/* Sites that a module's call made, and sites of parameters (last column 0). */
static const char modules_sql[] =
	"WITH RECURSIVE root(id, top) AS (SELECT id, id FROM submodule WHERE parent IS NULL UNION ALL "
	"SELECT submodule.id, top FROM submodule JOIN root ON submodule.parent = root.id) "
	"SELECT site, top, 0 FROM site_module JOIN root ON root.id = submodule UNION ALL "
	"SELECT DISTINCT site, top, 1 FROM allocation_raw JOIN allocation_module AS its ON its.process = allocation_raw.process "
	"AND its.alloc_seq = allocation_raw.alloc_seq JOIN root ON root.id = submodule";

static int by_modules(struct scene *scene, struct models *models)
{
	struct db_stmt *row = NULL;
	int error = db_prepare(scene->db, &row, modules_sql), more = 0;
	uint64_t bit;
	uint32_t i;

	while (!error && (more = db_step(row)) > 0) {
		i = scene_site_of(scene, db_int(row, 0));
		bit = i == SCENE_NONE ? 0 : bit_of(models, NULL, 0, db_int(row, 1));
		if (bit && db_int(row, 2))
			scene->site[i].model = bit;
		else if (bit)
			scene->site[i].code |= bit;
	}
	db_finish(row);
	return error ? error : more;
}

int scene_load_models(struct scene *scene)
{
	struct models models = { .count = 0 };
	int error = by_packages(scene, &models);

	return error ? error : by_modules(scene, &models);
}
