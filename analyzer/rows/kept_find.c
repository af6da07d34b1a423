/* The moment that is kept, when all events are known. */
#include "kept_impl.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define OTHERS_MOST 256u /* handles that are alive and not mapped; each is looked for among all mappings */

void kept_moment_release(struct kept_moment *moment)
{
	free(moment->life);
	free(moment->sum);
	free(moment->mapping);
	memset(moment, 0, sizeof(*moment));
}

/* ---- which moment ---- */

/* The newest request that failed for good, else the newest that had its memory after all. NULL: none failed. */
static const struct analysis_oom *newest_failure(const struct analysis *analysis)
{
	uint32_t i;

	for (i = analysis->ooms; i--;)
		if (!analysis->oom[i].had)
			return &analysis->oom[i];
	return analysis->ooms ? &analysis->oom[analysis->ooms - 1] : NULL;
}

static uint32_t fullest(const struct analysis *analysis)
{
	uint32_t found = UINT32_MAX, i;

	for (i = 0; i < analysis->devices; i++)
		if (analysis->device[i].used && (found == UINT32_MAX || kept_is_fuller(analysis, i, found)))
			found = i;
	return found;
}

/* The moment that memana oom will ask for; KEPT_MOMENTS: it was not noted, or was given up. */
static int choose(const struct kept *kept)
{
	const struct analysis *analysis = kept->analysis;
	const struct analysis_oom *oom = newest_failure(analysis);
	uint32_t device = oom ? oom->device : fullest(analysis);
	uint64_t seq = oom ? oom->seq : device < analysis->devices ? analysis->device[device].peak.seq : 0;
	int which = !oom ? KEPT_PEAK : oom->kind == MT_TENSOR_OOM ? KEPT_TENSOR_OOM : KEPT_DRIVER_FAIL;
	const struct kept_at *at = &kept->at[which];

	return at->set && at->device == device && at->seq == seq ? which : KEPT_MOMENTS;
}

/* ---- the reference ---- */

struct finding {
	const struct kept *kept;
	const struct analysis_oom *oom; /* NULL: the peak */
	enum kept_which which;
	const struct kept_at *at;
	struct kept_moment *moment;
};

static int is_alive(const struct kept_life *life, uint64_t seq)
{
	return life->seq <= seq && life->gone_seq > seq;
}

static uint32_t node_of(const struct finding *find, uint32_t site)
{
	return find->kept->analysis->attribution.site[site].key.stack;
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
	const struct kept_life *life = kept->life, *end = life + kept->lives;
	struct place_call *call = malloc((kept->lives + 1) * sizeof(*call));

	for (*calls = 0; call && life < end; life++)
		if (life->bytes && life->seq < find->at->seq && node_of(find, life->site) == find->oom->stack)
			call[(*calls)++] = (struct place_call){ (int64_t)life->seq, life->time };
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

	for (slot = kept->slot; slot < kept->slot + kept->slots; slot++)
		if (slot->site && node_of(find, slot->site) == find->oom->stack)
			count += kept_deaths_at(slot, kept, find->which)->count;
	for (i = 0; i < kept->lives; i++)
		count += is_alive(&kept->life[i], find->at->seq) &&
			 node_of(find, kept->life[i].site) == find->oom->stack;
	return count;
}

/* The spans from event `from` on, up to that of the request; the caller frees. NULL: out of memory. */
static struct call_span *find_spans(const struct finding *find, uint64_t from, size_t *spans)
{
	const struct kept *kept = find->kept;
	struct call_span *span = malloc((kept->spans + 1) * sizeof(*span));
	size_t i;

	for (*spans = i = 0; span && i < kept->spans; i++)
		if ((uint64_t)kept->span[i].of.first_seq >= from &&
		    (uint64_t)kept->span[i].of.first_seq <= find->at->seq)
			span[(*spans)++] = kept->span[i].of;
	return span;
}

static void take_reference(struct finding *find, enum kept_before before, uint64_t seq, int64_t time)
{
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
	const struct kept *kept = find->kept;
	const struct kept_life *slept;
	uint64_t lost = find->at->lost > kept->spans_lost ? find->at->lost : kept->spans_lost;
	size_t calls = 0, spans = 0, index;
	struct place_call *call = find_calls(find, &calls);
	int matches = 0, wakes = 0, all = call && !kept->spans_lost && calls == count_calls(find),
	    certain = -MT_E_MEMORY;
	struct call_span *span = find_spans(find, all ? 0 : lost + 1, &spans);

	/* The waking of a tensor counts as a call, too. */
	for (slept = kept->slept; slept < kept->slept + kept->sleepers; slept++)
		wakes |= node_of(find, slept->site) == find->oom->stack;
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

/* 1; 0: the reference is older than what is known; -MT_E_MEMORY. */
static int find_reference(struct finding *find)
{
	const struct kept_at *at = find->at;
	int certain = find->oom && find->oom->stack ? find_same_place(find) : 1;

	if (certain > 0 && find->moment->before == KEPT_NO_BEFORE && at->has_step_before) {
		take_reference(find, KEPT_STEP_BEFORE, at->step_before_seq, at->step_before_time);
		certain = at->step_before_seq >= at->lost;
	}
	return certain;
}

/* ---- lives ---- */

static int by_birth(const void *a, const void *b)
{
	const struct kept_life *one = a, *two = b;

	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

static int is_here(const struct finding *find, const struct kept_life *life)
{
	return find->kept->analysis->attribution.site[life->site].key.device == find->moment->device;
}

/* The life by itself, or what is told of it beside, among the sorted lives. */
static void take_newest(struct kept_moment *moment, uint32_t lives, const struct kept_life *newest)
{
	struct kept_life *found = bsearch(newest, moment->life, lives, sizeof(*newest), by_birth);

	if (found && found->site == newest->site)
		found->free_node = newest->free_node;
	else if (newest->seq && !newest->slept)
		moment->life[moment->lives++] = *newest;
}

static int take_lives(struct finding *find)
{
	const struct kept *kept = find->kept;
	struct kept_moment *moment = find->moment;
	size_t i, count = 0;

	for (i = 0; i < kept->lives; i++)
		count += is_alive(&kept->life[i], moment->seq) && is_here(find, &kept->life[i]);
	moment->life = malloc((count + kept->sleepers + 2) * sizeof(*moment->life));
	if (!moment->life || count > UINT32_MAX)
		return -MT_E_MEMORY;
	for (i = 0; i < kept->lives; i++)
		if (is_alive(&kept->life[i], moment->seq) && is_here(find, &kept->life[i]))
			moment->life[moment->lives++] = kept->life[i];
	qsort(moment->life, moment->lives, sizeof(*moment->life), by_birth);
	if (kept->sleepers)
		memcpy(moment->life + count, kept->slept, kept->sleepers * sizeof(*kept->slept));
	moment->lives += (uint32_t)kept->sleepers;
	take_newest(moment, (uint32_t)count, &kept->newest);
	take_newest(moment, (uint32_t)count, &kept->given_back);
	return 0;
}

/* ---- sums ---- */

/* The sums of all kinds of lives that count, in the order of the table's slots: *number has the number of each, and 1. */
static int begin_sums(struct finding *find, uint32_t *number)
{
	const struct kept *kept = find->kept;
	const struct kept_deaths *deaths;
	struct kept_moment *moment = find->moment;
	const struct kept_slot *slot;
	uint64_t earlier;
	size_t i;

	moment->sum = calloc(kept->used + 1, sizeof(*moment->sum));
	if (!moment->sum)
		return -MT_E_MEMORY;
	for (i = 0; i < kept->slots; i++) {
		slot = &kept->slot[i];
		if (!slot->site || !(slot->kind & KEPT_COUNTS))
			continue;
		deaths = kept_deaths_at(slot, kept, find->which);
		earlier = deaths->late_step < find->at->step && deaths->largest_late > deaths->largest_earlier
				  ? deaths->largest_late
				  : deaths->largest_earlier;
		moment->sum[moment->sums] = (struct kept_sum){
			.site = slot->site,
			.died = (slot->kind & KEPT_DIED) != 0,
			.home = (slot->kind & KEPT_HOME) != 0,
			.tensors_inside = (slot->kind & KEPT_INSIDE) != 0,
			.made = deaths->count,
			.freed = deaths->count,
			.freed_home = deaths->home_count,
			.first_seq = deaths->first_seq,
			.last_seq = deaths->last_seq,
			.largest = kept->analysis->process[0].steps ? earlier : deaths->largest,
		};
		number[i] = ++moment->sums;
	}
	return 0;
}

/* A life that is alive at the moment, and not on its device. */
static void add_elsewhere(struct kept_sum *sum, const struct kept_life *life, const struct finding *find)
{
	sum->made++;
	if (!sum->first_seq || life->seq < sum->first_seq)
		sum->first_seq = life->seq;
	if (life->seq > sum->last_seq)
		sum->last_seq = life->seq;
	if (find->kept->analysis->process[0].steps && life->step < find->at->step && life->bytes > sum->largest)
		sum->largest = life->bytes;
}

static void add_life(const struct finding *find, const struct kept_life *life, struct kept_sum *sum)
{
	const struct kept_moment *moment = find->moment;
	int here = is_here(find, life);

	if (is_alive(life, moment->seq) && !here)
		add_elsewhere(sum, life, find);
	if (here && moment->before != KEPT_NO_BEFORE && life->gone_seq <= moment->seq &&
	    is_alive(life, moment->before_seq)) {
		sum->before_bytes += life->bytes;
		sum->before_count++;
	}
}

static int take_sums(struct finding *find)
{
	const struct kept *kept = find->kept;
	uint32_t *number = calloc(kept->slots + 1, sizeof(*number));
	int error = number ? begin_sums(find, number) : -MT_E_MEMORY;
	const struct kept_life *life;
	const struct kept_slot *slot;

	for (life = kept->life; !error && life < kept->life + kept->lives; life++) {
		slot = kept_slot_of(kept->slot, kept->slots, life->site, kept_kind(life));
		if (slot->kind & KEPT_COUNTS)
			add_life(find, life, &find->moment->sum[number[slot - kept->slot] - 1]);
	}
	free(number);
	return error;
}

/* ---- mappings ---- */

static int by_map(const void *a, const void *b)
{
	const struct kept_mapping *one = a, *two = b;

	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

static int by_handle(const void *a, const void *b)
{
	const uint64_t *one = a, *two = b;

	return *one < *two ? -1 : *one > *two;
}

/* A mapping of the handle, of any time. NULL: none is known. */
static const struct kept_mapping *any_mapping(const struct kept *kept, uint64_t handle)
{
	size_t i;

	for (i = kept->mappings; i--;)
		if (kept->mapping[i].handle == handle)
			return &kept->mapping[i];
	return NULL;
}

/* `handle`: the handles of the mappings at the moment, sorted. 1; 0: a handle was mapped, and its mappings are not known. */
static int take_others(struct finding *find, const uint64_t *handle)
{
	struct kept_moment *moment = find->moment;
	const struct kept_mapping *mapping;
	size_t there = moment->mappings, looked = 0;
	const struct kept_life *life;

	for (life = moment->life; life < moment->life + moment->lives; life++) {
		if (!is_alive(life, moment->seq) || !life->is_handle || !life->tensors_inside ||
		    bsearch(&life->address, handle, there, sizeof(*handle), by_handle))
			continue;
		mapping = looked++ < OTHERS_MOST ? any_mapping(find->kept, life->address) : NULL;
		if (!mapping)
			return 0;
		moment->mapping[moment->mappings++] = *mapping;
	}
	return 1;
}

/* 1; 0: not all are known; -MT_E_MEMORY. */
static int take_mappings(struct finding *find)
{
	const struct kept *kept = find->kept;
	struct kept_moment *moment = find->moment;
	uint64_t *handle = malloc((kept->mappings + 1) * sizeof(*handle));
	const struct kept_mapping *mapping, *end = kept->mapping + kept->mappings;
	int known = -MT_E_MEMORY;

	moment->mapping = malloc((kept->mappings + OTHERS_MOST + 1) * sizeof(*moment->mapping));
	if (handle && moment->mapping) {
		for (mapping = kept->mapping; mapping < end; mapping++)
			if (mapping->seq <= moment->seq && mapping->gone_seq > moment->seq) {
				handle[moment->mappings] = mapping->handle;
				moment->mapping[moment->mappings++] = *mapping;
			}
		qsort(handle, moment->mappings, sizeof(*handle), by_handle);
		known = take_others(find, handle);
		qsort(moment->mapping, moment->mappings, sizeof(*moment->mapping), by_map);
	}
	free(handle);
	return known;
}

int kept_find(const struct kept *kept, struct kept_moment *moment)
{
	struct finding find = { .kept = kept, .moment = moment };
	int which = kept->none ? KEPT_MOMENTS : choose(kept), known;

	memset(moment, 0, sizeof(*moment));
	if (which == KEPT_MOMENTS)
		return 0;
	find.which = (enum kept_which)which;
	find.at = &kept->at[which];
	find.oom = which == KEPT_PEAK ? NULL : newest_failure(kept->analysis);
	moment->device = find.at->device;
	moment->seq = find.at->seq;
	known = find_reference(&find);
	if (known > 0 && (take_lives(&find) || take_sums(&find)))
		known = -MT_E_MEMORY;
	if (known > 0)
		known = take_mappings(&find);
	if (known <= 0)
		kept_moment_release(moment);
	else
		moment->there = 1;
	return known < 0 ? known : 0;
}
