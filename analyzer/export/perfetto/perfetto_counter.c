/* perfetto_counter.c - writes counters: every change of a short run, or at most three points of each bucket of time. */
#include "perfetto.h"

void perfetto_send(struct perfetto *perfetto, struct perfetto_counters *counters, uint32_t value, int64_t time,
		   uint64_t bytes)
{
	perfetto_begin_event(perfetto, time, PERFETTO_COUNTER, counters->track + value);
	proto_signed(&perfetto->proto, 30, (int64_t)bytes);
	proto_end(&perfetto->proto);
	perfetto_end(perfetto);
	counters->told |= 1u << value;
	counters->sent.value[value] = bytes;
}

/*
 * Writes the values that have changed since the last written point. A counter begins with its first value that is not
 * 0.
 */
static void send(struct perfetto *perfetto, struct perfetto_counters *counters, const struct perfetto_point *point)
{
	uint32_t i;

	for (i = 0; i < counters->values; i++)
		if (point->value[i] != counters->sent.value[i])
			perfetto_send(perfetto, counters, i, point->time, point->value[i]);
	counters->sent.time = point->time;
}

/* Writes low, high and last point of the bucket in the order of time. The last value holds until the next bucket. */
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

/*
 * 1: the point is higher than `high`: more bytes held or, with equal bytes, more tensor bytes (as analysis_is_higher).
 */
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

/* Writes the last point from before the range as the first point of the range. */
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
