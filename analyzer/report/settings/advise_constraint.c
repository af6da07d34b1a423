/* advise_constraint.c - checks the constraints of a knob, and finds its smallest value and its standing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "advise_config_impl.h"

/* 1: the value is `wanted`. "1..": 1 or more. Switches and numbers are compared by their number, others as words. */
static int is_value(const struct mt_knob *knob, const char *value, const char *wanted)
{
	double one, two;

	if (advise_is_null(wanted) && advise_is_null(value))
		return 1;
	if (advise_value_number(knob, value, &one))
		return !strcasecmp(value, wanted);
	if (strstr(wanted, ".."))
		return one >= strtod(wanted, NULL);
	return !advise_value_number(knob, wanted, &two) && !(one < two || one > two);
}

enum advise_holds advise_constraint_holds(struct advise_config *config, const struct mt_knob *knob,
					  const struct mt_knob_constraint *constraint, char words[ADVISE_WORDS_MAX])
{
	const struct advise_part *part = advise_config_part(config, knob);
	int is_needed = constraint->kind == MT_KNOB_CONSTRAINT_NEEDS, among = 0;
	const struct mt_knob *other;
	struct advise_value value;
	uint32_t i;

	if (!part || (!is_needed && constraint->kind != MT_KNOB_CONSTRAINT_EXCLUDES))
		return ADVISE_HOLDS_UNKNOWN;
	other = mt_knob_find(part->file, constraint->key);
	value = advise_config_value(config, other);
	if (!value.text)
		return ADVISE_HOLDS_UNKNOWN;
	for (i = 0; i < constraint->values; i++)
		among |= is_value(other, value.text, constraint->value[i]);
	snprintf(words, ADVISE_WORDS_MAX, "%.160s: %.100s is %.60s (%.100s)", constraint->says,
		 advise_last_word(constraint->key), advise_is_null(value.text) ? "not set" : value.text, value.where);
	return among == is_needed ? ADVISE_HOLDS_YES : ADVISE_HOLDS_NO;
}

/* The smallest value that one constraint allows; 0: any value. */
static double least_of(struct advise_config *config, const struct advise_part *part,
		       const struct mt_knob_constraint *constraint, uint64_t largest_weight)
{
	const struct mt_knob *other;
	struct advise_value value;
	double number;

	if (constraint->kind == MT_KNOB_CONSTRAINT_AT_LEAST && constraint->fact == MT_KNOB_FACT_LARGEST_WEIGHT)
		return (double)largest_weight;
	if (constraint->kind != MT_KNOB_CONSTRAINT_MULTIPLE)
		return 0;
	other = mt_knob_find(part->file, constraint->key);
	value = advise_config_value(config, other);
	return value.text && !advise_value_number(other, value.text, &number) ? number : 0;
}

double advise_floor(struct advise_config *config, const struct mt_knob *knob, uint64_t largest_weight)
{
	const struct advise_part *part = advise_config_part(config, knob);
	double least = 0;
	uint32_t i;

	for (i = 0; part && i < knob->constraints; i++)
		least = fmax(least, least_of(config, part, &knob->constraint[i], largest_weight));
	return least;
}

/* ---- the standing of a knob -------------------------------------------------------------------------------------- */

/* The standing by the value alone: ALREADY, FLOOR or OPEN. */
static enum advise_standing by_value(struct advise_config *config, const struct mt_knob *knob, uint64_t largest_weight,
				     char words[ADVISE_WORDS_MAX])
{
	struct advise_value value = advise_config_value(config, knob);
	enum mt_knob_kind kind = mt_knob_unit_kind(knob->measure);
	const char *already = NULL;
	double number, least;

	if (value.text && mt_knob_is_off(knob, value.text))
		already = value.text;
	else if (!value.text || advise_value_number(knob, value.text, &number))
		return ADVISE_STANDING_OPEN;
	else if (kind == MT_KNOB_KIND_SWITCH && knob->saves == (number > 0 ? MT_KNOB_SAVES_ON : MT_KNOB_SAVES_OFF))
		already = number > 0 ? "on" : "off";
	else if (knob->saves == MT_KNOB_SAVES_HIGHER && kind == MT_KNOB_KIND_SHARE && number >= 1)
		already = "all of it";
	if (already) {
		snprintf(words, ADVISE_WORDS_MAX, "already %.64s (%.200s)", already, value.where);
		return ADVISE_STANDING_ALREADY;
	}
	if (knob->saves != MT_KNOB_SAVES_LOWER || number <= 0)
		return ADVISE_STANDING_OPEN;
	least = fmax(advise_floor(config, knob, largest_weight), kind == MT_KNOB_KIND_COUNT);
	if (number > least)
		return ADVISE_STANDING_OPEN;
	snprintf(words, ADVISE_WORDS_MAX, "at its floor: %.64s (%.200s)", value.text, value.where);
	return ADVISE_STANDING_FLOOR;
}

enum advise_standing advise_config_standing(struct advise_config *config, const struct mt_knob *knob,
					    uint64_t largest_weight, char words[ADVISE_WORDS_MAX])
{
	const struct advise_part *part = advise_config_part(config, knob);
	uint32_t i;

	*words = '\0';
	if (!part || knob->instead || (knob->trainer && part->trainer && strcmp(knob->trainer, part->trainer) != 0))
		return ADVISE_STANDING_ABSENT;
	for (i = 0; i < knob->constraints; i++)
		if (advise_constraint_holds(config, knob, &knob->constraint[i], words) == ADVISE_HOLDS_NO)
			return ADVISE_STANDING_NO_EFFECT;
	*words = '\0';
	return by_value(config, knob, largest_weight, words);
}
