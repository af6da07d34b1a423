#include "module_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"

#define PATH_MAX_BYTES 1200u

/* ---- loading ---- */

struct loading {
	struct module_lines *modules;
	int64_t *id;    /* ids of the database, in ascending order */
	uint32_t *made; /* row of each id */
	uint32_t ids, room, row_room;
	uint32_t *slot; /* hash table of rows, by parent and word */
	uint32_t slots;
	uint32_t *first, *next; /* first row below each row; next row below the same parent */
	uint32_t line_room, placed;
	int folds, is_at_time;
	int64_t time;
	struct module_sum outside[MODULE_OUTSIDE + 1];
};

static void add_sum(struct module_sum *to, const struct module_sum *sum)
{
	int i;

	to->bytes += sum->bytes;
	to->count += sum->count;
	for (i = 0; i < MODULE_COLUMNS; i++)
		to->column[i] += sum->column[i];
}

static enum module_column column_of(const char *category)
{
	switch (mt_category_parse(category)) {
	case MT_CATEGORY_WEIGHTS:
		return MODULE_COLUMN_WEIGHTS;
	case MT_CATEGORY_GRADIENTS:
		return MODULE_COLUMN_GRADIENTS;
	case MT_CATEGORY_OPTIMIZER_STATE:
		return MODULE_COLUMN_STATE;
	case MT_CATEGORY_ACTIVATIONS:
	case MT_CATEGORY_RECOMPUTED:
	case MT_CATEGORY_LOGITS:
		return MODULE_COLUMN_ACTIVATIONS;
	default:
		return MODULE_COLUMN_OTHER;
	}
}

static uint32_t hash_of(uint32_t parent, const char *word)
{
	uint64_t hash = (uint64_t)parent * 0x9e3779b97f4a7c15ull;

	for (; *word; word++)
		hash = (hash ^ (uint8_t)*word) * 0x100000001b3ull;
	return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t *slot_of(const struct loading *loading, uint32_t parent, const char *word)
{
	const struct module_member *row = loading->modules->row;
	uint32_t at = hash_of(parent, word) & (loading->slots - 1);

	while (loading->slot[at] &&
	       (row[loading->slot[at]].parent != parent || strcmp(row[loading->slot[at]].word, word)))
		at = (at + 1) & (loading->slots - 1);
	return &loading->slot[at];
}

/* Makes room in all arrays for one more row. Returns 0 or -MT_E_MEMORY. */
static int make_room(struct loading *loading)
{
	uint32_t room = loading->row_room ? loading->row_room * 2 : 256, i;
	struct module_lines *modules = loading->modules;
	struct module_member *row;
	int64_t *id;
	uint32_t *made;

	if (loading->ids + 1 < loading->row_room)
		return 0;
	row = realloc(modules->row, room * sizeof(*row));
	if (row)
		modules->row = row;
	id = realloc(loading->id, room * sizeof(*id));
	if (id)
		loading->id = id;
	made = realloc(loading->made, room * sizeof(*made));
	if (made)
		loading->made = made;
	free(loading->slot);
	loading->slots = room * 2;
	loading->slot = calloc(loading->slots, sizeof(*loading->slot));
	if (!row || !id || !made || !loading->slot)
		return -MT_E_MEMORY;
	loading->row_room = room;
	for (i = 1; i < modules->rows; i++)
		*slot_of(loading, modules->row[i].parent, modules->row[i].word) = i;
	return 0;
}

/* Returns the row of an id; 0: no row has it. */
static uint32_t row_of(const struct loading *loading, int64_t id)
{
	uint32_t first = 0, end = loading->ids, middle;

	while (first < end) {
		middle = first + (end - first) / 2;
		if (loading->id[middle] < id)
			first = middle + 1;
		else
			end = middle;
	}
	return first < loading->ids && loading->id[first] == id ? loading->made[first] : 0;
}

static int fill_row(struct module_member *row, struct db_stmt *stmt, uint32_t parent)
{
	char *word = strdup(db_text(stmt, 2)), *path = strdup(db_text(stmt, 3)), *type = strdup(db_text(stmt, 4));

	*row = (struct module_member){
		.parent = parent, .word = word, .path = path, .type = type, .named = db_int(stmt, 5) != 0
	};
	return word && path && type ? 0 : -MT_E_MEMORY;
}

static int take_row(void *context, struct db_stmt *stmt)
{
	struct loading *loading = context;
	struct module_lines *modules = loading->modules;
	uint32_t parent, *slot;
	int error = make_room(loading);

	if (error)
		return error;
	if (!modules->rows)
		modules->row[modules->rows++] = (struct module_member){ .word = NULL };
	parent = row_of(loading, db_int(stmt, 1));
	slot = slot_of(loading, parent, db_text(stmt, 2));
	if (!*slot) {
		*slot = modules->rows++;
		error = fill_row(&modules->row[*slot], stmt, parent);
	}
	loading->id[loading->ids] = db_int(stmt, 0);
	loading->made[loading->ids++] = *slot;
	return error;
}

static int take_bytes(void *context, struct db_stmt *stmt)
{
	struct loading *loading = context;
	uint32_t row = row_of(loading, db_int(stmt, 0));
	const char *category = db_text(stmt, 1);
	struct module_sum sum = { .bytes = (uint64_t)db_int(stmt, 3), .count = (uint64_t)db_int(stmt, 4) };
	int outside = mt_category_parse(category) == MT_CATEGORY_SLACK              ? MODULE_SLACK
		      : !strcmp(db_text(stmt, 2), mt_phase_name(MT_PHASE_BACKWARD)) ? MODULE_IN_BACKWARD
										    : MODULE_OUTSIDE;

	sum.column[column_of(category)] = sum.bytes;
	add_sum(row ? &loading->modules->row[row].own : &loading->outside[outside], &sum);
	return 0;
}

/* Columns of both statements: submodule, category, phase, bytes, allocations. */
static const char peak_sql[] =
	"SELECT submodule, category, phase, sum(bytes), sum(count) FROM peak_module_site WHERE device = ?1 "
	"GROUP BY submodule, category, phase";

/* birth_module has all bytes of an allocation that the census names. The bytes of a partly resident allocation go to its site. */
static const char time_sql[] =
	"WITH live AS MATERIALIZED (SELECT process, alloc_seq, site, category, phase, bytes, asleep_bytes FROM in_use_span AS one WHERE device = ?1 "
	"AND since_time <= ?2 AND CASE WHEN until_time IS NULL THEN ifnull((SELECT over_time > ?2 FROM process AS gone WHERE "
	"gone.id = one.process), 1) ELSE until_time > ?2 END) "
	"SELECT submodule, category, phase, sum(born.bytes), count(*) FROM live JOIN allocation_module AS born USING (process, alloc_seq) "
	"WHERE NOT asleep_bytes GROUP BY submodule, category, phase UNION ALL "
	"SELECT submodule, category, phase, sum(bytes), count(*) FROM live LEFT JOIN site_module USING (site) WHERE asleep_bytes OR "
	"NOT EXISTS (SELECT 1 FROM allocation_module AS born WHERE born.process = live.process AND born.alloc_seq = live.alloc_seq) "
	"GROUP BY submodule, category, phase";

/*
 * Modules that call a compiled function on the way to an allocation. PyTorch calls each compiled function from a file of this name, for all
 * compilers.
 */
static const char compiled_sql[] =
	"WITH RECURSIVE up (submodule, node, seen) AS (SELECT submodule, site.node, 0 FROM site_module "
	"JOIN site ON site.id = site WHERE site.device = ?1 "
	"AND EXISTS (SELECT 1 FROM frame WHERE file GLOB '*torch/_functorch/*aot_autograd*') "
	"UNION SELECT submodule, stack_node.parent, seen OR ifnull(file GLOB '*torch/_functorch/*aot_autograd*', 0) FROM up "
	"JOIN stack_node ON stack_node.id = up.node JOIN frame ON frame.id = stack_node.frame WHERE stack_node.module_call IS NULL AND stack_node.parent IS NOT NULL) "
	"SELECT DISTINCT submodule FROM up JOIN stack_node ON stack_node.id = up.node WHERE seen AND stack_node.module_call IS NOT NULL";

static int take_compiled(void *context, struct db_stmt *stmt)
{
	struct loading *loading = context;

	loading->modules->row[row_of(loading, db_int(stmt, 0))].is_compiled = 1;
	return 0;
}

static int load_rows(struct loading *loading, struct db *db, int64_t device)
{
	const int64_t of[DB_PARAMETERS] = { device, loading->time };
	struct module_member *row;
	uint32_t i;
	int error = db_rows(db, "SELECT id, parent, word, path, ifnull(type, ''), named FROM submodule ORDER BY id",
			    NULL, take_row, loading);

	if (!error)
		error = db_rows(db, loading->is_at_time ? time_sql : peak_sql, of, take_bytes, loading);
	if (!error)
		error = db_rows(db, compiled_sql, of, take_compiled, loading);
	row = loading->modules->row;
	for (i = loading->modules->rows; i-- > 1;) { /* a parent has a lower number than its children */
		add_sum(&row[i].all, &row[i].own);
		if (row[i].parent)
			add_sum(&row[row[i].parent].all, &row[i].all);
	}
	return error;
}

static int link_rows(struct loading *loading)
{
	struct module_lines *modules = loading->modules;
	uint32_t i;

	loading->first = calloc((size_t)modules->rows + 1, sizeof(*loading->first));
	loading->next = calloc((size_t)modules->rows + 1, sizeof(*loading->next));
	modules->of_line = calloc((size_t)modules->rows * 2 + 1, sizeof(*modules->of_line));
	if (!loading->first || !loading->next || !modules->of_line)
		return -MT_E_MEMORY;
	for (i = modules->rows; i-- > 1;) {
		if (!modules->row[i].all.bytes)
			continue;
		loading->next[i] = loading->first[modules->row[i].parent];
		loading->first[modules->row[i].parent] = i;
	}
	return 0;
}

/* ---- lines ---- */

/* A row that becomes a line, alone or with other rows. */
struct child {
	const struct module_member *row;
	uint32_t number;
	int folds; /* 1: the word is a number, or a class with a number */
};

static int is_number(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

static int by_fold(const void *a, const void *b)
{
	const struct child *one = a, *two = b;
	int order;

	if (one->folds != two->folds)
		return one->folds < two->folds ? -1 : 1;
	order = strcmp(one->folds ? one->row->type : one->row->word, two->folds ? two->row->type : two->row->word);
	if (order)
		return order;
	if (one->row->all.bytes != two->row->all.bytes)
		return one->row->all.bytes < two->row->all.bytes ? -1 : 1;
	return one->number < two->number ? -1 : one->number > two->number;
}

static int are_alike(const struct child *one, const struct child *two)
{
	return one->folds == two->folds &&
	       !strcmp(one->folds ? one->row->type : one->row->word, two->folds ? two->row->type : two->row->word);
}

static struct module_line *add_line(struct loading *loading)
{
	struct module_lines *modules = loading->modules;
	struct module_line *grown;

	if (!modules->lines)
		modules->lines = 1;
	if (MT_ARRAY_ROOM(modules->line, modules->lines, loading->line_room))
		return NULL;
	memset(&modules->line[modules->lines], 0, sizeof(*grown));
	return &modules->line[modules->lines++];
}

/* Returns the path of the line, "layers.*.fc1". Below a line with a star, the row's own path would name one of many sisters. */
static char *path_of(const struct module_line *parent, const struct child *child, size_t count, int several)
{
	const struct module_member *row = child->row;
	char path[PATH_MAX_BYTES], type[256];
	int has_prefix, is_class = !row->named,
			stars = child->folds && (count > 1 || (parent && strchr(parent->path, '*')));

	if (!stars && (!parent || !strchr(parent->path, '*')))
		return strdup(row->path);
	snprintf(type, sizeof(type), "%s", row->type);
	has_prefix = parent && (parent->parent || is_class);
	snprintf(path, sizeof(path), "%s%s%s%s%s", has_prefix ? parent->path : "",
		 !has_prefix ? ""
		 : is_class  ? " > "
			     : ".",
		 is_class && stars ? type : "", is_class && stars ? " " : "", stars ? "*" : row->word);
	if (several && !is_class)
		snprintf(path + strlen(path), sizeof(path) - strlen(path), " (%s)", type);
	return strdup(path);
}

/* Makes one line of child[0 .. count), sorted by bytes, least first. */
static int make_line(struct loading *loading, uint32_t parent, const struct child *child, size_t count, int several)
{
	struct module_lines *modules = loading->modules;
	struct module_line *line = add_line(loading);
	size_t i;

	if (!line)
		return -MT_E_MEMORY;
	line->parent = parent;
	line->first = loading->placed;
	line->count = (uint32_t)count;
	line->repeats = count > 1 && child->folds;
	for (i = 0; i < count; i++) {
		modules->of_line[loading->placed++] = child[i].number;
		line->is_compiled |= child[i].row->is_compiled;
		add_sum(&line->own, &child[i].row->own);
		add_sum(&line->all, &child[i].row->all);
	}
	line->least = child[0].number;
	line->middle = child[count / 2].number;
	line->most = child[count - 1].number;
	line->path = path_of(parent ? &modules->line[parent] : NULL, child, count,
			     several && child->folds && count > 1);
	if (parent)
		modules->line[parent].lines++;
	return line->path ? 0 : -MT_E_MEMORY;
}

/* Makes the lines of child[0 .. count), below `parent`. */
static int make_lines(struct loading *loading, uint32_t parent, struct child *child, size_t count)
{
	size_t first, end, groups = 0;
	int error = 0;

	qsort(child, count, sizeof(*child), by_fold);
	for (first = 0; first < count; first++)
		groups += child[first].folds && (!first || !are_alike(&child[first - 1], &child[first]));
	for (first = 0; first < count && !error; first = end) {
		for (end = first + 1; end < count && are_alike(&child[first], &child[end]); end++)
			;
		error = make_line(loading, parent, &child[first], end - first, groups > 1);
	}
	return error;
}

static struct child child_of(const struct loading *loading, uint32_t number, int folds)
{
	const struct module_member *row = &loading->modules->row[number];

	return (struct child){ .row = row,
			       .number = number,
			       .folds = folds && (row->named ? is_number(row->word) : *row->type != '\0') };
}

/* Collects the rows below the rows of a line, and returns their number. */
static size_t gather(const struct loading *loading, struct child *child, uint32_t line, int folds)
{
	const struct module_lines *modules = loading->modules;
	size_t count = 0;
	uint32_t i, row;

	for (i = 0; i < modules->line[line].count; i++)
		for (row = loading->first[modules->of_line[modules->line[line].first + i]]; row;
		     row = loading->next[row])
			child[count++] = child_of(loading, row, folds);
	return count;
}

/* Makes the outermost lines, or the line of the module `name`. */
static int make_roots(struct loading *loading, struct child *child, const char *name)
{
	const struct module_lines *modules = loading->modules;
	size_t count = 0;
	uint32_t row;

	if (!name) {
		for (row = loading->first ? loading->first[0] : 0; row; row = loading->next[row])
			child[count++] = child_of(loading, row, loading->folds);
		return make_lines(loading, 0, child, count);
	}
	for (row = 1; row < modules->rows; row++)
		if (modules->row[row].all.bytes && !strcmp(modules->row[row].path, name))
			child[count++] = child_of(loading, row, 0);
	return count ? make_line(loading, 0, child, count, 0) : 0;
}

static int make_all(struct loading *loading, const char *name)
{
	struct module_lines *modules = loading->modules;
	struct child *child = malloc(((size_t)modules->rows + 1) * sizeof(*child));
	uint32_t line, opened = name ? 1 : 0;
	int error = child ? make_roots(loading, child, name) : -MT_E_MEMORY;

	for (line = 1; line < modules->lines && !error; line++)
		error = make_lines(loading, line, child,
				   gather(loading, child, line, loading->folds && line != opened));
	free(child);
	return error;
}

/* ---- the order of print ---- */

struct order {
	uint64_t bytes;
	uint32_t parent, line;
};

struct printing {
	struct module_lines *modules;
	struct order *order; /* sorted by parent, then by bytes, largest first */
	uint32_t *first;     /* by line: index in `order` of the first line below it */
	struct module_line *line;
	uint32_t lines;
};

static int by_parent(const void *a, const void *b)
{
	const struct order *one = a, *two = b;

	if (one->parent != two->parent)
		return one->parent < two->parent ? -1 : 1;
	if (one->bytes != two->bytes)
		return one->bytes > two->bytes ? -1 : 1;
	return one->line < two->line ? -1 : one->line > two->line;
}

/* Writes the lines below `from`. The new number of `from` is `parent`. The recursion is as deep as a path has parts. */
static void print_below(struct printing *printing, uint32_t from, uint32_t parent)
{
	const struct module_lines *modules = printing->modules;
	struct module_line *line;
	uint32_t at;

	for (at = printing->first[from]; at + 1 < modules->lines && printing->order[at].parent == from; at++) {
		line = &printing->line[printing->lines];
		*line = modules->line[printing->order[at].line];
		line->parent = parent;
		line->passes = parent && line->lines == 1 && !line->own.bytes && !line->repeats;
		line->depth = parent ? printing->line[parent].depth + !printing->line[parent].passes : 0;
		print_below(printing, printing->order[at].line, printing->lines++);
	}
}

static int put_in_order(struct module_lines *modules)
{
	struct printing printing = { .modules = modules, .lines = 1 };
	uint32_t i, count = modules->lines ? modules->lines - 1 : 0;

	printing.order = calloc((size_t)count + 1, sizeof(*printing.order));
	printing.first = calloc((size_t)count + 2, sizeof(*printing.first));
	printing.line = calloc((size_t)count + 1 + MODULE_OUTSIDE, sizeof(*printing.line));
	if (!printing.order || !printing.first || !printing.line) {
		free(printing.order);
		free(printing.first);
		free(printing.line);
		return -MT_E_MEMORY;
	}
	for (i = 0; i < count; i++)
		printing.order[i] = (struct order){ modules->line[i + 1].all.bytes, modules->line[i + 1].parent,
						    i + 1 };
	qsort(printing.order, count, sizeof(*printing.order), by_parent);
	for (i = count; i--;)
		printing.first[printing.order[i].parent] = i;
	if (count)
		print_below(&printing, 0, 0);
	free(modules->line);
	modules->line = printing.line;
	modules->lines = printing.lines;
	free(printing.order);
	free(printing.first);
	return 0;
}

/* Adds the lines of bytes outside of modules. The array has room for these. */
static int add_outside(struct loading *loading)
{
	static const char *const words[] = {
		[MODULE_IN_BACKWARD] = "backward", [MODULE_SLACK] = "allocator slack", [MODULE_OUTSIDE] = "outside any module"
	};
	struct module_lines *modules = loading->modules;
	struct module_line *line;
	int outside;

	for (outside = MODULE_IN_BACKWARD; outside <= MODULE_OUTSIDE; outside++) {
		if (!loading->outside[outside].bytes)
			continue;
		line = &modules->line[modules->lines++];
		*line = (struct module_line){ .outside = (enum module_outside)outside,
					      .own = loading->outside[outside],
					      .all = loading->outside[outside],
					      .path = strdup(words[outside]) };
		if (!line->path)
			return -MT_E_MEMORY;
	}
	return 0;
}

/* ---- the whole answer ---- */

static int build(struct loading *loading, struct db *db, int64_t device, const char *name)
{
	int error = load_rows(loading, db, device);

	if (!error)
		error = link_rows(loading);
	if (!error)
		error = make_all(loading, name);
	if (!error && name && loading->modules->lines < 2)
		error = -MT_E_ARGUMENT;
	if (!error)
		error = put_in_order(loading->modules);
	if (!error && !name)
		error = add_outside(loading);
	return error;
}

static int load(struct loading *loading, struct db *db, int64_t device, const char *name)
{
	int error;

	*loading->modules = (struct module_lines){ 0 };
	error = build(loading, db, device, name);
	free(loading->id);
	free(loading->made);
	free(loading->slot);
	free(loading->first);
	free(loading->next);
	return error;
}

int module_lines_load(struct module_lines *modules, struct db *db, int64_t device, const char *name, int folds)
{
	struct loading loading = { .modules = modules, .folds = folds };
	size_t size = name ? strlen(name) : 0;
	char *plain = NULL;
	int error;

	*modules = (struct module_lines){ 0 };
	if (size > 2 && !strcmp(name + size - 2, ".*")) { /* all children of a module */
		plain = strndup(name, size - 2);
		if (!plain)
			return -MT_E_MEMORY;
		name = plain;
	}
	error = load(&loading, db, device, name);
	free(plain);
	return error;
}

int module_lines_load_at(struct module_lines *modules, struct db *db, int64_t device, int64_t time)
{
	struct loading loading = { .modules = modules, .folds = 1, .is_at_time = 1, .time = time };

	return load(&loading, db, device, NULL);
}

void module_lines_release(struct module_lines *modules)
{
	uint32_t i;

	for (i = 0; i < modules->rows; i++) {
		free((char *)modules->row[i].word);
		free((char *)modules->row[i].path);
		free((char *)modules->row[i].type);
	}
	for (i = 1; i < modules->lines; i++)
		free(modules->line[i].path);
	free(modules->line);
	free(modules->row);
	free(modules->of_line);
	memset(modules, 0, sizeof(*modules));
}

int module_lines_has_modules(const struct module_lines *modules)
{
	return modules->lines > 1 && modules->line[1].outside == MODULE_INSIDE;
}

int module_lines_saw_modules(const struct module_lines *modules)
{
	return modules->rows > 1; /* row[0] is not used */
}

int module_lines_is_folded(const struct module_lines *modules, uint32_t line)
{
	uint32_t at;

	for (at = modules->line[line].parent; at; at = modules->line[at].parent)
		if (modules->line[at].repeats)
			return 1;
	return 0;
}

/* Returns the number in the row's word: 12 for "12" and for "Layer 12". */
static uint64_t number_of(const struct module_member *row)
{
	return strtoull(row->word + strcspn(row->word, "0123456789"), NULL, 10);
}

/* Whether `one` comes before `two`. */
static int is_before(const struct module_lines *modules, uint32_t one, uint32_t two)
{
	uint64_t first = number_of(&modules->row[one]), second = number_of(&modules->row[two]);

	return first != second ? first < second : one < two;
}

uint32_t module_lines_next(const struct module_lines *modules, const struct module_line *line, uint32_t row)
{
	uint32_t next = 0, i, one;

	for (i = 0; i < line->count; i++) {
		one = modules->of_line[line->first + i];
		if ((!row || is_before(modules, row, one)) && (!next || is_before(modules, one, next)))
			next = one;
	}
	return next;
}
