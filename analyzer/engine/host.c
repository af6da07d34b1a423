#include "host.h"

#define NEAR 20               /* within this part of the limit */
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
	/* Between two samples a process can take as much as a part of what it has. */
	if (host->available && (host->available < LITTLE || host->available < host->resident / NEAR))
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
		if (analysis->oom[i].process == number && process->last_time - analysis->oom[i].time < JUST_NOW)
			return 1;
	return 0;
}

enum host_verdict host_verdict(const struct analysis *analysis, uint32_t number)
{
	const struct analysis_process *process = &analysis->process[number];

	if (left_in_order(process))
		return HOST_UNKNOWN;
	if (process->host.killed)
		return HOST_KILLED;
	return gpu_was_out(analysis, number) ? HOST_UNKNOWN : host_pressure(&process->host);
}
