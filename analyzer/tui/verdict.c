#include "verdict.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "query.h"
#include "text.h"

struct verdict {
	struct sentence *sentence;
	struct db *db;
	const struct model *model;
	int64_t device; /* id of the fullest, 0: none yet */
	int is_gpu;
	double fullness;
	uint64_t bytes; /* of its peak */
};

/* ---- which device ---- */

/* A GPU before the CPU, then the fuller one, then the one that held more. */
static int choose_device(void *context, const struct query_device *row)
{
	struct verdict *verdict = context;
	int is_gpu = !strcmp(row->kind, "cuda"), is_fuller;
	double fullness = row->total ? (double)row->peak.bytes / (double)row->total : 0;

	if (is_gpu != verdict->is_gpu)
		is_fuller = is_gpu;
	else
		is_fuller = fullness != verdict->fullness ? fullness > verdict->fullness :
							    row->peak.bytes > verdict->bytes;
	if (!row->peak.bytes || (verdict->device && !is_fuller))
		return 0;
	verdict->device = row->id;
	verdict->is_gpu = is_gpu;
	verdict->fullness = fullness;
	verdict->bytes = row->peak.bytes;
	return 0;
}

/* ---- which place ---- */

/* What one site held at the peak; names are of the model, where the same text is the same pointer. */
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

/* Sites of one name are one place; the one that held most is the result. */
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

static int largest_place(const struct verdict *verdict, const struct query_culprit *row, struct place *largest)
{
	struct places places = { .model = verdict->model, .culprit = row };
	int error;

	places.place = calloc((size_t)verdict->model->sites + 1, sizeof(*places.place));
	if (!places.place)
		return -MT_E_MEMORY;
	error = query_sites(verdict->db, verdict->device, -1, add_place, &places);
	*largest = join_places(&places);
	free(places.place);
	return error;
}

/* ", most of it by ffn_forward (rl_step.c:95)" */
static int say_place(const struct verdict *verdict, const struct query_culprit *row)
{
	struct place place;
	int error = largest_place(verdict, row, &place);

	if (error || !*place.name)
		return error;
	sentence_say(verdict->sentence, "%s", place.bytes == row->bytes ? ", by " :
		     place.bytes > row->bytes / 2 ? ", most of it by " : ", the largest part by ");
	if (*place.function) {
		sentence_say_clean(verdict->sentence, place.function);
		sentence_say(verdict->sentence, " (");
	}
	sentence_say_clean(verdict->sentence, place.name);
	if (*place.function)
		sentence_say(verdict->sentence, ")");
	return 0;
}

/* ---- the sentence ---- */

static int say_peak(void *context, const struct query_device *row)
{
	const struct verdict *verdict = context;
	struct sentence *sentence = verdict->sentence;
	char size[TEXT_SIZE_MAX], total[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX], time[TEXT_SIZE_MAX];

	if (row->id != verdict->device)
		return 0;
	sentence_say(sentence, "%s %s", verdict->model->lost ? "Peak at least" : "Peak",
		     text_bytes(size, row->peak.bytes));
	if (row->total)
		sentence_say(sentence, " of %s (%s)", text_bytes(total, row->total),
			     text_percent(share, row->peak.bytes, row->total));
	sentence_say(sentence, " at %s, ", text_time(time, row->peak.time));
	if (strcmp(row->peak.phase, "other"))
		sentence_say(sentence, "in %s", row->peak.phase);
	else
		sentence_say(sentence, "outside any known phase");
	if (verdict->model->steps)
		sentence_say(sentence, " of step %lld", (long long)row->peak.step);
	sentence_say(sentence, ".");
	return 0;
}

static int say_culprit(void *context, const struct query_culprit *row)
{
	const struct verdict *verdict = context;
	struct sentence *sentence = verdict->sentence;
	char share[TEXT_SIZE_MAX];
	int error;

	sentence_say(sentence, " %s of it is %s, %s ",
		     row->bytes == verdict->bytes ? "All" : text_percent(share, row->bytes, verdict->bytes),
		     strcmp(row->category, "other") ? row->category : "memory of no known purpose",
		     strcmp(row->category, mt_category_name(MT_CATEGORY_SLACK)) ? "allocated" : "taken from the driver");
	if (strcmp(row->phase, "other"))
		sentence_say(sentence, "in %s", row->phase);
	else
		sentence_say(sentence, "outside any known phase");
	error = say_place(verdict, row);
	sentence_say(sentence, ".");
	return error;
}

int verdict_say(struct sentence *sentence, struct db *db, const struct model *model)
{
	struct verdict verdict = { .sentence = sentence, .db = db, .model = model };
	int error = query_devices(db, choose_device, &verdict);

	if (error || !verdict.device)
		return error;
	error = query_devices(db, say_peak, &verdict);
	return error ? error : query_culprit(db, verdict.device, say_culprit, &verdict);
}
