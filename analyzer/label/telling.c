#include "telling.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

#define FIRST_ROOM 64u
#define ROOM_MAX (1u << 24) /* most tellings, most runs and most addresses */

void tellings_release(struct tellings *tellings)
{
	free(tellings->telling);
	free(tellings->run);
	free(tellings->slot);
	memset(tellings, 0, sizeof(*tellings));
}

/* ---- tables ---- */

static struct telling_address *slot_of(const struct tellings *tellings, uint64_t address)
{
	uint64_t hash = address * 0x9e3779b97f4a7c15ull;
	uint32_t at = (uint32_t)(hash >> 32) & (tellings->slots - 1);

	while (tellings->slot[at].address && tellings->slot[at].address != address)
		at = (at + 1) & (tellings->slots - 1);
	return &tellings->slot[at];
}

static int grow_slots(struct tellings *tellings)
{
	struct tellings grown = { .slots = tellings->slots ? tellings->slots * 2 : FIRST_ROOM };
	uint32_t i;

	grown.slot = calloc(grown.slots, sizeof(*grown.slot));
	if (!grown.slot)
		return -MT_E_MEMORY;
	for (i = 0; i < tellings->slots; i++)
		if (tellings->slot[i].address)
			*slot_of(&grown, tellings->slot[i].address) = tellings->slot[i];
	free(tellings->slot);
	tellings->slot = grown.slot;
	tellings->slots = grown.slots;
	return 0;
}

/* Returns the array with room for one more than `used` things of `size` bytes. NULL: out of memory, and `array` has not changed. */
static void *room_for(void *array, uint32_t used, uint32_t *room, size_t size)
{
	uint32_t more = *room ? *room * 2 : FIRST_ROOM;
	void *grown;

	if (used < *room)
		return array;
	grown = more <= ROOM_MAX ? realloc(array, more * size) : NULL;
	if (grown)
		*room = more;
	return grown;
}

/* ---- events ---- */

/* Returns the telling of the event, added if new. NULL: out of memory. */
static struct telling_look *telling_of(struct tellings *tellings, const struct mt_event *event)
{
	struct telling_look *last = tellings->tellings ? &tellings->telling[tellings->tellings - 1] : NULL;
	uint32_t number = (uint32_t)event->flags,
		 whole_before = last ? last->whole_before + (uint32_t)last->is_whole : 0;

	if (last && last->number == number && !last->is_whole)
		return last;
	last = room_for(tellings->telling, tellings->tellings, &tellings->telling_room, sizeof(*last));
	if (!last)
		return NULL;
	tellings->telling = last;
	last = &tellings->telling[tellings->tellings++];
	*last = (struct telling_look){ .begin = event->seq, .number = number, .whole_before = whole_before };
	return last;
}

/* Returns the number of complete tellings from `from` to the one before `to`: these should mention the address. */
static uint32_t whole_from(const struct tellings *tellings, uint32_t from, uint32_t to)
{
	const struct telling_look *before = from ? &tellings->telling[from - 1] : NULL,
				  *last = &tellings->telling[to - 1];

	if (to <= from)
		return 0;
	return last->whole_before + (uint32_t)last->is_whole -
	       (before ? before->whole_before + (uint32_t)before->is_whole : 0);
}

static int same_name(struct telling_name one, struct telling_name two)
{
	return one.model == two.model && one.name == two.name;
}

static int add_run(struct tellings *tellings, struct telling_address *slot, struct telling_name name, uint32_t now)
{
	struct telling_run *run;

	if (!tellings->runs)
		tellings->runs = 1;
	run = room_for(tellings->run, tellings->runs, &tellings->run_room, sizeof(*run));
	if (!run)
		return -MT_E_MEMORY;
	tellings->run = run;
	tellings->run[tellings->runs] = (struct telling_run){
		.name = name, .first = now, .last = now, .before = slot->run
	};
	slot->run = tellings->runs++;
	slot->names++;
	return 0;
}

/* A module of two models appears twice in one telling. The first name counts. */
static int add_name(struct tellings *tellings, const struct mt_event *event)
{
	struct telling_name name = { .model = (uint32_t)event->value, .name = (uint32_t)event->name };
	uint32_t now = tellings->tellings - 1;
	struct telling_address *slot;
	struct telling_run *run;

	if (tellings->used * 2 >= tellings->slots && (tellings->slots >= ROOM_MAX || grow_slots(tellings)))
		return -MT_E_MEMORY;
	slot = slot_of(tellings, event->addr);
	tellings->used += !slot->address;
	slot->address = event->addr;
	if (slot->names > TELLING_NAMES_MAX)
		return 0;
	run = slot->run ? &tellings->run[slot->run] : NULL;
	if (run && run->last == now)
		return 0;
	if (!run || !same_name(run->name, name) || whole_from(tellings, run->last + 1, now))
		return add_run(tellings, slot, name, now);
	run->last = now;
	return 0;
}

int tellings_add(struct tellings *tellings, const struct mt_event *event)
{
	struct telling_look *telling = telling_of(tellings, event);
	int error;

	if (!telling)
		return -MT_E_MEMORY;
	if (!event->addr) {
		telling->is_whole = telling->told == event->size;
		telling->number = telling->is_whole ? telling->number : UINT32_MAX; /* incomplete: ends, too */
		return 0;
	}
	error = add_name(tellings, event);
	telling->told++;
	return error;
}

/* ---- questions ---- */

/* Returns the first telling that began after the event. */
static uint32_t telling_after(const struct tellings *tellings, uint64_t seq)
{
	uint32_t first = 0, end = tellings->tellings, middle;

	while (first < end) {
		middle = first + (end - first) / 2;
		if (tellings->telling[middle].begin > seq)
			end = middle;
		else
			first = middle + 1;
	}
	return first;
}

/* Finds the name of the address before telling `next`: the runs before and after this moment must have the same name. Returns 1; 0: no name. */
static int name_before(const struct tellings *tellings, const struct telling_address *slot, uint32_t next,
		       struct telling_name *name)
{
	const struct telling_run *run = &tellings->run[slot->run], *later = NULL;
	uint32_t at;

	for (at = slot->run; at && (run = &tellings->run[at])->last >= next; at = run->before)
		later = run;
	/* `later` begins after the moment; `at` ended before it. */
	if (later) {
		*name = later->name;
		if (later->first < next)
			return 1;
		if (whole_from(tellings, next, later->first))
			return 0;
		return !at || same_name(tellings->run[at].name, later->name);
	}
	*name = run->name;
	return !whole_from(tellings, run->last + 1, tellings->tellings);
}

int tellings_mention(const struct tellings *tellings, uint64_t address)
{
	return tellings->slots && address && slot_of(tellings, address)->address;
}

int tellings_name(const struct tellings *tellings, uint64_t address, uint64_t first, uint64_t last,
		  struct telling_name *name)
{
	const struct telling_address *slot = tellings->slots && address ? slot_of(tellings, address) : NULL;
	uint32_t from = telling_after(tellings, first), to = telling_after(tellings, last), at;
	struct telling_name end;

	*name = (struct telling_name){ 0 };
	if (!slot || !slot->address || slot->names > TELLING_NAMES_MAX)
		return 0;
	if (!name_before(tellings, slot, from, name) || !name_before(tellings, slot, to, &end) ||
	    !same_name(*name, end))
		return 0;
	for (at = slot->run; at && tellings->run[at].last >= from; at = tellings->run[at].before)
		if (tellings->run[at].first < to && !same_name(tellings->run[at].name, end))
			return 0;
	return 1;
}
