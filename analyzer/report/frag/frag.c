#include "frag.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/phase.h"
#include "report/answer.h"
#include "report/finding.h"

/* ---- loading ---- */

/* Makes room for one more item. NULL: out of memory. */
static void *make_room(void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 1024;
	void *grown;

	if (count < *room)
		return array;
	grown = realloc(array, more * size);
	if (grown)
		*room = more;
	return grown;
}

static int piece_row(void *context, struct db_stmt *row)
{
	struct frag_map *map = context;
	struct segment_piece *pieces = make_room(map->piece, map->pieces, &map->piece_room, sizeof(*pieces));

	if (!pieces)
		return -MT_E_MEMORY;
	map->piece = pieces;
	pieces[map->pieces++] = (struct segment_piece){ .process = db_int(row, 0),
							.address = (uint64_t)db_int(row, 1),
							.bytes = (uint64_t)db_int(row, 2),
							.mapped = db_int(row, 3) != 0,
							.tensors_seen = db_int(row, 4) != 0,
							.id = db_int(row, 5) };
	return 0;
}

static int block_row(void *context, struct db_stmt *row)
{
	struct frag_map *map = context;
	struct segment_block *blocks = make_room(map->block, map->blocks, &map->block_room, sizeof(*blocks));
	struct frag_tensor *tensors;

	if (!blocks)
		return -MT_E_MEMORY;
	map->block = blocks;
	tensors = make_room(map->tensor, map->blocks, &map->tensor_room, sizeof(*tensors));
	if (!tensors)
		return -MT_E_MEMORY;
	map->tensor = tensors;
	tensors[map->blocks] = (struct frag_tensor){ .node = db_int(row, 3),
						     .step = db_int(row, 5),
						     .site = db_int(row, 6),
						     .time = db_int(row, 7),
						     .phase = mt_phase_name(finding_phase(db_text(row, 4))) };
	blocks[map->blocks] = (struct segment_block){ .process = db_int(row, 0),
						      .address = (uint64_t)db_int(row, 1),
						      .bytes = (uint64_t)db_int(row, 2),
						      .id = (int64_t)map->blocks };
	map->blocks++;
	return 0;
}

int frag_load(struct frag_map *map, struct db *db, int64_t device, int64_t process, const struct alive_moment *when)
{
	static const char pieces[] =
		"SELECT process, address, bytes, mapped, tensors_inside, ifnull(site, 0) FROM reserved_range WHERE device = ?1 "
		"AND ?5 IN (0, process) AND " ALIVE_AT("?2", "?3", "?4");
	static const char blocks[] =
		/* In a snapshot, a tensor has its requested bytes, and a block is a multiple of 512. */
		"SELECT process, address, CASE WHEN process IN (SELECT id FROM process WHERE recorded_by = 'pytorch') "
		"THEN (bytes + asleep_bytes + 511) / 512 * 512 ELSE bytes + asleep_bytes END, "
		"ifnull(node, 0), phase, step, ifnull(site, 0), alloc_time FROM allocation_span "
		"WHERE device = ?1 AND memory = 'tensor' AND ?5 IN (0, process) "
		"AND " ALIVE_SPAN_AT("?2", "?3", "?4");
	const int64_t of[DB_PARAMETERS] = { device, when->time, when->process, when->seq, process };
	int error;

	memset(map, 0, sizeof(*map));
	error = db_rows(db, pieces, of, piece_row, map);
	if (!error)
		error = db_rows(db, blocks, of, block_row, map);
	if (!error)
		error = segment_map_build(&map->map, map->piece, map->pieces, map->block, map->blocks);
	return error;
}

void frag_release(struct frag_map *map)
{
	segment_map_release(&map->map);
	free(map->piece);
	free(map->block);
	free(map->tensor);
	memset(map, 0, sizeof(*map));
}

/* ---- pins ---- */

int frag_is_pinned(const struct segment *segment)
{
	return segment->used && segment->used <= segment->bytes / FRAG_PINNED;
}

const struct frag_tensor *frag_holder(const struct frag_map *map, const struct segment *segment)
{
	const struct segment_block *block = map->block, *largest = NULL;
	size_t i;

	for (i = segment->first_block; i < segment->first_block + segment->blocks; i++)
		if (!largest || block[i].bytes > largest->bytes)
			largest = &block[i];
	return largest ? &map->tensor[largest->id] : NULL;
}

static int64_t first_node_of(struct db_stmt *stmt, int64_t node)
{
	int64_t first = 0;

	db_bind(stmt, 1, node);
	if (db_step(stmt) == 1)
		first = db_int(stmt, 0);
	db_rewind(stmt);
	return first;
}

static int add_pin(struct frag_pins *pins, const struct frag_pin *add)
{
	struct frag_pin *more = make_room(pins->pin, pins->count, &pins->room, sizeof(*more));

	if (!more)
		return -MT_E_MEMORY;
	pins->pin = more;
	pins->pin[pins->count++] = *add;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct frag_pin *one = a, *two = b;

	if (one->first_node != two->first_node)
		return one->first_node < two->first_node ? -1 : 1;
	if (one->phase != two->phase)
		return strcmp(one->phase, two->phase);
	return (one->node > two->node) - (one->node < two->node);
}

static void join_pin(struct frag_pin *pin, const struct frag_pin *add)
{
	pin->bytes += add->bytes;
	pin->idle += add->idle;
	pin->segments += add->segments;
	pin->first_step = add->first_step < pin->first_step ? add->first_step : pin->first_step;
	pin->last_step = add->last_step > pin->last_step ? add->last_step : pin->last_step;
}

/* Joins pins of the same place and phase; sorting has put these next to each other. */
static void join_pins(struct frag_pins *pins)
{
	size_t i, count = 0;

	if (pins->count)
		qsort(pins->pin, pins->count, sizeof(*pins->pin), by_place);
	for (i = 0; i < pins->count; i++)
		if (count && pins->pin[count - 1].first_node == pins->pin[i].first_node &&
		    pins->pin[count - 1].phase == pins->pin[i].phase)
			join_pin(&pins->pin[count - 1], &pins->pin[i]);
		else
			pins->pin[count++] = pins->pin[i];
	pins->count = count;
}

static int by_idle(const void *a, const void *b)
{
	const struct frag_pin *one = a, *two = b;

	if (one->idle != two->idle)
		return one->idle < two->idle ? 1 : -1;
	return (one->first_node > two->first_node) - (one->first_node < two->first_node);
}

int frag_pins(struct frag_pins *pins, struct db *db, const struct frag_map *map)
{
	const struct segment *segment;
	const struct frag_tensor *tensor;
	struct frag_pin pin;
	struct db_stmt *stmt;
	size_t i;
	int error;

	memset(pins, 0, sizeof(*pins));
	error = db_execute(db, "CREATE INDEX IF NOT EXISTS temp.same_place_node ON same_place (node)");
	if (!error)
		error = db_prepare(db, &stmt, "SELECT first_node FROM temp.same_place WHERE node = ?");
	if (error)
		return error;
	for (i = 0; i < map->map.count && !error; i++) {
		segment = &map->map.segment[i];
		tensor = frag_is_pinned(segment) ? frag_holder(map, segment) : NULL;
		if (!tensor)
			continue;
		pin = (struct frag_pin){ .node = tensor->node,
					 .first_node = first_node_of(stmt, tensor->node),
					 .phase = tensor->phase,
					 .first_step = tensor->step,
					 .last_step = tensor->step,
					 .bytes = segment->used,
					 .idle = segment->bytes - segment->used,
					 .segments = 1 };
		pins->segments++;
		pins->idle += pin.idle;
		pins->bytes += pin.bytes;
		error = add_pin(pins, &pin);
	}
	db_finish(stmt);
	join_pins(pins);
	if (pins->count)
		qsort(pins->pin, pins->count, sizeof(*pins->pin), by_idle);
	return error;
}

/* ---- modes ---- */

#define POOLS_THAT_SLEEP "'vllm cumem', 'torch_memory_saver'"

/* Finds, on all devices, processes with a pool that can sleep, and processes with tensors that were not resident. */
static int find_sleepers(struct db *db)
{
	return db_execute(
		db,
		"CREATE TEMP TABLE IF NOT EXISTS sleeper AS SELECT DISTINCT device, process, 1 AS pool FROM site "
		"WHERE owner IN (" POOLS_THAT_SLEEP ") UNION SELECT DISTINCT allocation.device, "
		"allocation.process, 0 FROM resident_span JOIN allocation ON allocation.id = resident_span.allocation");
}

int frag_pool_beside(struct db *db, int64_t process, int64_t *pid)
{
	static const char sql[] = "SELECT ifnull(min(process.pid), 0) FROM temp.sleeper JOIN process "
				  "ON process.id = sleeper.process WHERE sleeper.process <> ?1 AND pool";
	int error = find_sleepers(db);

	*pid = 0;
	return error ? error : db_number(db, sql, DB_NUMBERS(process), pid);
}

int frag_modes(struct db *db, const struct frag_map *map, int64_t device, int64_t process, int *expandable, int *sleeps)
{
	static const char sql[] = "SELECT EXISTS (SELECT 1 FROM temp.sleeper WHERE device = ?1 AND ?2 IN (process, 0))";
	int64_t known = 0;
	int error = find_sleepers(db);
	size_t i;

	*expandable = *sleeps = 0; /* a process does not know the pools of other processes */
	if (!error)
		error = db_number(db, sql, DB_NUMBERS(device, process), &known);
	*sleeps = known || map->map.absent != 0;
	for (i = 0; i < map->map.count; i++)
		*expandable |= map->map.segment[i].mapped && !*sleeps; /* a sleeping pool excludes these */
	return error;
}
