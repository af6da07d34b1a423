/* Loads the state of a device at an instant, for memana frag and the screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "frag.h"
#include "memtrace/error.h"

/* ---- the instant ---- */

static void find_phase(struct frag_instant *instant, struct db *db)
{
	static const char of_process[] = "SELECT phase, step FROM phase_span WHERE process = ?1 "
					 "AND first_time <= ?2 AND (first_time, first_seq) <= (?2, ?3) "
					 "ORDER BY first_time DESC, id DESC LIMIT 1";
	static const char of_all[] = "SELECT phase, step FROM phase_span WHERE first_time <= ?2 "
				     "AND (first_time, first_seq) <= (?2, ?3) "
				     "ORDER BY first_time DESC, id DESC LIMIT 1";
	const struct alive_moment *when = &instant->when;
	struct db_stmt *stmt;

	if (db_first(db, &stmt, when->process == ALIVE_BY_TIME ? of_all : of_process,
		     DB_NUMBERS(when->process, when->time, when->seq)) == 1) {
		snprintf(instant->phase, sizeof(instant->phase), "%s", db_text(stmt, 0));
		instant->step = db_int(stmt, 1);
	}
	db_finish(stmt);
}

int frag_instant(struct frag_instant *instant, struct db *db, int64_t device, const char *at, int64_t time)
{
	struct db_stmt *stmt;
	int found = 1;

	*instant = (struct frag_instant){ .when = { time, ALIVE_BY_TIME, ALIVE_BY_TIME } };
	if (at) {
		snprintf(instant->at, sizeof(instant->at), "%s", at);
		found = db_prepare(db, &stmt,
				   "SELECT process, seq, time FROM named_moment WHERE name = ? AND device = ? "
				   "ORDER BY time DESC, process LIMIT 1");
		if (found)
			return found;
		db_bind_text(stmt, 1, at);
		db_bind(stmt, 2, device);
		found = db_step(stmt);
		if (found == 1)
			instant->when = (struct alive_moment){ .process = db_int(stmt, 0),
							       .seq = db_int(stmt, 1),
							       .time = db_int(stmt, 2) };
		db_finish(stmt);
	}
	if (found == 1)
		find_phase(instant, db);
	return found;
}

int frag_instant_at_cursor(struct frag_instant *instant, struct db *db, int64_t device, int64_t time)
{
	char name[sizeof(instant->at)] = "";
	struct db_stmt *stmt;
	int found =
		db_first(db, &stmt,
			 "SELECT name FROM named_moment WHERE device = ? AND time = ? AND (name = 'peak' OR name LIKE "
			 "'oom:%') ORDER BY name DESC LIMIT 1",
			 DB_NUMBERS(device, time));

	if (found == 1)
		snprintf(name, sizeof(name), "%s", db_text(stmt, 0));
	db_finish(stmt);
	return found < 0 ? found : frag_instant(instant, db, device, found ? name : NULL, time);
}

/* ---- the device then ---- */

/* Returns the process with most idle bytes; 0: no memory. Segments are sorted by process. */
static int64_t idlest(const struct segment_map *map)
{
	uint64_t idle = 0, most = 0;
	int64_t process = 0;
	size_t i;

	for (i = 0; i < map->count; i++) {
		if (!i || map->segment[i].process != map->segment[i - 1].process)
			idle = 0;
		idle += map->segment[i].bytes - map->segment[i].used;
		if (idle < most && process)
			continue;
		most = idle;
		process = map->segment[i].process;
	}
	return process;
}

/* Whether all memory of the map belongs to the process. */
static int is_all_of(const struct frag_map *map, int64_t process)
{
	size_t i;

	for (i = 0; i < map->pieces; i++)
		if (map->piece[i].process != process)
			return 0;
	for (i = 0; i < map->blocks; i++)
		if (map->block[i].process != process)
			return 0;
	return 1;
}

/*
 * Finds the modes of the process with most idle bytes. Only its own allocator decides about expandable segments, and not a pool that sleeps in
 * another process.
 */
static int find_modes(struct frag_state *state, struct db *db, int64_t device)
{
	int64_t process = idlest(&state->map.map);
	int alone = is_all_of(&state->map, process), error = 0;
	struct frag_map own = { .pieces = 0 };

	if (!alone)
		error = frag_load(&own, db, device, process, &state->instant.when);
	if (!error)
		error = frag_modes(db, alone ? &state->map : &own, device, process, &state->expandable, &state->sleeps);
	if (!error)
		error = frag_pool_beside(db, process, &state->pool_beside);
	frag_release(&own);
	return error;
}

int frag_state_load(struct frag_state *state, struct db *db, int64_t device, const struct frag_instant *instant)
{
	int error;

	memset(state, 0, sizeof(*state));
	state->instant = *instant;
	error = frag_load(&state->map, db, device, 0, &instant->when);
	if (!error)
		error = frag_pins(&state->pins, db, &state->map);
	if (!error)
		error = find_modes(state, db, device);
	return error;
}

void frag_state_release(struct frag_state *state)
{
	frag_release(&state->map);
	free(state->pins.pin);
	memset(state, 0, sizeof(*state));
}

/* ---- its segments ---- */

static int by_idle(const void *a, const void *b)
{
	const struct segment *one = *(const struct segment *const *)a, *two = *(const struct segment *const *)b;
	uint64_t idle_one = one->bytes - one->used, idle_two = two->bytes - two->used;

	if (idle_one != idle_two)
		return idle_one < idle_two ? 1 : -1;
	return one < two ? -1 : one > two;
}

const struct segment **frag_sort(const struct segment_map *map)
{
	const struct segment **sorted = calloc(map->count + 1, sizeof(*sorted));
	size_t i;

	for (i = 0; i < map->count && sorted; i++)
		sorted[i] = &map->segment[i];
	if (sorted)
		qsort(sorted, map->count, sizeof(*sorted), by_idle);
	return sorted;
}
