/* named.h - the traces of a command line, as words of the next command that a report proposes. */
#ifndef MEMANA_NAMED_H
#define MEMANA_NAMED_H

#include <stdint.h>

/*
 * Quoted words for a shell that stand for exactly these names (one at least): a pattern ("run/trace.rank*.zst") where the folder
 * has no other file of the pattern, else all names. "TRACE...": more than 8 KiB of names. Good until the thread's next call.
 */
const char *named_words(char *const *names, uint32_t count);

#endif
