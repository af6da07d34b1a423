#include "load_sink.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"

/* ---- rows ---- */

static void *new_row(void *context, enum load_table table, int *error)
{
	return load_rows_new(&((struct load_sink *)context)->rows, table, error);
}

/* Removes the row of a death. The row is among the newest rows, or not written yet. */
static int forget(void *context, int64_t process, int64_t alloc_seq)
{
	struct load_sink *load = context;
	int error;

	if (load_rows_forget(&load->rows, process, alloc_seq))
		return 0;
	error = load_rows_drain(&load->rows);
	if (error)
		return error;
	db_bind(load->forget, 1, process);
	db_bind(load->forget, 2, alloc_seq);
	return db_run(load->forget);
}

static int add_residence(void *context, const struct row_residence *change)
{
	struct load_sink *load = context;
	int error = load_rows_drain(&load->rows);

	return error ? error : load_resident_add(&load->resident, change);
}

/* ---- all rows ---- */

static void tell_move(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	const struct analysis_sink *timeline = &((struct load_sink *)context)->timeline.sink;

	timeline->moved(timeline->context, site, slack, bytes, time);
}

static void tell_count(void *context, uint32_t site, int change, int64_t time)
{
	const struct analysis_sink *timeline = &((struct load_sink *)context)->timeline.sink;

	timeline->counted(timeline->context, site, change, time);
}

static void tell_reached(void *context, uint32_t device, int oom)
{
	const struct analysis_sink *timeline = &((struct load_sink *)context)->timeline.sink;

	timeline->reached(timeline->context, device, oom);
}

static int tell_batch(void *context, uint32_t process, uint64_t events, uint64_t bytes)
{
	struct load_sink *load = context;
	const struct load_watch *watch = load->watch;
	const struct analysis_sink *timeline = &load->timeline.sink;
	int error = timeline->batch ? timeline->batch(timeline->context, process, events, bytes) : 0;

	return error || !watch || !watch->batch ? error : watch->batch(watch->context, process, events, bytes);
}

static void hear_move(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	const struct load_watch *watch = ((struct load_sink *)context)->watch;

	watch->moved(watch->context, site, slack, bytes, time);
}

static void hear_count(void *context, uint32_t site, int change, int64_t time)
{
	const struct load_watch *watch = ((struct load_sink *)context)->watch;

	watch->counted(watch->context, site, change, time);
}

static void hear_reached(void *context, uint32_t device, int oom)
{
	const struct load_watch *watch = ((struct load_sink *)context)->watch;

	watch->reached(watch->context, device, oom);
}

/* Gives no allocation a row. The watcher still gets all moves. */
static void leave_out_lives(struct analysis_sink *sink)
{
	sink->gone = NULL;
	sink->back = NULL;
	sink->unmapped = NULL;
	sink->resident = NULL;
	sink->moved = hear_move;
	sink->counted = hear_count;
	sink->reached = hear_reached;
}

int load_sink_keep(struct load_sink *load, struct analysis_sink *sink, const struct analysis *analysis,
		   uint32_t failure)
{
	load->kept = kept_new(analysis, failure);
	if (!load->kept)
		return -MT_E_MEMORY;
	row_sink_keep(&load->sink, sink, load->kept, 1);
	return 0;
}

int load_sink_find(struct load_sink *load)
{
	int error = load->kept ? kept_find(load->kept, &load->moment) : 0;

	return error || !load->kept || load->moment.there ? error : -MT_E_BUSY;
}

static int tell_timeline(struct load_sink *load, struct analysis_sink *sink, struct analysis *analysis)
{
	sink->moved = tell_move;
	sink->counted = tell_count;
	sink->reached = tell_reached;
	return load_timeline_init(&load->timeline, analysis);
}

int load_sink_init(struct load_sink *load, struct analysis_sink *sink, struct db *db, struct analysis *analysis,
		   enum load_parts parts, const struct load_watch *watch)
{
	int error = 0;

	memset(load, 0, sizeof(*load));
	load->maker = (struct row_maker){ load, new_row, forget, add_residence };
	row_sink_init(&load->sink, sink, analysis, &load->maker, load_has_sums(parts));
	load->sink.steps_alone = parts == LOAD_STEPS;
	load->sink.sums.seen_alone = parts < LOAD_SUMS;
	sink->quiet = watch && watch->quiet;
	sink->batch = tell_batch;
	load->watch = watch;
	load->resident.db = db;
	if (parts == LOAD_HISTORY)
		leave_out_lives(sink);
	if (parts == LOAD_TIMELINE)
		error = tell_timeline(load, sink, analysis);
	if (!error)
		error = load_rows_init(&load->rows, db);
	if (!error)
		error = db_prepare(
			db, &load->forget,
			"DELETE FROM allocation_raw WHERE id = (SELECT id FROM allocation_raw WHERE process = ? AND alloc_seq = ? "
			"ORDER BY id DESC LIMIT 1)");
	return error;
}

int load_sink_finish(struct load_sink *load)
{
	int error = load_at_finish(load);

	if (!error)
		error = row_sink_finish(&load->sink);
	return error ? error : load_rows_drain(&load->rows);
}

void load_sink_release(struct load_sink *load)
{
	row_sink_release(&load->sink);
	load_rows_release(&load->rows);
	load_timeline_release(&load->timeline);
	load_resident_finish(&load->resident, 0);
	free(load->at.before);
	db_finish(load->forget);
	kept_free(load->kept);
	kept_moment_release(&load->moment);
	free(load->use.row);
}
