#include "feed.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/failed/failures.h"
#include "store/store.h"

/* ---- the tape ----------------------------------------------------------------------------------------------------- */

struct reading {
	struct model *model;
	uint64_t *held;  /* by site, and */
	uint32_t *moved; /* sites of the change that is being read */
	uint32_t moves, room;
	int64_t time;
};

/* Raises the most that sites have held, at the end of a change, as inflow does. */
static int note_most(struct reading *reading, const struct tape_event *event)
{
	uint32_t site = TAPE_SITE(event->cell), i;
	struct model_site *into = reading->model->site;

	if (MT_ARRAY_ROOM(reading->moved, reading->moves, reading->room))
		return -MT_E_MEMORY;
	reading->held[site] += (uint64_t)event->bytes;
	reading->moved[reading->moves++] = site;
	for (i = 0; i < reading->moves && !event->more; i++)
		if (reading->held[reading->moved[i]] > into[reading->moved[i]].most)
			into[reading->moved[i]].most = reading->held[reading->moved[i]];
	reading->moves = event->more ? reading->moves : 0;
	return 0;
}

static int take_event(void *context, const struct tape_event *event)
{
	struct reading *reading = context;
	struct tape *tape = reading->model->tape;
	uint32_t site = TAPE_SITE(event->cell);
	int error;

	if (!site || site >= reading->model->sites || (tape_count(tape) && event->time < reading->time))
		return -MT_E_CORRUPT;
	reading->time = event->time;
	error = note_most(reading, event);
	return error ? error : tape_add_event(tape, event);
}

static int read_tape(struct model *model, struct db *db)
{
	struct reading reading = { .model = model, .held = calloc((size_t)model->sites + 1, sizeof(*reading.held)) };
	int error = reading.held ? tape_rows(db, take_event, &reading) : -MT_E_MEMORY;

	model->events = tape_settle(model->tape);
	free(reading.held);
	free(reading.moved);
	return error;
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

static const char *word(struct model *model, const struct db_stmt *row, int column, int *error)
{
	const char *text = model_text(model, db_text(row, column));

	*error |= text ? 0 : -MT_E_MEMORY;
	return text;
}

static uint8_t phase_of(const struct db_stmt *row, int column)
{
	int phase = mt_phase_parse(db_text(row, column), strlen(db_text(row, column)));

	return phase < 0 ? MT_PHASE_OTHER : (uint8_t)phase;
}

static int take_process(void *context, struct db_stmt *row)
{
	struct model *model = context;
	int error = db_int(row, 0) == store_process_id(model->processes) ? 0 : -MT_E_CORRUPT;
	struct model_process process = { .pid = db_int(row, 1),
					 .file = word(model, row, 3, &error),
					 .rank = db_type(row, 2) == DB_NULL ? -1 : db_int(row, 2) };

	if (!model->processes || db_int(row, 4) < model->first_time)
		model->first_time = db_int(row, 4);
	if (!model->processes || db_int(row, 5) > model->last_time)
		model->last_time = db_int(row, 5);
	model->lost += (uint64_t)db_int(row, 6);
	return error ? error : model_add_process(model, &process);
}

static int take_device(void *context, struct db_stmt *row)
{
	struct model *model = context;
	struct model_device device = { .kind = strcmp(db_text(row, 1), "cpu") ? MT_DEVICE_CUDA : MT_DEVICE_CPU,
				       .number = (uint32_t)db_int(row, 2),
				       .total = (uint64_t)db_int(row, 4),
				       .peak = (uint64_t)db_int(row, 5),
				       .peak_time = db_int(row, 6),
				       .peak_changes = (uint64_t)db_int(row, 7) };

	mt_copy_text(device.name, sizeof(device.name), db_text(row, 3));
	return db_int(row, 0) == store_device_id(model->devices) ? model_add_device(model, &device) : -MT_E_CORRUPT;
}

static int take_site(void *context, struct db_stmt *row)
{
	struct model *model = context;
	int64_t process = db_int(row, 1) - 1, device = db_int(row, 2) - 1;
	int error = 0;
	struct model_site site = { .process = (uint32_t)process,
				   .device = (uint32_t)device,
				   .stack = (uint32_t)db_int(row, 3),
				   .driver = !strcmp(db_text(row, 4), "driver"),
				   .phase = phase_of(row, 5),
				   .category = (uint8_t)mt_category_parse(db_text(row, 6)),
				   .owner = model_owner(model, db_text(row, 7)),
				   .all_slack = db_int(row, 8) != 0,
				   .function = word(model, row, 9, &error),
				   .place = word(model, row, 10, &error) };

	if (process < 0 || process >= model->processes || device < 0 || device >= model->devices ||
	    db_int(row, 0) != (model->sites ? model->sites : 1))
		return -MT_E_CORRUPT;
	if (error || site.owner == UINT32_MAX)
		return -MT_E_MEMORY;
	return model_add_site(model, (uint32_t)db_int(row, 0), &site);
}

static int take_span(void *context, struct db_stmt *row)
{
	struct model *model = context;

	return model_add_span(model, &(struct model_span){ .process = (uint32_t)(db_int(row, 0) - 1),
							   .phase = phase_of(row, 1),
							   .step = (uint32_t)db_int(row, 2),
							   .first = db_int(row, 3),
							   .last = db_int(row, 4) });
}

static int take_step(void *context, struct db_stmt *row)
{
	struct model *model = context;

	return model_add_step(model, &(struct model_step){ .process = (uint32_t)(db_int(row, 0) - 1),
							   .number = (uint32_t)db_int(row, 1),
							   .time = db_int(row, 2) });
}

static int read_ooms(struct model *model, struct db *db)
{
	struct oom_failures all;
	const struct oom_failure *it;
	struct model_oom oom;
	size_t i;
	int error = oom_failures_load(&all, db);

	for (i = 0; i < all.count && !error; i++) {
		it = &all.failure[i];
		if (it->is_part)
			continue;
		oom = (struct model_oom){ .time = it->time,
					  .requested = it->requested,
					  .device = (uint32_t)(it->device - 1),
					  .process = (uint32_t)(it->process - 1),
					  .had = (uint8_t)it->had,
					  .phase = (uint8_t)mt_phase_parse(it->phase, strlen(it->phase)) };
		oom.phase = oom.phase < MT_PHASE_COUNT ? oom.phase : MT_PHASE_OTHER;
		error = db_number(db, "SELECT changes FROM timeline_mark WHERE oom = ?1", DB_NUMBERS(it->id),
				  (int64_t *)&oom.changes);
		if (!error)
			error = model_add_oom(model, &oom);
	}
	oom_failures_release(&all);
	return error;
}

int feed_database(struct model *model, struct db *db)
{
	static const struct {
		const char *sql;
		int (*row)(void *context, struct db_stmt *row);
	} question[] = {
		{ "SELECT id, pid, rank, file, first_time, last_time, lost FROM process ORDER BY id", take_process },
		{ "SELECT id, kind, number, name, total_bytes, bytes, time, changes FROM device "
		  "LEFT JOIN peak ON peak.device = id LEFT JOIN timeline_mark AS mark ON mark.device = id AND mark.oom IS NULL "
		  "ORDER BY id",
		  take_device },
		{ "SELECT id, process, device, ifnull(site.node, 0) & 4294967295, memory, phase, category, owner, tensors_inside, "
		  "function, place FROM site LEFT JOIN place ON place.node = site.node ORDER BY id",
		  take_site },
		{ "SELECT process, phase, step, first_time, last_time FROM phase_span ORDER BY id", take_span },
		{ "SELECT process, step, end_time FROM step ORDER BY rowid", take_step },
	};
	size_t i;
	int error = 0;

	model_lock(model);
	for (i = 0; i < MT_ARRAY_SIZE(question) && !error; i++)
		error = db_rows(db, question[i].sql, NULL, question[i].row, model);
	if (!error)
		error = read_ooms(model, db);
	if (!error)
		error = read_tape(model, db);
	model_unlock(model);
	return error;
}
