/* shell.c - quoting for a POSIX shell. */
#include "memtrace/shell.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/clean.h"

struct word {
	char *to;
	size_t size, used;
	int full, quoted; /* quoted: inside of '' */
};

static void add(struct word *word, const char *bytes, size_t count)
{
	if (word->full || count >= word->size - word->used) {
		word->full = 1;
		return;
	}
	memcpy(word->to + word->used, bytes, count);
	word->used += count;
}

static void set_quoted(struct word *word, int quoted)
{
	if (word->quoted != quoted)
		add(word, "'", 1);
	word->quoted = quoted;
}

static int is_plain(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
	       (byte && strchr("_./:@%+,=-", byte));
}

/* Returns the bytes of a character that a terminal shows as itself; 0: the character is harmful. */
static size_t shown(const char *at)
{
	uint32_t code;
	size_t length = mt_utf8(at, strlen(at), &code);

	return length && !mt_is_harmful(code) ? length : 0;
}

static void add_harmful(struct word *word, char byte)
{
	char text[32];

	set_quoted(word, 0);
	if (byte == '\n') /* a shell takes ends of lines off the end of $() */
		add(word, "?", 1);
	else
		add(word, text, (size_t)snprintf(text, sizeof(text), "\"$(printf '\\%03o')\"", (unsigned char)byte));
}

/* Adds one character. Returns the bytes of text that were read. */
static size_t add_character(struct word *word, const char *at)
{
	size_t length = shown(at);

	if (!length) {
		add_harmful(word, *at);
		return 1;
	}
	if (*at == '\'') {
		set_quoted(word, 0);
		add(word, "\\'", 2);
		return 1;
	}
	set_quoted(word, 1);
	add(word, at, length);
	return length;
}

const char *mt_shell_word(char *to, size_t size, const char *text)
{
	struct word word = { to, size, 0, !size, 0 };
	size_t plain = 0;

	while (is_plain(text[plain]))
		plain++;
	if (*text == '-')
		add(&word, "./", 2);
	if (*text && !text[plain]) {
		add(&word, text, plain);
	} else {
		if (!*text)
			add(&word, "''", 2);
		while (*text && !word.full)
			text += add_character(&word, text);
		set_quoted(&word, 0);
	}
	if (size)
		to[word.full ? 0 : word.used] = '\0';
	return to;
}
