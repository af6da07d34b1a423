/* Says growth in sentences and JSON, the same in all reports. */
#include <stdlib.h>
#include <string.h>
#include "growth.h"
#include "memtrace/base.h"
#include "memtrace/phase.h"
#include "report/answer.h"
#include "report/finding.h"
#include "report/places.h"

/* The largest place of one device, and the number of places that grow on it. */
struct largest {
	struct growth_row row; /* bytes: on this device alone; places: on all devices */
	size_t places;
};

static struct largest largest_of(const struct growth *growth, int64_t device)
{
	struct largest largest = { 0 };
	struct growth_row row;
	size_t i, k;

	for (i = 0; i < growth->table.rows; i++) {
		row = (struct growth_row){ .place = growth->table.row[i].place, .count = growth->table.row[i].count };
		for (k = 0; k < row.count; k++) {
			if (row.place[k].device != device)
				continue;
			row.bytes += row.place[k].bytes;
			row.most = !row.most || row.place[k].bytes > row.most->bytes ? &row.place[k] : row.most;
		}
		largest.places += row.most != NULL;
		if (row.bytes > largest.row.bytes)
			largest.row = row;
	}
	return largest;
}

/* ---- processes ---- */

static int by_number(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

	return (one > two) - (one < two);
}

/* Says "0 to 7", "0, 3 and 5" or "0, 3, 5, 7 and 12 more". `number` is sorted, and `count` is above 0. */
static void say_numbers(struct sentence *sentence, const int64_t *number, size_t count)
{
	size_t i, shown = count > 5 ? 4 : count;

	if (count > 2 && number[count - 1] - number[0] == (int64_t)count - 1) {
		sentence_say(sentence, "%lld to %lld", (long long)number[0], (long long)number[count - 1]);
		return;
	}
	for (i = 0; i < shown; i++)
		sentence_say(sentence, "%s%lld", !i ? "" : i + 1 < count ? ", " : " and ", (long long)number[i]);
	if (shown < count)
		sentence_say(sentence, " and %zu more", count - shown);
}

/* Returns the ranks or pids of the places on one device (0: on all), sorted, each once. The caller frees the array. NULL: out of memory. */
static int64_t *numbers_of(const struct growth_row *row, int64_t device, int ranks, size_t *found)
{
	int64_t *number = malloc((row->count ? row->count : 1) * sizeof(*number));
	size_t count = 0, i;

	*found = 0;
	if (!number)
		return NULL;
	for (i = 0; i < row->count; i++)
		if (!device || row->place[i].device == device)
			number[count++] = ranks ? row->place[i].rank : row->place[i].pid;
	qsort(number, count, sizeof(*number), by_number);
	for (i = 0; i < count; i++)
		if (!i || number[i] != number[*found - 1])
			number[(*found)++] = number[i];
	return number;
}

static void say_processes(struct sentence *sentence, const struct growth_row *row, int64_t device)
{
	int ranks = 1;
	int64_t *number;
	size_t count;

	for (count = 0; count < row->count; count++)
		ranks &= row->place[count].rank >= 0;
	number = numbers_of(row, device, ranks, &count);
	if (number) {
		sentence_say(sentence, "%s%s ", ranks ? "rank" : "pid", count == 1 ? "" : "s");
		say_numbers(sentence, number, count);
	}
	free(number);
}

void growth_say_processes(struct sentence *sentence, const struct growth_row *row)
{
	say_processes(sentence, row, 0);
}

void growth_say_name(struct sentence *sentence, const struct growth_name *name)
{
	char module[FINDING_MODULE_MAX / 2], place[256];

	sentence_say(sentence, "%s", finding_place_words(place, sizeof(place), &name->at));
	if (*name->module)
		sentence_say(sentence, " %sin %s", name->modules > 1 ? "mostly " : "",
			     text_fit(module, sizeof(module), name->module, 60, 1));
}

/* ---- the headline ---- */

static const struct growth_device *device_of(const struct growth *growth, int64_t device)
{
	size_t i;

	for (i = 0; i < growth->devices; i++)
		if (!device || growth->device[i].device == device)
			return &growth->device[i];
	return NULL;
}

static void say_rest(struct sentence *sentence, const struct growth *growth, const struct growth_device *device)
{
	char name[TEXT_SIZE_MAX], number[TEXT_SIZE_MAX];

	if (growth->devices > 1)
		sentence_say(sentence, " %zu other device%s grow%s, too.", growth->devices - 1,
			     growth->devices > 2 ? "s" : "", growth->devices > 2 ? "" : "s");
	if (device->left > 0)
		sentence_say(sentence, " At this rate %s is full after %s more step%s.",
			     answer_device(name, device->number, device->kind),
			     text_number(number, (uint64_t)device->left), device->left == 1 ? "" : "s");
}

void growth_say(struct sentence *sentence, const struct growth *growth, int64_t device)
{
	const struct growth_device *at = device_of(growth, device);
	struct largest largest;
	char each[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX], others[64];
	const struct growth_place *most;

	if (!at)
		return;
	largest = largest_of(growth, at->device);
	most = largest.row.most;
	if (!most)
		return;
	sentence_say(sentence, "Growing: ");
	growth_say_name(sentence, most->name);
	if (largest.places > 1)
		sentence_say(sentence, " and %s",
			     text_count(others, sizeof(others), largest.places - 1, "other place"));
	sentence_say(sentence, " keep%s %s more with every step (steps %u to %u), %s so far",
		     largest.places > 1 ? "" : "s", text_bytes(each, at->each), most->first,
		     most->first + most->parts - 1, text_bytes(all, at->bytes));
	if (growth->lanes > 1) {
		sentence_say(sentence, ", on %s in ", answer_device(name, at->number, at->kind));
		say_processes(sentence, &largest.row, at->device);
	}
	sentence_say(sentence, ".");
	say_rest(sentence, growth, at);
}

/* Whether most of the growing bytes have one of these categories. `set`: bits, by enum mt_category. */
static int is_mostly(const struct growth_list *steps, const struct growth_list *batches, unsigned set)
{
	const struct growth_list *const lists[] = { steps, batches };
	uint64_t bytes = 0, all = 0;
	size_t i, k;

	for (k = 0; k < MT_ARRAY_SIZE(lists); k++)
		for (i = 0; i < lists[k]->count; i++) {
			all += lists[k]->place[i].bytes;
			bytes += set >> mt_category_parse(lists[k]->place[i].category) & 1 ? lists[k]->place[i].bytes
											   : 0;
		}
	return bytes > all / 2;
}

void growth_say_remedy(struct sentence *sentence, const struct growth_list *steps, const struct growth_list *batches)
{
	const unsigned model = 1u << MT_CATEGORY_WEIGHTS | 1u << MT_CATEGORY_OPTIMIZER_STATE;

	if (is_mostly(steps, batches, 1u << MT_CATEGORY_GRAPHS))
		sentence_say(sentence,
			     "%s while CUDA graphs are captured: capture fewer or none, or take a later version of the library that "
			     "captures them; where the code that keeps it is yours, drop the reference.",
			     steps->count ? " It comes" : ",");
	else if (is_mostly(steps, batches, model))
		sentence_say(sentence,
			     "%s parts are added to a model or its optimizer, or models are made and not freed.",
			     steps->count ? " No knob fixes this:" : ": no knob fixes this;");
	else
		sentence_say(sentence,
			     "%s drop the reference (keep a detached number instead of the tensor, or delete it before the "
			     "next round).",
			     steps->count ? " No knob fixes this:" : ": no knob fixes this;");
}

/* ---- rows ---- */

static void list_numbers(struct doc *doc, const char *key, const struct growth_row *row, int ranks)
{
	size_t found, i;
	int64_t *number = numbers_of(row, 0, ranks, &found);

	if (!number)
		doc_fail(doc);
	doc_array(doc, key);
	for (i = 0; i < found; i++)
		if (number[i] >= 0)
			doc_int(doc, NULL, number[i]);
	doc_end(doc);
	free(number);
}

static void list_ranks(struct doc *doc, const char *key, const void *row)
{
	list_numbers(doc, key, row, 1);
}

static void list_pids(struct doc *doc, const char *key, const void *row)
{
	list_numbers(doc, key, row, 0);
}

static const char *row_words(char store[COLUMN_STORE], const struct growth_row *row)
{
	struct sentence sentence = { .size = 0 };

	growth_say_name(&sentence, row->most->name);
	sentence_say(&sentence, ", %s, ", answer_category(row->most->category));
	growth_say_processes(&sentence, row);
	snprintf(store, COLUMN_STORE, "%.*s", COLUMN_STORE - 1, sentence.text);
	return store;
}

#define GROWTH_COLUMNS(X, T)                                                                              \
	X(T, function, WORD, NULL, it->most->name->at.function, "function of the place")                  \
	X(T, place, WORD, NULL, it->most->name->at.place, "file and line")                                \
	X(T, submodule, OPTIONAL, NULL, *it->most->name->module ? it->most->name->module : NULL,          \
	  "module that keeps most of it, the layers of a model together")                                 \
	X(T, phase, PHASE, "made in", it->most->phase, "phase that allocated it")                         \
	X(T, category, WORD, NULL, it->most->category, "category of most of it")                          \
	X(T, bytes, BYTES, "so far", it->bytes, "kept so far, by all processes")                          \
	X(T, bytes_per_step, BYTES, "a step", it->each, "kept of each step")                              \
	X(T, count, COUNT, NULL, it->allocations, "allocations that are kept")                            \
	X(T, first_step, NUMBER, NULL, it->most->first, "first of the steps that keep something")         \
	X(T, steps, NUMBER, NULL, it->most->parts, "number of these steps")                               \
	X(T, processes, NUMBER, NULL, it->count, "processes, one that grows on two devices counts twice") \
	X(T, ranks, LIST, NULL, list_ranks, "their ranks")                                                \
	X(T, pids, LIST, NULL, list_pids, "their pids")                                                   \
	X(T, keeper, LABEL, "by", row_words(value->store, it), "place, module, category and processes")

COLUMN_TABLE(growth, struct growth_row, GROWTH_COLUMNS)

#define GROWTH_DEVICE_COLUMNS(X, T)                                              \
	X(T, device, NUMBER, NULL, it->number, "number of the device")           \
	X(T, kind, WORD, NULL, it->kind, "cuda or cpu")                          \
	X(T, bytes, BYTES, NULL, it->bytes, "kept so far")                       \
	X(T, bytes_per_step, BYTES, NULL, it->each, "kept of each step")         \
	X(T, processes, COUNT, NULL, it->processes, "processes that grow on it") \
	X(T, full_after_steps, NUMBER, NULL, COLUMN_IF(it->left >= 0, it->left), \
	  "steps until it is full, of a program that goes on after its recording")

COLUMN_TABLE(growth_device, struct growth_device, GROWTH_DEVICE_COLUMNS)

static void list_stack(struct doc *doc, const char *key, const void *of)
{
	const struct growth_name *name = ((const struct growth_row *)of)->most->name;

	stack_json_frames(doc, key, &name->stack, name->user);
}

#define KEPT_COLUMNS(X, T)                                                                                             \
	X(T, bytes, BYTES, NULL, it->bytes, "kept, by all processes; of the worst step where parts are micro-batches") \
	X(T, bytes_each, BYTES, NULL, it->each, "kept of each part")                                                   \
	X(T, first, NUMBER, NULL, it->most->first, "first of the parts that keep something: steps, or micro-batches")  \
	X(T, parts, NUMBER, NULL, it->most->parts, "number of these parts")                                            \
	X(T, parts_of, NUMBER, NULL, it->most->of, "number of all parts")                                              \
	X(T, step, NUMBER, NULL, COLUMN_IF(it->most->steps, it->most->step), "step of these micro-batches")            \
	X(T, steps, NUMBER, NULL, COLUMN_IF(it->most->steps, it->most->steps), "steps in which the place grew")        \
	X(T, steps_of, NUMBER, NULL, COLUMN_IF(it->most->steps, it->most->steps_of), "steps that have micro-batches")  \
	X(T, processes, NUMBER, NULL, it->count, "processes that do so")                                               \
	X(T, pid, PID, NULL, it->most->pid, "the process that keeps most")                                             \
	X(T, rank, NUMBER, NULL, COLUMN_IF(it->most->rank >= 0, it->most->rank), "its rank")                           \
	X(T, phase, PHASE, NULL, it->most->phase, "phase that allocated it")                                           \
	X(T, category, WORD, NULL, it->most->category, "category of most of it")                                       \
	X(T, submodule, OPTIONAL, NULL, *it->most->name->module ? it->most->name->module : NULL,                       \
	  "module that keeps most of it, the layers of a model together")                                              \
	X(T, function, WORD, NULL, it->most->name->at.function, "function of the place")                               \
	X(T, file, WORD, NULL, it->most->name->at.file, "its file")                                                    \
	X(T, line, NUMBER, NULL, it->most->name->at.line, "its line")                                                  \
	X(T, place, WORD, NULL, it->most->name->at.place, "file and line, as in memana top")                           \
	X(T, stack, LIST, NULL, list_stack, "stack of the process that keeps most, innermost frame first")

COLUMN_TABLE(kept, struct growth_row, KEPT_COLUMNS)

struct growth_row growth_row_of(const struct growth_place *place)
{
	return (struct growth_row){ .most = place,
				    .place = place,
				    .count = 1,
				    .bytes = place->bytes,
				    .each = place->each,
				    .allocations = place->count };
}

void growth_print(const struct text *text, const struct growth *growth, size_t limit)
{
	size_t rows = growth->table.rows < limit ? growth->table.rows : limit;

	if (!rows)
		return;
	answer_title(text, "What grows");
	column_text(text, &growth_columns, growth->table.row, rows, sizeof(*growth->table.row));
}

void growth_json(struct doc *doc, const struct growth *growth, size_t limit)
{
	size_t rows = growth->table.rows < limit ? growth->table.rows : limit, i;
	uint64_t bytes = 0, each = 0;

	for (i = 0; i < growth->devices; i++) {
		bytes += growth->device[i].bytes;
		each += growth->device[i].each;
	}
	doc_object(doc, "growth");
	doc_string(doc, "state", growth_state_word(growth->state));
	doc_int(doc, "bytes", (int64_t)bytes);
	doc_int(doc, "bytes_per_step", (int64_t)each);
	column_json_rows(doc, "places", &growth_columns, growth->table.row, rows, sizeof(*growth->table.row));
	column_json_rows(doc, "devices", &growth_device_columns, growth->device, growth->devices,
			 sizeof(*growth->device));
	doc_end(doc);
}
