/*
 * clerk_names.c - gives sites what a person wants to see of them: call stacks with the names of native functions, the
 * largest first; then, when all stacks are known, the line of the user's own code and why the category is what it is.
 */
#include <stdlib.h>
#include <string.h>
#include "clerk_impl.h"
#include "clerk_query.h"
#include "memtrace/error.h"
#include "query/callstack.h"
#include "screen/data/verdict.h"
#include "store/load.h"
#include "store/store.h"

#define PUBLISH_SITES 256u /* in one go under the model's lock */

/* A site that is to be named. */
struct clerk_named {
	uint64_t most;
	int64_t node;
	uint32_t site;
};

struct clerk_naming {
	struct clerk *clerk;
	struct db *db; /* the summary */
	struct symbols *symbols;
	struct clerk_named *named; /* the largest first */
	uint32_t count;
};

static int by_most(const void *a, const void *b)
{
	const struct clerk_named *one = a, *two = b;

	if (one->most != two->most)
		return one->most < two->most ? 1 : -1;
	return (one->site > two->site) - (one->site < two->site);
}

static int by_node(const void *a, const void *b)
{
	const struct clerk_stack *one = a, *two = b;

	return (one->node > two->node) - (one->node < two->node);
}

static struct clerk_stack *find_stack(const struct clerk *clerk, int64_t node)
{
	struct clerk_stack key = { .node = node };

	return clerk->stacks ? bsearch(&key, clerk->stack, clerk->stacks, sizeof(key), by_node) : NULL;
}

/* Sites and stacks that there are; they are final when the traces have been read. */
static int collect(struct clerk_naming *naming)
{
	struct clerk *clerk = naming->clerk;
	struct model *model = clerk->model;
	const struct model_site *site;
	uint32_t i;
	size_t from, to = 0;

	model_lock(model);
	naming->named = calloc((size_t)model->sites + 1, sizeof(*naming->named));
	clerk->stack = calloc((size_t)model->sites + 1, sizeof(*clerk->stack));
	for (i = 1; i < model->sites && naming->named && clerk->stack; i++) {
		site = &model->site[i];
		naming->named[naming->count].site = i;
		naming->named[naming->count].most = site->most;
		naming->named[naming->count].node = store_id(site->process, site->stack);
		clerk->stack[naming->count].node = naming->named[naming->count].node;
		naming->count++;
	}
	model_unlock(model);
	if (!naming->named || !clerk->stack)
		return -MT_E_MEMORY;
	qsort(naming->named, naming->count, sizeof(*naming->named), by_most);
	qsort(clerk->stack, naming->count, sizeof(*clerk->stack), by_node);
	for (from = 0; from < naming->count; from++)
		if (clerk->stack[from].node && (!to || clerk->stack[from].node != clerk->stack[to - 1].node))
			clerk->stack[to++].node = clerk->stack[from].node;
	clerk->stacks = to;
	return 0;
}

/* Under the model's lock. */
static void publish(struct clerk *clerk, const struct clerk_named *named)
{
	const struct clerk_stack *stack = find_stack(clerk, named->node);
	struct model_site *site = &clerk->model->site[named->site];

	if (!stack || !stack->loaded)
		return;
	site->callstack = &stack->callstack;
	if (stack->function && stack->place) {
		site->function = stack->function;
		site->place = stack->place;
	}
}

static int load_stack(struct clerk_naming *naming, struct clerk_stack *stack)
{
	char function[512] = "", place[512] = "";
	size_t user;
	int error = callstack_load(&stack->callstack, naming->db, stack->node, naming->symbols);

	if (error)
		return error;
	user = callstack_user_frame(&stack->callstack);
	if (user != CALLSTACK_NO_FRAME) {
		callstack_function(function, sizeof(function), &stack->callstack.frame[user]);
		callstack_place(place, sizeof(place), &stack->callstack.frame[user]);
	}
	model_lock(naming->clerk->model);
	stack->function = model_text(naming->clerk->model, function);
	stack->place = model_text(naming->clerk->model, place);
	model_unlock(naming->clerk->model);
	stack->loaded = 1;
	return 0;
}

/* The stacks, as fast as they come. */
static int name_by_stack(struct clerk_naming *naming)
{
	struct clerk *clerk = naming->clerk;
	struct clerk_stack *stack;
	uint32_t i;
	int error = 0;

	clerk->total = naming->count;
	for (i = 0; i < naming->count && !error && !clerk->stop; i++) {
		stack = find_stack(clerk, naming->named[i].node);
		if (stack && !stack->loaded)
			error = load_stack(naming, stack);
		clerk->done = i + 1;
		if (error || !stack)
			continue;
		model_lock(clerk->model);
		publish(clerk, &naming->named[i]);
		model_unlock(clerk->model);
	}
	return error;
}

static int callsite_row(void *context, struct db_stmt *row)
{
	struct clerk *clerk = context;
	struct clerk_stack *stack = find_stack(clerk, db_int(row, 0));
	const char *function, *place;

	if (!stack || !stack->loaded)
		return 0;
	model_lock(clerk->model);
	function = model_text(clerk->model, db_text(row, 1));
	place = model_text(clerk->model, db_text(row, 2));
	model_unlock(clerk->model);
	if (!function || !place)
		return -MT_E_MEMORY;
	stack->function = function;
	stack->place = place;
	return 0;
}

/* The same places as in all reports. */
static int name_by_callsite(struct clerk_naming *naming)
{
	struct clerk *clerk = naming->clerk;
	uint32_t i, end;
	int has_callsites, error = clerk_query_has_callsites(naming->db, &has_callsites);

	if (!error && !has_callsites)
		error = load_callsites(naming->db, naming->symbols);
	if (!error)
		error = clerk_query_callsites(naming->db, callsite_row, clerk);
	for (i = 0; i < naming->count && !error; i = end) {
		end = naming->count - i < PUBLISH_SITES ? naming->count : i + PUBLISH_SITES;
		model_lock(clerk->model);
		for (; i < end; i++)
			publish(clerk, &naming->named[i]);
		model_unlock(clerk->model);
	}
	return error;
}

static int evidence_row(void *context, struct db_stmt *row)
{
	struct model *model = ((struct clerk *)context)->model;
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
static int say_verdict(struct clerk_naming *naming)
{
	struct model *model = naming->clerk->model;
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

int clerk_name_sites(struct clerk *clerk)
{
	struct clerk_naming naming = { .clerk = clerk, .db = feed_summary(clerk->feed), .symbols = symbols_new() };
	int error = naming.symbols ? collect(&naming) : -MT_E_MEMORY;

	if (!error && naming.db) {
		db_watch(naming.db, clerk_stops, clerk);
		error = name_by_stack(&naming);
		if (!error && !clerk->stop)
			error = clerk_query_evidence(naming.db, evidence_row, clerk);
		if (!error && !clerk->stop)
			error = name_by_callsite(&naming);
		if (!error && !clerk->stop)
			error = say_verdict(&naming);
		db_watch(naming.db, NULL, NULL);
	}
	free(naming.named);
	symbols_free(naming.symbols);
	model_lock(clerk->model);
	clerk->model->edition++;
	model_unlock(clerk->model);
	return error;
}
