/* pager.h - a pager between the answer and the terminal, as in git. */
#ifndef MEMANA_PAGER_H
#define MEMANA_PAGER_H

/*
 * Starts a pager for stdout, if stdout is a terminal: MEMANA_PAGER, else PAGER, else less. An empty name, "cat", and a
 * program that PATH does not have mean no pager. text_init still treats stdout as a terminal. At its end, also by
 * SIGINT, the program waits for the pager.
 */
void pager_begin(void);

/* Closes stdout and waits for the pager, if there is one. Call it once, after all output. */
void pager_end(void);

#endif
