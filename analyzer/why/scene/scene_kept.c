/* The moment that a pass kept for the scene (rows/kept.h): its reference, and the sums of lives that were over. */
#include <string.h>
#include "memtrace/error.h"
#include "report/answer.h"
#include "rows/kept.h"
#include "scene_impl.h"

struct kept_row {
	struct scene_moments *moments;
	int there, matches;
};

static int take_moment(struct scene *scene, const struct db_stmt *row, void *context)
{
	struct scene_request *request = &scene->request;
	struct kept_row *kept = context;

	kept->there = 1;
	kept->matches = request->device == db_int(row, 0) && request->when.seq == db_int(row, 1) &&
			request->when.process == db_int(row, 5);
	if (db_int(row, 2) == KEPT_NO_BEFORE || scene->peak.is_usual)
		return 0;
	kept->moments->has[SCENE_BEFORE] = 1;
	request->has_before = db_int(row, 2) == KEPT_SAME_PLACE ? SCENE_SAME_PLACE : SCENE_STEP_BEFORE;
	kept->moments->at[SCENE_BEFORE] = (struct alive_moment){ .time = db_int(row, 3),
								 .process = request->when.process,
								 .seq = db_int(row, 4) };
	return 0;
}

int scene_take_kept(struct scene *scene, struct scene_moments *moments)
{
	struct kept_row kept = { .moments = moments };
	int has = 0,
	    error = answer_flag(scene->db, "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'kept_moment'", NULL,
				&has);

	if (!error && has)
		error = scene_each(scene, "SELECT * FROM temp.kept_moment", NULL, 0, take_moment, &kept);
	if (error || !kept.there)
		return error;
	return kept.matches ? 1 : -MT_E_BUSY;
}

static int take_sum(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	uint32_t index = scene_site_of(scene, db_int(row, 0));
	struct scene_site *site;

	if (index == SCENE_NONE)
		return -MT_E_CORRUPT;
	site = &scene->site[index];
	site->in_use = 1;
	site->made += (uint64_t)db_int(row, 1);
	site->freed += (uint64_t)db_int(row, 2);
	site->freed_home += (uint64_t)db_int(row, 3);
	if ((uint64_t)db_int(row, 4) > site->most_before)
		site->most_before = (uint64_t)db_int(row, 4);
	site->at[SCENE_BEFORE] += (uint64_t)db_int(row, 5);
	site->count_at[SCENE_BEFORE] += (uint64_t)db_int(row, 6);
	return 0;
}

int scene_load_kept(struct scene *scene)
{
	return scene_each(
		scene,
		"SELECT site, made, freed, freed_home, largest, before_bytes, before_count "
		"FROM temp.kept_sum JOIN site ON site.id = site WHERE memory = 'tensor' OR NOT site.tensors_inside",
		NULL, 0, take_sum, NULL);
}
