/* Growth in a sentence and in JSON: the same in every report. */
#include <stdlib.h>
#include "growth.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/finding.h"

/* The largest place of one device, as a part of the list, and the number of places that grow there. */
struct largest {
	struct growth_row row;
	size_t places;
};

static int same_place(const struct growth_place *one, const struct growth_place *two)
{
	return one->first_node == two->first_node && one->phase == two->phase;
}

static struct largest largest_of(const struct growth *growth, int64_t device)
{
	const struct growth_list *list = &growth->table.places;
	struct largest largest = { 0 };
	struct growth_row row = { 0 };
	size_t i;

	for (i = 0; i < list->count; i++) {
		if (list->place[i].device != device)
			continue;
		if (!row.most || !same_place(row.most, &list->place[i])) {
			row = (struct growth_row){ .first = i };
			largest.places++;
		}
		row.bytes += list->place[i].bytes;
		row.each += list->place[i].each;
		row.count = i + 1 - row.first;
		if (!row.most || list->place[i].bytes > row.most->bytes)
			row.most = &list->place[i];
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

/* "0 to 7", "0, 3 and 5", "0, 3, 5, 7 and 12 more"; `number` is sorted, `count` more than none. */
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

/* The ranks of the places, or where one has none their pids, each once and sorted. NULL: out of memory. */
static int64_t *numbers_of(const struct growth_place *place, size_t count, int ranks, size_t *found)
{
	int64_t *number = malloc((count ? count : 1) * sizeof(*number));
	size_t i;

	*found = 0;
	if (!number)
		return NULL;
	for (i = 0; i < count; i++)
		number[i] = ranks ? place[i].rank : place[i].pid;
	qsort(number, count, sizeof(*number), by_number);
	for (i = 0; i < count; i++)
		if (!i || number[i] != number[*found - 1])
			number[(*found)++] = number[i];
	return number;
}

static int have_ranks(const struct growth_place *place, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (place[i].rank < 0)
			return 0;
	return 1;
}

void growth_say_processes(struct sentence *sentence, const struct growth_table *table, const struct growth_row *row)
{
	const struct growth_place *place = &table->places.place[row->first];
	int ranks = have_ranks(place, row->count);
	size_t count;
	int64_t *number = numbers_of(place, row->count, ranks, &count);

	if (number) {
		sentence_say(sentence, "%s%s ", ranks ? "rank" : "pid", count == 1 ? "" : "s");
		say_numbers(sentence, number, count);
	}
	free(number);
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
	char place[256], each[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX], others[64],
		module[FINDING_MODULE_MAX];
	const struct growth_place *most;

	if (!at)
		return;
	largest = largest_of(growth, at->device);
	if (!largest.row.most)
		return;
	most = largest.row.most;
	sentence_say(sentence, "Growing: %s%s", finding_place(place, sizeof(place), growth->db, most->node),
		     finding_in_module(module, growth->db, most->first_node, most->phase));
	if (largest.places > 1)
		sentence_say(sentence, " and %s",
			     text_count(others, sizeof(others), largest.places - 1, "other place"));
	sentence_say(sentence, " keep%s %s more with every step (steps %u to %u), %s so far",
		     largest.places > 1 ? "" : "s", text_bytes(each, at->each), largest.row.most->first,
		     largest.row.most->first + largest.row.most->parts - 1, text_bytes(all, at->bytes));
	if (growth->lanes > 1) {
		sentence_say(sentence, ", on %s in ", answer_device(name, at->number, at->kind));
		growth_say_processes(sentence, &growth->table, &largest.row);
	}
	sentence_say(sentence, ".");
	say_rest(sentence, growth, at);
}

/* ---- JSON ---- */

static int json_numbers(struct doc *doc, const char *key, const struct growth_place *place, size_t count, int ranks)
{
	size_t found, i;
	int64_t *number = numbers_of(place, count, ranks, &found);

	doc_array(doc, key);
	for (i = 0; number && i < found; i++)
		if (number[i] >= 0)
			doc_int(doc, NULL, number[i]);
	doc_end(doc);
	free(number);
	return number ? 0 : -MT_E_MEMORY;
}

static int json_row(struct doc *doc, const struct growth *growth, const struct growth_row *row)
{
	const struct growth_place *place = &growth->table.places.place[row->first];
	struct finding_place named;
	uint64_t count = 0;
	size_t i;
	int error = finding_place_of(&named, growth->db, row->most->node);

	for (i = 0; i < row->count; i++)
		count += place[i].count;
	doc_object(doc, NULL);
	doc_string(doc, "function", named.function);
	doc_string(doc, "place", named.place);
	if (!error)
		error = finding_module_json(doc, growth->db, row->most->first_node, row->most->phase);
	doc_string(doc, "phase", row->most->phase);
	doc_string(doc, "category", row->most->category);
	doc_int(doc, "bytes", (int64_t)row->bytes);
	doc_int(doc, "bytes_per_step", (int64_t)row->each);
	doc_int(doc, "count", (int64_t)count);
	doc_int(doc, "first_step", row->most->first);
	doc_int(doc, "steps", row->most->parts);
	doc_int(doc, "processes", (int64_t)row->count);
	if (!error)
		error = json_numbers(doc, "ranks", place, row->count, 1);
	if (!error)
		error = json_numbers(doc, "pids", place, row->count, 0);
	doc_end(doc);
	return error;
}

static void json_device(struct doc *doc, const struct growth_device *device)
{
	doc_object(doc, NULL);
	doc_int(doc, "device", device->number);
	doc_string(doc, "kind", device->kind);
	doc_int(doc, "bytes", (int64_t)device->bytes);
	doc_int(doc, "bytes_per_step", (int64_t)device->each);
	doc_int(doc, "processes", (int64_t)device->processes);
	doc_int_or_null(doc, "full_after_steps", device->left, device->left >= 0);
	doc_end(doc);
}

int growth_json(struct doc *doc, const struct growth *growth, size_t limit)
{
	uint64_t bytes = 0, each = 0;
	size_t i;
	int error = 0;

	for (i = 0; i < growth->devices; i++) {
		bytes += growth->device[i].bytes;
		each += growth->device[i].each;
	}
	doc_object(doc, "growth");
	doc_string(doc, "state", growth_state_word(growth->state));
	doc_int(doc, "bytes", (int64_t)bytes);
	doc_int(doc, "bytes_per_step", (int64_t)each);
	doc_array(doc, "places");
	for (i = 0; i < growth->table.rows && i < limit && !error; i++)
		error = json_row(doc, growth, &growth->table.row[i]);
	doc_end(doc);
	doc_array(doc, "devices");
	for (i = 0; i < growth->devices; i++)
		json_device(doc, &growth->device[i]);
	doc_end(doc);
	doc_end(doc);
	return error;
}
