#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/tuple.h"
#include "label/owner.h"
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "store_shared.h"

/* ---- processes ---- */

static const char *python_version(uint32_t hex, char text[16])
{
	if (!hex)
		return NULL;
	snprintf(text, 16, "%u.%u.%u", hex >> 24, hex >> 16 & 0xff, hex >> 8 & 0xff);
	return text;
}

static uint64_t lost_events(const struct analysis_process *process)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < MT_LOSS_COUNT; i++)
		sum = sum + process->loss[i].count < sum ? UINT64_MAX : sum + process->loss[i].count;
	return sum;
}

static void bind_or_null(struct db_stmt *stmt, int parameter, int64_t value, int known)
{
	if (known)
		db_bind(stmt, parameter, value);
	else
		db_bind_null(stmt, parameter);
}

static int store_process(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number)
{
	const struct mt_process *info = process->info;
	const struct mt_trace_state *state = process->state;
	char python[16], tool[16];

	snprintf(tool, sizeof(tool), "%u.%u.%u", info->tool_version >> 16 & 0xff, info->tool_version >> 8 & 0xff,
		 info->tool_version & 0xff);
	db_bind(stmt, 1, store_process_id(number));
	db_bind_text(stmt, 2, process->file);
	bind_or_null(stmt, 3, info->pid, info->pid != 0);
	bind_or_null(stmt, 4, info->ppid, info->pid != 0);
	if (info->rank >= 0)
		db_bind(stmt, 5, info->rank);
	else
		db_bind_null(stmt, 5);
	db_bind_text(stmt, 6, info->host);
	db_bind_text(stmt, 7, info->boot_id);
	db_bind_text(stmt, 8, info->command);
	db_bind_text(stmt, 9, info->options);
	db_bind_text(stmt, 10, python_version(info->python_version, python));
	db_bind_text(stmt, 11, tool);
	bind_or_null(stmt, 12, (int64_t)info->start_realtime, info->start_realtime != 0);
	db_bind(stmt, 13, (int64_t)info->clock_error);
	db_bind(stmt, 14, process->origin);
	db_bind(stmt, 15, process->first_time);
	db_bind(stmt, 16, process->last_time);
	db_bind(stmt, 17, process->steps);
	db_bind_unsigned(stmt, 18, process->events);
	db_bind_unsigned(stmt, 19, lost_events(process));
	db_bind_unsigned(stmt, 20, process->unknown_frees);
	db_bind(stmt, 21, state->chunks);
	db_bind_unsigned(stmt, 22, state->file_bytes);
	db_bind(stmt, 23, state->complete);
	db_bind_text(stmt, 24, process->ended ? mt_end_name(process->ended - 1) : NULL);
	db_bind_text(stmt, 25, state->error ? mt_strerror(state->error) : NULL);
	if (state->error)
		db_bind_unsigned(stmt, 26, state->error_offset);
	else
		db_bind_null(stmt, 26);
	db_bind_unsigned(stmt, 27, process->cut);
	db_bind_text(stmt, 28, info->snapshot ? "pytorch" : "memrec");
	db_bind(stmt, 29, !(info->snapshot & MT_SNAPSHOT_NO_HISTORY));
	db_bind(stmt, 30, !(info->snapshot & MT_SNAPSHOT_NO_TIMES));
	db_bind(stmt, 31, (info->snapshot & MT_SNAPSHOT_CUT) != 0);
	bind_or_null(stmt, 32, process->over_time, process->over);
	bind_or_null(stmt, 33, (int64_t)process->over_seq, process->over);
	return db_run(stmt);
}

static int store_losses(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number)
{
	const struct analysis_loss *loss;
	uint32_t i;
	int error = 0;

	for (i = 0; i < MT_LOSS_COUNT && !error; i++) {
		loss = &process->loss[i];
		if (!loss->records)
			continue;
		db_bind(stmt, 1, store_process_id(number));
		db_bind_text(stmt, 2, mt_loss_name(i));
		db_bind_unsigned(stmt, 3, loss->count);
		db_bind_unsigned(stmt, 4, loss->records);
		db_bind(stmt, 5, loss->first_time);
		db_bind(stmt, 6, loss->last_time);
		error = db_run(stmt);
	}
	return error;
}

static int store_sources(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number)
{
	const struct analysis_source *source;
	uint32_t i;
	int error = 0;

	for (i = 0; i < MT_SOURCE_COUNT && !error; i++) {
		source = &process->source[i];
		if (!source->seen)
			continue;
		db_bind(stmt, 1, store_process_id(number));
		db_bind_text(stmt, 2, mt_source_name(i));
		db_bind_text(stmt, 3, mt_source_state_word(source->state));
		db_bind_text(stmt, 4, source->why);
		db_bind(stmt, 5, source->time);
		error = db_run(stmt);
	}
	return error;
}

/* ---- devices ---- */

/* The order in which people count devices: GPUs by their ordinal, then the CPU. Equal devices keep their order in the array. */
static int in_order(const void *a, const void *b)
{
	const struct analysis_device *one = *(const struct analysis_device *const *)a;
	const struct analysis_device *two = *(const struct analysis_device *const *)b;

	if (one->kind != two->kind)
		return one->kind == MT_DEVICE_CUDA ? -1 : 1;
	if (one->known != two->known)
		return one->known ? -1 : 1;
	if (one->index != two->index)
		return one->index < two->index ? -1 : 1;
	return one < two ? -1 : one > two;
}

/*
 * A GPU keeps its ordinal if no other device has this number (two processes may each see another GPU as number 0). Other devices get the next number;
 * unused devices get -1. `order` has room for all devices.
 */
static void number_devices(const struct analysis *analysis, const struct analysis_device **order, int64_t *number)
{
	const struct analysis_device *device;
	int64_t next = 0;
	uint32_t i, used = 0;

	for (i = 0; i < analysis->devices; i++) {
		number[i] = -1;
		if (analysis->device[i].used)
			order[used++] = &analysis->device[i];
	}
	qsort(order, used, sizeof(*order), in_order);
	for (i = 0; i < used; i++) {
		device = order[i];
		next = device->kind == MT_DEVICE_CUDA && device->index > next ? device->index : next;
		number[device - analysis->device] = next++;
	}
}

static int store_device(struct db_stmt *stmt, const struct analysis_device *device, uint32_t id, int64_t number)
{
	const char *name = device->kind == MT_DEVICE_CPU ? "CPU" : "GPU";

	if (!device->known)
		name = "memory of an unknown device";
	db_bind(stmt, 1, store_device_id(id));
	if (number >= 0)
		db_bind(stmt, 2, number);
	else
		db_bind_null(stmt, 2);
	db_bind_text(stmt, 3, device->kind == MT_DEVICE_CPU ? "cpu" : "cuda");
	db_bind_text(stmt, 4, *device->name ? device->name : name);
	db_bind_text(stmt, 5, *device->uuid ? device->uuid : NULL);
	if (device->total)
		db_bind_unsigned(stmt, 6, device->total);
	else
		db_bind_null(stmt, 6);
	return db_run(stmt);
}

static int store_devices(struct db *db, const struct analysis *analysis)
{
	const struct analysis_device **order = calloc((size_t)analysis->devices + 1, sizeof(*order));
	int64_t *number = calloc((size_t)analysis->devices + 1, sizeof(*number));
	struct db_stmt *stmt = NULL;
	uint32_t i;
	int error = order && number ? db_prepare(db, &stmt, "INSERT INTO device VALUES (?, ?, ?, ?, ?, ?)")
				    : -MT_E_MEMORY;

	if (!error)
		number_devices(analysis, order, number);
	for (i = 0; i < analysis->devices && !error; i++)
		error = store_device(stmt, &analysis->device[i], i, number[i]);
	db_finish(stmt);
	free(order);
	free(number);
	return error;
}

/* ---- peaks ---- */

/* Returns the slack of each device at its peak, by number of the device. The caller frees the array. NULL: out of memory. */
static uint64_t *slack_at_peak(const struct analysis *analysis)
{
	uint64_t *slack = calloc((size_t)analysis->devices + 1, sizeof(*slack));
	uint32_t i, device;

	for (i = 1; i < analysis->attribution.sites && slack; i++) {
		device = analysis->attribution.site[i].key.device;
		if (device < analysis->devices)
			slack[device] += attribution_at_peak(&analysis->attribution, i).slack;
	}
	return slack;
}

static int store_peaks(struct db *db, const struct analysis *analysis)
{
	const struct analysis_device *device;
	uint64_t *slack = slack_at_peak(analysis);
	struct db_stmt *stmt = NULL;
	uint32_t i;
	int error = slack ? db_prepare(db, &stmt, "INSERT INTO peak VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
			  : -MT_E_MEMORY;

	for (i = 0; i < analysis->devices && !error; i++) {
		device = &analysis->device[i];
		if (!device->used)
			continue;
		db_bind(stmt, 1, store_device_id(i));
		db_bind_unsigned(stmt, 2, device->peak.bytes);
		db_bind_unsigned(stmt, 3, slack[i]);
		db_bind(stmt, 4, device->peak.time);
		db_bind_unsigned(stmt, 5, device->peak.seq);
		db_bind(stmt, 6, store_process_id(device->peak.process));
		db_bind(stmt, 7, device->peak.step);
		db_bind_text(stmt, 8, mt_phase_name(device->peak.phase));
		db_bind_text(stmt, 9, mt_role_name(device->peak.role));
		db_bind_unsigned(stmt, 10, device->imported);
		bind_or_null(stmt, 11, (int64_t)device->peak.tensors, device->blocks.known);
		bind_or_null(stmt, 12, (int64_t)device->blocks.bytes, device->blocks.known);
		bind_or_null(stmt, 13, !device->blocks.least, device->blocks.known);
		error = db_run(stmt);
	}
	db_finish(stmt);
	free(slack);
	return error;
}

static int store_phase_peaks(struct db *db, const struct analysis *analysis)
{
	const struct analysis_phase_peak *peak;
	struct db_stmt *stmt;
	uint32_t i, phase;
	int error = db_prepare(db, &stmt, "INSERT INTO phase_peak VALUES (?, ?, ?, ?, ?, ?, ?, ?)");

	for (i = 0; i < analysis->devices; i++) {
		for (phase = 0; phase < MT_PHASE_COUNT && !error; phase++) {
			peak = &analysis->device[i].phase_peak[phase];
			if (!peak->ran || !analysis->device[i].used)
				continue;
			db_bind(stmt, 1, store_device_id(i));
			db_bind_text(stmt, 2, mt_phase_name(phase));
			db_bind_unsigned(stmt, 3, peak->level.bytes);
			db_bind(stmt, 4, peak->time);
			db_bind_unsigned(stmt, 5, peak->seq);
			db_bind(stmt, 6, store_process_id(peak->process));
			db_bind(stmt, 7, peak->step);
			db_bind_unsigned(stmt, 8, peak->tensors);
			error = db_run(stmt);
		}
	}
	db_finish(stmt);
	return error;
}

static int store_ooms(struct db *db, const struct analysis *analysis)
{
	static const char *const free_by[] = {
		[ANALYSIS_FREE_BOUND] = "bound", [ANALYSIS_FREE_SAMPLE] = "nvml", [ANALYSIS_FREE_DRIVER] = "driver"
	};
	const struct analysis_oom *oom;
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "INSERT INTO oom VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (i = 0; i < analysis->ooms && !error; i++) {
		oom = &analysis->oom[i];
		db_bind(stmt, 1, i + 1);
		db_bind(stmt, 2, store_process_id(oom->process));
		db_bind(stmt, 3, store_device_id(oom->device));
		db_bind_text(stmt, 4, oom->kind == MT_TENSOR_OOM ? "tensor" : "driver");
		db_bind(stmt, 5, oom->time);
		db_bind_unsigned(stmt, 6, oom->seq);
		db_bind_unsigned(stmt, 7, oom->requested);
		if (oom->free >= 0)
			db_bind(stmt, 8, oom->free);
		else
			db_bind_null(stmt, 8);
		db_bind_text(stmt, 9, free_by[oom->free_by]);
		if (oom->others >= 0)
			db_bind(stmt, 10, oom->others);
		else
			db_bind_null(stmt, 10);
		db_bind_text(stmt, 11, mt_phase_name(oom->phase));
		db_bind(stmt, 12, oom->step);
		store_bind_id(stmt, 13, store_node_id(analysis, oom->process, oom->stack));
		db_bind_text(stmt, 14, mt_role_name(oom->role));
		db_bind_text(stmt, 15, mt_category_name(oom->category));
		db_bind(stmt, 16, oom->had);
		store_bind_id(stmt, 17, store_id(oom->process, oom->row));
		error = db_run(stmt);
	}
	db_finish(stmt);
	return error;
}

static int store_oom_holders(struct db *db, const struct analysis *analysis)
{
	const struct analysis_oom_holder *holder;
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "INSERT INTO oom_holder VALUES (?, ?, ?, ?)");

	for (i = 0; i < analysis->oom_holders && !error; i++) {
		holder = &analysis->oom_holder[i];
		db_bind(stmt, 1, holder->oom + 1);
		db_bind(stmt, 2, store_process_id(holder->process));
		db_bind_unsigned(stmt, 3, holder->held);
		db_bind_unsigned(stmt, 4, holder->slack);
		error = db_run(stmt);
	}
	db_finish(stmt);
	return error;
}

/* ---- sites ---- */

static uint8_t category_of(const struct analysis *analysis, uint32_t number)
{
	return category_of_site(&analysis->categories, &analysis->attribution, number);
}

/* Binds the columns that all sites of one sum share. */
static void bind_site(struct db_stmt *stmt, const struct analysis *analysis, uint32_t number)
{
	const struct site *site = &analysis->attribution.site[number];

	db_bind(stmt, 2, store_process_id(site->key.process));
	db_bind(stmt, 3, store_device_id(site->key.device));
	db_bind_text(stmt, 5, site->key.driver ? "driver" : "tensor");
	db_bind_text(stmt, 6, mt_phase_name(site->key.phase));
	db_bind_text(stmt, 7, mt_category_name(category_of(analysis, number)));
	db_bind_text(stmt, 8, analysis->owner[site->owner]);
	db_bind(stmt, 9, site->tensors_seen);
	db_bind_text(stmt, 12, evidence_known(analysis, number));
}

static int store_site(struct db_stmt *stmt, const struct analysis *analysis, uint32_t number)
{
	const struct site *site = &analysis->attribution.site[number];
	char evidence[EVIDENCE_TEXT_MAX], decided_by[EVIDENCE_TEXT_MAX];
	int64_t element;

	bind_site(stmt, analysis, number);
	db_bind(stmt, 1, number);
	store_bind_id(stmt, 4, store_node_id(analysis, site->key.process, site->key.stack));
	db_bind_text(stmt, 10, evidence_text(evidence, sizeof(evidence), analysis, number));
	db_bind_text(stmt, 11, evidence_decided_by(decided_by, sizeof(decided_by), analysis, number));
	store_bind_id(stmt, 13, evidence_vocabulary(analysis, number, &element));
	store_bind_id(stmt, 14, element);
	return db_run(stmt);
}

/* The allocator owns the slack, and not the owner of the site. */
static int store_part(struct db_stmt *stmt, const struct analysis *analysis, uint32_t number, int64_t id,
		      const struct site_bytes *at_peak)
{
	const struct site *site = &analysis->attribution.site[number];

	db_bind(stmt, 1, id);
	db_bind(stmt, 2, store_device_id(site->key.device));
	db_bind(stmt, 3, store_process_id(site->key.process));
	db_bind_text(stmt, 4, mt_phase_name(site->key.phase));
	db_bind_text(stmt, 5, mt_category_name(site->tensors_seen ? MT_CATEGORY_SLACK : category_of(analysis, number)));
	db_bind_text(stmt, 6, site->tensors_seen ? OWNER_PYTORCH : analysis->owner[site->owner]);
	db_bind_unsigned(stmt, 7, at_peak->plain + at_peak->slack);
	db_bind_unsigned(stmt, 8, at_peak->count);
	return db_run(stmt);
}

/* A row for all sites without a row of their own that differ only in stack and evidence; `site`: one of these sites. */
struct sum {
	uint32_t site;
	struct site_bytes at_peak;
};

struct sums {
	struct tuple_table known;
	struct sum *sum;
	uint32_t count, room;
};

static struct tuple sum_key(const struct analysis *analysis, uint32_t number)
{
	const struct site *site = &analysis->attribution.site[number];
	uint64_t words = (uint64_t)category_of(analysis, number) << 16 | (uint64_t)site->key.phase << 8 |
			 (uint64_t)(site->tensors_seen != 0) << 1 | site->key.driver;

	return (struct tuple){ { (uint64_t)site->key.process << 32 | site->key.device, words, site->owner,
				 tuple_text(evidence_known(analysis, number)) } };
}

/* Returns the sum of the site, added if new. NULL: out of memory. */
static struct sum *sum_of(struct sums *sums, const struct analysis *analysis, uint32_t number)
{
	const struct tuple key = sum_key(analysis, number);
	uint32_t at = tuple_find(&sums->known, &key);

	if (at != TUPLE_NONE)
		return &sums->sum[at];
	if (MT_ARRAY_ROOM(sums->sum, sums->count, sums->room))
		return NULL;
	if (tuple_add(&sums->known, &key, sums->count))
		return NULL;
	sums->sum[sums->count] = (struct sum){ .site = number };
	return &sums->sum[sums->count++];
}

static int64_t sum_id(uint32_t number)
{
	return -1 - (int64_t)number;
}

static int add_to_sum(struct sums *sums, const struct analysis *analysis, uint32_t number, int64_t *row)
{
	struct site_bytes at_peak = attribution_at_peak(&analysis->attribution, number);
	struct sum *sum = sum_of(sums, analysis, number);

	if (!sum)
		return -MT_E_MEMORY;
	sum->at_peak.plain += at_peak.plain;
	sum->at_peak.slack += at_peak.slack;
	if (at_peak.plain + at_peak.slack) /* as for a single row: count allocations of sites that hold bytes */
		sum->at_peak.count += at_peak.count;
	row[number] = sum_id((uint32_t)(sum - sums->sum));
	return 0;
}

static int store_sum(struct db_stmt *sites, struct db_stmt *parts, const struct analysis *analysis,
		     const struct sum *sum, int64_t id)
{
	int error;

	bind_site(sites, analysis, sum->site);
	db_bind(sites, 1, id);
	db_bind_text(sites, 10, "");
	db_bind_text(sites, 11, "");
	db_bind_null(sites, 4);
	db_bind_null(sites, 13);
	db_bind_null(sites, 14);
	error = db_run(sites);
	if (!error && sum->at_peak.plain + sum->at_peak.slack)
		error = store_part(parts, analysis, sum->site, id, &sum->at_peak);
	return error;
}

static int store_one(struct db_stmt *sites, struct db_stmt *parts, const struct analysis *analysis, uint32_t number)
{
	struct site_bytes at_peak = attribution_at_peak(&analysis->attribution, number);
	int error = store_site(sites, analysis, number);

	if (!error && store_held_at_peak(analysis, number))
		error = store_part(parts, analysis, number, number, &at_peak);
	return error;
}

/* row[site] becomes the id of the site's row; for a summed site, the id of its sum. */
static int store_sites(struct db *db, const struct analysis *analysis, const uint8_t *own, int64_t *row)
{
	struct db_stmt *sites, *parts = NULL;
	struct sums sums = { .count = 0 };
	uint32_t i;
	int error = db_prepare(db, &sites, "INSERT INTO site VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	if (!error)
		error = db_prepare(db, &parts, "INSERT INTO peak_part VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
	for (i = 1; i < analysis->attribution.sites && !error; i++)
		error = !own || own[i] ? store_one(sites, parts, analysis, i) : add_to_sum(&sums, analysis, i, row);
	for (i = 0; i < sums.count && !error; i++)
		error = store_sum(sites, parts, analysis, &sums.sum[i], sum_id(i));
	db_finish(sites);
	db_finish(parts);
	tuple_release(&sums.known);
	free(sums.sum);
	return error;
}

static int store_ended(struct db_stmt *stmt, const struct analysis_process *process, uint32_t number)
{
	if (!process->steps)
		return 0;
	db_bind(stmt, 1, store_process_id(number));
	db_bind(stmt, 2, (int64_t)process->last_step - process->steps + 1);
	db_bind(stmt, 3, process->last_step);
	db_bind(stmt, 4, outlived_grain(&process->outlived));
	return db_run(stmt);
}

static int store_outlived_of(struct db_stmt *stmt, const struct analysis *analysis, const struct outlived *outlived,
			     const uint8_t *own)
{
	struct outlived_row *row = outlived_sorted(outlived);
	int error = row || !outlived->rows ? 0 : -MT_E_MEMORY;
	size_t i;

	for (i = 0; i < outlived->rows && !error; i++) {
		if (!row[i].count || (own && !own[store_outlived_site(analysis, &row[i])]))
			continue;
		db_bind(stmt, 1, store_outlived_site(analysis, &row[i]));
		db_bind(stmt, 2, row[i].step);
		bind_or_null(stmt, 3, row[i].until, row[i].until != OUTLIVED_STAYS);
		db_bind_unsigned(stmt, 4, row[i].bytes);
		db_bind_unsigned(stmt, 5, row[i].count);
		error = db_run(stmt);
	}
	free(row);
	return error;
}

/* In a summary, only the growth report needs these rows. All sites that may grow are then `own`. */
static int store_outlived(struct db *db, const struct analysis *analysis, const uint8_t *own)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error;

	if (own && !store_any_can_grow(analysis))
		return 0;
	error = db_prepare(db, &stmt, "INSERT INTO outlived_step VALUES (?, ?, ?, ?, ?)");
	for (i = 0; i < analysis->processes && !error; i++)
		error = store_outlived_of(stmt, analysis, &analysis->process[i].outlived, own);
	db_finish(stmt);
	return error;
}

static int store_tables(struct db *db, const struct analysis *analysis, int everything, const uint8_t *own,
			int64_t *row)
{
	int error;

	error = store_each_process(db, analysis,
				   "INSERT INTO process VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
				   "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				   store_process);
	if (!error)
		error = store_each_process(db, analysis, "INSERT INTO lost_events VALUES (?, ?, ?, ?, ?, ?)",
					   store_losses);
	if (!error)
		error = store_each_process(db, analysis, "INSERT INTO source VALUES (?, ?, ?, ?, ?)", store_sources);
	if (!error)
		error = store_definitions(db, analysis, everything, own);
	if (!error)
		error = store_devices(db, analysis);
	if (!error)
		error = store_peaks(db, analysis);
	if (!error)
		error = store_phase_peaks(db, analysis);
	if (!error)
		error = store_samples(db, analysis);
	if (!error)
		error = store_ooms(db, analysis);
	if (!error)
		error = store_oom_holders(db, analysis);
	if (!error)
		error = store_sites(db, analysis, own, row);
	if (!error && analysis->devices > 1) /* reports ask by device */
		error = db_execute(db, "CREATE INDEX peak_part_device ON peak_part (device)");
	if (!error)
		error = store_outlived(db, analysis, own);
	if (!error)
		error = store_modules(db, analysis, everything, row);
	if (!error)
		error = store_each_process(db, analysis, "INSERT INTO steps_ended VALUES (?, ?, ?, ?)", store_ended);
	if (!error)
		error = store_parameters(db, analysis);
	return error;
}

int store_summary(struct db *db, const struct analysis *analysis, int everything)
{
	return store_tables(db, analysis, everything, NULL, NULL);
}

int store_summary_of(struct db *db, const struct analysis *analysis, const uint8_t *own)
{
	int64_t *row = calloc((size_t)analysis->attribution.sites + 1, sizeof(*row));
	uint32_t i;
	int error;

	for (i = 0; i < analysis->attribution.sites && row; i++)
		row[i] = i;
	error = row ? store_tables(db, analysis, 0, own, row) : -MT_E_MEMORY;
	free(row);
	return error;
}
