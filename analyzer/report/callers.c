#include "callers.h"

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
	struct callers *callers;
	struct db *db;
};

static int take_caller(void *context, struct db_stmt *stmt)
{
	struct loading *loading = context;
	struct caller *caller = &loading->callers->caller[loading->callers->count++];

	caller->process = db_int(stmt, 0);
	mt_copy_text(caller->category, sizeof(caller->category), db_text(stmt, 1));
	mt_copy_text(caller->phase, sizeof(caller->phase), db_text(stmt, 2));
	mt_copy_text(caller->function, sizeof(caller->function), db_text(stmt, 3));
	mt_copy_text(caller->place, sizeof(caller->place), db_text(stmt, 4));
	caller->bytes = (uint64_t)db_int(stmt, 6);
	caller->count = (uint64_t)db_int(stmt, 7);
	caller->least = (uint64_t)db_int(stmt, 8);
	caller->most = (uint64_t)db_int(stmt, 9);
	return callstack_load(&caller->stack, loading->db, db_int(stmt, 5), NULL);
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

static void name_it(struct caller *caller, const struct callstack_frame *frame)
{
	callstack_function(caller->by, sizeof(caller->by), frame);
	callstack_place(caller->by_place, sizeof(caller->by_place), frame);
}

/* The frame of the place, from outside in: of a place "user > library" the library's. */
static size_t place_frame(const struct caller *caller)
{
	char function[256];
	size_t i;

	for (i = 0; i < caller->stack.count; i++)
		if (!strcmp(callstack_function(function, sizeof(function), caller->stack.frame[i]), caller->function))
			return i;
	return caller->stack.count ? 0 : CALLSTACK_NO_FRAME;
}

/* ---- the tree of init ---- */

/* Down to frames that were left out: what lies deeper would part what belongs together. */
static void find_path(struct caller *caller)
{
	size_t i, inner = place_frame(caller);

	for (i = caller->stack.count; i-- > 0 && inner != CALLSTACK_NO_FRAME;) {
		if (caller->stack.frame[i]->elided)
			return;
		if (i >= inner && tells_something(caller->stack.frame[i]) && caller->depth < CALLERS_DEPTH)
			caller->path[caller->depth++] = i;
	}
}

/* The frame number `depth` from outside that tells something; NULL: the stack has no more down to its place. */
static const struct callstack_frame *at_depth(const struct caller *caller, size_t depth)
{
	return depth < caller->depth ? caller->stack.frame[caller->path[depth]] : NULL;
}

static int is_of(const struct caller *caller, uint32_t category)
{
	return !strcmp(caller->category, mt_category_name(category));
}

/* The purpose of a cache, graphs and buckets follows from their kind. */
static int is_of_a_model(const struct caller *caller)
{
	return is_of(caller, MT_CATEGORY_WEIGHTS) || is_of(caller, MT_CATEGORY_GRADIENTS) ||
	       is_of(caller, MT_CATEGORY_OPTIMIZER_STATE) || is_of(caller, MT_CATEGORY_OTHER);
}

static int is_in_tree(const struct caller *caller, int64_t process)
{
	return caller->process == process && is_of_a_model(caller) &&
	       !strcmp(caller->phase, mt_phase_name(MT_PHASE_INIT)) && caller->depth;
}

/* The stacks that begin with the same frames as `like`, down to and with `depth`. */
static uint64_t bytes_along(const struct callers *callers, const struct caller *like, size_t depth)
{
	const struct callstack_frame *one, *two;
	uint64_t bytes = 0;
	size_t i, at;

	for (i = 0; i < callers->count; i++) {
		if (!is_in_tree(&callers->caller[i], like->process))
			continue;
		for (at = 0; at <= depth; at++) {
			one = at_depth(like, at);
			two = at_depth(&callers->caller[i], at);
			if ((one == NULL) != (two == NULL) || (one && !same_function(one, two)))
				break;
		}
		bytes += at > depth ? callers->caller[i].bytes : 0;
	}
	return bytes;
}

/* The first frame from outside at which a good part of the bytes goes another way. */
static void find_branch(const struct callers *callers, struct caller *caller)
{
	uint64_t above = 0, here, least;
	size_t depth, i;

	for (i = 0; i < callers->count; i++)
		above += is_in_tree(&callers->caller[i], caller->process) ? callers->caller[i].bytes : 0;
	least = above / BRANCH_SHARE;
	for (depth = 0; at_depth(caller, depth); depth++) {
		here = bytes_along(callers, caller, depth);
		if (here >= least && above - here >= least && here < above) {
			caller->branch = 1;
			if (at_depth(caller, depth) != caller->stack.frame[place_frame(caller)])
				name_it(caller, at_depth(caller, depth));
			return;
		}
		if (here < least)
			return;
		above = here;
	}
	/* A stack that ends inside another is a branch, too. */
	caller->branch = depth && bytes_along(callers, caller, depth) < above;
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

static void find_caller(struct caller *caller)
{
	const struct callstack_frame *frame;
	size_t i = place_frame(caller), telling;

	if (i == CALLSTACK_NO_FRAME || !is_generic(caller->function) || strchr(caller->place, '>'))
		return;
	telling = telling_above(&caller->stack, i);
	if (telling != CALLSTACK_NO_FRAME) {
		name_it(caller, caller->stack.frame[telling]);
		return;
	}
	for (i++; i < caller->stack.count; i++) {
		frame = caller->stack.frame[i];
		if (!tells_something(frame) || is_generic(frame->function))
			continue;
		name_it(caller, frame);
		return;
	}
}

static int is_passing(const struct caller *caller)
{
	return is_of(caller, MT_CATEGORY_ACTIVATIONS) || is_of(caller, MT_CATEGORY_RECOMPUTED) ||
	       is_of(caller, MT_CATEGORY_LOGITS);
}

int callers_load(struct callers *callers, struct db *db, int64_t device, int64_t oom)
{
	const int64_t parameter[ANSWER_PARAMETERS] = { device, oom, CALLERS_MAX };
	struct loading loading = { .callers = callers, .db = db };
	size_t i;
	int error;

	callers->count = 0;
	callers->caller = calloc(CALLERS_MAX, sizeof(*callers->caller));
	if (!callers->caller)
		return -MT_E_MEMORY;
	error = answer_rows(db, sql, parameter, take_caller, &loading);
	for (i = 0; i < callers->count && !error; i++)
		find_path(&callers->caller[i]);
	for (i = 0; i < callers->count && !error; i++) {
		if (is_in_tree(&callers->caller[i], callers->caller[i].process))
			find_branch(callers, &callers->caller[i]);
		if (!*callers->caller[i].by && !is_passing(&callers->caller[i]))
			find_caller(&callers->caller[i]);
	}
	return error;
}

void callers_release(struct callers *callers)
{
	size_t i;

	for (i = 0; i < callers->count; i++)
		callstack_release(&callers->caller[i].stack);
	free(callers->caller);
	*callers = (struct callers){ .count = 0 };
}

/* ---- what follows ---- */

const struct caller *callers_at(const struct callers *callers, int64_t process, const char *function, const char *place)
{
	size_t i;

	for (i = 0; i < callers->count; i++)
		if ((!process || callers->caller[i].process == process) &&
		    !strcmp(callers->caller[i].function, function) && !strcmp(callers->caller[i].place, place))
			return &callers->caller[i];
	return NULL;
}

const char *caller_function(const struct caller *caller)
{
	return *caller->by ? caller->by : caller->function;
}

const char *caller_place(const struct caller *caller)
{
	return *caller->by ? caller->by_place : caller->place;
}

void caller_names(const struct caller *caller, char function[256], char place[256])
{
	char name[256], line[256];
	size_t i, telling;

	mt_copy_text(function, 256, caller->by);
	mt_copy_text(place, 256, caller->by_place);
	for (i = 0; i < caller->stack.count && *caller->by; i++) {
		if (strcmp(callstack_function(name, sizeof(name), caller->stack.frame[i]), caller->by) != 0 ||
		    strcmp(callstack_place(line, sizeof(line), caller->stack.frame[i]), caller->by_place) != 0)
			continue;
		if (!is_torch(caller->stack.frame[i]))
			return;
		telling = telling_above(&caller->stack, i);
		if (telling == CALLSTACK_NO_FRAME)
			return;
		callstack_function(function, 256, caller->stack.frame[telling]);
		callstack_place(place, 256, caller->stack.frame[telling]);
		return;
	}
}

/* The weights of a branch. */
struct share {
	const struct caller *caller; /* largest */
	uint64_t bytes, count, least, most;
};

static int is_weights(const struct caller *caller)
{
	return caller->branch && is_of(caller, MT_CATEGORY_WEIGHTS);
}

static struct share share_of(const struct callers *callers, const struct caller *caller)
{
	struct share share = { .caller = caller, .least = caller->least };
	const struct caller *other;
	size_t i;

	for (i = 0; i < callers->count; i++) {
		other = &callers->caller[i];
		if (other->process != caller->process || !is_weights(other) ||
		    strcmp(caller_function(other), caller_function(caller)))
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
static struct share below_line(const struct callers *callers, const struct caller *like, size_t depth,
			       const struct caller *line)
{
	struct share share = { .caller = NULL };
	const struct callstack_frame *here, *at;
	const struct caller *caller;
	size_t i, d;

	for (i = 0; i < callers->count; i++) {
		caller = &callers->caller[i];
		if (caller->process != like->process || !is_of(caller, MT_CATEGORY_WEIGHTS) || !at_depth(caller, depth))
			continue;
		for (d = 0; d < depth && same_line(at_depth(caller, d), at_depth(like, d)); d++)
			;
		at = at_depth(caller, depth);
		here = at_depth(line ? line : like, depth);
		if (d < depth || !same_function(at, here) || (line ? at->line != here->line : at->line == here->line))
			continue;
		if (share.caller && at->line != at_depth(share.caller, depth)->line)
			return (struct share){ .caller = NULL }; /* a third line */
		if (!share.caller)
			share = (struct share){ .caller = caller, .least = caller->least };
		share.bytes += caller->bytes;
		share.count += caller->count;
		share.least = caller->least < share.least ? caller->least : share.least;
		share.most = caller->most > share.most ? caller->most : share.most;
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
static int find_lines(const struct callers *callers, const struct caller *like, uint64_t all, struct caller_copy *copy)
{
	struct share own, other;
	size_t depth;

	for (depth = 0; at_depth(like, depth); depth++) {
		other = below_line(callers, like, depth, NULL);
		if (!other.caller)
			continue;
		own = below_line(callers, like, depth, like);
		if (is_generic(at_depth(like, depth)->function) || !is_alike(&own, &other) ||
		    own.bytes + other.bytes < all - all / LINES_SHARE)
			return 0;
		if (at_depth(own.caller, depth)->line > at_depth(other.caller, depth)->line) {
			struct share swap = own;

			own = other;
			other = swap;
		}
		*copy = (struct caller_copy){ .caller = other.caller,
					      .first = own.caller,
					      .line = at_depth(other.caller, depth),
					      .first_line = at_depth(own.caller, depth),
					      .bytes = other.bytes,
					      .all = all,
					      .alike = 1 };
		return 1;
	}
	return 0;
}

int callers_second_weights(const struct callers *callers, int64_t process, struct caller_copy *copy)
{
	const struct caller *most = NULL;
	struct share first = { .bytes = 0 }, second = { .bytes = 0 }, share;
	const struct caller *caller;
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < callers->count; i++) {
		caller = &callers->caller[i];
		if ((process && caller->process != process) || !is_of(caller, MT_CATEGORY_WEIGHTS))
			continue;
		process = caller->process;
		most = most ? most : caller;
		all += caller->bytes;
		if (!caller->branch)
			continue;
		share = share_of(callers, caller);
		if (!first.caller || !strcmp(caller_function(first.caller), caller_function(caller)))
			first = share;
		else if (share.bytes > second.bytes)
			second = share;
	}
	/* Two copies may be equally large: the one that a caller asked for comes first. */
	if (second.caller && first.bytes == second.bytes && *first.caller->by && !*second.caller->by) {
		share = first;
		first = second;
		second = share;
	}
	if (!second.caller || second.bytes < all / COPY_SHARE)
		return most ? find_lines(callers, most, all, copy) : 0;
	*copy = (struct caller_copy){ .caller = second.caller,
				      .first = first.caller,
				      .bytes = second.bytes,
				      .all = all,
				      .alike = is_alike(&first, &second) };
	return 1;
}

void caller_copy_names(const struct caller_copy *copy, char function[256], char place[256], char first[256])
{
	char other[256], line[256];

	if (!copy->line) {
		mt_copy_text(function, 256, caller_function(copy->caller));
		mt_copy_text(place, 256, caller_place(copy->caller));
		mt_copy_text(first, 256, caller_function(copy->first));
		return;
	}
	callstack_function(function, 256, copy->line);
	callstack_place(place, 256, copy->line);
	callstack_function(other, sizeof(other), copy->first_line);
	callstack_place(line, sizeof(line), copy->first_line);
	snprintf(first, 256, "%.120s (%.120s)", other, line);
}

int caller_is_on(const struct caller *caller, const struct callstack *stack)
{
	char function[256];
	size_t i;

	for (i = 0; i < stack->count; i++)
		if (!strcmp(callstack_function(function, sizeof(function), stack->frame[i]), caller_function(caller)))
			return 1;
	return 0;
}

int caller_outside(struct db *db, int64_t node, char function[256], char place[256])
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

int caller_behind(struct db *db, int64_t node, char function[256], char place[256])
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
