#include "model.h"

#include <stdlib.h>
#include <string.h>
#include "label/owner.h"
#include "memtrace/error.h"

/* ---- strings ---- */

#define TEXT_BLOCK 65536u

/* Strings lie one after the other in blocks that never move. */
struct text_block {
	struct text_block *next;
	size_t used, size;
	char text[];
};

struct model_texts {
	struct text_block *block; /* block that is being filled */
	const char **slot;        /* hash table, NULL: free */
	uint32_t slots, count;    /* slots: a power of two */
};

static uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619u;
	return hash ^ hash >> 15;
}

static const char **find_text(const struct model_texts *texts, const char *text)
{
	uint32_t at = hash_text(text) & (texts->slots - 1);

	while (texts->slot[at] && strcmp(texts->slot[at], text))
		at = (at + 1) & (texts->slots - 1);
	return &texts->slot[at];
}

/* Doubles the table. A table is at most half full. */
static int grow_texts(struct model_texts *texts)
{
	struct model_texts grown = *texts;
	uint32_t i;

	grown.slots = texts->slots ? texts->slots * 2 : 1024;
	grown.slot = calloc(grown.slots, sizeof(*grown.slot));
	if (!grown.slot)
		return -MT_E_MEMORY;
	for (i = 0; i < texts->slots; i++)
		if (texts->slot[i])
			*find_text(&grown, texts->slot[i]) = texts->slot[i];
	free(texts->slot);
	*texts = grown;
	return 0;
}

static const char *keep_text(struct model_texts *texts, const char *text)
{
	size_t size = strlen(text) + 1, room = size > TEXT_BLOCK ? size : TEXT_BLOCK;
	struct text_block *block = texts->block;
	char *kept;

	if (!block || block->size - block->used < size) {
		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		block->next = texts->block;
		block->used = 0;
		block->size = room;
		texts->block = block;
	}
	kept = memcpy(block->text + block->used, text, size);
	block->used += size;
	return kept;
}

const char *model_text(struct model *model, const char *text)
{
	struct model_texts *texts = model->texts;
	const char **slot;

	if (texts->count * 2 >= texts->slots && grow_texts(texts))
		return NULL;
	slot = find_text(texts, text);
	if (!*slot) {
		*slot = keep_text(texts, text);
		texts->count += *slot != NULL;
	}
	return *slot;
}

static void release_texts(struct model_texts *texts)
{
	struct text_block *block, *next;

	if (!texts)
		return;
	for (block = texts->block; block; block = next) {
		next = block->next;
		free(block);
	}
	free(texts->slot);
	free(texts);
}

/* ---- the model ---- */

int model_init(struct model *model)
{
	memset(model, 0, sizeof(*model));
	pthread_mutex_init(&model->lock, NULL);
	model->verdict = "";
	model->tape = tape_new();
	model->texts = calloc(1, sizeof(*model->texts));
	if (!model->tape || !model->texts || model_owner(model, OWNER_PYTORCH))
		return -MT_E_MEMORY;
	return 0;
}

void model_release(struct model *model)
{
	uint32_t i;

	for (i = 0; i < model->processes; i++)
		free(model->process[i].span);
	tape_free(model->tape);
	tape_free(model->first_tape);
	free(model->site);
	free(model->device);
	free(model->process);
	free(model->span);
	free(model->step);
	free(model->oom);
	free(model->owner);
	release_texts(model->texts);
	pthread_mutex_destroy(&model->lock);
	memset(model, 0, sizeof(*model));
}

void model_lock(struct model *model)
{
	pthread_mutex_lock(&model->lock);
}

void model_unlock(struct model *model)
{
	pthread_mutex_unlock(&model->lock);
}

void model_replace_tape(struct model *model, struct tape *tape)
{
	model->first_tape = model->tape;
	model->tape = tape;
	model->events = tape_count(tape);
	model->edition++;
}

/* Makes room for entry `index` of *array. 0 or -MT_E_MEMORY. */
static int make_room(void *array, uint32_t *room, uint32_t index, size_t size)
{
	size_t wanted = *room ? *room : 16;
	void *grown, *old;

	if (index < *room)
		return 0;
	while (wanted <= index)
		wanted *= 2;
	if (wanted > UINT32_MAX)
		return -MT_E_MEMORY;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, wanted * size);
	if (!grown)
		return -MT_E_MEMORY;
	memset((char *)grown + *room * size, 0, (wanted - *room) * size);
	memcpy(array, &grown, sizeof(grown));
	*room = (uint32_t)wanted;
	return 0;
}

int model_add_site(struct model *model, uint32_t number, const struct model_site *site)
{
	uint32_t i;

	if (make_room(&model->site, &model->site_room, number, sizeof(*model->site)))
		return -MT_E_MEMORY;
	for (i = model->sites; i <= number; i++)
		model->site[i].function = model->site[i].place = "";
	model->site[number] = *site;
	if (!site->function)
		model->site[number].function = "";
	if (!site->place)
		model->site[number].place = "";
	if (number >= model->sites)
		model->sites = number + 1;
	if (site->process < model->processes)
		model->process[site->process].sites++;
	return 0;
}

int model_add_device(struct model *model, const struct model_device *device)
{
	if (make_room(&model->device, &model->device_room, model->devices, sizeof(*device)))
		return -MT_E_MEMORY;
	model->device[model->devices++] = *device;
	return 0;
}

int model_add_process(struct model *model, const struct model_process *process)
{
	if (make_room(&model->process, &model->process_room, model->processes, sizeof(*process)))
		return -MT_E_MEMORY;
	model->process[model->processes] = *process;
	model->process[model->processes].span = NULL;
	model->process[model->processes].spans = model->process[model->processes].span_room = 0;
	model->processes++;
	return 0;
}

/* The process's newest stretch, if `span` continues it; NULL: `span` is another stretch. */
static struct model_span *goes_on(const struct model *model, const struct model_process *process,
				  const struct model_span *span)
{
	struct model_span *newest;

	if (!process || !process->spans)
		return NULL;
	newest = &model->span[process->span[process->spans - 1]];
	return newest->first == span->first && newest->phase == span->phase && newest->step == span->step ? newest
													  : NULL;
}

int model_add_span(struct model *model, const struct model_span *span)
{
	struct model_process *process = span->process < model->processes ? &model->process[span->process] : NULL;
	struct model_span *newest = goes_on(model, process, span);

	if (newest) {
		newest->last = span->last > newest->last ? span->last : newest->last;
		return 0;
	}
	if (make_room(&model->span, &model->span_room, model->spans, sizeof(*span)))
		return -MT_E_MEMORY;
	if (process && make_room(&process->span, &process->span_room, process->spans, sizeof(*process->span)))
		return -MT_E_MEMORY;
	if (process)
		process->span[process->spans++] = model->spans;
	model->span[model->spans++] = *span;
	return 0;
}

int model_add_step(struct model *model, const struct model_step *step)
{
	if (make_room(&model->step, &model->step_room, model->steps, sizeof(*step)))
		return -MT_E_MEMORY;
	model->step[model->steps++] = *step;
	return 0;
}

int model_add_oom(struct model *model, const struct model_oom *oom)
{
	if (make_room(&model->oom, &model->oom_room, model->ooms, sizeof(*oom)))
		return -MT_E_MEMORY;
	model->oom[model->ooms++] = *oom;
	return 0;
}

uint32_t model_owner(struct model *model, const char *name)
{
	uint32_t i;

	for (i = 0; i < model->owners; i++)
		if (!strcmp(model->owner[i], name))
			return i;
	if (make_room(&model->owner, &model->owner_room, i, sizeof(*model->owner)))
		return UINT32_MAX;
	model->owner[i] = model_text(model, name);
	if (!model->owner[i])
		return UINT32_MAX;
	model->owners++;
	return i;
}

/* ---- questions ---- */

static int is_slack(const struct model *model, uint32_t cell)
{
	return TAPE_IS_SLACK(cell) || model->site[TAPE_SITE(cell)].all_slack;
}

uint8_t model_category(const struct model *model, uint32_t cell)
{
	return is_slack(model, cell) ? MT_CATEGORY_SLACK : model->site[TAPE_SITE(cell)].category;
}

int model_same_line(const struct model *model, uint32_t one, uint32_t two)
{
	const struct model_site *a = &model->site[one], *b = &model->site[two];

	if (a->process != b->process || a->device != b->device)
		return 0;
	if (!*a->function && !*a->place)
		return a->stack == b->stack;
	return a->function == b->function && a->place == b->place; /* equal texts have one pointer */
}

uint32_t model_cell_owner(const struct model *model, uint32_t cell)
{
	return is_slack(model, cell) ? 0 : model->site[TAPE_SITE(cell)].owner;
}

uint64_t model_events_at(const struct model *model, uint32_t device, int64_t time)
{
	const struct model_device *it = device < model->devices ? &model->device[device] : NULL;
	uint32_t i;

	if (it && it->peak_changes && it->peak_time == time)
		return tape_after(model->tape, model->events, time, it->peak_changes);
	for (i = 0; it && i < model->ooms; i++)
		if (model->oom[i].device == device && model->oom[i].time == time)
			return tape_after(model->tape, model->events, time, model->oom[i].changes);
	return tape_find(model->tape, model->events, time);
}

uint32_t model_span_at(const struct model *model, uint32_t process, int64_t time)
{
	const struct model_process *owner = process < model->processes ? &model->process[process] : NULL;
	uint32_t low = 0, high = owner ? owner->spans : 0, middle;

	/* Finds the first span that does not end before `time`. */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (model->span[owner->span[middle]].last < time)
			low = middle + 1;
		else
			high = middle;
	}
	return owner && low < owner->spans ? owner->span[low] : model->spans;
}
