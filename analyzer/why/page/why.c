#include "why.h"

#include <string.h>
#include "memtrace/error.h"

int why_load(struct why *why, struct db *db, int64_t oom)
{
	char message[512];
	int error;

	memset(why, 0, sizeof(*why));
	error = mt_why_new(&why->data, message, sizeof(message));
	if (!error)
		error = scene_load(&why->scene, db, why->data, oom);
	if (!error)
		error = find_all(&why->find, &why->scene);
	if (error)
		return error;
	measure_all(&why->find);
	rank_all(&why->find);
	return 0;
}

void why_release(struct why *why)
{
	find_release(&why->find);
	scene_release(&why->scene);
	mt_why_free(why->data);
	memset(why, 0, sizeof(*why));
}

/* Whether the cause explains the end of a run in which no request failed. */
static int is_end(const struct candidate *candidate)
{
	return candidate->cause == MT_CAUSE_HOST || candidate->cause == MT_CAUSE_CRASHED;
}

int why_is_ended(const struct why *why)
{
	size_t i = 0;

	while (i < why->find.candidates && !is_end(&why->find.candidate[i]))
		i++;
	return i < why->find.candidates && !why->scene.request.failure;
}

int why_is_told(const struct why *why, const struct candidate *candidate)
{
	return candidate->within == SCENE_NONE && (!why_is_ended(why) || is_end(candidate));
}

size_t why_rows(const struct why *why, const struct candidate *row[WHY_ROWS])
{
	const struct find *find = &why->find;
	const struct candidate *it;
	size_t rows = 0;

	for (it = find->candidate; it < find->candidate + find->candidates && rows < WHY_ROWS; it++)
		if (why_is_told(why, it) && !(rows && it->key[RANK_PLAIN] == RANK_NOISE) &&
		    (it->cause != MT_CAUSE_NO_EVIDENCE || why->scene.request.failure))
			row[rows++] = it;
	return rows;
}
