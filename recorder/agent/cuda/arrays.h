/* arrays.h - how many bytes an array takes, from what the program asks for. */
#ifndef RECORDER_ARRAYS_H
#define RECORDER_ARRAYS_H

#include <stdint.h>
#include "cuda_abi.h"

/*
 * Elements times their size, over `levels` mip levels (at least 1). The driver's own padding is not in it. 0: sparse
 * arrays and those to be mapped later, which take no memory, and formats that are not known.
 */
uint64_t arrays_bytes(const struct cuda_array3d_desc *desc, unsigned int levels);

#endif
