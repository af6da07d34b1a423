/* Settings of PyTorch's allocator, in the model of it (allocator/alloc_replay.h): what would have been reserved. */
#include "advise.h"

#include <stdio.h>
#include <string.h>
#include "allocator/alloc_replay.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/oom/oom_words.h"

#define CONF_MAX 512
#define IDLE_SHARE 50 /* less than one part in so many of what is held is no reason to look */
#define TRUSTED 0.05  /* how far off the model may be on the recording itself */

/* ---- whose allocator ------------------------------------------------------------------------------------------------- */

struct idlest {
	int64_t process;
	uint64_t bytes;
};

static int take_idlest(void *context, struct db_stmt *row)
{
	*(struct idlest *)context = (struct idlest){ db_int(row, 0), (uint64_t)db_int(row, 1) };
	return 0;
}

/* The process that keeps most idle: in what its allocator took, at the request that failed or at the peak. */
static int find_idlest(const struct advice *advice, struct idlest *idlest)
{
	const struct oom *oom = &advice->run.oom;
	const int64_t device[ANSWER_PARAMETERS] = { advice->run.device };
	size_t i;

	*idlest = (struct idlest){ 0, 0 };
	for (i = 0; advice->run.failed && i < oom->holders; i++)
		if (oom->holder[i].slack > idlest->bytes)
			*idlest = (struct idlest){ oom->holder[i].process, oom->holder[i].slack };
	if (advice->run.failed)
		return 0;
	return answer_rows(advice->run.db,
			   "SELECT process, sum(bytes) FROM peak_part WHERE device = ?1 AND category = 'allocator slack' "
			   "GROUP BY process ORDER BY 2 DESC LIMIT 1",
			   device, take_idlest, idlest);
}

/* ---- in the model ---------------------------------------------------------------------------------------------------- */

/* "expandable_segments:True,max_split_size_mb:128" of the turns that are the allocator's. 1: there are some. */
static int conf_of(char conf[CONF_MAX], const struct advise_turn *turn, size_t turns)
{
	size_t used = 0, i;
	const char *value;

	for (i = 0; i < turns; i++) {
		if (turn[i].knob->method != MT_KNOB_METHOD_ALLOCATOR || strchr(turn[i].knob->name.key, '('))
			continue;
		value = !strcmp(turn[i].to, "true") ? "True" : !strcmp(turn[i].to, "false") ? "False" : turn[i].to;
		used += (size_t)snprintf(conf + used, CONF_MAX - used, "%s%s:%s", used ? "," : "",
					 turn[i].knob->name.key, value);
		if (used >= CONF_MAX)
			return 0;
	}
	return used > 0;
}

/* Would the process that failed get it, from what it has and what the driver had left? */
static void ask_again(const struct advice *advice, int64_t process, struct alloc_scenario *scenario)
{
	const struct oom_failure *it = advice->run.oom.it;

	if (!advice->run.failed || it->process != process || it->free < 0 || !strcmp(it->source, "driver"))
		return;
	scenario->asked_seq = it->seq;
	scenario->asked_bytes = it->requested;
	/* As much free as was asked for, and refused: that of the whole device is no bound of this process. */
	scenario->asked_free = (uint64_t)it->free < it->requested ? (uint64_t)it->free : 0;
}

int advise_allocator(struct advice *advice, const struct advise_turn *turn, size_t turns,
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
	recorded.device_bytes = scenario.config.device_bytes = advice->run.total;
	if (strcmp(advice->run.kind, "cuda") || !conf_of(conf, turn, turns) ||
	    alloc_config_parse(&scenario.config, conf, why, sizeof(why)))
		return 0;
	error = find_idlest(advice, &idlest);
	if (error || !idlest.process || idlest.bytes < advice->run.peak / IDLE_SHARE)
		return error;
	ask_again(advice, idlest.process, &scenario);
	error = alloc_replay(&replay, &outcome, &scenario, 1, advice->run.db, idlest.process, advice->run.device,
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

/* ---- a row ------------------------------------------------------------------------------------------------------------ */

/*
 * At the request that failed it can give no more than is idle then, whatever it would have at another time; and enough it is
 * where the model finds room. 0: it finds none.
 */
static int say_asked(const struct advice *advice, struct advise_row *row, const struct advise_reserved *reserved)
{
	const struct oom_failure *it = advice->run.oom.it;
	uint64_t missing = oom_missing(it);
	char idle[TEXT_SIZE_MAX], request[TEXT_SIZE_MAX];

	row->saved = (struct advise_range){ missing < reserved->idle ? missing : reserved->idle, reserved->idle };
	row->fits = advice->needed <= reserved->idle; /* with what comes after it */
	snprintf(row->evidence, sizeof(row->evidence),
		 "%s idle in the allocator at the failed request; a model of it, %.1f %% off on the recording, finds room for the "
		 "%s that were asked for",
		 text_bytes(idle, reserved->idle), 100 * reserved->off, text_bytes(request, it->requested));
	return reserved->gets;
}

/* Of what is idle, as much as the model says; nothing is certain of it. 0: it is of no use. */
static int say_row(const struct advice *advice, struct advise_row *row, const struct advise_reserved *reserved)
{
	char idle[TEXT_SIZE_MAX], recorded[TEXT_SIZE_MAX], modelled[TEXT_SIZE_MAX];
	uint64_t saved = reserved->modelled < reserved->recorded ? reserved->recorded - reserved->modelled : 0;

	saved = saved < reserved->idle ? saved : reserved->idle;
	row->category = MT_CATEGORY_SLACK;
	row->saved = (struct advise_range){ advice->run.failed ? 0 : saved - saved / 4, saved };
	row->aims = advice->run.failed && advice->run.oom.rule == OOM_FRAGMENTATION;
	if (reserved->asked)
		return say_asked(advice, row, reserved);
	row->fits = !advice->run.failed && advice->needed && row->saved.low >= advice->needed;
	snprintf(row->evidence, sizeof(row->evidence),
		 "%s idle in the allocator at the %s; a model of it, %.1f %% off on the recording, reserves %s instead of %s at its "
		 "peak",
		 text_bytes(idle, reserved->idle), advice->run.failed ? "failed request" : "peak", 100 * reserved->off,
		 text_bytes(modelled, reserved->modelled), text_bytes(recorded, reserved->recorded));
	return saved > 0;
}

int advise_allocator_row(struct advice *advice, const struct mt_knob *knob, struct advise_value now,
			 struct advise_row *row)
{
	struct advise_turn turn = { knob, now.text, "true" };
	struct advise_reserved reserved;
	int error;

	/* The others want a number that only trying finds. Where a pool sleeps, PyTorch refuses to expand segments. */
	if (strcmp(knob->name.key, "expandable_segments") ||
	    (advice->run.failed && (advice->run.oom.sleeps || advice->run.oom.expandable)))
		return 0;
	error = advise_allocator(advice, &turn, 1, &reserved);
	if (error || !reserved.known || (reserved.modelled >= reserved.recorded && !reserved.gets))
		return error;
	row->knob = knob;
	mt_copy_text(row->now, sizeof(row->now), now.text ? now.text : "");
	row->now_from = now.where;
	snprintf(row->now_words, sizeof(row->now_words), "%.60s", now.text ? now.text : "not known");
	mt_copy_text(row->to, sizeof(row->to), "true");
	return say_row(advice, row, &reserved);
}

/* ---- what is idle, but not in one piece ------------------------------------------------------------------------------- */

int advise_pieces_are_enough(const struct advice *advice)
{
	return advice->needed <= advice->run.oom.own_slack;
}

int advise_copy_leads(const struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;

	return advice->run.failed && oom_copy_leads(oom) && !advise_pieces_are_enough(advice);
}

/* An engine with a pool that sleeps refuses to start with expandable segments: a launcher's environment reaches it, too. */
void advise_say_pieces(const struct advice *advice, char out[ADVISE_EVIDENCE_MAX])
{
	const struct oom *oom = &advice->run.oom;
	static const char pins[] = "free what pins the segments (memana frag lists it)";
	const struct oom_failure *it = oom->it;
	char name[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX];

	if (advise_copy_leads(advice))
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "%s of weights that %.100s (%.100s) made are %sa second copy of what is trained: %s",
			 text_bytes(size, oom->copy.bytes), oom->copy.function, oom->copy.place,
			 *oom->copy.keeper_place || *oom->copy.first ? "" : "probably ", oom_copy_remedy(oom));
	else if (oom->sleeps)
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "%s, or make requests of fewer different sizes; expandable segments are not possible here: a pool that sleeps is in "
			 "use",
			 pins);
	else if (oom->expandable)
		snprintf(out, ADVISE_EVIDENCE_MAX, "%s, or make requests of fewer different sizes", pins);
	else if (oom->pool_beside)
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True in the environment of %s and what trains with it (not of pid %lld, which has "
			 "a pool that sleeps, and refuses to start with it), or %s",
			 answer_process(name, it->rank, it->pid), (long long)oom->pool_beside, pins);
	else
		snprintf(out, ADVISE_EVIDENCE_MAX, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or %s", pins);
}
