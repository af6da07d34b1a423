#include "oom_turn.h"

#include <string.h>
#include "memtrace/base.h"
#include "oom_neighbour.h"
#include "report/answer.h"

#define FORWARDS 3 /* this one, and more than a warming up before it */

static int is_in(const char *phase, const enum mt_phase *phases, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(phase, mt_phase_name(phases[i])))
			return 1;
	return 0;
}

/* The process works for the training: what an engine keeps then is in its way. */
static int is_trainers(const char *phase)
{
	static const enum mt_phase trains[] = { MT_PHASE_LOGPROB, MT_PHASE_REF,      MT_PHASE_CRITIC,
						MT_PHASE_FORWARD, MT_PHASE_BACKWARD, MT_PHASE_OPTIMIZER };

	return is_in(phase, trains, MT_ARRAY_SIZE(trains));
}

/* A model computes what another one is trained with. */
static int is_inference(const char *phase)
{
	static const enum mt_phase computes[] = { MT_PHASE_LOGPROB, MT_PHASE_REF };

	return is_in(phase, computes, MT_ARRAY_SIZE(computes));
}

static int is_rollout(const struct oom *oom)
{
	return *oom->waking || !strcmp(oom->it->phase, mt_phase_name(MT_PHASE_ROLLOUT));
}

/* ---- who waits ---- */

/* A sample far longer than all before is why, whoever has how much. */
static int is_outlier(const struct oom *oom)
{
	return oom->logits.tokens && oom->logits.earlier && oom->logits.earlier < oom->logits.tokens;
}

/* What was made for the engine's weights, by whichever process, and waits for a cache of tokens. */
static void find_sent(const struct oom *oom, struct oom_waiting *waiting)
{
	const char *category = mt_category_name(MT_CATEGORY_WEIGHT_BUFFERS);
	uint64_t bytes;
	size_t i;

	if (strcmp(oom->waking, mt_category_name(MT_CATEGORY_KV_CACHE)))
		return;
	for (i = 0; i < oom->holders; i++) {
		bytes = oom_bytes_of(oom, oom->holder[i].process, category, -1);
		if (bytes >= oom_missing(oom->it) && bytes > waiting->bytes)
			*waiting = (struct oom_waiting){ category, oom->holder[i].process, bytes };
	}
}

/*
 * NeMo-RL brought a student's optimizer back for a training that was not next, and its teacher had no room for the logits
 * of a micro-batch that had fitted in the step before. While an engine generates, states go by what there is most of.
 */
int oom_find_waiting(const struct oom *oom, struct db *db, struct oom_waiting *waiting)
{
	static const enum mt_category kinds[] = { MT_CATEGORY_GRADIENTS, MT_CATEGORY_OPTIMIZER_STATE };
	const struct oom_holder *holder;
	size_t i, j, count = is_rollout(oom) ? 1 : 2;
	int at_work;

	if (!is_rollout(oom) && (!is_inference(oom->it->phase) || is_outlier(oom)))
		return 0;
	*waiting = (struct oom_waiting){ .bytes = 0 };
	find_sent(oom, waiting);
	for (i = 0; i < oom->holders; i++) {
		holder = &oom->holder[i];
		if (holder->process == oom->it->process)
			continue;
		for (j = 0; j < count; j++) {
			const char *category = mt_category_name(kinds[j]);
			uint64_t bytes = oom_bytes_of(oom, holder->process, category, -1);

			if (bytes < oom_missing(oom->it) || bytes <= waiting->bytes)
				continue;
			at_work = oom_is_at_work(oom, db, holder->process);
			if (at_work < 0)
				return at_work;
			if (!at_work)
				*waiting = (struct oom_waiting){ category, holder->process, bytes };
		}
	}
	return waiting->bytes != 0;
}

/* ---- what has most, and no turn ---- */

int oom_is_awake(const struct oom *oom, struct db *db, const struct oom_sum *largest)
{
	/* Tensors in such a pool are PyTorch's; who took their memory from the driver is on the stack of that. */
	static const char sql[] =
		"SELECT sum(bytes) FROM allocation AS taken WHERE process = ?1 AND device = ?2 AND memory = 'device' "
		"AND alloc_seq <= ?3 AND (free_seq IS NULL OR free_seq > ?3) AND EXISTS (WITH RECURSIVE up(id) AS (SELECT taken.node "
		"UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) SELECT 1 FROM up JOIN stack_node USING (id) "
		"JOIN frame ON frame.id = stack_node.frame JOIN elf_file ON elf_file.id = frame.elf_file WHERE path LIKE '%cumem_allocator%' OR "
		"path LIKE '%torch_memory_saver%')";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq };
	const char *category = mt_category_name(MT_CATEGORY_KV_CACHE);
	uint64_t own = oom_bytes_of(oom, oom->it->process, category, -1), pooled = 0;
	int resumes = !strcmp(oom->it->phase, mt_phase_name(MT_PHASE_INIT)) &&
		      !strcmp(oom->it->category, mt_category_name(MT_CATEGORY_OPTIMIZER_STATE));
	int error;

	if (strcmp(largest->word, category) || strcmp(oom->it->source, "tensor") || own < oom_missing(oom->it) ||
	    own <= largest->bytes / 2 || (!resumes && !is_trainers(oom->it->phase)))
		return 0;
	error = answer_bytes(db, sql, parameter, &pooled);
	return error ? error : pooled >= own;
}

/* unsloth resumed beside an engine of its own that nobody had told to sleep: a run that begins anew generates first. */
static const char own_engine[] =
	"the engine in this process is awake while the trainer works: let it sleep before this (a run that resumes, too), or give "
	"it a smaller part of the GPU";
static const char engine[] =
	"the engine is awake while the trainer works: see whether it is told to sleep, and by whom; else give it a smaller part of "
	"the GPU";
static const char states[] =
	"the trainer does not train while the engine generates: let it take its states to the host before that; if that is "
	"configured, see why they stayed (a validation in between, or a fault of this version)";
static const char states_of_other[] =
	"the trainer does not train while another model computes: let it take its states to the host before that; if that is "
	"configured, see why they stayed or came back (a step that went without, or a fault of this version)";
static const char weights[] =
	"the trainer does not train while the engine generates: let it take its weights to the host before that; if that is "
	"configured, see why they stayed or came back (probably a fault of this version: try another)";

/* miles' loop began the critic's training and the actor's at once: each wakes up for its own. */
static const char at_once[] =
	"another model that is trained is awake on this GPU while this one wakes up: one after the other, so let it sleep first (the loop has to "
	"wait for its training, and for its sleep, before it begins this one)";

/* NeMo-RL woke its engine up as a whole, while the weights that it was to take over were there in 16 bits. */
static const char sent[] =
	"weights that are made to be sent are there while the cache wakes up, which needs none of them: wake the engine's weights first, and "
	"its cache when they have been sent and let go (vLLM: wake_up(tags=[\"weights\"]), then tags=[\"kv_cache\"]), or send them in "
	"smaller buckets";

static const char stayed[] =
	"that process did without it when the engine woke up the last time: let it take it to the host, or let go of it, before the "
	"engine wakes up";

static const char since_then[] =
	"that process let go of it before the engine woke up the last time, so there is an offload: see what has run since then";

static const char as_before[] =
	"let it sleep here, as it did before (see who woke the engine up too early, or did not have it sleep); a smaller part of the GPU for "
	"the engine comes second";

/* slime went on when the engine had answered, and its pages were there for another second. */
static const char too_late[] =
	"its release came too late, so wait until that is through before this (a barrier of all ranks after it, or look at the free memory of "
	"the GPU until it is there); no size has to change";

/* No engine wakes up. */
static int wakes_to_train(const struct oom *oom)
{
	return oom->it->node && !oom->engine_asks && strcmp(oom->it->phase, mt_phase_name(MT_PHASE_ROLLOUT)) != 0;
}

const char *oom_out_of_turn(const struct oom *oom)
{
	const char *category = oom->rule_category;
	int is_states = !strcmp(category, mt_category_name(MT_CATEGORY_OPTIMIZER_STATE)) ||
			!strcmp(category, mt_category_name(MT_CATEGORY_GRADIENTS));

	if (oom->rule != OOM_LARGEST || oom->left_over)
		return NULL;
	if (oom->should_sleep)
		return oom->slept.leaves ? too_late : as_before;
	if (oom->own_engine)
		return own_engine;
	if (oom->waits && !strcmp(category, mt_category_name(MT_CATEGORY_WEIGHT_BUFFERS)))
		return sent;
	if (!oom_is_others(oom))
		return NULL;
	if (!strcmp(category, mt_category_name(MT_CATEGORY_KV_CACHE)) && is_trainers(oom->it->phase))
		return engine;
	if (oom->before.is_why)
		return since_then;
	if (is_states && !strcmp(oom->it->phase, mt_phase_name(MT_PHASE_ROLLOUT)))
		return states;
	if (is_states && is_inference(oom->it->phase))
		return states_of_other;
	if (oom->place_trains && !strcmp(category, mt_category_name(MT_CATEGORY_WEIGHTS)) && is_rollout(oom))
		return wakes_to_train(oom) ? at_once : weights;
	return oom->waits && oom->before.bytes ? stayed : NULL;
}

/* ---- what a process is there for ---- */

/* The stack goes through an engine's files. 1, 0 or -MT_E_x. */
static int is_of_engine(struct db *db, int64_t node)
{
	static const char sql[] =
		"SELECT EXISTS (WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN stack_node USING (id) "
		"WHERE parent IS NOT NULL) SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE file LIKE '%vllm/%' OR file LIKE '%sglang/%')";
	const int64_t parameter[ANSWER_PARAMETERS] = { node };
	int serving = 0, error = node ? answer_flag(db, sql, parameter, &serving) : 0;

	return error ? error : serving;
}

/* The largest part of a process tells whose it is: an engine's weights and cache are made below its own functions. */
static int is_engine(const struct oom *oom, struct db *db, int64_t process)
{
	size_t i;

	for (i = 0; i < oom->parts && oom->part[i].process != process; i++)
		;
	return i < oom->parts ? is_of_engine(db, oom->part[i].node) : 0;
}

/* An engine makes its cache when it is set up; what generate() of a library makes comes with the tokens. */
static uint64_t cache_of(const struct oom *oom, int64_t process)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < oom->parts; i++)
		if (oom->part[i].process == process &&
		    !strcmp(oom->part[i].category, mt_category_name(MT_CATEGORY_KV_CACHE)) &&
		    !strcmp(oom->part[i].phase, mt_phase_name(MT_PHASE_INIT)))
			bytes += oom->part[i].bytes;
	return bytes;
}

int oom_find_beside(struct oom *oom, struct db *db)
{
	const struct oom_holder *holder;
	uint64_t bytes;
	size_t i;
	int busy;

	for (i = 0; i < oom->holders && is_trainers(oom->it->phase); i++) {
		holder = &oom->holder[i];
		bytes = oom_bytes_of(oom, holder->process, mt_category_name(MT_CATEGORY_WEIGHTS), -1);
		if (holder->process == oom->it->process || bytes < oom_missing(oom->it) || bytes <= oom->beside.bytes)
			continue;
		busy = is_engine(oom, db, holder->process);
		busy = busy ? busy : oom_is_at_work(oom, db, holder->process);
		if (busy < 0)
			return busy;
		if (!busy)
			oom->beside = (struct oom_beside){ holder->process, holder->pid, holder->rank, bytes };
	}
	return 0;
}

static int find_training(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT NOT EXISTS (SELECT 1 FROM phase_span WHERE first_time <= ?1 AND phase IN ('forward', 'backward', "
		"'optimizer', 'logprob', 'ref', 'critic', 'weight-update'))";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->time };
	int nobody = 0, serving = 1, error = answer_flag(db, sql, parameter, &nobody);
	size_t i;

	for (i = 0; i < oom->holders && !error && nobody && serving; i++) {
		serving = is_engine(oom, db, oom->holder[i].process);
		error = serving < 0 ? serving : 0;
	}
	oom->nobody_trains = !error && nobody && serving && oom->holders;
	return error;
}

/* In a phase that an engine's rules name, or in a forward of no rule below an engine's own functions: one of before the rules. */
static int is_for_requests(const struct oom *oom)
{
	static const enum mt_phase unnamed[] = { MT_PHASE_FORWARD, MT_PHASE_OTHER };

	return !strcmp(oom->it->phase, mt_phase_name(MT_PHASE_ROLLOUT)) ||
	       (oom->engine_asks && is_in(oom->it->phase, unnamed, MT_ARRAY_SIZE(unnamed)));
}

static int find_serving(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT NOT EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 AND first_seq <= ?2 AND phase IN ('backward', "
		"'optimizer'))";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->seq };
	int error = answer_flag(db, sql, parameter, &oom->evaluates), below = 0;

	if (!error)
		below = is_of_engine(db, oom->it->node);
	if (error || below < 0)
		return error ? error : below;
	oom->engine_asks = below;
	oom->serves = oom->evaluates && is_for_requests(oom) && !strcmp(oom->it->source, "tensor") && !*oom->waking &&
		      cache_of(oom, oom->it->process) >= oom_missing(oom->it);
	return 0;
}

int oom_find_roles(struct oom *oom, struct db *db)
{
	int error = find_training(oom, db);

	return error ? error : find_serving(oom, db);
}

int oom_is_inference(const struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT count(*) >= ?3 OR EXISTS (SELECT 1 FROM temp.batch WHERE process = ?1) FROM phase_span "
		"WHERE process = ?1 AND first_seq <= ?2 AND phase IN ('forward', 'logprob', 'ref')";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->seq, FORWARDS };
	int infers = 0, error = oom->evaluates ? answer_flag(db, sql, parameter, &infers) : 0;

	return error ? error : infers;
}

/* ---- layers that are gathered ---- */

int oom_is_computed(const char *phase)
{
	static const enum mt_phase phases[] = { MT_PHASE_FORWARD, MT_PHASE_BACKWARD, MT_PHASE_LOGPROB, MT_PHASE_REF,
						MT_PHASE_CRITIC };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(phases); i++)
		if (!strcmp(phase, mt_phase_name(phases[i])))
			return 1;
	return 0;
}
