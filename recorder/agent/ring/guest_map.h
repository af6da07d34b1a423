/*
 * guest_map.h - memory of the recorder in somebody else's process: small beside the program's limits, left out of core dumps,
 * and not kept in memory by the program's mlockall. Signals are held for the moments that must not be left by siglongjmp.
 */
#ifndef RECORDER_GUEST_MAP_H
#define RECORDER_GUEST_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes that one mapping may have: a part of the room that RLIMIT_AS and RLIMIT_DATA leave. UINT64_MAX: there is no limit. */
uint64_t guest_room(void);

/* New zeroed memory (`protection` as for mmap), at most guest_room() bytes. NULL: none. */
void *guest_map(size_t bytes, int protection);

/*
 * Maps a part of a file, shared, to read and write; `flags` are added to MAP_SHARED. `place` is inside a guest_map of the
 * caller's, which the part replaces, or NULL: anywhere, at most guest_room() bytes. NULL: refused.
 */
void *guest_map_file(int fd, uint64_t offset, size_t bytes, void *place, int flags);

/* Zero pages take the place of what is mapped there. Nothing where memory is short. */
void guest_map_blank(void *place, size_t bytes);

/* Holds back all signals of the calling thread, until guest_release_signals with the same *held. */
void guest_hold_signals(uint64_t *held);
void guest_release_signals(const uint64_t *held);

#endif
