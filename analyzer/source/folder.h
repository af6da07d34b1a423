/* folder.h - the files of a folder, in an order that does not change: trace.rank2.zst stands before trace.rank10.zst. */
#ifndef MEMANA_FOLDER_H
#define MEMANA_FOLDER_H

#include <stdint.h>

#define FOLDER_FILES_MAX 65536u

struct folder {
	char **path; /* "FOLDER/NAME" */
	uint32_t count;
};

int folder_is(const char *path);

/*
 * Regular files, and links to some, that are not hidden; folders inside are not looked into. 0, -MT_E_SYSTEM,
 * -MT_E_MEMORY, -MT_E_LIMIT (more than FOLDER_FILES_MAX). Release in any case.
 */
int folder_list(struct folder *folder, const char *path);
void folder_release(struct folder *folder);

#endif
