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
 * stopped). Such files have no lock, here or on another host, and a pid without a process. If the file cannot be made,
 * opening `path` gives the reason.
 */
void partial_file_beside(char *path, size_t size, const char *target);
int partial_file_make(char *path); /* mkstemp and partial_file_begin, with signals blocked in between */
int partial_file_temporary(char *path,
			   size_t size); /* makes a file in TMPDIR: 0 or -MT_E_SYSTEM; remove it, then end */
void partial_file_end(void);             /* the file is complete, or was removed */

#endif
