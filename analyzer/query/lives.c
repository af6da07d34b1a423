#include "lives.h"

#include <string.h>
#include "memtrace/base.h"
#include "rows/load_table.h"

struct telling {
	int (*take)(void *context, const struct life *life);
	void *context;
};

/* ---- from SQLite ---- */

/* Memory that does not count as in use. X(memory, what follows its name in SQL) */
#define APART_LIST(X) X(pinned, ", ") X(host, ", ") X(imported, ", ") X(multicast, "")
#define APART_SQL(memory, next) "'" #memory "'" next
#define APART_NAME(memory, next) #memory,

#define LIVES(slept)                                                                                                    \
	"SELECT site, bytes, asleep_bytes, since_time, since_seq, until_time, until_seq, alloc_seq, alloc_time, step, " \
	"memory = 'tensor' OR memory NOT IN (" APART_LIST(APART_SQL) "), free_step, " slept " FROM allocation_span"

static int tell_row(void *context, struct db_stmt *row)
{
	const struct telling *telling = context;

	return telling->take(telling->context,
			     &(struct life){ .site = db_int(row, 0),
					     .bytes = (uint64_t)db_int(row, 1),
					     .asleep = (uint64_t)db_int(row, 2),
					     .since_time = db_int(row, 3),
					     .since_seq = db_int(row, 4),
					     .until_time = db_int(row, 5),
					     .until_seq = db_int(row, 6),
					     .ends = db_type(row, 6) != DB_NULL,
					     .seq = db_int(row, 7),
					     .time = db_int(row, 8),
					     .step = db_int(row, 9),
					     .counts = db_int(row, 10) != 0,
					     .free_step = db_type(row, 11) == DB_NULL ? -1 : db_int(row, 11),
					     .slept = db_int(row, 12) != 0 });
}

/* ---- from lots ---- */

static int is_counted(const char *memory)
{
	static const char *const others[] = { APART_LIST(APART_NAME) };
	size_t i = 0;

	while (i < MT_ARRAY_SIZE(others) && strcmp(memory, others[i]) != 0)
		i++;
	return i == MT_ARRAY_SIZE(others);
}

static int tell_lot(void *context, const void *rows, size_t count)
{
	const struct telling *telling = context;
	const struct load_allocation_raw *row = rows, *end = row + count;
	int error = 0, ends;

	for (; row < end && !error; row++) {
		ends = row->free_seq != DB_CELL_NULL;
		error = telling->take(telling->context, &(struct life){ .site = row->site,
									.bytes = (uint64_t)row->bytes,
									.since_time = row->alloc_time,
									.since_seq = row->alloc_seq,
									.until_time = ends ? row->free_time : 0,
									.until_seq = ends ? row->free_seq : 0,
									.ends = ends,
									.seq = row->alloc_seq,
									.time = row->alloc_time,
									.step = row->step,
									.counts = is_counted(row->memory),
									.free_step = ends ? row->free_step : -1 });
	}
	return error;
}

int lives_each(struct db *db, int kept, int (*take)(void *context, const struct life *life), void *context)
{
	static const char all[] = LIVES("0"),
			  marked[] = LIVES("EXISTS (SELECT 1 FROM resident_span WHERE allocation = allocation_span.id)");
	struct telling telling = { take, context };
	int64_t slept = 0;
	int told = db_number(db, "SELECT EXISTS (SELECT 1 FROM resident_span)", NULL, &slept);

	if (!told && !slept)
		told = db_lots_each(db, tell_lot, &telling);
	if (told)
		return told > 0 ? 0 : told;
	return db_rows(db, kept && slept ? marked : all, NULL, tell_row, &telling);
}
