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
	const char *text; /* stored ones end in NUL */
	uint32_t size;
	uint32_t is_name; /* used by events, and by no definition: may be forgotten */
};

/* One definition of whatever kind. */
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

/* A stack as a file tells it: numbers of NODE and of VARIANT. */
struct mt_stack_told {
	uint32_t node;    /* 0: no stack */
	uint32_t variant; /* 0: the node itself */
};

/*
 * Gives the next id to `definition`, equal to another or not; text is copied.
 * -MT_E_CORRUPT: it names an id that is not defined; -MT_E_LIMIT, -MT_E_MEMORY. Nothing is changed then.
 */
int mt_defs_append(struct mt_defs *defs, enum mt_def kind, const union mt_definition *definition);

/* How many of the kind a file has: mt_defs_count, but for nodes without variants. */
uint32_t mt_defs_told(const struct mt_defs *defs, enum mt_def kind);

/* From the id of a node to what a file tells of it, and back; 0 and {0, 0}: there is no such stack. */
struct mt_stack_told mt_defs_stack_told(const struct mt_defs *defs, uint32_t id);
uint32_t mt_defs_stack_of(const struct mt_defs *defs, struct mt_stack_told told);

/* The id of a NODE or VARIANT by its number; 0: there is none. */
uint32_t mt_defs_id_told(const struct mt_defs *defs, enum mt_def kind, uint32_t number);

/* A variant by its number; all 0: there is none. */
struct mt_variant mt_defs_variant(const struct mt_defs *defs, uint32_t number);

/*
 * Interns the name of an event. Most come once, so those that only events have may be forgotten: see keep.h.
 */
uint32_t mt_defs_add_name(struct mt_defs *defs, const char *text, size_t size);

/* Every string that no definition has is the name of events: for a file that was read. */
void mt_defs_guess_names(struct mt_defs *defs);

/*
 * Names that are not wanted (one byte for each id below `count`; all others are) become "" and are interned under
 * another id when they come again. Texts that were handed out before are gone.
 */
void mt_defs_forget_names(struct mt_defs *defs, const uint8_t *wanted, uint32_t count);

/* Is this string one that forgetting would forget? */
int mt_defs_is_spare(const struct mt_defs *defs, uint32_t id, const uint8_t *wanted, uint32_t count);

/*
 * Makes a DEFS payload of what was defined after done[kind] and moves done[] on; as much as fits well into one chunk.
 * 1: `payload` holds something (ask again), 0: nothing was left. Out of memory shows in payload->error.
 * `wanted` as in mt_defs_forget_names, NULL: all strings are.
 */
int mt_defs_encode(const struct mt_defs *defs, uint32_t done[MT_DEF_END], const uint8_t *wanted, uint32_t count,
		   struct mt_buffer *payload);

/*
 * Appends the definitions of a DEFS payload; the cursor stands after the chunk kind.
 * 0, -MT_E_CORRUPT, -MT_E_LIMIT, -MT_E_MEMORY: those before the bad one stay.
 */
int mt_defs_decode(struct mt_defs *defs, struct mt_cursor *payload);

#endif
