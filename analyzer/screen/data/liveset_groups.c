/* Groups of cells that are one row of the table. */
#include <stdlib.h>
#include <string.h>
#include "liveset_impl.h"
#include "memtrace/error.h"

struct liveset_groups {
	uint32_t *of; /* group, by cell */
	uint32_t cells, cell_room;
	uint32_t *first; /* the group's first cell, by group */
	uint32_t groups;
	uint32_t *slot;   /* hash table of groups, plus 1; 0: free */
	uint32_t slots;   /* a power of two */
	unsigned edition; /* edition of the model */
};

struct liveset_groups *liveset_groups_new(void)
{
	return calloc(1, sizeof(struct liveset_groups));
}

void liveset_groups_free(struct liveset_groups *groups)
{
	if (!groups)
		return;
	free(groups->of);
	free(groups->first);
	free(groups->slot);
	free(groups);
}

/* ---- what looks alike ---- */

static int are_alike(const struct model *model, uint32_t a, uint32_t b)
{
	const struct model_site *one = &model->site[TAPE_SITE(a)], *two = &model->site[TAPE_SITE(b)];

	return model_same_line(model, TAPE_SITE(a), TAPE_SITE(b)) && one->phase == two->phase &&
	       model_category(model, a) == model_category(model, b);
}

static uint32_t mix(uint32_t hash, uint32_t number)
{
	return (hash ^ number) * 2654435761u;
}

/* A hash of a text of the model. Equal texts have equal addresses. */
static uint32_t hash_of_text(const char *text)
{
	uint64_t address = (uint64_t)(uintptr_t)text;

	return (uint32_t)(address >> 4 ^ address >> 32);
}

static uint32_t hash_of(const struct model *model, uint32_t cell)
{
	const struct model_site *site = &model->site[TAPE_SITE(cell)];
	int named = *site->function || *site->place;
	uint32_t hash = mix(mix(2166136261u, site->process), site->device);

	hash = mix(mix(hash, site->phase), model_category(model, cell));
	hash = mix(hash, named ? hash_of_text(site->function) : site->stack);
	hash = mix(hash, named ? hash_of_text(site->place) : 0);
	return hash ^ hash >> 15;
}

/* The slot of the cell's group, or the free slot where the group belongs. */
static uint32_t *find_slot(const struct liveset_groups *groups, const struct model *model, uint32_t cell)
{
	uint32_t at = hash_of(model, cell) & (groups->slots - 1);

	while (groups->slot[at] && !are_alike(model, groups->first[groups->slot[at] - 1], cell))
		at = (at + 1) & (groups->slots - 1);
	return &groups->slot[at];
}

/* ---- keeping up ---- */

static void forget(struct liveset_groups *groups)
{
	groups->cells = groups->groups = 0;
	if (groups->slots)
		memset(groups->slot, 0, groups->slots * sizeof(*groups->slot));
}

/* Makes room for `cells` cells, each perhaps a group; the table stays half empty. Returns 0 or -MT_E_MEMORY. */
static int make_room(struct liveset_groups *groups, uint32_t cells)
{
	uint32_t room = cells + cells / 2 + 64, slots = 128;
	uint32_t *of, *first, *slot;

	if (cells <= groups->cell_room)
		return 0;
	while (slots < 2 * room)
		slots *= 2;
	of = realloc(groups->of, room * sizeof(*of));
	groups->of = of ? of : groups->of;
	first = realloc(groups->first, room * sizeof(*first));
	groups->first = first ? first : groups->first;
	slot = calloc(slots, sizeof(*slot));
	if (!of || !first || !slot) {
		free(slot);
		return -MT_E_MEMORY;
	}
	free(groups->slot);
	groups->slot = slot;
	groups->slots = slots;
	groups->cell_room = room;
	groups->cells = groups->groups = 0; /* a new table needs all cells again */
	return 0;
}

static void add_cell(struct liveset_groups *groups, const struct model *model, uint32_t cell)
{
	uint32_t *slot = find_slot(groups, model, cell);

	if (!*slot) {
		groups->first[groups->groups] = cell;
		*slot = ++groups->groups;
	}
	groups->of[cell] = *slot - 1;
}

int liveset_groups_follow(struct liveset_groups *groups, const struct model *model)
{
	uint32_t cells = TAPE_CELL(model->sites, 0);

	if (groups->edition != model->edition || cells < groups->cells)
		forget(groups);
	groups->edition = model->edition;
	if (make_room(groups, cells)) {
		forget(groups);
		return -MT_E_MEMORY;
	}
	for (; groups->cells < cells; groups->cells++)
		add_cell(groups, model, groups->cells);
	return 0;
}

uint32_t liveset_group(const struct liveset_groups *groups, uint32_t cell)
{
	return groups->of[cell];
}

uint32_t liveset_groups_count(const struct liveset_groups *groups)
{
	return groups->groups;
}
