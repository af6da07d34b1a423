/* Writes the moment that a pass kept (rows/kept.h): live memory as rows, and for memana oom the tables temp.kept_moment and temp.kept_sum. */
#include "load_sink.h"

#include <stdlib.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "query/packed.h"
#include "rows/row_id.h"
#include "store.h"

static int64_t capped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static const char *memory_word(uint8_t space)
{
	const char *word = space == KEPT_TENSOR ? "tensor" : mt_space_name(space);

	return word ? word : "unknown";
}

static void fill_life(struct load_allocation_raw *row, const struct kept_life *life, const struct analysis *analysis)
{
	const struct site_key *key = &analysis->attribution.site[life->site].key;
	int stays = life->gone_seq == KEPT_STAYS;

	*row = (struct load_allocation_raw){ .id = DB_CELL_NULL,
					     .process = row_process_id(key->process),
					     .device = row_device_id(key->device),
					     .site = life->site,
					     .memory = memory_word(life->space),
					     .address = (int64_t)life->address,
					     .bytes = capped(life->bytes),
					     .alloc_seq = capped(life->seq),
					     .alloc_time = life->time,
					     .free_seq = stays ? DB_CELL_NULL : capped(life->gone_seq),
					     .free_time = stays ? DB_CELL_NULL : life->gone_time,
					     .thread = DB_CELL_NULL,
					     .step = life->step,
					     .free_step = stays ? DB_CELL_NULL : life->gone_step,
					     .free_node = life->free_node ? row_id(key->process, life->free_node)
									  : DB_CELL_NULL,
					     .tensors_inside = life->tensors_inside,
					     .at_home = life->home,
					     .allocations = 1 };
}

static void fill_mapping(struct load_mapping *row, const struct kept_mapping *mapping)
{
	int stays = mapping->gone_seq == KEPT_STAYS;

	*row = (struct load_mapping){ .id = DB_CELL_NULL,
				      .process = row_process_id(mapping->process),
				      .address = (int64_t)mapping->address,
				      .bytes = capped(mapping->bytes),
				      .handle = (int64_t)mapping->handle,
				      .map_seq = capped(mapping->seq),
				      .map_time = mapping->time,
				      .unmap_seq = stays ? DB_CELL_NULL : capped(mapping->gone_seq),
				      .unmap_time = stays ? DB_CELL_NULL : mapping->gone_time };
}

/* ---- lives of one process, packed ---- */

#define L(member) FACTS_MEMBER(kept_life, member)
static const struct facts_member members[] = {
	L(site), L(step),     L(gone_step), L(free_node), L(space), L(home),      L(tensors_inside),
	L(seq),  L(gone_seq), L(bytes),     L(address),   L(time),  L(gone_time),
};
#undef L

struct load_lives {
	const struct analysis *analysis;
	struct packed packed; /* rows are struct kept_life */
};

int load_lives_new(struct load_sink *load, const struct analysis *analysis)
{
	load->lives = malloc(sizeof(*load->lives));
	if (!load->lives)
		return -MT_E_MEMORY;
	load->lives->analysis = analysis;
	load->lives->packed = packed_of(members, MT_ARRAY_SIZE(members), sizeof(struct kept_life));
	return 0;
}

void load_lives_free(void *lives)
{
	if (lives)
		packed_release(&((struct load_lives *)lives)->packed);
	free(lives);
}

static int add_lives(struct load_lives *lives, const struct kept_life *life, uint32_t count)
{
	uint32_t i;
	int error = 0;

	for (i = 0; i < count && !error; i++)
		error = packed_add(&lives->packed, &life[i]);
	return error;
}

/* Moves a life of a split site to its twin, as load_twins does with rows. */
static uint32_t site_of(const struct analysis *analysis, const struct kept_life *life)
{
	const struct category_site *site = life->site < analysis->categories.room
						   ? &analysis->categories.site[life->site]
						   : NULL;

	return site && site->twin && life->gone_seq != KEPT_STAYS && !life->tensors_inside &&
			       (!site->twin_home || life->home)
		       ? site->twin
		       : life->site;
}

static int fill_lot(void *context, size_t number, void *rows)
{
	const struct load_lives *lives = context;
	struct load_allocation_raw *row = rows;
	struct kept_life life[PACKED_LOT];
	size_t count = packed_lot(&lives->packed, number, life), i;

	for (i = 0; i < count; i++) {
		fill_life(&row[i], &life[i], lives->analysis);
		row[i].id = (int64_t)(number * PACKED_LOT + i + 1);
		row[i].site = site_of(lives->analysis, &life[i]);
	}
	return 0;
}

int load_lives_store(struct load_sink *load, struct db *db)
{
	struct load_lives *lives = load->lives;

	load->lives = NULL;
	return lives ? load_rows_lots(db, LOAD_allocation_raw,
				      &(struct db_lots){ .rows = lives->packed.rows,
							 .lot = PACKED_LOT,
							 .context = lives,
							 .fill = fill_lot,
							 .release = load_lives_free })
		     : 0;
}

int load_kept_lives(void *context, const struct kept_life *life, uint32_t lives)
{
	struct load_sink *load = context;
	struct load_allocation_raw *row;
	uint32_t i;
	int error = 0;

	if (load->lives)
		return add_lives(load->lives, life, lives);
	for (i = 0; i < lives && !error; i++) {
		row = load->maker.row(load->maker.context, LOAD_allocation_raw, &error);
		if (row)
			fill_life(row, &life[i], load->sink.analysis);
	}
	return error;
}

int load_kept_rows(struct load_sink *load, int for_advice)
{
	const struct kept_moment *moment = &load->moment;
	const struct row_maker *maker = &load->maker;
	struct load_mapping *mapping;
	uint32_t i;
	int error = load_kept_lives(load, moment->life, moment->lives);

	if (!error && for_advice)
		error = load_kept_lives(load, moment->passed, moment->passes);
	for (i = 0; i < moment->mappings && !error; i++) {
		mapping = maker->row(maker->context, LOAD_mapping, &error);
		if (mapping)
			fill_mapping(mapping, &moment->mapping[i]);
	}
	return error;
}

static int store_moment(struct db *db, const struct kept_moment *moment)
{
	struct db_stmt *stmt;
	int error = db_prepare(db, &stmt, "INSERT INTO temp.kept_moment VALUES (?, ?, ?, ?, ?, ?, ?, ?)");

	db_bind(stmt, 1, store_device_id(moment->device));
	db_bind_unsigned(stmt, 2, moment->seq);
	db_bind(stmt, 3, moment->before);
	db_bind(stmt, 4, moment->before_time);
	db_bind_unsigned(stmt, 5, moment->before_seq);
	db_bind(stmt, 6, store_process_id(moment->process));
	db_bind_unsigned(stmt, 7, moment->tokens);
	db_bind_unsigned(stmt, 8, moment->words);
	error = error ? error : db_run(stmt);
	db_finish(stmt);
	return error;
}

static int store_sum(struct db_stmt *stmt, const struct kept_sum *sum)
{
	const uint64_t cell[] = { sum->site,         sum->home,       sum->tensors_inside, sum->made,
				  sum->freed,        sum->freed_home, sum->largest,        sum->before_bytes,
				  sum->before_count, sum->births,     sum->most,           sum->least };
	int i;

	for (i = 0; i < (int)MT_ARRAY_SIZE(cell); i++)
		db_bind_unsigned(stmt, i + 1, cell[i]);
	if (sum->died)
		db_bind(stmt, (int)MT_ARRAY_SIZE(cell) + 1, 1);
	else
		db_bind_null(stmt, (int)MT_ARRAY_SIZE(cell) + 1);
	return db_run(stmt);
}

int load_kept_store(const struct kept_moment *moment, struct db *db)
{
	struct db_stmt *stmt;
	uint32_t i;
	int error =
		db_execute(db,
			   "CREATE TEMP TABLE kept_moment (device INTEGER, seq INTEGER, before INTEGER, "
			   "before_time INTEGER, before_seq INTEGER, process INTEGER, tokens INTEGER, words INTEGER)");

	if (!error)
		error = db_execute(db,
				   "CREATE TEMP TABLE kept_sum (site INTEGER, at_home INTEGER, tensors_inside INTEGER, "
				   "made INTEGER, freed INTEGER, freed_home INTEGER, "
				   "largest INTEGER, before_bytes INTEGER, before_count INTEGER, births INTEGER, most INTEGER, "
				   "least INTEGER, free_seq INTEGER)");
	if (error || !moment->there)
		return error;
	error = db_prepare(db, &stmt, "INSERT INTO temp.kept_sum VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	for (i = 0; i < moment->sums && !error; i++)
		error = store_sum(stmt, &moment->sum[i]);
	db_finish(stmt);
	return error ? error : store_moment(db, moment);
}
