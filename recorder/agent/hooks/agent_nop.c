/*
 * agent_nop.c - libmemrec-nop.so, the baseline for overhead: the same symbols, which record nothing.
 *
 * It has the hooks themselves, with forwarded calls, on an agent that never listens. All of it is one object by design.
 */
#include "agent/loaded/loaded.c"
#include "hook_api.c"
#include "hook_c10.c"
#include "hook_seccomp.c"
#include "hook_subscribe.c"
#include "nvtx_abi.h"

void agent_memory(struct ring_event *event MT_UNUSED, enum stack_wish wish MT_UNUSED)
{
}

void agent_mark(enum mt_kind kind MT_UNUSED, uint64_t handle MT_UNUSED, const char *name MT_UNUSED,
		const char *domain MT_UNUSED)
{
}

void agent_follow(enum mt_kind kind MT_UNUSED)
{
}

int agent_work(void (*work)(void *context), void *context)
{
	work(context);
	return 1;
}

int agent_is_inside(void)
{
	return 0;
}

void census_oom(void)
{
}

void census_look(void)
{
}

int census_ask_to_begin(void (*ready)(void) MT_UNUSED)
{
	return 0;
}

int agent_is_awaited(void)
{
	return 0;
}

void agent_ask_first(int (*ask)(void) MT_UNUSED)
{
}

void agent_thread_is_autograd(void)
{
}

void agent_thread_is_sealed(void)
{
}

void agent_source(enum mt_source source MT_UNUSED, enum mt_source_state state MT_UNUSED, const char *why MT_UNUSED)
{
}

const struct memrec_options *agent_options(void)
{
	return NULL;
}

int agent_is_listening(void)
{
	return 0;
}

int agent_is_paused(void)
{
	return 0;
}

int agent_has_cuda(void)
{
	return 0;
}

void cupti_other_asks(int shares MT_UNUSED)
{
}

void cupti_other_asked(int error MT_UNUSED, const struct cupti_subscriber *subscriber MT_UNUSED)
{
}

void cupti_other_left(const struct cupti_subscriber *subscriber MT_UNUSED)
{
}

void cupti_other_finalizes(void)
{
}

void cupti_other_finalized(void)
{
}

void cupti_look(void)
{
}

void cupti_rest(void)
{
}

void cupti_check_tensor(int device MT_UNUSED, uint64_t reserved MT_UNUSED)
{
}

int cupti_finds_gpu(void)
{
	return 0;
}

MT_EXPORT int InitializeInjection(void);
MT_EXPORT int InitializeInjectionNvtx2(nvtx_get_table *get_table);
MT_EXPORT int InitializeInjectionNvtx(nvtx_get_table *get_table);
MT_EXPORT int InitializeInjectionNvtxExtension(const struct nvtx_extension *extension);
MT_EXPORT int memrec_attach(const char *text, const char *page);

int InitializeInjection(void)
{
	return 1;
}

int InitializeInjectionNvtx2(nvtx_get_table *get_table MT_UNUSED)
{
	return 0;
}

int InitializeInjectionNvtx(nvtx_get_table *get_table MT_UNUSED)
{
	return 0;
}

int InitializeInjectionNvtxExtension(const struct nvtx_extension *extension MT_UNUSED)
{
	return 0;
}

int memrec_attach(const char *text MT_UNUSED, const char *page MT_UNUSED)
{
	return 0;
}
