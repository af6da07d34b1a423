/* stack_python_text.c - the characters of str objects: as UTF-8, and as a hash. */
#include "stack_python.h"

#include "agent/ring/hash_set.h"
#include "shared/textbuf.h"
#include "stack_python_impl.h"

struct python python_found;

#define PIECE 16u
#define HASHED_MAX 128u
#define STATE_KIND_SHIFT 2
#define STATE_COMPACT 8u
#define STATE_ASCII 16u

struct characters {
	const uint8_t *data;
	uint64_t length;
	uint32_t width; /* bytes of one character */
	int ascii;
};

/* Reads a string. 1; 0: not compact (strings of code objects are compact). */
static int take_apart(const uint8_t *string, struct characters *characters)
{
	uint32_t state, width;

	if (!python_is_plausible(string))
		return 0;
	state = (uint32_t)python_int(string, PYTHON_UNICODE_STATE) >> STATE_KIND_SHIFT;
	width = state & 7;
	if ((width != 1 && width != 2 && width != 4) || !(state & STATE_COMPACT))
		return 0;
	characters->ascii = (state & STATE_ASCII) != 0;
	characters->data = string + (characters->ascii ? python_found.at.unicode_ascii : python_found.at.unicode_wide);
	characters->length = python_word(string, PYTHON_UNICODE_LENGTH);
	characters->width = width;
	return 1;
}

static uint32_t character_at(const struct characters *characters, uint64_t i)
{
	uint32_t wide;
	uint16_t half;

	if (characters->width == 1)
		return characters->data[i];
	if (characters->width == 2) {
		memcpy(&half, characters->data + 2 * i, sizeof(half));
		return half;
	}
	memcpy(&wide, characters->data + 4 * i, sizeof(wide));
	return wide;
}

size_t stack_python_text(const uint8_t *string, char *text, size_t size)
{
	struct characters characters;
	struct textbuf out;
	uint64_t i;

	if (!size || !take_apart(string, &characters))
		return 0;
	textbuf_init(&out, text, size);
	if (characters.ascii)
		textbuf_add_bytes(&out, (const char *)characters.data,
				  characters.length < size ? characters.length : size);
	else
		for (i = 0; i < characters.length && !out.cut; i++)
			textbuf_add_character(&out, character_at(&characters, i));
	return out.used;
}

/* Hashes at most 16 bytes as two words, which overlap if there are fewer. */
static uint64_t hash_short(uint64_t hash, const uint8_t *at, uint64_t size)
{
	uint32_t left, right;

	if (size >= 8)
		return hash_two(hash, python_word(at, 0), python_word(at, (uint32_t)size - 8));
	if (size >= 4) {
		left = (uint32_t)python_int(at, 0);
		right = (uint32_t)python_int(at, (uint32_t)size - 4);
		return hash_two(hash, left, right);
	}
	if (!size)
		return hash;
	return hash_two(hash, (uint64_t)at[0] << 16 | (uint64_t)at[size / 2] << 8 | at[size - 1], size);
}

/* Two hashes side by side, because each step waits for the one before it. */
static uint64_t hash_bytes(uint64_t hash, const uint8_t *at, uint64_t size)
{
	uint64_t other = ~hash;

	for (; size > 2 * PIECE; at += 2 * PIECE, size -= 2 * PIECE) {
		hash = hash_two(hash, python_word(at, 0), python_word(at, 8));
		other = hash_two(other, python_word(at, 16), python_word(at, 24));
	}
	if (size > PIECE) {
		hash = hash_two(hash, python_word(at, 0), python_word(at, 8));
		at += PIECE;
		size -= PIECE;
	}
	return hash_short(hash ^ (other << 32 | other >> 32), at, size);
}

uint64_t python_bytes_hash(const uint8_t *at, uint64_t size)
{
	if (size <= HASHED_MAX)
		return hash_bytes(size, at, size);
	return hash_bytes(hash_bytes(size, at, HASHED_MAX / 2), at + size - HASHED_MAX / 2, HASHED_MAX / 2);
}

/* Python has computed the hash of each name already, because names are interned. */
uint64_t python_text_hash(const uint8_t *string)
{
	struct characters characters;

	if (!python_is_plausible(string))
		return 0;
	if (python_word(string, PYTHON_UNICODE_HASH) != UINT64_MAX)
		return python_word(string, PYTHON_UNICODE_HASH);
	if (!take_apart(string, &characters))
		return 0;
	return python_bytes_hash(characters.data, characters.length * characters.width);
}
