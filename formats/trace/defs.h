/*
 * defs.h - the inside of struct mt_defs for the codec: append without interning, and definition chunks.
 */
#ifndef FORMATS_DEFS_H
#define FORMATS_DEFS_H

#include "base/buffer.h"
#include "base/varint.h"
#include "memtrace/defs.h"

#define MT_DEF_END 12 /* kinds are 1..11 */

struct mt_text {
	const char *text; /* stored texts end in NUL */
	uint32_t size;
	uint32_t is_name; /* used by events, and by no definition: may be forgotten */
};

/* A definition of any kind. */
union mt_definition {
	struct mt_text string;
	struct mt_module module;
	struct mt_frame frame;
	struct mt_node node;
	struct mt_thread thread;
	struct mt_device device;
	struct mt_symbol symbol;
	struct mt_instance instance;
	struct mt_nest nest;
	struct mt_nested nested;
	struct mt_variant variant;
};

/* A stack in a file: numbers of NODE and VARIANT. */
struct mt_stack_told {
	uint32_t node;    /* 0: no stack */
	uint32_t variant; /* 0: the node itself */
};

/*
 * Appends a definition with the next id, even if an equal one exists. Text is copied. 0; or an error that changes
 * nothing: -MT_E_CORRUPT (an id inside is not defined), -MT_E_LIMIT, -MT_E_MEMORY.
 */
int mt_defs_append(struct mt_defs *defs, enum mt_def kind, const union mt_definition *definition);

/* The number of definitions in a file: mt_defs_count; for nodes, without variants. */
uint32_t mt_defs_told(const struct mt_defs *defs, enum mt_def kind);

/* Converts a node id to the numbers in a file, and back. Unknown stack: {0, 0} and 0. */
struct mt_stack_told mt_defs_stack_told(const struct mt_defs *defs, uint32_t id);
uint32_t mt_defs_stack_of(const struct mt_defs *defs, struct mt_stack_told told);

/* The id of a NODE or VARIANT by its number; 0: none. */
uint32_t mt_defs_id_told(const struct mt_defs *defs, enum mt_def kind, uint32_t number);

/* A variant by its number; all 0: none. */
struct mt_variant mt_defs_variant(const struct mt_defs *defs, uint32_t number);

/* Interns the name of an event. Most names come once, so names of events alone may be forgotten (keep.h). */
uint32_t mt_defs_add_name(struct mt_defs *defs, const char *text, size_t size);

/* After reading a file: marks each string without a definition as a name of events. */
void mt_defs_guess_names(struct mt_defs *defs);

/*
 * Replaces unwanted names by "". `wanted` has one byte for each id below `count`; all other ids are wanted. A forgotten
 * name gets a new id when it comes again. Pointers to texts from before are invalid.
 */
void mt_defs_forget_names(struct mt_defs *defs, const uint8_t *wanted, uint32_t count);

/* 1: mt_defs_forget_names would forget this string. */
int mt_defs_is_spare(const struct mt_defs *defs, uint32_t id, const uint8_t *wanted, uint32_t count);

/*
 * Makes a DEFS payload of the definitions after done[kind], up to the size of a chunk, and advances done[]. 1:
 * `payload` has definitions, call again; 0: none is left. Out of memory shows in payload->error. `wanted` as in
 * mt_defs_forget_names; NULL: all strings.
 */
int mt_defs_encode(const struct mt_defs *defs, uint32_t done[MT_DEF_END], const uint8_t *wanted, uint32_t count,
		   struct mt_buffer *payload);

/*
 * Appends the definitions of a DEFS payload; the cursor stands behind the chunk kind. 0, -MT_E_CORRUPT, -MT_E_LIMIT,
 * -MT_E_MEMORY: definitions before the error stay.
 */
int mt_defs_decode(struct mt_defs *defs, struct mt_cursor *payload);

#endif
