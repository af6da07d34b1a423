/* Counters: every change while there are few; else three points of each bucket of time at most, and the peaks of devices. */
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "perfetto.h"
#include "report/answer.h"

static void send_value(struct perfetto *perfetto, struct perfetto_counters *counters, uint32_t value, int64_t time,
		       uint64_t bytes)
{
	perfetto_begin_event(perfetto, time, PERFETTO_COUNTER, counters->track + value);
	proto_signed(&perfetto->proto, 30, (int64_t)bytes);
	proto_end(&perfetto->proto);
	perfetto_end(perfetto);
	counters->told |= 1u << value;
	counters->sent.value[value] = bytes;
}

/* Values that have changed since the point before. A counter begins with its first value that is not 0. */
static void send(struct perfetto *perfetto, struct perfetto_counters *counters, const struct perfetto_point *point)
{
	uint32_t i;

	for (i = 0; i < counters->values; i++)
		if (point->value[i] != counters->sent.value[i])
			send_value(perfetto, counters, i, point->time, point->value[i]);
	counters->sent.time = point->time;
}

/* In order of time: the last point has the value that holds until the next bucket. */
static void send_bucket(struct perfetto *perfetto, struct perfetto_counters *counters)
{
	const struct perfetto_point *low = &counters->low, *high = &counters->high;

	if (counters->bucket < 0)
		return;
	send(perfetto, counters, low->time <= high->time ? low : high);
	send(perfetto, counters, low->time <= high->time ? high : low);
	send(perfetto, counters, &counters->last);
	counters->bucket = -1;
}

/* Among points with as many bytes that with the most tensors is the highest, as everywhere (analysis_is_higher). */
static int is_higher(const struct perfetto_counters *counters, const struct perfetto_point *point)
{
	const uint64_t *high = counters->high.value;

	if (point->value[0] != high[0] || counters->values <= PERFETTO_TENSORS)
		return point->value[0] > high[0];
	return point->value[PERFETTO_TENSORS] > high[PERFETTO_TENSORS];
}

static void add_to_bucket(struct perfetto *perfetto, struct perfetto_counters *counters,
			  const struct perfetto_point *point)
{
	int64_t bucket = (point->time > 0 ? point->time : 0) / perfetto->width;

	if (bucket != counters->bucket) {
		send_bucket(perfetto, counters);
		counters->bucket = bucket;
		counters->low = counters->high = *point;
	}
	if (point->value[0] < counters->low.value[0])
		counters->low = *point;
	if (is_higher(counters, point))
		counters->high = *point;
	counters->last = *point;
}

/* The range begins with what was there before. */
static void send_waiting(struct perfetto *perfetto, struct perfetto_counters *counters)
{
	if (!counters->waits)
		return;
	counters->waits = 0;
	counters->last.time = perfetto->range.first;
	send(perfetto, counters, &counters->last);
}

void perfetto_count(struct perfetto *perfetto, struct perfetto_counters *counters, const struct perfetto_point *point)
{
	if (point->time > perfetto->range.last)
		return;
	if (point->time < perfetto->range.first) {
		counters->waits = 1;
		counters->last = *point;
		return;
	}
	send_waiting(perfetto, counters);
	if (perfetto->width)
		add_to_bucket(perfetto, counters, point);
	else
		send(perfetto, counters, point);
}

void perfetto_count_end(struct perfetto *perfetto, struct perfetto_counters *counters)
{
	send_waiting(perfetto, counters);
	if (perfetto->width)
		send_bucket(perfetto, counters);
}

/* ---- the peaks of devices ---------------------------------------------------------------------------------------- */

struct peaks {
	struct perfetto *perfetto;
	struct perfetto_point *point; /* one for each pair */
	uint32_t points;
};

/* The point of the pair of a row's process and device. NULL: the pair never held anything. */
static struct perfetto_point *point_of(struct peaks *peaks, const struct db_stmt *row)
{
	struct perfetto *perfetto = peaks->perfetto;
	int64_t process = db_int(row, 0), device = db_int(row, 1);
	const struct perfetto_pair *pair = NULL;

	if (process > 0 && process <= perfetto->processes && device > 0)
		pair = perfetto_pair_of(perfetto, (uint32_t)process - 1, (uint32_t)device - 1);
	return pair && pair < perfetto->pair + peaks->points ? &peaks->point[pair - perfetto->pair] : NULL;
}

static int take_time(void *context, struct db_stmt *row)
{
	struct perfetto_point *point = point_of(context, row);

	if (point)
		point->time = db_int(row, 2);
	return 0;
}

static int take_part(void *context, struct db_stmt *row)
{
	struct perfetto_point *point = point_of(context, row);
	int phase = mt_phase_parse(db_text(row, 2), strlen(db_text(row, 2)));

	if (!point)
		return 0;
	point->value[PERFETTO_HELD] += (uint64_t)db_int(row, 3);
	point->value[PERFETTO_PHASE + (phase < 0 ? MT_PHASE_OTHER : phase)] += (uint64_t)db_int(row, 3);
	return 0;
}

/* A value of 0 is written, too: the newest point of the track may be another. */
static void send_peaks(struct peaks *peaks)
{
	struct perfetto_counters *held;
	uint32_t i, value;

	for (i = 0; i < peaks->points; i++) {
		held = &peaks->perfetto->pair[i].held;
		if (!perfetto_is_in(peaks->perfetto, peaks->point[i].time))
			continue;
		for (value = PERFETTO_HELD; value < PERFETTO_RESERVED; value++)
			if (peaks->point[i].value[value] || held->told & 1u << value)
				send_value(peaks->perfetto, held, value, peaks->point[i].time,
					   peaks->point[i].value[value]);
	}
}

int perfetto_count_peaks(struct perfetto *perfetto)
{
	struct peaks peaks = { .perfetto = perfetto, .points = perfetto->pairs };
	int error;

	if (!perfetto->width)
		return 0;
	peaks.point = calloc((size_t)perfetto->pairs + 1, sizeof(*peaks.point));
	if (!peaks.point)
		return -MT_E_MEMORY;
	error = answer_rows(perfetto->run->db,
			    "SELECT DISTINCT site.process, device, time FROM site JOIN peak USING (device)", NULL,
			    take_time, &peaks);
	if (!error)
		error = answer_rows(perfetto->run->db,
				    "SELECT process, device, phase, sum(bytes) FROM peak_part GROUP BY 1, 2, 3", NULL,
				    take_part, &peaks);
	if (!error)
		send_peaks(&peaks);
	free(peaks.point);
	return error ? error : perfetto->error;
}
