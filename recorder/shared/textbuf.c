/* textbuf.c - short texts without stdio. */
#include "textbuf.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void textbuf_init(struct textbuf *text, char *at, size_t size)
{
	text->at = at;
	text->size = size;
	text->used = 0;
	text->cut = 0;
	at[0] = '\0';
}

void textbuf_add_bytes(struct textbuf *text, const char *bytes, size_t size)
{
	size_t room = text->size - 1 - text->used;

	if (size > room) {
		size = room;
		text->cut = 1;
	}
	memcpy(text->at + text->used, bytes, size);
	text->used += size;
	text->at[text->used] = '\0';
}

void textbuf_add(struct textbuf *text, const char *string)
{
	textbuf_add_bytes(text, string, strlen(string));
}

void textbuf_add_number(struct textbuf *text, uint64_t number)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	textbuf_add_bytes(text, digits + i, sizeof(digits) - i);
}

void textbuf_add_character(struct textbuf *text, uint32_t c)
{
	char bytes[4];
	size_t size;

	if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = 0xfffd;
	if (c < 0x80) {
		bytes[0] = (char)c;
		size = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 0x3f));
		size = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (c & 0x3f));
		size = 3;
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (c & 0x3f));
		size = 4;
	}
	if (size > text->size - 1 - text->used)
		text->cut = 1;
	else
		textbuf_add_bytes(text, bytes, size);
}

size_t textbuf_read_file(const char *path, char *at, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 1;

	while (fd >= 0 && used < size - 1 && n > 0) {
		n = read(fd, at + used, size - 1 - used);
		if (n > 0)
			used += (size_t)n;
	}
	at[used] = '\0';
	if (fd >= 0)
		close(fd);
	return used;
}
