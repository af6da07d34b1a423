/* Finds the cause of a difference: a factor that the bytes of many places have in common. */
#include "diff_cause.h"

#include <string.h>
#include "memtrace/phase.h"

#define FLOOR (1u << 20) /* bytes: smaller places do not count */
#define SAME 0.05        /* factors that differ by at most this part are equal */
#define MOST 0.8         /* part of init's bytes that must have the factor */
#define GOOD_PART 0.5    /* part of the difference that the cause must explain */

const char *diff_cause_word(enum diff_cause_kind kind)
{
	static const char *const words[] = {
#define DIFF_CAUSE_WORD(name, word) [DIFF_CAUSE_##name] = word,
		DIFF_CAUSE_LIST(DIFF_CAUSE_WORD)
#undef DIFF_CAUSE_WORD
	};

	return words[kind];
}

/* ---- places ---- */

static int is_place(const struct diff_row *row, int64_t device)
{
	return row->device == device && row->phase && (row->a.bytes >= FLOOR || row->b.bytes >= FLOOR);
}

static int is_init(const struct diff_row *row)
{
	return !strcmp(row->phase, mt_phase_name(MT_PHASE_INIT));
}

static int is_near(double one, double two)
{
	double gap = one > two ? one - two : two - one;

	return gap <= SAME * (one > two ? one : two);
}

/* Returns the bytes of an allocation in B divided by those in A; 0: the numbers of allocations differ. The last allocations can be missing. */
static double factor_of(const struct diff_row *row)
{
	double a = (double)row->a.count, b = (double)row->b.count;

	if (!row->a.in || !row->b.in || a <= 0 || b <= 0 || !row->a.bytes || !is_near(a, b))
		return 0;
	return ((double)row->b.bytes / b) / ((double)row->a.bytes / a);
}

static uint64_t distance(uint64_t one, uint64_t two)
{
	return one > two ? one - two : two - one;
}

/* ---- the weights ---- */

struct init {
	double bytes;             /* bytes in A of places of init that both runs have */
	double same, twice, half; /* part of `bytes` with the factor 1, 2 or 0.5 */
};

static struct init look_at_init(const struct diff *diff, int64_t device)
{
	const struct diff_table *places = &diff->table[DIFF_SITE];
	struct init init = { 0 };
	double factor;
	size_t i;

	for (i = 0; i < places->count; i++) {
		if (!is_place(&places->row[i], device) || !is_init(&places->row[i]) || !places->row[i].a.in ||
		    !places->row[i].b.in)
			continue;
		factor = factor_of(&places->row[i]);
		init.bytes += (double)places->row[i].a.bytes;
		init.same += is_near(factor, 1) ? (double)places->row[i].a.bytes : 0;
		init.twice += is_near(factor, 2) ? (double)places->row[i].a.bytes : 0;
		init.half += is_near(factor, 0.5) ? (double)places->row[i].a.bytes : 0;
	}
	return init;
}

/* Sums up the differences of the places with this factor. `init` 1: with places of init. */
static uint64_t differ_by(const struct diff *diff, int64_t device, double factor, int init, size_t *count)
{
	const struct diff_table *places = &diff->table[DIFF_SITE];
	const struct diff_row *row;
	uint64_t bytes = 0;
	size_t i;

	*count = 0;
	for (i = 0; i < places->count; i++) {
		row = &places->row[i];
		if (!is_place(row, device) || (is_init(row) && !init) || !is_near(factor_of(row), factor))
			continue;
		bytes += distance(row->a.bytes, row->b.bytes);
		++*count;
	}
	return bytes;
}

/* ---- causes ---- */

static int is_dtype(struct diff_cause *cause, const struct diff *diff, int64_t device, const struct init *init)
{
	size_t count;

	if (!(init->bytes > 0) || (init->twice < MOST * init->bytes && init->half < MOST * init->bytes))
		return 0;
	cause->kind = DIFF_CAUSE_DTYPE;
	cause->factor = init->twice >= init->half ? 2 : 0.5;
	cause->bytes = differ_by(diff, device, cause->factor, 1, &count);
	return 1;
}

/* Whether the run with more bytes has twice the allocations and bytes of the other one at this place. */
static int comes_twice(const struct diff_row *row, int64_t change)
{
	const struct diff_figure *more = change > 0 ? &row->b : &row->a, *less = change > 0 ? &row->a : &row->b;

	return less->in && less->count && is_near((double)more->count, 2 * (double)less->count) &&
	       is_near((double)more->bytes, 2 * (double)less->bytes);
}

static int take_copy(struct diff_cause *cause, const struct diff_row *row, uint64_t bytes)
{
	cause->kind = DIFF_CAUSE_COPY;
	cause->bytes = bytes;
	cause->row = row;
	return 1;
}

/* Finds a new place with as many allocations and bytes as a place of init in the other run. `change` > 0: the second run has more bytes. */
static int is_copy(struct diff_cause *cause, const struct diff *diff, int64_t device, int64_t change)
{
	const struct diff_table *places = &diff->table[DIFF_SITE];
	const struct diff_row *row, *weights;
	const struct diff_figure *is;
	size_t i, j;

	for (i = 0; i < places->count; i++) { /* largest change first */
		row = &places->row[i];
		is = change > 0 ? &row->b : &row->a;
		if (!is_place(row, device))
			continue;
		if (is_init(row) && comes_twice(row, change))
			return take_copy(cause, row, is->bytes / 2);
		if (row->a.in == row->b.in || !is->in)
			continue;
		for (j = 0; j < places->count; j++) {
			weights = &places->row[j];
			if (!is_place(weights, device) || !is_init(weights) || !weights->a.in || !weights->b.in ||
			    weights->a.count != is->count || distance(weights->a.bytes, is->bytes) > is->bytes / 50)
				continue;
			return take_copy(cause, row, is->bytes);
		}
	}
	return 0;
}

static int is_tokens(struct diff_cause *cause, const struct diff *diff, int64_t device, const struct init *init)
{
	const struct diff_table *places = &diff->table[DIFF_SITE];
	double factor = 0;
	size_t i, count;

	if (init->same < MOST * init->bytes)
		return 0;
	for (i = 0; i < places->count && !(factor > 0); i++) /* largest change first */
		if (is_place(&places->row[i], device) && !is_init(&places->row[i]) &&
		    places->row[i].a.bytes != places->row[i].b.bytes)
			factor = factor_of(&places->row[i]);
	if (!(factor > 0) || is_near(factor, 1))
		return 0;
	cause->bytes = differ_by(diff, device, factor, 0, &count);
	if (count < 2)
		return 0;
	cause->kind = DIFF_CAUSE_TOKENS;
	cause->factor = factor;
	return 1;
}

struct diff_cause diff_cause(const struct diff *diff, int64_t device)
{
	const struct diff_table *peaks = &diff->table[DIFF_DEVICE];
	struct diff_cause cause = { DIFF_CAUSE_UNKNOWN, 0, 0, NULL };
	struct init init = look_at_init(diff, device);
	uint64_t apart = 0;
	int64_t change = 0;
	size_t i;

	for (i = 0; i < peaks->count; i++)
		if (peaks->row[i].device == device) {
			change = diff_change(&peaks->row[i]);
			apart = distance(peaks->row[i].a.bytes, peaks->row[i].b.bytes);
		}
	if (!is_dtype(&cause, diff, device, &init) && !is_copy(&cause, diff, device, change))
		is_tokens(&cause, diff, device, &init);
	if ((double)cause.bytes < GOOD_PART * (double)apart || !apart)
		cause = (struct diff_cause){ DIFF_CAUSE_UNKNOWN, 0, 0, NULL };
	return cause;
}
