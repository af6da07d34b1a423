#include "load_sink.h"

#include <stdlib.h>
#include "memtrace/error.h"
#include "store.h"

int load_timeline_init(struct load_timeline *timeline, struct analysis *analysis)
{
	int error = model_init(&timeline->model);

	timeline->inflow = (struct inflow){ 0 };
	timeline->sink = inflow_sink(&timeline->inflow, &timeline->model, analysis);
	return error;
}

void load_timeline_release(struct load_timeline *timeline)
{
	inflow_release(&timeline->inflow);
	model_release(&timeline->model);
}

static int store_blocks(struct db *db, const struct tape *tape)
{
	unsigned char *bytes = malloc(TAPE_PACKED_MAX);
	const struct tape_event *event;
	struct db_stmt *stmt = NULL;
	uint64_t i, events = tape_count(tape);
	uint32_t run;
	int error = bytes ? db_prepare(db, &stmt, "INSERT INTO timeline VALUES (?, ?, ?)") : -MT_E_MEMORY;

	for (i = 0; i < events && !error; i += run) {
		event = tape_at(tape, i, &run);
		run = events - i < run ? (uint32_t)(events - i) : run;
		db_bind(stmt, 1, (int64_t)(i / TAPE_BLOCK));
		db_bind(stmt, 2, run);
		db_bind_blob(stmt, 3, bytes, tape_pack(bytes, event, run));
		error = db_run(stmt);
		tape_let_go(tape, (uint32_t)(i / TAPE_BLOCK));
	}
	db_finish(stmt);
	free(bytes);
	return error;
}

static int store_mark(struct db_stmt *stmt, uint32_t device, int64_t oom, uint64_t changes)
{
	db_bind(stmt, 1, store_device_id(device));
	store_bind_id(stmt, 2, oom);
	db_bind_unsigned(stmt, 3, changes);
	return db_run(stmt);
}

static int store_marks(struct db *db, const struct model *model)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error = db_prepare(db, &stmt, "INSERT INTO timeline_mark VALUES (?, ?, ?)");

	for (i = 0; i < model->devices && !error; i++)
		error = store_mark(stmt, i, 0, model->device[i].peak_changes);
	for (i = 0; i < model->ooms && !error; i++)
		error = store_mark(stmt, model->oom[i].device, i + 1, model->oom[i].changes);
	db_finish(stmt);
	return error;
}

static int store_course_mark(struct db *db, const struct course_moves *course, uint32_t device)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, "INSERT INTO timeline_mark VALUES (?, ?, ?)");

	if (!error && course->oom)
		error = store_mark(stmt, device, course->oom, course->changes);
	db_finish(stmt);
	return error;
}

int load_timeline_course(const struct course_moves *course, const struct analysis *analysis, uint32_t device,
			 struct db *db)
{
	struct tape *tape;
	int error = inflow_tape(&tape, analysis, course);

	if (!error)
		error = store_blocks(db, tape);
	if (!error)
		error = store_course_mark(db, course, device);
	tape_free(tape);
	return error;
}

int load_timeline_store(struct load_timeline *timeline, struct db *db)
{
	int error = inflow_publish(&timeline->inflow, 1);

	if (!error)
		error = store_blocks(db, timeline->model.tape);
	return error ? error : store_marks(db, &timeline->model);
}
