/*
 * model.h - what a 7B model consists of: the dimensions of Qwen2.5-7B and its parameters by number. The embedding comes
 * first, then five parameters for each layer, then the output head.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

enum { LAYERS = 28, HIDDEN = 3584, HEADS = 28, KEY_VALUE = 4 * 128, FFN = 18944, VOCABULARY = 152064 };
enum { PER_LAYER = 5, PARAMETERS = 1 + PER_LAYER * LAYERS + 1 };
enum { BF16 = 2, FP32 = 4 }; /* bytes */

static inline uint64_t parameter_elements(int i)
{
	static const uint64_t of_layer[PER_LAYER] = {
		2ull * HIDDEN,                               /* norms */
		(uint64_t)HIDDEN * (HIDDEN + 2 * KEY_VALUE), /* query, key, value */
		(uint64_t)HIDDEN * HIDDEN,                   /* attention output */
		2ull * HIDDEN * FFN,                         /* gate and up */
		(uint64_t)HIDDEN * FFN,                      /* down */
	};

	if (i == 0 || i == PARAMETERS - 1)
		return (uint64_t)VOCABULARY * HIDDEN;
	return of_layer[(i - 1) % PER_LAYER];
}

#endif
