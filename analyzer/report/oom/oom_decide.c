/* The rules of a failed request, tried against each other. */
#include "oom_decide.h"

#include <string.h>
#include "memtrace/base.h"
#include "oom_left.h"
#include "oom_neighbour.h"
#include "oom_size.h"
#include "oom_turn.h"
#include "report/steps/figures.h"

#define SHARE 20 /* of the device: less than one part in so many is no reason that others would stand back for */
#define LITTLE_SHARE 100 /* of the device: less than one part in so many is idle everywhere */
#define PIECES_SHARE 32  /* what an allocator has in pieces of itself: sizes are rounded, segments not full */
#define SLEEP_SHARE 10
#define RANKS_MANY 2  /* beside the one that asked: one may be an engine's, which belongs there */
#define MORE 2        /* so many times as much: whatever else there is, it is first */
#define NEARLY 8      /* one part in so many less is nearly as much */
#define PLACE_SHARE 4 /* a place is worth naming from one part of a category in so many on */

static int is_own(const struct oom *oom, const struct oom_holder *holder)
{
	return holder->process == oom->it->process;
}

static void find_unrecorded(struct oom *oom)
{
	uint64_t known = 0;
	size_t i;

	for (i = 0; i < oom->holders; i++)
		if (!is_own(oom, &oom->holder[i]))
			known += oom->holder[i].held;
	if (oom->it->others > 0 && (uint64_t)oom->it->others > known)
		oom->unrecorded = (uint64_t)oom->it->others - known;
	/* What seemed to be free was not: the rest of it was somebody's. */
	if (!strcmp(oom->it->free_by, "bound") && oom->it->free > 0 && (uint64_t)oom->it->free > oom->it->requested &&
	    (uint64_t)oom->it->free - oom->it->requested > oom->unrecorded)
		oom->unrecorded = (uint64_t)oom->it->free - oom->it->requested;
}

static void blame(struct oom *oom, enum oom_rule rule, const struct oom_holder *holder, uint64_t bytes)
{
	oom->rule = rule;
	oom->rule_pid = holder->pid;
	oom->rule_rank = holder->rank;
	oom->rule_bytes = bytes;
}

static uint64_t own_bytes(const struct oom *oom, const char *category)
{
	return oom_bytes_of(oom, oom->it->process, category, -1);
}

/* What comes and goes, or comes late, and has settings of its own: weights and activations are always there. */
static int is_of_the_moment(const char *category)
{
	static const enum mt_category kinds[] = { MT_CATEGORY_OPTIMIZER_STATE, MT_CATEGORY_LOGITS,
						  MT_CATEGORY_KV_CACHE,        MT_CATEGORY_GRAPHS,
						  MT_CATEGORY_WEIGHT_BUFFERS,  MT_CATEGORY_GATHER_BUFFERS,
						  MT_CATEGORY_WORKSPACE };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(kinds); i++)
		if (!strcmp(category, mt_category_name(kinds[i])))
			return 1;
	return 0;
}

/* ---- what the moment alone tells ---- */

/*
 * PyTorch gives its empty segments back before it gives up. For a library that asks the driver itself it does not: nobody
 * tells it.
 */
static int cache_starves_it(struct oom *oom)
{
	size_t i;

	if (strcmp(oom->it->source, "driver") || oom->survived)
		return 0;
	for (i = 0; i < oom->holders; i++)
		if (is_own(oom, &oom->holder[i]) && oom->holder[i].idle >= oom_missing(oom->it) &&
		    oom->holder[i].idle >=
			    oom->before.bytes) { /* else it woke up beside less, and has such a cache always */
			blame(oom, OOM_IDLE_CACHE, &oom->holder[i], oom->holder[i].idle);
			return 1;
		}
	return 0;
}

/*
 * Of empty segments first; what it has in segments with something in them it cannot give back by itself. The little that every allocator
 * has idle would do for this request, perhaps, and not for the next.
 */
static int neighbour_has_it(struct oom *oom)
{
	const uint64_t little = oom->it->total / LITTLE_SHARE, missing = oom_missing(oom->it),
		       least = missing > little ? missing : little;
	const struct oom_holder *idlest = NULL, *most = NULL, *holder;
	size_t i;

	for (i = 0; i < oom->holders; i++) {
		holder = &oom->holder[i];
		if (is_own(oom, holder))
			continue;
		idlest = !idlest || holder->idle > idlest->idle ? holder : idlest;
		most = !most || holder->slack > most->slack ? holder : most;
	}
	if (idlest && idlest->idle >= least) {
		blame(oom, OOM_NEIGHBOUR, idlest, idlest->idle);
		return 1;
	}
	if (!most || most->slack < least)
		return 0;
	blame(oom, OOM_NEIGHBOUR, most, most->slack);
	oom->pinned = 1;
	return 1;
}

/*
 * A hole that is large enough was not for this request: another pool's, or another stream's. What every allocator has in
 * pieces would perhaps have done for this request, and not for the next.
 */
static int is_in_pieces(const struct oom *oom)
{
	const struct oom_failure *it = oom->it;
	int from_driver = !strcmp(it->source, "driver");

	if (oom->own_slack < oom_missing(it) || (!from_driver && oom->hole >= it->requested))
		return 0;
	return oom->own_slack >= it->total / SHARE ||
	       (oom->own_slack >= it->requested && (from_driver || oom->own_slack >= it->total / PIECES_SHARE));
}

/*
 * What the request is for, and comes and goes, is more than whoever was not recorded has: foreach's copies of all weights beside a
 * process of before.
 */
static int takes_more(const struct oom *oom)
{
	return is_of_the_moment(oom->it->category) && !strcmp(oom->it->source, "tensor") &&
	       own_bytes(oom, oom->it->category) >= MORE * oom->unrecorded;
}

/* 1: it tells something. */
static int decide_by_moment(struct oom *oom)
{
	const struct oom_failure *it = oom->it;

	oom->rule_bytes = it->requested;
	if (it->total && it->requested > it->total) {
		oom->rule = OOM_TOO_LARGE;
	} else if (cache_starves_it(oom) || neighbour_has_it(oom)) {
		return 1;
	} else if (oom->unrecorded >= oom_missing(it) && oom->unrecorded > it->total / SHARE && !takes_more(oom)) {
		oom->unseen.bytes = 0;
		oom->rule = OOM_UNRECORDED;
		oom->rule_bytes = oom->unrecorded;
	} else if (oom->unseen.bytes) {
		oom->rule = OOM_UNRECORDED;
		oom->rule_bytes = oom->unseen.bytes;
	} else if (is_in_pieces(oom)) {
		oom->rule = OOM_FRAGMENTATION;
		oom->rule_bytes = oom->own_slack;
	} else {
		return 0;
	}
	return 1;
}

/* ---- growth ---- */

/* What the process has grown by since its second step, as a whole. 1, 0 or an error. */
static int grows_as_a_whole(struct oom *oom, struct db *db, uint64_t *by, uint64_t *slope)
{
	const struct steps_lane *lane;
	struct growth_figures figures;
	size_t i;
	int error = growth_figures_load(&figures, db, GROWTH_STEPS), growing = 0;

	for (i = 0; i < figures.steps.count && !error; i++) {
		lane = &figures.steps.lane[i];
		if (lane->process != oom->it->process || lane->device != oom->it->device ||
		    lane->state != GROWTH_GROWING)
			continue;
		growing = 1;
		*by = lane->row[lane->ended - 1].in_use - lane->row[1].in_use;
		*slope = lane->each;
	}
	growth_figures_release(&figures);
	return error ? error : growing;
}

/* The other process that has grown most; NULL: none has grown by what is missing. */
static const struct oom_holder *growing_neighbour(const struct oom *oom)
{
	const struct oom_holder *most = NULL, *holder;
	size_t i;

	for (i = 0; i < oom->holders; i++) {
		holder = &oom->holder[i];
		if (!is_own(oom, holder) && holder->grown >= oom_missing(oom->it) &&
		    (!most || holder->grown > most->grown))
			most = holder;
	}
	return most;
}

static int take_neighbour(struct oom *oom, struct db *db, const struct oom_holder *holder)
{
	blame(oom, OOM_RETAINED, holder, holder->grown);
	oom->growth = (struct oom_growth){ .pid = holder->pid,
					   .rank = holder->rank,
					   .other = 1,
					   .sleeps = holder->asleep != 0,
					   .bytes = holder->grown,
					   .in_use = holder->staying,
					   .each = holder->each,
					   .places = 1,
					   .by_step = 1 };
	return oom_find_grown_place(oom, db, holder);
}

/*
 * Places that grow, or at least the whole, by more than `other`, which is another reason; of the process that asked, or of
 * one beside it: one that sleeps should have nothing that grows. 1, 0 or an error.
 */
static int grows(struct oom *oom, struct db *db, uint64_t other)
{
	/* Before the first step ranks that do the same in the same place load their model, on one device by mistake. */
	int load = oom->rule == OOM_RANKS && !oom->it->steps;
	const struct oom_holder *neighbour = load ? NULL : growing_neighbour(oom);
	uint64_t by = 0, each = 0;
	int growing = oom_find_growth(oom, db), error;

	if (!growing)
		growing = oom_find_course(oom, db);
	if (growing > 0)
		by = each = oom->growth.bytes;
	else if (!growing)
		growing = grows_as_a_whole(oom, db, &by, &each);
	if (growing < 0)
		return growing;
	if (neighbour && neighbour->grown > other && (neighbour->asleep || neighbour->grown > by)) {
		error = take_neighbour(oom, db, neighbour);
		return error ? error : 1;
	}
	if (!growing || by <= other) {
		oom->growth = (struct oom_growth){ 0 };
		return 0;
	}
	oom->rule = OOM_RETAINED;
	oom->rule_pid = oom->it->pid;
	oom->rule_rank = oom->it->rank;
	oom->rule_bytes = each;
	return 1;
}

/* ---- what there is most of ---- */

/* It asked for still more of the same; of pieces, as what is one will not come twice. */
static int asks_for_more(const struct oom *oom, const struct oom_part *part)
{
	return part->process == oom->it->process && part->count > 1 && !strcmp(part->function, oom->it->function) &&
	       !strcmp(part->place, oom->it->place);
}

/*
 * The place that keeps most of a category, of one process or (0) of any, where that is a good part of `bytes`; or the one that
 * asked, where it keeps nearly as much.
 */
static const struct oom_part *place_of(const struct oom *oom, const char *category, int64_t process, uint64_t bytes)
{
	const struct oom_part *part, *most = NULL;
	size_t i;

	for (i = 0; i < oom->parts; i++) { /* most first */
		part = &oom->part[i];
		if (strcmp(part->category, category) || (process && part->process != process))
			continue;
		if (!most && (!*part->place || part->bytes < bytes / PLACE_SHARE))
			return NULL;
		most = most ? most : part;
		if (part->bytes < most->bytes - most->bytes / NEARLY)
			break;
		if (asks_for_more(oom, part))
			return part;
	}
	return most;
}

/* A process that sleeps, and what it keeps all the same would have been enough. */
static int sleeper_has_it(struct oom *oom)
{
	const struct oom_holder *most = NULL, *holder;
	uint64_t most_of_it = 0;
	size_t i;

	for (i = 0; i < oom->holders; i++) {
		holder = &oom->holder[i];
		if (!is_own(oom, holder) && holder->asleep && (!most || holder->staying > most->staying))
			most = holder;
	}
	if (!most || most->staying < oom_missing(oom->it) || most->staying < oom->it->total / SLEEP_SHARE)
		return 0;
	blame(oom, OOM_SLEEPER, most, most->staying);
	for (i = 0; i < oom->parts; i++)
		if (oom->part[i].process == most->process && oom->part[i].bytes > most_of_it) {
			most_of_it = oom->part[i].bytes;
			oom->place = &oom->part[i];
		}
	return 1;
}

/*
 * One of all ranks on a device belongs there. Who says "cuda" or names a GPU means that of the lowest rank of the host nearly always;
 * another one has as much there, so the sum is the same.
 */
static int64_t rank_at_home(const struct oom *oom)
{
	int64_t rank = oom->it->rank;
	size_t i;

	for (i = 0; i < oom->holders; i++)
		rank = oom->holder[i].rank < rank ? oom->holder[i].rank : rank;
	/* Who computes there has come to stay. */
	return strcmp(oom->it->phase, mt_phase_name(MT_PHASE_INIT)) ? oom->it->rank : rank;
}

/* Of a process, or of any (0) but the rank at home; NULL: there is none. */
static const struct oom_part *most_of(const struct oom *oom, int64_t process, int64_t home)
{
	size_t i;

	for (i = 0; i < oom->parts; i++) /* most first */
		if (process ? oom->part[i].process == process
			    : oom->part[i].process != oom->it->process && oom->part[i].rank != home)
			return &oom->part[i];
	return NULL;
}

/* Other ranks that are on the device, too, and all for the same reason: what they have would have been enough. */
static int ranks_have_it(struct oom *oom)
{
	const struct oom_part *most, *first = NULL;
	uint64_t bytes = 0, elsewhere = 0, strangers = 0, ranks = 0;
	int64_t home = rank_at_home(oom);
	size_t i;

	for (i = 0; i < oom->holders; i++) {
		if (is_own(oom, &oom->holder[i]))
			continue;
		elsewhere += oom->holder[i].rank != home ? oom->holder[i].staying : 0;
		strangers += oom->holder[i].rank != home;
		if (oom->holder[i].rank < 0 || oom->it->rank < 0 || oom->holder[i].rank == oom->it->rank)
			return 0;
		most = most_of(oom, oom->holder[i].process, home);
		if (!most || (first && strcmp(first->function, most->function)))
			return 0;
		first = first ? first : most;
		bytes += oom->holder[i].staying;
		ranks++;
	}
	if (ranks < RANKS_MANY || bytes < oom_missing(oom->it) || !most_of(oom, 0, home))
		return 0;
	blame(oom, OOM_RANKS, &oom->holder[0], elsewhere);
	oom->strangers = strangers;
	oom->ranks_there = bytes;
	oom->at_home = home == oom->it->rank;
	oom->place = most_of(oom, 0, home);
	return 1;
}

static void take_category(struct oom *oom, const char *category, uint64_t bytes, int64_t process)
{
	mt_copy_text(oom->rule_category, sizeof(oom->rule_category), category);
	oom->rule = OOM_LARGEST;
	oom->rule_bytes = bytes;
	oom->place = place_of(oom, category, process, bytes);
}

/* What no step needs, more of it than any `other` reason has, and enough. 1, 0 or an error. */
static int is_left_over(struct oom *oom, struct db *db, uint64_t other)
{
	struct oom_left left;
	int found = oom_find_left(oom, db, other, &left);

	if (found <= 0)
		return found;
	take_category(oom, left.category, left.bytes, oom->it->process);
	if (left.place)
		oom->place = left.place;
	oom->left_over = 1;
	return 1;
}

/* Earlier models of the process that asked: what was found of them decides. */
static void take_earlier(struct oom *oom)
{
	const struct oom_again *again = &oom->again;
	enum mt_category most = again->states > again->gradients ? MT_CATEGORY_OPTIMIZER_STATE : MT_CATEGORY_GRADIENTS;

	if (again->weights >= again->states && again->weights >= again->gradients)
		most = MT_CATEGORY_WEIGHTS;
	mt_copy_text(oom->rule_category, sizeof(oom->rule_category), mt_category_name(most));
	oom->rule = OOM_LARGEST;
	oom->rule_bytes = again->bytes;
	oom->left_over = 1;
}

/* What another process keeps until its next training. 1, 0 or an error. */
static int states_wait(struct oom *oom, struct db *db)
{
	struct oom_waiting waiting;
	int waits = oom_find_waiting(oom, db, &waiting);

	if (waits <= 0)
		return waits;
	take_category(oom, waiting.category, waiting.bytes, waiting.process);
	oom->waits = 1;
	oom->left_over = !strcmp(waiting.category,
				 mt_category_name(MT_CATEGORY_GRADIENTS)); /* the next backward makes them anew */
	return 1;
}

/*
 * An engine that slept whenever the trainer had work, and is awake in the middle of a save: whatever there is most of, that is new. While
 * weights go to it, it has to be awake at least in part, unless the same call did without.
 */
static int should_sleep(struct oom *oom)
{
	static const enum mt_phase with_engine[] = { MT_PHASE_WEIGHT_UPDATE, MT_PHASE_ROLLOUT };
	const struct slept *slept = &oom->slept;
	int beside = 0;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(with_engine); i++)
		beside |= !strcmp(oom->it->phase, mt_phase_name(with_engine[i]));
	oom->should_sleep = slept->leaves || slept->calls || (slept->works && !beside);
	if (oom->should_sleep)
		take_category(oom, slept->category, slept->bytes, slept->process);
	return oom->should_sleep;
}

/* What was not there when it woke up the last time, where that is not what others have for it. 1 or 0. */
static int stays_since(struct oom *oom)
{
	const struct oom_before *before = &oom->before;

	if (before->category_bytes < oom_missing(oom->it) ||
	    !strcmp(before->category, mt_category_name(MT_CATEGORY_WEIGHT_BUFFERS)))
		return 0;
	take_category(oom, before->category, before->category_bytes, before->process);
	oom->waits = 1;
	oom->left_over = !strcmp(before->category, mt_category_name(MT_CATEGORY_GRADIENTS));
	return 1;
}

/*
 * NCCL makes its channels where a communicator is first used, cuBLAS its handle in a new thread: an engine that has taken all that
 * was free when it began has no 512 MiB for that.
 */
static int starves(const struct oom *oom)
{
	const char *category = oom->it->category;

	return !strcmp(oom->it->source, "driver") && *oom->asked_by && !*oom->waking &&
	       (!strcmp(category, mt_category_name(MT_CATEGORY_NCCL)) ||
		!strcmp(category, mt_category_name(MT_CATEGORY_WORKSPACE))) &&
	       oom->it->requested < oom->it->total / SHARE;
}

static void take_starved(struct oom *oom, const struct oom_sum *largest)
{
	const char *cache = mt_category_name(MT_CATEGORY_KV_CACHE);
	uint64_t cached = own_bytes(oom, cache);

	take_category(oom, oom->it->category, own_bytes(oom, oom->it->category), oom->it->process);
	oom->place = cached >= oom_missing(oom->it) ? place_of(oom, cache, oom->it->process, cached)
						    : place_of(oom, largest->word, 0, largest->bytes);
	oom->asked_for = oom->starved = 1;
}

/*
 * The request itself says more than what there is most of, where that is the same process's and was there before: who
 * captures graphs beside his weights has too little room for graphs.
 */
static int take_request(struct oom *oom, const struct oom_sum *largest)
{
	const char *category = oom->logits.tokens || oom->logits_gradient ? mt_category_name(MT_CATEGORY_LOGITS)
			       : *oom_wakes(oom)                          ? oom_wakes(oom)
									  : oom->it->category;
	uint64_t own = own_bytes(oom, category);

	if (!strcmp(category, mt_category_name(MT_CATEGORY_WORKSPACE)) && own < oom->it->total / SHARE)
		return 0; /* a little of it is everywhere */
	if (!is_of_the_moment(category) || !strcmp(category, largest->word) ||
	    own + oom->it->requested < 2 * oom_missing(oom->it) || own_bytes(oom, largest->word) < largest->bytes / 2)
		return 0;
	take_category(oom, category, own, oom->it->process);
	if (!own) /* the first of it: what is in its way */
		oom->place = place_of(oom, largest->word, oom->it->process, largest->bytes);
	oom->asked_for = 1;
	return 1;
}

/*
 * Outside of all phases it may be of what somebody gathers: eole pickled the state dicts of all ranks, and wanted their bytes at
 * once. But a model that comes back beside an engine is as large as it is.
 */
static int is_gathered(const struct oom *oom)
{
	const char *other = mt_category_name(MT_CATEGORY_OTHER);
	size_t i;

	for (i = 0; i < oom->holders; i++)
		if (!is_own(oom, &oom->holder[i]) && oom->holder[i].held >= oom_missing(oom->it))
			return 0;
	return !strcmp(oom->it->phase, mt_phase_name(MT_PHASE_OTHER)) && !strcmp(oom->it->category, other);
}

/* What a server computes has the room that its cache has left, whatever there is most of. */
static int take_crowded(struct oom *oom)
{
	const char *cache = mt_category_name(MT_CATEGORY_KV_CACHE);

	if (!oom->serves)
		return 0;
	take_category(oom, cache, own_bytes(oom, cache), oom->it->process);
	oom->crowded = 1;
	return 1;
}

/*
 * Who wakes up needs his own weights. Another process that has more of them, and as much as is missing, whatever parts they are in,
 * is in the way; 0: nobody is.
 */
static int64_t whose_weights(const struct oom *oom, const char *category)
{
	const struct oom_holder *most = NULL;
	uint64_t bytes, least = own_bytes(oom, category);
	size_t i;

	if (!*oom->waking || strcmp(category, mt_category_name(MT_CATEGORY_WEIGHTS)))
		return 0;
	least = least > oom_missing(oom->it) ? least : oom_missing(oom->it);
	for (i = 0; i < oom->holders; i++) {
		bytes = oom_bytes_of(oom, oom->holder[i].process, category, -1);
		if (!is_own(oom, &oom->holder[i]) && bytes >= least) {
			most = &oom->holder[i];
			least = bytes;
		}
	}
	return most ? most->process : 0;
}

static int take_largest(struct oom *oom, struct db *db)
{
	struct oom_sum sum[OOM_SUMS_MAX];
	int awake;

	if (!oom_sums(oom, OOM_BY_CATEGORY, sum)) {
		oom->rule = OOM_UNKNOWN;
		return 0;
	}
	if (take_crowded(oom))
		return 0;
	awake = oom_is_awake(oom, db, &sum[0]);
	if (awake >= 0 && starves(oom) && own_bytes(oom, sum[0].word) >= sum[0].bytes / 2) {
		take_starved(oom, &sum[0]);
		return 0;
	}
	if (awake < 0 || (!awake && take_request(oom, &sum[0])))
		return awake;
	oom->own_engine = awake;
	take_category(oom, sum[0].word, sum[0].bytes, whose_weights(oom, sum[0].word));
	oom->alone = !oom->logits.tokens && (oom_is_computed(oom->it->phase) || is_gathered(oom)) &&
		     !strcmp(oom->it->source, "tensor") && oom->it->requested > sum[0].bytes &&
		     oom->it->requested > oom_missing(oom->it);
	return 0;
}

/* No growth makes a request too large for the device; but it may have taken more than any other reason can give back. */
int oom_decide(struct oom *oom, struct db *db)
{
	int known, ranks, left = 0, earlier = 0, growing = 0, waiting = 0, error = 0;
	uint64_t other;

	error = oom_find_roles(oom, db);
	if (!error)
		error = oom_find_beside(oom, db);
	if (error)
		return error;
	find_unrecorded(oom);
	error = oom_find_unseen(oom, db);
	if (error)
		return error;
	known = decide_by_moment(oom);
	ranks = !known && ranks_have_it(oom);
	other = known || ranks ? oom->rule_bytes : 0;
	if (!known || oom->rule == OOM_FRAGMENTATION) {
		left = is_left_over(oom, db, other);
		earlier = left ? 0 : oom_find_trained(oom, db, other);
	}
	if (left || earlier < 0)
		return left < 0 ? left : earlier;
	/* Places of models that are made again and again grow, too, with what the newest has. */
	other = earlier ? 2 * oom->again.bytes : known ? oom->rule_bytes : 0;
	if (!known || oom->rule != OOM_TOO_LARGE)
		growing = grows(oom, db, other);
	if (growing > 0)
		oom->again = (struct oom_again){ .kind = OOM_AGAIN_NONE };
	else if (!growing && earlier)
		take_earlier(oom);
	if (growing || earlier)
		return growing < 0 ? growing : 0;
	left = known ? 0 : oom_find_again(oom, db);
	if (left)
		return left < 0 ? left : 0;
	if (!known || oom->rule == OOM_TOO_LARGE)
		error = oom_find_logits(oom, db);
	if (!known && !error && !oom->logits.tokens)
		error = oom_find_logits_gradient(oom, db);
	if (!known && !error)
		waiting = should_sleep(oom) || stays_since(oom) ? 1 : states_wait(oom, db);
	if (waiting)
		return waiting < 0 ? waiting : 0;
	if (!known && !error && (oom->logits.tokens || (!sleeper_has_it(oom) && !ranks_have_it(oom))))
		error = take_largest(oom, db);
	return error ? error : oom_find_sizes(oom, db);
}
