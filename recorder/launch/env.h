/*
 * env.h - `memrec env [FRAMEWORK]`: what to set where a launcher, not memrec, starts the processes.
 */
#ifndef MEMREC_ENV_H
#define MEMREC_ENV_H

#include "arguments.h"

/*
 * operands[0] is the framework, NULL: the general text and the list. `given`: the options as typed, up to operands, for
 * texts that have memrec in them. Prints to stdout; returns the exit status.
 */
int env_main(const struct arguments *arguments, char **given);

#endif
