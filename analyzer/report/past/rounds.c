#include "rounds.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "past_impl.h"
#include "query/package.h"
#include "query/stack_tree.h"
#include "report/answer.h"

#define SERIES_LEAST 3   /* fewer are no series */
#define ROUGHLY 512      /* bytes of a piece, by which allocators round */
#define CALLERS_MAX 256u /* what more there are of says nothing new */

struct caller {
	const struct callstack_frame **frame; /* out of the function, innermost first */
	size_t count;
};

struct event {
	uint32_t caller;
	int64_t seq;
	int64_t bytes; /* below 0: so many go */
};

struct round_site {
	int64_t id;
	uint32_t caller;
};

struct round {
	uint64_t pieces, made, bytes; /* there; of it so far; there */
	uint64_t past; /* bytes that were there with the piece that is asked for now; 0: it has not come so far */
	uint64_t past_pieces, most, most_pieces;
};

struct search {
	const struct rounds_question *question;
	struct db *db;
	struct rounds *out;
	struct stack_tree *tree;
	struct callstack stack;
	const struct callstack_frame *function;
	struct caller caller[CALLERS_MAX]; /* [0]: of the request */
	uint32_t callers;
	struct round_site *site; /* by id */
	size_t sites, site_room;
	struct event *event;
	size_t events, event_room;
	struct round now; /* the one that failed */
};

/* ---- who calls it ---- */

static int is_function(const struct search *search, const struct callstack_frame *frame)
{
	return !strcmp(frame->function, search->function->function) && !strcmp(frame->file, search->function->file);
}

/* Frames of one tree are one frame where they are one line. CALLERS_MAX: there are too many. */
static int find_caller(struct search *search, size_t function, uint32_t *at)
{
	const struct callstack *stack = &search->stack;
	size_t count = stack->count - function - 1;
	struct caller *caller;

	for (*at = 0; *at < search->callers; ++*at) {
		caller = &search->caller[*at];
		if (caller->count == count && (!count || !memcmp(caller->frame, stack->frame + function + 1,
								 count * sizeof(struct callstack_frame *))))
			return 0;
	}
	if (*at == CALLERS_MAX)
		return 0;
	caller = &search->caller[*at];
	caller->frame = malloc((count + 1) * sizeof(struct callstack_frame *));
	if (!caller->frame)
		return -MT_E_MEMORY;
	if (count)
		memcpy(caller->frame, stack->frame + function + 1, count * sizeof(struct callstack_frame *));
	caller->count = count;
	search->callers++;
	return 0;
}

/* The innermost function of the request's stack that is somebody's: PyTorch's below it are on every stack. 1, 0 or an error. */
static int find_function(struct search *search)
{
	uint32_t at;
	size_t i;
	int error = stack_tree_load(search->tree, search->question->node, &search->stack);

	for (i = 0; !error && i < search->stack.count && package_is_nobodys(search->stack.frame[i]); i++)
		;
	if (error || i == search->stack.count || !*search->stack.frame[i]->function)
		return error;
	search->function = search->stack.frame[i];
	error = find_caller(search, i, &at);
	return error ? error : 1;
}

static int take_site(void *context, struct db_stmt *row)
{
	struct search *search = context;
	uint32_t at = CALLERS_MAX;
	void *grown;
	size_t i;
	int error = stack_tree_load(search->tree, db_int(row, 1), &search->stack);

	for (i = 0; !error && i < search->stack.count && !is_function(search, search->stack.frame[i]); i++)
		;
	if (!error && i < search->stack.count)
		error = find_caller(search, i, &at);
	if (error || at == CALLERS_MAX)
		return error;
	grown = past_room(search->site, search->sites, &search->site_room, sizeof(*search->site));
	if (!grown)
		return -MT_E_MEMORY;
	search->site = grown;
	search->site[search->sites++] = (struct round_site){ .id = db_int(row, 0), .caller = at };
	return 0;
}

/* ---- what it made ---- */

static int add_event(struct search *search, uint32_t caller, int64_t seq, int64_t bytes)
{
	void *grown = past_room(search->event, search->events, &search->event_room, sizeof(*search->event));

	if (!grown)
		return -MT_E_MEMORY;
	search->event = grown;
	search->event[search->events++] = (struct event){ caller, seq, bytes };
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct round_site *one = a, *two = b;

	return (one->id > two->id) - (one->id < two->id);
}

static int take_life(void *context, struct db_stmt *row)
{
	struct search *search = context;
	const struct round_site key = { .id = db_int(row, 0) };
	const struct round_site *site = bsearch(&key, search->site, search->sites, sizeof(key), by_id);
	int64_t bytes = db_int(row, 1), freed = db_int(row, 3);
	int error;

	if (!site || bytes <= 0)
		return 0;
	error = add_event(search, site->caller, db_int(row, 2), bytes);
	return error || db_type(row, 3) == DB_NULL || freed > search->question->seq
		       ? error
		       : add_event(search, site->caller, freed, -bytes);
}

static int by_caller(const void *a, const void *b)
{
	const struct event *one = a, *two = b;

	if (one->caller != two->caller)
		return one->caller < two->caller ? -1 : 1;
	return (one->seq > two->seq) - (one->seq < two->seq);
}

static int read_events(struct search *search)
{
	static const char sites[] =
		"SELECT id, node FROM site WHERE process = ?1 AND device = ?2 AND memory = 'tensor' AND node IS NOT NULL ORDER BY id";
	static const char lives[] =
		"SELECT site, bytes, alloc_seq, free_seq FROM allocation_raw WHERE process = ?1 AND memory = 'tensor' AND alloc_seq < ?3";
	const struct rounds_question *question = search->question;
	const int64_t parameter[ANSWER_PARAMETERS] = { question->process, question->device, question->seq };
	int error = answer_rows(search->db, sites, parameter, take_site, search);

	if (!error && search->sites)
		error = answer_rows(search->db, lives, parameter, take_life, search);
	if (!error && search->events)
		qsort(search->event, search->events, sizeof(*search->event), by_caller);
	return error;
}

/* ---- its rounds ---- */

static int is_near(uint64_t one, uint64_t two, uint64_t by)
{
	return (one > two ? one - two : two - one) <= by;
}

static void end_round(struct search *search, struct round *round)
{
	struct rounds *out = search->out;
	uint64_t more = round->most - round->past;

	if (round->past) {
		if (!out->found || more < out->least) {
			out->least = more;
			out->least_pieces = round->most_pieces > round->past_pieces
						    ? round->most_pieces - round->past_pieces
						    : 0;
		}
		out->most = !out->found || more > out->most ? more : out->most;
		out->found++;
	}
	*round = (struct round){ .pieces = 0 };
}

static void go_on(struct round *round, const struct event *event)
{
	uint64_t bytes = (uint64_t)(event->bytes > 0 ? event->bytes : -event->bytes);

	if (event->bytes > 0) {
		round->pieces++;
		round->made++;
		round->bytes += bytes;
	} else {
		round->pieces -= round->pieces ? 1 : 0;
		round->bytes -= bytes < round->bytes ? bytes : round->bytes;
	}
}

/* As many pieces were made, as much of them was there, and the next was as large as the request. */
static void look(const struct search *search, struct round *round, const struct event *event)
{
	const struct round *now = &search->now;
	uint64_t asked = search->question->requested;

	if (!round->past && event->bytes > 0 && round->made == now->made + 1 &&
	    is_near((uint64_t)event->bytes, asked, ROUGHLY) &&
	    is_near(round->bytes, now->bytes + asked, ROUGHLY * round->made)) {
		round->past = round->most = round->bytes;
		round->past_pieces = round->most_pieces = round->pieces;
	}
	if (round->past && round->bytes > round->most) {
		round->most = round->bytes;
		round->most_pieces = round->pieces;
	}
}

/* The last round of the request's caller is the one that failed. */
static void find_now(struct search *search)
{
	struct round *now = &search->now;
	size_t i;

	for (i = 0; i < search->events && !search->event[i].caller; i++) {
		go_on(now, &search->event[i]);
		if (!now->pieces)
			*now = (struct round){ .pieces = 0 };
	}
	search->out->pieces = now->pieces;
}

static void find_earlier(struct search *search)
{
	struct round round = { .pieces = 0 };
	size_t i;

	for (i = 0; i < search->events; i++) {
		if (i && search->event[i].caller != search->event[i - 1].caller)
			end_round(search, &round);
		go_on(&round, &search->event[i]);
		look(search, &round, &search->event[i]);
		if (!round.pieces)
			end_round(search, &round);
	}
	end_round(search, &round);
}

static int look_back(struct search *search)
{
	int found = find_function(search), error;

	if (found <= 0)
		return found;
	error = read_events(search);
	if (error)
		return error;
	find_now(search);
	if (search->now.pieces >= SERIES_LEAST)
		find_earlier(search);
	return 0;
}

int rounds_find(struct rounds *rounds, struct db *db, const struct rounds_question *question)
{
	struct search *search = calloc(1, sizeof(*search));
	uint32_t i;
	int error;

	*rounds = (struct rounds){ .found = 0 };
	if (!search)
		return -MT_E_MEMORY;
	search->question = question;
	search->db = db;
	search->out = rounds;
	search->tree = stack_tree_new(db, NULL);
	error = search->tree ? look_back(search) : -MT_E_MEMORY;
	for (i = 0; i < search->callers; i++)
		free(search->caller[i].frame);
	if (search->tree)
		callstack_release(&search->stack);
	stack_tree_free(search->tree);
	free(search->site);
	free(search->event);
	free(search);
	return error;
}
