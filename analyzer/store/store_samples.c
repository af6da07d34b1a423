/* Writes samples as rows: NVML's figures at the peaks, and the host's memory. */
#include <stdio.h>
#include <string.h>
#include "engine/host.h"
#include "memtrace/error.h"
#include "store.h"

/* ---- GPUs ---- */

/*
 * The sum of the figures of a device's processes at one of its peaks. Each collector samples its process at its own time: in between, memory can move
 * from one process to another. The sum therefore starts from one sample. Samples of other processes are added if the GPU was equally full then, and
 * if they fit.
 */
struct sum {
	uint32_t processes;
	uint32_t absent; /* number of live processes without such a sample */
	int own_known;
	int64_t time;
	uint64_t used, total, held, own;
	int64_t cause[GPU_TOTAL_CAUSES], unexplained;
	uint8_t with[GPU_TOTAL_CAUSES];
};

static void add(struct sum *sum, const struct gpu_total_parts *parts)
{
	int cause;

	sum->processes++;
	sum->held += parts->held;
	sum->own += parts->sample.own;
	sum->unexplained += parts->unexplained;
	for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++) {
		sum->cause[cause] += parts->cause[cause];
		sum->with[cause] |= parts->with[cause];
	}
}

/* Returns the process's sample for the peak; NULL: no sample. */
static const struct gpu_total_parts *nearest(const struct analysis_gpu_total *gpu, int64_t time)
{
	if (gpu->peak_time != time)
		return NULL;
	return gpu->after_known ? &gpu->after : gpu->before_known ? &gpu->before : NULL;
}

static uint64_t distance(int64_t one, int64_t two)
{
	return one < two ? (uint64_t)two - (uint64_t)one : (uint64_t)one - (uint64_t)two;
}

/* Whether `one` is the better sample: after the peak rather than before, then nearer to the peak. */
static int is_nearer(const struct gpu_total_parts *one, const struct gpu_total_parts *two, int64_t time)
{
	int one_after = one->sample.time >= time, two_after = two->sample.time >= time;

	if (one_after != two_after)
		return one_after;
	return distance(one->sample.time, time) < distance(two->sample.time, time);
}

/* Returns the sample of the process that made the peak, else the nearest one; NULL: no sample. Sets *of to this process's user of the device. */
static const struct gpu_total_parts *first_sample(const struct analysis_device *device, uint32_t peak, uint32_t *of)
{
	const struct gpu_total_parts *first = NULL, *parts;
	int64_t time = analysis_peak_time(device, peak);
	uint32_t user;

	for (user = 0; user < device->users; user++) {
		parts = nearest(&device->gpu[user * ANALYSIS_PEAKS + peak], time);
		if (!parts ||
		    (first && !is_nearer(parts, first, time) && (peak || device->user[user] != device->peak.process)))
			continue;
		first = parts;
		*of = user;
		if (!peak && device->user[user] == device->peak.process)
			break;
	}
	return first;
}

static int lies_with(const struct sum *sum, const struct gpu_total_sample *sample, uint64_t held)
{
	uint64_t margin = sum->total / 100;

	if (sum->own_known && (!sample->own_known || sum->own + sample->own > sum->used + margin))
		return 0;
	return sum->held + held <= sum->used + margin && distance((int64_t)sample->used, (int64_t)sum->used) <= margin;
}

/* Returns a sample of another process that fits the sum; NULL: no sample fits. */
static const struct gpu_total_parts *sample_with(const struct sum *sum, const struct analysis_gpu_total *gpu,
						 int64_t time)
{
	int after = gpu->peak_time == time && gpu->after_known && lies_with(sum, &gpu->after.sample, gpu->after.held);
	int before = gpu->peak_time == time && gpu->before_known &&
		     lies_with(sum, &gpu->before.sample, gpu->before.held);

	if (after && before)
		before = distance(gpu->before.sample.time, sum->time) < distance(gpu->after.sample.time, sum->time);
	return before ? &gpu->before : after ? &gpu->after : NULL;
}

static void add_others(struct sum *sum, const struct analysis *analysis, const struct analysis_device *device,
		       uint32_t peak, uint32_t first)
{
	int64_t time = analysis_peak_time(device, peak);
	const struct analysis_process *process;
	const struct gpu_total_parts *parts;
	uint32_t user;

	for (user = 0; user < device->users; user++) {
		process = &analysis->process[device->user[user]];
		if (user == first || process->first_time > sum->time || process->last_time < sum->time)
			continue;
		parts = sample_with(sum, &device->gpu[user * ANALYSIS_PEAKS + peak], time);
		if (parts)
			add(sum, parts);
		else
			sum->absent++;
	}
}

/* Sums up the figures at a peak. Returns 1; 0: there are none. */
static int add_up(struct sum *sum, const struct analysis *analysis, const struct analysis_device *device, uint32_t peak)
{
	const struct gpu_total_parts *parts = NULL;
	uint32_t first = 0;

	memset(sum, 0, sizeof(*sum));
	if (analysis_peak_time(device, peak) != INT64_MAX)
		parts = first_sample(device, peak, &first);
	if (!parts)
		return 0;
	sum->own_known = parts->sample.own_known;
	sum->time = parts->sample.time;
	sum->used = parts->sample.used;
	sum->total = parts->sample.total;
	add(sum, parts);
	add_others(sum, analysis, device, peak, first);
	return 1;
}

/* Writes the mixed parts: "context with code, graphs; code with graphs". */
static void write_mixed(char *text, size_t size, const struct sum *sum)
{
	int cause, other, first;
	size_t used = 0;

	*text = '\0';
	for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++) {
		for (other = 0, first = 1; sum->cause[cause] && other < GPU_TOTAL_CAUSES; other++) {
			if (!(sum->with[cause] >> other & 1) || used >= size)
				continue;
			used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", first && used ? "; " : "",
						 first ? gpu_total_cause_word((enum gpu_total_cause)cause) : "",
						 first ? " with " : ", ",
						 gpu_total_cause_word((enum gpu_total_cause)other));
			first = 0;
		}
	}
}

#define PROCESS_COLUMN 9 /* column process_bytes; this column and the following ones are null if it is unknown */

/* Binds process_bytes, and the causes in the order of the enum. */
static void bind_parts(struct db_stmt *stmt, const struct sum *sum)
{
	int column = PROCESS_COLUMN, cause;

	for (; column < PROCESS_COLUMN + GPU_TOTAL_CAUSES + 3; column++)
		db_bind_null(stmt, column);
	if (!sum->own_known)
		return;
	column = PROCESS_COLUMN;
	db_bind_unsigned(stmt, column++, sum->own);
	for (cause = 0; cause < GPU_TOTAL_CAUSES; cause++)
		db_bind(stmt, column++, sum->cause[cause]);
	db_bind(stmt, column++, sum->unexplained);
	db_bind_unsigned(stmt, column++, sum->used > sum->own ? sum->used - sum->own : 0);
}

_Static_assert(GPU_TOTAL_CAUSES == 5, "the table `gpu_total` has a column for each cause");

static int store_sum(struct db_stmt *stmt, uint32_t device, uint32_t peak, const struct sum *sum)
{
	char mixed[256];

	write_mixed(mixed, sizeof(mixed), sum);
	db_bind(stmt, 1, store_device_id(device));
	db_bind_text(stmt, 2, peak ? mt_phase_name(peak - 1) : "peak");
	db_bind(stmt, 3, sum->time);
	db_bind(stmt, 4, sum->processes);
	db_bind(stmt, 5, sum->absent);
	db_bind_unsigned(stmt, 6, sum->used);
	db_bind_unsigned(stmt, 7, sum->total);
	db_bind_unsigned(stmt, 8, sum->held);
	bind_parts(stmt, sum);
	db_bind_text(stmt, PROCESS_COLUMN + GPU_TOTAL_CAUSES + 3, mixed);
	return db_run(stmt);
}

int store_gpu_totals(struct db *db, const struct analysis *analysis)
{
	struct db_stmt *stmt;
	struct sum sum;
	uint32_t i, peak;
	int error = db_prepare(db, &stmt,
			       "INSERT INTO gpu_total VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (i = 0; i < analysis->devices && !error; i++)
		for (peak = 0; peak < ANALYSIS_PEAKS && !error; peak++)
			if (analysis->device[i].used && add_up(&sum, analysis, &analysis->device[i], peak))
				error = store_sum(stmt, i, peak, &sum);
	db_finish(stmt);
	return error;
}

/* ---- the host ---- */

static const char *word_or_null(enum host_verdict verdict)
{
	return verdict ? host_verdict_word(verdict) : NULL;
}

static int store_host(struct db_stmt *stmt, const struct analysis *analysis, uint32_t number)
{
	const struct analysis_host *host = &analysis->process[number].host;

	db_bind(stmt, 1, store_process_id(number));
	db_bind(stmt, 2, host->time);
	db_bind_unsigned(stmt, 3, host->resident);
	db_bind_unsigned(stmt, 4, host->pinned);
	db_bind_unsigned(stmt, 5, host->most_resident);
	db_bind_unsigned(stmt, 6, host->most_pinned);
	db_bind_unsigned(stmt, 7, host->cgroup);
	if (host->cgroup_limit)
		db_bind_unsigned(stmt, 8, host->cgroup_limit);
	else
		db_bind_null(stmt, 8);
	db_bind_unsigned(stmt, 9, host->available);
	db_bind_unsigned(stmt, 10, host->killed);
	db_bind_text(stmt, 11, word_or_null(host_pressure(host)));
	db_bind_text(stmt, 12, word_or_null(host_verdict(analysis, number)));
	return db_run(stmt);
}

static int store_hosts(struct db *db, const struct analysis *analysis)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "INSERT INTO host_memory VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (i = 0; i < analysis->processes && !error; i++)
		if (analysis->process[i].host.samples)
			error = store_host(stmt, analysis, i);
	db_finish(stmt);
	return error;
}

int store_samples(struct db *db, const struct analysis *analysis)
{
	int error = store_gpu_totals(db, analysis);

	return error ? error : store_hosts(db, analysis);
}
