/* columns.c - see columns.h. */
#include "columns.h"

#include <stdint.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/clean.h"

struct range {
	uint32_t first, last;
};

static int in_ranges(const struct range *range, size_t count, uint32_t code)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (code >= range[i].first && code <= range[i].last)
			return 1;
	return 0;
}

/*
 * Widths are not asked of the C library: they would depend on the locale. Characters that sit on the one before them
 * (Unicode's Mn and Me of the scripts that have many).
 */
static int is_combining(uint32_t code)
{
	static const struct range range[] = {
		{ 0x0300, 0x036f },   { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a }, { 0x064b, 0x065f },
		{ 0x06d6, 0x06dc },   { 0x0900, 0x0902 }, { 0x093c, 0x093c }, { 0x0941, 0x0948 }, { 0x094d, 0x094d },
		{ 0x0e31, 0x0e31 },   { 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
		{ 0x20d0, 0x20ff },   { 0x302a, 0x302d }, { 0x3099, 0x309a }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
		{ 0xe0100, 0xe01ef },
	};

	return in_ranges(range, MT_ARRAY_SIZE(range), code);
}

/* East Asian width W and F. */
static int is_wide(uint32_t code)
{
	static const struct range range[] = {
		{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x2329, 0x232a },   { 0x23e9, 0x23ec },
		{ 0x25fd, 0x25fe },   { 0x2614, 0x2615 },   { 0x2648, 0x2653 },   { 0x26a1, 0x26a1 },
		{ 0x2705, 0x2705 },   { 0x2728, 0x2728 },   { 0x274c, 0x274c },   { 0x2753, 0x2757 },
		{ 0x2795, 0x2797 },   { 0x2e80, 0x303e },   { 0x3041, 0x33ff },   { 0x3400, 0x4dbf },
		{ 0x4e00, 0x9fff },   { 0xa000, 0xa4cf },   { 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },
		{ 0xf900, 0xfaff },   { 0xfe10, 0xfe19 },   { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
		{ 0xffe0, 0xffe6 },   { 0x1b000, 0x1b2ff }, { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff },
		{ 0x1f900, 0x1f9ff }, { 0x1fa70, 0x1faff }, { 0x20000, 0x3fffd },
	};

	return code >= 0x1100 && in_ranges(range, MT_ARRAY_SIZE(range), code);
}

size_t columns_next(struct columns_character *out, const char *at)
{
	uint32_t code;
	size_t length = mt_utf8(at, strnlen(at, 4), &code);

	if (!length || mt_is_harmful(code)) {
		memcpy(out->text, "?", 2);
		out->columns = 1;
		return length ? length : 1;
	}
	memcpy(out->text, at, length);
	out->text[length] = '\0';
	out->columns = is_combining(code) ? 0 : is_wide(code) ? 2 : 1;
	return length;
}

int columns_of(const char *text)
{
	struct columns_character character;
	int columns = 0;

	while (*text) {
		text += columns_next(&character, text);
		columns += character.columns;
	}
	return columns;
}
