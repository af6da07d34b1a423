/* advise_value.c - converts values of knobs to numbers and back, by the unit of the knob. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "advise_config_impl.h"
#include "base/text.h"
#include "memtrace/error.h"

/* 1: the text is one of the words, in any case. A NULL ends the list. */
static int is_one_of(const char *text, const char *const *word)
{
	while (*word && strcasecmp(text, *word) != 0)
		word++;
	return *word != NULL;
}

int advise_is_null(const char *text)
{
	static const char *const words[] = { "", "null", "None", "~", NULL };

	return is_one_of(text, words);
}

/* Reads the whole text as a decimal number. Refuses "inf" and "0x10", which strtod would accept. */
static int read_figures(const char *text, double *number)
{
	char plain[ADVISE_VALUE_MAX];
	size_t size = 0, i;
	char *end;

	for (i = 0; text[i] && size + 1 < sizeof(plain); i++)
		if (text[i] != '_' || !i)
			plain[size++] = text[i];
	plain[size] = '\0';
	if (text[i] || !size || plain[strspn(plain, "0123456789.+-eE")])
		return -MT_E_ARGUMENT;
	*number = strtod(plain, &end);
	return *end || !isfinite(*number) ? -MT_E_ARGUMENT : 0;
}

static int is_whole(double number)
{
	return fabs(number) < 9e15 && !(fabs(number - trunc(number)) > 0);
}

int advise_value_number(const struct mt_knob *knob, const char *text, double *number)
{
	/* The framework replaces these words by a value: DeepSpeed "auto", AReaL the others. */
	static const char *const open[] = { "auto", "MISSING", "???", NULL };
	static const char *const on[] = { "true", "on", "yes", "1", NULL };
	static const char *const off[] = { "false", "off", "no", "0", NULL };
	enum mt_knob_kind kind = mt_knob_unit_kind(knob->measure);
	uint64_t bytes;

	*number = 0;
	if (advise_is_null(text) || is_one_of(text, open) || kind == MT_KNOB_KIND_WORD)
		return 1;
	if (kind == MT_KNOB_KIND_SWITCH) {
		*number = is_one_of(text, on);
		return *number > 0 || is_one_of(text, off) ? 0 : -MT_E_ARGUMENT;
	}
	if (!read_figures(text, number))
		*number *= mt_knob_unit_one(knob->measure);
	else if (kind == MT_KNOB_KIND_SIZE && !text_parse_size(text, &bytes))
		*number = (double)bytes;
	else
		return -MT_E_ARGUMENT;
	if (kind == MT_KNOB_KIND_COUNT)
		return is_whole(*number) ? 0 : -MT_E_ARGUMENT;
	return kind == MT_KNOB_KIND_SHARE && (*number < 0 || *number > 1) ? -MT_E_ARGUMENT : 0;
}

const char *advise_value_text(char out[ADVISE_VALUE_MAX], const struct mt_knob *knob, double number)
{
	double value = number / mt_knob_unit_one(knob->measure);

	if (mt_knob_unit_kind(knob->measure) == MT_KNOB_KIND_SWITCH)
		snprintf(out, ADVISE_VALUE_MAX, "%s", number > 0 ? "true" : "false");
	else
		snprintf(out, ADVISE_VALUE_MAX, is_whole(value) ? "%.0f" : "%.6g", value);
	return out;
}
