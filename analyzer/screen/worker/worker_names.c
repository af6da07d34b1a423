/*
 * worker_names.c - gives sites their call stacks with names of native functions, the largest site first. When all
 * stacks are known, each site gets the line of the user's code and the evidence for its category.
 */
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "query/callstack.h"
#include "query/stack_tree.h"
#include "screen/data/feed.h"
#include "store/load.h"
#include "store/store.h"
#include "worker_impl.h"
#include "worker_query.h"

#define PUBLISH_SITES 256u /* sites for one holding of the model's lock */

/* A site that is to be named. */
struct worker_named {
	uint64_t most;
	int64_t node;
	uint32_t site;
};

struct worker_naming {
	struct worker *worker;
	struct db *db; /* the summary */
	struct symbols *symbols;
	struct worker_named *named; /* the largest first */
	uint32_t count;
};

static int by_most(const void *a, const void *b)
{
	const struct worker_named *one = a, *two = b;

	if (one->most != two->most)
		return one->most < two->most ? 1 : -1;
	return (one->site > two->site) - (one->site < two->site);
}

static int by_node(const void *a, const void *b)
{
	const struct worker_stack *one = a, *two = b;

	return (one->node > two->node) - (one->node < two->node);
}

static struct worker_stack *find_stack(const struct worker *worker, int64_t node)
{
	struct worker_stack key = { .node = node }, *found = NULL;
	const struct worker_stacks *stacks;

	for (stacks = worker->stacks; stacks && !found; stacks = stacks->more)
		found = stacks->count ? bsearch(&key, stacks->stack, stacks->count, sizeof(key), by_node) : NULL;
	return found;
}

/* Sites that there are. */
static int collect_sites(struct worker_naming *naming)
{
	struct model *model = naming->worker->model;
	uint32_t i;

	model_lock(model);
	naming->named = calloc((size_t)model->sites + 1, sizeof(*naming->named));
	for (i = 1; i < model->sites && naming->named; i++)
		naming->named[naming->count++] = (struct worker_named){
			.site = i,
			.most = model->site[i].most,
			.node = store_id(model->site[i].process, model->site[i].stack),
		};
	model_unlock(model);
	if (!naming->named)
		return -MT_E_MEMORY;
	qsort(naming->named, naming->count, sizeof(*naming->named), by_most);
	return 0;
}

/* Collects the stacks that are not loaded yet. Sites are final when the traces have been read. */
static int collect(struct worker_naming *naming)
{
	struct worker *worker = naming->worker;
	struct worker_stacks *stacks = calloc(1, sizeof(*stacks));
	struct worker_stack *stack;
	size_t from, to = 0;
	int error = stacks ? collect_sites(naming) : -MT_E_MEMORY;

	if (error) {
		free(stacks);
		return error;
	}
	stack = stacks->stack = calloc((size_t)naming->count + 1, sizeof(*stack));
	for (from = 0; stack && from < naming->count; from++)
		if (naming->named[from].node && !find_stack(worker, naming->named[from].node))
			stack[stacks->count++].node = naming->named[from].node;
	stacks->more = worker->stacks;
	worker->stacks = stacks;
	if (!stack)
		return -MT_E_MEMORY;
	qsort(stack, stacks->count, sizeof(*stack), by_node);
	for (from = 0; from < stacks->count; from++)
		if (!to || stack[from].node != stack[to - 1].node)
			stack[to++].node = stack[from].node;
	stacks->count = to;
	return 0;
}

/* Under the model's lock. */
static void publish(struct worker *worker, const struct worker_named *named)
{
	const struct worker_stack *stack = find_stack(worker, named->node);
	struct model_site *site = &worker->model->site[named->site];

	if (!stack || !stack->loaded)
		return;
	site->callstack = &stack->callstack;
	if (stack->function && stack->place) {
		site->function = stack->function;
		site->place = stack->place;
	}
}

static int load_stack(struct worker_naming *naming, struct worker_stack *stack)
{
	char function[512] = "", place[512] = "";
	size_t user;
	int error = stack_tree_load(naming->worker->stacks->tree, stack->node, &stack->callstack);

	if (error)
		return error;
	user = callstack_user_frame(&stack->callstack);
	if (user != CALLSTACK_NO_FRAME) {
		callstack_function_of(function, sizeof(function), &stack->callstack, user);
		callstack_place_of(place, sizeof(place), &stack->callstack, user);
	}
	model_lock(naming->worker->model);
	stack->function = model_text(naming->worker->model, function);
	stack->place = model_text(naming->worker->model, place);
	model_unlock(naming->worker->model);
	stack->loaded = 1;
	return 0;
}

/* Publishes the stacks as they are loaded. */
static int name_by_stack(struct worker_naming *naming)
{
	struct worker *worker = naming->worker;
	struct worker_stack *stack;
	uint32_t i;
	int error = 0;

	worker->total = naming->count;
	for (i = 0; i < naming->count && !error && !worker->stop; i++) {
		stack = find_stack(worker, naming->named[i].node);
		if (stack && !stack->loaded)
			error = load_stack(naming, stack);
		worker->done = i + 1;
		if (error || !stack)
			continue;
		model_lock(worker->model);
		publish(worker, &naming->named[i]);
		model_unlock(worker->model);
	}
	return error;
}

static int place_row(void *context, struct db_stmt *row)
{
	struct worker *worker = context;
	struct worker_stack *stack = find_stack(worker, db_int(row, 0));
	const char *function, *place;

	if (!stack || !stack->loaded)
		return 0;
	model_lock(worker->model);
	function = model_text(worker->model, db_text(row, 1));
	place = model_text(worker->model, db_text(row, 2));
	model_unlock(worker->model);
	if (!function || !place)
		return -MT_E_MEMORY;
	stack->function = function;
	stack->place = place;
	return 0;
}

/* Publishes the same places as in all reports. */
static int name_by_place(struct worker_naming *naming)
{
	struct worker *worker = naming->worker;
	uint32_t i, end;
	int has_places, error = worker_query_has_places(naming->db, &has_places);

	if (!error && !has_places)
		error = load_places(naming->db, naming->symbols);
	if (!error)
		error = worker_query_places(naming->db, place_row, worker);
	for (i = 0; i < naming->count && !error; i = end) {
		end = naming->count - i < PUBLISH_SITES ? naming->count : i + PUBLISH_SITES;
		model_lock(worker->model);
		for (; i < end; i++)
			publish(worker, &naming->named[i]);
		model_unlock(worker->model);
	}
	return error;
}

static int evidence_row(void *context, struct db_stmt *row)
{
	struct model *model = ((struct worker *)context)->model;
	int64_t site = db_int(row, 0);

	model_lock(model);
	if (site > 0 && site < model->sites) {
		model->site[site].evidence = model_text(model, db_text(row, 1));
		model->site[site].decided_by = model_text(model, db_text(row, 2));
	}
	model_unlock(model);
	return 0;
}

/* Writes the verdict again, with the names of native functions. */
static int say_verdict(struct worker_naming *naming)
{
	struct model *model = naming->worker->model;
	struct sentence sentence = { 0 };
	const char *verdict;
	int error = verdict_say(&sentence, naming->db, model);

	if (error)
		return error;
	model_lock(model);
	verdict = model_text(model, sentence.text);
	if (verdict)
		model->verdict = verdict;
	model_unlock(model);
	return 0;
}

/* 1: while the traces are being written there is no summary, and no verdict. */
static int is_followed(const struct worker_naming *naming)
{
	return naming->db == naming->worker->db;
}

static int name_all(struct worker_naming *naming)
{
	struct worker *worker = naming->worker;
	int error;

	worker->stacks->tree = stack_tree_new(naming->db, naming->symbols);
	if (!worker->stacks->tree)
		return -MT_E_MEMORY;
	db_watch(naming->db, worker_stops, worker);
	error = name_by_stack(naming);
	if (!error && !worker->stop)
		error = worker_query_evidence(naming->db, evidence_row, worker);
	if (!error && !worker->stop)
		error = name_by_place(naming);
	if (!error && !worker->stop)
		error = verdict_growth(worker->model, naming->db);
	if (!error && !worker->stop && !is_followed(naming))
		error = say_verdict(naming);
	db_watch(naming->db, NULL, NULL);
	stack_tree_close(worker->stacks->tree);
	return error;
}

int worker_name_sites(struct worker *worker)
{
	struct db *summary = feed_summary(worker->feed);
	struct worker_naming naming = { .worker = worker,
					.db = summary ? summary : worker->db,
					.symbols = symbols_new() };
	int error = naming.symbols ? collect(&naming) : -MT_E_MEMORY;

	if (!error && naming.db)
		error = name_all(&naming);
	free(naming.named);
	symbols_free(naming.symbols);
	model_lock(worker->model);
	worker->model->edition++;
	model_unlock(worker->model);
	return error;
}
