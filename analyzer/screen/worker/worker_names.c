/*
 * worker_names.c - gives sites what a person wants to see of them: call stacks with the names of native functions, the
 * largest first; then, when all stacks are known, the line of the user's own code and why the category is what it is.
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

#define PUBLISH_SITES 256u /* in one go under the model's lock */

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
	struct worker_stack key = { .node = node };

	return worker->stacks ? bsearch(&key, worker->stack, worker->stacks, sizeof(key), by_node) : NULL;
}

/* Sites and stacks that there are; they are final when the traces have been read. */
static int collect(struct worker_naming *naming)
{
	struct worker *worker = naming->worker;
	struct model *model = worker->model;
	const struct model_site *site;
	uint32_t i;
	size_t from, to = 0;

	model_lock(model);
	naming->named = calloc((size_t)model->sites + 1, sizeof(*naming->named));
	worker->stack = calloc((size_t)model->sites + 1, sizeof(*worker->stack));
	for (i = 1; i < model->sites && naming->named && worker->stack; i++) {
		site = &model->site[i];
		naming->named[naming->count].site = i;
		naming->named[naming->count].most = site->most;
		naming->named[naming->count].node = store_id(site->process, site->stack);
		worker->stack[naming->count].node = naming->named[naming->count].node;
		naming->count++;
	}
	model_unlock(model);
	if (!naming->named || !worker->stack)
		return -MT_E_MEMORY;
	qsort(naming->named, naming->count, sizeof(*naming->named), by_most);
	qsort(worker->stack, naming->count, sizeof(*worker->stack), by_node);
	for (from = 0; from < naming->count; from++)
		if (worker->stack[from].node && (!to || worker->stack[from].node != worker->stack[to - 1].node))
			worker->stack[to++].node = worker->stack[from].node;
	worker->stacks = to;
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
	int error = stack_tree_load(naming->worker->tree, stack->node, &stack->callstack);

	if (error)
		return error;
	user = callstack_user_frame(&stack->callstack);
	if (user != CALLSTACK_NO_FRAME) {
		callstack_spot_function(function, sizeof(function), &stack->callstack, user);
		callstack_spot_place(place, sizeof(place), &stack->callstack, user);
	}
	model_lock(naming->worker->model);
	stack->function = model_text(naming->worker->model, function);
	stack->place = model_text(naming->worker->model, place);
	model_unlock(naming->worker->model);
	stack->loaded = 1;
	return 0;
}

/* The stacks, as fast as they come. */
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

static int callsite_row(void *context, struct db_stmt *row)
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

/* The same places as in all reports. */
static int name_by_callsite(struct worker_naming *naming)
{
	struct worker *worker = naming->worker;
	uint32_t i, end;
	int has_callsites, error = worker_query_has_callsites(naming->db, &has_callsites);

	if (!error && !has_callsites)
		error = load_callsites(naming->db, naming->symbols);
	if (!error)
		error = worker_query_callsites(naming->db, callsite_row, worker);
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

/* The verdict once more, with the names of native functions. */
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

int worker_name_sites(struct worker *worker)
{
	struct worker_naming naming = { .worker = worker, .db = feed_summary(worker->feed), .symbols = symbols_new() };
	int error = naming.symbols ? collect(&naming) : -MT_E_MEMORY;

	if (!error && naming.db) {
		worker->tree = stack_tree_new(naming.db, naming.symbols);
		error = worker->tree ? 0 : -MT_E_MEMORY;
	}
	if (!error && naming.db) {
		db_watch(naming.db, worker_stops, worker);
		error = name_by_stack(&naming);
		if (!error && !worker->stop)
			error = worker_query_evidence(naming.db, evidence_row, worker);
		if (!error && !worker->stop)
			error = name_by_callsite(&naming);
		if (!error && !worker->stop)
			error = say_verdict(&naming);
		db_watch(naming.db, NULL, NULL);
		stack_tree_close(worker->tree);
	}
	free(naming.named);
	symbols_free(naming.symbols);
	model_lock(worker->model);
	worker->model->edition++;
	model_unlock(worker->model);
	return error;
}
