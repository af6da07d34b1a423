/*
 * palette.h - the looks of styles (the colours of layers are in base/colour.h), and the layers of phases, categories,
 * owners and processes.
 *
 * Colours are distinguishable for colour-blind readers (hues of Okabe and Ito's set), and never the only sign: every
 * layer has a letter, too.
 */
#ifndef MEMANA_TUI_PALETTE_H
#define MEMANA_TUI_PALETTE_H

#include <stdint.h>
#include "base/colour.h"
#include "canvas.h"
#include "memtrace/phase.h"
#include "screen/data/series.h"
#include "timeline/model.h"

/* X(NAME, word): the dimensions that colours can show. */
#define PALETTE_BY_LIST(X)      \
	X(PHASE, "phase")       \
	X(CATEGORY, "category") \
	X(OWNER, "owner")       \
	X(PROCESS, "process")

enum palette_by {
#define PALETTE_BY_ENUM(name, word) PALETTE_BY_##name,
	PALETTE_BY_LIST(PALETTE_BY_ENUM)
#undef PALETTE_BY_ENUM
		PALETTE_BY_COUNT
};

#define PALETTE_NAME_MAX 48u /* bytes with NUL; longer names are cut */

extern const char *const palette_by_words[PALETTE_BY_COUNT];

/* -1: the terminal's own. */
struct palette_look {
	int foreground, background; /* from 256 colours, or from 8 */
	int bold, dim, reverse, underline;
};

/*
 * The look of a cell with `colours` colours: 0 (also NO_COLOR), 8 or 256. Text on a layer is dark, on a pale one
 * light.
 */
struct palette_look palette_look(uint8_t style, uint8_t behind, int colours);

/* Cells of no other layer (phase "other", category "other"); always layer 0, and drawn on top. */
#define PALETTE_REST 0

/*
 * Memory that the caching allocator holds and no tensor uses. It has one grey layer in every dimension, above all
 * others. Its next user is unknown. The colour of the segment's first user would point to a phase that is long over.
 */
#define PALETTE_SLACK COLOUR_SLACK
#define PALETTE_SLACK_LETTER '~'

/*
 * The layers of a dimension. Phases and categories have the layer of their number, and look the same in every run.
 * Owners and processes get layers by the most bytes they have held. palette_extend gives unused layers to new ones.
 */
struct palette {
	enum palette_by by;
	uint32_t layers;
	char name[SERIES_LAYERS_MAX][PALETTE_NAME_MAX]; /* "": the layer is free */
	char letter[SERIES_LAYERS_MAX];                 /* differs between layers */
	uint8_t *layer_of; /* by cell; see series_begin. Cells of other devices and hidden ones: SERIES_HIDDEN */
	uint32_t cells, cells_room;
	uint8_t of_key[256]; /* private: layer of a phase, category, owner or process */
	uint32_t used;       /* private: layers in use */
};

/* The cells that count: cells of the device, of visible processes, and of `shown` (see filter.h). */
struct palette_scope {
	uint32_t device;
	uint64_t hidden;      /* bit n: process n; processes from 63 on share the last bit */
	const uint8_t *shown; /* by cell; NULL: all */
	uint32_t shown_cells;
};

/*
 * Computes the layers of all cells of the model's sites, under its lock. A zeroed palette is empty. Returns 0 or
 * -MT_E_MEMORY.
 */
int palette_make(struct palette *palette, const struct model *model, enum palette_by by,
		 const struct palette_scope *scope);

/* Adds new sites. Known cells keep their layers. Returns 0 or -MT_E_MEMORY. */
int palette_extend(struct palette *palette, const struct model *model, const struct palette_scope *scope);
void palette_release(struct palette *palette);

/* The letter of a phase as in the band: MT_PHASE_LIST's. Its layer is its number. */
char palette_phase_letter(uint8_t phase);

/* The bit of a process in palette_scope. */
uint64_t palette_process_bit(uint32_t process);

/* The key of a cell in a dimension: "forward", "kv cache", "libnccl", "rank 3". Into `out`, which is returned. */
const char *palette_cell_name(char out[PALETTE_NAME_MAX], const struct model *model, enum palette_by by, uint32_t cell);

/* "rank 3", "pid 4242" */
const char *palette_process_name(char out[PALETTE_NAME_MAX], const struct model *model, uint32_t process);

#endif
