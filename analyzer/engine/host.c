#include "host.h"

#include <string.h>

#define NEAR 20               /* one part in 20 of the limit */
#define LITTLE (512ull << 20) /* bytes left of a machine that count as none */
#define JUST_NOW 5000000000   /* ns */

const char *host_verdict_word(enum host_verdict verdict)
{
	static const char *const words[] = {
#define HOST_VERDICT_WORD(name, word) [HOST_##name] = word,
		HOST_VERDICT_LIST(HOST_VERDICT_WORD)
#undef HOST_VERDICT_WORD
	};

	return words[verdict];
}

enum host_verdict host_pressure(const struct analysis_host *host)
{
	if (!host->samples)
		return HOST_UNKNOWN;
	if (host->cgroup_limit && host->cgroup >= host->cgroup_limit - host->cgroup_limit / NEAR)
		return HOST_CGROUP;
	if (!host->available)
		return HOST_UNKNOWN;
	/* Between two samples a process can take a part of its own size. */
	if (host->available < LITTLE || host->available < host->resident / NEAR ||
	    host->available <= host->cgroup / (NEAR - 1)) /* 5 of 100 left: 1 for every 19 */
		return HOST_MACHINE;
	return HOST_UNKNOWN;
}

static int left_in_order(const struct analysis_process *process)
{
	return process->ended && process->ended != MT_END_KILLED + 1;
}

static int gpu_was_out(const struct analysis *analysis, uint32_t number)
{
	const struct analysis_process *process = &analysis->process[number];
	uint32_t i;

	if (process->gpu_full)
		return 1;
	for (i = 0; i < analysis->ooms; i++)
		if (analysis->oom[i].process == number && !analysis->oom[i].had &&
		    process->last_time - analysis->oom[i].time < JUST_NOW)
			return 1;
	return 0;
}

/*
 * Whether the host was short of memory at the end of the process: by its own last sample, or by another process's
 * sample from within JUST_NOW.
 */
static int host_was_short(const struct analysis *analysis, const struct analysis_process *process)
{
	const struct analysis_process *other;
	uint32_t i;

	for (i = 0; i < analysis->processes; i++) {
		other = &analysis->process[i];
		if (!strcmp(other->info->boot_id, process->info->boot_id) && host_pressure(&other->host) &&
		    other->host.time <= process->last_time + JUST_NOW &&
		    process->last_time - other->host.time < JUST_NOW)
			return 1;
	}
	return 0;
}

enum host_verdict host_verdict(const struct analysis *analysis, uint32_t number)
{
	const struct analysis_process *process = &analysis->process[number];

	if (!left_in_order(process) && process->host.killed)
		return HOST_KILLED;
	if (gpu_was_out(analysis, number))
		return HOST_UNKNOWN;
	if (left_in_order(process))
		return host_was_short(analysis, process) ? HOST_LEFT : HOST_UNKNOWN;
	return host_pressure(&process->host);
}
