/* Finds the kept moment when all events are known. */
#include "kept_impl.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define OTHERS_MOST 256u /* live handles without a mapping; each costs a search in all mappings */

void kept_moment_release(struct kept_moment *moment)
{
	free(moment->life);
	free(moment->sum);
	free(moment->mapping);
	free(moment->passed);
	memset(moment, 0, sizeof(*moment));
}

/* ---- which moment ---- */

/*
 * Returns the request that the answer is about: the newest that failed for good, else the newest that succeeded on a later try. NULL: no request
 * failed.
 */
static const struct analysis_oom *failure_of(const struct kept *kept)
{
	const struct analysis *analysis = kept->analysis;
	uint32_t i;

	if (kept->failure)
		return kept->failure <= analysis->ooms ? &analysis->oom[kept->failure - 1] : NULL;
	for (i = analysis->ooms; i--;)
		if (!analysis->oom[i].had)
			return &analysis->oom[i];
	return analysis->ooms ? &analysis->oom[analysis->ooms - 1] : NULL;
}

static uint32_t fullest(const struct kept *kept)
{
	const struct analysis *analysis = kept->analysis;
	uint32_t found = UINT32_MAX, i;

	for (i = 0; i < analysis->devices; i++)
		if (analysis->device[i].used && kept_may_be(kept, &analysis->device[i]) &&
		    (found == UINT32_MAX || kept_is_fuller(analysis, i, found)))
			found = i;
	return found;
}

/* Finds the event and the device of the moment. 0: none. */
static int asked(const struct kept *kept, struct kept_when *when, uint32_t *device)
{
	const struct analysis *analysis = kept->analysis;
	const struct analysis_oom *oom = failure_of(kept);

	*device = oom ? oom->device : fullest(kept);
	if (*device >= analysis->devices)
		return 0;
	when->process = oom ? oom->process : analysis->device[*device].peak.process;
	when->seq = oom ? oom->seq : analysis->device[*device].peak.seq;
	return 1;
}

int kept_asked(const struct analysis *analysis, struct kept_when *when)
{
	uint32_t device;

	return asked(&(struct kept){ .analysis = analysis }, when, &device);
}

/* Returns the moment that memana oom asks for; KEPT_MOMENTS: not noted, or given up. */
static int choose(const struct kept *kept)
{
	const struct analysis_oom *oom = failure_of(kept);
	int which = !oom ? KEPT_PEAK : oom->kind == MT_TENSOR_OOM ? KEPT_TENSOR_OOM : KEPT_DRIVER_FAIL;
	const struct kept_at *at = &kept->at[which];
	struct kept_when when;
	uint32_t device;

	if (!asked(kept, &when, &device) || !at->set || at->device != device)
		return KEPT_MOMENTS;
	return at->when.seq == when.seq && at->when.process == when.process ? which : KEPT_MOMENTS;
}

/* ---- the reference ---- */

struct finding {
	const struct kept *kept;
	const struct analysis_oom *oom; /* NULL: the peak */
	enum kept_which which;
	const struct kept_at *at;
	const struct kept_process *process; /* the process that reached the moment, */
	const struct analysis_process *owner;
	int64_t early_time; /* and the begin of its step: earlier births of other processes count as births of earlier steps */
	struct kept_when before;
	uint32_t *number;       /* by slot: the number of its sum */
	struct kept_when *peer; /* moments of other ranks, by process; process i has peers[i] to peers[i + 1] */
	size_t *peers;          /* by process: index of its first moment in `peer` */
	struct kept_moment *moment;
};

/* Calls `each` for all lives, including lives that never end. */
static void each_life(struct finding *find, void (*each)(struct finding *find, const struct kept_life *life))
{
	const struct kept *kept = find->kept;
	size_t i;

	for (i = 0; i < kept->lives.count; i++)
		each(find, &kept->life[i]);
	for (i = 0; i < kept->stays.count; i++)
		each(find, &kept->stay[i]);
}

static int is_there(const struct finding *find, const struct kept_life *life)
{
	return kept_is_alive(find->kept, life, &find->at->when);
}

/* Whether the site's stack is at the place of the request. */
static int is_asker(const struct finding *find, uint32_t site)
{
	const struct site_key *key = &find->kept->analysis->attribution.site[site].key;

	return key->stack == find->oom->stack && key->process == find->at->when.process;
}

static int by_seq(const void *a, const void *b)
{
	const struct place_call *one = a, *two = b;

	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

/* The known calls of the requesting place, oldest first; the caller frees. NULL: out of memory. */
static struct place_call *find_calls(const struct finding *find, size_t *calls)
{
	const struct kept *kept = find->kept;
	size_t lives = kept->lives.count + kept->stays.count, i;
	struct place_call *call = malloc((lives + 1) * sizeof(*call));
	const struct kept_life *life;

	*calls = 0;
	for (i = 0; call && i < lives; i++) {
		life = i < kept->lives.count ? &kept->life[i] : &kept->stay[i - kept->lives.count];
		if (life->bytes && is_asker(find, life->site) && life->seq < find->at->when.seq)
			call[(*calls)++] = (struct place_call){ (int64_t)life->seq, life->time };
	}
	if (call)
		qsort(call, *calls, sizeof(*call), by_seq);
	return call;
}

/* All calls of the requesting place before the request. */
static uint64_t count_calls(const struct finding *find)
{
	const struct kept *kept = find->kept;
	const struct kept_slot *slot;
	uint64_t count = 0;
	size_t i;

	for (slot = kept->slot; slot < kept->slot + kept->slots.count; slot++)
		if (is_asker(find, slot->site))
			count += kept_deaths_at(slot, kept, find->which)->count;
	for (i = 0; i < kept->lives.count; i++)
		count += is_asker(find, kept->life[i].site) && is_there(find, &kept->life[i]);
	for (i = 0; i < kept->stays.count; i++)
		count += is_asker(find, kept->stay[i].site) && is_there(find, &kept->stay[i]);
	return count;
}

/* The spans of the process after `from`, up to that of the request; the caller frees. NULL: out of memory. */
static struct call_span *find_spans(const struct finding *find, const struct kept_when *from, size_t *spans)
{
	const struct kept *kept = find->kept;
	struct call_span *span = malloc((kept->spans.count + 1) * sizeof(*span));
	const struct kept_span *it;
	struct kept_when begin;
	size_t i;

	for (*spans = i = 0; span && i < kept->spans.count; i++) {
		it = &kept->span[i];
		begin = (struct kept_when){ it->first_time, it->process, (uint64_t)it->of.first_seq };
		if (it->process == find->at->when.process && begin.seq > find->process->spans_lost &&
		    begin.seq <= find->at->when.seq && kept_is_later(&begin, from))
			span[(*spans)++] = it->of;
	}
	return span;
}

static void take_reference(struct finding *find, enum kept_before before, uint64_t seq, int64_t time)
{
	find->before = (struct kept_when){ time, find->at->when.process, seq };
	find->moment->before = before;
	find->moment->before_seq = seq;
	find->moment->before_time = time;
}

/*
 * The matching call of the same place. Only a match is certain if older calls or spans are not known. 1: certain; 0: not;
 * -MT_E_MEMORY.
 */
static int find_same_place(struct finding *find)
{
	static const struct kept_when begin = { .time = INT64_MIN };
	const struct kept *kept = find->kept;
	size_t calls = 0, spans = 0, index, i;
	struct place_call *call = find_calls(find, &calls);
	int matches = 0, wakes = 0, all = call && !find->process->spans_lost && calls == count_calls(find),
	    certain = -MT_E_MEMORY;
	struct call_span *span = find_spans(find, all ? &begin : &find->at->lost, &spans);

	/* A tensor that wakes up counts as a call of its place. */
	for (i = 0; i < kept->sleepers.count; i++)
		wakes |= is_asker(find, kept->slept[i].site);
	if (call && span && wakes)
		certain = 0;
	else if (call && span) {
		index = same_call(span, spans, call, calls, &matches);
		certain = all || matches;
		if (certain && index != SAME_CALL_NONE)
			take_reference(find, KEPT_SAME_PLACE, (uint64_t)call[index].seq - 1, call[index].time);
	}
	free(call);
	free(span);
	return certain;
}

/* The first span of the step. NULL: none is known. */
static const struct kept_begin *begin_of(const struct kept_process *process, uint32_t step)
{
	size_t low = 0, high = process->begins, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (process->begin[middle].step < step)
			low = middle + 1;
		else
			high = middle;
	}
	return low < process->begins && process->begin[low].step == step ? &process->begin[low] : NULL;
}

static int is_higher_step(const struct kept_step *one, const struct kept_step *two)
{
	if (one->level.bytes != two->level.bytes || one->level.tensors != two->level.tensors)
		return analysis_is_higher(one->level, two->level);
	if (one->when.time != two->when.time)
		return one->when.time < two->when.time;
	return one->process < two->process;
}

/* Returns the peak of the device in the step, over all processes that worked in the step. NULL: none. */
static const struct kept_step *highest_in(const struct kept *kept, uint32_t device, uint32_t number)
{
	const struct kept_step *step, *highest = NULL;

	for (step = kept->step; step < kept->step + kept->steps.count; step++)
		if (step->device == device && step->step == number && begin_of(&kept->process[step->process], number) &&
		    (!highest || is_higher_step(step, highest)))
			highest = step;
	return highest;
}

/* Takes the peak of the step before as reference. 1; 0: unknown. */
static int find_step_before(struct finding *find)
{
	uint32_t before = find->at->step - 1;
	const struct kept_step *step;

	if (!find->at->step)
		return 1;
	if (!kept_has_step_before(find->kept, find->at))
		return 0;
	step = highest_in(find->kept, find->at->device, before);
	if (step && step->when.process == find->at->when.process)
		take_reference(find, KEPT_STEP_BEFORE, step->when.seq, step->when.time);
	return 1;
}

/* Finds the reference of the moment. 1; 0: the reference is older than the kept lives, or later than the moment; -MT_E_MEMORY. */
static int find_reference(struct finding *find)
{
	int certain = find->oom && find->oom->stack ? find_same_place(find) : 1;

	if (certain > 0 && find->moment->before == KEPT_NO_BEFORE) {
		certain = find_step_before(find);
		if (find->moment->before != KEPT_NO_BEFORE)
			certain = !kept_is_later(&find->at->lost, &find->before) &&
				  !kept_is_later(&find->before, &find->at->when);
	}
	return certain;
}

/* Finds the begin of the step. 1; 0: unknown, though the run has steps and other processes and needs it. */
static int find_early_time(struct finding *find)
{
	const struct kept_begin *begin = begin_of(find->process, find->at->step);

	find->early_time = begin ? begin->time : 0;
	return begin || !find->owner->steps || find->kept->processes == 1;
}

/* ---- other ranks ---- */

static int is_other_rank(const struct finding *find, uint32_t process)
{
	int32_t rank = find->kept->analysis->process[process].info->rank;

	return find->owner->info->rank >= 0 && rank >= 0 && rank != find->owner->info->rank;
}

static void add_peer(struct finding *find, size_t *count, int64_t time, uint32_t process, uint64_t seq)
{
	find->peer[(*count)++] = (struct kept_when){ time, process, seq };
}

/* Adds two moments of another rank: the end of its process, and the peak of its GPU in the step. 1; 0: some lives at the peak are unknown. */
static int find_peer(struct finding *find, uint32_t process, size_t *count)
{
	const struct kept *kept = find->kept;
	const struct analysis *analysis = kept->analysis;
	const struct kept_step *step;
	size_t first = *count;
	uint32_t i, user;
	int known = 1;

	for (i = 0; i < analysis->devices; i++) {
		const struct analysis_device *device = &analysis->device[i];

		for (user = 0; user < device->users && device->user[user] != process; user++)
			;
		if (i == find->at->device || device->kind != MT_DEVICE_CUDA || user == device->users)
			continue;
		if (*count == first)
			add_peer(find, count, analysis->process[process].last_time, process,
				 analysis->process[process].last_seq);
		step = highest_in(kept, i, find->at->step);
		if (!step || step->when.process != process)
			continue;
		known &= !kept_is_later(&kept->lost, &step->when);
		add_peer(find, count, step->when.time, process, step->when.seq);
	}
	return known;
}

/* 1; 0: some figures are unknown; -MT_E_MEMORY. */
static int find_peers(struct finding *find)
{
	const struct analysis *analysis = find->kept->analysis;
	size_t most = 0, count = 0;
	int known = !find->kept->steps_lost || find->kept->steps_lost < find->at->step;
	uint32_t i;

	if (analysis->processes == 1)
		return 1;
	for (i = 0; i < analysis->devices; i++)
		most += analysis->device[i].users;
	find->peer = malloc((2 * most + 1) * sizeof(*find->peer));
	find->peers = calloc((size_t)analysis->processes + 1, sizeof(*find->peers));
	if (!find->peer || !find->peers)
		return -MT_E_MEMORY;
	for (i = 0; i < analysis->processes; i++) {
		find->peers[i] = count;
		if (is_other_rank(find, i))
			known &= find_peer(find, i, &count);
	}
	find->peers[i] = count;
	return known || !count;
}

/* Whether another rank had the allocation alive at one of its moments. */
static int is_peers(const struct finding *find, const struct kept_life *life)
{
	uint32_t process = kept_process_of(find->kept, life);
	size_t i;

	for (i = find->peers ? find->peers[process] : 0; find->peers && i < find->peers[process + 1]; i++)
		if (kept_is_alive(find->kept, life, &find->peer[i]))
			return 1;
	return 0;
}

/* ---- lives ---- */

static int by_birth(const void *a, const void *b)
{
	const struct kept_life *one = a, *two = b;

	if (one->seq != two->seq)
		return one->seq < two->seq ? -1 : 1;
	return (one->site > two->site) - (one->site < two->site);
}

static int is_here(const struct finding *find, const struct kept_life *life)
{
	return find->kept->analysis->attribution.site[life->site].key.device == find->moment->device;
}

static void take_life(struct finding *find, const struct kept_life *life)
{
	if ((is_here(find, life) && is_there(find, life)) || is_peers(find, life))
		find->moment->life[find->moment->lives++] = *life;
}

/* Adds the newest life of a process. If the sorted lives have it already, only its free stack is added. */
static void take_newest(struct kept_moment *moment, uint32_t lives, const struct kept_life *newest)
{
	struct kept_life *found = bsearch(newest, moment->life, lives, sizeof(*newest), by_birth);

	if (found)
		found->free_node = newest->free_node;
	else if (newest->seq && !newest->slept)
		moment->life[moment->lives++] = *newest;
}

static int take_lives(struct finding *find)
{
	const struct kept *kept = find->kept;
	struct kept_moment *moment = find->moment;
	size_t most = kept->lives.count + kept->stays.count + kept->sleepers.count + 2 * (size_t)kept->processes;
	uint32_t here, i;

	if (most > UINT32_MAX)
		return -MT_E_MEMORY;
	moment->life = malloc(most * sizeof(*moment->life));
	if (!moment->life)
		return -MT_E_MEMORY;
	each_life(find, take_life);
	here = moment->lives;
	qsort(moment->life, here, sizeof(*moment->life), by_birth);
	if (kept->sleepers.count)
		memcpy(moment->life + here, kept->slept, kept->sleepers.count * sizeof(*kept->slept));
	moment->lives += (uint32_t)kept->sleepers.count;
	for (i = 0; i < kept->processes; i++) {
		take_newest(moment, here, &kept->process[i].newest);
		take_newest(moment, here, &kept->process[i].given_back);
	}
	return 0;
}

/* ---- sums ---- */

/* Returns the bytes of the largest allocation before the step of the moment. Sets *known to 0 if unknown. */
static uint64_t largest_earlier(const struct finding *find, uint32_t process, const struct kept_deaths *deaths,
				int *known)
{
	uint32_t i = deaths->stairs.count;

	if (!find->owner->steps)
		return deaths->largest;
	if (process == find->at->when.process)
		return deaths->late_step < find->at->step && deaths->largest_late > deaths->largest_earlier
			       ? deaths->largest_late
			       : deaths->largest_earlier;
	while (i && deaths->stairs.stair[i - 1].time >= find->early_time)
		i--;
	*known &= i || !deaths->stairs.lost;
	return i ? deaths->stairs.stair[i - 1].bytes : 0;
}

static struct kept_sum sum_of(const struct finding *find, const struct kept_slot *slot, int *known)
{
	const struct kept_deaths *deaths = kept_deaths_at(slot, find->kept, find->which);
	uint32_t process = find->kept->analysis->attribution.site[slot->site].key.process;

	return (struct kept_sum){
		.site = slot->site,
		.died = (slot->kind & KEPT_DIED) != 0,
		.home = (slot->kind & KEPT_HOME) != 0,
		.tensors_inside = (slot->kind & KEPT_INSIDE) != 0,
		.made = deaths->count,
		.freed = deaths->count,
		.freed_home = deaths->home_count,
		.largest = largest_earlier(find, process, deaths, known),
		.births = slot->births,
		.most = slot->most,
		.least = slot->least,
	};
}

/* Counts an allocation before the moment that has no death and no row: it is on another device, or its process has ended. */
static void add_birth(struct kept_sum *sum, const struct kept_life *life, const struct finding *find)
{
	int is_own = kept_process_of(find->kept, life) == find->at->when.process;

	sum->made++;
	if (find->owner->steps && (is_own ? life->step < find->at->step : life->time < find->early_time) &&
	    life->bytes > sum->largest)
		sum->largest = life->bytes;
}

/* Adds a life to the sum of its site and kind, if the kind counts as memory in use. */
static void add_life(struct finding *find, const struct kept_life *life)
{
	const struct kept *kept = find->kept;
	const struct kept_slot *slot = kept_slot_of(kept, life->site, kept_kind(life));
	struct kept_sum *sum;
	struct kept_when birth = kept_birth(kept, life);
	int here = is_here(find, life), there = is_there(find, life);

	if (!slot || !(slot->kind & KEPT_COUNTS))
		return;
	sum = &find->moment->sum[find->number[slot - kept->slot]];
	if ((there && !here) || (!there && life->gone_seq == KEPT_STAYS && !kept_is_later(&birth, &find->at->when)))
		add_birth(sum, life, find);
	if (here && !there && find->moment->before != KEPT_NO_BEFORE && kept_is_alive(kept, life, &find->before)) {
		sum->before_bytes += life->bytes;
		sum->before_count++;
	}
}

/* Makes the sums in the order of the slots; find->number has the number of each. 1; 0: some figures are unknown; -MT_E_MEMORY. */
static int take_sums(struct finding *find)
{
	const struct kept *kept = find->kept;
	struct kept_moment *moment = find->moment;
	int known = -MT_E_MEMORY;
	size_t i;

	find->number = calloc(kept->slots.count + 1, sizeof(*find->number));
	moment->sum = calloc(kept->slots.count + 1, sizeof(*moment->sum));
	if (find->number && moment->sum) {
		known = 1;
		for (i = 0; i < kept->slots.count; i++) {
			if (!(kept->slot[i].kind & KEPT_COUNTS))
				continue;
			find->number[i] = moment->sums;
			moment->sum[moment->sums++] = sum_of(find, &kept->slot[i], &known);
		}
		each_life(find, add_life);
	}
	free(find->number);
	return known;
}

/* ---- mappings ---- */

static int by_map(const void *a, const void *b)
{
	const struct kept_mapping *one = a, *two = b;

	if (one->seq != two->seq)
		return one->seq < two->seq ? -1 : 1;
	return (one->process > two->process) - (one->process < two->process);
}

/* A handle of physical memory in its process. */
struct handle {
	uint64_t handle;
	uint32_t process;
};

static int by_handle(const void *a, const void *b)
{
	const struct handle *one = a, *two = b;

	if (one->handle != two->handle)
		return one->handle < two->handle ? -1 : 1;
	return (one->process > two->process) - (one->process < two->process);
}

/* A mapping of the handle, of any time. NULL: none is known. */
static const struct kept_mapping *any_mapping(const struct kept *kept, const struct handle *handle)
{
	size_t i;

	for (i = kept->mappings.count; i--;)
		if (kept->mapping[i].handle == handle->handle && kept->mapping[i].process == handle->process)
			return &kept->mapping[i];
	return NULL;
}

/*
 * Adds a mapping for each live handle that has none at the moment. `handle`: handles of the mappings at the moment, sorted. 1; 0: a handle was
 * mapped, and no mapping is known.
 */
static int take_others(struct finding *find, const struct handle *handle)
{
	struct kept_moment *moment = find->moment;
	const struct kept_mapping *mapping;
	size_t there = moment->mappings, looked = 0;
	const struct kept_life *life;
	struct handle own;

	for (life = moment->life; life < moment->life + moment->lives; life++) {
		own = (struct handle){ life->address, kept_process_of(find->kept, life) };
		if (!is_there(find, life) || !life->is_handle || !life->tensors_inside ||
		    bsearch(&own, handle, there, sizeof(*handle), by_handle))
			continue;
		mapping = looked++ < OTHERS_MOST ? any_mapping(find->kept, &own) : NULL;
		if (!mapping)
			return 0;
		moment->mapping[moment->mappings++] = *mapping;
	}
	return 1;
}

/* 1; 0: some mappings are unknown; -MT_E_MEMORY. */
static int take_mappings(struct finding *find)
{
	const struct kept *kept = find->kept;
	struct kept_moment *moment = find->moment;
	size_t mappings = kept->mappings.count;
	struct handle *handle = malloc((mappings + 1) * sizeof(*handle));
	const struct kept_mapping *mapping;
	int known = -MT_E_MEMORY;

	moment->mapping = malloc((mappings + OTHERS_MOST + 1) * sizeof(*moment->mapping));
	if (handle && moment->mapping) {
		for (mapping = kept->mapping; mapping < kept->mapping + mappings; mapping++)
			if (kept_is_mapped(kept, mapping, &find->at->when)) {
				handle[moment->mappings] = (struct handle){ mapping->handle, mapping->process };
				moment->mapping[moment->mappings++] = *mapping;
			}
		qsort(handle, moment->mappings, sizeof(*handle), by_handle);
		known = take_others(find, handle);
		qsort(moment->mapping, moment->mappings, sizeof(*moment->mapping), by_map);
	}
	free(handle);
	return known;
}

/* 1; 0: some figures are unknown; -MT_E_MEMORY. */
static int fill(struct finding *find)
{
	int known = find_reference(find);

	if (known > 0)
		known = find_early_time(find);
	if (known > 0)
		known = find_peers(find);
	if (known > 0)
		known = take_lives(find) ? -MT_E_MEMORY : take_sums(find);
	if (known > 0)
		known = take_mappings(find);
	if (known > 0 && kept_find_advice(find->kept, find->at, find->oom != NULL, find->moment))
		known = -MT_E_MEMORY;
	return known;
}

int kept_find(struct kept *kept, struct kept_moment *moment)
{
	struct finding find = { .kept = kept, .moment = moment };
	int which = kept->none ? KEPT_MOMENTS : choose(kept), known;

	memset(moment, 0, sizeof(*moment));
	if (which == KEPT_MOMENTS)
		return 0;
	kept_note_logged(kept);
	find.which = (enum kept_which)which;
	find.at = &kept->at[which];
	find.oom = which == KEPT_PEAK ? NULL : failure_of(kept);
	find.process = &kept->process[find.at->when.process];
	find.owner = &kept->analysis->process[find.at->when.process];
	moment->device = find.at->device;
	moment->process = find.at->when.process;
	moment->seq = find.at->when.seq;
	moment->oom = find.oom ? (uint32_t)(find.oom - kept->analysis->oom) + 1 : 0;
	known = fill(&find);
	free(find.peer);
	free(find.peers);
	if (known <= 0)
		kept_moment_release(moment);
	else
		moment->there = 1;
	return known < 0 ? known : 0;
}
