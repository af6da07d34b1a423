/* door.h - what happens when somebody opens a door to the agent: the driver inside cuInit, or NVTX at its first call. */
#ifndef RECORDER_DOOR_H
#define RECORDER_DOOR_H

/*
 * The agent was called because environment variable `variable` names it. If that is all there is, no MEMREC_OPTIONS and
 * no LD_PRELOAD, it goes by its defaults, and hooks into what is loaded. Any number of times.
 */
void door_opened(const char *variable);

/* 1: environment variable `variable` is the path of the file that we were loaded from, by whatever name. */
int door_is_ours(const char *variable);

#endif
