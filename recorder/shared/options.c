/*
 * options.c - converts the options to text and back. It also runs inside the target: no allocation, no locale, no
 * stdio.
 *
 * The text leaves out default values, so it is short enough to paste (memrec env).
 */
#include "options.h"

#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/ring.h"

struct number_row {
	const char *key;
	size_t member; /* offset of the uint64_t */
	uint64_t def, min, max;
};

struct text_row {
	const char *key;
	size_t member; /* offset of the char[MEMREC_PATH_MAX] */
};

static const struct number_row numbers[] = {
#define NUMBER_ROW(member, key, def, min, max) { key, offsetof(struct memrec_options, member), def, min, max },
	MEMREC_NUMBER_LIST(NUMBER_ROW)
#undef NUMBER_ROW
};

static const struct text_row texts[] = {
#define TEXT_ROW(member, key) { key, offsetof(struct memrec_options, member) },
	MEMREC_TEXT_LIST(TEXT_ROW)
#undef TEXT_ROW
};

static uint64_t *number_of(struct memrec_options *options, const struct number_row *row)
{
	return (uint64_t *)((char *)options + row->member);
}

static char *text_of(struct memrec_options *options, const struct text_row *row)
{
	return (char *)options + row->member;
}

void memrec_options_init(struct memrec_options *options)
{
	size_t i;

	memset(options, 0, sizeof(*options));
	for (i = 0; i < MT_ARRAY_SIZE(numbers); i++)
		*number_of(options, &numbers[i]) = numbers[i].def;
}

/* Text under construction. One byte is always free for the NUL. `cut` 1: some text did not fit. */
struct out {
	char *text;
	size_t size, used;
	int cut;
};

static void put(struct out *out, char c)
{
	if (out->used + 1 < out->size)
		out->text[out->used++] = c;
	else
		out->cut = 1;
}

static void put_key(struct out *out, const char *key)
{
	if (out->used)
		put(out, ' ');
	for (; *key; key++)
		put(out, *key);
	put(out, '=');
}

static void put_number(struct out *out, uint64_t value)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n)
		put(out, digits[--n]);
}

/*
 * 1: letters, digits and _ . / - have no special meaning in any shell, YAML, Hydra or framework that carries the text.
 */
static int is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
	       c == '/' || c == '-';
}

static void put_escaped(struct out *out, const char *value)
{
	static const char hex[] = "0123456789ABCDEF";
	const unsigned char *c;

	for (c = (const unsigned char *)value; *c; c++) {
		if (is_plain(*c)) {
			put(out, (char)*c);
			continue;
		}
		put(out, '%');
		put(out, hex[*c >> 4]);
		put(out, hex[*c & 15]);
	}
}

int memrec_options_encode(const struct memrec_options *options, char *text, size_t size)
{
	struct memrec_options *from = (struct memrec_options *)options; /* only read */
	struct out out = { text, size, 0, 0 };
	size_t i;

	if (!size)
		return -MT_E_LIMIT;
	for (i = 0; i < MT_ARRAY_SIZE(numbers); i++) {
		if (*number_of(from, &numbers[i]) == numbers[i].def)
			continue;
		put_key(&out, numbers[i].key);
		put_number(&out, *number_of(from, &numbers[i]));
	}
	for (i = 0; i < MT_ARRAY_SIZE(texts); i++) {
		if (!*text_of(from, &texts[i]))
			continue;
		put_key(&out, texts[i].key);
		put_escaped(&out, text_of(from, &texts[i]));
	}
	text[out.used] = '\0';
	return out.cut ? -MT_E_LIMIT : 0;
}

/* A piece of the text being decoded. */
struct piece {
	const char *at;
	size_t size;
};

static int piece_is(struct piece piece, const char *word)
{
	return strlen(word) == piece.size && !memcmp(word, piece.at, piece.size);
}

static int get_number(struct piece value, uint64_t *number)
{
	uint64_t n = 0;
	size_t i;

	if (!value.size)
		return -MT_E_ARGUMENT;
	for (i = 0; i < value.size; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return -MT_E_ARGUMENT;
		if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, (uint64_t)(value.at[i] - '0'), &n))
			return -MT_E_ARGUMENT;
	}
	*number = n;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int get_text(struct piece value, char *text)
{
	size_t i, used = 0;

	for (i = 0; i < value.size; i++) {
		char c = value.at[i];

		if (c == '%') {
			int high = i + 2 < value.size ? hex_digit(value.at[i + 1]) : -1;
			int low = i + 2 < value.size ? hex_digit(value.at[i + 2]) : -1;

			if (high < 0 || low < 0 || !(high | low))
				return -MT_E_ARGUMENT;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (used + 1 >= MEMREC_PATH_MAX)
			return -MT_E_ARGUMENT;
		text[used++] = c;
	}
	text[used] = '\0';
	return 0;
}

static int decode_number(struct memrec_options *options, const struct number_row *row, struct piece value)
{
	uint64_t number;

	if (get_number(value, &number) || number < row->min || number > row->max)
		return -MT_E_ARGUMENT;
	if (row->member == offsetof(struct memrec_options, slot_bytes) && number & (number - 1))
		return -MT_E_ARGUMENT;
	*number_of(options, row) = number;
	return 0;
}

static int decode_pair(struct memrec_options *options, struct piece key, struct piece value)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(numbers); i++)
		if (piece_is(key, numbers[i].key))
			return decode_number(options, &numbers[i], value);
	for (i = 0; i < MT_ARRAY_SIZE(texts); i++)
		if (piece_is(key, texts[i].key))
			return get_text(value, text_of(options, &texts[i]));
	return 0;
}

int memrec_options_decode(struct memrec_options *options, const char *text)
{
	memrec_options_init(options);
	for (;;) {
		struct piece key, value;

		text += strspn(text, " +");
		if (!*text)
			return 0;
		key.at = text;
		key.size = strcspn(text, "=: +");
		text += key.size;
		if (*text != '=' && *text != ':')
			return -MT_E_ARGUMENT;
		value.at = ++text;
		value.size = strcspn(text, " +");
		text += value.size;
		if (decode_pair(options, key, value))
			return -MT_E_ARGUMENT;
	}
}

#define ROOM (1ull << 30)

int shm_has_room(void)
{
	struct statfs fs;

	return !access(RING_SHM_DIR, W_OK | X_OK) && !statfs(RING_SHM_DIR, &fs) &&
	       (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= ROOM;
}
