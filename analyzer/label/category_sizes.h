/*
 * category_sizes.h - which sizes a process has allocated, and which of them are those of its weights. For category*.c.
 *
 * Until something is computed, every size that appears is numbered: weights, and what else a program sets up. Later
 * sizes are only remembered. Memory: SIZES_SLOTS slots at most; sizes that come when they are full, or without memory, are not
 * remembered and have no number.
 */
#ifndef MEMANA_CATEGORY_SIZES_H
#define MEMANA_CATEGORY_SIZES_H

#include <stdint.h>

#define SIZES_SLOTS 8192u  /* a power of two */
#define SIZES_MOST 3072u   /* sizes that are used: a look for one of all the others ends soon */
#define SIZES_NUMBERS 253u /* numbers are 1 .. 252 */
#define SIZES_LOGITS 253u  /* in place of a number: tokens x the vocabulary that the census tells, or as the loss's, */
#define SIZES_ALIKE 254u   /* the framework said what it is of what is alike, */
#define SIZES_KNOWN 255u   /* or of this itself */
#define SIZES_KEYS 256u    /* all of them, and 0 */
#define SIZES_SMALLEST 64u /* bytes; smaller ones are nothing special */

#define SIZES_LOSSES 16u

struct sizes_slot {
	uint64_t size; /* 0: free */
	uint8_t number;
};

/* All zero has no sizes. */
struct category_sizes {
	struct sizes_slot *slot; /* freed by who frees this: sizes_release */
	uint32_t slots;          /* 0 or a power of two */
	uint32_t used;
	uint32_t numbers;                /* given */
	int closed;                      /* something has been computed */
	uint64_t size[SIZES_NUMBERS];    /* by number */
	uint64_t weights[SIZES_NUMBERS]; /* how many of the size were alive when it closed */
	struct {
		uint64_t size, count;
	} loss[SIZES_LOSSES]; /* the largest sizes of loss functions that rules name */
	uint32_t losses;
	uint32_t changes; /* grows where the number of a size, or whether it is one of logits, may have changed since it closed */
	uint64_t refused;    /* the newest tensor that could not be had; 0: none */
	uint64_t loss_least; /* smaller ones are no logits; 0: there is no loss */
};

void sizes_release(struct category_sizes *sizes);

/* Remembers `size`; its number, 0: none. */
uint8_t sizes_number(struct category_sizes *sizes, uint64_t size);

/* The number it has, 0: none, also when it was never seen. */
uint8_t sizes_find(const struct category_sizes *sizes, uint64_t size);

/* Whether it was seen. */
int sizes_seen(const struct category_sizes *sizes, uint64_t size);

/*
 * Is `bytes` tokens x vocabulary x bytes of an element? The vocabulary is the rows of a weight of which there are one
 * or two (embedding, head). Each row is as wide as a vector weight (a norm), or as a square one of which there are
 * more. The tokens are those of another tensor, which has tokens such rows. figure[3]: tokens, vocabulary, bytes of
 * an element.
 */
int sizes_vocabulary(const struct category_sizes *sizes, uint64_t bytes, uint64_t figure[3]);

/*
 * The same if the framework has told the vocabulary and the width of a token's vector. Only the tokens are guessed:
 * they are those of another tensor. Blocks of a GPU are multiples of 512 bytes.
 */
int sizes_logits(const struct category_sizes *sizes, uint64_t bytes, uint64_t words, uint64_t width,
		 uint64_t figure[3]);

/* A function of the loss, or of the head, that a rule names allocated as much. */
void sizes_note_loss(struct category_sizes *sizes, uint64_t size);

/* Whether it could be the logits of one of these, by its size alone. */
int sizes_is_of_loss(const struct category_sizes *sizes, uint64_t bytes);

/*
 * Are `born` allocations of `bytes` the logits that went into the loss? They have as many elements as the loss's own
 * memory, or those of nearly as many tokens (without the last of each sequence). They are no more than a few for each
 * loss: a layer's are dozens. figure[3] as of sizes_vocabulary; figure[1] 0: how many words is not known, figure[0]
 * is how much the loss allocated.
 */
int sizes_of_loss(const struct category_sizes *sizes, uint64_t bytes, uint64_t born, uint64_t figure[3]);

/* Is it as many rows of `rows` elements as there are vectors of `width` such elements in another tensor? */
int sizes_of_layer(const struct category_sizes *sizes, uint64_t bytes, uint64_t rows, uint64_t width);

/* The same by a census: of all words, or of the part of them that is here. */
struct census;
int census_logits(const struct census *census, const struct category_sizes *sizes, uint64_t bytes, uint64_t figure[3]);

#endif
