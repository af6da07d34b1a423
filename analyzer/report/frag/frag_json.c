/* The JSON of memana frag. */
#include <stdlib.h>
#include "frag_report.h"
#include "memtrace/error.h"
#include "report/places.h"

static int json_pins(const struct frag_report *report)
{
	const struct frag_pin *pin;
	size_t i;
	int error = 0;

	doc_array(report->doc, "pinned");
	for (i = 0; i < report->state.pins.count && i < report->command->limit && !error; i++) {
		pin = &report->state.pins.pin[i];
		doc_object(report->doc, NULL);
		doc_int(report->doc, "idle_bytes", (int64_t)pin->idle);
		doc_int(report->doc, "tensor_bytes", (int64_t)pin->bytes);
		doc_int(report->doc, "segments", (int64_t)pin->segments);
		doc_string(report->doc, "phase", pin->phase);
		doc_int_or_null(report->doc, "first_step", pin->first_step, text_known.history);
		doc_int_or_null(report->doc, "last_step", pin->last_step, text_known.history);
		error = stack_json_place(report->doc, report->db, pin->node);
		doc_end(report->doc);
	}
	doc_end(report->doc);
	return error;
}

static int json_segments(const struct frag_report *report)
{
	const struct segment **sorted = frag_sort(&report->state.map.map);
	size_t count = report->state.map.map.count;

	if (!sorted)
		return -MT_E_MEMORY;
	column_json_rows(report->doc, "segments", &segment_columns, sorted,
			 count < report->command->limit ? count : report->command->limit, 0);
	free(sorted);
	return 0;
}

static int json_phase(void *context, const struct query_phase_peak *row)
{
	const struct frag_report *report = context;
	const struct alive_moment when = { row->time, row->process, row->seq };
	struct frag_map map;
	int error = frag_load(&map, report->db, report->device->id, 0, &when);

	if (!error) {
		doc_object(report->doc, NULL);
		doc_string(report->doc, "phase", row->phase);
		doc_time(report->doc, "time_ns", row->time);
		doc_int(report->doc, "reserved_bytes", (int64_t)map.map.bytes);
		doc_int(report->doc, "allocated_bytes", (int64_t)map.map.used);
		doc_int(report->doc, "largest_hole_bytes", (int64_t)map.map.largest_hole);
		doc_end(report->doc);
	}
	frag_release(&map);
	return error;
}

int frag_json(struct frag_report *report)
{
	const struct segment_map *map = &report->state.map.map;
	struct sentence sentence = frag_verdict(&report->state, report->db);
	struct doc *doc = report->doc;
	int error;

	report->devices++;
	doc_object(doc, NULL);
	doc_int(doc, "id", report->device->number);
	doc_string(doc, "verdict", sentence.text);
	doc_time(doc, "time_ns", report->state.instant.when.time);
	if (text_known.history && *report->state.instant.phase)
		doc_string(doc, "phase", report->state.instant.phase);
	else
		doc_null(doc, "phase");
	doc_int_or_null(doc, "step", report->state.instant.step, text_known.history && report->state.instant.step);
	doc_int(doc, "reserved_bytes", (int64_t)map->bytes);
	doc_int(doc, "allocated_bytes", (int64_t)map->used);
	doc_int(doc, "idle_bytes", (int64_t)(map->bytes - map->used));
	doc_int(doc, "largest_hole_bytes", (int64_t)map->largest_hole);
	doc_int(doc, "empty_cache_bytes", (int64_t)map->free_pieces);
	doc_int(doc, "not_resident_bytes", (int64_t)map->absent);
	doc_bool(doc, "expandable_segments", report->state.expandable);
	doc_bool(doc, "sleeping_pool", report->state.sleeps);
	doc_int(doc, "pinned_segments", (int64_t)report->state.pins.segments);
	doc_int(doc, "pinned_idle_bytes", (int64_t)report->state.pins.idle);
	error = json_pins(report);
	if (!error)
		error = json_segments(report);
	doc_array(doc, "phases");
	if (!error)
		error = query_phase_peaks(report->db, report->device->id, json_phase, report);
	doc_end(doc);
	if (!error && report->command->replay.count)
		error = frag_replay_json(&report->command->replay, doc, report->db, report->device);
	doc_end(doc);
	return error;
}
