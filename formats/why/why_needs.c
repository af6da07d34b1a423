/* why_needs.c - needs.yaml: the phases in which the bytes of a category are needed. */
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "why_impl.h"

#define ALL_PHASES (((uint64_t)1 << MT_PHASE_COUNT) - 1)

struct need_row {
	uint32_t category, who;
	uint64_t phases[MT_NEEDS];
	int rest; /* enum mt_need of all other phases; -1: not given */
};

/* Reads "now: [forward, backward]" or "later: rest". */
static int read_phases(struct why_source *source, const struct why_field *field)
{
	struct need_row *row = source->row;
	enum mt_need need = (enum mt_need)field->at;
	int error = yaml_cursor_next(source->yaml);
	const char *text = error ? NULL : yaml_cursor_text(source->yaml);

	if (error)
		return error;
	if (!text || strcmp(text, "rest"))
		return why_bits_here(source, field, &row->phases[need]);
	if (row->rest >= 0)
		return yaml_cursor_fail(source->yaml, "\"rest\" is there twice: also for %s",
					why_need_words[row->rest]);
	row->rest = (int)need;
	return 0;
}

#define NEED_FIELD(name, word) { word, read_phases, 0, MT_NEED_##name, why_phase_words, MT_PHASE_COUNT },

static const struct why_field fields[] = {
	{ "category", why_read_word, 1, offsetof(struct need_row, category), why_category_words, MT_CATEGORY_COUNT },
	{ "who", why_read_word, 0, offsetof(struct need_row, who), why_who_words, MT_WHOS },
	MT_NEED_LIST(NEED_FIELD)
};

/* Checks that each phase has exactly one need. */
static int check_row(struct why_source *source, struct need_row *row, size_t line)
{
	uint64_t told = 0, twice = 0;
	int i;

	for (i = 0; i < MT_NEEDS; i++) {
		twice |= told & row->phases[i];
		told |= row->phases[i];
	}
	for (i = 0; i < MT_PHASE_COUNT; i++) {
		if (twice & (uint64_t)1 << i)
			return yaml_cursor_fail_at(source->yaml, line, "%s is there twice", why_phase_words[i]);
		if (row->rest < 0 && !(told & (uint64_t)1 << i))
			return yaml_cursor_fail_at(source->yaml, line, "the row does not say when %s needs the bytes",
						   why_phase_words[i]);
	}
	if (row->rest >= 0)
		row->phases[row->rest] |= ALL_PHASES & ~told;
	if (source->why->said[row->category][row->who])
		return yaml_cursor_fail_at(source->yaml, line, "%s of %s has a row already",
					   why_category_words[row->category], why_who_words[row->who]);
	return 0;
}

static void keep_row(struct mt_why *why, const struct need_row *row)
{
	int need, phase;

	why->said[row->category][row->who] = 1;
	for (need = 0; need < MT_NEEDS; need++)
		for (phase = 0; phase < MT_PHASE_COUNT; phase++)
			if (row->phases[need] & (uint64_t)1 << phase)
				why->need[row->category][row->who][phase] = (uint8_t)need;
}

static int read_row(struct why_source *source)
{
	struct need_row row = { .rest = -1 };
	size_t line = yaml_cursor_line(source->yaml);
	int error;

	source->row = &row;
	error = why_read_fields(source, fields, MT_ARRAY_SIZE(fields));
	if (!error)
		error = check_row(source, &row, line);
	if (!error)
		keep_row(source->why, &row);
	source->row = NULL;
	return error;
}

static int check(struct why_source *source)
{
	int i;

	for (i = 0; i < MT_CATEGORY_COUNT; i++)
		if (!source->why->said[i][MT_WHO_ANY])
			return yaml_cursor_fail_at(source->yaml, 1, "%s has no row for anybody", why_category_words[i]);
	return 0;
}

const struct why_file why_needs_file = { "needs.yaml", "needs", read_row, check };

enum mt_need mt_why_need(const struct mt_why *why, enum mt_category category, enum mt_who who, enum mt_phase phase)
{
	if (!why->said[category][who])
		who = MT_WHO_ANY;
	return (enum mt_need)why->need[category][who][phase];
}
