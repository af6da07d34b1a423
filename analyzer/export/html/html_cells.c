/* html_cells.c - writes the cells of the page: kind of bytes, place of the request, and the frames of its stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/colour.h"
#include "base/tuple.h"
#include "export/export_names.h"
#include "html.h"
#include "label/owner.h"
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "query/stack_tree.h"
#include "report/answer.h"
#include "timeline/tape.h"

#define NAME_MAX_BYTES 300u /* room for a function or a place; longer texts are cut */

/* A column of the document. */
struct column_of_numbers {
	uint32_t *number;
	uint32_t count, room;
};

static int push(struct column_of_numbers *column, uint32_t number)
{
	if (MT_ARRAY_ROOM(column->number, column->count, column->room))
		return -MT_E_MEMORY;
	column->number[column->count++] = number;
	return 0;
}

static void put_column(struct doc *doc, const char *key, struct column_of_numbers *column)
{
	uint32_t i;

	doc_array(doc, key);
	for (i = 0; i < column->count; i++)
		doc_int(doc, NULL, column->number[i]);
	doc_end(doc);
	free(column->number);
	*column = (struct column_of_numbers){ 0 };
}

static int text_number_of(struct export_names *texts, const char *text, uint32_t *number)
{
	return export_names_add(texts, text, strlen(text), number, NULL);
}

static void put_texts(struct doc *doc, const char *key, const struct export_names *texts)
{
	uint32_t i;

	doc_array(doc, key);
	for (i = 0; i < texts->count; i++)
		doc_string(doc, NULL, export_names_get(texts, i, NULL));
	doc_end(doc);
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

struct cells {
	struct html *html;
	struct doc *doc;
	struct stack_tree *tree;
	struct callstack stack;
	struct export_names texts, owners;
	struct tuple_table frames, nodes;
	struct column_of_numbers function, place; /* numbers of texts, by frame */
	struct column_of_numbers parent, frame;   /* by node, from node 1 */
	struct column_of_numbers cell[7];         /* columns of cell_columns */
	uint32_t taken;                           /* number of cells on the page */
};

static const char *const cell_columns[] = { "process", "phase", "category", "owner", "function", "place", "node" };

static const char *frame_function(char *out, size_t size, const struct callstack_frame *frame)
{
	if (frame->elided)
		return "...";
	if (*frame->function)
		return callstack_function(out, size, frame);
	return callstack_place(out, size, frame);
}

/* Writes the file and line of a frame; with --confidential, only its library. */
static const char *frame_place(char *out, size_t size, const struct callstack_frame *frame, int is_confidential)
{
	if (is_confidential || !*frame->file)
		return *frame->module ? text_base_name(frame->module) : "";
	return callstack_place(out, size, frame);
}

/* Gets the number of a frame. Frames of several processes with the same function and place have one number. */
static int frame_of_words(struct cells *cells, const struct callstack_frame *frame, uint32_t *number)
{
	char function[NAME_MAX_BYTES], place[NAME_MAX_BYTES];
	struct tuple key = { { 0, 0, 1, 0 } };
	uint32_t text[2];
	int error = text_number_of(&cells->texts, frame_function(function, sizeof(function), frame), &text[0]);

	if (!error)
		error = text_number_of(&cells->texts,
				       frame_place(place, sizeof(place), frame,
						   cells->html->run->options->confidential),
				       &text[1]);
	if (error)
		return error;
	key.at[0] = text[0];
	key.at[1] = text[1];
	*number = tuple_find(&cells->frames, &key);
	if (*number != TUPLE_NONE)
		return 0;
	*number = cells->function.count;
	error = push(&cells->function, text[0]);
	if (!error)
		error = push(&cells->place, text[1]);
	return error ? error : tuple_add(&cells->frames, &key, *number);
}

static int frame_number(struct cells *cells, const struct callstack_frame *frame, uint32_t *number)
{
	const struct tuple key = { { (uintptr_t)frame, 0, 0, 0 } };
	int error;

	*number = tuple_find(&cells->frames, &key);
	if (*number != TUPLE_NONE)
		return 0;
	error = frame_of_words(cells, frame, number);
	return error ? error : tuple_add(&cells->frames, &key, *number);
}

static int step_into(struct cells *cells, uint32_t *node, const struct callstack_frame *frame)
{
	struct tuple key = { { *node, 0, 0, 0 } };
	uint32_t number, known;
	int error = frame_number(cells, frame, &number);

	if (error)
		return error;
	key.at[1] = number;
	known = tuple_find(&cells->nodes, &key);
	if (known != TUPLE_NONE) {
		*node = known;
		return 0;
	}
	error = push(&cells->parent, *node);
	if (!error)
		error = push(&cells->frame, number);
	*node = cells->parent.count;
	return error ? error : tuple_add(&cells->nodes, &key, *node);
}

/* Gets the number of a stack. As in other exports, frames of the driver, allocator and interpreter are left out. */
static int node_of(struct cells *cells, int64_t id, uint32_t *node)
{
	size_t user, i;
	int error = stack_tree_load(cells->tree, id, &cells->stack);

	*node = 0;
	if (error)
		return error;
	user = callstack_user_frame(&cells->stack);
	for (i = cells->stack.count; i-- > 0 && !error;)
		if (i == user || !callstack_is_plumbing(cells->stack.frame[i]))
			error = step_into(cells, node, cells->stack.frame[i]);
	return error;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static uint32_t phase_number(const char *word)
{
	int phase = mt_phase_parse(word, strlen(word));

	return phase < 0 ? MT_PHASE_OTHER : (uint32_t)phase;
}

/* Adds a cell of a site. With --confidential, the cell has the function and no place. */
static int add_cell(struct cells *cells, const struct db_stmt *row, uint32_t cell, uint32_t node)
{
	int is_slack = TAPE_IS_SLACK(cell) || db_int(row, 6), error;
	const char *place = cells->html->run->options->confidential ? "" : db_text(row, 8);
	uint32_t owner, text[2], i;

	if (cell >= cells->html->cells || cells->html->cell_of[cell] != 1)
		return 0;
	/* All memory of a site with tensors inside is slack, so its two cells are one. */
	if (db_int(row, 6) && TAPE_IS_SLACK(cell) && cells->html->cell_of[cell - 1]) {
		cells->html->cell_of[cell] = cells->html->cell_of[cell - 1];
		return 0;
	}
	error = text_number_of(&cells->owners, is_slack ? OWNER_PYTORCH : db_text(row, 5), &owner);
	if (!error)
		error = text_number_of(&cells->texts, db_text(row, 7), &text[0]);
	if (!error)
		error = text_number_of(&cells->texts, place, &text[1]);
	if (!error) {
		const uint32_t value[] = { (uint32_t)db_int(row, 1) - 1,
					   phase_number(db_text(row, 3)),
					   is_slack ? MT_CATEGORY_SLACK : mt_category_parse(db_text(row, 4)),
					   owner,
					   text[0],
					   text[1],
					   node };

		for (i = 0; i < MT_ARRAY_SIZE(value) && !error; i++)
			error = push(&cells->cell[i], value[i]);
	}
	cells->html->cell_of[cell] = 2 + cells->taken++;
	return error;
}

static int take_site(void *context, struct db_stmt *row)
{
	struct cells *cells = context;
	uint32_t site = (uint32_t)db_int(row, 0), cell = TAPE_CELL(site, 0), node;
	int error;

	if (cell + 1 >= cells->html->cells || (!cells->html->cell_of[cell] && !cells->html->cell_of[cell + 1]))
		return 0;
	error = node_of(cells, db_int(row, 2), &node);
	if (!error)
		error = add_cell(cells, row, cell, node);
	return error ? error : add_cell(cells, row, cell + 1, node);
}

static const char sites_sql[] =
	"SELECT site.id, site.process, ifnull(site.node, 0), site.phase, site.category, site.owner, site.tensors_inside, "
	"ifnull(place.function, ''), ifnull(place.place, '') FROM site LEFT JOIN place ON place.node = site.node "
	"WHERE site.id BETWEEN 1 AND 2147483647 ORDER BY site.id";

/* Sets cell_of to 1 for each cell with a move. add_cell then sets the number of the cell on the page, plus 2. */
static int mark_cells(struct html *html)
{
	const struct moves *moves;
	uint32_t i, j;

	html->cells = html->moves.cells + 2;
	html->cell_of = calloc(html->cells, sizeof(*html->cell_of));
	if (!html->cell_of)
		return -MT_E_MEMORY;
	for (i = 0; i < html->moves.devices; i++) {
		moves = &html->moves.device[i];
		for (j = 0; j < moves->moves; j++)
			html->cell_of[moves->move[j].cell] = 1;
	}
	return 0;
}

/* Makes "plus 2" in cell_of "plus 1". -MT_E_CORRUPT: a cell has no row in the table of sites. */
static int settle_cells(struct html *html)
{
	uint32_t i;

	for (i = 0; i < html->cells; i++) {
		if (html->cell_of[i] == 1)
			return -MT_E_CORRUPT;
		html->cell_of[i] -= html->cell_of[i] ? 1 : 0;
	}
	return 0;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

static void put_layer(struct doc *doc, uint32_t number, const char *name)
{
	char colour[16];

	snprintf(colour, sizeof(colour), "#%06x", (unsigned)colour_direct(colour_of_layer[number].bright) & 0xffffff);
	doc_object(doc, NULL);
	doc_string(doc, "name", name);
	doc_string(doc, "colour", colour);
	doc_end(doc);
}

static void put_layers(struct doc *doc)
{
	uint32_t i;

	doc_array(doc, "phases");
	for (i = 0; i < MT_PHASE_COUNT; i++)
		put_layer(doc, i, answer_phase(mt_phase_name(i)));
	doc_end(doc);
	doc_array(doc, "categories");
	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		put_layer(doc, i, mt_category_name(i));
	doc_end(doc);
}

static void put_all(struct cells *cells)
{
	struct doc *doc = cells->doc;
	size_t i;

	put_layers(doc);
	put_texts(doc, "texts", &cells->texts);
	put_texts(doc, "owners", &cells->owners);
	doc_object(doc, "frames");
	put_column(doc, "function", &cells->function);
	put_column(doc, "place", &cells->place);
	doc_end(doc);
	doc_object(doc, "nodes");
	put_column(doc, "parent", &cells->parent);
	put_column(doc, "frame", &cells->frame);
	doc_end(doc);
	doc_object(doc, "cells");
	for (i = 0; i < MT_ARRAY_SIZE(cell_columns); i++)
		put_column(doc, cell_columns[i], &cells->cell[i]);
	doc_end(doc);
}

int html_cells(struct html *html, struct doc *doc)
{
	struct cells cells = { .html = html, .doc = doc };
	int error = mark_cells(html);

	cells.tree = error ? NULL : stack_tree_new(html->db, html->run->symbols);
	if (!error && !cells.tree)
		error = -MT_E_MEMORY;
	if (!error)
		error = db_rows(html->db, sites_sql, NULL, take_site, &cells);
	if (!error)
		error = settle_cells(html);
	put_all(&cells);
	callstack_release(&cells.stack);
	stack_tree_free(cells.tree);
	export_names_release(&cells.texts);
	export_names_release(&cells.owners);
	tuple_release(&cells.frames);
	tuple_release(&cells.nodes);
	return error;
}
