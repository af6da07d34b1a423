/*
 * defs.h - the inside of struct mt_defs for the codec: append without interning, and definition chunks.
 */
#ifndef FORMATS_DEFS_H
#define FORMATS_DEFS_H

#include "base/buffer.h"
#include "base/varint.h"
#include "memtrace/defs.h"

#define MT_DEF_END 11 /* kinds are 1..10 */

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
};

/*
 * Gives the next id to `definition`, equal to another or not; text is copied.
 * -MT_E_CORRUPT: it names an id that is not defined; -MT_E_LIMIT, -MT_E_MEMORY. Nothing is changed then.
 */
int mt_defs_append(struct mt_defs *defs, enum mt_def kind, const union mt_definition *definition);

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
