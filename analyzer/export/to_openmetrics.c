/*
 * to_openmetrics.c - writes the figures of a run as OpenMetrics text, for Prometheus, node_exporter, W&B and others.
 *
 * The format needs all samples of a metric in one place, so each metric asks for all devices. Sizes are in bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "export_moment.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "report/failed/failures.h"
#include "report/steps/growth.h"

/* Metrics: X(name, unit or "", help, function that writes the samples). A name ends with its unit. */
#define METRIC_LIST(X)                                                                                                 \
	X("memana_device_bytes", "bytes", "Memory of the device that programs can have", put_totals)                   \
	X("memana_peak_bytes", "bytes", "Most bytes that the recorded processes held of the device", put_peaks)        \
	X("memana_peak_slack_bytes", "bytes", "Bytes of the peak in segments of the allocator and in no tensor",       \
	  put_slacks)                                                                                                  \
	X("memana_peak_by_phase_bytes", "bytes", "Bytes of the peak by the phase that allocated them", put_by_phase)   \
	X("memana_peak_by_category_bytes", "bytes", "Bytes of the peak by what they are", put_by_category)             \
	X("memana_peak_by_owner_bytes", "bytes", "Bytes of the peak by the library that asked for them", put_by_owner) \
	X("memana_peak_by_process_bytes", "bytes", "Bytes of the peak by process", put_by_process)                     \
	X("memana_phase_peak_bytes", "bytes", "Most bytes held while a process was in the phase", put_phase_peaks)     \
	X("memana_growth_per_step_bytes", "bytes", "Bytes that the device keeps more with every step", put_growth)     \
	X("memana_steps", "", "Steps of the process that ended", put_steps)                                            \
	X("memana_events", "", "Events in the trace", put_events)                                                      \
	X("memana_lost_events", "", "Events that are not in the trace", put_lost)                                      \
	X("memana_out_of_memory", "", "Requests for memory that failed", put_failures)                                 \
	X("memana_host_resident_bytes", "bytes", "Most resident host memory of the process", put_resident)             \
	X("memana_host_pinned_bytes", "bytes", "Most page-locked host memory of the process", put_pinned)

struct writer {
	struct export_run *run;
	struct export_out *out;
	const char *name; /* name of the current metric */
	const struct query_device *device;
	enum query_by by;
	int opened; /* 1: the sample has a label */
};

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static void begin(struct writer *writer)
{
	export_text(writer->out, writer->name);
	writer->opened = 0;
}

/* Adds a label to the sample. In the value, a '\' stands before '\' and '"', and "\n" replaces an end of a line. */
static void label(struct writer *writer, const char *key, const char *value)
{
	size_t size = strlen(value), at, length;
	uint32_t code;

	export_print(writer->out, "%s%s=\"", writer->opened ? "," : "{", key);
	writer->opened = 1;
	for (at = 0; at < size; at += length) {
		length = mt_utf8(value + at, size - at, &code);
		if (!length)
			export_text(writer->out, "?");
		else if (code == '\\' || code == '"')
			export_print(writer->out, "\\%c", (int)code);
		else if (code == '\n')
			export_text(writer->out, "\\n");
		else
			export_put(writer->out, value + at, length);
		length = length ? length : 1;
	}
	export_text(writer->out, "\"");
}

static void number(struct writer *writer, const char *key, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	label(writer, key, text);
}

static void end(struct writer *writer, uint64_t value)
{
	export_print(writer->out, "%s %" PRIu64 "\n", writer->opened ? "}" : "", value);
	writer->run->written++;
}

static void device_label(struct writer *writer, const struct query_device *device)
{
	if (strcmp(device->kind, "cpu"))
		number(writer, "device", device->number);
	else
		label(writer, "device", "cpu");
}

static void process_labels(struct writer *writer, int64_t rank, int64_t pid)
{
	if (rank >= 0)
		number(writer, "rank", rank);
	if (pid)
		number(writer, "pid", pid);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static int put_total(void *context, const struct query_device *row)
{
	struct writer *writer = context;

	if (!row->total)
		return 0;
	begin(writer);
	device_label(writer, row);
	label(writer, "name", row->name);
	end(writer, row->total);
	return 0;
}

static int put_totals(struct writer *writer)
{
	return query_devices(writer->run->db, put_total, writer);
}

static int put_peak(void *context, const struct query_device *row)
{
	struct writer *writer = context;

	begin(writer);
	device_label(writer, row);
	end(writer, row->peak.bytes);
	return 0;
}

static int put_peaks(struct writer *writer)
{
	return query_devices(writer->run->db, put_peak, writer);
}

static int put_slack(void *context, const struct query_device *row)
{
	struct writer *writer = context;

	begin(writer);
	device_label(writer, row);
	end(writer, row->peak.slack);
	return 0;
}

static int put_slacks(struct writer *writer)
{
	return query_devices(writer->run->db, put_slack, writer);
}

/* ---- parts of the peak ------------------------------------------------------------------------------------------- */

static int put_part(void *context, const struct query_part *row)
{
	struct writer *writer = context;

	begin(writer);
	device_label(writer, writer->device);
	if (writer->by == QUERY_BY_PROCESS)
		process_labels(writer, row->rank, row->pid);
	else
		label(writer, query_by_words[writer->by], row->word);
	end(writer, row->bytes);
	return 0;
}

static int put_parts(void *context, const struct query_device *row)
{
	struct writer *writer = context;

	writer->device = row;
	return query_parts(writer->run->db, row->id, writer->by, put_part, writer);
}

static int put_by(struct writer *writer, enum query_by by)
{
	writer->by = by;
	return query_devices(writer->run->db, put_parts, writer);
}

static int put_by_phase(struct writer *writer)
{
	return put_by(writer, QUERY_BY_PHASE);
}

static int put_by_category(struct writer *writer)
{
	return put_by(writer, QUERY_BY_CATEGORY);
}

static int put_by_owner(struct writer *writer)
{
	return put_by(writer, QUERY_BY_OWNER);
}

static int put_by_process(struct writer *writer)
{
	return put_by(writer, QUERY_BY_PROCESS);
}

static int put_phase_peak(void *context, const struct query_phase_peak *row)
{
	struct writer *writer = context;

	begin(writer);
	device_label(writer, writer->device);
	label(writer, "phase", row->phase);
	end(writer, row->bytes);
	return 0;
}

static int put_phases(void *context, const struct query_device *row)
{
	struct writer *writer = context;

	writer->device = row;
	return query_phase_peaks(writer->run->db, row->id, put_phase_peak, writer);
}

static int put_phase_peaks(struct writer *writer)
{
	return query_devices(writer->run->db, put_phases, writer);
}

static int put_growth(struct writer *writer)
{
	struct growth growth;
	int error = growth_load(&growth, writer->run->db);
	size_t i;

	for (i = 0; i < growth.devices && !error; i++) {
		begin(writer);
		if (strcmp(growth.device[i].kind, "cpu"))
			number(writer, "device", growth.device[i].number);
		else
			label(writer, "device", "cpu");
		end(writer, growth.device[i].each);
	}
	growth_release(&growth);
	return error;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* X(function, member of struct query_process) */
#define PROCESS_LIST(X)       \
	X(put_steps, steps)   \
	X(put_events, events) \
	X(put_lost, lost)

#define PUT_PROCESS(function, member)                                            \
	static int function##_of(void *context, const struct query_process *row) \
	{                                                                        \
		struct writer *writer = context;                                 \
                                                                                 \
		begin(writer);                                                   \
		process_labels(writer, row->rank, row->pid);                     \
		end(writer, row->member);                                        \
		return 0;                                                        \
	}                                                                        \
                                                                                 \
	static int function(struct writer *writer)                               \
	{                                                                        \
		return query_processes(writer->run->db, function##_of, writer);  \
	}
PROCESS_LIST(PUT_PROCESS)
#undef PUT_PROCESS

/* X(function, member of struct query_host) */
#define HOST_LIST(X)                   \
	X(put_resident, most_resident) \
	X(put_pinned, most_pinned)

#define PUT_HOST(function, member)                                            \
	static int function##_of(void *context, const struct query_host *row) \
	{                                                                     \
		struct writer *writer = context;                              \
                                                                              \
		begin(writer);                                                \
		process_labels(writer, row->rank, row->pid);                  \
		end(writer, row->member);                                     \
		return 0;                                                     \
	}                                                                     \
                                                                              \
	static int function(struct writer *writer)                            \
	{                                                                     \
		return query_hosts(writer->run->db, function##_of, writer);   \
	}
HOST_LIST(PUT_HOST)
#undef PUT_HOST

/*
 * Counts failed requests as memana top does: a refusal is none if it led to another failure, or if a retry got memory.
 */
static int put_failures(struct writer *writer)
{
	struct oom_failures all;
	int error = oom_failures_load(&all, writer->run->db);
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < all.count && !error; i++)
		count += !all.failure[i].is_part && !all.failure[i].had;
	begin(writer);
	end(writer, count);
	oom_failures_release(&all);
	return error;
}

/* ---- all metrics ------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name, *unit, *help;
	int (*put)(struct writer *writer);
} metrics[] = {
#define METRIC_ROW(name, unit, help, function) { name, unit, help, function },
	METRIC_LIST(METRIC_ROW)
#undef METRIC_ROW
};

int to_openmetrics(struct export_run *run, struct export_out *out)
{
	struct writer writer = { .run = run, .out = out };
	int error = export_moment(run, &run->options->moment);
	size_t i;

	run->what = "sample";
	for (i = 0; i < sizeof(metrics) / sizeof(*metrics) && !error; i++) {
		writer.name = metrics[i].name;
		export_print(out, "# TYPE %s gauge\n", metrics[i].name);
		if (*metrics[i].unit)
			export_print(out, "# UNIT %s %s\n", metrics[i].name, metrics[i].unit);
		export_print(out, "# HELP %s %s.\n", metrics[i].name, metrics[i].help);
		error = metrics[i].put(&writer);
	}
	export_text(out, "# EOF\n");
	return error;
}
