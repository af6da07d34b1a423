/* demangle.h - finds the C++ name of a symbol, in bounded time and memory. */
#ifndef MEMANA_DEMANGLE_H
#define MEMANA_DEMANGLE_H

/*
 * Returns the name as a C++ programmer writes it. The caller frees the name. NULL: `symbol` is no C++ symbol, memory ran out, or the name is much too
 * long: a few bytes of substitutions can stand for gigabytes.
 */
char *demangle(const char *symbol);

#endif
