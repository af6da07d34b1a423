/* Makes rows of the places that grow, one for each place over all processes, with names. */
#include <stdlib.h>
#include <string.h>
#include "growth.h"
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/stack_tree.h"
#include "report/places.h"

struct growth_place *growth_list_add(struct growth_list *list, const struct growth_place *place)
{
	if (MT_ARRAY_ROOM(list->place, list->count, list->room))
		return NULL;
	list->place[list->count] = *place;
	return &list->place[list->count++];
}

/* ---- names ---- */

struct naming {
	struct growth_table *table;
	size_t at; /* row to which the next module belongs */
};

static int compare_key(const struct growth_place *place, int64_t first_node, const char *phase)
{
	if (place->first_node != first_node)
		return place->first_node < first_node ? -1 : 1;
	return strcmp(place->phase, phase);
}

/* Takes a module. Rows are sorted by place; the first row of a place has the module that keeps most. */
static int take_module(void *context, struct db_stmt *stmt)
{
	struct naming *naming = context;
	const struct growth_table *table = naming->table;
	struct growth_name *name;
	int order = -1;

	while (naming->at < table->rows &&
	       (order = compare_key(table->row[naming->at].most, db_int(stmt, 0), db_text(stmt, 1))) < 0)
		naming->at++;
	if (naming->at == table->rows || order)
		return 0;
	name = &table->name[naming->at];
	if (!name->modules++)
		mt_copy_text(name->module, sizeof(name->module), db_text(stmt, 2));
	return 0;
}

static const char modules_sql[] =
	"SELECT first_node, phase, ifnull(pattern, ''), sum(bytes) FROM temp.same_place AS same JOIN site ON site.node = same.node "
	"JOIN outlived_step ON outlived_step.site = site.id LEFT JOIN site_module ON site_module.site = site.id "
	"LEFT JOIN submodule ON submodule.id = submodule WHERE until_step IS NULL "
	"GROUP BY 1, 2, 3 ORDER BY 1, 2, 4 DESC, 3";

/* Finds the names of all rows, while these are sorted by place. */
static int find_names(struct growth_table *table, struct db *db)
{
	struct naming naming = { .table = table };
	struct growth_row *row;
	size_t first, i, k;
	int error = 0;

	table->name = calloc(table->rows, sizeof(*table->name));
	if (!table->name)
		return -MT_E_MEMORY;
	for (i = 0; i < table->rows && !error; i++) {
		row = &table->row[i];
		first = (size_t)(row->place - table->places.place);
		error = finding_place_of(&table->name[i].at, db, row->most->node);
		for (k = 0; k < row->count; k++)
			table->places.place[first + k].name = &table->name[i];
	}
	return error ? error : db_rows(db, modules_sql, NULL, take_module, &naming);
}

/* ---- rows ---- */

static int by_place(const void *a, const void *b)
{
	const struct growth_place *one = a, *two = b;
	int order = compare_key(one, two->first_node, two->phase);

	if (order)
		return order;
	if (one->rank != two->rank)
		return one->rank < two->rank ? -1 : 1;
	if (one->process != two->process)
		return one->process < two->process ? -1 : 1;
	return (one->device > two->device) - (one->device < two->device);
}

static int by_bytes(const void *a, const void *b)
{
	const struct growth_row *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return (one->place > two->place) - (one->place < two->place);
}

static void gather_rows(struct growth_table *table)
{
	const struct growth_place *place = table->places.place;
	struct growth_row *row = NULL;
	size_t i;

	for (i = 0; i < table->places.count; i++, place++) {
		if (!row || compare_key(row->most, place->first_node, place->phase)) {
			row = &table->row[table->rows++];
			*row = (struct growth_row){ .most = place, .place = place };
		}
		row->bytes += place->bytes;
		row->each += place->each;
		row->allocations += place->count;
		row->count++;
		row->most = place->bytes > row->most->bytes ? place : row->most;
	}
}

int growth_table_fill(struct growth_table *table, struct db *db)
{
	struct growth_list *list = &table->places;
	int error;

	if (!list->count)
		return 0;
	qsort(list->place, list->count, sizeof(*list->place), by_place);
	table->row = calloc(list->count, sizeof(*table->row));
	if (!table->row)
		return -MT_E_MEMORY;
	gather_rows(table);
	error = find_names(table, db);
	qsort(table->row, table->rows, sizeof(*table->row), by_bytes);
	return error;
}

int growth_table_make(struct growth_table *table, const struct growth_list *list, struct db *db)
{
	size_t i;

	memset(table, 0, sizeof(*table));
	for (i = 0; i < list->count; i++)
		if (!growth_list_add(&table->places, &list->place[i]))
			return -MT_E_MEMORY;
	return growth_table_fill(table, db);
}

/* ---- stacks ---- */

int growth_table_stacks(struct growth_table *table, struct db *db, size_t limit)
{
	struct growth_name *name;
	size_t i;
	int error = 0;

	table->stacks = stack_tree_new(db, NULL);
	if (!table->stacks)
		return -MT_E_MEMORY;
	for (i = 0; i < table->rows && i < limit && !error; i++) {
		name = &table->name[table->row[i].most->name - table->name];
		error = stack_tree_load(table->stacks, table->row[i].most->node, &name->stack);
		if (!error)
			error = places_user_frame(&name->user, db, table->row[i].most->node, &name->stack);
	}
	stack_tree_close(table->stacks);
	return error;
}

void growth_table_release(struct growth_table *table)
{
	size_t i;

	for (i = 0; table->name && i < table->rows; i++)
		callstack_release(&table->name[i].stack);
	stack_tree_free(table->stacks);
	free(table->places.place);
	free(table->row);
	free(table->name);
	memset(table, 0, sizeof(*table));
}
