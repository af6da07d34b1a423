#include "load_sink.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "store.h"

/* ---- rows ---- */

static void find_moment(struct load_spans *spans)
{
	const struct analysis *analysis = spans->analysis;
	const struct kept_moment *moment = spans->moment;
	uint32_t i;

	spans->time = analysis->device[moment->device].peak.time;
	spans->step = analysis->device[moment->device].peak.step;
	for (i = 0; i < analysis->ooms; i++) {
		if (analysis->oom[i].process != moment->process || analysis->oom[i].seq != moment->seq)
			continue;
		spans->time = analysis->oom[i].time;
		spans->step = analysis->oom[i].step;
	}
}

static int begin_spans(struct load_spans *spans)
{
	const struct analysis *analysis = spans->analysis;
	uint32_t i, user;

	spans->sum = calloc((size_t)analysis->processes * MT_PHASE_COUNT, sizeof(*spans->sum));
	spans->whole = calloc(analysis->processes, 1);
	if (!spans->sum || !spans->whole)
		return -MT_E_MEMORY;
	for (i = 0; i < analysis->devices; i++)
		for (user = 0; user < analysis->device[i].users; user++)
			spans->whole[analysis->device[i].user[user]] |= analysis->device[i].users > 1;
	if (!spans->moment)
		return 0;
	spans->whole[spans->moment->process] = 1;
	find_moment(spans);
	return 0;
}

static int write_span(struct load_sink *load, const struct load_phase_span *row)
{
	int error;
	void *own = load_rows_new(&load->rows, LOAD_phase_span, &error);

	if (own)
		memcpy(own, row, sizeof(*row));
	return error;
}

/* Writes the process's newest span before the moment: the span has its phase and step at the moment. */
static int end_process(struct load_sink *load)
{
	struct load_spans *spans = &load->spans;
	int error = spans->newest.process ? write_span(load, &spans->newest) : 0;

	spans->newest.process = 0;
	spans->forward = -1;
	spans->phases = 0;
	spans->has_step = 0;
	return error;
}

static int is_before(const struct load_spans *spans, const struct load_phase_span *row)
{
	int64_t process = store_process_id(spans->moment->process);

	return row->first_time != spans->time ? row->first_time < spans->time : row->process < process;
}

/* Keeps few spans of a process: the first one of each phase, the first one in the step of the moment, and the newest one before the moment. */
static int thin_span(struct load_sink *load, const struct load_phase_span *row, int phase)
{
	struct load_spans *spans = &load->spans;
	int is_first = !(spans->phases >> phase & 1) || (spans->moment && row->step == spans->step && !spans->has_step);

	_Static_assert(MT_PHASE_COUNT <= 32, "a phase is a bit");
	spans->phases |= 1u << phase;
	spans->has_step |= row->step == spans->step;
	if (spans->moment && is_before(spans, row)) {
		spans->newest = *row;
		spans->newest.process = is_first ? 0 : row->process;
	}
	return is_first ? write_span(load, row) : 0;
}

static int add_batch(struct load_spans *spans, const struct load_phase_span *row)
{
	if (MT_ARRAY_ROOM(spans->batch, spans->batches, spans->batch_room))
		return -MT_E_MEMORY;
	spans->batch[spans->batches++] = (struct load_batch){ (uint32_t)row->process, (uint32_t)row->step,
							      (uint64_t)row->first_seq };
	return 0;
}

static int note_batch(struct load_spans *spans, const struct load_phase_span *row, int phase)
{
	int begins = phase == MT_PHASE_FORWARD && spans->forward != row->step;

	if (phase == MT_PHASE_FORWARD || phase == MT_PHASE_BACKWARD)
		spans->forward = phase == MT_PHASE_FORWARD ? row->step : -1;
	return begins ? add_batch(spans, row) : 0;
}

static void add_to_sum(struct load_spans *spans, const struct load_phase_span *row, int phase)
{
	struct load_span_sum *sum = &spans->sum[(row->process - 1) * MT_PHASE_COUNT + phase];

	sum->runs++;
	sum->time = (int64_t)((uint64_t)sum->time + (uint64_t)row->last_time - (uint64_t)row->first_time);
}

/* Takes the newest span. Its process is one of the run. Spans of one process come in the order of their events. */
static int add_span(struct load_sink *load)
{
	struct load_spans *spans = &load->spans;
	const struct load_phase_span *row = &spans->row;
	int phase, error = spans->has_row && !spans->sum ? begin_spans(spans) : 0;

	if (error || !spans->has_row)
		return error;
	spans->has_row = 0;
	phase = mt_phase_parse(row->phase, strlen(row->phase));
	phase = phase < 0 ? MT_PHASE_OTHER : phase;
	if (row->process != spans->process)
		error = end_process(load);
	spans->process = row->process;
	if (!error && spans->parts == LOAD_BATCHES)
		error = note_batch(spans, row, phase);
	if (error)
		return error;
	if (spans->parts < LOAD_BATCHES || spans->parts == LOAD_PHASES)
		add_to_sum(spans, row, phase);
	if (spans->whole[row->process - 1])
		return write_span(load, row);
	return spans->moment || spans->parts == LOAD_BATCHES ? thin_span(load, row, phase) : 0;
}

static void *new_row(void *context, enum load_table table, int *error)
{
	struct load_sink *load = context;

	if (table != LOAD_phase_span || !load->spans.analysis)
		return load_rows_new(&load->rows, table, error);
	*error = add_span(load);
	load->spans.has_row = !*error;
	return *error ? NULL : &load->spans.row;
}

static int store_sums(const struct load_spans *spans, struct db *db)
{
	struct db_stmt *stmt = NULL;
	size_t i, count = spans->sum ? (size_t)spans->analysis->processes * MT_PHASE_COUNT : 0;
	int error = db_execute(db,
			       "CREATE TEMP TABLE phase_run (process INTEGER, phase TEXT, runs INTEGER, time INTEGER)");

	if (!error)
		error = db_prepare(db, &stmt, "INSERT INTO temp.phase_run VALUES (?, ?, ?, ?)");
	for (i = 0; i < count && !error; i++) {
		if (!spans->sum[i].runs)
			continue;
		db_bind(stmt, 1, store_process_id((uint32_t)(i / MT_PHASE_COUNT)));
		db_bind_text(stmt, 2, mt_phase_name((uint32_t)(i % MT_PHASE_COUNT)));
		db_bind(stmt, 3, spans->sum[i].runs);
		db_bind(stmt, 4, spans->sum[i].time);
		error = db_run(stmt);
	}
	db_finish(stmt);
	return error;
}

#define BATCH_LOT 1024

static int store_batches(const struct load_spans *spans, struct db *db)
{
	static const struct db_column column[] = { { "process", DB_INTEGER, 0 },
						   { "step", DB_INTEGER, 0 },
						   { "first_seq", DB_INTEGER, 0 } };
	const struct load_batch *batch = spans->batch, *end = batch + spans->batches;
	int64_t cell[BATCH_LOT][MT_ARRAY_SIZE(column)];
	struct db_feed *feed = NULL;
	size_t count;
	int error = db_execute(db, "CREATE TEMP TABLE batch_begin " LOAD_BATCH_BEGIN);

	if (!error)
		error = db_feed_new(&feed, db, "batch_begin", column, (int)MT_ARRAY_SIZE(column));
	while (!error && batch < end) {
		for (count = 0; count < BATCH_LOT && batch < end; count++, batch++) {
			cell[count][0] = batch->process;
			cell[count][1] = batch->step;
			cell[count][2] = (int64_t)batch->seq;
		}
		error = db_feed_run(feed, cell, count);
	}
	db_feed_free(feed);
	return error;
}

int load_spans_store(const struct load_spans *spans, struct db *db)
{
	if (!spans->analysis || spans->moment)
		return 0;
	return spans->parts == LOAD_BATCHES ? store_batches(spans, db) : store_sums(spans, db);
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

/* Groups of processes turned out to share a device: the rows are made anew. */
static int begin_anew(void *context)
{
	static const char *const empty[] = {
#define EMPTY(table) "DELETE FROM " #table,
		LOAD_TABLES(EMPTY)
#undef EMPTY
	};
	struct load_sink *load = context;
	int error = load_rows_drain(&load->rows);
	size_t i;

	row_sink_anew(&load->sink);
	for (i = 0; i < MT_ARRAY_SIZE(empty) && !error; i++)
		error = db_execute(load->resident.db, empty[i]);
	return error || !load->resident.change ? error : db_execute(load->resident.db, "DELETE FROM temp.residence");
}

/* ---- all rows ---- */

static void tell_move(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	const struct analysis_sink *timeline = &((struct load_sink *)context)->timeline.sink;

	timeline->moved(timeline->context, site, slack, bytes, time);
}

/* Advice asks for bytes in use alone. */
static void tell_use(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	if (!slack)
		tell_move(context, site, slack, bytes, time);
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

static void tell_both(void *context, uint32_t device, int oom)
{
	kept_reached(((struct load_sink *)context)->kept, device, oom);
	tell_reached(context, device, oom);
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
	if (sink->moved)
		sink->reached = tell_both;
	return 0;
}

int load_sink_find(struct load_sink *load, int for_advice)
{
	int error = load->kept ? kept_find(load->kept, &load->moment) : 0;
	int found = load->moment.there && (load->moment.advice || !for_advice);

	return error || !load->kept || found ? error : -MT_E_BUSY;
}

static int tell_timeline(struct load_sink *load, struct analysis_sink *sink, struct analysis *analysis,
			 enum load_parts parts)
{
	sink->moved = parts == LOAD_ADVICE ? tell_use : tell_move;
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
	load->sink.steps_alone = parts == LOAD_ENDS || parts == LOAD_STEPS;
	load->sink.sums.seen_alone = parts < LOAD_SUMS;
	sink->anew = load_has_sums(parts) ? begin_anew : NULL;
	sink->quiet = watch && watch->quiet;
	sink->batch = tell_batch;
	load->watch = watch;
	load->resident.db = db;
	if (parts == LOAD_HISTORY)
		leave_out_lives(sink);
	if (parts == LOAD_TIMELINE || parts == LOAD_ADVICE)
		error = tell_timeline(load, sink, analysis, parts);
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
	if (!error)
		error = add_span(load);
	if (!error)
		error = end_process(load);
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
	load_lives_free(load->lives);
	free(load->course.move);
	free(load->use.row);
	free(load->spans.sum);
	free(load->spans.whole);
	free(load->spans.batch);
}
