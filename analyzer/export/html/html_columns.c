/*
 * html_columns.c - writes the moves of each device as columns.
 *
 * The page has the moves of equal changes once, because training repeats its changes in every step.
 *
 *     times     for each change: ticks since the change before
 *     changes   for each change: number of the equal change, from 1; 0: a new change, whose moves come next in `moves`
 *     moves     for each new change: number of moves, and for each move cell, bytes (signed), allocations (signed)
 *     spans     process, phase, step (signed difference), first (signed difference of ticks), ticks
 */
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/tuple.h"
#include "html.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/query.h"
#include "report/answer.h"
#include "report/failed/failures.h"

#define SPANS_MAX 200000u /* largest number of phases; the shortest ones are left out */
#define TICKS 64          /* average number of ticks between two changes; the number fits one byte */

static void html_put(struct html_bytes *bytes, uint64_t number)
{
	unsigned char *grown;

	if (bytes->room - bytes->size < 10) {
		grown = realloc(bytes->byte, bytes->room * 2 + 4096);
		if (!grown) {
			bytes->failed = 1;
			return;
		}
		bytes->byte = grown;
		bytes->room = bytes->room * 2 + 4096;
	}
	for (; number >= 0x80; number >>= 7)
		bytes->byte[bytes->size++] = (unsigned char)(number | 0x80);
	bytes->byte[bytes->size++] = (unsigned char)number;
}

static void html_put_signed(struct html_bytes *bytes, int64_t number)
{
	html_put(bytes, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

/* Appends a column to `bytes`. */
static void append(struct html_bytes *bytes, const struct html_bytes *column)
{
	unsigned char *grown;

	if (bytes->room - bytes->size < column->size) {
		grown = realloc(bytes->byte, bytes->size + column->size);
		if (!grown) {
			bytes->failed = 1;
			return;
		}
		bytes->byte = grown;
		bytes->room = bytes->size + column->size;
	}
	if (column->size)
		memcpy(bytes->byte + bytes->size, column->byte, column->size);
	bytes->size += column->size;
	bytes->failed |= column->failed;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* The clock of the page: times are whole ticks since its beginning. */
struct clock {
	int64_t first, last, tick; /* ns */
};

static struct clock clock_of(const struct moves_all *all)
{
	struct clock clock = { INT64_MAX, INT64_MIN, 1 };
	const struct moves *moves;
	uint64_t changes = 1;
	uint32_t i;

	for (i = 0; i < all->devices; i++) {
		moves = &all->device[i];
		if (!moves->changes)
			continue;
		changes += moves->changes;
		if (moves->change[0].time < clock.first)
			clock.first = moves->change[0].time;
		if (moves->change[moves->changes - 1].time > clock.last)
			clock.last = moves->change[moves->changes - 1].time;
	}
	while (clock.last > clock.first &&
	       clock.tick * 10 <= (int64_t)(((uint64_t)clock.last - (uint64_t)clock.first) / changes / TICKS))
		clock.tick *= 10;
	return clock;
}

static int64_t ticks(const struct clock *clock, int64_t time)
{
	return (int64_t)(((uint64_t)time - (uint64_t)clock->first) / (uint64_t)clock->tick);
}

/* ---- the moves of a device --------------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct moves_move *move, uint32_t count)
{
	uint64_t hash = count;
	uint32_t i;

	for (i = 0; i < count; i++) {
		hash = (hash ^ move[i].cell) * 0x9e3779b97f4a7c15u;
		hash = (hash ^ (hash >> 29) ^ (uint64_t)move[i].bytes) * 0xbf58476d1ce4e5b9u;
		hash = (hash ^ (hash >> 32) ^ (uint64_t)(int64_t)move[i].count) * 0x94d049bb133111ebu;
	}
	return hash;
}

static int is_same(const struct moves *moves, uint32_t one, uint32_t two)
{
	uint32_t counts[2], i;
	const struct moves_move *a = moves_of(moves, one, &counts[0]), *b = moves_of(moves, two, &counts[1]);

	for (i = 0; i < counts[0] && counts[0] == counts[1]; i++)
		if (a[i].cell != b[i].cell || a[i].bytes != b[i].bytes || a[i].count != b[i].count)
			return 0;
	return counts[0] == counts[1];
}

/* The different changes, by their moves: a hash table with open addressing. `change` has each change plus 1. */
struct different {
	uint32_t *change, *number;
	size_t slots, count;
};

/* The number of an equal change, from 1. 0: the change is new, and is added. */
static uint32_t number_of(struct different *different, const struct moves *moves, uint32_t change)
{
	uint32_t count;
	const struct moves_move *move = moves_of(moves, change, &count);
	size_t at = hash_of(move, count) & (different->slots - 1);

	for (; different->change[at]; at = (at + 1) & (different->slots - 1))
		if (is_same(moves, different->change[at] - 1, change))
			return different->number[at];
	different->change[at] = change + 1;
	different->number[at] = (uint32_t)++different->count;
	return 0;
}

static void put_moves(struct html_bytes *bytes, const struct html *html, const struct moves *moves, uint32_t change)
{
	uint32_t count, i;
	const struct moves_move *move = moves_of(moves, change, &count);

	html_put(bytes, count);
	for (i = 0; i < count; i++) {
		html_put(bytes, html->cell_of[move[i].cell] - 1);
		html_put_signed(bytes, move[i].bytes);
		html_put_signed(bytes, move[i].count);
	}
}

/* Appends the columns of a device. `length` gets the number of bytes of each column. */
static int put_device(struct html_bytes *bytes, const struct html *html, const struct moves *moves,
		      const struct clock *clock, size_t length[3])
{
	struct different different = { .slots = 1024 };
	struct html_bytes times = { 0 }, changes = { 0 }, content = { 0 };
	const struct html_bytes *column[] = { &times, &changes, &content };
	int64_t before = 0, now;
	uint32_t i, number;
	int error = 0;

	while (different.slots < (size_t)moves->changes * 2)
		different.slots *= 2;
	different.change = calloc(different.slots, sizeof(*different.change));
	different.number = calloc(different.slots, sizeof(*different.number));
	if (!different.change || !different.number)
		error = -MT_E_MEMORY;
	for (i = 0; i < moves->changes && !error; i++) {
		now = ticks(clock, moves->change[i].time);
		html_put(&times, (uint64_t)(now - before));
		before = now;
		number = number_of(&different, moves, i);
		html_put(&changes, number);
		if (!number)
			put_moves(&content, html, moves, i);
	}
	for (i = 0; i < 3 && !error; i++) {
		length[i] = column[i]->size;
		append(bytes, column[i]);
	}
	free(different.change);
	free(different.number);
	free(times.byte);
	free(changes.byte);
	free(content.byte);
	return error;
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

struct devices {
	struct html *html;
	struct doc *doc;
	struct html_bytes *bytes;
	struct clock clock;
	struct oom_failures failures;
	int error;
};

static void put_failure(struct doc *doc, const struct oom_failure *failure, uint32_t changes, int confidential)
{
	doc_object(doc, NULL);
	doc_int(doc, "changes", changes);
	doc_time(doc, "time_ns", failure->time);
	doc_int(doc, "requested_bytes", (int64_t)failure->requested);
	doc_int_or_null(doc, "free_bytes", failure->free, failure->free >= 0);
	doc_int_or_null(doc, "rank", failure->rank, failure->rank >= 0);
	doc_string(doc, "phase", answer_phase(failure->phase));
	doc_int(doc, "step", failure->step);
	doc_string(doc, "function", failure->function);
	doc_string(doc, "place", confidential ? "" : failure->place);
	doc_bool(doc, "had", failure->had);
	doc_end(doc);
}

static void put_marks(struct devices *devices, const struct moves *moves)
{
	const struct oom_failure *failure;
	uint32_t i;

	doc_array(devices->doc, "ooms");
	for (i = 0; i < moves->marks; i++) {
		if (moves->mark[i].oom > (int64_t)devices->failures.count)
			continue;
		failure = &devices->failures.failure[moves->mark[i].oom - 1];
		if (!failure->is_part && failure->id == moves->mark[i].oom)
			put_failure(devices->doc, failure, moves->mark[i].changes,
				    devices->html->run->options->confidential);
	}
	doc_end(devices->doc);
}

/* Number of changes up to a time, because the page itself has only rounded times. */
static uint32_t changes_at(const struct moves *moves, int64_t time)
{
	uint32_t low = 0, high = moves->changes, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (moves->change[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int take_device(void *context, const struct query_device *row)
{
	static const struct moves none;
	struct devices *devices = context;
	struct doc *doc = devices->doc;
	const struct moves_all *all = &devices->html->moves;
	const struct moves *moves = row->id <= (int64_t)all->devices ? &all->device[row->id - 1] : &none;
	size_t length[3] = { 0 };
	uint32_t i;
	int error;

	if (!moves->changes)
		return 0;
	error = put_device(devices->bytes, devices->html, moves, &devices->clock, length);
	doc_object(doc, NULL);
	doc_int(doc, "number", row->number);
	doc_string(doc, "kind", row->kind);
	doc_string(doc, "name", row->name);
	doc_int_or_null(doc, "total_bytes", (int64_t)row->total, row->total > 0);
	doc_int(doc, "peak_bytes", (int64_t)row->peak.bytes);
	doc_time(doc, "peak_time_ns", row->peak.time);
	doc_string(doc, "peak_phase", answer_phase(row->peak.phase));
	doc_int(doc, "peak_step", row->peak.step);
	doc_int(doc, "peak_changes", moves->peak);
	doc_int(doc, "changes", moves->changes);
	doc_int(doc, "moves", moves->moves);
	doc_int(doc, "at_changes", changes_at(moves, devices->html->at));
	doc_int(doc, "told", (int64_t)moves->told);
	doc_int(doc, "stretch_ns", moves->shift ? (int64_t)1 << moves->shift : 0);
	doc_array(doc, "lengths");
	for (i = 0; i < 3; i++)
		doc_int(doc, NULL, (int64_t)length[i]);
	doc_end(doc);
	put_marks(devices, moves);
	doc_end(doc);
	return error;
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

struct spans {
	const struct devices *devices;
	struct html_bytes bytes;
	int64_t step, first, least; /* least: ns of the shortest phase that is not left out */
	uint64_t count, left_out;
};

static int take_span(void *context, struct db_stmt *row)
{
	struct spans *spans = context;
	const struct clock *clock = &spans->devices->clock;
	const char *word = db_text(row, 1);
	int64_t step = db_int(row, 2), first = db_int(row, 3), last = db_int(row, 4);
	int phase = mt_phase_parse(word, strlen(word));

	if (last < clock->first || first > clock->last || last < first)
		return 0;
	if (last - first < spans->least) {
		spans->left_out++;
		return 0;
	}
	first = ticks(clock, first > clock->first ? first : clock->first);
	last = ticks(clock, last < clock->last ? last : clock->last);
	html_put(&spans->bytes, (uint64_t)db_int(row, 0) - 1);
	html_put(&spans->bytes, phase < 0 ? MT_PHASE_OTHER : (uint64_t)phase);
	html_put_signed(&spans->bytes, step - spans->step);
	html_put_signed(&spans->bytes, first - spans->first);
	html_put(&spans->bytes, (uint64_t)(last - first));
	spans->step = step;
	spans->first = first;
	spans->count++;
	return 0;
}

static int put_spans(struct devices *devices)
{
	struct spans spans = { .devices = devices };
	uint64_t all = 0;
	int error = db_number(devices->html->db, "SELECT count(*) FROM phase_span", NULL, (int64_t *)&all);

	if (!error && all > SPANS_MAX)
		spans.least = (devices->clock.last - devices->clock.first) / (SPANS_MAX / 2);
	if (!error)
		error = db_rows(devices->html->db,
				"SELECT process, phase, step, first_time, last_time FROM phase_span "
				"WHERE process > 0 ORDER BY process, first_time, id",
				NULL, take_span, &spans);
	doc_object(devices->doc, "spans");
	doc_int(devices->doc, "count", (int64_t)spans.count);
	doc_int(devices->doc, "left_out", (int64_t)spans.left_out);
	doc_int(devices->doc, "length", (int64_t)spans.bytes.size);
	doc_end(devices->doc);
	append(devices->bytes, &spans.bytes);
	free(spans.bytes.byte);
	return error;
}

int html_columns(struct html *html, struct doc *doc, struct html_bytes *bytes)
{
	struct devices devices = { .html = html, .doc = doc, .bytes = bytes, .clock = clock_of(&html->moves) };
	int error = oom_failures_load(&devices.failures, html->db);

	if (!error && devices.clock.first > devices.clock.last)
		error = -MT_E_MISSING;
	if (!error) {
		doc_int(doc, "first_ns", devices.clock.first);
		doc_int(doc, "last_ns", devices.clock.last);
		doc_int(doc, "tick_ns", devices.clock.tick);
		doc_array(doc, "devices");
		error = query_devices(html->db, take_device, &devices);
		doc_end(doc);
	}
	if (!error)
		error = put_spans(&devices);
	oom_failures_release(&devices.failures);
	return error ? error : bytes->failed ? -MT_E_MEMORY : 0;
}
