/* door_cuda.c - the main door: the driver loads us inside cuInit (CUDA_INJECTION64_PATH). */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent.h"
#include "cupti.h"
#include "door.h"
#include "memtrace/base.h"
#include "textbuf.h"

#define DOOR "CUDA_INJECTION64_PATH"

/* When the driver has called us, it is known already how CUPTI is doing. "none" is how CUDA tools write "nothing". */
void agent_check_injection(void)
{
	const char *path = getenv(DOOR);
	char why[256];
	struct textbuf text;

	if (agent_options()->no_cupti || agent_has_source(MT_SOURCE_CUPTI))
		return;
	if (!path || !*path || !strcmp(path, "none") || door_is_ours(DOOR))
		return;
	textbuf_init(&text, why, sizeof(why));
	textbuf_add(&text, "another tool has " DOOR " (");
	textbuf_add(&text, path);
	textbuf_add(&text, "): driver memory is not recorded");
	agent_source(MT_SOURCE_CUPTI, MT_SOURCE_FAILED, why);
}

MT_EXPORT int InitializeInjection(void);

/* The driver calls this inside cuInit, wherever the library was loaded from before. 1: fine. */
int InitializeInjection(void)
{
	static _Atomic int started_in; /* pid */
	int pid = (int)getpid();

	door_opened(DOOR);
	agent_cuda_started();
	if (agent_options() && atomic_exchange(&started_in, pid) != pid)
		cupti_start();
	return 1;
}
