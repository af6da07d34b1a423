#include "places.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "query.h"

#define WRAPPERS_DEEP 4 /* helpers that call helpers */

struct place_site {
	char *phase, *category, *evidence, *decided_by;
	uint64_t bytes, count;
	int64_t pid;
	struct callstack stack;
	size_t user;
	int wraps; /* its frame `user` is a wrapper; the place is further out */
};

struct loading {
	struct places *places;
	struct db *db;
	struct symbols *symbols;
};

static int load_site(void *context, const struct query_site *row)
{
	struct loading *loading = context;
	struct place_site *site = &loading->places->site[loading->places->sites++];
	int error = callstack_load(&site->stack, loading->db, row->node, loading->symbols);

	site->phase = strdup(row->phase);
	site->category = strdup(row->category);
	site->evidence = strdup(row->evidence);
	site->decided_by = strdup(row->decided_by);
	site->bytes = row->bytes;
	site->count = row->count;
	site->pid = row->pid;
	site->user = callstack_user_frame(&site->stack);
	return !site->phase || !site->category || !site->evidence || !site->decided_by ? -MT_E_MEMORY : error;
}

static int same_line(const struct callstack_frame *one, const struct callstack_frame *two)
{
	return one->line == two->line && !strcmp(one->file, two->file) && !strcmp(one->function, two->function) &&
	       (one->line || (one->offset == two->offset && !strcmp(one->module, two->module)));
}

static const struct callstack_frame *user_frame(const struct place_site *site)
{
	return site->user == CALLSTACK_NO_FRAME ? NULL : &site->stack.frame[site->user];
}

/* The next frame outwards that is the user's own; CALLSTACK_NO_FRAME: there is none. */
static size_t next_user_frame(const struct callstack *stack, size_t at)
{
	while (++at < stack->count)
		if (callstack_is_user(&stack->frame[at]))
			return at;
	return CALLSTACK_NO_FRAME;
}

/* Whether the line of `site` also allocates in another phase. */
static int wraps(const struct places *places, const struct place_site *site)
{
	const struct callstack_frame *frame = user_frame(site), *other;
	size_t i;

	if (!frame || !callstack_is_user(frame))
		return 0;
	for (i = 0; i < places->sites; i++) {
		other = user_frame(&places->site[i]);
		if (other && strcmp(places->site[i].phase, site->phase) && same_line(frame, other))
			return 1;
	}
	return 0;
}

/* One level outwards for every site whose line is a wrapper. 1: something moved. */
static int step_out(struct places *places)
{
	size_t i, next;
	int moved = 0;

	for (i = 0; i < places->sites; i++)
		places->site[i].wraps = wraps(places, &places->site[i]);
	for (i = 0; i < places->sites; i++) {
		next = places->site[i].wraps ? next_user_frame(&places->site[i].stack, places->site[i].user) :
					       CALLSTACK_NO_FRAME;
		if (next == CALLSTACK_NO_FRAME)
			continue;
		places->site[i].user = next;
		moved = 1;
	}
	return moved;
}

static int same_place(const struct place *place, const struct place_site *site)
{
	const struct callstack_frame *frame = user_frame(site);

	if (strcmp(place->phase, site->phase) || strcmp(place->category, site->category) || place->pid != site->pid)
		return 0;
	if (place->user == CALLSTACK_NO_FRAME || !frame)
		return place->user == CALLSTACK_NO_FRAME && !frame;
	return same_line(&place->stack->frame[place->user], frame);
}

static void add_to_place(struct places *places, const struct place_site *site)
{
	struct place *place;
	size_t i;

	for (i = 0; i < places->count && !same_place(&places->place[i], site); i++)
		;
	place = &places->place[i];
	if (i == places->count) {
		*place = (struct place){ .phase = site->phase, .category = site->category, .pid = site->pid,
					 .evidence = site->evidence, .decided_by = site->decided_by,
					 .stack = &site->stack, .user = site->user };
		places->count++;
	}
	place->bytes += site->bytes;
	place->count += site->count;
}

/* Largest first; what is equal stays in the order of the sites, which is part of the key. */
static int by_bytes(const void *a, const void *b)
{
	const struct place *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return one->stack < two->stack ? -1 : one->stack > two->stack;
}

int places_load(struct places *places, struct db *db, int64_t device, struct symbols *symbols)
{
	struct loading loading = { .places = places, .db = db, .symbols = symbols };
	size_t i;
	int error, deep = 0;

	memset(places, 0, sizeof(*places));
	places->site = calloc(PLACES_SITES_MAX, sizeof(*places->site));
	places->place = calloc(PLACES_SITES_MAX, sizeof(*places->place));
	if (!places->site || !places->place)
		return -MT_E_MEMORY;
	error = query_sites(db, device, PLACES_SITES_MAX, load_site, &loading);
	if (error)
		return error;
	while (deep++ < WRAPPERS_DEEP && step_out(places))
		;
	for (i = 0; i < places->sites; i++)
		add_to_place(places, &places->site[i]);
	qsort(places->place, places->count, sizeof(*places->place), by_bytes);
	return 0;
}

void places_release(struct places *places)
{
	size_t i;

	for (i = 0; i < places->sites; i++) {
		callstack_release(&places->site[i].stack);
		free(places->site[i].phase);
		free(places->site[i].category);
		free(places->site[i].evidence);
		free(places->site[i].decided_by);
	}
	free(places->site);
	free(places->place);
	memset(places, 0, sizeof(*places));
}

/* Whether some site stepped over this line on its way out. */
static int is_wrapper(const struct places *places, const struct callstack_frame *frame)
{
	const struct place_site *site;
	size_t i, at;

	for (i = 0; i < places->sites; i++) {
		site = &places->site[i];
		if (site->user == CALLSTACK_NO_FRAME)
			continue;
		for (at = callstack_user_frame(&site->stack); at < site->user; at++)
			if (callstack_is_user(&site->stack.frame[at]) && same_line(&site->stack.frame[at], frame))
				return 1;
	}
	return 0;
}

size_t places_user_frame(const struct places *places, const struct callstack *stack)
{
	size_t at = callstack_user_frame(stack), next;

	while (at != CALLSTACK_NO_FRAME && is_wrapper(places, &stack->frame[at])) {
		next = next_user_frame(stack, at);
		if (next == CALLSTACK_NO_FRAME)
			break;
		at = next;
	}
	return at;
}
