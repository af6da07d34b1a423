#include "facts_state.h"

#include <stdlib.h>
#include <string.h>
#include "label/category_sizes.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define TEXT_MOST 65536u
#define ROWS_MOST (1u << 26)
#define ROLES (MT_ROLE_OTHER + 1u)

#define ROWS(io, rows, count, member) facts_rows(io, rows, sizeof(*(rows)), count, member, MT_ARRAY_SIZE(member))
#define ARRAY(io, rows, count, member) \
	facts_array(io, (void **)&(rows), sizeof(*(rows)), count, member, MT_ARRAY_SIZE(member))

static const struct facts_member number64[] = { { 0, 8 } };
static const struct facts_member number32[] = { { 0, 4 } };

/* ---- the process ---- */

#define P(member) FACTS_MEMBER(analysis_process, member)
static const struct facts_member process_members[] = {
	P(first_time), P(last_time),     P(events),    P(compared),   P(differing),   P(first_differing),
	P(reordered),  P(unknown_frees), P(steps),     P(last_step),  P(phase_known), P(phase),
	P(role),       P(step),          P(next_step), P(step_seq),   P(first_seq),   P(last_seq),
	P(step_time),  P(cut),           P(cuts),      P(ended),      P(over),        P(over_time),
	P(over_seq),   P(balanced),      P(gpu_full),  P(census_seq),
};
#undef P

#define H(member) FACTS_MEMBER(analysis_host, member)
static const struct facts_member host_members[] = {
	H(samples),  H(time),   H(available), H(cgroup),        H(cgroup_limit),
	H(resident), H(pinned), H(killed),    H(most_resident), H(most_pinned),
};
#undef H

static const struct facts_member loss_members[] = {
	FACTS_MEMBER(analysis_loss, count),
	FACTS_MEMBER(analysis_loss, records),
	FACTS_MEMBER(analysis_loss, first_time),
	FACTS_MEMBER(analysis_loss, last_time),
};

static const struct facts_member source_members[] = {
	FACTS_MEMBER(analysis_source, seen),
	FACTS_MEMBER(analysis_source, state),
	FACTS_MEMBER(analysis_source, time),
};

static void process_state(struct facts_io *io, struct analysis_process *process)
{
	size_t i;

	ROWS(io, process, 1, process_members);
	ROWS(io, process->kinds, MT_ARRAY_SIZE(process->kinds), number64);
	ROWS(io, &process->host, 1, host_members);
	ROWS(io, process->loss, MT_LOSS_COUNT, loss_members);
	ROWS(io, process->source, MT_SOURCE_COUNT, source_members);
	for (i = 0; i < MT_SOURCE_COUNT; i++)
		process->source[i].why = facts_text(io, process->source[i].why ? process->source[i].why : "",
						    TEXT_MOST);
	for (i = 0; i < MT_SOURCE_COUNT; i++)
		facts_check(io, process->source[i].state < MT_SOURCE_STATES);
	facts_check(io, process->phase < MT_PHASE_COUNT && process->role < ROLES && process->ended <= 255);
}

/* ---- devices ---- */

#define D(member) FACTS_MEMBER(analysis_device, member)
static const struct facts_member device_members[] = {
	D(kind),
	D(index),
	D(known),
	D(total),
	D(total_by),
	D(defined),
	D(used),
	D(most_used),
	D(turn),
	D(tensors_now),
	D(peak.bytes),
	D(peak.tensors),
	D(peak.seq),
	D(peak.time),
	D(peak.step),
	D(peak.process),
	D(peak.thread),
	D(peak.phase),
	D(peak.role),
	D(watched),
	D(quiet.bytes),
	D(quiet.tensors),
	D(users),
	D(blocks_now.bytes),
	D(blocks_now.known),
	D(blocks_now.least),
	D(blocks.bytes),
	D(blocks.known),
	D(blocks.least),
	D(imported_now),
	D(imported),
};
#undef D

#define K(member) FACTS_MEMBER(analysis_phase_peak, member)
static const struct facts_member phase_peak_members[] = {
	K(ran), K(level.bytes), K(level.tensors), K(tensors), K(time), K(seq), K(process), K(step),
};
#undef K

#define G(side)                                                                                                       \
	FACTS_MEMBER(analysis_gpu_total, side.sample.time), FACTS_MEMBER(analysis_gpu_total, side.sample.took),       \
		FACTS_MEMBER(analysis_gpu_total, side.sample.used),                                                   \
		FACTS_MEMBER(analysis_gpu_total, side.sample.total),                                                  \
		FACTS_MEMBER(analysis_gpu_total, side.sample.own),                                                    \
		FACTS_MEMBER(analysis_gpu_total, side.sample.own_known), FACTS_MEMBER(analysis_gpu_total, side.held), \
		FACTS_MEMBER(analysis_gpu_total, side.cause[0]), FACTS_MEMBER(analysis_gpu_total, side.cause[1]),     \
		FACTS_MEMBER(analysis_gpu_total, side.cause[2]), FACTS_MEMBER(analysis_gpu_total, side.cause[3]),     \
		FACTS_MEMBER(analysis_gpu_total, side.cause[4]), FACTS_MEMBER(analysis_gpu_total, side.unexplained),  \
		FACTS_MEMBER(analysis_gpu_total, side.with[0]), FACTS_MEMBER(analysis_gpu_total, side.with[1]),       \
		FACTS_MEMBER(analysis_gpu_total, side.with[2]), FACTS_MEMBER(analysis_gpu_total, side.with[3]),       \
		FACTS_MEMBER(analysis_gpu_total, side.with[4])
_Static_assert(GPU_TOTAL_CAUSES == 5, "a member for each cause");
static const struct facts_member gpu_members[] = {
	FACTS_MEMBER(analysis_gpu_total, peak_time),
	FACTS_MEMBER(analysis_gpu_total, after_known),
	FACTS_MEMBER(analysis_gpu_total, before_known),
	G(after),
	G(before),
};
#undef G

#define S(member) FACTS_MEMBER(analysis_step_peak, member)
static const struct facts_member step_peak_members[] = {
	S(level.bytes), S(level.tensors), S(time), S(seq), S(process), S(phase_known), S(phase), S(role),
};
#undef S

static void check_device(struct facts_io *io, const struct analysis_device *device)
{
	uint32_t i;

	facts_check(io, device->users <= 1 && !device->peak.process && device->peak.phase < MT_PHASE_COUNT &&
				device->peak.role < ROLES && device->total_by <= ANALYSIS_TOTAL_DRIVER);
	for (i = 0; i < MT_PHASE_COUNT; i++)
		facts_check(io, !device->phase_peak[i].process);
	for (i = 0; device->step_peak && i < device->users; i++)
		facts_check(io, !device->step_peak[i].process && device->step_peak[i].phase < MT_PHASE_COUNT &&
					device->step_peak[i].role < ROLES);
}

static void device_state(struct facts_io *io, struct analysis *analysis, struct analysis_device *device)
{
	ROWS(io, device, 1, device_members);
	device->users = device->users > 1 ? 2 : device->users;
	facts_check(io, device->users <= 1);
	ROWS(io, device->phase_peak, MT_PHASE_COUNT, phase_peak_members);
	device->name = facts_text(io, device->name, TEXT_MOST);
	device->uuid = facts_text(io, device->uuid, TEXT_MOST);
	if (!io->writing)
		device->boot_id = analysis->process[0].info->boot_id;
	ARRAY(io, device->user, device->users, number32);
	ARRAY(io, device->gpu, (size_t)device->users * ANALYSIS_PEAKS, gpu_members);
	ARRAY(io, device->step_peak, device->users, step_peak_members);
	facts_check(io, !device->users || (device->user && !device->user[0]));
	check_device(io, device);
}

static void devices_state(struct facts_io *io, struct analysis *analysis)
{
	uint32_t count = facts_count(io, analysis->devices, MT_ARRAY_SIZE(device_members), MT_LEDGER_DEVICES), i;

	if (!io->writing && count) {
		analysis->device = calloc(count, sizeof(*analysis->device));
		if (!analysis->device)
			io->error = -MT_E_MEMORY;
		for (i = 0; i < count && !io->error; i++)
			io->error = attribution_device(&analysis->attribution) < 0 ? -MT_E_MEMORY : 0;
	}
	for (i = 0; i < count && !io->error; i++) {
		analysis->devices = i + 1;
		device_state(io, analysis, &analysis->device[i]);
	}
}

/* ---- sites ---- */

#define S(member) FACTS_MEMBER(site, member)
static const struct facts_member site_members[] = {
	S(key.process), S(key.device),  S(key.stack),    S(key.phase),   S(key.category), S(key.driver),
	S(key.size),    S(owner),       S(tensors_seen), S(now.plain),   S(now.slack),    S(now.count),
	S(saved.plain), S(saved.slack), S(saved.count),  S(saved_epoch), S(turn),
};
#undef S

static const struct facts_member held_members[] = {
	FACTS_MEMBER(attribution_device, held),
	FACTS_MEMBER(attribution_device, peak),
	FACTS_MEMBER(attribution_device, epoch),
};

#define C(member) FACTS_MEMBER(category_site, member)
static const struct facts_member life_members[] = {
	C(born),      C(died),          C(home),          C(in_backward),   C(in_optimizer), C(later),
	C(old),       C(after),         C(largest),       C(smallest),      C(first_step),   C(last_step),
	C(first_seq), C(last_seq),      C(rule_frame),    C(by_rule),       C(by_owner),     C(is_loss),
	C(is_handed), C(passing.epoch), C(passing.bytes), C(passing.count),
};
#undef C

static int is_site(const struct analysis *analysis, const struct site *site)
{
	const struct site_key *key = &site->key;

	return !key->process && key->device < analysis->devices && key->phase < MT_PHASE_COUNT &&
	       key->category < MT_CATEGORY_COUNT && key->driver <= 1 && site->owner < analysis->owners &&
	       key->stack <= mt_defs_count(analysis->process[0].defs, MT_DEF_NODE);
}

/* Enters the sites into a new hash table, with their old numbers. */
static void enter_sites(struct facts_io *io, struct analysis *analysis, const struct site *site, uint32_t count)
{
	uint32_t i, number;

	for (i = 0; i < count && !io->error; i++) {
		facts_check(io, is_site(analysis, &site[i]));
		number = io->error ? 0 : attribution_site(&analysis->attribution, &site[i].key);
		if (!io->error && !number)
			io->error = -MT_E_MEMORY;
		facts_check(io, number == i + 1);
		if (!io->error)
			analysis->attribution.site[number] = site[i];
	}
}

static void sites_state(struct facts_io *io, struct analysis *analysis)
{
	struct attribution *attribution = &analysis->attribution;
	uint32_t count = facts_count(io, attribution->sites ? attribution->sites - 1 : 0, MT_ARRAY_SIZE(site_members),
				     ROWS_MOST);
	struct site *read = NULL;

	ROWS(io, attribution->device, io->error ? 0 : attribution->devices, held_members);
	if (io->writing) {
		if (count)
			ROWS(io, attribution->site + 1, count, site_members);
	} else {
		ARRAY(io, read, count, site_members);
		enter_sites(io, analysis, read, io->error ? 0 : count);
		free(read);
		if (!io->error && !category_site(&analysis->categories, count))
			io->error = -MT_E_MEMORY;
	}
	if (count && !io->error && category_site(&analysis->categories, count))
		ROWS(io, analysis->categories.site + 1, count, life_members);
}

/* ---- sizes ---- */

static const struct facts_member slot_members[] = {
	FACTS_MEMBER(sizes_slot, size),
	FACTS_MEMBER(sizes_slot, number),
};

#define Z(member) FACTS_MEMBER(category_sizes, member)
static const struct facts_member sizes_members[] = {
	Z(used), Z(numbers), Z(closed), Z(losses), Z(changes), Z(refused), Z(loss_least),
};
#undef Z

static int is_power(uint32_t number)
{
	return !(number & (number - 1));
}

static void sizes_state(struct facts_io *io, struct category_sizes *sizes)
{
	uint32_t i, used = 0;

	ROWS(io, sizes, 1, sizes_members);
	sizes->slots = facts_count(io, sizes->slots, MT_ARRAY_SIZE(slot_members), SIZES_SLOTS);
	ARRAY(io, sizes->slot, sizes->slots, slot_members);
	ROWS(io, sizes->size, SIZES_NUMBERS, number64);
	ROWS(io, sizes->weights, SIZES_NUMBERS, number64);
	for (i = 0; i < SIZES_LOSSES; i++) {
		facts_number(io, &sizes->loss[i].size);
		facts_number(io, &sizes->loss[i].count);
	}
	for (i = 0; i < sizes->slots && !io->error; i++) {
		used += sizes->slot[i].size != 0;
		facts_check(io, sizes->slot[i].number < SIZES_NUMBERS);
	}
	facts_check(io, is_power(sizes->slots) && used == sizes->used && (!sizes->slots || used < sizes->slots) &&
				sizes->numbers < SIZES_NUMBERS && sizes->losses <= SIZES_LOSSES);
}

/* The size tables of tensors and of driver memory. Both are optional. */
static void both_sizes_state(struct facts_io *io, struct categories *categories)
{
	uint32_t i, there;

	there = facts_count(io, categories->processes, 0, 1);
	if (!io->writing && there) {
		categories->sizes = calloc(2, sizeof(*categories->sizes));
		if (!categories->sizes)
			io->error = -MT_E_MEMORY;
		else
			categories->processes = 1;
	}
	for (i = 0; there && i < 2 && !io->error; i++) {
		if (!facts_count(io, categories->sizes[i] != NULL, 0, 1))
			continue;
		if (!io->writing)
			categories->sizes[i] = calloc(1, sizeof(**categories->sizes));
		if (!categories->sizes[i])
			io->error = -MT_E_MEMORY;
		else
			sizes_state(io, categories->sizes[i]);
	}
}

/* The rows are in facts_guess.c. */
static void outlived_state(struct facts_io *io, struct outlived *outlived)
{
	outlived->grain = facts_count(io, outlived_grain(outlived), 0, 1u << 31);
	facts_check(io, outlived->grain && is_power(outlived->grain));
}

/* ---- failed requests, owners ---- */

#define O(member) FACTS_MEMBER(analysis_oom, member)
static const struct facts_member oom_members[] = {
	O(time),  O(seq),  O(requested), O(free),  O(free_by), O(held), O(recorded), O(others), O(process), O(device),
	O(stack), O(step), O(kind),      O(entry), O(phase),   O(role), O(category), O(had),    O(turn),
};
#undef O

static const struct facts_member holder_members[] = {
	FACTS_MEMBER(analysis_oom_holder, oom),
	FACTS_MEMBER(analysis_oom_holder, process),
	FACTS_MEMBER(analysis_oom_holder, held),
	FACTS_MEMBER(analysis_oom_holder, slack),
};

static int is_oom(const struct analysis *analysis, const struct analysis_oom *oom)
{
	return !oom->process && oom->device < analysis->devices && oom->phase < MT_PHASE_COUNT && oom->role < ROLES &&
	       oom->category < MT_CATEGORY_COUNT && oom->free_by <= ANALYSIS_FREE_DRIVER &&
	       oom->stack <= mt_defs_count(analysis->process[0].defs, MT_DEF_NODE);
}

static void ooms_state(struct facts_io *io, struct analysis *analysis)
{
	uint32_t i;

	facts_number(io, &analysis->oom_count);
	analysis->ooms = facts_count(io, analysis->ooms, MT_ARRAY_SIZE(oom_members), ANALYSIS_OOMS_MAX);
	ARRAY(io, analysis->oom, analysis->ooms, oom_members);
	analysis->oom_holders = facts_count(io, analysis->oom_holders, MT_ARRAY_SIZE(holder_members),
					    ANALYSIS_OOMS_MAX);
	ARRAY(io, analysis->oom_holder, analysis->oom_holders, holder_members);
	for (i = 0; i < analysis->ooms && !io->error; i++)
		facts_check(io, is_oom(analysis, &analysis->oom[i]));
	for (i = 0; i < analysis->oom_holders && !io->error; i++)
		facts_check(io, !analysis->oom_holder[i].process && analysis->oom_holder[i].oom < analysis->ooms);
}

/* Owner 0 is in every analysis, and is not stored. */
static void owners_state(struct facts_io *io, struct analysis *analysis)
{
	uint32_t count = facts_count(io, analysis->owners, 1, ROWS_MOST), i;
	char(*grown)[OWNER_NAME_MAX];

	facts_check(io, count > 0);
	if (!io->writing && !io->error) {
		grown = realloc(analysis->owner, count * sizeof(*grown));
		if (!grown)
			io->error = -MT_E_MEMORY;
		else
			analysis->owner = grown;
	}
	for (i = 0; i < count && !io->error; i++) {
		const char *name = facts_text(io, io->writing ? analysis->owner[i] : "", OWNER_NAME_MAX);

		if (!io->writing)
			mt_copy_text(analysis->owner[i], OWNER_NAME_MAX, name);
	}
	if (!io->error)
		analysis->owners = count;
}

/* ---- the framework's word ---- */

#define R(member) FACTS_MEMBER(census_row, member)
static const struct facts_member row_members[] = {
	R(seq), R(time), R(addr), R(bytes), R(block), R(block_bytes), R(device), R(name), R(text), R(flags),
};
#undef R

#define B(member) FACTS_MEMBER(census_block, member)
static const struct facts_member block_members[] = {
	B(key),   B(named[0]), B(named[1]), B(named[2]), B(named[3]), B(named[4]), B(named[5]),
	B(bytes), B(like),     B(site),     B(census),   B(step),     B(category),
};
#undef B
_Static_assert(MT_CENSUS_COUNT == 6, "a member for each kind");

static const struct facts_member layer_members[] = {
	FACTS_MEMBER(census_layer, rows),
	FACTS_MEMBER(census_layer, count),
};

/* A hash table of births or groups. */
static void blocks_state(struct facts_io *io, const struct analysis *analysis, struct census_block **table,
			 uint32_t *slots, uint32_t *used)
{
	uint32_t i, count = 0;

	*slots = facts_count(io, *slots, MT_ARRAY_SIZE(block_members), ROWS_MOST);
	ARRAY(io, *table, *slots, block_members);
	for (i = 0; i < *slots && !io->error; i++) {
		count += (*table)[i].key != 0;
		facts_check(io, (*table)[i].category < MT_CATEGORY_COUNT &&
					(!(*table)[i].site || (*table)[i].site < analysis->attribution.sites));
	}
	*used = count;
	facts_check(io, is_power(*slots) && (!*slots || count < *slots));
}

static void census_state(struct facts_io *io, struct analysis *analysis, struct census *census)
{
	size_t i;

	census->rows = facts_count(io, census->rows, MT_ARRAY_SIZE(row_members), ROWS_MOST);
	ARRAY(io, census->row, census->rows, row_members);
	blocks_state(io, analysis, &census->known, &census->known_slots, &census->known_used);
	blocks_state(io, analysis, &census->alike, &census->alike_slots, &census->alike_used);
	for (i = 0; i < MT_ARRAY_SIZE(census->words); i++)
		facts_number(io, &census->words[i]);
	facts_number(io, &census->width);
	census->others = facts_count(io, census->others, MT_ARRAY_SIZE(layer_members), ROWS_MOST);
	ARRAY(io, census->other, census->others, layer_members);
}

#define L(member) FACTS_MEMBER(parameter_birth, member)
static const struct facts_member birth_members[] = { L(seq), L(died_seq), L(time), L(died), L(site), L(home) };
#undef L

#define G(member) FACTS_MEMBER(parameter_group, member)
static const struct facts_member group_members[] = {
	G(births), G(saves), G(step), G(device), G(saved_epoch), G(is_lost)
};
#undef G

static void births_state(struct facts_io *io, const struct analysis *analysis, struct parameter_birth **birth,
			 uint32_t count)
{
	uint32_t i;

	ARRAY(io, *birth, count, birth_members);
	for (i = 0; i < count && !io->error; i++)
		facts_check(io, !(*birth)[i].site || (*birth)[i].site < analysis->attribution.sites);
}

/* The tables have as many slots as the tables of the census. */
static void lives_state(struct facts_io *io, const struct analysis *analysis, struct parameter_lives *lives,
			const struct census *census)
{
	struct parameter_group *group;
	uint32_t i;

	births_state(io, analysis, &lives->known, io->error ? 0 : census->known_slots);
	if (!io->error)
		lives->groups = census->alike_slots;
	ARRAY(io, lives->group, io->error ? 0 : lives->groups, group_members);
	for (i = 0; i < lives->groups && !io->error; i++) {
		group = &lives->group[i];
		group->births = facts_count(io, group->births, MT_ARRAY_SIZE(birth_members), ROWS_MOST);
		group->saves = facts_count(io, group->saves, MT_ARRAY_SIZE(birth_members), ROWS_MOST);
		births_state(io, analysis, &group->birth, group->births);
		births_state(io, analysis, &group->saved, group->saves);
		facts_check(io,
			    group->device < analysis->devices || (!group->device && !group->births && !group->saves));
	}
}

static const struct facts_member look_members[] = {
	FACTS_MEMBER(telling_look, begin),    FACTS_MEMBER(telling_look, told),
	FACTS_MEMBER(telling_look, number),   FACTS_MEMBER(telling_look, whole_before),
	FACTS_MEMBER(telling_look, is_whole),
};

static const struct facts_member run_members[] = {
	FACTS_MEMBER(telling_run, name.model), FACTS_MEMBER(telling_run, name.name), FACTS_MEMBER(telling_run, first),
	FACTS_MEMBER(telling_run, last),       FACTS_MEMBER(telling_run, before),
};

static const struct facts_member address_members[] = {
	FACTS_MEMBER(telling_address, address),
	FACTS_MEMBER(telling_address, run),
	FACTS_MEMBER(telling_address, names),
};

static void tellings_state(struct facts_io *io, struct tellings *tellings)
{
	uint32_t i, used = 0;

	tellings->tellings = facts_count(io, tellings->tellings, MT_ARRAY_SIZE(look_members), ROWS_MOST);
	ARRAY(io, tellings->telling, tellings->tellings, look_members);
	tellings->runs = facts_count(io, tellings->runs, MT_ARRAY_SIZE(run_members), ROWS_MOST);
	if (io->writing && tellings->runs)
		tellings->run[0] = (struct telling_run){ .before = 0 }; /* run 0 is unused */
	ARRAY(io, tellings->run, tellings->runs, run_members);
	tellings->slots = facts_count(io, tellings->slots, MT_ARRAY_SIZE(address_members), ROWS_MOST);
	ARRAY(io, tellings->slot, tellings->slots, address_members);
	for (i = 1; i < tellings->runs && !io->error; i++)
		facts_check(io, tellings->run[i].first < tellings->tellings &&
					tellings->run[i].last < tellings->tellings && tellings->run[i].before < i);
	for (i = 0; i < tellings->slots && !io->error; i++) {
		used += tellings->slot[i].address != 0;
		facts_check(io, !tellings->slot[i].run || tellings->slot[i].run < tellings->runs);
	}
	tellings->used = used;
	facts_check(io, is_power(tellings->slots) && (!tellings->slots || used < tellings->slots));
}

/* ---- all of it ---- */

void facts_state(struct facts_io *io, struct analysis *analysis)
{
	struct analysis_process *process = &analysis->process[0];

	process_state(io, process);
	owners_state(io, analysis);
	devices_state(io, analysis);
	sites_state(io, analysis);
	both_sizes_state(io, &analysis->categories);
	outlived_state(io, &process->outlived);
	ooms_state(io, analysis);
	census_state(io, analysis, &process->census);
	lives_state(io, analysis, &process->lives, &process->census);
	tellings_state(io, &process->tellings);
}
