#include "query_oom.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "oom_decide.h"
#include "oom_left.h"
#include "oom_neighbour.h"
#include "oom_signs.h"
#include "oom_turn.h"
#include "oom_words.h"
#include "report/answer.h"

const char *oom_rule_word(enum oom_rule rule)
{
	static const char *const words[] = {
#define OOM_RULE_WORD(name, word) [OOM_##name] = word,
		OOM_RULE_LIST(OOM_RULE_WORD)
#undef OOM_RULE_WORD
	};

	return words[rule];
}

/* `array` with room for one more of `size` bytes, zeroed; it may have moved. NULL: out of memory. */
static void *make_room(void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 8;
	char *grown = array;

	if (count == *room) {
		grown = realloc(array, more * size);
		if (!grown)
			return NULL;
		*room = more;
	}
	memset(grown + size * count, 0, size);
	return grown;
}

static int64_t int_or(const struct db_stmt *stmt, int column, int64_t otherwise)
{
	return db_type(stmt, column) == DB_NULL ? otherwise : db_int(stmt, column);
}

/* ---- the failure ---- */

static int choose(struct oom *oom, int64_t id)
{
	size_t i;

	for (i = 0; i < oom->all.count; i++)
		if (id ? oom->all.failure[i].id == id : !oom->all.failure[i].is_part)
			oom->it = &oom->all.failure[i];
	return id && !oom->it ? -MT_E_ARGUMENT : 0;
}

/* ---- the moment ---- */

static int take_holder(void *context, struct db_stmt *stmt)
{
	struct oom *oom = context;
	struct oom_holder *holder = make_room(oom->holder, oom->holders, &oom->holder_room, sizeof(*holder));

	if (!holder)
		return -MT_E_MEMORY;
	oom->holder = holder;
	holder = &oom->holder[oom->holders++];
	*holder = (struct oom_holder){ .process = db_int(stmt, 0),
				       .pid = db_int(stmt, 1),
				       .rank = int_or(stmt, 2, -1),
				       .held = (uint64_t)db_int(stmt, 3),
				       .slack = (uint64_t)db_int(stmt, 4) };
	oom->slack += holder->slack;
	if (holder->process == oom->it->process)
		oom->own_slack = holder->slack;
	return 0;
}

static struct oom_holder *holder_of(struct oom *oom, int64_t process)
{
	size_t i;

	for (i = 0; i < oom->holders; i++)
		if (oom->holder[i].process == process)
			return &oom->holder[i];
	return NULL;
}

static const char parts_sql[] =
	"SELECT live.process, pid, rank, live.category, live.phase, live.owner, function, place, sum(bytes), count(*), "
	"sum(asleep_bytes), sum(bytes) FILTER (WHERE site.known = 'probable'), min(bytes) = max(bytes), min(live.node) "
	"FROM live_at AS live JOIN process ON process.id = live.process LEFT JOIN site ON site.id = live.site "
	"WHERE moment = 'oom:' || ?1 AND in_use "
	"GROUP BY live.process, live.category, live.phase, live.owner, function, live.file, place "
	"ORDER BY 9 DESC, live.process, live.category, live.phase, place, function";

/* A pool that wakes up asks the driver; what it is for was known before it slept. What is whole requests fits best. */
static void note_asleep(struct oom *oom, const struct db_stmt *stmt)
{
	uint64_t asleep = (uint64_t)db_int(stmt, 10), asked = oom->it->requested, *most = &oom->waking_bytes;

	if (db_int(stmt, 0) != oom->it->process || !asked || asleep < asked || strcmp(oom->it->source, "driver"))
		return;
	if (*most && (*most % asked == 0) > (asleep % asked == 0))
		return;
	if (*most && (*most % asked == 0) == (asleep % asked == 0) && asleep >= *most)
		return;
	*most = asleep;
	mt_copy_text(oom->waking, sizeof(oom->waking), db_text(stmt, 3));
}

static int take_part(void *context, struct db_stmt *stmt)
{
	struct oom *oom = context;
	struct oom_part *part;

	oom->asleep += (uint64_t)db_int(stmt, 10);
	if (holder_of(oom, db_int(stmt, 0)))
		holder_of(oom, db_int(stmt, 0))->asleep += (uint64_t)db_int(stmt, 10);
	note_asleep(oom, stmt);
	if (!db_int(stmt, 8))
		return 0;
	part = make_room(oom->part, oom->parts, &oom->part_room, sizeof(*part));
	if (!part)
		return -MT_E_MEMORY;
	oom->part = part;
	part = &oom->part[oom->parts++];
	part->process = db_int(stmt, 0);
	part->pid = db_int(stmt, 1);
	part->rank = int_or(stmt, 2, -1);
	mt_copy_text(part->category, sizeof(part->category), db_text(stmt, 3));
	mt_copy_text(part->phase, sizeof(part->phase), db_text(stmt, 4));
	mt_copy_text(part->owner, sizeof(part->owner), db_text(stmt, 5));
	mt_copy_text(part->function, sizeof(part->function), db_text(stmt, 6));
	mt_copy_text(part->place, sizeof(part->place), db_text(stmt, 7));
	part->bytes = (uint64_t)db_int(stmt, 8);
	part->count = (uint64_t)db_int(stmt, 9);
	part->probable = (uint64_t)db_int(stmt, 11);
	part->alike = db_int(stmt, 12) != 0;
	part->node = db_int(stmt, 13);
	oom->in_use += part->bytes;
	return 0;
}

/* An allocator that gave back what it kept, and then got what it wanted. */
static int take_survived(void *context, struct db_stmt *stmt)
{
	((struct oom *)context)->survived = db_int(stmt, 0) != 0;
	return 0;
}

static int find_survived(struct oom *oom, struct db *db)
{
	const int64_t parameter[ANSWER_PARAMETERS] = { oom->it->process, oom->it->device, oom->it->seq,
						       (int64_t)oom->it->requested };

	if (strcmp(oom->it->source, "driver"))
		return 0;
	return answer_rows(db,
			   "SELECT EXISTS (SELECT 1 FROM allocation WHERE process = ?1 AND device = ?2 AND alloc_seq > ?3 "
			   "AND bytes >= ?4 AND memory NOT IN ('tensor', 'pinned', 'host', 'imported'))",
			   parameter, take_survived, oom);
}

static int find_slept(struct oom *oom, struct db *db)
{
	const struct oom_failure *it = oom->it;
	const struct slept_question question = { .oom = it->id,
						 .process = it->process,
						 .device = it->device,
						 .node = it->node,
						 .time = it->time,
						 .missing = oom_missing(it),
						 .computes = oom_is_computed(it->phase) };

	return slept_find(&oom->slept, db, &question);
}

int oom_balance(struct balance *balance, const struct oom *oom, struct db *db)
{
	const struct oom_failure *it = oom->it;
	struct balance_question question = { .oom = it->id,
					     .device = it->device,
					     .time = it->time,
					     .requested = it->requested,
					     .total = it->total,
					     .free = it->free,
					     .free_by = it->free_by };
	size_t i;

	for (i = 0; i < oom->holders; i++)
		question.recorded += oom->holder[i].held;
	return balance_load(balance, &question, db);
}

int oom_load(struct oom *oom, struct db *db, int64_t id)
{
	int64_t parameter[ANSWER_PARAMETERS] = { 0 };
	int error;

	memset(oom, 0, sizeof(*oom));
	error = oom_failures_load(&oom->all, db);
	if (!error)
		error = choose(oom, id);
	if (error || !oom->it)
		return error;
	parameter[0] = oom->it->id;
	error = answer_rows(db,
			    "SELECT process, pid, rank, held_bytes, slack_bytes FROM oom_holder "
			    "JOIN process ON process.id = process WHERE oom = ?1 ORDER BY held_bytes DESC, process",
			    parameter, take_holder, oom);
	if (!error)
		error = answer_rows(db, parts_sql, parameter, take_part, oom);
	if (!error)
		error = oom_find_holes(oom, db);
	if (!error)
		error = find_survived(oom, db);
	if (!error)
		error = oom_look_around(oom, db);
	if (!error)
		error = oom_find_before(oom, db);
	if (!error)
		error = find_slept(oom, db);
	if (!error)
		error = oom_decide(oom, db);
	if (!error && oom->rule == OOM_FRAGMENTATION)
		error = oom_find_pins(oom, db);
	if (!error)
		error = oom_find_signs(oom, db);
	if (!error)
		error = oom_find_callers(oom, db);
	if (!error && !oom->spare && !oom_special_remedy(oom))
		error = oom_find_idle(oom, db);
	return error;
}

void oom_release(struct oom *oom)
{
	oom_failures_release(&oom->all);
	free(oom->holder);
	free(oom->part);
	memset(oom, 0, sizeof(*oom));
}
