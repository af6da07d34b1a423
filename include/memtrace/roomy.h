/* roomy.h - a stack of known size for a program that was started with little (ulimit -s). */
#ifndef MEMTRACE_ROOMY_H
#define MEMTRACE_ROOMY_H

/*
 * Calls `run` and returns its result. The call has 8 MiB of stack of its own if the limit of the process is less than 1 MiB. Threads that are
 * created later have as much. Limits are not changed: programs that are started have those of the user. Call it once, from main.
 */
int mt_roomy(int (*run)(int argc, char **argv), int argc, char **argv);

#endif
