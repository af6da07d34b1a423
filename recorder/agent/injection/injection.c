/*
 * injection.c - where others call the agent by name: the driver inside cuInit (the main way in), and NVTX at its first
 * call in each library of the program.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/cupti/cupti.h"
#include "agent/hooks/hooks.h"
#include "agent/life/agent.h"
#include "agent/loaded/defaults.h"
#include "got_hooks.h"
#include "memtrace/base.h"

/*
 * The agent was called because environment variable `variable` names it. If that is all there is, no MEMREC_OPTIONS and
 * no LD_PRELOAD, it goes by its defaults, and hooks into what is loaded. Any number of times.
 */
static void injected(const char *variable)
{
	if (!agent_options() && !getenv(MEMREC_OPTIONS_VARIABLE) && defaults_name_us(variable))
		agent_begin();
	got_hooks_start();
}

MT_EXPORT int InitializeInjection(void);
MT_EXPORT int InitializeInjectionNvtx2(nvtx_get_table *get_table);
MT_EXPORT int InitializeInjectionNvtx(nvtx_get_table *get_table);

/* The driver calls this inside cuInit, wherever the library was loaded from before. 1: fine. */
int InitializeInjection(void)
{
	static _Atomic int started_in; /* pid */
	int pid = (int)getpid();

	injected("CUDA_INJECTION64_PATH");
	agent_cuda_started();
	if (agent_options() && atomic_exchange(&started_in, pid) != pid)
		cupti_start(got_hooks_look);
	return 1;
}

static int open_nvtx(nvtx_get_table *get_table)
{
	injected("NVTX_INJECTION64_PATH");
	return hook_nvtx(get_table);
}

/* NVTX 3: once per library of the program. 1: fine, 0: NVTX stays off there. */
int InitializeInjectionNvtx2(nvtx_get_table *get_table)
{
	return open_nvtx(get_table);
}

/* NVTX 1 and 2: once per process. */
int InitializeInjectionNvtx(nvtx_get_table *get_table)
{
	return open_nvtx(get_table);
}
