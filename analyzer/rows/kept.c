#include "kept_impl.h"

#include <stdlib.h>
#include <string.h>

#define LIVES_MOST (3u * KEPT_WINDOW)
#define SPANS_MOST 65536u
#define MAPPINGS_MOST (2u * KEPT_WINDOW)
#define SPACE_UNKNOWN 254u

void kept_give_up(struct kept *kept)
{
	kept->none = 1;
	free(kept->life);
	free(kept->slept);
	free(kept->mapping);
	free(kept->span);
	free(kept->slot);
	kept->life = kept->slept = NULL;
	kept->mapping = NULL;
	kept->span = NULL;
	kept->slot = NULL;
	kept->lives = kept->sleepers = kept->mappings = kept->spans = kept->slots = 0;
}

struct kept *kept_new(const struct analysis *analysis)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (kept)
		kept->analysis = analysis;
	return kept;
}

void kept_free(struct kept *kept)
{
	if (kept)
		kept_give_up(kept);
	free(kept);
}

/* The array with room for one more. NULL: out of memory, or there are `most`. */
static void *room_for(struct kept *kept, void *array, size_t count, size_t *room, size_t size, size_t most)
{
	size_t more = *room ? *room * 2 : 256;
	void *grown;

	if (count < *room)
		return array;
	more = more < most ? more : most;
	grown = count < most ? realloc(array, more * size) : NULL;
	if (grown)
		*room = more;
	else
		kept_give_up(kept);
	return grown;
}

/* ---- the log of deaths ---- */

static int is_needed(const struct kept_life *life, const struct kept_at *at)
{
	return at->set && (life->gone_seq > at->seq ? life->seq <= at->seq : life->gone_seq > at->lost);
}

/* Lets go what is older than the window and no moment needs. */
static void let_go(struct kept *kept)
{
	struct kept_life *life = kept->life;
	size_t old = kept->lives - KEPT_WINDOW, left = 0, i;
	int which, needed;

	kept->lost = life[old - 1].gone_seq;
	for (i = 0; i < kept->lives; i++) {
		needed = i >= old;
		for (which = 0; which < KEPT_MOMENTS && !needed; which++)
			needed = is_needed(&life[i], &kept->at[which]);
		if (needed)
			life[left++] = life[i];
	}
	kept->lives = left;
}

/* Moments that need more than the log has room for are given up. */
static void make_room(struct kept *kept)
{
	int which;

	let_go(kept);
	if (kept->lives <= LIVES_MOST - KEPT_WINDOW / 2)
		return;
	for (which = 0; which < KEPT_MOMENTS; which++)
		kept->at[which].set = 0;
	let_go(kept);
}

/* Survivors come at the end, and have the room that they take. */
static void log_life(struct kept *kept, const struct kept_life *life)
{
	int stays = life->gone_seq == KEPT_STAYS;
	struct kept_life *grown;

	if (kept->lives >= LIVES_MOST && !stays)
		make_room(kept);
	grown = room_for(kept, kept->life, kept->lives, &kept->life_room, sizeof(*life),
			 stays ? SIZE_MAX / sizeof(*life) : LIVES_MOST);
	if (!grown)
		return;
	kept->life = grown;
	grown[kept->lives++] = *life;
}

/* ---- sums of deaths ---- */

struct kept_slot *kept_slot_of(struct kept_slot *slot, size_t slots, uint32_t site, uint32_t kind)
{
	uint64_t hash = ((uint64_t)site << 4 | kind) * 0x9e3779b97f4a7c15ull;
	size_t at = (size_t)(hash >> 20) & (slots - 1);

	while (slot[at].site && (slot[at].site != site || slot[at].kind != kind))
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

static int grow(struct kept *kept)
{
	size_t slots = kept->slots ? 2 * kept->slots : 64, i;
	struct kept_slot *grown = calloc(slots, sizeof(*grown));

	if (!grown) {
		kept_give_up(kept);
		return -1;
	}
	for (i = 0; i < kept->slots; i++)
		if (kept->slot[i].site)
			*kept_slot_of(grown, slots, kept->slot[i].site, kept->slot[i].kind) = kept->slot[i];
	free(kept->slot);
	kept->slot = grown;
	kept->slots = slots;
	return 0;
}

/* The slot of the life's site and kind. NULL: out of memory. */
static struct kept_slot *enter_slot(struct kept *kept, const struct kept_life *life)
{
	uint32_t kind = kept_kind(life);
	struct kept_slot *slot;

	if (kept->used * 2 >= kept->slots && grow(kept))
		return NULL;
	slot = kept_slot_of(kept->slot, kept->slots, life->site, kind);
	kept->used += !slot->site;
	slot->site = life->site;
	slot->kind = kind;
	return slot;
}

/* The state at a moment is copied when the first death after it changes the slot. */
static void keep_state(const struct kept *kept, struct kept_slot *slot)
{
	int which;

	for (which = 0; which < KEPT_MOMENTS; which++) {
		if (slot->epoch[which] == kept->at[which].epoch)
			continue;
		slot->was[which] = slot->now;
		slot->epoch[which] = kept->at[which].epoch;
	}
}

static uint64_t larger(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static void note_size(struct kept_deaths *deaths, const struct kept_life *life)
{
	deaths->largest = larger(deaths->largest, life->bytes);
	if (life->step < life->gone_step) {
		deaths->largest_earlier = larger(deaths->largest_earlier, life->bytes);
		return;
	}
	if (deaths->late_step < life->step) {
		deaths->largest_earlier = larger(deaths->largest_earlier, deaths->largest_late);
		deaths->largest_late = 0;
		deaths->late_step = life->step;
	}
	deaths->largest_late = larger(deaths->largest_late, life->bytes);
}

static void note_death(struct kept_deaths *deaths, const struct kept_life *life)
{
	deaths->count++;
	deaths->home_count += life->gone_step == life->step;
	if (!deaths->first_seq || life->seq < deaths->first_seq)
		deaths->first_seq = life->seq;
	deaths->last_seq = larger(deaths->last_seq, life->seq);
	note_size(deaths, life);
}

/* ---- calls of the sink ---- */

static uint8_t space_of(const struct mt_live *live)
{
	if (live->kind == MT_TENSOR_ALLOC)
		return KEPT_TENSOR;
	return mt_space_name(live->flags) ? (uint8_t)live->flags : SPACE_UNKNOWN;
}

/* The newest birth and the newest memory that was given back tell the last place of a process. */
static void note_newest(struct kept *kept, const struct kept_life *life, uint32_t free_node)
{
	if (life->seq >= kept->newest.seq)
		kept->newest = *life;
	if (!free_node || life->space != MT_SPACE_DEVICE)
		return;
	kept->given_back = *life;
	kept->given_back.free_node = free_node;
}

/* Spans of a life can be counted one by one alone. */
static void keep_slept(struct kept *kept, const struct kept_life *life)
{
	struct kept_life *grown = room_for(kept, kept->slept, kept->sleepers, &kept->slept_room, sizeof(*life),
					   KEPT_WINDOW);

	if (!grown)
		return;
	kept->slept = grown;
	grown[kept->sleepers++] = *life;
}

void kept_gone(struct kept *kept, const struct mt_live *live, const struct mt_event *event, uint32_t step,
	       uint32_t free_node, int slept)
{
	const struct analysis_process *process = &kept->analysis->process[0];
	struct kept_life life = { .site = (uint32_t)live->tag,
				  .step = live->step,
				  .gone_step = step,
				  .space = space_of(live),
				  .home = event && kept->analysis->categories.home,
				  .tensors_inside = live->tensors_seen != 0,
				  .is_handle = live->kind == MT_VMM_CREATE,
				  .slept = slept != 0,
				  .seq = live->seq,
				  .gone_seq = event ? event->seq : KEPT_STAYS,
				  .bytes = live->size,
				  .address = live->addr,
				  .time = analysis_time(process, live->time),
				  .gone_time = event ? analysis_time(process, event->time) : 0 };
	struct kept_slot *slot;

	if (kept->none || !live->tag || live->tag >= kept->analysis->attribution.sites)
		return;
	note_newest(kept, &life, free_node);
	if (slept) {
		keep_slept(kept, &life);
		return;
	}
	slot = enter_slot(kept, &life);
	if (!slot)
		return;
	keep_state(kept, slot);
	if (event)
		note_death(&slot->now, &life);
	log_life(kept, &life);
}

/* Lets go the mappings that are older than the window and not there at a moment. */
static void let_go_mappings(struct kept *kept)
{
	struct kept_mapping *mapping = kept->mapping;
	size_t old = kept->mappings - KEPT_WINDOW, left = 0, i;
	const struct kept_at *at;
	int needed;

	for (i = 0; i < kept->mappings; i++) {
		needed = i >= old;
		for (at = kept->at; at < kept->at + KEPT_MOMENTS; at++)
			needed |= at->set && mapping[i].seq <= at->seq && mapping[i].gone_seq > at->seq;
		if (needed)
			mapping[left++] = mapping[i];
	}
	kept->mappings = left;
}

/* More mappings than there is room for, all of them needed, give up everything. */
void kept_unmapped(struct kept *kept, const struct mt_live *live, const struct mt_event *event)
{
	const struct analysis_process *process = &kept->analysis->process[0];
	struct kept_mapping *grown;

	if (kept->none)
		return;
	if (event && kept->mappings == MAPPINGS_MOST)
		let_go_mappings(kept);
	grown = room_for(kept, kept->mapping, kept->mappings, &kept->mapping_room, sizeof(*grown),
			 event ? MAPPINGS_MOST : SIZE_MAX / sizeof(*grown));
	if (!grown)
		return;
	kept->mapping = grown;
	grown[kept->mappings++] = (struct kept_mapping){ .address = live->addr,
							 .bytes = live->size,
							 .handle = live->handle,
							 .seq = live->seq,
							 .gone_seq = event ? event->seq : KEPT_STAYS,
							 .time = analysis_time(process, live->time),
							 .gone_time = event ? analysis_time(process, event->time) : 0 };
}

void kept_span(struct kept *kept, uint8_t phase, uint32_t step, uint64_t first_seq, uint64_t last_seq)
{
	struct kept_span *grown;

	if (kept->none)
		return;
	if (kept->spans == SPANS_MOST) {
		kept->spans -= SPANS_MOST / 2;
		kept->spans_lost = (uint64_t)kept->span[SPANS_MOST / 2 - 1].of.last_seq;
		memmove(kept->span, kept->span + SPANS_MOST / 2, kept->spans * sizeof(*kept->span));
	}
	grown = room_for(kept, kept->span, kept->spans, &kept->span_room, sizeof(*grown), SPANS_MOST);
	if (!grown)
		return;
	kept->span = grown;
	grown[kept->spans++] = (struct kept_span){ .of = { phase, (int64_t)first_seq, (int64_t)last_seq },
						   .step = step };
}

void kept_step(struct kept *kept, uint32_t device, uint32_t step, const struct analysis_step_peak *peak)
{
	if (device >= MT_LEDGER_DEVICES)
		return;
	kept->step_end[device].known = 1;
	kept->step_end[device].step = step;
	kept->step_end[device].seq = peak->seq;
	kept->step_end[device].time = peak->time;
}

/* ---- moments ---- */

static double fullness(const struct analysis_device *device)
{
	return device->total ? (double)device->peak.bytes / (double)device->total : -1;
}

int kept_is_fuller(const struct analysis *analysis, uint32_t one, uint32_t other)
{
	const struct analysis_device *a = &analysis->device[one], *b = &analysis->device[other];
	int a_is_gpu = a->kind == MT_DEVICE_CUDA, b_is_gpu = b->kind == MT_DEVICE_CUDA;

	if (a_is_gpu != b_is_gpu)
		return a_is_gpu;
	if (fullness(a) != fullness(b))
		return fullness(a) > fullness(b);
	if (a->peak.bytes != b->peak.bytes)
		return a->peak.bytes > b->peak.bytes;
	return one < other;
}

/* The step before is one in which the process did something. */
static void note_step_before(const struct kept *kept, struct kept_at *at)
{
	size_t i = kept->spans;

	at->has_step_before = 0;
	if (at->device >= MT_LEDGER_DEVICES || !at->step || !kept->step_end[at->device].known ||
	    kept->step_end[at->device].step != at->step - 1)
		return;
	while (i && kept->span[i - 1].step >= at->step)
		i--;
	at->has_step_before = i && kept->span[i - 1].step == at->step - 1;
	at->step_before_seq = kept->step_end[at->device].seq;
	at->step_before_time = kept->step_end[at->device].time;
}

static void set_moment(struct kept *kept, struct kept_at *at, uint32_t device, uint64_t seq, uint32_t step)
{
	at->set = 1;
	at->epoch++;
	at->device = device;
	at->seq = seq;
	at->step = step;
	at->lost = kept->lost;
	if (kept->lives > KEPT_WINDOW)
		at->lost = larger(at->lost, kept->life[kept->lives - KEPT_WINDOW - 1].gone_seq);
	note_step_before(kept, at);
}

void kept_reached(struct kept *kept, uint32_t device, int oom)
{
	const struct analysis *analysis = kept->analysis;
	const struct analysis_oom *failed = oom ? &analysis->oom[analysis->ooms - 1] : NULL;
	struct kept_at *peak = &kept->at[KEPT_PEAK];

	if (kept->none)
		return;
	if (oom)
		set_moment(kept, &kept->at[failed->kind == MT_TENSOR_OOM ? KEPT_TENSOR_OOM : KEPT_DRIVER_FAIL], device,
			   failed->seq, failed->step);
	else if (!peak->set || peak->device == device || kept_is_fuller(analysis, device, peak->device))
		set_moment(kept, peak, device, analysis->device[device].peak.seq, analysis->device[device].peak.step);
}
