/* hook_api.c - the functions of include/memrec.h, as the loaded agent has them. */
#include "agent/cupti/cupti.h"
#include "agent/life/agent.h"
#include "memtrace/base.h"

MT_EXPORT void memrec_agent_phase_push(const char *name);
MT_EXPORT void memrec_agent_phase_pop(void);
MT_EXPORT void memrec_agent_step(void);
MT_EXPORT void memrec_agent_mark(const char *name);

void memrec_agent_phase_push(const char *name)
{
	cupti_look();
	agent_source(MT_SOURCE_API, MT_SOURCE_ON, "");
	agent_mark(MT_PHASE_PUSH, 0, name, NULL);
}

void memrec_agent_phase_pop(void)
{
	agent_mark(MT_PHASE_POP, 0, NULL, NULL);
}

void memrec_agent_step(void)
{
	cupti_look();
	agent_source(MT_SOURCE_API, MT_SOURCE_ON, "");
	agent_mark(MT_STEP_MARK, 0, NULL, NULL);
}

void memrec_agent_mark(const char *name)
{
	cupti_look();
	agent_source(MT_SOURCE_API, MT_SOURCE_ON, "");
	agent_mark(MT_MARK, 0, name, NULL);
}
