/* package.h - whose code a frame is, by the name of its package: what a user can change, and what he can only take another version of. */
#ifndef MEMANA_PACKAGE_H
#define MEMANA_PACKAGE_H

#include "callstack.h"

#define PACKAGE_MAX 64

/* "transformers" of "transformers/x.py" and of "/usr/lib/python3/site-packages/transformers/x.py"; "": the user's own. `out`. */
const char *package_of(const char *file, char out[PACKAGE_MAX]);

/* 1: the frame is PyTorch's, native, or on every stack, and names no owner. */
int package_is_nobodys(const struct callstack_frame *frame);

#endif
