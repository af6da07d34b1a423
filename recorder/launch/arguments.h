/*
 * arguments.h - memrec's command line. Only the launcher has it: the agent reads what comes out of it (options.h).
 */
#ifndef MEMREC_ARGUMENTS_H
#define MEMREC_ARGUMENTS_H

#include <stdio.h>
#include "shared/options.h"

struct arguments {
	struct memrec_options options; /* output: absolute */
	const char *ring_dir;          /* NULL: not given */
	char **operands;               /* what follows the options, NULL at the end; the command, or env's FRAMEWORK */
	int help, version;
};

/* Why a command line was refused, for a message. */
struct arguments_error {
	char what[256]; /* "--depth" */
	char why[256];  /* "must be a number from 0 to 256" */
};

/*
 * argv[0] is skipped. Defaults are those of options.h, then MEMREC_OPTIONS of the environment, then the options given.
 * 0; -MT_E_ARGUMENT with *error filled in; -MT_E_SYSTEM: there is no working folder any more (errno).
 */
int arguments_parse(struct arguments *arguments, int argc, char **argv, struct arguments_error *error);

void arguments_print_help(FILE *file);

#endif
