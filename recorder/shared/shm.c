/* shm.c - room in shared memory. */
#include "shm.h"

#include <stdint.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ROOM (1ull << 30)

int shm_has_room(void)
{
	struct statfs fs;

	return !access(SHM_DIR, W_OK | X_OK) && !statfs(SHM_DIR, &fs) &&
	       (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= ROOM;
}
