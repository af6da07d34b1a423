/*
 * retained_batches.c - places that keep memory of several micro-batches of a step.
 *
 *     a life ─┬─ kept by a micro-batch until the last one begins ─┬─> moves of the owner ──> sorted: one place of one step after the other
 *             └─ born in one and freed in another ─────────────┘
 *
 * Memory: at most RETAINED_MOVES_MOST moves of one owner. Further moves go into a table on disk.
 */
#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/finding.h"
#include "retained_lives.h"

size_t retained_moves_room = RETAINED_MOVES_MOST;

/* A step with micro-batches; begin[first] and the following entries are the events that begin them. */
struct batch_step {
	int64_t step;
	size_t first;
	uint32_t count;
};

/* Bytes that a place allocated in a micro-batch and kept until the last one begins; with MOVE_HELD, a change of the place's held bytes. */
struct batch_move {
	uint32_t step, kind,
		number; /* indices of a step and a kind; number of the micro-batch, 0 before the first one */
	uint32_t site;  /* index of the site with the lowest node */
	int64_t bytes;
};

#define MOVE_HELD (1u << 31) /* a bit of `number` */

/* ---- the micro-batches of a process ---- */

static int add_step(struct retained_batches *batches, int64_t step)
{
	if (MT_ARRAY_ROOM(batches->step, batches->steps, batches->step_room))
		return -MT_E_MEMORY;
	batches->step[batches->steps++] = (struct batch_step){ .step = step, .first = batches->begins };
	return 0;
}

/* Steps with only two or three micro-batches are not judged. */
static void end_step(struct retained_batches *batches)
{
	const struct batch_step *newest = batches->steps ? &batches->step[batches->steps - 1] : NULL;

	if (!newest || (newest->count > GROWTH_PARTS && newest->count < RETAINED_PARTS_MAX))
		return;
	batches->begins = newest->first;
	batches->steps--;
}

static int take_begin(void *context, struct db_stmt *row)
{
	struct retained_batches *batches = context;
	int64_t step = db_int(row, 0), seq = db_int(row, 1);
	int error;

	if (!batches->steps || batches->step[batches->steps - 1].step != step) {
		end_step(batches);
		error = add_step(batches, step);
		if (error)
			return error;
	}
	if (MT_ARRAY_ROOM(batches->begin, batches->begins, batches->begin_room))
		return -MT_E_MEMORY;
	batches->begin[batches->begins++] = seq;
	batches->step[batches->steps - 1].count++;
	return 0;
}

static int load_steps(struct retained_batches *batches, int64_t process)
{
	int error;

	batches->process = process;
	batches->steps = batches->begins = 0;
	error = db_rows(batches->db,
			"SELECT step, first_seq FROM temp.batch_begin WHERE process = ?1 AND (?2 = 0 OR step = ?2) "
			"ORDER BY step, first_seq",
			DB_NUMBERS(process, batches->only), take_begin, batches);
	end_step(batches);
	return error;
}

int retained_batches_owner(struct retained_batches *batches, const struct retained_lives *lives)
{
	batches->lives = lives;
	batches->owner = &lives->owner;
	tuple_release(&batches->known);
	return batches->process == lives->owner.process ? 0 : load_steps(batches, lives->owner.process);
}

static const struct batch_step *find_step(const struct retained_batches *batches, int64_t step)
{
	size_t low = 0, high = batches->steps, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (batches->step[middle].step < step)
			low = middle + 1;
		else
			high = middle;
	}
	return low < batches->steps && batches->step[low].step == step ? &batches->step[low] : NULL;
}

/* Returns the number of micro-batches of the step that begin before the event. */
static uint32_t begun(const struct retained_batches *batches, const struct batch_step *step, int64_t seq)
{
	const int64_t *begin = batches->begin + step->first;
	uint32_t low = 0, high = step->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (begin[middle] < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- moves ---- */

static int by_place_of_move(const void *a, const void *b)
{
	const struct batch_move *one = a, *two = b;

	if (one->step != two->step)
		return MT_ORDER(one->step, two->step);
	return one->kind != two->kind ? MT_ORDER(one->kind, two->kind) : MT_ORDER(one->number, two->number);
}

/* Sorts the moves and joins equal ones. */
static void sort_moves(struct retained_batches *batches)
{
	struct batch_move *move = batches->move, *last = move, *end = move + batches->moves;
	const struct retained_site *site = batches->lives->site;

	if (!batches->moves)
		return;
	qsort(move, batches->moves, sizeof(*move), by_place_of_move);
	while (++move < end) {
		if (by_place_of_move(last, move)) {
			*++last = *move;
			continue;
		}
		last->bytes += move->bytes;
		last->site = site[move->site].node < site[last->site].node ? move->site : last->site;
	}
	batches->moves = (size_t)(last - batches->move) + 1;
}

#define MOVE_COLUMNS(X) X(step) X(kind) X(number) X(site) X(bytes)
#define SPILL_LOT 512

/* Puts the moves into temp.batch_move. 0 or an error. */
static int spill(struct retained_batches *batches)
{
#define COLUMN(name) { #name, DB_INTEGER, 0 },
	static const struct db_column column[] = { MOVE_COLUMNS(COLUMN) };
#undef COLUMN
	int64_t cell[SPILL_LOT][MT_ARRAY_SIZE(column)];
	const struct batch_move *move = batches->move, *end = move + batches->moves;
	struct db_feed *feed = NULL;
	size_t count;
	int error = db_execute(batches->db, "CREATE TEMP TABLE IF NOT EXISTS batch_move (step INTEGER, kind INTEGER, "
					    "number INTEGER, site INTEGER, bytes INTEGER)");

	if (!error)
		error = db_feed_new(&feed, batches->db, "batch_move", column, (int)MT_ARRAY_SIZE(column));
	while (!error && move < end) {
		for (count = 0; count < SPILL_LOT && move < end; count++, move++) {
			const int64_t row[] = { move->step, move->kind, move->number, move->site, move->bytes };

			memcpy(cell[count], row, sizeof(row));
		}
		error = db_feed_run(feed, cell, count);
	}
	db_feed_free(feed);
	batches->moves = 0;
	batches->spilled = 1;
	return error;
}

static int grow(struct retained_batches *batches)
{
	size_t room = batches->move_room ? batches->move_room * 2 : 256;
	struct batch_move *more = realloc(batches->move, room * sizeof(*more));

	if (!more)
		return -MT_E_MEMORY;
	batches->move = more;
	batches->move_room = room;
	return 0;
}

/* Room for one more move. 0 or an error. */
static int make_room(struct retained_batches *batches)
{
	if (batches->moves >= retained_moves_room) {
		sort_moves(batches);
		if (batches->moves > retained_moves_room / 2)
			return spill(batches);
	}
	return batches->moves == batches->move_room ? grow(batches) : 0;
}

static int add_move(struct retained_batches *batches, const struct batch_step *step, const struct retained_site *site,
		    uint32_t number, int64_t bytes)
{
	int error = make_room(batches);

	if (error)
		return error;
	batches->move[batches->moves++] = (struct batch_move){ .step = (uint32_t)(step - batches->step),
							       .kind = site->kind,
							       .number = number,
							       .site = (uint32_t)(site - batches->lives->site),
							       .bytes = bytes };
	return 0;
}

/* Kept memory counts from its micro-batch on. */
static int take_kept(struct retained_batches *batches, const struct retained_life *life)
{
	const struct batch_step *step = find_step(batches, life->step);
	int64_t last = step ? batches->begin[step->first + step->count - 1] : 0;
	uint32_t number;

	if (!step || life->alloc_seq >= last || life->since_seq > last || life->until_seq <= last ||
	    life->free_seq <= last)
		return 0;
	number = begun(batches, step, life->alloc_seq + 1);
	return number ? add_move(batches, step, life->site, number, life->bytes) : 0;
}

/* All allocations of a place count, in any phase and category: their lives separate freed from kept memory. */
static int take_gone(struct retained_batches *batches, const struct retained_life *life)
{
	const struct batch_step *step = life->until_seq == RETAINED_NEVER ? NULL : find_step(batches, life->until_step);
	uint32_t came, went;
	int error;

	if (!step || life->until_seq > batches->begin[step->first + step->count - 1])
		return 0;
	came = begun(batches, step, life->since_seq + 1);
	went = begun(batches, step, life->until_seq);
	if (went <= came)
		return 0;
	error = add_move(batches, step, life->site, came | MOVE_HELD, life->bytes);
	return error ? error : add_move(batches, step, life->site, went | MOVE_HELD, -life->bytes);
}

int retained_batches_take(struct retained_batches *batches, const struct retained_life *life)
{
	int error;

	if (!batches->steps || !life->bytes)
		return 0;
	error = take_kept(batches, life);
	return error ? error : take_gone(batches, life);
}

/* ---- one place of one step ---- */

static int64_t first_node(const struct retained_batches *batches, const struct batch_move *move)
{
	return batches->lives->site[move->site].first_node;
}

/* The end of the moves of one kind, from `move` on; *numbers: how many micro-batches kept some. */
static const struct batch_move *end_of_kind(const struct batch_move *move, const struct batch_move *end,
					    uint32_t *numbers)
{
	const struct batch_move *first = move;

	for (*numbers = 0; move < end && move->kind == first->kind; move++)
		*numbers += !(move->number & MOVE_HELD) && (move == first || move->number != move[-1].number);
	return move;
}

/* Fills `moved` from the moves of a place in a step. 0 or -MT_E_MEMORY. */
static int find_moved(struct retained_batches *batches, const struct batch_move *move, const struct batch_move *end)
{
	size_t parts = batches->step[move->step].count + 1u;
	uint64_t *more = parts > batches->moved_room ? realloc(batches->moved, parts * sizeof(*more)) : batches->moved;

	if (!more)
		return -MT_E_MEMORY;
	batches->moved = more;
	batches->moved_room = parts > batches->moved_room ? parts : batches->moved_room;
	memset(more, 0, parts * sizeof(*more));
	for (; move < end; move++)
		more[move->number & ~MOVE_HELD] += (uint64_t)move->bytes;
	return 0;
}

/* Adds the place in one step. The list keeps the worst step; the first one wins among equal ones. */
static int add_place(struct retained_batches *batches, uint32_t kind, const struct growth_place *place)
{
	const struct tuple key = { { kind } };
	uint32_t at = tuple_find(&batches->known, &key), steps;
	struct growth_place *known = at == TUPLE_NONE ? NULL : &batches->list->place[at];
	int64_t node;

	if (!known) {
		if (batches->list->count >= TUPLE_NONE ||
		    tuple_add(&batches->known, &key, (uint32_t)batches->list->count))
			return -MT_E_MEMORY;
		return growth_list_add(batches->list, place) ? 0 : -MT_E_MEMORY;
	}
	steps = known->steps + 1;
	node = known->node;
	if (place->bytes > known->bytes)
		*known = *place;
	known->steps = steps;
	known->node = node;
	return 0;
}

/* Judges the moves of one phase and category. The first part is the memory before the micro-batches. */
static int judge_kind(struct retained_batches *batches, const struct batch_move *move, const struct batch_move *end)
{
	const struct retained_site *all = batches->lives->site, *site = &all[move->site];
	const struct retained_owner *owner = batches->owner;
	const struct batch_step *step = &batches->step[move->step];
	struct growth_parts *at = &batches->at;
	struct growth_run run;
	uint32_t kind = move->kind;
	int error = growth_parts_begin(at, step->count + 1, owner->threshold);

	if (error)
		return error;
	for (; move < end && !(move->number & MOVE_HELD); move++) {
		at->kept[move->number] += (uint64_t)move->bytes;
		site = all[move->site].node < site->node ? &all[move->site] : site;
	}
	memcpy(at->held, batches->moved, at->parts * sizeof(*at->held));
	if (!growth_parts_find(at, &run))
		return 0;
	return add_place(batches, kind,
			 &(struct growth_place){ .device = owner->device,
						 .process = owner->process,
						 .pid = owner->pid,
						 .rank = owner->rank,
						 .node = site->node,
						 .first_node = site->first_node,
						 .phase = mt_phase_name(site->phase),
						 .category = mt_category_name(site->category),
						 .bytes = run.bytes,
						 .each = run.bytes / growth_covers(&run),
						 .replaced = run.kept - run.bytes,
						 .parts = run.parts,
						 .of = at->parts - 1,
						 .first = run.first,
						 .steps = 1,
						 .steps_of = (uint32_t)batches->steps,
						 .step = step->step });
}

static int judge_place(struct retained_batches *batches, const struct batch_move *move, const struct batch_move *end)
{
	const struct batch_move *first = move, *next;
	uint32_t numbers;
	int error = 0, moved = 0;

	for (; move < end && !error; move = next) {
		next = end_of_kind(move, end, &numbers);
		if (numbers < GROWTH_PARTS)
			continue;
		if (!moved)
			error = find_moved(batches, first, end);
		moved = 1;
		if (!error)
			error = judge_kind(batches, move, next);
	}
	return error;
}

/* Judges the sorted moves that are there; `last`: no more come. Those of the newest place of the newest step wait for more. */
static int judge_moves(struct retained_batches *batches, int last)
{
	struct batch_move *move = batches->move, *end = move + batches->moves, *next;
	int error = 0;

	for (; move < end && !error; move = next) {
		for (next = move;
		     next < end && next->step == move->step && first_node(batches, next) == first_node(batches, move);
		     next++)
			;
		if (next == end && !last)
			break;
		error = judge_place(batches, move, next);
	}
	batches->moves = (size_t)(end - move);
	if (batches->moves)
		memmove(batches->move, move, batches->moves * sizeof(*move));
	return error;
}

/* Reads the moves of temp.batch_move in their order, and judges them. 0 or an error. */
static int judge_spilled(struct retained_batches *batches)
{
	struct db_stmt *stmt = NULL;
	size_t due = retained_moves_room;
	int more = 0, error = spill(batches);

	if (!error)
		error = db_prepare(
			batches->db, &stmt,
			"SELECT step, kind, number, site, bytes FROM temp.batch_move ORDER BY step, kind, number");
	while (!error && (more = db_step(stmt)) > 0) {
		if (batches->moves == batches->move_room)
			error = grow(batches);
		if (error)
			break;
		batches->move[batches->moves++] = (struct batch_move){ (uint32_t)db_int(stmt, 0),
								       (uint32_t)db_int(stmt, 1),
								       (uint32_t)db_int(stmt, 2),
								       (uint32_t)db_int(stmt, 3), db_int(stmt, 4) };
		if (batches->moves < due)
			continue;
		error = judge_moves(batches, 0);
		due = batches->moves * 2 > retained_moves_room ? batches->moves * 2 : retained_moves_room;
	}
	db_finish(stmt);
	batches->spilled = 0;
	error = error ? error : more;
	if (!error)
		error = judge_moves(batches, 1);
	return error ? error : db_execute(batches->db, "DELETE FROM temp.batch_move");
}

int retained_batches_judge(struct retained_batches *batches)
{
	if (batches->spilled)
		return judge_spilled(batches);
	sort_moves(batches);
	return judge_moves(batches, 1);
}

/* ---- all of them ---- */

static int by_place(const void *a, const void *b)
{
	const struct growth_place *one = a, *two = b;
	int order;

	if (one->device != two->device)
		return MT_ORDER(one->device, two->device);
	if (one->process != two->process)
		return MT_ORDER(one->process, two->process);
	if (one->first_node != two->first_node)
		return MT_ORDER(one->first_node, two->first_node);
	order = strcmp(one->phase, two->phase);
	return order ? order : strcmp(one->category, two->category);
}

void retained_batches_finish(struct retained_batches *batches)
{
	if (batches->list->count)
		qsort(batches->list->place, batches->list->count, sizeof(*batches->list->place), by_place);
}

void retained_batches_release(struct retained_batches *batches)
{
	growth_parts_release(&batches->at);
	tuple_release(&batches->known);
	free(batches->step);
	free(batches->begin);
	free(batches->move);
	free(batches->moved);
	memset(batches, 0, sizeof(*batches));
}
