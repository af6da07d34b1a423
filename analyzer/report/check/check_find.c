/* Compares the run with the limits of the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "query/query.h"

struct check_finding *check_add(struct check *check, const char *rule)
{
	struct check_finding *finding;

	if (MT_ARRAY_ROOM(check->finding, check->count, check->room))
		return NULL;
	finding = &check->finding[check->count++];
	memset(finding, 0, sizeof(*finding));
	finding->rule = rule;
	return finding;
}

void check_judge(struct check *check, struct check_finding *finding, int64_t value, uint64_t limit)
{
	finding->known = 1;
	finding->value = value;
	finding->limit = limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
	finding->holds = value <= finding->limit;
	check->broken += !finding->holds;
}

void check_cannot_tell(struct check *check, struct check_finding *finding, uint64_t limit, const char *why)
{
	finding->limit = limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
	snprintf(finding->words, sizeof(finding->words), "%s", why);
	check->broken++;
}

static int count_lost(void *context, const struct query_process *row)
{
	((struct check *)context)->lost += row->lost;
	return 0;
}

static int count_gpu(void *context, const struct query_device *row)
{
	((struct check *)context)->gpus += !strcmp(row->kind, "cuda") && row->peak.bytes;
	return 0;
}

int check_wants(const struct check *check, const struct query_device *device)
{
	return check->gpus ? !strcmp(device->kind, "cuda") && device->peak.bytes : !strcmp(device->kind, "cpu");
}

/* ---- the peak ---- */

static int find_phase(void *context, const struct query_phase_peak *row)
{
	struct check *check = context;

	if (strcmp(row->phase, check->limits->phase))
		return 0;
	check->phase_ran = 1;
	check->phase_peak = row->bytes;
	return 0;
}

/* Checks each GPU; in a run without GPUs, the CPU. */
static int check_peak(void *context, const struct query_device *row)
{
	struct check *check = context;
	struct check_finding *finding;
	char device[TEXT_SIZE_MAX];

	if (!check_wants(check, row))
		return 0;
	finding = check_add(check, "max-peak");
	if (!finding)
		return -MT_E_MEMORY;
	snprintf(finding->subject, sizeof(finding->subject), "%s", answer_device(device, row->number, row->kind));
	check_judge(check, finding, (int64_t)row->peak.bytes, check->limits->peak);
	return 0;
}

struct phase_check {
	struct check *check;
	struct db *db;
};

static int check_phase(void *context, const struct query_device *row)
{
	struct phase_check *phase = context;
	struct check *check = phase->check;
	struct check_finding *finding;
	char device[TEXT_SIZE_MAX];
	int error;

	if (!check_wants(check, row))
		return 0;
	check->phase_ran = 0;
	error = query_phase_peaks(phase->db, row->id, find_phase, check);
	finding = error ? NULL : check_add(check, "max-peak");
	if (!finding)
		return error ? error : -MT_E_MEMORY;
	snprintf(finding->subject, sizeof(finding->subject), "%s in %.24s",
		 answer_device(device, row->number, row->kind), check->limits->phase);
	if (check->phase_ran)
		check_judge(check, finding, (int64_t)check->phase_peak, check->limits->peak);
	else
		check_cannot_tell(check, finding, check->limits->peak, "the phase did not run");
	return 0;
}

static int check_peaks(struct check *check, struct db *db)
{
	struct phase_check phase = { .check = check, .db = db };
	size_t before = check->count;
	struct check_finding *finding;
	int error = check->limits->phase ? query_devices(db, check_phase, &phase)
					 : query_devices(db, check_peak, check);

	if (error || check->count > before)
		return error;
	finding = check_add(check, "max-peak");
	if (!finding)
		return -MT_E_MEMORY;
	check_cannot_tell(check, finding, check->limits->peak, "nothing was recorded on any device");
	return 0;
}

/* ---- growth ---- */

static int check_lane(struct check *check, const struct steps_lane *lane)
{
	const struct check_limits *limits = check->limits;
	struct check_finding *finding = check_add(check, "growth");
	char process[TEXT_SIZE_MAX], device[TEXT_SIZE_MAX];
	uint64_t limit = limits->growth;

	if (!finding)
		return -MT_E_MEMORY;
	snprintf(finding->subject, sizeof(finding->subject), "%s on %s", answer_process(process, lane->rank, lane->pid),
		 answer_device(device, lane->number, lane->kind));
	if (lane->state == GROWTH_UNKNOWN) {
		check_cannot_tell(check, finding, limit, "too few steps ended");
		return 0;
	}
	if (limits->growth_is_percent)
		limit = (uint64_t)((double)lane->row[1].in_use * limits->percent / 100);
	check_judge(check, finding, (int64_t)lane->each, limit);
	return 0;
}

static int find_growth(struct check *check, struct db *db)
{
	struct check_finding *finding;
	const struct steps *steps = &check->figures.steps;
	size_t before = check->count, i;
	int error = growth_figures_load(&check->figures, db, GROWTH_STEPS);

	for (i = 0; i < steps->count && !error; i++)
		if (!check->gpus || !strcmp(steps->lane[i].kind, "cuda"))
			error = check_lane(check, &steps->lane[i]);
	if (!error)
		growth_say(&check->growth, &check->figures.growth, 0);
	if (error || check->count > before)
		return error;
	finding = check_add(check, "growth");
	if (!finding)
		return -MT_E_MEMORY;
	check_cannot_tell(check, finding, check->limits->growth, "no step ended");
	return 0;
}

/* ---- the host ---- */

static int check_host(void *context, const struct query_host *row)
{
	struct check *check = context;
	struct check_finding *finding = check_add(check, "max-host");
	char process[TEXT_SIZE_MAX];

	if (!finding)
		return -MT_E_MEMORY;
	snprintf(finding->subject, sizeof(finding->subject), "host memory of %s",
		 answer_process(process, row->rank, row->pid));
	if (row->most_resident)
		check_judge(check, finding, (int64_t)row->most_resident, check->limits->host);
	else
		check_cannot_tell(check, finding, check->limits->host, "the process ended before the first sample");
	return 0;
}

static int check_hosts(struct check *check, struct db *db)
{
	size_t before = check->count;
	struct check_finding *finding;
	int error = query_hosts(db, check_host, check);

	if (error || check->count > before)
		return error;
	finding = check_add(check, "max-host");
	if (!finding)
		return -MT_E_MEMORY;
	check_cannot_tell(check, finding, check->limits->host, "the host's memory was not sampled");
	return 0;
}

int check_find(struct check *check, struct db *db)
{
	int error = query_processes(db, count_lost, check);

	if (!error)
		error = query_devices(db, count_gpu, check);
	if (!error && check->limits->has_peak)
		error = check_peaks(check, db);
	if (!error && check->limits->has_growth)
		error = find_growth(check, db);
	if (!error && check->limits->has_host)
		error = check_hosts(check, db);
	return error;
}
