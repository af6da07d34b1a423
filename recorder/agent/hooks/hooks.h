/*
 * hooks.h - the replaced functions of other libraries: tables for injection.c, used if the loader has not bound the
 * names to the agent, and the functions of NVTX.
 */
#ifndef RECORDER_HOOKS_H
#define RECORDER_HOOKS_H

#include <stddef.h>
#include "agent/loaded/loaded_patch.h"
#include "nvtx_abi.h"

const struct loaded_hook *hook_c10_table(size_t *count);       /* PyTorch: reports and backward passes */
const struct loaded_hook *hook_subscribe_table(size_t *count); /* CUPTI: subscribe, unsubscribe, finalize */
const struct loaded_hook *hook_seccomp_table(size_t *count);   /* seccomp: threads without system calls */

/* Writes the hooks into the function table of an NVTX library. 1: its ranges and marks are recorded from now on. */
int hook_nvtx(nvtx_get_table *get_table);

/*
 * Writes the hooks into the slots of an NVTX extension. `extension` is the program's and is not kept. 1: its ranges are
 * recorded from now on. 0: the extension is not recorded.
 */
int hook_nvtx_extension(const struct nvtx_extension *extension);

/*
 * After agent_attach: binds the calls of loaded libraries, and follows CUDA if it has started. Do not call in a hook.
 */
void injection_attach(void);

#endif
