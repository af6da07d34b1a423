#include "moves.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "timeline/tape.h"

#define THINNED_PART(most) ((most)*2 / 5)
#define STRETCHES 32768u /* largest number of stretches after the first thinning */
#define SHIFT_MAX 62u

/* Makes room for one more item. Returns 0 or -MT_E_x. */
static int grow(void **array, uint32_t count, uint32_t *room, size_t size)
{
	size_t wanted = *room ? (size_t)*room * 2 : 1024;
	void *grown;

	if (count < *room)
		return 0;
	if (wanted > UINT32_MAX)
		return -MT_E_LIMIT;
	grown = realloc(*array, wanted * size);
	if (!grown)
		return -MT_E_MEMORY;
	*array = grown;
	*room = (uint32_t)wanted;
	return 0;
}

const struct moves_move *moves_of(const struct moves *moves, uint32_t change, uint32_t *count)
{
	uint32_t first = moves->change[change].first;

	*count = (change + 1 < moves->changes ? moves->change[change + 1].first : moves->moves) - first;
	return &moves->move[first];
}

/* ---- sums over changes ------------------------------------------------------------------------------------------- */

static int grow_cells(struct moves_all *all, uint32_t cell)
{
	uint32_t cells = cell < 1024 ? 2048 : cell + cell / 2 + 1;
	struct moves_net *net = realloc(all->net, cells * sizeof(*net));
	uint32_t *touched = net ? realloc(all->touched, cells * sizeof(*touched)) : NULL;

	if (net)
		all->net = net;
	if (touched)
		all->touched = touched;
	if (!touched)
		return -MT_E_MEMORY;
	memset(net + all->cells, 0, (cells - all->cells) * sizeof(*net));
	all->cells = cells;
	return 0;
}

static void fold(struct moves_all *all, uint32_t device, const struct moves_move *move)
{
	struct moves_net *net = &all->net[move->cell];

	net->device = device;
	if (!net->is_touched) {
		net->is_touched = 1;
		all->touched[all->touches++] = move->cell;
	}
	net->bytes += move->bytes;
	net->count += move->count;
}

static int by_cell(const void *one, const void *two)
{
	const uint32_t *a = one, *b = two;

	return (*a > *b) - (*a < *b);
}

/*
 * Writes the folded sums as moves from `into` on, in the order of their cells. Returns their end. The room is large
 * enough, because each sum replaces one or more moves.
 */
static uint32_t unfold(struct moves_all *all, struct moves *moves, uint32_t into)
{
	struct moves_net *net;
	uint32_t i;

	if (all->touches > 1)
		qsort(all->touched, all->touches, sizeof(*all->touched), by_cell);
	for (i = 0; i < all->touches; i++) {
		net = &all->net[all->touched[i]];
		if (net->bytes || net->count)
			moves->move[into++] = (struct moves_move){ .cell = all->touched[i],
								   .count = (int32_t)net->count,
								   .bytes = net->bytes };
		*net = (struct moves_net){ 0 };
	}
	all->touches = 0;
	return into;
}

/* ---- thinning ---------------------------------------------------------------------------------------------------- */

/* Bytes after a change. */
struct level {
	int64_t held, used;
};

static void rise(struct level *level, const struct moves_move *move)
{
	level->held += move->bytes;
	level->used += TAPE_IS_SLACK(move->cell) ? 0 : move->bytes;
}

/* The changes of a stretch that are kept: most bytes held, most bytes in use, fewest bytes in use. */
struct chosen {
	uint32_t held, most, least;
};

/*
 * Chooses among the changes from `from` to `to` - 1. *level: bytes before the first and, afterwards, after the last
 * one.
 */
static struct chosen choose(const struct moves *moves, uint32_t from, uint32_t to, struct level *level)
{
	struct chosen chosen = { from, from, from };
	struct level held = { 0, 0 }, most = { 0, 0 }, least = { 0, 0 };
	const struct moves_move *move;
	uint32_t i, j, count;

	for (i = from; i < to; i++) {
		move = moves_of(moves, i, &count);
		for (j = 0; j < count; j++)
			rise(level, &move[j]);
		if (i == from || level->held > held.held || (level->held == held.held && level->used > held.used)) {
			held = *level;
			chosen.held = i;
		}
		if (i == from || level->used > most.used) {
			most = *level;
			chosen.most = i;
		}
		if (i == from || level->used < least.used) {
			least = *level;
			chosen.least = i;
		}
	}
	return chosen;
}

/* The state of a thinning. */
struct thinning {
	struct moves_all *all;
	struct moves *moves;
	uint32_t changes, moved; /* number of changes and moves that are written */
	uint32_t mark;           /* index of the next mark */
	uint32_t peak;
};

/* 1: a mark, the peak or the end needs the change. Sets its marks to the new position of the change. */
static int is_marked(struct thinning *thinning, uint32_t change)
{
	struct moves *moves = thinning->moves;
	struct moves_mark *mark;
	int is = change + 1 == moves->changes;

	if (change + 1 == moves->peak) {
		thinning->peak = thinning->changes + 1;
		is = 1;
	}
	for (; thinning->mark < moves->marks; thinning->mark++) {
		mark = &moves->mark[thinning->mark];
		if (mark->changes > change + 1)
			break;
		is |= mark->changes == change + 1;
		mark->changes = mark->changes ? thinning->changes + 1 : 0;
	}
	return is;
}

static void take(struct thinning *thinning, const struct chosen *chosen, uint32_t change)
{
	struct moves *moves = thinning->moves;
	const struct moves_move *move;
	int64_t time = moves->change[change].time;
	uint32_t i, count, first = thinning->moved;

	move = moves_of(moves, change, &count);
	for (i = 0; i < count; i++)
		fold(thinning->all, 0, &move[i]);
	if (!is_marked(thinning, change) && change != chosen->held && change != chosen->most && change != chosen->least)
		return;
	thinning->moved = unfold(thinning->all, moves, first);
	moves->change[thinning->changes++] = (struct moves_change){ .time = time, .first = first };
}

/* Thins in place: the written changes always lie before the changes that are still to be read. */
static void thin_to(struct moves_all *all, struct moves *moves, unsigned shift)
{
	struct thinning thinning = { .all = all, .moves = moves };
	struct level level = { 0, 0 };
	struct chosen chosen;
	uint32_t from, to, i;

	for (from = 0; from < moves->changes; from = to) {
		for (to = from + 1; to < moves->changes; to++)
			if (moves->change[to].time >> shift != moves->change[from].time >> shift)
				break;
		chosen = choose(moves, from, to, &level);
		for (i = from; i < to; i++)
			take(&thinning, &chosen, i);
	}
	all->moves -= moves->moves - thinning.moved;
	moves->changes = moves->thinned = thinning.changes;
	moves->moves = thinning.moved;
	moves->peak = thinning.peak;
	moves->shift = shift;
}

static unsigned first_shift(const struct moves *moves)
{
	uint64_t range = (uint64_t)(moves->change[moves->changes - 1].time - moves->change[0].time);
	unsigned shift = 1;

	while (shift < SHIFT_MAX && range >> shift > STRETCHES)
		shift++;
	return shift;
}

/* The next width of stretches: first, new changes are thinned like the older ones; then all are thinned further. */
static unsigned next_shift(const struct moves *moves)
{
	if (!moves->shift)
		return first_shift(moves);
	return moves->changes > moves->thinned ? moves->shift : moves->shift + 1;
}

/* Thins the device with the most moves, until all devices together have at most `wanted` moves. */
static void thin(struct moves_all *all, uint64_t wanted)
{
	struct moves *most;
	uint32_t i;

	while (all->moves > wanted) {
		most = &all->device[0];
		for (i = 1; i < all->devices; i++)
			if (all->device[i].moves > most->moves)
				most = &all->device[i];
		if (most->shift == SHIFT_MAX)
			break;
		thin_to(all, most, next_shift(most));
	}
}

static int is_thinned(const struct moves_all *all)
{
	uint32_t i;

	for (i = 0; i < all->devices; i++)
		if (all->device[i].shift)
			return 1;
	return 0;
}

/* ---- changes of the run ------------------------------------------------------------------------------------------ */

static struct moves *device_of(struct moves_all *all, uint32_t device)
{
	struct moves *grown;

	if (device < all->devices)
		return &all->device[device];
	grown = realloc(all->device, ((size_t)device + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + all->devices, 0, (device + 1 - all->devices) * sizeof(*grown));
	all->device = grown;
	all->devices = device + 1;
	return &grown[device];
}

/*
 * Adds a move to a move of the same cell in the change, if there is one: the count often comes after the bytes. 1:
 * added.
 */
static int is_joined(struct moves *moves, const struct moves_move *move)
{
	uint32_t first = moves->change[moves->changes - 1].first, i;
	struct moves_move *known;

	for (i = moves->moves; i-- > first && moves->moves - i <= 4;) {
		known = &moves->move[i];
		if (known->cell == move->cell) {
			known->bytes += move->bytes;
			known->count += move->count;
			return 1;
		}
	}
	return 0;
}

static int begin_change(struct moves *moves, uint64_t serial, int64_t time)
{
	void *array = moves->change;
	int error = grow(&array, moves->changes, &moves->change_room, sizeof(*moves->change));

	moves->change = array;
	if (error)
		return error;
	if (moves->changes && time < moves->change[moves->changes - 1].time)
		time = moves->change[moves->changes - 1].time;
	moves->change[moves->changes++] = (struct moves_change){ .time = time, .first = moves->moves };
	moves->serial = serial;
	moves->told++;
	return 0;
}

static int append(struct moves_all *all, struct moves *moves, const struct moves_move *move)
{
	void *array = moves->move;
	int error = grow(&array, moves->moves, &moves->move_room, sizeof(*moves->move));

	moves->move = array;
	if (error)
		return error;
	moves->move[moves->moves++] = *move;
	all->moves++;
	return 0;
}

/* Writes the memory from before the range as one change of each device, at the beginning of the range. */
static int begin_range(struct moves_all *all)
{
	struct moves_move move;
	struct moves *moves;
	uint32_t i;
	int error = 0;

	all->is_in_range = 1;
	for (i = 0; i < all->touches && !error; i++) {
		struct moves_net *net = &all->net[all->touched[i]];

		move = (struct moves_move){ all->touched[i], (int32_t)net->count, net->bytes };
		moves = &all->device[net->device];
		*net = (struct moves_net){ 0 };
		if (!moves->changes)
			error = begin_change(moves, 0, all->range_first);
		if (!error && (move.bytes || move.count))
			error = append(all, moves, &move);
	}
	all->touches = 0;
	return error;
}

int moves_add(struct moves_all *all, uint32_t device, uint64_t serial, int64_t time, const struct moves_move *move)
{
	struct moves *moves = device_of(all, device);
	int error = moves ? 0 : -MT_E_MEMORY;

	if (!error && move->cell >= all->cells)
		error = grow_cells(all, move->cell);
	if (error || time > all->range_last)
		return error;
	if (time < all->range_first) {
		fold(all, device, move);
		return 0;
	}
	if (!all->is_in_range)
		error = begin_range(all);
	if (!error && (!moves->changes || moves->serial != serial)) {
		if (all->moves > all->most)
			thin(all, all->most / 2);
		error = begin_change(moves, serial, time);
	}
	return error || is_joined(moves, move) ? error : append(all, moves, move);
}

static int is_outside(const struct moves_all *all, int64_t time)
{
	return time < all->range_first || time > all->range_last;
}

int moves_peak(struct moves_all *all, uint32_t device, int64_t time)
{
	struct moves *moves = device_of(all, device);

	if (moves)
		moves->peak = is_outside(all, time) ? 0 : moves->changes;
	return moves ? 0 : -MT_E_MEMORY;
}

int moves_oom(struct moves_all *all, uint32_t device, int64_t time, int64_t oom)
{
	struct moves *moves = device_of(all, device);
	void *array = moves ? moves->mark : NULL;
	int error = moves ? grow(&array, moves->marks, &moves->mark_room, sizeof(*moves->mark)) : -MT_E_MEMORY;

	if (error)
		return error;
	moves->mark = array;
	if (!is_outside(all, time))
		moves->mark[moves->marks++] = (struct moves_mark){ .changes = moves->changes, .oom = oom };
	return 0;
}

/* ---- cells of two sites ------------------------------------------------------------------------------------------ */

static int64_t kept(int64_t held, int64_t share)
{
	return held < share ? held : share;
}

/* Appends a move. A move of a cell with a share becomes up to two moves: of this cell and of the other one. */
static int add_shared(struct moves_all *all, struct moves *into, const struct moves_move *move,
		      const struct moves_share *share)
{
	struct moves_move keeps = *move, rest = *move;
	struct moves_net *net;
	int error = 0;

	if (!share)
		return append(all, into, move);
	net = &all->net[move->cell];
	keeps.bytes = kept(net->bytes + move->bytes, share->bytes) - kept(net->bytes, share->bytes);
	keeps.count = (int32_t)(kept(net->count + move->count, share->count) - kept(net->count, share->count));
	net->bytes += move->bytes;
	net->count += move->count;
	rest.cell = share->to;
	rest.bytes -= keeps.bytes;
	rest.count -= keeps.count;
	if (keeps.bytes || keeps.count)
		error = append(all, into, &keeps);
	if (!error && (rest.bytes || rest.count))
		error = append(all, into, &rest);
	return error;
}

static int split_device(struct moves_all *all, struct moves *moves, const struct moves_share *const *share_of)
{
	struct moves split = { 0 };
	const struct moves_move *move;
	uint32_t i, j, count, first;
	int error = 0;

	for (i = 0; i < moves->changes && !error; i++) {
		first = split.moves;
		move = moves_of(moves, i, &count);
		for (j = 0; j < count && !error; j++)
			error = add_shared(all, &split, &move[j], share_of[move[j].cell]);
		moves->change[i].first = first;
	}
	all->moves -= moves->moves;
	free(moves->move);
	moves->move = split.move;
	moves->moves = split.moves;
	moves->move_room = split.move_room;
	return error;
}

static int split(struct moves_all *all, const struct moves_share *share, uint32_t shares)
{
	const struct moves_share **share_of;
	uint32_t i;
	int error = 0;

	for (i = 0; i < shares && !error; i++)
		if (share[i].to >= all->cells)
			error = grow_cells(all, share[i].to);
	share_of = calloc((size_t)all->cells + 1, sizeof(*share_of));
	if (!share_of)
		error = -MT_E_MEMORY;
	for (i = 0; i < shares && !error; i++)
		if (share[i].from < all->cells)
			share_of[share[i].from] = &share[i];
	for (i = 0; i < all->devices && !error; i++)
		error = split_device(all, &all->device[i], share_of);
	free(share_of);
	for (i = 0; i < all->cells; i++)
		all->net[i] = (struct moves_net){ 0 };
	return error;
}

int moves_finish(struct moves_all *all, const struct moves_share *share, uint32_t shares)
{
	uint32_t i;
	int error = all->is_in_range ? 0 : begin_range(all);

	for (i = 0; i < all->devices && !error; i++)
		if (all->device[i].shift)
			thin_to(all, &all->device[i], all->device[i].shift);
	if (!error && is_thinned(all))
		thin(all, THINNED_PART(all->most));
	return !error && shares ? split(all, share, shares) : error;
}

void moves_release(struct moves_all *all)
{
	uint32_t i;

	for (i = 0; i < all->devices; i++) {
		free(all->device[i].change);
		free(all->device[i].move);
		free(all->device[i].mark);
	}
	free(all->device);
	free(all->net);
	free(all->touched);
	memset(all, 0, sizeof(*all));
}
