/* pyline.c - source lines of Python instructions; see intake.h. */
#include "intake.h"

#define CODE_UNIT 2u /* bytes of one instruction */
#define NO_LINE_3_10 (-128)

static uint32_t line_or_none(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t lnotab_line(const uint8_t *table, size_t size, int64_t line, uint32_t offset)
{
	uint64_t start = 0;
	size_t i;

	for (i = 0; i + 1 < size; i += 2) {
		start += table[i];
		if (start > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return line_or_none(line);
}

static uint32_t linetable_line(const uint8_t *table, size_t size, int64_t line, uint32_t offset)
{
	uint64_t end = 0;
	size_t i;

	for (i = 0; i + 1 < size; i += 2) {
		int lines = (int8_t)table[i + 1];

		end += table[i];
		if (lines != NO_LINE_3_10)
			line += lines;
		if (offset < end)
			return lines == NO_LINE_3_10 ? 0 : line_or_none(line);
	}
	return 0;
}

/* A signed number in groups of 6 bits, lowest first. Bit 6: another group follows. Bit 0 of the number: the sign. */
static int64_t signed_varint(const uint8_t *at, const uint8_t *end)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	for (; at < end; at++) {
		if (shift < 60)
			value |= (uint64_t)(*at & 63) << shift;
		shift += 6;
		if (!(*at & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* How many lines the entry at `at` goes on from the one before. Short kinds stay on the line. */
static int64_t entry_lines(unsigned int kind, const uint8_t *at, const uint8_t *end)
{
	switch (kind) {
	case 10:
	case 11:
	case 12:
		return (int64_t)kind - 10;
	case 13:
	case 14:
		return signed_varint(at + 1, end);
	default:
		return 0;
	}
}

static uint32_t locations_line(const uint8_t *table, size_t size, int64_t line, uint32_t offset)
{
	const uint8_t *at = table, *end = table + size;
	uint64_t covered = 0;

	while (at < end) {
		unsigned int kind = *at >> 3 & 15;

		covered += ((*at & 7u) + 1) * CODE_UNIT;
		line += entry_lines(kind, at, end);
		if (line < INT32_MIN || line > INT32_MAX)
			return 0;
		if (offset < covered)
			return kind == 15 ? 0 : line_or_none(line);
		/* Only the first byte of an entry has its highest bit set. */
		do
			at++;
		while (at < end && !(*at & 128));
	}
	return 0;
}

uint32_t mt_pyline(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line, uint32_t offset)
{
	uint32_t minor = version >> 16;

	if (!size || minor < 0x0306 || minor > 0x03ff || (int32_t)offset < 0)
		return line_or_none(first_line);
	if (minor < 0x030a)
		return lnotab_line(table, size, first_line, offset);
	if (minor == 0x030a)
		return linetable_line(table, size, first_line, offset);
	return locations_line(table, size, first_line, offset);
}
