/*
 * html_read.c - reads the data of the page from a database, or loads traces into one. For a long run, one pass keeps
 * only the moves.
 */
#include <stdlib.h>
#include <string.h>
#include "html.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/report.h"
#include "store/load.h"
#include "store/store.h"
#include "timeline/tape.h"

#define SITES_MAX (1u << 24) /* largest id of a site in a database: memory grows with it */

/* ---- the table `timeline` ---------------------------------------------------------------------------------------- */

/* A peak or a failed request in the order of all changes: after the first `changes` changes at its time. */
struct mark {
	int64_t time, oom; /* oom: id of the failed request; 0: the peak */
	uint64_t changes;
	uint32_t device;
};

struct reading {
	struct html *html;
	struct mark *mark;
	size_t marks, marks_room, passed;
	uint32_t *device_of; /* by site */
	uint32_t sites;
	uint64_t serial;
	int64_t time;
	uint64_t at_time; /* number of changes at `time` so far */
	int is_part;      /* 1: the next event belongs to the same change */
};

static int take_site(void *context, struct db_stmt *row)
{
	struct reading *reading = context;
	int64_t id = db_int(row, 0), device = db_int(row, 1);

	if (id <= 0 || id >= reading->sites || device <= 0 || device > UINT16_MAX)
		return -MT_E_CORRUPT;
	reading->device_of[id] = (uint32_t)device;
	return 0;
}

static int read_sites(struct reading *reading)
{
	struct db *db = reading->html->db;
	uint64_t most = 0;
	int error = db_number(db, "SELECT max(id) FROM site", NULL, (int64_t *)&most);

	if (error)
		return error;
	if (most > SITES_MAX)
		return -MT_E_LIMIT;
	reading->sites = (uint32_t)most + 1;
	reading->device_of = calloc(reading->sites, sizeof(*reading->device_of));
	if (!reading->device_of)
		return -MT_E_MEMORY;
	return db_rows(db, "SELECT id, device FROM site WHERE id > 0", NULL, take_site, reading);
}

static int take_mark(void *context, struct db_stmt *row)
{
	struct reading *reading = context;

	if (MT_ARRAY_ROOM(reading->mark, reading->marks, reading->marks_room))
		return -MT_E_MEMORY;
	reading->mark[reading->marks++] = (struct mark){ .device = (uint32_t)db_int(row, 0),
							 .oom = db_int(row, 1),
							 .changes = (uint64_t)db_int(row, 2),
							 .time = db_int(row, 3) };
	return 0;
}

/* A peak without a number of changes counts all changes at its time (model_events_at). */
static const char marks_sql[] =
	"SELECT it.device, ifnull(it.oom, 0), iif(it.oom IS NULL AND changes = 0, 9223372036854775807, changes) AS count, "
	"ifnull(oom.time, peak.time) AS at FROM timeline_mark AS it LEFT JOIN oom ON oom.id = it.oom "
	"LEFT JOIN peak ON peak.device = it.device WHERE at IS NOT NULL AND it.device BETWEEN 1 AND 65535 "
	"AND (it.oom IS NOT NULL OR peak.bytes > 0) ORDER BY at, count";

/* Tells the marks that come before change number `at_time` at `time`. */
static int pass_marks(struct reading *reading, int64_t time, uint64_t at_time)
{
	struct moves_all *moves = &reading->html->moves;
	const struct mark *mark;
	int error = 0;

	for (; reading->passed < reading->marks && !error; reading->passed++) {
		mark = &reading->mark[reading->passed];
		if (mark->time > time || (mark->time == time && mark->changes >= at_time))
			break;
		error = mark->oom ? moves_oom(moves, mark->device - 1, mark->time, mark->oom)
				  : moves_peak(moves, mark->device - 1, mark->time);
	}
	return error;
}

static int begin_change(struct reading *reading, int64_t time)
{
	reading->at_time = time == reading->time ? reading->at_time + 1 : 1;
	reading->time = time;
	reading->serial++;
	return pass_marks(reading, time, reading->at_time);
}

static int take_event(void *context, const struct tape_event *event)
{
	struct reading *reading = context;
	uint32_t site = TAPE_SITE(event->cell);
	int error = 0;

	if (site >= reading->sites || !reading->device_of[site] || (reading->serial && event->time < reading->time))
		return -MT_E_CORRUPT;
	if (!reading->is_part)
		error = begin_change(reading, event->time);
	reading->is_part = event->more;
	if (error)
		return error;
	return moves_add(&reading->html->moves, reading->device_of[site] - 1, reading->serial, event->time,
			 &(struct moves_move){ event->cell, event->count, event->bytes });
}

static int read_timeline(struct html *html)
{
	struct reading reading = { .html = html };
	int error = read_sites(&reading);

	if (!error)
		error = db_rows(html->db, marks_sql, NULL, take_mark, &reading);
	if (!error)
		error = tape_rows(html->db, take_event, &reading);
	if (!error)
		error = pass_marks(&reading, INT64_MAX, UINT64_MAX);
	free(reading.mark);
	free(reading.device_of);
	return error ? error : moves_finish(&html->moves, NULL, 0);
}

/* ---- one pass over the traces of a long run ---------------------------------------------------------------------- */

struct pass {
	struct html *html;
	const struct analysis *analysis;
	uint64_t serial, event;
	uint32_t process;
	int64_t time, ooms;
	int is_over; /* 1: the newest change is complete */
	int error;   /* first error */
};

static void add(struct pass *pass, uint32_t cell, int64_t bytes, int32_t count, int64_t time)
{
	const struct site_key *key = &pass->analysis->attribution.site[TAPE_SITE(cell)].key;
	uint64_t event = pass->analysis->process[key->process].events;

	/* As on the tape, all moves of one event of one process are one change. */
	if (!pass->serial || pass->is_over || key->process != pass->process || event != pass->event)
		pass->serial++;
	pass->is_over = 0;
	pass->process = key->process;
	pass->event = event;
	if (time > pass->time || pass->serial == 1)
		pass->time = time;
	if (!pass->error)
		pass->error = moves_add(&pass->html->moves, key->device, pass->serial, pass->time,
					&(struct moves_move){ cell, count, bytes });
}

static void moved(void *context, uint32_t site, int slack, int64_t bytes, int64_t time)
{
	add(context, TAPE_CELL(site, slack), bytes, 0, time);
}

static void counted(void *context, uint32_t site, int change, int64_t time)
{
	add(context, TAPE_CELL(site, 0), 0, change, time);
}

static void reached(void *context, uint32_t device, int oom)
{
	struct pass *pass = context;

	if (!pass->error)
		pass->error = oom ? moves_oom(&pass->html->moves, device, pass->time, ++pass->ooms)
				  : moves_peak(&pass->html->moves, device, pass->time);
}

/* Between two batches, every change is complete. */
static int next_batch(void *context, uint32_t process, uint64_t events, uint64_t bytes)
{
	struct pass *pass = context;

	(void)process;
	(void)events;
	(void)bytes;
	pass->is_over = 1;
	return pass->error;
}

/* Divides the moves of sites with a twin, as at the end of a tape (timeline/inflow.c). */
static int split_sites(struct html *html)
{
	const struct analysis *analysis = &html->run->analysis;
	uint32_t sites = analysis->attribution.sites, i, shares = 0;
	struct moves_share *share = calloc((size_t)sites + 1, sizeof(*share));
	const struct category_site *site;
	int error;

	if (!share)
		return -MT_E_MEMORY;
	for (i = 1; i < sites && i < analysis->categories.room; i++) {
		site = &analysis->categories.site[i];
		if (site->twin)
			share[shares++] = (struct moves_share){ .from = TAPE_CELL(i, 0),
								.to = TAPE_CELL(site->twin, 0),
								.bytes = (int64_t)site->share,
								.count = (int64_t)site->share_count };
	}
	error = moves_finish(&html->moves, share, shares);
	free(share);
	return error;
}

static int pass_over(struct html *html)
{
	struct export_run *run = html->run;
	const struct source *source = &run->source;
	struct pass pass = { .html = html, .analysis = &run->analysis };
	const struct load_watch watch = {
		.context = &pass, .batch = next_batch, .moved = moved, .counted = counted, .reached = reached
	};
	int error = load_run_watched(run->db, &run->analysis, source->input, source->inputs, source->rules,
				     LOAD_HISTORY, &watch);

	if (!error)
		error = pass.error;
	return error ? error : split_sites(html);
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

static uint64_t count_events(const struct source *source)
{
	const struct mt_chunk_info *chunk;
	uint64_t events = 0;
	uint32_t i, j, chunks;

	for (i = 0; i < source->inputs; i++) {
		chunk = mt_reader_chunks(source->input[i].reader, &chunks);
		for (j = 0; j < chunks; j++)
			events += chunk[j].kind == MT_CHUNK_EVENTS ? chunk[j].events : 0;
	}
	return events;
}

static int read_traces(struct html *html)
{
	struct export_run *run = html->run;
	const struct source *source = &run->source;
	uint32_t i;
	int error;

	export_run_release(run);
	for (i = 0; i < source->inputs; i++)
		mt_reader_rewind(source->input[i].reader);
	error = report_database(&run->db);
	html->db = run->db;
	html->has_lives = count_events(source) <= html->events_most || run->options->full;
	if (!error && html->has_lives)
		error = load_run(run->db, &run->analysis, source->input, source->inputs, source->rules, LOAD_TIMELINE);
	else if (!error)
		error = pass_over(html);
	if (!error)
		error = load_names(run->db);
	if (!error)
		error = db_commit(run->db);
	run->has_lives = !error && html->has_lives;
	return error || !html->has_lives ? error : read_timeline(html);
}

int html_read(struct html *html)
{
	int error = export_find_range(html->run, &html->range);

	html->moves.range_first = html->range.first;
	html->moves.range_last = html->range.last;
	if (error || !html->run->source.db)
		return error ? error : read_traces(html);
	html->db = html->run->db = html->run->source.db;
	html->has_lives = 1;
	return read_timeline(html);
}
