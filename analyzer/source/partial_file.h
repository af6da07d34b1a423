/*
 * partial_file.h - an incomplete file. A signal that stops the program (Ctrl-C, kill, hang-up) removes the file.
 * Meanwhile a limit on the size of files (ulimit -f) makes a write fail, as a full disk does.
 */
#ifndef MEMANA_PARTIAL_FILE_H
#define MEMANA_PARTIAL_FILE_H

#include <stddef.h>

/* Watches one file at a time. A path of 4096 bytes or more is not watched. */
void partial_file_begin(const char *path);

/*
 * Watches the file that will become `target`: "TARGET.new-PID", written into `path`. The file is empty, and locked
 * while it is incomplete. First removes files that ended processes left beside `target` (killed, or the machine
 * stopped). Such files have no lock, here or on another host, and a pid without a process. Returns 0, or
 * -MT_E_SYSTEM (errno): the file cannot be made.
 */
int partial_file_beside(char *path, size_t size, const char *target);

/* The folder for temporary files: TMPDIR; without it the first of /tmp, /var/tmp and /dev/shm that can be written to. */
const char *partial_file_folder(void);

/* Makes a file in that folder. Returns 0 or -MT_E_SYSTEM (errno); remove it, then end. */
int partial_file_temporary(char *path, size_t size);

/* Makes a file without a name there, or in one of these three. Returns its descriptor, which the caller closes; -1 (errno). */
int partial_file_nameless(void);

void partial_file_end(void); /* the file is complete, or was removed */

#endif
