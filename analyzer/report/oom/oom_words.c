#include <string.h>
#include "memtrace/base.h"
#include "oom_turn.h"
#include "oom_words_impl.h"
#include "report/answer.h"

#define RISES 5 /* by chance so many in a row are rare */

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
	sentence_say(sentence, "%s", text_at(time, it->time));
	if (it->free >= 0)
		sentence_say(sentence, ", %s%s free", strcmp(it->free_by, "bound") ? "" : "at most ",
			     text_bytes(size, (uint64_t)it->free));
	if (it->free >= 0 && (uint64_t)it->free >= it->requested)
		sentence_say(sentence, strcmp(it->free_by, "bound")
					       ? " around that time, but not to be had then, or not in one piece"
					       : " by what was recorded, and less in truth: others had some of it");
}

/* "102,738 tokens" */
static const char *tokens_words(char out[64], uint64_t tokens)
{
	return text_count(out, 64, tokens, "token");
}

static int is_logits(const struct oom *oom)
{
	return oom->logits.tokens && !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_LOGITS));
}

/* Nothing, unless the request is a whole number of rows of logits. */
static void say_logits(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_logits *logits = &oom->logits;
	char count[64], words[64];

	if (!logits->tokens)
		return;
	sentence_say(sentence, "The request is %s x %s x %llu bytes, as large as %s",
		     tokens_words(count, logits->tokens), text_count(words, sizeof(words), logits->words, "word"),
		     (unsigned long long)logits->element,
		     oom->serves ? "their logits" : "the logits of one micro-batch");
	if (logits->earlier && logits->earlier < logits->tokens)
		sentence_say(sentence, " (%s: at most %s)", logits->same_step ? "before it" : "in the steps before",
			     tokens_words(count, logits->earlier));
	if (oom->by_frame && is_logits(oom))
		sentence_say(sentence, ": %s. ", oom->by_frame);
	else if (oom->serves)
		sentence_say(sentence, ": in chunks, or with fewer tokens at a time, it would be less. ");
	else
		sentence_say(sentence, ": compute log-probs in chunks or fused, or cap the tokens of a micro-batch%s. ",
			     logits->earlier && logits->earlier < logits->tokens ? " and of one sample" : "");
}

/* "alloc (x.py:82), called from setup_reference (y.py:10)" */
static void say_place_and_caller(struct sentence *sentence, const struct oom_part *part)
{
	answer_say_place(sentence, part->function, part->place);
	if (*part->by) {
		sentence_say(sentence, ", called from ");
		answer_say_place(sentence, part->by, part->by_place);
	}
}

/* "45.6 GiB, 35 x 1.3 GiB, is kept by forward (x.py:82) of pid 4200. ": which line keeps most of it, and whose it is. */
static void say_place_words(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_part *part = oom->place;
	int alike = part && part->alike && part->count > 1 && part->whole == part->bytes;
	char size[TEXT_SIZE_MAX], count[64];

	if (!part)
		return;
	sentence_say(sentence, "%s", text_bytes(size, part->whole));
	if (alike)
		sentence_say(sentence, ", %llu x %s,", (unsigned long long)part->count,
			     text_bytes(size, part->bytes / part->count));
	else if (part->whole_count > 1)
		sentence_say(sentence, " in %s", text_count(count, sizeof(count), part->whole_count, "piece"));
	sentence_say(sentence, " is kept by ");
	say_place_and_caller(sentence, part);
	if (*oom->apart && !*part->by) {
		sentence_say(sentence, ", called from ");
		answer_say_place(sentence, oom->apart, oom->apart_place);
	}
	oom_say_unsharded(sentence, oom);
	if (part->process != oom->it->process) {
		sentence_say(sentence, " of ");
		oom_say_process(sentence, part->rank, part->pid);
	}
	if (part->whole > part->bytes)
		sentence_say(sentence, ", %s of it %s", text_bytes(size, part->bytes), answer_category(part->category));
}

static void say_place(struct sentence *sentence, const struct oom *oom)
{
	say_place_words(sentence, oom);
	if (oom->place)
		sentence_say(sentence, ". ");
}

/* What most bytes of the category are is a guess. Of logits as large as the request arithmetic says it. */
static int is_guess(const struct oom *oom)
{
	uint64_t guessed = 0;
	size_t i;

	if (is_logits(oom) || !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_OTHER)))
		return 0;
	for (i = 0; i < oom->parts; i++)
		if (!strcmp(oom->part[i].category, oom->rule_category))
			guessed += oom->part[i].probable;
	return guessed > oom->rule_bytes / 2;
}

/* The state that an optimizer makes in its first step stays. */
static void say_first_step(struct sentence *sentence, const struct oom *oom)
{
	if (!strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_OPTIMIZER_STATE)) &&
	    !strcmp(oom->it->phase, "optimizer") && oom->it->step <= 1)
		sentence_say(sentence, " The optimizer makes it in its first step, and it stays: every step needs it.");
}

/* Twice is another sample; less than that may be one of many, unless they have become larger all the time. */
int oom_is_rising(const struct oom *oom)
{
	return oom->rising >= RISES && oom->piece >= oom->piece_before + oom->piece_before / 8;
}

int oom_is_larger(const struct oom *oom)
{
	return oom->piece_before && !oom->logits.tokens && (oom->piece >= oom->piece_before * 2 || oom_is_rising(oom));
}

static void say_larger(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX], before[TEXT_SIZE_MAX];

	if (!oom_is_larger(oom))
		return;
	sentence_say(sentence, "%s nothing there was larger than %s, now it is %s",
		     oom->by_samples ? "Before," : "In the steps before", text_bytes(before, oom->piece_before),
		     text_bytes(size, oom->piece));
	if (oom_is_rising(oom))
		sentence_say(sentence,
			     ", and it has risen in each of the last %u steps: samples become longer; cap that",
			     oom->rising);
	else if (!oom->uneven)
		sentence_say(sentence, ": %s is longer than all before; cap that",
			     oom->by_samples ? "a sample" : "a micro-batch, or one sample of it,");
	sentence_say(sentence, ". ");
}

/* Of a place that did not ask for so much before. */
static void say_outlier(struct sentence *sentence, const struct oom *oom)
{
	char before[TEXT_SIZE_MAX];

	if (!oom->outlier)
		return;
	sentence_say(sentence, "%s it never asked for more than %s there: %s. ",
		     oom->by_samples ? "Before," : "In the steps before", text_bytes(before, oom->asked_before),
		     oom_remedy_here(oom));
}

/* Whatever the rest was about. */
static void say_has_most(struct sentence *sentence, const struct oom *oom)
{
	struct oom_sum sum[OOM_SUMS_MAX];
	char size[TEXT_SIZE_MAX];
	int guess;

	if (!oom_sums(oom, OOM_BY_CATEGORY, sum))
		return;
	guess = !oom->asked_for && !strcmp(sum[0].word, oom->rule_category) && is_guess(oom);
	sentence_say(sentence, "Of all that is in use, %s%s has most, %s", guess ? "probably " : "",
		     answer_category(sum[0].word), text_bytes(size, sum[0].bytes));
	oom_say_whose_most(sentence, oom, sum[0].word, sum[0].bytes);
	sentence_say(sentence, ".");
}

/* Not what there is most of, but what was asked for. `briefly`: without what to do. */
static void say_asked_for(struct sentence *sentence, const struct oom *oom, int briefly)
{
	char size[TEXT_SIZE_MAX];

	if (!is_logits(oom)) {
		sentence_say(sentence, "The request %s %s, ", *oom_wakes(oom) ? "wakes up" : "is for",
			     oom->rule_category);
		if (oom->rule_bytes)
			sentence_say(sentence, "with %s of it in use", text_bytes(size, oom->rule_bytes));
		else
			sentence_say(sentence, *oom_wakes(oom) ? "which slept" : "the first of it");
		if (briefly)
			sentence_say(sentence, ".");
		else
			sentence_say(sentence, ": %s.", oom_remedy_here(oom));
		if (!briefly)
			say_first_step(sentence, oom);
	} else if (oom->rule_bytes) {
		sentence_say(sentence, "%s of what is in use is logits and log-probs.",
			     text_bytes(size, oom->rule_bytes));
	}
	sentence_say(sentence, " ");
	say_has_most(sentence, oom);
}

/* "The request alone, 48.0 GiB, is more than there is in use of anything: ..." */
static void say_alone(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	if (oom->alone)
		sentence_say(sentence, "This one request is larger than all that is in use of any kind, %s: ",
			     text_bytes(size, oom->it->requested));
	if (oom->by_asker)
		sentence_say(sentence, "%s%s. ", oom->alone ? "" : "As for the request, ", oom->by_frame);
	else if (oom->alone)
		sentence_say(sentence, "make it smaller (fewer tokens in a micro-batch or sample, or what it is for in "
				       "chunks), or do without. ");
}

/* Where they are a good part of the request. */
static void say_stale(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	if (oom->stale && oom->stale >= oom->it->requested / 4)
		sentence_say(sentence,
			     "%s of the logits is of a micro-batch whose backward is over: something keeps it, such as a variable of "
			     "the loop; drop it before the next forward (del logits). ",
			     text_bytes(size, oom->stale));
}

int oom_goes_for_nothing(const struct oom *oom)
{
	const char *name = strrchr(oom->apart, '.');

	name = name ? name + 1 : oom->apart;
	return oom->rule == OOM_LARGEST && oom_has_apart(oom) && !oom_special_remedy(oom) && !oom->idle_model.bytes &&
	       !oom->spare && oom->place->bytes >= oom_missing(oom->it) && strcmp(name, "forward") != 0 &&
	       strcmp(name, "__call__") != 0;
}

/* Of a module that may be trained as well as not, or that has too little. */
static void say_apart_too(struct sentence *sentence, const struct oom *oom)
{
	if (!oom_has_apart(oom) || oom_goes_for_nothing(oom))
		return;
	sentence_say(sentence, " ");
	oom_say_apart(sentence, oom);
}

static void say_largest(struct sentence *sentence, const struct oom *oom, const char *name)
{
	const char *knob = oom_remedy_here(oom);
	char size[TEXT_SIZE_MAX], count[64];

	if (!oom_out_of_turn(oom)) /* who keeps what is not his turn goes before the request */
		say_logits(sentence, oom);
	if (oom->again.kind || *oom->library.owner) {
		(oom->again.kind ? oom_say_again : oom_say_library)(sentence, oom);
		sentence_say(sentence, ": %s.", knob);
		return;
	}
	say_alone(sentence, oom);
	oom_say_clone(sentence, oom, 0);
	if (oom->same.count) {
		oom_say_same(sentence, oom, 0);
		sentence_say(sentence, " ");
	}
	say_outlier(sentence, oom);
	say_place(sentence, oom);
	oom_say_copy(sentence, oom);
	oom_say_reload(sentence, oom);
	if (oom->idle_model.bytes) {
		oom_say_idle(sentence, oom);
		sentence_say(sentence,
			     ": if nothing needs them any more, let go of every name that refers to them, else take them to the host "
			     "until then; that would have been enough. ");
	}
	if (oom->wider) {
		oom_say_wider(sentence, oom);
		return;
	}
	if (oom->spare && !oom->by_asker) {
		sentence_say(sentence,
			     "It was there before %s was asked for, by another part of the setting up: if nothing needs "
			     "it any more (a reference that was copied, a model that was only loaded), free it first; that "
			     "would have been enough.",
			     text_bytes(size, oom->it->requested));
		return;
	}
	say_stale(sentence, oom);
	say_larger(sentence, oom);
	if (oom->asked_for) {
		say_asked_for(sentence, oom, oom->clone.bytes != 0);
		return;
	}
	if (oom->alone || oom->by_asker || oom->outlier || oom->clone.bytes) {
		say_has_most(sentence, oom);
		return;
	}
	if (oom_goes_for_nothing(oom)) { /* before what costs */
		oom_say_apart(sentence, oom);
		sentence_say(sentence, " ");
	}
	text_bytes(size, oom->rule_bytes);
	if (oom->left_over || oom->waits || oom->crowded || oom->should_sleep)
		sentence_say(sentence, "%s of what is in use", size);
	else
		sentence_say(sentence, "%s of what is in use",
			     oom->rule_bytes > oom->in_use / 2 ? "Most" : "The largest part");
	if (!knob) {
		sentence_say(sentence, " has no known purpose, %s: see whose it is with memana top --by place ", size);
		sentence_say_clean(sentence, name);
		sentence_say(sentence, ".");
		return;
	}
	sentence_say(sentence, " is %s%s", is_guess(oom) ? "probably " : "", answer_category(oom->rule_category));
	if (!oom->left_over && !oom->waits && !oom->crowded && !oom->should_sleep) {
		sentence_say(sentence, ", %s", size);
		oom_say_whose_most(sentence, oom, oom->rule_category, oom->rule_bytes);
	}
	if (is_logits(oom))
		sentence_say(sentence, "."); /* its knob was just named */
	else
		sentence_say(sentence, ": %s.", knob);
	oom_say_before(sentence, oom, 0);
	oom_say_slept(sentence, oom, 0);
	say_first_step(sentence, oom);
	say_apart_too(sentence, oom);
	if (oom_out_of_turn(oom) && oom->logits.tokens)
		sentence_say(sentence,
			     " The request itself is as large as the logits of %s: in chunks or fused it would be less.",
			     tokens_words(count, oom->logits.tokens));
}

/* "NCCL", "a library" */
static const char *library_words(const char *owner)
{
	static const char *const names[][2] = {
		{ "libnccl", "NCCL" },   { "libcublas", "cuBLAS" },
		{ "libcudnn", "cuDNN" }, { "vllm cumem", "vLLM's pool" },
		{ "unknown", "" },       { "torch_memory_saver", "torch_memory_saver" }
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		if (!strcmp(owner, names[i][0]))
			owner = names[i][1];
	return *owner ? oom_library_name(owner) : "a library";
}

int oom_asker_sleeps(const struct oom *oom)
{
	return *oom->waking || !strcmp(oom->asked_by, "vllm cumem") || !strcmp(oom->asked_by, "torch_memory_saver");
}

void oom_asker_words(char out[TEXT_SIZE_MAX], const struct oom *oom)
{
	snprintf(out, TEXT_SIZE_MAX, "%.*s", TEXT_SIZE_MAX - 1, library_words(oom->asked_by));
}

static void say_idle_cache(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence,
		     "It was %s that asked the driver, and PyTorch's allocator beside it keeps %s in empty segments, "
		     "which it gives back for requests of its own only: call torch.cuda.empty_cache() before this%s.",
		     library_words(oom->asked_by), text_bytes(size, oom->rule_bytes),
		     oom_asker_sleeps(oom) ? "" : ", or let the allocator leave a margin");
}

static void say_sleeper(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence, "Process ");
	oom_say_process(sentence, oom->rule_rank, oom->rule_pid);
	sentence_say(sentence, " sleeps, but %s of it stays on the GPU, in no pool that sleeps",
		     text_bytes(size, oom->rule_bytes));
	if (oom->place) {
		sentence_say(sentence, ": %s, ", answer_category(oom->place->category));
		oom_say_pieces(sentence, oom->place);
		sentence_say(sentence, " by ");
		say_place_and_caller(sentence, oom->place);
	}
	sentence_say(sentence, ". That would have been enough. ");
	say_has_most(sentence, oom);
}

void oom_say_next(struct sentence *sentence, const struct oom *oom, const char *name)
{
	char size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX];

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
	case OOM_IDLE_CACHE:
		say_idle_cache(sentence, oom);
		break;
	case OOM_SLEEPER:
		say_sleeper(sentence, oom);
		break;
	case OOM_RANKS:
		oom_say_ranks(sentence, oom, 0);
		break;
	case OOM_NEIGHBOUR:
		sentence_say(sentence, "Process ");
		oom_say_process(sentence, oom->rule_rank, oom->rule_pid);
		sentence_say(sentence,
			     " keeps %s in reserve that no tensor uses%s: let it give that back before this "
			     "(torch.cuda.empty_cache, or its sleep), and the request fits.",
			     size, oom->pinned ? ", but tensors pin its segments and have to go first" : "");
		if (oom->asleep)
			sentence_say(sentence,
				     " If it cannot, let the engine that wakes up have a smaller part of the GPU.");
		break;
	case OOM_UNRECORDED:
		if (oom->unseen.bytes) {
			oom_say_unseen(sentence, oom);
			sentence_say(sentence, ": %s.", oom_unseen_remedy);
			break;
		}
		if (oom_has_idlers(oom)) {
			oom_say_idlers(sentence, oom);
			sentence_say(sentence,
				     ". That would have been enough: keep whoever computes nothing there off the GPU, such as "
				     "workers of data loaders (no CUDA call in them, or CUDA_VISIBLE_DEVICES=\"\"), and let each "
				     "rank choose its own first (torch.cuda.set_device).");
			break;
		}
		if (oom_is_crowded(oom)) {
			oom_say_crowd(sentence, oom);
			sentence_say(sentence, ": %s.", oom_crowd_remedy);
			break;
		}
		sentence_say(sentence,
			     "At least %s of the GPU is not in any recorded call: contexts (of every rank that did not choose its "
			     "device first), or processes that were not recorded, such as one left over from an earlier run. See "
			     "nvidia-smi: end what nobody needs, or record it too.",
			     size);
		break;
	case OOM_FRAGMENTATION:
		if (oom_copy_leads(oom))
			oom_say_copy(sentence, oom);
		oom_say_fragmentation(sentence, oom, name);
		break;
	case OOM_RETAINED:
		if (oom->growth.other) {
			oom_say_other_growth(sentence, oom);
			break;
		}
		if (oom->growth.bytes) {
			oom_say_growth(sentence, oom, name);
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

/* ---- in two sentences ---- */

/* "It is as large as the logits of 18,000 tokens (in the steps before: at most 9,216 tokens)", and no end of the sentence. */
static void say_tokens(struct sentence *sentence, const struct oom *oom)
{
	char count[64];

	sentence_say(sentence, "It is as large as the logits of %s", tokens_words(count, oom->logits.tokens));
	if (oom->logits.earlier && oom->logits.earlier < oom->logits.tokens)
		sentence_say(sentence, " (%s: at most %s)", oom->logits.same_step ? "before it" : "in the steps before",
			     tokens_words(count, oom->logits.earlier));
}

static void say_most(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX], count[64];

	if (oom->again.kind || *oom->library.owner) {
		(oom->again.kind ? oom_say_again : oom_say_library)(sentence, oom);
		sentence_say(sentence, ".");
		return;
	}
	if (oom->alone)
		sentence_say(sentence, "The request is larger than all that is in use of any kind. ");
	oom_say_clone(sentence, oom, 1);
	if (oom->wider) {
		sentence_say(sentence, "The request is twice as large as weights of ");
		sentence_say_clean(sentence, oom->wider_function);
		sentence_say(sentence, ": probably the same in wider elements. ");
	}
	if (oom->logits.tokens && !oom_out_of_turn(oom)) {
		say_tokens(sentence, oom);
		sentence_say(sentence, oom->place || *oom->rule_category ? ", and " : ".");
	}
	if (oom->place) {
		say_place_words(sentence, oom);
		if (oom->place->whole == oom->place->bytes)
			sentence_say(sentence, ": %s%s", is_guess(oom) ? "probably " : "",
				     answer_category(oom->place->category));
		sentence_say(sentence, ".");
	} else if (*oom->rule_category) {
		sentence_say(sentence, "most of what is in use is %s%s, %s.", is_guess(oom) ? "probably " : "",
			     answer_category(oom->rule_category), text_bytes(size, oom->rule_bytes));
	}
	if (oom->logits.tokens && oom_out_of_turn(oom))
		sentence_say(sentence, " The request is as large as the logits of %s.",
			     tokens_words(count, oom->logits.tokens));
}

static void say_cause(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	text_bytes(size, oom->rule_bytes);
	switch (oom->rule) {
	case OOM_TOO_LARGE:
		sentence_say(sentence, "That is more than there is.");
		if (oom->place || *oom->rule_category || oom->logits.tokens) {
			sentence_say(sentence, " ");
			say_most(sentence, oom);
		}
		return;
	case OOM_IDLE_CACHE:
		sentence_say(sentence, "It was %s that asked the driver, and %s lie idle in PyTorch's cache beside it.",
			     library_words(oom->asked_by), size);
		return;
	case OOM_NEIGHBOUR:
		sentence_say(sentence, "Process ");
		oom_say_process(sentence, oom->rule_rank, oom->rule_pid);
		sentence_say(sentence, " keeps %s in reserve that no tensor uses.", size);
		return;
	case OOM_UNRECORDED:
		if (oom->unseen.bytes)
			oom_say_unseen(sentence, oom);
		else if (oom_has_idlers(oom))
			oom_say_idlers(sentence, oom);
		else if (oom_is_crowded(oom))
			oom_say_crowd(sentence, oom);
		else
			sentence_say(sentence, "At least %s of the GPU is not in any recorded call", size);
		sentence_say(sentence, ".");
		return;
	case OOM_FRAGMENTATION:
		if (oom_copy_leads(oom))
			oom_say_copy(sentence, oom);
		sentence_say(sentence, "%s lie idle, but not in one piece", size);
		if (oom->pins.segments) {
			sentence_say(sentence, ": pinned by %s of tensors, most by ",
				     text_bytes(size, oom->pins.bytes));
			answer_say_place(sentence, oom->pins.function, oom->pins.place);
		}
		sentence_say(sentence, ".");
		return;
	case OOM_RETAINED:
		if (oom->growth.bytes)
			oom_say_kept(sentence, oom);
		else
			sentence_say(sentence, "The process ends each step with %s more than the one before.", size);
		return;
	case OOM_SLEEPER:
		sentence_say(sentence, "Process ");
		oom_say_process(sentence, oom->rule_rank, oom->rule_pid);
		sentence_say(sentence, " sleeps, but keeps %s", size);
		if (oom->place) {
			sentence_say(sentence, ": %s by ", answer_category(oom->place->category));
			say_place_and_caller(sentence, oom->place);
		}
		sentence_say(sentence, ".");
		return;
	case OOM_RANKS:
		oom_say_ranks(sentence, oom, 1);
		return;
	case OOM_LARGEST:
		if (oom->asked_for && !oom->logits.tokens) {
			say_place(sentence, oom);
			say_asked_for(sentence, oom, 1);
		} else {
			say_most(sentence, oom);
		}
		return;
	case OOM_UNKNOWN:
		sentence_say(sentence, "Nothing in use on the device was recorded.");
	}
}

static void say_what(struct sentence *sentence, const struct oom *oom)
{
	oom_say_failure(sentence, oom->survived ? "A request was refused" : "Out of memory", oom->it, "");
	if (*oom->waking && !(oom->asked_for && *oom_wakes(oom))) /* which is said with its cure */
		sentence_say(sentence, ", to wake up %s", answer_category(oom->waking));
	sentence_say(sentence, oom->survived ? "; it got as much later. " : ". ");
}

/* " one_hot was called from load_balancing_loss (x.py:540).": where a library asked, and the place does not say it all the same. */
static void say_caller(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_part *place = oom->place;

	/* What autograd and an optimizer ask for has its phase's name. */
	if (!*oom->caller_place || !strcmp(oom->it->phase, mt_phase_name(MT_PHASE_BACKWARD)) ||
	    !strcmp(oom->it->phase, mt_phase_name(MT_PHASE_OPTIMIZER)) ||
	    (place && !strcmp(place->by_place, oom->caller_place)) ||
	    (oom->again.kind && !strcmp(oom->again.caller_place, oom->caller_place)) ||
	    (oom->rule == OOM_RETAINED && !strcmp(oom->growth.caller_place, oom->caller_place)))
		return;
	sentence_say(sentence, " ");
	sentence_say_clean(sentence, oom->it->function);
	sentence_say(sentence, " was called from ");
	answer_say_place(sentence, oom->caller, oom->caller_place);
	sentence_say(sentence, ".");
}

/* What helps, too, and is no setting's: who says what to do by himself speaks of settings. */
static void say_besides(struct sentence *sentence, const struct oom *oom)
{
	if (oom->rule != OOM_LARGEST)
		return;
	if (oom->copy.alike && oom_is_copy_in_the_way(oom)) {
		sentence_say(sentence, " ");
		oom_say_copy(sentence, oom);
		sentence->size -= sentence->size && sentence->text[sentence->size - 1] == ' ';
		sentence->text[sentence->size] = '\0';
	}
	say_apart_too(sentence, oom);
	if (oom->crowded)
		sentence_say(sentence,
			     " To compute less at a time (fewer tokens, fewer or smaller pictures) helps, too.");
	if (oom->asked_for && !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_GRAPHS)) && !oom->by_frame)
		sentence_say(sentence, " To capture fewer batch sizes helps, too.");
}

void oom_say_briefly(struct sentence *sentence, const struct oom *oom)
{
	say_what(sentence, oom);
	say_cause(sentence, oom);
	if (oom->same.count) {
		sentence_say(sentence, " ");
		oom_say_same(sentence, oom, 1);
	}
	oom_say_before(sentence, oom, oom->before.is_why);
	oom_say_slept(sentence, oom, 1);
	oom_say_beside(sentence, oom);
	say_caller(sentence, oom);
	say_besides(sentence, oom);
}

void oom_verdict(struct sentence *sentence, const struct oom *oom, const char *name)
{
	say_what(sentence, oom);
	oom_say_next(sentence, oom, name);
	oom_say_beside(sentence, oom);
}
