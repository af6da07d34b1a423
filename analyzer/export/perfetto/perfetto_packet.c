/* perfetto_packet.c - begins and ends packets, and converts times to the clock of the file. */
#include "perfetto.h"

void perfetto_fail(struct perfetto *perfetto, int error)
{
	if (error && !perfetto->error)
		perfetto->error = error;
}

static int64_t in_range(const struct perfetto *perfetto, int64_t time)
{
	time = time > perfetto->range.first ? time : perfetto->range.first;
	return time < perfetto->range.last ? time : perfetto->range.last;
}

uint64_t perfetto_time(const struct perfetto *perfetto, int64_t time)
{
	return (uint64_t)perfetto->origin + (uint64_t)in_range(perfetto, time);
}

void perfetto_begin(struct perfetto *perfetto)
{
	proto_number(&perfetto->proto, 10, PERFETTO_SEQUENCE);
	proto_number(&perfetto->proto, 13, PERFETTO_NEEDS);
}

void perfetto_begin_at(struct perfetto *perfetto, int64_t time)
{
	proto_number(&perfetto->proto, 8, perfetto_time(perfetto, time));
	perfetto_begin(perfetto);
}

void perfetto_end(struct perfetto *perfetto)
{
	perfetto_fail(perfetto, proto_put(&perfetto->proto, perfetto->body ? perfetto->body : perfetto->out, 1));
}

void perfetto_begin_event(struct perfetto *perfetto, int64_t time, uint32_t type, uint64_t track)
{
	perfetto_begin_at(perfetto, time);
	proto_begin(&perfetto->proto, 11);
	proto_number(&perfetto->proto, 9, type);
	proto_number(&perfetto->proto, 11, track);
}
