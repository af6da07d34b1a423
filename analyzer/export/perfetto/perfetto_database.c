/* perfetto_database.c - tells a run from a database: the moves of its table `timeline`, and rows of other tables. */
#include <stdlib.h>
#include <string.h>
#include "database/db.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "perfetto.h"
#include "report/answer.h"
#include "timeline/tape.h"

struct replay {
	struct perfetto *perfetto;
	uint64_t *held; /* bytes of all processes, by device */
	uint32_t devices;
	struct db_stmt *peak; /* the peaks of steps in the order of time; at the next peak */
	int more;             /* 1: `peak` has a row */
	uint32_t sites;
};

static int take_size(void *context, struct db_stmt *row)
{
	struct perfetto *perfetto = context;
	int error = perfetto_processes(perfetto, (uint32_t)db_int(row, 0));

	perfetto->origin = db_int(row, 4);
	perfetto_set_width(perfetto, db_int(row, 1), db_int(row, 2), (uint64_t)db_int(row, 3));
	return error;
}

static uint8_t phase_of(const char *word)
{
	int phase = mt_phase_parse(word, strlen(word));

	return phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase;
}

/* 1: the database has this process and this device. */
static int is_known(const struct replay *replay, int64_t process, int64_t device)
{
	return process > 0 && process <= replay->perfetto->processes && device > 0 && device <= replay->devices;
}

static int take_devices(void *context, struct db_stmt *row)
{
	struct replay *replay = context;

	replay->devices = (uint32_t)db_int(row, 0);
	replay->held = calloc((size_t)replay->devices + 1, sizeof(*replay->held));
	return replay->held ? 0 : -MT_E_MEMORY;
}

static int take_site(void *context, struct db_stmt *row)
{
	struct replay *replay = context;

	if (!is_known(replay, db_int(row, 1), db_int(row, 2)) || db_int(row, 0) != replay->sites + 1)
		return -MT_E_CORRUPT;
	replay->sites++;
	perfetto_site_is(replay->perfetto, replay->sites,
			 &(struct perfetto_site_key){ .process = (uint32_t)db_int(row, 1) - 1,
						      .device = (uint32_t)db_int(row, 2) - 1,
						      .node = db_int(row, 6),
						      .phase = phase_of(db_text(row, 3)),
						      .driver = !strcmp(db_text(row, 4), "driver") });
	if (!replay->perfetto->error)
		replay->perfetto->site[replay->sites].all_slack = db_int(row, 5) != 0;
	return replay->perfetto->error;
}

/* Dumps the bytes that are held now for the next peak, and reads the peak after it. */
static int dump_peak(struct replay *replay)
{
	struct perfetto_pair *pair;
	struct perfetto_moment moment = { .step = (uint32_t)db_int(replay->peak, 2),
					  .bytes = (uint64_t)db_int(replay->peak, 3),
					  .time = db_int(replay->peak, 4) };

	if (!is_known(replay, db_int(replay->peak, 0), db_int(replay->peak, 1)))
		return -MT_E_CORRUPT;
	pair = perfetto_pair_of(replay->perfetto, (uint32_t)db_int(replay->peak, 0) - 1,
				(uint32_t)db_int(replay->peak, 1) - 1);
	if (pair)
		perfetto_heap_dump(replay->perfetto, pair, &moment);
	replay->more = db_step(replay->peak);
	return replay->more < 0 ? replay->more : replay->perfetto->error;
}

/* Dumps the peaks from before `time` that dump_here did not find. */
static int dump_until(struct replay *replay, int64_t time)
{
	int error = 0;

	while (replay->more == 1 && db_int(replay->peak, 4) < time && !error)
		error = dump_peak(replay);
	return error;
}

/* Call it after a change at `time`: dumps the peaks at this time if the device holds their bytes now. */
static int dump_here(struct replay *replay, int64_t time)
{
	int64_t device;
	int error = 0;

	while (replay->more == 1 && db_int(replay->peak, 4) == time && !error) {
		device = db_int(replay->peak, 1);
		if (device < 1 || device > replay->devices ||
		    replay->held[device - 1] != (uint64_t)db_int(replay->peak, 3))
			break;
		error = dump_peak(replay);
	}
	return error;
}

static int take_move(void *context, const struct tape_event *event)
{
	struct replay *replay = context;
	struct perfetto *perfetto = replay->perfetto;
	uint32_t number = TAPE_SITE(event->cell);
	int error = dump_until(replay, event->time);

	if (!number || number > replay->sites)
		return -MT_E_CORRUPT;
	perfetto_moved(perfetto, number, TAPE_IS_SLACK(event->cell), event->bytes, event->time);
	perfetto->site[number].now.count += (uint64_t)(int64_t)event->count;
	replay->held[perfetto->pair[perfetto->site[number].pair - 1].device] += (uint64_t)event->bytes;
	if (event->more || error)
		return error;
	perfetto_change_end(perfetto);
	return dump_here(replay, event->time);
}

static int take_span(void *context, struct db_stmt *row)
{
	struct replay *replay = context;

	if (!is_known(replay, db_int(row, 0), 1))
		return -MT_E_CORRUPT;
	perfetto_span(replay->perfetto, (uint32_t)db_int(row, 0) - 1, phase_of(db_text(row, 1)), db_int(row, 2),
		      db_int(row, 3));
	return replay->perfetto->error;
}

static int take_step(void *context, struct db_stmt *row)
{
	struct replay *replay = context;

	if (!is_known(replay, db_int(row, 0), 1))
		return -MT_E_CORRUPT;
	perfetto_step(replay->perfetto, (uint32_t)db_int(row, 0) - 1, (uint32_t)db_int(row, 1), db_int(row, 2),
		      db_int(row, 3));
	return replay->perfetto->error;
}

static int take_gpu(void *context, struct db_stmt *row)
{
	struct replay *replay = context;

	if (!is_known(replay, db_int(row, 0), db_int(row, 1)))
		return -MT_E_CORRUPT;
	perfetto_gpu(replay->perfetto, (uint32_t)db_int(row, 0) - 1, (uint32_t)db_int(row, 1) - 1, db_int(row, 2),
		     (uint64_t)db_int(row, 3), (uint64_t)db_int(row, 4));
	return replay->perfetto->error;
}

static int take_host(void *context, struct db_stmt *row)
{
	struct replay *replay = context;

	if (!is_known(replay, db_int(row, 0), 1))
		return -MT_E_CORRUPT;
	perfetto_host(replay->perfetto, (uint32_t)db_int(row, 0) - 1, db_int(row, 1), (uint64_t)db_int(row, 2),
		      (uint64_t)db_int(row, 3), (uint64_t)db_int(row, 4));
	return replay->perfetto->error;
}

static int replay_all(struct replay *replay, struct db *db)
{
	static const struct {
		const char *sql;
		int (*row)(void *context, struct db_stmt *row);
	} question[] = {
		{ "SELECT process, phase, first_time, last_time FROM phase_span ORDER BY id", take_span },
		{ "SELECT process, step, begin_time, end_time FROM step ORDER BY rowid", take_step },
		{ "SELECT process, device, time, used_bytes, process_bytes FROM gpu_sample ORDER BY rowid", take_gpu },
		{ "SELECT process, time, rss_bytes, pinned_bytes, cgroup_bytes FROM host_sample ORDER BY rowid",
		  take_host },
	};
	size_t i;
	int error = db_rows(db, "SELECT count(*) FROM device", NULL, take_devices, replay);

	if (!error)
		error = db_rows(db,
				"SELECT id, process, device, phase, memory, tensors_inside, node FROM site ORDER BY id",
				NULL, take_site, replay);
	if (!error)
		error = tape_rows(db, take_move, replay);
	for (i = 0; i < MT_ARRAY_SIZE(question) && !error; i++)
		error = db_rows(db, question[i].sql, NULL, question[i].row, replay);
	return error ? error : dump_until(replay, INT64_MAX);
}

int perfetto_feed_database(struct perfetto *perfetto, struct db *db)
{
	struct replay replay = { .perfetto = perfetto };
	int error = db_rows(db,
			    "SELECT count(*), min(first_time), max(last_time), sum(events), "
			    "(SELECT origin FROM process WHERE id = 1) FROM process",
			    NULL, take_size, perfetto);

	if (!error)
		error = db_prepare(
			db, &replay.peak,
			"SELECT process, device, step, peak_bytes, peak_time FROM step_device ORDER BY peak_time");
	if (!error)
		replay.more = db_step(replay.peak);
	if (!error && replay.more < 0)
		error = replay.more;
	if (!error)
		error = replay_all(&replay, db);
	perfetto_finish(perfetto);
	db_finish(replay.peak);
	free(replay.held);
	return error ? error : perfetto->error;
}
