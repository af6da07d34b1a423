/*
 * torch_pickle.h - writes a pickle of protocol 4 from front to back, with opcodes that PyTorch's viewer knows
 * (MemoryViz.js).
 *
 * The caller gives a number to each value that it refers to later. The items of a list are written in batches, because
 * the viewer puts a whole batch on its stack.
 */
#ifndef MEMANA_TORCH_PICKLE_H
#define MEMANA_TORCH_PICKLE_H

#include <stddef.h>
#include <stdint.h>
#include "export/export_out.h"

#define PICKLE_BATCH 1000u /* number of items in a batch */

void torch_write_begin(struct export_out *out);
void torch_write_end(struct export_out *out);

void torch_write_int(struct export_out *out, int64_t value);
void torch_write_text(struct export_out *out, const char *text); /* bytes that are not UTF-8 become '?' */
void torch_write_bool(struct export_out *out, int value);
void torch_write_pair(struct export_out *out, int64_t one, int64_t two); /* a tuple */

/* Put: gives `number` to the newest value. Get: writes a reference to the value with this number. */
void torch_write_put(struct export_out *out, uint32_t number);
void torch_write_get(struct export_out *out, uint32_t number);

/* Begins and ends a dict: between them, the caller writes key, value, key, value. */
void torch_write_dict(struct export_out *out);
void torch_write_dict_end(struct export_out *out);

/* Begins and ends a list. The caller calls torch_write_item before each item; *items counts them, from 0. */
void torch_write_list(struct export_out *out);
void torch_write_item(struct export_out *out, uint32_t *items);
void torch_write_list_end(struct export_out *out);

#endif
