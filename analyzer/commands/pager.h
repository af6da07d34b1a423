/* pager.h - puts a pager between the answer and the terminal, as git does. */
#ifndef MEMANA_PAGER_H
#define MEMANA_PAGER_H

/*
 * Starts a pager for stdout if stdout is a terminal: MEMANA_PAGER, else PAGER, else less. An empty name, "cat", and a program that PATH does not have
 * mean no pager. text_init still treats stdout as a terminal. At its end, and after SIGINT, the program waits for the pager.
 */
void pager_begin(void);

/* Closes stdout and waits for the pager, if one runs. Call this once, after all output. */
void pager_end(void);

#endif
