/*
 * torch_pickle.h - a pickle, protocol 4, written front to back. Only opcodes that PyTorch's viewer knows (MemoryViz.js).
 *
 * The caller numbers what he will refer to. Items of a list go in batches: the viewer spreads each batch on its stack.
 */
#ifndef MEMANA_TORCH_PICKLE_H
#define MEMANA_TORCH_PICKLE_H

#include <stddef.h>
#include <stdint.h>
#include "export/export_out.h"

#define PICKLE_BATCH 1000u /* items */

void torch_write_begin(struct export_out *out);
void torch_write_end(struct export_out *out);

void torch_write_int(struct export_out *out, int64_t value);
void torch_write_text(struct export_out *out, const char *text); /* bytes that are not UTF-8 become '?' */
void torch_write_bool(struct export_out *out, int value);
void torch_write_pair(struct export_out *out, int64_t one, int64_t two); /* a tuple */

/* The newest value is `number` from here on; and again that value. */
void torch_write_put(struct export_out *out, uint32_t number);
void torch_write_get(struct export_out *out, uint32_t number);

/* {: key, value, key, value ... */
void torch_write_dict(struct export_out *out);
void torch_write_dict_end(struct export_out *out);

/* [: item, item ... torch_write_item before each item; `items`, from 0, counts them. */
void torch_write_list(struct export_out *out);
void torch_write_item(struct export_out *out, uint32_t *items);
void torch_write_list_end(struct export_out *out);

#endif
