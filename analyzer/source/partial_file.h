/*
 * partial_file.h - a file that is not whole yet: it goes when the program is told to stop (Ctrl-C, kill, hang-up). A limit
 * on the size of files (ulimit -f) is an error of a write meanwhile, like a full disk.
 */
#ifndef MEMANA_PARTIAL_FILE_H
#define MEMANA_PARTIAL_FILE_H

#include <stddef.h>

/* One at a time; a path of 4096 bytes or more is not watched. */
void partial_file_begin(const char *path);

/*
 * Begins with the file that is to become `target`, "TARGET.new-PID", into `path`; it is empty, and locked as long as
 * it is not whole. Files left beside `target` by processes that are no more (killed, or the machine stopped) are
 * removed first. Such files have no lock, here or on another host, and a pid that is nobody's. If the file cannot be
 * made, opening `path` says why.
 */
void partial_file_beside(char *path, size_t size, const char *target);
int partial_file_make(char *path); /* mkstemp, and begin with what it made of `path` before a signal can come between */
int partial_file_temporary(char *path,
			   size_t size); /* a new, empty one in TMPDIR: 0 or -MT_E_SYSTEM; remove it, then end */
void partial_file_end(void);             /* it is whole, or was removed */

#endif
