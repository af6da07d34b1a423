/* retained_alive.c - the memory that is alive at the peaks of phases, and at the end of the last step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/finding.h"
#include "retained_lives.h"

/* A moment of the question: the peak of a phase, or the newest begin of a phase in one step. */
struct retained_instant {
	int64_t device, time, process, seq;
	int phase;
};

/* ---- moments ---- */

static int take_instant(void *context, struct db_stmt *row)
{
	struct retained_alive *alive = context;
	const char *word = db_text(row, 2);
	int phase = mt_phase_parse(word, strlen(word));

	if (phase < 0 || (alive->question->to && strcmp(word, alive->question->to) != 0))
		return 0;
	if (MT_ARRAY_ROOM(alive->instant, alive->instants, alive->room))
		return -MT_E_MEMORY;
	alive->instant[alive->instants++] = (struct retained_instant){ db_int(row, 0), db_int(row, 1), db_int(row, 3),
								       db_int(row, 4), phase };
	return 0;
}

int retained_alive_open(struct retained_alive *alive, struct retained *retained, struct db *db,
			const struct retained_question *question)
{
	static const char ends[] =
		"SELECT device, first_time, phase, process, first_seq FROM (SELECT *, row_number() OVER (PARTITION BY device, "
		"phase ORDER BY first_time DESC, process DESC, first_seq DESC) AS place FROM phase_span "
		"JOIN (SELECT DISTINCT process, device FROM site) USING (process) WHERE step = ?1) WHERE place = 1 ORDER BY device";
	static const char peaks[] = "SELECT device, time, phase, process, seq FROM phase_peak ORDER BY device";

	memset(alive, 0, sizeof(*alive));
	alive->retained = retained;
	alive->question = question;
	return db_rows(db, question->step ? ends : peaks, DB_NUMBERS(question->step), take_instant, alive);
}

void retained_alive_release(struct retained_alive *alive)
{
	free(alive->instant);
	tuple_release(&alive->crosses);
	tuple_release(&alive->outlived);
	memset(alive, 0, sizeof(*alive));
}

/* The first moment of a device with this id or a larger one. */
static const struct retained_instant *first_of(const struct retained_alive *alive, int64_t device)
{
	size_t low = 0, high = alive->instants, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (alive->instant[middle].device < device)
			low = middle + 1;
		else
			high = middle;
	}
	return alive->instant + low;
}

/* ---- entries ---- */

static struct retained_crossing *add(struct retained_crossings *list, const struct retained_crossing *entry)
{
	if (MT_ARRAY_ROOM(list->crossing, list->count, list->room))
		return NULL;
	list->crossing[list->count] = *entry;
	return &list->crossing[list->count++];
}

/* Adds the life to the owner's entry of its kind and the phase `to`. 0 or -MT_E_MEMORY. */
static int add_life(struct retained_alive *alive, struct retained_crossings *list, struct tuple_table *known, int to,
		    const struct retained_life *life)
{
	const struct tuple key = { { life->site->kind, (uint64_t)to } };
	const struct retained_owner *owner = &alive->owner;
	uint32_t at = tuple_find(known, &key);
	struct retained_crossing *entry = at == TUPLE_NONE ? NULL : &list->crossing[at];

	if (!entry) {
		if (list->count >= TUPLE_NONE || tuple_add(known, &key, (uint32_t)list->count))
			return -MT_E_MEMORY;
		entry = add(list, &(struct retained_crossing){ .device = owner->device,
							       .process = owner->process,
							       .pid = owner->pid,
							       .node = life->site->node,
							       .number = owner->number,
							       .device_kind = owner->device_kind,
							       .first_node = life->site->first_node,
							       .from = mt_phase_name(life->site->phase),
							       .to = mt_phase_name((uint32_t)to),
							       .category = mt_category_name(life->site->category) });
		if (!entry)
			return -MT_E_MEMORY;
	}
	entry->bytes += (uint64_t)life->bytes;
	entry->count += (uint64_t)life->count;
	entry->node = life->site->node < entry->node ? life->site->node : entry->node;
	return 0;
}

/* ---- the end of the last step ---- */

/* A step's own memory is of these categories: no later step needs it. Weights, optimizer state, caches, ... stay by nature. */
static int is_of_a_step(const struct retained_site *site)
{
	return site->phase != MT_PHASE_INIT &&
	       (site->category == MT_CATEGORY_ACTIVATIONS || site->category == MT_CATEGORY_RECOMPUTED ||
		site->category == MT_CATEGORY_LOGITS || site->category == MT_CATEGORY_WORKSPACE ||
		site->category == MT_CATEGORY_OTHER);
}

/* Counts a life that outlived its own step and is alive at the end of the process's last step. */
static int take_kept(struct retained_alive *alive, const struct retained_life *life)
{
	struct retained *retained = alive->retained;
	int64_t last = alive->owner.last_step;

	if (last == RETAINED_NEVER || life->since_step > last || life->until_step <= last ||
	    life->until_step <= life->since_step || life->free_step <= life->step)
		return 0;
	retained->asleep_bytes += (uint64_t)life->asleep;
	if (life->step > alive->owner.first_step) {
		retained->later_bytes += (uint64_t)life->bytes;
	} else {
		retained->stays[life->site->category] += (uint64_t)life->bytes;
		retained->stays_bytes += (uint64_t)life->bytes;
	}
	if (!is_of_a_step(life->site))
		return 0;
	return add_life(alive, &retained->outlived, &alive->outlived, life->site->phase, life);
}

/* ---- the peaks of phases ---- */

/* The order of events (query/alive.h). Whether the first is after the second. */
static int is_after(int64_t time, int64_t process, int64_t seq, const struct retained_instant *instant)
{
	if (time != instant->time)
		return time > instant->time;
	return process != instant->process ? process > instant->process : seq > instant->seq;
}

/* ALIVE_AT of query/alive.h. */
static int is_alive(const struct retained_owner *owner, const struct retained_life *life,
		    const struct retained_instant *instant)
{
	if (is_after(life->since_time, owner->process, life->since_seq, instant))
		return 0;
	if (life->until_seq != RETAINED_NEVER)
		return is_after(life->until_time, owner->process, life->until_seq, instant);
	return owner->over_time == RETAINED_NEVER ||
	       is_after(owner->over_time, owner->process, owner->over_seq, instant);
}

static int take_crossing(struct retained_alive *alive, const struct retained_life *life,
			 const struct retained_instant *instant)
{
	const struct retained_question *question = alive->question;
	struct retained_crossing *sum = &alive->sum[life->site->phase][instant->phase];

	sum->bytes += (uint64_t)life->bytes;
	sum->count += (uint64_t)life->count;
	if (!question->from && !question->to)
		return 0;
	return add_life(alive, &alive->retained->places, &alive->crosses, instant->phase, life);
}

int retained_alive_take(struct retained_alive *alive, const struct retained_life *life)
{
	const struct retained_instant *instant;
	const char *from = alive->question->from;
	int error = take_kept(alive, life);

	if (!life->bytes || (from && strcmp(from, mt_phase_name(life->site->phase)) != 0))
		return error;
	for (instant = alive->from; instant < alive->to && !error; instant++)
		if (instant->phase != life->site->phase && is_alive(&alive->owner, life, instant))
			error = take_crossing(alive, life, instant);
	return error;
}

/* ---- owners ---- */

/* The sums of the device become entries. */
static int end_device(struct retained_alive *alive)
{
	struct retained_crossing *sum;
	int from, to;

	for (from = 0; from < MT_PHASE_COUNT; from++)
		for (to = 0; to < MT_PHASE_COUNT; to++) {
			sum = &alive->sum[from][to];
			if (!sum->bytes)
				continue;
			sum->device = alive->owner.device;
			sum->number = alive->owner.number;
			sum->device_kind = alive->owner.device_kind;
			sum->from = mt_phase_name((uint32_t)from);
			sum->to = mt_phase_name((uint32_t)to);
			if (!add(&alive->retained->phases, sum))
				return -MT_E_MEMORY;
		}
	memset(alive->sum, 0, sizeof(alive->sum));
	return 0;
}

int retained_alive_owner(struct retained_alive *alive, const struct retained_owner *owner)
{
	int error = owner->device != alive->owner.device ? end_device(alive) : 0;

	tuple_release(&alive->crosses);
	tuple_release(&alive->outlived);
	alive->owner = *owner;
	alive->from = first_of(alive, owner->device);
	for (alive->to = alive->from;
	     alive->to < alive->instant + alive->instants && alive->to->device == owner->device; alive->to++)
		;
	return error;
}

static int by_bytes(const void *a, const void *b)
{
	const struct retained_crossing *one = a, *two = b;
	int order;

	if (one->bytes != two->bytes)
		return MT_ORDER(two->bytes, one->bytes);
	if (one->device != two->device)
		return MT_ORDER(one->device, two->device);
	if (one->process != two->process)
		return MT_ORDER(one->process, two->process);
	order = strcmp(one->from, two->from);
	order = order ? order : strcmp(one->to, two->to);
	if (!order && one->category && two->category)
		order = strcmp(one->category, two->category);
	return order ? order : MT_ORDER(one->first_node, two->first_node);
}

static void sort(struct retained_crossings *list)
{
	if (list->count)
		qsort(list->crossing, list->count, sizeof(*list->crossing), by_bytes);
}

int retained_alive_finish(struct retained_alive *alive)
{
	struct retained_crossings *outlived = &alive->retained->outlived;
	int error = end_device(alive);

	sort(&alive->retained->phases);
	sort(&alive->retained->places);
	sort(outlived);
	while (outlived->count && !outlived->crossing[outlived->count - 1].bytes)
		outlived->count--; /* all of it is asleep */
	return error;
}
