/* The text of `memana top`: the verdict, then its evidence, then the next command. */
#include <string.h>
#include "memtrace/error.h"
#include "report/peak_verdict.h"
#include "top.h"
#include "top_report.h"

int top_wants(const struct top_options *options, const struct query_device *device)
{
	if (options->device_cpu)
		return !strcmp(device->kind, "cpu");
	return options->device < 0 || options->device == device->number;
}

const char *top_moment_word(const struct top_options *options)
{
	static const char *const words[] = {
		[MOMENT_PEAK] = "peak", [MOMENT_STEP] = "step", [MOMENT_OOM] = "oom", [MOMENT_TIME] = "time"
	};

	return words[options->moment.kind];
}

/* ---- one device ---- */

static int print_all_tables(struct top_report *report)
{
	int error = text_known.history ? top_print_parts(report, QUERY_BY_PHASE) : 0;

	if (!error)
		error = top_print_parts(report, QUERY_BY_CATEGORY);
	if (!error && top_has_owners(report))
		error = top_print_parts(report, QUERY_BY_OWNER);
	if (!error && report->processes > 1)
		error = top_print_parts(report, QUERY_BY_PROCESS);
	if (error)
		return error;
	error = top_gpu_total(report->text, report->db, report->device);
	if (error)
		return error;
	top_print_places(report);
	return text_known.history ? top_print_phase_peaks(report) : 0;
}

static int print_device(void *context, const struct query_device *row)
{
	struct top_report *report = context;
	int error;

	if (!top_wants(report->options, row))
		return 0;
	if (report->only && report->only != row->id && !strcmp(row->kind, "cuda"))
		return 0;
	if (report->devices++)
		text_print(report->text, "\n");
	report->device = row;
	places_release(&report->places);
	error = places_load(&report->places, report->db, row->id, report->symbols);
	if (!error)
		error = top_print_verdict(report);
	if (error)
		return error;
	top_print_blocks(report);
	if (report->options->by == TOP_BY_ALL)
		return print_all_tables(report);
	if (report->options->by == TOP_BY_PARAMETER)
		return 0;
	if (report->options->by == TOP_BY_MODULE)
		return top_modules_text(report->text, report->db, row, report->options);
	if (report->options->by != TOP_BY_PLACE)
		return top_print_parts(report, (enum query_by)report->options->by);
	top_print_places(report);
	return 0;
}

/* ---- the run ---- */

static int count_process(void *context, const struct query_process *row)
{
	struct top_report *report = context;

	report->processes++;
	report->steps += row->steps;
	report->events += row->events;
	report->lost += row->lost;
	report->let_go += row->let_go;
	report->damaged |= *row->damage != '\0';
	return 0;
}

static int count_device(void *context, const struct query_device *row)
{
	struct top_report *report = context;

	report->devices += top_wants(report->options, row);
	return 0;
}

/* Returns the number of devices in the report; -MT_E_ARGUMENT: the device that was asked for does not exist. */
static int count_devices(struct top_report *report)
{
	int error = query_devices(report->db, count_device, report), wanted = report->devices;

	report->devices = 0;
	if (error)
		return error;
	return !wanted && (report->options->device >= 0 || report->options->device_cpu) ? -MT_E_ARGUMENT : 0;
}

/* Compares several GPUs. If there are many, only the one with the highest peak has details. */
static int print_ranks(struct top_report *report)
{
	struct ranks ranks = { 0 };
	int error = 0;

	if (report->options->device < 0 && !report->options->device_cpu)
		error = ranks_load(&ranks, report->db, report->symbols);
	if (!error)
		top_ranks_text(report->text, &ranks, report->options->name);
	if (!error && ranks.count >= TOP_RANKS_MANY)
		report->only = ranks.rank[ranks.highest].device;
	ranks_release(&ranks);
	return error;
}

struct highest {
	int64_t device; /* id; 0: none */
	uint64_t bytes;
	int is_gpu;
};

static int keep_highest(void *context, const struct query_device *row)
{
	struct highest *highest = context;
	int is_gpu = strcmp(row->kind, "cpu") != 0;

	if (row->peak.bytes &&
	    (is_gpu > highest->is_gpu || (is_gpu == highest->is_gpu && row->peak.bytes > highest->bytes)))
		*highest = (struct highest){ row->id, row->peak.bytes, is_gpu };
	return 0;
}

static int print_verdict_alone(void *context, const struct query_device *row)
{
	struct top_report *report = context;
	int error;

	if (row->id != report->only)
		return 0;
	report->device = row;
	error = places_load(&report->places, report->db, row->id, report->symbols);
	return error ? error : top_print_verdict(report);
}

static int print_brief(struct top_report *report)
{
	struct highest highest = { .is_gpu = -1 };
	int error = query_devices(report->db, keep_highest, &highest);

	report->only = highest.device;
	return error || !highest.device ? error : query_devices(report->db, print_verdict_alone, report);
}

static int print_report(struct top_report *report)
{
	int error = query_processes(report->db, count_process, report);

	if (!error && report->options->brief)
		return print_brief(report);
	if (!error)
		error = count_devices(report);
	if (!error)
		error = host_sum(&report->host, report->db);
	if (!error)
		error = top_host_verdicts(report->text, report->db);
	if (!error)
		error = top_print_ooms(report);
	if (!error)
		error = print_ranks(report);
	if (!error)
		error = query_devices(report->db, print_device, report);
	if (!error && report->options->by == TOP_BY_PARAMETER)
		error = top_parameters_text(report->text, report->db, report->options->limit);
	if (error)
		return error;
	if (!report->devices)
		text_print(report->text, "%s\n",
			   report->damaged ? "No memory of a device is in the part that can be read."
					   : PEAK_VERDICT_NONE);
	error = top_print_recording(report);
	if (!error)
		error = top_print_before(report);
	if (!error && report->devices)
		top_print_next(report);
	return error;
}

int top_text(const struct text *text, struct db *db, struct symbols *symbols, const struct top_options *options)
{
	struct top_report report = { .text = text, .db = db, .symbols = symbols, .options = options };
	int error = print_report(&report);

	places_release(&report.places);
	return error;
}
