#include "kept_impl.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define WINDOWS_MOST 3u /* size of the log of deaths, in windows: the newest deaths, and deaths that a moment needs */
#define SPANS_MOST 65536u
#define STEPS_MOST 65536u
#define BEGINS_MOST (1u << 22)
#define MAPPINGS_MOST (2u * KEPT_WINDOW)
#define SPACE_UNKNOWN 254u

void kept_give_up(struct kept *kept)
{
	uint32_t i;

	for (i = 0; i < kept->processes; i++) {
		free(kept->process[i].begin);
		if (kept->process[i].sizes)
			sizes_release(kept->process[i].sizes);
		free(kept->process[i].sizes);
	}
	free(kept->process);
	free(kept->life);
	free(kept->stay);
	free(kept->slept);
	free(kept->mapping);
	free(kept->span);
	free(kept->step);
	free(kept->slot);
	free(kept->site);
	*kept = (struct kept){ .analysis = kept->analysis, .none = 1 };
}

int kept_has_given_up(const struct kept *kept)
{
	return kept->none;
}

struct kept *kept_new(const struct analysis *analysis, uint32_t failure)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (kept)
		*kept = (struct kept){ .analysis = analysis, .failure = failure, .lost.time = INT64_MIN };
	return kept;
}

void kept_only(struct kept *kept, uint32_t process)
{
	kept->only = process + 1;
}

void kept_free(struct kept *kept)
{
	if (kept)
		kept_give_up(kept);
	free(kept);
}

/* Returns the array with room for one more element. NULL: out of memory, or the array has `most`; then everything is given up. */
static void *room_for(struct kept *kept, void *array, struct kept_list *list, size_t size, size_t most)
{
	size_t more = list->room ? list->room * 2 : 256;
	void *grown;

	if (list->count < list->room)
		return array;
	more = more < most ? more : most;
	grown = list->count < most ? realloc(array, more * size) : NULL;
	if (grown)
		list->room = more;
	else
		kept_give_up(kept);
	return grown;
}

#define ROOM_FOR(kept, array, list, most) room_for(kept, (kept)->array, &(kept)->list, sizeof(*(kept)->array), most)

/* Called at the first event, when the processes of the run are known. NULL: out of memory. */
static struct kept_process *add_processes(struct kept *kept)
{
	uint32_t windows = kept->analysis->processes < KEPT_WINDOWS ? kept->analysis->processes : KEPT_WINDOWS;

	kept->process = calloc(kept->analysis->processes, sizeof(*kept->process));
	kept->window = windows * (size_t)KEPT_WINDOW;
	kept->processes = kept->process ? kept->analysis->processes : 0;
	if (!kept->process)
		kept_give_up(kept);
	return kept->process;
}

/* Returns the entry of the process. NULL: everything was given up. */
static inline struct kept_process *process_at(struct kept *kept, uint32_t process)
{
	if (!kept->process && (kept->none || !add_processes(kept)))
		return NULL;
	return &kept->process[process];
}

void kept_born(struct kept *kept, uint32_t process, const struct mt_live *live)
{
	struct kept_process *of = process_at(kept, process);

	if (of && kept_note_birth(kept, of, live))
		kept_give_up(kept);
}

void kept_ended(struct kept *kept, uint32_t process, const struct mt_event *event)
{
	struct kept_process *of = process_at(kept, process);

	if (of)
		kept_note_ended(kept, of, event);
}

/* ---- the log of deaths ---- */

static int is_needed(const struct kept *kept, const struct kept_life *life, const struct kept_at *at)
{
	struct kept_when birth, death;

	if (!at->set)
		return 0;
	birth = kept_birth(kept, life);
	death = kept_death(kept, life);
	return (kept_is_later(&death, &at->when) ? !kept_is_later(&birth, &at->when)
						 : kept_is_later(&death, &at->lost));
}

/* Remembers the newest birth of a process: memana oom shows the last place that allocated. */
static void note_newest(struct kept *kept, const struct kept_life *life)
{
	struct kept_process *process = &kept->process[kept_process_of(kept, life)];

	if (life->seq >= process->newest.seq)
		process->newest = *life;
}

void kept_note_logged(struct kept *kept)
{
	size_t i;

	for (i = 0; i < kept->lives.count; i++)
		note_newest(kept, &kept->life[i]);
}

/* Drops deaths that are older than the window and that no moment needs. */
static void let_go(struct kept *kept)
{
	struct kept_life *life = kept->life;
	size_t old = kept->lives.count - kept->window, stays = 0, i;
	int which, needed;

	kept->lost = kept_death(kept, &life[old - 1]);
	for (i = 0; i < kept->lives.count; i++) {
		needed = i >= old;
		for (which = 0; which < KEPT_MOMENTS && !needed; which++)
			needed = is_needed(kept, &life[i], &kept->at[which]);
		if (needed)
			life[stays++] = life[i];
		else
			note_newest(kept, &life[i]);
	}
	kept->lives.count = stays;
}

/* Makes room in the log. Gives up the moments if they need more deaths than the log has room for. */
static void make_room(struct kept *kept)
{
	int which;

	let_go(kept);
	if (kept->lives.count <= WINDOWS_MOST * kept->window - kept->window / 2)
		return;
	for (which = 0; which < KEPT_MOMENTS; which++)
		kept->at[which].set = 0;
	let_go(kept);
}

/* log_life, keep_survivor and keep_slept return the place for one more life; the caller fills it in. NULL: everything was given up. */
static struct kept_life *log_life(struct kept *kept)
{
	struct kept_life *grown;

	if (kept->lives.count >= WINDOWS_MOST * kept->window)
		make_room(kept);
	grown = ROOM_FOR(kept, life, lives, WINDOWS_MOST * kept->window);
	if (!grown)
		return NULL;
	kept->life = grown;
	return &grown[kept->lives.count++];
}

/* Allocations that are never freed have no limit but memory. */
static struct kept_life *keep_survivor(struct kept *kept)
{
	struct kept_life *grown = ROOM_FOR(kept, stay, stays, SIZE_MAX / sizeof(*grown));

	if (!grown)
		return NULL;
	kept->stay = grown;
	return &grown[kept->stays.count++];
}

/* A tensor that lost or regained pages counts once for each span of its pages, and no sum can hold that. */
static struct kept_life *keep_slept(struct kept *kept)
{
	struct kept_life *grown = ROOM_FOR(kept, slept, sleepers, KEPT_WINDOW);

	if (!grown)
		return NULL;
	kept->slept = grown;
	return &grown[kept->sleepers.count++];
}

/* ---- sums of deaths ---- */

/* Adds a slot for a site and a kind of lives. NULL: out of memory. */
static struct kept_slot *add_slot(struct kept *kept, uint32_t site, uint32_t kind)
{
	struct kept_slot *grown = ROOM_FOR(kept, slot, slots, UINT32_MAX), *slot;

	if (!grown)
		return NULL;
	kept->slot = grown;
	slot = &grown[kept->slots.count++];
	*slot = (struct kept_slot){ .site = site, .kind = kind, .next = kept->site[site].slot };
	kept->site[site].slot = (uint32_t)kept->slots.count;
	return slot;
}

/* Returns the slot of the life's site and kind; adds a missing one. NULL: out of memory. */
static struct kept_slot *enter_slot(struct kept *kept, const struct kept_life *life)
{
	uint32_t kind = kept_kind(life);
	struct kept_slot *slot;

	if (!kept_site_at(kept, life->site)) {
		kept_give_up(kept);
		return NULL;
	}
	slot = kept_slot_of(kept, life->site, kind);
	return slot ? slot : add_slot(kept, life->site, kind);
}

/* Copies the slot's state at a moment before the first death after the moment changes the slot. */
static void keep_state(const struct kept *kept, struct kept_slot *slot)
{
	int which;

	if (slot->epochs == kept->epochs)
		return;
	slot->epochs = kept->epochs;
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

/* Adds a birth to the stairs, if it was larger than all earlier births; most births were not. */
static void note_stair(struct kept_stairs *stairs, const struct kept_life *life)
{
	uint32_t at = stairs->count, end;

	while (at && stairs->stair[at - 1].time > life->time)
		at--;
	if (at && stairs->stair[at - 1].bytes >= life->bytes)
		return;
	for (end = at; end < stairs->count && stairs->stair[end].bytes <= life->bytes; end++)
		;
	if (end == at && stairs->count == KEPT_STAIRS) {
		stairs->lost = 1;
		if (!at)
			return;
		memmove(stairs->stair, stairs->stair + 1, --at * sizeof(*stairs->stair));
		stairs->stair[at].time = life->time;
		stairs->stair[at].bytes = life->bytes;
		return;
	}
	memmove(stairs->stair + at + 1, stairs->stair + end, (stairs->count - end) * sizeof(*stairs->stair));
	stairs->count += 1 - (end - at);
	stairs->stair[at].time = life->time;
	stairs->stair[at].bytes = life->bytes;
}

static void note_death(struct kept_deaths *deaths, const struct kept_life *life, int is_alone)
{
	if (!is_alone)
		note_stair(&deaths->stairs, life);
	deaths->count++;
	deaths->home_count += life->gone_step == life->step;
	note_size(deaths, life);
}

/* ---- calls of the sink ---- */

static uint8_t space_of(const struct mt_live *live)
{
	if (live->kind == MT_TENSOR_ALLOC)
		return KEPT_TENSOR;
	return mt_space_name(live->flags) ? (uint8_t)live->flags : SPACE_UNKNOWN;
}

/* An allocation that ended, with the sink's arguments. */
struct gone {
	const struct analysis_process *owner;
	const struct mt_live *live;
	const struct mt_event *event; /* NULL: it was never freed */
	uint32_t step;
	uint8_t space, home, slept;
};

/* Writes straight into the final place: a copy would stall, because a processor cannot forward a word that was just written in parts. */
static inline void fill(struct kept_life *life, const struct gone *gone)
{
	const struct mt_live *live = gone->live;

	life->site = (uint32_t)live->tag;
	life->step = live->step;
	life->gone_step = gone->step;
	life->free_node = 0;
	life->space = gone->space;
	life->home = gone->home;
	life->tensors_inside = live->tensors_seen != 0;
	life->is_handle = live->kind == MT_VMM_CREATE;
	life->slept = gone->slept;
	life->seq = live->seq;
	life->gone_seq = gone->event ? gone->event->seq : KEPT_STAYS;
	life->bytes = live->size;
	life->address = live->addr;
	life->time = analysis_time(gone->owner, live->time);
	life->gone_time = gone->event ? analysis_time(gone->owner, gone->event->time) : 0;
}

/* Remembers the stack of the newest free that gave device memory back to the driver. */
static void note_given_back(struct kept_process *process, const struct gone *gone, uint32_t free_node)
{
	if (!free_node || gone->space != MT_SPACE_DEVICE)
		return;
	fill(&process->given_back, gone);
	process->given_back.free_node = free_node;
}

static void count_birth(struct kept_slot *slot, const struct kept_life *life)
{
	slot->births++;
	slot->most = larger(slot->most, life->bytes);
	if (life->bytes && (!slot->least || life->bytes < slot->least))
		slot->least = life->bytes;
}

static void count_life(struct kept *kept, const struct kept_life *life)
{
	struct kept_slot *slot = enter_slot(kept, life);

	if (!slot)
		return;
	count_birth(slot, life);
	if (life->slept)
		return;
	keep_state(kept, slot);
	if (life->gone_seq != KEPT_STAYS)
		note_death(&slot->now, life, kept->analysis->processes == 1);
}

void kept_gone(struct kept *kept, uint32_t process, const struct mt_live *live, const struct mt_event *event,
	       uint32_t step, uint32_t free_node, int slept)
{
	struct kept_process *of = process_at(kept, process);
	const struct gone gone = { .owner = &kept->analysis->process[process],
				   .live = live,
				   .event = event,
				   .step = step,
				   .space = space_of(live),
				   .home = event && kept->analysis->categories.home,
				   .slept = slept != 0 };
	struct kept_life *life;

	if (!of || !live->tag || live->tag >= kept->analysis->attribution.sites)
		return;
	note_given_back(of, &gone, free_node);
	kept_size_gone(kept, of, live);
	life = slept ? keep_slept(kept) : event ? log_life(kept) : keep_survivor(kept);
	if (!life)
		return;
	fill(life, &gone);
	if (slept || !event)
		note_newest(kept, life);
	count_life(kept, life);
}

int kept_is_mapped(const struct kept *kept, const struct kept_mapping *mapping, const struct kept_when *when)
{
	const struct kept_when birth = { mapping->time, mapping->process, mapping->seq },
			       death = kept_end(kept, mapping->process, mapping->gone_time, mapping->gone_seq);

	return kept_is_between(&birth, &death, when);
}

/* Drops ended mappings that are older than the window and existed at no moment. */
static void let_go_mappings(struct kept *kept)
{
	struct kept_mapping *mapping = kept->mapping;
	size_t old = kept->mappings.count - KEPT_WINDOW, stays = 0, i;
	const struct kept_at *at;
	int needed;

	for (i = 0; i < kept->mappings.count; i++) {
		needed = i >= old || mapping[i].gone_seq == KEPT_STAYS;
		for (at = kept->at; at < kept->at + KEPT_MOMENTS; at++)
			needed |= at->set && kept_is_mapped(kept, &mapping[i], &at->when);
		if (needed)
			mapping[stays++] = mapping[i];
	}
	kept->mappings.count = stays;
}

/* If the needed mappings exceed the room, everything is given up. */
void kept_unmapped(struct kept *kept, uint32_t process, const struct mt_live *live, const struct mt_event *event)
{
	const struct analysis_process *owner = &kept->analysis->process[process];
	struct kept_mapping *grown;

	if (!process_at(kept, process))
		return;
	if (event && kept->mappings.count >= MAPPINGS_MOST)
		let_go_mappings(kept);
	grown = ROOM_FOR(kept, mapping, mappings, event ? MAPPINGS_MOST : SIZE_MAX / sizeof(*grown));
	if (!grown)
		return;
	kept->mapping = grown;
	grown[kept->mappings.count++] = (struct kept_mapping){ .address = live->addr,
							       .bytes = live->size,
							       .handle = live->handle,
							       .seq = live->seq,
							       .gone_seq = event ? event->seq : KEPT_STAYS,
							       .time = analysis_time(owner, live->time),
							       .gone_time = event ? analysis_time(owner, event->time)
										  : 0,
							       .process = process };
}

/* ---- phases and steps ---- */

/* Notes the begin of a step, once for each number. Numbers nearly always rise, so the search starts at the end. */
static void note_begin(struct kept *kept, struct kept_process *process, uint32_t step, int64_t time)
{
	struct kept_list list = { process->begins, process->begin_room };
	struct kept_begin *grown;
	size_t at = process->begins;

	while (at && process->begin[at - 1].step > step)
		at--;
	if (at && process->begin[at - 1].step == step)
		return;
	grown = room_for(kept, process->begin, &list, sizeof(*grown), BEGINS_MOST);
	if (!grown)
		return;
	process->begin = grown;
	process->begin_room = list.room;
	memmove(grown + at + 1, grown + at, (process->begins++ - at) * sizeof(*grown));
	grown[at] = (struct kept_begin){ step, time };
}

static void let_go_spans(struct kept *kept)
{
	const struct kept_span *span = kept->span;
	size_t i;

	for (i = 0; i < SPANS_MOST / 2; i++)
		kept->process[span[i].process].spans_lost = (uint64_t)span[i].of.last_seq;
	kept->spans.count -= SPANS_MOST / 2;
	memmove(kept->span, kept->span + SPANS_MOST / 2, kept->spans.count * sizeof(*kept->span));
}

void kept_span(struct kept *kept, uint32_t process, uint8_t phase, uint32_t step, const struct mt_event *first,
	       const struct mt_event *last)
{
	struct kept_process *of = process_at(kept, process);
	int64_t time = analysis_time(&kept->analysis->process[process], first->time);
	struct kept_span *grown;

	if (!of)
		return;
	if (kept->spans.count == SPANS_MOST)
		let_go_spans(kept);
	grown = ROOM_FOR(kept, span, spans, SPANS_MOST);
	if (!grown)
		return;
	kept->span = grown;
	grown[kept->spans.count++] = (struct kept_span){ .of = { phase, (int64_t)first->seq, (int64_t)last->seq },
							 .process = process,
							 .first_time = time };
	note_begin(kept, of, step, time);
}

int kept_has_step_before(const struct kept *kept, const struct kept_at *at)
{
	return at->before_stays || !kept->steps_lost || kept->steps_lost + 1ull < at->step;
}

/* Whether a moment is compared with this step. */
static int is_before_moment(const struct kept *kept, const struct kept_step *step)
{
	int which, is_before = 0;

	for (which = 0; which < KEPT_MOMENTS; which++)
		is_before |= kept->at[which].before_stays && kept->at[which].step == step->step + 1ull;
	return is_before;
}

/* Drops the older half of the step peaks, except those that a moment is compared with: a peak may be early in a long run. */
static void let_go_steps(struct kept *kept)
{
	size_t i, stay = 0;
	int which;

	for (which = 0; which < KEPT_MOMENTS; which++)
		kept->at[which].before_stays = kept->at[which].set && kept_has_step_before(kept, &kept->at[which]);
	for (i = 0; i < STEPS_MOST / 2; i++)
		if (is_before_moment(kept, &kept->step[i]))
			kept->step[stay++] = kept->step[i];
		else if (kept->step[i].step > kept->steps_lost)
			kept->steps_lost = kept->step[i].step;
	memmove(kept->step + stay, kept->step + STEPS_MOST / 2, STEPS_MOST / 2 * sizeof(*kept->step));
	kept->steps.count = stay + STEPS_MOST / 2;
}

void kept_step(struct kept *kept, uint32_t process, uint32_t device, uint32_t step,
	       const struct analysis_step_peak *peak)
{
	struct kept_step *grown;

	if (!process_at(kept, process))
		return;
	if (kept->steps.count == STEPS_MOST)
		let_go_steps(kept);
	grown = ROOM_FOR(kept, step, steps, STEPS_MOST);
	if (!grown)
		return;
	kept->step = grown;
	grown[kept->steps.count++] = (struct kept_step){
		process, device, step, peak->level, { peak->time, peak->process, peak->seq }
	};
}

/* ---- moments ---- */

static double fullness(const struct analysis_device *device)
{
	uint64_t most = device->peak.bytes > device->most_used ? device->peak.bytes : device->most_used;

	return device->total ? (double)most / (double)device->total : 0;
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
	if (a->known != b->known || a->index != b->index) /* in the order of device ids in the database (store.c) */
		return a->known != b->known ? a->known : a->index < b->index;
	return one < other;
}

static void set_moment(struct kept *kept, struct kept_at *at, uint32_t device, struct kept_when when, uint32_t step)
{
	struct kept_when death;

	at->set = 1;
	at->before_stays = 0;
	at->epoch++;
	kept->epochs++;
	at->device = device;
	at->when = when;
	at->step = step;
	at->lost = kept->lost;
	if (kept->lives.count <= kept->window)
		return;
	death = kept_death(kept, &kept->life[kept->lives.count - kept->window - 1]);
	if (kept_is_later(&death, &at->lost))
		at->lost = death;
}

void kept_reached(struct kept *kept, uint32_t device, int oom)
{
	const struct analysis *analysis = kept->analysis;
	const struct analysis_device *of = &analysis->device[device];
	const struct analysis_oom *failed = oom ? &analysis->oom[analysis->ooms - 1] : NULL;
	struct kept_at *peak = &kept->at[KEPT_PEAK], *at;

	if (!process_at(kept, 0) || (kept->failure && (!oom || analysis->ooms != kept->failure)) ||
	    !kept_may_be(kept, of))
		return;
	if (oom) {
		at = &kept->at[failed->kind == MT_TENSOR_OOM ? KEPT_TENSOR_OOM : KEPT_DRIVER_FAIL];
		set_moment(kept, at, device, (struct kept_when){ failed->time, failed->process, failed->seq },
			   failed->step);
		kept_note_request(kept, at, failed->requested);
	} else if (!peak->set || peak->device == device || kept_is_fuller(analysis, device, peak->device))
		set_moment(kept, peak, device, (struct kept_when){ of->peak.time, of->peak.process, of->peak.seq },
			   of->peak.step);
}
