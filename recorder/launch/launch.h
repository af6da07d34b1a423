/*
 * launch.h - run a command with the agent in it, wait for both it and its collectors, say what came of it.
 */
#ifndef MEMREC_LAUNCH_H
#define MEMREC_LAUNCH_H

#include "arguments.h"

/* `program`: argv[0]. Returns memrec's exit status: the command's own, or the code of what kept it from starting. */
int launch_main(const char *program, struct arguments *arguments);

#endif
