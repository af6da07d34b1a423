/* advise_constraint.c - what keeps a knob from counting, and how far it can be turned. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "advise_config_impl.h"
#include "base/text.h"

/* The knob of the same file that has the key, as today's name or an older one. The reader has checked that there is one. */
static const struct mt_knob *knob_of(const struct mt_knob_file *file, const char *key)
{
	uint32_t i, k;

	for (i = 0; i < file->knobs; i++) {
		if (!strcmp(file->knob[i].name.key, key))
			return &file->knob[i];
		for (k = 0; k < file->knob[i].olders; k++)
			if (!strcmp(file->knob[i].older[k].key, key))
				return &file->knob[i];
	}
	return NULL;
}

/* "1..": that or more; a switch and a number by what they mean; else the same word. */
static int is_value(const struct mt_knob *knob, const char *value, const char *wanted)
{
	const char *dots = strstr(wanted, "..");
	double one, two;

	if (!dots && advise_is_null(wanted) && advise_is_null(value))
		return 1;
	if (advise_value_number(knob, value, &one))
		return !strcasecmp(value, wanted);
	if (dots)
		return one >= strtod(wanted, NULL);
	return !advise_value_number(knob, wanted, &two) && !(one < two || one > two);
}

/* "true", "MiB": what a sentence says of a value. */
static const char *shown(const char *value)
{
	return advise_is_null(value) ? "not set" : value;
}

/* NEEDS and EXCLUDES: what another knob has. */
static enum advise_holds about_key(struct advise_config *config, const struct advise_part *part,
				   const struct mt_knob_constraint *constraint, enum advise_when when,
				   char words[ADVISE_WORDS_MAX])
{
	const struct mt_knob *other = knob_of(part->file, constraint->key);
	struct advise_value value = other ? advise_config_value(config, other, when) : (struct advise_value){ 0 };
	int among = 0, holds;
	uint32_t i;

	if (!value.text)
		return ADVISE_HOLDS_UNKNOWN;
	for (i = 0; i < constraint->values; i++)
		among |= is_value(other, value.text, constraint->value[i]);
	holds = constraint->kind == MT_KNOB_CONSTRAINT_NEEDS ? among : !among;
	snprintf(words, ADVISE_WORDS_MAX, "%.160s%s %.100s is %.60s (%.100s)", holds ? "" : constraint->says,
		 holds ? "" : ":", advise_short_key(constraint->key), shown(value.text), value.where);
	if (holds)
		memmove(words, words + 1, strlen(words));
	return holds ? ADVISE_HOLDS_YES : ADVISE_HOLDS_NO;
}

/* How often the value counts; 0: that is not known. */
static double times_of(struct advise_config *config, const struct advise_part *part,
		       const struct mt_knob_constraint *constraint, enum advise_when when)
{
	const struct mt_knob *other = constraint->times ? knob_of(part->file, constraint->times) : NULL;
	struct advise_value value;
	double times;

	if (!other)
		return 1;
	value = advise_config_value(config, other, when);
	if (!value.text)
		return value.origin == ADVISE_NOBODY ? 1 : 0;
	return advise_value_number(other, value.text, &times) || times < 1 ? 1 : times;
}

/* "4,096 tokens", "1.0 GiB". */
static const char *amount(char out[TEXT_SIZE_MAX], const struct mt_knob *knob, double number)
{
	uint64_t whole = number > 0 ? (uint64_t)number : 0;

	if (mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_SIZE)
		return text_bytes(out, whole);
	return text_number(out, whole);
}

static enum advise_holds at_least(struct advise_config *config, const struct mt_knob *knob,
				  const struct mt_knob_constraint *constraint, double number, enum advise_when when,
				  uint64_t fact, char words[ADVISE_WORDS_MAX])
{
	double times = times_of(config, advise_config_part(config, knob), constraint, when);
	char one[TEXT_SIZE_MAX], two[TEXT_SIZE_MAX], by[160] = "";

	if (times < 1)
		return ADVISE_HOLDS_UNKNOWN;
	if (times > 1)
		snprintf(by, sizeof(by), " times %.0f (%.100s)", times, advise_short_key(constraint->times));
	snprintf(words, ADVISE_WORDS_MAX, "%s%s is %s than the %s, %s", amount(one, knob, number), by,
		 number * times < (double)fact ? "less" : "not less", mt_knob_fact_words(constraint->fact),
		 amount(two, knob, (double)fact));
	return number * times < (double)fact ? ADVISE_HOLDS_NO : ADVISE_HOLDS_YES;
}

/* MULTIPLE: what another knob has; 0: that is not known. */
static double multiple_of(struct advise_config *config, const struct advise_part *part,
			  const struct mt_knob_constraint *constraint, enum advise_when when)
{
	const struct mt_knob *other = knob_of(part->file, constraint->key);
	struct advise_value value = other ? advise_config_value(config, other, when) : (struct advise_value){ 0 };
	double number;

	return !value.text || advise_value_number(other, value.text, &number) || number < 1 ? 0 : number;
}

static enum advise_holds is_multiple(double number, double of, const char *key, char words[ADVISE_WORDS_MAX])
{
	int holds = of >= 1 && number >= 1 && (uint64_t)number % (uint64_t)of == 0;

	if (of < 1)
		return ADVISE_HOLDS_UNKNOWN;
	snprintf(words, ADVISE_WORDS_MAX, "%.0f is %s multiple of %s, %.0f", number, holds ? "a" : "no",
		 advise_short_key(key), of);
	return holds ? ADVISE_HOLDS_YES : ADVISE_HOLDS_NO;
}

static enum advise_holds divides(double number, uint64_t fact, const char *what, char words[ADVISE_WORDS_MAX])
{
	int holds = number >= 1 && number <= (double)fact && fact % (uint64_t)number == 0;
	char one[TEXT_SIZE_MAX];

	snprintf(words, ADVISE_WORDS_MAX, "%.0f %s the %s, %s", number, holds ? "divides" : "does not divide", what,
		 text_number(one, fact));
	return holds ? ADVISE_HOLDS_YES : ADVISE_HOLDS_NO;
}

enum advise_holds advise_constraint_holds(struct advise_config *config, const struct mt_knob *knob,
					  const struct mt_knob_constraint *constraint, const char *value,
					  enum advise_when when, const struct advise_facts *facts,
					  char words[ADVISE_WORDS_MAX])
{
	const struct advise_part *part = advise_config_part(config, knob);
	uint64_t fact;
	double number;

	snprintf(words, ADVISE_WORDS_MAX, "%.400s", constraint->says);
	if (!part || constraint->kind == MT_KNOB_CONSTRAINT_WORDS)
		return ADVISE_HOLDS_UNKNOWN;
	if (constraint->kind == MT_KNOB_CONSTRAINT_NEEDS || constraint->kind == MT_KNOB_CONSTRAINT_EXCLUDES)
		return about_key(config, part, constraint, when, words);
	if (constraint->kind == MT_KNOB_CONSTRAINT_MULTIPLE)
		return !value || advise_value_number(knob, value, &number)
			       ? ADVISE_HOLDS_UNKNOWN
			       : is_multiple(number, multiple_of(config, part, constraint, when), constraint->key,
					     words);
	fact = facts->fact[constraint->fact];
	if (!fact || !value || advise_value_number(knob, value, &number))
		return ADVISE_HOLDS_UNKNOWN;
	if (constraint->kind == MT_KNOB_CONSTRAINT_AT_LEAST)
		return at_least(config, knob, constraint, number, when, fact, words);
	return divides(number, fact, mt_knob_fact_words(constraint->fact), words);
}

static double larger(double one, double two)
{
	return one > two ? one : two;
}

double advise_floor(struct advise_config *config, const struct mt_knob *knob, enum advise_when when,
		    const struct advise_facts *facts)
{
	const struct advise_part *part = advise_config_part(config, knob);
	const struct mt_knob_constraint *constraint;
	double least = 0, times;
	uint32_t i;

	for (i = 0; part && i < knob->constraints; i++) {
		constraint = &knob->constraint[i];
		if (constraint->kind == MT_KNOB_CONSTRAINT_MULTIPLE)
			least = larger(least, multiple_of(config, part, constraint, when));
		if (constraint->kind != MT_KNOB_CONSTRAINT_AT_LEAST || !facts->fact[constraint->fact])
			continue;
		times = times_of(config, part, constraint, when);
		if (times >= 1)
			least = larger(least, ceil((double)facts->fact[constraint->fact] / floor(times)));
	}
	return least;
}

/* ---- how things stand -------------------------------------------------------------------------------------------- */

/* Does the version at hand have it, and the trainer? */
static int is_absent(const struct advise_config *config, const struct advise_part *part, const struct mt_knob *knob,
		     char words[ADVISE_WORDS_MAX])
{
	const char *dot = strchr(knob->name.key, '.');
	const struct mt_knob_file *file = part->file;
	int is_class = dot && dot - knob->name.key > 6 && !strncmp(dot - 6, "Config", 6);
	uint32_t i;

	(void)config;
	if (is_class && *part->class_ &&
	    (strlen(part->class_) != (size_t)(dot - knob->name.key) ||
	     strncmp(knob->name.key, part->class_, strlen(part->class_)) != 0)) {
		snprintf(words, ADVISE_WORDS_MAX, "is another trainer's: this one has a %s", part->class_);
		return 1;
	}
	if (advise_name_in(&knob->name, part->release))
		return 0;
	for (i = 0; i < knob->olders; i++)
		if (advise_name_in(&knob->older[i], part->release))
			return 0;
	if (part->release >= knob->name.gone)
		snprintf(words, ADVISE_WORDS_MAX, "is gone since %s %s: %.300s", file->framework,
			 file->release[knob->name.gone].version, knob->instead ? knob->instead : "");
	else
		snprintf(words, ADVISE_WORDS_MAX, "is there from %s %s on, and this is %s", file->framework,
			 file->release[knob->name.since].version,
			 *part->version ? part->version : file->release[part->release].version);
	return 1;
}

/* A value that saves already, or that nothing is below. */
static enum advise_standing by_value(struct advise_config *config, const struct mt_knob *knob, enum advise_when when,
				     const struct advise_facts *facts, char words[ADVISE_WORDS_MAX])
{
	struct advise_value value = advise_config_value(config, knob, when);
	enum mt_knob_kind kind = mt_knob_unit_kind(knob->measure);
	double number, least;
	char one[TEXT_SIZE_MAX];

	if (value.text && mt_knob_is_off(knob, value.text)) {
		snprintf(words, ADVISE_WORDS_MAX, "already %.64s (%.200s)", value.text, value.where);
		return ADVISE_STANDING_ALREADY;
	}
	if (!value.text || advise_value_number(knob, value.text, &number))
		return ADVISE_STANDING_OPEN;
	if (kind == MT_KNOB_KIND_SWITCH && knob->saves == (number > 0 ? MT_KNOB_SAVES_ON : MT_KNOB_SAVES_OFF)) {
		snprintf(words, ADVISE_WORDS_MAX, "already %s (%.200s)", number > 0 ? "on" : "off", value.where);
		return ADVISE_STANDING_ALREADY;
	}
	if (knob->saves == MT_KNOB_SAVES_HIGHER && kind == MT_KNOB_KIND_SHARE && number >= 1) {
		snprintf(words, ADVISE_WORDS_MAX, "already all of it (%.200s)", value.where);
		return ADVISE_STANDING_ALREADY;
	}
	if (knob->saves != MT_KNOB_SAVES_LOWER || number <= 0)
		return ADVISE_STANDING_OPEN;
	least = advise_floor(config, knob, when, facts);
	if (kind == MT_KNOB_KIND_COUNT && least < 1)
		least = 1;
	if (least > 0 && number <= least) {
		snprintf(words, ADVISE_WORDS_MAX, "at its floor: %s (%.200s)", amount(one, knob, number), value.where);
		return ADVISE_STANDING_FLOOR;
	}
	return ADVISE_STANDING_OPEN;
}

enum advise_standing advise_config_standing(struct advise_config *config, const struct mt_knob *knob,
					    enum advise_when when, const struct advise_facts *facts,
					    char words[ADVISE_WORDS_MAX])
{
	const struct advise_part *part = advise_config_part(config, knob);
	const struct mt_knob_constraint *constraint;
	char why[ADVISE_WORDS_MAX];
	uint32_t i;

	*words = '\0';
	if (!part) {
		snprintf(words, ADVISE_WORDS_MAX, "is of a framework that is not here");
		return ADVISE_STANDING_ABSENT;
	}
	if (is_absent(config, part, knob, words))
		return ADVISE_STANDING_ABSENT;
	for (i = 0; i < knob->constraints; i++) {
		constraint = &knob->constraint[i];
		if ((constraint->kind == MT_KNOB_CONSTRAINT_NEEDS || constraint->kind == MT_KNOB_CONSTRAINT_EXCLUDES) &&
		    advise_constraint_holds(config, knob, constraint, NULL, when, facts, why) == ADVISE_HOLDS_NO) {
			snprintf(words, ADVISE_WORDS_MAX, "has no effect here: %.480s", why);
			return ADVISE_STANDING_NO_EFFECT;
		}
	}
	return by_value(config, knob, when, facts, words);
}
