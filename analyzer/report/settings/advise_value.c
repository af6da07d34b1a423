/* advise_value.c - values of knobs as numbers, by the unit of the knob, and back. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "advise_config_impl.h"
#include "base/text.h"
#include "memtrace/error.h"

static int is_one_of(const char *text, const char *const *word, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcasecmp(text, word[i]))
			return 1;
	return 0;
}

int advise_is_null(const char *text)
{
	static const char *const words[] = { "", "null", "None", "~" };

	return is_one_of(text, words, MT_ARRAY_SIZE(words));
}

/* DeepSpeed under the Trainer fills these in itself; AReaL insists on others. */
static int is_left_open(const char *text)
{
	static const char *const words[] = { "auto", "MISSING", "???" };

	return is_one_of(text, words, MT_ARRAY_SIZE(words));
}

static int read_switch(const char *text, double *number)
{
	static const char *const on[] = { "true", "on", "yes", "1" }, *const off[] = { "false", "off", "no", "0" };

	*number = is_one_of(text, on, MT_ARRAY_SIZE(on));
	return *number > 0 || is_one_of(text, off, MT_ARRAY_SIZE(off)) ? 0 : -MT_E_ARGUMENT;
}

/* All of the text as a number in figures: strtod knows "inf" and "0x10", too, which no configuration means. */
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

/* "1GiB"; a number alone counts in the unit. Below zero there are words such as -1: no limit. */
static int read_size(const struct mt_knob *knob, const char *text, double *number)
{
	uint64_t bytes;

	if (!read_figures(text, number)) {
		*number *= mt_knob_unit_one(knob->measure);
		return 0;
	}
	if (text_parse_size(text, &bytes))
		return -MT_E_ARGUMENT;
	*number = (double)bytes;
	return 0;
}

static int is_whole(double number)
{
	return number > -9e15 && number < 9e15 &&
	       !(number < (double)(int64_t)number || number > (double)(int64_t)number);
}

static int read_share(const char *text, double *number)
{
	size_t size = strlen(text);
	char part[ADVISE_VALUE_MAX];
	int is_percent = size && size < sizeof(part) && text[size - 1] == '%';
	int error;

	if (!is_percent)
		return read_figures(text, number);
	memcpy(part, text, size - 1);
	part[size - 1] = '\0';
	error = read_figures(part, number);
	*number /= 100;
	return error;
}

int advise_value_number(const struct mt_knob *knob, const char *text, double *number)
{
	int error;

	*number = 0;
	if (advise_is_null(text) || is_left_open(text))
		return 1;
	switch (mt_knob_unit_kind(knob->measure)) {
	case MT_KNOB_KIND_SWITCH:
		return read_switch(text, number);
	case MT_KNOB_KIND_COUNT:
		error = read_figures(text, number);
		return error || !is_whole(*number) ? -MT_E_ARGUMENT : 0;
	case MT_KNOB_KIND_SIZE:
		return read_size(knob, text, number);
	case MT_KNOB_KIND_SHARE:
		error = read_share(text, number);
		return error || *number < 0 || *number > 1 ? -MT_E_ARGUMENT : 0;
	case MT_KNOB_KIND_NUMBER:
		return read_figures(text, number);
	case MT_KNOB_KIND_WORD:
		break;
	}
	return 1;
}

const char *advise_value_text(char out[ADVISE_VALUE_MAX], const struct mt_knob *knob, double number)
{
	double value = number / mt_knob_unit_one(knob->measure);

	switch (mt_knob_unit_kind(knob->measure)) {
	case MT_KNOB_KIND_SWITCH:
		snprintf(out, ADVISE_VALUE_MAX, "%s", number > 0 ? "true" : "false");
		break;
	case MT_KNOB_KIND_SHARE:
	case MT_KNOB_KIND_NUMBER:
		snprintf(out, ADVISE_VALUE_MAX, "%.6g", value);
		break;
	default:
		snprintf(out, ADVISE_VALUE_MAX, is_whole(value) ? "%.0f" : "%.6g", value);
	}
	return out;
}
