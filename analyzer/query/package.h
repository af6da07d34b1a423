/* package.h - the package that owns a frame's code. A user changes the code of a program, and the version of a package. */
#ifndef MEMANA_PACKAGE_H
#define MEMANA_PACKAGE_H

#include "callstack.h"

#define PACKAGE_MAX 64

/*
 * Writes the package of a file: "transformers" for "transformers/x.py" and
 * "/usr/lib/python3/site-packages/transformers/x.py"; "": user code. Returns `out`.
 */
const char *package_of(const char *file, char out[PACKAGE_MAX]);

#endif
