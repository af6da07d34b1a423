#include "retained_lives.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/finding.h"

/* ---- sites ---- */

static int take_site(void *context, struct db_stmt *row)
{
	struct retained_lives *lives = context;

	if (MT_ARRAY_ROOM(lives->site, lives->sites, lives->room))
		return -MT_E_MEMORY;
	lives->site[lives->sites++] = (struct retained_site){ .id = db_int(row, 0),
							      .node = db_int(row, 1),
							      .first_node = db_int(row, 2),
							      .phase = (uint8_t)finding_phase(db_text(row, 3)),
							      .category = (uint8_t)mt_category_parse(db_text(row, 4)),
							      .kind = (uint32_t)db_int(row, 5) };
	return 0;
}

static int by_id(const void *a, const void *b)
{
	return MT_ORDER(((const struct retained_site *)a)->id, ((const struct retained_site *)b)->id);
}

/* Sites have the numbers 1, 2, ... in a database that is not damaged. */
static const struct retained_site *find_site(const struct retained_lives *lives, int64_t id)
{
	const struct retained_site key = { .id = id };

	if (id >= 1 && (uint64_t)id <= lives->sites && lives->site[id - 1].id == id)
		return &lives->site[id - 1];
	return lives->sites ? bsearch(&key, lives->site, lives->sites, sizeof(key), by_id) : NULL;
}

/* ---- owners ---- */

static int take_owner(void *context, const struct db_stmt *row)
{
	struct retained_owner *owner = context;

	owner->pid = db_int(row, 0);
	owner->rank = db_type(row, 1) == DB_NULL ? -1 : db_int(row, 1);
	owner->over_time = db_type(row, 2) == DB_NULL ? RETAINED_NEVER : db_int(row, 2);
	owner->over_seq = db_int(row, 3);
	owner->number = db_int(row, 4);
	owner->device_kind = strcmp(db_text(row, 5), "cpu") ? "cuda" : "cpu";
	owner->threshold = (uint64_t)db_int(row, 6);
	owner->first_step = db_int(row, 7);
	owner->last_step = db_type(row, 8) == DB_NULL ? RETAINED_NEVER : db_int(row, 8);
	return 0;
}

static int find_owner(struct retained_lives *lives)
{
	struct retained_owner *owner = &lives->owner;
	struct db_stmt *stmt;
	int error = 0,
	    found = db_first(lives->db, &stmt,
			     "SELECT pid, rank, over_time, over_seq, number, kind, "
			     "max(4096, ifnull((SELECT bytes / 100000 FROM peak WHERE peak.device = device.id), 0)), "
			     "(SELECT min(step) FROM step WHERE step.process = process.id), "
			     "(SELECT max(step) FROM step WHERE step.process = process.id) "
			     "FROM process JOIN device ON device.id = ?2 WHERE process.id = ?1",
			     DB_NUMBERS(owner->process, owner->device));

	if (found > 0)
		error = take_owner(owner, stmt);
	db_finish(stmt);
	return found > 0 ? error : found ? found : -MT_E_CORRUPT;
}

int retained_lives_owner(struct retained_lives *lives)
{
	int error;

	if (!lives->stmt)
		return 0;
	lives->owner = (struct retained_owner){ .device = db_int(lives->stmt, 0), .process = db_int(lives->stmt, 1) };
	error = find_owner(lives);
	return error ? error : 1;
}

/* ---- lives ---- */

#define LIVES                                                                                                       \
	"SELECT device, process, site, bytes, asleep_bytes, allocations, step, free_step, since_step, until_step, " \
	"alloc_seq, free_seq, since_seq, until_seq, since_time, until_time FROM in_use_span"

/* Goes on to the next row. After the last one lives->stmt is NULL. 0 or an error. */
static int step(struct retained_lives *lives)
{
	int more = db_step(lives->stmt);

	if (more > 0)
		return 0;
	db_finish(lives->stmt);
	lives->stmt = NULL;
	return more;
}

int retained_lives_open(struct retained_lives *lives, struct db *db)
{
	int64_t several = 0;
	int error;

	*lives = (struct retained_lives){ .db = db };
	error = db_rows(
		db,
		"SELECT id, ifnull(node, 0), ifnull(first_node, 0), phase, category, dense_rank() OVER (ORDER BY "
		"device, process, ifnull(first_node, 0), phase, category) FROM site LEFT JOIN temp.same_place USING (node) ORDER BY id",
		NULL, take_site, lives);
	if (!error) /* the lives of one owner need no order, and no index on them */
		error = db_number(db, "SELECT count(*) > 1 FROM (SELECT DISTINCT device, process FROM site)", NULL,
				  &several);
	if (!error)
		error = db_prepare(db, &lives->stmt, several ? LIVES " ORDER BY device, process" : LIVES);
	return error ? error : step(lives);
}

void retained_lives_release(struct retained_lives *lives)
{
	db_finish(lives->stmt);
	free(lives->site);
	memset(lives, 0, sizeof(*lives));
}

/* The value of a column; RETAINED_NEVER for null. */
static int64_t end_of(const struct db_stmt *row, int column)
{
	return db_type(row, column) == DB_NULL ? RETAINED_NEVER : db_int(row, column);
}

int retained_lives_next(struct retained_lives *lives, struct retained_life *life)
{
	const struct db_stmt *row = lives->stmt;
	int error;

	if (!row || db_int(row, 0) != lives->owner.device || db_int(row, 1) != lives->owner.process)
		return 0;
	*life = (struct retained_life){ .site = find_site(lives, db_int(row, 2)),
					.bytes = db_int(row, 3),
					.asleep = db_int(row, 4),
					.count = db_int(row, 5),
					.step = db_int(row, 6),
					.free_step = end_of(row, 7),
					.since_step = db_int(row, 8),
					.until_step = end_of(row, 9),
					.alloc_seq = db_int(row, 10),
					.free_seq = end_of(row, 11),
					.since_seq = db_int(row, 12),
					.until_seq = end_of(row, 13),
					.since_time = db_int(row, 14),
					.until_time = end_of(row, 15) };
	error = life->site ? step(lives) : -MT_E_CORRUPT;
	return error ? error : 1;
}
