#include "host_seen.h"

#include <string.h>
#include "answer.h"
#include "memtrace/base.h"
#include "memtrace/phase.h"
#include "store/load.h"

#define SEEN_MAX 3   /* largest number of processes that are named */
#define SEEN_ROSE 16 /* room for processes */
#define SEEN_SHARE 8 /* divisor: a process with less than 1/SEEN_SHARE of all processes' bytes is not named */

struct seen {
	int64_t process, pid, rank;
	uint64_t first, last, all; /* RSS in bytes: at the first and the last sample; last samples of all processes */
	char function[256], place[256], phase[24];
};

struct seens {
	struct seen seen[SEEN_ROSE];
	uint64_t share; /* divisor of the bytes of all: a smaller process is not named */
	size_t count;
};

static const char processes_sql[] =
	"SELECT process, pid, ifnull(rank, -1), ifnull((SELECT rss_bytes FROM host_sample WHERE host_sample.process = "
	"host_memory.process AND rss_bytes IS NOT NULL ORDER BY time LIMIT 1), 0), rss_bytes, sum(rss_bytes) OVER () FROM host_memory "
	"JOIN process ON process.id = process ORDER BY rss_bytes DESC, process LIMIT ?1";

static int take_process(void *context, struct db_stmt *stmt)
{
	struct seens *seens = context;
	struct seen *seen = &seens->seen[seens->count];

	*seen = (struct seen){ .process = db_int(stmt, 0),
			       .pid = db_int(stmt, 1),
			       .rank = db_int(stmt, 2),
			       .first = (uint64_t)db_int(stmt, 3),
			       .last = (uint64_t)db_int(stmt, 4),
			       .all = (uint64_t)db_int(stmt, 5) };
	seens->count += seen->last && seen->last >= seen->all / seens->share;
	return 0;
}

/*
 * The place of the last allocation; or of a later return of memory to the driver, as when an engine goes to sleep. Between two such events, the place
 * of a process is unknown.
 */
static const char place_sql[] =
	"SELECT ifnull(function, ''), ifnull(place, ''), phase FROM (SELECT * FROM (SELECT alloc_seq AS seq, node, phase FROM allocation "
	"WHERE process = ?1 ORDER BY alloc_seq DESC LIMIT 1) UNION ALL SELECT * FROM (SELECT free_seq, "
	"ifnull((SELECT shared FROM temp.freed_as AS own WHERE own.node = free_node), free_node), "
	"(SELECT span.phase FROM phase_span AS span WHERE span.process = ?1 AND span.first_seq <= free_seq "
	"ORDER BY span.first_seq DESC LIMIT 1) FROM allocation WHERE process = ?1 AND memory = 'device' AND free_node IS NOT NULL "
	"ORDER BY free_seq DESC LIMIT 1)) LEFT JOIN place USING (node) ORDER BY seq DESC LIMIT 1";

static int take_place(void *context, struct db_stmt *stmt)
{
	struct seen *seen = context;

	mt_copy_text(seen->function, sizeof(seen->function), db_text(stmt, 0));
	mt_copy_text(seen->place, sizeof(seen->place), db_text(stmt, 1));
	mt_copy_text(seen->phase, sizeof(seen->phase), db_text(stmt, 2));
	return 0;
}

static void say(struct sentence *sentence, const struct seen *seen)
{
	char who[TEXT_SIZE_MAX], first[TEXT_SIZE_MAX], last[TEXT_SIZE_MAX];
	int has_phase = strcmp(seen->phase, mt_phase_name(MT_PHASE_OTHER)) != 0;

	sentence_say(sentence, "%s", answer_process(who, seen->rank, seen->pid));
	if (seen->rank >= 0)
		sentence_say(sentence, " (pid %lld)", (long long)seen->pid);
	sentence_say(sentence, " in ");
	if (*seen->place)
		answer_say_place(sentence, seen->function, seen->place);
	if (has_phase || !*seen->place)
		sentence_say(sentence, "%s%s", *seen->place ? ", in " : "", answer_phase(seen->phase));
	text_bytes(last, seen->last);
	if (seen->first && seen->first < seen->last - seen->last / 4)
		sentence_say(sentence, ", its RSS from %s up to %s", text_bytes(first, seen->first), last);
	else
		sentence_say(sentence, ", RSS %s", last);
}

static int take_rise(void *context, struct db_stmt *stmt)
{
	struct host_rise *rise = context;

	rise->own += db_int(stmt, 0) > 0 ? (uint64_t)db_int(stmt, 0) : 0;
	rise->all = (uint64_t)db_int(stmt, 1);
	return 0;
}

int host_rose(struct host_rise *rise, struct db *db)
{
	static const char sql[] =
		"SELECT newest.rss_bytes - oldest.rss_bytes, (SELECT max(cgroup_bytes) - min(cgroup_bytes) FROM host_sample "
		"WHERE rss_bytes IS NOT NULL AND time >= (SELECT max(first) FROM (SELECT min(time) AS first FROM host_sample GROUP BY process))) "
		"FROM (SELECT process, rss_bytes, max(time) FROM host_sample WHERE rss_bytes IS NOT NULL GROUP BY process) AS newest "
		"JOIN (SELECT process, rss_bytes, min(time) FROM host_sample WHERE rss_bytes IS NOT NULL GROUP BY process) AS oldest "
		"USING (process)";
	const int64_t none[DB_PARAMETERS] = { 0 };

	*rise = (struct host_rise){ 0 };
	return db_rows(db, sql, none, take_rise, rise);
}

int host_seen_say(struct sentence *sentence, struct db *db)
{
	const int64_t most[DB_PARAMETERS] = { SEEN_MAX };
	int64_t parameter[DB_PARAMETERS] = { 0 };
	struct seens seens = { .share = SEEN_SHARE };
	int error = db_execute(db, LOAD_FREED_AS), said = 0;
	size_t i;

	if (!error)
		error = db_rows(db, processes_sql, most, take_process, &seens);
	for (i = 0; i < seens.count && !error; i++) {
		parameter[0] = seens.seen[i].process;
		error = db_rows(db, place_sql, parameter, take_place, &seens.seen[i]);
		if (error || !*seens.seen[i].phase)
			continue;
		sentence_say(sentence, said++ ? "; " : " Last seen: ");
		say(sentence, &seens.seen[i]);
	}
	if (said)
		sentence_say(sentence, ".");
	return error;
}
