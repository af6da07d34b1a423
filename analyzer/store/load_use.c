/* The table temp.phase_use: the figures of phases that a pass has found (rows/phase_use.h). */
#include <stdlib.h>
#include "load_sink.h"
#include "store.h"

static int store_row(struct db_stmt *stmt, const struct phase_use_row *row)
{
	db_bind(stmt, 1, store_device_id(row->device));
	db_bind_text(stmt, 2, mt_phase_name(row->phase));
	db_bind_unsigned(stmt, 3, row->bytes);
	db_bind_unsigned(stmt, 4, row->count);
	db_bind_unsigned(stmt, 5, row->left);
	db_bind(stmt, 6, row->grew != 0);
	return db_run(stmt);
}

int load_use_store(const struct phase_use_list *use, struct db *db)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error;

	if (!use->rows)
		return 0;
	error = db_execute(db, "CREATE TEMP TABLE phase_use (device INTEGER, phase TEXT, bytes INTEGER, count INTEGER, "
			       "left_bytes INTEGER, grew INTEGER)");
	if (!error)
		error = db_prepare(db, &stmt, "INSERT INTO temp.phase_use VALUES (?, ?, ?, ?, ?, ?)");
	if (error)
		return error;
	for (i = 0; i < use->rows && !error; i++)
		error = store_row(stmt, &use->row[i]);
	db_finish(stmt);
	return error;
}
