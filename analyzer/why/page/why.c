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
