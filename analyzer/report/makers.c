#include "makers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "places.h"

#define BRANCH_SHARE 20 /* a branch has at least 1 / BRANCH_SHARE of the bytes */
#define COPY_SHARE 4    /* and of the weights, to be worth a sentence */

/* ---- what is there ---- */

static const char sql[] =
	"SELECT live.process, live.category, live.phase, ifnull(live.function, ''), ifnull(live.place, ''), live.node, "
	"sum(bytes), count(*), min(bytes), max(bytes) FROM live_at AS live "
	"WHERE moment = CASE WHEN ?2 THEN 'oom:' || ?2 ELSE 'peak' END AND live.device = ?1 AND in_use AND bytes > 0 "
	"GROUP BY live.process, live.category, live.phase, live.node ORDER BY 7 DESC, live.process, live.node LIMIT ?3";

struct loading {
	struct makers *makers;
	struct db *db;
};

static int take_maker(void *context, struct db_stmt *stmt)
{
	struct loading *loading = context;
	struct maker *maker = &loading->makers->maker[loading->makers->count++];

	maker->process = db_int(stmt, 0);
	mt_copy_text(maker->category, sizeof(maker->category), db_text(stmt, 1));
	mt_copy_text(maker->phase, sizeof(maker->phase), db_text(stmt, 2));
	mt_copy_text(maker->function, sizeof(maker->function), db_text(stmt, 3));
	mt_copy_text(maker->place, sizeof(maker->place), db_text(stmt, 4));
	maker->bytes = (uint64_t)db_int(stmt, 6);
	maker->count = (uint64_t)db_int(stmt, 7);
	maker->least = (uint64_t)db_int(stmt, 8);
	maker->most = (uint64_t)db_int(stmt, 9);
	return callstack_load(&maker->stack, loading->db, db_int(stmt, 5), NULL);
}

/* ---- frames ---- */

static int tells_something(const struct callstack_frame *frame)
{
	return !frame->native && (callstack_is_user(frame) || callstack_is_library(frame));
}

static int same_function(const struct callstack_frame *one, const struct callstack_frame *two)
{
	return !strcmp(one->function, two->function) && !strcmp(one->file, two->file);
}

/* Names that anything may have. */
static int is_generic(const char *function)
{
	static const char *const names[] = { "__init__",    "__new__",  "step", "to",    "wrapper",  "wrapped",
					     "load",        "deepcopy", "copy", "clone", "backward", "forward",
					     "_apply",      "apply",    "cat",  "stack", "full",     "zeros",
					     "_init_group", "build",    "run" };
	static const char *const begin[] = {
		"alloc", "empty", "zeros_", "new_", "all_gather", "all_reduce", "broadcast"
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		if (!strcmp(function, names[i]))
			return 1;
	while (*function == '_')
		function++;
	for (i = 0; i < MT_ARRAY_SIZE(begin); i++)
		if (!strncmp(function, begin[i], strlen(begin[i])))
			return 1;
	return 0;
}

static void name_it(struct maker *maker, const struct callstack_frame *frame)
{
	callstack_function(maker->by, sizeof(maker->by), frame);
	callstack_place(maker->by_place, sizeof(maker->by_place), frame);
}

/* The frame of the callsite, from outside in: of a place "user > library" the library's. */
static size_t callsite_of(const struct maker *maker)
{
	char function[256];
	size_t i;

	for (i = 0; i < maker->stack.count; i++)
		if (!strcmp(callstack_function(function, sizeof(function), maker->stack.frame[i]), maker->function))
			return i;
	return maker->stack.count ? 0 : CALLSTACK_NO_FRAME;
}

/* ---- the tree of init ---- */

/* Down to frames that were left out: what lies deeper would part what belongs together. */
static void find_path(struct maker *maker)
{
	size_t i, inner = callsite_of(maker);

	for (i = maker->stack.count; i-- > 0 && inner != CALLSTACK_NO_FRAME;) {
		if (maker->stack.frame[i]->elided)
			return;
		if (i >= inner && tells_something(maker->stack.frame[i]) && maker->depth < MAKERS_DEPTH)
			maker->path[maker->depth++] = i;
	}
}

/* The frame number `depth` from outside that tells something; NULL: the stack has no more down to its callsite. */
static const struct callstack_frame *at_depth(const struct maker *maker, size_t depth)
{
	return depth < maker->depth ? maker->stack.frame[maker->path[depth]] : NULL;
}

static int is_of(const struct maker *maker, uint32_t category)
{
	return !strcmp(maker->category, mt_category_name(category));
}

/* The purpose of a cache, graphs and buckets follows from their kind. */
static int is_of_a_model(const struct maker *maker)
{
	return is_of(maker, MT_CATEGORY_WEIGHTS) || is_of(maker, MT_CATEGORY_GRADIENTS) ||
	       is_of(maker, MT_CATEGORY_OPTIMIZER_STATE) || is_of(maker, MT_CATEGORY_OTHER);
}

static int is_in_tree(const struct maker *maker, int64_t process)
{
	return maker->process == process && is_of_a_model(maker) &&
	       !strcmp(maker->phase, mt_phase_name(MT_PHASE_INIT)) && maker->depth;
}

/* The stacks that begin with the same frames as `like`, down to and with `depth`. */
static uint64_t bytes_along(const struct makers *makers, const struct maker *like, size_t depth)
{
	const struct callstack_frame *one, *two;
	uint64_t bytes = 0;
	size_t i, at;

	for (i = 0; i < makers->count; i++) {
		if (!is_in_tree(&makers->maker[i], like->process))
			continue;
		for (at = 0; at <= depth; at++) {
			one = at_depth(like, at);
			two = at_depth(&makers->maker[i], at);
			if ((one == NULL) != (two == NULL) || (one && !same_function(one, two)))
				break;
		}
		bytes += at > depth ? makers->maker[i].bytes : 0;
	}
	return bytes;
}

/* The first frame from outside at which a good part of the bytes goes another way. */
static void find_branch(const struct makers *makers, struct maker *maker)
{
	uint64_t above = 0, here, least;
	size_t depth, i;

	for (i = 0; i < makers->count; i++)
		above += is_in_tree(&makers->maker[i], maker->process) ? makers->maker[i].bytes : 0;
	least = above / BRANCH_SHARE;
	for (depth = 0; at_depth(maker, depth); depth++) {
		here = bytes_along(makers, maker, depth);
		if (here >= least && above - here >= least && here < above) {
			maker->branch = 1;
			if (at_depth(maker, depth) != maker->stack.frame[callsite_of(maker)])
				name_it(maker, at_depth(maker, depth));
			return;
		}
		if (here < least)
			return;
		above = here;
	}
	/* A stack that ends inside another is a branch, too. */
	maker->branch = depth && bytes_along(makers, maker, depth) < above;
}

/* ---- the next one out ---- */

static int is_torch(const struct callstack_frame *frame)
{
	return !strncmp(frame->file, "torch/", strlen("torch/")) || strstr(frame->file, "/torch/");
}

/* The first further out that is not PyTorch's and has a name of its own. */
static size_t telling_above(const struct callstack *stack, size_t at)
{
	const struct callstack_frame *frame;

	for (at++; at < stack->count; at++) {
		frame = stack->frame[at];
		if (tells_something(frame) && !is_generic(frame->function) && !is_torch(frame))
			return at;
	}
	return CALLSTACK_NO_FRAME;
}

static void find_caller(struct maker *maker)
{
	const struct callstack_frame *frame;
	size_t i = callsite_of(maker), telling;

	if (i == CALLSTACK_NO_FRAME || !is_generic(maker->function) || strchr(maker->place, '>'))
		return;
	telling = telling_above(&maker->stack, i);
	if (telling != CALLSTACK_NO_FRAME) {
		name_it(maker, maker->stack.frame[telling]);
		return;
	}
	for (i++; i < maker->stack.count; i++) {
		frame = maker->stack.frame[i];
		if (!tells_something(frame) || is_generic(frame->function))
			continue;
		name_it(maker, frame);
		return;
	}
}

static int is_passing(const struct maker *maker)
{
	return is_of(maker, MT_CATEGORY_ACTIVATIONS) || is_of(maker, MT_CATEGORY_RECOMPUTED) ||
	       is_of(maker, MT_CATEGORY_LOGITS);
}

int makers_load(struct makers *makers, struct db *db, int64_t device, int64_t oom)
{
	const int64_t parameter[ANSWER_PARAMETERS] = { device, oom, MAKERS_MAX };
	struct loading loading = { .makers = makers, .db = db };
	size_t i;
	int error;

	makers->count = 0;
	makers->maker = calloc(MAKERS_MAX, sizeof(*makers->maker));
	if (!makers->maker)
		return -MT_E_MEMORY;
	error = answer_rows(db, sql, parameter, take_maker, &loading);
	for (i = 0; i < makers->count && !error; i++)
		find_path(&makers->maker[i]);
	for (i = 0; i < makers->count && !error; i++) {
		if (is_in_tree(&makers->maker[i], makers->maker[i].process))
			find_branch(makers, &makers->maker[i]);
		if (!*makers->maker[i].by && !is_passing(&makers->maker[i]))
			find_caller(&makers->maker[i]);
	}
	return error;
}

void makers_release(struct makers *makers)
{
	size_t i;

	for (i = 0; i < makers->count; i++)
		callstack_release(&makers->maker[i].stack);
	free(makers->maker);
	*makers = (struct makers){ .count = 0 };
}

/* ---- what follows ---- */

const struct maker *makers_at(const struct makers *makers, int64_t process, const char *function, const char *place)
{
	size_t i;

	for (i = 0; i < makers->count; i++)
		if ((!process || makers->maker[i].process == process) && !strcmp(makers->maker[i].function, function) &&
		    !strcmp(makers->maker[i].place, place))
			return &makers->maker[i];
	return NULL;
}

const char *maker_function(const struct maker *maker)
{
	return *maker->by ? maker->by : maker->function;
}

const char *maker_place(const struct maker *maker)
{
	return *maker->by ? maker->by_place : maker->place;
}

void maker_caller_names(const struct maker *maker, char function[256], char place[256])
{
	char name[256], line[256];
	size_t i, telling;

	mt_copy_text(function, 256, maker->by);
	mt_copy_text(place, 256, maker->by_place);
	for (i = 0; i < maker->stack.count && *maker->by; i++) {
		if (strcmp(callstack_function(name, sizeof(name), maker->stack.frame[i]), maker->by) != 0 ||
		    strcmp(callstack_place(line, sizeof(line), maker->stack.frame[i]), maker->by_place) != 0)
			continue;
		if (!is_torch(maker->stack.frame[i]))
			return;
		telling = telling_above(&maker->stack, i);
		if (telling == CALLSTACK_NO_FRAME)
			return;
		callstack_function(function, 256, maker->stack.frame[telling]);
		callstack_place(place, 256, maker->stack.frame[telling]);
		return;
	}
}

/* The weights of a branch. */
struct share {
	const struct maker *maker; /* largest */
	uint64_t bytes, count, least, most;
};

static int is_weights(const struct maker *maker)
{
	return maker->branch && is_of(maker, MT_CATEGORY_WEIGHTS);
}

static struct share share_of(const struct makers *makers, const struct maker *maker)
{
	struct share share = { .maker = maker, .least = maker->least };
	const struct maker *other;
	size_t i;

	for (i = 0; i < makers->count; i++) {
		other = &makers->maker[i];
		if (other->process != maker->process || !is_weights(other) ||
		    strcmp(maker_function(other), maker_function(maker)))
			continue;
		share.bytes += other->bytes;
		share.count += other->count;
		share.least = other->least < share.least ? other->least : share.least;
		share.most = other->most > share.most ? other->most : share.most;
	}
	return share;
}

/* ---- the same function, from two lines ---- */

#define LINES_SHARE 10 /* all of the weights but 1 / LINES_SHARE */

static int same_line(const struct callstack_frame *one, const struct callstack_frame *two)
{
	return same_function(one, two) && one->line == two->line;
}

/* The memory made below the same lines as `like` down to `depth`, and there in the function of `like`: by its line,
 * or by another. */
static struct share below_line(const struct makers *makers, const struct maker *like, size_t depth,
			       const struct maker *line)
{
	struct share share = { .maker = NULL };
	const struct callstack_frame *here, *at;
	const struct maker *maker;
	size_t i, d;

	for (i = 0; i < makers->count; i++) {
		maker = &makers->maker[i];
		if (maker->process != like->process || !is_of(maker, MT_CATEGORY_WEIGHTS) || !at_depth(maker, depth))
			continue;
		for (d = 0; d < depth && same_line(at_depth(maker, d), at_depth(like, d)); d++)
			;
		at = at_depth(maker, depth);
		here = at_depth(line ? line : like, depth);
		if (d < depth || !same_function(at, here) || (line ? at->line != here->line : at->line == here->line))
			continue;
		if (share.maker && at->line != at_depth(share.maker, depth)->line)
			return (struct share){ .maker = NULL }; /* a third line */
		if (!share.maker)
			share = (struct share){ .maker = maker, .least = maker->least };
		share.bytes += maker->bytes;
		share.count += maker->count;
		share.least = maker->least < share.least ? maker->least : share.least;
		share.most = maker->most > share.most ? maker->most : share.most;
	}
	return share;
}

static int is_alike(const struct share *one, const struct share *other)
{
	return one->bytes == other->bytes && one->count == other->count && one->least == other->least &&
	       one->most == other->most;
}

/*
 * verl builds its actor and its reference by one function. Lines of a constructor make parts of one model, which are of the
 * same sizes now and then.
 */
static int find_lines(const struct makers *makers, const struct maker *like, uint64_t all, struct maker_copy *copy)
{
	struct share own, other;
	size_t depth;

	for (depth = 0; at_depth(like, depth); depth++) {
		other = below_line(makers, like, depth, NULL);
		if (!other.maker)
			continue;
		own = below_line(makers, like, depth, like);
		if (is_generic(at_depth(like, depth)->function) || !is_alike(&own, &other) ||
		    own.bytes + other.bytes < all - all / LINES_SHARE)
			return 0;
		if (at_depth(own.maker, depth)->line > at_depth(other.maker, depth)->line) {
			struct share swap = own;

			own = other;
			other = swap;
		}
		*copy = (struct maker_copy){ .maker = other.maker,
					     .first = own.maker,
					     .line = at_depth(other.maker, depth),
					     .first_line = at_depth(own.maker, depth),
					     .bytes = other.bytes,
					     .all = all,
					     .alike = 1 };
		return 1;
	}
	return 0;
}

int makers_second_weights(const struct makers *makers, int64_t process, struct maker_copy *copy)
{
	const struct maker *most = NULL;
	struct share first = { .bytes = 0 }, second = { .bytes = 0 }, share;
	const struct maker *maker;
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < makers->count; i++) {
		maker = &makers->maker[i];
		if ((process && maker->process != process) || !is_of(maker, MT_CATEGORY_WEIGHTS))
			continue;
		process = maker->process;
		most = most ? most : maker;
		all += maker->bytes;
		if (!maker->branch)
			continue;
		share = share_of(makers, maker);
		if (!first.maker || !strcmp(maker_function(first.maker), maker_function(maker)))
			first = share;
		else if (share.bytes > second.bytes)
			second = share;
	}
	/* The one made by somebody's order is the copy of two equally large ones. */
	if (second.maker && first.bytes == second.bytes && *first.maker->by && !*second.maker->by) {
		share = first;
		first = second;
		second = share;
	}
	if (!second.maker || second.bytes < all / COPY_SHARE)
		return most ? find_lines(makers, most, all, copy) : 0;
	*copy = (struct maker_copy){ .maker = second.maker,
				     .first = first.maker,
				     .bytes = second.bytes,
				     .all = all,
				     .alike = is_alike(&first, &second) };
	return 1;
}

void maker_copy_names(const struct maker_copy *copy, char function[256], char place[256], char first[256])
{
	char other[256], line[256];

	if (!copy->line) {
		mt_copy_text(function, 256, maker_function(copy->maker));
		mt_copy_text(place, 256, maker_place(copy->maker));
		mt_copy_text(first, 256, maker_function(copy->first));
		return;
	}
	callstack_function(function, 256, copy->line);
	callstack_place(place, 256, copy->line);
	callstack_function(other, sizeof(other), copy->first_line);
	callstack_place(line, sizeof(line), copy->first_line);
	snprintf(first, 256, "%.120s (%.120s)", other, line);
}

int maker_is_on(const struct maker *maker, const struct callstack *stack)
{
	char function[256];
	size_t i;

	for (i = 0; i < stack->count; i++)
		if (!strcmp(callstack_function(function, sizeof(function), stack->frame[i]), maker_function(maker)))
			return 1;
	return 0;
}

int maker_caller(struct db *db, int64_t node, char function[256], char place[256])
{
	const struct callstack_frame *frame;
	struct callstack stack;
	size_t at = CALLSTACK_NO_FRAME, i;
	int error = callstack_load(&stack, db, node, NULL);

	*function = *place = '\0';
	if (!error)
		error = places_user_frame(&at, db, node, &stack);
	for (i = at; !error && at != CALLSTACK_NO_FRAME && ++i < stack.count && !*place;) {
		frame = stack.frame[i];
		if (!tells_something(frame) || !strcmp(frame->file, stack.frame[at]->file))
			continue;
		callstack_function(function, 256, frame);
		callstack_place(place, 256, frame);
	}
	callstack_release(&stack);
	return error;
}

int maker_behind(struct db *db, int64_t node, char function[256], char place[256])
{
	struct callstack stack;
	size_t at = CALLSTACK_NO_FRAME;
	int error = callstack_load(&stack, db, node, NULL);

	*function = *place = '\0';
	if (!error)
		error = places_user_frame(&at, db, node, &stack);
	at = !error && at != CALLSTACK_NO_FRAME && is_torch(stack.frame[at]) ? telling_above(&stack, at)
									     : CALLSTACK_NO_FRAME;
	if (at != CALLSTACK_NO_FRAME) {
		callstack_function(function, 256, stack.frame[at]);
		callstack_place(place, 256, stack.frame[at]);
	}
	callstack_release(&stack);
	return error;
}
