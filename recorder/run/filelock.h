/*
 * filelock.h - files that belong to whoever holds their flock: rings and traces.
 */
#ifndef MEMREC_FILELOCK_H
#define MEMREC_FILELOCK_H

/*
 * Opens (read and write, close-on-exec, no symbolic link; `flags` are added to that) and locks: a descriptor;
 * -MT_E_BUSY: somebody has it; -MT_E_SYSTEM (errno; ENOENT also when the file lost its name meanwhile).
 */
int filelock_open(const char *path, int flags);

#endif
