#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "finding.h"
#include "label/module_tree.h"
#include "memtrace/error.h"
#include "query/callstack.h"
#include "query/query.h"
#include "query/stack_tree.h"

/* Whether the user's frame has the words of the place. Long names are compared up to the bytes that a place has. */
static int is_place(const struct callstack *stack, size_t user, const struct finding_place *named)
{
	const struct callstack_frame *frame = stack->frame[callstack_inner_frame(stack, user)];
	char function[sizeof(named->function)], place[sizeof(named->place)];

	return frame->line == named->line && !strncmp(frame->file, named->file, sizeof(named->file) - 1) &&
	       !strcmp(callstack_function_of(function, sizeof(function), stack, user), named->function) &&
	       !strcmp(callstack_place_of(place, sizeof(place), stack, user), named->place);
}

int places_user_frame(size_t *user, struct db *db, int64_t node, const struct callstack *stack)
{
	struct finding_place named;
	int error = finding_place_of(&named, db, node);
	size_t at;

	*user = callstack_user_frame(stack);
	for (at = *user; !error && at < stack->count; at++)
		if (is_place(stack, at, &named)) {
			*user = at;
			break;
		}
	return error;
}

struct loading {
	struct places *places;
	struct db *db;
	struct stack_tree *tree;
	uint32_t *slot; /* hash table of places: number + 1; 0: the slot is free */
	uint32_t slots;
};

static int load_site(void *context, const struct query_site *row)
{
	struct loading *loading = context;
	struct place_site *site = &loading->places->site[loading->places->sites++];
	char pattern[MODULE_PATH_MAX];
	char function[256] = "";
	int error = stack_tree_load(loading->tree, row->node, &site->stack);

	if (!error)
		error = places_user_frame(&site->user, loading->db, row->node, &site->stack);
	if (!error && site->user != CALLSTACK_NO_FRAME)
		callstack_work(function, sizeof(function), &site->stack, site->user);
	site->function = strdup(function);
	site->phase = strdup(row->phase);
	site->category = strdup(row->category);
	site->evidence = strdup(row->evidence);
	site->decided_by = strdup(row->decided_by);
	site->rule = row->rule;
	site->probable = row->probable;
	site->parameter = strdup(row->parameter);
	site->submodule = strdup(row->submodule);
	site->pattern = strdup(module_path_pattern(pattern, row->submodule));
	site->bytes = row->bytes;
	site->count = row->count;
	site->sites = row->sites;
	site->pid = row->pid;
	site->rank = row->rank;
	if (!site->phase || !site->category || !site->evidence || !site->decided_by || !site->parameter ||
	    !site->submodule || !site->pattern || !site->function)
		return -MT_E_MEMORY;
	return error;
}

static int same_line(const struct callstack_frame *one, const struct callstack_frame *two)
{
	return one->line == two->line && !strcmp(one->file, two->file) && !strcmp(one->function, two->function) &&
	       (one->line || (one->offset == two->offset && !strcmp(one->module, two->module)));
}

/* Whether two stacks have the same user's line, and the same distinctive frame inside of it. */
static int same_frames(const struct callstack *one, size_t one_user, const struct callstack *two, size_t two_user)
{
	return same_line(one->frame[one_user], two->frame[two_user]) &&
	       same_line(one->frame[callstack_inner_frame(one, one_user)],
			 two->frame[callstack_inner_frame(two, two_user)]);
}

/* `first` is the first site of its place. */
static int same_place(const struct place_site *first, const struct place_site *site)
{
	if (strcmp(first->phase, site->phase) || strcmp(first->category, site->category) ||
	    strcmp(first->pattern, site->pattern))
		return 0;
	if (first->user == CALLSTACK_NO_FRAME || site->user == CALLSTACK_NO_FRAME)
		return first->user == site->user;
	if (*site->pattern)
		return same_line(first->stack.frame[first->user], site->stack.frame[site->user]);
	return same_frames(&first->stack, first->user, &site->stack, site->user);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return hash * 0x9e3779b97f4a7c15ull;
}

/* Returns a hash of the place's properties, equal for all sites of a place. */
static uint32_t hash_of(const struct place_site *site)
{
	uint64_t hash = hash_text(hash_text(hash_text(1, site->phase), site->category), site->pattern);
	const struct callstack_frame *frame;

	if (site->user != CALLSTACK_NO_FRAME) {
		frame = site->stack.frame[site->user];
		hash = hash_text(hash_text(hash + frame->line, frame->file), frame->function);
		frame = *site->pattern ? frame : site->stack.frame[callstack_inner_frame(&site->stack, site->user)];
		hash = hash_text(hash + frame->line + (frame->line ? 0 : frame->offset), frame->file);
	}
	return (uint32_t)(hash ^ hash >> 32);
}

/* Returns the slot with the number of the site's place + 1, or the free slot for it. */
static uint32_t *slot_of(const struct loading *loading, const struct place_site *site)
{
	uint32_t at = hash_of(site) & (loading->slots - 1);

	while (loading->slot[at] && !same_place(loading->places->place[loading->slot[at] - 1].first, site))
		at = (at + 1) & (loading->slots - 1);
	return &loading->slot[at];
}

static void add_to_place(struct loading *loading, struct place_site *site)
{
	struct places *places = loading->places;
	uint32_t *slot = slot_of(loading, site);
	struct place *place = *slot ? &places->place[*slot - 1] : &places->place[places->count];

	if (!*slot) {
		*place = (struct place){ .phase = site->phase,
					 .category = site->category,
					 .pid = site->pid,
					 .rank = site->rank,
					 .evidence = site->evidence,
					 .decided_by = site->decided_by,
					 .parameter = site->parameter,
					 .submodule = site->submodule,
					 .first = site,
					 .stack = &site->stack,
					 .user = site->user };
		*slot = (uint32_t)++places->count;
	}
	if (strcmp(place->submodule, site->submodule))
		place->submodule = site->pattern;
	place->rule += site->rule;
	place->probable += site->probable;
	place->bytes += site->bytes;
	place->count += site->count;
	place->stacks += (uint32_t)site->sites;
	site->place = *slot - 1;
}

static int by_place(const void *a, const void *b)
{
	const struct place_site *one = *(const struct place_site *const *)a,
				*two = *(const struct place_site *const *)b;

	if (one->place != two->place)
		return one->place < two->place ? -1 : 1;
	return one->pid != two->pid ? (one->pid < two->pid ? -1 : 1)
				    : (one->rank > two->rank) - (one->rank < two->rank);
}

/* Counts each process of a place once. */
static void count_processes(struct places *places)
{
	const struct place_site **site = places->sorted;
	struct place *place;
	size_t i;

	qsort(site, places->sites, sizeof(*site), by_place);
	for (i = 0; i < places->sites; i++) {
		if (i && !by_place(&site[i - 1], &site[i]))
			continue;
		place = &places->place[site[i]->place];
		if (!place->processes++ || site[i]->rank < place->ranks[0])
			place->ranks[0] = site[i]->rank;
		if (place->processes == 1 || site[i]->rank > place->ranks[1])
			place->ranks[1] = site[i]->rank;
	}
}

static int by_function(const void *a, const void *b)
{
	const struct place_site *one = *(const struct place_site *const *)a,
				*two = *(const struct place_site *const *)b;
	int order = (one->place > two->place) - (one->place < two->place);

	return order ? order : strcmp(one->function, two->function);
}

/* Sorts sites by place. The sites of a place keep their order, by bytes. */
static int by_place_and_bytes(const void *a, const void *b)
{
	const struct place_site *one = *(const struct place_site *const *)a,
				*two = *(const struct place_site *const *)b;

	if (one->place != two->place)
		return one->place < two->place ? -1 : 1;
	return (one > two) - (one < two);
}

static int by_function_bytes(const void *a, const void *b)
{
	const struct place_function *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return strcmp(one->name, two->name);
}

/* Fills the functions and the sites of each place. */
static void gather(struct places *places)
{
	struct place_function *function = places->function;
	const struct place_site **site = places->sorted;
	struct place *place;
	size_t i;

	qsort(site, places->sites, sizeof(*site), by_function);
	for (i = 0; i < places->sites; i++) {
		place = &places->place[site[i]->place];
		if (!i || by_function(&site[i - 1], &site[i])) {
			function += i != 0;
			*function = (struct place_function){ .name = site[i]->function };
			place->function = place->functions++ ? place->function : function;
		}
		function->bytes += site[i]->bytes;
		function->count += site[i]->count;
		function->stacks += (uint32_t)site[i]->sites;
	}
	qsort(site, places->sites, sizeof(*site), by_place_and_bytes);
	for (i = 0; i < places->sites; i++) {
		place = &places->place[site[i]->place];
		place->site = place->sites++ ? place->site : &site[i];
	}
	for (function = places->function, i = 0; i < places->count; i++) {
		place = &places->place[i];
		place->known = query_known(place->bytes, place->rule, place->probable);
		qsort(function, place->functions, sizeof(*function), by_function_bytes);
		function += place->functions;
	}
}

/* Sorts by bytes, largest first. Equal places keep the order of their sites. */
static int by_bytes(const void *a, const void *b)
{
	const struct place *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return one->stack < two->stack ? -1 : one->stack > two->stack;
}

int places_load_frames(struct places *places, struct db *db, int64_t device, struct stack_tree *tree)
{
	struct loading loading = { .places = places, .db = db, .tree = tree, .slots = 256 };
	size_t i;
	int error;

	memset(places, 0, sizeof(*places));
	places->site = calloc(PLACES_SITES_MAX, sizeof(*places->site));
	places->place = calloc(PLACES_SITES_MAX, sizeof(*places->place));
	places->sorted = calloc(PLACES_SITES_MAX, sizeof(*places->sorted));
	places->function = calloc(PLACES_SITES_MAX, sizeof(*places->function));
	if (!places->site || !places->place || !places->sorted || !places->function)
		return -MT_E_MEMORY;
	error = query_lines(db, device, PLACES_SITES_MAX, load_site, &loading);
	if (error)
		return error;
	while (loading.slots < places->sites * 2)
		loading.slots *= 2;
	loading.slot = calloc(loading.slots, sizeof(*loading.slot));
	if (!loading.slot)
		return -MT_E_MEMORY;
	for (i = 0; i < places->sites; i++) {
		add_to_place(&loading, &places->site[i]);
		places->sorted[i] = &places->site[i];
	}
	free(loading.slot);
	count_processes(places);
	gather(places);
	qsort(places->place, places->count, sizeof(*places->place), by_bytes);
	return 0;
}

int places_load(struct places *places, struct db *db, int64_t device, struct symbols *symbols)
{
	struct stack_tree *tree = stack_tree_new(db, symbols);
	int error;

	memset(places, 0, sizeof(*places));
	if (!tree)
		return -MT_E_MEMORY;
	error = places_load_frames(places, db, device, tree);
	stack_tree_close(tree);
	places->tree = tree;
	return error;
}

void places_release(struct places *places)
{
	size_t i;

	for (i = 0; i < places->sites; i++) {
		callstack_release(&places->site[i].stack);
		free(places->site[i].phase);
		free(places->site[i].category);
		free(places->site[i].evidence);
		free(places->site[i].decided_by);
		free(places->site[i].parameter);
		free(places->site[i].submodule);
		free(places->site[i].pattern);
		free(places->site[i].function);
	}
	free(places->sorted);
	free(places->function);
	free(places->site);
	free(places->place);
	stack_tree_free(places->tree);
	memset(places, 0, sizeof(*places));
}

/* Whether a module is called inside of the user's frame, or frames are missing there. */
static int runs_module(const struct callstack *stack, size_t user)
{
	static const char file[] = "torch/nn/modules/module.py";
	size_t i, size;

	for (i = 0; i < user; i++) {
		size = strlen(stack->frame[i]->file);
		if (stack->frame[i]->elided ||
		    (size >= sizeof(file) - 1 && !strcmp(stack->frame[i]->file + size - (sizeof(file) - 1), file)))
			return 1;
	}
	return 0;
}

const char *places_name(char *out, size_t size, const struct place *place)
{
	char line[CALLSTACK_PLACE_MAX];

	if (!*place->submodule)
		return callstack_place_of(out, size, place->stack, place->user);
	callstack_place(line, sizeof(line), place->stack->frame[place->user]);
	snprintf(out, size, "%s %s %s", line, runs_module(place->stack, place->user) ? ">" : "in", place->submodule);
	return out;
}

static void json_frame(struct doc *doc, const struct callstack_frame *frame, int is_user, int is_inner)
{
	doc_object(doc, NULL);
	doc_string(doc, "function", frame->elided ? "..." : frame->function);
	doc_string(doc, "file", frame->file);
	doc_int(doc, "line", frame->line);
	doc_string(doc, "module", frame->module);
	if (frame->native)
		doc_int(doc, "offset", (int64_t)frame->offset);
	if (is_user)
		doc_bool(doc, "user", 1);
	if (is_inner)
		doc_bool(doc, "inner", 1);
	doc_end(doc);
}

void stack_json_frames(struct doc *doc, const char *key, const struct callstack *stack, size_t user)
{
	size_t inner = user == CALLSTACK_NO_FRAME || !stack->count ? user : callstack_inner_frame(stack, user), i;

	doc_array(doc, key);
	for (i = callstack_first_frame(stack); i < stack->count; i++)
		json_frame(doc, stack->frame[i], i == user, i == inner && inner != user);
	doc_end(doc);
}

int stack_json(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node)
{
	struct callstack stack;
	size_t user = CALLSTACK_NO_FRAME;
	int error = callstack_load(&stack, db, node, symbols);

	if (!error)
		error = places_user_frame(&user, db, node, &stack);
	stack_json_frames(doc, "stack", &stack, user);
	callstack_release(&stack);
	return error;
}

static void json_place(struct doc *doc, const struct finding_place *named)
{
	if (*named->place)
		doc_string(doc, "place", named->place);
	else
		doc_null(doc, "place");
}

int stack_json_named(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node)
{
	struct finding_place named;
	int error = finding_place_of(&named, db, node);

	json_place(doc, &named);
	return error ? error : stack_json(doc, db, symbols, node);
}

int stack_json_place(struct doc *doc, struct db *db, int64_t node)
{
	struct finding_place named;
	int error = finding_place_of(&named, db, node);

	doc_string(doc, "function", named.function);
	doc_string(doc, "file", named.file);
	doc_int(doc, "line", named.line);
	json_place(doc, &named);
	return error ? error : stack_json(doc, db, NULL, node);
}
