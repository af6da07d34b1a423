/*
 * pickle.h - reads a Python pickle of plain data: numbers, texts, lists, tuples, dicts.
 *
 * The file may be hostile. A pickle that makes an unpickler run code (classes, functions, reductions) is refused. Values are a graph and not a tree:
 * PyTorch writes equal values once, such as a stack of a thousand events:
 *
 *     value 9: list ──items──> 4, 7, 4
 *     value 4: dict ──items──> key 1, value 2, key 3, value 6
 *
 * A value is an index into one array. A container can contain itself: a caller that descends must bound the depth. Memory: 16 bytes for each value,
 * and 4 to 16 bytes for each item. Texts stay in the mapped file.
 */
#ifndef FORMATS_PICKLE_H
#define FORMATS_PICKLE_H

#include <stddef.h>
#include <stdint.h>

enum pickle_type {
	PICKLE_NONE, /* also for missing values */
	PICKLE_BOOL,
	PICKLE_INT,
	PICKLE_FLOAT,
	PICKLE_TEXT, /* str and bytes */
	PICKLE_LIST, /* list and tuple */
	PICKLE_DICT,
};

typedef uint32_t pickle_id; /* index of the value; 0: None */

struct pickle;

/*
 * Opens and reads `path`. If the file is damaged, the part before the damage is read: *damage is -MT_E_x and *offset is its place. Errors, with
 * *pickle NULL: -MT_E_SYSTEM, -MT_E_MEMORY, -MT_E_MAGIC (no pickle), -MT_E_VERSION (protocol above 5), -MT_E_REFUSED (a class or function, at
 * *offset), -MT_E_LIMIT. The caller frees *pickle with pickle_free.
 */
int pickle_open(struct pickle **pickle, const char *path, int *damage, uint64_t *offset);
void pickle_free(struct pickle *pickle);

/* Returns the bytes of the file. A walk that visits each item of each container once has fewer steps. */
uint64_t pickle_bytes(const struct pickle *pickle);

/* Returns the number of values. Each pickle_id is smaller. */
size_t pickle_values(const struct pickle *pickle);

/* Returns the root: the top of the stack at STOP. */
pickle_id pickle_root(const struct pickle *pickle);

enum pickle_type pickle_type(const struct pickle *pickle, pickle_id value);

/* Returns an int or bool as 64 bits; a larger int of Python is cut. Returns `missing` for any other type. */
int64_t pickle_int(const struct pickle *pickle, pickle_id value, int64_t missing);

/* Returns the bytes of a text. They do not end with NUL, and are valid as long as the pickle. For any other type: "" and *size 0. */
const char *pickle_text(const struct pickle *pickle, pickle_id value, size_t *size);

/* Whether the value is exactly this text. */
int pickle_is(const struct pickle *pickle, pickle_id value, const char *text);

/* Returns the number of items of a list, or of pairs of a dict; 0 for any other type. */
uint32_t pickle_count(const struct pickle *pickle, pickle_id value);

/* Returns item `i` of a list, or the value of pair `i` of a dict; 0 after the end. */
pickle_id pickle_item(const struct pickle *pickle, pickle_id value, uint32_t i);
pickle_id pickle_key(const struct pickle *pickle, pickle_id value, uint32_t i); /* the key of pair `i` */

/* Returns all pairs of a dict, alternately key and value, valid until pickle_free. For any other type, *pairs is 0. */
const pickle_id *pickle_pairs(const struct pickle *pickle, pickle_id value, uint32_t *pairs);

/* Returns the value of `key` in a dict; the last one of repeated keys counts. 0: the dict does not have the key. */
pickle_id pickle_get(const struct pickle *pickle, pickle_id value, const char *key);

#endif
