/* The text of memana frag. */
#include <stdio.h>
#include <stdlib.h>
#include "frag_report.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/finding.h"

static void print_facts(const struct frag_report *report)
{
	const struct segment_map *map = &report->state.map.map;
	char words[160], count[64], share[TEXT_SIZE_MAX];

	if (!map->count && !map->absent)
		return;
	answer_title(report->text, "The allocator");
	finding_line(report->text, map->bytes, text_count(words, sizeof(words), map->count, "reserved segment"));
	snprintf(words, sizeof(words), "allocated (%s), %s", text_percent(share, map->used, map->bytes),
		 text_count(count, sizeof(count), report->state.map.blocks, "tensor"));
	finding_line(report->text, map->used, words);
	finding_line(report->text, map->bytes - map->used, "idle");
	finding_line(report->text, map->largest_hole, "largest hole");
	finding_line(report->text, map->free_pieces, "would go back with torch.cuda.empty_cache()");
	if (map->absent)
		finding_line(report->text, map->absent, "in tensors without memory: a pool that sleeps");
	if (report->state.expandable)
		text_print(report->text, "              expandable segments are on\n");
}

/* Prints each phase at its fullest moment: at this moment, a new segment is still empty. */
static int print_phase(void *context, const struct query_phase_peak *row)
{
	struct frag_report *report = context;
	const struct alive_moment when = { row->time, row->process, row->seq };
	struct frag_map map;
	char used[TEXT_SIZE_MAX], idle[TEXT_SIZE_MAX], hole[TEXT_SIZE_MAX], words[200];
	int error = frag_load(&map, report->db, report->device->id, 0, &when);

	if (!error && map.map.count) {
		if (!report->phases++)
			answer_title(report->text, "Reserved when the device was fullest in each phase");
		snprintf(words, sizeof(words), "%s: %s in tensors, %s idle, largest hole %s", row->phase,
			 text_bytes(used, map.map.used), text_bytes(idle, frag_idle(&map)),
			 text_bytes(hole, map.map.largest_hole));
		finding_phase_line(report->text, row->phase, map.map.bytes, words);
	}
	frag_release(&map);
	return error;
}

static void print_pins(const struct frag_report *report)
{
	const struct frag_pin *pin;
	char words[512], place[256], bytes[TEXT_SIZE_MAX], count[64];
	size_t i;
	int at;

	if (report->state.pins.count)
		answer_title(report->text, "Idle in pinned segments, by the place whose tensors pin them");
	for (i = 0; i < report->state.pins.count && i < report->command->limit; i++) {
		pin = &report->state.pins.pin[i];
		at = snprintf(words, sizeof(words), "%s: %s in %s",
			      finding_place(place, sizeof(place), report->db, pin->node), text_bytes(bytes, pin->bytes),
			      text_count(count, sizeof(count), pin->segments, "segment"));
		if (text_known.history)
			at += snprintf(words + at, sizeof(words) - (size_t)at, ", from %s", answer_phase(pin->phase));
		if (text_known.history && strcmp(pin->phase, mt_phase_name(MT_PHASE_BEFORE)))
			snprintf(words + at, sizeof(words) - (size_t)at, ", step %lld to %lld",
				 (long long)pin->first_step, (long long)pin->last_step);
		finding_phase_line(report->text, pin->phase, pin->idle, words);
	}
}

static const char *address_words(char store[COLUMN_STORE], const struct segment *segment)
{
	snprintf(store, COLUMN_STORE, "0x%llx", (unsigned long long)segment->address);
	return store;
}

#define SEGMENT_COLUMNS(X, T)                                                                                \
	X(T, idle_bytes, BYTES, "idle", it->bytes - it->used, "bytes in no tensor")                          \
	X(T, bytes, BYTES, "size", it->bytes, "bytes of the segment")                                        \
	X(T, used_bytes, BYTES, "used", it->used, "bytes in tensors")                                        \
	X(T, largest_hole_bytes, BYTES, "largest hole", it->largest_hole, "largest idle range")              \
	X(T, tensors, COUNT, "tensors", it->blocks, "tensors in it")                                         \
	X(T, mappings, NUMBER, NULL, it->mapped ? it->pieces : 0, "mappings that an expandable segment has") \
	X(T, address, NUMBER, NULL, it->address, "first address")                                            \
	X(T, at, LABEL, "address", address_words(value->store, it), "first address")

COLUMN_TABLE(segment, struct segment, SEGMENT_COLUMNS)

static int print_segments(const struct frag_report *report)
{
	const struct segment **sorted = frag_sort(&report->state.map.map);
	size_t count = report->state.map.map.count;

	if (!sorted)
		return -MT_E_MEMORY;
	if (count) {
		answer_title(report->text, "Segments with most idle bytes");
		column_text(report->text, &segment_columns, sorted,
			    count < report->command->limit ? count : report->command->limit, 0);
	}
	free(sorted);
	return 0;
}

int frag_text(struct frag_report *report)
{
	struct sentence sentence = frag_verdict(&report->state, report->db);
	char name[128];
	int error;

	text_print(report->text, report->devices++ ? "\n" : "");
	text_style(report->text, TEXT_HEAD);
	text_print(report->text, "GPU %lld%s\n", (long long)report->device->number,
		   answer_model(name, report->device->name));
	text_style(report->text, TEXT_PLAIN);
	answer_verdict(report->text, &sentence);
	print_facts(report);
	error = report->command->replay.count
			? frag_replay_text(&report->command->replay, report->text, report->db, report->device)
			: 0;
	if (error)
		return error;
	print_pins(report);
	error = print_segments(report);
	if (error || !text_known.history)
		return error;
	report->phases = 0;
	return query_phase_peaks(report->db, report->device->id, print_phase, report);
}
