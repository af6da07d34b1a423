/* What is said of memory that is kept: growth, of the process that asked and of others, what pins segments, what is there from before. */
#include <string.h>
#include "oom_turn.h"
#include "oom_words_impl.h"
#include "report/answer.h"

void oom_say_process(struct sentence *sentence, int64_t rank, int64_t pid)
{
	char who[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s", answer_process(who, rank, pid));
	if (rank >= 0)
		sentence_say(sentence, " (pid %lld)", (long long)pid);
}

void oom_say_pieces(struct sentence *sentence, const struct oom_part *part)
{
	char size[TEXT_SIZE_MAX], count[64];

	if (part->alike && part->count > 1) {
		sentence_say(sentence, "%llu x %s", (unsigned long long)part->count,
			     text_bytes(size, part->bytes / part->count));
		return;
	}
	sentence_say(sentence, "%s", text_bytes(size, part->bytes));
	if (part->count > 1)
		sentence_say(sentence, " in %s", text_count(count, sizeof(count), part->count, "piece"));
}

/* Beside the one that belongs there, and the one that asked. */
static void say_strangers(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence, ". One of all these belongs there, probably not the one that asked");
	if (oom->rule_bytes >= oom_missing(oom->it))
		sentence_say(sentence,
			     "; of the others, %llu %s in the wrong place with %s, which would have been enough",
			     (unsigned long long)oom->strangers, oom->strangers == 1 ? "is" : "are",
			     text_bytes(size, oom->rule_bytes));
}

void oom_say_ranks(struct sentence *sentence, const struct oom *oom, int briefly)
{
	char size[TEXT_SIZE_MAX], ranks[64];

	sentence_say(sentence, "Beside %s, %s are on this device with %s, ",
		     oom->it->rank < 0 ? "the process that asked" : "the rank that asked",
		     text_count(ranks, sizeof(ranks), oom->holders - 1, "other rank"),
		     text_bytes(size, oom->ranks_there));
	oom_say_pieces(sentence, oom->place);
	sentence_say(sentence, " of rank %lld by ", (long long)oom->place->rank);
	answer_say_place(sentence, oom->place->function, oom->place->place);
	if (oom->at_home)
		sentence_say(sentence, ". That would have been enough");
	else
		say_strangers(sentence, oom);
	if (!briefly)
		sentence_say(sentence, ": %s", oom_ranks_remedy(oom));
	sentence_say(sentence, ".");
}

int oom_is_put_off(const struct oom *oom)
{
	const char *cache = mt_category_name(MT_CATEGORY_KV_CACHE);

	return oom->rule == OOM_RETAINED && oom->growth.other &&
	       (oom_bytes_of(oom, oom->it->process, cache, -1) >= oom_missing(oom->it) ||
		(!strcmp(oom->waking, cache) && oom->waking_bytes >= oom_missing(oom->it)));
}

void oom_say_other_growth(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_growth *growth = &oom->growth;
	char size[TEXT_SIZE_MAX], whole[TEXT_SIZE_MAX], rise[TEXT_SIZE_MAX];

	sentence_say(sentence, "Process ");
	oom_say_process(sentence, growth->rank, growth->pid);
	if (growth->each)
		sentence_say(sentence,
			     growth->sleeps ? " sleeps and holds %s more with every step"
					    : " holds %s more with every step",
			     text_bytes(rise, growth->each));
	else
		sentence_say(sentence, " holds more and more, %s more than at first", text_bytes(rise, growth->bytes));
	sentence_say(sentence, growth->sleeps || !growth->each ? ", %s by now" : ", %s by now that no pool lets sleep",
		     text_bytes(whole, growth->in_use));
	if (*growth->place) {
		if (growth->there < growth->in_use)
			sentence_say(sentence, ", %s of it", text_bytes(size, growth->there));
		sentence_say(sentence, growth->there < growth->in_use ? " allocated by " : ", allocated by ");
		answer_say_place(sentence, growth->function, growth->place);
	}
	sentence_say(sentence,
		     oom_is_put_off(oom)
			     ? ": the %s that it has grown by would have been enough; look there: a smaller part of the GPU for the engine "
			       "of %s only puts it off."
			     : ": the %s that it has grown by would have been enough; look there, no setting of %s helps.",
		     text_bytes(size, growth->bytes), answer_process(whole, oom->it->rank, oom->it->pid));
}

/* "main (x.py:45), called from g (y.py:2), and forward (z.py:71) and 1 other place" */
static void say_growing_places(struct sentence *sentence, const struct oom_growth *growth, int callers)
{
	char others[64];

	answer_say_place(sentence, growth->function, growth->place);
	if (callers && *growth->caller_place) {
		sentence_say(sentence, ", called from ");
		answer_say_place(sentence, growth->caller, growth->caller_place);
	}
	if (growth->places < 2)
		return;
	sentence_say(sentence, growth->places > 2 ? ", " : callers && *growth->caller_place ? ", and " : " and ");
	answer_say_place(sentence, growth->next, growth->next_place);
	if (growth->places > 2)
		sentence_say(sentence, " and %s",
			     text_count(others, sizeof(others), growth->places - 2, "other place"));
}

const char *oom_growth_part(const struct oom_growth *growth)
{
	return growth->by_step ? "step" : growth->by_batch ? "batch" : growth->by_time ? "minute" : "micro-batch";
}

/* ", while make_graphed_callables (graph.py:990) captures CUDA graphs" */
static void say_capture(struct sentence *sentence, const struct oom *oom)
{
	if (!oom->growth.graphs)
		return;
	sentence_say(sentence, ", while ");
	if (*oom->captures)
		answer_say_place(sentence, oom->captures, oom->captures_place);
	sentence_say(sentence, *oom->captures ? " captures CUDA graphs" : "CUDA graphs are captured");
}

/* With the graphs goes all that they have, and not only what is kept of it. */
static void say_graphs(struct sentence *sentence, const struct oom *oom, const char *name)
{
	uint64_t all = oom_bytes_of(oom, oom->it->process, mt_category_name(MT_CATEGORY_GRAPHS), -1);
	char size[TEXT_SIZE_MAX];

	say_capture(sentence, oom);
	if (all > oom->growth.bytes)
		sentence_say(sentence, ", which have %s in all", text_bytes(size, all));
	sentence_say(sentence, ": %s. Where the code that keeps it is yours, drop the reference; see memana retained ",
		     oom_graphs_remedy(oom));
	sentence_say_clean(sentence, name);
	sentence_say(sentence, ".");
}

void oom_say_growth(struct sentence *sentence, const struct oom *oom, const char *name)
{
	const struct oom_growth *growth = &oom->growth;
	char size[TEXT_SIZE_MAX], whole[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s of the %s that the process has in use is kept by ", text_bytes(size, growth->bytes),
		     text_bytes(whole, growth->in_use));
	say_growing_places(sentence, growth, 0);
	sentence_say(sentence, ", %s more with every %s", text_bytes(size, growth->each), oom_growth_part(growth));
	if (growth->by_time) {
		sentence_say(sentence,
			     "%s: drop the reference that keeps it, or limit it, if it is a cache; a smaller part of the GPU for an engine only "
			     "puts it off.",
			     growth->all_there ? ", and nothing of it has gone" : "");
		return;
	}
	if (growth->graphs) {
		say_graphs(sentence, oom, name);
		return;
	}
	sentence_say(sentence, ": no knob fixes this, drop the reference; see memana retained ");
	sentence_say_clean(sentence, name);
	sentence_say(sentence, ".");
}

/* "16 segments with 57.9 GiB idle are pinned by 6.1 GiB of tensors, most by f (x.py:1), called from g (y.py:2), from
 * forward of step 1: free these, or do not keep them; " */
static void say_pins(struct sentence *sentence, const struct oom_pins *pins)
{
	char idle[TEXT_SIZE_MAX], bytes[TEXT_SIZE_MAX], count[64];

	sentence_say(sentence, "%s with %s idle %s pinned by %s of tensors, most by ",
		     text_count(count, sizeof(count), pins->segments, "segment"), text_bytes(idle, pins->idle),
		     pins->segments == 1 ? "is" : "are", text_bytes(bytes, pins->bytes));
	answer_say_place(sentence, pins->function, pins->place);
	if (*pins->caller_place) {
		sentence_say(sentence, ", called from ");
		answer_say_place(sentence, pins->caller, pins->caller_place);
	}
	if (pins->first_step && pins->first_step == pins->last_step)
		sentence_say(sentence, ", in %s of step %lld", answer_phase(pins->phase), (long long)pins->first_step);
	sentence_say(sentence, ": free these, or do not keep them; ");
}

void oom_say_fragmentation(struct sentence *sentence, const struct oom *oom, const char *name)
{
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence,
		     "The allocator has %s in reserve, but not in one piece: ", text_bytes(size, oom->rule_bytes));
	if (oom->pins.segments)
		say_pins(sentence, &oom->pins);
	sentence_say(sentence, "see memana frag ");
	sentence_say_clean(sentence, name);
	if (oom->sleeps)
		sentence_say(sentence, ". Expandable segments are not possible here: a pool that sleeps is in use.");
	else if (oom->expandable)
		sentence_say(sentence, ".");
	else if (oom->pool_beside)
		sentence_say(sentence,
			     ", or try expandable segments in this process alone: pid %lld has a pool that sleeps, and refuses to "
			     "start with them.",
			     (long long)oom->pool_beside);
	else
		sentence_say(sentence, ", or try expandable segments.");
}

void oom_say_kept(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_growth *growth = &oom->growth;
	char size[TEXT_SIZE_MAX], each[TEXT_SIZE_MAX];

	if (growth->other) {
		sentence_say(sentence, "Process ");
		oom_say_process(sentence, growth->rank, growth->pid);
		sentence_say(sentence,
			     growth->each ? "%s holds %s more with every step"
					  : "%s holds more and more, %s more than at first",
			     growth->sleeps ? " sleeps and" : "",
			     text_bytes(each, growth->each ? growth->each : growth->bytes));
	} else {
		sentence_say(sentence, "%s is kept, %s more with every %s", text_bytes(size, growth->bytes),
			     text_bytes(each, growth->each), oom_growth_part(growth));
	}
	if (*growth->place) {
		sentence_say(sentence, growth->other && growth->there < growth->in_use ? ", most of it by " : ", by ");
		say_growing_places(sentence, growth, 1);
		if (growth->other)
			sentence_say(sentence, ", which has %s by now", text_bytes(size, growth->there));
	}
	say_capture(sentence, oom);
	sentence_say(sentence, ".");
}

void oom_say_before(struct sentence *sentence, const struct oom *oom, int briefly)
{
	const struct oom_before *before = &oom->before;
	char size[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];

	if (!before->bytes || oom->should_sleep || oom->rule != OOM_LARGEST || !oom->place ||
	    oom->place->process != before->process)
		return;
	sentence_say(sentence, " When ");
	oom_say_process(sentence, oom->it->rank, oom->it->pid);
	sentence_say(sentence, " woke up before,%s, ", text_at(time, before->time));
	oom_say_process(sentence, before->rank, before->pid);
	sentence_say(sentence, " had %s less", text_bytes(size, before->bytes));
	if (*before->function) {
		sentence_say(sentence, "; since then, and not before, ");
		answer_say_place(sentence, before->function, before->place);
		sentence_say(sentence, " has run");
	}
	if (*before->function && !briefly)
		sentence_say(sentence, before->brought ? ", and has brought this back: %s" : ": see what keeps it, %s",
			     oom_since_remedy(oom));
	sentence_say(sentence, ".");
}

/* " Before, that of pid 4200 slept whenever f (x.py:1) ran (1 sleep), and whenever rank 0 computed (2 sleeps); it woke up at 9.0 s." */
static void say_habit(struct sentence *sentence, const struct oom *oom)
{
	const struct slept *slept = &oom->slept;
	int computed = oom_is_computed(oom->it->phase);
	char count[64], time[TEXT_SIZE_MAX];

	sentence_say(sentence, " Before, that of ");
	oom_say_process(sentence, slept->rank, slept->pid);
	sentence_say(sentence, " slept whenever ");
	if (slept->calls) {
		answer_say_place(sentence, slept->function, slept->place);
		sentence_say(sentence, " ran (%s)%s", text_count(count, sizeof(count), slept->calls, "sleep"),
			     slept->works ? ", and whenever " : "");
	}
	if (slept->works) {
		oom_say_process(sentence, oom->it->rank, oom->it->pid);
		sentence_say(sentence, " %s%s (%s)", computed ? "was in " : "computed", computed ? oom->it->phase : "",
			     text_count(count, sizeof(count), slept->works, "sleep"));
	}
	sentence_say(sentence, "; it woke up%s", text_at(time, slept->since));
	if (*slept->function && !slept->calls) {
		sentence_say(sentence, ", and was awake beside ");
		answer_say_place(sentence, slept->function, slept->place);
	}
	sentence_say(sentence, ".");
}

void oom_say_slept(struct sentence *sentence, const struct oom *oom, int briefly)
{
	const struct slept *slept = &oom->slept;
	char size[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];

	if (!oom->should_sleep)
		return;
	if (!briefly && (slept->calls || slept->works))
		say_habit(sentence, oom);
	if (!slept->leaves)
		return;
	sentence_say(sentence, " %s of ", text_bytes(size, slept->leaves));
	oom_say_process(sentence, slept->rank, slept->pid);
	sentence_say(sentence, " went %s after this request.", text_time(time, slept->late));
}

/* The call by its name: whoever asks is in it, or goes into it. */
void oom_sleep_remedy(const struct oom *oom, char *out, size_t room)
{
	const struct slept *slept = &oom->slept;
	char bytes[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX], call[TEXT_SIZE_MAX + 400] = "this", who[TEXT_SIZE_MAX];

	if (*slept->function)
		snprintf(call, sizeof(call), "%.120s (%.80s)", slept->function, slept->place);
	if (slept->leaves)
		snprintf(out, room,
			 "wait before %s until the release of pid %lld is through (a barrier of all ranks after it, or look at the free memory of "
			 "the GPU until it is there): it came too late, %s went %s after the request; no size has to change",
			 call, (long long)slept->pid, text_bytes(bytes, slept->leaves), text_time(time, slept->late));
	else
		snprintf(out, room,
			 "let the engine (pid %lld), or its cache at least, sleep before %s, as it did before, whenever %s %s (see who woke it up too "
			 "early, or did not have it sleep)",
			 (long long)slept->pid, call,
			 slept->calls ? "that" : answer_process(who, oom->it->rank, oom->it->pid),
			 slept->calls ? "ran" : "computed");
}

void oom_say_reload(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	if (!oom->reload.bytes)
		return;
	sentence_say(sentence, "%s of optimizer state was made by ", text_bytes(size, oom->reload.bytes));
	answer_say_place(sentence, oom->reload.function, oom->reload.place);
	sentence_say(sentence, " in the same load. ");
}

void oom_say_unsharded(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_unsharded *unsharded = &oom->unsharded;

	if (!unsharded->bytes)
		return;
	sentence_say(sentence, ", gathered");
	if (*unsharded->place) {
		sentence_say(sentence, " for ");
		answer_say_place(sentence, unsharded->function, unsharded->place);
	}
	sentence_say(sentence, " before the last %s, and never sharded again",
		     unsharded->by_step ? "step of the optimizer" : "two forwards");
}

void oom_say_beside(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	if (!oom->beside.bytes || oom->rule != OOM_LARGEST || oom->waits || oom_is_others(oom))
		return;
	sentence_say(sentence, " Beside it, ");
	oom_say_process(sentence, oom->beside.rank, oom->beside.pid);
	sentence_say(sentence,
		     " has %s of weights, and does not compute now: on the host meanwhile, or on a GPU of its own, it would not be in "
		     "the way, and that would have been enough.",
		     text_bytes(size, oom->beside.bytes));
}

void oom_say_idle(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence, "%s of weights, made by ", text_bytes(size, oom->idle_model.bytes));
	answer_say_place(sentence, oom->idle_model.function, oom->idle_model.place);
	sentence_say(sentence, ", have computed nothing since the first backward (no code of %s did)",
		     oom->idle_model.package);
}

/* What is frozen keeps as much as what is trained, unless it is told. */
int oom_has_apart(const struct oom *oom)
{
	return *oom->apart && !oom->by_asker && !oom->alone;
}

void oom_say_apart(struct sentence *sentence, const struct oom *oom)
{
	sentence_say(sentence, "If nothing below ");
	sentence_say_clean(sentence, oom->apart);
	sentence_say(sentence, " is trained, run it within torch.no_grad(), and it keeps none of that.");
}

/* `how`: " made by " */
static void say_made_by(struct sentence *sentence, const struct oom_again *again, const char *how)
{
	sentence_say(sentence, "%s", how);
	answer_say_place(sentence, again->function, again->place);
	if (*again->caller_place) {
		sentence_say(sentence, ", called from ");
		answer_say_place(sentence, again->caller, again->caller_place);
	}
}

/* "5.0 GiB is probably of 5 earlier models that are still there (1.2 GiB of weights, 2.5 GiB of optimizer state), made by f (x.py:1), as .." */
static void say_earlier_models(struct sentence *sentence, const struct oom_again *again)
{
	const struct {
		enum mt_category category;
		uint64_t bytes;
	} part[] = { { MT_CATEGORY_WEIGHTS, again->weights },
		     { MT_CATEGORY_GRADIENTS, again->gradients },
		     { MT_CATEGORY_OPTIMIZER_STATE, again->states } };
	char size[TEXT_SIZE_MAX], count[64];
	size_t i;

	sentence_say(sentence, "%s is probably of %s that %s still there", text_bytes(size, again->bytes),
		     text_count(count, sizeof(count), again->count, "earlier model"), again->count == 1 ? "is" : "are");
	for (i = 0; i < MT_ARRAY_SIZE(part); i++)
		if (part[i].bytes)
			sentence_say(sentence, "%s%s of %s", i ? ", " : " (", text_bytes(size, part[i].bytes),
				     mt_category_name(part[i].category));
	sentence_say(sentence, "),");
	say_made_by(sentence, again, " made by ");
	sentence_say(sentence, ", as the newest was, and trained before that");
}

/* "4.7 GiB in 120 pieces was made by forward (conv.py:423), called from validation_step (train.py:55), in forwards before this one" */
void oom_say_again(struct sentence *sentence, const struct oom *oom)
{
	static const char *const rest[] = { [OOM_AGAIN_NONE] = "",
					    [OOM_AGAIN_EARLIER] = ", in forwards before this one",
					    [OOM_AGAIN_GRAPHS] = "",
					    [OOM_AGAIN_NARROW] = "",
					    [OOM_AGAIN_MODELS] = " by now, in the middle of the run",
					    [OOM_AGAIN_TRAINED] = "" };
	const struct oom_again *again = &oom->again;
	char size[TEXT_SIZE_MAX], count[64];

	if (again->kind == OOM_AGAIN_TRAINED) {
		say_earlier_models(sentence, again);
		return;
	}
	sentence_say(sentence, "%s in %s of ", text_bytes(size, again->bytes),
		     text_count(count, sizeof(count), again->count, "piece"));
	if (again->kind == OOM_AGAIN_GRAPHS)
		sentence_say(sentence,
			     "what is in use is of the %s before this one, for which no backward has come, most",
			     text_count(count, sizeof(count), again->forwards, "forward"));
	else
		sentence_say(sentence, "%s", again->kind == OOM_AGAIN_MODELS ? "weights was" : "what is in use was");
	say_made_by(sentence, again, again->kind == OOM_AGAIN_GRAPHS ? " by " : " made by ");
	sentence_say(sentence, "%s", rest[again->kind]);
}

/* "9.9 GiB in 10 pieces, 88% of what is in use, is ONNX Runtime's" */
void oom_say_library(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_library *library = &oom->library;
	char size[TEXT_SIZE_MAX], count[64], share[TEXT_SIZE_MAX];

	sentence_say(sentence,
		     "%s in %s, %s of what is in use, is %s's, which takes it from the driver itself, and no setting of PyTorch moves it",
		     text_bytes(size, library->bytes), text_count(count, sizeof(count), library->count, "piece"),
		     text_percent(share, library->bytes, oom->in_use), oom_library_name(library->owner));
}

#define UNSEEN_RISE 2 /* one part in so many of it came while the process ran */

void oom_say_unseen(struct sentence *sentence, const struct oom *oom)
{
	char size[2][TEXT_SIZE_MAX];

	sentence_say(sentence,
		     "%s of the GPU is this process's and in no recorded call of CUDA's, beside its context and code",
		     text_bytes(size[0], oom->unseen.bytes));
	if (oom->unseen.first <= oom->unseen.bytes - oom->unseen.bytes / UNSEEN_RISE)
		sentence_say(sentence, "; when it was first looked at, it was %s",
			     text_bytes(size[1], oom->unseen.first));
}

#define IDLERS 2 /* one is somebody's mistake, and no reason */

int oom_has_idlers(const struct oom *oom)
{
	return oom->rule == OOM_UNRECORDED && oom->idlers.count >= IDLERS && oom->idlers.bytes >= oom->rule_bytes / 2;
}

/* "24 other recorded processes (pid 4201 and more) have allocated nothing on this GPU, and 12.2 GiB of it: a CUDA context each" */
void oom_say_idlers(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX], count[64];

	sentence_say(sentence,
		     "%s (pid %lld and more) have %s of the GPU, and have allocated nothing there: a CUDA context each",
		     text_count(count, sizeof(count), oom->idlers.count, "other recorded process"),
		     (long long)oom->idlers.pid, text_bytes(size, oom->idlers.bytes));
}

#define CROWD 4 /* a trainer and an engine are no crowd */

int oom_is_crowded(const struct oom *oom)
{
	return oom->rule == OOM_UNRECORDED && oom->crowd.count >= CROWD && oom->crowd.bytes >= oom->rule_bytes / 2;
}

/* "28 recorded processes are at work on this GPU, and their CUDA contexts have 11.0 GiB of it, 400.0 MiB each" */
void oom_say_crowd(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX], each[TEXT_SIZE_MAX], count[64];

	sentence_say(sentence, "%s are at work on this GPU, and their CUDA contexts have %s of it, %s each",
		     text_count(count, sizeof(count), oom->crowd.count, "recorded process"),
		     text_bytes(size, oom->crowd.bytes), text_bytes(each, oom->crowd.bytes / oom->crowd.count));
}

int oom_is_copy_in_the_way(const struct oom *oom)
{
	static const enum mt_phase trains[] = { MT_PHASE_FORWARD, MT_PHASE_BACKWARD, MT_PHASE_OPTIMIZER };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(trains); i++)
		if (!strcmp(oom->it->phase, mt_phase_name(trains[i])))
			return oom->copy.bytes >= oom_missing(oom->it) && !oom_is_others(oom) && !oom->evaluates;
	return 0;
}

int oom_copy_leads(const struct oom *oom)
{
	return oom->rule == OOM_FRAGMENTATION && oom->copy.alike && oom_is_copy_in_the_way(oom) &&
	       oom->copy.bytes > oom->rule_bytes;
}

const char *oom_copy_remedy(const struct oom *oom)
{
	if (*oom->copy.first)
		return "let it go to the host while the other is trained (the offload of a reference, if it is one)";
	if (*oom->copy.keeper_place)
		return "keep it on the host, or on another device, and update it there";
	return "let it go to the host while the other is trained, or to another device (a moving average can be updated there, too)";
}

/* "what is trained: a second copy, a moving average by the name of g (ema.py:42)" */
static void say_twin(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_copy *copy = &oom->copy;

	if (*copy->first)
		sentence_say(sentence, "those of %s: a second copy", copy->first);
	else
		sentence_say(sentence, "what is trained: %sa second copy", *copy->keeper_place ? "" : "probably ");
	if (!*copy->keeper_place)
		return;
	sentence_say(sentence, ", a moving average by the name of ");
	answer_say_place(sentence, copy->keeper, copy->keeper_place);
}

void oom_say_copy(struct sentence *sentence, const struct oom *oom)
{
	const struct oom_copy *copy = &oom->copy;
	int of_weights = !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_WEIGHTS));
	int in_the_way = oom_is_copy_in_the_way(oom);
	char size[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX];

	if (!copy->alike || (!of_weights && !in_the_way))
		return;
	sentence_say(sentence, "%s of the %s of weights were made by ", text_bytes(size, copy->bytes),
		     text_bytes(all, copy->all));
	answer_say_place(sentence, copy->function, copy->place);
	sentence_say(sentence, ", as many and as large as ");
	say_twin(sentence, oom);
	if (in_the_way && (!of_weights || !*copy->first))
		sentence_say(sentence, "; %s, that would have been enough. ", oom_copy_remedy(oom));
	else
		sentence_say(sentence, ", see that something uses it. ");
}

void oom_say_wider(struct sentence *sentence, const struct oom *oom)
{
	char size[TEXT_SIZE_MAX];

	sentence_say(sentence, "The request is twice as large as weights that are there, %s by ",
		     text_bytes(size, oom->wider_bytes));
	answer_say_place(sentence, oom->wider_function, oom->wider_place);
	sentence_say(sentence,
		     ": probably the same in elements of twice the bytes (float32 for 16 bits). Leave them in theirs, or change them "
		     "on the host.");
}

void oom_say_same(struct sentence *sentence, const struct oom *oom, int briefly)
{
	const struct oom_same *same = &oom->same;
	char size[TEXT_SIZE_MAX];

	if (!same->count)
		return;
	sentence_say(sentence, "%llu tensors ", (unsigned long long)same->count);
	sentence_say(sentence, same->wider > 1 ? "that probably have as many elements" : "as large as the request");
	sentence_say(sentence, " are there already, %s, made by ", text_bytes(size, same->bytes));
	answer_say_place(sentence, same->function, same->place);
	if (*same->next_place) {
		sentence_say(sentence, " and ");
		answer_say_place(sentence, same->next, same->next_place);
	}
	if (!briefly && !oom->logits.tokens && !oom_samples_beside_cache(oom)) /* else it is said what to do */
		sentence_say(sentence, ": each copy, cast or softmax is one more, so keep fewer at once, or have less "
				       "in each");
	sentence_say(sentence, ".");
}

void oom_say_clone(struct sentence *sentence, const struct oom *oom, int briefly)
{
	const struct oom_clone *clone = &oom->clone;
	char times[64];

	if (!clone->bytes)
		return;
	sentence_say(sentence, "It is probably a copy of what ");
	answer_say_place(sentence, clone->function, clone->place);
	if (*clone->caller) {
		sentence_say(sentence, ", called from ");
		answer_say_place(sentence, clone->caller, clone->caller_place);
	}
	sentence_say(sentence, ", has just made");
	if (briefly)
		sentence_say(sentence, ". ");
	else
		sentence_say(sentence,
			     ": that is as large, and %s before it went as soon as the copy was there. So do not copy it: %s, or take a "
			     "version that does. ",
			     text_count(times, sizeof(times), clone->pairs, "time"), oom_special_remedy(oom));
}

#define MOST_OF_IT 3 /* but for one part in so many */
#define SOME_OF_IT 20

void oom_say_whose_most(struct sentence *sentence, const struct oom *oom, const char *category, uint64_t bytes)
{
	const struct oom_holder *most = NULL;
	uint64_t all = 0, own, largest = 0;
	char size[TEXT_SIZE_MAX];
	size_t i;

	for (i = 0; i < oom->holders; i++) {
		own = oom_bytes_of(oom, oom->holder[i].process, category, -1);
		all += own;
		most = own > largest ? &oom->holder[i] : most;
		largest = own > largest ? own : largest;
	}
	/* Those that are one process's are told as that. */
	if (!most || all != bytes || largest < all - all / MOST_OF_IT || largest > all - all / SOME_OF_IT)
		return;
	sentence_say(sentence, ", %s of it ", text_bytes(size, largest));
	if (most->process == oom->it->process)
		sentence_say(sentence, "this process's own");
	else
		sentence_say(sentence, "pid %lld's", (long long)most->pid);
}
