#include "palette.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "memtrace/phase.h"

const char *const palette_by_words[PALETTE_BY_COUNT] = {
#define PALETTE_BY_WORD(name, word) word,
	PALETTE_BY_LIST(PALETTE_BY_WORD)
#undef PALETTE_BY_WORD
};

/* ---- looks ---- */

/* The looks of the styles that are no layers; colours of 256 and of 8. */
static const struct style_look {
	int foreground, background, of_8;
	int bold, dim, reverse;
} style_looks[STYLE_COUNT] = {
	[STYLE_PLAIN] = { -1, -1, -1, 0, 0, 0 }, [STYLE_BOLD] = { -1, -1, -1, 1, 0, 0 },
	[STYLE_DIM] = { 244, -1, -1, 0, 1, 0 },  [STYLE_HEAD] = { 37, -1, 6, 1, 0, 0 },
	[STYLE_BAR] = { 252, 237, -1, 0, 0, 1 }, [STYLE_CHOSEN] = { 231, 24, -1, 0, 0, 1 },
	[STYLE_GOOD] = { 36, -1, 2, 0, 0, 0 },   [STYLE_WARN] = { 172, -1, 3, 1, 0, 0 },
	[STYLE_BAD] = { 196, -1, 1, 1, 0, 0 },   [STYLE_KEY] = { -1, -1, -1, 1, 0, 0 },
	[STYLE_MARK] = { -1, -1, -1, 1, 0, 0 },  [STYLE_LINE] = { 242, -1, -1, 0, 1, 0 },
};

#define DARK_256 16
#define LIGHT_256 231
#define DARK_8 0

static int is_layer(uint8_t style)
{
	return style >= STYLE_COUNT && style < STYLE_ALL;
}

static int is_pale(uint8_t style)
{
	return style >= STYLE_COUNT + STYLE_LAYERS;
}

static int is_dark(uint8_t style)
{
	return style == STYLE_LAYER(PALETTE_SLACK) || style == STYLE_LAYER_PALE(PALETTE_SLACK);
}

static int layer_colour(uint8_t style, int colours)
{
	const struct colour *colour = &colour_of_layer[(style - STYLE_COUNT) % STYLE_LAYERS];

	return colours < 256 ? colour->of_8 : is_pale(style) ? colour->pale : colour->bright;
}

static struct palette_look plain_look(uint8_t style, int colours)
{
	const struct style_look *from = &style_looks[style < STYLE_COUNT ? style : STYLE_PLAIN];
	struct palette_look look = { -1, -1, from->bold, 0, 0, 0 };

	if (colours >= 256) {
		look.foreground = from->foreground;
		look.background = from->background;
		return look;
	}
	if (colours >= 8)
		look.foreground = from->of_8;
	look.dim = from->dim;
	look.reverse = from->reverse;
	return look;
}

struct palette_look palette_look(uint8_t style, uint8_t behind, int colours)
{
	struct palette_look look;

	if (is_layer(style)) {
		look = (struct palette_look){ -1, -1, 0, colours < 8 && is_pale(style), 0, 0 };
		if (colours >= 8)
			look.foreground = layer_colour(style, colours);
	} else {
		look = plain_look(style, colours);
	}
	if (colours < 8 || !is_layer(behind))
		return look;
	look.background = layer_colour(behind, colours);
	look.reverse = look.dim = 0;
	if (!is_layer(style)) {
		look.foreground = colours < 256 ? DARK_8 : is_dark(behind) ? LIGHT_256 : DARK_256;
		look.bold = colours >= 256 && look.bold; /* bold black is grey on terminals of 8 colours */
	}
	return look;
}

/* ---- letters ---- */

static const char phase_letters[] = {
#define PHASE_LETTER(name, number, word, letter) [number] = letter,
	MT_PHASE_LIST(PHASE_LETTER)
#undef PHASE_LETTER
};

char palette_phase_letter(uint8_t phase)
{
	return phase < MT_PHASE_COUNT ? phase_letters[phase] : phase_letters[MT_PHASE_OTHER];
}

static int letter_is_free(const struct palette *palette, char letter)
{
	uint32_t i;

	for (i = 0; i < palette->used; i++)
		if (palette->letter[i] == letter)
			return 0;
	return isalnum((unsigned char)letter) != 0;
}

/* The first free letter of `from`; with `only_first`, one that begins a word. '\0': none is free. */
static char free_letter_of(const struct palette *palette, const char *from, int only_first)
{
	size_t i;

	for (i = 0; from[i]; i++) {
		if (only_first && i && isalnum((unsigned char)from[i - 1]))
			continue;
		if (letter_is_free(palette, (char)tolower((unsigned char)from[i])))
			return (char)tolower((unsigned char)from[i]);
	}
	return '\0';
}

static char choose_letter(const struct palette *palette, const char *name)
{
	char letter;

	if (palette->by == PALETTE_BY_PROCESS)
		name += strcspn(name, "0123456789");
	else if (!strncmp(name, "lib", 3))
		name += 3;
	letter = free_letter_of(palette, name, 1);
	if (!letter)
		letter = free_letter_of(palette, name, 0);
	return letter ? letter : free_letter_of(palette, "abcdefghijklmnopqrstuvwxyz0123456789", 0);
}

/* ---- layers ---- */

#define KEYS MT_ARRAY_SIZE(((struct palette *)0)->of_key)

uint64_t palette_process_bit(uint32_t process)
{
	return 1ull << (process < 63 ? process : 63);
}

static int in_scope(const struct model *model, uint32_t cell, const struct palette_scope *scope)
{
	const struct model_site *site = &model->site[TAPE_SITE(cell)];

	return TAPE_SITE(cell) && site->device == scope->device &&
	       !(scope->hidden & palette_process_bit(site->process)) &&
	       (!scope->shown || cell >= scope->shown_cells || scope->shown[cell]);
}

/* The key of a cell in a dimension. All keys beyond the last share it. */
static uint32_t key_of_cell(enum palette_by by, const struct model *model, uint32_t cell)
{
	const struct model_site *site = &model->site[TAPE_SITE(cell)];
	uint32_t key = by == PALETTE_BY_PHASE      ? site->phase
		       : by == PALETTE_BY_CATEGORY ? model_category(model, cell)
		       : by == PALETTE_BY_OWNER    ? model_cell_owner(model, cell)
						   : site->process;

	return key < KEYS ? key : KEYS - 1;
}

const char *palette_process_name(char out[PALETTE_NAME_MAX], const struct model *model, uint32_t process)
{
	if (process >= model->processes)
		snprintf(out, PALETTE_NAME_MAX, "no process");
	else if (model->process[process].rank >= 0)
		snprintf(out, PALETTE_NAME_MAX, "rank %lld", (long long)model->process[process].rank);
	else if (model->process[process].pid)
		snprintf(out, PALETTE_NAME_MAX, "pid %lld", (long long)model->process[process].pid);
	else
		snprintf(out, PALETTE_NAME_MAX, "the process");
	return out;
}

const char *palette_cell_name(char out[PALETTE_NAME_MAX], const struct model *model, enum palette_by by, uint32_t cell)
{
	uint32_t key = key_of_cell(by, model, cell);

	if (by == PALETTE_BY_PROCESS)
		return palette_process_name(out, model, key);
	mt_copy_text(out, PALETTE_NAME_MAX,
		     by == PALETTE_BY_PHASE      ? mt_phase_name(key)
		     : by == PALETTE_BY_CATEGORY ? mt_category_name(key)
		     : key < model->owners       ? model->owner[key]
						 : "unknown");
	return out;
}

/* The next layer, which is not that of slack. */
static uint8_t add_layer(struct palette *palette, const char *name)
{
	uint32_t layer = palette->used == PALETTE_SLACK ? ++palette->used : palette->used;

	mt_copy_text(palette->name[layer], PALETTE_NAME_MAX, name);
	palette->letter[layer] = choose_letter(palette, name);
	palette->used++;
	return (uint8_t)layer;
}

static int has_room(const struct palette *palette)
{
	return palette->used + (palette->used == PALETTE_SLACK) < palette->layers;
}

/* Gives the cell's key its own layer, if one is left. */
static void place_key(struct palette *palette, const struct model *model, uint32_t key, uint32_t cell)
{
	char name[PALETTE_NAME_MAX];

	if (!palette->of_key[key] && has_room(palette) && key < KEYS - 1)
		palette->of_key[key] = add_layer(palette, palette_cell_name(name, model, palette->by, cell));
}

/* Layers that have the numbers of their keys. */
static void begin_fixed(struct palette *palette)
{
	uint32_t key, keys = palette->by == PALETTE_BY_PHASE ? MT_PHASE_COUNT : MT_CATEGORY_COUNT;

	for (key = 1; key < keys; key++) {
		if (palette->by == PALETTE_BY_CATEGORY && key == PALETTE_SLACK)
			continue;
		if (palette->by == PALETTE_BY_PHASE) {
			palette->of_key[key] = add_layer(palette, mt_phase_name(key));
			palette->letter[key] = palette_phase_letter((uint8_t)key);
		} else {
			palette->of_key[key] = add_layer(palette, mt_category_name(key));
		}
	}
	palette->layers = keys > PALETTE_SLACK ? keys : PALETTE_SLACK + 1;
}

static int is_fixed(const struct palette *palette)
{
	return palette->by == PALETTE_BY_PHASE || palette->by == PALETTE_BY_CATEGORY;
}

/* A key with the most bytes that its cells have held, and one of the cells. */
struct key_weight {
	uint64_t bytes; /* 0: the layer is free */
	uint32_t cell;
};

static void begin_by_weight(struct palette *palette, const struct model *model, const struct palette_scope *scope)
{
	struct key_weight weight[KEYS] = { 0 };
	uint32_t site, cell, key, heaviest;

	palette->layers = SERIES_LAYERS_MAX;
	for (site = 1; site < model->sites; site++) {
		cell = TAPE_CELL(site, 0);
		if (!in_scope(model, cell, scope) || model_category(model, cell) == MT_CATEGORY_SLACK)
			continue;
		key = key_of_cell(palette->by, model, cell);
		weight[key].bytes += model->site[site].most + 1;
		weight[key].cell = cell;
	}
	while (has_room(palette)) {
		heaviest = 0;
		for (key = 1; key < KEYS; key++)
			if (weight[key].bytes > weight[heaviest].bytes)
				heaviest = key;
		if (!weight[heaviest].bytes)
			break;
		place_key(palette, model, heaviest, weight[heaviest].cell);
		weight[heaviest].bytes = 0;
	}
}

static int make_room(struct palette *palette, uint32_t cells)
{
	uint32_t room = palette->cells_room ? palette->cells_room : 256;
	uint8_t *grown;

	while (room < cells)
		room *= 2;
	if (room == palette->cells_room)
		return 0;
	grown = realloc(palette->layer_of, room);
	if (!grown)
		return -MT_E_MEMORY;
	palette->layer_of = grown;
	palette->cells_room = room;
	return 0;
}

int palette_extend(struct palette *palette, const struct model *model, const struct palette_scope *scope)
{
	uint32_t cell, key, cells = TAPE_CELL(model->sites, 0);
	int error = make_room(palette, cells);

	if (error)
		return error;
	for (cell = palette->cells; cell < cells; cell++) {
		palette->layer_of[cell] = SERIES_HIDDEN;
		if (!in_scope(model, cell, scope))
			continue;
		if (model_category(model, cell) == MT_CATEGORY_SLACK) {
			palette->layer_of[cell] = PALETTE_SLACK;
			continue;
		}
		key = key_of_cell(palette->by, model, cell);
		if (!is_fixed(palette))
			place_key(palette, model, key, cell);
		palette->layer_of[cell] = palette->of_key[key];
	}
	if (cells > palette->cells)
		palette->cells = cells;
	return 0;
}

int palette_make(struct palette *palette, const struct model *model, enum palette_by by,
		 const struct palette_scope *scope)
{
	palette->by = by;
	palette->cells = 0;
	palette->used = 1;
	memset(palette->of_key, 0, sizeof(palette->of_key));
	memset(palette->name, 0, sizeof(palette->name));
	memset(palette->letter, 0, sizeof(palette->letter));
	snprintf(palette->name[PALETTE_REST], PALETTE_NAME_MAX, "%s", is_fixed(palette) ? "other" : "all others");
	palette->letter[PALETTE_REST] = palette_phase_letter(MT_PHASE_OTHER);
	mt_copy_text(palette->name[PALETTE_SLACK], PALETTE_NAME_MAX, "slack");
	palette->letter[PALETTE_SLACK] = PALETTE_SLACK_LETTER;
	if (is_fixed(palette))
		begin_fixed(palette);
	else
		begin_by_weight(palette, model, scope);
	return palette_extend(palette, model, scope);
}

void palette_release(struct palette *palette)
{
	free(palette->layer_of);
	memset(palette, 0, sizeof(*palette));
}
