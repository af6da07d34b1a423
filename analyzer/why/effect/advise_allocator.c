/* Settings of PyTorch's allocator, and the reserved bytes by its model (allocator/alloc_replay.h). */
#include "advise_model.h"

#include <stdio.h>
#include <string.h>
#include "allocator/alloc_replay.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"

#define CONF_MAX 512
#define IDLE_SHARE 50 /* divisor: less than 1/50 of the held bytes is no reason to look */
#define TRUSTED 0.05  /* largest error of the model on the recording itself */

/* ---- the allocator --------------------------------------------------------------------------------------------------- */

struct idlest {
	int64_t process;
	uint64_t bytes;
};

static int take_idlest(void *context, struct db_stmt *row)
{
	*(struct idlest *)context = (struct idlest){ db_int(row, 0), (uint64_t)db_int(row, 1) };
	return 0;
}

/* The process whose allocator has most idle bytes, at the failed request or at the peak. */
static int find_idlest(const struct advise_run *run, struct idlest *idlest)
{
	const struct scene *scene = run->scene;
	const int64_t device[ANSWER_PARAMETERS] = { run->scene->request.device };
	size_t i;

	*idlest = (struct idlest){ 0, 0 };
	for (i = 0; run->failed && i < scene->processes; i++)
		if (scene->process[i].slack > idlest->bytes)
			*idlest = (struct idlest){ scene->process[i].id, scene->process[i].slack };
	if (run->failed)
		return 0;
	return answer_rows(run->db,
			   "SELECT process, sum(bytes) FROM peak_part WHERE device = ?1 AND category = 'allocator slack' "
			   "GROUP BY process ORDER BY 2 DESC LIMIT 1",
			   device, take_idlest, idlest);
}

/* ---- in the model ---------------------------------------------------------------------------------------------------- */

/* Writes "expandable_segments:True,max_split_size_mb:128" from the allocator's moves. 1: there are some. */
static int conf_of(char conf[CONF_MAX], const struct advise_move *move, size_t moves)
{
	size_t used = 0, i;
	const char *value;

	for (i = 0; i < moves; i++) {
		if (move[i].knob->method != MT_KNOB_METHOD_ALLOCATOR || strchr(move[i].knob->name.key, '('))
			continue;
		value = !strcmp(move[i].to, "true") ? "True" : !strcmp(move[i].to, "false") ? "False" : move[i].to;
		used += (size_t)snprintf(conf + used, CONF_MAX - used, "%s%s:%s", used ? "," : "",
					 move[i].knob->name.key, value);
		if (used >= CONF_MAX)
			return 0;
	}
	return used > 0;
}

/* Lets the model repeat the failed request, with the free bytes of the driver. */
static void ask_again(const struct advise_run *run, int64_t process, struct alloc_scenario *scenario)
{
	const struct oom_failure *it = run->it;

	if (!run->failed || it->process != process || it->free < 0 || !strcmp(it->source, "driver"))
		return;
	scenario->asked_seq = it->seq;
	scenario->asked_bytes = it->requested;
	/* Enough free bytes and still refused: the device's free bytes are no bound for this process. */
	scenario->asked_free = (uint64_t)it->free < it->requested ? (uint64_t)it->free : 0;
}

int advise_allocator(const struct advise_run *run, const struct advise_move *move, size_t moves,
		     struct advise_reserved *reserved)
{
	struct alloc_config recorded;
	struct alloc_scenario scenario = { .empty_at = NULL };
	struct alloc_outcome outcome;
	struct alloc_replay replay;
	struct idlest idlest;
	char conf[CONF_MAX], why[256];
	int error;

	*reserved = (struct advise_reserved){ 0 };
	alloc_config_init(&recorded);
	alloc_config_init(&scenario.config);
	recorded.device_bytes = scenario.config.device_bytes = run->total;
	if (strcmp(run->scene->request.kind, "cuda") || !conf_of(conf, move, moves) ||
	    alloc_config_parse(&scenario.config, conf, why, sizeof(why)))
		return 0;
	error = find_idlest(run, &idlest);
	if (error || !idlest.process || idlest.bytes < run->peak / IDLE_SHARE)
		return error;
	ask_again(run, idlest.process, &scenario);
	error = alloc_replay(&replay, &outcome, &scenario, 1, run->db, idlest.process, run->scene->request.device,
			     &recorded);
	if (error || !replay.recorded_peak || alloc_replay_error(&replay) > TRUSTED)
		return error;
	*reserved = (struct advise_reserved){ .known = 1,
					      .process = idlest.process,
					      .idle = idlest.bytes,
					      .recorded = replay.recorded_peak,
					      .modelled = outcome.peak_reserved,
					      .asked = scenario.asked_bytes != 0,
					      .gets = outcome.gets_asked,
					      .off = alloc_replay_error(&replay) };
	return 0;
}
