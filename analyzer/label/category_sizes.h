/*
 * category_sizes.h - the sizes that a process has allocated, and among them the sizes of its weights. For category*.c.
 *
 * Each new size before the first computation gets a number: sizes of weights, and of other things that a program sets up. Later sizes are remembered
 * without a number. Memory: at most SIZES_SLOTS slots. If they are full, or if memory runs out, a new size is not remembered.
 */
#ifndef MEMANA_CATEGORY_SIZES_H
#define MEMANA_CATEGORY_SIZES_H

#include <stdint.h>

#define SIZES_SLOTS 8192u  /* a power of two */
#define SIZES_MOST 3072u   /* largest number of used slots: with more, searches take longer */
#define SIZES_NUMBERS 253u /* numbers are 1 to 252 */
#define SIZES_LOGITS 253u  /* instead of a number: logits by the census or by the loss */
#define SIZES_ALIKE 254u   /* instead of a number: the framework named allocations that are alike */
#define SIZES_KNOWN 255u   /* instead of a number: the framework named this allocation */
#define SIZES_KEYS 256u    /* all numbers, the three above, and 0 */
#define SIZES_SMALLEST 64u /* bytes: a smaller size gets no number */

#define SIZES_LOSSES 16u

struct sizes_slot {
	uint64_t size; /* 0: the slot is free */
	uint8_t number;
};

/* The sizes of a process. All zero: no sizes. */
struct category_sizes {
	struct sizes_slot *slot; /* owned; sizes_release frees it */
	uint32_t slots;          /* 0 or a power of two */
	uint32_t used;
	uint32_t numbers;                /* largest number given so far */
	int closed;                      /* 1: the first computation has begun */
	uint64_t size[SIZES_NUMBERS];    /* size of each number */
	uint64_t weights[SIZES_NUMBERS]; /* tensors of this size that were alive at the first computation */
	struct {
		uint64_t size, count;
	} loss[SIZES_LOSSES]; /* the largest sizes from functions of the loss */
	uint32_t losses;
	uint32_t changes;    /* rises when a size may have another number, or may have become logits */
	uint64_t refused;    /* bytes of the newest tensor that was refused; 0: none */
	uint64_t loss_least; /* least bytes of a loss that counts; 0: no loss */
	uint32_t tried;      /* tables of inexact size that this settling tried; categories_settle begins at 0 */
};

void sizes_release(struct category_sizes *sizes);

/* Remembers `size`. Returns the number of the size, 0: none. */
uint8_t sizes_number(struct category_sizes *sizes, uint64_t size);

/* Counts a tensor whose size has the number, or is in this class, among the weights, up to the first computation. */
static inline void sizes_count(struct category_sizes *sizes, uint8_t number)
{
	if (!sizes->closed && number && number < SIZES_NUMBERS)
		sizes->weights[number]++;
}

/* Returns the number of `size`; 0: it has no number, or was never seen. */
uint8_t sizes_find(const struct category_sizes *sizes, uint64_t size);

/* Whether `size` was seen. */
int sizes_seen(const struct category_sizes *sizes, uint64_t size);

/*
 * Whether `bytes` are tokens x vocabulary x bytes of an element. The vocabulary is the rows of a weight that exists once or twice (embedding, head).
 * Its row is as wide as a vector (a norm) or a square weight, of which there are more. The tokens are the rows of another tensor. Sets figure[3]:
 * tokens, vocabulary, bytes of an element.
 */
int sizes_vocabulary(struct category_sizes *sizes, uint64_t bytes, uint64_t figure[3]);

/*
 * As sizes_vocabulary, with the vocabulary (`words`) and the width of a token's vector from the framework: only the tokens are guessed, from another
 * tensor. Blocks of a GPU are multiples of 512 bytes.
 */
int sizes_logits(const struct category_sizes *sizes, uint64_t bytes, uint64_t words, uint64_t width,
		 uint64_t figure[3]);

/* Notes an allocation of `size` bytes by a function that a rule assigns to the loss or the head. */
void sizes_note_loss(struct category_sizes *sizes, uint64_t size);

/* Whether `bytes` alone could be the logits of a noted loss. */
int sizes_is_of_loss(const struct category_sizes *sizes, uint64_t bytes);

/*
 * Whether `born` allocations of `bytes` are the logits that the loss was computed from. They have as many elements as the loss, or a few tokens more
 * (the last of each sequence), and are few for each loss; a layer has dozens. Sets figure[3] as sizes_vocabulary does; with an unknown number of
 * words, figure[1] is 0 and figure[0] is the bytes of the loss.
 */
int sizes_of_loss(struct category_sizes *sizes, uint64_t bytes, uint64_t born, uint64_t figure[3]);

/* Whether `bytes` are rows of `rows` elements, as many as another tensor has vectors of `width` elements. */
int sizes_of_layer(const struct category_sizes *sizes, uint64_t bytes, uint64_t rows, uint64_t width);

/* As sizes_logits, with the words of a census: all words, or those on this process. */
struct census;
int census_logits(const struct census *census, const struct category_sizes *sizes, uint64_t bytes, uint64_t figure[3]);

#endif
