#include "feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "report/peak_verdict.h"
#include "report/steps/growth.h"
#include "store/store.h"

struct verdict {
	struct sentence *sentence;
	struct db *db;
	const struct model *model;
	int64_t device; /* id of the fullest device, 0: none yet */
	int is_gpu;
	unsigned gpus; /* GPUs in use */
	double fullness;
	uint64_t bytes; /* bytes of its peak */
};

/* ---- which device ---- */

/* Prefers a GPU to the CPU, then the fuller device, then the one that held more. */
static int choose_device(void *context, const struct query_device *row)
{
	struct verdict *verdict = context;
	int is_gpu = !strcmp(row->kind, "cuda"), is_fuller;
	double fullness = row->total ? (double)row->peak.bytes / (double)row->total : 0;

	verdict->gpus += is_gpu && row->peak.bytes;
	if (is_gpu != verdict->is_gpu)
		is_fuller = is_gpu;
	else
		is_fuller = fullness != verdict->fullness ? fullness > verdict->fullness
							  : row->peak.bytes > verdict->bytes;
	if (!row->peak.bytes || (verdict->device && !is_fuller))
		return 0;
	verdict->device = row->id;
	verdict->is_gpu = is_gpu;
	verdict->fullness = fullness;
	verdict->bytes = row->peak.bytes;
	return 0;
}

/* ---- which place ---- */

/* The bytes of one site at the peak. Names are texts of the model: equal texts have one pointer. */
struct place {
	const char *function, *name;
	uint64_t bytes;
};

struct places {
	const struct model *model;
	const struct query_culprit *culprit;
	struct place *place; /* room for all sites */
	uint32_t count;
};

static int add_place(void *context, const struct query_site *row)
{
	struct places *places = context;
	const struct model_site *site;

	if (strcmp(row->phase, places->culprit->phase) || strcmp(row->category, places->culprit->category) ||
	    row->id <= 0 || row->id >= places->model->sites || places->count == places->model->sites)
		return 0;
	site = &places->model->site[row->id];
	places->place[places->count++] = (struct place){ site->function, site->place, row->bytes };
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct place *one = a, *two = b;

	if (one->function != two->function)
		return one->function < two->function ? -1 : 1;
	return one->name != two->name ? (one->name < two->name ? -1 : 1) : 0;
}

/* Joins sites of one name into places. Returns the place that held most. */
static struct place join_places(struct places *places)
{
	struct place *place = places->place, largest = { "", "", 0 };
	uint64_t sum = 0;
	uint32_t i;

	qsort(place, places->count, sizeof(*place), by_name);
	for (i = 0; i < places->count; i++) {
		sum = i && !by_name(&place[i - 1], &place[i]) ? sum + place[i].bytes : place[i].bytes;
		if (sum > largest.bytes)
			largest = (struct place){ place[i].function, place[i].name, sum };
	}
	return largest;
}

/* A peak_place_of. */
static int largest_place(void *context, const struct query_culprit *row, struct peak_place *largest)
{
	const struct verdict *verdict = context;
	struct places places = { .model = verdict->model, .culprit = row };
	struct place place;
	int error;

	places.place = calloc((size_t)verdict->model->sites + 1, sizeof(*places.place));
	if (!places.place)
		return -MT_E_MEMORY;
	error = query_sites(verdict->db, verdict->device, -1, add_place, &places);
	place = join_places(&places);
	free(places.place);
	mt_copy_text(largest->function, sizeof(largest->function), place.function);
	mt_copy_text(largest->place, sizeof(largest->place), place.name);
	largest->bytes = place.bytes;
	return error;
}

/* ---- the sentence ---- */

/* Losses and the name of the process are elsewhere on the screen. */
static int say(void *context, const struct query_device *row)
{
	const struct verdict *verdict = context;
	const char *least = verdict->model->lost ? "at least " : "";
	char begins[64];
	const struct peak_verdict peak = {
		.begins = begins,
		.device = row,
		.has_steps = verdict->model->steps != 0,
		.place_of = largest_place,
		.context = context,
	};

	if (row->id != verdict->device)
		return 0;
	if (verdict->gpus > 1)
		snprintf(begins, sizeof(begins), "GPU %lld: peak %s", (long long)row->number, least);
	else
		snprintf(begins, sizeof(begins), "Peak %s", least);
	return peak_verdict_say(verdict->sentence, verdict->db, &peak);
}

int verdict_say(struct sentence *sentence, struct db *db, const struct model *model)
{
	struct verdict verdict = { .sentence = sentence, .db = db, .model = model };
	int error = query_devices(db, choose_device, &verdict);

	if (!error && !model->devices)
		sentence_say(sentence, PEAK_VERDICT_NONE);
	if (error || !verdict.device)
		return error;
	return query_devices(db, say, &verdict);
}

/* ---- traces that are not complete ---- */

struct unended {
	struct sentence sentence; /* about one of these traces, a damaged one if there is any */
	uint64_t traces;
	int damaged;
};

static int add_unended(void *context, const struct query_process *row)
{
	struct unended *all = context;
	char time[TEXT_SIZE_MAX], lost[64];
	const char *file = text_base_name(row->file);
	int damaged = *row->damage != '\0';

	if (row->complete && !damaged)
		return 0;
	if (all->traces++ && damaged <= all->damaged)
		return 0;
	all->damaged = damaged;
	all->sentence = (struct sentence){ 0 };
	if (damaged)
		sentence_say(&all->sentence, "%.60s is damaged at byte %lu: %s (%s lost)", file,
			     (unsigned long)row->damage_offset, row->damage,
			     text_count(lost, sizeof(lost), row->lost, "event"));
	else
		sentence_say(&all->sentence, "%.60s ends at %s without an end mark (killed, or still running)", file,
			     text_time(time, row->last_time));
	return 0;
}

int verdict_unended(struct model *model, struct db *db)
{
	struct unended all = { .traces = 0 };
	char others[64];
	int error = query_processes(db, add_unended, &all);

	if (all.traces > 1)
		sentence_say(&all.sentence, "; not complete either: %s",
			     text_count(others, sizeof(others), all.traces - 1, "other trace"));
	model_lock(model);
	if (!*model->trouble)
		mt_copy_text(model->unended, sizeof(model->unended), all.sentence.text);
	model_unlock(model);
	return error;
}

/* ---- what grows ---- */

int verdict_growth(struct model *model, struct db *db)
{
	struct growth growth;
	struct sentence sentence;
	uint32_t devices, i;
	int error = growth_load(&growth, db);

	model_lock(model);
	devices = model->devices;
	model_unlock(model);
	for (i = 0; i < devices && !error; i++) {
		sentence = (struct sentence){ 0 };
		growth_say(&sentence, &growth, store_device_id(i));
		model_lock(model);
		model->device[i].growing = sentence.size ? model_text(model, sentence.text) : NULL;
		model_unlock(model);
	}
	growth_release(&growth);
	return error;
}
