#include "parameter_lives.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"

#define ALIVE UINT64_MAX
#define FIRST_ROOM 16u
#define BIRTHS_MAX (1u << 20) /* births of a group that are kept, at most */

int parameter_lives_init(struct parameter_lives *lives, const struct census *census)
{
	*lives = (struct parameter_lives){ .groups = census->alike_slots };
	if (census->known_slots && !(lives->known = calloc(census->known_slots, sizeof(*lives->known))))
		return -MT_E_MEMORY;
	if (census->alike_slots && !(lives->group = calloc(census->alike_slots, sizeof(*lives->group))))
		return -MT_E_MEMORY;
	return 0;
}

void parameter_lives_release(struct parameter_lives *lives)
{
	uint32_t i;

	for (i = 0; lives->group && i < lives->groups; i++) {
		free(lives->group[i].birth);
		free(lives->group[i].saved);
	}
	free(lives->known);
	free(lives->group);
	memset(lives, 0, sizeof(*lives));
}

static int is_there(const struct parameter_birth *birth, const struct parameter_moment *peak)
{
	if (!birth->seq || !peak->epoch)
		return 0;
	if (peak->seq)
		return birth->seq <= peak->seq && birth->died_seq > peak->seq;
	return birth->time <= peak->time && (birth->died_seq == ALIVE || birth->died > peak->time);
}

/* ---- births and deaths ---- */

/* Drops the births that died in their own phase and are not part of the peak. */
static void drop_gone(struct parameter_group *group, const struct parameter_moment *peak)
{
	uint32_t i, kept = 0;

	for (i = 0; i < group->births; i++)
		if (!group->birth[i].home || is_there(&group->birth[i], peak))
			group->birth[kept++] = group->birth[i];
	group->births = kept;
}

static void lose(struct parameter_group *group)
{
	group->is_lost = 1;
	group->births = group->saves = 0;
}

/* Makes room for one more birth. Returns 0 or -MT_E_MEMORY. */
static int make_room(struct parameter_group *group, const struct parameter_moment *peak)
{
	uint32_t room = group->room ? group->room * 2 : FIRST_ROOM;
	struct parameter_birth *grown;

	if (group->births < group->room)
		return 0;
	drop_gone(group, peak);
	if (group->births < group->room / 2)
		return 0;
	if (group->births >= BIRTHS_MAX) {
		lose(group);
		return 0;
	}
	grown = realloc(group->birth, room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	group->birth = grown;
	group->room = room;
	return 0;
}

/* Begins a step of a group: saves the births if the step had a new peak, and keeps the live births. Returns 0 or -MT_E_MEMORY. */
static int begin_step(struct parameter_group *group, const struct parameter_moment *peak)
{
	uint32_t i, kept = 0;

	if (group->births && group->saved_epoch < peak->epoch) {
		if (group->saved_room < group->room) {
			free(group->saved);
			group->saved = malloc(group->room * sizeof(*group->saved));
			group->saved_room = group->saved ? group->room : 0;
			if (!group->saved)
				return -MT_E_MEMORY;
		}
		memcpy(group->saved, group->birth, group->births * sizeof(*group->saved));
		group->saves = group->births;
		group->saved_epoch = peak->epoch;
	}
	for (i = 0; i < group->births; i++)
		if (group->birth[i].died_seq == ALIVE)
			group->birth[kept++] = group->birth[i];
	group->births = kept;
	return 0;
}

static int add_birth(struct parameter_group *group, const struct mt_live *live, int64_t time, uint32_t device,
		     const struct parameter_moment *peak)
{
	int error = 0;

	if (group->births + group->saves && device != group->device)
		lose(group);
	if (live->step != group->step)
		error = begin_step(group, peak);
	group->step = live->step;
	group->device = device;
	if (!error && !group->is_lost)
		error = make_room(group, peak);
	if (error || group->is_lost || (group->births && group->birth[group->births - 1].seq >= live->seq))
		return error;
	group->birth[group->births++] = (struct parameter_birth){
		.seq = live->seq, .died_seq = ALIVE, .time = time, .site = (uint32_t)live->tag
	};
	return 0;
}

int parameter_lives_born(struct parameter_lives *lives, const struct census *census, const struct mt_live *live,
			 int64_t time, uint32_t device, const struct parameter_moment *peak)
{
	const struct census_block *block = census_known(census, live->seq);

	if (block)
		lives->known[block - census->known] = (struct parameter_birth){
			.seq = live->seq, .died_seq = ALIVE, .time = time, .site = (uint32_t)live->tag
		};
	if (block)
		return 0;
	block = census_alike(census, live->stack, live->size);
	return block ? add_birth(&lives->group[block - census->alike], live, time, device, peak) : 0;
}

/* Returns the birth with this seq; NULL: it was not kept. */
static struct parameter_birth *find_birth(const struct parameter_group *group, uint64_t seq)
{
	uint32_t first = 0, end = group->births, middle;

	while (first < end) {
		middle = first + (end - first) / 2;
		if (group->birth[middle].seq < seq)
			first = middle + 1;
		else
			end = middle;
	}
	return first < group->births && group->birth[first].seq == seq ? &group->birth[first] : NULL;
}

void parameter_lives_died(struct parameter_lives *lives, const struct census *census, const struct mt_live *live,
			  uint64_t seq, int64_t time, int home)
{
	const struct census_block *block = census_known(census, live->seq);
	struct parameter_birth *birth = NULL;

	if (block)
		birth = &lives->known[block - census->known];
	else if ((block = census_alike(census, live->stack, live->size)))
		birth = find_birth(&lives->group[block - census->alike], live->seq);
	if (!birth || birth->seq != live->seq)
		return;
	birth->died_seq = seq;
	birth->died = time;
	birth->home = home;
}

static void renumber(struct parameter_birth *birth, uint32_t count, const uint32_t *number)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		birth[i].site = number[birth[i].site];
}

void parameter_lives_reorder(struct parameter_lives *lives, const struct census *census, const uint32_t *number)
{
	uint32_t i;

	renumber(lives->known, lives->known ? census->known_slots : 0, number);
	for (i = 0; lives->group && i < lives->groups; i++) {
		renumber(lives->group[i].birth, lives->group[i].births, number);
		renumber(lives->group[i].saved, lives->group[i].saves, number);
	}
}

/* ---- the modules of the bytes ---- */

/* A tensor in a block, with its name. */
struct told {
	uint64_t block, addr, bytes, elements;
	uint32_t census, row;
	int is_gradient, is_trained; /* is_trained: an optimizer has the weight */
};

struct whose {
	struct parameter_answer *answer;
	const struct parameter_lives *lives;
	const struct census *census;
	struct module_tree *tree;
	const struct attribution *attribution;
	const struct parameter_moment *peak;
	struct told *told; /* sorted by block, then by census (newest first), then by address */
	size_t count;
	uint32_t *row;                 /* by slot of a known birth: innermost module that contains all of it */
	struct parameter_member *part; /* by slot of a known birth: its bytes */
	struct member *member;
	size_t members;
};

static int add_bytes(struct whose *whose, const struct parameter_bytes *bytes)
{
	struct parameter_answer *answer = whose->answer;

	if (!bytes->site || !bytes->bytes)
		return 0;
	if (MT_ARRAY_ROOM(answer->item, answer->count, answer->room))
		return -MT_E_MEMORY;
	answer->item[answer->count++] = *bytes;
	return 0;
}

static const struct parameter_moment *peak_of(const struct whose *whose, const struct parameter_birth *birth)
{
	return &whose->peak[whose->attribution->site[birth->site].key.device];
}

static int by_block(const void *a, const void *b)
{
	const struct told *one = a, *two = b;

	if (one->block != two->block)
		return one->block < two->block ? -1 : 1;
	if (one->census != two->census)
		return one->census > two->census ? -1 : 1;
	if (one->addr != two->addr)
		return one->addr < two->addr ? -1 : 1;
	return 0;
}

static uint64_t elements_of(const char *shape)
{
	uint64_t dims[CENSUS_DIMS_MAX], elements = 1;
	uint32_t count = census_dims(dims, shape), i;

	for (i = 0; i < count; i++)
		elements *= dims[i];
	return count ? elements : 0;
}

static void tell_row(struct whose *whose, const struct census_row *from)
{
	const char *name = mt_defs_string(whose->tree->defs, from->name);
	const char *model = mt_defs_string(whose->tree->defs, from->text);
	struct told *told = &whose->told[whose->count];
	uint32_t what = from->flags & MT_CENSUS_WHAT;
	struct census_text text;

	census_parse(&text, model);
	model += strlen(model);
	while (model > mt_defs_string(whose->tree->defs, from->text) && model[-1] != ' ')
		model--; /* the last word: the definitions keep it */
	*told = (struct told){ .block = from->block,
			       .addr = from->addr,
			       .bytes = from->bytes,
			       .census = from->flags >> MT_CENSUS_NUMBER_SHIFT,
			       .elements = elements_of(text.local),
			       .is_gradient = what == MT_CENSUS_GRADIENT,
			       .is_trained = what == MT_CENSUS_WEIGHT && strcmp(text.optimizer, "-") };
	if (*name && strcmp(text.model, "-"))
		told->row = module_tree_of_parameter(whose->tree, model, name);
	whose->count++;
}

static int tell_rows(struct whose *whose)
{
	uint32_t i;

	whose->told = malloc(((size_t)whose->census->rows + 1) * sizeof(*whose->told));
	if (!whose->told)
		return -MT_E_MEMORY;
	for (i = 0; i < whose->census->rows; i++)
		if (whose->census->row[i].block && !(whose->census->row[i].flags & MT_CENSUS_TIED))
			tell_row(whose, &whose->census->row[i]);
	qsort(whose->told, whose->count, sizeof(*whose->told), by_block);
	return 0;
}

/*
 * Adds the bytes of each module. told[first .. end) belong to one census and one block. A single tensor gets the whole block. Bytes of a block that
 * no tensor covers belong to the stack's module: a file of weights, read into one block, has a header.
 */
static int take_block(struct whose *whose, const struct census_block *block, size_t first, size_t end)
{
	const struct parameter_birth *birth = &whose->lives->known[block - whose->census->known];
	struct parameter_member *part = &whose->part[block - whose->census->known];
	struct parameter_bytes bytes = { .site = birth->site, .birth = block->key };
	uint64_t until = 0, left = block->bytes, begin, stop;
	uint32_t common = whose->told[first].row;
	int error = 0;
	size_t i;

	for (i = first + 1; i < end; i++)
		common = module_tree_common(whose->tree, common, whose->told[i].row);
	whose->row[block - whose->census->known] = common;
	part->first = whose->answer->count;
	bytes.here = birth->seq && birth->site && is_there(birth, peak_of(whose, birth));
	if (end - first == 1) {
		bytes.row = common;
		bytes.bytes = block->bytes;
		bytes.count = 1;
		error = add_bytes(whose, &bytes);
	}
	for (i = first; i < end && end - first > 1 && !error; i++) {
		begin = whose->told[i].addr > until ? whose->told[i].addr : until;
		stop = whose->told[i].addr + whose->told[i].bytes;
		bytes.row = whose->told[i].row;
		bytes.bytes = stop > begin ? stop - begin : 0;
		bytes.bytes = bytes.bytes < left ? bytes.bytes : left;
		bytes.count = i == first;
		until = stop > until ? stop : until;
		left -= bytes.bytes;
		error = add_bytes(whose, &bytes);
	}
	part->count = (uint32_t)(whose->answer->count - part->first);
	return error;
}

static int take_blocks(struct whose *whose)
{
	const struct census_block *block;
	size_t first = 0, end, last;
	int error = 0;

	whose->row = calloc((size_t)whose->census->known_slots + 1, sizeof(*whose->row));
	whose->part = calloc((size_t)whose->census->known_slots + 1, sizeof(*whose->part));
	if (!whose->row || !whose->part)
		return -MT_E_MEMORY;
	for (; first < whose->count && !error; first = last) {
		end = first;
		while (end < whose->count && whose->told[end].block == whose->told[first].block &&
		       whose->told[end].census == whose->told[first].census)
			end++;
		for (last = end; last < whose->count && whose->told[last].block == whose->told[first].block; last++)
			;
		block = census_known(whose->census, whose->told[first].block);
		if (block)
			error = take_block(whose, block, first, end);
	}
	return error;
}

/* ---- births that are alike ---- */

/* A named birth of a group. */
struct member {
	uint64_t like, seq;
	uint32_t census, step, row;
	struct parameter_member part;
};

/* Numbers of trained weights and of gradients, for one census and one number of elements. */
struct shape {
	uint64_t elements, trained, gradients;
	uint32_t census;
};

static int by_like(const void *a, const void *b)
{
	const struct member *one = a, *two = b;

	if (one->like != two->like)
		return one->like < two->like ? -1 : 1;
	if (one->census != two->census)
		return one->census > two->census ? -1 : 1;
	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

static int by_shape(const void *a, const void *b)
{
	const struct shape *one = a, *two = b;

	if (one->census != two->census)
		return one->census < two->census ? -1 : 1;
	return one->elements < two->elements ? -1 : one->elements > two->elements;
}

static int gather_members(struct whose *whose)
{
	const struct census *census = whose->census;
	uint32_t i;

	whose->member = malloc(((size_t)census->known_used + 1) * sizeof(*whose->member));
	if (!whose->member)
		return -MT_E_MEMORY;
	for (i = 0; i < census->known_slots; i++)
		if (census->known[i].key && census->known[i].category)
			whose->member[whose->members++] = (struct member){ .like = census->known[i].like,
									   .seq = census->known[i].key,
									   .census = census->known[i].census,
									   .step = census->known[i].step,
									   .row = whose->row[i],
									   .part = whose->part[i] };
	qsort(whose->member, whose->members, sizeof(*whose->member), by_like);
	return 0;
}

/* Returns a sorted array of the shapes of all censuses. The caller frees the array. NULL: out of memory. */
static struct shape *count_shapes(const struct whose *whose, size_t *count)
{
	struct shape *shape = malloc((whose->count + 1) * sizeof(*shape));
	size_t i, used = 0;

	*count = 0;
	for (i = 0; i < whose->count && shape; i++)
		if (whose->told[i].is_gradient || whose->told[i].is_trained)
			shape[used++] = (struct shape){ .elements = whose->told[i].elements,
							.census = whose->told[i].census,
							.trained = (uint64_t)whose->told[i].is_trained,
							.gradients = (uint64_t)whose->told[i].is_gradient };
	if (shape)
		qsort(shape, used, sizeof(*shape), by_shape);
	for (i = 0; i < used; i++) {
		if (*count && !by_shape(&shape[*count - 1], &shape[i])) {
			shape[*count - 1].trained += shape[i].trained;
			shape[*count - 1].gradients += shape[i].gradients;
		} else {
			shape[(*count)++] = shape[i];
		}
	}
	return shape;
}

/* Whether each trained parameter of the shape had a gradient at the census that named the block. */
static int has_all_gradients(const struct whose *whose, uint64_t block, const struct shape *shape, size_t shapes)
{
	const struct told key = { .block = block, .census = UINT32_MAX };
	size_t first = 0, end = whose->count, middle;
	struct shape wanted;
	const struct shape *found;

	while (first < end) {
		middle = first + (end - first) / 2;
		if (by_block(&whose->told[middle], &key) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	if (first == whose->count || whose->told[first].block != block || !whose->told[first].is_gradient)
		return 0;
	wanted = (struct shape){ .elements = whose->told[first].elements, .census = whose->told[first].census };
	found = bsearch(&wanted, shape, shapes, sizeof(*shape), by_shape);
	return found && found->trained == found->gradients;
}

/* Gives a birth at the peak the modules of a named birth that is like it. */
static int add_like(struct whose *whose, uint32_t site, const struct parameter_member *member)
{
	struct parameter_bytes bytes;
	uint32_t i;
	int error = 0;

	for (i = 0; i < member->count && !error; i++) {
		bytes = whose->answer->item[member->first + i];
		bytes.site = site;
		bytes.birth = 0;
		bytes.here = 1;
		error = add_bytes(whose, &bytes);
	}
	return error;
}

/* Takes the births of a group at the peak. */
static int take_group(struct whose *whose, const struct parameter_group *group, uint64_t size,
		      const struct parameter_order *order)
{
	const struct parameter_moment *peak = &whose->peak[group->device];
	int is_now = group->saved_epoch < peak->epoch, error = 0, is_ordered;
	const struct parameter_birth *birth = is_now ? group->birth : group->saved;
	uint32_t births = is_now ? group->births : group->saves, survivors = 0, i;
	const struct parameter_member *member = &whose->answer->member[order->first];
	struct parameter_bytes bytes = { .row = order->common, .bytes = size, .count = 1, .here = 1 };

	for (i = 0; i < births; i++)
		survivors += !birth[i].home;
	is_ordered = order->is_ordered && survivors == order->count;
	for (i = 0; i < births && !error; i++) {
		if (birth[i].home)
			continue;
		bytes.site = birth[i].site;
		if (is_there(&birth[i], peak))
			error = is_ordered ? add_like(whose, birth[i].site, member) : add_bytes(whose, &bytes);
		member += is_ordered;
	}
	return error;
}

/* Finds the order of member[first .. end), all of one stack, size and census. */
static int take_alike(struct whose *whose, size_t first, size_t end, const struct shape *shape, size_t shapes)
{
	const struct member *member = &whose->member[first];
	const struct census_block *block = census_find_alike(whose->census, member->like);
	const struct census_block *known = census_known(whose->census, member->seq);
	struct parameter_answer *answer = whose->answer;
	struct parameter_order *order = &answer->order[answer->orders];
	size_t i;

	if (!block || !known)
		return 0;
	*order = (struct parameter_order){ .like = member->like,
					   .first = answer->members,
					   .count = (uint32_t)(end - first),
					   .common = member->row,
					   .is_ordered = 1 };
	for (i = first; i < end; i++) {
		answer->member[answer->members++] = whose->member[i].part;
		order->common = module_tree_common(whose->tree, order->common, whose->member[i].row);
		order->is_ordered &= whose->member[i].step == member->step;
	}
	if (order->is_ordered && block->category == MT_CATEGORY_GRADIENTS)
		order->is_ordered = has_all_gradients(whose, member->seq, shape, shapes);
	answer->orders++;
	return take_group(whose, &whose->lives->group[block - whose->census->alike], known->bytes, order);
}

/*
 * Finds the census that names most of member[first .. until), all of one stack and size. The newest of equal ones wins. Sets *first and *end to its
 * members.
 */
static void find_fullest(const struct whose *whose, size_t *first, size_t *end, size_t until)
{
	size_t from = *first, to, begin = *first, stop = *first;

	for (; from < until; from = to) {
		for (to = from; to < until && whose->member[to].census == whose->member[from].census; to++)
			;
		if (to - from <= stop - begin)
			continue;
		begin = from;
		stop = to;
	}
	*first = begin;
	*end = stop;
}

static int take_all_alike(struct whose *whose)
{
	size_t first, end, from = 0, until, shapes;
	struct shape *shape = count_shapes(whose, &shapes);
	int error = shape ? gather_members(whose) : -MT_E_MEMORY;

	if (!error) {
		whose->answer->order = malloc((whose->members + 1) * sizeof(*whose->answer->order));
		whose->answer->member = malloc((whose->members + 1) * sizeof(*whose->answer->member));
		error = whose->answer->order && whose->answer->member ? 0 : -MT_E_MEMORY;
	}
	for (; from < whose->members && !error; from = until) {
		for (until = from; until < whose->members && whose->member[until].like == whose->member[from].like;
		     until++)
			;
		first = from;
		find_fullest(whose, &first, &end, until);
		error = take_alike(whose, first, end, shape, shapes);
	}
	free(shape);
	return error;
}

int parameter_lives_answer(struct parameter_answer *answer, const struct parameter_lives *lives,
			   const struct census *census, struct module_tree *tree, const struct attribution *attribution,
			   const struct parameter_moment *peak)
{
	struct whose whose = { .answer = answer,
			       .lives = lives,
			       .census = census,
			       .tree = tree,
			       .attribution = attribution,
			       .peak = peak };
	int error;

	if (!census->rows || !lives->known)
		return 0;
	error = tell_rows(&whose);
	if (!error)
		error = take_blocks(&whose);
	if (!error && lives->group)
		error = take_all_alike(&whose);
	free(whose.told);
	free(whose.row);
	free(whose.part);
	free(whose.member);
	return error;
}

void parameter_answer_release(struct parameter_answer *answer)
{
	free(answer->item);
	free(answer->order);
	free(answer->member);
	memset(answer, 0, sizeof(*answer));
}

const struct parameter_order *parameter_order_of(const struct parameter_answer *answer, uint64_t stack, uint64_t size)
{
	uint64_t like = census_like(stack, size);
	size_t first = 0, end = answer->orders, middle;

	while (first < end) {
		middle = first + (end - first) / 2;
		if (answer->order[middle].like < like)
			first = middle + 1;
		else
			end = middle;
	}
	return first < answer->orders && answer->order[first].like == like ? &answer->order[first] : NULL;
}
