/* perfetto_peak.c - writes the exact peaks of devices if counters are written in buckets of time. */
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "perfetto.h"
#include "report/answer.h"

struct peaks {
	struct perfetto *perfetto;
	struct perfetto_point *point; /* one for each pair */
	uint32_t points;
};

/* The point for process and device of a row. NULL: the process never held bytes on the device. */
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

/* Writes the points. A value of 0 is written, too, because the newest value of its track may differ. */
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
				perfetto_send(peaks->perfetto, held, value, peaks->point[i].time,
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
	error = db_rows(perfetto->run->db,
			"SELECT DISTINCT site.process, device, time FROM site JOIN peak USING (device)", NULL,
			take_time, &peaks);
	if (!error)
		error = db_rows(perfetto->run->db,
				"SELECT process, device, phase, sum(bytes) FROM peak_part GROUP BY 1, 2, 3", NULL,
				take_part, &peaks);
	if (!error)
		send_peaks(&peaks);
	free(peaks.point);
	return error ? error : perfetto->error;
}
