/* clean.c - text of unknown origin made fit for a terminal. */
#include "memtrace/clean.h"
#include <string.h>
#include "memtrace/base.h"

size_t mt_utf8(const char *at, size_t size, uint32_t *code)
{
	const unsigned char *byte = (const unsigned char *)at;
	size_t length = byte[0] < 0x80 ? 1 : byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2, i;

	*code = byte[0] & (length == 1 ? 0x7f : 0xff >> (length + 1));
	if (length == 1)
		return 1;
	if (byte[0] < 0xc2 || byte[0] > 0xf4 || length > size)
		return 0;
	for (i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (byte[i] & 0x3f);
	}
	if ((length == 3 && *code < 0x800) || (length == 4 && (*code < 0x10000 || *code > 0x10ffff)) ||
	    (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return length;
}

int mt_is_harmful(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} range[] = {
		{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0xad, 0xad },       { 0x061c, 0x061c },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0xfeff, 0xfeff },
		{ 0xfff9, 0xfffb }, { 0xfffe, 0xffff }, { 0xe0001, 0xe007f },
	};
	size_t i;

	if (code >= 0x20 && code < 0x7f)
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(range); i++)
		if (code >= range[i].first && code <= range[i].last)
			return 1;
	return 0;
}

size_t mt_clean_character(char out[4], const char *from, size_t size, size_t *taken)
{
	uint32_t code;
	size_t length = mt_utf8(from, size, &code);

	*taken += length ? length : 1;
	if (!length || mt_is_harmful(code)) {
		out[0] = '?';
		return 1;
	}
	memmove(out, from, length); /* mt_clean works in place */
	return length;
}

char *mt_clean(char *text, const char *keep)
{
	size_t size = strlen(text), at = 0, to = 0;

	while (at < size) {
		if (strchr(keep, text[at]))
			text[to++] = text[at++];
		else
			to += mt_clean_character(text + to, text + at, size - at, &at);
	}
	text[to] = '\0';
	return text;
}
