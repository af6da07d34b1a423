/*
 * guest_map.h - memory of the recorder inside the recorded process. It is small beside the program's limits, is left
 * out of core dumps, and the program's mlockall does not keep it in memory. Signals are held during steps that
 * siglongjmp must not leave.
 */
#ifndef RECORDER_GUEST_MAP_H
#define RECORDER_GUEST_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Most bytes of one mapping: a part of the room below RLIMIT_AS and RLIMIT_DATA. UINT64_MAX: no limit. */
uint64_t guest_room(void);

/* Maps zeroed memory (`protection` as for mmap), at most guest_room() bytes. NULL: failed. */
void *guest_map(size_t bytes, int protection);

/*
 * Maps a part of a file, shared, to read and write; `flags` are added to MAP_SHARED. `place`: inside of a guest_map of
 * the caller, which the part replaces. NULL: any place, at most guest_room() bytes. Returns NULL after an error.
 */
void *guest_map_file(int fd, uint64_t offset, size_t bytes, void *place, int flags);

/* Replaces the mapping at `place` by zero pages. Out of memory: does nothing. */
void guest_map_blank(void *place, size_t bytes);

/* Holds back all signals of the calling thread, until guest_release_signals with the same *held. */
void guest_hold_signals(uint64_t *held);
void guest_release_signals(const uint64_t *held);

#endif
