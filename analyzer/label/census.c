#include "census.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/array.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/ledger.h"
#include "memtrace/phase.h"

#define ROWS_MAX (1u << 22)  /* rows of one process */
#define BUDGET (1u << 28)    /* live allocations compared in all censuses of a process, at most */
#define SEVERAL 3u           /* number of matrices of one shape that count as several */
#define VOCABULARY_MIN 1000u /* rows */

static const uint8_t categories[MT_CENSUS_COUNT] = {
	[MT_CENSUS_WEIGHT] = MT_CATEGORY_WEIGHTS,         [MT_CENSUS_BUFFER] = MT_CATEGORY_WEIGHTS,
	[MT_CENSUS_GRADIENT] = MT_CATEGORY_GRADIENTS,     [MT_CENSUS_STATE] = MT_CATEGORY_OPTIMIZER_STATE,
	[MT_CENSUS_MASTER] = MT_CATEGORY_OPTIMIZER_STATE,
};

static uint32_t what_of(uint32_t flags)
{
	uint32_t what = flags & MT_CENSUS_WHAT;

	return what < MT_CENSUS_COUNT ? what : 0;
}

void census_release(struct census *census)
{
	free(census->row);
	free(census->known);
	free(census->alike);
	free(census->other);
	memset(census, 0, sizeof(*census));
}

/* ---- descriptions ---- */

static const char *take_word(char *word, const char *text)
{
	size_t size = strcspn(text, " ");

	mt_copy_text(word, CENSUS_WORD_MAX, "-");
	if (!size || size >= CENSUS_WORD_MAX)
		return NULL;
	memcpy(word, text, size);
	word[size] = '\0';
	return text[size] ? text + size + 1 : text + size;
}

int census_parse(struct census_text *words, const char *text)
{
	char *const word[] = {
#define CENSUS_WORD_AT(name) words->name,
		CENSUS_WORD_LIST(CENSUS_WORD_AT)
#undef CENSUS_WORD_AT
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(word) && text; i++)
		text = take_word(word[i], text);
	if (text && !*text)
		return 1;
	for (i = 0; i < MT_ARRAY_SIZE(word); i++)
		mt_copy_text(word[i], CENSUS_WORD_MAX, "-");
	return 0;
}

uint32_t census_dims(uint64_t dims[CENSUS_DIMS_MAX], const char *shape)
{
	uint32_t count = 0;
	uint64_t n, elements = 1;

	while (*shape >= '0' && *shape <= '9' && count < CENSUS_DIMS_MAX) {
		for (n = 0; *shape >= '0' && *shape <= '9'; shape++)
			if ((n = 10 * n + (uint64_t)(*shape - '0')) > CENSUS_ELEMENTS_MAX)
				return 0;
		if (__builtin_mul_overflow(elements, n, &elements) || elements > CENSUS_ELEMENTS_MAX)
			return 0;
		dims[count++] = n;
		if (*shape == 'x')
			shape++;
		else if (*shape)
			return 0;
	}
	return *shape ? 0 : count;
}

/* ---- tables ---- */

static uint64_t mix(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15ull;
	return key ^ key >> 29;
}

uint64_t census_like(uint64_t stack, uint64_t size)
{
	uint64_t key = mix(stack * 0xff51afd7ed558ccdull ^ size);

	return key ? key : 1;
}

/* Returns the slot of `key`, or the free slot for it. */
static struct census_block *slot_of(struct census_block *table, uint32_t slots, uint64_t key)
{
	uint32_t at = (uint32_t)mix(key) & (slots - 1);

	while (table[at].key && table[at].key != key)
		at = (at + 1) & (slots - 1);
	return &table[at];
}

static const struct census_block *find(const struct census_block *table, uint32_t slots, uint64_t key)
{
	const struct census_block *block = slots && key ? slot_of((struct census_block *)table, slots, key) : NULL;

	return block && block->key && block->category ? block : NULL;
}

static int grow(struct census_block **table, uint32_t *slots)
{
	uint32_t more = *slots ? *slots * 2 : 1024, i;
	struct census_block *grown = calloc(more, sizeof(*grown));

	if (!grown)
		return -MT_E_MEMORY;
	for (i = 0; i < *slots; i++)
		if ((*table)[i].key)
			*slot_of(grown, more, (*table)[i].key) = (*table)[i];
	free(*table);
	*table = grown;
	*slots = more;
	return 0;
}

/* Returns the entry of `key` (not 0), added if new. NULL: out of memory. */
static struct census_block *enter(struct census_block **table, uint32_t *slots, uint32_t *used, uint64_t key)
{
	struct census_block *block;

	if (*used * 2 >= *slots && grow(table, slots))
		return NULL;
	block = slot_of(*table, *slots, key);
	*used += !block->key;
	block->key = key;
	return block;
}

/* ---- comparing the census with live memory ---- */

struct pass {
	struct census *census;
	struct mt_ledger *ledger;
	uint32_t resolved; /* number of rows that were looked up */
	uint32_t steps;    /* number of steps that ended */
	uint64_t budget;
	struct mt_live *live; /* tensors, then driver memory; each sorted by address */
	size_t count, tensors, room;
};

static int gather(void *context, const struct mt_live *live)
{
	struct pass *pass = context;

	if (pass->count < pass->room && (live->kind == MT_TENSOR_ALLOC || live->kind == MT_DRIVER_ALLOC))
		pass->live[pass->count++] = *live;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct mt_live *one = a, *two = b;

	if (one->kind != two->kind)
		return one->kind < two->kind ? -1 : 1;
	return one->addr < two->addr ? -1 : one->addr > two->addr;
}

static int by_stack_and_size(const void *a, const void *b)
{
	const struct mt_live *one = a, *two = b;

	if (one->stack != two->stack)
		return one->stack < two->stack ? -1 : 1;
	return one->size < two->size ? -1 : one->size > two->size;
}

static int by_row_address(const void *a, const void *b)
{
	const struct census_row *one = a, *two = b;

	return one->addr < two->addr ? -1 : one->addr > two->addr;
}

static int by_row_seq(const void *a, const void *b)
{
	const struct census_row *one = a, *two = b;

	return one->seq < two->seq ? -1 : one->seq > two->seq;
}

/* Returns the thing in live[first .. end) that contains the address; NULL: none does. */
static const struct mt_live *covering(const struct pass *pass, size_t first, size_t end, uint64_t addr)
{
	size_t begin = first, middle;

	while (first < end) {
		middle = first + (end - first) / 2;
		if (pass->live[middle].addr <= addr)
			first = middle + 1;
		else
			end = middle;
	}
	if (first == begin || addr - pass->live[first - 1].addr >= pass->live[first - 1].size)
		return NULL;
	return &pass->live[first - 1];
}

/* Sets the category that most of the named bytes have; 0 if less than half of the block's bytes are named. */
static void judge(struct census_block *block)
{
	uint64_t sum = 0, most = 0;
	uint32_t what;

	block->category = 0;
	for (what = 1; what < MT_CENSUS_COUNT; what++) {
		sum += block->named[what];
		if (block->named[what] <= most)
			continue;
		most = block->named[what];
		block->category = categories[what];
	}
	if (sum < block->bytes / 2)
		block->category = 0;
}

/* Names live memory by rows sorted by address. until[kind]: end of the bytes of this kind that have been counted. */
static int name_rows(struct pass *pass, struct census_row *row, uint32_t count)
{
	uint64_t until[MT_CENSUS_COUNT] = { 0 }, end, newest = 0;
	const struct mt_live *live;
	struct census_block *block;
	uint32_t i, what;

	for (i = 0; i < count; i++) {
		what = what_of(row[i].flags);
		live = covering(pass, 0, pass->tensors, row[i].addr);
		if (!live)
			live = covering(pass, pass->tensors, pass->count, row[i].addr);
		if (!live || !row[i].bytes || !live->seq)
			continue;
		row[i].block = live->seq;
		row[i].block_bytes = live->size;
		block = enter(&pass->census->known, &pass->census->known_slots, &pass->census->known_used, live->seq);
		if (!block)
			return -MT_E_MEMORY;
		if (newest != live->seq) /* a later census replaces the earlier one */
			*block = (struct census_block){ .key = live->seq,
							.bytes = live->size,
							.like = census_like(live->stack, live->size),
							.census = row[i].flags >> MT_CENSUS_NUMBER_SHIFT,
							.step = live->step };
		if (newest != live->seq)
			memset(until, 0, sizeof(until));
		newest = live->seq;
		end = row[i].addr + (row[i].bytes < live->size ? row[i].bytes : live->size);
		if (end > until[what]) {
			block->named[what] += end - (row[i].addr > until[what] ? row[i].addr : until[what]);
			until[what] = end;
		}
		judge(block);
	}
	return 0;
}

/* Sets the category of live[first .. end), all of one stack and size. */
static int note_alike(struct pass *pass, size_t first, size_t end)
{
	const struct mt_live *live = &pass->live[first];
	uint64_t named[MT_CATEGORY_COUNT] = { 0 };
	const struct census_block *known;
	struct census_block *block;
	uint8_t most = 0;
	size_t i;

	for (i = first; i < end; i++) {
		known = find(pass->census->known, pass->census->known_slots, pass->live[i].seq);
		if (known && ++named[known->category] > named[most])
			most = known->category;
	}
	if (!most || named[most] * 2 < end - first)
		return 0;
	block = enter(&pass->census->alike, &pass->census->alike_slots, &pass->census->alike_used,
		      census_like(live->stack, live->size));
	if (!block)
		return -MT_E_MEMORY;
	block->category = most;
	return 0;
}

static int note_all_alike(struct pass *pass)
{
	size_t first = 0, end;
	int error = 0;

	qsort(pass->live, pass->tensors, sizeof(*pass->live), by_stack_and_size);
	while (first < pass->tensors && !error) {
		for (end = first + 1; end < pass->tensors && !by_stack_and_size(&pass->live[first], &pass->live[end]);
		     end++)
			;
		if (pass->live[first].stack) /* memory without a stack names no other memory */
			error = note_alike(pass, first, end);
		first = end;
	}
	return error;
}

static int look_at_live(struct pass *pass)
{
	pass->room = mt_ledger_count(pass->ledger);
	pass->count = pass->tensors = 0;
	pass->live = malloc((pass->room + 1) * sizeof(*pass->live));
	if (!pass->live)
		return -MT_E_MEMORY;
	mt_ledger_each(pass->ledger, gather, pass);
	qsort(pass->live, pass->count, sizeof(*pass->live), by_address);
	while (pass->tensors < pass->count && pass->live[pass->tensors].kind == MT_TENSOR_ALLOC)
		pass->tensors++;
	return 0;
}

/* Names the memory that is alive now by the new rows. */
static int resolve(struct pass *pass)
{
	struct census_row *row = &pass->census->row[pass->resolved];
	uint32_t count = pass->census->rows - pass->resolved;
	uint64_t cost = mt_ledger_count(pass->ledger) + count;
	int error;

	pass->resolved = pass->census->rows;
	if (!count || cost > pass->budget)
		return 0;
	pass->budget -= cost;
	error = look_at_live(pass);
	if (error)
		return error;
	qsort(row, count, sizeof(*row), by_row_address);
	error = name_rows(pass, row, count);
	qsort(row, count, sizeof(*row), by_row_seq);
	if (!error)
		error = note_all_alike(pass);
	free(pass->live);
	return error;
}

/* ---- the events ---- */

static int add_row(struct census *census, const struct mt_event *event)
{
	if (census->rows >= ROWS_MAX || !what_of((uint32_t)event->flags))
		return 0;
	if (MT_ARRAY_ROOM(census->row, census->rows, census->room))
		return -MT_E_MEMORY;
	census->row[census->rows++] = (struct census_row){
		.seq = event->seq,
		.time = event->time,
		.addr = event->addr,
		.bytes = event->size,
		.device = (uint32_t)event->device,
		.name = (uint32_t)event->name,
		.text = (uint32_t)event->value,
		.flags = (uint32_t)event->flags,
	};
	return 0;
}

/* Whether a memory event of this kind can free or move memory: all but births, mappings, reservations and notes of the driver. */
static int may_take_away(uint32_t kind)
{
	return kind < MT_RANGE_PUSH && kind != MT_TENSOR_ALLOC && kind != MT_DRIVER_ALLOC && kind != MT_VMM_CREATE &&
	       kind != MT_VMM_MAP && kind != MT_VMM_RESERVE && kind != MT_DRIVER_NOTE;
}

static int take(struct pass *pass, const struct mt_event *event)
{
	struct mt_ledger_change change;
	int error = 0;

	if (event->kind == MT_CENSUS)
		return add_row(pass->census, event);
	pass->steps += event->kind == MT_STEP;
	if (event->kind >= MT_RANGE_PUSH && event->kind != MT_LIVE)
		return 0;
	if (pass->resolved < pass->census->rows && may_take_away(event->kind))
		error = resolve(pass);
	return error ? error : mt_ledger_event(pass->ledger, event, 0, 0, pass->steps, &change);
}

static int read_events(struct pass *pass, struct mt_reader *reader, uint64_t last_seq)
{
	const struct mt_event *events;
	uint64_t seq = 0;
	size_t count, i;
	int checkpoint, error = 0;

	while (!error && seq < last_seq) {
		if (mt_reader_next(reader, &events, &count, &checkpoint) || !count)
			break;
		if (checkpoint == MT_BATCH_REPEAT)
			continue;
		if (checkpoint == MT_BATCH_ANEW && !(error = resolve(pass)))
			mt_ledger_clear(pass->ledger);
		for (i = 0; i < count && !error; i++)
			error = take(pass, &events[i]);
		if (checkpoint == MT_BATCH_EVENTS)
			seq = events[count - 1].seq;
	}
	return error ? error : resolve(pass);
}

/* ---- the vocabulary ---- */

/* Whether the name is of a module that turns tokens into vectors, or vectors into tokens. */
static int is_embedding(const char *module, const char *name)
{
	static const char *const parts[] = { "Embedding", "embed_tokens", "wte", "lm_head" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(parts); i++)
		if (strstr(module, parts[i]) || strstr(name, parts[i]))
			return 1;
	return 0;
}

/* Counts one more matrix with `rows` rows. Returns 0 or -MT_E_MEMORY. */
static int count_matrix(struct census_layer **table, uint32_t *used, uint64_t rows)
{
	struct census_layer *grown;
	uint32_t i;

	for (i = 0; i < *used; i++)
		if ((*table)[i].rows == rows) {
			(*table)[i].count++;
			return 0;
		}
	if (*used >= 256) /* no model has as many shapes: ignore further ones */
		return 0;
	grown = realloc(*table, (*used + 1) * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	*table = grown;
	grown[(*used)++] = (struct census_layer){ rows, 1 };
	return 0;
}

/* Keeps the rows of matrices that exist several times, except the vocabulary and the width of a token's vector. */
static int keep_others(struct census *census, const struct census_layer *table, uint32_t used)
{
	uint32_t i;

	census->other = malloc((used + 1) * sizeof(*census->other));
	if (!census->other)
		return -MT_E_MEMORY;
	for (i = 0; i < used; i++)
		if (table[i].count >= SEVERAL && table[i].rows != census->words[0] && table[i].rows != census->width)
			census->other[census->others++] = table[i];
	return 0;
}

/* Returns the highest census number. Each census names the tensors of all models. */
static uint32_t newest_of(const struct census *census)
{
	uint32_t i, newest = 0;

	for (i = 0; i < census->rows; i++)
		if (census->row[i].flags >> MT_CENSUS_NUMBER_SHIFT > newest)
			newest = census->row[i].flags >> MT_CENSUS_NUMBER_SHIFT;
	return newest;
}

static int find_vocabulary(struct census *census, const struct mt_defs *defs)
{
	uint32_t newest = newest_of(census), i, used = 0;
	uint64_t dims[CENSUS_DIMS_MAX], local[CENSUS_DIMS_MAX];
	struct census_layer *table = NULL;
	struct census_text text;
	int error = 0;

	for (i = 0; i < census->rows && !error; i++) {
		if (what_of(census->row[i].flags) != MT_CENSUS_WEIGHT ||
		    census->row[i].flags >> MT_CENSUS_NUMBER_SHIFT != newest ||
		    !census_parse(&text, mt_defs_string(defs, census->row[i].text)) ||
		    census_dims(dims, text.shape) != 2)
			continue;
		error = count_matrix(&table, &used, dims[0]);
		if (dims[0] < VOCABULARY_MIN || dims[0] <= census->words[0] ||
		    !is_embedding(text.module, mt_defs_string(defs, census->row[i].name)))
			continue;
		census->words[0] = dims[0];
		census->words[1] = census_dims(local, text.local) == 2 && local[0] != dims[0] ? local[0] : 0;
		census->width = dims[1];
	}
	if (!error)
		error = keep_others(census, table, used);
	free(table);
	return error;
}

/* ---- the whole ---- */

/* Returns the largest seq that an event of a census can have; 0: the trace has no census. */
static uint64_t last_seq(const struct mt_reader *reader)
{
	const struct mt_chunk_info *chunk;
	uint64_t last = 0;
	uint32_t count, i;

	chunk = mt_reader_chunks(reader, &count);
	for (i = 0; i < count; i++)
		if (chunk[i].kind == MT_CHUNK_EVENTS && chunk[i].phases & MT_CHUNK_HAS_CENSUS)
			last = chunk[i].last_seq;
	return last;
}

int census_read(struct census *census, struct mt_reader *reader)
{
	struct pass pass = { .census = census, .budget = BUDGET };
	uint64_t last = last_seq(reader);
	int error;

	if (!last)
		return 0;
	pass.ledger = mt_ledger_new(NULL, NULL);
	if (!pass.ledger)
		return -MT_E_MEMORY;
	error = read_events(&pass, reader, last);
	if (!error)
		error = find_vocabulary(census, mt_reader_defs(reader));
	mt_ledger_free(pass.ledger);
	mt_reader_rewind(reader);
	return error;
}

const struct census_block *census_known(const struct census *census, uint64_t seq)
{
	return find(census->known, census->known_slots, seq);
}

const struct census_block *census_alike(const struct census *census, uint64_t stack, uint64_t size)
{
	return stack ? find(census->alike, census->alike_slots, census_like(stack, size)) : NULL;
}

const struct census_block *census_find_alike(const struct census *census, uint64_t like)
{
	return find(census->alike, census->alike_slots, like);
}

uint8_t census_category(const struct census *census, const struct mt_event *event, enum census_certainty *how)
{
	const struct census_block *block = census_known(census, event->seq);

	*how = block ? CENSUS_KNOWN : CENSUS_SILENT;
	if (!block)
		block = census_alike(census, event->stack, event->size);
	if (!block)
		return MT_CATEGORY_OTHER;
	if (*how == CENSUS_SILENT)
		*how = CENSUS_ALIKE;
	return block->category;
}

void census_found(struct census *census, uint64_t seq, uint32_t site)
{
	struct census_block *block = census->known_slots && seq ? slot_of(census->known, census->known_slots, seq)
								: NULL;

	if (block && block->key)
		block->site = site;
}

uint32_t census_site(const struct census *census, uint64_t seq)
{
	const struct census_block *block = census_known(census, seq);

	return block ? block->site : 0;
}

void census_reorder(struct census *census, const uint32_t *number)
{
	uint32_t i;

	for (i = 0; i < census->known_slots; i++)
		census->known[i].site = number[census->known[i].site];
}
