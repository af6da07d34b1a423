#include "chart.h"

#include <string.h>
#include "chart_stack.h"

#define EIGHTHS 8
#define HALVES 2
#define LABEL_RUN 3 /* columns that a layer needs for its letter */

/* ---- cells ---- */

struct chart {
	struct area area;
	const struct palette *palette;
	uint64_t top;
	int letters; /* layers are letters, not blocks */
	int parts;
};

static struct chart chart_of(struct area area, const struct palette *palette, uint64_t top)
{
	struct chart chart = { area, palette, top, 0, EIGHTHS };

	if (area.canvas->ascii || area.canvas->colours < 8) {
		chart.letters = 1;
		chart.parts = HALVES;
	}
	return chart;
}

static uint8_t piece_style(const struct piece *piece)
{
	if (piece->layer == STACK_NOTHING)
		return STYLE_NO_BACKGROUND;
	return piece->pale ? STYLE_LAYER_PALE(piece->layer) : STYLE_LAYER(piece->layer);
}

/* Draws a full cell. Both colours are the layer's: no font can show a gap between rows. */
static void put_full(const struct chart *chart, int x, int y, const struct piece *piece)
{
	int is_slack = piece->layer == PALETTE_SLACK;
	int shade = (piece->pale || is_slack) && chart->area.canvas->colours < 256; /* 8 colours have one grey */

	if (piece->layer == STACK_NOTHING)
		return;
	area_put(chart->area, x, y,
		 !shade     ? "█"
		 : is_slack ? "░"
			    : "▒",
		 piece_style(piece), shade ? STYLE_NO_BACKGROUND : piece_style(piece));
}

static void put_blocks(const struct chart *chart, int x, int y, const struct piece *piece, int count)
{
	static const char *const eighths[EIGHTHS] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇" };

	if (count == 1)
		put_full(chart, x, y, &piece[0]);
	else if (piece[0].to > 0 && piece[0].to < EIGHTHS)
		area_put(chart->area, x, y, eighths[piece[0].to], piece_style(&piece[0]), piece_style(&piece[1]));
}

/* Draws a letter. The top half row of a column is half a block, unless the layer would get no letter then. */
static void put_letter(const struct chart *chart, int x, int y, const struct piece *piece, int count)
{
	const struct piece *seen = &piece[stack_most_deserving(piece, count, -1) > 0];
	int ascii = chart->area.canvas->ascii;
	char letter[4] = "";

	if (piece[0].layer == STACK_NOTHING)
		return;
	letter[0] = chart->palette->letter[seen->layer];
	if (count > 1 && piece[1].layer == STACK_NOTHING && !piece[0].only)
		memcpy(letter, ascii ? "_" : "▄", ascii ? 2 : sizeof("▄"));
	area_put(chart->area, x, y, letter, piece_style(seen), STYLE_NO_BACKGROUND);
}

static void draw_column(const struct chart *chart, int x, const struct stack *stack)
{
	struct piece piece[STACK_PIECES_MAX];
	int row, count, may_split = !chart->letters && chart->area.canvas->colours >= 256;

	for (row = 0; row < chart->area.height && row * stack->parts < stack->total; row++) {
		count = stack_cell(stack, row, may_split, piece);
		if (chart->letters)
			put_letter(chart, x, chart->area.height - 1 - row, piece, count);
		else
			put_blocks(chart, x, chart->area.height - 1 - row, piece, count);
	}
}

/* ---- letters on the areas ---- */

/* The place where a layer fills whole cells: the longest run of columns, and of equal runs the highest. */
struct run {
	int rows, first, last; /* rows of the layer, at most 2 counted */
};

struct runs {
	struct run now[SERIES_LAYERS_MAX], best[SERIES_LAYERS_MAX];
};

static void runs_add(struct runs *runs, const struct stack *stack, int x)
{
	struct run *now, *best;
	int first, rows;
	uint32_t layer;

	for (layer = 0; layer < stack->layers; layer++) {
		now = &runs->now[layer];
		best = &runs->best[layer];
		rows = stack_full_rows(stack, layer, &first) - first;
		rows = rows < 0 ? 0 : rows > 2 ? 2 : rows;
		if (!rows || rows != now->rows || now->last != x - 1)
			*now = (struct run){ rows, x, x };
		now->last = x;
		if (now->rows && now->last - now->first + 1 >= LABEL_RUN &&
		    (now->rows > best->rows ||
		     (now->rows == best->rows && now->last - now->first > best->last - best->first)))
			*best = *now;
	}
}

static void draw_letters(const struct chart *chart, const struct series_column *column, const struct runs *runs)
{
	struct area area = chart->area;
	char letter[2] = "";
	struct stack stack;
	const struct run *run;
	int x, first, end, row;
	uint32_t layer;

	for (layer = 0; layer < chart->palette->layers; layer++) {
		run = &runs->best[layer];
		if (!run->rows)
			continue;
		x = (run->first + run->last) / 2;
		stack_make(&stack, &column[x], chart->palette->layers, chart->top, area.height, chart->parts);
		end = stack_full_rows(&stack, layer, &first);
		row = first + (end - first - 1) / 2;
		letter[0] = chart->palette->letter[layer];
		area_put(area, x, area.height - 1 - row, letter, STYLE_PLAIN,
			 stack_is_steady(&stack, layer, row) ? STYLE_LAYER(layer) : STYLE_LAYER_PALE(layer));
	}
}

/* ---- marks over the area ---- */

static struct canvas_cell *chart_cell(struct area area, int x, int y)
{
	if (x < 0 || y < 0 || x >= area.width || y >= area.height)
		return NULL;
	return &area.canvas->cell[(size_t)(area.y + y) * (size_t)area.canvas->width + (size_t)(area.x + x)];
}

/* The layer with most of the cell: the background of marks over it. */
static uint8_t colour_of_cell(const struct chart *chart, const struct canvas_cell *cell)
{
	/* Lower blocks are e2 96 81 to 88. */
	int eighths = cell->text[0] == '\xe2' && cell->text[1] == '\x96' ? (unsigned char)cell->text[2] - 0x80 : 0;

	if (chart->letters || cell->style < STYLE_COUNT)
		return cell->behind;
	return eighths >= EIGHTHS / 2 ? cell->style : cell->behind;
}

static int cell_is_free(const struct canvas_cell *cell)
{
	return cell && cell->style < STYLE_COUNT && cell->behind == STYLE_NO_BACKGROUND &&
	       (cell->text[0] == ' ' || cell->style == STYLE_LINE);
}

static int row_is_free(struct area area, int x, int y, int width)
{
	int i;

	for (i = 0; i < width; i++)
		if (!cell_is_free(chart_cell(area, x + i, y)))
			return 0;
	return 1;
}

static int is_slack(uint8_t style)
{
	return style == STYLE_LAYER(PALETTE_SLACK) || style == STYLE_LAYER_PALE(PALETTE_SLACK);
}

/* Whether a row has only slack: words may hide slack. */
static int row_is_slack(struct area area, int x, int y, int width)
{
	const struct canvas_cell *cell;
	int i;

	for (i = 0; i < width; i++) {
		cell = chart_cell(area, x + i, y);
		if (!cell || !is_slack(cell->style) || (!is_slack(cell->behind) && cell->behind != STYLE_NO_BACKGROUND))
			return 0;
	}
	return 1;
}

/* Writes ASCII words over the area, in its colours. */
static void draw_over(const struct chart *chart, int x, int y, const char *words)
{
	char letter[2] = "";

	for (; *words; words++, x++) {
		letter[0] = *words;
		area_put(chart->area, x, y, letter, STYLE_BOLD,
			 chart->letters ? STYLE_NO_BACKGROUND : STYLE_LAYER(PALETTE_SLACK));
	}
}

#define LABEL_FAR 4 /* most columns between words and their mark */

/*
 * Writes words beside column x where the chart is empty: to the right, else to the left. Returns 0 if neither side has
 * room.
 */
static int draw_label(struct area area, int x, int y, uint8_t style, const char *words)
{
	int width = columns_of(words), gap;

	for (gap = 1; gap <= LABEL_FAR; gap++) {
		if (row_is_free(area, x + gap, y, width + 2)) {
			area_text(area, x + gap + 1, y, style, words);
			return 1;
		}
		if (row_is_free(area, x - gap - width - 1, y, width + 2)) {
			area_text(area, x - gap - width, y, style, words);
			return 1;
		}
	}
	return 0;
}

static void draw_line(const struct chart *chart, int x, const char *glyph)
{
	const struct canvas_cell *cell;
	int y;

	for (y = 0; y < chart->area.height; y++) {
		cell = chart_cell(chart->area, x, y);
		if (cell)
			area_put(chart->area, x, y, glyph, STYLE_MARK, colour_of_cell(chart, cell));
	}
}

/* The row of the chart in which `bytes` end. */
static int row_of_bytes(const struct chart *chart, uint64_t bytes)
{
	return chart->area.height - 1 - (scale_height(bytes, chart->top, chart->area.height, EIGHTHS) - 1) / EIGHTHS;
}

static int has_capacity(const struct chart *chart, const struct chart_marks *marks)
{
	return marks->capacity && marks->capacity <= chart->top;
}

/* Draws the line of the capacity where the chart is empty. */
static void draw_capacity(const struct chart *chart, const struct chart_marks *marks)
{
	static const char *const lines[3] = { "▁", "─", "▔" };
	struct area area = chart->area;
	int height = scale_height(marks->capacity, chart->top, area.height, EIGHTHS), x;
	int y = row_of_bytes(chart, marks->capacity);

	for (x = 0; x < area.width; x++)
		if (cell_is_free(chart_cell(area, x, y)))
			area_put(area, x, y, area.canvas->ascii ? "-" : lines[((height - 1) % EIGHTHS) * 3 / EIGHTHS],
				 STYLE_LINE, STYLE_NO_BACKGROUND);
}

/* Writes words on the capacity line, on the side further from the peak, where the chart is empty. */
static void draw_capacity_words(const struct chart *chart, const struct chart_marks *marks)
{
	struct area area = chart->area;
	int y = row_of_bytes(chart, marks->capacity), i, x, width, from_right;
	char bytes[TEXT_SIZE_MAX], words[64];

	snprintf(words, sizeof(words), " capacity %s ", text_bytes(bytes, marks->capacity));
	width = columns_of(words);
	from_right = marks->peak >= 0 && marks->peak < area.width / 2;
	for (i = 2; i + width + 2 <= area.width; i++) {
		x = from_right ? area.width - width - i : i;
		if (row_is_free(area, x, y, width)) {
			area_text(area, x, y, STYLE_LINE, words);
			return;
		}
	}
}

static void draw_span_mark(const struct chart *chart, int x, const char *letter)
{
	struct canvas_cell *cell;

	if (x < 0 || x >= chart->area.width)
		return;
	draw_line(chart, x, chart->area.canvas->ascii ? ":" : "┊");
	cell = chart_cell(chart->area, x, 0);
	if (cell)
		area_put(chart->area, x, 0, letter, STYLE_MARK, cell->behind);
}

/* Writes words beside column x in the slack, to the right if there is room. */
static void draw_slack_label(const struct chart *chart, int x, int y, const char *words)
{
	int width = columns_of(words);

	if (row_is_slack(chart->area, x + 1, y, width + 2))
		draw_over(chart, x + 2, y, words);
	else if (row_is_slack(chart->area, x - width - 2, y, width + 2))
		draw_over(chart, x - width - 1, y, words);
}

/* Draws a mark over `bytes` of column x, with the bytes in words. */
static void draw_peak(const struct chart *chart, int x, const char *name, uint64_t peak)
{
	struct area area = chart->area;
	char bytes[TEXT_SIZE_MAX], words[64];
	struct canvas_cell *cell;
	int height, y;

	height = scale_height(peak, chart->top, area.height, chart->parts);
	y = area.height - 1 - (height + chart->parts - 1) / chart->parts;
	y = y < 0 ? 0 : y;
	cell = chart_cell(area, x, y);
	if (!cell)
		return;
	area_put(area, x, y, area.canvas->ascii ? "v" : "▼", STYLE_MARK, colour_of_cell(chart, cell));
	snprintf(words, sizeof(words), "%s %s", name, text_bytes(bytes, peak));
	if (!draw_label(area, x, y, STYLE_BOLD, words))
		draw_slack_label(chart, x, y, words);
}

static void draw_peaks(const struct chart *chart, const struct series_column *column, const struct chart_marks *marks)
{
	if (marks->peak >= 0 && marks->peak < chart->area.width)
		draw_peak(chart, marks->peak, "peak", column[marks->peak].max);
	if (marks->used_peak >= 0 && marks->used_peak < chart->area.width)
		draw_peak(chart, marks->used_peak, "most in use", column[marks->used_peak].used_max);
}

#define OOM_WORDS "OOM "
#define OOM_WIDE 60 /* columns and rows of a chart that is large enough for words over it */
#define OOM_HIGH 6

/* Writes the words before column x, over the area, unless another mark is there. */
static int draw_oom_over(struct area area, int x)
{
	int width = columns_of(OOM_WORDS), i;
	const struct canvas_cell *cell;

	for (i = 1; i <= width; i++) {
		cell = chart_cell(area, x - i, 0);
		if (!cell || cell->style == STYLE_MARK || cell->style == STYLE_BAD || cell->style == STYLE_BOLD)
			return 0;
	}
	area_text(area, x - width, 0, STYLE_BAD, OOM_WORDS);
	return 1;
}

/* Draws a mark for each error. The last mark with room gets the words. */
static void draw_ooms(const struct chart *chart, const int *oom, uint32_t ooms)
{
	struct area area = chart->area;
	uint32_t i;

	for (i = 0; i < ooms; i++)
		if (chart_cell(area, oom[i], 0))
			area_put(area, oom[i], 0, "X", STYLE_BAD, STYLE_NO_BACKGROUND);
	for (i = ooms; i-- > 0;)
		if (draw_label(area, oom[i], 0, STYLE_BAD, "OOM"))
			return;
	for (i = ooms; i-- > 0 && area.width >= OOM_WIDE && area.height >= OOM_HIGH;)
		if (draw_oom_over(area, oom[i]))
			return;
}

static void draw_marks(const struct chart *chart, const struct series_column *column, const struct chart_marks *marks)
{
	if (has_capacity(chart, marks))
		draw_capacity(chart, marks);
	draw_span_mark(chart, marks->mark_a, "A");
	draw_span_mark(chart, marks->mark_b, "B");
	if (marks->cursor >= 0 && marks->cursor < chart->area.width)
		draw_line(chart, marks->cursor, chart->area.canvas->ascii ? "|" : "│");
	draw_peaks(chart, column, marks);
	draw_ooms(chart, marks->oom, marks->ooms);
	if (has_capacity(chart, marks))
		draw_capacity_words(chart, marks);
}

void chart_draw(struct area area, const struct series_column *column, const struct palette *palette, uint64_t top,
		const struct chart_marks *marks)
{
	struct chart chart = chart_of(area, palette, top);
	struct runs runs = { 0 };
	struct stack stack;
	int x;

	for (x = 0; x < area.width; x++) {
		stack_make(&stack, &column[x], palette->layers, top, area.height, chart.parts);
		draw_column(&chart, x, &stack);
		if (!chart.letters)
			runs_add(&runs, &stack, x);
	}
	if (!chart.letters)
		draw_letters(&chart, column, &runs);
	draw_marks(&chart, column, marks);
}
