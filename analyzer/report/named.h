/* named.h - writes the traces of a command line as words of the next command that a report proposes. */
#ifndef MEMANA_NAMED_H
#define MEMANA_NAMED_H

#include <stdint.h>

/*
 * Returns shell words for exactly these names (at least one): a pattern ("run/trace.rank*.zst") if it matches no other file, else all names;
 * "TRACE..." if the names are longer than 8 KiB. Valid until the thread's next call.
 */
const char *named_words(char *const *names, uint32_t count);

#endif
