/* The facts of a failed request that memana advise needs in addition to the live memory (why/effect/later.c, advise_run.c). */
#include <stdlib.h>
#include <string.h>
#include "kept_impl.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"

/* ---- on the way ---- */

/* Whether the birth ends the numbering of sizes, as in advise_run.c: the first computation has begun. */
static int is_computed(const struct site_key *key)
{
	return key->phase != MT_PHASE_INIT && (key->phase != MT_PHASE_OTHER || key->stack);
}

/* Returns the number of the size. The number of a site's newest size is remembered. */
static uint8_t number_of(struct category_sizes *sizes, struct kept_site *site, uint64_t size)
{
	if (site->size != size) {
		site->number = sizes_number(sizes, size);
		site->size = size;
	}
	return site->number;
}

int kept_add_site(struct kept *kept, uint32_t number)
{
	size_t room = number + (size_t)number / 2 + 256;
	struct kept_site *grown = realloc(kept->site, room * sizeof(*grown));

	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + kept->sites, 0, (room - kept->sites) * sizeof(*grown));
	kept->site = grown;
	kept->sites = room;
	return 0;
}

int kept_note_birth(struct kept *kept, struct kept_process *of, const struct mt_live *live)
{
	struct kept_site *site;
	uint8_t number;

	if (live->kind != MT_TENSOR_ALLOC || !live->tag || live->tag >= kept->analysis->attribution.sites)
		return 0;
	if (!of->sizes)
		of->sizes = calloc(1, sizeof(*of->sizes));
	site = kept_site_at(kept, (uint32_t)live->tag);
	if (!of->sizes || !site)
		return -MT_E_MEMORY;
	of->now.disordered |= live->seq < of->born;
	of->born = live->seq;
	of->sizes->closed |= is_computed(&kept->analysis->attribution.site[live->tag].key);
	number = number_of(of->sizes, site, live->size);
	if (!of->sizes->closed)
		of->sizes->weights[number]++;
	return 0;
}

void kept_size_gone(const struct kept *kept, struct kept_process *process, const struct mt_live *live)
{
	const struct kept_site *site = live->tag < kept->sites ? &kept->site[live->tag] : NULL;
	uint8_t number;

	if (!process->sizes || process->sizes->closed || live->kind != MT_TENSOR_ALLOC)
		return;
	number = site && site->size == live->size ? site->number : sizes_find(process->sizes, live->size);
	process->sizes->weights[number] -= process->sizes->weights[number] != 0;
}

void kept_note_ended(const struct kept *kept, struct kept_process *of, const struct mt_event *event)
{
	uint32_t process = (uint32_t)(of - kept->process);
	const struct analysis_process *owner = &kept->analysis->process[process];

	of->now.disordered |= event->value <= of->now.ended[0].step || event->value > UINT32_MAX;
	of->now.ended[1] = of->now.ended[0];
	of->now.ended[0] = (struct kept_ended){ (uint32_t)event->value,
						{ owner->step_time, process, owner->step_seq } };
}

void kept_note_request(const struct kept *kept, struct kept_at *at, uint64_t requested)
{
	const struct kept_process *process = &kept->process[at->when.process];
	uint64_t figure[3];

	at->request = process->now;
	at->request.open = !process->sizes || !process->sizes->closed;
	if (process->sizes && sizes_vocabulary(process->sizes, requested, figure)) {
		at->request.tokens = figure[0];
		at->request.words = figure[1];
	}
}

/* ---- at the end ---- */

/* Returns the oldest time that advice asks for. */
static struct kept_when since(const struct kept_request *request)
{
	if (request->ended[1].step)
		return request->ended[1].begin;
	return request->ended[0].step ? request->ended[0].begin : (struct kept_when){ .time = INT64_MIN };
}

static int is_known(const struct kept *kept, const struct kept_at *at)
{
	const struct kept_process *process = &kept->process[at->when.process];
	struct kept_when from = since(&at->request);

	return !at->request.disordered && !(at->request.open && process->sizes && process->sizes->closed) &&
	       !kept_is_later(&at->lost, &from);
}

static int is_of_step(const struct kept_at *at, const struct kept_life *life)
{
	const struct kept_ended *ended = at->request.ended;
	int i, found = life->step == at->step;

	for (i = 0; i < 2 && !found; i++)
		found = ended[i].step && (life->step == ended[i].step ||
					  (life->gone_seq != KEPT_STAYS && life->gone_step == ended[i].step));
	return found;
}

/* Whether a freed tensor belongs to moment->passed. Live tensors and the newest births are in moment->life already. */
static int has_passed(const struct kept *kept, const struct kept_at *at, const struct kept_life *life)
{
	const struct site_key *key = &kept->analysis->attribution.site[life->site].key;
	const struct kept_process *process = &kept->process[at->when.process];
	struct kept_when birth = kept_birth(kept, life);

	return life->space == KEPT_TENSOR && key->process == at->when.process && key->device == at->device &&
	       is_of_step(at, life) && !kept_is_later(&birth, &at->when) && !kept_is_alive(kept, life, &at->when) &&
	       life->seq != process->newest.seq && life->seq != process->given_back.seq;
}

static int by_birth(const void *a, const void *b)
{
	const struct kept_life *one = a, *two = b;

	return (one->seq > two->seq) - (one->seq < two->seq);
}

int kept_find_advice(const struct kept *kept, const struct kept_at *at, int failed, struct kept_moment *moment)
{
	size_t lives = kept->lives.count + kept->stays.count, i;
	const struct kept_life *life;
	struct kept_life *passed;

	moment->advice = !failed || is_known(kept, at);
	if (!failed || !moment->advice)
		return 0;
	moment->tokens = at->request.tokens;
	moment->words = at->request.words;
	moment->passed = malloc((lives + 1) * sizeof(*moment->passed));
	if (!moment->passed || lives > UINT32_MAX)
		return -MT_E_MEMORY;
	for (i = 0; i < lives; i++) {
		life = i < kept->lives.count ? &kept->life[i] : &kept->stay[i - kept->lives.count];
		if (!has_passed(kept, at, life))
			continue;
		passed = &moment->passed[moment->passes++];
		*passed = *life;
		passed->time = passed->gone_time = 0;
		passed->address = passed->free_node = 0;
	}
	qsort(moment->passed, moment->passes, sizeof(*moment->passed), by_birth);
	return 0;
}
