/*
 * hooks.h - the functions of other libraries that we stand in for: as tables for injection.c, where the loader has not
 * seen to it, and those of NVTX.
 */
#ifndef RECORDER_HOOKS_H
#define RECORDER_HOOKS_H

#include <stddef.h>
#include "agent/loaded/loaded_patch.h"
#include "nvtx_abi.h"

const struct loaded_hook *hook_c10_table(size_t *count);       /* PyTorch: reports and backward passes */
const struct loaded_hook *hook_subscribe_table(size_t *count); /* CUPTI: who subscribes and leaves */
const struct loaded_hook *hook_seccomp_table(size_t *count);   /* threads that may not make system calls any more */

/* Puts ours into the table of functions that a library hands out. 1: its ranges and marks are recorded from now on. */
int hook_nvtx(nvtx_get_table *get_table);

/*
 * Fills the slots of an NVTX extension; `extension` is the program's and is not kept. 1: its ranges are recorded from now on.
 * 0: an extension that is not recorded.
 */
int hook_nvtx_extension(const struct nvtx_extension *extension);

/* Binds the calls of what is loaded, and follows CUDA if it has started, after agent_attach. Not in a hook. */
void injection_attach(void);

#endif
