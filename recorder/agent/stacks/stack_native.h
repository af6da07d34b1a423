/* stack_native.h - return addresses of the calling thread, by libunwind's cached backtrace. */
#ifndef RECORDER_STACK_NATIVE_H
#define RECORDER_STACK_NATIVE_H

#include <stdint.h>

#define STACK_NATIVE_MAX 256u /* largest depth */

/*
 * Loads libunwind, out of sight of the program (its exception handling stays with its own library). Call it where
 * the loader may be called: not in a hook. 0; -MT_E_MISSING; -MT_E_VERSION: it could not be
 * kept from opening descriptors, and is not used.
 */
int stack_native_open(void);

/* Other code has come to lie at these addresses than lay there before. Any thread, one at a time. */
void stack_native_replaced(uint64_t start, uint64_t end);

/* At most `depth` return addresses, innermost first, our own frames left out. *cut 1: there were more. */
uint32_t stack_native_walk(uint64_t *address, uint32_t depth, uint16_t *cut);

#endif
