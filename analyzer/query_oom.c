#include "query_oom.h"

#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "oom_cause.h"
#include "query_steps.h"

#define SAME_FAILURE 1000000000 /* ns between a refusal and the end it leads to */

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

/* ---- the failures ---- */

static const char failures_sql[] =
	"SELECT oom.id, process, device, pid, rank, number, kind, device.name, total_bytes, source, phase, time, seq, "
	"step, "
	"oom.node, requested_bytes, free_bytes, free_by, others_bytes, function, place FROM oom "
	"JOIN process ON process.id = process JOIN device ON device.id = device "
	"LEFT JOIN callsite ON callsite.node = oom.node ORDER BY oom.id";

static int take_failure(void *context, struct db_stmt *stmt)
{
	struct oom *oom = context;
	struct oom_failure *it = make_room(oom->failure, oom->failures, &oom->failure_room, sizeof(*it));

	if (!it)
		return -MT_E_MEMORY;
	oom->failure = it;
	it = &oom->failure[oom->failures++];
	it->id = db_int(stmt, 0);
	it->process = db_int(stmt, 1);
	it->device = db_int(stmt, 2);
	it->pid = db_int(stmt, 3);
	it->rank = int_or(stmt, 4, -1);
	it->number = db_int(stmt, 5);
	mt_copy_text(it->kind, sizeof(it->kind), db_text(stmt, 6));
	mt_copy_text(it->name, sizeof(it->name), db_text(stmt, 7));
	it->total = (uint64_t)db_int(stmt, 8);
	mt_copy_text(it->source, sizeof(it->source), db_text(stmt, 9));
	mt_copy_text(it->phase, sizeof(it->phase), db_text(stmt, 10));
	it->time = db_int(stmt, 11);
	it->seq = db_int(stmt, 12);
	it->step = db_int(stmt, 13);
	it->node = db_int(stmt, 14);
	it->requested = (uint64_t)db_int(stmt, 15);
	it->free = int_or(stmt, 16, -1);
	mt_copy_text(it->free_by, sizeof(it->free_by), db_text(stmt, 17));
	it->others = int_or(stmt, 18, -1);
	mt_copy_text(it->function, sizeof(it->function), db_text(stmt, 19));
	mt_copy_text(it->place, sizeof(it->place), db_text(stmt, 20));
	return 0;
}

/* What the driver knew of the newest refusal holds for the whole failure. */
static void take_over(struct oom_failure *it, struct oom_failure *part)
{
	static const char *const trust[] = {"driver", "nvml"};
	size_t i;

	part->is_part = 1;
	it->refusals++;
	for (i = 0; i < MT_ARRAY_SIZE(trust); i++) {
		if (!strcmp(it->free_by, trust[i]))
			break;
		if (strcmp(part->free_by, trust[i]))
			continue;
		it->free = part->free;
		mt_copy_text(it->free_by, sizeof(it->free_by), part->free_by);
	}
	if (it->others < 0)
		it->others = part->others;
}

static void join_refusals(struct oom *oom)
{
	struct oom_failure *it, *part;
	size_t i, j;

	for (i = 0; i < oom->failures; i++) {
		it = &oom->failure[i];
		if (strcmp(it->source, "tensor"))
			continue;
		for (j = i; j-- && it->time - oom->failure[j].time <= SAME_FAILURE;) {
			part = &oom->failure[j];
			if (part->process != it->process || part->device != it->device)
				continue;
			if (!strcmp(part->source, "tensor"))
				break;
			take_over(it, part);
		}
	}
}

static int choose(struct oom *oom, int64_t id)
{
	size_t i;

	for (i = 0; i < oom->failures; i++)
		if (id ? oom->failure[i].id == id : !oom->failure[i].is_part)
			oom->it = &oom->failure[i];
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
	*holder = (struct oom_holder){.process = db_int(stmt, 0),
				      .pid = db_int(stmt, 1),
				      .rank = int_or(stmt, 2, -1),
				      .held = (uint64_t)db_int(stmt, 3),
				      .slack = (uint64_t)db_int(stmt, 4)};
	oom->slack += holder->slack;
	if (holder->process == oom->it->process)
		oom->own_slack = holder->slack;
	return 0;
}

static const char parts_sql[] =
	"SELECT live.process, pid, rank, category, phase, owner, function, place, sum(bytes) AS bytes, count(*) "
	"FROM live_at AS live JOIN process ON process.id = live.process "
	"WHERE moment = 'oom:' || ?1 AND NOT tensors_inside AND memory NOT IN ('pinned', 'host', 'imported', "
	"'multicast') "
	"GROUP BY live.process, category, phase, owner, function, live.file, place "
	"ORDER BY 9 DESC, live.process, category, phase, place, function";

static int take_part(void *context, struct db_stmt *stmt)
{
	struct oom *oom = context;
	struct oom_part *part = make_room(oom->part, oom->parts, &oom->part_room, sizeof(*part));

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
	oom->in_use += part->bytes;
	return 0;
}

/* ---- idle segments ---- */

struct segments {
	struct segment {
		int64_t address; /* as SQLite orders it */
		uint64_t bytes, used;
	} * segment; /* by address */
	size_t count, room;
};

static int take_segment(void *context, struct db_stmt *stmt)
{
	struct segments *segments = context;
	struct segment *segment = make_room(segments->segment, segments->count, &segments->room, sizeof(*segment));

	if (!segment)
		return -MT_E_MEMORY;
	segments->segment = segment;
	segment = &segments->segment[segments->count++];
	segment->address = db_int(stmt, 0);
	segment->bytes = (uint64_t)db_int(stmt, 1);
	return 0;
}

static int take_tensor(void *context, struct db_stmt *stmt)
{
	struct segments *segments = context;
	int64_t address = db_int(stmt, 0);
	size_t low = 0, high = segments->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (segments->segment[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && (uint64_t)address - (uint64_t)segments->segment[low - 1].address < segments->segment[low - 1].bytes)
		segments->segment[low - 1].used += (uint64_t)db_int(stmt, 1);
	return 0;
}

#define ALIVE "process = ?1 AND device = ?2 AND alloc_seq <= ?3 AND (free_seq IS NULL OR free_seq > ?3)"

/* Segments made of mapped pages have no address of their own, and give back idle pages one by one: they are left out.
 */
static int find_holes(struct oom *oom, struct db *db)
{
	const int64_t parameter[ANSWER_PARAMETERS] = {oom->it->process, oom->it->device, oom->it->seq};
	struct segments segments = {.count = 0};
	uint64_t idle;
	size_t i;
	int error = answer_rows(
		db, "SELECT address, bytes FROM segment WHERE memory = 'device' AND " ALIVE " ORDER BY address",
		parameter, take_segment, &segments);

	if (!error)
		error = answer_rows(db, "SELECT address, bytes FROM allocation WHERE memory = 'tensor' AND " ALIVE,
				    parameter, take_tensor, &segments);
	for (i = 0; i < segments.count && !error; i++) {
		if (segments.segment[i].used >= segments.segment[i].bytes)
			continue;
		idle = segments.segment[i].bytes - segments.segment[i].used;
		if (idle > oom->hole)
			oom->hole = idle;
		if (!segments.segment[i].used)
			oom->idle_segments += idle;
	}
	free(segments.segment);
	return error;
}

/* ---- what follows ---- */

static int take_survived(void *context, struct db_stmt *stmt)
{
	((struct oom *)context)->survived = db_int(stmt, 0) != 0;
	return 0;
}

/* An allocator that gave back what it kept, and then got what it wanted. */
static int find_survived(struct oom *oom, struct db *db)
{
	const int64_t parameter[ANSWER_PARAMETERS] = {oom->it->process, oom->it->device, oom->it->seq,
						      (int64_t)oom->it->requested};

	if (strcmp(oom->it->source, "driver"))
		return 0;
	return answer_rows(
		db,
		"SELECT EXISTS (SELECT 1 FROM allocation WHERE process = ?1 AND device = ?2 AND alloc_seq > ?3 "
		"AND bytes >= ?4 AND memory <> 'tensor')",
		parameter, take_survived, oom);
}

static void add_up(struct oom *oom)
{
	uint64_t held = 0, known = 0;
	size_t i;

	for (i = 0; i < oom->holders; i++) {
		held += oom->holder[i].held;
		if (oom->holder[i].process != oom->it->process)
			known += oom->holder[i].held;
	}
	oom->asleep = oom->in_use + oom->slack > held ? oom->in_use + oom->slack - held : 0;
	if (oom->it->others > 0 && (uint64_t)oom->it->others > known)
		oom->unrecorded = (uint64_t)oom->it->others - known;
	/* What seemed to be free was not: the rest of it was somebody's. */
	if (!strcmp(oom->it->free_by, "bound") && oom->it->free > 0 && (uint64_t)oom->it->free > oom->it->requested &&
	    (uint64_t)oom->it->free - oom->it->requested > oom->unrecorded)
		oom->unrecorded = (uint64_t)oom->it->free - oom->it->requested;
}

/* What is missing for the request. */
static uint64_t missing(const struct oom_failure *it)
{
	return it->free > 0 && (uint64_t)it->free < it->requested ? it->requested - (uint64_t)it->free : it->requested;
}

static int neighbour_has_it(struct oom *oom)
{
	const struct oom_holder *most = NULL;
	size_t i;

	for (i = 0; i < oom->holders; i++)
		if (oom->holder[i].process != oom->it->process && (!most || oom->holder[i].slack > most->slack))
			most = &oom->holder[i];
	if (!most || most->slack < missing(oom->it))
		return 0;
	oom->rule_pid = most->pid;
	oom->rule_rank = most->rank;
	oom->rule_bytes = most->slack;
	return 1;
}

/* Places that grow, or at least the whole. 1, 0 or an error. */
static int grows(struct oom *oom, struct db *db)
{
	struct steps steps;
	size_t i;
	int error, growing = oom_find_growth(oom, db);

	if (growing)
		oom->rule_bytes = oom->growth.bytes;
	if (growing)
		return growing;
	error = steps_load(&steps, db);
	for (i = 0; i < steps.count && !error; i++) {
		if (steps.lane[i].process != oom->it->process || steps.lane[i].device != oom->it->device ||
		    steps.lane[i].state != STEPS_GROWING)
			continue;
		growing = 1;
		oom->rule_bytes = (uint64_t)steps.lane[i].slope;
	}
	steps_release(&steps);
	return error ? error : growing;
}

static enum oom_rule largest(struct oom *oom)
{
	struct oom_sum sum[OOM_SUMS_MAX];

	if (!oom_sums(oom, OOM_BY_CATEGORY, sum))
		return OOM_UNKNOWN;
	mt_copy_text(oom->rule_category, sizeof(oom->rule_category), sum[0].word);
	oom->rule_bytes = sum[0].bytes;
	return OOM_LARGEST;
}

static int decide(struct oom *oom, struct db *db)
{
	const struct oom_failure *it = oom->it;
	int growing, error = 0;

	oom->rule_bytes = it->requested;
	if (it->total && it->requested > it->total) {
		oom->rule = OOM_TOO_LARGE;
		error = oom_find_logits(oom, db);
	} else if (neighbour_has_it(oom)) {
		oom->rule = OOM_NEIGHBOUR;
	} else if (oom->unrecorded >= missing(it) && oom->unrecorded > it->total / 20) {
		oom->rule = OOM_UNRECORDED;
		oom->rule_bytes = oom->unrecorded;
	} else if (oom->own_slack >= it->requested) {
		oom->rule = OOM_FRAGMENTATION;
		oom->rule_bytes = oom->own_slack;
		error = oom_find_modes(oom, db);
	} else {
		growing = grows(oom, db);
		if (growing < 0)
			return growing;
		oom->rule = growing ? OOM_RETAINED : largest(oom);
		error = growing ? 0 : oom_find_logits(oom, db);
	}
	return error;
}

int oom_load(struct oom *oom, struct db *db, int64_t id)
{
	int64_t parameter[ANSWER_PARAMETERS] = {0};
	int error;

	memset(oom, 0, sizeof(*oom));
	error = answer_rows(db, failures_sql, NULL, take_failure, oom);
	if (error)
		return error;
	join_refusals(oom);
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
		error = find_holes(oom, db);
	if (!error)
		error = find_survived(oom, db);
	if (error)
		return error;
	add_up(oom);
	return decide(oom, db);
}

void oom_release(struct oom *oom)
{
	free(oom->failure);
	free(oom->holder);
	free(oom->part);
	memset(oom, 0, sizeof(*oom));
}

/* ---- sums ---- */

static const char *word_of(const struct oom_part *part, enum oom_by by)
{
	return by == OOM_BY_CATEGORY ? part->category : by == OOM_BY_PHASE ? part->phase : part->owner;
}

static int by_bytes(const void *a, const void *b)
{
	const struct oom_sum *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return strcmp(one->word, two->word);
}

size_t oom_sums(const struct oom *oom, enum oom_by by, struct oom_sum sum[OOM_SUMS_MAX])
{
	size_t count = 0, i, at;

	for (i = 0; i < oom->parts; i++) {
		for (at = 0; at < count && strcmp(sum[at].word, word_of(&oom->part[i], by)); at++)
			;
		if (at == OOM_SUMS_MAX)
			continue;
		if (at == count)
			sum[count++] = (struct oom_sum){.word = word_of(&oom->part[i], by)};
		sum[at].bytes += oom->part[i].bytes;
		sum[at].count += oom->part[i].count;
	}
	qsort(sum, count, sizeof(*sum), by_bytes);
	return count;
}
