/*
 * pager.h - a pager between the answer and the terminal, as git has it.
 */
#ifndef MEMANA_PAGER_H
#define MEMANA_PAGER_H

/*
 * Puts a pager behind stdout where stdout is a terminal: MEMANA_PAGER, else PAGER, else less; an empty name or "cat" is none, as is a
 * program that PATH does not have. text_init takes stdout for the terminal then. The program waits for the pager when it ends, also
 * by SIGINT.
 */
void pager_begin(void);

/* Closes stdout and waits for the pager, if there is one. Called once, behind the last word. */
void pager_end(void);

#endif
