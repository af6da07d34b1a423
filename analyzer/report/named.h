/* named.h - the traces of a command line, as words of the next command that a report proposes. */
#ifndef MEMANA_NAMED_H
#define MEMANA_NAMED_H

#include <stdint.h>

/*
 * Writes shell words that stand for exactly these names (at least one): a pattern ("run/trace.rank*.zst") if the folder
 * has no other file of the pattern, else all names. "TRACE...": the names exceed 8 KiB. Valid until the thread's next
 * call.
 */
const char *named_words(char *const *names, uint32_t count);

#endif
