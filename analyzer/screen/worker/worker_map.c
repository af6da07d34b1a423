/* The segments of a device at a moment, and the contents of a segment. */
#include <stdio.h>
#include <stdlib.h>
#include "base/text.h"
#include "memtrace/error.h"
#include "report/answer.h"
#include "report/finding.h"
#include "store/store.h"
#include "worker_impl.h"
#include "worker_query.h"

/* Makes the table of places for frag_state_load. */
static int make_same_places(struct db *db)
{
	int error = worker_query_forget(db);

	return error ? error : finding_same_places(db);
}

static int load_state(struct frag_state *state, struct worker *worker, const struct worker_question *question)
{
	int64_t device = store_device_id(question->device);
	struct frag_instant instant;
	int found = frag_instant_at_cursor(&instant, worker->db, device, question->to), error;

	*state = (struct frag_state){ 0 };
	if (found != 1)
		return found;
	error = make_same_places(worker->db);
	return error ? error : frag_state_load(state, worker->db, device, &instant);
}

/* ---- the map ---- */

/* Finds the model's sites; 0 for those that the model does not have. */
static void find_sites(struct worker *worker, struct frag_map *map)
{
	size_t i;

	for (i = 0; i < map->blocks; i++)
		map->tensor[i].site = worker_site(worker, map->tensor[i].site);
}

static int add_beside(void *context, struct db_stmt *row)
{
	struct worker_map *map = context;

	map->beside += (uint64_t)db_int(row, 0);
	map->besides++;
	return 0;
}

int worker_answer_map(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	struct worker_map *map = calloc(1, sizeof(*map));
	struct sentence sentence;
	int error;

	if (!map)
		return -MT_E_MEMORY;
	table->answer.map = map;
	error = load_state(&map->state, worker, question);
	if (!error)
		error = worker_query_beside(worker->db, store_device_id(question->device), &map->state.instant.when,
					    add_beside, map);
	if (error)
		return error;
	map->sorted = frag_sort(&map->state.map.map);
	if (!map->sorted)
		return -MT_E_MEMORY;
	find_sites(worker, &map->state.map);
	sentence = frag_verdict(&map->state, worker->db);
	worker_table_verdict(table, sentence.text);
	return 0;
}

/* ---- the contents of a segment ---- */

/* Those that say most come first: a terminal of 80 columns has no room for all. */
#define SEGMENT_COLUMN_LIST(X)         \
	X(BYTES, "bytes", 1)           \
	X(PLACE, "place", 0)           \
	X(PHASE, "from", WORKER_PHASE) \
	X(STEP, "step", 1)             \
	X(SINCE, "since", 1)           \
	X(WHERE, "where", 1)

enum segment_column {
#define SEGMENT_COLUMN_ENUM(name, title, numbers) SEGMENT_##name,
	SEGMENT_COLUMN_LIST(SEGMENT_COLUMN_ENUM)
#undef SEGMENT_COLUMN_ENUM
};

static void add_columns(struct worker_table *table)
{
#define SEGMENT_COLUMN_ADD(name, title, numbers) worker_table_column(table, title, numbers);
	SEGMENT_COLUMN_LIST(SEGMENT_COLUMN_ADD)
#undef SEGMENT_COLUMN_ADD
}

/* An allocation in a segment, or outside of all segments. */
struct resident {
	uint64_t bytes;
	const struct frag_tensor *tensor;
	const char *where;
};

static int add_row(struct worker *worker, struct worker_table *table, const struct resident *row)
{
	char word[TEXT_SIZE_MAX], place[256];

	if (worker_table_row(table, worker_site(worker, row->tensor->site), -1))
		return 0;
	worker_table_cell(table, SEGMENT_BYTES, text_bytes(word, row->bytes));
	worker_table_cell(table, SEGMENT_PLACE, finding_place(place, sizeof(place), worker->db, row->tensor->node));
	worker_table_cell(table, SEGMENT_WHERE, row->where);
	if (!text_known.history)
		return 0;
	worker_table_cell(table, SEGMENT_PHASE, answer_phase(row->tensor->phase));
	worker_table_print(table, SEGMENT_STEP, "%lld", (long long)row->tensor->step);
	if (text_known.times)
		worker_table_cell(table, SEGMENT_SINCE, text_time(word, row->tensor->time));
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct segment_block *one = *(const struct segment_block *const *)a;
	const struct segment_block *two = *(const struct segment_block *const *)b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return (one->address > two->address) - (one->address < two->address);
}

static int add_tensors(struct worker *worker, struct worker_table *table, const struct frag_map *map,
		       const struct segment *segment)
{
	const struct segment_block **sorted = calloc(segment->blocks + 1, sizeof(*sorted));
	char where[64];
	size_t i;

	if (!sorted)
		return -MT_E_MEMORY;
	for (i = 0; i < segment->blocks; i++)
		sorted[i] = &map->block[segment->first_block + i];
	qsort(sorted, segment->blocks, sizeof(*sorted), by_bytes);
	for (i = 0; i < segment->blocks; i++) {
		snprintf(where, sizeof(where), "0x%llx", (unsigned long long)sorted[i]->address);
		add_row(worker, table, &(struct resident){ sorted[i]->bytes, &map->tensor[sorted[i]->id], where });
	}
	free(sorted);
	return 0;
}

static const struct segment *find_segment(const struct segment_map *map, const struct worker_question *question)
{
	size_t i;

	for (i = 0; i < map->count; i++)
		if (map->segment[i].process == question->process && map->segment[i].address == question->address)
			return &map->segment[i];
	return NULL;
}

static void say_segment(struct sentence *sentence, const struct frag_map *map, const struct segment *segment)
{
	struct segment_walk walk = segment_walk_begin(segment, map->block);
	char size[TEXT_SIZE_MAX], used[TEXT_SIZE_MAX], hole[TEXT_SIZE_MAX], idle[TEXT_SIZE_MAX], count[64], holes[64];
	struct segment_part part;
	uint64_t number = 0;

	while (segment_walk_next(&walk, &part))
		number += !part.block;
	sentence_say(sentence, "%s reserved, %s of it in %s.", text_bytes(size, segment->bytes),
		     text_bytes(used, segment->used), text_count(count, sizeof(count), segment->blocks, "tensor"));
	if (number)
		sentence_say(sentence, " %s idle in %s, the largest %s.",
			     text_bytes(idle, segment->bytes - segment->used),
			     text_count(holes, sizeof(holes), number, "hole"), text_bytes(hole, segment->largest_hole));
	if (!segment->blocks)
		sentence_say(sentence, " torch.cuda.empty_cache() would give it back.");
	else if (frag_is_pinned(segment))
		sentence_say(sentence,
			     " These tensors pin the segment: free them first, then the segment can go back.");
}

int worker_answer_segment(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	struct frag_state state;
	struct sentence sentence = { 0 };
	const struct segment *segment;
	int error = load_state(&state, worker, question);

	add_columns(table);
	segment = find_segment(&state.map.map, question);
	if (!error && segment)
		error = add_tensors(worker, table, &state.map, segment);
	if (segment)
		say_segment(&sentence, &state.map, segment);
	else
		sentence_say(&sentence, "There is no such segment at this moment.");
	worker_table_verdict(table, sentence.text);
	frag_state_release(&state);
	return error;
}

/* ---- memory outside of all segments ---- */

struct beside {
	struct worker *worker;
	struct worker_table *table;
	uint64_t bytes, count;
};

static int beside_row(void *context, struct db_stmt *row)
{
	struct beside *beside = context;
	const struct frag_tensor tensor = { .time = db_int(row, 1),
					    .phase = db_text(row, 2),
					    .step = db_int(row, 3),
					    .site = db_int(row, 4),
					    .node = db_int(row, 5) };

	beside->bytes += (uint64_t)db_int(row, 0);
	beside->count++;
	return add_row(beside->worker, beside->table,
		       &(struct resident){ (uint64_t)db_int(row, 0), &tensor, db_text(row, 6) });
}

int worker_answer_beside(struct worker *worker, const struct worker_question *question, struct worker_table *table)
{
	int64_t device = store_device_id(question->device);
	struct beside beside = { .worker = worker, .table = table };
	struct sentence sentence = { 0 };
	struct frag_instant instant;
	char size[TEXT_SIZE_MAX], count[64];
	int found = frag_instant_at_cursor(&instant, worker->db, device, question->to), error;

	add_columns(table);
	if (found < 0)
		return found;
	error = worker_query_beside(worker->db, device, &instant.when, beside_row, &beside);
	sentence_say(&sentence, "%s in %s of the driver that PyTorch's allocator knows nothing of.",
		     text_bytes(size, beside.bytes), text_count(count, sizeof(count), beside.count, "allocation"));
	worker_table_verdict(table, sentence.text);
	return error;
}
