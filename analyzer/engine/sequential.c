#include "merge.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

/* Each look halves the way to the first process of the group. */
uint32_t sequential_group(const struct analysis *analysis, uint32_t process)
{
	uint32_t *group = analysis->group;

	while (group[process] != process) {
		group[process] = group[group[process]];
		process = group[process];
	}
	return process;
}

int sequential_meet(struct analysis *analysis, uint32_t one, uint32_t other)
{
	uint32_t first = sequential_group(analysis, one), second = sequential_group(analysis, other);

	if (first < second)
		analysis->group[second] = first;
	else
		analysis->group[first] = second;
	return first == second;
}

/* A thing and the turn in which a process made it. Turns are merged by time, then in the order of the traces. */
struct made {
	int64_t turn;
	uint32_t process, number;
};

static int by_turn(const void *a, const void *b)
{
	const struct made *one = a, *two = b;

	if (one->turn != two->turn)
		return one->turn < two->turn ? -1 : 1;
	if (one->process != two->process)
		return one->process < two->process ? -1 : 1;
	return one->number < two->number ? -1 : one->number > two->number;
}

/* Zeroed room for `count`, which may be 0. */
static void *make_room(uint32_t count, size_t size)
{
	return calloc((size_t)count + 1, size);
}

/* ---- sites ---- */

/* Returns the old number by the new one. NULL: out of memory. */
static uint32_t *order_sites(const struct attribution *attribution)
{
	struct made *made = make_room(attribution->sites, sizeof(*made));
	uint32_t *order = make_room(attribution->sites, sizeof(*order)), i;

	for (i = 1; made && order && i < attribution->sites; i++)
		made[i] = (struct made){ attribution->site[i].turn, attribution->site[i].key.process, i };
	if (made && order)
		qsort(made + 1, attribution->sites - 1, sizeof(*made), by_turn);
	for (i = 1; made && order && i < attribution->sites; i++)
		order[i] = made[i].number;
	if (!made) {
		free(order);
		order = NULL;
	}
	free(made);
	return order;
}

static int reorder_facts(struct categories *categories, const uint32_t *site, uint32_t sites)
{
	struct category_site *facts;
	uint32_t i;

	if (!category_site(categories, sites))
		return -MT_E_MEMORY;
	facts = make_room(categories->room, sizeof(*facts));
	if (!facts)
		return -MT_E_MEMORY;
	for (i = 1; i < sites; i++)
		facts[i] = categories->site[site[i]];
	free(categories->site);
	categories->site = facts;
	return 0;
}

/* ---- devices ---- */

/* Returns the new number by the old one. NULL: out of memory. */
static uint32_t *number_devices(const struct analysis *analysis)
{
	struct made *made = make_room(analysis->devices, sizeof(*made));
	uint32_t *number = make_room(analysis->devices, sizeof(*number)), i;

	for (i = 0; made && number && i < analysis->devices; i++)
		made[i] = (struct made){ analysis->device[i].turn, analysis->device[i].user[0], i };
	if (made && number)
		qsort(made, analysis->devices, sizeof(*made), by_turn);
	for (i = 0; made && number && i < analysis->devices; i++)
		number[made[i].number] = i;
	if (!made) {
		free(number);
		number = NULL;
	}
	free(made);
	return number;
}

static int reorder_devices(struct analysis *analysis, const uint32_t *number)
{
	struct analysis_device *device = make_room(analysis->devices, sizeof(*device));
	uint32_t i;

	if (!device)
		return -MT_E_MEMORY;
	for (i = 0; i < analysis->devices; i++)
		device[number[i]] = analysis->device[i];
	free(analysis->device);
	analysis->device = device;
	for (i = 0; i < analysis->ooms; i++)
		analysis->oom[i].device = number[analysis->oom[i].device];
	return 0;
}

/* `site` has the old number by the new one. */
static int reorder_by_old_number(struct analysis *analysis, const uint32_t *site)
{
	uint32_t *number = make_room(analysis->attribution.sites, sizeof(*number)), i;
	int error = 0;

	if (!number)
		return -MT_E_MEMORY;
	for (i = 1; i < analysis->attribution.sites; i++)
		number[site[i]] = i;
	for (i = 0; i < analysis->processes && !error; i++) {
		error = outlived_reorder(&analysis->process[i].outlived, number);
		census_reorder(&analysis->process[i].census, number);
		parameter_lives_reorder(&analysis->process[i].lives, &analysis->process[i].census, number);
	}
	free(analysis->renumbered.site);
	analysis->renumbered.site = number;
	analysis->renumbered.sites = analysis->attribution.sites;
	return error;
}

static int number_sites_and_devices(struct analysis *analysis)
{
	uint32_t *site = order_sites(&analysis->attribution), *device = number_devices(analysis);
	int error = site && device ? 0 : -MT_E_MEMORY;

	if (!error)
		error = reorder_by_old_number(analysis, site);
	if (!error)
		error = reorder_facts(&analysis->categories, site, analysis->attribution.sites);
	if (!error)
		error = attribution_reorder(&analysis->attribution, site, device);
	if (!error)
		error = reorder_devices(analysis, device);
	free(site);
	free(analysis->renumbered.device);
	analysis->renumbered.device = device;
	return error;
}

/* ---- owners ---- */

/* In the order of the first site of each; owner 0 is there from the beginning. */
static int number_owners(struct analysis *analysis)
{
	uint32_t *number = make_room(analysis->owners, sizeof(*number)), next = 1, i;
	char(*name)[OWNER_NAME_MAX] = make_room(analysis->owners, sizeof(*name));
	struct site *site = analysis->attribution.site;

	if (!number || !name) {
		free(number);
		free(name);
		return -MT_E_MEMORY;
	}
	for (i = 1; i < analysis->attribution.sites; i++) {
		if (site[i].owner && !number[site[i].owner])
			number[site[i].owner] = next++;
		site[i].owner = number[site[i].owner];
	}
	for (i = 1; i < analysis->owners; i++) /* no site belongs to this owner */
		if (!number[i])
			number[i] = next++;
	for (i = 0; i < analysis->owners; i++)
		memcpy(name[number[i]], analysis->owner[i], sizeof(*name));
	free(analysis->owner);
	analysis->owner = name;
	free(number);
	return 0;
}

/* ---- out-of-memory errors ---- */

static void copy_holders(const struct analysis *analysis, uint32_t from, uint32_t to,
			 struct analysis_oom_holder *holder, uint32_t *holders)
{
	uint32_t i;

	for (i = 0; i < analysis->oom_holders; i++) {
		if (analysis->oom_holder[i].oom != from)
			continue;
		holder[*holders] = analysis->oom_holder[i];
		holder[(*holders)++].oom = to;
	}
}

static int number_ooms(struct analysis *analysis)
{
	struct analysis_oom *oom = make_room(ANALYSIS_OOMS_MAX, sizeof(*oom));
	struct analysis_oom_holder *holder = make_room(analysis->oom_holders, sizeof(*holder));
	struct made *made = make_room(analysis->ooms, sizeof(*made));
	uint32_t i, holders = 0;

	if (!oom || !holder || !made) {
		free(oom);
		free(holder);
		free(made);
		return -MT_E_MEMORY;
	}
	for (i = 0; i < analysis->ooms; i++)
		made[i] = (struct made){ analysis->oom[i].turn, analysis->oom[i].process, i };
	qsort(made, analysis->ooms, sizeof(*made), by_turn);
	for (i = 0; i < analysis->ooms; i++) {
		oom[i] = analysis->oom[made[i].number];
		copy_holders(analysis, made[i].number, i, holder, &holders);
	}
	free(analysis->oom);
	free(analysis->oom_holder);
	analysis->oom = oom;
	analysis->oom_holder = holder;
	free(made);
	return 0;
}

int analysis_number(struct analysis *analysis)
{
	int error = number_sites_and_devices(analysis);

	if (!error)
		error = number_owners(analysis);
	if (!error && analysis->ooms)
		error = number_ooms(analysis);
	return error;
}
