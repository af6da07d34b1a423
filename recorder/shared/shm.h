/*
 * shm.h - may rings lie in shared memory? Asked by the launcher, and by the agent where there is none.
 */
#ifndef MEMREC_SHM_H
#define MEMREC_SHM_H

#define SHM_DIR "/dev/shm"

/*
 * 1 when SHM_DIR can be written to and has much room. Others live there too, NCCL and the workers of data loaders among
 * them, and the 64 MiB that a container gets by default are theirs: rings must never be what fills them.
 */
int shm_has_room(void);

#endif
