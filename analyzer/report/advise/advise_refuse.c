/* When no setting is the answer, with the proof, and what to do instead. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "advise.h"
#include "advise_turn.h"
#include "label/owner.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/oom/oom_words.h"
#include "report/steps/growth.h"

#define UNKNOWN_SHARE 2 /* more than one part in so many of no known purpose: too little is known */
#define PIECES_MANY 4
#define MUCH 8           /* times what was asked for: a cache that large is emptied, whoever asks when */
#define MARGIN 10        /* of the device: nobody leaves one part in so many to a library */
#define IGNORED_SHARE 10 /* of the peak, from which on what a setting should have removed is worth a word */

/* NULL: out of memory. */
static struct advise_refusal *refuse(struct advice *advice, enum advise_reason reason, int whole)
{
	size_t room = advice->refusal_room ? advice->refusal_room * 2 : 4;
	struct advise_refusal *grown;

	if (advice->refusals == advice->refusal_room) {
		grown = realloc(advice->refusal, room * sizeof(*grown));
		if (!grown)
			return NULL;
		advice->refusal = grown;
		advice->refusal_room = room;
	}
	grown = &advice->refusal[advice->refusals++];
	*grown = (struct advise_refusal){ .reason = reason, .whole = whole };
	return grown;
}

int advise_add_refusal(struct advice *advice, enum advise_reason reason, int whole, const char *evidence,
		       const char *instead)
{
	struct advise_refusal *refusal = refuse(advice, reason, whole);

	if (!refusal)
		return -MT_E_MEMORY;
	mt_copy_text(refusal->evidence, sizeof(refusal->evidence), evidence);
	mt_copy_text(refusal->instead, sizeof(refusal->instead), instead);
	return 0;
}

int advise_add_told(struct advice *advice, enum advise_reason reason, int whole, const char *evidence,
		    const char *instead)
{
	int error = advise_add_refusal(advice, reason, whole, evidence, instead);

	if (!error)
		advice->refusal[advice->refusals - 1].told = 1;
	return error;
}

/* ---- pieces that should go one by one --------------------------------------------------------------------------------------- */

/* A function that works piece by piece has many of them alive: a smaller piece makes more of them. */
static int refuse_pieces(struct advice *advice)
{
	static const struct mt_knob piecewise = { .within = { "chunk", "piece", "tile" }, .withins = 3 };
	const struct replay_site *site;
	char text[ADVISE_EVIDENCE_MAX], size[TEXT_SIZE_MAX];
	uint32_t i;
	int found;

	for (i = 0; i < advice->run.replay.sites; i++) {
		site = &advice->run.replay.site[i];
		if (site->category != MT_CATEGORY_LOGITS || site->largest != site->smallest ||
		    site->then_count < PIECES_MANY || site->then < advice->base / IGNORED_SHARE)
			continue;
		found = turn_has_frame(&advice->run, &piecewise, site);
		if (found < 0)
			return found;
		if (!found)
			continue;
		advice->pieces_kept = 1;
		snprintf(text, sizeof(text),
			 "%u pieces of %s, which a loop makes one after the other, are alive at once: something around the loop keeps "
			 "them, and smaller pieces are only more of them",
			 site->then_count, text_bytes(size, site->largest));
		return advise_add_refusal(
			advice, ADVISE_REASON_IGNORED, 0, text,
			"let each piece go before the next one is made: put the checkpoint inside of the loop and not around it, "
			"keep no graph of what the loss does not use, or take a fused kernel");
	}
	return 0;
}

/* ---- a request that failed ------------------------------------------------------------------------------------------------ */

static const struct {
	enum advise_reason reason;
	int refuses, whole;
	const char *instead;
} by_rule[] = {
	[OOM_TOO_LARGE] = { 0, 0, 0, "" },
	[OOM_IDLE_CACHE] = { ADVISE_REASON_IDLE_CACHE, 1, 1, "" },
	[OOM_NEIGHBOUR] = { ADVISE_REASON_NEIGHBOUR, 1, 0, "" },
	[OOM_UNRECORDED] = { ADVISE_REASON_UNRECORDED, 1, 0,
			     "see in nvidia-smi whose the memory is: end that process if it is left from an earlier run; if every other rank has "
			     "some of this GPU, give each rank its own before anything else (torch.cuda.set_device); else record that process, "
			     "too: memrec in front of what starts it" },
	[OOM_FRAGMENTATION] = { ADVISE_REASON_FRAGMENTATION, 1, 0, "" },
	[OOM_RETAINED] = { ADVISE_REASON_RETENTION, 1, 1, "" },
	[OOM_SLEEPER] = { ADVISE_REASON_NEIGHBOUR, 1, 0,
			  "let the process that sleeps keep less outside of the pool that sleeps with it: fewer graphs, "
			  "communicators or buffers, or end it meanwhile" },
	[OOM_RANKS] = { ADVISE_REASON_NEIGHBOUR, 1, 0, "" },
	[OOM_LARGEST] = { 0, 0, 0, "" },
	[OOM_UNKNOWN] = { ADVISE_REASON_EVIDENCE, 1, 1,
			  "record from the start of the process, with its allocator: memana info" },
};

/* The switch of the main framework that is about nothing but how weights are loaded; "": it has none. */
static const char *loading_setting(const struct advice *advice)
{
	const struct advise_config *config = advice->config;
	const struct mt_knob *knob;
	uint32_t i;

	for (i = 0; config->parts && i < config->part[0].file->knobs; i++) {
		knob = &config->part[0].file->knob[i];
		if (knob->phases == 1u << MT_PHASE_INIT && knob->categories == 1u << MT_CATEGORY_WEIGHTS &&
		    knob->saves == MT_KNOB_SAVES_ON && !knob->instead)
			return knob->name.key;
	}
	return "";
}

/* "keep the weights of f (x.py:1) in the type that they have", "free the 75.0 GiB that f (x.py:1) has made": it begins with what it is. */
static int say_special(const struct advice *advice, char out[ADVISE_EVIDENCE_MAX])
{
	const struct oom *oom = &advice->run.oom;
	const struct oom_part *place = oom->place;
	const char *special = oom_special_remedy(oom);
	char size[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX];

	if (special && oom->clone.bytes) {
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "let %.80s (%.80s) not copy what %.80s (%.80s) has just made (probably: %s, which go right after): %s",
			 oom->it->function, oom->it->place, oom->clone.function, oom->clone.place,
			 text_bytes(size, oom->clone.bytes), special);
	} else if (oom->should_sleep) {
		oom_sleep_remedy(oom, out, ADVISE_EVIDENCE_MAX);
	} else if (oom->before.is_why) {
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 oom->before.brought
				 ? "%.80s (%.60s) of %s (pid %lld) brings %s back to the GPU that had gone when the engine woke up before: %s"
				 : "see what %.80s (%.60s) of %s (pid %lld) keeps of the %s that had gone when the engine woke up before: %s",
			 oom->before.function, oom->before.place,
			 oom->before.rank >= 0 ? answer_process(name, oom->before.rank, oom->before.pid)
					       : "the trainer",
			 (long long)oom->before.pid, text_bytes(size, oom->before.bytes), oom_since_remedy(oom));
	} else if (oom->idle_model.bytes && !special) {
		struct sentence idle = { .size = 0 };

		oom_say_idle(&idle, oom);
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "%.300s: if nothing needs them any more, let go of every name that refers to them (del), else take them to the host "
			 "until then",
			 idle.text);
	} else if (oom->spare && !special)
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "free the %s that %.100s (%.100s) had made, when its setting up is over: something still holds it - a variable, an "
			 "object, a closure - and as long as that lives, this memory stays (del it, or set it to None)",
			 text_bytes(size, place->whole), *place->by ? place->by : place->function,
			 *place->by ? place->by_place : place->place);
	else if (special && oom->wider)
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "keep the weights of %.100s (%.100s) in the type that they have (do not convert them to float32), or convert them "
			 "on the host (where that is not your code, another version may do so)",
			 oom->wider_function, oom->wider_place);
	else if (special && oom->whole && !oom->moved && *loading_setting(advice))
		snprintf(out, ADVISE_EVIDENCE_MAX, "turn %s on: %s", loading_setting(advice), special);
	else
		snprintf(out, ADVISE_EVIDENCE_MAX, "%s", special ? special : "");
	return *out != '\0';
}

/* What PyTorch's allocator may have that so much more is left for others, as a share of the device; 0: it cannot be said. */
static double share_that_leaves(const struct oom *oom, uint64_t more)
{
	const struct oom_failure *it = oom->it;
	uint64_t reserved = oom->own_slack;
	size_t i;

	for (i = 0; i < oom->parts; i++)
		if (oom->part[i].process == it->process && !strcmp(oom->part[i].owner, OWNER_PYTORCH))
			reserved += oom->part[i].bytes;
	return it->total && reserved > more && reserved <= it->total
		       ? floor(100 * (double)(reserved - more) / (double)it->total) / 100
		       : 0;
}

/* A pool that wakes up wants more than any margin; a library wants a little, once. */
static void say_idle_cache(const struct oom *oom, char out[ADVISE_EVIDENCE_MAX])
{
	const struct oom_failure *it = oom->it;
	double share = share_that_leaves(oom, oom_missing(it));
	char who[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX], number[32] = "", size[TEXT_SIZE_MAX];

	oom_asker_words(who, oom);
	if (oom_asker_sleeps(oom) || it->requested >= it->total / MARGIN) {
		snprintf(out, ADVISE_EVIDENCE_MAX, "call torch.cuda.empty_cache() in %s before %s asks for its %s",
			 answer_process(name, it->rank, it->pid), who, text_bytes(size, it->requested));
		return;
	}
	if (share > 0)
		snprintf(number, sizeof(number), "(%.2f)", share);
	snprintf(out, ADVISE_EVIDENCE_MAX,
		 "call torch.cuda.empty_cache() before %s asks for its %s%s, or let PyTorch's allocator leave it as much: "
		 "torch.cuda.set_per_process_memory_fraction%s at the start of the program",
		 who, text_bytes(size, it->requested),
		 strstr(oom->asked_by, "nccl") && oom->rule_bytes < MUCH * it->requested
			 ? " (or make the communicator at the start, before the allocator has filled the GPU)"
			 : "",
		 number);
}

/* The category of what the place has that grows most; "": nobody knows. */
static const char *growing_category(const struct oom *oom)
{
	size_t i;

	for (i = 0; i < oom->parts; i++) /* most first */
		if (!strcmp(oom->part[i].function, oom->growth.function) &&
		    !strcmp(oom->part[i].place, oom->growth.place))
			return oom->part[i].category;
	return "";
}

#define KEPT_MAX 300

/* "what f (x.py:1) and g (y.py:2) make", "what f (x.py:1) makes for h" */
static void say_kept(const struct oom_growth *growth, char out[KEPT_MAX])
{
	int used;

	snprintf(out, KEPT_MAX, "it");
	if (!*growth->place)
		return;
	used = snprintf(out, KEPT_MAX, "what %.80s (%.40s)", growth->function, growth->place);
	if (growth->places > 1)
		snprintf(out + used, KEPT_MAX - (size_t)used, " and %.80s (%.40s)%s make", growth->next,
			 growth->next_place, growth->places > 2 ? " and others" : "");
	else
		snprintf(out + used, KEPT_MAX - (size_t)used, " makes%s%.80s", *growth->caller ? " for " : "",
			 growth->caller);
}

/* A pool of another process may hold it, or a count of receivers that is wrong. Its place in the code tells no more than whose it is. */
static void say_other(const struct oom *oom, char out[ADVISE_EVIDENCE_MAX])
{
	const struct oom_growth *growth = &oom->growth;
	char name[TEXT_SIZE_MAX], what[KEPT_MAX] = "all that it makes", asker[TEXT_SIZE_MAX];
	int used;

	if (*growth->place)
		snprintf(what, sizeof(what), "what %.80s (%.60s) makes", growth->function, growth->place);
	used = snprintf(
		out, ADVISE_EVIDENCE_MAX,
		"see why %s (pid %lld) does not free %s: a pool that only grows, a reference, or what went over CUDA IPC "
		"(export it once for each time that a receiver opens it, or use one buffer again and again; torch.cuda.ipc_collect() there gives back "
		"what every receiver has closed; where they are counted wrong, nothing does); a later version may have it mended",
		growth->rank >= 0 ? answer_process(name, growth->rank, growth->pid) : "the other process",
		(long long)growth->pid, what);
	if (oom_is_put_off(oom) && used > 0 && used < ADVISE_EVIDENCE_MAX)
		snprintf(out + used, ADVISE_EVIDENCE_MAX - (size_t)used,
			 " (until then a smaller part of the GPU for the engine of %s puts it off)",
			 answer_process(asker, oom->it->rank, oom->it->pid));
}

/* What is kept for a backward is let go of otherwise than what waits for its receiver. */
static void say_retained(const struct oom *oom, char out[ADVISE_EVIDENCE_MAX])
{
	const struct oom_growth *growth = &oom->growth;
	const char *category = growing_category(oom);
	char what[KEPT_MAX];

	if (growth->other && growth->sleeps) {
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "find what makes the engine load its weights again at each step, outside of the pool that sleeps, or take "
			 "another version of the engine");
		return;
	}
	if (growth->other) {
		say_other(oom, out);
		return;
	}
	say_kept(growth, what);
	if (growth->graphs)
		snprintf(out, ADVISE_EVIDENCE_MAX, "%s; where the code that keeps %s is yours, drop the reference",
			 oom_graphs_remedy(oom), what);
	else if (!strcmp(category, mt_category_name(MT_CATEGORY_WEIGHT_BUFFERS)))
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "let go of %s when the engine has it: what went over CUDA IPC comes back after torch.cuda.ipc_collect(), once "
			 "every receiver has closed it; see that the engine's side does, or take a version in which that is mended",
			 what);
	else if (strstr(growth->function, "backward") && !strstr(category, "activations"))
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "drop the reference that keeps %s: with create_graph=True each gradient holds the graph that made it "
			 "(take torch.autograd.grad, or set the gradients to None after it); memana retained shows each place",
			 what);
	else
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "drop the reference that keeps %s (%s), or take a version in which that is mended; %s", what,
			 growth->by_time  ? "when its request is done; or limit it, if it is a cache"
			 : oom->evaluates ? "clear the list, or take it to the host as it comes: .cpu()"
					  : "detach, .item(), clear the list",
			 growth->by_time ? "a smaller part of the GPU for an engine only puts it off"
					 : "memana retained shows each place");
}

/* No offload gives back what no tensor uses. */
static void say_neighbour(const struct oom *oom, char out[ADVISE_EVIDENCE_MAX])
{
	char name[TEXT_SIZE_MAX];

	snprintf(out, ADVISE_EVIDENCE_MAX,
		 oom->pinned
			 ? "let %s (pid %lld) free the tensors that pin the segments it does not use, and call torch.cuda.empty_cache() there "
			   "before this process asks (memana frag lists them)"
			 : "call torch.cuda.empty_cache() in %s (pid %lld), or let it sleep, before this process asks: it keeps what it does "
			   "not use",
		 answer_process(name, oom->rule_rank, oom->rule_pid), (long long)oom->rule_pid);
}

/* What to do, by what happened. */
static void say_instead(const struct advice *advice, char out[ADVISE_EVIDENCE_MAX])
{
	const struct oom *oom = &advice->run.oom;

	switch (oom->rule) {
	case OOM_IDLE_CACHE:
		say_idle_cache(oom, out);
		return;
	case OOM_FRAGMENTATION:
		advise_say_pieces(advice, out);
		return;
	case OOM_RETAINED:
		say_retained(oom, out);
		return;
	case OOM_NEIGHBOUR:
		say_neighbour(oom, out);
		return;
	case OOM_RANKS:
		snprintf(out, ADVISE_EVIDENCE_MAX, "%s", oom_ranks_remedy(oom));
		return;
	case OOM_UNRECORDED:
		if (oom->unseen.bytes) {
			snprintf(out, ADVISE_EVIDENCE_MAX, "%s", oom_unseen_remedy);
			return;
		}
		if (!oom_has_idlers(oom) && oom_is_crowded(oom)) {
			snprintf(out, ADVISE_EVIDENCE_MAX, "%s", oom_crowd_remedy);
			return;
		}
		if (!oom_has_idlers(oom))
			break;
		snprintf(out, ADVISE_EVIDENCE_MAX,
			 "keep the processes that compute nothing there off this GPU, each has a CUDA context: workers of data loaders (no "
			 "CUDA call in them, or CUDA_VISIBLE_DEVICES=\"\"), and ranks that have not chosen their own first "
			 "(torch.cuda.set_device)");
		return;
	default:
		break;
	}
	snprintf(out, ADVISE_EVIDENCE_MAX, "%s",
		 oom->rule == OOM_SLEEPER && oom->place &&
				 !strcmp(oom->place->category, mt_category_name(MT_CATEGORY_WEIGHTS))
			 ? "take another version of the engine that sleeps, or of its loader: its weights were made outside of the pool "
			   "that sleeps; or end that process meanwhile"
			 : by_rule[oom->rule].instead);
}

/* "; that is code of accelerate: where you cannot change it, another version may have it mended": a framework's, and no user's. */
static void say_whose(const struct advice *advice, char out[ADVISE_EVIDENCE_MAX])
{
	const struct oom *oom = &advice->run.oom;
	size_t used = strlen(out);
	uint32_t i;

	for (i = 0; i < advice->knobs->files && oom_is_about_code(oom); i++)
		if (!strcmp(advice->knobs->file[i].framework, oom->theirs) && used < ADVISE_EVIDENCE_MAX)
			snprintf(out + used, ADVISE_EVIDENCE_MAX - used,
				 "; that is code of %s: where you cannot change it, another version may have it mended",
				 oom->theirs);
}

/* A setting costs; this does not, if it is so. */
static void say_frozen(const struct oom *oom, char out[ADVISE_EVIDENCE_MAX])
{
	char size[TEXT_SIZE_MAX];

	snprintf(out, ADVISE_EVIDENCE_MAX,
		 "if nothing below %.100s (%.100s) is trained, run it within torch.no_grad(): it keeps none of its %s then, and that costs "
		 "nothing",
		 oom->apart, oom->apart_place, text_bytes(size, oom->place->bytes));
}

static int refuse_by_rule(struct advice *advice, const char *name)
{
	const struct oom *oom = &advice->run.oom;
	struct sentence why = { .size = 0 };
	char instead[ADVISE_EVIDENCE_MAX] = "";

	if (!advice->run.failed)
		return 0;
	oom_say_next(&why, oom, name);
	if (oom_special_remedy(oom) && !advice->pieces_kept) {
		say_special(advice, instead);
		say_whose(advice, instead);
		advice->pieces_kept = !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_LOGITS));
		return advise_add_told(advice,
				       oom->clone.bytes                           ? ADVISE_REASON_LEFT
				       : oom->alone || oom->wider || oom->outlier ? ADVISE_REASON_OUTLIER
				       : oom_is_others(oom) || oom->should_sleep  ? ADVISE_REASON_NEIGHBOUR
										  : ADVISE_REASON_LEFT,
				       0, why.text, instead);
	}
	if (oom->idle_model.bytes && say_special(advice, instead))
		return advise_add_told(advice, ADVISE_REASON_LEFT, 0, why.text, instead);
	if (oom->spare && say_special(advice, instead))
		return advise_add_told(advice, ADVISE_REASON_RETENTION, 0, why.text, instead);
	if (oom_goes_for_nothing(oom)) {
		say_frozen(oom, instead);
		return advise_add_told(advice, ADVISE_REASON_LEFT, 0, why.text, instead);
	}
	if (!by_rule[oom->rule].refuses)
		return 0;
	say_instead(advice, instead);
	return advise_add_told(advice, by_rule[oom->rule].reason,
			       by_rule[oom->rule].whole && !oom_is_put_off(oom) && !oom->growth.graphs, why.text,
			       instead);
}

/* Some layers are computed again, and most of what waits for the backward is of others: their switch is another one. */
static int refuse_apart(struct advice *advice)
{
	const struct advise_apart *apart = &advice->apart;
	struct sentence why = { .size = 0 };
	char instead[ADVISE_EVIDENCE_MAX], size[TEXT_SIZE_MAX];

	if (advice->run.question.category != MT_CATEGORY_ACTIVATIONS || !apart->bytes || !*apart->function)
		return 0;
	oom_say_next(&why, &advice->run.oom, "");
	snprintf(instead, sizeof(instead),
		 "recompute these layers, too: %s in %llu pieces of %.100s (%.100s) wait for the backward, and are not computed again, though other "
		 "layers are (a part of the model may have a switch of its own, as vision towers have, or its own "
		 "gradient_checkpointing_enable())",
		 text_bytes(size, apart->bytes), (unsigned long long)apart->pieces, apart->function, apart->place);
	return advise_add_told(advice, ADVISE_REASON_IGNORED, 0, why.text, instead);
}

/* ---- growth, without a failure yet ------------------------------------------------------------------------------------------ */

static int refuse_growth(struct advice *advice)
{
	struct sentence sentence = { .size = 0 };
	struct growth growth = { 0 };
	int error = advice->run.failed ? 0 : growth_load(&growth, advice->run.db);

	if (!error)
		growth_say(&sentence, &growth, advice->run.device);
	if (sentence.size && sentence.text[sentence.size - 1] == '.')
		sentence.text[--sentence.size] = '\0'; /* the report ends the sentence */
	if (!error && sentence.size)
		error = advise_add_refusal(advice, ADVISE_REASON_RETENTION, 0, sentence.text,
					   "drop the reference that keeps it: a setting only delays the end");
	growth_release(&growth);
	return error;
}

/* ---- a setting that is on, and does nothing -------------------------------------------------------------------------------- */

/* Bytes in the phase that the setting should have removed: whole logits, a cache that should sleep. */
static uint64_t left_by(const struct advice *advice, const struct mt_knob *knob, uint8_t phase)
{
	uint32_t engine = 1u << MT_CATEGORY_KV_CACHE;

	if (!(knob->phases & 1u << phase) || knob->withins)
		return 0;
	if (knob->method == MT_KNOB_METHOD_LOGITS)
		return knob->categories & 1u << MT_CATEGORY_LOGITS
			       ? advise_held_then(&advice->run, 1u << MT_CATEGORY_LOGITS)
			       : 0;
	return knob->method == MT_KNOB_METHOD_REMOVED && knob->saves == MT_KNOB_SAVES_ON && knob->categories & engine
		       ? advise_held_then(&advice->run, engine)
		       : 0;
}

static int is_set_by_user(const struct advise_value *value)
{
	return value->origin >= ADVISE_COMMAND && value->text;
}

static int refuse_ignored(struct advice *advice, const struct mt_knob *knob, uint8_t phase)
{
	struct advise_value now = advise_config_value(advice->config, knob, ADVISE_AS_IS);
	uint64_t left = left_by(advice, knob, phase), rows;
	char why[ADVISE_WORDS_MAX], text[ADVISE_EVIDENCE_MAX], size[TEXT_SIZE_MAX], count[TEXT_SIZE_MAX];
	int is_cache = knob->method == MT_KNOB_METHOD_REMOVED;
	double number = 0;

	if (left < advice->base / IGNORED_SHARE || !left || !now.text || (!is_cache && !is_set_by_user(&now)) ||
	    advise_value_number(knob, now.text, &number))
		return 0;
	rows = is_cache ? 0 : advise_tokens_in(&advice->run, 1u << phase);
	if (knob->leaves == MT_KNOB_LEAVES_PIECE
		    ? number <= 0 || (double)rows <= 8 * number
		    : advise_config_standing(advice->config, knob, ADVISE_AS_IS, &advice->facts, why) !=
			      ADVISE_STANDING_ALREADY)
		return 0;
	snprintf(text, sizeof(text), "%s is %s (%s), but %s of %s%s%s%s are in use in %s all the same", knob->name.key,
		 now.text, now.where, text_bytes(size, left), is_cache ? "kv cache" : "logits", rows ? " of " : "",
		 rows ? text_number(count, rows) : "", rows ? " tokens" : "", mt_phase_name(phase));
	return advise_add_refusal(
		advice, ADVISE_REASON_IGNORED, 0, text,
		is_cache
			? "see why the engine does not sleep here: whether it is told to, and by whom"
			: "see whether this loss or kernel reads the setting in your version: another loss, or a later "
			  "version, may");
}

static int refuse_all_ignored(struct advice *advice)
{
	const struct advise_config *config = advice->config;
	int phase = mt_phase_parse(advice->run.phase, strlen(advice->run.phase)), error = 0;
	uint32_t part, i;

	for (part = 0; part < config->parts && !error && phase >= 0; part++)
		for (i = 0; i < config->part[part].file->knobs && !error; i++)
			error = refuse_ignored(advice, &config->part[part].file->knob[i], (uint8_t)phase);
	return error;
}

/* ---- too little evidence ---------------------------------------------------------------------------------------------------- */

static int refuse_evidence(struct advice *advice)
{
	const struct advise_run *run = &advice->run;
	const struct oom_part *place = run->failed ? run->oom.place : NULL;
	char whose[ADVISE_EVIDENCE_MAX] = "see whose it is: memana top --by place", size[TEXT_SIZE_MAX];
	uint64_t unknown = 0, all = 0;
	uint32_t i;

	if (!run->history)
		return advise_add_refusal(
			advice, ADVISE_REASON_EVIDENCE, 1,
			"this snapshot has no history: which phase allocated what, and when, is not in it",
			"call torch.cuda.memory._record_memory_history() before the model is built, or run it under memrec");
	for (i = 0; i < run->replay.sites; i++) {
		all += run->replay.site[i].then;
		unknown += run->replay.site[i].category == MT_CATEGORY_OTHER ? run->replay.site[i].then : 0;
	}
	/* What was asked for is not in use: of that, nobody needs to know. */
	if (run->failed && run->replay.site[run->replay.request.site].category == MT_CATEGORY_OTHER) {
		all -= run->oom.it->requested < unknown ? run->oom.it->requested : unknown;
		unknown -= run->oom.it->requested < unknown ? run->oom.it->requested : unknown;
	}
	/* What has failed is explained by its moment, or by its place: what the rest is for changes nothing. */
	if (unknown <= all / UNKNOWN_SHARE || (run->stacks && advice->refusals && advice->refusal[0].told))
		return 0;
	if (place && *place->place && mt_category_parse(place->category) == MT_CATEGORY_OTHER)
		snprintf(whose, sizeof(whose), "look at what %.200s (%.200s) keeps, %s of no known purpose",
			 place->function, place->place, text_bytes(size, place->whole));
	return advise_add_refusal(advice, ADVISE_REASON_EVIDENCE, 0,
				  run->stacks ? "most of what is in use has no known purpose"
					      : "no stacks were recorded: most of what is in use has no known purpose",
				  run->stacks ? whose : "record with stacks: memrec --stacks python,native");
}

static int refuse_host(struct advice *advice)
{
	char evidence[ADVISE_EVIDENCE_MAX], instead[ADVISE_EVIDENCE_MAX];
	int found = advise_host_says(advice, evidence, instead);

	return found <= 0 ? found
			  : advise_add_refusal(advice, ADVISE_REASON_HOST, !advice->run.failed, evidence, instead);
}

int advise_refuse(struct advice *advice, const char *name)
{
	int error = refuse_pieces(advice);

	if (!error)
		error = refuse_by_rule(advice, name);
	if (!error && !advice->refusals)
		error = refuse_apart(advice);
	return error;
}

int advise_refuse_beside(struct advice *advice)
{
	int error = refuse_host(advice);

	if (!error)
		error = refuse_growth(advice);
	if (!error)
		error = refuse_all_ignored(advice);
	return error ? error : refuse_evidence(advice);
}

/* ---- settings that are all about something else ------------------------------------------------------------------------------ */

/* Buffers that somebody fills for a purpose: what is in them is not what is trained with. Communicators have theirs, whatever is sent. */
static int is_passing_copy(uint8_t category)
{
	return category == MT_CATEGORY_GATHER_BUFFERS || category == MT_CATEGORY_WEIGHT_BUFFERS ||
	       category == MT_CATEGORY_STATE_DICT || category == MT_CATEGORY_EVALUATION || category == MT_CATEGORY_NCCL;
}

int advise_refuse_untouched(struct advice *advice)
{
	const struct oom *oom = &advice->run.oom;
	const char *category = oom->rule_category, *remedy = oom_remedy(category);
	const char *framework = advice->config->parts ? advice->config->part[0].file->framework : "no framework";
	struct sentence why = { .size = 0 };
	char instead[ADVISE_EVIDENCE_MAX], who[ADVISE_EVIDENCE_MAX / 2 + 64] = "";
	uint32_t bit;
	size_t i;

	if (!advice->run.failed || advice->refusals || !advice->rows || oom->rule != OOM_LARGEST || !remedy ||
	    !is_passing_copy((uint8_t)mt_category_parse(category)))
		return 0;
	bit = 1u << mt_category_parse(category);
	for (i = 0; i < advice->rows; i++)
		if (advice->row[i].knob->categories & bit)
			return 0;
	if (*advice->doer.function && bit != 1u << MT_CATEGORY_NCCL)
		snprintf(who, sizeof(who),
			 ": %.100s (%.100s) makes it so, see whether it, or another version of it, can do it piece by piece",
			 advice->doer.function, advice->doer.place);
	snprintf(instead, sizeof(instead), "%s. None of the settings of %s that are known here does that%s", remedy,
		 framework, who);
	oom_say_next(&why, oom, "");
	return advise_add_told(advice, ADVISE_REASON_LEFT, 0, why.text, instead);
}
