#include "peak_points.h"

#include <string.h>
#include "answer.h"
#include "callers.h"
#include "memtrace/base.h"
#include "memtrace/phase.h"
#include "query/query.h"

#define POINTS_MAX 2
#define STAYS_SHARE 100 /* least share of the device that a sleeper keeps and is worth a word: 1 / STAYS_SHARE */
#define NCCL_SHARE 20   /* share of the peak */
#define FAR 3           /* a GPU with a peak above another's by 1 / FAR */
#define NEAR 2          /* it is told from 1 / NEAR of the GPU on */
#define WORD_COLUMNS 26
#define TABLE_SHOWN 7

struct points {
	struct sentence *sentence;
	struct db *db;
	uint64_t said;
	uint8_t stays; /* enum mt_category */
};

/* ---- a process that sleeps ---- */

static const char asleep_sql[] =
	"SELECT process.pid, ifnull(rank, -1), sum(live.bytes) AS stays, sum(asleep_bytes), "
	"ifnull((SELECT total_bytes FROM device WHERE id = ?1), 0) FROM live_at AS live "
	"JOIN process ON process.id = live.process WHERE moment = 'peak' AND live.device = ?1 AND in_use "
	"GROUP BY live.process HAVING sum(asleep_bytes) > stays AND stays > 0 ORDER BY stays DESC, process.id LIMIT 1";

static const char stays_sql[] =
	"SELECT live.category, sum(live.bytes), sum(sum(live.bytes)) OVER () FROM live_at AS live JOIN process ON process.id = live.process "
	"WHERE moment = 'peak' AND live.device = ?1 AND in_use AND process.pid = ?2 GROUP BY 1 HAVING sum(live.bytes) > 0 "
	"ORDER BY 2 DESC, 1 LIMIT 2";

static int say_what_stays(void *context, struct db_stmt *stmt)
{
	struct points *points = context;
	char size[TEXT_SIZE_MAX];

	if (!points->said)
		points->stays = (uint8_t)mt_category_parse(db_text(stmt, 0));
	sentence_say(points->sentence, points->said++ ? ", " : ": ");
	if ((uint64_t)db_int(stmt, 1) < (uint64_t)db_int(stmt, 2))
		sentence_say(points->sentence, "%s of ", text_bytes(size, (uint64_t)db_int(stmt, 1)));
	sentence_say(points->sentence, "%s", answer_category(db_text(stmt, 0)));
	return 0;
}

static int say_sleeper(void *context, struct db_stmt *stmt)
{
	struct points *points = context;
	uint64_t stays = (uint64_t)db_int(stmt, 2), total = (uint64_t)db_int(stmt, 4);
	char who[TEXT_SIZE_MAX], size[TEXT_SIZE_MAX], asleep[TEXT_SIZE_MAX];

	if (stays < total / STAYS_SHARE)
		return 0;
	sentence_say(points->sentence, " Meanwhile %s sleeps, with %s given back, and keeps %s",
		     answer_process(who, db_int(stmt, 1), db_int(stmt, 0)),
		     text_bytes(asleep, (uint64_t)db_int(stmt, 3)), text_bytes(size, stays));
	points->said = (uint64_t)db_int(stmt, 0);
	return 0;
}

static int find_sleeper(struct points *points, int64_t device)
{
	int64_t parameter[ANSWER_PARAMETERS] = { device };
	uint64_t before = points->said;
	int error;

	points->said = 0;
	error = answer_rows(points->db, asleep_sql, parameter, say_sleeper, points);
	parameter[1] = (int64_t)points->said;
	if (error || !points->said) {
		points->said = before;
		return error;
	}
	points->said = 0;
	error = answer_rows(points->db, stays_sql, parameter, say_what_stays, points);
	sentence_say(points->sentence, ".");
	points->said = before + 1;
	return error;
}

/* ---- weights that are there twice ---- */

static int find_copy(struct points *points, int64_t device)
{
	struct callers callers;
	struct caller_copy copy;
	char size[TEXT_SIZE_MAX], all[TEXT_SIZE_MAX], function[256], place[256], first[256];
	int error = callers_load(&callers, points->db, device, 0);

	if (!error && callers_second_weights(&callers, 0, &copy) && copy.alike) {
		caller_copy_names(&copy, function, place, first);
		sentence_say(points->sentence, " %s of the %s of weights were made by ", text_bytes(size, copy.bytes),
			     text_bytes(all, copy.all));
		answer_say_place(points->sentence, function, place);
		sentence_say(points->sentence,
			     ", as many and as large as those of %s: a second copy, see that something uses it.",
			     first);
		points->said++;
	}
	callers_release(&callers);
	return error;
}

/* ---- another GPU ---- */

static const char others_sql[] =
	"SELECT one.number, one.kind, mine.bytes, other.number, other_peak.bytes, ifnull(one.total_bytes, 0) FROM device AS one "
	"JOIN peak AS mine ON mine.device = one.id JOIN device AS other ON other.kind = one.kind AND other.id <> one.id "
	"JOIN peak AS other_peak ON other_peak.device = other.id WHERE one.id = ?1 AND one.kind <> 'cpu' "
	"ORDER BY other_peak.bytes, other.number LIMIT 1";

static int say_other(void *context, struct db_stmt *stmt)
{
	struct points *points = context;
	uint64_t mine = (uint64_t)db_int(stmt, 2), other = (uint64_t)db_int(stmt, 4), total = (uint64_t)db_int(stmt, 5);
	char size[TEXT_SIZE_MAX], name[TEXT_SIZE_MAX], far[TEXT_SIZE_MAX];

	if (!mine || mine < other || mine - other < mine / FAR || mine < total / NEAR)
		return 0;
	sentence_say(points->sentence, " %s had %s at most, %s less: what they do is not evenly shared (memana steps).",
		     answer_device(name, db_int(stmt, 3), db_text(stmt, 1)), text_bytes(size, other),
		     text_bytes(far, mine - other));
	points->said++;
	return 0;
}

/* ---- NCCL ---- */

static const char nccl_sql[] = "SELECT part.phase, sum(part.bytes), sum(sum(part.bytes)) OVER (), peak.bytes "
			       "FROM peak_part AS part JOIN peak ON peak.device = part.device "
			       "WHERE part.device = ?1 AND part.category = 'nccl' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3";

struct nccl {
	struct points *points;
	int rows;
};

static int say_nccl(void *context, struct db_stmt *stmt)
{
	struct nccl *nccl = context;
	struct sentence *sentence = nccl->points->sentence;
	uint64_t bytes = (uint64_t)db_int(stmt, 1), all = (uint64_t)db_int(stmt, 2);
	char size[TEXT_SIZE_MAX];

	if (all < (uint64_t)db_int(stmt, 3) / NCCL_SHARE)
		return 0;
	if (!nccl->rows++)
		sentence_say(sentence, " %s of it are NCCL's, which takes them from the driver where it is first used:",
			     text_bytes(size, all));
	sentence_say(sentence, "%s %s in %s", nccl->rows > 1 ? "," : "", text_bytes(size, bytes),
		     answer_phase(db_text(stmt, 0)));
	return 0;
}

static int find_nccl(struct points *points, int64_t device)
{
	const int64_t parameter[ANSWER_PARAMETERS] = { device };
	struct nccl nccl = { .points = points };
	int error = answer_rows(points->db, nccl_sql, parameter, say_nccl, &nccl);

	if (nccl.rows)
		sentence_say(points->sentence, ".");
	points->said += nccl.rows != 0;
	return error;
}

int peak_points_say(struct sentence *sentence, struct db *db, int64_t device, uint8_t *stays)
{
	const int64_t parameter[ANSWER_PARAMETERS] = { device };
	struct points points = { .sentence = sentence, .db = db, .stays = MT_CATEGORY_COUNT };
	int error = find_sleeper(&points, device);

	if (!error)
		error = find_copy(&points, device);
	if (!error && points.said < POINTS_MAX)
		error = answer_rows(db, others_sql, parameter, say_other, &points);
	if (!error && points.said < POINTS_MAX)
		error = find_nccl(&points, device);
	if (stays)
		*stays = points.stays;
	return error ? error : points.said != 0;
}

/* ---- the table ---- */

struct table {
	const struct text *text;
	const char *title;
	uint64_t whole, rows;
};

static int sum_part(void *context, const struct query_part *part)
{
	struct table *table = context;

	table->whole += part->bytes;
	table->rows++;
	return 0;
}

static int print_part(void *context, const struct query_part *part)
{
	struct table *table = context;
	char clean[128], size[TEXT_SIZE_MAX], share[TEXT_SIZE_MAX];

	if (!table->rows++)
		answer_title(table->text, table->title);
	if (table->rows > TABLE_SHOWN || !part->bytes)
		return 0;
	text_print(table->text, "  %-*s %10s  %5s", WORD_COLUMNS,
		   text_fit(clean, sizeof(clean), part->word, WORD_COLUMNS, 0), text_bytes(size, part->bytes),
		   text_percent(share, part->bytes, table->whole));
	text_bar(table->text, part->bytes, table->whole, 30);
	text_print(table->text, "\n");
	return 0;
}

static int print_by(struct table *table, struct db *db, int64_t device, enum query_by by, uint64_t least)
{
	int error;

	table->whole = table->rows = 0;
	error = query_parts(db, device, by, sum_part, table);
	if (error || table->rows < least)
		return error;
	table->rows = 0;
	return query_parts(db, device, by, print_part, table);
}

int peak_table_print(const struct text *text, struct db *db, int64_t device)
{
	struct table table = { .text = text, .title = "Who had the peak, by what it is" };
	int error = print_by(&table, db, device, QUERY_BY_CATEGORY, 1);

	table.title = "By process";
	return error ? error : print_by(&table, db, device, QUERY_BY_PROCESS, 2);
}
