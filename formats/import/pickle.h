/*
 * pickle.h - reads a Python pickle of plain data: numbers, texts, lists, tuples, dicts. Anything that would make a real
 * unpickler run code (classes, functions, reductions) is refused. The file is hostile until shown otherwise.
 *
 * PyTorch shares what is equal: a stack that a thousand events have is in the file once. So values are a graph, not a
 * tree, and are kept as one:
 *
 *     value 9: list ──items──> 4, 7, 4        value 4: dict ──items──> key 1, value 2, key 3, value 6
 *
 * Values are numbers into one array; containers may hold themselves, so whoever descends bounds the depth.
 * Memory: 16 bytes per value and 4 to 16 per item; texts stay in the file, which is mapped.
 */
#ifndef FORMATS_PICKLE_H
#define FORMATS_PICKLE_H

#include <stddef.h>
#include <stdint.h>

enum pickle_type {
	PICKLE_NONE, /* also what is not there */
	PICKLE_BOOL,
	PICKLE_INT,
	PICKLE_FLOAT,
	PICKLE_TEXT, /* str, and bytes */
	PICKLE_LIST, /* list and tuple */
	PICKLE_DICT,
};

typedef uint32_t pickle_id; /* 0 is None */

struct pickle;

/*
 * Reads `path`. A file that ends early or is damaged further on gives what stands before: *damage is then -MT_E_x and
 * *offset where. Errors (*pickle NULL): -MT_E_SYSTEM, -MT_E_MEMORY, -MT_E_MAGIC (no pickle), -MT_E_VERSION (protocol
 * above 5), -MT_E_REFUSED (holds a class or function: *offset is where), -MT_E_LIMIT.
 */
int pickle_open(struct pickle **pickle, const char *path, int *damage, uint64_t *offset);
void pickle_free(struct pickle *pickle);

/* Values are below this number. */
size_t pickle_values(const struct pickle *pickle);

/* The one value of the file, which STOP left. */
pickle_id pickle_root(const struct pickle *pickle);

enum pickle_type pickle_type(const struct pickle *pickle, pickle_id value);

/* An int or bool as 64 bits (Python's are unbounded: what does not fit is cut); anything else: `missing`. */
int64_t pickle_int(const struct pickle *pickle, pickle_id value, int64_t missing);
double pickle_float(const struct pickle *pickle, pickle_id value, double missing);

/* Bytes of a text, not ended by NUL, valid as long as the pickle. Anything else: "" and *size 0. */
const char *pickle_text(const struct pickle *pickle, pickle_id value, size_t *size);

/* 1: the value is exactly this text. */
int pickle_is(const struct pickle *pickle, pickle_id value, const char *text);

/* Number of items of a list, of pairs of a dict; 0 for anything else. */
uint32_t pickle_count(const struct pickle *pickle, pickle_id value);

/* Item `i` of a list; of a dict the value of pair `i`. Beyond the end: 0. */
pickle_id pickle_item(const struct pickle *pickle, pickle_id value, uint32_t i);
pickle_id pickle_key(const struct pickle *pickle, pickle_id value, uint32_t i); /* the key of pair `i` */

/* All pairs of a dict, key and value by turns, valid as long as the pickle. Anything else has none: *pairs is 0. */
const pickle_id *pickle_pairs(const struct pickle *pickle, pickle_id value, uint32_t *pairs);

/* The value of `key` in a dict, the last one where it is repeated; 0: there is none. */
pickle_id pickle_get(const struct pickle *pickle, pickle_id value, const char *key);

#endif
