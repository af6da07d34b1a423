/* The times in which memory of tensors was resident, as rows. */
#include "load_sink.h"

/* One event can take several pieces of a tensor. The bytes after the last piece count. */
static const char create_sql[] =
	"CREATE TEMP TABLE residence (process INTEGER, alloc_seq INTEGER, seq INTEGER, time INTEGER, step INTEGER, "
	"bytes INTEGER, PRIMARY KEY (process, alloc_seq, seq)) WITHOUT ROWID";

/* A tensor begins with all its bytes, unless the change at its birth has another number. */
static const char fill_sql[] =
	"INSERT INTO resident_span WITH tensor AS MATERIALIZED (SELECT * FROM allocation WHERE memory = 'tensor' "
	"AND (process, alloc_seq) IN (SELECT process, alloc_seq FROM temp.residence)), "
	"part AS (SELECT id, seq, time, change.step AS step, change.bytes AS bytes, free_seq, free_time, free_step "
	"FROM tensor JOIN temp.residence AS change USING (process, alloc_seq) "
	"UNION ALL SELECT id, alloc_seq, alloc_time, step, bytes, free_seq, free_time, free_step FROM tensor "
	"WHERE NOT EXISTS (SELECT 1 FROM temp.residence AS change WHERE change.process = tensor.process "
	"AND change.alloc_seq = tensor.alloc_seq AND seq <= tensor.alloc_seq)) "
	"SELECT id, seq, time, step, lead(seq, 1, free_seq) OVER life, lead(time, 1, free_time) OVER life, "
	"lead(step, 1, free_step) OVER life, bytes FROM part WINDOW life AS (PARTITION BY id ORDER BY seq)";

static int begin(struct load_resident *resident)
{
	int error = db_execute(resident->db, create_sql);

	if (!error)
		error = db_prepare(resident->db, &resident->change,
				   "INSERT OR REPLACE INTO temp.residence VALUES (?, ?, ?, ?, ?, ?)");
	return error;
}

int load_resident_add(struct load_resident *resident, const struct row_residence *change)
{
	int error = resident->change ? 0 : begin(resident);

	if (error)
		return error;
	db_bind(resident->change, 1, change->process);
	db_bind(resident->change, 2, change->alloc_seq);
	db_bind(resident->change, 3, change->seq);
	db_bind(resident->change, 4, change->time);
	db_bind(resident->change, 5, change->step);
	db_bind(resident->change, 6, change->bytes);
	return db_run(resident->change);
}

int load_resident_finish(struct load_resident *resident, int fill)
{
	int error = 0, any = resident->change != NULL;

	db_finish(resident->change);
	resident->change = NULL;
	if (any && fill)
		error = db_execute(resident->db, fill_sql);
	if (any && fill && !error)
		error = db_execute(resident->db, "DROP TABLE temp.residence");
	return error;
}
