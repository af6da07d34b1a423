#include "category_sizes.h"

#include <stdlib.h>
#include <string.h>
#include "census.h"
#include "memtrace/base.h"
#include "memtrace/error.h"

#define VOCABULARY_MIN 1000u /* number of words */
#define TOKENS_MIN 16u
#define SQUARE_ROW_MIN 1024u   /* bytes */
#define TOKEN_BYTES 8u         /* bytes of a token's number */
#define BLOCK 512u             /* bytes: PyTorch allocates multiples of this on a GPU */
#define LOSS_MIN (1u << 16)    /* bytes: smaller allocations of a loss do not count */
#define LOSS_RANGE 16u         /* factor: a loss this many times smaller than the largest one is a mask or a row */
#define LOGITS_MAX 2u          /* tensors of logits at one place for one loss, at most */
#define TABLES_MOST 8u         /* embeddings and heads of one size: of four models, at most */
#define VECTORS_MIN 8u         /* vectors of the width for each table, if there are several models */
#define SPARE (1u << 20)       /* bytes: PyTorch splits off no smaller rest of a segment */
#define SPARE_ROW (1u << 18)   /* bytes: 131,072 words of 16 bits; with fewer, chance finds some number of tokens */
#define SPARE_FROM (64u << 20) /* bytes: smaller tensors are not compared with tables of inexact size */
#define TRIED_MOST (1u << 24)  /* tables of inexact size that a process tries: about a second */
#define WIDTHS_MIN 3u          /* least number of weights of a size, if the size depends on the model's width */

/* Sizes of a row of the embedding. */
struct width {
	uint64_t row;     /* bytes of the row */
	uint64_t element; /* bytes of an element, 0: unknown */
};

#define SLOTS_FIRST 64u

/* Returns the slot of `size`, or the free slot for it. `sizes->slots` must not be 0. */
static struct sizes_slot *slot_of(const struct category_sizes *sizes, uint64_t size)
{
	uint32_t at = (uint32_t)(size * 0x9e3779b97f4a7c15ull >> 48) & (sizes->slots - 1);

	while (sizes->slot[at].size && sizes->slot[at].size != size)
		at = (at + 1) & (sizes->slots - 1);
	return &sizes->slot[at];
}

/* Makes room for one more size. Returns 0 or -MT_E_MEMORY. Starts small: a run of many processes has few sizes in most of them. */
static int make_room(struct category_sizes *sizes)
{
	struct category_sizes larger = { .slots = sizes->slots ? 2 * sizes->slots : SLOTS_FIRST };
	uint32_t i;

	if (sizes->used < sizes->slots / 8 * 3)
		return 0;
	larger.slot = calloc(larger.slots, sizeof(*larger.slot));
	if (!larger.slot)
		return -MT_E_MEMORY;
	for (i = 0; i < sizes->slots; i++)
		if (sizes->slot[i].size)
			*slot_of(&larger, sizes->slot[i].size) = sizes->slot[i];
	free(sizes->slot);
	sizes->slot = larger.slot;
	sizes->slots = larger.slots;
	return 0;
}

void sizes_release(struct category_sizes *sizes)
{
	free(sizes->slot);
}

uint8_t sizes_number(struct category_sizes *sizes, uint64_t size)
{
	struct sizes_slot *slot = sizes->slots ? slot_of(sizes, size) : NULL;

	if (!size)
		return 0;
	if (!slot || slot->size != size) {
		if (sizes->used >= SIZES_MOST || make_room(sizes))
			return 0;
		sizes->used++;
		sizes->changes++;
		slot = slot_of(sizes, size);
		slot->size = size;
	}
	if (!sizes->closed && !slot->number && size >= SIZES_SMALLEST && sizes->numbers + 1 < SIZES_NUMBERS) {
		slot->number = (uint8_t)++sizes->numbers;
		sizes->size[sizes->numbers] = size;
	}
	return slot->number;
}

uint8_t sizes_find(const struct category_sizes *sizes, uint64_t size)
{
	return sizes->slots ? slot_of(sizes, size)->number : 0;
}

int sizes_seen(const struct category_sizes *sizes, uint64_t size)
{
	return size && sizes->slots && slot_of(sizes, size)->size == size;
}

/*
 * Whether some tensor has one row for each token. `row` is the bytes of a token's vector in the weights' type. This type may be unknown. With 4-byte
 * weights, 2-byte tensors have half the row, and can lead to 4-byte logits. 2-byte logits need a known type: a layer of half the width makes 4-byte
 * tensors of the same size.
 */
static int fits(const struct category_sizes *sizes, uint64_t bytes, uint64_t words, const struct width *width,
		uint64_t figure[3])
{
	const struct {
		uint64_t element, row;
	} ways[] = { { 4, width->row },
		     { 4, width->element == 4 ? width->row / 2 : 0 },
		     { 2, width->element == 2 ? width->row : 0 },
		     { 2, width->element == 4 ? width->row / 2 : 0 } };
	uint64_t tokens;
	size_t i;

	if (bytes % words)
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(ways); i++) {
		tokens = bytes / words / ways[i].element;
		if (bytes / words % ways[i].element || tokens < TOKENS_MIN || tokens > UINT32_MAX ||
		    !sizes_seen(sizes, tokens * ways[i].row))
			continue;
		figure[0] = tokens;
		figure[1] = words;
		figure[2] = ways[i].element;
		return 1;
	}
	return 0;
}

/* Returns the bytes of a row if `bytes` are a square matrix with elements of `element` bytes; else 0. */
static uint64_t row_of_square(uint64_t bytes, uint64_t element)
{
	uint64_t rows = 0, bit;

	for (bit = 1ull << 24; bit; bit >>= 1)
		if ((rows | bit) * (rows | bit) <= bytes / element)
			rows |= bit;
	return rows * rows * element == bytes ? rows * element : 0;
}

/*
 * Whether the bytes fit a vocabulary. `table` is the bytes of the embedding or the head, with more rows than elements in a row (of 4 bytes, if
 * unknown). A square table belongs to a layer: actor and critic have two, with biases, and their outputs have the size of logits.
 */
static int fits_width(const struct category_sizes *sizes, uint64_t bytes, uint64_t table, uint64_t row,
		      uint64_t element, uint64_t figure[3])
{
	struct width width = { .row = row, .element = element };

	return row >= SIZES_SMALLEST && table % row == 0 && table / row >= VOCABULARY_MIN &&
	       table / row > row / (element ? element : 4) && fits(sizes, bytes, table / row, &width, figure);
}

/*
 * Returns the row of a square weight, or 0. The row gives the size of an element. Some sizes are square by chance: a weight also has vectors of its
 * width, or of twice the width (two norms in one).
 */
static uint64_t square_row(const struct category_sizes *sizes, uint32_t number, uint64_t element)
{
	uint64_t row = row_of_square(sizes->size[number], element);

	if (row < SQUARE_ROW_MIN || (sizes->weights[sizes_find(sizes, row)] < WIDTHS_MIN &&
				     sizes->weights[sizes_find(sizes, 2 * row)] < WIDTHS_MIN))
		return 0;
	return row;
}

/* Whether a tensor of the size exists, exactly or rounded up to a block. */
static int seen_rounded(const struct category_sizes *sizes, uint64_t bytes)
{
	return sizes_seen(sizes, bytes) || sizes_seen(sizes, (bytes + BLOCK - 1) / BLOCK * BLOCK);
}

struct fit {
	int sure; /* 2: fits, and a tensor of 8 bytes for each token exists; 1: fits; 0: does not fit */
	uint64_t figure[3];
};

/* A model has one or two tables. More are of several models, such as policy and reference, if vectors of the width are many times as many. */
static int is_rare(const struct category_sizes *sizes, uint32_t table, uint64_t row)
{
	uint64_t tables = sizes->weights[table];

	return tables <= 2 || (tables <= TABLES_MOST && sizes->weights[sizes_find(sizes, row)] >= tables * VECTORS_MIN);
}

/* Bytes by which a table can be smaller than its block: PyTorch takes whole segments for 10 MiB and more, and splits off no rest up to 1 MiB. */
static uint64_t spare_of(uint64_t table, uint64_t bytes, uint64_t row)
{
	return table >= 10u << 20 && table % (2u << 20) == 0 && bytes >= SPARE_FROM && row >= SQUARE_ROW_MIN ? SPARE
													     : 0;
}

static void try_width(struct category_sizes *sizes, uint64_t bytes, uint32_t table, uint64_t row, uint64_t element,
		      struct fit *best)
{
	struct fit fit = { 0 };
	uint64_t size = sizes->size[table], spare = spare_of(size, bytes, row), over;

	if (!row || best->sure > 1 || !is_rare(sizes, table, row))
		return;
	/* Many tables, widths and sites of a made trace must not take minutes. */
	if (sizes->tried >= TRIED_MOST)
		spare = 0;
	for (over = spare ? size % row : 0; over <= spare; over += row) {
		sizes->tried += spare != 0;
		if (!fits_width(sizes, bytes, size - over, row, element, fit.figure))
			continue;
		fit.sure = seen_rounded(sizes, fit.figure[0] * TOKEN_BYTES) ? 2 : 1;
		if (fit.sure > best->sure && (!over || fit.sure > 1))
			*best = fit;
	}
}

/* Takes the surest of several widths that fit: a weight can look like a square of wider elements, with half the width and twice the tokens. */
static int fits_table(struct category_sizes *sizes, uint64_t bytes, uint32_t table, uint64_t figure[3])
{
	struct fit best = { 0 };
	uint32_t i;

	for (i = 1; i <= sizes->numbers; i++)
		if (sizes->weights[i] >= WIDTHS_MIN) {
			try_width(sizes, bytes, table, square_row(sizes, i, 2), 2, &best);
			try_width(sizes, bytes, table, square_row(sizes, i, 4), 4, &best);
		}
	for (i = 1; i <= sizes->numbers; i++)
		if (sizes->weights[i] >= WIDTHS_MIN)
			try_width(sizes, bytes, table, sizes->size[i], 0, &best);
	if (best.sure)
		memcpy(figure, best.figure, sizeof(best.figure));
	return best.sure != 0;
}

/* Whether a block can have `rest` bytes after its tensor. More than BLOCK of these are in blocks of spare_of alone, and need long rows. */
static int is_rest(uint64_t bytes, uint64_t row, uint64_t rest)
{
	if (rest < BLOCK)
		return !rest || bytes % BLOCK == 0;
	return rest <= SPARE && row >= SPARE_ROW && bytes >= SPARE_FROM && bytes % (2 * SPARE) == 0;
}

int sizes_logits(const struct category_sizes *sizes, uint64_t bytes, uint64_t words, uint64_t width, uint64_t figure[3])
{
	static const uint64_t elements[] = { 4, 2 };
	uint64_t row, rest, tokens;
	size_t i;

	if (!words || !width || words > UINT32_MAX || width > UINT32_MAX)
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(elements); i++) {
		row = words * elements[i];
		rest = bytes % row;
		for (tokens = bytes / row; tokens >= TOKENS_MIN && is_rest(bytes, row, rest); tokens--, rest += row) {
			if (tokens > UINT32_MAX || (rest >= BLOCK && !seen_rounded(sizes, tokens * TOKEN_BYTES)))
				continue;
			if (!seen_rounded(sizes, tokens * width * 4) && !seen_rounded(sizes, tokens * width * 2))
				continue;
			figure[0] = tokens;
			figure[1] = words;
			figure[2] = elements[i];
			return 1;
		}
	}
	return 0;
}

int sizes_of_layer(const struct category_sizes *sizes, uint64_t bytes, uint64_t rows, uint64_t width)
{
	static const uint64_t elements[] = { 4, 2 };
	uint64_t row, tokens;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(elements) && rows && rows <= UINT32_MAX && width <= UINT32_MAX; i++) {
		row = rows * elements[i];
		tokens = bytes / row;
		if (tokens >= TOKENS_MIN && tokens <= UINT32_MAX && bytes % row < BLOCK &&
		    (bytes % row == 0 || bytes % BLOCK == 0) && seen_rounded(sizes, tokens * width * elements[i]))
			return 1;
	}
	return 0;
}

int census_logits(const struct census *census, const struct category_sizes *sizes, uint64_t bytes, uint64_t figure[3])
{
	return sizes_logits(sizes, bytes, census->words[0], census->width, figure) ||
	       sizes_logits(sizes, bytes, census->words[1], census->width, figure);
}

int sizes_vocabulary(struct category_sizes *sizes, uint64_t bytes, uint64_t figure[3])
{
	uint32_t i;

	for (i = 1; i <= sizes->numbers; i++)
		if (sizes->weights[i] && sizes->weights[i] <= TABLES_MOST && fits_table(sizes, bytes, i, figure))
			return 1;
	return 0;
}

/* ---- by the loss ---- */

void sizes_note_loss(struct category_sizes *sizes, uint64_t size)
{
	uint32_t i, smallest = 0;

	for (i = 0; i < sizes->losses && sizes->loss[i].size != size; i++)
		if (sizes->loss[i].size < sizes->loss[smallest].size)
			smallest = i;
	if (i == sizes->losses) {
		if (size < LOSS_MIN || (i == SIZES_LOSSES && size < sizes->loss[smallest].size))
			return;
		if (i == SIZES_LOSSES)
			i = smallest;
		else
			sizes->losses++;
		sizes->loss[i].size = size;
		sizes->loss[i].count = 0;
		sizes->changes++;
		if (size / LOSS_RANGE > sizes->loss_least)
			sizes->loss_least = size / LOSS_RANGE;
	}
	sizes->loss[i].count++;
}

static uint64_t common(uint64_t a, uint64_t b)
{
	uint64_t rest;

	for (; b; b = rest) {
		rest = a % b;
		a = b;
	}
	return a;
}

/* Whether the sizes have as many elements, of 4 or 2 bytes each; or a few tokens more, with the same number of words. */
static int is_as_large(uint64_t bytes, uint64_t loss)
{
	if (bytes == loss || bytes == loss * 2 || bytes * 2 == loss)
		return 1;
	return bytes > loss && bytes - loss <= loss / 8 && common(bytes, loss) >= VOCABULARY_MIN * 4;
}

int sizes_is_of_loss(const struct category_sizes *sizes, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < sizes->losses; i++)
		if (sizes->loss[i].size >= sizes->loss_least && is_as_large(bytes, sizes->loss[i].size))
			return 1;
	return 0;
}

/* Whether the loss has this number of words: it was computed from these logits, or from a part of them. */
static int is_of_its_words(struct category_sizes *sizes, uint64_t bytes, uint64_t loss, uint64_t words)
{
	uint64_t figure[3];

	if (bytes >= loss / 2 && loss % (words * 2) == 0)
		return 1;
	return sizes_vocabulary(sizes, loss, figure) && figure[1] == words;
}

int sizes_of_loss(struct category_sizes *sizes, uint64_t bytes, uint64_t born, uint64_t figure[3])
{
	int has_words = sizes_vocabulary(sizes, bytes, figure);
	uint32_t i, losses = 0;

	for (i = 0; i < sizes->losses; i++)
		losses += (uint32_t)sizes->loss[i].count;
	for (i = 0; i < sizes->losses && born <= losses * LOGITS_MAX; i++) {
		if (sizes->loss[i].size < sizes->loss_least)
			continue;
		if (has_words && is_of_its_words(sizes, bytes, sizes->loss[i].size, figure[1]))
			return 1;
		if (born > sizes->loss[i].count * LOGITS_MAX || !is_as_large(bytes, sizes->loss[i].size))
			continue;
		if (has_words)
			return 1;
		figure[0] = sizes->loss[i].size;
		figure[1] = figure[2] = 0;
		return 1;
	}
	return 0;
}
