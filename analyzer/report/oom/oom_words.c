#include "oom_words.h"

#include <string.h>
#include "memtrace/base.h"
#include "report/answer.h"

/* What makes each kind of memory smaller; the knob of a framework has another name in each. */
static const char *const knobs[MT_CATEGORY_COUNT] = {
	[MT_CATEGORY_WEIGHTS] = "shard the weights over more GPUs, or offload them while they are not used",
	[MT_CATEGORY_GRADIENTS] = "shard the gradients over more GPUs",
	[MT_CATEGORY_OPTIMIZER_STATE] = "shard or offload the optimizer state",
	[MT_CATEGORY_ACTIVATIONS] = "recompute activations, or put fewer tokens into a micro-batch",
	[MT_CATEGORY_RECOMPUTED] = "put fewer tokens into a micro-batch",
	[MT_CATEGORY_LOGITS] = "compute log-probs in chunks or fused, so that tokens x vocabulary is never whole",
	[MT_CATEGORY_KV_CACHE] = "give the engine a smaller part of the GPU, or let it sleep while the trainer works",
	[MT_CATEGORY_GRAPHS] = "capture fewer batch sizes, or run without CUDA graphs",
	[MT_CATEGORY_NCCL] = "use fewer communicators, or smaller NCCL buffers",
	[MT_CATEGORY_WEIGHT_BUFFERS] = "send the weights in smaller buckets",
	[MT_CATEGORY_GATHER_BUFFERS] = "gather fewer or smaller modules at once",
	[MT_CATEGORY_WORKSPACE] = "limit the workspace of the library that takes it",
};

static const char *knob_of(const char *category)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(knobs); i++)
		if (knobs[i] && !strcmp(category, mt_category_name((uint32_t)i)))
			return knobs[i];
	return NULL;
}

const char *oom_free_words(const struct oom_failure *failure)
{
	if (failure->free < 0)
		return "unknown";
	return !strcmp(failure->free_by, "driver") ? "the driver says so"
	       : !strcmp(failure->free_by, "nvml") ? "by nvidia-smi's count, soon after"
						   : "at most, by what was recorded";
}

static void say_who(struct sentence *sentence, const struct oom_failure *it)
{
	int placed = *it->function || *it->place;
	char name[TEXT_SIZE_MAX];

	if (placed || it->processes > 1)
		sentence_say(sentence, " by ");
	if (placed)
		answer_say_place(sentence, it->function, it->place);
	if (it->processes > 1)
		sentence_say(sentence, "%s%s", placed ? " of " : "", answer_process(name, it->rank, it->pid));
}

void oom_say_failure(struct sentence *sentence, const char *what, const struct oom_failure *it, const char *note)
{
	char size[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s", what);
	if (*it->kind)
		sentence_say(sentence, " on %s", answer_device(name, it->number, it->kind));
	if (*note)
		sentence_say(sentence, " %s", note);
	sentence_say(sentence, ": %s asked for", text_bytes(size, it->requested));
	say_who(sentence, it);
	if (strcmp(it->phase, "other"))
		sentence_say(sentence, " in %s", it->phase);
	else
		sentence_say(sentence, " outside any known phase");
	if (it->steps)
		sentence_say(sentence, " of step %lld", (long long)it->step);
	sentence_say(sentence, " at %s", text_time(time, it->time));
	if (it->free >= 0)
		sentence_say(sentence, ", %s%s free", strcmp(it->free_by, "bound") ? "" : "at most ",
			     text_bytes(size, (uint64_t)it->free));
}

/* "102,738 tokens" */
static const char *tokens_words(char out[64], uint64_t tokens)
{
	return text_count(out, 64, tokens, "token");
}

/* Nothing, unless the request is a whole number of rows of logits. */
static void say_logits(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_logits *logits = &oom->logits;
	char count[64], words[64];

	if (!logits->tokens)
		return;
	sentence_say(sentence, "The request is %s x %s x %llu bytes, as large as the logits of one micro-batch",
		     tokens_words(count, logits->tokens), text_count(words, sizeof(words), logits->words, "word"),
		     (unsigned long long)logits->element);
	if (logits->earlier && logits->earlier < logits->tokens)
		sentence_say(sentence, " (in the steps before: at most %s)", tokens_words(count, logits->earlier));
	sentence_say(sentence, ": compute log-probs in chunks or fused, or cap the tokens of a micro-batch%s. ",
		     logits->earlier && logits->earlier < logits->tokens ? " and of one sample" : "");
}

static void say_growth(struct sentence *sentence, const struct oom_growth *growth, const char *name)
{
	char size[TEXT_SIZE_MAX], whole[TEXT_SIZE_MAX], others[64];

	sentence_say(sentence, "%s of the %s that the process has in use is kept by ", text_bytes(size, growth->bytes),
		     text_bytes(whole, growth->in_use));
	answer_say_place(sentence, growth->function, growth->place);
	if (growth->places > 1)
		sentence_say(sentence, " and %s",
			     text_count(others, sizeof(others), growth->places - 1, "other place"));
	sentence_say(sentence,
		     ", %s%s more with every %s: no knob fixes this, drop the reference; see memana retained ",
		     growth->places > 1 ? "the first " : "", text_bytes(size, growth->each),
		     growth->by_step ? "step" : "micro-batch");
	sentence_say_clean(sentence, name);
	sentence_say(sentence, ".");
}

static void say_fragmentation(struct sentence *sentence, const struct oom *oom, const char *name)
{
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence, "The allocator has %s in reserve, but not in one piece: see memana frag ",
		     text_bytes(size, oom->rule_bytes));
	sentence_say_clean(sentence, name);
	if (oom->sleeps)
		sentence_say(sentence, ". Expandable segments are not possible here: a pool that sleeps is in use.");
	else
		sentence_say(sentence, oom->expandable ? "." : ", or try expandable segments.");
}

static void say_largest(struct sentence *sentence, const struct oom *oom, const char *name)
{
	const char *knob = knob_of(oom->rule_category);
	const char *share = oom->rule_bytes > oom->in_use / 2 ? "Most" : "The largest part";
	char size[TEXT_SIZE_MAX];

	say_logits(sentence, oom);
	if (oom->logits.tokens && !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_LOGITS))) {
		sentence_say(sentence, "%s of what is in use is %s, %s.", share, oom->rule_category,
			     text_bytes(size, oom->rule_bytes)); /* its knob was just named */
		return;
	}
	if (knob) {
		sentence_say(sentence, "%s of what is in use is %s, %s: %s.", share, oom->rule_category,
			     text_bytes(size, oom->rule_bytes), knob);
		return;
	}
	sentence_say(sentence,
		     "%s of what is in use has no known purpose, %s: see whose it is with memana top --by site ", share,
		     text_bytes(size, oom->rule_bytes));
	sentence_say_clean(sentence, name);
	sentence_say(sentence, ".");
}

void oom_say_next(struct sentence *sentence, const struct oom *oom, const char *name)
{
	char size[TEXT_SIZE_MAX], who[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX];

	text_bytes(size, oom->rule_bytes);
	switch (oom->rule) {
	case OOM_TOO_LARGE:
		sentence_say(sentence,
			     "That is more than the %s there are: make this one request smaller (its micro-batch, "
			     "or by chunks).",
			     text_bytes(total, oom->it->total));
		if (oom->logits.tokens)
			sentence_say(sentence, " ");
		say_logits(sentence, oom);
		break;
	case OOM_NEIGHBOUR:
		sentence_say(sentence, "Process %s", answer_process(who, oom->rule_rank, oom->rule_pid));
		if (oom->rule_rank >= 0)
			sentence_say(sentence, " (pid %lld)", (long long)oom->rule_pid);
		sentence_say(sentence,
			     " keeps %s in reserve that no tensor uses: let it give that back before this "
			     "(torch.cuda.empty_cache, or its sleep), and the request fits.",
			     size);
		if (oom->asleep)
			sentence_say(sentence,
				     " If it cannot, let the engine that wakes up have a smaller part of the GPU.");
		break;
	case OOM_UNRECORDED:
		sentence_say(sentence,
			     "At least %s of the GPU is not in any recorded call: contexts, or processes that were not "
			     "recorded. See nvidia-smi, and record those too.",
			     size);
		break;
	case OOM_FRAGMENTATION:
		say_fragmentation(sentence, oom, name);
		break;
	case OOM_RETAINED:
		if (oom->growth.bytes) {
			say_growth(sentence, &oom->growth, name);
			break;
		}
		sentence_say(sentence,
			     "The process ends each step with %s more than the one before: see memana retained ", size);
		sentence_say_clean(sentence, name);
		sentence_say(sentence, ".");
		break;
	case OOM_LARGEST:
		say_largest(sentence, oom, name);
		break;
	case OOM_UNKNOWN:
		sentence_say(sentence, "Nothing in use on the device was recorded: see memana info ");
		sentence_say_clean(sentence, name);
		sentence_say(sentence, ".");
		break;
	}
}

void oom_verdict(struct sentence *sentence, const struct oom *oom, const char *name)
{
	oom_say_failure(sentence, oom->survived ? "A request was refused" : "Out of memory", oom->it, "");
	sentence_say(sentence, oom->survived ? "; it got as much later. " : ". ");
	oom_say_next(sentence, oom, name);
}
