/* The JSON of `memana top`. The fields are a contract: new fields can be added, but none is ever removed. */
#include <stdio.h>
#include <string.h>
#include "base/json.h"
#include "base/text.h"
#include "memtrace/error.h"
#include "query/callstack.h"
#include "query/query.h"
#include "report/failed/failures.h"
#include "report/peak_verdict.h"
#include "report/places.h"
#include "report/report.h"
#include "report/steps/growth.h"
#include "report/top_host.h"
#include "top.h"

struct report {
	struct doc *doc;
	struct db *db;
	struct symbols *symbols;
	const struct top_options *options;
	int64_t device; /* id of the current device */
	int devices;    /* number of devices in the document so far */
};

/* The context of json_part. */
struct part_context {
	struct doc *doc;
	enum query_by by;
};

static int json_part(void *context, const struct query_part *row)
{
	const struct part_context *part = context;

	doc_object(part->doc, NULL);
	if (part->by == QUERY_BY_PROCESS) {
		doc_pid(part->doc, "pid", row->pid);
		if (row->rank >= 0)
			doc_int(part->doc, "rank", row->rank);
	} else {
		doc_string(part->doc, query_by_words[part->by], row->word);
	}
	doc_int(part->doc, "bytes", (int64_t)row->bytes);
	doc_int(part->doc, "count", (int64_t)row->count);
	if (part->by == QUERY_BY_CATEGORY) {
		doc_int(part->doc, "known_bytes", (int64_t)row->known);
		doc_int(part->doc, "rule_bytes", (int64_t)row->rule);
	}
	doc_end(part->doc);
	return 0;
}

static int json_parts(struct report *report, enum query_by by)
{
	struct part_context part = { .doc = report->doc, .by = by };
	char key[32];
	int error;

	snprintf(key, sizeof(key), "by_%s", query_by_words[by]);
	doc_array(report->doc, key);
	error = query_parts(report->db, report->device, by, json_part, &part);
	doc_end(report->doc);
	return error;
}

static int json_site(void *context, const struct query_site *row)
{
	struct report *report = context;
	int error;

	doc_object(report->doc, NULL);
	doc_int(report->doc, "bytes", (int64_t)row->bytes);
	doc_int(report->doc, "count", (int64_t)row->count);
	doc_string(report->doc, "phase", row->phase);
	doc_string(report->doc, "category", row->category);
	doc_string(report->doc, "owner", row->owner);
	doc_pid(report->doc, "pid", row->pid);
	doc_string(report->doc, "why", row->evidence);
	doc_string(report->doc, "decided_by", row->decided_by);
	doc_string(report->doc, "known", query_known(row->bytes, row->rule, row->probable));
	if (*row->submodule)
		doc_string(report->doc, "submodule", row->submodule);
	error = stack_json_named(report->doc, report->db, report->symbols, row->node);
	doc_end(report->doc);
	return error;
}

static int json_sites(struct report *report)
{
	int error;

	doc_array(report->doc, "sites");
	error = query_sites(report->db, report->device, report->options->limit, json_site, report);
	doc_end(report->doc);
	return error;
}

static void json_functions(struct doc *doc, const struct place *place)
{
	size_t i;

	doc_array(doc, "functions");
	for (i = 0; i < place->functions; i++) {
		doc_object(doc, NULL);
		doc_string(doc, "function", place->function[i].name);
		doc_int(doc, "bytes", (int64_t)place->function[i].bytes);
		doc_int(doc, "count", (int64_t)place->function[i].count);
		doc_int(doc, "stacks", place->function[i].stacks);
		doc_end(doc);
	}
	doc_end(doc);
}

static void json_place(struct doc *doc, const struct place *place)
{
	char name[512];

	doc_object(doc, NULL);
	if (place->user == CALLSTACK_NO_FRAME)
		doc_null(doc, "place");
	else
		doc_string(doc, "place", places_name(name, sizeof(name), place));
	if (*place->submodule)
		doc_string(doc, "submodule", place->submodule);
	doc_string(doc, "phase", place->phase);
	doc_string(doc, "category", place->category);
	doc_int(doc, "bytes", (int64_t)place->bytes);
	doc_int(doc, "count", (int64_t)place->count);
	doc_int(doc, "stacks", place->stacks);
	doc_int(doc, "processes", place->processes);
	json_functions(doc, place);
	doc_end(doc);
}

/* Writes the places. As in the text, a place can have several sites. */
static int json_places(struct report *report)
{
	struct places places;
	size_t limit = report->options->limit < 0 ? SIZE_MAX : (size_t)report->options->limit, i;
	int error = places_load(&places, report->db, report->device, report->symbols);

	doc_array(report->doc, "places");
	for (i = 0; !error && i < places.count && i < limit; i++)
		json_place(report->doc, &places.place[i]);
	doc_end(report->doc);
	places_release(&places);
	return error;
}

/* Writes NVML's figures at one peak; NULL: no sample. */
static void json_gpu_total(struct doc *doc, const struct query_gpu_total *row)
{
	static const struct query_gpu_total none;
	int known = row && row->known, sampled = row != NULL;

	if (!row)
		row = &none;
	doc_int_or_null(doc, "sampled_at_ns", row->time, sampled);
	doc_int_or_null(doc, "sampled_processes", (int64_t)row->processes, sampled);
	doc_int_or_null(doc, "absent_processes", (int64_t)row->absent, sampled);
	doc_int_or_null(doc, "used_bytes", (int64_t)row->used, sampled);
	doc_int_or_null(doc, "recorded_bytes", (int64_t)row->recorded, sampled);
	doc_int_or_null(doc, "process_bytes", (int64_t)row->process, known);
#define JSON_PART(member, column, words) doc_int_or_null(doc, #column, row->member, known);
	QUERY_GPU_TOTAL_LIST(JSON_PART)
#undef JSON_PART
	doc_int_or_null(doc, "other_processes_bytes", (int64_t)row->others, known);
	doc_string(doc, "mixed", sampled ? row->mixed : "");
}

/* NVML's figures at one peak. */
struct gpu_total_context {
	struct doc *doc;
	const char *peak;
	int found;
};

static int json_gpu_total_row(void *context, const struct query_gpu_total *row)
{
	struct gpu_total_context *gpu = context;

	if (strcmp(row->peak, gpu->peak))
		return 0;
	gpu->found = 1;
	json_gpu_total(gpu->doc, row);
	return 0;
}

static int json_gpu_total_of(struct report *report, const char *peak)
{
	struct gpu_total_context gpu = { .doc = report->doc, .peak = peak };
	int error = query_gpu_totals(report->db, report->device, json_gpu_total_row, &gpu);

	if (!error && !gpu.found)
		json_gpu_total(report->doc, NULL);
	return error;
}

static int json_phase_peak(void *context, const struct query_phase_peak *row)
{
	struct doc *doc = ((struct report *)context)->doc;
	int error;

	doc_object(doc, NULL);
	doc_string(doc, "phase", row->phase);
	doc_int(doc, "bytes", (int64_t)row->bytes);
	doc_int(doc, "tensor_bytes", (int64_t)row->tensors);
	doc_time(doc, "time_ns", row->time);
	doc_int(doc, "step", row->step);
	error = json_gpu_total_of(context, row->phase);
	doc_end(doc);
	return error;
}

static void json_peak(struct doc *doc, const struct query_device *row)
{
	doc_object(doc, "peak");
	doc_int(doc, "bytes", (int64_t)row->peak.bytes);
	doc_time(doc, "time_ns", row->peak.time);
	doc_int_or_null(doc, "step", row->peak.step, text_known.history);
	if (text_known.history && *row->peak.phase) {
		doc_string(doc, "phase", row->peak.phase);
		doc_string(doc, "role", row->peak.role);
	} else {
		doc_null(doc, "phase");
		doc_null(doc, "role");
	}
	doc_pid(doc, "pid", row->peak.pid);
	doc_int_or_null(doc, "rank", row->peak.rank, row->peak.rank >= 0);
	doc_end(doc);
}

static int json_tables(struct report *report)
{
	int error = 0, by;

	for (by = 0; by < QUERY_BY_COUNT && !error; by++)
		error = json_parts(report, (enum query_by)by);
	if (!error)
		error = json_sites(report);
	if (!error)
		error = json_places(report);
	if (!error && report->options->by == TOP_BY_MODULE)
		error = top_modules_json(report->doc, report->db, report->device, report->options);
	doc_array(report->doc, "phase_peaks");
	if (!error)
		error = query_phase_peaks(report->db, report->device, json_phase_peak, report);
	doc_end(report->doc);
	return error;
}

static int no_place(void *context, const struct query_culprit *row, struct peak_place *largest)
{
	(void)context, (void)row, (void)largest;
	return 0;
}

static int json_verdict(struct report *report, const struct query_device *row)
{
	const struct peak_verdict verdict = {
		.begins = "Peak ", .device = row, .has_parts = 1, .has_steps = row->peak.step > 0, .place_of = no_place
	};
	struct sentence sentence = { 0 };
	int error = peak_verdict_say(&sentence, report->db, &verdict);

	doc_string(report->doc, "verdict", sentence.text);
	return error;
}

static int json_device(void *context, const struct query_device *row)
{
	struct report *report = context;
	struct doc *doc = report->doc;
	uint64_t tensors;
	int error;

	if (!top_wants(report->options, row))
		return 0;
	error = query_tensors(report->db, row->id, &tensors);
	if (error)
		return error;
	report->device = row->id;
	report->devices++;
	doc_object(doc, NULL);
	doc_int(doc, "id", row->number);
	doc_string(doc, "kind", row->kind);
	doc_string(doc, "name", row->name);
	doc_string(doc, "uuid", row->uuid);
	doc_int_or_null(doc, "total_bytes", (int64_t)row->total, row->total != 0);
	json_peak(doc, row);
	error = json_verdict(report, row);
	if (!error)
		error = json_tables(report);
	doc_int(doc, "tensor_bytes", (int64_t)tensors);
	doc_int(doc, "slack_bytes", (int64_t)row->peak.slack);
	doc_int(doc, "imported_bytes", (int64_t)row->peak.imported);
	doc_int_or_null(doc, "requested_bytes", row->peak.requested, row->peak.requested >= 0);
	doc_int_or_null(doc, "block_bytes", row->peak.blocks, row->peak.blocks >= 0);
	if (row->peak.blocks >= 0)
		doc_bool(doc, "block_bytes_exact", row->peak.blocks_exact);
	else
		doc_null(doc, "block_bytes_exact");
	if (!error)
		error = json_gpu_total_of(report, "peak");
	doc_end(doc);
	return error;
}

static int json_oom(struct report *report, const struct oom_failure *it)
{
	struct doc *doc = report->doc;
	int error;

	doc_object(doc, NULL);
	doc_time(doc, "time_ns", it->time);
	doc_int(doc, "device", it->number);
	doc_int(doc, "requested_bytes", (int64_t)it->requested);
	doc_int_or_null(doc, "free_bytes", it->free, it->free >= 0);
	doc_string(doc, "free_by", it->free_by);
	doc_int_or_null(doc, "others_bytes", it->others, it->others >= 0);
	doc_string(doc, "phase", it->phase);
	doc_int(doc, "step", it->step);
	doc_pid(doc, "pid", it->pid);
	doc_string(doc, "source", it->source);
	doc_int(doc, "refusals", (int64_t)it->refusals);
	error = stack_json_named(report->doc, report->db, report->symbols, it->node);
	doc_end(doc);
	return error;
}

/* Writes each failure once: the driver's refusals before it are part of it. */
static int json_ooms(struct report *report)
{
	struct oom_failures all;
	int error = oom_failures_load(&all, report->db);
	size_t i;

	doc_array(report->doc, "oom");
	for (i = 0; i < all.count && !error; i++)
		if (!all.failure[i].is_part)
			error = json_oom(report, &all.failure[i]);
	doc_end(report->doc);
	oom_failures_release(&all);
	return error;
}

static void json_host_figures(struct doc *doc, const struct query_host *row)
{
	doc_int(doc, "sampled_at_ns", row->time);
	doc_int(doc, "rss_bytes", (int64_t)row->resident);
	doc_int(doc, "pinned_bytes", (int64_t)row->pinned);
	doc_int(doc, "most_rss_bytes", (int64_t)row->most_resident);
	doc_int(doc, "most_pinned_bytes", (int64_t)row->most_pinned);
	top_host_json(doc, row);
}

static int json_host(void *context, const struct query_host *row)
{
	struct doc *doc = ((struct report *)context)->doc;

	doc_object(doc, NULL);
	doc_pid(doc, "pid", row->pid);
	json_host_figures(doc, row);
	doc_end(doc);
	return 0;
}

static int json_hosts(struct report *report)
{
	struct host_sum sum;
	int error = host_sum(&sum, report->db);

	doc_object(report->doc, "host");
	if (!error && sum.processes)
		json_host_figures(report->doc, &sum.all);
	doc_array(report->doc, "processes");
	if (!error)
		error = query_hosts(report->db, json_host, report);
	doc_end(report->doc);
	doc_end(report->doc);
	return error;
}

static int json_source(void *context, const struct query_source *row)
{
	struct doc *doc = ((struct report *)context)->doc;

	doc_object(doc, NULL);
	doc_pid(doc, "pid", row->pid);
	doc_string(doc, "name", row->name);
	doc_string(doc, "state", row->state);
	doc_string(doc, "why", row->why);
	doc_end(doc);
	return 0;
}

static int json_loss(void *context, const struct query_loss *row)
{
	struct doc *doc = ((struct report *)context)->doc;

	doc_object(doc, NULL);
	doc_pid(doc, "pid", row->pid);
	doc_string(doc, "reason", row->reason);
	doc_int(doc, "events", (int64_t)row->events);
	doc_end(doc);
	return 0;
}

static int json_growth(struct report *report)
{
	struct growth growth;
	int error = growth_load(&growth, report->db);

	if (!error)
		growth_json(report->doc, &growth, SIZE_MAX);
	growth_release(&growth);
	return error;
}

static int json_ranks(struct report *report)
{
	struct ranks ranks;
	int error = ranks_load(&ranks, report->db, report->symbols);

	if (!error)
		top_ranks_json(report->doc, &ranks);
	ranks_release(&ranks);
	return error;
}

static int json_report(struct report *report)
{
	struct doc *doc = report->doc;
	int error;

	doc_answer(doc, "top");
	doc_string(doc, "at", top_moment_word(report->options));
	error = report_traces(doc, "traces", report->db);
	doc_array(doc, "devices");
	if (!error)
		error = query_devices(report->db, json_device, report);
	doc_end(doc);
	if (!error)
		error = top_parameters_json(doc, report->db, report->options->limit);
	if (!error)
		error = json_growth(report);
	if (!error)
		error = json_ranks(report);
	if (!error)
		error = json_ooms(report);
	if (!error)
		error = json_hosts(report);
	doc_array(doc, "sources");
	if (!error)
		error = query_sources(report->db, json_source, report);
	doc_end(doc);
	doc_array(doc, "losses");
	if (!error)
		error = query_losses(report->db, json_loss, report);
	doc_end(doc);
	doc_end(doc);
	return error;
}

int top_json(FILE *file, struct db *db, struct symbols *symbols, const struct top_options *options)
{
	struct report report = { .doc = doc_new(), .db = db, .symbols = symbols, .options = options };
	int error = report.doc ? json_report(&report) : -MT_E_MEMORY;

	if (!error && !report.devices && (options->device >= 0 || options->device_cpu))
		error = -MT_E_ARGUMENT;
	if (!error)
		error = report_shape(report.doc, db);
	if (!error)
		error = doc_print(report.doc, file);
	doc_free(report.doc);
	return error;
}
