/* export_stacks.c - makes the rows of a flame graph from the sites or modules at a moment: see export_moment.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "export_moment.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "query/stack_tree.h"
#include "report/places.h"
#include "report/top/top_at.h"

/* The bytes of a site, or of its part in a module. */
struct part {
	int64_t site, module; /* module 0: --by stack, or outside of any module */
	uint64_t bytes, count;
};

struct asked {
	struct export_run *run;
	struct stack_tree *tree;
	const struct query_device *device;
	int64_t devices, processes;
	struct callstack stack;
	char place[CALLSTACK_PLACE_MAX];
	struct export_frames frames;
	struct part *base; /* parts at the beginning of the range, sorted; their bytes are subtracted */
	size_t bases, base_room;
	int (*each)(void *context, const struct export_stack *stack);
	void *context;
};

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static int add_word(struct asked *asked, const char *word, size_t size)
{
	return export_frames_word(&asked->frames, word, size);
}

static int add_number(struct asked *asked, const char *word, int64_t number)
{
	char text[64];
	int size = snprintf(text, sizeof(text), "%s %lld", word, (long long)number);

	return add_word(asked, text, (size_t)size);
}

/* Adds the rows before the code: the device if the run has several, and the process if it has several. */
static int add_heads(struct asked *asked, const struct export_stack *stack)
{
	int error = 0;

	asked->frames.count = 0;
	if (asked->devices > 1 && !strcmp(asked->device->kind, "cpu"))
		error = add_word(asked, "CPU", 3);
	else if (asked->devices > 1)
		error = add_number(asked, "GPU", asked->device->number);
	if (!error && asked->processes > 1)
		error = stack->rank >= 0 ? add_number(asked, "rank", stack->rank)
					 : add_number(asked, "pid", stack->pid);
	return error;
}

/* Adds a row for each part of a module's path ("layers.0 > Softmax 2" has three), and the category as the last row. */
static int add_module(struct asked *asked, const char *path, const char *category)
{
	static const char none[] = "outside any module", inside[] = " > ";
	int error = *path ? 0 : add_word(asked, none, sizeof(none) - 1);
	size_t size, skip;

	while (*path && !error) {
		size = strcspn(path, ".");
		skip = size + (path[size] == '.');
		if (strstr(path, inside) && (size_t)(strstr(path, inside) - path) < size) {
			size = (size_t)(strstr(path, inside) - path);
			skip = size + sizeof(inside) - 1;
		}
		error = add_word(asked, path, size);
		path += skip;
	}
	return error ? error : add_word(asked, category, strlen(category));
}

/* ---- the range --------------------------------------------------------------------------------------------------- */

static int by_key(const void *one, const void *other)
{
	const struct part *a = one, *b = other;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->module < b->module ? -1 : a->module > b->module;
}

static int keep_base(struct asked *asked, const struct part *part)
{
	if (MT_ARRAY_ROOM(asked->base, asked->bases, asked->base_room))
		return -MT_E_MEMORY;
	asked->base[asked->bases++] = *part;
	return 0;
}

/* Subtracts the bytes at the beginning of the range. 0: the part has not grown. */
static int take_off(const struct asked *asked, struct part *part)
{
	const struct part *base = asked->bases ? bsearch(part, asked->base, asked->bases, sizeof(*part), by_key) : NULL;

	if (!base)
		return 1;
	part->count = part->count > base->count ? part->count - base->count : 0;
	if (part->bytes <= base->bytes)
		return 0;
	part->bytes -= base->bytes;
	return 1;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int tell(struct asked *asked, const struct part *part, struct export_stack *stack)
{
	stack->device = asked->device;
	stack->place = stack->site ? asked->place : "";
	stack->bytes = part->bytes;
	stack->count = part->count;
	stack->frame = asked->frames.frame;
	stack->frames = asked->frames.count;
	stack->device_frames = asked->devices > 1;
	return asked->each(asked->context, stack);
}

static int take_site(void *context, const struct query_site *row)
{
	struct part part = { .site = row->id, .bytes = row->bytes, .count = row->count };
	struct export_stack stack = {
		.site = row, .phase = row->phase, .category = row->category, .pid = row->pid, .rank = row->rank
	};
	struct asked *asked = context;
	size_t user = CALLSTACK_NO_FRAME;
	int error;

	if (!asked->each)
		return keep_base(asked, &part);
	if (!take_off(asked, &part))
		return 0;
	error = stack_tree_load(asked->tree, row->node, &asked->stack);
	if (!error)
		error = places_user_frame(&user, asked->run->db, row->node, &asked->stack);
	if (!error)
		error = add_heads(asked, &stack);
	if (!error)
		error = export_frames_code(&asked->frames, &asked->stack, row->category,
					   asked->run->options->confidential);
	asked->place[0] = '\0';
	if (!error && user != CALLSTACK_NO_FRAME && !asked->run->options->confidential)
		callstack_place_of(asked->place, sizeof(asked->place), &asked->stack, user);
	return error ? error : tell(asked, &part, &stack);
}

static int take_module(void *context, struct db_stmt *row)
{
	struct asked *asked = context;
	struct part part = { db_int(row, 0), db_int(row, 1), (uint64_t)db_int(row, 2), (uint64_t)db_int(row, 3) };
	struct export_stack stack = { .phase = db_text(row, 5),
				      .category = db_text(row, 6),
				      .pid = db_int(row, 7),
				      .rank = db_type(row, 8) == DB_NULL ? -1 : db_int(row, 8) };
	int error;

	if (!asked->each)
		return keep_base(asked, &part);
	if (!take_off(asked, &part))
		return 0;
	error = add_heads(asked, &stack);
	if (!error)
		error = add_module(asked, db_text(row, 4), stack.category);
	return error ? error : tell(asked, &part, &stack);
}

static int take_modules(struct asked *asked)
{
	return db_rows(asked->run->db,
		       "SELECT site, submodule, bytes, count, path, phase, category, pid, rank FROM peak_module_site AS it "
		       "JOIN process ON process.id = it.process WHERE device = ?1 ORDER BY bytes DESC, site, submodule",
		       DB_NUMBERS(asked->device->id), take_module, asked);
}

static int take_device(void *context, const struct query_device *row)
{
	struct asked *asked = context;

	asked->device = row;
	if (asked->run->options->by_module)
		return take_modules(asked);
	return query_sites(asked->run->db, row->id, -1, take_site, asked);
}

static int count_device(void *context, const struct query_device *row)
{
	(void)row;
	++*(int64_t *)context;
	return 0;
}

static int count_process(void *context, const struct query_process *row)
{
	(void)row;
	++*(int64_t *)context;
	return 0;
}

static int take_all(struct asked *asked)
{
	int error;

	asked->devices = asked->processes = 0;
	error = query_devices(asked->run->db, count_device, &asked->devices);
	if (!error)
		error = query_processes(asked->run->db, count_process, &asked->processes);
	if (!error)
		asked->tree = stack_tree_new(asked->run->db, asked->run->symbols);
	if (!error && !asked->tree)
		error = -MT_E_MEMORY;
	if (!error)
		error = query_devices(asked->run->db, take_device, asked);
	callstack_release(&asked->stack);
	stack_tree_free(asked->tree);
	asked->tree = NULL;
	return error;
}

/* ---- the moments ------------------------------------------------------------------------------------------------- */

static int newest(void *context, const struct query_process *row)
{
	int64_t *last = context;

	*last = row->last_time > *last ? row->last_time : *last;
	return 0;
}

/* Takes the rows at a time. Returns 0; -MT_E_ARGUMENT: the run has ended before this time; or another error. */
static int take_time(struct asked *asked, int64_t time)
{
	const struct moment moment = { .kind = MOMENT_TIME, .time = time };
	int there = top_at(asked->run->db, &moment);

	if (there <= 0)
		return there ? there : -MT_E_ARGUMENT;
	return take_all(asked);
}

/* Fills asked->base with the bytes at the beginning of the range. */
static int take_base(struct asked *asked, int64_t begin)
{
	int (*each)(void *context, const struct export_stack *stack) = asked->each;
	int error;

	asked->each = NULL;
	error = take_time(asked, begin);
	asked->each = each;
	if (!error && asked->bases)
		qsort(asked->base, asked->bases, sizeof(*asked->base), by_key);
	return error;
}

static int take_range(struct asked *asked)
{
	struct export_range range = { 0 };
	int64_t ends[2], last = 0;
	int error = export_find_range(asked->run, &range);

	ends[0] = range.first;
	ends[1] = range.last;
	if (!error)
		error = export_load_at(asked->run, ends, 2);
	if (!error && range.first != INT64_MIN)
		error = take_base(asked, range.first);
	if (!error)
		error = query_processes(asked->run->db, newest, &last);
	return error ? error : take_time(asked, range.last < last ? range.last : last);
}

int export_stacks(struct export_run *run, int (*each)(void *context, const struct export_stack *stack), void *context)
{
	struct asked asked = { .run = run, .each = each, .context = context };
	int error;

	if (export_has_range(run)) {
		error = take_range(&asked);
	} else {
		error = export_moment(run, &run->options->moment);
		if (!error)
			error = take_all(&asked);
	}
	export_frames_release(&asked.frames);
	free(asked.base);
	return error;
}

/* Writes "growth from 1.0 s to 3.0 s" or "growth in steps 3 to 7". */
static void range_words(char *out, size_t size, const struct export_options *options)
{
	char since[TEXT_SIZE_MAX] = "the begin", until[TEXT_SIZE_MAX] = "the end";

	if (options->first_step) {
		snprintf(out, size, "growth in steps %u to %u", options->first_step, options->last_step);
		return;
	}
	if (options->since != EXPORT_NO_TIME)
		text_time(since, options->since);
	if (options->until != EXPORT_NO_TIME)
		text_time(until, options->until);
	snprintf(out, size, "growth from %s to %s", since, until);
}

const char *export_moment_words(char *out, size_t size, const struct export_run *run)
{
	const struct moment *moment = &run->options->moment;
	char time[TEXT_SIZE_MAX];

	if (export_has_range(run))
		range_words(out, size, run->options);
	else if (moment->kind == MOMENT_STEP)
		snprintf(out, size, "peak of step %u", moment->step);
	else if (moment->kind == MOMENT_TIME)
		snprintf(out, size, "%s", text_time(time, moment->time));
	else
		snprintf(out, size, "%s", moment->kind == MOMENT_OOM ? "out of memory" : "peak");
	return out;
}
