/* textbuf.h - put short texts together without stdio, locale or malloc. A longer text is cut, and the cut is
 * remembered. */
#ifndef RECORDER_TEXTBUF_H
#define RECORDER_TEXTBUF_H

#include <stddef.h>
#include <stdint.h>

struct textbuf {
	char *at;
	size_t size, used; /* one byte is always free for the NUL */
	int cut;
};

/* `size` must be at least 1; the text ends in NUL at all times. */
void textbuf_init(struct textbuf *text, char *at, size_t size);
void textbuf_add(struct textbuf *text, const char *string);
void textbuf_add_bytes(struct textbuf *text, const char *bytes, size_t size);
void textbuf_add_number(struct textbuf *text, uint64_t number);

/* Adds a Unicode character as UTF-8, whole or not at all. Surrogates and numbers beyond Unicode become U+FFFD. */
void textbuf_add_character(struct textbuf *text, uint32_t character);

/* Reads a small file whole (/proc, /sys). Bytes read, at most size - 1; NUL-terminated; 0 when it cannot be read. */
size_t textbuf_read_file(const char *path, char *at, size_t size);

#endif
