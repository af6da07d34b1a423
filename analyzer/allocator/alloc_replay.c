#include "alloc_replay.h"

#include <stdlib.h>
#include <string.h>
#include "alloc_events.h"
#include "alloc_recorded.h"
#include "memtrace/array.h"
#include "memtrace/error.h"

/* The live blocks before the first event. */
struct beginning {
	struct alloc_event *event;
	size_t count, room;
	int64_t seq; /* seq of its last event */
};

/* A model and its results. */
struct run {
	struct alloc_model *model;
	const struct alloc_scenario *scenario;
	struct alloc_outcome outcome;
	struct alloc_difference worst; /* the worst difference to the recording, with its own settings */
	size_t emptied;                /* next entry of scenario->empty_at */
	int has_pools;                 /* 1: uses the inferred pools; 0: one pool */
	int was_asked;                 /* 1: scenario->asked_bytes was tried */
	int is_recorded;
};

struct player {
	struct db *db;
	struct alloc_replay *replay;
	struct alloc_recorded recorded;
	struct alloc_scenario own; /* as recorded */
	struct beginning beginning;
	struct run *run; /* runs of this pass: as recorded, then the scenarios */
	size_t runs;
	int64_t process, device;
	int sleeps;    /* 1: a pool sleeps, and mapped memory belongs to it */
	int went_back; /* 1: memory went back since the newest tensor */
	int began;
};

/* ---- models ---- */

static uint64_t beside(const struct player *player)
{
	return player->recorded.beside;
}

static int empty(struct run *run, const struct alloc_recorded *recorded)
{
	uint32_t i;

	for (i = 0; recorded && run->has_pools && i < recorded->pools; i++)
		alloc_model_keep(run->model, i, recorded->kept[i]);
	return alloc_model_empty_cache(run->model);
}

/* Tries the scenario's request in the first pool, because its real pool is unknown. Only the result is noted. */
static int ask_for(struct run *run, const struct player *player)
{
	const uint64_t id = UINT64_MAX;
	int error;

	run->was_asked = 1;
	if (!run->scenario->asked_bytes || run->outcome.is_refused)
		return 0;
	alloc_model_beside(run->model, beside(player));
	alloc_model_limit(run->model, player->recorded.reserved + beside(player) + run->scenario->asked_free);
	error = alloc_model_take(run->model, id, run->scenario->asked_bytes, 0);
	alloc_model_limit(run->model, run->scenario->config.limit);
	if (error)
		return error == ALLOC_MODEL_REFUSED ? 0 : error;
	run->outcome.gets_asked = 1;
	alloc_model_give(run->model, id);
	return 0;
}

/* Does the scenario's actions that come before the event. */
static int prepare(struct run *run, const struct player *player, const struct alloc_event *event)
{
	const struct alloc_scenario *scenario = run->scenario;
	int error = 0;

	for (; run->emptied < scenario->empties && scenario->empty_at[run->emptied] < event->seq && !error;
	     run->emptied++)
		error = empty(run, NULL);
	if (!error && player->went_back)
		error = empty(run, &player->recorded);
	if (!error && !run->was_asked && scenario->asked_seq < event->seq)
		error = ask_for(run, player);
	alloc_model_beside(run->model, beside(player));
	return error;
}

static int take(struct run *run, const struct alloc_event *event, uint32_t pool)
{
	int error = alloc_model_take(run->model, event->id, event->bytes, run->has_pools ? pool : 0);

	if (error != ALLOC_MODEL_REFUSED)
		return error;
	run->outcome.is_refused = 1;
	run->outcome.refused_request = alloc_model_state(run->model)->requests;
	run->outcome.refused_bytes = event->bytes;
	run->outcome.refused_seq = event->seq;
	run->outcome.refused_time = event->time;
	return 0;
}

static void look(struct run *run, const struct player *player, const struct alloc_event *event)
{
	const struct alloc_state *state = alloc_model_state(run->model);
	uint64_t reserved = state->reserved + beside(player), truth = player->recorded.reserved + beside(player);
	struct alloc_outcome *outcome = &run->outcome;
	struct alloc_difference *worst = &run->worst;

	if (reserved > outcome->peak_reserved) {
		outcome->peak_reserved = reserved;
		outcome->peak_seq = event->seq;
		outcome->peak_time = event->time;
	}
	if (state->allocated > outcome->peak_allocated)
		outcome->peak_allocated = state->allocated;
	outcome->end_reserved = reserved;
	outcome->retries = state->retries;
	if (run->is_recorded &&
	    llabs((long long)(reserved - truth)) > llabs((long long)(worst->modelled - worst->recorded)))
		*worst = (struct alloc_difference){ truth, reserved, event->seq, event->time };
}

/* ---- the beginning ---- */

static int by_address(const void *a, const void *b)
{
	const struct alloc_event *one = a, *two = b;

	if (one->kind != two->kind)
		return one->kind == ALLOC_EVENT_PIECE ? -1 : 1;
	return one->addr != two->addr ? (one->addr < two->addr ? -1 : 1) : 0;
}

static int remember(struct beginning *beginning, const struct alloc_event *event)
{
	if (MT_ARRAY_ROOM(beginning->event, beginning->count, beginning->room))
		return -MT_E_MEMORY;
	beginning->event[beginning->count++] = *event;
	return 0;
}

/* Whether a piece of the beginning is small: a segment by its size, a page by the first tensor of its run of pages. */
static int is_small(const struct player *player, size_t piece, size_t pieces)
{
	const struct beginning *beginning = &player->beginning;
	const struct alloc_event *event = beginning->event;
	uint64_t end = event[piece].addr + event[piece].bytes;
	size_t i, low = pieces, high = beginning->count;

	if (!player->own.config.expandable)
		return event[piece].bytes <= ALLOC_SMALL_SEGMENT;
	for (i = piece + 1; i < pieces && event[i].addr == end; i++)
		end += event[i].bytes;
	while (low < high) {
		i = (low + high) / 2;
		if (event[i].addr < event[piece].addr)
			low = i + 1;
		else
			high = i;
	}
	return low < beginning->count && event[low].addr < end && event[low].bytes <= ALLOC_SMALL_MAX;
}

/* Begins a run with the recorded addresses, in their order; pieces come first. */
static int begin_run(struct run *run, const struct player *player, size_t pieces)
{
	const struct beginning *beginning = &player->beginning;
	const struct alloc_event *event;
	uint32_t pool;
	size_t i;
	int error = 0;

	for (i = 0; i < beginning->count && error >= 0; i++) {
		event = &beginning->event[i];
		pool = alloc_recorded_pool(&player->recorded, event->addr);
		if (pool == ALLOC_RECORDED_BESIDE)
			continue;
		pool = run->has_pools ? pool : 0;
		if (i < pieces)
			error = alloc_model_begin_segment(run->model, event->addr, event->bytes, pool,
							  is_small(player, i, pieces));
		else
			error = alloc_model_begin_block(run->model, event->id, event->addr, event->bytes);
		if (i >= pieces && error == 1)
			error = take(run, event, pool);
	}
	return error < 0 ? error : 0;
}

/* Begins a run with the tensors alone, requested in the order of their births. */
static int begin_anew(struct run *run, const struct player *player)
{
	const struct beginning *beginning = &player->beginning;
	uint32_t pool;
	size_t i;
	int error = 0;

	for (i = 0; i < beginning->count && !error && !run->outcome.is_refused; i++) {
		if (beginning->event[i].kind != ALLOC_EVENT_TENSOR)
			continue;
		pool = alloc_recorded_pool(&player->recorded, beginning->event[i].addr);
		if (pool != ALLOC_RECORDED_BESIDE)
			error = take(run, &beginning->event[i], pool);
	}
	return error;
}

static int begin_recorded(struct player *player)
{
	struct beginning *beginning = &player->beginning;
	const struct alloc_event *event;
	uint32_t pool;
	size_t i;
	int error = 0;

	for (i = 0; i < beginning->count && !error; i++) {
		event = &beginning->event[i];
		if (event->kind == ALLOC_EVENT_PIECE)
			error = alloc_recorded_piece(&player->recorded,
						     &(struct alloc_piece){ event->addr, event->bytes,
									    event->is_beside });
		else
			error = alloc_recorded_tensor(&player->recorded, event->id, event->addr, event->bytes, 1,
						      &pool);
	}
	return error;
}

static int begin(struct player *player)
{
	struct beginning *beginning = &player->beginning;
	struct alloc_event *by_birth = malloc((beginning->count + 1) * sizeof(*by_birth)), *sorted = beginning->event;
	size_t pieces = 0, i;
	int error = by_birth ? 0 : -MT_E_MEMORY;

	player->began = 1;
	if (!error && beginning->count) {
		memcpy(by_birth, sorted, beginning->count * sizeof(*sorted));
		qsort(sorted, beginning->count, sizeof(*sorted), by_address);
		error = begin_recorded(player);
	}
	while (pieces < beginning->count && sorted[pieces].kind == ALLOC_EVENT_PIECE)
		pieces++;
	for (i = 0; i < player->runs && !error; i++)
		if (player->run[i].scenario->config.expandable == player->own.config.expandable)
			error = begin_run(&player->run[i], player, pieces);
	beginning->event = by_birth;
	beginning->room = by_birth ? beginning->count + 1 : 0; /* foreign events may be out of order */
	for (i = 0; i < player->runs && !error; i++)
		if (player->run[i].scenario->config.expandable != player->own.config.expandable)
			error = begin_anew(&player->run[i], player);
	player->replay->began_bytes = player->recorded.reserved;
	free(sorted);
	return error;
}

/* Resets the player to the beginning. */
static int again(struct player *player)
{
	const struct alloc_replay none = { 0 };

	player->began = player->went_back = 0;
	player->beginning.count = 0;
	*player->replay = none;
	return alloc_recorded_again(&player->recorded, &player->own.config);
}

/* ---- event by event ---- */

static int pieces_event(struct player *player, const struct alloc_event *event)
{
	if (event->kind == ALLOC_EVENT_PIECE)
		return alloc_recorded_piece(&player->recorded,
					    &(struct alloc_piece){ event->addr, event->bytes, event->is_beside });
	player->went_back |= !event->is_beside;
	alloc_recorded_piece_gone(&player->recorded, event->addr);
	return 0;
}

static int run_event(struct run *run, const struct player *player, const struct alloc_event *event, uint32_t pool)
{
	int error;

	if (run->outcome.is_refused)
		return 0;
	error = prepare(run, player, event);
	if (!error && event->kind == ALLOC_EVENT_TENSOR && pool != ALLOC_RECORDED_BESIDE)
		error = take(run, event, pool);
	else if (!error)
		alloc_model_give(run->model, event->id);
	if (!error && !run->outcome.is_refused)
		look(run, player, event);
	return error;
}

static void look_at_recorded(struct player *player, const struct alloc_event *event)
{
	struct alloc_replay *replay = player->replay;
	uint64_t reserved = player->recorded.reserved + beside(player);

	replay->moments++;
	if (beside(player) > replay->beside_bytes)
		replay->beside_bytes = beside(player);
	if (reserved <= replay->recorded_peak)
		return;
	replay->recorded_peak = reserved;
	replay->recorded_seq = event->seq;
	replay->recorded_time = event->time;
}

static int tensor_event(struct player *player, const struct alloc_event *event)
{
	uint32_t pool = 0;
	size_t i;
	int error = 0;

	if (player->went_back)
		error = alloc_recorded_flush(&player->recorded);
	if (error)
		return error;
	if (event->kind == ALLOC_EVENT_TENSOR)
		error = alloc_recorded_tensor(&player->recorded, event->id, event->addr, event->bytes, 0, &pool);
	else
		alloc_recorded_tensor_gone(&player->recorded, event->id);
	player->replay->requests += event->kind == ALLOC_EVENT_TENSOR && pool != ALLOC_RECORDED_BESIDE;
	for (i = 0; i < player->runs && !error; i++)
		error = run_event(&player->run[i], player, event, pool);
	player->went_back = 0;
	look_at_recorded(player, event);
	return error;
}

static int play(struct player *player)
{
	struct alloc_events events;
	struct alloc_event event;
	int more = 0, error = alloc_events_open(&events, player->db, player->process, player->device, player->sleeps);
	size_t i;

	while (!error && (more = alloc_events_next(&events, &event)) == 1) {
		if (event.seq <= player->beginning.seq &&
		    (event.kind == ALLOC_EVENT_PIECE || event.kind == ALLOC_EVENT_TENSOR)) {
			error = remember(&player->beginning, &event);
			continue;
		}
		if (!player->began)
			error = begin(player);
		if (!error && (event.kind == ALLOC_EVENT_PIECE || event.kind == ALLOC_EVENT_PIECE_GONE))
			error = pieces_event(player, &event);
		else if (!error)
			error = tensor_event(player, &event);
	}
	if (!error && more >= 0 && !player->began)
		error = begin(player);
	for (i = 0; i < player->runs && !error && more >= 0; i++)
		if (!player->run[i].was_asked)
			error = ask_for(&player->run[i], player);
	alloc_events_close(&events);
	return error ? error : more;
}

/* ---- facts needed before the first event ---- */

static int find_kind(struct player *player)
{
	static const char sleeps[] =
		"SELECT EXISTS (SELECT 1 FROM site WHERE process = ?1 AND device = ?2 "
		"AND owner IN ('vllm cumem', 'torch_memory_saver')) "
		"OR EXISTS (SELECT 1 FROM resident_span JOIN allocation ON allocation.id = allocation "
		"WHERE process = ?1 AND device = ?2)";
	static const char mapped[] =
		"SELECT EXISTS (SELECT 1 FROM reserved_range WHERE process = ?1 AND device = ?2 AND mapped AND tensors_inside)";
	static const char start[] = "SELECT seq FROM named_moment WHERE name = 'start' AND process = ?1 AND device = ?2";
	const int64_t of[DB_PARAMETERS] = { player->process, player->device };
	int64_t value = 0;
	int error = db_number(player->db, sleeps, of, &value);

	player->sleeps = value != 0;
	value = 0;
	if (!error)
		error = db_number(player->db, mapped, of, &value);
	player->own.config.expandable = value && !player->sleeps;
	return error ? error : db_number(player->db, start, of, &player->beginning.seq);
}

/* Makes the runs: as recorded, then the scenarios. */
static int make_runs(struct player *player, struct run *run, const struct alloc_scenario *scenario, size_t count)
{
	size_t i;

	player->run = run;
	player->runs = count + 1;
	for (i = 0; i < player->runs; i++) {
		run[i].scenario = i ? &scenario[i - 1] : &player->own;
		run[i].has_pools = !player->recorded.layout || player->recorded.has_learned;
		run[i].is_recorded = !i;
		run[i].model = alloc_model_new(&run[i].scenario->config);
		if (!run[i].model)
			return -MT_E_MEMORY;
	}
	return 0;
}

static void drop_models(struct player *player)
{
	size_t i;

	for (i = 0; i < player->runs; i++) {
		alloc_model_free(player->run[i].model);
		player->run[i].model = NULL;
	}
}

/* One pass over the events. */
static int play_all(struct player *player, struct run *run, const struct alloc_scenario *scenario, size_t count)
{
	int error = make_runs(player, run, scenario, count);

	if (!error)
		error = play(player);
	drop_models(player);
	return error;
}

static uint64_t distance(uint64_t one, uint64_t two)
{
	return one < two ? two - one : one - two;
}

/* Whether a run comes nearer to the recording: at its peak, then at the worst moment. */
static int is_nearer(const struct run *one, const struct run *other, uint64_t peak)
{
	uint64_t off_one = distance(one->outcome.peak_reserved, peak);
	uint64_t off_other = distance(other->outcome.peak_reserved, peak);

	if (off_one != off_other)
		return off_one < off_other;
	return distance(one->worst.modelled, one->worst.recorded) <
	       distance(other->worst.modelled, other->worst.recorded);
}

static void tell(struct alloc_replay *replay, struct alloc_outcome *outcome, const struct run *run, size_t count)
{
	size_t i;

	replay->modelled = run->outcome;
	replay->worst = run->worst;
	for (i = 0; i < count; i++)
		outcome[i] = run[i + 1].outcome;
}

/* Replays with one pool; if this finds several pools, replays once more with them. */
static int play_both(struct player *player, struct alloc_outcome *outcome, const struct alloc_scenario *scenario,
		     size_t count)
{
	struct run *run = calloc(2 * (count + 1), sizeof(*run)), *best = run;
	struct alloc_replay *replay = player->replay;
	int error = run ? play_all(player, run, scenario, count) : -MT_E_MEMORY;

	replay->pools = player->recorded.layout ? 1 : player->recorded.pools;
	if (!error && player->recorded.layout && player->recorded.pools > 1) {
		error = again(player);
		if (!error)
			error = play_all(player, run + count + 1, scenario, count);
		if (!error && is_nearer(run + count + 1, run, replay->recorded_peak))
			best = run + count + 1;
		replay->pools = best == run ? 1 : player->recorded.pools;
	}
	replay->is_expandable = player->own.config.expandable;
	if (!error)
		tell(replay, outcome, best, count);
	free(run);
	return error;
}

int alloc_replay(struct alloc_replay *replay, struct alloc_outcome *outcome, const struct alloc_scenario *scenario,
		 size_t count, struct db *db, int64_t process, int64_t device, const struct alloc_config *recorded)
{
	struct player player = { .db = db, .replay = replay, .process = process, .device = device };
	int error;

	memset(replay, 0, sizeof(*replay));
	player.own.config = *recorded;
	error = find_kind(&player);
	if (!error)
		error = alloc_recorded_init(&player.recorded, &player.own.config);
	if (!error)
		error = play_both(&player, outcome, scenario, count);
	free(player.beginning.event);
	alloc_recorded_release(&player.recorded);
	return error;
}

double alloc_replay_error(const struct alloc_replay *replay)
{
	uint64_t peak = replay->recorded_peak;

	return peak ? (double)distance(replay->modelled.peak_reserved, peak) / (double)peak : 0;
}

double alloc_replay_worst(const struct alloc_replay *replay)
{
	uint64_t peak = replay->recorded_peak;

	return peak ? (double)distance(replay->worst.modelled, replay->worst.recorded) / (double)peak : 0;
}
