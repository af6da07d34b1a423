/* unfinished.h - a file that is not whole yet: it goes when the program is told to stop (Ctrl-C, kill, hang-up). */
#ifndef MEMANA_UNFINISHED_H
#define MEMANA_UNFINISHED_H

/* One at a time; a path of 4096 bytes or more is not watched. */
void unfinished_begin(const char *path);
void unfinished_end(void); /* it is whole, or was removed */

#endif
