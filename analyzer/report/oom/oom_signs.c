#include "oom_signs.h"

#include <string.h>
#include "label/owner.h"
#include "memtrace/base.h"
#include "oom_size.h"
#include "oom_turn.h"
#include "query/callstack.h"
#include "report/answer.h"

#define FREED_SHARE 16 /* one part in so many that went in a backward: it is needed there */
#define WHOLE_REST 4   /* one part in so many may be something else */
#define PILE_MANY 16   /* pieces as large as the request, of who asks for one more */
#define PILE_SHARE 10  /* of what is in use: one part in so many is worth a word */
#define INPUTS 16      /* more than the batch's few tensors */
#define INPUTS_ALIKE 4 /* so many of who asks for still more */
#define WIDER_LEAST (64u << 20)
#define LIBRARY_SHARE 3 /* one part in so many that PyTorch knows nothing of is more than anybody expects */

/* ---- who made it ---- */

/* `asks`: only what is said of a request, whatever there is most of. */
static int look_at_stack(struct oom *oom, struct db *db, int64_t node, const char *category, int asks)
{
	struct callstack stack = { .count = 0 };
	size_t i;
	int error = callstack_load(&stack, db, node, NULL);

	for (i = 0; i < stack.count && !error && !oom->by_frame; i++)
		oom->by_frame = oom_remedy_of_frame(category, stack.frame[i]->file, stack.frame[i]->function, asks);
	callstack_release(&stack);
	return error;
}

/* Liger's forward makes no logits while a model trains, and all of them in an evaluation: whose loss is fused elsewhere. */
static int find_fused(struct oom *oom, struct db *db)
{
	static const char sql[] = "SELECT EXISTS (SELECT 1 FROM frame WHERE function LIKE '%fused_linear_cross_entropy%' "
				  "OR file LIKE '%fused_linear_cross_entropy%')";
	int fused = 0, error;

	if (!oom->logits.tokens || !oom_is_of_evaluation(oom->by_frame))
		return 0;
	error = answer_flag(db, sql, NULL, &fused);
	oom->by_frame = fused ? oom_fused_evaluation_knob : oom->by_frame;
	return error;
}

static int find_frame(struct oom *oom, struct db *db)
{
	const struct oom_part *place = oom->place;
	int error = 0;

	if (oom->it->node && !oom->asked_for && !oom->left_over && !oom->crowded) {
		error = look_at_stack(oom, db, oom->it->node, oom->it->category, 1);
		oom->by_asker = oom->by_frame != NULL;
	}
	if (!error && !oom->by_frame && oom->it->node &&
	    (oom->alone || (oom->asked_for && (oom->logits.tokens || !strcmp(oom->it->category, oom->rule_category)))))
		error = look_at_stack(oom, db, oom->it->node, oom->alone ? oom->it->category : oom->rule_category, 0);
	if (!error && !oom->by_frame && place && place->node && !strcmp(place->category, oom->rule_category))
		error = look_at_stack(oom, db, place->node, oom->rule_category, 0);
	return error ? error : find_fused(oom, db);
}

/* Who captures graphs: of the functions that a remedy is about the innermost by its public name, else the innermost. */
static int find_capture(struct oom *oom, struct db *db)
{
	const char *graphs = mt_category_name(MT_CATEGORY_GRAPHS);
	struct callstack stack = { .count = 0 };
	const struct callstack_frame *frame;
	const char *remedy;
	size_t i;
	int error = oom->growth.graphs ? callstack_load(&stack, db, oom->growth.node, NULL) : 0;

	for (i = 0; i < stack.count && !error && (!*oom->captures || *oom->captures == '_'); i++) {
		frame = stack.frame[i];
		remedy = oom_remedy_of_frame(graphs, frame->file, frame->function, 0);
		if (!remedy || (*oom->captures && *frame->function == '_'))
			continue;
		oom->by_frame = oom->by_frame ? oom->by_frame : remedy;
		callstack_function(oom->captures, sizeof(oom->captures), frame);
		callstack_place(oom->captures_place, sizeof(oom->captures_place), frame);
	}
	callstack_release(&stack);
	return error;
}

/* ---- whose it is ---- */

/* Pools of an engine are its own, and what has a purpose is told by that. */
static int is_library(const char *owner)
{
	static const char *const others[] = { OWNER_PYTORCH, "vllm cumem", "torch_memory_saver" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(others); i++)
		if (!strcmp(owner, others[i]))
			return 0;
	return owner_is_named(owner) && owner_purpose(owner) == OWNER_ANY;
}

/*
 * ONNX Runtime's arena grows with each size that comes, and TensorFlow takes nearly all of the GPU when it starts: PyTorch beside
 * them in the process does not know of it.
 */
static void find_library(struct oom *oom)
{
	const char *other = mt_category_name(MT_CATEGORY_OTHER);
	struct oom_library library = { .bytes = 0 };
	const struct oom_part *part, *most = NULL;
	size_t i;

	for (i = 0; i < oom->parts; i++) { /* most first */
		part = &oom->part[i];
		if (part->process != oom->it->process || strcmp(part->category, other) || !is_library(part->owner) ||
		    (most && strcmp(most->owner, part->owner)))
			continue;
		most = most ? most : part;
		library.bytes += part->bytes;
		library.count += part->count;
	}
	if (!most || oom_is_known_better(oom) || library.bytes < oom_missing(oom->it) ||
	    library.bytes < oom->in_use / LIBRARY_SHARE)
		return;
	mt_copy_text(library.owner, sizeof(library.owner), most->owner);
	mt_copy_text(oom->rule_category, sizeof(oom->rule_category), other);
	oom->library = library;
	oom->rule_bytes = library.bytes;
	oom->place = most;
}

/* ---- whether a backward comes for it ---- */

struct stock {
	uint64_t bytes;  /* there now */
	uint64_t before; /* the most of it that was there at once and has gone since */
	uint64_t freed, in_backward;
	uint64_t pile; /* most pieces of one stack */
};

static int take_stock(void *context, struct db_stmt *stmt)
{
	struct stock *stock = context;

	*stock = (struct stock){ .bytes = (uint64_t)db_int(stmt, 0),
				 .before = (uint64_t)db_int(stmt, 1),
				 .freed = (uint64_t)db_int(stmt, 2),
				 .in_backward = (uint64_t)db_int(stmt, 3),
				 .pile = (uint64_t)db_int(stmt, 4) };
	return 0;
}

/*
 * Activations pile up, have piled up before from the same stacks, and have gone without a backward, though the process has
 * had some.
 */
static int find_unneeded(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH there AS MATERIALIZED (SELECT node, sum(bytes) AS bytes, count(*) AS pieces FROM live_at "
		"WHERE moment = 'oom:' || ?1 AND in_use AND process = ?2 AND category = 'activations' AND node IS NOT NULL "
		"AND phase IN ('forward', 'logprob', 'ref', 'critic') GROUP BY node), "
		"gone AS MATERIALIZED (SELECT alloc_seq, free_seq, allocation.bytes FROM allocation JOIN there USING (node) "
		"WHERE process = ?2 AND memory = 'tensor' AND free_seq < ?3), "
		"moves AS (SELECT alloc_seq AS seq, bytes FROM gone UNION ALL SELECT free_seq, -bytes FROM gone) "
		"SELECT (SELECT sum(bytes) FROM there), (SELECT max(sum) FROM (SELECT sum(bytes) OVER (ORDER BY seq) AS sum "
		"FROM moves)), (SELECT sum(bytes) FROM gone), (SELECT sum(bytes) FROM gone WHERE EXISTS (SELECT 1 FROM "
		"phase_span WHERE process = ?2 AND phase = 'backward' AND free_seq BETWEEN first_seq AND last_seq)), "
		"(SELECT max(pieces) FROM there) "
		"WHERE EXISTS (SELECT 1 FROM phase_span WHERE process = ?2 AND phase = 'backward' AND first_seq < ?3)";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->id, oom->it->process, oom->it->seq };
	struct stock stock = { 0 };
	int error;

	if (strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_ACTIVATIONS)) || !oom->place ||
	    oom->place->process != oom->it->process)
		return 0;
	error = answer_rows(db, sql, parameter, take_stock, &stock);
	oom->unneeded = !error && stock.pile >= OOM_PILE && stock.before && stock.before >= stock.bytes / 2 &&
			stock.bytes >= oom->rule_bytes / 2 && stock.in_backward <= stock.freed / FREED_SHARE;
	return error;
}

/* Where nothing is trained, nothing is kept for a backward, so to recompute it changes nothing. */
static int find_inference(struct oom *oom, struct db *db)
{
	int infers;

	if (strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_ACTIVATIONS)) || oom_is_others(oom) ||
	    oom->crowded || oom->left_over)
		return 0;
	infers = oom_is_inference(oom, db);
	oom->infers = infers > 0;
	return infers < 0 ? infers : 0;
}

/* ---- a wider copy ---- */

static int take_wider(void *context, struct db_stmt *stmt)
{
	struct oom *oom = context;

	oom->wider = (uint64_t)db_int(stmt, 0);
	oom->wider_bytes = (uint64_t)db_int(stmt, 1);
	mt_copy_text(oom->wider_function, sizeof(oom->wider_function), db_text(stmt, 2));
	mt_copy_text(oom->wider_place, sizeof(oom->wider_place), db_text(stmt, 3));
	return 0;
}

/* What an optimizer makes and needs for no other step: ZeRO-Offload has weights come back in float32 so. */
static int is_for_one_step(const struct oom *oom)
{
	return !strcmp(oom->it->phase, mt_phase_name(MT_PHASE_OPTIMIZER)) &&
	       !strcmp(oom->it->category, mt_category_name(MT_CATEGORY_WORKSPACE));
}

/* Gradients and the master weights of an optimizer are in float32 beside weights of 16 bits: that is how it trains. */
static int is_of_optimizer(const char *category)
{
	return !strcmp(category, mt_category_name(MT_CATEGORY_GRADIENTS)) ||
	       !strcmp(category, mt_category_name(MT_CATEGORY_OPTIMIZER_STATE));
}

/*
 * In init or for one step, and but for the rounding of blocks, a request twice as large as weights that somebody else made: the same in elements
 * of twice the bytes. Where there is one as large, too, it is rather a copy of that.
 */
static int find_wider(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT count(*), max(bytes), min(site.function), min(site.place) FROM in_use_span JOIN oom ON oom.id = ?4 "
		"JOIN place AS site ON site.node = in_use_span.node LEFT JOIN place AS asker ON asker.node = oom.node "
		"WHERE in_use_span.process = ?1 AND in_use_span.device = ?2 AND since_seq <= ?3 "
		"AND (until_seq IS NULL OR until_seq > ?3) AND memory = 'tensor' AND in_use_span.category = 'weights' "
		"AND site.place IS NOT asker.place AND abs(bytes * 2 - requested_bytes) < 1024 AND NOT EXISTS (SELECT 1 FROM in_use_span AS same "
		"JOIN place AS copied ON copied.node = same.node WHERE same.process = ?1 AND same.device = ?2 AND same.since_seq <= ?3 "
		"AND (same.until_seq IS NULL OR same.until_seq > ?3) AND same.category = 'weights' AND same.memory = 'tensor' "
		"AND abs(same.bytes - requested_bytes) < 1024 AND copied.place IS NOT asker.place) HAVING count(*)";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq, oom->it->id };

	if (oom->clone.bytes || (strcmp(oom->it->phase, mt_phase_name(MT_PHASE_INIT)) && !is_for_one_step(oom)) ||
	    strcmp(oom->it->source, "tensor") || !strcmp(oom->it->category, mt_category_name(MT_CATEGORY_STATE_DICT)) ||
	    is_of_optimizer(oom->it->category) || oom->it->requested < WIDER_LEAST)
		return 0;
	return answer_rows(db, sql, parameter, take_wider, oom);
}

/* ---- before the forward ---- */

static int is_of_an_engine(const char *category)
{
	return !strcmp(category, mt_category_name(MT_CATEGORY_KV_CACHE)) ||
	       !strcmp(category, mt_category_name(MT_CATEGORY_GRAPHS));
}

/* Engines that have a cache on the device, awake. */
static uint64_t cache_awake(const struct oom *oom)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < oom->parts; i++)
		if (!strcmp(oom->part[i].category, mt_category_name(MT_CATEGORY_KV_CACHE)) &&
		    !strcmp(oom->part[i].phase, mt_phase_name(MT_PHASE_INIT)))
			bytes += oom->part[i].bytes;
	return bytes;
}

/*
 * ms-swift brought the actor back to the GPU though nobody had taken it away, beside an engine: it had been on the host all the time,
 * so to load it there changes nothing, and ZeRO-2 shards no weights.
 */
static int find_moved(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) "
		"SELECT EXISTS (SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE function LIKE '%_apply' AND file LIKE '%torch/nn/modules/module.py')";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->place->node };

	if (!oom->whole || !oom->place->node || cache_awake(oom) < oom_missing(oom->it))
		return 0;
	return answer_flag(db, sql, parameter, &oom->moved);
}

/*
 * AReaL made a model of 61 GiB on each GPU before FSDP cut it; SkyRL one of 15 GiB on the GPU that sends it to the others. An
 * engine, Megatron and ZeRO-3, which make shards from the start, are none of these.
 */
static int find_whole(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT NOT EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 AND first_seq < ?2 AND phase IN ('forward', "
		"'backward', 'optimizer', 'rollout', 'logprob', 'ref', 'critic')) AND NOT EXISTS (WITH RECURSIVE up(id) AS (SELECT ?3 UNION "
		"SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) SELECT 1 FROM up JOIN stack_node USING (id) "
		"JOIN frame ON frame.id = stack_node.frame WHERE file LIKE '%vllm/%' OR file LIKE '%sglang/%' OR file LIKE '%megatron/%' OR "
		"file LIKE '%deepspeed/%')";
	const struct oom_part *place = oom->place;
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->seq, place ? place->node : 0 };
	uint64_t own = 0;
	size_t i;
	int error;

	for (i = 0; i < oom->parts; i++)
		own += oom->part[i].process == oom->it->process && !is_of_an_engine(oom->part[i].category)
			       ? oom->part[i].bytes
			       : 0;
	if (!place || oom_is_others(oom) || strcmp(oom->it->phase, mt_phase_name(MT_PHASE_INIT)) ||
	    strcmp(place->phase, mt_phase_name(MT_PHASE_INIT)) || strcmp(oom->it->source, "tensor") ||
	    strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_WEIGHTS)) ||
	    oom->rule_bytes < own - own / WHOLE_REST)
		return 0;
	error = answer_flag(db, sql, parameter, &oom->whole);
	return error ? error : find_moved(oom, db);
}

static int asks_for_more(const struct oom *oom, const struct oom_part *place)
{
	return place->alike && !strcmp(place->function, oom->it->function) && !strcmp(place->place, oom->it->place);
}

/*
 * Data that comes to the GPU outside of all phases, in sizes that no weight and no state has: PPG took the pictures of 32 rollouts
 * there before a minibatch of them went through the network, and asked for still more.
 *
 * EasyR1 took the pictures of a whole batch to the GPU before the first of its micro-batches: many pieces from one place, which
 * came in this step, after the last optimizer and before the first forward of it, in sizes that no weight and no state has.
 */
static int find_inputs(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT count(*) >= abs(?5) AND (?5 < 0 AND EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 "
		"AND phase = 'backward' AND first_seq < ?3) OR min(since_seq) > (SELECT ifnull(max(last_seq), 0) FROM phase_span WHERE process = ?1 "
		"AND phase = 'optimizer' AND last_seq < ?3) AND max(since_seq) < (SELECT min(first_seq) FROM phase_span "
		"WHERE process = ?1 AND phase IN ('forward', 'logprob', 'ref', 'critic') AND first_seq < ?3 AND first_seq > (SELECT "
		"ifnull(max(last_seq), 0) FROM phase_span WHERE process = ?1 AND phase = 'optimizer' AND last_seq < ?3))) "
		"FROM in_use_span JOIN place USING (node) JOIN place AS asker ON asker.node = ?4 AND asker.place = place.place "
		"AND asker.function = place.function WHERE process = ?1 AND device = ?2 AND since_seq <= ?3 "
		"AND (until_seq IS NULL OR until_seq > ?3) AND memory = 'tensor' AND bytes NOT IN (SELECT bytes FROM allocation "
		"WHERE process = ?1 AND alloc_seq <= ?3 AND category IN ('weights', 'gradients', 'optimizer state'))";
	const struct oom_part *place = oom->place;
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       place ? place->node : 0,
						       place && asks_for_more(oom, place) ? -INPUTS_ALIKE : INPUTS };

	if (!place || !place->node || oom_is_others(oom) ||
	    strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_OTHER)) ||
	    strcmp(place->phase, mt_phase_name(MT_PHASE_OTHER)))
		return 0;
	return answer_flag(db, sql, parameter, &oom->inputs);
}

/* ---- the rest ---- */

/*
 * prime-rl read its checkpoint into a state dict, of which Optimizer.load_state_dict() made the optimizer's state, on the device of
 * each parameter: where the file was read to does not matter then.
 */
static int find_dict(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) "
		"SELECT EXISTS (SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame WHERE "
		"file LIKE '%torch/distributed/checkpoint/%' OR (file LIKE '%torch/optim/%' AND function LIKE '%load_state_dict')) "
		"AND NOT EXISTS (SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE file LIKE '%torch/serialization.py')";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->place ? oom->place->node : 0 };

	return oom->loaded_early ? answer_flag(db, sql, parameter, &oom->by_dict) : 0;
}

/* safetensors has no frames but its own Python's, where that was called, and those of its module. */
static int find_loader(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) "
		"SELECT ifnull(min(CASE WHEN file LIKE '%torch/serialization.py' THEN ?2 "
		"WHEN file LIKE '%safetensors/torch.py' OR path LIKE '%safetensors%' THEN ?3 "
		"WHEN file LIKE '%torch/distributed/%' AND function LIKE '%gather%' THEN ?4 END), 0) "
		"FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame LEFT JOIN elf_file ON elf_file.id = frame.elf_file";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->place ? oom->place->node : 0, OOM_LOADER_TORCH,
						       OOM_LOADER_SAFETENSORS, OOM_LOADER_GATHERED };
	uint64_t loader = OOM_LOADER_NONE;
	int error = answer_bytes(db, sql, parameter, &loader);

	oom->loader = (enum oom_loader)loader;
	return error;
}

/* Of a checkpoint that is still being read, or taken over, nothing can go yet: who asks wants more of the same, or copies his part. */
static int find_loading(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT ?1 UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) "
		"SELECT EXISTS (SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE kind = 'python' AND function LIKE '%load%state%')";
	const char *init = mt_phase_name(MT_PHASE_INIT), *copies = mt_category_name(MT_CATEGORY_STATE_DICT);
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->node };
	int error;

	if (strcmp(oom->rule_category, copies) || !oom->place || oom_is_others(oom) || strcmp(oom->place->phase, init))
		return 0;
	error = find_loader(oom, db);
	if (error || strcmp(oom->it->phase, init))
		return error;
	oom->loading = !strcmp(oom->it->category, copies);
	return oom->loading ? 0 : answer_flag(db, sql, parameter, &oom->loading);
}

/* Optimizer state that was there before any optimizer ran: a checkpoint's, unless it was made to be there (DeepSpeed steps once in init). */
static int find_loaded(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"WITH RECURSIVE up(id) AS (SELECT ?3 UNION SELECT parent FROM up JOIN stack_node USING (id) WHERE parent IS NOT NULL) "
		"SELECT NOT EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 AND phase = 'optimizer' AND first_seq < ?2) "
		"AND NOT EXISTS (SELECT 1 FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = stack_node.frame "
		"WHERE (function = 'initialize_optimizer_states' AND file LIKE '%deepspeed/runtime/%') "
		"OR (function = 'step' AND file LIKE '%torch/optim/%'))";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->seq,
						       oom->place ? oom->place->node : 0 };
	const char *init = mt_phase_name(MT_PHASE_INIT);
	int error;

	if (strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_OPTIMIZER_STATE)) || !oom->place ||
	    oom->place->process != oom->it->process || strcmp(oom->place->phase, init) || !strcmp(oom->it->phase, init))
		return 0;
	error = answer_flag(db, sql, parameter, &oom->loaded_early);
	return error ? error : find_dict(oom, db);
}

/* Logits of a micro-batch whose backward is over. */
static int find_stale(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT sum(bytes) FROM in_use_span WHERE process = ?1 AND device = ?2 AND since_seq <= ?3 AND (until_seq IS NULL "
		"OR until_seq > ?3) AND category = 'logits and log-probs' AND phase = 'forward' AND EXISTS (SELECT 1 FROM "
		"phase_span AS span WHERE span.process = ?1 AND span.phase = 'backward' AND first_seq > since_seq "
		"AND last_seq < ?3)";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq };

	if (strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_LOGITS)) ||
	    strcmp(oom->it->phase, mt_phase_name(MT_PHASE_FORWARD)))
		return 0;
	return answer_bytes(db, sql, parameter, &oom->stale);
}

/* Whether the other process is a trainer, or an engine that has weights of its own. */
static int find_trainer(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM phase_span WHERE process = ?1 AND first_time <= ?2 AND phase IN ('backward', 'optimizer'))";
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->place ? oom->place->process : 0, oom->it->time };

	int error;

	if (!oom_is_others(oom) || strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_WEIGHTS)))
		return 0;
	error = answer_flag(db, sql, parameter, &oom->place_trains);
	/* verl brought its actor back before the first rollout, when nothing had been trained yet. */
	if (!error && !oom_bytes_of(oom, oom->place->process, mt_category_name(MT_CATEGORY_KV_CACHE), -1) &&
	    !oom_asleep(oom, oom->place->process))
		oom->place_trains = 1;
	if (oom_out_of_turn(oom)) /* the others' are not in the way */
		oom->rule_bytes = oom_bytes_of(oom, oom->place->process, oom->rule_category, -1);
	return error;
}

/* ---- another part of the program ---- */

static int is_on(const struct callstack *stack, const struct callstack_frame *frame)
{
	size_t i;

	for (i = 0; i < stack->count; i++)
		if (!strcmp(stack->frame[i]->function, frame->function) && !strcmp(stack->frame[i]->file, frame->file))
			return 1;
	return 0;
}

/* Outside of the package whose lines made it, and not on the way to who asked: encode_image() of a VAE, beside the forward of a UNet. */
static void take_apart(struct oom *oom, const struct callstack *made, const struct callstack *asked)
{
	char inside[PACKAGE_MAX], name[PACKAGE_MAX];
	const struct callstack_frame *frame;
	size_t i;

	package_inside(made, inside);
	for (i = 0; i < made->count && *inside; i++) {
		frame = made->frame[i];
		if (package_is_nobodys(frame) || !strcmp(package_of(frame->file, name), inside))
			continue;
		if (!is_on(asked, frame)) {
			callstack_function(oom->apart, sizeof(oom->apart), frame);
			callstack_place(oom->apart_place, sizeof(oom->apart_place), frame);
		}
		return;
	}
}

/* Where a backward has freed such before, it is trained, or what comes before it is. */
static int find_apart(struct oom *oom, struct db *db)
{
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM allocation JOIN phase_span AS span ON span.process = ?1 AND span.phase = 'backward' "
		"AND free_seq BETWEEN first_seq AND last_seq WHERE allocation.process = ?1 AND node = ?2 AND free_seq < ?3)";
	const struct oom_part *place = oom->place;
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, place ? place->node : 0, oom->it->seq };
	const char *forward = mt_phase_name(MT_PHASE_FORWARD);
	struct callstack made = { .count = 0 }, asked = { .count = 0 };
	int needed = 0, error;

	if (!place || !place->node || !oom->it->node || oom_is_others(oom) || oom->left_over || oom->infers ||
	    oom->unneeded || strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_ACTIVATIONS)) ||
	    strcmp(place->category, oom->rule_category) || strcmp(place->phase, forward) ||
	    strcmp(oom->it->phase, forward))
		return 0;
	error = answer_flag(db, sql, parameter, &needed);
	if (error || needed)
		return error;
	error = callstack_load(&made, db, place->node, NULL);
	if (!error)
		error = callstack_load(&asked, db, oom->it->node, NULL);
	if (!error)
		take_apart(oom, &made, &asked);
	callstack_release(&made);
	callstack_release(&asked);
	return error;
}

/* What is in the way had gone when the one that asked woke up the last time: the call that has run since then made it anew, or keeps it. */
static int find_since(struct oom *oom, struct db *db)
{
	struct oom_before *before = &oom->before;
	struct callstack stack = { .count = 0 };
	size_t i;
	int error;

	before->is_why = before->bytes && *before->function && before->trained && !oom->left_over &&
			 oom_is_others(oom) && oom->place->process == before->process &&
			 strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_WEIGHT_BUFFERS)) != 0;
	error = before->is_why && oom->place->node ? callstack_load(&stack, db, oom->place->node, NULL) : 0;
	for (i = 0; i < stack.count && !error; i++)
		before->brought |= !strcmp(stack.frame[i]->function, before->function);
	callstack_release(&stack);
	return error;
}

/* Whose line made what the remedy is about, or asked where it is about that. */
static int find_theirs(struct oom *oom, struct db *db)
{
	int asks = oom->by_asker || oom->asked_for || oom->clone.bytes || !oom->place;
	int64_t node = asks ? oom->it->node : oom->place->node;
	struct callstack stack = { .count = 0 };
	int error = node && (oom->clone.bytes || !oom_is_others(oom)) ? callstack_load(&stack, db, node, NULL) : 0;

	if (!error)
		package_inside(&stack, oom->theirs);
	callstack_release(&stack);
	return error;
}

/* ---- a pile of what was asked for ---- */

/*
 * TensorRT-LLM kept the logits of each request until it was answered: of no known purpose, and little beside what was there from the
 * start, but so many pieces as large as the request, by the place that asks for one more.
 */
static void find_pile(struct oom *oom)
{
	const struct oom_failure *it = oom->it;
	const struct oom_part *part;
	size_t i;

	if (strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_OTHER)) || oom->alone || oom->by_asker ||
	    !*it->place)
		return;
	for (i = 0; i < oom->parts && !oom->pile; i++) {
		part = &oom->part[i];
		if (part->process != it->process || strcmp(part->function, it->function) ||
		    strcmp(part->place, it->place) || strcmp(part->category, oom->rule_category) || !part->alike ||
		    part->count < PILE_MANY || part->bytes / part->count != it->requested ||
		    part->bytes < oom->in_use / PILE_SHARE)
			continue;
		oom->place = part;
		oom->pile = 1;
	}
}

int oom_find_signs(struct oom *oom, struct db *db)
{
	int error;

	if (oom->rule == OOM_RETAINED)
		return find_capture(oom, db);
	if (oom->rule != OOM_LARGEST)
		return oom->rule == OOM_RANKS ? find_loader(oom, db) : 0;
	error = find_since(oom, db);
	if (!error)
		error = find_loading(oom, db);
	if (!error)
		error = find_frame(oom, db);
	if (!error && !oom->by_frame)
		error = oom_find_scores(oom, db);
	if (!error && !oom->by_frame)
		error = oom_find_remade(oom, db);
	if (!error)
		find_pile(oom);
	if (!error)
		error = find_unneeded(oom, db);
	if (!error)
		error = find_inference(oom, db);
	if (!error)
		error = find_loaded(oom, db);
	if (!error)
		error = find_trainer(oom, db);
	if (!error)
		error = find_whole(oom, db);
	if (!error)
		error = find_inputs(oom, db);
	if (!error)
		error = oom_find_clone(oom, db);
	if (!error)
		error = find_stale(oom, db);
	if (!error)
		error = find_wider(oom, db);
	if (!error)
		error = find_theirs(oom, db);
	if (!error)
		error = find_apart(oom, db);
	if (!error)
		error = oom_find_same(oom, db);
	if (!error)
		find_library(oom);
	return error ? error : oom_find_outlier(oom, db);
}
