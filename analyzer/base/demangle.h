/* demangle.h - the C++ name of a symbol, in bounded time and memory. */
#ifndef MEMANA_DEMANGLE_H
#define MEMANA_DEMANGLE_H

/*
 * The name as a C++ programmer writes it; malloc'd. NULL: `symbol` is no C++ symbol, its name is out of proportion to the
 * symbol (a few bytes of substitutions can stand for gigabytes), or memory is out.
 */
char *demangle(const char *symbol);

#endif
