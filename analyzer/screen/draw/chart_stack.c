#include "chart_stack.h"

#include "scale.h"

/* The layer at a place, bottom up: 1, 2 .. layers - 1, the rest, and slack on top. */
static uint32_t layer_at(const struct stack *stack, uint32_t place)
{
	uint32_t layer = place + 1;

	if (stack->layers <= PALETTE_SLACK)
		return layer < stack->layers ? layer : PALETTE_REST;
	if (layer == stack->layers)
		return PALETTE_SLACK;
	if (layer >= PALETTE_SLACK)
		layer++;
	return layer < stack->layers ? layer : PALETTE_REST;
}

/* The layer that is furthest from its due height. `too_high` 1: the one that is most above it; 0: most below it. */
static uint32_t furthest(const struct stack *stack, const double *due, int too_high)
{
	uint32_t i, best = stack->layers;
	double excess, best_excess = 0;
	int least, best_least = 0;

	for (i = 0; i < stack->layers; i++) {
		if (too_high ? !stack->height[i] : due[i] <= 0)
			continue;
		excess = too_high ? stack->height[i] - due[i] : due[i] - stack->height[i];
		least = too_high && stack->height[i] == 1; /* the last part of a layer goes last */
		if (best < stack->layers && (least > best_least || (least == best_least && excess <= best_excess)))
			continue;
		best = i;
		best_excess = excess;
		best_least = least;
	}
	return best;
}

static void stack_share(struct stack *stack, const struct series_column *column, uint64_t top, int rows)
{
	uint64_t whole = top > column->max ? top : column->max;
	double due[SERIES_LAYERS_MAX];
	int sum = 0;
	uint32_t i, at;

	for (i = 0; i < stack->layers; i++) {
		due[i] = whole ? (double)column->layer[i] / (double)whole * rows * stack->parts : 0;
		stack->height[i] = (int)due[i];
		if (due[i] > 0.5 && due[i] < 1)
			stack->height[i] = 1;
		sum += stack->height[i];
	}
	for (; sum < stack->total; sum++) {
		at = furthest(stack, due, 0);
		if (at == stack->layers)
			return;
		stack->height[at]++;
	}
	for (; sum > stack->total; sum--) {
		at = furthest(stack, due, 1);
		if (at == stack->layers)
			return;
		stack->height[at]--;
	}
}

void stack_make(struct stack *stack, const struct series_column *column, uint32_t layers, uint64_t top, int rows,
		int parts)
{
	uint32_t place, layer;
	int from = 0;

	stack->parts = parts;
	stack->layers = layers < SERIES_LAYERS_MAX ? layers : SERIES_LAYERS_MAX;
	stack->total = scale_height(column->max, top, rows, parts);
	stack->steady = column->used_min < column->used_max ? scale_height(column->used_min, top, rows, parts)
							    : stack->total;
	stack->steady_slack = column->min < column->max ? scale_height(column->min, top, rows, parts) : stack->total;
	stack_share(stack, column, top, rows);
	for (place = 0; place < stack->layers; place++) {
		layer = layer_at(stack, place);
		stack->from[layer] = from;
		from += stack->height[layer];
	}
	stack->total = from;
}

static int add_piece(struct piece *piece, int count, int from, int to, uint8_t layer, int pale)
{
	if (from >= to)
		return count;
	if (count && piece[count - 1].layer == layer && piece[count - 1].pale == pale) {
		piece[count - 1].to = to;
		return count;
	}
	piece[count] = (struct piece){ from, to, layer, (uint8_t)pale, 0 };
	return count + 1;
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static int steady_of(const struct stack *stack, uint32_t layer)
{
	return layer == PALETTE_SLACK ? stack->steady_slack : stack->steady;
}

int stack_is_steady(const struct stack *stack, uint32_t layer, int row)
{
	int middle = row * stack->parts + stack->parts / 2, steady = steady_of(stack, layer);

	return steady > middle || steady >= stack->total;
}

/* Fills the pieces of the cell in row `row`, with bounds relative to it. `split` is as in stack_cell. */
static int cell_pieces(const struct stack *stack, int row, int split, struct piece *piece)
{
	int bottom = row * stack->parts, end = bottom + stack->parts, from, to, steady, count = 0;
	uint32_t place, layer;

	for (place = 0; place < stack->layers; place++) {
		layer = layer_at(stack, place);
		from = larger(stack->from[layer], bottom);
		to = smaller(stack->from[layer] + stack->height[layer], end);
		if (from >= to)
			continue;
		steady = split ? steady_of(stack, layer) : stack_is_steady(stack, layer, row) ? end : 0;
		count = add_piece(piece, count, from - bottom, smaller(to, steady) - bottom, (uint8_t)layer, 0);
		count = add_piece(piece, count, larger(from, steady) - bottom, to - bottom, (uint8_t)layer, 1);
		piece[count - 1].only = to - from == stack->height[layer];
	}
	return add_piece(piece, count, larger(stack->total, bottom) - bottom, stack->parts, STACK_NOTHING, 0);
}

static int size_of(const struct piece *piece)
{
	return piece->to - piece->from;
}

int stack_most_deserving(const struct piece *piece, int count, int but)
{
	int i, best = -1;

	for (i = 0; i < count; i++) {
		if (i == but || piece[i].layer == STACK_NOTHING)
			continue;
		if (best < 0 || piece[i].only > piece[best].only ||
		    (piece[i].only == piece[best].only && size_of(&piece[i]) > size_of(&piece[best])))
			best = i;
	}
	return best;
}

/* Reduces the pieces to two. */
static int reduce_pieces(struct piece *piece, int count)
{
	int parts = piece[count - 1].to, empty = piece[count - 1].layer == STACK_NOTHING, first, second;
	struct piece lower, upper;

	if (count <= 2)
		return count;
	first = stack_most_deserving(piece, count, -1);
	lower = piece[first];
	lower.from = 0;
	if (empty) {
		upper = piece[count - 1];
	} else {
		second = stack_most_deserving(piece, count, first);
		lower = piece[smaller(first, second)];
		upper = piece[larger(first, second)];
	}
	lower.from = 0;
	lower.to = upper.from;
	upper.to = parts;
	piece[0] = lower;
	piece[1] = upper;
	return 2;
}

int stack_cell(const struct stack *stack, int row, int may_split, struct piece piece[STACK_PIECES_MAX])
{
	int count;

	if (may_split) {
		count = cell_pieces(stack, row, 1, piece);
		if (count <= 2)
			return count;
	}
	count = cell_pieces(stack, row, 0, piece); /* all of a layer in the cell is steady, or none */
	return reduce_pieces(piece, count);
}

int stack_full_rows(const struct stack *stack, uint32_t layer, int *first)
{
	*first = (stack->from[layer] + stack->parts - 1) / stack->parts;
	return (stack->from[layer] + stack->height[layer]) / stack->parts;
}
