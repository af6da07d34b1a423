/* perfetto_stack.c - writes each text, frame and call stack once. Later packets have only its number. */
#include <stdlib.h>
#include <string.h>
#include "export/export_frames.h"
#include "export/export_names.h"
#include "memtrace/error.h"
#include "perfetto.h"
#include "query/stack_tree.h"

/* Fields of Perfetto's InternedData. */
enum { TEXT_FUNCTION = 5, FRAMES = 6, STACKS = 7, TEXT_MODULE = 17, TEXT_SOURCE = 18, MODULES = 19 };

struct perfetto_stacks {
	struct stack_tree *tree;
	struct callstack stack;
	struct export_frames rows;
	struct export_names functions, sources, paths; /* texts */
	struct export_names frames, chains;            /* keys of numbers */
	uint32_t *chain;                               /* frames of the newest stack */
	size_t room;
};

int perfetto_stacks_open(struct perfetto *perfetto)
{
	struct perfetto_stacks *stacks = calloc(1, sizeof(*stacks));

	perfetto->stacks = stacks;
	if (stacks)
		stacks->tree = stack_tree_new(perfetto->run->db, perfetto->run->symbols);
	return stacks && stacks->tree ? 0 : -MT_E_MEMORY;
}

void perfetto_stacks_close(struct perfetto *perfetto)
{
	struct perfetto_stacks *stacks = perfetto->stacks;

	if (!stacks)
		return;
	callstack_release(&stacks->stack);
	stack_tree_free(stacks->tree);
	export_frames_release(&stacks->rows);
	export_names_release(&stacks->functions);
	export_names_release(&stacks->sources);
	export_names_release(&stacks->paths);
	export_names_release(&stacks->frames);
	export_names_release(&stacks->chains);
	free(stacks->chain);
	free(stacks);
	perfetto->stacks = NULL;
}

/* Begins a packet with one entry of interned data. The caller adds its fields, and calls end_entry. */
static void begin_entry(struct perfetto *perfetto, uint32_t field, uint32_t number)
{
	perfetto_begin(perfetto);
	proto_begin(&perfetto->proto, 12);
	proto_begin(&perfetto->proto, field);
	proto_number(&perfetto->proto, 1, number);
}

static void end_entry(struct perfetto *perfetto)
{
	proto_end(&perfetto->proto);
	proto_end(&perfetto->proto);
	perfetto_end(perfetto);
}

/* Returns the number of a key, from 1. *is_new 1: the caller must write the entry. 0: out of memory. */
static uint32_t number_of(struct perfetto *perfetto, struct export_names *names, const void *key, size_t size,
			  int *is_new)
{
	uint32_t number = 0;
	int error = export_names_add(names, key, size, &number, is_new);

	perfetto_fail(perfetto, error);
	return error ? 0 : number + 1;
}

static uint32_t text_of(struct perfetto *perfetto, struct export_names *names, uint32_t field, const char *text)
{
	int is_new;
	uint32_t number = number_of(perfetto, names, text, strlen(text), &is_new);

	if (!is_new)
		return number;
	begin_entry(perfetto, field, number);
	proto_text(&perfetto->proto, 2, text);
	end_entry(perfetto);
	if (field != TEXT_MODULE)
		return number;
	begin_entry(perfetto, MODULES, number);
	proto_number(&perfetto->proto, 7, number);
	end_entry(perfetto);
	return number;
}

/* The number of a frame. Perfetto compares function, module and address, so the address is the number of the frame. */
static uint32_t frame_of(struct perfetto *perfetto, const struct export_frame *frame)
{
	struct perfetto_stacks *stacks = perfetto->stacks;
	const char *module = *frame->module ? frame->module : "program";
	const uint32_t key[] = { text_of(perfetto, &stacks->functions, TEXT_FUNCTION, frame->function),
				 *frame->file ? text_of(perfetto, &stacks->sources, TEXT_SOURCE, frame->file) : 0,
				 frame->line, text_of(perfetto, &stacks->paths, TEXT_MODULE, module) };
	struct proto *proto = &perfetto->proto;
	int is_new;
	uint32_t number = number_of(perfetto, &stacks->frames, key, sizeof(key), &is_new);

	if (!is_new)
		return number;
	begin_entry(perfetto, FRAMES, number);
	proto_number(proto, 2, key[0]);
	proto_number(proto, 3, key[3]);
	proto_number(proto, 4, number);
	if (key[1])
		proto_number(proto, 5, key[1]);
	if (key[2])
		proto_number(proto, 6, key[2]);
	end_entry(perfetto);
	return number;
}

static int chain_room(struct perfetto_stacks *stacks, size_t count)
{
	uint32_t *grown;

	if (count <= stacks->room)
		return 0;
	grown = realloc(stacks->chain, count * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	stacks->chain = grown;
	stacks->room = count;
	return 0;
}

/* The number of the stack with the newest rows. */
static uint32_t chain_of(struct perfetto *perfetto)
{
	struct perfetto_stacks *stacks = perfetto->stacks;
	size_t count = stacks->rows.count, i;
	uint32_t number;
	int is_new;

	perfetto_fail(perfetto, chain_room(stacks, count));
	for (i = 0; i < count && !perfetto->error; i++)
		stacks->chain[i] = frame_of(perfetto, &stacks->rows.frame[i]);
	if (perfetto->error)
		return 0;
	number = number_of(perfetto, &stacks->chains, stacks->chain, count * sizeof(*stacks->chain), &is_new);
	if (!is_new)
		return number;
	begin_entry(perfetto, STACKS, number);
	for (i = 0; i < count; i++)
		proto_number(&perfetto->proto, 2, stacks->chain[i]);
	end_entry(perfetto);
	return number;
}

uint32_t perfetto_stack(struct perfetto *perfetto, int64_t node, int slack)
{
	struct perfetto_stacks *stacks = perfetto->stacks;
	int error = stack_tree_load(stacks->tree, node, &stacks->stack);

	stacks->rows.count = 0;
	if (!error)
		error = export_frames_code(&stacks->rows, &stacks->stack, slack ? "allocator slack" : "",
					   perfetto->run->options->confidential);
	perfetto_fail(perfetto, error);
	return perfetto->error ? 0 : chain_of(perfetto);
}

uint32_t perfetto_site_stack(struct perfetto *perfetto, uint32_t number, int slack)
{
	struct perfetto_site *site = &perfetto->site[number];
	uint32_t *stack = slack ? &site->slack_stack : &site->plain_stack;

	if (!*stack)
		*stack = perfetto_stack(perfetto, site->node, slack);
	return *stack;
}
