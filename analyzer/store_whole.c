/* What was counted beside the recorded calls, as rows: NVML's figures at the peaks, the host's memory. */
#include <stdio.h>
#include <string.h>
#include "host.h"
#include "memtrace/error.h"
#include "store.h"

/* ---- GPUs ---- */

/* The figures of all processes that use a device, added up at one of its peaks. */
struct sum {
	uint32_t processes;
	int own_known; /* of each of them */
	int64_t time;  /* of the newest sample */
	uint64_t used, total, held, own;
	int64_t cause[WHOLE_CAUSES], unexplained;
	uint8_t with[WHOLE_CAUSES];
};

static void add(struct sum *sum, const struct whole_parts *parts)
{
	const struct whole_sample *sample = &parts->sample;
	int cause;

	if (!sum->processes++ || sample->time > sum->time) {
		sum->time = sample->time;
		sum->used = sample->used;
		sum->total = sample->total;
	}
	sum->own_known &= sample->own_known;
	sum->held += parts->held;
	sum->own += sample->own;
	sum->unexplained += parts->unexplained;
	for (cause = 0; cause < WHOLE_CAUSES; cause++) {
		sum->cause[cause] += parts->cause[cause];
		sum->with[cause] |= parts->with[cause];
	}
}

/* 1 when there are figures. A user that has none, and was there, makes the others' bytes nobody's. */
static int add_up(struct sum *sum, const struct analysis *analysis, const struct analysis_device *device, uint32_t peak)
{
	int64_t time = analysis_peak_time(device, peak);
	const struct analysis_process *process;
	const struct analysis_whole *whole;
	uint32_t user;

	memset(sum, 0, sizeof(*sum));
	sum->own_known = 1;
	for (user = 0; user < device->users && time != INT64_MAX; user++) {
		whole = &device->whole[user * ANALYSIS_PEAKS + peak];
		process = &analysis->process[device->user[user]];
		if (whole->known)
			add(sum, &whole->parts);
		else if (process->first_time <= time && process->last_time >= time)
			sum->own_known = 0;
	}
	return sum->processes != 0;
}

/* "context with code, graphs; code with graphs" */
static void write_mixed(char *text, size_t size, const struct sum *sum)
{
	int cause, other, first;
	size_t used = 0;

	*text = '\0';
	for (cause = 0; cause < WHOLE_CAUSES; cause++) {
		for (other = 0, first = 1; sum->cause[cause] && other < WHOLE_CAUSES; other++) {
			if (!(sum->with[cause] >> other & 1) || used >= size)
				continue;
			used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", first && used ? "; " : "",
						 first ? whole_cause_word((enum whole_cause)cause) : "",
						 first ? " with " : ", ", whole_cause_word((enum whole_cause)other));
			first = 0;
		}
	}
}

/* Columns of the causes in enum order, from process_bytes on. */
static void bind_parts(struct db_stmt *stmt, const struct sum *sum)
{
	int cause, column;

	for (column = 8; column <= 15; column++)
		db_bind_null(stmt, column);
	if (!sum->own_known)
		return;
	db_bind_unsigned(stmt, 8, sum->own);
	for (cause = 0; cause < WHOLE_CAUSES; cause++)
		db_bind(stmt, 9 + cause, sum->cause[cause]);
	db_bind(stmt, 9 + WHOLE_CAUSES, sum->unexplained);
	db_bind_unsigned(stmt, 10 + WHOLE_CAUSES, sum->used > sum->own ? sum->used - sum->own : 0);
}

_Static_assert(WHOLE_CAUSES == 5, "the table `whole` has a column for each cause");

static int store_sum(struct db_stmt *stmt, uint32_t device, uint32_t peak, const struct sum *sum)
{
	char mixed[256];

	write_mixed(mixed, sizeof(mixed), sum);
	db_bind(stmt, 1, store_device_id(device));
	db_bind_text(stmt, 2, peak ? mt_phase_name(peak - 1) : "peak");
	db_bind(stmt, 3, sum->time);
	db_bind(stmt, 4, sum->processes);
	db_bind_unsigned(stmt, 5, sum->used);
	db_bind_unsigned(stmt, 6, sum->total);
	db_bind_unsigned(stmt, 7, sum->held);
	bind_parts(stmt, sum);
	db_bind_text(stmt, 16, mixed);
	return db_run(stmt);
}

static int store_devices(struct db *db, const struct analysis *analysis)
{
	struct db_stmt *stmt;
	struct sum sum;
	uint32_t i, peak;
	int error = db_prepare(db, &stmt, "INSERT INTO whole VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

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
	int error = db_prepare(db, &stmt, "INSERT INTO host VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (i = 0; i < analysis->processes && !error; i++)
		if (analysis->process[i].host.samples)
			error = store_host(stmt, analysis, i);
	db_finish(stmt);
	return error;
}

int store_whole(struct db *db, const struct analysis *analysis)
{
	int error = store_devices(db, analysis);

	return error ? error : store_hosts(db, analysis);
}
