/* folder.h - the files of a folder in a fixed order: trace.rank2.zst comes before trace.rank10.zst. */
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
 * Lists visible regular files, and links to such files. Subfolders are ignored. Returns 0, -MT_E_SYSTEM, -MT_E_MEMORY,
 * or -MT_E_LIMIT (more than FOLDER_FILES_MAX). The caller releases `folder` in any case.
 */
int folder_list(struct folder *folder, const char *path);
void folder_release(struct folder *folder);

/* The order of paths in a listing, as for qsort. */
int folder_order(const char *one, const char *two);

#endif
