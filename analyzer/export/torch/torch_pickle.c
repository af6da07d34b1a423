#include "torch_pickle.h"

#include <string.h>
#include "memtrace/clean.h"

static void put(struct export_out *out, const void *bytes, size_t size)
{
	export_put(out, bytes, size);
}

/* Writes an opcode and `size` bytes of a number, the lowest byte first. */
static void put_code(struct export_out *out, char code, uint64_t value, size_t size)
{
	unsigned char bytes[9] = { (unsigned char)code };
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i + 1] = (unsigned char)(value >> 8 * i);
	put(out, bytes, size + 1);
}

void torch_write_begin(struct export_out *out)
{
	put(out, "\x80\x04", 2);
}

void torch_write_end(struct export_out *out)
{
	put(out, ".", 1);
}

/* Writes a number with its sign in as few bytes as possible. */
static void put_long(struct export_out *out, int64_t value)
{
	const uint64_t magnitude = value < 0 ? ~(uint64_t)value : (uint64_t)value; /* the sign needs one more bit */
	size_t size = 8;

	while (size > 1 && magnitude >> (8 * (size - 1) - 1) == 0)
		size--;
	put(out, "\x8a", 1);
	put_code(out, (char)size, (uint64_t)value, size);
}

void torch_write_int(struct export_out *out, int64_t value)
{
	if (value >= 0 && value <= UINT8_MAX)
		put_code(out, 'K', (uint64_t)value, 1);
	else if (value >= 0 && value <= UINT16_MAX)
		put_code(out, 'M', (uint64_t)value, 2);
	else if (value >= INT32_MIN && value <= INT32_MAX)
		put_code(out, 'J', (uint64_t)value, 4);
	else
		put_long(out, value);
}

void torch_write_text(struct export_out *out, const char *text)
{
	size_t size = strlen(text), at = 0, length, from = 0;
	uint32_t code;

	if (size <= UINT8_MAX)
		put_code(out, (char)0x8c, size, 1);
	else
		put_code(out, 'X', size, 4);
	while (at < size) {
		length = mt_utf8(text + at, size - at, &code);
		if (!length) {
			put(out, text + from, at - from);
			put(out, "?", 1);
			from = at + 1;
		}
		at += length ? length : 1;
	}
	put(out, text + from, size - from);
}

void torch_write_bool(struct export_out *out, int value)
{
	put(out, value ? "\x88" : "\x89", 1);
}

void torch_write_pair(struct export_out *out, int64_t one, int64_t two)
{
	torch_write_int(out, one);
	torch_write_int(out, two);
	put(out, "\x86", 1);
}

void torch_write_put(struct export_out *out, uint32_t number)
{
	if (number <= UINT8_MAX)
		put_code(out, 'q', number, 1);
	else
		put_code(out, 'r', number, 4);
}

void torch_write_get(struct export_out *out, uint32_t number)
{
	if (number <= UINT8_MAX)
		put_code(out, 'h', number, 1);
	else
		put_code(out, 'j', number, 4);
}

void torch_write_dict(struct export_out *out)
{
	put(out, "}(", 2);
}

void torch_write_dict_end(struct export_out *out)
{
	put(out, "u", 1);
}

void torch_write_list(struct export_out *out)
{
	put(out, "](", 2);
}

void torch_write_item(struct export_out *out, uint32_t *items)
{
	if (*items && *items % PICKLE_BATCH == 0)
		put(out, "e(", 2);
	++*items;
}

void torch_write_list_end(struct export_out *out)
{
	put(out, "e", 1);
}
