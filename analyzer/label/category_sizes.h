/*
 * category_sizes.h - the sizes that a process has allocated, and the sizes of its weights among them. For category*.c.
 *
 * Before the first computation each new size gets a number: sizes of weights, and of other things that a program sets
 * up. Later sizes are only remembered. Memory: at most SIZES_SLOTS slots. Once they are full, or memory is out, a new
 * size is not remembered and has no number.
 */
#ifndef MEMANA_CATEGORY_SIZES_H
#define MEMANA_CATEGORY_SIZES_H

#include <stdint.h>

#define SIZES_SLOTS 8192u  /* a power of two */
#define SIZES_MOST 3072u   /* most used slots; few used slots end a search soon */
#define SIZES_NUMBERS 253u /* numbers are 1 .. 252 */
#define SIZES_LOGITS 253u  /* in place of a number: logits by the census or by the loss */
#define SIZES_ALIKE 254u   /* in place of a number: the framework named allocations that are alike */
#define SIZES_KNOWN 255u   /* in place of a number: the framework named this allocation */
#define SIZES_KEYS 256u    /* numbers, the three above, and 0 */
#define SIZES_SMALLEST 64u /* bytes; smaller sizes get no number */

#define SIZES_LOSSES 16u

struct sizes_slot {
	uint64_t size; /* 0: free */
	uint8_t number;
};

/* Zeroed: no sizes. */
struct category_sizes {
	struct sizes_slot *slot; /* owned; sizes_release frees it */
	uint32_t slots;          /* 0 or a power of two */
	uint32_t used;
	uint32_t numbers;                /* numbers given so far */
	int closed;                      /* something has been computed */
	uint64_t size[SIZES_NUMBERS];    /* by number */
	uint64_t weights[SIZES_NUMBERS]; /* number of tensors of the size that were alive when it closed */
	struct {
		uint64_t size, count;
	} loss[SIZES_LOSSES]; /* the largest sizes of loss functions that rules name */
	uint32_t losses;
	uint32_t changes;    /* grows when the number of a size may have changed, or whether a size is logits */
	uint64_t refused;    /* bytes of the newest tensor that was refused; 0: none */
	uint64_t loss_least; /* least bytes of a loss that counts; 0: there is no loss */
};

void sizes_release(struct category_sizes *sizes);

/* Remembers `size`. Returns the number of the size, 0: none. */
uint8_t sizes_number(struct category_sizes *sizes, uint64_t size);

/* The number of `size`; 0: none, or `size` was never seen. */
uint8_t sizes_find(const struct category_sizes *sizes, uint64_t size);

/* Whether `size` was seen. */
int sizes_seen(const struct category_sizes *sizes, uint64_t size);

/*
 * Whether `bytes` are tokens x vocabulary x bytes of an element. The vocabulary is the number of rows of a weight that
 * exists once or twice (embedding, head). A row is as wide as a vector weight (a norm) or as a square weight, of which
 * there are more. The tokens are the rows of another tensor. Sets figure[3]: tokens, vocabulary, bytes of an element.
 */
int sizes_vocabulary(const struct category_sizes *sizes, uint64_t bytes, uint64_t figure[3]);

/*
 * The same, if the framework has told the vocabulary (`words`) and the width of a token's vector. Only the tokens are
 * guessed, from another tensor. Blocks of a GPU are multiples of 512 bytes.
 */
int sizes_logits(const struct category_sizes *sizes, uint64_t bytes, uint64_t words, uint64_t width,
		 uint64_t figure[3]);

/* Notes an allocation of `size` bytes by a function of the loss, or of the head, that a rule names. */
void sizes_note_loss(struct category_sizes *sizes, uint64_t size);

/* Whether `bytes` could be the logits of a noted loss, by the size alone. */
int sizes_is_of_loss(const struct category_sizes *sizes, uint64_t bytes);

/*
 * Whether `born` allocations of `bytes` are the logits that went into the loss. They have as many elements as the loss,
 * or as nearly as many tokens (without the last of each sequence). There are only a few for each loss, where a layer
 * has dozens. Sets figure[3] as sizes_vocabulary does. If the number of words is unknown, figure[1] is 0 and figure[0]
 * is the bytes of the loss.
 */
int sizes_of_loss(const struct category_sizes *sizes, uint64_t bytes, uint64_t born, uint64_t figure[3]);

/* Whether `bytes` are rows of `rows` elements, one for each vector of `width` elements of another tensor. */
int sizes_of_layer(const struct category_sizes *sizes, uint64_t bytes, uint64_t rows, uint64_t width);

/* As sizes_logits, with the words of a census: all words, or the part on this process. */
struct census;
int census_logits(const struct census *census, const struct category_sizes *sizes, uint64_t bytes, uint64_t figure[3]);

#endif
