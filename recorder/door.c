/* door.c - see door.h. */
#include "door.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "agent.h"
#include "late.h"
#include "loaded.h"

/* 1: `path` is the file that we were loaded from, by whatever name. */
static int is_own_path(const char *path)
{
	struct stat theirs, ours;
	char own[PATH_MAX];

	return loaded_own_path(own, sizeof(own)) && !stat(path, &theirs) && !stat(own, &ours) &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

int door_is_ours(const char *variable)
{
	const char *path = getenv(variable);

	return path && is_own_path(path);
}

void door_opened(const char *variable)
{
	if (!agent_options() && !getenv(MEMREC_OPTIONS_VARIABLE) && door_is_ours(variable))
		agent_begin();
	late_start();
}
