/* spool.h - a trace that comes by standard input. */
#ifndef MEMANA_SPOOL_H
#define MEMANA_SPOOL_H

#define SPOOL_PATH "/dev/stdin"

/*
 * Copies standard input into a file without a name in TMPDIR. The file replaces standard input: SPOOL_PATH is then a
 * regular file. A standard input that is a file stays. Returns 0; -MT_E_ARGUMENT: it is a terminal; or -MT_E_SYSTEM
 * (errno). The file goes with the process.
 */
int spool_standard_input(void);

#endif
