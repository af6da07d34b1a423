/*
 * retained_batches.c - places that keep memory of several micro-batches of a step.
 *
 *     temp.batch_kept   what each micro-batch kept until the last one, by place   ──┐
 *                        └─> places that may grow ─> temp.batch_gone, what went   ──┴─> one place of one step after the other
 *
 * A run of many ranks has millions of such rows. Both tables are in the order of `struct spot`: each is read once, and no row stays.
 */
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "report/finding.h"
#include "retained.h"

/* A place in one step: rows with an equal one come together. */
struct spot {
	int64_t device, process, first_node, step;
};

/* A site, and the place that it is of. */
struct batch_site {
	int64_t id, device, process, first_node, node;
	uint32_t phase, category;
};

/* A row of temp.batch_kept: the bytes that a micro-batch allocated in a phase. */
struct kept_row {
	struct spot spot;
	uint32_t phase, category;
	int64_t number, node, bytes, batches, of_steps;
};

/* A row of temp.batch_gone: bytes that came in one micro-batch and went in another one. 0 is before the first one. */
struct gone_row {
	struct spot spot;
	int64_t came, went, bytes;
};

struct batches {
	struct db *db;
	struct growth_list *list;
	struct batch_site *site; /* by id */
	size_t sites, site_room;
	struct db_stmt *kept, *gone; /* the rows that come; NULL: all are read */
	struct kept_row next_kept;
	struct gone_row next_gone;
	struct kept_row *row; /* those of one place and step */
	size_t rows, room;
	uint64_t *moved; /* by micro-batch: differences of what the place held; they may wrap around */
	size_t parts, moved_room;
	struct growth_parts at;
	struct growth_place key; /* the newest device and process, and their figures */
	uint64_t threshold;
};

static int order_of(const struct spot *one, const struct spot *two)
{
	if (one->device != two->device)
		return MT_ORDER(one->device, two->device);
	if (one->process != two->process)
		return MT_ORDER(one->process, two->process);
	if (one->first_node != two->first_node)
		return MT_ORDER(one->first_node, two->first_node);
	return MT_ORDER(one->step, two->step);
}

/* ---- tables ---- */

/* The order of places, by site. */
static int make_order(struct db *db)
{
	int error =
		db_execute(db,
			   "CREATE TEMP TABLE batch_order (site INTEGER PRIMARY KEY, place INTEGER, first_node INTEGER)");

	return error ? error
		     : db_execute(db,
				  "INSERT INTO temp.batch_order SELECT id, dense_rank() OVER (ORDER BY device, process, "
				  "ifnull(first_node, 0)), ifnull(first_node, 0) FROM site LEFT JOIN temp.same_place USING (node)");
}

/*
 * CROSS JOIN makes SQLite read the allocations once, and look up the births of the few that are kept. A direct join would compare each allocation
 * with all micro-batches before it. Numbers sort faster than the words of a place.
 */
static int make_kept(struct db *db)
{
	int error = make_order(db);

	return error ? error
		     : db_execute(
			       db,
			       "CREATE TEMP TABLE batch_kept AS SELECT place, step, site, inside, number, sum(bytes) AS bytes, batches, "
			       "of_steps FROM (SELECT place, allocation.site AS site, tensors_inside AS inside, allocation.step AS step, "
			       "batches, of_steps, bytes, (SELECT number FROM temp.batch "
			       "WHERE batch.process = allocation.process AND batch.step = allocation.step AND first_seq <= alloc_seq "
			       "ORDER BY first_seq DESC LIMIT 1) AS number FROM in_use_span AS allocation CROSS JOIN temp.batch_step AS ends "
			       "ON ends.process = allocation.process AND ends.step = allocation.step AND alloc_seq < last_seq "
			       "AND since_seq <= last_seq AND (until_seq IS NULL OR until_seq > last_seq) "
			       "CROSS JOIN temp.batch_order AS own ON own.site = allocation.site WHERE bytes AND (free_seq IS NULL OR "
			       "free_seq > last_seq)) WHERE number IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5");
}

/*
 * All allocations of the places count, in any phase and category: their lives separate freed from kept memory. Reads the allocations once, as above,
 * and looks up the births of the freed ones.
 */
static int make_gone(struct db *db)
{
	static const char *const sql[] = {
		"CREATE TEMP TABLE batch_site (site INTEGER PRIMARY KEY, first_node INTEGER)",
		"INSERT INTO temp.batch_site SELECT site, first_node FROM temp.batch_order JOIN site ON site.id = site "
		"WHERE (device, process, first_node) IN (SELECT device, process, first_node FROM temp.batch_place)",
		"CREATE TEMP TABLE batch_gone AS SELECT own.device AS device, own.process AS process, first_node, ends.step AS step, "
		"ifnull((SELECT number FROM temp.batch WHERE batch.process = own.process AND batch.step = ends.step AND "
		"first_seq <= since_seq ORDER BY first_seq DESC LIMIT 1), 0) AS came, "
		"(SELECT number FROM temp.batch WHERE batch.process = own.process AND batch.step = ends.step AND "
		"first_seq < until_seq ORDER BY first_seq DESC LIMIT 1) AS went, sum(bytes) AS bytes FROM in_use_span AS own "
		"CROSS JOIN temp.batch_site AS place ON place.site = own.site CROSS JOIN temp.batch_step AS ends "
		"ON ends.process = own.process AND ends.step = until_step AND until_seq <= last_seq WHERE bytes "
		"GROUP BY 1, 2, 3, 4, 5, 6 HAVING went > came ORDER BY 1, 2, 3, 4",
	};
	size_t i;
	int error = 0;

	for (i = 0; i < MT_ARRAY_SIZE(sql) && !error; i++)
		error = db_execute(db, sql[i]);
	return error;
}

/* ---- rows in their order ---- */

static int take_site(void *context, const struct db_stmt *row)
{
	struct batches *batches = context;
	size_t room = batches->site_room ? batches->site_room * 2 : 256;
	struct batch_site *more;

	if (batches->sites == batches->site_room) {
		more = realloc(batches->site, room * sizeof(*more));
		if (!more)
			return -MT_E_MEMORY;
		batches->site = more;
		batches->site_room = room;
	}
	batches->site[batches->sites++] = (struct batch_site){ .id = db_int(row, 0),
							       .device = db_int(row, 1),
							       .process = db_int(row, 2),
							       .first_node = db_int(row, 3),
							       .node = db_int(row, 4),
							       .phase = finding_phase(db_text(row, 5)),
							       .category = mt_category_parse(db_text(row, 6)) };
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct batch_site *one = a, *two = b;

	return MT_ORDER(one->id, two->id);
}

static int find_sites(struct batches *batches)
{
	return finding_rows(batches->db,
			    "SELECT id, device, process, first_node, ifnull(node, 0), phase, category FROM site "
			    "JOIN temp.batch_order ON batch_order.site = site.id ORDER BY id",
			    take_site, batches);
}

/* The next row of a table. After the last one *stmt is NULL. 0 or an error. */
static int step(struct db_stmt **stmt)
{
	int more = db_step(*stmt);

	if (more > 0)
		return 0;
	db_finish(*stmt);
	*stmt = NULL;
	return more;
}

static int next_kept(struct batches *batches)
{
	int error = step(&batches->kept);
	const struct db_stmt *stmt = batches->kept;
	const struct batch_site key = { .id = stmt ? db_int(stmt, 0) : 0 }, *site;

	if (!stmt || error)
		return error;
	site = bsearch(&key, batches->site, batches->sites, sizeof(key), by_id);
	if (!site)
		return -MT_E_CORRUPT;
	batches->next_kept = (struct kept_row){
		.spot = { site->device, site->process, site->first_node, db_int(stmt, 1) },
		.phase = site->phase,
		.category = db_int(stmt, 2) ? MT_CATEGORY_SLACK : site->category,
		.number = db_int(stmt, 3),
		.node = site->node,
		.bytes = db_int(stmt, 4),
		.batches = db_int(stmt, 5),
		.of_steps = db_int(stmt, 6),
	};
	return 0;
}

static int next_gone(struct batches *batches)
{
	int error = step(&batches->gone);
	const struct db_stmt *stmt = batches->gone;

	if (stmt)
		batches->next_gone = (struct gone_row){
			.spot = { db_int(stmt, 0), db_int(stmt, 1), db_int(stmt, 2), db_int(stmt, 3) },
			.came = db_int(stmt, 4),
			.went = db_int(stmt, 5),
			.bytes = db_int(stmt, 6),
		};
	return error;
}

static int begin_kept(struct batches *batches)
{
	int error = db_prepare(
		batches->db, &batches->kept,
		"SELECT site, step, inside, number, bytes, batches, of_steps FROM temp.batch_kept ORDER BY rowid");

	return error ? error : next_kept(batches);
}

static int begin_gone(struct batches *batches)
{
	int error = db_prepare(
		batches->db, &batches->gone,
		"SELECT device, process, first_node, step, came, went, bytes FROM temp.batch_gone ORDER BY rowid");

	return error ? error : next_gone(batches);
}

static int by_kind(const void *a, const void *b)
{
	const struct kept_row *one = a, *two = b;

	if (one->phase != two->phase)
		return MT_ORDER(one->phase, two->phase);
	return one->category != two->category ? MT_ORDER(one->category, two->category)
					      : MT_ORDER(one->number, two->number);
}

/* Takes all rows of the next place and step, by phase, category and micro-batch. 0 or an error. */
static int take_rows(struct batches *batches)
{
	const struct spot spot = batches->next_kept.spot;
	size_t room = batches->room;
	struct kept_row *more;
	int error = 0;

	for (batches->rows = 0; batches->kept && !error && !order_of(&batches->next_kept.spot, &spot);) {
		if (batches->rows == room) {
			room = room ? room * 2 : 64;
			more = realloc(batches->row, room * sizeof(*more));
			if (!more)
				return -MT_E_MEMORY;
			batches->row = more;
			batches->room = room;
		}
		batches->row[batches->rows++] = batches->next_kept;
		error = next_kept(batches);
	}
	qsort(batches->row, batches->rows, sizeof(*batches->row), by_kind);
	return error;
}

/* The end of the rows of one phase and category, which begin at `from`; *numbers: how many micro-batches they are of. */
static size_t end_of_kind(const struct batches *batches, size_t from, uint32_t *numbers)
{
	const struct kept_row *row = batches->row;
	size_t to;

	*numbers = 0;
	for (to = from;
	     to < batches->rows && row[to].phase == row[from].phase && row[to].category == row[from].category; to++)
		*numbers += to == from || row[to].number != row[to - 1].number;
	return to;
}

/* ---- places that may grow ---- */

static int is_of_several(const struct batches *batches)
{
	uint32_t numbers;
	size_t i;

	for (i = 0; i < batches->rows;) {
		i = end_of_kind(batches, i, &numbers);
		if (numbers >= GROWTH_PARTS)
			return 1;
	}
	return 0;
}

/* Fills temp.batch_place. *some: whether there is a place. */
static int find_places(struct batches *batches, int *some)
{
	struct db_stmt *insert = NULL;
	int error = db_execute(batches->db,
			       "CREATE TEMP TABLE batch_place (device INTEGER, process INTEGER, first_node "
			       "INTEGER, PRIMARY KEY (device, process, first_node)) WITHOUT ROWID");

	if (!error)
		error = db_prepare(batches->db, &insert, "INSERT OR IGNORE INTO temp.batch_place VALUES (?, ?, ?)");
	if (!error)
		error = begin_kept(batches);
	while (!error && batches->kept) {
		error = take_rows(batches);
		if (error || !is_of_several(batches))
			continue;
		db_bind(insert, 1, batches->row[0].spot.device);
		db_bind(insert, 2, batches->row[0].spot.process);
		db_bind(insert, 3, batches->row[0].spot.first_node);
		error = db_run(insert);
		*some = 1;
	}
	db_finish(insert);
	return error;
}

/* ---- what a place held ---- */

static void add_move(struct batches *batches, int64_t number, int64_t bytes)
{
	if (number >= 0 && (size_t)number < batches->parts) /* else only in a damaged database */
		batches->moved[number] += (uint64_t)bytes;
}

/* Fills `moved` from the rows of the place, and from those of what went. 0 or an error. */
static int take_moves(struct batches *batches, size_t parts)
{
	const struct spot *spot = &batches->row[0].spot;
	uint64_t *more = parts > batches->moved_room ? realloc(batches->moved, parts * sizeof(*more)) : batches->moved;
	size_t i;
	int error = 0;

	if (!more)
		return -MT_E_MEMORY;
	batches->moved = more;
	batches->moved_room = parts > batches->moved_room ? parts : batches->moved_room;
	batches->parts = parts;
	memset(more, 0, parts * sizeof(*more));
	for (i = 0; i < batches->rows; i++)
		add_move(batches, batches->row[i].number, batches->row[i].bytes);
	while (batches->gone && !error && order_of(&batches->next_gone.spot, spot) < 0)
		error = next_gone(batches);
	while (batches->gone && !error && !order_of(&batches->next_gone.spot, spot)) {
		add_move(batches, batches->next_gone.came, batches->next_gone.bytes);
		add_move(batches, batches->next_gone.went, -batches->next_gone.bytes);
		error = next_gone(batches);
	}
	return error;
}

/* ---- one place of one step ---- */

static int take_process(void *context, const struct db_stmt *row)
{
	struct batches *batches = context;

	batches->key.pid = db_int(row, 0);
	batches->key.rank = db_type(row, 1) == DB_NULL ? -1 : db_int(row, 1);
	batches->threshold = (uint64_t)db_int(row, 2);
	return 0;
}

/* Notes device and process of the rows, and what is known of them. */
static int begin_process(struct batches *batches)
{
	const struct spot *spot = &batches->row[0].spot;
	struct growth_place *key = &batches->key;
	char sql[256];

	if (key->device == spot->device && key->process == spot->process)
		return 0;
	*key = (struct growth_place){ .device = spot->device, .process = spot->process, .steps = 1 };
	snprintf(sql, sizeof(sql),
		 "SELECT pid, rank, max(4096, ifnull((SELECT bytes / 100000 FROM peak WHERE peak.device = %lld), 0)) "
		 "FROM process WHERE id = %lld",
		 (long long)spot->device, (long long)spot->process);
	return finding_rows(batches->db, sql, take_process, batches);
}

/* Judges the rows of one phase and category. The first part is the memory before the micro-batches. */
static int judge(struct batches *batches, size_t from, size_t to)
{
	const struct kept_row *row = batches->row;
	struct growth_parts *at = &batches->at;
	struct growth_place *key = &batches->key;
	struct growth_run run;
	size_t i;

	key->node = row[from].node;
	for (i = from; i < to; i++) {
		at->kept[row[i].number] += (uint64_t)row[i].bytes;
		key->node = row[i].node < key->node ? row[i].node : key->node;
	}
	memcpy(at->held, batches->moved, (at->parts < batches->parts ? at->parts : batches->parts) * sizeof(*at->held));
	if (!growth_parts_find(at, &run))
		return 0;
	key->first_node = row[from].spot.first_node;
	key->step = row[from].spot.step;
	key->phase = mt_phase_name(row[from].phase);
	key->category = mt_category_name(row[from].category);
	key->steps_of = (uint32_t)row[from].of_steps;
	key->replaced = run.kept - run.bytes;
	key->bytes = run.bytes;
	key->each = run.bytes / growth_covers(&run);
	key->parts = run.parts;
	key->of = at->parts - 1;
	key->first = run.first;
	return growth_list_add(batches->list, key) ? 0 : -MT_E_MEMORY;
}

static int are_right(const struct batches *batches, size_t from, size_t to)
{
	const struct kept_row *row = batches->row;
	int64_t most = row[from].batches;
	size_t i;

	for (i = from; i < to; i++)
		if (row[i].number < 0 || row[i].number > most)
			return 0;
	return most >= 1 && most < RETAINED_PARTS_MAX;
}

static int judge_place(struct batches *batches)
{
	size_t from, to;
	uint32_t numbers;
	int error = 0, moved = 0;

	for (from = 0; from < batches->rows && !error; from = to) {
		to = end_of_kind(batches, from, &numbers);
		if (numbers < GROWTH_PARTS || !are_right(batches, from, to))
			continue;
		if (!moved)
			error = begin_process(batches);
		if (!error && !moved)
			error = take_moves(batches, (size_t)batches->row[from].batches + 1);
		moved = 1;
		if (!error)
			error = growth_parts_begin(&batches->at, (uint32_t)batches->row[from].batches + 1,
						   batches->threshold);
		if (!error)
			error = judge(batches, from, to);
	}
	return error;
}

/* ---- all of them ---- */

static int by_place(const void *a, const void *b)
{
	const struct growth_place *one = a, *two = b;
	int order;

	if (one->device != two->device)
		return MT_ORDER(one->device, two->device);
	if (one->process != two->process)
		return MT_ORDER(one->process, two->process);
	if (one->first_node != two->first_node)
		return MT_ORDER(one->first_node, two->first_node);
	order = strcmp(one->phase, two->phase);
	order = order ? order : strcmp(one->category, two->category);
	return order ? order : MT_ORDER(one->step, two->step);
}

static int is_same(const struct growth_place *one, const struct growth_place *two)
{
	return one->device == two->device && one->process == two->process && one->first_node == two->first_node &&
	       one->phase == two->phase && one->category == two->category;
}

/* One entry for all steps of a place: that of the worst step, which is the first one of equal ones. */
static void join_steps(struct growth_list *list)
{
	struct growth_place *last = NULL, *place, *end = list->place + list->count;
	uint32_t steps;
	int64_t node;

	for (place = list->place; place < end; place++) {
		if (!last || !is_same(last, place)) {
			last = last ? last + 1 : list->place;
			*last = *place;
			continue;
		}
		steps = last->steps + 1;
		node = last->node;
		if (place->bytes > last->bytes)
			*last = *place;
		last->steps = steps;
		last->node = node;
	}
	list->count = last ? (size_t)(last - list->place) + 1 : 0;
}

int retained_find_batches(struct growth_list *list, struct db *db)
{
	struct batches batches = { .db = db, .list = list };
	int some = 0, error = make_kept(db);

	if (!error)
		error = find_sites(&batches);
	if (!error)
		error = find_places(&batches, &some);
	if (!error && some)
		error = make_gone(db);
	if (!error && some)
		error = begin_gone(&batches);
	if (!error && some)
		error = begin_kept(&batches);
	while (!error && some && batches.kept) {
		error = take_rows(&batches);
		if (!error)
			error = judge_place(&batches);
	}
	if (list->count)
		qsort(list->place, list->count, sizeof(*list->place), by_place);
	join_steps(list);
	db_finish(batches.kept);
	db_finish(batches.gone);
	growth_parts_release(&batches.at);
	free(batches.row);
	free(batches.site);
	free(batches.moved);
	return error;
}
