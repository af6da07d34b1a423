#include "alloc_events.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"

/*
 * Rows of (seq, time, id, address, bytes, in a sleeping pool or not, tensor or not), by seq. Ids of allocations are in
 * the order of their ends. ?1 the process, ?2 the device, ?3 whether a pool sleeps, ?4 whether there are mappings.
 * Without mappings one question asks for segments and tensors: a pass over all allocations is slow.
 */
static const struct question {
	enum alloc_event_kind tensor, piece;
	int of_mappings; /* 1: asked only if there are mappings */
	const char *sql;
} questions[ALLOC_EVENTS_QUERIES] = {
	{ ALLOC_EVENT_TENSOR, ALLOC_EVENT_PIECE, 1,
	  "SELECT since_seq, since_time, 0, address, bytes, mapped AND ?3, 0 FROM reserved_range "
	  "WHERE process = ?1 AND device = ?2 AND tensors_inside AND bytes > 0 AND ?4 ORDER BY since_seq" },
	{ ALLOC_EVENT_TENSOR_GONE, ALLOC_EVENT_PIECE_GONE, 1,
	  "SELECT until_seq, until_time, 0, address, bytes, mapped AND ?3, 0 FROM reserved_range "
	  "WHERE process = ?1 AND device = ?2 AND tensors_inside AND bytes > 0 AND until_seq IS NOT NULL AND ?4 "
	  "ORDER BY until_seq" },
	{ ALLOC_EVENT_TENSOR, ALLOC_EVENT_PIECE, 0,
	  "SELECT alloc_seq, alloc_time, id, address, bytes, ?3 AND 0, memory = 'tensor' FROM allocation "
	  "WHERE process = ?1 AND device = ?2 AND (memory = 'tensor' OR (tensors_inside AND bytes > 0 AND NOT ?4)) "
	  "ORDER BY alloc_seq" },
	{ ALLOC_EVENT_TENSOR_GONE, ALLOC_EVENT_PIECE_GONE, 0,
	  "SELECT free_seq, free_time, id, address, bytes, ?3 AND 0, memory = 'tensor' FROM allocation "
	  "WHERE process = ?1 AND device = ?2 AND (memory = 'tensor' OR (tensors_inside AND bytes > 0 AND NOT ?4)) "
	  "AND free_seq IS NOT NULL ORDER BY id" },
};

static int next_row(struct alloc_events *events, int question)
{
	int more = db_step(events->stmt[question]);

	events->seq[question] = more == 1 ? db_int(events->stmt[question], 0) : ALLOC_EVENTS_NONE;
	return more < 0 ? more : 0;
}

int alloc_events_open(struct alloc_events *events, struct db *db, int64_t process, int64_t device, int sleeps)
{
	const int64_t of[DB_PARAMETERS] = { process };
	int64_t mappings = 0;
	int i, error = db_number(db, "SELECT 1 FROM mapping WHERE process = ? LIMIT 1", of, &mappings);

	memset(events, 0, sizeof(*events));
	for (i = 0; i < ALLOC_EVENTS_QUERIES && !error; i++) {
		events->seq[i] = ALLOC_EVENTS_NONE;
		if (questions[i].of_mappings && !mappings)
			continue;
		error = db_prepare(db, &events->stmt[i], questions[i].sql);
		if (error)
			break;
		db_bind(events->stmt[i], 1, process);
		db_bind(events->stmt[i], 2, device);
		db_bind(events->stmt[i], 3, sleeps);
		db_bind(events->stmt[i], 4, mappings);
		error = next_row(events, i);
	}
	return error;
}

void alloc_events_close(struct alloc_events *events)
{
	int i;

	for (i = 0; i < ALLOC_EVENTS_QUERIES; i++)
		db_finish(events->stmt[i]);
}

int alloc_events_next(struct alloc_events *events, struct alloc_event *event)
{
	const struct db_stmt *row;
	int first = 0, i, error;

	for (i = 1; i < ALLOC_EVENTS_QUERIES; i++)
		if (events->seq[i] < events->seq[first])
			first = i;
	if (events->seq[first] == ALLOC_EVENTS_NONE)
		return 0;
	row = events->stmt[first];
	*event = (struct alloc_event){ .kind = db_int(row, 6) ? questions[first].tensor : questions[first].piece,
				       .seq = events->seq[first],
				       .time = db_int(row, 1),
				       .id = (uint64_t)db_int(row, 2),
				       .addr = (uint64_t)db_int(row, 3),
				       .bytes = (uint64_t)db_int(row, 4),
				       .is_beside = db_int(row, 5) != 0 };
	error = next_row(events, first);
	return error ? error : 1;
}

/* ---- phases ---- */

static int add_end(int64_t **seq, size_t *count, size_t *room, int64_t end)
{
	if (MT_ARRAY_ROOM(*seq, *count, *room))
		return -MT_E_MEMORY;
	(*seq)[(*count)++] = end;
	return 0;
}

int alloc_events_ends(struct db *db, int64_t process, const char *phase, int64_t **seq, size_t *count)
{
	static const char sql[] =
		"SELECT last_seq FROM (SELECT phase, last_seq, lead(phase) OVER (ORDER BY first_seq, id) AS next "
		"FROM phase_span WHERE process = ?1) WHERE phase = ?2 AND next IS NOT phase ORDER BY last_seq";
	struct db_stmt *stmt;
	size_t room = 0;
	int more, error;

	*seq = NULL;
	*count = 0;
	error = db_prepare(db, &stmt, sql);
	if (error)
		return error;
	db_bind(stmt, 1, process);
	db_bind_text(stmt, 2, phase);
	while (!error && (more = db_step(stmt)) != 0)
		error = more < 0 ? more : add_end(seq, count, &room, db_int(stmt, 0));
	db_finish(stmt);
	return error;
}
